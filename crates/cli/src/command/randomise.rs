//! `sottovoce randomise`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sottovoce_job::study::ReportFormat;
use sottovoce_job::{
    OnError, RandomiseRequest, RandomiseStudyRequest, Result as JobResult, read_protocol, read_study,
};

use crate::arguments::CollectionOutput;
use crate::failure::Result;

const EXAMPLES: &str = "\
Examples:
  sottovoce randomise -p grr:a=3,eps=1 values.csv -o reports.csv
      One report for each value (0, 1 or 2) in the column `value`.

  sottovoce randomise -p protocol.json answers.parquet --column colour -o reports.parquet
      The values are the labels in protocol.json, and stand in the column `colour`.

  sottovoce randomise -p oue:a=128,eps=1 - -o reports.jsonl < values.jsonl
      From standard input, with lines such as {\"value\": 17}.

  sottovoce randomise -p best.json --max-ldp 1 values.csv -o reports.csv
      Refuse if the exact LDP level of the reports is above 1.

  sottovoce randomise -p grr:a=3,eps=1 values.csv -o - | sottovoce tally - -o tallies.json
      Reports that never touch the disk.

  sottovoce randomise --study study.toml people.csv -o reports/
      All questions of a planned study: one file of reports in the directory for each of its
      collections.

  sottovoce randomise --study study.toml people.csv --round 2 --memo memo.jsonl --person id -o reports/
      The second round of a study with memoised noise.

Values may be CSV, JSON Lines or Parquet, also compressed (gzip, zstd). The name of the output
says the format of the reports (.csv, .jsonl, .parquet); on standard output (-o -) it is CSV.
If the protocol has labels, values must be labels; otherwise they are the numbers from 0.
The summary includes the exact LDP level of the reports.";

/// On the user's side: turn values into reports, by exact arithmetic and with the operating system's randomness.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RandomiseArguments {
    /// The protocol: a file, inline JSON, or a shorthand such as grr:a=16,eps=1
    #[arg(short, long, value_name = "P", allow_hyphen_values = true, required_unless_present = "study")]
    protocol: Option<String>,
    /// Instead of a protocol: a study whose plan is complete; the values are then a table with the columns of its questions, and the
    /// output is a directory
    #[arg(long, value_name = "STUDY", conflicts_with_all = ["protocol", "column", "max_ldp"])]
    study: Option<String>,
    /// The values: a file, or `-` for standard input
    values: String,
    /// Which round of the study this is, if it has several
    #[arg(long, value_name = "K", requires = "study")]
    round: Option<u64>,
    /// The memo of a study with memoised noise: the file of everybody's permanent report, which is as secret as their answers. Round 1
    /// makes it, later rounds need it
    #[arg(long, value_name = "FILE", requires = "study")]
    memo: Option<PathBuf>,
    /// With --memo: the column that names each person
    #[arg(long, value_name = "NAME", requires = "study")]
    person: Option<String>,
    /// The format of the files of reports of a study [default: csv]
    #[arg(long, value_enum, value_name = "FORMAT", requires = "study")]
    file_format: Option<FileFormatArgument>,
    /// The column (or JSON key) of the values
    #[arg(long, value_name = "NAME", default_value = "value")]
    column: String,
    /// What to do with a value outside the protocol's domain
    #[arg(long, value_enum, default_value_t)]
    on_error: OnErrorArgument,
    /// Largest LDP level that the reports may have, checked by exact arithmetic
    #[arg(long, value_name = "E", value_parser = level, allow_negative_numbers = true)]
    max_ldp: Option<f64>,
    /// INSECURE, for tests only: draw from this seed instead of the operating system's randomness
    #[arg(long, value_name = "S")]
    insecure_test_seed: Option<u64>,
    #[command(flatten)]
    output: CollectionOutput,
}

/// What to do with a value outside the domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum OnErrorArgument {
    /// Write nothing, and report where the value is
    #[default]
    Stop,
    /// Leave the value out, and count it
    Skip,
}

impl From<OnErrorArgument> for OnError {
    fn from(on_error: OnErrorArgument) -> Self {
        match on_error {
            OnErrorArgument::Stop => OnError::Stop,
            OnErrorArgument::Skip => OnError::Skip,
        }
    }
}

/// The format of files of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FileFormatArgument {
    /// Comma-separated values
    Csv,
    /// JSON Lines
    Jsonl,
    /// Apache Parquet
    Parquet,
}

impl From<FileFormatArgument> for ReportFormat {
    fn from(format: FileFormatArgument) -> Self {
        match format {
            FileFormatArgument::Csv => ReportFormat::Csv,
            FileFormatArgument::Jsonl => ReportFormat::Jsonl,
            FileFormatArgument::Parquet => ReportFormat::Parquet,
        }
    }
}

/// An LDP level.
fn level(text: &str) -> std::result::Result<f64, String> {
    let level = text.parse::<f64>().ok().filter(|level| *level >= 0.0);
    level.ok_or_else(|| "an LDP level is a number of 0 or more".into())
}

pub(crate) fn run(arguments: &RandomiseArguments) -> Result {
    if let Some(study) = &arguments.study {
        let job = study_request(arguments, study)?.check()?;
        return arguments.output.run(|observer| job.run(observer));
    }
    let job = request(arguments)?.check()?;
    arguments.output.run(|observer| job.run(observer))
}

fn study_request(arguments: &RandomiseArguments, study: &str) -> JobResult<RandomiseStudyRequest> {
    Ok(RandomiseStudyRequest {
        study: read_study(study)?,
        people: arguments.values.clone(),
        round: arguments.round,
        memo: arguments.memo.clone(),
        person: arguments.person.clone(),
        on_error: arguments.on_error.into(),
        insecure_test_seed: arguments.insecure_test_seed,
        file_format: arguments.file_format.map(ReportFormat::from).unwrap_or_default(),
        output: arguments.output.output.clone(),
    })
}

fn request(arguments: &RandomiseArguments) -> JobResult<RandomiseRequest> {
    Ok(RandomiseRequest {
        // Clap asks for a protocol where there is no study.
        protocol: read_protocol(arguments.protocol.as_deref().unwrap_or_default())?,
        values: arguments.values.clone(),
        column: arguments.column.clone(),
        on_error: arguments.on_error.into(),
        max_ldp: arguments.max_ldp,
        insecure_test_seed: arguments.insecure_test_seed,
        output: arguments.output.output.clone(),
    })
}
