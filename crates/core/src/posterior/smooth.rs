//! The posterior under the smoothing prior ([`crate::prior::Smooth`]).
//!
//! # Method
//! Given the precision `τ` the innovations `u` (mean step and changes of the step of `ln p`) are independent normal variables, so elliptical slice sampling
//! applies (I. Murray, R. P. Adams and D. J. C. MacKay, AISTATS 2010): a move on the ellipse through the current position and a
//! normal draw, which is never rejected. Reports say much more than the prior, so the normal distribution of the ellipse is the
//! prior times a share `η` of the quadratic expansion of the log-likelihood, and the slice is that of the rest:
//!
//! ```text
//! e^{L(u)} N(u; 0, I/τ) ∝ e^{L(u) − ηq(u)} N(u; m, (τI + ηH)^{−1}),      q(u) = g·(u − c) − ½ (u − c)ᵀ H (u − c)
//! ```
//! In the eigenvectors of `H` everything but `L` is diagonal. The whole expansion (`η = 1`) draws nearly independently where the
//! posterior is nearly normal; a quarter of it (`η = ¼`) reaches the tails where it is not.
//!
//! `τ` has a gamma distribution given `u`. Where reports say little, `u` and `τ` depend on each other so much that this
//! alone is slow; a third move scales `u` by `e^s` and `τ` by `e^{−2s}`, which changes the likelihood and the prior of `τ` only.
//!
//! Where a pass over the reports takes long, the sweeps see a quadratic expansion of the log-likelihood in `p` instead, and one pass accepts or rejects what a
//! sweep proposes (delayed acceptance). A sweep is made of its moves in one order and then in the other, so that it is reversible, as this needs. If the
//! expansion is too rough, [`MAX_VARIANCE`], it is not used.
//!
//! The centre `c` is the mode given `τ`, by Newton's method with `H = Jᵀ(−∇²L)J`, `J = ∂p/∂u`, and `τ` follows by expectation
//! maximisation.

use chacha20::ChaCha8Rng;
use faer::{Mat, Side};
use rand::RngExt;
use rand_distr::StandardNormal;

use super::marginal::grid;
use super::plain_chains::{self, CHAINS, Draw, Walk, summary};
use super::summary::{Draws, Posterior, PosteriorOptions, Summary};
use crate::information::Choice;
use crate::likelihood::Senders;
use crate::mcmc::quadratic::Quadratic;
use crate::model::error::{Error, Result};
use crate::model::evaluation::Method;
use crate::model::prior::{Smooth, normalised};
use crate::numerics::parallel::*;
use crate::numerics::random::generator;
use crate::numerics::split_mix::split_mix;
use crate::numerics::stop::check;

/// The precision with which the search for the centre begins.
const FIRST_PRECISION: f64 = 10.0;

/// Most steps of that search, and the change of the log-density at which it ends.
const MOST_STEPS: usize = 50;
const SMALL_GAIN: f64 = 1e-3;

/// Shares of the expansion in the moves of one sweep.
const SHARES: [f64; 2] = [1.0, 0.25];

/// Most trials of a slice, which shrinks by about a half with each.
const MOST_TRIALS: usize = 100;

/// Steps of a pass over the reports above which sweeps see the expansion; sweeps that assess it, and the largest variance of its error among them.
const EXPENSIVE: f64 = 3e3;
const ASSESSED: usize = 40;
const MAX_VARIANCE: f64 = 0.5;

/// Width of the slice of the common scale of all innovations.
const SCALE_WIDTH: f64 = 2.0;

/// The least number of draws for which the users' tallies are drawn too, and the elementary steps that tallies of all draws may take.
const TALLIED: usize = 500;
const QUICK_STEPS: f64 = 4e8;

/// The posterior under the smoothing prior.
///
/// # Errors
/// An exact answer is asked for; the reports are impossible; the chains did not converge.
pub(super) fn posterior(likelihood: &dyn Senders, options: &PosteriorOptions<'_>) -> Result<Posterior> {
    if options.choice == Choice::Exact {
        return Err(Error::NoExactPosterior);
    }
    let target = Target::new(likelihood)?;
    let drawn = plain_chains::run(&target, options)?;
    let (a, count) = (likelihood.inputs(), drawn.draws.len());
    let tallied = match likelihood.steps() * count as f64 <= QUICK_STEPS {
        true => count,
        false => TALLIED.max(options.draws).min(count),
    };
    // The draws of the chains stand in turn; those with tallies are spread over all of each chain.
    let at = |i: usize| (i / CHAINS) * (count / CHAINS) / tallied.div_ceil(CHAINS) * CHAINS + i % CHAINS;
    let tally = |i: usize| {
        let rng = &mut generator(split_mix(options.seed, 1), i as u64);
        likelihood.sample_tallies(&drawn.draws[at(i)].0, rng)
    };
    let t: Vec<Vec<u64>> = (0..tallied).into_par_iter().map(tally).collect();
    let of_value = |x: usize| {
        let size = drawn.agreements[x].bulk;
        let values: Vec<f64> = drawn.draws.iter().map(|(p, _)| p[x]).collect();
        let share = Summary { density: density(&values, options.grid), ..summary(values, size, options) };
        let tallies = t.iter().map(|t| t[x] as f64).collect();
        let mut tally = summary(tallies, size.min(tallied as f64), options);
        tally.quantiles.iter_mut().for_each(|(_, t)| *t = t.round());
        (share, tally)
    };
    let (p, t_summaries) = (0..a).into_par_iter().map(of_value).unzip();
    let joint = |i: usize| drawn.draws[at(i)].0.clone();
    let wanted = options.draws.min(tallied);
    Ok(Posterior {
        n: likelihood.n(),
        method: Method::MonteCarlo,
        log_evidence: Err("it is not computed under a smoothing prior"),
        p,
        t: t_summaries,
        t_quantiles: Method::MonteCarlo,
        alpha: None,
        roughness: drawn.parameter(options),
        weights: Vec::new(),
        terms: Vec::new(),
        draws: Draws {
            p: (0..wanted).map(joint).collect(),
            t: t.into_iter().take(wanted).collect(),
            chains: CHAINS,
        },
        diagnostics: Some(drawn.diagnostics),
    })
}

/// A kernel estimate of a density, with normal kernels of Silverman's width.
fn density(values: &[f64], points: usize) -> Vec<(f64, f64)> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
    let width = 1.06 * sd * count.powf(-0.2);
    let kernel = |p: f64, v: f64| (-0.5 * ((p - v) / width).powi(2)).exp();
    let scale = 1.0 / (count * width * std::f64::consts::TAU.sqrt());
    grid(mean, sd, points, |p| scale * values.iter().map(|v| kernel(p, *v)).sum::<f64>())
}

/// The posterior of the innovations, in the eigenvectors of the curvature of the log-likelihood.
struct Target<'a> {
    likelihood: &'a dyn Senders,
    /// A column for each eigenvector.
    basis: Mat<f64>,
    /// The eigenvalues of `H`, and `g` and `c` in its eigenvectors.
    curvature: Vec<f64>,
    slope: Vec<f64>,
    centre: Vec<f64>,
    /// The precision for which the centre is the mode.
    precision: f64,
    /// What sweeps see instead of the log-likelihood.
    expansion: Option<Quadratic>,
}

/// The position of a chain.
#[derive(Clone)]
struct State {
    /// The innovations in the eigenvectors of the curvature.
    w: Vec<f64>,
    /// `L`, or its expansion if sweeps see that.
    ln_likelihood: f64,
    precision: f64,
    /// `L` less what sweeps see.
    difference: f64,
}

/// Gradient and curvature of the log-likelihood in the innovations.
struct Expansion {
    gradient: Vec<f64>,
    basis: Mat<f64>,
    curvature: Vec<f64>,
}

impl Expansion {
    fn new(likelihood: &dyn Senders, innovations: &[f64]) -> Result<Self> {
        let p = shares(innovations);
        let (gradient, hessian) = likelihood.expansion(&p, true);
        let (a, k) = (p.len(), innovations.len());
        // ∂p_x/∂u_j = p_x (W_xj − Σ_z p_z W_zj), where ln P = Wu up to a constant.
        let column = |j: usize| {
            let mut unit = vec![0.0; k];
            unit[j] = 1.0;
            let weights = Smooth::ln_weights(&unit);
            let mean: f64 = weights.iter().zip(&p).map(|(w, p)| w * p).sum();
            weights.iter().zip(&p).map(|(w, p)| p * (w - mean)).collect::<Vec<f64>>()
        };
        let columns: Vec<Vec<f64>> = (0..k).map(column).collect();
        let jacobian = Mat::from_fn(a, k, |x, j| columns[j][x]);
        let hessian = Mat::from_fn(a, a, |x, z| hessian[x * a + z]);
        let h = jacobian.transpose() * (&hessian * &jacobian);
        let slope = |j: usize| columns[j].iter().zip(&gradient).map(|(v, g)| v * g).sum();
        let eigen = h.self_adjoint_eigen(Side::Lower).map_err(|_| Error::ImpossibleReports)?;
        let values = eigen.S().column_vector();
        Ok(Expansion {
            gradient: (0..k).map(slope).collect(),
            // Rounding may leave eigenvalues just below zero.
            curvature: (0..k).map(|i| values[i].max(0.0)).collect(),
            basis: eigen.U().to_owned(),
        })
    }

    /// A vector in the eigenvectors.
    fn turned(&self, v: &[f64]) -> Vec<f64> {
        (0..v.len()).map(|i| v.iter().enumerate().map(|(j, v)| self.basis[(j, i)] * v).sum()).collect()
    }
}

fn turned_back(basis: &Mat<f64>, w: &[f64]) -> Vec<f64> {
    let mut u = vec![0.0; w.len()];
    for (i, w_i) in w.iter().enumerate() {
        u.iter_mut().enumerate().for_each(|(j, u_j)| *u_j += basis[(j, i)] * w_i);
    }
    u
}

fn shares(innovations: &[f64]) -> Vec<f64> {
    normalised(Smooth::ln_weights(innovations)).into_iter().map(f64::exp).collect()
}

impl<'a> Target<'a> {
    fn new(likelihood: &'a dyn Senders) -> Result<Self> {
        let mut u: Vec<f64> = vec![0.0; likelihood.inputs() - 1];
        let mut precision = FIRST_PRECISION;
        let mut value = likelihood.ln_likelihood(&shares(&u));
        if !value.is_finite() {
            return Err(Error::ImpossibleReports);
        }
        let mut expansion = Expansion::new(likelihood, &u)?;
        for _ in 0..MOST_STEPS {
            check();
            let squares = |u: &[f64]| u.iter().map(|d| d * d).sum::<f64>();
            let downhill: Vec<f64> =
                expansion.gradient.iter().zip(&u).map(|(g, d)| g - precision * d).collect();
            let turned = expansion.turned(&downhill);
            let newton: Vec<f64> =
                turned.iter().zip(&expansion.curvature).map(|(g, h)| g / (precision + h)).collect();
            let direction = turned_back(&expansion.basis, &newton);
            let now = value - 0.5 * precision * squares(&u);
            let trial = |share: f64| {
                let moved: Vec<f64> = u.iter().zip(&direction).map(|(d, v)| d + share * v).collect();
                let value = likelihood.ln_likelihood(&shares(&moved));
                (value - 0.5 * precision * squares(&moved) - now, value, moved)
            };
            let better = (0..20).map(|halvings| trial(0.5f64.powi(halvings))).find(|found| found.0 > 0.0);
            let gain = better.as_ref().map_or(0.0, |found| found.0);
            if let Some((_, found, moved)) = better {
                (u, value) = (moved, found);
                expansion = Expansion::new(likelihood, &u)?;
            }
            let spread: f64 = expansion.curvature.iter().map(|h| 1.0 / (precision + h)).sum();
            let shape = Smooth::SHAPE + u.len() as f64 / 2.0;
            let next = shape / (Smooth::RATE + 0.5 * (squares(&u) + spread));
            let change = (next / precision).ln().abs();
            precision = next;
            if gain < SMALL_GAIN && change < SMALL_GAIN.sqrt() {
                break;
            }
        }
        let (slope, centre) = (expansion.turned(&expansion.gradient), expansion.turned(&u));
        let Expansion { basis, curvature, .. } = expansion;
        let mut target = Target { likelihood, basis, curvature, slope, centre, precision, expansion: None };
        if likelihood.steps() > EXPENSIVE {
            let p = shares(&u);
            target.expansion = Some(Quadratic::new(p.clone(), likelihood.expansion(&p, true)));
            target.assess();
        }
        Ok(target)
    }

    /// Drops an expansion that is too rough.
    fn assess(&mut self) {
        let rng = &mut generator(0, u64::MAX);
        let mut state = self.state(self.centre.clone(), self.precision);
        let mut differences = Vec::with_capacity(ASSESSED);
        for _ in 0..ASSESSED {
            self.propose(&mut state, rng);
            differences.push(self.difference(&state));
        }
        let mean = differences.iter().sum::<f64>() / ASSESSED as f64;
        let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / ASSESSED as f64;
        // False for NaN too.
        let is_small = variance <= MAX_VARIANCE;
        if !is_small {
            self.expansion = None;
        }
    }

    fn state(&self, w: Vec<f64>, precision: f64) -> State {
        let ln_likelihood = self.ln_likelihood(&w);
        let mut state = State { w, ln_likelihood, precision, difference: 0.0 };
        state.difference = self.difference(&state);
        state
    }

    /// `L` less what sweeps see.
    fn difference(&self, state: &State) -> f64 {
        match self.expansion {
            Some(_) => self.likelihood.ln_likelihood(&self.shares(&state.w)) - state.ln_likelihood,
            None => 0.0,
        }
    }

    fn shares(&self, w: &[f64]) -> Vec<f64> {
        shares(&turned_back(&self.basis, w))
    }

    /// All moves, in one order and in the other.
    fn propose(&self, state: &mut State, rng: &mut ChaCha8Rng) {
        for share in SHARES {
            self.elliptical(share, state, rng);
            self.renew_precision(state, rng);
        }
        self.rescale(state, rng);
        if self.expansion.is_some() {
            self.rescale(state, rng);
            for share in SHARES.iter().rev() {
                self.renew_precision(state, rng);
                self.elliptical(*share, state, rng);
            }
        }
    }

    /// `L`, or its expansion.
    fn ln_likelihood(&self, w: &[f64]) -> f64 {
        let p = self.shares(w);
        match &self.expansion {
            Some(expansion) => expansion.value(&p, &expansion.gradient_at(&p)),
            None => self.likelihood.ln_likelihood(&p),
        }
    }

    /// `q`.
    fn expanded(&self, w: &[f64]) -> f64 {
        let term = |i: usize| {
            let off = w[i] - self.centre[i];
            off * (self.slope[i] - 0.5 * self.curvature[i] * off)
        };
        (0..w.len()).map(term).sum()
    }

    /// Mean and a draw of the normal distribution of the ellipses, without its mean.
    fn normal(&self, share: f64, precision: f64, rng: &mut ChaCha8Rng) -> (Vec<f64>, Vec<f64>) {
        let one = |i: usize| {
            let total = precision + share * self.curvature[i];
            let mean = share * (self.curvature[i] * self.centre[i] + self.slope[i]) / total;
            (mean, rng.sample::<f64, _>(StandardNormal) / total.sqrt())
        };
        (0..self.centre.len()).map(one).unzip()
    }

    /// A move of the innovations given the precision.
    fn elliptical(&self, share: f64, state: &mut State, rng: &mut ChaCha8Rng) {
        let (mean, noise) = self.normal(share, state.precision, rng);
        let rest = |ln_likelihood: f64, w: &[f64]| ln_likelihood - share * self.expanded(w);
        let floor = rest(state.ln_likelihood, &state.w) + (1.0 - rng.random::<f64>()).ln();
        let mut angle = std::f64::consts::TAU * rng.random::<f64>();
        let (mut low, mut high) = (angle - std::f64::consts::TAU, angle);
        for _ in 0..MOST_TRIALS {
            let (sin, cos) = angle.sin_cos();
            let place = |i: usize| mean[i] + (state.w[i] - mean[i]) * cos + noise[i] * sin;
            let w: Vec<f64> = (0..state.w.len()).map(place).collect();
            let ln_likelihood = self.ln_likelihood(&w);
            if rest(ln_likelihood, &w) > floor {
                (state.w, state.ln_likelihood) = (w, ln_likelihood);
                return;
            }
            if angle < 0.0 {
                low = angle
            } else {
                high = angle
            }
            angle = low + (high - low) * rng.random::<f64>();
        }
    }

    /// A draw of the precision given the innovations.
    fn renew_precision(&self, state: &mut State, rng: &mut ChaCha8Rng) {
        let squares = state.w.iter().map(|w| w * w).sum();
        state.precision = Smooth::sample_precision(state.w.len(), squares, rng);
    }

    /// A common scale of all innovations, with the precision that fits.
    fn rescale(&self, state: &mut State, rng: &mut ChaCha8Rng) {
        let prior = |precision: f64| Smooth::SHAPE * precision.ln() - Smooth::RATE * precision;
        let floor = state.ln_likelihood + prior(state.precision) + (1.0 - rng.random::<f64>()).ln();
        let mut low = -SCALE_WIDTH * rng.random::<f64>();
        let mut high = low + SCALE_WIDTH;
        for _ in 0..MOST_TRIALS {
            let s = low + (high - low) * rng.random::<f64>();
            let w: Vec<f64> = state.w.iter().map(|w| w * s.exp()).collect();
            let (ln_likelihood, precision) = (self.ln_likelihood(&w), state.precision * (-2.0 * s).exp());
            if ln_likelihood + prior(precision) > floor {
                *state = State { w, ln_likelihood, precision, ..*state };
                return;
            }
            if s < 0.0 { low = s } else { high = s }
        }
    }
}

impl Walk for Target<'_> {
    type State = State;
    const BURN_IN: usize = 200;
    const SWEEPS: usize = 1;

    /// A draw that is wider than the posterior.
    fn begin(&self, rng: &mut ChaCha8Rng) -> State {
        let (mean, noise) = self.normal(SHARES[1], self.precision, rng);
        let w: Vec<f64> = mean.iter().zip(noise).map(|(mean, noise)| mean + noise).collect();
        self.state(w, self.precision)
    }

    fn sweep(&self, state: &mut State, rng: &mut ChaCha8Rng) {
        check();
        let before = self.expansion.as_ref().map(|_| state.clone());
        self.propose(state, rng);
        let Some(before) = before else { return };
        state.difference = self.difference(state);
        // NaN is rejected too.
        let accepted = rng.random::<f64>().ln() < state.difference - before.difference;
        if !accepted {
            *state = before;
        }
    }

    /// The parameter is the roughness.
    fn draw(&self, state: &State) -> Draw {
        (self.shares(&state.w), Some(state.precision.sqrt().recip()))
    }
}
