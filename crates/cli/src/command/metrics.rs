//! `sottovoce metrics`.

use clap::Args;
use sottovoce_job::{MetricsRequest, Result as JobResult, read_prior, read_protocol};

use crate::arguments::{LongArguments, SubjectArguments, number_of_users};
use crate::failure::Result;

const EXAMPLES: &str = "\
Examples:
  sottovoce metrics -p grr:a=16,eps=1
      All metrics of randomised response on 16 values that need no number of users.

  sottovoce metrics -p oue:a=100,eps=2 -r symmetric:alpha=1 --metric s_wc,s_mu,u_as
      Three metrics of optimised unary encoding under the uniform prior.

  sottovoce metrics -p protocol.toml --n 1000,1e6 --format json -o metrics.json
      Also the metrics for 1000 and for a million users, for a program to read.

  sottovoce metrics -p oue:a=16,eps=2 --n 1e4 -m u_digit --method monte-carlo
      By Monte Carlo, to compare with the approximation.

  sottovoce metrics -p '{\"kind\":\"mixture\",\"weights\":[0.5,0.5],\"parts\":[
      {\"kind\":\"grr\",\"a\":4,\"epsilon\":1},{\"kind\":\"identity\",\"a\":4}]}' --format csv
      A combination of protocols, as a table for a spreadsheet.

Metrics: ldp s_wc rank classes faithful h_x_given_p h_p c_mu s_mu u_as f_mu
  tradeoff_u_as tradeoff_f_mu limit_u_distr limit_u_tally r_mu
  limit_i_y_t_given_p tally_constant; with --n also
  i_x_p h_t h_t_given_p h_x_given_t i_y_p i_y_t i_y_t_given_p i_y_x_given_t
  i_y_x i_y_x_given_p u_distr u_tally u_digit.
Priors: jeffreys, symmetric:alpha=0.5, dirichlet:alpha=0.3/1.2/2.5, a file, or inline JSON.";

/// Privacy and utility of a protocol, metric by metric.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MetricsArguments {
    #[command(flatten)]
    subject: SubjectArguments,
    /// Numbers of users, for the metrics that depend on it
    #[arg(long = "n", value_name = "N,…", value_delimiter = ',', allow_negative_numbers = true, value_parser = number_of_users)]
    users: Vec<u64>,
    /// Names of metrics [default: all]
    #[arg(short, long = "metric", value_name = "NAME,…", value_delimiter = ',')]
    metrics: Vec<String>,
    #[command(flatten)]
    long: LongArguments,
}

pub(crate) fn run(arguments: &MetricsArguments) -> Result {
    let job = request(arguments)?.check()?;
    let watch = arguments.long.watch();
    let report = job.run(&|progress| watch.hear(progress))?;
    arguments.long.write(&watch, &report)
}

fn request(arguments: &MetricsArguments) -> JobResult<MetricsRequest> {
    Ok(MetricsRequest {
        protocol: read_protocol(&arguments.subject.protocol)?,
        prior: read_prior(&arguments.subject.prior)?,
        n: arguments.users.clone(),
        metric: arguments.metrics.clone(),
        tolerance: arguments.long.accuracy.tolerance,
        method: arguments.long.accuracy.method.into(),
        seed: arguments.long.computation.seed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_metric() {
        let words: Vec<&str> = EXAMPLES.split([' ', '\n', '.', ';']).collect();
        assert!(sottovoce_job::metrics::all_names().all(|name| words.contains(&name)));
    }
}
