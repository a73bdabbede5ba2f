//! `sottovoce budget`.

use clap::Args;
use sottovoce_job::render::Render;
use sottovoce_job::{BudgetRequest, Result as JobResult, read_prior, read_protocol, share};

use crate::arguments::{ComputationArguments, OutputArguments};
use crate::failure::Result;
use crate::watch::Watch;

const EXAMPLES: &str = "\
Examples:
  sottovoce budget -p grr:a=8,eps=0.5 -p oue:a=8,eps=1 --epsilon 2
      How much of an LDP level of 2 two collections of the same value spend.

  sottovoce budget -p monday.json -p tuesday.json --min-average-privacy 0.5
      Whether both collections together keep at least half of each user's private
      information hidden.

  sottovoce budget -p grr:a=8,eps=0.5 --times 10
      What ten rounds with fresh noise spend, and what infinitely many would.

  sottovoce budget -p grr:a=8,eps=1 --then grr:a=8,eps=2 --times 365
      The same if a first report is remembered and each day's report is drawn from
      it: never more than the first report.

  sottovoce budget -p oue:a=8,eps=1 --then ue:a=8,kappa=0.75,lambda=0.25 --times 365
      Bit by bit, as RAPPOR does.";

/// What several protocols on the same value spend together.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BudgetArguments {
    /// A protocol: a file, inline JSON, or a shorthand; repeat the flag for each collection of the same value
    #[arg(short, long = "protocol", value_name = "P", allow_hyphen_values = true, required = true)]
    protocols: Vec<String>,
    /// Memoised noise: the report of P is drawn once and remembered, and each round draws a report of Q from it; if both are
    /// unary encodings, bit by bit
    #[arg(long, value_name = "Q", allow_hyphen_values = true)]
    then: Option<String>,
    /// Number of rounds about the same value; shows what 1, 2, 5, 10, … rounds spend, and infinitely many
    #[arg(long, value_name = "K")]
    times: Option<u64>,
    /// What is believed about the distribution of the values: a file, inline JSON, or a shorthand
    #[arg(short = 'r', long, value_name = "R", default_value = "jeffreys")]
    prior: String,
    /// Limit: largest LDP level of all collections together
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    epsilon: Option<f64>,
    /// Limit: least average privacy of all collections together, such as 0.9 or 90%
    #[arg(long, value_name = "L", allow_negative_numbers = true, value_parser = share)]
    min_average_privacy: Option<f64>,
    #[command(flatten)]
    computation: ComputationArguments,
    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &BudgetArguments) -> Result {
    let job = request(arguments)?.check()?;
    let watch = Watch::new(arguments.output.quiet);
    let report = job.run(&|progress| watch.hear(progress))?;
    watch.write(&arguments.output, &report.render(arguments.output.format.into()))
}

fn request(arguments: &BudgetArguments) -> JobResult<BudgetRequest> {
    Ok(BudgetRequest {
        protocol: arguments.protocols.iter().map(|p| read_protocol(p)).collect::<JobResult<_>>()?,
        then: arguments.then.as_deref().map(read_protocol).transpose()?,
        times: arguments.times,
        prior: read_prior(&arguments.prior)?,
        epsilon: arguments.epsilon,
        min_average_privacy: arguments.min_average_privacy,
        seed: arguments.computation.seed,
    })
}
