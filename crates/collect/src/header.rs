//! What a file of reports says about itself: in the header the version of the format, the protocol, and its fingerprint; at the end how
//! many reports there are, and their digest.
//!
//! ```text
//! {"format":"sottovoce reports","version":2,"fingerprint":"…","protocol":{"kind":"grr","a":3,"epsilon":1.0}}
//! {"end":"sottovoce reports","reports":300,"digest":"…","header":"…"}
//! ```
//!
//! The fingerprint is the SHA-256 of the protocol's canonical JSON, in hexadecimal. It covers the labels too: reports on other
//! values are other reports. The end holds the SHA-256 of the header's text, so that no letter of it can change unseen. Version 1 has no
//! end.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::digest::Digest as ReportDigest;
use crate::error::{Error, HeaderFault};
use crate::files::inputs::Input;
use crate::tallies_file::shown;

/// The format's name in a header.
const FORMAT: &str = "sottovoce reports";

/// The version of the format that is written, and the newest that is read.
pub const VERSION: u32 = 2;

/// The first version in which reports have an end.
const WITH_END: u32 = 2;

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

/// The header of a file of reports. A key that it does not have is a mark that would be lost.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    format: String,
    version: u32,
    /// The protocol's fingerprint.
    pub fingerprint: String,
    /// The seed, if the reports are predictable.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::seed")]
    pub insecure_test_seed: Option<u64>,
    protocol: Box<RawValue>,
}

/// Why a header cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderProblem {
    /// It is not a header of this format. Its text is not quoted: it may be a value.
    None(HeaderFault),
    /// It is of a version that does not exist yet.
    Version(u32),
}

impl Header {
    /// The header of reports of a protocol.
    ///
    /// # Panics
    /// The specification is not JSON.
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

    pub(crate) fn read(text: &[u8]) -> Result<Self, HeaderProblem> {
        if let Some(version) = newer(text) {
            return Err(HeaderProblem::Version(version));
        }
        let header: Header = serde_json::from_slice(text).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => HeaderProblem::None(HeaderFault::Keys),
            _ => HeaderProblem::None(HeaderFault::Syntax),
        })?;
        match (header.format == FORMAT, header.version) {
            (true, 1..=VERSION) => Ok(header),
            _ => Err(HeaderProblem::None(HeaderFault::Format)),
        }
    }

    /// Whether the reports have an end.
    pub(crate) fn has_end(&self) -> bool {
        self.version >= WITH_END
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

/// The version of a header that this program does not know, whatever else is in it.
fn newer(text: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    struct Versioned {
        format: String,
        version: u32,
    }
    let header: Versioned = serde_json::from_slice(text).ok()?;
    (header.format == FORMAT && header.version > VERSION).then_some(header.version)
}

/// The end of a file of reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct End {
    end: String,
    /// How many reports there are.
    pub(crate) reports: u64,
    /// Their digest.
    pub(crate) digest: String,
    /// The SHA-256 of the header's text.
    header: String,
}

impl End {
    /// The end of reports with this digest, after the header with this text.
    pub(crate) fn new(digest: &ReportDigest, header: &str) -> Self {
        let header = hexadecimal(&Sha256::digest(header.as_bytes()));
        End { end: FORMAT.to_owned(), reports: digest.reports(), digest: digest.to_string(), header }
    }

    /// The end with this text, if it is one.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok().filter(|end: &End| end.end == FORMAT)
    }

    /// Whether it is the end after the header with this text.
    pub(crate) fn is_after(&self, header: &[u8]) -> bool {
        self.header == hexadecimal(&Sha256::digest(header))
    }

    /// The end as one line of JSON.
    pub(crate) fn text(&self) -> String {
        // Unwrap safety: as for a header.
        serde_json::to_string(self).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_written() {
        let identity = Identity::new(r#"{"kind":"grr","a":3,"epsilon":1.0}"#.into());
        let header = Header::read(Header::new(&identity, Some(7)).text().as_bytes()).unwrap();
        assert_eq!(header.specification(), identity.specification);
        assert_eq!((header.fingerprint, header.insecure_test_seed), (identity.fingerprint, Some(7)));
    }

    #[test]
    fn large_seeds_are_in_quotes_and_read_both_ways() {
        let text = Header::new(&Identity::new("{}".into()), Some(u64::MAX)).text();
        assert!(text.contains(r#""insecure_test_seed":"18446744073709551615""#), "{text}");
        for text in [&text, &text.replace("\"18446744073709551615\"", "18446744073709551615")] {
            assert_eq!(Header::read(text.as_bytes()).unwrap().insecure_test_seed, Some(u64::MAX));
        }
        for bad in ["\"\"", "\"-1\"", "\"1.0\"", "1.0", "-1", "null"] {
            let text = text.replace("\"18446744073709551615\"", bad);
            assert!(Header::read(text.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn other_versions_and_other_files_are_told_apart() {
        let identity = Identity::new("{}".into());
        let text = Header::new(&identity, None).text();
        let read = |text: &str| Header::read(text.as_bytes());
        let newer = text.replace("\"version\":2", "\"version\":3,\"more\":0");
        assert_eq!(read(&newer).unwrap_err(), HeaderProblem::Version(3));
        assert!(read(&text.replace("\"version\":2", "\"version\":1")).is_ok_and(|header| !header.has_end()));
        for bad in ["{}", &text.replace("reports", "values"), &text.replace(":2,", ":0,"), "[", ""] {
            assert!(matches!(read(bad), Err(HeaderProblem::None(_))), "{bad}");
        }
    }

    /// A letter that changes in the name of the mark must not take the mark away.
    #[test]
    fn a_key_that_does_not_exist_is_refused() {
        let text = Header::new(&Identity::new("{}".into()), Some(7)).text();
        for key in ["insecure_test_seee", "Insecure_test_seed", "insecure_test_seed "] {
            let changed = text.replace("insecure_test_seed", key);
            assert!(matches!(Header::read(changed.as_bytes()), Err(HeaderProblem::None(_))), "{key}");
        }
    }

    #[test]
    fn an_end_belongs_to_its_header() {
        let mut digest = ReportDigest::default();
        digest.add(&[7]);
        let end = End::read(End::new(&digest, "header").text().as_bytes()).unwrap();
        assert_eq!((end.reports, end.digest.as_str()), (1, "00000000000000000000000000000007"));
        assert!(end.is_after(b"header") && !end.is_after(b"Header"));
        assert!(End::read(b"{\"reports\":1}").is_none());
    }
}
