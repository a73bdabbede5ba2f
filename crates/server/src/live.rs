//! The tallies of everything that was taken, always at hand: counted again from the store at the start, and then with each report that is durable.
//!
//! Several processes that share a store each count only what they are told; there the tallies are counted anew from the store when somebody asks, and not more
//! often than that costs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use sottovoce_collect::{Form, Layout, TalliesFile, Tally, write_tallies};

use crate::served::{Asked, Served};
use crate::store::{Forgotten, Found, Outcome, Place, Result, Row, Store, StoreProblem, Visit};

/// Counting anew may take this part of the time.
const SHARE_OF_TIME: u32 = 10;

/// Tallies in memory.
pub struct Live {
    served: Arc<Served>,
    shared: bool,
    tallies: Mutex<Counted>,
    /// Held by who counts anew: of two counts at once the older one might be done last.
    turn: Mutex<()>,
}

struct Counted {
    tallies: Vec<Tally>,
    /// When they were counted anew, and how long that took.
    begun: Instant,
    at: Instant,
    took: Duration,
}

impl Counted {
    /// Counts everything in a store.
    fn anew(served: &Served, store: &dyn Store) -> Result<Self> {
        let begun = Instant::now();
        let tallies = count(served, store)?;
        Ok(Counted { tallies, begun, at: Instant::now(), took: begun.elapsed() })
    }
}

fn broken(what: &str) -> StoreProblem {
    StoreProblem::Failed { reason: what.to_owned() }
}

/// The tallies of a text that was kept.
fn read(served: &Served, tallies: &BTreeMap<Place, String>) -> Result<Vec<Tally>> {
    let read = |(place, asked): (Place, &Asked)| {
        let protocol = &asked.protocol.named.protocol;
        let mut tally = Tally::new(protocol, Form::Automatic);
        if let Some(text) = tallies.get(&place) {
            let file = TalliesFile::read(text.clone());
            let reports = file.and_then(|file| file.reports(protocol));
            let added = reports.and_then(|reports| tally.add_reports(&reports));
            added.map_err(|_| broken("its tallies cannot be read"))?;
        }
        Ok(tally)
    };
    served.places().map(read).collect()
}

/// Tallies as text, in the order of the collections.
fn written(served: &Served, tallies: &[Tally]) -> Result<Vec<String>> {
    let write = |(asked, tally): (&Asked, &Tally)| {
        let mut text = Vec::new();
        write_tallies(tally, &asked.protocol.identity, &mut text)
            .map_err(|error| StoreProblem::Failed { reason: error.to_string() })?;
        String::from_utf8(text).map_err(|_| broken("tallies are not text"))
    };
    served.collections.iter().zip(tallies).map(write).collect()
}

/// Counts everything in a store.
fn count(served: &Served, store: &dyn Store) -> Result<Vec<Tally>> {
    let grouped = |asked: &Asked| store.is_shared() && matches!(asked.layout, Layout::Number { .. });
    let visits = served.places().map(|(collection, asked)| Visit { collection, grouped: grouped(asked) });
    let mut tallies = Vec::new();
    store.visit(&visits.collect::<Vec<_>>(), &mut |found| match found {
        Found::Tallies(forgotten) => {
            tallies = read(served, forgotten)?;
            Ok(())
        }
        Found::Report { collection, report, count } => {
            let tally = &mut tallies[usize::from(collection)];
            let added = (0..count).try_for_each(|_| tally.add_report(report));
            added.map_err(|_| broken("it has a row that is no report"))
        }
    })?;
    Ok(tallies)
}

impl Live {
    /// Counts what is in the store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn new(served: Arc<Served>, store: &dyn Store) -> Result<Self> {
        let tallies = Mutex::new(Counted::anew(&served, store)?);
        Ok(Live { served, shared: store.is_shared(), tallies, turn: Mutex::new(()) })
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        // Unwrap safety: nothing panics while it holds the lock.
        self.tallies.lock().unwrap()
    }

    /// Counts those rows that are new.
    pub fn add(&self, rows: &[Row], outcomes: &[Outcome]) {
        if self.shared {
            return;
        }
        let mut counted = self.counted();
        for (row, outcome) in rows.iter().zip(outcomes) {
            if *outcome == Outcome::New {
                // The report was checked when it came.
                let _ = counted.tallies[usize::from(row.collection)].add_report(&row.report);
            }
        }
    }

    /// How long nobody should count anew: only if others write to the store too, and then until enough time has gone by.
    pub fn rest(&self) -> Option<Duration> {
        let counted = self.counted();
        self.shared.then(|| (counted.took * SHARE_OF_TIME).saturating_sub(counted.at.elapsed()))
    }

    /// Counts anew if others write to the store too.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn refresh(&self, store: &dyn Store) -> Result {
        if !self.shared {
            return Ok(());
        }
        let asked = Instant::now();
        // Unwrap safety: as above.
        let _turn = self.turn.lock().unwrap();
        // Who had the turn may have begun after this was asked.
        if self.counted().begun < asked {
            let counted = Counted::anew(&self.served, store)?;
            *self.counted() = counted;
        }
        Ok(())
    }

    /// How many reports each collection has.
    pub fn numbers(&self) -> Vec<u64> {
        self.counted().tallies.iter().map(|tally| tally.n).collect()
    }

    /// The tallies of all collections, as texts, with the numbers of their reports.
    ///
    /// # Errors
    /// They are too long for a file.
    pub fn texts(&self) -> Result<(Vec<u64>, Vec<String>)> {
        // Writing takes longer than copying, and reports must not wait for it.
        let tallies = self.counted().tallies.clone();
        let numbers = tallies.iter().map(|tally| tally.n).collect();
        Ok((numbers, written(&self.served, &tallies)?))
    }

    /// Counts reports that are about to be forgotten.
    pub fn forgotten(&self) -> impl Forgotten + use<> {
        ToForget { served: self.served.clone(), tallies: Vec::new() }
    }
}

struct ToForget {
    served: Arc<Served>,
    tallies: Vec<Tally>,
}

impl Forgotten for ToForget {
    fn begin(&mut self, tallies: &BTreeMap<Place, String>) -> Result {
        self.tallies = read(&self.served, tallies)?;
        Ok(())
    }

    fn add(&mut self, collection: Place, report: &[u8]) -> Result {
        let tally = self.tallies.get_mut(usize::from(collection));
        let tally = tally.ok_or_else(|| broken("it has a collection that the study has not"))?;
        tally.add_report(report).map_err(|_| broken("it has a row that is no report"))
    }

    fn finish(&mut self) -> Result<BTreeMap<Place, String>> {
        Ok((0..).zip(written(&self.served, &self.tallies)?).collect())
    }
}
