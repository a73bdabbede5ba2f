//! The JSON file of supports, `{"n": 1000, "supports": [310, 288, …]}`: how many reports support each input.
//!
//! It is what a collection of unary encoding or local hash keeps when whole patterns would be too many; linear estimates need no more.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use sottovoce::estimate::{Reports, Supports};
use sottovoce::{Protocol, Tallies};

use crate::error::{Error, Result};
use crate::tallies_file::{read_tallies, shown, whole};

/// A file of supports, as written.
#[derive(Debug, Deserialize)]
pub struct SupportsFile {
    n: Box<RawValue>,
    supports: Vec<Box<RawValue>>,
}

/// Which of the two files a text is.
#[derive(Deserialize)]
struct Keys {
    #[serde(default)]
    supports: Option<IgnoredAny>,
}

/// The tallies or supports in a text, if they fit the protocol.
///
/// # Errors
/// As for [`read_tallies`] and [`SupportsFile::check`].
pub fn read_reports(text: &str, protocol: &Protocol) -> Result<Reports> {
    let keys: Keys = serde_json::from_str(text).map_err(Error::syntax)?;
    if keys.supports.is_some() {
        return SupportsFile::read(text)?.check(protocol).map(Reports::Supports);
    }
    let tallies: Tallies = read_tallies(text, protocol)?;
    Ok(Reports::Tallies(tallies))
}

impl SupportsFile {
    /// The file with this text.
    ///
    /// # Errors
    /// The text is not the JSON of supports.
    pub fn read(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(Error::syntax)
    }

    /// The supports, if they fit the protocol.
    ///
    /// # Errors
    /// A number is negative or fractional, there are not as many as inputs, or they cannot be those of `n` reports.
    pub fn check(&self, protocol: &Protocol) -> Result<Supports> {
        let n = whole(self.n.get()).ok_or_else(|| Error::Total { n: shown(self.n.get()) })?;
        let count = |(entry, text): (usize, &str)| {
            whole(text).ok_or_else(|| Error::Support { entry, count: shown(text) })
        };
        let texts = self.supports.iter().map(|text| text.get()).enumerate();
        let counts = texts.map(count).collect::<Result<Vec<u64>>>()?;
        Ok(Supports::new(protocol, n, counts)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_files_are_told_apart() {
        let oue = Protocol::oue(3, 1.0).unwrap();
        let supports = read_reports(r#"{"n": 9, "supports": [4, 2.0, 0]}"#, &oue).unwrap();
        assert!(matches!(&supports, Reports::Supports(s) if s.counts() == [4, 2, 0] && s.n() == 9));
        let tallies = read_reports(r#"{"counts": [{"y": [0], "count": 4}]}"#, &oue).unwrap();
        assert!(matches!(tallies, Reports::Tallies(t) if t.n() == 4));
    }

    #[test]
    fn what_does_not_fit_is_told_with_its_entry() {
        let oue = Protocol::oue(3, 1.0).unwrap();
        for (text, message) in [
            (r#"{"n": 9, "supports": [4, -2, 0]}"#, "supports[1] = -2 is not a whole number"),
            (r#"{"n": 9, "supports": [4, 2, 0.5]}"#, "supports[2] = 0.5 is not a whole number"),
            (r#"{"n": 9, "supports": [4, 12, 0]}"#, "supports[1] = 12 is more than the 9 reports"),
            (r#"{"n": 9, "supports": [4, 2]}"#, "supports has 2 entries but inputs has 3"),
            (r#"{"supports": [4, 2, 0]}"#, "missing field `n`"),
            (r#"{"n": 1.5, "supports": [0, 0, 0]}"#, "n = 1.5 is not a whole number"),
            (r#"[1]"#, "not valid tallies"),
        ] {
            let found = read_reports(text, &oue).unwrap_err().to_string();
            assert!(found.contains(message), "{found}");
        }
    }
}
