//! What the jobs of a collection share: the identity of a protocol in files, and tallies in requests.

use std::borrow::Cow;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer};
use serde::ser;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;
use sottovoce_collect::files::inputs::Input;
use sottovoce_collect::{Error as CollectError, Identity, TalliesFile};

use crate::error::{Error, Result};
use crate::source::{Source, Written, locate_tallies};
use crate::spec::{NamedProtocol, PriorSpec, ProtocolSpec, read_protocol, shown};

/// Tallies of a request: the object itself, or where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrittenTallies {
    /// The text of the JSON object.
    Inline(String),
    /// A plain file. This is what a path in a JSON request means: a request may come from a stranger, who must not have devices read.
    File(PathBuf),
    /// A path that the user wrote: a file, a pipe or a device.
    Path(PathBuf),
    /// Standard input.
    StandardInput,
}

/// The tallies that an argument stands for: inline JSON, the path of a file, or `-` for standard input.
impl From<&str> for WrittenTallies {
    fn from(argument: &str) -> Self {
        match argument.trim() {
            "-" => WrittenTallies::StandardInput,
            json if json.starts_with(['{', '[']) => WrittenTallies::Inline(json.to_owned()),
            path => WrittenTallies::Path(path.into()),
        }
    }
}

impl Serialize for WrittenTallies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            WrittenTallies::Inline(text) => {
                serde_json::from_str::<Json>(text).map_err(ser::Error::custom)?.serialize(serializer)
            }
            WrittenTallies::File(path) | WrittenTallies::Path(path) => path.serialize(serializer),
            WrittenTallies::StandardInput => {
                Err(ser::Error::custom("a request cannot name standard input for its tallies"))
            }
        }
    }
}

impl<'de> Deserialize<'de> for WrittenTallies {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Json::deserialize(deserializer)? {
            Json::String(path) => Ok(WrittenTallies::File(path.into())),
            Json::Object(mut tallies) => {
                // The digest is that of a file's text, of which a request keeps the contents but not the layout.
                tallies.shift_remove("digest");
                Ok(WrittenTallies::Inline(Json::Object(tallies).to_string()))
            }
            _ => Err(de::Error::custom("tallies are an object or the path of a file")),
        }
    }
}

impl JsonSchema for WrittenTallies {
    fn schema_name() -> Cow<'static, str> {
        "Tallies".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let count = json_schema!({"type": "integer", "minimum": 0});
        json_schema!({
            "description": "Tallies, as the job `tally` writes them, or the path of a file that has them.",
            "anyOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "properties": {
                        "n": count,
                        "counts": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "properties": {"y": true, "count": count},
                                "required": ["y", "count"],
                                "additionalProperties": false,
                            },
                        },
                        "supports": {"type": "array", "items": count},
                    },
                    "anyOf": [{"required": ["counts"]}, {"required": ["n", "supports"]}],
                },
            ],
        })
    }
}

/// A protocol with its name in files.
#[derive(Clone, Debug)]
pub struct Identified {
    /// The protocol and the names of its inputs.
    pub named: NamedProtocol,
    /// Its canonical JSON, and the fingerprint of that.
    pub identity: Identity,
}

impl Identified {
    /// The protocol that the user wrote.
    ///
    /// # Errors
    /// It is not valid.
    pub fn written(protocol: &Written<ProtocolSpec>) -> Result<Self> {
        let named = protocol.check(&PriorSpec::Jeffreys)?;
        // Unwrap safety: a specification has text keys and finite numbers.
        let identity = Identity::new(serde_json::to_string(&named.spec).unwrap());
        Ok(Identified { named, identity })
    }

    /// The protocol that a file names, if the fingerprint in the same file is that of the protocol.
    ///
    /// # Errors
    /// It is not, or the protocol is not valid.
    pub fn found(input: &Input, specification: &str, fingerprint: &str) -> Result<Self> {
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
    pub(crate) fn read(tallies: &WrittenTallies) -> Result<Self> {
        let (source, text) = locate_tallies(tallies)?;
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
