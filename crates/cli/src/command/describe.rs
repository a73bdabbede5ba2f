//! `sottovoce describe`.

use clap::Args;
use sottovoce_job::render::{Document, Render, json};
use sottovoce_job::{DescribeRequest, read_protocol, unobserved};

use crate::arguments::{ComputationArguments, OutputArguments};
use crate::failure::Result;

const EXAMPLES: &str = "\
Examples:
  sottovoce describe -p grr:a=3,eps=1,labels=red/green/blue
      A small protocol, with its matrix in words.

  sottovoce describe -p oue:a=10000,eps=1
      A protocol with 2^10000 outputs, described from its structure.

  sottovoce describe -p protocol.json --format json
      Any combination of protocols, for a program to read.

  sottovoce describe -p oue:a=3,eps=1,labels=red/green/blue --publish -o protocol.json
      All that a client in any language needs to make reports.";

/// What a protocol is: its outputs, matrix when small, LDP level and structure.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DescribeArguments {
    /// The protocol: a file, inline JSON, `-`, or a shorthand such as grr:a=16,eps=1
    #[arg(short, long, value_name = "P", allow_hyphen_values = true)]
    protocol: String,
    /// Prints the published form instead, as JSON: the protocol with every threshold as a whole number, from which clients make reports
    #[arg(long, conflicts_with = "format")]
    publish: bool,
    #[command(flatten)]
    computation: ComputationArguments,
    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &DescribeArguments) -> Result {
    let request =
        DescribeRequest { protocol: read_protocol(&arguments.protocol)?, publish: arguments.publish };
    let report = request.check()?.run(&unobserved)?;
    match &report.published {
        Some(published) => arguments.output.write(&Document::plain(json::report(published))),
        None => arguments.output.write(&report.render(arguments.output.format.into())),
    }
}
