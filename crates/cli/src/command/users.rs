//! `sottovoce users`.

use clap::Args;
use sottovoce_job::{
    ExpectedError, Result as JobResult, Target, UsersSpec, Wanted, read_prior, read_protocol,
};

use crate::arguments::{LongArguments, SubjectArguments, share};
use crate::failure::Result;

const EXAMPLES: &str = "\
Examples:
  sottovoce users -p grr:a=3,eps=2 --digits 1.5
      The smallest number of users for 1.5 digits in base e (the metric u_digit).

  sottovoce users -p oue:a=16,eps=2 --decimal-digits 1 --tolerance 0.05
      For one decimal digit of each frequency; by Monte Carlo, so with an interval.

  sottovoce users -p grr:a=4,eps=1 --u-distr 0.5 --format json
      For half of what the true values tell about their distribution.

  sottovoce users -p oue:a=16,eps=1 --accuracy 0.05 --distance l1 --estimator norm_sub
      For estimated frequencies whose errors sum to 0.05 on average over the prior.

  sottovoce users -p oue:a=16,eps=1 --accuracy 1% --distance rms
      For shares that are typically off by one percentage point.

Distances between true and estimated shares: l1 (sum of all errors), l2 (root of the sum of
the squared errors), l2sq (sum of the squared errors), rms (typical error of one value's
share: root of the mean of the squared errors), max (the largest error of any value).";

/// How many users a wanted utility takes, and how many true values would do instead.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct UsersArguments {
    #[command(flatten)]
    subject: SubjectArguments,
    #[command(flatten)]
    target: TargetArguments,
    #[command(flatten)]
    error: ErrorArguments,
    #[command(flatten)]
    long: LongArguments,
}

/// What is wanted: exactly one of these.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct TargetArguments {
    /// Wanted digits of each frequency, in base e: the metric u_digit
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    digits: Option<f64>,
    /// Wanted decimal digits of each frequency: u_digit / ln 10
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    decimal_digits: Option<f64>,
    /// Wanted share of what the true values tell about their distribution: the metric u_distr
    #[arg(long, value_name = "U", allow_negative_numbers = true)]
    u_distr: Option<f64>,
    /// Largest expected error of the estimated frequencies, on average over the prior, such as 0.01 or 1%
    #[arg(long, value_name = "E", allow_negative_numbers = true, value_parser = share)]
    accuracy: Option<f64>,
}

/// What an error is.
#[derive(Debug, Args)]
struct ErrorArguments {
    /// How errors are measured, with --accuracy: l1, l2, l2sq, rms or max [default: l1]
    #[arg(short, long, value_name = "NAME", conflicts_with_all = ["digits", "decimal_digits", "u_distr"])]
    distance: Option<String>,
    /// The estimator, with --accuracy: linear, clip, norm, norm_mul, norm_sub, base_cut, ml or posterior_mean [default: linear]
    #[arg(short, long, value_name = "NAME", conflicts_with_all = ["digits", "decimal_digits", "u_distr"])]
    estimator: Option<String>,
}

impl UsersArguments {
    fn wanted(&self) -> JobResult<Wanted> {
        let TargetArguments { digits, decimal_digits, u_distr, accuracy } = self.target;
        let utility = digits
            .map(Target::Digits)
            .or(decimal_digits.map(Target::DecimalDigits))
            .or(u_distr.map(Target::DistributionUtility));
        match utility {
            Some(target) => Ok(target.into()),
            // The parser lets exactly one through; NaN is refused like any other bad target.
            None => {
                let ErrorArguments { distance, estimator } = &self.error;
                let most = accuracy.unwrap_or(f64::NAN);
                ExpectedError::named(distance.as_deref(), estimator.as_deref(), most).map(Wanted::Accuracy)
            }
        }
    }
}

pub(crate) fn run(arguments: &UsersArguments) -> Result {
    let job = spec(arguments)?.check()?;
    let watch = arguments.long.watch();
    let report = job.run_watched(&|step| watch.hear(step))?;
    arguments.long.write(&watch, &report)
}

fn spec(arguments: &UsersArguments) -> JobResult<UsersSpec> {
    Ok(UsersSpec {
        protocol: read_protocol(&arguments.subject.protocol)?,
        prior: read_prior(&arguments.subject.prior)?,
        wanted: arguments.wanted()?,
        settings: arguments.long.settings(),
    })
}
