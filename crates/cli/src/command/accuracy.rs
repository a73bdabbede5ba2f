//! `sottovoce accuracy`.

use clap::Args;
use sottovoce_job::accuracy::frequencies;
use sottovoce_job::render::Render;
use sottovoce_job::{AccuracyRequest, Result as JobResult, read_prior, read_protocol};

use crate::arguments::{ComputationArguments, OutputArguments, SubjectArguments, number_of_users};
use crate::failure::Result;
use crate::watch::Watch;

const EXAMPLES: &str = "\
Examples:
  sottovoce accuracy -p oue:a=16,eps=1 --n 10000
      Expected l1 error of the linear, nearest and most likely frequencies, on average over the prior.

  sottovoce accuracy -p grr:a=100,eps=2 --n 1e6 --distance l2sq --estimator linear --worst
      Expected squared error of the linear estimate at the worst distribution: a closed form.

  sottovoce accuracy -p grr:a=3,eps=1 --n 1000,10000 --at 0.5/0.3/0.2 --distance all
      For values with these frequencies.

Estimators: linear, clip, norm, norm_mul, norm_sub, base_cut, ml, posterior_mean, or all.
Distances between true and estimated shares:
  l1    sum of the errors of all values, signs left out; half of it is the share of
        users who are counted at a wrong value
  l2    root of the sum of the squared errors
  l2sq  sum of the squared errors: the usual mean squared error, of all values together
  rms   typical error of one value's share: root of the mean of the squared errors
  max   the largest error of any value";

/// How far estimated frequencies are off on average.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AccuracyArguments {
    #[command(flatten)]
    subject: SubjectArguments,
    /// Numbers of users, separated by commas
    #[arg(long = "n", value_name = "N", value_delimiter = ',', required = true, allow_negative_numbers = true, value_parser = number_of_users)]
    users: Vec<u64>,
    /// Distances, separated by commas [default: l1]
    #[arg(short, long = "distance", value_name = "NAME", value_delimiter = ',')]
    distances: Vec<String>,
    /// Estimators, separated by commas [default: linear,norm_sub,ml]
    #[arg(short, long = "estimator", value_name = "NAME", value_delimiter = ',')]
    estimators: Vec<String>,
    /// At this distribution, such as 0.5/0.3/0.2, instead of on average over the prior
    #[arg(long, value_name = "PHI", conflicts_with = "worst")]
    at: Option<String>,
    /// At the worst distribution instead of on average over the prior
    #[arg(long)]
    worst: bool,
    /// Wanted standard error of simulated numbers, relative to them [default: 0.01]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    #[command(flatten)]
    computation: ComputationArguments,
    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &AccuracyArguments) -> Result {
    let job = request(arguments)?.check()?;
    let watch = Watch::new(arguments.output.quiet);
    let report = job.run(&|progress| watch.hear(progress))?;
    watch.write(&arguments.output, &report.render(arguments.output.format.into()))
}

fn request(arguments: &AccuracyArguments) -> JobResult<AccuracyRequest> {
    Ok(AccuracyRequest {
        protocol: read_protocol(&arguments.subject.protocol)?,
        prior: read_prior(&arguments.subject.prior)?,
        n: arguments.users.clone(),
        distance: arguments.distances.clone(),
        estimator: arguments.estimators.clone(),
        at: arguments.at.as_deref().map(frequencies).transpose()?,
        worst: arguments.worst,
        tolerance: arguments.tolerance,
        seed: arguments.computation.seed,
    })
}
