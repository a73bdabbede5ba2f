//! `sottovoce metrics`.

use clap::Args;
use sottovoce_job::render::Render;
use sottovoce_job::{MetricsSpec, Result as JobResult, read_prior, read_protocol};

use crate::arguments::{ComputationArguments, MethodArgument, OutputArguments};
use crate::failure::Result;

const EXAMPLES: &str = "\
Examples:
  sottovoce metrics -p grr:a=16,eps=1
      All metrics of randomised response on 16 values that need no number of users.

  sottovoce metrics -p oue:a=100,eps=2 -r symmetric:alpha=1 --metric s_wc,s_mu,u_as
      Three metrics of optimised unary encoding under the uniform prior.

  sottovoce metrics -p protocol.toml --n 1000,1e6 --format json -o metrics.json
      Also the metrics for 1000 and for a million users, for a program to read.

  sottovoce metrics -p '{\"kind\":\"mixture\",\"weights\":[0.5,0.5],\"parts\":[
      {\"kind\":\"grr\",\"a\":4,\"epsilon\":1},{\"kind\":\"identity\",\"a\":4}]}' --format csv
      A combination of protocols, as a table for a spreadsheet.

Metrics: ldp s_wc rank classes faithful h_x_given_p h_p c_mu s_mu u_as f_mu
  tradeoff_u_as tradeoff_f_mu limit_u_distr limit_u_tally r_mu; with --n also
  i_x_p h_t h_t_given_p h_x_given_t i_y_p i_y_t i_y_t_given_p i_y_x_given_t
  i_y_x i_y_x_given_p u_distr u_tally u_digit.
Priors: jeffreys, symmetric:alpha=0.5, dirichlet:alpha=0.3/1.2/2.5, a file, or inline JSON.";

/// Privacy and utility of a protocol, metric by metric.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MetricsArguments {
    /// The protocol: a file, inline JSON, `-`, or a shorthand such as grr:a=16,eps=1
    #[arg(short, long, value_name = "P", allow_hyphen_values = true)]
    protocol: String,
    /// What is believed about the distribution of the values: a file, inline JSON, or a shorthand
    #[arg(short = 'r', long, value_name = "R", default_value = "jeffreys")]
    prior: String,
    /// Numbers of users, for the metrics that depend on it
    #[arg(long = "n", value_name = "N,…", value_delimiter = ',', value_parser = users)]
    users: Vec<u64>,
    /// Names of metrics [default: all]
    #[arg(short, long = "metric", value_name = "NAME,…", value_delimiter = ',')]
    metrics: Vec<String>,
    /// Wanted absolute error, in nats [default: 1e-4, and 0.01 for Monte Carlo at a finite number of users]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// Method for what depends on the number of users
    #[arg(long, value_enum, default_value_t)]
    method: MethodArgument,
    #[command(flatten)]
    computation: ComputationArguments,
    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &MetricsArguments) -> Result {
    arguments.computation.set_threads();
    let job = spec(arguments)?.check()?;
    arguments.output.write(&job.run().render(arguments.output.format.into()))
}

fn spec(arguments: &MetricsArguments) -> JobResult<MetricsSpec> {
    Ok(MetricsSpec {
        protocol: read_protocol(&arguments.protocol)?,
        prior: read_prior(&arguments.prior)?,
        users: arguments.users.clone(),
        metrics: arguments.metrics.clone(),
        tolerance: arguments.tolerance,
        choice: arguments.method.into(),
        seed: arguments.computation.seed,
    })
}

/// A number of users, also as `1e6` or `1_000_000`.
fn users(text: &str) -> std::result::Result<u64, String> {
    let digits = text.replace('_', "");
    let whole = |n: f64| n.fract() == 0.0 && (1.0..=9e15).contains(&n);
    match (digits.parse::<u64>(), digits.parse::<f64>()) {
        (Ok(n), _) if n > 0 => Ok(n),
        (Err(_), Ok(n)) if whole(n) => Ok(n as u64),
        _ => Err("a number of users is a whole number of 1 or more, such as 1000 or 1e6".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_users_are_whole_and_positive() {
        assert_eq!(users("1e6"), Ok(1_000_000));
        assert_eq!(users("10_000"), Ok(10_000));
        for bad in ["0", "-1", "1.5", "nan", "1e99", "", "many"] {
            assert!(users(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_help_names_every_metric() {
        let words: Vec<&str> = EXAMPLES.split([' ', '\n', '.', ';']).collect();
        assert!(sottovoce_job::metrics::all_names().all(|name| words.contains(&name)));
    }
}
