//! Where reports are kept: a small trait, and its stores.
//!
//! A store keeps for each report its collection, a key and its bytes; nothing says when it came or from whom. The key is a hash of the report's id under a secret of
//! the store, so that rows sorted by key have no order of arrival even if a client counts its ids upwards, and that a stolen store has no ids in it.
//!
//! | file | what |
//! |---|---|
//! | `sqlite.rs` | a file in a directory, for one process |
//! | `postgres.rs` | a database, for several processes side by side |

mod postgres;
mod sqlite;

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use thiserror::Error;

pub use postgres::Postgres;
pub use sqlite::Sqlite;

/// The number of a collection in its study.
pub type Place = u16;

/// What a row is found by: a hash of the id of its report.
pub type Key = [u8; 16];

/// A report to be kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Its collection.
    pub collection: Place,
    /// The hash of its id.
    pub key: Key,
    /// Its bytes.
    pub report: Vec<u8>,
}

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is new, and kept.
    New,
    /// The same report is there already, or was before reports were forgotten.
    Repeated,
    /// Another report with its id is there.
    Conflict,
}

/// Why a store did nothing.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum StoreProblem {
    /// The study is closed.
    #[error("the study is closed")]
    Closed,
    /// The reports in the store are those of another study.
    #[error("{place} has the reports of another study; give each study a place of its own")]
    OtherStudy {
        /// The store.
        place: String,
    },
    /// Another service uses the same files.
    #[error("{place} is in use by another service")]
    InUse {
        /// The directory.
        place: String,
    },
    /// A file of reports would have too few of them.
    #[error(
        "{place} has only the tallies of reports that were forgotten; a running service gives them at /v1/collections/NAME/tallies"
    )]
    Forgotten {
        /// The store.
        place: String,
    },
    /// There is no store.
    #[error("{place} has no reports of any study")]
    Missing {
        /// Where it should be.
        place: String,
    },
    /// Others read what is to be written anew, or written over.
    #[error("the store is being read; try again when that is done")]
    Busy,
    /// The address of a database cannot be used.
    #[error("the address of the database cannot be used: {reason}")]
    Address {
        /// Why not.
        reason: String,
    },
    /// The disk is full, the database does not answer, or something else failed.
    #[error("the store failed: {reason}")]
    Failed {
        /// What the system or the database said.
        reason: String,
    },
}

/// What a store answers.
pub type Result<T = ()> = std::result::Result<T, StoreProblem>;

/// What a store remembers of its study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The secret under which ids are hashed.
    pub secret: [u8; 32],
    /// Whether reports are no longer taken.
    pub closed: bool,
    /// How many reports were refused, by reason.
    pub refused: BTreeMap<String, u64>,
    /// The tallies of the reports that were forgotten, by collection.
    pub tallies: BTreeMap<Place, String>,
}

impl State {
    /// The key of a report with this id.
    pub fn key(&self, collection: Place, id: &[u8; 16]) -> Key {
        let hash = Sha256::new().chain_update(self.secret).chain_update(collection.to_le_bytes());
        let hash = hash.chain_update(id).finalize();
        std::array::from_fn(|at| hash[at])
    }
}

/// What a visitor of a store is shown.
#[derive(Clone, Copy, Debug)]
pub enum Found<'f> {
    /// First, and once: the tallies of the reports that were forgotten, by collection.
    Tallies(&'f BTreeMap<Place, String>),
    /// A report, and how often it is there.
    Report {
        /// Its collection.
        collection: Place,
        /// Its bytes.
        report: &'f [u8],
        /// How often it was made.
        count: u64,
    },
}

/// A collection that is to be visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Which it is.
    pub collection: Place,
    /// Whether each different report is shown once, with how often it was made, instead of all of them in the order of their keys.
    pub grouped: bool,
}

/// A place where reports are kept.
pub trait Store: Send + Sync {
    /// What it is called in messages.
    fn place(&self) -> String;

    /// Whether other processes may write to it too.
    fn is_shared(&self) -> bool;

    /// What it remembers of its study.
    ///
    /// # Errors
    /// The store cannot be read.
    fn state(&self) -> Result<State>;

    /// The one that writes in this process.
    ///
    /// # Errors
    /// The store cannot be opened.
    fn writer(&self) -> Result<Box<dyn Writer>>;

    /// Shows what was forgotten and what was not, all of it as it was at one moment: a report is in the tallies or in a row, never in both or in neither.
    ///
    /// # Errors
    /// The store cannot be read, or the visitor fails.
    fn visit(&self, visits: &[Visit], show: &mut dyn FnMut(Found<'_>) -> Result) -> Result;
}

/// Tallies to which forgotten reports are added.
pub trait Forgotten {
    /// Begins with what was forgotten before.
    ///
    /// # Errors
    /// The tallies cannot be read.
    fn begin(&mut self, tallies: &BTreeMap<Place, String>) -> Result;
    /// Counts a report.
    ///
    /// # Errors
    /// The bytes are no report of the collection.
    fn add(&mut self, collection: Place, report: &[u8]) -> Result;
    /// The tallies of all of them.
    ///
    /// # Errors
    /// They cannot be written.
    fn finish(&mut self) -> Result<BTreeMap<Place, String>>;
}

/// Writes to a store. After an error the writer may be used again: it tries anew.
pub trait Writer: Send {
    /// Keeps reports durably, all in one transaction, and says what became of each. Rows must be sorted by collection and key; of several with one key the first counts.
    ///
    /// # Errors
    /// The study is closed or the store fails. Then nothing was kept, or the answer is unknown; who asks again with the same rows finds out.
    fn insert(&mut self, rows: &[Row]) -> Result<Vec<Outcome>>;

    /// Adds to the numbers of refused reports.
    ///
    /// # Errors
    /// The store fails.
    fn refuse(&mut self, counts: &BTreeMap<&'static str, u64>) -> Result;

    /// Takes no more reports, from now on and in every process.
    ///
    /// # Errors
    /// The store fails.
    fn close(&mut self) -> Result;

    /// Replaces all reports by their tallies; keys stay, so that repetitions are still recognised.
    ///
    /// # Errors
    /// The store fails; then all reports are still there.
    fn forget(&mut self, forgotten: &mut dyn Forgotten) -> Result;

    /// Writes something durably that says nothing, to find out whether the store works.
    ///
    /// # Errors
    /// It does not.
    fn probe(&mut self) -> Result;

    /// Called when nothing has come for a while.
    ///
    /// # Errors
    /// The store fails.
    fn rest(&mut self) -> Result;

    /// Leaves no trace of the order in which reports came: on closing, and when the service ends.
    ///
    /// # Errors
    /// The store fails; what is kept is not affected.
    fn compact(&mut self) -> Result;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(collection: Place, key: u8, report: u8) -> Row {
        Row { collection, key: [key; 16], report: vec![report] }
    }

    fn reports(store: &dyn Store, grouped: bool) -> Vec<(Vec<u8>, u64)> {
        let mut found = Vec::new();
        store
            .visit(&[Visit { collection: 0, grouped }], &mut |shown| {
                if let Found::Report { report, count, .. } = shown {
                    found.push((report.to_vec(), count));
                }
                Ok(())
            })
            .unwrap();
        found
    }

    struct Sum(BTreeMap<Place, u64>);

    impl Forgotten for Sum {
        fn begin(&mut self, tallies: &BTreeMap<Place, String>) -> Result {
            self.0 = tallies.iter().map(|(place, n)| (*place, n.parse().unwrap())).collect();
            Ok(())
        }

        fn add(&mut self, collection: Place, _: &[u8]) -> Result {
            *self.0.entry(collection).or_default() += 1;
            Ok(())
        }

        fn finish(&mut self) -> Result<BTreeMap<Place, String>> {
            Ok(self.0.iter().map(|(place, n)| (*place, n.to_string())).collect())
        }
    }

    #[test]
    fn a_directory_keeps_each_report_once() {
        let directory = tempfile::tempdir().unwrap();
        let open = |study| Sqlite::open(directory.path(), study);
        let store = open("one").unwrap();
        assert!(matches!(open("one"), Err(StoreProblem::InUse { .. })));
        let mut writer = store.writer().unwrap();
        use Outcome::{Conflict, New, Repeated};
        assert_eq!(writer.insert(&[row(0, 2, 7), row(0, 9, 5), row(1, 2, 7)]), Ok(vec![New; 3]));
        let again = [row(0, 1, 7), row(0, 2, 7), row(0, 9, 6)];
        assert_eq!(writer.insert(&again), Ok(vec![New, Repeated, Conflict]));
        assert_eq!(reports(&store, false), [(vec![7], 1), (vec![7], 1), (vec![5], 1)]);
        assert_eq!(reports(&store, true), [(vec![5], 1), (vec![7], 2)]);
        writer.refuse(&BTreeMap::from([("length", 3)])).unwrap();
        writer.refuse(&BTreeMap::from([("length", 1)])).unwrap();
        writer.close().unwrap();
        assert_eq!(writer.insert(&[row(0, 4, 1)]), Err(StoreProblem::Closed));
        let state = store.state().unwrap();
        assert_eq!((state.closed, state.refused), (true, BTreeMap::from([("length".into(), 4)])));
        drop((writer, store));
        assert!(matches!(open("two"), Err(StoreProblem::OtherStudy { .. })));
        assert_eq!(open("one").unwrap().state().unwrap().secret, state.secret);
    }

    #[test]
    fn what_is_forgotten_stays_counted_and_is_not_taken_again() {
        let directory = tempfile::tempdir().unwrap();
        let store = Sqlite::open(directory.path(), "one").unwrap();
        let mut writer = store.writer().unwrap();
        let mark = 0xa7;
        let rows: Vec<Row> = (0..200).map(|key| row(0, key, mark)).collect();
        writer.insert(&rows).unwrap();
        writer.forget(&mut Sum(BTreeMap::new())).unwrap();
        assert_eq!(reports(&store, false), []);
        assert_eq!(store.state().unwrap().tallies, BTreeMap::from([(0, "200".into())]));
        assert_eq!(writer.insert(&[row(0, 3, 1)]), Ok(vec![Outcome::Repeated]));
        writer.insert(&[row(0, 201, 1)]).unwrap();
        writer.forget(&mut Sum(BTreeMap::new())).unwrap();
        assert_eq!(store.state().unwrap().tallies, BTreeMap::from([(0, "201".into())]));
    }

    /// A log that somebody reads still has what was deleted.
    #[test]
    fn nothing_is_forgotten_while_it_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let store = Sqlite::open(directory.path(), "one").unwrap();
        let mut writer = store.writer().unwrap();
        writer.insert(&[row(0, 2, 7)]).unwrap();
        let read = store.visit(&[Visit { collection: 0, grouped: false }], &mut |found| {
            if matches!(found, Found::Report { .. }) {
                assert_eq!(writer.forget(&mut Sum(BTreeMap::new())), Err(StoreProblem::Busy));
                assert_eq!(writer.rest(), Err(StoreProblem::Busy));
            }
            Ok(())
        });
        assert_eq!((read, writer.rest()), (Ok(()), Ok(())));
        assert_eq!(fs_length(&directory.path().join("reports.sqlite-wal")), 0);
    }

    fn fs_length(file: &std::path::Path) -> u64 {
        std::fs::metadata(file).unwrap().len()
    }

    #[cfg(unix)]
    #[test]
    fn what_is_created_is_for_its_owner_alone() {
        use std::fs::{Permissions, metadata, set_permissions};
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let rights = |path: &std::path::Path| metadata(path).unwrap().permissions().mode() & 0o777;
        set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
        let inner = directory.path().join("inner");
        for place in [directory.path(), &inner] {
            let store = Sqlite::open(place, "one").unwrap();
            let mut writer = store.writer().unwrap();
            writer.insert(&[row(0, 2, 7)]).unwrap();
            for file in ["reports.sqlite", "reports.sqlite-wal", "lock.sqlite"] {
                assert_eq!(rights(&place.join(file)), 0o600, "{file}");
            }
        }
        assert_eq!((rights(directory.path()), rights(&inner)), (0o755, 0o700));
    }
}
