//! How a caller hears of long computations, and ends them.

use std::ops::ControlFlow;

use super::Metric;
use crate::information::Progress;
use crate::model::estimator::Estimator;

/// The number that is being found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sought {
    /// A metric: `I(X⃗;P)`, `I(Y⃗;P)` or `I(Y⃗;T)`, from which the others follow.
    Metric(Metric),
    /// How far this estimator is off on average.
    Error(Estimator),
}

/// Where a computation is: which number is being found, and how far it has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The number.
    pub sought: Sought,
    /// Of how many users; 0 in the search for the best protocol, where the error is the gap that is left and draws are directions priced.
    pub users: u64,
    /// How far it has come; no draws and an infinite error before it is begun.
    pub progress: Progress,
}

impl Step {
    /// Whether the best protocol is being searched.
    pub fn is_design(&self) -> bool {
        self.users == 0
    }
}

/// Called before each number of many users is begun, before every of its draws and after every round of them.
///
/// [`ControlFlow::Break`] before it is begun leaves it out ([`super::Absence::Stopped`]); later it ends the number with its
/// best estimate so far.
pub type Watcher<'a> = &'a (dyn Fn(&Step) -> ControlFlow<()> + Sync);
