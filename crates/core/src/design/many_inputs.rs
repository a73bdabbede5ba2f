//! The best mixture of subset selections for many inputs under a symmetric prior.
//!
//! At a point `p` of the prior the information of a mixture is a diagonal plus low rank, and so is its inverse `A` (off `1`). The gain of the size `k` is
//! ```text
//! tr(J⁻¹ J_k) = β² / (1 + βk/a) · E_S[ q(S) / (1 + β p(S)) ],   q(S) = 1_Sᵀ A 1_S,   S a random k-subset,   β = e^ε − 1
//! ```
//! which is averaged over the `a` windows of length `k` in a random circular order of the inputs: sums over windows are differences of prefix
//! sums, `O(a · rank)` for each `k`. The weighted gain of the mixture's own sizes is `a − 1` at every point, so its deviation from
//! that is taken off all others, which leaves little noise where it matters.
//!
//! Not every `k` need be tried. A subset `T ⊃ S` of size `j > k` has `p(T) ≥ p(S)` and, for `T` uniform given `S`,
//! ```text
//! E q(T) = q(S)(1 − 2ρ + ρρ') + ρ(1 − ρ') tr_{S^c} A,   ρ = (j−k)/(a−k),  ρ' = (j−k−1)/(a−k−1)
//! ```
//! so two means at `k` bound the gains of the sizes above it, and sizes are added where that bound is not below the tolerance.

use crate::numerics::parallel::*;
use chacha20::ChaCha8Rng;
use rand::SeedableRng;
use rand::seq::SliceRandom;

use super::certificate::Certificate;
use super::{Design, Effort, subset_mixture};
use crate::design::optimal_parameter::best_subset_size;
use crate::fisher::expectation::quasi_monte_carlo::DirichletSequence;
use crate::fisher::{FisherInformation, InverseOffOne, Mixture, Point, SubsetSelection};
use crate::leakage::{GroupedPrior, subset_selection};
use crate::model::error::{Error, Result};
use crate::model::evaluation::Method;
use crate::model::prior::{Dirichlet, Prior};
use crate::numerics::stop::check;

/// The most inputs.
pub(super) const MOST_INPUTS: usize = 10_000;
/// Relative tolerance of the eigenvalues of the information.
const TOLERANCE: f64 = 1e-9;
/// Points times inputs, and the fewest points: enough for a Student error.
const POINTS_TIMES_INPUTS: usize = 1 << 16;
const FEWEST_POINTS: usize = 24;
/// Standard errors that count as the error of a gain: a chance below `1e-3` for each size with 23 degrees of freedom.
const STANDARD_ERRORS: f64 = 4.0;
/// Rounds in which sizes enter the mixture.
const ROUNDS: usize = 6;
/// Points that decide which sizes are tried.
const PILOTS: usize = 4;

/// A design problem for many inputs.
pub(super) struct ManyInputs<'a> {
    dirichlet: &'a Dirichlet,
    epsilon: f64,
    effort: Effort<'a>,
}

/// Sizes with their weights.
type Sizes = Vec<(usize, f64)>;

impl<'a> ManyInputs<'a> {
    pub(super) fn new(dirichlet: &'a Dirichlet, epsilon: f64, effort: Effort<'a>) -> Self {
        ManyInputs { dirichlet, epsilon, effort }
    }

    fn inputs(&self) -> usize {
        self.dirichlet.alpha().len()
    }

    pub(super) fn solve(&self) -> Result<Design> {
        let prior = Prior::Dirichlet(self.dirichlet.clone());
        let mut sizes: Sizes = vec![(best_subset_size(&prior, self.epsilon), 1.0)];
        let points = self.points();
        for round in 1.. {
            check();
            let tried = self.tried(&sizes, &points[..PILOTS])?;
            let gains = self.gains(&sizes, &tried, &points)?;
            let (best, most) = largest(&gains, |gain| gain.value);
            if most <= self.tolerance() || round == ROUNDS {
                // The own sizes gain exactly what they cost, but for the error of the eigenvalues.
                let rounding = TOLERANCE * self.inputs() as f64;
                let beyond = largest(&gains, |gain| gain.value + gain.error).1.max(0.0) + rounding;
                return self.design(&sizes, beyond, tried.len(), points.len());
            }
            sizes = self.mixed(sizes, best, &points)?;
        }
        Err(Error::DesignNotConverged)
    }

    fn tolerance(&self) -> f64 {
        0.25 * self.effort.gap * 2.0 * (self.inputs() as f64 - 1.0)
    }

    /// Independent points, each with an order of the inputs.
    fn points(&self) -> Vec<(Point, Vec<usize>)> {
        let count = (POINTS_TIMES_INPUTS / self.inputs()).max(FEWEST_POINTS);
        let point = |i: usize| {
            let mut rng = ChaCha8Rng::seed_from_u64(self.effort.seed);
            rng.set_stream(i as u64);
            let mut order: Vec<usize> = (0..self.inputs()).collect();
            order.shuffle(&mut rng);
            let sequence = DirichletSequence::new(self.effort.seed, i as u32);
            (sequence.point(0, self.dirichlet.alpha()), order)
        };
        (0..count).into_par_iter().map(point).collect()
    }

    /// A better mixture with one more size: multiplicative steps, each of which raises the utility.
    fn mixed(&self, mut sizes: Sizes, entering: usize, points: &[(Point, Vec<usize>)]) -> Result<Sizes> {
        sizes.iter_mut().for_each(|(_, weight)| *weight *= 0.8);
        sizes.push((entering, 0.2));
        let tried: Vec<usize> = sizes.iter().map(|(k, _)| *k).collect();
        for _ in 0..30 {
            check();
            let gains = self.gains(&sizes, &tried, points)?;
            let level = self.inputs() as f64 - 1.0;
            let factor = |k: usize| (1.0 + gains[k - 1].value / level).powi(4);
            sizes.iter_mut().for_each(|(k, weight)| *weight *= factor(*k));
            let total: f64 = sizes.iter().map(|(_, weight)| weight).sum();
            sizes.iter_mut().for_each(|(_, weight)| *weight /= total);
        }
        sizes.retain(|(_, weight)| *weight > 1e-4);
        let total: f64 = sizes.iter().map(|(_, weight)| weight).sum();
        sizes.iter_mut().for_each(|(_, weight)| *weight /= total);
        Ok(sizes)
    }

    /// Sizes such that the bound on those between them is below the tolerance on a few points.
    fn tried(&self, sizes: &Sizes, pilots: &[(Point, Vec<usize>)]) -> Result<Vec<usize>> {
        let inputs = self.inputs();
        let mut tried: Vec<usize> = (0..)
            .map(|i| 1.08f64.powi(i) as usize)
            .take_while(|k| *k < inputs)
            .chain(sizes.iter().map(|(k, _)| *k))
            .collect();
        tried.sort_unstable();
        tried.dedup();
        loop {
            check();
            let gains = self.gains(sizes, &tried, pilots)?;
            let ends = tried.iter().skip(1).copied().chain([inputs]);
            let open = |(low, high): (&usize, usize)| {
                let between = (low + 1..high).map(|k| gains[k - 1].value).fold(f64::NEG_INFINITY, f64::max);
                (between > 0.2 * self.tolerance()).then_some(low + (high - low) / 2)
            };
            let added: Vec<usize> = tried.iter().zip(ends).filter_map(open).collect();
            if added.is_empty() {
                return Ok(tried);
            }
            tried.extend(added);
            tried.sort_unstable();
        }
    }

    /// For each size, the gain beyond `a − 1`: its mean over the points if it is tried, else a bound on that mean.
    fn gains(&self, sizes: &Sizes, tried: &[usize], points: &[(Point, Vec<usize>)]) -> Result<Vec<Gain>> {
        let parts = sizes.iter().map(|(k, weight)| {
            let part = SubsetSelection::new(self.inputs(), *k, self.epsilon, TOLERANCE);
            (*weight, Box::new(part) as Box<dyn FisherInformation + Send>)
        });
        let mixture = Mixture::new(parts.collect(), TOLERANCE);
        let at = |(point, order): &(Point, Vec<usize>)| {
            let inverse = mixture.structure(point)?.inverse_off_one(TOLERANCE * 1e-2)?;
            Some(Windows::new(&inverse, point, order, self.epsilon).beyond(sizes, tried))
        };
        let values: Option<Vec<Vec<f64>>> = points.par_iter().map(at).collect();
        let values = values.ok_or(Error::DesignNotConverged)?;
        Ok((0..self.inputs() - 1).map(|i| Gain::of(values.iter().map(|value| value[i]))).collect())
    }

    fn design(&self, sizes: &Sizes, beyond: f64, priced: usize, points: usize) -> Result<Design> {
        let a = self.inputs();
        let (ks, weights): (Vec<usize>, Vec<f64>) = sizes.iter().copied().unzip();
        let prior = GroupedPrior::dirichlet_groups(&[(self.dirichlet.alpha()[0], a)]);
        let part = |(k, weight): &(usize, f64)| weight * subset_selection(*k, self.epsilon, &prior).value;
        let level = a as f64 - 1.0;
        Ok(Design {
            protocol: subset_mixture(a, self.epsilon, &ks, &weights)?,
            leakage: sizes.iter().map(part).sum(),
            certificate: Certificate {
                gap: beyond / (2.0 * level),
                multipliers: vec![(level + beyond) / a as f64; a],
                privacy_multiplier: 0.0,
                leakage_budget: None,
                priced,
                whole_cone: false,
                points,
                method: Method::MonteCarlo,
            },
        })
    }
}

/// The size (from 1) that is largest by some number, and the number.
fn largest(gains: &[Gain], by: impl Fn(&Gain) -> f64) -> (usize, f64) {
    let best = (0..gains.len()).max_by(|&i, &j| by(&gains[i]).total_cmp(&by(&gains[j]))).unwrap_or(0);
    (best + 1, by(&gains[best]))
}

/// A mean over the points and its error.
#[derive(Clone, Copy, Debug)]
struct Gain {
    value: f64,
    error: f64,
}

impl Gain {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let count = values.clone().count() as f64;
        let value = values.clone().sum::<f64>() / count;
        let squares: f64 = values.map(|v| (v - value).powi(2)).sum();
        Gain { value, error: STANDARD_ERRORS * (squares / (count * (count - 1.0))).sqrt() }
    }
}

/// Prefix sums in a circular order of the inputs, over two rounds.
struct Windows {
    inputs: usize,
    beta: f64,
    probability: Vec<f64>,
    diagonal: Vec<f64>,
    /// The diagonal of the whole inverse.
    trace: Vec<f64>,
    terms: Vec<(f64, Vec<f64>)>,
}

impl Windows {
    fn new(inverse: &InverseOffOne, point: &Point, order: &[usize], epsilon: f64) -> Self {
        let prefix = |value: &dyn Fn(usize) -> f64| {
            let mut sums = vec![0.0];
            for &x in order.iter().chain(order) {
                sums.push(sums[sums.len() - 1] + value(x));
            }
            sums
        };
        let whole =
            |x: usize| inverse.diagonal[x] + inverse.terms.iter().map(|(c, y)| c * y[x] * y[x]).sum::<f64>();
        Windows {
            inputs: order.len(),
            beta: epsilon.exp_m1(),
            probability: prefix(&|x| point.p()[x]),
            diagonal: prefix(&|x| inverse.diagonal[x]),
            trace: prefix(&whole),
            terms: inverse.terms.iter().map(|(c, y)| (*c, prefix(&|x| y[x]))).collect(),
        }
    }

    /// The means over all windows of length `k` of `q/(1 + βp)` and of `tr_{S^c} A/(1 + βp)`.
    fn means(&self, k: usize) -> (f64, f64) {
        let total = self.trace[self.inputs];
        let (mut form, mut rest) = (0.0, 0.0);
        for i in 0..self.inputs {
            let sum = |prefix: &[f64]| prefix[i + k] - prefix[i];
            let squares: f64 = self.terms.iter().map(|(c, y)| c * sum(y).powi(2)).sum();
            let share = 1.0 / (1.0 + self.beta * sum(&self.probability));
            form += share * (sum(&self.diagonal) + squares);
            rest += share * (total - sum(&self.trace));
        }
        (form / self.inputs as f64, rest / self.inputs as f64)
    }

    /// `β²/(1 + βj/a)`.
    fn unit(&self, j: usize) -> f64 {
        self.beta * self.beta / (1.0 + self.beta * j as f64 / self.inputs as f64)
    }

    /// For each size, its gain (or the bound from the last size tried) beyond that of the mixture.
    fn beyond(&self, sizes: &Sizes, tried: &[usize]) -> Vec<f64> {
        let means: Vec<(usize, (f64, f64))> = tried.iter().map(|&k| (k, self.means(k))).collect();
        let mut gains = vec![0.0; self.inputs - 1];
        for (i, &(k, (form, rest))) in means.iter().enumerate() {
            let next = means.get(i + 1).map_or(self.inputs, |next| next.0);
            for j in k..next {
                let others = (self.inputs - k) as f64;
                let added = (j - k) as f64;
                let (share, again) = (added / others, (added - 1.0) / (others - 1.0).max(1.0));
                let bound = if j == k {
                    form
                } else {
                    form * (1.0 - 2.0 * share + share * again) + share * (1.0 - again) * rest
                };
                gains[j - 1] = self.unit(j) * bound;
            }
        }
        let own: f64 = sizes.iter().map(|(k, weight)| weight * gains[k - 1]).sum();
        gains.iter_mut().for_each(|gain| *gain -= own);
        gains
    }
}
