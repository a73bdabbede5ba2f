//! Answers and evaluations in reports.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use sottovoce::metric::{Answer, Value};
use sottovoce::{Evaluation, Method};

use super::name::Name;
use super::number::Number;

/// The value of a metric with its error and method, or the reason why there is none.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Answer")]
pub(crate) struct AnswerFields {
    /// The value; null if there is none.
    value: Option<AnswerValue>,
    /// A bound on the absolute error or, for `monte_carlo`, the standard error.
    error: Option<Number>,
    /// How the value was found.
    method: Option<Name<Method>>,
    /// Why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The ends of the bracket, if no more is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    bracket: Option<[Number; 2]>,
    /// Something to keep in mind when reading the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

/// A number, a count, or yes or no.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum AnswerValue {
    Number(Number),
    Count(usize),
    Truth(bool),
}

impl From<&Answer> for AnswerFields {
    fn from(answer: &Answer) -> Self {
        let found = answer.value.as_ref().ok().map(|value| match *value {
            Value::Number(e) => (AnswerValue::Number(Number(e.value)), e.error, e.method),
            Value::Count(count, method) => (AnswerValue::Count(count), 0.0, method),
            Value::Truth(truth, method) => (AnswerValue::Truth(truth), 0.0, method),
        });
        let (value, error, method) = match found {
            Some((value, error, method)) => (Some(value), Some(Number(error)), Some(Name(method))),
            None => (None, None, None),
        };
        AnswerFields {
            value,
            error,
            method,
            reason: answer.value.as_ref().err().map(ToString::to_string),
            bracket: answer.bracket().map(|(low, high)| [Number(low), Number(high)]),
            warning: answer.warning.clone(),
        }
    }
}

/// Serialises a field of type [`Answer`]; with `flatten`, its keys stand beside the other fields.
pub(crate) fn answer<S: Serializer>(answer: &Answer, serializer: S) -> Result<S::Ok, S::Error> {
    AnswerFields::from(answer).serialize(serializer)
}

/// Serialises a field of type `Vec<Answer>`.
pub(crate) fn answers<S: Serializer>(answers: &[Answer], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(answers.iter().map(AnswerFields::from))
}

/// A number with its error and method.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Evaluation")]
pub(crate) struct EvaluationFields {
    /// The number.
    value: Number,
    /// A bound on the absolute error or, for `monte_carlo`, the standard error.
    error: Number,
    /// How the number was found.
    method: Name<Method>,
}

impl From<&Evaluation> for EvaluationFields {
    fn from(Evaluation { value, error, method, .. }: &Evaluation) -> Self {
        EvaluationFields { value: Number(*value), error: Number(*error), method: Name(*method) }
    }
}

/// Serialises a field of type [`Evaluation`].
pub(crate) fn evaluation<S: Serializer>(evaluation: &Evaluation, serializer: S) -> Result<S::Ok, S::Error> {
    EvaluationFields::from(evaluation).serialize(serializer)
}

/// Serialises a field of type `Option<Evaluation>`; null if there is none.
pub(crate) fn optional_evaluation<S: Serializer>(
    evaluation: &Option<Evaluation>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    evaluation.as_ref().map(EvaluationFields::from).serialize(serializer)
}
