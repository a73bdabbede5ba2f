//! `sottovoce schema`.

use clap::Args;
use clap::builder::PossibleValuesParser;
use sottovoce_job::render::Document;
use sottovoce_job::spec::{prior_schema, protocol_schema};
use sottovoce_job::{Report, Request, study_schema};

use crate::failure::Result;
use crate::output::print;

const EXAMPLES: &str = "\
Examples:
  sottovoce schema protocol > protocol.schema.json
      For an editor that completes and checks protocol files.

  sottovoce schema prior
      What a prior file may contain.

  sottovoce schema study
      What a study file may contain.

  sottovoce schema metrics
      What a request for the job `metrics` may contain, and what its report does:
      an object with the keys `request` and `report`.

In a TOML file, name the schema in the first line for editors that support it:
  #:schema protocol.schema.json";

/// The JSON schema of a protocol, prior or study, or of a job's request and report.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SchemaArguments {
    /// Of what: protocol, prior, study, or a job
    #[arg(value_parser = PossibleValuesParser::new(["protocol", "prior", "study"].iter().chain(Request::JOBS)))]
    what: String,
}

pub(crate) fn run(arguments: &SchemaArguments) -> Result {
    let schema = match arguments.what.as_str() {
        "protocol" => protocol_schema().to_value(),
        "prior" => prior_schema().to_value(),
        "study" => study_schema().to_value(),
        job => serde_json::json!({"request": Request::schema(job), "report": Report::schema(job)}),
    };
    print(&Document::plain(format!("{schema:#}\n")))
}
