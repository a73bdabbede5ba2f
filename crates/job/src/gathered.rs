//! Collections of the same values that are analysed together: their tallies, read and checked against each other.

use std::path::Path;

use serde::Serialize;
use sottovoce::Protocol;
use sottovoce::estimate::{Combination, Reports};
use sottovoce_collect::files::inputs::Input;
use sottovoce_collect::{Batch, Error as CollectError, Ledger};

use crate::admission::{admit, protocol_bytes};
use crate::collection::{Collected, WrittenTallies};
use crate::error::{Error, Result};
use crate::source::{Source, Written};
use crate::spec::{NamedProtocol, PriorSpec, ProtocolKind, ProtocolSpec};

/// Collections of the same values, as one.
#[derive(Clone, Debug)]
pub(crate) struct Gathered {
    /// Their protocol, or the mixture of their protocols.
    pub named: NamedProtocol,
    /// Their reports.
    pub combination: Combination,
    /// Each of them.
    pub collections: Vec<Gathering>,
    batches: Vec<(Input, Vec<Batch>)>,
}

/// One of the collections that are analysed together.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Collection")]
pub struct Gathering {
    /// Where its tallies are.
    pub source: String,
    /// Its protocol.
    pub protocol: ProtocolSpec,
    /// The number of its reports.
    pub n: u64,
}

impl Gathered {
    /// The collections with these tallies. Without a protocol, each has the one that its tallies name.
    ///
    /// # Errors
    /// Tallies cannot be read or do not fit their protocol, they are about different values, or two have counted the same reports.
    pub(crate) fn read(
        tallies: &[WrittenTallies],
        protocol: Option<&Written<ProtocolSpec>>,
        filling: &PriorSpec,
    ) -> Result<Self> {
        let mut read: Vec<(NamedProtocol, Reports, Collected)> = Vec::new();
        for written in tallies {
            let collected = Collected::read(written)?;
            let named = collected.protocol(protocol)?.check(filling)?;
            admit(protocol_bytes(&named.protocol))?;
            let reports = collected.of(&named, |file| file.reports(&named.protocol))?;
            if let Some((first, _, other)) = read.first() {
                let places = [&other.source, &collected.source].map(ToString::to_string);
                refuse_other_values((first, &places[0]), (&named, &places[1]))?;
            }
            read.push((named, reports, collected));
        }
        let mut batches = Vec::new();
        for (_, _, collected) in &read {
            let in_file = |problem| Error::Tallies { source_name: collected.source.clone(), problem };
            let known = collected.file.batches().map_err(in_file)?.unwrap_or_default();
            batches.push((input(&collected.source), known));
        }
        refuse_copies(&read, &batches)?;
        let parts: Vec<(&Protocol, &Reports)> =
            read.iter().map(|(named, reports, _)| (&named.protocol, reports)).collect();
        let combination = Combination::new(&parts)?;
        let collections = read.iter().map(|(named, reports, collected)| Gathering {
            source: collected.source.to_string(),
            protocol: named.spec.clone(),
            n: reports.n(),
        });
        let collections = collections.collect();
        Ok(Gathered { named: together(&read, &combination), combination, collections, batches })
    }

    /// The names of the values.
    pub(crate) fn labels(&self) -> Vec<String> {
        (0..self.named.protocol.inputs()).map(|x| self.named.input(x)).collect()
    }

    /// Refuses another collection that is not about the same values, or that has counted some of the same reports: the two are to be
    /// compared, and must be independent.
    pub(crate) fn check_independent(&self, other: &Gathered) -> Result<()> {
        let place = |gathered: &Gathered| {
            gathered.collections.first().map(|first| first.source.clone()).unwrap_or_default()
        };
        refuse_other_values((&self.named, &place(self)), (&other.named, &place(other)))?;
        let mut ledger = Ledger::default();
        for (file, batches) in self.batches.iter().chain(&other.batches) {
            ledger.enter(file, batches.iter().copied()).map_err(overlap)?;
        }
        Ok(())
    }
}

/// The protocol of all collections with the names of its values.
fn together(read: &[(NamedProtocol, Reports, Collected)], combination: &Combination) -> NamedProtocol {
    let labels = read.iter().find_map(|(named, ..)| named.labels.clone());
    let of = |protocol: &Protocol| read.iter().find(|(named, ..)| named.protocol == *protocol);
    let specs: Vec<ProtocolSpec> = (combination.parts.iter())
        .filter_map(|(protocol, _)| of(protocol).map(|(named, ..)| named.spec.clone()))
        .collect();
    let n = combination.reports.n() as f64;
    let weights = combination.parts.iter().map(|(_, reports)| reports.n() as f64 / n).collect();
    let spec = match &specs[..] {
        [only] => only.clone(),
        _ => ProtocolSpec { kind: ProtocolKind::Mixture { weights, parts: specs }, labels: None },
    };
    NamedProtocol {
        spec: ProtocolSpec { labels: labels.clone(), ..spec },
        protocol: combination.protocol.clone(),
        labels,
    }
}

/// Refuses collections of the same protocol that have counted the same reports. Where tallies do not say what they counted, equal counts
/// are the same reports.
fn refuse_copies(
    read: &[(NamedProtocol, Reports, Collected)],
    batches: &[(Input, Vec<Batch>)],
) -> Result<()> {
    let mut ledgers: Vec<(&Protocol, Ledger)> = Vec::new();
    for ((named, reports, _), (file, known)) in read.iter().zip(batches) {
        let known = if known.is_empty() { vec![Batch::of_counts(reports)] } else { known.clone() };
        let found = ledgers.iter().position(|(protocol, _)| **protocol == named.protocol);
        let at = found.unwrap_or_else(|| {
            ledgers.push((&named.protocol, Ledger::default()));
            ledgers.len() - 1
        });
        ledgers[at].1.enter(file, known).map_err(overlap)?;
    }
    Ok(())
}

fn overlap(error: CollectError) -> Error {
    match error {
        CollectError::Overlap { first, second, reports } => Error::SameReports { first, second, reports },
        other => other.into(),
    }
}

fn input(source: &Source) -> Input {
    match source {
        Source::File(path) => Input::File(path.clone()),
        Source::StandardInput => Input::StandardInput,
        other => Input::File(other.to_string().into()),
    }
}

/// Labels that were left out agree with any.
fn refuse_other_values(first: (&NamedProtocol, &str), second: (&NamedProtocol, &str)) -> Result<()> {
    let [a, b] = [first, second].map(|(named, _)| named.protocol.inputs());
    let refused = |left: String, right: String| {
        Err(Error::OtherValues { first: first.1.to_owned(), second: second.1.to_owned(), left, right })
    };
    if a != b {
        return refused(format!("{a} values"), format!("{b} values"));
    }
    match (&first.0.labels, &second.0.labels) {
        (Some(left), Some(right)) => match left.iter().zip(right).find(|(l, r)| l != r) {
            Some((l, r)) => {
                refused(format!("`{}`", crate::spec::shown(l)), format!("`{}`", crate::spec::shown(r)))
            }
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// A file's name without folder and ending, as a name for a collection.
pub(crate) fn stem(tallies: &WrittenTallies) -> Option<String> {
    match tallies {
        WrittenTallies::File(path) | WrittenTallies::Path(path) => {
            Path::new(path).file_stem().map(|stem| stem.to_string_lossy().into_owned())
        }
        _ => None,
    }
}
