//! `sottovoce estimate`.

use clap::Args;
use sottovoce_job::render::text::estimate_chart;
use sottovoce_job::render::{Document, Render};
use sottovoce_job::{EstimateRequest, Result as JobResult, share, unobserved};

use crate::arguments::{CollectedArguments, OutputArguments, PictureArguments};
use crate::failure::Result;

const EXAMPLES: &str = "\
Examples:
  sottovoce estimate -p grr:a=3,eps=1 --tallies tallies.json
      The linear, norm_sub and maximum likelihood estimates, with 90 % confidence intervals.

  sottovoce estimate -t t.json --estimator all --level 0.95 --picture estimates.svg
      All estimators side by side, also as a picture. The tallies name their protocol.

Tallies are {\"n\": 9, \"counts\": [{\"y\": 0, \"count\": 9}]} or, for unary encoding, subset selection
and local hash, {\"n\": 9, \"supports\": [5, 4, 0]}: how many reports support each value.

Estimators: linear, clip, norm, norm_mul, norm_sub, base_cut, ml, posterior_mean, or all.";

/// Estimate shares from tallies, by several estimators side by side, with confidence intervals.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EstimateArguments {
    #[command(flatten)]
    collected: CollectedArguments,
    /// Estimators, separated by commas [default: linear,norm_sub,ml]
    #[arg(short, long = "estimator", value_name = "NAME", value_delimiter = ',')]
    estimators: Vec<String>,
    /// Level of the confidence intervals, such as 0.95 or 95%
    #[arg(long, value_name = "L", default_value = "0.9", value_parser = share, allow_negative_numbers = true)]
    level: f64,
    /// Largest gap, in nats, between the likelihood found and its maximum [default: 1e-6]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// Also output the covariance of the linear estimate (in JSON)
    #[arg(long)]
    covariance: bool,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    picture: PictureArguments,
}

pub(crate) fn run(arguments: &EstimateArguments) -> Result {
    let report = request(arguments)?.check()?.run(&unobserved)?;
    let mut picture = Document::default();
    picture.chart(estimate_chart(&report));
    arguments.picture.write(&picture, arguments.output.quiet)?;
    arguments.output.write(&report.render(arguments.output.format.into()))
}

fn request(arguments: &EstimateArguments) -> JobResult<EstimateRequest> {
    Ok(EstimateRequest {
        protocol: arguments.collected.protocol()?,
        prior: arguments.collected.prior()?,
        tallies: arguments.collected.written_tallies(),
        estimator: arguments.estimators.clone(),
        level: arguments.level,
        tolerance: arguments.tolerance,
        covariance: arguments.covariance,
    })
}
