//! The job `merge`: files of tallies to one, in any order and grouping.

use std::path::PathBuf;

use sottovoce_collect::files::inputs::{Input, inputs, refuse_as_output};
use sottovoce_collect::{Batch, Error as CollectError, Form, TalliesFile, Tally};

use crate::collection::{Identified, Summary, source, written_in};
use crate::error::{Error, Result};
use crate::source::{Written, tallies_text};
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
    /// Whether files may have counted the same reports.
    pub allow_copies: bool,
    /// The merged file.
    pub output: PathBuf,
}

impl MergeSpec {
    /// Adds the tallies up and writes the sum. A previous file is untouched until the new one is complete.
    ///
    /// # Errors
    /// A file cannot be read or written, is there twice, of another protocol, or not valid; or two of them have counted the same reports.
    pub fn run(&self) -> Result<Summary> {
        let inputs = inputs(&self.tallies)?;
        refuse_as_output(written_in(self.protocol.as_ref()).iter().chain(&inputs), &self.output)?;
        let mut protocol = self.protocol.as_ref().map(Identified::written).transpose()?;
        let mut tally = None;
        for input in &inputs {
            let text = tallies_text(&source(input))?;
            let in_file = |problem| Error::Tallies { source_name: source(input), problem };
            let file = TalliesFile::read(text).map_err(in_file)?;
            let protocol = match &protocol {
                Some(known) => known,
                None => protocol.insert(identified(input, &file)?),
            };
            self.check_fingerprint(input, &file, protocol)?;
            let tally = tally.get_or_insert_with(|| Tally::new(&protocol.named.protocol, self.form));
            tally.ledger.allow_copies = self.allow_copies;
            let batches = add(&file, protocol, tally).map_err(in_file)?;
            tally.ledger.enter(input, batches)?;
        }
        let (Some(tally), Some(protocol)) = (tally, protocol) else {
            return Err(CollectError::NoFiles { argument: "tallies".into() }.into());
        };
        write(&tally, &protocol, &self.output)?;
        Ok(summary(&tally, &protocol, &self.output, &inputs))
    }

    /// A file must name the protocol of the others; it may leave that to the user only.
    fn check_fingerprint(&self, input: &Input, file: &TalliesFile, protocol: &Identified) -> Result<()> {
        match fingerprint(input, file)? {
            Some(found) => {
                let named = file.specification().unwrap_or("which it does not name");
                Ok(protocol.identity.refuse_other(input, &found, named)?)
            }
            None if self.protocol.is_some() => Ok(()),
            None => Err(CollectError::NoProtocol { file: input.to_string() }.into()),
        }
    }
}

/// Adds the tallies of a file, and says what they have counted.
fn add(file: &TalliesFile, protocol: &Identified, tally: &mut Tally) -> Result<Vec<Batch>, CollectError> {
    let reports = file.reports(&protocol.named.protocol)?;
    tally.add_reports(&reports)?;
    tally.rejections.add_counts(file.rejected()?);
    tally.insecure |= file.insecure()?;
    let known = file.batches()?.filter(|batches| !batches.is_empty());
    Ok(known.unwrap_or_else(|| vec![Batch::of_counts(&reports)]))
}

fn fingerprint(input: &Input, file: &TalliesFile) -> Result<Option<String>> {
    file.fingerprint().map_err(|problem| Error::Tallies { source_name: source(input), problem })
}

fn identified(input: &Input, file: &TalliesFile) -> Result<Identified> {
    match (file.specification(), fingerprint(input, file)?) {
        (Some(specification), Some(fingerprint)) => Identified::found(input, specification, &fingerprint),
        _ => Err(CollectError::NoProtocol { file: input.to_string() }.into()),
    }
}
