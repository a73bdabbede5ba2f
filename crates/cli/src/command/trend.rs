//! `sottovoce trend`.

use clap::Args;
use sottovoce_job::render::Render;
use sottovoce_job::{Result as JobResult, TrendRequest, read_prior, read_protocol, share};

use crate::arguments::{LongArguments, PictureArguments};
use crate::failure::Result;

const EXAMPLES: &str = "\
Examples:
  sottovoce trend week1.json week2.json week3.json --of Masters
      The share of a value in each week with its interval, and the probability that it has risen.

  sottovoce trend weeks/*.json --of 'mean()' --picture trend.svg
      The mean of labels that are numbers or bins, also as a picture.

Without --of: the five values that are most common in the last collection. Expressions are those of
`sottovoce posterior`, except ranks.";

/// A share, or whatever else is asked of the distribution, over several collections in order.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TrendArguments {
    /// The tallies in order: JSON files, or inline JSON
    #[arg(value_name = "TALLIES", required = true)]
    tallies: Vec<String>,
    /// The protocol, if the tallies do not name it: a file, inline JSON, or a shorthand such as grr:a=16,eps=1
    #[arg(short, long, value_name = "P", allow_hyphen_values = true)]
    protocol: Option<String>,
    /// What is believed about the distribution of the values: a file, inline JSON, or a shorthand such as
    /// jeffreys; by default adaptive for more than two values, jeffreys for two
    #[arg(short = 'r', long, value_name = "R")]
    prior: Option<String>,
    /// What is followed, in terms of the labels; several times for several questions
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    of: Vec<String>,
    /// Probability of the credible intervals, such as 0.95 or 95%
    #[arg(long, value_name = "L", default_value = "0.9", value_parser = share, allow_negative_numbers = true)]
    level: f64,
    /// Accept Markov chains that have not converged, with a warning
    #[arg(long)]
    allow_unconverged: bool,
    #[command(flatten)]
    long: LongArguments,
    #[command(flatten)]
    picture: PictureArguments,
}

pub(crate) fn run(arguments: &TrendArguments) -> Result {
    let job = request(arguments)?.check()?;
    arguments.long.output.check()?;
    let watch = arguments.long.watch();
    let report = job.run(&|progress| watch.hear(progress))?;
    arguments.picture.write(&report.text(), arguments.long.output.quiet)?;
    arguments.long.write(&watch, &report)
}

fn request(arguments: &TrendArguments) -> JobResult<TrendRequest> {
    Ok(TrendRequest {
        tallies: arguments.tallies.iter().map(|tallies| tallies.as_str().into()).collect(),
        protocol: arguments.protocol.as_deref().map(read_protocol).transpose()?,
        prior: arguments.prior.as_deref().map(read_prior).transpose()?,
        of: arguments.of.clone(),
        level: arguments.level,
        method: arguments.long.accuracy.method.into(),
        seed: arguments.long.computation.seed,
        allow_unconverged: arguments.allow_unconverged,
    })
}
