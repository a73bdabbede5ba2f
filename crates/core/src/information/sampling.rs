//! The progress of a Monte Carlo computation, for a caller that wants to watch or stop it.

use std::ops::ControlFlow;

/// The state of a Monte Carlo computation after a round of draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Draws so far.
    pub draws: u64,
    /// The estimate so far, in nats.
    pub value: f64,
    /// Its standard error so far.
    pub error: f64,
    /// The target standard error.
    pub tolerance: f64,
}

impl Sampling {
    /// The state before the first draw.
    pub const BEGUN: Sampling =
        Sampling { draws: 0, value: f64::NAN, error: f64::INFINITY, tolerance: f64::NAN };

    /// Estimated share of the work that is done: the error shrinks with the square root of the work.
    pub fn fraction(&self) -> f64 {
        if self.error <= self.tolerance { 1.0 } else { (self.tolerance / self.error).powi(2) }
    }
}

/// Called after every round of draws, and before every draw with the state after the last round (in the first
/// round: no value and an infinite error). [`ControlFlow::Break`] stops with the best estimate so far, once
/// the draws in progressare done, and at least the first few.
///
/// This crate has no clock: implement a time limit as an observer that breaks when the time is nearly up, and
/// use [`crate::numerics::stop`] when it is.
pub type SamplingObserver<'a> = &'a (dyn Fn(&Sampling) -> ControlFlow<()> + Sync);
