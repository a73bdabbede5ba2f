//! The report of the job `trend` as JSON has it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::{Trend, TrendReport};
use crate::contract::Number;
use crate::functional::SummaryFields;
use crate::spec::{PriorSpec, ProtocolSpec};

/// Numbers over several collections.
#[derive(Serialize, JsonSchema)]
struct TrendFields<'r> {
    /// The prior.
    prior: &'r PriorSpec,
    /// Probability of the credible intervals.
    level: Number,
    /// The collections in order.
    points: Vec<PointFields<'r>>,
    /// One entry for each expression.
    trends: Vec<OneTrendFields<'r>>,
}

/// A collection.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TrendPoint")]
struct PointFields<'r> {
    /// Its name: that of the file without its ending.
    name: &'r str,
    /// Its protocol.
    protocol: &'r ProtocolSpec,
    /// The number of its reports.
    n: u64,
}

/// A number over the collections.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Trend")]
struct OneTrendFields<'r> {
    /// What was followed.
    expression: &'r str,
    /// The unit of the number: `share`, `number` (that of the labels) or `ratio`.
    unit: &'static str,
    /// What is assumed of numbers within their bins: `midpoint` (their mean is the middle) or `uniform`.
    within_bins: Option<&'static str>,
    /// The number in each collection.
    values: Vec<SummaryFields>,
    /// Each collection minus the one before.
    steps: Vec<SummaryFields>,
    /// The last collection minus the first.
    overall: SummaryFields,
}

impl<'r> From<&'r Trend> for OneTrendFields<'r> {
    fn from(trend: &'r Trend) -> Self {
        OneTrendFields {
            expression: &trend.expression.text,
            unit: trend.expression.unit.name(),
            within_bins: trend.expression.within_bins.map(crate::functional::WithinBins::name),
            values: trend.values.iter().map(SummaryFields::from).collect(),
            steps: trend.steps.iter().map(SummaryFields::from).collect(),
            overall: (&trend.overall).into(),
        }
    }
}

impl<'r> From<&'r TrendReport> for TrendFields<'r> {
    fn from(report: &'r TrendReport) -> Self {
        let point = |(name, collection): &'r (String, crate::gathered::Gathering)| PointFields {
            name,
            protocol: &collection.protocol,
            n: collection.n,
        };
        TrendFields {
            prior: &report.prior,
            level: Number(report.level),
            points: report.points.iter().map(point).collect(),
            trends: report.trends.iter().map(OneTrendFields::from).collect(),
        }
    }
}

impl Serialize for TrendReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        TrendFields::from(self).serialize(serializer)
    }
}

impl JsonSchema for TrendReport {
    fn schema_name() -> Cow<'static, str> {
        "TrendReport".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        TrendFields::json_schema(generator)
    }
}
