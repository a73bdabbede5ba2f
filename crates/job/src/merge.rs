//! The job `merge`: files of tallies to one, in any order and grouping.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sottovoce::{Observer, Progress};
use sottovoce_collect::files::inputs::{Input, inputs, refuse_as_output};
use sottovoce_collect::{Batch, Error as CollectError, Form, TalliesFile, Tally};

use crate::collection::{Identified, source, written_in};
use crate::contract::{OneOrMore, one_or_more};
use crate::error::{Error, Result};
use crate::source::{Written, tallies_text};
use crate::spec::ProtocolSpec;
use crate::tally::{FormChoice, TallyReport, write};

/// What to merge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MergeRequest {
    /// Files, directories, patterns, or `-` for standard input.
    #[serde(deserialize_with = "one_or_more::<_, String, _>")]
    #[schemars(with = "OneOrMore<String>")]
    pub tallies: Vec<String>,
    /// The protocol, for files that do not name it; files that do must agree.
    #[serde(default)]
    pub protocol: Option<Written<ProtocolSpec>>,
    /// What to keep of the reports.
    #[serde(default)]
    pub form: FormChoice,
    /// Whether files may have counted the same reports.
    #[serde(default)]
    pub allow_copies: bool,
    /// The merged file.
    pub output: PathBuf,
}

/// A valid request to merge.
#[derive(Clone, Debug)]
pub struct MergeJob {
    request: MergeRequest,
    given: Option<Identified>,
    inputs: Vec<Input>,
}

impl MergeRequest {
    /// The sum of these tallies, which name their protocol.
    pub fn of(tallies: Vec<String>, output: impl Into<PathBuf>) -> Self {
        let (form, output) = (FormChoice::Auto, output.into());
        MergeRequest { tallies, protocol: None, form, allow_copies: false, output }
    }

    /// The job, if the protocol is valid, the files exist, none is there twice, and the output is not one of them.
    ///
    /// # Errors
    /// What is not so.
    pub fn check(&self) -> Result<MergeJob> {
        let inputs = inputs(&self.tallies)?;
        refuse_as_output(written_in(self.protocol.as_ref()).iter().chain(&inputs), &self.output)?;
        let given = self.protocol.as_ref().map(Identified::written).transpose()?;
        Ok(MergeJob { request: self.clone(), given, inputs })
    }
}

impl MergeJob {
    /// Adds the tallies up and writes the sum, while the observer hears how many reports there are so far. A previous file is untouched until the new
    /// one is complete.
    ///
    /// # Errors
    /// A file cannot be read or written, is of another protocol or not valid, two of them have counted the same reports, or the observer stops the job.
    pub fn run(&self, observer: Observer<'_>) -> Result<TallyReport> {
        let (mut protocol, mut tally) = (self.given.clone(), None);
        for input in &self.inputs {
            let text = tallies_text(&source(input))?;
            let in_file = |problem| Error::Tallies { source_name: source(input), problem };
            let file = TalliesFile::read(text).map_err(in_file)?;
            let protocol = match &protocol {
                Some(known) => known,
                None => protocol.insert(identified(input, &file)?),
            };
            self.check_fingerprint(input, &file, protocol)?;
            let form = self.request.form.into();
            let tally = tally.get_or_insert_with(|| Tally::new(&protocol.named.protocol, form));
            tally.ledger.allow_copies = self.request.allow_copies;
            let batches = add(&file, protocol, tally).map_err(in_file)?;
            tally.ledger.enter(input, batches)?;
            if observer(&Progress::Counting { reports: tally.n }).is_break() {
                return Err(sottovoce::Error::Stopped.into());
            }
        }
        let (Some(tally), Some(protocol)) = (tally, protocol) else {
            return Err(CollectError::NoFiles { argument: "tallies".into() }.into());
        };
        write(&tally, &protocol, &self.request.output)?;
        Ok(TallyReport::new(&tally, &protocol, &self.request.output, &self.inputs))
    }

    /// A file must name the protocol of the others; it may leave that to the user only.
    fn check_fingerprint(&self, input: &Input, file: &TalliesFile, protocol: &Identified) -> Result<()> {
        match fingerprint(input, file)? {
            Some(found) => {
                let named = file.specification().unwrap_or("which it does not name");
                Ok(protocol.identity.refuse_other(input, &found, named)?)
            }
            None if self.given.is_some() => Ok(()),
            None => Err(CollectError::NoProtocol { file: input.to_string() }.into()),
        }
    }
}

/// The tally in the text of a tallies file that names its protocol. `name` is what messages call it.
///
/// # Errors
/// The text is not that of a tallies file, names no protocol, or has tallies that do not fit it.
pub fn read_tally(name: &Input, text: String, form: Form) -> Result<(Identified, Tally)> {
    let in_file = |problem| Error::Tallies { source_name: source(name), problem };
    let file = TalliesFile::read(text).map_err(in_file)?;
    let protocol = identified(name, &file)?;
    let mut tally = Tally::new(&protocol.named.protocol, form);
    // Tallies that were made with copies allowed have a batch twice.
    let batches = add(&file, &protocol, &mut tally).map_err(in_file)?;
    tally.ledger.enter(name, batches)?;
    Ok((protocol, tally))
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
