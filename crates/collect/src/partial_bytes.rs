//! A part of a tally in bytes.
//!
//! ```text
//! "SVTALLY"  version                          7 bytes, 1 byte
//! fingerprint                                 32 bytes
//! form  limit  insecure                       1 byte, varint, 1 byte
//! n
//! reasons     (reason, reports)*              how many there are comes before each list
//! files       (name, (rows since the last segment, rows, reports, digest)*)*
//! batches     (reports, digest, of)*
//! numbers     (numbers since the last, reports)*     or
//! patterns    (bytes of the report, reports)*        or
//! supports    reports that support each input
//! check                                       the first 16 bytes of the SHA-256 of all before
//! ```
//!
//! Numbers are varints (LEB128) without needless bytes, digests 16 bytes, the most significant first. Everything is sorted, so equal parts have
//! equal bytes. Bytes that are read take memory for what they hold and for the outputs or inputs that the protocol has, and no more.

use sha2::{Digest as _, Sha256};
use sottovoce::Protocol;

use crate::digest::Digest;
use crate::error::Result;
use crate::ledger::{Batch, Mark, Of};
use crate::partial::{MAX_REPORTS, PartialProblem, PartialTally, Segment, Segments};
use crate::rejection::Reason;
use crate::tally::{Counts, Form, Patterns, Plan, Supports, Tally};

/// What the bytes begin with.
const MAGIC: &[u8; 7] = b"SVTALLY";

/// The version that is written, and the newest that is read.
pub(crate) const VERSION: u8 = 1;

/// Bytes of the check.
const CHECK: usize = 16;

/// The kinds of counts.
const NUMBERS: u8 = 0;
const PATTERNS: u8 = 1;
const SUPPORTS: u8 = 2;

/// The reasons, each with the number it is written as. A new one goes to the end.
const REASONS: [Reason; 7] = [
    Reason::Empty,
    Reason::Length,
    Reason::NotDigits,
    Reason::OutOfRange,
    Reason::Padding,
    Reason::SetSize,
    Reason::Line,
];

impl PartialTally {
    /// The part in bytes. Equal parts have equal bytes, in whichever order they were counted and merged.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = [&MAGIC[..], &[VERSION]].concat();
        bytes.extend(hexadecimal_bytes(&self.fingerprint));
        let plan = self.tally.plan();
        bytes.push(form_number(plan.form));
        write_number(&mut bytes, plan.limit as u64);
        bytes.push(u8::from(self.tally.insecure));
        write_number(&mut bytes, self.tally.n);
        self.write_rejections(&mut bytes);
        self.write_files(&mut bytes);
        self.write_batches(&mut bytes);
        write_counts(&self.tally, &mut bytes);
        let check = check(&bytes);
        bytes.extend(check);
        bytes
    }

    fn write_rejections(&self, bytes: &mut Vec<u8>) {
        let counts = &self.tally.rejections.counts;
        let reasons = REASONS.iter().zip(0u8..).filter_map(|(reason, at)| Some((at, *counts.get(reason)?)));
        let reasons: Vec<(u8, u64)> = reasons.filter(|(_, count)| *count > 0).collect();
        write_number(bytes, reasons.len() as u64);
        for (at, count) in reasons {
            bytes.push(at);
            write_number(bytes, count);
        }
    }

    fn write_files(&self, bytes: &mut Vec<u8>) {
        write_number(bytes, self.files.len() as u64);
        for (name, Segments(segments)) in &self.files {
            write_number(bytes, name.len() as u64);
            bytes.extend(name.as_bytes());
            write_number(bytes, segments.len() as u64);
            let mut end = 0;
            for (first, Segment { rows, digest }) in segments {
                [first - end, *rows, digest.reports()]
                    .into_iter()
                    .for_each(|count| write_number(bytes, count));
                bytes.extend(digest.remainder().to_be_bytes());
                end = first + rows;
            }
        }
    }

    fn write_batches(&self, bytes: &mut Vec<u8>) {
        let mut batches = self.batches.clone();
        batches.sort_unstable();
        write_number(bytes, batches.len() as u64);
        for Batch { n, digest, of } in batches {
            write_number(bytes, n);
            bytes.extend(digest.0.to_be_bytes());
            bytes.push(u8::from(of == Of::Counts));
        }
    }

    /// The fingerprint of the protocol that these bytes are of, in hexadecimal, if they are a part of a tally at all.
    ///
    /// # Errors
    /// They are not what was written.
    pub fn fingerprint_of(bytes: &[u8]) -> Result<String> {
        Ok(crate::header::hexadecimal(&Reader::opened(bytes)?.array::<32>().ok_or(PartialProblem::Damaged)?))
    }

    /// The part in these bytes, which must be of the protocol with this fingerprint.
    ///
    /// # Errors
    /// They are not what was written, or of another protocol.
    pub fn from_bytes(bytes: &[u8], protocol: &Protocol, fingerprint: &str) -> Result<Self> {
        let mut reader = Reader::opened(bytes)?;
        let found = reader.array::<32>().ok_or(PartialProblem::Damaged)?;
        if !hexadecimal_bytes(fingerprint).eq(found) {
            return Err(PartialProblem::Protocol.into());
        }
        let form = reader.byte().and_then(form_of).ok_or(PartialProblem::Damaged)?;
        let tally = Tally::new(protocol, form);
        let limit = reader.number().ok_or(PartialProblem::Damaged)?;
        if (form, limit) != (tally.plan().form, tally.plan().limit as u64) {
            return Err(PartialProblem::Form.into());
        }
        let part = read_part(&mut reader, tally, fingerprint).filter(|_| reader.bytes.is_empty());
        Ok(part.ok_or(PartialProblem::Damaged)?)
    }
}

fn read_part(reader: &mut Reader<'_>, mut tally: Tally, fingerprint: &str) -> Option<PartialTally> {
    tally.insecure = reader.flag()?;
    tally.n = reader.number().filter(|n| *n <= MAX_REPORTS)?;
    read_rejections(reader, &mut tally)?;
    let mut part = PartialTally::of(tally, fingerprint);
    let (length, mut known) = (part.tally.layout().length() as u64, 0u64);
    for _ in 0..reader.number()? {
        let (name, segments) = read_file(reader, length)?;
        let after = part.files.last_key_value().is_none_or(|(last, _)| *last < name);
        known = known.checked_add(segments.reports()).filter(|_| after)?;
        part.files.insert(name, segments);
    }
    for _ in 0..reader.number()? {
        let batch = read_batch(reader)?;
        known = known.checked_add(batch.n).filter(|_| part.batches.last() <= Some(&batch))?;
        part.batches.push(batch);
    }
    part.tally.counts = read_counts(reader, part.tally.plan(), part.tally.n)?;
    (known <= part.tally.n).then_some(part)
}

fn read_rejections(reader: &mut Reader<'_>, tally: &mut Tally) -> Option<()> {
    let mut next = 0;
    for _ in 0..reader.number()? {
        let (at, count) = (reader.byte()?, reader.positive()?);
        let reason = REASONS.get(usize::from(at)).filter(|_| at >= next)?;
        tally.rejections.counts.insert(*reason, count);
        next = at + 1;
    }
    Some(())
}

/// A file's name and its segments, each of which has rows and does not touch the one before.
fn read_file(reader: &mut Reader<'_>, length: u64) -> Option<(String, Segments)> {
    let count = reader.number()?;
    let name = std::str::from_utf8(reader.take(count)?).ok()?.to_owned();
    let (mut segments, mut end, mut reports) = (Segments::default(), 0u64, 0u64);
    for at in 0..reader.positive()? {
        let gap = if at == 0 { reader.number()? } else { reader.positive()? };
        let (rows, n) = (reader.positive()?, reader.number()?);
        let first = end.checked_add(gap)?;
        end = first.checked_add(rows)?;
        reports = reports.checked_add(n).filter(|reports| n <= rows && *reports <= MAX_REPORTS)?;
        let digest = Digest::restored(n, n.checked_mul(length)?, u128::from_be_bytes(reader.array()?))?;
        segments.0.insert(first, Segment { rows, digest });
    }
    Some((name, segments))
}

fn read_batch(reader: &mut Reader<'_>) -> Option<Batch> {
    let n = reader.positive()?;
    let digest = Mark(u128::from_be_bytes(reader.array()?));
    let of = if reader.flag()? { Of::Counts } else { Of::Reports };
    Some(Batch { n, digest, of })
}

fn write_counts(tally: &Tally, bytes: &mut Vec<u8>) {
    match &tally.counts {
        Counts::Numbers(counts) => {
            bytes.push(NUMBERS);
            let counts = (0u64..).zip(counts).filter(|(_, count)| **count > 0);
            write_number(bytes, counts.clone().count() as u64);
            let mut next = 0;
            for (y, count) in counts {
                write_number(bytes, y - next);
                write_number(bytes, *count);
                next = y + 1;
            }
        }
        Counts::Patterns(patterns) => {
            bytes.push(PATTERNS);
            write_number(bytes, patterns.len() as u64);
            for (report, count) in patterns.sorted() {
                bytes.extend(report);
                write_number(bytes, count);
            }
        }
        Counts::Supports(supports) => {
            bytes.push(SUPPORTS);
            supports.counts().into_iter().for_each(|count| write_number(bytes, count));
        }
    }
}

/// Counts of a plan that add up to `n`.
fn read_counts(reader: &mut Reader<'_>, plan: &Plan, n: u64) -> Option<Counts> {
    match (reader.byte()?, plan.empty()) {
        (NUMBERS, Counts::Numbers(counts)) => read_numbers(reader, counts, n),
        (PATTERNS, Counts::Patterns(patterns)) => read_patterns(reader, plan, patterns, n),
        (SUPPORTS, counts) if !matches!(counts, Counts::Numbers(_)) && plan.form != Form::Patterns => {
            let support = |_| reader.number().filter(|count| *count <= n);
            let counts = (0..plan.inputs).map(support).collect::<Option<Vec<u64>>>()?;
            Supports::counted(&plan.layout, counts).map(Counts::Supports)
        }
        _ => None,
    }
}

fn read_numbers(reader: &mut Reader<'_>, mut counts: Vec<u64>, n: u64) -> Option<Counts> {
    let (mut next, mut sum) = (0u64, 0u64);
    for _ in 0..reader.number()? {
        let y = next.checked_add(reader.number()?)?;
        let count = reader.positive()?;
        *counts.get_mut(usize::try_from(y).ok()?)? = count;
        sum = sum.checked_add(count)?;
        next = y + 1;
    }
    (sum == n).then_some(Counts::Numbers(counts))
}

fn read_patterns(reader: &mut Reader<'_>, plan: &Plan, mut patterns: Patterns, n: u64) -> Option<Counts> {
    let (different, mut sum, mut last) = (reader.number()?, 0u64, None);
    if plan.form == Form::Automatic && different > plan.limit as u64 {
        return None;
    }
    for _ in 0..different {
        let report = reader.take(plan.layout.length() as u64)?;
        plan.layout.check(report).ok().filter(|()| last < Some(report))?;
        let count = reader.positive()?;
        sum = sum.checked_add(count)?;
        patterns.add(report, count);
        last = Some(report);
    }
    (sum == n).then_some(Counts::Patterns(patterns))
}

fn form_number(form: Form) -> u8 {
    match form {
        Form::Automatic => 0,
        Form::Patterns => 1,
        Form::Supports => 2,
    }
}

fn form_of(number: u8) -> Option<Form> {
    [Form::Automatic, Form::Patterns, Form::Supports].get(usize::from(number)).copied()
}

/// The bytes that pairs of hexadecimal digits stand for.
fn hexadecimal_bytes(digits: &str) -> impl Iterator<Item = u8> {
    let pairs = digits.as_bytes().as_chunks::<2>().0.iter();
    pairs.map(|pair| {
        pair.iter().fold(0, |byte, digit| byte << 4 | (*digit as char).to_digit(16).unwrap_or(0) as u8)
    })
}

fn check(bytes: &[u8]) -> [u8; CHECK] {
    let mut check = [0; CHECK];
    check.copy_from_slice(&Sha256::digest(bytes)[..CHECK]);
    check
}

fn write_number(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

struct Reader<'b> {
    bytes: &'b [u8],
}

impl<'b> Reader<'b> {
    /// Reads what stands between the version and the check.
    fn opened(bytes: &'b [u8]) -> Result<Self, PartialProblem> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(PartialProblem::Format)?;
        match rest.first() {
            Some(&VERSION) => {}
            Some(&version) if version > VERSION => return Err(PartialProblem::Version { version }),
            _ => return Err(PartialProblem::Damaged),
        }
        let (content, found) = bytes.split_last_chunk::<CHECK>().ok_or(PartialProblem::Damaged)?;
        match content.get(MAGIC.len() + 1..) {
            Some(bytes) if check(content) == *found => Ok(Reader { bytes }),
            _ => Err(PartialProblem::Damaged),
        }
    }

    fn take(&mut self, count: u64) -> Option<&'b [u8]> {
        let (own, rest) = self.bytes.split_at_checked(usize::try_from(count).ok()?)?;
        self.bytes = rest;
        Some(own)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N as u64)?.try_into().ok()
    }

    fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn flag(&mut self) -> Option<bool> {
        self.byte().filter(|byte| *byte < 2).map(|byte| byte == 1)
    }

    /// A number in as few bytes as it needs.
    fn number(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let digit = u64::from(byte & 0x7f);
            value |= digit.checked_shl(shift).filter(|shifted| shifted >> shift == digit)?;
            if byte < 0x80 {
                return (byte > 0 || shift == 0).then_some(value);
            }
        }
        None
    }

    fn positive(&mut self) -> Option<u64> {
        self.number().filter(|number| *number > 0)
    }
}
