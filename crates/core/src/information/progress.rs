//! How a long computation talks to its caller.

use std::ops::ControlFlow;

/// The state of a Monte Carlo computation after a round of draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Draws so far.
    pub draws: u64,
    /// The estimate so far, in nats.
    pub value: f64,
    /// Its standard error so far.
    pub error: f64,
    /// The standard error asked for.
    pub tolerance: f64,
}

impl Progress {
    /// Nothing is drawn yet, and nothing known.
    pub const BEGUN: Progress =
        Progress { draws: 0, value: f64::NAN, error: f64::INFINITY, tolerance: f64::NAN };

    /// Estimated share of the work that is done: the error shrinks with the square root of the work.
    pub fn fraction(&self) -> f64 {
        if self.error <= self.tolerance { 1.0 } else { (self.tolerance / self.error).powi(2) }
    }
}

/// Called after every round of draws, and before every draw with what was known after the last round (nothing in the first one: no value and an infinite
/// error); [`ControlFlow::Break`] stops with the best estimate so far, which takes as long as the draws that are under way, and at least eight.
///
/// This crate has no clock: a time limit is an observer that breaks when the time is nearly over, and [`crate::numerics::stop`] when it is.
pub type Observer<'a> = &'a (dyn Fn(&Progress) -> ControlFlow<()> + Sync);
