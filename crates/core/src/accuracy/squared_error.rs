//! The expected squared error of the linear estimate, in closed form.
//!
//! A vote `z_Y` has mean `p`, so the mean of `n` votes is off by
//! ```text
//! E Σ_x (φ̂_x − p_x)² = (E|z_Y|² − |p|²)/n = (h·p − |p|²)/n,   h_x = E[|z_Y|² | X = x]
//! ```
//! which is linear in `p` but for `|p|²`: its mean over a prior needs two moments, and its maximum over all distributions is at the
//! distribution nearest to `h/2`.

use crate::estimate::LeftInverse;
use crate::estimate::post_processing::norm_sub;
use crate::model::error::Result;
use crate::model::prior::Prior;
use crate::model::protocol::Protocol;

/// The expected squared length of a user's vote, for each value, and the number of users.
#[derive(Clone, Debug)]
pub(crate) struct SquaredError {
    n: f64,
    length: Vec<f64>,
}

impl SquaredError {
    /// The squared error of the linear estimate from `n` reports.
    ///
    /// # Errors
    /// As for [`LeftInverse::of`].
    pub(crate) fn new(protocol: &Protocol, n: u64) -> Result<Self> {
        Ok(SquaredError { n: n as f64, length: LeftInverse::of(protocol)?.squared_length() })
    }

    /// Where users' values have distribution `p`.
    pub(crate) fn at(&self, p: &[f64]) -> f64 {
        self.of_moments(p, p.iter().map(|p_x| p_x * p_x).sum())
    }

    /// On average over a prior; `None` for a prior of one's own.
    pub(crate) fn over(&self, prior: &Prior) -> Option<f64> {
        Some(self.of_moments(&prior.mean(), second_moment(prior)?))
    }

    /// The worst distribution of all.
    pub(crate) fn worst(&self) -> Vec<f64> {
        // A shift of all changes nothing but rounding: votes of a nearly unfaithful protocol are so long that a sum of 1 beside them has few digits.
        let longest = self.length.iter().copied().fold(0.0, f64::max);
        norm_sub(&self.length.iter().map(|h| (h - longest) / 2.0).collect::<Vec<_>>())
    }

    fn of_moments(&self, mean: &[f64], square: f64) -> f64 {
        (self.length.iter().zip(mean).map(|(h, p_x)| h * p_x).sum::<f64>() - square) / self.n
    }
}

/// `E Σ_x P_x²`; `None` for a prior of one's own.
fn second_moment(prior: &Prior) -> Option<f64> {
    if let Prior::Points(points) = prior {
        let square = |p: &Vec<f64>| p.iter().map(|p_x| p_x * p_x).sum::<f64>();
        return Some(points.weights().iter().zip(points.points()).map(|(w, p)| w * square(p)).sum());
    }
    let of_part = |(weight, part): (f64, &crate::model::prior::Dirichlet)| {
        let (total, groups) = (part.total(), part.groups());
        let sum: f64 = groups.iter().map(|g| g.count as f64 * g.alpha * (g.alpha + 1.0)).sum();
        weight * sum / (total * (total + 1.0))
    };
    Some(prior.dirichlets()?.into_iter().map(of_part).sum())
}
