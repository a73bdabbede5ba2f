//! The job `merge`: files of tallies to one, in any order and grouping.

use std::fs;
use std::path::PathBuf;

use sottovoce_collect::files::inputs::{Input, inputs};
use sottovoce_collect::{Error as CollectError, Form, TalliesFile, Tally, read_reports};

use crate::collection::{Identified, Summary};
use crate::error::{Error, Result};
use crate::source::{Source, Written};
use crate::spec::ProtocolSpec;
use crate::tally::{summary, write};

/// What to merge, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeSpec {
    /// Files, directories, patterns, or `-` for standard input.
    pub tallies: Vec<String>,
    /// The protocol, for files that do not say it; files that do must agree.
    pub protocol: Option<Written<ProtocolSpec>>,
    /// The wanted form.
    pub form: Form,
    /// The merged file.
    pub output: PathBuf,
}

impl MergeSpec {
    /// Adds the tallies up and writes the sum. A previous file is untouched until the new one is complete.
    ///
    /// # Errors
    /// A file cannot be read or written, is there twice, of another protocol, or not valid.
    pub fn run(&self) -> Result<Summary> {
        let inputs = inputs(&self.tallies)?;
        let mut protocol = self.protocol.as_ref().map(Identified::written).transpose()?;
        let mut tally = None;
        for input in &inputs {
            let text = text(input)?;
            let file = TalliesFile::read(&text).map_err(|problem| in_file(input, problem))?;
            let protocol = match &protocol {
                Some(known) => known,
                None => protocol.insert(identified(input, &file)?),
            };
            check_fingerprint(input, &file, protocol)?;
            let tally = tally.get_or_insert_with(|| Tally::new(&protocol.named.protocol, self.form));
            let reports = read_reports(&text, &protocol.named.protocol);
            reports
                .and_then(|reports| tally.add_reports(&reports))
                .map_err(|problem| in_file(input, problem))?;
        }
        let (Some(tally), Some(protocol)) = (tally, protocol) else {
            return Err(CollectError::NoFiles { argument: "tallies".into() }.into());
        };
        write(&tally, &protocol, &self.output)?;
        Ok(summary(&tally, &protocol, &self.output, &inputs))
    }
}

fn text(input: &Input) -> Result<String> {
    let read = match input {
        Input::StandardInput => std::io::read_to_string(std::io::stdin()),
        Input::File(path) => fs::read_to_string(path),
    };
    read.map_err(|error| CollectError::Unreadable { file: input.to_string(), error }.into())
}

fn identified(input: &Input, file: &TalliesFile) -> Result<Identified> {
    match (file.specification(), file.fingerprint()) {
        (Some(specification), Some(fingerprint)) => Identified::found(input, specification, fingerprint),
        _ => Err(CollectError::NoProtocol { file: input.to_string() }.into()),
    }
}

fn check_fingerprint(input: &Input, file: &TalliesFile, protocol: &Identified) -> Result<()> {
    let expected = &protocol.identity.fingerprint;
    match file.fingerprint() {
        Some(found) if found != expected => Err(CollectError::OtherProtocol {
            file: input.to_string(),
            found: found.chars().filter(char::is_ascii_hexdigit).take(16).collect(),
            expected: expected[..16].to_owned(),
        }
        .into()),
        _ => Ok(()),
    }
}

/// The error of a tallies file, with its name.
fn in_file(input: &Input, problem: CollectError) -> Error {
    let source_name = match input {
        Input::StandardInput => Source::StandardInput,
        Input::File(path) => Source::File(path.clone()),
    };
    Error::Tallies { source_name, problem }
}
