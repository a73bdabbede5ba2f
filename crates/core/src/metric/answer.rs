//! The answer to "what is this metric?": a value, or why there is none.

use thiserror::Error;

use crate::error::Error;
use crate::evaluation::{Evaluation, Method};

/// What was asked for, how it was found, or why it does not exist.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The value, or why there is none.
    pub value: Result<Value, Absence>,
    /// Something to keep in mind when reading the value.
    pub warning: Option<String>,
    /// Whether the number is the middle of a bracket, its error half the width, and nothing is known about where in it the truth is.
    pub bracketed: bool,
}

/// The value of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A real number with its error and method. May be infinite.
    Number(Evaluation),
    /// A whole number, with its method.
    Count(usize, Method),
    /// A yes or no, with its method.
    Truth(bool, Method),
}

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

impl Answer {
    /// A value without a warning.
    pub fn of(value: Value) -> Self {
        Answer { value: Ok(value), warning: None, bracketed: false }
    }

    /// The ends of the bracket, if no more is known.
    pub fn bracket(&self) -> Option<(f64, f64)> {
        let e = self.number().filter(|_| self.bracketed)?;
        Some((e.value - e.error, e.value + e.error))
    }

    /// The number, if the answer is one.
    pub fn number(&self) -> Option<Evaluation> {
        match self.value {
            Ok(Value::Number(evaluation)) => Some(evaluation),
            _ => None,
        }
    }
}

impl From<Result<Evaluation, Absence>> for Answer {
    fn from(result: Result<Evaluation, Absence>) -> Self {
        // A number that is none is a failure of the method, and never passed on as a value.
        let value = result.and_then(|number| match number.value.is_nan() || number.error.is_nan() {
            true => Err(Absence::NoMethod { what: "the computation broke down numerically" }),
            false => Ok(Value::Number(number)),
        });
        Answer { value, warning: None, bracketed: false }
    }
}
