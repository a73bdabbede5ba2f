//! Tallying: from reports to how often each output was reported, on the aggregator's side.
//!
//! Memory grows with the number of *different* reports, not with their number. Reports of unary encoding, subset selection and local
//! hash are nearly all different, so they have two forms:
//!
//! - *patterns*: each different report with its count. This is all that the reports tell, and what the exact posterior needs.
//! - *supports*: for each input the number of reports whose set contains it (for local hash: whose bucket is its own), and `n`. Linear
//!   estimates of the frequencies need no more; which inputs were reported *together* is lost, and with it the exact posterior.
//!
//! By itself a tally keeps patterns as long as there are no more than [`MAX_PATTERNS`] (fewer if they are long), then supports. The choice
//! depends only on the reports, not on their order or their files, so tallies of shards, merged, are those of one pass.

use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hashbrown::HashTable;
use rayon::prelude::*;
use sottovoce::estimate::Reports;
use sottovoce::protocol::bucket;
use sottovoce::{Observer, Progress, Protocol};

use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::files::inputs::Input;
use crate::files::report_reader::ReportFile;
use crate::header::Identity;
use crate::layout::{Layout, members, number, put};
use crate::ledger::{Batch, Ledger};
use crate::rejection::{Example, Reason, Rejections};

/// Most different reports that are kept as patterns, unless patterns are asked for.
pub const MAX_PATTERNS: usize = 1 << 16;

/// Most bytes of them.
const MAX_PATTERN_BYTES: usize = 64 << 20;

/// The form of tallies that is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Patterns if there are few, supports otherwise.
    #[default]
    Automatic,
    /// Each different report with its count.
    Patterns,
    /// For each input the number of reports that support it.
    Supports,
}

/// The counts of a tally. They are equal if they say the same, in whichever order it was counted.
#[derive(Clone, Debug)]
pub enum Counts {
    /// How often each of a few numbered outputs was reported.
    Numbers(Vec<u64>),
    /// How often each different report was made.
    Patterns(Patterns),
    /// How many reports support each input.
    Supports(Supports),
}

impl PartialEq for Counts {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Counts::Numbers(own), Counts::Numbers(other)) => own == other,
            (Counts::Patterns(own), Counts::Patterns(other)) => own.sorted() == other.sorted(),
            (Counts::Supports(own), Counts::Supports(other)) => own.counts() == other.counts(),
            _ => false,
        }
    }
}

/// Different reports, as bytes, with their counts.
#[derive(Clone, Debug)]
pub struct Patterns {
    length: usize,
    bytes: Vec<u8>,
    counts: Vec<u64>,
    places: HashTable<u32>,
    /// Keyed at random: reports come from strangers, who could otherwise choose them to collide.
    hasher: RandomState,
}

impl Patterns {
    pub(crate) fn new(length: usize) -> Self {
        Patterns {
            length,
            bytes: Vec::new(),
            counts: Vec::new(),
            places: HashTable::new(),
            hasher: RandomState::new(),
        }
    }

    pub(crate) fn add(&mut self, report: &[u8], count: u64) {
        let Patterns { length, bytes, counts, places, hasher } = self;
        let pattern = |place: u32| &bytes[place as usize * *length..][..*length];
        let hash = hasher.hash_one(report);
        if let Some(place) = places.find(hash, |place| pattern(*place) == report) {
            counts[*place as usize] += count;
            return;
        }
        places.insert_unique(hash, counts.len() as u32, |place| hasher.hash_one(pattern(*place)));
        bytes.extend_from_slice(report);
        counts.push(count);
    }

    /// How many different reports there are.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether there is no report.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.bytes.chunks_exact(self.length).zip(self.counts.iter().copied())
    }

    /// The reports in ascending order of their bytes, with their counts.
    pub fn sorted(&self) -> Vec<(&[u8], u64)> {
        let mut all: Vec<(&[u8], u64)> = self.iter().collect();
        all.sort_unstable();
        all
    }
}

/// For each input the number of reports that support it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supports {
    counts: Vec<u64>,
    kind: SupportKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum SupportKind {
    /// Reports are sets. Each byte of a set is counted as a whole and taken apart at the end, where that takes little memory.
    Sets { bytes: Vec<u64> },
    /// Reports are buckets of hash functions.
    Hashes { buckets: usize },
}

/// Sets of more bytes are taken apart at once.
const MAX_COUNTED_BYTES: usize = 512;

impl Supports {
    /// No reports yet; `None` if reports of this layout support no inputs.
    fn new(layout: &Layout, inputs: usize) -> Option<Self> {
        let kind = match layout {
            Layout::Set { .. } => {
                let length = layout.length();
                SupportKind::Sets {
                    bytes: vec![0; if length <= MAX_COUNTED_BYTES { length << 8 } else { 0 }],
                }
            }
            Layout::Hash { buckets } => SupportKind::Hashes { buckets: *buckets as usize },
            _ => return None,
        };
        Some(Supports { counts: vec![0; inputs], kind })
    }

    /// What was counted before; `None` as for [`new`](Supports::new).
    pub(crate) fn counted(layout: &Layout, counts: Vec<u64>) -> Option<Self> {
        let supports = Supports::new(layout, 0)?;
        Some(Supports { counts, ..supports })
    }

    #[inline]
    fn add(&mut self, report: &[u8], count: u64) {
        match &mut self.kind {
            SupportKind::Sets { bytes } if !bytes.is_empty() => {
                for (histogram, byte) in bytes.as_chunks_mut::<256>().0.iter_mut().zip(report) {
                    histogram[usize::from(*byte)] += count;
                }
            }
            SupportKind::Sets { .. } => members(report).for_each(|x| self.counts[x] += count),
            SupportKind::Hashes { buckets } => {
                let (seed, z, g) = (number(&report[..8]), number(&report[8..]) as usize, *buckets);
                // A report takes a hash of every input: the longest loop of a tally.
                sottovoce::stop::check();
                for (x, support) in self.counts.iter_mut().enumerate() {
                    *support += if bucket(seed, x, g) == z { count } else { 0 };
                }
            }
        }
    }

    fn merge(&mut self, other: &Supports) {
        let add = |own: &mut [u64], other: &[u64]| own.iter_mut().zip(other).for_each(|(o, n)| *o += n);
        add(&mut self.counts, &other.counts);
        if let (SupportKind::Sets { bytes }, SupportKind::Sets { bytes: others }) =
            (&mut self.kind, &other.kind)
        {
            add(bytes, others);
        }
    }

    /// The number of reports that support each input.
    pub fn counts(&self) -> Vec<u64> {
        let mut counts = self.counts.clone();
        if let SupportKind::Sets { bytes } = &self.kind {
            for (at, histogram) in bytes.as_chunks::<256>().0.iter().enumerate() {
                for (byte, count) in (0..=u8::MAX).zip(histogram) {
                    // Bits beyond the last input are 0 in every report.
                    for bit in members(&[byte]) {
                        if let Some(support) = counts.get_mut(8 * at + bit) {
                            *support += count;
                        }
                    }
                }
            }
        }
        counts
    }
}

/// What is to be counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) layout: Layout,
    pub(crate) inputs: usize,
    pub(crate) form: Form,
    /// Most patterns before supports take over.
    pub(crate) limit: usize,
}

impl Plan {
    pub(crate) fn empty(&self) -> Counts {
        match (&self.layout, self.form) {
            (Layout::Number { outputs }, _) => Counts::Numbers(vec![0; *outputs as usize]),
            (layout, Form::Supports) => Supports::new(layout, self.inputs)
                .map_or_else(|| Counts::Patterns(Patterns::new(layout.length())), Counts::Supports),
            (layout, _) => Counts::Patterns(Patterns::new(layout.length())),
        }
    }

    /// Turns too many patterns into supports.
    fn settle(&self, counts: &mut Counts) {
        let Counts::Patterns(patterns) = counts else { return };
        if self.form != Form::Automatic || patterns.len() <= self.limit {
            return;
        }
        if let Some(supports) = Supports::new(&self.layout, self.inputs) {
            *counts = Counts::Supports(supported(supports, patterns));
        }
    }

    fn merge(&self, counts: &mut Counts, other: Counts) {
        match (&mut *counts, other) {
            (Counts::Numbers(own), Counts::Numbers(other)) => {
                own.iter_mut().zip(other).for_each(|(own, other)| *own += other);
            }
            (Counts::Patterns(own), Counts::Patterns(other)) => {
                other.iter().for_each(|(report, count)| own.add(report, count));
            }
            (Counts::Supports(own), Counts::Supports(other)) => own.merge(&other),
            (Counts::Supports(own), Counts::Patterns(other)) => {
                other.iter().for_each(|(report, count)| own.add(report, count));
            }
            (Counts::Patterns(own), Counts::Supports(other)) => {
                *counts = Counts::Supports(supported(other, own))
            }
            _ => unreachable!("tallies of one plan count numbers, or none does"),
        }
        self.settle(counts);
    }
}

fn supported(mut supports: Supports, patterns: &Patterns) -> Supports {
    patterns.iter().for_each(|(report, count)| supports.add(report, count));
    supports
}

/// How many reports all threads have counted, for the observer, who may stop the counting.
struct Counter<'o> {
    observer: Observer<'o>,
    reports: AtomicU64,
    is_stopped: AtomicBool,
}

impl<'o> Counter<'o> {
    fn new(observer: Observer<'o>) -> Self {
        Counter { observer, reports: AtomicU64::new(0), is_stopped: AtomicBool::new(false) }
    }

    fn add(&self, more: u64) {
        let reports = self.reports.fetch_add(more, Ordering::Relaxed) + more;
        if (self.observer)(&Progress::Counting { reports }).is_break() {
            self.is_stopped.store(true, Ordering::Relaxed);
        }
    }
}

/// Elementary steps after which a thread says how far it is: reports of local hash take one for each input.
const STEPS_A_NOTICE: u64 = 1 << 16;

/// A column of fewer reports is counted on one thread.
const SMALLEST_PART: usize = 1 << 13;

/// Counts reports on one thread.
pub struct Accumulator<'c> {
    tally: Tally,
    buffer: Vec<u8>,
    counter: &'c Counter<'c>,
    /// How many of the reports are in the counter already.
    announced: u64,
    /// The digest of what was counted since it was last taken.
    digest: Digest,
}

impl<'c> Accumulator<'c> {
    fn new(plan: &Plan, counter: &'c Counter<'c>) -> Self {
        let (tally, buffer) = (Tally::planned(plan.clone()), vec![0; plan.layout.length()]);
        Accumulator { tally, buffer, counter, announced: 0, digest: Digest::default() }
    }

    /// The tally and the digest of what is counted on this thread alone.
    pub(crate) fn counted(
        plan: &Plan,
        count: impl FnOnce(&mut Accumulator<'_>) -> Result<Digest>,
    ) -> Result<(Tally, Digest)> {
        let counter = Counter::new(&sottovoce::unobserved);
        let mut accumulator = Accumulator::new(plan, &counter);
        let digest = count(&mut accumulator)?;
        Ok((accumulator.tally, digest))
    }

    /// Tells how many reports were counted, now and then, and hears of a stop.
    fn notice(&mut self) {
        let new = self.tally.n - self.announced;
        if new * self.tally.plan.inputs as u64 >= STEPS_A_NOTICE {
            sottovoce::stop::check();
            self.counter.add(new);
            self.announced = self.tally.n;
        }
    }

    /// The digest of the reports that were counted since the last call.
    pub(crate) fn take_digest(&mut self) -> Digest {
        std::mem::take(&mut self.digest)
    }

    /// Counts a report in text.
    pub(crate) fn text(&mut self, file: usize, line: u64, text: &[u8]) {
        match self.tally.plan.layout.read_text(text, &mut self.buffer) {
            Ok(()) => {
                self.digest.add(&self.buffer);
                self.tally.accept(&self.buffer);
                self.notice();
            }
            Err(reason) => self.reject(file, line, reason),
        }
    }

    /// Counts a report in bytes.
    pub(crate) fn bytes(&mut self, file: usize, line: u64, bytes: &[u8]) {
        match self.tally.add_report(bytes) {
            Ok(()) => {
                self.digest.add(bytes);
                self.notice();
            }
            Err(reason) => self.reject(file, line, reason),
        }
    }

    /// Counts reports that are numbers, each with its row.
    pub(crate) fn numbers(&mut self, file: usize, values: impl Iterator<Item = (u64, i64)>) {
        let Tally { counts: Counts::Numbers(counts), n, rejections, .. } = &mut self.tally else {
            // The protocol's reports are not numbers.
            return values.for_each(|(row, _)| self.reject(file, row, Reason::Length));
        };
        for (row, value) in values {
            match usize::try_from(value).ok().and_then(|y| counts.get_mut(y)) {
                Some(count) => {
                    *count += 1;
                    *n += 1;
                    put(value as u64, &mut self.buffer);
                    self.digest.add(&self.buffer);
                }
                None => rejections.add(file, row, Reason::OutOfRange),
            }
        }
        self.notice();
    }

    /// Counts the report that `read` writes into the bytes it is given.
    fn row(&mut self, row: usize, read: impl Fn(usize, &mut [u8]) -> Result<(), Reason>) {
        match read(row, &mut self.buffer).and_then(|()| self.tally.plan.layout.check(&self.buffer)) {
            Ok(()) => {
                self.digest.add(&self.buffer);
                self.tally.accept(&self.buffer);
                self.notice();
            }
            Err(reason) => self.reject(0, row as u64 + 1, reason),
        }
    }

    pub(crate) fn reject(&mut self, file: usize, line: u64, reason: Reason) {
        self.tally.rejections.add(file, line, reason);
    }
}

/// Counts the reports of many files.
pub struct Tallier<'i> {
    plan: &'i Plan,
    identity: &'i Identity,
    counter: &'i Counter<'i>,
    idle: Mutex<Vec<Accumulator<'i>>>,
}

impl<'i> Tallier<'i> {
    /// Lets a thread count into an accumulator of its own. There are never more of them than threads.
    pub(crate) fn with<T>(&self, count: impl FnOnce(&mut Accumulator<'i>) -> T) -> T {
        // Unwrap safety: nothing panics while it holds the lock.
        let idle = self.idle.lock().unwrap().pop();
        let mut accumulator = idle.unwrap_or_else(|| Accumulator::new(self.plan, self.counter));
        let result = count(&mut accumulator);
        self.idle.lock().unwrap().push(accumulator);
        result
    }

    /// Ends the counting if the observer has asked for it, or the run is to end.
    ///
    /// # Errors
    /// [`sottovoce::Error::Stopped`].
    pub(crate) fn check(&self) -> Result<()> {
        sottovoce::stop::check();
        match self.counter.is_stopped.load(Ordering::Relaxed) {
            true => Err(sottovoce::Error::Stopped.into()),
            false => Ok(()),
        }
    }

    /// The layout of the reports.
    pub(crate) fn layout(&self) -> &Layout {
        &self.plan.layout
    }

    fn add(&self, file: ReportFile, place: usize) -> Result<Digest> {
        if let Some(header) = file.header() {
            self.identity.refuse_other(file.input(), &header.fingerprint, header.specification())?;
        }
        file.count(place, self)
    }
}

/// How often each output was reported, or how many reports support each input.
#[derive(Clone, Debug)]
pub struct Tally {
    plan: Plan,
    /// The number of reports that were counted.
    pub n: u64,
    /// The counts.
    pub counts: Counts,
    /// The reports that were not.
    pub rejections: Rejections,
    /// Whether some of the reports follow from a test seed.
    pub insecure: bool,
    /// What was counted.
    pub ledger: Ledger,
}

impl Tally {
    /// No reports of a protocol yet.
    pub fn new(protocol: &Protocol, form: Form) -> Self {
        let layout = Layout::of(protocol);
        let limit = MAX_PATTERNS.min(MAX_PATTERN_BYTES / layout.length().max(1));
        // The last step of a composition supports its own inputs, not those of the whole.
        let form = if supports_inputs(protocol) { form } else { Form::Patterns };
        Tally::planned(Plan { layout, inputs: protocol.inputs(), form, limit })
    }

    fn planned(plan: Plan) -> Self {
        let counts = plan.empty();
        let (rejections, ledger) = (Rejections::default(), Ledger::default());
        Tally { plan, n: 0, counts, rejections, insecure: false, ledger }
    }

    /// Counts the reports of files, while the observer hears how many there are so far.
    ///
    /// # Errors
    /// A file cannot be read, is not complete, is of another protocol, or has the reports of another one; or the observer stops the counting. Then nothing is
    /// counted.
    pub fn add(
        &mut self,
        files: impl Iterator<Item = Result<ReportFile>>,
        identity: &Identity,
        observer: Observer<'_>,
    ) -> Result<()> {
        let (plan, mut insecure, counter) = (self.plan.clone(), false, Counter::new(observer));
        let tallier = Tallier { plan: &plan, identity, counter: &counter, idle: Mutex::new(Vec::new()) };
        for (place, file) in files.enumerate() {
            let file = file?;
            insecure |= file.header().is_some_and(|header| header.insecure_test_seed.is_some());
            let input = file.input().clone();
            let digest = tallier.add(file, place)?;
            self.ledger.enter(&input, [Batch::of_reports(&digest)])?;
        }
        // Unwrap safety: as in `with`.
        tallier.idle.into_inner().unwrap().into_iter().for_each(|counted| self.merge(counted.tally));
        self.insecure |= insecure;
        Ok(())
    }

    /// Counts one report, given in bytes.
    ///
    /// # Errors
    /// Why they are not a report; then nothing is counted.
    pub fn add_report(&mut self, report: &[u8]) -> Result<(), Reason> {
        if report.len() != self.plan.layout.length() {
            return Err(Reason::Length);
        }
        self.plan.layout.check(report)?;
        self.accept(report);
        Ok(())
    }

    /// Counts the reports of a column in memory, on all threads: `report(row, bytes)` writes the bytes of one, or says why there is none. `name` is what
    /// messages call the column.
    ///
    /// # Errors
    /// The reports were counted already, all of them are rejected, or the observer stops the counting. Then nothing is counted.
    pub fn add_column(
        &mut self,
        name: &Input,
        rows: usize,
        report: impl Fn(usize, &mut [u8]) -> Result<(), Reason> + Sync,
        observer: Observer<'_>,
    ) -> Result<()> {
        let (plan, counter) = (self.plan.clone(), Counter::new(observer));
        let part = rows.div_ceil(sottovoce::stop::threads()).max(SMALLEST_PART);
        let count = |start: usize| {
            let mut accumulator = Accumulator::new(&plan, &counter);
            (start..rows.min(start + part)).for_each(|row| accumulator.row(row, &report));
            accumulator
        };
        let starts: Vec<usize> = (0..rows).step_by(part).collect();
        let mut parts: Vec<Accumulator<'_>> = starts.into_par_iter().map(count).collect();
        if counter.is_stopped.load(Ordering::Relaxed) {
            return Err(sottovoce::Error::Stopped.into());
        }
        let (mut counted, mut digest) = (Tally::planned(plan.clone()), Digest::default());
        for part in &mut parts {
            digest.append(part.take_digest());
        }
        parts.into_iter().for_each(|part| counted.merge(part.tally));
        if let (0, Some(Example { line, reason, .. })) = (counted.n, counted.rejections.examples.first()) {
            let (rejected, file) = (counted.rejections.total(), name.to_string());
            return Err(Error::NothingCounted { rejected, file, line: *line, reason: *reason });
        }
        let mut ledger = self.ledger.clone();
        ledger.enter_reports(name, digest)?;
        self.ledger = ledger;
        self.merge(counted);
        Ok(())
    }

    /// Adds what another tally of the same protocol has counted. `name` is what messages call it.
    ///
    /// # Errors
    /// Both have counted the same reports, there are supports where patterns are wanted, or there are too many reports. Then nothing is added.
    pub fn add_tally(&mut self, name: &Input, other: Tally) -> Result<()> {
        if matches!(other.counts, Counts::Supports(_)) && self.plan.form == Form::Patterns {
            return Err(Error::NoPatterns);
        }
        self.n.checked_add(other.n).ok_or(sottovoce::Error::TooManyReports)?;
        let mut ledger = self.ledger.clone();
        ledger.enter(name, other.ledger.batches())?;
        self.ledger = ledger;
        self.insecure |= other.insecure;
        self.merge(other);
        Ok(())
    }

    pub(crate) fn merge(&mut self, other: Tally) {
        self.n += other.n;
        self.plan.merge(&mut self.counts, other.counts);
        self.rejections.merge(other.rejections);
    }

    fn accept(&mut self, report: &[u8]) {
        self.n += 1;
        self.count(report, 1);
    }

    fn count(&mut self, report: &[u8], count: u64) {
        match &mut self.counts {
            Counts::Numbers(counts) => counts[number(report) as usize] += count,
            Counts::Patterns(patterns) => {
                patterns.add(report, count);
                self.plan.settle(&mut self.counts);
            }
            Counts::Supports(supports) => supports.add(report, count),
        }
    }

    /// Adds what was counted before.
    ///
    /// # Errors
    /// There are supports where patterns are wanted, or an output that no report has.
    pub fn add_reports(&mut self, reports: &Reports) -> Result<()> {
        let tallies = match reports {
            Reports::Tallies(tallies) => tallies,
            Reports::Supports(supports) => return self.add_supports(supports),
        };
        for (output, count) in tallies.counts() {
            let mut bytes = vec![0; self.plan.layout.length()];
            let missing = || sottovoce::Error::NoSuchOutput {
                output: output.to_string(),
                reason: "a report of local hash names its function by a seed",
            };
            self.plan.layout.write(output, &mut bytes).ok_or_else(missing)?;
            self.n = self.n.checked_add(*count).ok_or(sottovoce::Error::TooManyReports)?;
            self.count(&bytes, *count);
        }
        Ok(())
    }

    fn add_supports(&mut self, counted: &sottovoce::estimate::Supports) -> Result<()> {
        let supports = Supports::counted(&self.plan.layout, counted.counts().to_vec());
        let supports = supports.filter(|_| self.plan.form != Form::Patterns).ok_or(Error::NoPatterns)?;
        self.n = self.n.checked_add(counted.n()).ok_or(sottovoce::Error::TooManyReports)?;
        self.plan.merge(&mut self.counts, Counts::Supports(supports));
        Ok(())
    }

    /// The layout of the reports.
    pub fn layout(&self) -> &Layout {
        &self.plan.layout
    }

    /// What is counted.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The counts in the order in which they are written: bytes of the report, count.
    pub(crate) fn visit_counts(
        &self,
        mut visit: impl FnMut(&[u8], u64) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        match &self.counts {
            Counts::Numbers(counts) => {
                let mut bytes = vec![0; self.plan.layout.length()];
                for (y, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                    put(y as u64, &mut bytes);
                    visit(&bytes, *count)?;
                }
                Ok(())
            }
            Counts::Patterns(patterns) => {
                patterns.sorted().into_iter().try_for_each(|(report, count)| visit(report, count))
            }
            Counts::Supports(_) => Ok(()),
        }
    }
}

/// Whether a report of the protocol supports some of its inputs.
pub fn supports_inputs(protocol: &Protocol) -> bool {
    matches!(protocol, Protocol::UnaryEncoding(_) | Protocol::SubsetSelection(_) | Protocol::LocalHash(_))
}

#[cfg(test)]
mod tests {
    use sottovoce::unobserved;

    use super::*;

    fn column(name: &str) -> Input {
        Input::File(name.into())
    }

    /// The reports of a hash, in one byte each; every seventh is out of range.
    fn report(row: usize, bytes: &mut [u8]) -> Result<(), Reason> {
        bytes[0] = if row.is_multiple_of(7) { 9 } else { (row * row % 5) as u8 };
        Ok(())
    }

    #[test]
    fn a_column_is_counted_as_its_reports_one_by_one() {
        let grr = Protocol::grr(5, 1.0).unwrap();
        let (mut whole, mut single) = (Tally::new(&grr, Form::Automatic), Tally::new(&grr, Form::Automatic));
        whole.add_column(&column("a"), 50_000, report, &unobserved).unwrap();
        let mut bytes = [0];
        for row in 0..50_000 {
            report(row, &mut bytes).unwrap();
            let _ = single.add_report(&bytes);
        }
        assert_eq!((whole.n, &whole.counts), (single.n, &single.counts));
        assert_eq!(whole.rejections.total(), 50_000u64.div_ceil(7));
        assert_eq!(
            (whole.rejections.examples[1].line, whole.rejections.examples[1].reason),
            (8, Reason::OutOfRange)
        );
    }

    #[test]
    fn what_is_refused_changes_nothing() {
        let grr = Protocol::grr(5, 1.0).unwrap();
        let mut tally = Tally::new(&grr, Form::Automatic);
        tally.add_column(&column("a"), 5000, report, &unobserved).unwrap();
        let before = tally.clone();
        let again = tally.add_column(&column("b"), 5000, report, &unobserved);
        assert!(matches!(again, Err(Error::Overlap { .. })));
        assert!(matches!(tally.add_tally(&column("c"), before.clone()), Err(Error::Overlap { .. })));
        let none = tally.add_column(&column("d"), 3, |_, _| Err(Reason::Empty), &unobserved);
        assert!(matches!(none, Err(Error::NothingCounted { rejected: 3, line: 1, .. })));
        let stopped = tally.add_column(&column("e"), 200_000, report, &|_| std::ops::ControlFlow::Break(()));
        assert!(matches!(stopped, Err(Error::Tallies(sottovoce::Error::Stopped))));
        assert_eq!((tally.n, &tally.counts), (before.n, &before.counts));
        assert_eq!(tally.ledger.batches(), before.ledger.batches());
        assert_eq!(tally.rejections, before.rejections);
        tally.ledger.allow_copies = true;
        tally.add_tally(&column("f"), before.clone()).unwrap();
        assert_eq!(tally.n, 2 * before.n);
    }
}
