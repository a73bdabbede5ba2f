//! `sottovoce compare`.

use clap::Args;
use sottovoce_job::render::Render;
use sottovoce_job::{CompareRequest, Result as JobResult, read_prior, read_protocol};

use crate::arguments::{LongArguments, PictureArguments, number_of_users};
use crate::failure::Result;

const EXAMPLES: &str = "\
Examples:
  sottovoce compare --protocols grr:a=16,eps=2 rappor:a=16,eps=2 oue:a=16,eps=2 subset:a=16,eps=2
      Four protocols with the same epsilon: which is most useful?

  sottovoce compare -p grr:a=3,eps=1 oue:a=3,eps=1 rappor:a=3,eps=1 --match s_mu=0.9
      The same average privacy for all; epsilon is solved for.

  sottovoce compare -p grr:a=3,eps=1 oue:a=3,eps=1 --match u_digit=1.2 --n 40 --sort s_mu
      The same digits from 40 users: which protocol hides more?

  sottovoce compare -p grr:a=14,eps=1 oue:a=14,eps=1 subset:a=14,eps=1 --match rms=1% --n 30000 -m s_mu,rms
      All with a typical error of one percentage point: which hides more?

  sottovoce compare -p grr:a=16,eps=1 oue:a=16,eps=1 --sweep epsilon=0.1..8:40 --picture sweep.svg
      Over a range of epsilon, with a picture. Also --sweep a=2..20:19 and --sweep n=10..1000:10 (with --metric u_digit).

  sottovoce compare -p grr:a=16,eps=1 lh:a=16,eps=1 --format html -o compare.html
      A page for a browser.";

/// Several protocols side by side, and which is best.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompareArguments {
    /// The protocols: files, inline JSON, or shorthands such as grr:a=16,eps=1
    #[arg(short, long, value_name = "P", num_args = 1.., required = true)]
    protocols: Vec<String>,
    /// What is believed about the distribution of the values: a file, inline JSON, or a shorthand
    #[arg(short = 'r', long, value_name = "R", default_value = "jeffreys")]
    prior: String,
    /// Number of users, for the metrics that depend on it
    #[arg(long = "n", value_name = "N", allow_negative_numbers = true, value_parser = number_of_users)]
    users: Option<u64>,
    /// Solve for the epsilon of each protocol at which s_mu, s_wc or f_mu has this value, or, with --n, u_digit or an error: rms=1% is a typical error of
    /// one percentage point
    #[arg(long = "match", value_name = "METRIC=VALUE")]
    matched: Option<String>,
    /// Compare along epsilon, a or n; epsilon and n grow by equal factors, a by equal steps
    #[arg(long, value_name = "NAME=LO..HI:COUNT")]
    sweep: Option<String>,
    /// Metrics and errors (rms, l1, l2, l2sq, max) to show [default: s_wc,s_mu,f_mu and, with --n, u_distr,u_digit,rms]
    #[arg(short, long = "metric", value_name = "NAME,…", value_delimiter = ',')]
    metrics: Vec<String>,
    /// Metric or error to rank by [default: u_digit with --n, else f_mu; s_mu if one of these or an error is matched]
    #[arg(long, value_name = "METRIC")]
    sort: Option<String>,
    /// The estimator whose errors are shown or matched: linear, clip, norm, norm_mul, norm_sub, base_cut, ml or posterior_mean [default: linear]
    #[arg(short, long, value_name = "NAME")]
    estimator: Option<String>,
    #[command(flatten)]
    long: LongArguments,
    #[command(flatten)]
    picture: PictureArguments,
}

pub(crate) fn run(arguments: &CompareArguments) -> Result {
    let job = request(arguments)?.check()?;
    let watch = arguments.long.watch();
    let report = job.run(&|progress| watch.hear(progress))?;
    arguments.picture.write(&report.text(), arguments.long.output.quiet)?;
    arguments.long.write(&watch, &report)
}

fn request(arguments: &CompareArguments) -> JobResult<CompareRequest> {
    Ok(CompareRequest {
        protocols: arguments.protocols.iter().map(|p| read_protocol(p)).collect::<JobResult<_>>()?,
        prior: read_prior(&arguments.prior)?,
        n: arguments.users,
        matched: arguments.matched.as_deref().map(str::parse).transpose()?,
        sweep: arguments.sweep.as_deref().map(str::parse).transpose()?,
        metric: arguments.metrics.clone(),
        sort: arguments.sort.clone(),
        estimator: arguments.estimator.clone(),
        tolerance: arguments.long.accuracy.tolerance,
        method: arguments.long.accuracy.method.into(),
        seed: arguments.long.computation.seed,
    })
}
