//! The posterior of a functional of `P`: exact where that is natural, by joint draws otherwise.
//!
//! # Method
//!
//! | functional | posterior | exact |
//! |---|---|---|
//! | linear | any exact method | the mean |
//! | share of one value (or of all but one) | any exact method | mean, standard deviation, quantiles |
//! | share of a group, or its ratio to a group that contains it | Dirichlet mixture with stored [terms](Posterior::terms) | everything: mixtures of beta distributions |
//!
//! All else is computed from the joint draws of `P`. Their effective sample size is their number where they are independent. Draws of Markov
//! chains have the smaller of the bulk and tail sizes of this functional ([`crate::mcmc::diagnostics`]). The standard error of a quantile is
//! half the distance between the quantiles one standard error of the probability to both sides. Probabilities `k/m` have the standard error
//! of `(k + 1)/(m + 2)`, which is not 0 for `k = 0`.
//!
//! Two posteriors of different collections are independent, so that pairs of their draws are joint draws. They must have been made with
//! different seeds.

use crate::numerics::parallel::*;

use super::functional::{Functional, checked_inputs, ratio, standing};
use super::marginal::{Marginal, Mixture};
use super::summary::{Posterior, Summary, weighted_quantile};
use crate::mcmc::diagnostics::agreement;
use crate::model::error::{Error, Result};
use crate::model::evaluation::{Evaluation, Method};

/// The least number of joint draws.
const LEAST_DRAWS: usize = 100;

/// The number of joint draws that tells a probability to about 0.01.
pub const FUNCTIONAL_DRAWS: usize = 4000;

/// Relative difference up to which two sums of the same parameters, or two probabilities, are the same.
const ROUNDING: f64 = 1e-11;

/// Relative error of integrals over beta distributions.
const QUADRATURE_ERROR: f64 = 1e-10;

/// The posterior of a functional in numbers, each with its method and error.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionalSummary {
    /// Mean.
    pub mean: Evaluation,
    /// Standard deviation.
    pub sd: Evaluation,
    /// Probabilities and quantiles.
    pub quantiles: Vec<(f64, Evaluation)>,
    /// For differences and ratios, the number that they are compared with, and the probability of being above it.
    pub above: Option<(f64, Evaluation)>,
    /// The effective number of draws, where some of it comes from draws.
    pub sample_size: Option<f64>,
}

/// How the same functional of two collections is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contrast {
    /// Left minus right.
    Difference,
    /// Left over right.
    Ratio,
}

impl Contrast {
    /// The number that means no change.
    pub fn reference(self) -> f64 {
        match self {
            Contrast::Difference => 0.0,
            Contrast::Ratio => 1.0,
        }
    }

    fn of(self, left: f64, right: f64) -> f64 {
        match self {
            Contrast::Difference => left - right,
            Contrast::Ratio => ratio(left, right),
        }
    }
}

impl Posterior {
    /// The posterior of a functional, with these quantiles.
    ///
    /// ```
    /// use sottovoce::posterior::{Functional, PosteriorOptions, posterior};
    /// use sottovoce::{Output, Prior, Protocol, Tallies};
    ///
    /// let protocol = Protocol::identity(3)?;
    /// let tallies = Tallies::new(&protocol, [(Output::Index(0), 50), (Output::Index(1), 30), (Output::Index(2), 20)])?;
    /// let found = posterior(&protocol, &Prior::jeffreys(3)?, &tallies, &PosteriorOptions::default())?;
    /// // Beta(81, 20.5)
    /// let first_two = found.functional(&Functional::share(3, &[0, 1])?, &[0.05, 0.95])?;
    /// assert!((first_two.mean.value - 81.0 / 101.5).abs() < 1e-12);
    /// # Ok::<(), sottovoce::Error>(())
    /// ```
    ///
    /// # Errors
    /// The functional has another number of values, or there are fewer than a hundred draws where they are needed.
    pub fn functional(&self, functional: &Functional, probabilities: &[f64]) -> Result<FunctionalSummary> {
        checked_inputs(functional.inputs(), self.p.len())?;
        if let Some(found) = self.beta_mixture(functional, probabilities) {
            return Ok(found);
        }
        if let Some(found) = self.one_value(functional, probabilities) {
            return Ok(found);
        }
        let sample = self.sample(functional)?;
        let mut found = sample.summary(probabilities, functional.reference());
        if let Some(weights) = functional.weights() {
            found.mean = self.linear_mean(&weights, found.mean);
        }
        Ok(found)
    }

    /// The difference or ratio of the same functional between two independent posteriors, this one first. Their draws must come from different
    /// seeds.
    ///
    /// # Errors
    /// As for [`Posterior::functional`].
    pub fn contrast(
        &self,
        other: &Posterior,
        functional: &Functional,
        contrast: Contrast,
        probabilities: &[f64],
    ) -> Result<FunctionalSummary> {
        checked_inputs(functional.inputs(), self.p.len())?;
        checked_inputs(functional.inputs(), other.p.len())?;
        let (left, right) = (self.sample(functional)?, other.sample(functional)?);
        let pairs = left.values.iter().zip(&right.values);
        let values = pairs.map(|(l, r)| contrast.of(*l, *r)).collect();
        let sample = Sample { values, size: left.size.min(right.size) };
        let mut found = sample.summary(probabilities, Some(contrast.reference()));
        if let (Contrast::Difference, Some(weights)) = (contrast, functional.weights()) {
            let error = found.mean.error;
            let [left, right] = [self, other].map(|posterior| {
                posterior.linear_mean(&weights, Evaluation::new(0.0, error, Method::MonteCarlo))
            });
            let error = if left.method.max(right.method) == Method::MonteCarlo { error } else { 0.0 };
            found.mean = Evaluation::new(left.value - right.value, error, left.method.max(right.method));
        }
        Ok(found)
    }

    /// The probability of each rank of a value, from 1 to `a`. Equal shares are in either order with the same probability.
    ///
    /// # Errors
    /// The value does not exist, or there are too few draws.
    pub fn ranks(&self, x: usize) -> Result<Vec<Evaluation>> {
        let rank = Functional::rank(self.p.len(), x)?;
        let size = self.sample(&rank)?.size;
        let mut masses = vec![0.0; self.p.len()];
        for p in &self.draws.p {
            let (larger, equal) = standing(p, x);
            masses[larger..larger + equal].iter_mut().for_each(|mass| *mass += 1.0 / equal as f64);
        }
        Ok(masses.into_iter().map(|mass| self.probability(mass, size)).collect())
    }

    /// For each value the probability that its share is among the `k` largest.
    ///
    /// # Errors
    /// There are not `k` values, or too few draws.
    pub fn top(&self, k: usize) -> Result<Vec<Evaluation>> {
        let a = self.p.len();
        if !(1..=a).contains(&k) {
            return Err(Error::Count { name: "top", value: k, low: 1, high: a });
        }
        self.enough_draws()?;
        let memberships: Vec<Vec<f64>> = self.draws.p.iter().map(|p| membership(p, k)).collect();
        let probability = |x: usize| {
            let values: Vec<f64> = memberships.iter().map(|member| member[x]).collect();
            self.probability(values.iter().sum(), self.effective_size(&values))
        };
        Ok((0..a).into_par_iter().map(probability).collect())
    }

    /// A probability of which this many draws speak.
    fn probability(&self, mass: f64, size: f64) -> Evaluation {
        let count = self.draws.p.len() as f64;
        Evaluation::new(mass / count, probability_error(mass, count, size), Method::MonteCarlo)
    }

    /// `Σ_x w_x E[P_x]` from the marginals: exact where they are, and else with the error of the mean of draws.
    fn linear_mean(&self, weights: &[f64], drawn: Evaluation) -> Evaluation {
        let terms = || weights.iter().zip(&self.p).map(|(w, p)| w * p.mean);
        let value = terms().sum();
        match self.is_exact() {
            true => {
                let size: f64 = terms().map(f64::abs).sum();
                Evaluation::new(value, QUADRATURE_ERROR * size, self.method)
            }
            false => Evaluation { value, ..drawn },
        }
    }

    /// Whether the marginals of `P` are exact.
    fn is_exact(&self) -> bool {
        self.method < Method::Approximation
    }

    fn enough_draws(&self) -> Result<()> {
        match self.draws.p.len() {
            draws if draws < LEAST_DRAWS => Err(Error::FewDraws { draws, least: LEAST_DRAWS }),
            _ => Ok(()),
        }
    }

    fn sample(&self, functional: &Functional) -> Result<Sample> {
        self.enough_draws()?;
        let values: Vec<f64> = self.draws.p.iter().map(|p| functional.of(p)).collect();
        Ok(Sample { size: self.effective_size(&values), values })
    }

    /// How many independent draws tell as much. Draws that are all the same have no autocorrelation to estimate, and count in full.
    fn effective_size(&self, values: &[f64]) -> f64 {
        let count = values.len() as f64;
        if values.windows(2).all(|pair| pair[0] == pair[1]) {
            return count;
        }
        match (self.draws.chains, &self.diagnostics) {
            (1.., _) => {
                let chains = self.draws.chains;
                // Both halves of all chains have the same length.
                let length = values.len() / (2 * chains) * 2;
                let chain = |i: usize| values.iter().skip(i).step_by(chains).take(length).copied().collect();
                let found = agreement(&(0..chains).map(chain).collect::<Vec<Vec<f64>>>());
                found.bulk.min(found.tail).min(count)
            }
            (0, Some(diagnostics)) => diagnostics.bulk.min(diagnostics.tail).min(count),
            (0, None) => count,
        }
    }

    /// Exact answers from the stored terms of a Dirichlet mixture: `P_G/P_H` for `G ⊂ H` has the beta distribution with
    /// parameters `A_G` and `A_H − A_G` under each.
    fn beta_mixture(&self, functional: &Functional, probabilities: &[f64]) -> Option<FunctionalSummary> {
        if self.terms.is_empty() {
            return None;
        }
        let (inner, outer) = functional.nested()?;
        let rest: Vec<bool> = inner.iter().zip(&outer).map(|(i, o)| *o && !*i).collect();
        if !inner.contains(&true) || !rest.contains(&true) {
            return None;
        }
        let sum = |alpha: &[f64], group: &[bool]| {
            alpha.iter().zip(group).filter(|(_, holds)| **holds).map(|(alpha, _)| alpha).sum::<f64>()
        };
        let shapes = self.terms.iter().map(|(w, alpha)| (*w, (sum(alpha, &inner), sum(alpha, &rest))));
        let parts: Vec<(f64, Marginal<'_>)> = merged(shapes.collect())
            .into_par_iter()
            .map(|(w, shape)| (w, Marginal::new(shape, Box::new(|_, _| 0.0))))
            .collect();
        let exact = |value: f64| Evaluation::new(value, QUADRATURE_ERROR * value.abs(), self.method);
        let options = super::PosteriorOptions {
            probabilities: probabilities.to_vec(),
            ..super::PosteriorOptions::default()
        };
        let found = Mixture { parts }.summary(&options);
        Some(FunctionalSummary {
            mean: exact(found.mean),
            sd: exact(found.sd),
            quantiles: found.quantiles.into_iter().map(|(q, value)| (q, exact(value))).collect(),
            // A part is never above its whole.
            above: functional.reference().map(|reference| (reference, exact(0.0))),
            sample_size: None,
        })
    }

    /// Exact answers from the exact marginal of one value: `w_1 + (w_x − w_1) P_x` if all other weights are equal.
    fn one_value(&self, functional: &Functional, probabilities: &[f64]) -> Option<FunctionalSummary> {
        if !self.is_exact() {
            return None;
        }
        let (x, base, slope) = odd_one(&functional.weights()?)?;
        let p = &self.p[x];
        let at = |value: f64| {
            let size = base.abs() + (slope * value).abs();
            Evaluation::new(base + slope * value, QUADRATURE_ERROR * size, self.method)
        };
        let quantile = |q: &f64| {
            let wanted = if slope < 0.0 { 1.0 - q } else { *q };
            Some((*q, at(quantile_at(p, wanted)?)))
        };
        let quantiles = probabilities.iter().map(quantile).collect::<Option<Vec<_>>>()?;
        // The probability of being above a number is not among the quantiles.
        let sample = match functional.reference() {
            Some(_) => Some(self.sample(functional).ok()?),
            None => None,
        };
        let above = sample.as_ref().zip(functional.reference());
        let sd = slope.abs() * p.sd;
        Some(FunctionalSummary {
            mean: at(p.mean),
            sd: Evaluation::new(sd, QUADRATURE_ERROR * sd, self.method),
            quantiles,
            above: above.map(|(sample, reference)| (reference, sample.above(reference))),
            sample_size: sample.map(|sample| sample.size),
        })
    }
}

/// The only value whose weight differs from that of all others, the weight of those, and the difference.
fn odd_one(weights: &[f64]) -> Option<(usize, f64, f64)> {
    let mut others = (0..weights.len()).filter(|x| weights[*x] != weights[0]);
    let x = match (others.next(), others.next()) {
        (None, _) => 0,
        (Some(x), None) => x,
        // More than one differ from the first; they may be equal to each other.
        (Some(_), Some(_)) => 0,
    };
    let base = weights[if x == 0 { 1.min(weights.len() - 1) } else { 0 }];
    let alike = weights.iter().enumerate().all(|(z, w)| z == x || *w == base);
    alike.then(|| (x, base, weights[x] - base))
}

/// A quantile of a marginal, if it was asked for.
fn quantile_at(summary: &Summary, wanted: f64) -> Option<f64> {
    summary.quantiles.iter().find(|(q, _)| (q - wanted).abs() < ROUNDING).map(|(_, value)| *value)
}

/// Which values have the `k` largest shares. Values with the share of the last place have a part of it.
fn membership(p: &[f64], k: usize) -> Vec<f64> {
    let mut sorted = p.to_vec();
    sorted.sort_by(|l, r| r.total_cmp(l));
    let last = sorted[k - 1];
    let larger = sorted.iter().filter(|p| **p > last).count();
    let equal = sorted.iter().filter(|p| **p == last).count();
    let part = (k - larger) as f64 / equal as f64;
    let member = |p: &f64| if *p > last { 1.0 } else { f64::from(u8::from(*p == last)) * part };
    p.iter().map(member).collect()
}

/// Weighted pairs, of which those that are equal up to rounding are merged.
fn merged(mut shapes: Vec<(f64, (f64, f64))>) -> Vec<(f64, (f64, f64))> {
    let key = |(l, r): (f64, f64)| [l, r].map(|v| (v.ln() / ROUNDING).round() as i64);
    shapes.sort_by_key(|(_, shape)| key(*shape));
    let mut found: Vec<(f64, (f64, f64))> = Vec::new();
    for (w, shape) in shapes {
        match found.last_mut() {
            Some((sum, last)) if key(*last) == key(shape) => *sum += w,
            _ => found.push((w, shape)),
        }
    }
    found
}

/// The standard error of a probability that this part of the draws speaks for.
fn probability_error(mass: f64, count: f64, size: f64) -> f64 {
    let p = (mass + 1.0) / (count + 2.0);
    (p * (1.0 - p) / size).sqrt()
}

/// Draws of a number, and how many independent ones tell as much.
struct Sample {
    values: Vec<f64>,
    size: f64,
}

impl Sample {
    fn summary(&self, probabilities: &[f64], reference: Option<f64>) -> FunctionalSummary {
        let drawn = |value: f64, error: f64| Evaluation::new(value, error, Method::MonteCarlo);
        let (mean, sd) = self.moments();
        let mut sorted: Vec<(f64, f64)> = self.values.iter().map(|value| (*value, 1.0)).collect();
        sorted.sort_by(|l, r| l.0.total_cmp(&r.0));
        let quantile = |q: &f64| {
            let step = (q * (1.0 - q) / self.size).sqrt();
            let at = |q: f64| weighted_quantile(&sorted, q.clamp(0.0, 1.0));
            (*q, drawn(at(*q), 0.5 * (at(q + step) - at(q - step))))
        };
        FunctionalSummary {
            mean: drawn(mean, sd / self.size.sqrt()),
            sd: drawn(sd, sd / (2.0 * self.size).sqrt()),
            quantiles: probabilities.iter().map(quantile).collect(),
            above: reference.map(|reference| (reference, self.above(reference))),
            sample_size: Some(self.size),
        }
    }

    /// Mean and standard deviation; those of ratios may be infinite.
    fn moments(&self) -> (f64, f64) {
        let count = self.values.len() as f64;
        let mean = self.values.iter().sum::<f64>() / count;
        let squares = self.values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        let sd = (squares / (count - 1.0)).sqrt();
        (mean, if sd.is_nan() { f64::INFINITY } else { sd })
    }

    /// The probability of being above a number; draws that are equal to it count half.
    fn above(&self, reference: f64) -> Evaluation {
        let part = |value: &f64| match value.total_cmp(&reference) {
            std::cmp::Ordering::Greater => 1.0,
            _ if *value == reference => 0.5,
            _ => 0.0,
        };
        let (mass, count) = (self.values.iter().map(part).sum::<f64>(), self.values.len() as f64);
        Evaluation::new(mass / count, probability_error(mass, count, self.size), Method::MonteCarlo)
    }
}
