//! What a file of reports says about itself: the version of the format, the protocol, and its fingerprint.
//!
//! ```text
//! {"format":"sottovoce reports","version":1,"fingerprint":"…","protocol":{"kind":"grr","a":3,"epsilon":1.0}}
//! ```
//!
//! The fingerprint is the SHA-256 of the protocol's canonical JSON, in hexadecimal. It covers the labels too: reports on other
//! values are other reports.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::files::inputs::Input;
use crate::tallies_file::shown;

/// The format's name in a header.
const FORMAT: &str = "sottovoce reports";

/// The version of the format that is written, and the newest that is read.
pub const VERSION: u32 = 1;

/// A protocol as files name it: its canonical JSON and the fingerprint of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The canonical JSON of the specification, with all sizes filled in.
    pub specification: String,
    /// Its SHA-256 in hexadecimal.
    pub fingerprint: String,
}

impl Identity {
    /// The identity of the protocol with this canonical JSON.
    pub fn new(specification: String) -> Self {
        let fingerprint = hexadecimal(&Sha256::digest(specification.as_bytes()));
        Identity { specification, fingerprint }
    }

    /// Refuses a file with another fingerprint, and says which specification stands in it.
    ///
    /// # Errors
    /// [`Error::OtherProtocol`].
    pub fn refuse_other(&self, input: &Input, found: &str, specification: &str) -> Result<(), Error> {
        if found == self.fingerprint {
            return Ok(());
        }
        Err(Error::OtherProtocol {
            file: input.to_string(),
            named: shown(specification),
            found: found.chars().filter(char::is_ascii_hexdigit).take(16).collect(),
        })
    }
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The header of a file of reports.
#[derive(Debug, Serialize, Deserialize)]
pub struct Header {
    format: String,
    version: u32,
    /// The protocol's fingerprint.
    pub fingerprint: String,
    /// The seed, if the reports are predictable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insecure_test_seed: Option<u64>,
    protocol: Box<RawValue>,
}

/// Why a header cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderProblem {
    /// It is no header of this format.
    None,
    /// It is of a version that does not exist yet.
    Version(u32),
}

impl Header {
    /// The header of reports of a protocol.
    ///
    /// # Panics
    /// The specification is no JSON.
    pub fn new(identity: &Identity, insecure_test_seed: Option<u64>) -> Self {
        Header {
            format: FORMAT.to_owned(),
            version: VERSION,
            fingerprint: identity.fingerprint.clone(),
            insecure_test_seed,
            // Unwrap safety: an identity is made of the JSON of a specification.
            protocol: RawValue::from_string(identity.specification.clone()).unwrap(),
        }
    }

    pub(crate) fn read(text: &str) -> Result<Self, HeaderProblem> {
        let header: Header = serde_json::from_str(text).map_err(|_| HeaderProblem::None)?;
        match (header.format == FORMAT, header.version) {
            (false, _) => Err(HeaderProblem::None),
            (true, VERSION) => Ok(header),
            (true, version) => Err(HeaderProblem::Version(version)),
        }
    }

    /// The protocol's specification, as written in the header.
    pub fn specification(&self) -> &str {
        self.protocol.get()
    }

    /// The header as one line of JSON.
    pub fn text(&self) -> String {
        // Unwrap safety: our type has text keys, and writing to a string does not fail.
        serde_json::to_string(self).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_written() {
        let identity = Identity::new(r#"{"kind":"grr","a":3,"epsilon":1.0}"#.into());
        let header = Header::read(&Header::new(&identity, Some(7)).text()).unwrap();
        assert_eq!(header.specification(), identity.specification);
        assert_eq!((header.fingerprint, header.insecure_test_seed), (identity.fingerprint, Some(7)));
    }

    #[test]
    fn other_versions_and_other_files_are_told_apart() {
        let identity = Identity::new("{}".into());
        let text = Header::new(&identity, None).text();
        let newer = text.replace("\"version\":1", "\"version\":2");
        assert_eq!(Header::read(&newer).unwrap_err(), HeaderProblem::Version(2));
        assert_eq!(Header::read("{}").unwrap_err(), HeaderProblem::None);
        assert_eq!(Header::read(&text.replace("reports", "values")).unwrap_err(), HeaderProblem::None);
    }
}
