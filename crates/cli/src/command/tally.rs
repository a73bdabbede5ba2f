//! `sottovoce tally`.

use clap::Args;
use sottovoce_job::{Result as JobResult, TallyRequest, TallyStudyRequest, read_study};

use crate::arguments::{CollectionOutput, CountingArguments};
use crate::failure::Result;

const EXAMPLES: &str = "\
Examples:
  sottovoce tally reports.parquet -o tallies.json
      The file names its protocol.

  sottovoce tally reports/ 'more/*.csv.gz' -o tallies.json
      Directories, patterns and compressed files. A file that is given twice is refused.

  sottovoce tally -p oue:a=128,eps=1 - --form supports -o tallies.json < reports.csv
      From standard input, for reports that do not name their protocol.

  sottovoce tally --study study.toml reports/ -o tallies/
      All collections of a study: one file of tallies in the directory for each of them.";

/// On the aggregator's side: count how often each output was reported.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TallyArguments {
    /// Files, directories or patterns; `-` for standard input
    #[arg(required = true)]
    reports: Vec<String>,
    /// The study whose reports are in these directories; the output is a directory too
    #[arg(long, value_name = "STUDY", conflicts_with_all = ["protocol", "allow_copies"])]
    study: Option<String>,
    /// Which round of the study to count, if it has several
    #[arg(long, value_name = "K", requires = "study")]
    round: Option<u64>,
    #[command(flatten)]
    counting: CountingArguments,
    #[command(flatten)]
    output: CollectionOutput,
}

pub(crate) fn run(arguments: &TallyArguments) -> Result {
    if let Some(study) = &arguments.study {
        let job = study_request(arguments, study)?.check()?;
        return arguments.output.run(|observer| job.run(observer));
    }
    let job = request(arguments)?.check()?;
    arguments.output.run(|observer| {
        let report = job.run(observer)?;
        arguments.counting.warn(&report, arguments.output.quiet);
        Ok(report)
    })
}

fn study_request(arguments: &TallyArguments, study: &str) -> JobResult<TallyStudyRequest> {
    Ok(TallyStudyRequest {
        study: read_study(study)?,
        reports: arguments.reports.clone(),
        round: arguments.round,
        form: arguments.counting.form.into(),
        output: arguments.output.output.clone(),
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
