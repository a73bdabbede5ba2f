//! `sottovoce randomise`.

use clap::{Args, ValueEnum};
use sottovoce_job::{RandomiseSpec, read_protocol};

use crate::arguments::CollectionOutput;
use crate::failure::Result;

const EXAMPLES: &str = "\
Examples:
  sottovoce randomise -p grr:a=3,eps=1 values.csv -o reports.csv
      Each value in the column `value` (0, 1 or 2) becomes one report.

  sottovoce randomise -p protocol.json answers.parquet --column colour -o reports.parquet
      Values as the labels that protocol.json names.

  sottovoce randomise -p oue:a=128,eps=1 - -o reports.jsonl < values.jsonl
      From standard input, as lines such as {\"value\": 17}.

  sottovoce randomise -p best.json --max-ldp 1 values.csv -o reports.csv
      Only if the exact level of the reports is 1 or less.

  sottovoce randomise -p grr:a=3,eps=1 values.csv -o - | sottovoce tally - -o tallies.json
      Reports that never touch the disk.

Files may be CSV, JSON Lines or Parquet; values also compressed (gzip, zstd). Reports are in the
format that the name of their file ends with, and CSV on standard output (-o -). The exact privacy level is part of the summary.";

/// On the user's side: values to reports, by exact arithmetic and the operating system's randomness.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RandomiseArguments {
    /// The protocol: a file, inline JSON, or a shorthand such as grr:a=16,eps=1
    #[arg(short, long, value_name = "P", allow_hyphen_values = true)]
    protocol: String,
    /// The values: a file, or `-` for standard input
    values: String,
    /// The column (or JSON key) of the values
    #[arg(long, value_name = "NAME", default_value = "value")]
    column: String,
    /// What to do with a value that is none of the inputs
    #[arg(long, value_enum, default_value_t)]
    on_error: OnError,
    /// Refuse a protocol whose reports would have an LDP level above this, by exact arithmetic
    #[arg(long, value_name = "E", value_parser = level, allow_negative_numbers = true)]
    max_ldp: Option<f64>,
    /// INSECURE, for tests only: draw from this seed instead of the operating system's randomness
    #[arg(long, value_name = "S")]
    insecure_test_seed: Option<u64>,
    #[command(flatten)]
    output: CollectionOutput,
}

/// What to do with a bad value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum OnError {
    /// Write nothing, and say where it is
    #[default]
    Stop,
    /// Make no report for it, and count it
    Skip,
}

/// An LDP level.
fn level(text: &str) -> std::result::Result<f64, String> {
    let level = text.parse::<f64>().ok().filter(|level| *level >= 0.0);
    level.ok_or_else(|| "a level is a number of 0 or more".into())
}

pub(crate) fn run(arguments: &RandomiseArguments) -> Result {
    arguments.output.run(|output| {
        let spec = RandomiseSpec {
            protocol: read_protocol(&arguments.protocol)?,
            values: arguments.values.clone(),
            column: arguments.column.clone(),
            skip: arguments.on_error == OnError::Skip,
            max_ldp: arguments.max_ldp,
            insecure_test_seed: arguments.insecure_test_seed,
            output,
        };
        spec.check()?.run()
    })
}
