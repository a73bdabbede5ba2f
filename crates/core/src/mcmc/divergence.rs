//! How far the posterior is from the prior, `KL(posterior‖prior) = E[L] − ln m`, on a short path from a
//! distribution for which it is known.
//!
//! # Method
//! Let `L°` be a product form near `L` ([`super::product_form`]), `D = L − L°`, and `K(λ)` the divergence of
//! `prior · e^{L° + λD}` from the prior. Then `K(0)` is exact, and
//! ```text
//! dK/dλ = Cov_λ(L° + λD, D),      K(1) = K(0) + E_λ Cov_λ(L° + λD, D)   with λ uniform on (0, 1)
//! ```
//! since `d ln m_λ/dλ = E_λ D`. One `λ` is drawn, and two independent chains give the covariance without the
//! bias that the autocorrelation of a single chain would have. Its noise is small because `D` hardly varies,
//! whereas the walk from the prior ([`super::evidence`]) has the noise of `L` at each of its nodes.
//!
//! The chains follow `λL̂ + (1 − λ)L°`, where `L̂` is the expansion of `L` to second order, or `L` itself if
//! there are few distinct reports; several sweeps are accepted or rejected together by `λ(L − L̂)`.

use rand::{Rng, RngExt};

use super::product_form::{ProductForm, Rules};
use super::target::{ChainPrior, State, Target, few};
use crate::likelihood::RowLikelihood;
use crate::numerics::stop::check;

/// Recorded steps of each of the two chains, and sweeps per step.
const STEPS: [usize; 2] = [12, 2];

/// Sweeps before the first recorded step: of the chain that starts at a draw of the posterior, and of the one
/// that starts at its mean.
const BURN_IN: [usize; 2] = [8, 24];

/// Steps of the second chain that decide whether the path is short, and the largest variance of `D` for which
/// it is.
const TRIAL_STEPS: usize = 8;
const MAX_SPREAD: f64 = 4.0;

/// An unbiased estimate of the divergence, from a draw `ln_p` of the posterior; `None` if no product form is
/// near the likelihood.
pub(crate) fn divergence(
    rows: &dyn RowLikelihood,
    prior: &ChainPrior<'_>,
    rules: &Rules,
    ln_p: &[f64],
    rng: &mut dyn Rng,
) -> Option<f64> {
    let product = near(rows, rules, ln_p)?;
    let exact = product.learned(rules)?;
    let lambda = rng.random::<f64>();
    let path = Path::new(rows, prior, &product, lambda);
    let ln_centre = product.centre.iter().map(|c| c.ln()).collect();
    let (state, trial) = path.chain(path.family.state(ln_centre, None), BURN_IN[1], TRIAL_STEPS, rng);
    // False for NaN too.
    let short = variance(&trial) <= MAX_SPREAD;
    if !short {
        return None;
    }
    let (_, there) = path.chain(state, 0, STEPS[0], rng);
    let (_, here) = path.chain(path.family.state(ln_p.to_vec(), None), BURN_IN[0], STEPS[0], rng);
    Some(exact.mean_ln_likelihood - exact.ln_evidence + covariance(&here, &there))
}

/// The product form around the posterior mean, which is found from the form around a draw of the posterior.
fn near(rows: &dyn RowLikelihood, rules: &Rules, ln_p: &[f64]) -> Option<ProductForm> {
    let form = |centre: Vec<f64>| {
        let expansion = rows.expansion(&centre, false);
        ProductForm::new(centre, expansion)
    };
    form(form(ln_p.iter().map(|ln| ln.exp()).collect())?.mean(rules)?)
}

/// A point `λ` of the path.
struct Path<'a> {
    rows: &'a dyn RowLikelihood,
    /// `L` at the centre, where `L°` is 0.
    origin: f64,
    product: &'a ProductForm,
    lambda: f64,
    /// The surrogate that the chains follow.
    family: Target<'a>,
}

/// `L° + λD` and `D` at a state of a chain.
type Pair = [f64; 2];

impl<'a> Path<'a> {
    fn new(
        rows: &'a dyn RowLikelihood,
        prior: &ChainPrior<'a>,
        product: &'a ProductForm,
        lambda: f64,
    ) -> Self {
        let counts = rows.counts();
        let exact = vec![few(counts.len(), rows.inputs()); counts.len()];
        let target = Target::with_rows(rows, prior, &exact, product.centre.clone(), false);
        Path { rows, origin: target.origin, product, lambda, family: target.between(product, lambda) }
    }

    fn pair(&self, state: &State) -> Pair {
        let product = self.product.ln_likelihood(&state.p);
        let difference = self.rows.ln_likelihood(&state.p) - self.origin - product;
        [product + self.lambda * difference, difference]
    }

    /// A chain: its last state, and what it recorded.
    fn chain(&self, mut state: State, burn_in: usize, steps: usize, rng: &mut dyn Rng) -> (State, Vec<Pair>) {
        (0..burn_in).for_each(|_| self.family.sweep(&mut state, 1.0, rng));
        let mut pair = self.pair(&state);
        let mut left_out = pair[0] - self.family.followed(&state);
        let mut pairs = Vec::with_capacity(steps);
        for _ in 0..steps {
            check();
            let mut proposal = state.clone();
            (0..STEPS[1]).for_each(|_| self.family.sweep(&mut proposal, 1.0, rng));
            let proposed = self.pair(&proposal);
            let proposed_left_out = proposed[0] - self.family.followed(&proposal);
            if rng.random::<f64>() < (proposed_left_out - left_out).exp() {
                (state, pair, left_out) = (proposal, proposed, proposed_left_out);
            }
            pairs.push(pair);
        }
        (state, pairs)
    }
}

fn mean(pairs: &[Pair], of: impl Fn(&Pair) -> f64) -> f64 {
    pairs.iter().map(of).sum::<f64>() / pairs.len() as f64
}

/// The variance of `D`.
fn variance(pairs: &[Pair]) -> f64 {
    let centre = mean(pairs, |pair| pair[1]);
    mean(pairs, |pair| (pair[1] - centre).powi(2)) * pairs.len() as f64 / (pairs.len() - 1) as f64
}

/// `Cov(L° + λD, D)` from two independent chains.
fn covariance(here: &[Pair], there: &[Pair]) -> f64 {
    let centre = [0, 1].map(|i| 0.5 * (mean(here, |pair| pair[i]) + mean(there, |pair| pair[i])));
    let first = |pairs: &[Pair]| mean(pairs, |pair| pair[0] - centre[0]);
    let second = |pairs: &[Pair]| mean(pairs, |pair| pair[1] - centre[1]);
    let product = |pairs: &[Pair]| mean(pairs, |pair| (pair[0] - centre[0]) * (pair[1] - centre[1]));
    0.5 * (product(here) + product(there) - first(here) * second(there) - first(there) * second(here))
}
