//! Priors with finitely many possible distributions.

use super::check_lengths;
use crate::model::error::{Error, Result, distribution};
use crate::model::protocol::MAX_INPUTS;

/// A prior with finitely many possible distributions. It is not continuous.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    weights: Vec<f64>,
    points: Vec<Vec<f64>>,
}

impl Points {
    /// The prior that gives `points[i]` the probability `weights[i]`; points without weight are dropped.
    ///
    /// # Errors
    /// Weights or points are no distributions, or the prior breaks one of the paper's two assumptions: that users may hold
    /// different values, and that there is more than one possible distribution.
    pub fn new(weights: Vec<f64>, points: Vec<Vec<f64>>) -> Result<Self> {
        check_lengths(weights.len(), "points", points.len())?;
        let weights = distribution("weights", weights)?;
        let a = points[0].len();
        if !(2..=MAX_INPUTS).contains(&a) {
            return Err(Error::Inputs { a });
        }
        if let Some(position) = points.iter().position(|p| p.len() != a) {
            return Err(Error::Mismatch {
                role: "point",
                position,
                found: points[position].len(),
                expected: a,
            });
        }
        let points: Vec<_> = points.into_iter().map(|p| distribution("point", p)).collect::<Result<_>>()?;
        let (weights, points): (Vec<f64>, Vec<Vec<f64>>) =
            weights.into_iter().zip(points).filter(|(w, _)| *w > 0.0).unzip();
        if points.iter().all(|p| p.contains(&1.0)) {
            return Err(Error::NothingPrivate);
        }
        if points.iter().all(|p| *p == points[0]) {
            return Err(Error::NothingToLearn);
        }
        Ok(Points { weights, points })
    }

    /// The weights, all positive.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The points.
    pub fn points(&self) -> &[Vec<f64>] {
        &self.points
    }
}
