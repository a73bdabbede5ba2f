//! `sottovoce explain`, and the flag `--explain`.

use clap::Args;
use sottovoce_job::explain::{explain, metrics};
use sottovoce_job::metrics::metric;

use crate::failure::Result;
use crate::output::print;

const EXAMPLES: &str = "\
Examples:
  sottovoce explain s_mu
      What average privacy is, how to read it, and what it costs to compute.

  sottovoce --explain u_digit
      The same as a flag.

  sottovoce explain
      The names of all metrics.";

/// What a metric is: definition, meaning, range, cost, and where the paper has it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExplainArguments {
    /// Name of the metric, such as s_mu; without it, all metrics are listed
    metric: Option<String>,
}

pub(crate) fn run(arguments: &ExplainArguments) -> Result {
    match &arguments.metric {
        Some(name) => named(name),
        None => print(&metrics()),
    }
}

/// Explains the metric of that name.
pub(crate) fn named(name: &str) -> Result {
    print(&explain(metric(name)?))
}
