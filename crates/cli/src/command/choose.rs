//! `sottovoce choose`.

use clap::Args;
use sottovoce_job::{ChooseSpec, Result as JobResult, Target, read_prior};

use crate::arguments::{LongArguments, number_of_users, share};
use crate::failure::Result;

const EXAMPLES: &str = "\
Examples:
  sottovoce choose --a 16 --n 100000 --epsilon 1 --decimal-digits 1
      Which protocol to use, and whether the users are enough.

  sottovoce choose --a 12 --n 30000 --epsilon 1 --accuracy 1%
      Whether a share is then off by no more than one percentage point, typically.

  sottovoce choose --a 4 --n 20000 --decimal-digits 1.5
      Which protocol reaches it with the smallest epsilon.";

/// Which protocol, which epsilon, and are there enough users?
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
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
    /// Least average privacy S_mu
    #[arg(long, value_name = "L", allow_negative_numbers = true)]
    min_average_privacy: Option<f64>,
    /// Wanted digits of each frequency, in base e: the metric u_digit
    #[arg(long, value_name = "D", allow_negative_numbers = true, group = "target")]
    digits: Option<f64>,
    /// Wanted decimal digits of each frequency: u_digit / ln 10
    #[arg(long, value_name = "D", allow_negative_numbers = true, group = "target")]
    decimal_digits: Option<f64>,
    /// Wanted share of what the true values tell about their distribution: the metric u_distr
    #[arg(long, value_name = "U", allow_negative_numbers = true, group = "target")]
    u_distr: Option<f64>,
    /// Wanted typical error of a share (root mean square of the linear estimate), such as 0.01 or 1%
    #[arg(long, value_name = "E", allow_negative_numbers = true, value_parser = share, group = "target")]
    accuracy: Option<f64>,
    /// What is believed about the distribution of the values: a file, inline JSON, or a shorthand
    #[arg(short = 'r', long, value_name = "R", default_value = "jeffreys")]
    prior: String,
    #[command(flatten)]
    long: LongArguments,
}

pub(crate) fn run(arguments: &ChooseArguments) -> Result {
    let spec = spec(arguments)?;
    let watch = arguments.long.watch();
    let report = spec.run(Some(&|step| watch.hear(step)))?;
    arguments.long.write(&watch, &report)
}

fn spec(arguments: &ChooseArguments) -> JobResult<ChooseSpec> {
    let digits = arguments.digits.map(Target::Digits);
    let decimal = arguments.decimal_digits.map(Target::DecimalDigits);
    Ok(ChooseSpec {
        inputs: arguments.inputs,
        users: arguments.users,
        epsilon: arguments.epsilon,
        least_average_privacy: arguments.min_average_privacy,
        accuracy: arguments.accuracy,
        target: digits.or(decimal).or(arguments.u_distr.map(Target::DistributionUtility)),
        prior: read_prior(&arguments.prior)?,
        settings: arguments.long.settings(),
    })
}
