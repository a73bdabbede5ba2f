//! Priors: the aggregator's distribution of the unknown `P` before the first report.
//!
//! ```
//! use sottovoce::Prior;
//!
//! let jeffreys = Prior::jeffreys(3)?;
//! assert_eq!(jeffreys.mean(), [1.0 / 3.0; 3]);
//! # Ok::<(), sottovoce::Error>(())
//! ```

mod adaptive;
mod component;
mod custom;
mod dirichlet;
mod mixture;
mod points;
mod smooth;

pub use adaptive::Adaptive;
pub(crate) use component::{Component, PriorParts};
pub use custom::CustomPrior;
pub use dirichlet::{Dirichlet, Group};
pub use mixture::DirichletMixture;
pub use points::Points;
pub use smooth::Smooth;
pub(crate) use smooth::normalised;

use std::sync::Arc;

use rand::Rng;

use crate::model::error::{Error, Result};
use crate::numerics::random::pick;
use crate::numerics::special::ln_sum_exp;

fn check_lengths(weights: usize, right: &'static str, right_length: usize) -> Result<()> {
    if right_length == 0 {
        return Err(Error::Empty { name: right });
    }
    if weights == right_length {
        return Ok(());
    }
    Err(Error::Lengths { left: "weights", left_length: weights, right, right_length })
}

/// A prior of any kind.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Prior {
    /// A Dirichlet distribution.
    Dirichlet(Dirichlet),
    /// A mixture of Dirichlet distributions.
    DirichletMixture(DirichletMixture),
    /// A symmetric Dirichlet distribution with an unknown parameter.
    Adaptive(Adaptive),
    /// A discrete prior on finitely many distributions.
    Points(Points),
    /// A random walk on the logarithms of the shares of ordered values.
    Smooth(Smooth),
    /// A custom prior.
    Custom(Arc<dyn CustomPrior>),
}

impl Prior {
    /// The Jeffreys prior on `a` values.
    ///
    /// # Errors
    /// `a` is out of range.
    pub fn jeffreys(a: usize) -> Result<Self> {
        Dirichlet::jeffreys(a).map(Prior::Dirichlet)
    }

    /// The symmetric Dirichlet prior on `a` values.
    ///
    /// # Errors
    /// `a` or `alpha` is out of range.
    pub fn symmetric(a: usize, alpha: f64) -> Result<Self> {
        Dirichlet::symmetric(a, alpha).map(Prior::Dirichlet)
    }

    /// A Dirichlet prior.
    ///
    /// # Errors
    /// Fewer than two parameters, or one out of range.
    pub fn dirichlet(alpha: Vec<f64>) -> Result<Self> {
        Dirichlet::new(alpha).map(Prior::Dirichlet)
    }

    /// The adaptive prior on `a` values: symmetric Dirichlet distributions with a log-uniform parameter.
    ///
    /// # Errors
    /// `a` is out of range.
    pub fn adaptive(a: usize) -> Result<Self> {
        Adaptive::new(a).map(Prior::Adaptive)
    }

    /// The smoothing prior on `a` ordered values: neighbours have similar shares.
    ///
    /// # Errors
    /// `a` is out of range.
    pub fn smooth(a: usize) -> Result<Self> {
        Smooth::new(a).map(Prior::Smooth)
    }

    /// What [`crate::posterior::posterior`] is usually asked about: adaptive for more than two values. Two
    /// values cannot tell what their parameter is, and have the Jeffreys prior.
    ///
    /// # Errors
    /// `a` is out of range.
    pub fn usual(a: usize) -> Result<Self> {
        if a > 2 { Prior::adaptive(a) } else { Prior::jeffreys(a) }
    }

    /// Number of values `a`.
    pub fn inputs(&self) -> usize {
        match self {
            Prior::Adaptive(adaptive) => adaptive.inputs(),
            Prior::Dirichlet(dirichlet) => dirichlet.alpha().len(),
            Prior::DirichletMixture(mixture) => mixture.parts()[0].alpha().len(),
            Prior::Points(points) => points.points()[0].len(),
            Prior::Smooth(smooth) => smooth.inputs(),
            Prior::Custom(custom) => custom.inputs(),
        }
    }

    /// Whether the prior has a density, as the asymptotic metrics need.
    pub fn is_continuous(&self) -> bool {
        !matches!(self, Prior::Points(_))
    }

    /// The Dirichlet distributions that this prior mixes, with their weights; `None` for other kinds of
    /// prior.
    pub fn dirichlets(&self) -> Option<Vec<(f64, &Dirichlet)>> {
        match self {
            Prior::Dirichlet(dirichlet) => Some(vec![(1.0, dirichlet)]),
            Prior::DirichletMixture(m) => Some(m.weights().iter().copied().zip(m.parts()).collect()),
            Prior::Adaptive(adaptive) => {
                let m = adaptive.mixture();
                Some(m.weights().iter().copied().zip(m.parts()).collect())
            }
            Prior::Points(_) | Prior::Smooth(_) | Prior::Custom(_) => None,
        }
    }

    /// `E P`; for a smoothing or a custom prior by simulation with a fixed seed.
    pub fn mean(&self) -> Vec<f64> {
        let mut mean = vec![0.0; self.inputs()];
        let mut add = |weight: f64, p: &mut dyn Iterator<Item = f64>| {
            mean.iter_mut().zip(p).for_each(|(m, p_x)| *m += weight * p_x);
        };
        match self {
            Prior::Points(points) => {
                for (weight, p) in points.weights().iter().zip(points.points()) {
                    add(*weight, &mut p.iter().copied());
                }
            }
            Prior::Smooth(_) | Prior::Custom(_) => {
                const DRAWS: usize = 10_000;
                let mut rng = <chacha20::ChaCha8Rng as rand::SeedableRng>::seed_from_u64(0);
                for _ in 0..DRAWS {
                    let ln_p = self.sample_ln(&mut rng);
                    add(1.0 / DRAWS as f64, &mut ln_p.into_iter().map(f64::exp));
                }
            }
            Prior::Dirichlet(_) | Prior::DirichletMixture(_) | Prior::Adaptive(_) => {
                for (weight, part) in self.dirichlets().into_iter().flatten() {
                    add(weight, &mut part.alpha().iter().map(|alpha_x| alpha_x / part.total()));
                }
            }
        }
        mean
    }

    /// Draws `ln P`.
    pub fn sample_ln(&self, rng: &mut dyn Rng) -> Vec<f64> {
        match self {
            Prior::Dirichlet(dirichlet) => dirichlet.sample_ln(rng),
            Prior::DirichletMixture(m) => m.parts()[pick(m.weights(), 1.0, rng)].sample_ln(rng),
            Prior::Adaptive(adaptive) => {
                let m = adaptive.mixture();
                m.parts()[pick(m.weights(), 1.0, rng)].sample_ln(rng)
            }
            Prior::Points(p) => p.points()[pick(p.weights(), 1.0, rng)].iter().map(|p_x| p_x.ln()).collect(),
            Prior::Smooth(smooth) => smooth.sample_ln(rng),
            Prior::Custom(custom) => custom.sample_ln(rng),
        }
    }

    /// The distribution of the frequencies of `map(x)`; `None` for points, smoothing and custom priors.
    ///
    /// # Errors
    /// Fewer than two images occur.
    pub fn merged(&self, map: &[usize]) -> Result<Option<Prior>> {
        Ok(Some(match self {
            Prior::Dirichlet(dirichlet) => Prior::Dirichlet(dirichlet.merged(map)?),
            Prior::DirichletMixture(mixture) => Prior::DirichletMixture(mixture.merged(map)?),
            // Merged values have unequal parameters, so the prior is no longer adaptive.
            Prior::Adaptive(adaptive) => Prior::DirichletMixture(adaptive.mixture().merged(map)?),
            Prior::Points(_) | Prior::Smooth(_) | Prior::Custom(_) => return Ok(None),
        }))
    }

    /// `ln` of the density at `e^{ln_p}`; `None` for a prior without a density.
    pub fn ln_density(&self, ln_p: &[f64]) -> Option<f64> {
        match self {
            Prior::Smooth(smooth) => Some(smooth.ln_density(ln_p)),
            Prior::Custom(custom) => Some(custom.ln_density(ln_p)),
            _ => {
                let terms = |(weight, part): (f64, &Dirichlet)| weight.ln() + part.ln_density(ln_p);
                Some(ln_sum_exp(&self.dirichlets()?.into_iter().map(terms).collect::<Vec<_>>()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    #[test]
    fn draws_stay_finite_for_tiny_alpha() {
        let dirichlet = Dirichlet::symmetric(4, 1e-4).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..1000 {
            assert!(dirichlet.sample_ln(&mut rng).iter().all(|ln_p| ln_p.is_finite() && *ln_p <= 1e-12));
        }
    }

    #[test]
    fn draws_have_the_right_mean() {
        // 20 000 draws of P_0 with sd 0.18: the mean is off by 5 sd (0.0064) with probability 6e-7.
        let dirichlet = Dirichlet::new(vec![0.3, 1.2, 2.5]).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let sum: f64 = (0..20_000).map(|_| dirichlet.sample_ln(&mut rng)[1].exp()).sum();
        assert!((sum / 20_000.0 - 0.3).abs() < 0.0075);
    }

    #[test]
    fn the_papers_two_assumptions_are_checked() {
        let corners = Points::new(vec![0.5, 0.5], vec![vec![1.0, 0.0], vec![0.0, 1.0]]);
        assert_eq!(corners, Err(Error::NothingPrivate));
        let single = Points::new(vec![0.5, 0.5], vec![vec![0.3, 0.7], vec![0.3, 0.7]]);
        assert_eq!(single, Err(Error::NothingToLearn));
    }

    #[test]
    fn density_integrates_over_one_coordinate() {
        let beta = Prior::dirichlet(vec![2.0, 3.0]).unwrap();
        let ln_density = beta.ln_density(&[0.4f64.ln(), 0.6f64.ln()]).unwrap();
        assert!((ln_density.exp() - 12.0 * 0.4 * 0.36).abs() < 1e-13);
    }

    #[test]
    fn bad_parameters_are_refused() {
        for alpha in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(Dirichlet::symmetric(3, alpha), Err(Error::OutOfRange { .. })));
        }
        assert_eq!(Dirichlet::new(vec![1.0]), Err(Error::Inputs { a: 1 }));
    }
}
