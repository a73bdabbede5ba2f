//! The smoothing prior: ordered values, such as bins of a number, whose shares form a smooth curve.
//!
//! ```text
//! δ_x = ln p_{x+1} − ln p_x,      δ_{x+1} − δ_x ~ N(0, σ²),      mean of δ ~ N(0, (5σ)²),      1/σ² ~ Gamma(shape 1, rate 0.01)
//! ```
//! all independent: a random walk of second order on `ln p` with a proper prior of its slope. The roughness `σ` is unknown, and the reports choose it.
//! Before them it is between 0.05 and 0.6 with probability 95 %, with median 0.12.
//!
//! A walk of first order (`δ_x ~ N(0, σ²)`) was tried too. It takes a steady rise or fall for roughness: on the ages of `tests/smooth.rs` its mean square error was
//! higher, and its intervals held less often.

use rand::{Rng, RngExt};
use rand_distr::StandardNormal;

use super::CustomPrior;
use crate::model::error::{Error, Result};
use crate::numerics::random::sample_ln_gamma;
use crate::numerics::special::{ln_gamma, ln_sum_exp};

/// A random walk of second order on the logarithms of the shares of `a` ordered values, with unknown roughness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Smooth {
    a: usize,
}

impl Smooth {
    /// The largest number of values: posteriors decompose a matrix of that size.
    pub const MAX_VALUES: usize = 1024;

    /// Shape and rate of the gamma distribution of the precision `τ = 1/σ²`.
    pub const SHAPE: f64 = 1.0;
    /// See [`Smooth::SHAPE`].
    pub const RATE: f64 = 0.01;

    /// The standard deviation of the mean step, in units of that of a change of the step.
    pub const SLOPE: f64 = 5.0;

    /// The smoothing prior on `a` ordered values.
    ///
    /// # Errors
    /// `a` is out of range.
    pub fn new(a: usize) -> Result<Self> {
        match a {
            0 | 1 => Err(Error::Inputs { a }),
            2..=Self::MAX_VALUES => Ok(Smooth { a }),
            _ => Err(Error::TooMuch {
                what: "the values of a smoothing prior",
                entries: a as u128,
                max: Self::MAX_VALUES as u128,
            }),
        }
    }

    /// A draw of the precision `τ`, given `count` innovations with this sum of squares.
    pub(crate) fn sample_precision(count: usize, squares: f64, rng: &mut dyn Rng) -> f64 {
        sample_ln_gamma(Self::SHAPE + count as f64 / 2.0, rng).exp() / (Self::RATE + squares / 2.0)
    }

    /// `ln P` up to a constant, a linear function of the `a − 1` innovations: the mean step in units of [`Smooth::SLOPE`], then the changes from
    /// each step to the next.
    pub(crate) fn ln_weights(innovations: &[f64]) -> Vec<f64> {
        let Some((slope, changes)) = innovations.split_first() else { return vec![0.0] };
        let sums = |values: &mut dyn Iterator<Item = f64>| {
            let mut sums = vec![0.0];
            values.for_each(|value| sums.push(sums[sums.len() - 1] + value));
            sums
        };
        let steps = sums(&mut changes.iter().copied());
        let excess = Self::SLOPE * slope - steps.iter().sum::<f64>() / steps.len() as f64;
        sums(&mut steps.iter().map(|step| step + excess))
    }

    /// The innovations of a distribution.
    fn innovations(ln_p: &[f64]) -> Vec<f64> {
        let steps: Vec<f64> = ln_p.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = steps.iter().sum::<f64>() / steps.len() as f64;
        let changes = steps.windows(2).map(|pair| pair[1] - pair[0]);
        std::iter::once(mean / Self::SLOPE).chain(changes).collect()
    }
}

/// Normalised logarithms of weights.
pub(crate) fn normalised(mut ln_weights: Vec<f64>) -> Vec<f64> {
    let ln_sum = ln_sum_exp(&ln_weights);
    ln_weights.iter_mut().for_each(|ln| *ln -= ln_sum);
    ln_weights
}

impl CustomPrior for Smooth {
    fn inputs(&self) -> usize {
        self.a
    }

    fn sample_ln(&self, rng: &mut dyn Rng) -> Vec<f64> {
        let sigma = Smooth::sample_precision(0, 0.0, rng).sqrt().recip();
        let innovations: Vec<f64> =
            (1..self.a).map(|_| sigma * rng.sample::<f64, _>(StandardNormal)).collect();
        normalised(Smooth::ln_weights(&innovations))
    }

    /// With `τ` integrated out, the innovations have a multivariate t distribution. As functions of the steps they have the determinant `1/SLOPE`, and the
    /// steps as functions of `p` have `Π_x 1/p_x`.
    fn ln_density(&self, ln_p: &[f64]) -> f64 {
        let squares: f64 = Smooth::innovations(ln_p).iter().map(|u| u * u).sum();
        let (half, shape, rate) = ((self.a - 1) as f64 / 2.0, Smooth::SHAPE, Smooth::RATE);
        ln_gamma(shape + half) - ln_gamma(shape) + shape * rate.ln()
            - half * std::f64::consts::TAU.ln()
            - (shape + half) * (rate + squares / 2.0).ln()
            - Smooth::SLOPE.ln()
            - ln_p.iter().sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two values: the density over one share has mass 1, and the draws have its distribution function at three points. 20,000 draws, five
    /// standard errors (0.018): a false alarm with probability 2e-6.
    #[test]
    fn draws_follow_the_density() {
        let prior = Smooth::new(2).unwrap();
        let density = |u: f64| {
            // In the log-odds u, so that the peak at p = ½ and the tails are smooth.
            let ln_p = [-(-u).exp().ln_1p(), -u.exp().ln_1p()];
            (prior.ln_density(&ln_p) + ln_p[0] + ln_p[1]).exp()
        };
        let (low, high, cells) = (-700.0, 700.0, 1_400_000);
        let width = (high - low) / f64::from(cells);
        let mass = |up_to: f64| {
            let cell = |i: i32| low + (f64::from(i) + 0.5) * width;
            (0..cells).map(cell).filter(|u| *u < up_to).map(|u| density(u) * width).sum::<f64>()
        };
        // The tails of a t distribution with 2 degrees of freedom beyond 700 have mass 5e-7.
        assert!((mass(f64::INFINITY) - 1.0).abs() < 1e-6, "{}", mass(f64::INFINITY));
        let mut rng = crate::numerics::random::generator(3, 0);
        let draws: Vec<f64> = (0..20_000)
            .map(|_| {
                let ln_p = prior.sample_ln(&mut rng);
                ln_p[0] - ln_p[1]
            })
            .collect();
        for u in [-0.3, 0.05, 0.6] {
            let below = draws.iter().filter(|draw| **draw < u).count() as f64 / 20_000.0;
            assert!((below - mass(u)).abs() < 0.018, "{u}: {below} {}", mass(u));
        }
        assert!(Smooth::new(1).is_err() && Smooth::new(2000).is_err());
    }
}
