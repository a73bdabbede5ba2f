//! The answer for one metric: a value, or why there is none.

use crate::model::absence::Absence;
use crate::model::evaluation::{Evaluation, Method};

/// The warning for a number that is only bracketed.
pub(super) const BRACKETED: &str = "there are too many outputs to visit: known is only a bracket, between what one of the combined reports tells alone and what \
                         all of them can tell at most";

/// The value of a metric with its method, or why it does not exist.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The value, or why there is none.
    pub value: Result<Value, Absence>,
    /// A caveat about the value.
    pub warning: Option<String>,
    /// Whether the number is the midpoint of a bracket and its error half the width; the true value may be
    /// anywhere inside.
    pub bracketed: bool,
}

/// The value of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A real number with its error and method. May be infinite.
    Number(Evaluation),
    /// An integer, with its method.
    Count(usize, Method),
    /// A yes or no, with its method.
    Truth(bool, Method),
}

impl Answer {
    /// A value without a warning.
    pub fn of(value: Value) -> Self {
        Answer { value: Ok(value), warning: None, bracketed: false }
    }

    /// A number of which only the smallest and the largest possible value are known.
    pub(super) fn between(low: f64, high: f64, method: Method) -> Self {
        let middle = Evaluation::new((low + high) / 2.0, (high - low) / 2.0, method);
        Answer { warning: Some(BRACKETED.into()), bracketed: true, ..Ok(middle).into() }
    }

    /// The ends of the bracket, if the value is only bracketed.
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
        // NaN is a failure of the method, and never returned as a value.
        let value = result.and_then(|number| match number.value.is_nan() || number.error.is_nan() {
            true => Err(Absence::NoMethod { what: "the computation broke down numerically" }),
            false => Ok(Value::Number(number)),
        });
        Answer { value, warning: None, bracketed: false }
    }
}
