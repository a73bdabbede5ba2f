//! The collection in small: everybody's answer becomes a report, and the reports become tallies.
//!
//! The same randomiser and the same tallies file as in a real collection, but for the key: here it follows from a seed that everybody knows.

use std::collections::BTreeMap;

use sottovoce::estimate::Reports;
use sottovoce::{Output, Tallies};
use sottovoce_collect::randomise::{Batches, Randomiser, Randomness};
use sottovoce_collect::{Form, Tally, write_tallies};

use super::EDUCATION;
use crate::collection::Identified;
use crate::error::Result;

/// What everybody sent.
#[derive(Clone, Debug)]
pub(super) struct Collection {
    /// The true answer of each person.
    pub answers: Vec<usize>,
    /// The report of each person.
    pub reports: Vec<Output>,
    /// The tallies, as in a file.
    pub tallies: String,
    /// How many different reports there are among them.
    pub different: usize,
    /// The LDP level of the reports as they are really drawn.
    pub realised_level: f64,
}

/// Randomises everybody's answer and counts the reports.
pub(super) fn collect(protocol: &Identified, seed: u64) -> Result<Collection> {
    let randomiser = Randomiser::new(&protocol.named.protocol)?;
    let answers: Vec<usize> =
        EDUCATION.iter().enumerate().flat_map(|(x, (_, count))| vec![x; *count as usize]).collect();
    let bytes = Batches::new(&randomiser, Randomness::InsecureTestSeed(seed)).reports(&answers)?;
    let layout = randomiser.layout();
    let reports: Vec<Output> =
        bytes.chunks_exact(layout.length()).map(|report| layout.output(report)).collect();
    let mut counts: BTreeMap<Output, u64> = BTreeMap::new();
    for report in &reports {
        *counts.entry(report.clone()).or_default() += 1;
    }
    Ok(Collection {
        different: counts.len(),
        tallies: tallies(protocol, counts)?,
        realised_level: randomiser.realised().loss.level(),
        answers,
        reports,
    })
}

/// The text of the tallies file.
fn tallies(protocol: &Identified, counts: BTreeMap<Output, u64>) -> Result<String> {
    let counts = Tallies::new(&protocol.named.protocol, counts)?;
    let mut tally = Tally::new(&protocol.named.protocol, Form::Patterns);
    tally.add_reports(&Reports::Tallies(counts))?;
    let mut text = Vec::new();
    // Unwrap safety: memory takes all that is written, and JSON is text.
    write_tallies(&tally, &protocol.identity, &mut text).unwrap();
    Ok(String::from_utf8(text).unwrap())
}
