//! `sottovoce budget`.

use clap::Args;
use sottovoce_job::render::Render;
use sottovoce_job::{BudgetSpec, Result as JobResult, Settings, read_prior, read_protocol, share};

use crate::arguments::{ComputationArguments, OutputArguments};
use crate::failure::Result;

const EXAMPLES: &str = "\
Examples:
  sottovoce budget -p grr:a=8,eps=0.5 -p oue:a=8,eps=1 --epsilon 2
      What two collections of the same value spend of a level of 2.

  sottovoce budget -p monday.json -p tuesday.json --min-average-privacy 0.5
      Whether enough of each user's information stays hidden from both together.";

/// What several protocols on the same value spend together.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BudgetArguments {
    /// A protocol: a file, inline JSON, or a shorthand; repeat it for each collection of the same value
    #[arg(short, long = "protocol", value_name = "P", allow_hyphen_values = true, required = true)]
    protocols: Vec<String>,
    /// What is believed about the distribution of the values: a file, inline JSON, or a shorthand
    #[arg(short = 'r', long, value_name = "R", default_value = "jeffreys")]
    prior: String,
    /// The LDP level that may be spent in all
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    epsilon: Option<f64>,
    /// The average privacy that must remain, such as 0.9 or 90%
    #[arg(long, value_name = "L", allow_negative_numbers = true, value_parser = share)]
    min_average_privacy: Option<f64>,
    #[command(flatten)]
    computation: ComputationArguments,
    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &BudgetArguments) -> Result {
    let report = spec(arguments)?.run()?;
    arguments.output.write(&report.render(arguments.output.format.into()))
}

fn spec(arguments: &BudgetArguments) -> JobResult<BudgetSpec> {
    Ok(BudgetSpec {
        protocols: arguments.protocols.iter().map(|p| read_protocol(p)).collect::<JobResult<_>>()?,
        prior: read_prior(&arguments.prior)?,
        epsilon: arguments.epsilon,
        least_average_privacy: arguments.min_average_privacy,
        settings: Settings { seed: arguments.computation.seed, ..Settings::default() },
    })
}
