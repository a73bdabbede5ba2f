//! The progress of a Monte Carlo computation, for a caller that wants to watch or stop it.

use std::ops::ControlFlow;

/// The state of a Monte Carlo computation after a round of draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Draws so far.
    pub draws: u64,
    /// Draws that the estimate and its error are from: those of complete rounds.
    pub assessed: u64,
    /// The estimate, in nats.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
    /// The target standard error.
    pub tolerance: f64,
}

impl Sampling {
    /// The state before the first draw.
    pub const BEGUN: Sampling =
        Sampling { draws: 0, assessed: 0, value: f64::NAN, error: f64::INFINITY, tolerance: f64::NAN };

    /// Estimated share of the work that is done: the error shrinks with the square root of the draws, also
    /// with those since it was assessed.
    pub fn fraction(&self) -> f64 {
        let since = if self.assessed == 0 { 1.0 } else { self.draws as f64 / self.assessed as f64 };
        if self.error <= self.tolerance {
            1.0
        } else {
            ((self.tolerance / self.error).powi(2) * since).min(1.0)
        }
    }
}

/// Called after every round of draws, and before every draw with the state after the last round (in the first
/// round: no value and an infinite error). [`ControlFlow::Break`] stops with the best estimate so far, once
/// the draws in progress are done, and at least the first few.
///
/// This crate has no clock: implement a time limit as an observer that breaks when the time is nearly up, and
/// use [`crate::numerics::stop`] when it is.
pub type SamplingObserver<'a> = &'a (dyn Fn(&Sampling) -> ControlFlow<()> + Sync);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_since_the_last_assessment_count() {
        let assessed = Sampling { draws: 100, assessed: 100, value: 3.0, error: 0.2, tolerance: 0.1 };
        assert!((assessed.fraction() - 0.25).abs() < 1e-15);
        assert!((Sampling { draws: 200, ..assessed }.fraction() - 0.5).abs() < 1e-15);
        assert_eq!(Sampling { draws: 500, ..assessed }.fraction(), 1.0);
    }
}
