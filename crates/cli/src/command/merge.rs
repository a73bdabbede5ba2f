//! `sottovoce merge`.

use clap::Args;
use sottovoce_job::{MergeRequest, Result as JobResult};

use crate::arguments::{CollectionOutput, CountingArguments};
use crate::failure::Result;

const EXAMPLES: &str = "\
Examples:
  sottovoce merge monday.json tuesday.json -o week.json
      The sum of two tallies of the same protocol.

  sottovoce merge 'days/*.json' -o all.json
      All files that match a pattern.";

/// Add up several tallies, in any order; the sum equals one tally of all reports.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MergeArguments {
    /// Files, directories or patterns; `-` for standard input
    #[arg(required = true)]
    tallies: Vec<String>,
    #[command(flatten)]
    counting: CountingArguments,
    #[command(flatten)]
    output: CollectionOutput,
}

pub(crate) fn run(arguments: &MergeArguments) -> Result {
    let job = request(arguments)?.check()?;
    arguments.output.run(|observer| {
        let report = job.run(observer)?;
        arguments.counting.warn(&report, arguments.output.quiet);
        Ok(report)
    })
}

fn request(arguments: &MergeArguments) -> JobResult<MergeRequest> {
    let counting = &arguments.counting;
    Ok(MergeRequest {
        tallies: arguments.tallies.clone(),
        protocol: counting.protocol()?,
        form: counting.form.into(),
        allow_copies: counting.allow_copies,
        output: arguments.output.output.clone(),
    })
}
