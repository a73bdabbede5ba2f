//! Why a number does not exist.

use thiserror::Error;

use super::error::Error;

/// Why a metric has no value here.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Absence {
    /// The metric is defined for faithful protocols only.
    #[error(
        "the protocol is not faithful (rank {rank} < {a} inputs): reports cannot tell all distributions apart"
    )]
    NotFaithful {
        /// `rk Q`.
        rank: usize,
        /// Number of inputs.
        a: usize,
    },
    /// The metric is defined for continuous priors only.
    #[error("the prior is not continuous: it allows only finitely many distributions")]
    NotContinuous,
    /// The metric depends on the number of users, and none was given.
    #[error("the number of users n is needed")]
    NeedsUsers,
    /// The metric exists, but this version has no method for it here.
    #[error("no method for this case yet: {what}")]
    NoMethod {
        /// Which case.
        what: &'static str,
    },
    /// The computation was stopped before this number was begun.
    #[error("stopped before it was computed")]
    Stopped,
    /// The protocol is too large for the only method there is, or the method failed.
    #[error(transparent)]
    Failed(#[from] Error),
}
