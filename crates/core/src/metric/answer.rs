//! The answer to "what is this metric?": a value, or why there is none.

use crate::model::absence::Absence;
use crate::model::evaluation::{Evaluation, Method};

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
