//! What a tally has counted, batch by batch, so that nothing is counted twice.
//!
//! A batch is what came from one file. Of reports it is known by their [digest](crate::digest), which does not depend on how the file was
//! written or compressed; so a copy is known as one, and so is a day that is already in its week. Tallies that do not say what they
//! counted are a batch of their own, known by their counts. Reports that a program counts a few at a time are one batch together: two honest
//! users may well send the same.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use sottovoce::estimate::Reports;

use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::files::inputs::Input;
use crate::tally::{Counts, Tally};

/// Reports that were counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// How many.
    pub n: u64,
    /// What they are known by.
    pub digest: Mark,
    /// What the digest is of.
    #[serde(default, skip_serializing_if = "Of::is_reports")]
    pub of: Of,
}

/// What a batch is known by: 32 hexadecimal digits. (As a number, since tallies may have millions of batches.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark(pub u128);

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl Serialize for Mark {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Mark {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        let digits = text.len() == 32 && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
        let number = u128::from_str_radix(&text, 16).ok().filter(|_| digits);
        number.map(Mark).ok_or_else(|| serde::de::Error::custom("a digest has 32 hexadecimal digits"))
    }
}

/// What a digest is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Of {
    /// The reports, in order.
    #[default]
    Reports,
    /// The counts, where no more is known.
    Counts,
}

impl Of {
    fn is_reports(&self) -> bool {
        *self == Of::Reports
    }
}

impl Batch {
    /// The reports with this digest.
    pub fn of_reports(digest: &Digest) -> Self {
        Batch { n: digest.reports(), digest: Mark(digest.remainder()), of: Of::Reports }
    }

    /// The reports with these counts, known by the first half of the SHA-256 of their sorted text.
    pub fn of_counts(reports: &Reports) -> Self {
        let (n, lines) = match reports {
            Reports::Tallies(tallies) => {
                let counted = tallies.counts().iter().filter(|(_, count)| *count > 0);
                let mut lines: Vec<String> =
                    counted.map(|(output, count)| format!("{output} {count}\n")).collect();
                lines.sort_unstable();
                (tallies.n(), lines)
            }
            Reports::Supports(supports) => {
                (supports.n(), supports.counts().iter().map(|count| format!("{count}\n")).collect())
            }
        };
        Batch::of_lines(n, &lines)
    }

    /// The reports that a tally has counted, known in the same way.
    pub(crate) fn of_tally(tally: &Tally) -> Self {
        let mut lines = Vec::new();
        if let Counts::Supports(supports) = &tally.counts {
            lines = supports.counts().iter().map(|count| format!("{count}\n")).collect();
        }
        // Supports have no counts to visit, and writing to a list cannot fail.
        let _ = tally.visit_counts(|report, count| {
            lines.push(format!("{} {count}\n", tally.layout().output(report)));
            Ok(())
        });
        if !matches!(tally.counts, Counts::Supports(_)) {
            lines.sort_unstable();
        }
        Batch::of_lines(tally.n, &lines)
    }

    fn of_lines(n: u64, lines: &[String]) -> Self {
        let mut hash = Sha256::new_with_prefix(format!("{n}\n"));
        lines.iter().for_each(|line| hash.update(line));
        // A SHA-256 has 32 bytes.
        let half = *hash.finalize().first_chunk::<16>().unwrap_or(&[0; 16]);
        Batch { n, digest: Mark(u128::from_be_bytes(half)), of: Of::Counts }
    }
}

/// The batches of a tally.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Whether a batch may be there twice.
    pub allow_copies: bool,
    batches: Vec<Batch>,
    /// The names of the files, and for each batch the first file that has it.
    files: Vec<String>,
    owners: HashMap<Batch, usize>,
    /// The digest of reports that came a few at a time.
    open: Digest,
}

/// Fewer reports than this are no batch of their own.
const SMALLEST_BATCH: u64 = 1000;

impl Ledger {
    /// No batches yet.
    pub fn new(allow_copies: bool) -> Self {
        Ledger { allow_copies, ..Ledger::default() }
    }

    /// Enters reports that did not come from a file: as a batch if there are many, else as the end of one that stays open.
    ///
    /// # Errors
    /// As for [`enter`](Ledger::enter).
    pub fn enter_reports(&mut self, name: &Input, digest: Digest) -> Result<()> {
        if digest.reports() >= SMALLEST_BATCH {
            return self.enter(name, [Batch::of_reports(&digest)]);
        }
        self.open.append(digest);
        Ok(())
    }

    /// Enters the batches of a file. Batches without reports are left out.
    ///
    /// # Errors
    /// [`Error::Overlap`] if another file has one of them, unless copies are allowed.
    pub fn enter(&mut self, file: &Input, batches: impl IntoIterator<Item = Batch>) -> Result<()> {
        let place = self.files.len();
        self.files.push(file.to_string());
        let (mut first, mut shared) = (None, 0u64);
        for batch in batches.into_iter().filter(|batch| batch.n > 0) {
            match self.owners.entry(batch) {
                Entry::Vacant(owner) => drop(owner.insert(place)),
                // A file that was made with copies allowed has a batch twice by itself.
                Entry::Occupied(owner) if *owner.get() == place => {}
                Entry::Occupied(owner) => {
                    first.get_or_insert(*owner.get());
                    shared = shared.saturating_add(batch.n);
                }
            }
            self.batches.push(batch);
        }
        let name = |file: usize| self.files[file].clone();
        match first.filter(|_| !self.allow_copies) {
            Some(first) => Err(Error::Overlap { first: name(first), second: name(place), reports: shared }),
            None => Ok(()),
        }
    }

    /// All batches, sorted.
    pub fn batches(&self) -> Vec<Batch> {
        let open = Some(Batch::of_reports(&self.open)).filter(|batch| batch.n > 0);
        let mut all: Vec<Batch> = self.batches.iter().copied().chain(open).collect();
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use sottovoce::{Output, Protocol, Tallies};

    use super::*;

    fn batch(digest: u128, n: u64) -> Batch {
        Batch { n, digest: Mark(digest), of: Of::Reports }
    }

    fn file(name: &str) -> Input {
        Input::File(name.into())
    }

    #[test]
    fn a_batch_of_two_files_is_refused_unless_allowed() {
        let mut ledger = Ledger::default();
        ledger.enter(&file("week"), [batch(0xa, 7), batch(0xb, 5), batch(0, 0)]).unwrap();
        ledger.enter(&file("day"), [batch(0xc, 7), batch(0, 0)]).unwrap();
        let refused = ledger.clone().enter(&file("again"), [batch(0xd, 1), batch(0xb, 5)]).unwrap_err();
        assert!(
            matches!(&refused, Error::Overlap { first, second, reports: 5 } if first == "week" && second == "again")
        );
        ledger.allow_copies = true;
        ledger.enter(&file("again"), [batch(0xb, 5)]).unwrap();
        let digests: Vec<u128> = ledger.batches().iter().map(|batch| batch.digest.0).collect();
        assert_eq!(digests, [0xb, 0xb, 0xa, 0xc]);
    }

    #[test]
    fn reports_in_small_portions_are_one_batch() {
        let digest = |reports: u64| {
            let mut digest = Digest::default();
            (0..reports).for_each(|report| digest.add(&[(report % 3) as u8]));
            digest
        };
        let mut ledger = Ledger::default();
        for name in ["first", "second"] {
            ledger.enter_reports(&file(name), digest(3)).unwrap();
        }
        assert_eq!(ledger.batches(), [Batch::of_reports(&digest(6))]);
        ledger.enter_reports(&file("many"), digest(3000)).unwrap();
        assert!(matches!(
            ledger.enter_reports(&file("again"), digest(3000)),
            Err(Error::Overlap { reports: 3000, .. })
        ));
    }

    #[test]
    fn a_digest_has_32_digits() {
        let text = r#"{"n":7,"digest":"0000000000000000000000000000000b"}"#;
        assert_eq!(serde_json::from_str::<Batch>(text).unwrap(), batch(0xb, 7));
        assert_eq!(serde_json::to_string(&batch(0xb, 7)).unwrap(), text);
        for other in ["", "b", "000000000000000000000000000000b", "0000000000000000000000000000000B"] {
            let text = text.replace("0000000000000000000000000000000b", other);
            assert!(serde_json::from_str::<Batch>(&text).is_err(), "{text}");
        }
        assert!(serde_json::from_str::<Batch>(&text.replace("\"000", "\"+00")).is_err());
    }

    #[test]
    fn counts_are_known_in_any_order() {
        let grr = Protocol::grr(3, 1.0).unwrap();
        let batch = |counts: &[(usize, u64)]| {
            let counts = counts.iter().map(|(y, count)| (Output::Index(*y), *count));
            Batch::of_counts(&Reports::Tallies(Tallies::new(&grr, counts.collect::<Vec<_>>()).unwrap()))
        };
        assert_eq!(batch(&[(0, 4), (2, 1)]), batch(&[(2, 1), (1, 0), (0, 4)]));
        assert_ne!(batch(&[(0, 4), (2, 1)]), batch(&[(0, 1), (2, 4)]));
        assert_eq!(batch(&[(0, 4), (2, 1)]).n, 5);
    }
}
