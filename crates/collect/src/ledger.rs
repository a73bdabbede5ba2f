//! What a tally has counted, batch by batch, so that nothing is counted twice.
//!
//! A batch is what came from one file. Of reports it is known by their [digest](crate::digest), which does not depend on how the file was
//! written or compressed; so a copy is known as one, and so is a day that is already in its week. Tallies that do not say what they
//! counted are a batch of their own, known by their counts.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use sottovoce::estimate::Reports;

use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::files::inputs::Input;
use crate::header::hexadecimal;

/// Reports that were counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// How many.
    pub n: u64,
    /// What they are known by, in hexadecimal.
    pub digest: String,
    /// What the digest is of.
    #[serde(default, skip_serializing_if = "Of::is_reports")]
    pub of: Of,
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
        Batch { n: digest.reports(), digest: digest.to_string(), of: Of::Reports }
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
        let mut hash = Sha256::new_with_prefix(format!("{n}\n"));
        lines.iter().for_each(|line| hash.update(line));
        Batch { n, digest: hexadecimal(&hash.finalize()[..16]), of: Of::Counts }
    }
}

/// The batches of a tally.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Whether a batch may be there twice.
    pub allow_copies: bool,
    batches: Vec<Batch>,
    owners: HashMap<Batch, String>,
}

impl Ledger {
    /// Enters the batches of a file. Batches without reports are left out.
    ///
    /// # Errors
    /// [`Error::Overlap`] if another file has one of them, unless copies are allowed.
    pub fn enter(&mut self, file: &Input, batches: impl IntoIterator<Item = Batch>) -> Result<()> {
        let name = file.to_string();
        let (mut first, mut shared) = (None, 0u64);
        for batch in batches.into_iter().filter(|batch| batch.n > 0) {
            match self.owners.entry(batch.clone()) {
                Entry::Vacant(place) => drop(place.insert(name.clone())),
                // A file that was made with copies allowed has a batch twice by itself.
                Entry::Occupied(owner) if *owner.get() == name => {}
                Entry::Occupied(owner) => {
                    first.get_or_insert_with(|| owner.get().clone());
                    shared = shared.saturating_add(batch.n);
                }
            }
            self.batches.push(batch);
        }
        match first.filter(|_| !self.allow_copies) {
            Some(first) => Err(Error::Overlap { first, second: name, reports: shared }),
            None => Ok(()),
        }
    }

    /// All batches, sorted.
    pub fn batches(&self) -> Vec<&Batch> {
        let mut all: Vec<&Batch> = self.batches.iter().collect();
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use sottovoce::{Output, Protocol, Tallies};

    use super::*;

    fn batch(digest: &str, n: u64) -> Batch {
        Batch { n, digest: digest.into(), of: Of::Reports }
    }

    fn file(name: &str) -> Input {
        Input::File(name.into())
    }

    #[test]
    fn a_batch_of_two_files_is_refused_unless_allowed() {
        let mut ledger = Ledger::default();
        ledger.enter(&file("week"), [batch("a", 7), batch("b", 5), batch("0", 0)]).unwrap();
        ledger.enter(&file("day"), [batch("c", 7), batch("0", 0)]).unwrap();
        let refused = ledger.clone().enter(&file("again"), [batch("d", 1), batch("b", 5)]).unwrap_err();
        assert!(
            matches!(&refused, Error::Overlap { first, second, reports: 5 } if first == "week" && second == "again")
        );
        ledger.allow_copies = true;
        ledger.enter(&file("again"), [batch("b", 5)]).unwrap();
        let digests: Vec<&str> = ledger.batches().iter().map(|batch| batch.digest.as_str()).collect();
        assert_eq!(digests, ["b", "b", "a", "c"]);
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
