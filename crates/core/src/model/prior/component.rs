//! The components of a prior, which exact sums and Monte Carlo treat one by one.

use rand::Rng;

use super::{CustomPrior, Prior};
use crate::model::evaluation::{Evaluation, Method};
use crate::numerics::dirichlet_mean::LinearForm;
use crate::numerics::random::{pick, sample_ln_dirichlet};
use crate::numerics::special::excess_entropy;
use crate::numerics::stirling::{ln_factorial, ln_rising};

/// One component of a mixture prior.
#[derive(Clone, Debug)]
pub(crate) enum Component {
    /// A Dirichlet distribution with parameters `α`.
    Dirichlet(Vec<f64>),
    /// A known distribution.
    Point(Vec<f64>),
}

impl Component {
    /// The components of a prior with their weights; `None` for a smoothing or a custom prior.
    pub(crate) fn parts_of(prior: &Prior) -> Option<Vec<(f64, Component)>> {
        match prior {
            Prior::Points(p) => Some(
                p.weights().iter().copied().zip(p.points().iter().cloned().map(Component::Point)).collect(),
            ),
            _ => {
                let parts = prior.dirichlets()?.into_iter();
                Some(parts.map(|(w, d)| (w, Component::Dirichlet(d.alpha().to_vec()))).collect())
            }
        }
    }

    /// The distribution of the frequencies of `image[x]`, on `inputs` values.
    pub(crate) fn merged(&self, inputs: usize, image: &[usize]) -> Component {
        let sums_of = |values: &[f64]| {
            let mut sums = vec![0.0; inputs];
            image.iter().zip(values).for_each(|(x, v)| sums[*x] += v);
            sums
        };
        match self {
            Component::Dirichlet(alpha) => Component::Dirichlet(sums_of(alpha)),
            Component::Point(p) => Component::Point(sums_of(p)),
        }
    }

    /// Dirichlet parameters, or probabilities.
    pub(crate) fn masses(&self) -> &[f64] {
        match self {
            Component::Dirichlet(alpha) => alpha,
            Component::Point(p) => p,
        }
    }

    /// Whether `P` is known.
    pub(crate) fn is_point(&self) -> bool {
        matches!(self, Component::Point(_))
    }

    /// Whether exchanging two values changes nothing.
    pub(crate) fn is_symmetric(&self) -> bool {
        self.masses().iter().all(|mass| *mass == self.masses()[0])
    }

    /// `E P`.
    pub(crate) fn mean(&self) -> Vec<f64> {
        match self {
            Component::Dirichlet(alpha) => {
                let total: f64 = alpha.iter().sum();
                alpha.iter().map(|a| a / total).collect()
            }
            Component::Point(p) => p.clone(),
        }
    }

    /// A draw of `ln P`.
    pub(crate) fn sample_ln(&self, rng: &mut dyn Rng) -> Vec<f64> {
        match self {
            Component::Dirichlet(alpha) => sample_ln_dirichlet(alpha.iter().copied(), rng),
            Component::Point(p) => p.iter().map(|p_x| p_x.ln()).collect(),
        }
    }

    /// `ln P(T = t)`.
    pub(crate) fn ln_tally(&self, t: &[u32]) -> f64 {
        let n: u32 = t.iter().sum();
        let terms = |f: &dyn Fn(usize, f64) -> f64| {
            t.iter().enumerate().map(|(x, &t)| f(x, f64::from(t))).sum::<f64>()
        };
        let own = match self {
            Component::Dirichlet(alpha) => {
                let total: f64 = alpha.iter().sum();
                terms(&|x, t| ln_rising(alpha[x], t)) - ln_rising(total, f64::from(n))
            }
            Component::Point(p) => terms(&|x, t| if t == 0.0 { 0.0 } else { t * p[x].ln() }),
        };
        own + ln_factorial(f64::from(n)) - terms(&|_, t| ln_factorial(t))
    }

    /// `E φ(R)` of `R = Σ_x c_x P_x`, with `φ(t) = t ln t − t + 1`.
    ///
    /// With `m = E R` it is `φ(m) + m E φ(R/m)`, of which the last is [`LinearForm::mean_excess`].
    pub(crate) fn mean_excess(&self, c: &[f64]) -> Evaluation {
        let deviation: f64 = self.mean().iter().zip(c).map(|(p_x, c_x)| (c_x - 1.0) * p_x).sum();
        let of_mean = Evaluation::closed_form(excess_entropy(deviation), 8);
        match self {
            Component::Point(_) => of_mean,
            Component::Dirichlet(alpha) => {
                let pairs: Vec<(f64, f64)> =
                    alpha.iter().copied().zip(c.iter().map(|c_x| c_x - 1.0)).collect();
                let around = LinearForm::from_deviations(&pairs).mean_excess();
                of_mean.plus(
                    Evaluation::new(around.value, around.error, Method::ClosedForm).times(1.0 + deviation),
                )
            }
        }
    }
}

/// A prior to draw from, component by component.
pub(crate) enum PriorParts<'a> {
    /// Components with their weights.
    Known(Vec<(f64, Component)>),
    /// A prior given only by its density and a sampler.
    Custom(&'a dyn CustomPrior),
}

impl<'a> PriorParts<'a> {
    /// The parts of a prior.
    pub(crate) fn new(prior: &'a Prior) -> Self {
        match prior {
            Prior::Custom(custom) => PriorParts::Custom(&**custom),
            Prior::Smooth(smooth) => PriorParts::Custom(smooth),
            // Unwrap safety: only smoothing and custom priors have no components.
            other => PriorParts::Known(Component::parts_of(other).unwrap()),
        }
    }

    /// The components with their weights; none for a custom prior.
    pub(crate) fn known(&self) -> &[(f64, Component)] {
        match self {
            PriorParts::Known(parts) => parts,
            PriorParts::Custom(_) => &[],
        }
    }

    /// The parameters, if the prior is one Dirichlet distribution.
    pub(crate) fn single_dirichlet(&self) -> Option<&[f64]> {
        match self.known() {
            [(_, Component::Dirichlet(alpha))] => Some(alpha),
            _ => None,
        }
    }

    /// A draw of `ln P`.
    pub(crate) fn sample_ln(&self, rng: &mut dyn Rng) -> Vec<f64> {
        match self {
            PriorParts::Custom(custom) => custom.sample_ln(rng),
            PriorParts::Known(parts) => {
                let weights: Vec<f64> = parts.iter().map(|(w, _)| *w).collect();
                parts[pick(&weights, 1.0, rng)].1.sample_ln(rng)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the moment series `E φ(1+D) = Σ_k (−1)^k E D^k / (k(k−1))`, whose second and third moments
    /// have closed forms.
    #[test]
    fn the_mean_excess_has_its_first_moments() {
        let (alpha, scale) = (vec![0.3, 1.2, 2.5], 1e-4);
        let c = [1.0 + 4.0 * scale, 1.0 - 3.0 * scale, 1.0 + 0.96 * scale];
        let law = Component::Dirichlet(alpha.clone());
        let total: f64 = alpha.iter().sum();
        let power = |k: i32| alpha.iter().zip(&c).map(|(a, c_x)| a * f64::powi(c_x - 1.0, k)).sum::<f64>();
        let second = (power(2) + power(1).powi(2)) / (total * (total + 1.0));
        let third = (2.0 * power(3) + 3.0 * power(1) * power(2) + power(1).powi(3))
            / (total * (total + 1.0) * (total + 2.0));
        let found = law.mean_excess(&c);
        assert!((found.value / (second / 2.0 - third / 6.0) - 1.0).abs() < 1e-7, "{found:?}");
    }
}
