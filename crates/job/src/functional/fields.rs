//! Answers to expressions as JSON has them.

use schemars::JsonSchema;
use serde::Serialize;
use sottovoce::Evaluation;
use sottovoce::posterior::FunctionalSummary;

use super::{Asked, Question};
use crate::contract::{EvaluationFields, Number};

/// The answer to an expression.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Asked")]
pub(crate) struct AskedFields<'r> {
    /// What was asked.
    expression: &'r str,
    /// The unit of the number: `share`, `number` (that of the labels), `ratio`, `rank`, or `probability`.
    unit: &'static str,
    /// What is assumed of numbers within their bins: `midpoint` (their mean is the middle) or `uniform`.
    within_bins: Option<&'static str>,
    /// Its posterior; null for `top` and `largest`.
    posterior: Option<SummaryFields>,
    /// For `rank`, the probability of each rank.
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks: Option<Vec<EvaluationFields>>,
    /// For `top` and `largest`, the probability of each value to be among the most common ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    top: Option<Vec<TopFields<'r>>>,
    /// The same number of the other collection, and how this one differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<AgainstFields>,
}

/// A value and its probability to be among the most common ones.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Top")]
struct TopFields<'r> {
    /// The name of the value.
    label: &'r str,
    /// The probability.
    probability: EvaluationFields,
}

/// A number of another collection, and how it differs.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Against")]
struct AgainstFields {
    /// The number of the other collection.
    posterior: SummaryFields,
    /// This one minus the other.
    difference: SummaryFields,
    /// This one over the other, for shares.
    ratio: Option<SummaryFields>,
}

/// The posterior of a number.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FunctionalSummary")]
pub(crate) struct SummaryFields {
    /// The mean.
    mean: EvaluationFields,
    /// The standard deviation.
    sd: EvaluationFields,
    /// Quantiles.
    quantiles: Vec<QuantileFields>,
    /// For differences and ratios, the probability of being above 0 or 1.
    above: Option<AboveFields>,
    /// How many independent draws tell as much as those that were used; null where all is exact.
    effective_draws: Option<Number>,
}

/// A quantile.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FunctionalQuantile")]
struct QuantileFields {
    /// The probability below it.
    probability: Number,
    /// The quantile.
    at: EvaluationFields,
}

/// The probability of being above a number.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Above")]
struct AboveFields {
    /// The number.
    than: Number,
    /// The probability.
    probability: EvaluationFields,
}

impl From<&FunctionalSummary> for SummaryFields {
    fn from(found: &FunctionalSummary) -> Self {
        let quantile =
            |(q, at): &(f64, Evaluation)| QuantileFields { probability: Number(*q), at: at.into() };
        SummaryFields {
            mean: (&found.mean).into(),
            sd: (&found.sd).into(),
            quantiles: found.quantiles.iter().map(quantile).collect(),
            above: (found.above.as_ref())
                .map(|(than, p)| AboveFields { than: Number(*than), probability: p.into() }),
            effective_draws: found.sample_size.map(Number),
        }
    }
}

/// The answers, where the values have these names.
pub(crate) fn asked<'r>(all: &'r [Asked], labels: &'r [String]) -> Vec<AskedFields<'r>> {
    let evaluations = |found: &'r [Evaluation]| found.iter().map(EvaluationFields::from);
    let one = |asked: &'r Asked| AskedFields {
        expression: &asked.expression.text,
        unit: asked.expression.unit.name(),
        within_bins: asked.expression.within_bins.map(super::WithinBins::name),
        posterior: asked.summary.as_ref().map(SummaryFields::from),
        ranks: matches!(asked.expression.question, Question::Rank(..))
            .then(|| evaluations(&asked.probabilities).collect()),
        top: matches!(asked.expression.question, Question::Top(_)).then(|| {
            let top = evaluations(&asked.probabilities).zip(labels);
            top.map(|(probability, label)| TopFields { label, probability }).collect()
        }),
        against: asked.against.as_ref().map(|against| AgainstFields {
            posterior: (&against.summary).into(),
            difference: (&against.difference).into(),
            ratio: against.ratio.as_ref().map(SummaryFields::from),
        }),
    };
    all.iter().map(one).collect()
}
