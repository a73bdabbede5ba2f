//! The report of the job `estimate` as JSON has it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use sottovoce::estimate::{Estimate, Estimator, IntervalMethod};

use super::{Column, EstimateReport};
use crate::contract::{Name, Number};
use crate::gathered::Gathering;
use crate::spec::ProtocolSpec;

/// Shares estimated from tallies, by several estimators.
#[derive(Serialize, JsonSchema)]
struct EstimateFields<'r> {
    /// The protocol, with all sizes filled in.
    protocol: &'r ProtocolSpec,
    /// The collections, if there are several.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    collections: &'r [Gathering],
    /// The number of reports.
    n: u64,
    /// The level of the confidence intervals.
    level: f64,
    /// One entry for each estimator.
    estimators: Vec<EstimatorFields>,
    /// One entry for each value: its label, and its share by each estimator.
    p: Vec<Row<'r>>,
    /// The covariance of the linear estimate, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    covariance: Option<&'r [Vec<f64>]>,
}

/// How an estimator came to its shares, or why it has none.
#[derive(Serialize, JsonSchema)]
struct EstimatorFields {
    /// The estimator.
    estimator: Name<Estimator>,
    /// The sum of the shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    sum: Option<f64>,
    /// How the intervals were made.
    #[serde(skip_serializing_if = "Option::is_none")]
    intervals: Option<&'static str>,
    /// The log-likelihood is below its maximum by at most this, in nats.
    #[serde(skip_serializing_if = "Option::is_none")]
    gap: Option<Number>,
    /// The gap that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    tolerance: Option<f64>,
    /// Whether the gap is within the tolerance.
    #[serde(skip_serializing_if = "Option::is_none")]
    converged: Option<bool>,
    /// Passes over the reports; 0 for a closed form.
    #[serde(skip_serializing_if = "Option::is_none")]
    passes: Option<usize>,
    /// Why there are no shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl From<&Column> for EstimatorFields {
    fn from(column: &Column) -> Self {
        let found = column.estimate.as_ref().ok();
        let certificate = found.and_then(|found| found.certificate);
        EstimatorFields {
            estimator: Name(column.estimator),
            sum: found.map(|found| found.values.iter().sum()),
            intervals: found.map(|found| IntervalMethod::name(found.interval_method)),
            gap: certificate.map(|c| Number(c.gap)),
            tolerance: certificate.map(|c| c.tolerance),
            converged: certificate.map(|c| c.holds()),
            passes: certificate.map(|c| c.passes),
            reason: column.estimate.as_ref().err().map(ToString::to_string),
        }
    }
}

/// One value: its label, and its share by each estimator that has one.
struct Row<'r> {
    report: &'r EstimateReport,
    x: usize,
}

/// An estimated share.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EstimatedShare")]
struct EstimatedShare {
    /// The share.
    estimate: f64,
    /// Its standard error, where the estimator has one.
    standard_error: Option<f64>,
    /// The lower end of the interval.
    low: f64,
    /// The upper end.
    high: f64,
    /// Monte Carlo standard error of the share itself, where it comes from Markov chains.
    #[serde(skip_serializing_if = "Option::is_none")]
    monte_carlo_error: Option<f64>,
}

impl EstimatedShare {
    fn new(found: &Estimate, x: usize) -> Self {
        EstimatedShare {
            estimate: found.values[x],
            standard_error: found.standard_errors.as_ref().map(|errors| errors[x]),
            low: found.intervals[x].low,
            high: found.intervals[x].high,
            monte_carlo_error: found.monte_carlo_errors.as_ref().map(|errors| errors[x]),
        }
    }
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_map(None)?;
        row.serialize_entry("label", &self.report.labels[self.x])?;
        for Column { estimator, estimate } in &self.report.columns {
            if let Ok(found) = estimate {
                row.serialize_entry(estimator.name(), &EstimatedShare::new(found, self.x))?;
            }
        }
        row.end()
    }
}

impl JsonSchema for Row<'_> {
    fn schema_name() -> Cow<'static, str> {
        "EstimatedValue".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let share = generator.subschema_for::<EstimatedShare>();
        let mut schema = json_schema!({
            "type": "object",
            "properties": {"label": {"type": "string"}},
            "required": ["label"],
            "additionalProperties": false,
        });
        for estimator in Estimator::ALL {
            schema.ensure_object()["properties"][estimator.name()] = share.clone().into();
        }
        schema
    }
}

impl<'r> From<&'r EstimateReport> for EstimateFields<'r> {
    fn from(report: &'r EstimateReport) -> Self {
        EstimateFields {
            protocol: &report.protocol,
            collections: if report.collections.len() > 1 { &report.collections } else { &[] },
            n: report.n,
            level: report.level,
            estimators: report.columns.iter().map(EstimatorFields::from).collect(),
            p: (0..report.labels.len()).map(|x| Row { report, x }).collect(),
            covariance: report.covariance.as_deref(),
        }
    }
}

impl Serialize for EstimateReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        EstimateFields::from(self).serialize(serializer)
    }
}

impl JsonSchema for EstimateReport {
    fn schema_name() -> Cow<'static, str> {
        "EstimateReport".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        EstimateFields::json_schema(generator)
    }
}
