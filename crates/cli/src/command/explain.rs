//! `sottovoce explain`, and the flag `--explain`.

use clap::Args;
use sottovoce_job::render::{Document, Emphasis, Render};
use sottovoce_job::{ExplainReport, ExplainRequest, unobserved};

use crate::arguments::{FormatArgument, OutputArguments};
use crate::failure::Result;
use crate::output::print;

const EXAMPLES: &str = "\
Examples:
  sottovoce explain s_mu
      What average privacy is, how to read it, and what it costs to compute.

  sottovoce --explain u_digit
      The same as a flag.

  sottovoce explain
      The names of all metrics.

  sottovoce explain --format json
      All explanations in full, for a program to read.";

/// What a metric is: definition, meaning, range, cost, and where the paper has it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExplainArguments {
    /// Name of the metric, such as s_mu; without it, all metrics are listed
    metric: Option<String>,
    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &ExplainArguments) -> Result {
    let report = report(arguments.metric.clone())?;
    let document = match arguments.output.format {
        FormatArgument::Text => with_example(&report),
        format => report.render(format.into()),
    };
    arguments.output.write(&document)
}

/// Explains the metric of that name.
pub(crate) fn named(name: &str) -> Result {
    print(&with_example(&report(Some(name.to_owned()))?))
}

fn report(metric: Option<String>) -> sottovoce_job::Result<ExplainReport> {
    ExplainRequest { metric }.check()?.run(&unobserved)
}

/// The explanation, and for a single metric a command to try.
fn with_example(report: &ExplainReport) -> Document {
    let mut document = report.text();
    if let (true, Some(explanation)) = (report.single, report.explanations.first()) {
        let (name, users) = (explanation.metric.name(), if explanation.needs_n { " --n 1000" } else { "" });
        document.line(Emphasis::Plain, "").line(Emphasis::Strong, "Try");
        document
            .line(Emphasis::Plain, format!("    sottovoce metrics -p grr:a=16,eps=1 --metric {name}{users}"));
    }
    document
}
