//! The progress of a long computation, for a caller that wants to watch or stop it.

use std::ops::ControlFlow;

use super::Metric;
use crate::information::Sampling;
use crate::model::estimator::Estimator;

/// What is being computed, and how far it has come.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Progress {
    /// Monte Carlo for a metric of `users` users: `I(X⃗;P)`, `I(Y⃗;P)` or `I(Y⃗;T)`, from which the others
    /// follow.
    Metric {
        /// The metric.
        metric: Metric,
        /// The number of users.
        users: u64,
        /// The draws.
        sampling: Sampling,
    },
    /// Simulated collections of `users` users, for the expected error of an estimator.
    ExpectedError {
        /// The estimator.
        estimator: Estimator,
        /// The number of users.
        users: u64,
        /// The collections.
        sampling: Sampling,
    },
    /// Draws from a posterior.
    Posterior {
        /// The draws.
        sampling: Sampling,
    },
    /// The search for the best protocol.
    Design {
        /// Directions priced in the last iteration; 0 at the start.
        directions: u64,
        /// The remaining optimality gap in `U_as`.
        gap: f64,
        /// The target gap.
        tolerance: f64,
    },
    /// Values being randomised into reports.
    Randomising {
        /// Reports so far.
        reports: u64,
    },
    /// Reports being read and counted.
    Counting {
        /// Reports so far.
        reports: u64,
    },
}

/// Called before a long computation begins, and repeatedly while it runs.
///
/// [`ControlFlow::Break`] before a number is started leaves it out ([`super::Absence::Stopped`]); later it
/// ends the computation with its best estimate so far.
pub type Observer<'a> = &'a (dyn Fn(&Progress) -> ControlFlow<()> + Sync);

/// An observer that never stops anything.
pub fn unobserved(_: &Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
