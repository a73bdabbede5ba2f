//! `sottovoce tally`.

use clap::Args;
use sottovoce_job::TallySpec;

use crate::arguments::{CollectionOutput, CountingArguments};
use crate::failure::Result;
use crate::watch;

const EXAMPLES: &str = "\
Examples:
  sottovoce tally reports.parquet -o tallies.json
      The protocol is the one that the file names.

  sottovoce tally reports/ 'more/*.csv.gz' -o tallies.json
      Directories, patterns and compressed files; files that are there twice are refused.

  sottovoce tally -p oue:a=128,eps=1 - --form supports -o tallies.json < reports.csv
      From standard input, of a file that does not name its protocol.";

/// On the aggregator's side: how often each output was reported.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TallyArguments {
    /// Files, directories or patterns; `-` for standard input
    #[arg(required = true)]
    reports: Vec<String>,
    #[command(flatten)]
    counting: CountingArguments,
    #[command(flatten)]
    output: CollectionOutput,
}

pub(crate) fn run(arguments: &TallyArguments) -> Result {
    arguments.output.run(|output| {
        let counting = &arguments.counting;
        let spec = TallySpec {
            reports: arguments.reports.clone(),
            protocol: counting.protocol()?,
            form: counting.form.into(),
            allow_copies: counting.allow_copies,
            output,
        };
        let summary = watch::counting(arguments.output.quiet, |counted| spec.run(counted))?;
        counting.told(summary, arguments.output.quiet)
    })
}
