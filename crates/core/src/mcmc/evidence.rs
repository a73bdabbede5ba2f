//! The evidence `m = E_prior e^{L(P)}` of the reports, by thermodynamic integration from the prior to the
//! posterior.
//!
//! # Method
//! ```text
//! ln m̂ = ∫_0^1 E_β[L̂] dβ,      ln m = ln m̂ + ∫_0^1 E_λ[D] dλ
//! ```
//! `E_β` is the mean under `prior · e^{βL̂}` and `E_λ` the mean under `prior · e^{L̂ + λD}`, with the
//! surrogate log-likelihood `L̂` and `D = L − L̂` ([`super::target`]).
//!
//! * The first integral runs a chain at each of several Gauss–Legendre nodes in `ln β`. A fair coin decides
//!   whether the path runs down from the posterior or up from an exact draw of the prior: the lag of a chain
//!   has opposite signs in the two directions.
//! * The second integral uses the trapezoidal rule with its end correction,
//!   `½ (E_0[D] + E_1[D]) − (Var_1 D − Var_0 D)/12`: the derivative of `E_λ[D]` is `Var_λ D`. The remainder
//!   is of the order of the fifth cumulant of `D` over 720. The chain for `λ = 1` proposes several moves
//!   under `L̂` at once and accepts with probability `min(1, e^{ΔD})`.
//!
//! One walk gives an estimate of `ln m` whose noise averages out over walks. A walk on which `D` varies by
//! more than [`MAX_SPREAD`] returns NaN: the expansion does not overlap with the posterior there, and the
//! trapezoidal rule would be silently wrong.

use rand::{Rng, RngExt};

use super::target::{State, Target};
use crate::numerics::gauss::legendre;
use crate::numerics::stop::check;

/// Burn-in sweeps and recorded sweeps of a chain at a node of the path.
const SWEEPS: [usize; 2] = [8, 44];

/// Steps of the chains that estimate the means of `D`, and sweeps per step.
const STEPS: [usize; 2] = [24, 6];

/// If no draw of the posterior is available: sweeps from a prior draw to the surrogate posterior, and steps
/// from there to the posterior.
const APPROACH: [usize; 2] = [60, 12];

/// Largest variance of `D` on a walk. Exact rows are chosen so that it is about a twentieth of this.
const MAX_SPREAD: f64 = 10.0;

/// Largest number of elementary steps of all walks for a posterior: a few seconds.
const MOST_STEPS: f64 = 4e9;

/// Whether so many walks take seconds rather than minutes.
pub(crate) fn is_affordable(target: &Target<'_>, walks: f64) -> bool {
    const NODES: f64 = 30.0;
    walks * NODES * (SWEEPS[0] + SWEEPS[1]) as f64 * target.steps_a_sweep() <= MOST_STEPS
}

/// The result of one walk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk {
    /// An estimate of `ln m`; NaN if the expansion is too far from the likelihood.
    pub(crate) ln_evidence: f64,
    /// An estimate of the posterior mean of `L`.
    pub(crate) mean_ln_likelihood: f64,
}

/// One walk, starting from a draw of the posterior if one is given.
pub(crate) fn walk(target: &Target<'_>, start: Option<State>, rng: &mut dyn Rng) -> Walk {
    let mut state = start.unwrap_or_else(|| approach(target, rng));
    let posterior = posterior_means(target, &mut state, STEPS[0], rng);
    let (path, followed) = path(target, state, rng);
    let rest = 0.5 * (followed.difference + posterior.difference)
        - (posterior.difference_variance - followed.difference_variance) / 12.0;
    let spread = posterior.difference_variance.max(followed.difference_variance);
    let rest = if spread <= MAX_SPREAD { rest } else { f64::NAN };
    Walk {
        ln_evidence: target.origin + path + rest,
        mean_ln_likelihood: target.origin + posterior.followed + posterior.difference,
    }
}

/// An approximate draw of the posterior.
fn approach(target: &Target<'_>, rng: &mut dyn Rng) -> State {
    let mut state = target.prior_state(rng);
    (0..APPROACH[0]).for_each(|_| target.sweep(&mut state, 1.0, rng));
    posterior_means(target, &mut state, APPROACH[1], rng);
    state
}

/// Means over a chain of `L̂` and `D`, and the variance of `D`.
struct Means {
    followed: f64,
    difference: f64,
    difference_variance: f64,
}

impl Means {
    /// From the pairs `(L̂, D)` of a chain.
    fn of(pairs: &[(f64, f64)]) -> Self {
        let count = pairs.len() as f64;
        let [followed, difference] = [0, 1]
            .map(|i| pairs.iter().map(|pair| if i == 0 { pair.0 } else { pair.1 }).sum::<f64>() / count);
        let squares = pairs.iter().map(|pair| (pair.1 - difference).powi(2)).sum::<f64>();
        Means { followed, difference, difference_variance: squares / (count - 1.0) }
    }
}

/// The chain for the posterior itself: several sweeps under `L̂` are accepted or rejected together by `D`.
fn posterior_means(target: &Target<'_>, state: &mut State, steps: usize, rng: &mut dyn Rng) -> Means {
    let mut difference = target.difference(state);
    let mut pairs = Vec::with_capacity(steps);
    for _ in 0..steps {
        check();
        let mut proposal = state.clone();
        (0..STEPS[1]).for_each(|_| target.sweep(&mut proposal, 1.0, rng));
        let proposed = target.difference(&proposal);
        if proposed >= difference || rng.random::<f64>() < (proposed - difference).exp() {
            (*state, difference) = (proposal, proposed);
        }
        pairs.push((target.followed(state), difference));
    }
    Means::of(&pairs)
}

/// The same for the surrogate posterior, which needs no second acceptance step.
fn followed_means(target: &Target<'_>, state: &mut State, rng: &mut dyn Rng) -> Means {
    if !target.is_expanded() {
        return Means { followed: 0.0, difference: 0.0, difference_variance: 0.0 };
    }
    let [steps, sweeps] = STEPS;
    (0..3 * sweeps).for_each(|_| target.sweep(state, 1.0, rng));
    let mut step = || {
        (0..sweeps).for_each(|_| target.sweep(state, 1.0, rng));
        (0.0, target.difference(state))
    };
    Means::of(&(0..steps).map(|_| step()).collect::<Vec<_>>())
}

/// `∫_0^1 E_β[L̂] dβ`, and the means of `D` at its upper end.
fn path(target: &Target<'_>, posterior: State, rng: &mut dyn Rng) -> (f64, Means) {
    let lowest = lowest(target, rng);
    let mut nodes = vec![(0.5 * lowest, lowest)];
    let length = -lowest.ln();
    for (x, w) in legendre((1.6 * length) as usize + 4) {
        let beta = lowest.powf(0.5 - 0.5 * x);
        nodes.push((beta, 0.5 * length * w * beta));
    }
    let mut state = posterior;
    let down = rng.random::<bool>();
    let mut top = None;
    if down {
        nodes.reverse();
        top = Some(followed_means(target, &mut state, rng));
    } else {
        state = target.prior_state(rng);
    }
    let mut integral = 0.0;
    for (beta, weight) in nodes {
        check();
        integral += weight * mean_followed(target, &mut state, beta, rng);
    }
    (integral, top.unwrap_or_else(|| followed_means(target, &mut state, rng)))
}

/// A `β` at which the tempered posterior is still close to the prior: `L̂` varies under the prior by about
/// `1/β`.
fn lowest(target: &Target<'_>, rng: &mut dyn Rng) -> f64 {
    const DRAWS: usize = 24;
    let values: Vec<f64> = (0..DRAWS).map(|_| target.followed(&target.prior_state(rng))).collect();
    let mean = values.iter().sum::<f64>() / DRAWS as f64;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (DRAWS - 1) as f64;
    (0.1 / variance.sqrt()).clamp(1e-14, 0.5)
}

/// `E_β[L̂]`, by a chain that continues from the last node.
fn mean_followed(target: &Target<'_>, state: &mut State, beta: f64, rng: &mut dyn Rng) -> f64 {
    let [before, listened] = SWEEPS;
    (0..before).for_each(|_| target.sweep(state, beta, rng));
    let mut sum = 0.0;
    for _ in 0..listened {
        check();
        target.sweep(state, beta, rng);
        sum += target.followed(state);
    }
    sum / listened as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::dense_rows::DenseRows;
    use crate::mcmc::target::ChainPrior;
    use crate::numerics::random::generator;

    /// All rows exact and all rows expanded give the same evidence, and both match a sum over a fine grid.
    /// Four standard errors of 64 walks: false alarm 2e-4 for these fixed seeds.
    #[test]
    fn expanded_rows_give_the_evidence_of_exact_ones() {
        let row = |i: usize| [0.4 + 0.02 * (i % 40) as f64, 1.2 - 0.015 * (i % 50) as f64];
        let rows = DenseRows { a: 2, rows: (0..60).flat_map(row).collect(), counts: vec![1.0; 60] };
        // A flat prior: the mean of e^L over the line.
        let ln_likelihood = |i: usize| {
            let p = (i as f64 + 0.5) / 20_000.0;
            crate::likelihood::RowLikelihood::ln_likelihood(&rows, &[p, 1.0 - p])
        };
        let logs: Vec<f64> = (0..20_000).map(ln_likelihood).collect();
        let expected = crate::numerics::special::ln_sum_exp(&logs) - 20_000f64.ln();
        for all_exact in [true, false] {
            let prior = ChainPrior::Dirichlet(vec![1.0, 1.0]);
            let target = Target::with_rows(&rows, &prior, &[all_exact; 60], vec![0.5, 0.5], true);
            assert_eq!(target.is_expanded(), !all_exact);
            let walks: Vec<f64> =
                (0..64).map(|i| walk(&target, None, &mut generator(5, i)).ln_evidence).collect();
            let mean = walks.iter().sum::<f64>() / 64.0;
            let variance = walks.iter().map(|w| (w - mean).powi(2)).sum::<f64>() / 63.0;
            let error = (variance / 64.0).sqrt();
            assert!((mean - expected).abs() < 4.0 * error && error < 0.02, "{mean} ± {error}, {expected}");
        }
    }
}
