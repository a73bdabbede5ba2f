//! `sottovoce choose`.

use clap::{ArgGroup, Args};
use sottovoce_job::{ChooseRequest, Result as JobResult, read_prior, share};

use crate::arguments::{LongArguments, TargetArguments, number_of_users};
use crate::failure::Result;

const EXAMPLES: &str = "\
Examples:
  sottovoce choose --a 16 --n 100000 --epsilon 1 --decimal-digits 1
      Which protocol to use, and whether 100000 users are enough for one decimal digit.

  sottovoce choose --a 12 --n 30000 --epsilon 1 --accuracy 1%
      Whether a share is typically off by at most one percentage point.

  sottovoce choose --a 4 --n 20000 --decimal-digits 1.5
      Which protocol reaches 1.5 decimal digits with the smallest epsilon.

  sottovoce choose --a 41 --n 32000 --accuracy 1% --estimator norm_sub
      The same for a typical error of one percentage point, by a better estimator than the
      linear one.";

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
    let job = request(arguments)?.check()?;
    let watch = arguments.long.watch();
    let report = job.run(&|progress| watch.hear(progress))?;
    arguments.long.write(&watch, &report)
}

fn request(arguments: &ChooseArguments) -> JobResult<ChooseRequest> {
    let TargetArguments { digits, decimal_digits, u_distr, accuracy, error } = &arguments.target;
    Ok(ChooseRequest {
        a: arguments.inputs,
        n: arguments.users,
        epsilon: arguments.epsilon,
        min_average_privacy: arguments.min_average_privacy,
        digits: *digits,
        decimal_digits: *decimal_digits,
        u_distr: *u_distr,
        accuracy: *accuracy,
        distance: error.distance.clone(),
        estimator: error.estimator.clone(),
        prior: read_prior(&arguments.prior)?,
        tolerance: arguments.long.accuracy.tolerance,
        method: arguments.long.accuracy.method.into(),
        seed: arguments.long.computation.seed,
    })
}
