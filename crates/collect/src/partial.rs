//! A part of a tally as a value: what one worker has counted, to be sent to others and added up there, in any order.
//!
//! Where reports lie on many machines, each counts what it has, and the parts are merged in whichever order they arrive. Merging is commutative
//! and associative down to the [bytes](PartialTally::to_bytes): the same parts give the same bytes in any tree.
//!
//! That a file was counted once, and all of it, is seen by *where* the reports were. A part that knows the file and the rows that it has
//! counted keeps them as segments, each with the [digest](crate::digest) of its reports:
//!
//! ```text
//! (file, first row, rows, reports, digest)        [0, 500) and [500, 900)  →  [0, 900),   D(left right) = D(left) · 256^|right| + D(right)
//! ```
//!
//! Segments that touch become one, so a complete file is one segment, whose digest is that of the file as one machine counts it. Segments that
//! overlap are refused, for these rows would be counted twice; so are gaps when the tally is [finished](PartialTally::finish), for a part got lost.
//!
//! A part that does not know where its reports were is merged as well, but nothing can be said about what it has counted: the whole tally is then
//! known by its counts alone, as tallies of other programs are (see [`crate::ledger`]).

use std::collections::BTreeMap;

use sottovoce::Protocol;

use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::files::inputs::Input;
use crate::files::parquet_reports::ParquetReports;
use crate::files::report_footer::ReportFooter;
use crate::ledger::{Batch, Ledger};
use crate::rejection::Reason;
use crate::tally::{Form, Tally};

/// What a part has counted: reports of one protocol, and where they were.
#[derive(Clone, Debug)]
pub struct PartialTally {
    /// The fingerprint of the protocol.
    pub(crate) fingerprint: String,
    /// The counts. Its ledger is empty.
    pub(crate) tally: Tally,
    pub(crate) files: BTreeMap<String, Segments>,
    /// What was counted before, elsewhere.
    pub(crate) batches: Vec<Batch>,
}

/// Where reports were: a file by its name, and the first of their rows, from 0.
#[derive(Clone, Copy, Debug)]
pub struct Place<'n> {
    /// The name, the same for all parts of the file.
    pub file: &'n str,
    /// The number of rows before them.
    pub first: u64,
}

/// The rows of a file that were counted, by the first of each run of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segments(pub(crate) BTreeMap<u64, Segment>);

/// Rows one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// How many, with those that hold no report.
    pub(crate) rows: u64,
    /// The digest of their reports.
    pub(crate) digest: Digest,
}

impl Segments {
    /// The first row that these and a segment have in common.
    fn shared(&self, first: u64, rows: u64) -> Option<u64> {
        let before = self.0.range(..=first).next_back();
        match before.filter(|(start, segment)| **start + segment.rows > first) {
            Some(_) => Some(first),
            None => {
                self.0.range(first..).next().map(|(start, _)| *start).filter(|start| *start < first + rows)
            }
        }
    }

    /// Enters a segment that has no row in common with these, and joins it to those that it touches.
    fn enter(&mut self, mut first: u64, mut segment: Segment) {
        let before = self.0.range(..first).next_back().map(|(start, segment)| (*start, *segment));
        if let Some((start, before)) = before.filter(|(start, before)| start + before.rows == first) {
            segment = before.followed_by(segment);
            first = start;
        }
        if let Some(after) = self.0.remove(&(first + segment.rows)) {
            segment = segment.followed_by(after);
        }
        self.0.insert(first, segment);
    }

    /// How many reports they have.
    pub(crate) fn reports(&self) -> u64 {
        self.0.values().map(|segment| segment.digest.reports()).sum()
    }

    /// The digest of the file if all of its rows were counted, so many if that is known; else the first row that was not.
    fn whole(&self, rows: Option<u64>) -> Result<Digest, u64> {
        let Some((first, segment)) = self.0.first_key_value() else {
            return if rows.is_none_or(|rows| rows == 0) { Ok(Digest::default()) } else { Err(0) };
        };
        match (first, self.0.len()) {
            (0, 1) if rows.is_none_or(|rows| rows == segment.rows) => Ok(segment.digest),
            (0, _) => Err(segment.rows.min(rows.unwrap_or(u64::MAX))),
            _ => Err(0),
        }
    }
}

impl Segment {
    fn followed_by(mut self, next: Segment) -> Segment {
        self.rows += next.rows;
        self.digest.append(next.digest);
        self
    }
}

impl PartialTally {
    /// No reports of the protocol with this fingerprint yet.
    pub fn new(protocol: &Protocol, fingerprint: &str, form: Form) -> Self {
        PartialTally::of(Tally::new(protocol, form), fingerprint)
    }

    /// What was counted elsewhere, by the batches that are known of it.
    pub fn of(mut tally: Tally, fingerprint: &str) -> Self {
        let batches = std::mem::take(&mut tally.ledger).batches();
        PartialTally { fingerprint: fingerprint.to_owned(), tally, files: BTreeMap::new(), batches }
    }

    /// Counts rows that follow one another: `report(row, bytes)` writes the bytes of a report, or says why there is none. Rejected rows are counted
    /// by their reasons.
    ///
    /// # Errors
    /// One of the rows was counted already, or there are too many reports. Then nothing is counted.
    pub fn update(
        &mut self,
        place: Option<Place<'_>>,
        rows: usize,
        report: impl Fn(usize, &mut [u8]) -> Result<(), Reason>,
    ) -> Result<()> {
        let total = self.tally.n.checked_add(rows as u64).filter(|n| *n <= MAX_REPORTS);
        total.ok_or(sottovoce::Error::TooManyReports)?;
        if let Some(Place { file, first }) = place {
            first.checked_add(rows as u64).ok_or(sottovoce::Error::TooManyReports)?;
            self.refuse_shared(file, first, rows as u64)?;
        }
        let digest = self.count(rows, report);
        if let Some(place) = place {
            self.enter(place, Segment { rows: rows as u64, digest });
        }
        Ok(())
    }

    /// Counts a group of rows of a Parquet file, which the parts know by this name.
    ///
    /// # Errors
    /// One of the rows was counted already, there are too many reports, or the file cannot be read. Then nothing is counted.
    pub fn add_group(&mut self, name: &str, reports: &ParquetReports, group: usize) -> Result<()> {
        let (first, rows) = (reports.starts()[group], reports.group_rows(group));
        self.tally
            .n
            .checked_add(rows)
            .filter(|n| *n <= MAX_REPORTS)
            .ok_or(sottovoce::Error::TooManyReports)?;
        self.refuse_shared(name, first, rows)?;
        let (mut counted, digest) = reports.tally_group(group, self.tally.plan())?;
        // Examples name a file by its place among inputs, of which a part knows nothing.
        counted.rejections.examples.clear();
        self.enter(Place { file: name, first }, Segment { rows, digest });
        self.tally.merge(counted);
        Ok(())
    }

    fn enter(&mut self, Place { file, first }: Place<'_>, segment: Segment) {
        if segment.rows == 0 {
            return;
        }
        match self.files.get_mut(file) {
            Some(segments) => segments.enter(first, segment),
            None => self.files.entry(file.to_owned()).or_default().enter(first, segment),
        }
    }

    fn count(&mut self, rows: usize, report: impl Fn(usize, &mut [u8]) -> Result<(), Reason>) -> Digest {
        let (mut digest, mut bytes) = (Digest::default(), vec![0; self.tally.layout().length()]);
        for row in 0..rows {
            match report(row, &mut bytes).and_then(|()| self.tally.add_report(&bytes)) {
                Ok(()) => digest.add(&bytes),
                Err(reason) => self.tally.rejections.add_counts([(reason, 1)].into()),
            }
        }
        digest
    }

    fn refuse_shared(&self, file: &str, first: u64, rows: u64) -> Result<()> {
        match self.files.get(file).filter(|_| rows > 0).and_then(|segments| segments.shared(first, rows)) {
            Some(row) => Err(Error::RowTwice { file: shown(file), row: row.saturating_add(1) }),
            None => Ok(()),
        }
    }

    /// Says that reports follow from a test seed.
    pub fn mark_insecure(&mut self) {
        self.tally.insecure = true;
    }

    /// Adds what another part has counted.
    ///
    /// # Errors
    /// It is of another protocol or of another form, both have counted the same rows, or there are too many reports. Then nothing is added.
    pub fn merge(&mut self, other: PartialTally) -> Result<()> {
        if self.fingerprint != other.fingerprint {
            return Err(PartialProblem::Protocol.into());
        }
        if self.tally.plan() != other.tally.plan() {
            return Err(PartialProblem::Form.into());
        }
        let total = self.tally.n.checked_add(other.tally.n).filter(|n| *n <= MAX_REPORTS);
        total.ok_or(sottovoce::Error::TooManyReports)?;
        for (file, segments) in &other.files {
            segments.0.iter().try_for_each(|(first, next)| self.refuse_shared(file, *first, next.rows))?;
        }
        for (file, segments) in other.files {
            let own = self.files.entry(file).or_default();
            segments.0.into_iter().for_each(|(first, segment)| own.enter(first, segment));
        }
        self.tally.insecure |= other.tally.insecure;
        self.batches.extend(other.batches);
        self.tally.merge(other.tally);
        Ok(())
    }

    /// Forgets where the reports were. The tally is then known by its counts.
    pub fn forget_places(&mut self) {
        self.files.clear();
        self.batches.clear();
    }

    /// Whether all rows of every file that some are of were counted. `rows` says how many a file has.
    pub fn is_whole(&self, rows: impl Fn(&str) -> Option<u64>) -> bool {
        self.files
            .iter()
            .all(|(file, segments)| rows(file).is_some_and(|rows| segments.whole(Some(rows)).is_ok()))
    }

    /// The form of tallies that is wanted.
    pub fn form(&self) -> Form {
        self.tally.plan().form
    }

    /// The number of reports.
    pub fn n(&self) -> u64 {
        self.tally.n
    }

    /// The counts: without what is known of where they are from.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// How many of the reports came from nobody knows where.
    pub fn unplaced(&self) -> u64 {
        let placed: u64 = self.files.values().map(Segments::reports).sum();
        // A file that was counted with copies allowed may have batches twice, but never more reports in them than there are.
        self.tally.n - placed - self.batches.iter().map(|batch| batch.n).sum::<u64>()
    }

    /// Checks that a file was counted as a whole, and that it has the reports that its footer tells of.
    ///
    /// # Errors
    /// Rows were not counted, or the reports are not those.
    pub fn check_file(&self, file: &str, rows: u64, footer: &ReportFooter) -> Result<()> {
        let nothing = Segments::default();
        let whole = self.files.get(file).unwrap_or(&nothing).whole(Some(rows));
        footer.check(&Input::File(file.into()), whole.map_err(|row| missing(file, row))?).map(drop)
    }

    /// The tally, with its ledger: each file is a batch.
    ///
    /// # Errors
    /// Rows between others were not counted, or files have reports in common and copies are not allowed.
    pub fn finish(self, allow_copies: bool) -> Result<Tally> {
        let unplaced = self.unplaced();
        let PartialTally { mut tally, files, batches, .. } = self;
        let mut known = Ledger::new(allow_copies);
        for (file, segments) in &files {
            let digest = segments.whole(None).map_err(|row| missing(file, row))?;
            known.enter(&Input::File(file.into()), [Batch::of_reports(&digest)])?;
        }
        batches.into_iter().try_for_each(|batch| known.enter(&Input::File("tallies".into()), [batch]))?;
        if unplaced > 0 {
            known = Ledger::new(allow_copies);
            known.enter(&Input::File("reports".into()), [Batch::of_tally(&tally)])?;
        }
        tally.ledger = known;
        Ok(tally)
    }
}

/// Most reports: sums of counts need no checks below it.
pub(crate) const MAX_REPORTS: u64 = i64::MAX as u64;

fn missing(file: &str, row: u64) -> Error {
    Error::RowMissing { file: shown(file), row: row.saturating_add(1) }
}

/// A file's name as a message may quote it.
fn shown(file: &str) -> String {
    Input::File(file.into()).to_string()
}

/// Why bytes or parts cannot be added to a part of a tally.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartialProblem {
    /// Other bytes.
    #[error("these bytes are no part of a tally")]
    Format,
    /// A version that does not exist yet.
    #[error(
        "this part of a tally is in version {version} of its format; this program reads versions up to {}",
        crate::partial_bytes::VERSION
    )]
    Version {
        /// The version.
        version: u8,
    },
    /// Bytes that are not those that were written.
    #[error("this part of a tally is incomplete or was changed")]
    Damaged,
    /// Another fingerprint.
    #[error("this part of a tally is of another protocol, or of one with other labels")]
    Protocol,
    /// Another form, or another limit of patterns.
    #[error("the parts of the tally keep different things of the reports; ask all workers for the same form")]
    Form,
}
