//! `sottovoce users`.

use clap::{ArgGroup, Args};
use sottovoce_job::{Result as JobResult, UsersRequest, read_prior, read_protocol};

use crate::arguments::{LongArguments, SubjectArguments, TargetArguments};
use crate::failure::Result;

const EXAMPLES: &str = "\
Examples:
  sottovoce users -p grr:a=3,eps=2 --digits 1.5
      The smallest number of users for 1.5 digits in base e (the metric u_digit).

  sottovoce users -p oue:a=16,eps=2 --decimal-digits 1 --tolerance 0.05
      For one decimal digit of each frequency; by Monte Carlo, so with an interval.

  sottovoce users -p grr:a=4,eps=1 --u-distr 0.5 --format json
      For half of what the true values tell about their distribution.

  sottovoce users -p oue:a=16,eps=1 --accuracy 1%
      For shares that are typically off by one percentage point.

  sottovoce users -p oue:a=16,eps=1 --accuracy 5% --distance l1 --estimator norm_sub
      For estimated shares whose errors sum to 0.05, on average over the prior.

Distances between true and estimated shares: l1 (sum of all errors), l2 (root of the sum of
the squared errors), l2sq (sum of the squared errors), rms (typical error of one value's
share: root of the mean of the squared errors), max (the largest error of any value).";

/// How many users a target needs, and how many true values would be enough.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("target").required(true).multiple(false))]
pub(crate) struct UsersArguments {
    #[command(flatten)]
    subject: SubjectArguments,
    #[command(flatten)]
    target: TargetArguments,
    #[command(flatten)]
    long: LongArguments,
}

pub(crate) fn run(arguments: &UsersArguments) -> Result {
    let job = request(arguments)?.check()?;
    let watch = arguments.long.watch();
    let report = job.run(&|progress| watch.hear(progress))?;
    arguments.long.write(&watch, &report)
}

fn request(arguments: &UsersArguments) -> JobResult<UsersRequest> {
    let TargetArguments { digits, decimal_digits, u_distr, accuracy, error } = &arguments.target;
    Ok(UsersRequest {
        protocol: read_protocol(&arguments.subject.protocol)?,
        prior: read_prior(&arguments.subject.prior)?,
        digits: *digits,
        decimal_digits: *decimal_digits,
        u_distr: *u_distr,
        accuracy: *accuracy,
        distance: error.distance.clone(),
        estimator: error.estimator.clone(),
        tolerance: arguments.long.accuracy.tolerance,
        method: arguments.long.accuracy.method.into(),
        seed: arguments.long.computation.seed,
    })
}
