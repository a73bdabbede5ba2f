//! What protocols are judged by: metrics, and how far estimated frequencies are off.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use sottovoce::accuracy::Distance;
use sottovoce::metric::Answer;
use sottovoce::{Analysis, Metric};

use crate::contract::{AnswerFields, Name, Named, answer, by_name};
use crate::error::Result;
use crate::metrics::metric;

/// Something that a protocol has more or less of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A metric.
    Metric(Metric),
    /// The expected error of the estimated frequencies.
    Error(Distance),
}

/// How far a share is typically off.
pub const TYPICAL_ERROR: Quantity = Quantity::Error(Distance::RootMeanSquare);

/// What the name of an error begins with, for programs.
const ERROR: &str = "accuracy_";

impl Quantity {
    /// The quantity of that name: a metric, or a distance with or without `accuracy_` before it.
    ///
    /// # Errors
    /// As for [`metric`].
    pub fn named(name: &str) -> Result<Self> {
        let bare = name.trim();
        let distance = bare.strip_prefix(ERROR).unwrap_or(bare).parse::<Distance>().ok();
        distance.map_or_else(|| metric(name).map(Quantity::Metric), |distance| Ok(Quantity::Error(distance)))
    }

    /// The name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Metric(metric) => metric.name(),
            Quantity::Error(Distance::L1) => "accuracy_l1",
            Quantity::Error(Distance::L2) => "accuracy_l2",
            Quantity::Error(Distance::SquaredL2) => "accuracy_l2sq",
            Quantity::Error(Distance::RootMeanSquare) => "accuracy_rms",
            Quantity::Error(Distance::Max) => "accuracy_max",
        }
    }

    /// The name for people.
    pub fn symbol(self) -> &'static str {
        match self {
            Quantity::Metric(metric) => metric.symbol(),
            Quantity::Error(Distance::L1) => "E l1",
            Quantity::Error(Distance::L2) => "E l2",
            Quantity::Error(Distance::SquaredL2) => "E l2²",
            Quantity::Error(Distance::RootMeanSquare) => "typical error",
            Quantity::Error(Distance::Max) => "E max",
        }
    }

    /// Whether it depends on the number of users.
    pub fn needs_users(self) -> bool {
        match self {
            Quantity::Metric(metric) => metric.needs_users(),
            Quantity::Error(_) => true,
        }
    }

    /// Whether more of it is better (1) or less (−1).
    pub fn direction(self) -> Option<f64> {
        use Metric as M;
        match self {
            Quantity::Metric(
                M::WorstCasePrivacy
                | M::AveragePrivacy
                | M::AsymptoticUtility
                | M::EffectiveParticipation
                | M::DistributionUtility
                | M::TallyUtility
                | M::DigitUtility
                | M::AggregatorDistribution,
            ) => Some(1.0),
            Quantity::Metric(M::LocalPrivacyLevel | M::AggregatorPrivate | M::AggregatorIndividual)
            | Quantity::Error(_) => Some(-1.0),
            Quantity::Metric(_) => None,
        }
    }

    /// Whether it is a share, and so between 0 and 1.
    pub fn is_share(self) -> bool {
        !matches!(self, Quantity::Metric(Metric::DigitUtility))
    }
}

impl From<Metric> for Quantity {
    fn from(metric: Metric) -> Self {
        Quantity::Metric(metric)
    }
}

impl Named for Quantity {
    const WHAT: &'static str = "Quantity";

    fn name(self) -> &'static str {
        Quantity::name(self)
    }

    fn names() -> Vec<&'static str> {
        let errors = Distance::ALL.into_iter().map(Quantity::Error);
        Metric::all().map(Quantity::Metric).chain(errors).map(Quantity::name).collect()
    }
}

/// The name of a quantity in a request, where an error may go by its distance alone.
pub(crate) struct QuantityName;

impl JsonSchema for QuantityName {
    fn schema_name() -> Cow<'static, str> {
        "QuantityName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = Quantity::names().into_iter().chain(Distance::ALL.map(Distance::name));
        json_schema!({"type": "string", "enum": names.collect::<Vec<_>>()})
    }
}

/// A quantity with its answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Evaluated {
    /// The metric, or the error.
    #[serde(rename = "metric", serialize_with = "by_name")]
    #[schemars(with = "Name<Quantity>")]
    pub quantity: Quantity,
    /// The number of users, where it depends on one.
    #[serde(rename = "n")]
    pub users: Option<u64>,
    /// The value, or why there is none.
    #[serde(flatten, serialize_with = "answer")]
    #[schemars(with = "AnswerFields")]
    pub answer: Answer,
}

impl Evaluated {
    /// The metric at so many users by a short Monte Carlo run, if it was approximated and the run is affordable.
    pub(crate) fn confirmed(analysis: &Analysis<'_>, metric: Metric, users: u64) -> Option<Self> {
        let sampled = analysis.confirmation(metric, users)?;
        Some(Evaluated { quantity: metric.into(), users: Some(users), answer: Ok(sampled).into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_names_of_distances() {
        for name in ["rms", "accuracy_rms", " rms "] {
            assert_eq!(Quantity::named(name).unwrap(), TYPICAL_ERROR);
        }
        for distance in Distance::ALL {
            let quantity = Quantity::Error(distance);
            assert_eq!(Quantity::named(quantity.name()).unwrap(), quantity);
        }
        assert_eq!(Quantity::named("s_mu").unwrap(), Metric::AveragePrivacy.into());
        assert!(Quantity::named("accuracy_s_mu").is_err());
    }
}
