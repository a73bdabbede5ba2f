//! The likelihood maximised by a sequence of quadratic programs.

use faer::Mat;

use super::maximum_likelihood::{Certificate, MaximumLikelihood};
use super::quadratic_program::maximum;
use crate::likelihood::{Likelihood, Slope};
use crate::numerics::stop::check;

/// Passes over the reports after which the search ends without having reached its tolerance.
const MOST_PASSES: usize = 200;

/// The likelihood's maximum, from a distribution that gives every report a positive probability.
///
/// # Method and cost
/// The likelihood is replaced by its quadratic approximation, whose maximum over the distributions is the next point; half-way points
/// are tried where the likelihood itself does not grow. With many reports the likelihood is nearly quadratic, so the information matrix, by far
/// the dearest part, is kept as long as each step makes the gap four times smaller. The result is the point with the smallest gap seen.
pub(crate) fn newton(likelihood: &dyn Likelihood, start: Vec<f64>, tolerance: f64) -> MaximumLikelihood {
    let n = likelihood.reports();
    let mut here = Place::new(likelihood, start, 1);
    let mut information: Option<Mat<f64>> = None;
    while here.gap(n) > tolerance && here.passes < MOST_PASSES {
        check();
        let fresh = information.is_none();
        let matrix = information.get_or_insert_with(|| likelihood.information(&here.p));
        // The model's slope c − Hu must be that of the likelihood at u = p.
        let shift = matrix.as_ref() * Mat::from_fn(here.p.len(), 1, |x, _| here.p[x]);
        let linear: Vec<f64> = here.slope.excess.iter().enumerate().map(|(x, e)| e + shift[(x, 0)]).collect();
        let next = maximum(matrix, &linear, 1e-3 * tolerance).and_then(|u| here.towards(likelihood, &u));
        match next {
            Some(next) => {
                let slow = next.gap(n) > 0.25 * here.gap(n);
                let stuck =
                    fresh && next.gap(n) > 0.999 * here.gap(n) && next.slope.value <= here.slope.value;
                here = next;
                if stuck {
                    break;
                }
                if slow {
                    information = None;
                }
            }
            // With a fresh matrix there is nothing better to try.
            None if fresh => break,
            None => information = None,
        }
    }
    let gap = here.gap(n);
    MaximumLikelihood { values: here.p, certificate: Certificate { gap, tolerance, passes: here.passes } }
}

/// A distribution with what is known of the likelihood there.
struct Place {
    p: Vec<f64>,
    slope: Slope,
    passes: usize,
}

impl Place {
    fn new(likelihood: &dyn Likelihood, p: Vec<f64>, passes: usize) -> Self {
        Place { slope: likelihood.slope(&p), p, passes }
    }

    fn gap(&self, n: f64) -> f64 {
        self.slope.gap(n)
    }

    /// The first of `u`, the point half-way there, and so on, where the likelihood has grown as far as rounding lets us see, or
    /// where the gap is smaller.
    fn towards(&self, likelihood: &dyn Likelihood, u: &[f64]) -> Option<Place> {
        let n = likelihood.reports();
        let rounding = 1e-14 * (self.slope.value.abs() + n);
        (0..30).find_map(|halvings| {
            let step = 0.5f64.powi(halvings);
            let p = self.p.iter().zip(u).map(|(p, u)| p + step * (u - p)).collect();
            let place = Place::new(likelihood, p, self.passes + halvings as usize + 1);
            let grown = place.slope.value > self.slope.value
                || (place.slope.value >= self.slope.value - rounding && place.gap(n) < self.gap(n));
            grown.then_some(place)
        })
    }
}
