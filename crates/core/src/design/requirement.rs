//! What a protocol is required to keep private.

use crate::model::error::{Error, Result, in_range};
use crate::model::protocol::MAX_EPSILON;

/// A requirement: a limit in the worst case, on average, or both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Requirement {
    epsilon: Option<f64>,
    average_privacy: Option<f64>,
}

impl Requirement {
    /// `LDP(Q) ≤ epsilon` and `S_μ(Q) ≥ average_privacy`, as far as they are given.
    ///
    /// # Errors
    /// Neither is given, or one is out of range.
    pub fn new(epsilon: Option<f64>, average_privacy: Option<f64>) -> Result<Self> {
        if let Some(epsilon) = epsilon {
            in_range("epsilon", epsilon, |e| e > 0.0 && e <= MAX_EPSILON, "above 0 and at most 100")?;
        }
        if let Some(privacy) = average_privacy {
            in_range("average_privacy", privacy, |l| l > 0.0 && l < 1.0, "between 0 and 1, exclusively")?;
        }
        if epsilon.is_none() && average_privacy.is_none() {
            return Err(Error::NothingRequired);
        }
        Ok(Requirement { epsilon, average_privacy })
    }

    /// The largest LDP level, if limited.
    pub fn epsilon(&self) -> Option<f64> {
        self.epsilon
    }

    /// The least average privacy, if limited.
    pub fn average_privacy(&self) -> Option<f64> {
        self.average_privacy
    }
}
