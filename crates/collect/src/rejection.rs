//! Rejected reports: counted by reason, with a few examples, and never counted as anything else.
//!
//! What a rejected report says goes into no message: a file of values is easily taken for one of reports, and messages end up in logs.

use std::collections::BTreeMap;

pub use sottovoce_client::Reason;

/// One rejected report.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Example {
    /// The file, by its place among the inputs.
    pub file: usize,
    /// Line of a text file or row of a Parquet file, from 1.
    pub line: u64,
    /// Why it was rejected.
    pub reason: Reason,
}

/// The rejected reports of a tally.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejections {
    /// How many, by reason.
    pub counts: BTreeMap<Reason, u64>,
    /// The first few, in the order of the inputs.
    pub examples: Vec<Example>,
}

/// So many examples are kept.
const EXAMPLES: usize = 5;

impl Rejections {
    /// How many reports were rejected.
    pub fn total(&self) -> u64 {
        self.counts.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    pub(crate) fn add(&mut self, file: usize, line: u64, reason: Reason) {
        *self.counts.entry(reason).or_default() += 1;
        let last = self.examples.last().map(|example| (example.file, example.line));
        if self.examples.len() < EXAMPLES || last > Some((file, line)) {
            self.examples.push(Example { file, line, reason });
            self.keep_first();
        }
    }

    /// Adds what was rejected before.
    pub fn add_counts(&mut self, counts: BTreeMap<Reason, u64>) {
        for (reason, count) in counts {
            let own = self.counts.entry(reason).or_default();
            *own = own.saturating_add(count);
        }
    }

    pub(crate) fn merge(&mut self, other: Rejections) {
        self.add_counts(other.counts);
        self.examples.extend(other.examples);
        self.keep_first();
    }

    fn keep_first(&mut self) {
        self.examples.sort();
        self.examples.truncate(EXAMPLES);
    }
}

/// Untrusted bytes as a message may quote them.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]);
    start.chars().filter(|c| !c.is_control()).take(40).collect()
}
