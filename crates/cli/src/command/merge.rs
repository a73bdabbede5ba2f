//! `sottovoce merge`.

use clap::Args;
use sottovoce_job::{MergeSpec, read_protocol};

use crate::arguments::{CollectionOutput, FormArgument};
use crate::failure::Result;

const EXAMPLES: &str = "\
Examples:
  sottovoce merge monday.json tuesday.json -o week.json
      The sum of two tallies of one protocol.

  sottovoce merge 'days/*.json' -o all.json";

/// Several tallies to one, in any order: the same as one tally of all reports.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MergeArguments {
    /// Files, directories or patterns; `-` for standard input
    #[arg(required = true)]
    tallies: Vec<String>,
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

pub(crate) fn run(arguments: &MergeArguments) -> Result {
    arguments.output.run(|output| {
        let protocol = arguments.protocol.as_deref().map(read_protocol).transpose()?;
        let spec = MergeSpec {
            tallies: arguments.tallies.clone(),
            protocol,
            form: arguments.form.into(),
            allow_copies: arguments.allow_copies,
            output,
        };
        spec.run()
    })
}
