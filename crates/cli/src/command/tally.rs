//! `sottovoce tally`.

use clap::Args;
use sottovoce_job::{Result as JobResult, TallyRequest};

use crate::arguments::{CollectionOutput, CountingArguments};
use crate::failure::Result;

const EXAMPLES: &str = "\
Examples:
  sottovoce tally reports.parquet -o tallies.json
      The file names its protocol.

  sottovoce tally reports/ 'more/*.csv.gz' -o tallies.json
      Directories, patterns and compressed files. A file that is given twice is refused.

  sottovoce tally -p oue:a=128,eps=1 - --form supports -o tallies.json < reports.csv
      From standard input, for reports that do not name their protocol.";

/// On the aggregator's side: count how often each output was reported.
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
    let job = request(arguments)?.check()?;
    arguments.output.run(|observer| {
        let report = job.run(observer)?;
        arguments.counting.warn(&report, arguments.output.quiet);
        Ok(report)
    })
}

fn request(arguments: &TallyArguments) -> JobResult<TallyRequest> {
    let counting = &arguments.counting;
    Ok(TallyRequest {
        reports: arguments.reports.clone(),
        protocol: counting.protocol()?,
        form: counting.form.into(),
        allow_copies: counting.allow_copies,
        output: arguments.output.output.clone(),
    })
}
