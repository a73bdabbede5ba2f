//! `sottovoce estimate`.

use clap::Args;
use sottovoce_job::render::text::estimate_chart;
use sottovoce_job::render::{Document, Render};
use sottovoce_job::{EstimateSpec, Result as JobResult, share};

use crate::arguments::{CollectedArguments, OutputArguments, PictureArguments};
use crate::failure::Result;

const EXAMPLES: &str = "\
Examples:
  sottovoce estimate -p grr:a=3,eps=1 --tallies tallies.json
      Linear, nearest and most likely frequencies, with 90 % intervals.

  sottovoce estimate -t t.json --estimator all --level 0.95 --picture estimates.svg
      All estimators side by side, and as a picture; of the protocol that the tallies name.

Tallies are {\"n\": 9, \"counts\": [{\"y\": 0, \"count\": 9}]} or, where reports support values,
{\"n\": 9, \"supports\": [5, 4, 0]}: how many reports support each value.

Estimators: linear, clip, norm, norm_mul, norm_sub, base_cut, ml, posterior_mean, or all.";

/// Frequencies from tallies, by several estimators side by side, always with intervals.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EstimateArguments {
    #[command(flatten)]
    collected: CollectedArguments,
    /// Estimators, separated by commas [default: linear,norm_sub,ml]
    #[arg(short, long = "estimator", value_name = "NAME", value_delimiter = ',')]
    estimators: Vec<String>,
    /// Level of the intervals, such as 0.95 or 95%
    #[arg(long, value_name = "L", default_value = "0.9", value_parser = share, allow_negative_numbers = true)]
    level: f64,
    /// Gap in nats within which the search for the most likely frequencies ends [default: 1e-6]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// Also give the covariance of the linear estimate (in JSON)
    #[arg(long)]
    covariance: bool,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    picture: PictureArguments,
}

pub(crate) fn run(arguments: &EstimateArguments) -> Result {
    let report = spec(arguments)?.run()?;
    let mut picture = Document::default();
    picture.chart(estimate_chart(&report));
    arguments.picture.write(&picture, arguments.output.quiet)?;
    arguments.output.write(&report.render(arguments.output.format.into()))
}

fn spec(arguments: &EstimateArguments) -> JobResult<EstimateSpec> {
    Ok(EstimateSpec {
        protocol: arguments.collected.protocol()?,
        prior: arguments.collected.prior()?,
        tallies: arguments.collected.tallies.clone(),
        estimators: arguments.estimators.clone(),
        level: arguments.level,
        tolerance: arguments.tolerance,
        covariance: arguments.covariance,
    })
}
