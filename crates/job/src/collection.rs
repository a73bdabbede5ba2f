//! What the jobs of a collection share: the identity of a protocol in files, and a summary of what was done.

use serde_json::Value as Json;
use sottovoce_collect::files::inputs::Input;
use sottovoce_collect::{Error as CollectError, Identity, TalliesFile};

use crate::error::{Error, Result};
use crate::source::{Source, Written, locate_tallies};
use crate::spec::{NamedProtocol, PriorSpec, ProtocolSpec, read_protocol, shown};

/// What a job of a collection did, in a few facts.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Names and values.
    pub facts: Vec<(&'static str, Json)>,
    /// What the user should know besides.
    pub notes: Vec<String>,
}

impl Summary {
    /// Whether patterns were given up for supports, with what is to be said about it.
    pub fn lost_patterns(&self) -> Option<&str> {
        let supports = self.facts.iter().any(|(name, value)| *name == "form" && value == "supports");
        self.notes
            .iter()
            .find(|note| note.starts_with("Kept as supports"))
            .filter(|_| supports)
            .map(String::as_str)
    }
}

/// A protocol with its name in files.
#[derive(Clone, Debug)]
pub(crate) struct Identified {
    pub named: NamedProtocol,
    pub identity: Identity,
}

impl Identified {
    /// The protocol that the user wrote.
    pub(crate) fn written(protocol: &Written<ProtocolSpec>) -> Result<Self> {
        let named = protocol.check(&PriorSpec::Jeffreys)?;
        // Unwrap safety: a specification has text keys and finite numbers.
        let identity = Identity::new(serde_json::to_string(&named.spec).unwrap());
        Ok(Identified { named, identity })
    }

    /// The protocol that a file names, if the fingerprint in the same file is that of the protocol.
    pub(crate) fn found(input: &Input, specification: &str, fingerprint: &str) -> Result<Self> {
        // Only what the user wrote may name a file to be read.
        if !specification.starts_with('{') {
            return Err(CollectError::NoProtocol { file: input.to_string() }.into());
        }
        let mut written = read_protocol(specification)?;
        written.source = source(input);
        let found = Identified::written(&written)?;
        if found.identity.fingerprint != fingerprint {
            return Err(CollectError::WrongFingerprint { file: input.to_string() }.into());
        }
        Ok(found)
    }
}

/// Tallies as they were read, and where.
#[derive(Debug)]
pub(crate) struct Collected {
    pub file: TalliesFile,
    pub source: Source,
}

impl Collected {
    /// The tallies in a file, on standard input, or inline.
    pub(crate) fn read(argument: &str) -> Result<Self> {
        let (source, text) = locate_tallies(argument)?;
        match TalliesFile::read(text) {
            Ok(file) => Ok(Collected { file, source }),
            Err(problem) => Err(Error::Tallies { source_name: source, problem }),
        }
    }

    /// The protocol given, or else the one that the tallies name.
    pub(crate) fn protocol(&self, given: Option<&Written<ProtocolSpec>>) -> Result<Written<ProtocolSpec>> {
        if let Some(given) = given {
            return Ok(given.clone());
        }
        // Only what the user wrote may name a file to be read.
        let Some(specification) = self.file.specification().filter(|text| text.starts_with('{')) else {
            return Err(CollectError::NoProtocol { file: self.source.to_string() }.into());
        };
        Ok(Written { source: self.source.clone(), ..read_protocol(specification)? })
    }

    /// What the file says about reports of this protocol, unless it names another one.
    pub(crate) fn of<T>(
        &self,
        named: &NamedProtocol,
        read: impl FnOnce(&TalliesFile) -> Result<T, CollectError>,
    ) -> Result<T> {
        let fits = refuse_other(&self.file, named).and_then(|()| read(&self.file));
        fits.map_err(|problem| Error::Tallies { source_name: self.source.clone(), problem })
    }
}

/// Refuses tallies that name another protocol than the one given. Labels may be left out of that, but not be others.
fn refuse_other(file: &TalliesFile, given: &NamedProtocol) -> Result<(), CollectError> {
    let Some(specification) = file.specification().filter(|text| text.starts_with('{')) else {
        return Ok(());
    };
    let named = read_protocol(specification).and_then(|written| written.check(&PriorSpec::Jeffreys));
    let same = named.is_ok_and(|named| {
        let unlabelled = given.spec.labels.is_none();
        named.protocol == given.protocol && (unlabelled || named.spec.labels == given.spec.labels)
    });
    match same {
        true => Ok(()),
        false => Err(CollectError::MadeOtherwise { found: shown(specification) }),
    }
}

/// The file or standard input that a specification was written in, if it was.
pub(crate) fn written_in(protocol: Option<&Written<ProtocolSpec>>) -> Option<Input> {
    match protocol.map(|written| &written.source) {
        Some(Source::File(path)) => Some(Input::File(path.clone())),
        Some(Source::StandardInput) => Some(Input::StandardInput),
        _ => None,
    }
}

/// The place that a file or standard input is for messages about its text.
pub(crate) fn source(input: &Input) -> Source {
    match input {
        Input::StandardInput => Source::StandardInput,
        Input::File(path) => Source::File(path.clone()),
    }
}
