//! `sottovoce choose`.

use clap::{ArgGroup, Args};
use sottovoce_job::{ChooseSpec, Result as JobResult, read_prior, share};

use crate::arguments::{LongArguments, TargetArguments, number_of_users};
use crate::failure::Result;

const EXAMPLES: &str = "\
Examples:
  sottovoce choose --a 16 --n 100000 --epsilon 1 --decimal-digits 1
      Which protocol to use, and whether the users are enough.

  sottovoce choose --a 12 --n 30000 --epsilon 1 --accuracy 1%
      Whether a share is then off by no more than one percentage point, typically.

  sottovoce choose --a 4 --n 20000 --decimal-digits 1.5
      Which protocol reaches it with the smallest epsilon.

  sottovoce choose --a 41 --n 32000 --accuracy 1% --estimator norm_sub
      The same for a typical error of one percentage point, by an estimate that is better than
      the linear one.";

/// Which protocol, which epsilon, and are there enough users?
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("target").multiple(false))]
pub(crate) struct ChooseArguments {
    /// Number of values
    #[arg(long = "a", value_name = "A")]
    inputs: usize,
    /// Number of users
    #[arg(long = "n", value_name = "N", allow_negative_numbers = true, value_parser = number_of_users)]
    users: u64,
    /// Largest LDP level
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    epsilon: Option<f64>,
    /// Least average privacy S_mu, such as 0.9 or 90%
    #[arg(long, value_name = "L", allow_negative_numbers = true, value_parser = share)]
    min_average_privacy: Option<f64>,
    #[command(flatten)]
    target: TargetArguments,
    /// What is believed about the distribution of the values: a file, inline JSON, or a shorthand
    #[arg(short = 'r', long, value_name = "R", default_value = "jeffreys")]
    prior: String,
    #[command(flatten)]
    long: LongArguments,
}

pub(crate) fn run(arguments: &ChooseArguments) -> Result {
    let spec = spec(arguments)?;
    let watch = arguments.long.watch();
    let report = spec.run(&|progress| watch.hear(progress))?;
    arguments.long.write(&watch, &report)
}

fn spec(arguments: &ChooseArguments) -> JobResult<ChooseSpec> {
    Ok(ChooseSpec {
        inputs: arguments.inputs,
        users: arguments.users,
        epsilon: arguments.epsilon,
        least_average_privacy: arguments.min_average_privacy,
        wanted: arguments.target.wanted()?,
        prior: read_prior(&arguments.prior)?,
        settings: arguments.long.settings(),
    })
}
