//! `sottovoce tally`.

use clap::Args;
use sottovoce_job::{TallySpec, read_protocol};

use crate::arguments::{CollectionOutput, FormArgument};
use crate::failure::Result;

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
    /// The protocol, for files that do not name it; those that do must agree
    #[arg(short, long, value_name = "P")]
    protocol: Option<String>,
    /// What to keep of unary encoding, subset selection and local hash
    #[arg(long, value_enum, default_value_t)]
    form: FormArgument,
    /// Count files of the same content too; by themselves they are refused as copies
    #[arg(long)]
    allow_copies: bool,
    #[command(flatten)]
    output: CollectionOutput,
}

pub(crate) fn run(arguments: &TallyArguments) -> Result {
    arguments.output.run(|output| {
        let protocol = arguments.protocol.as_deref().map(read_protocol).transpose()?;
        let spec = TallySpec {
            reports: arguments.reports.clone(),
            protocol,
            form: arguments.form.into(),
            allow_copies: arguments.allow_copies,
            output,
        };
        spec.run()
    })
}
