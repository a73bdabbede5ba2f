//! `sottovoce schema`.

use clap::{Args, ValueEnum};
use sottovoce_job::render::Document;
use sottovoce_job::spec::{prior_schema, protocol_schema};

use crate::failure::Result;
use crate::output::print;

const EXAMPLES: &str = "\
Examples:
  sottovoce schema protocol > protocol.schema.json
      For an editor that completes and checks protocol files.

  sottovoce schema prior
      What a prior file may contain.

In a TOML file, name the schema in the first line for editors that support it:
  #:schema protocol.schema.json";

/// The JSON schema of a protocol or prior.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SchemaArguments {
    /// Of what
    #[arg(value_enum)]
    what: What,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// A protocol
    Protocol,
    /// A prior
    Prior,
}

pub(crate) fn run(arguments: &SchemaArguments) -> Result {
    let schema = match arguments.what {
        What::Protocol => protocol_schema(),
        What::Prior => prior_schema(),
    };
    print(&Document::plain(format!("{:#}\n", schema.as_value())))
}
