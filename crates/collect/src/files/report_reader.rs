//! Reading files of reports, block by block and in parallel.
//!
//! The digest of the reports follows from those of the blocks, in order. Where a file has an end (see [`crate::header`]), its reports must be
//! those that it tells of: a file that was cut, at whatever place, or in which a report was changed is refused.

use rayon::prelude::*;

use super::FileFormat;
use super::inputs::Input;
use super::parquet_reports::ParquetReports;
use super::report_end::{Found, Headed};
use super::report_footer::headed;
use super::report_writer::COLUMN;
use super::source::{Block, Lines, MAX_HEADER, MAX_LINE, Source, damaged, open};
use crate::digest::Digest;
use crate::error::{Contents, Error, HeaderPlace, Result};
use crate::header::{End, Header};
use crate::rejection::Reason;
use crate::tally::{Accumulator, Tallier};

/// Blocks that each thread gets before the next are read: enough to keep all busy, few enough to bound the memory.
const BLOCKS_A_THREAD: usize = 2;

/// An opened file of reports, of which the header has been read.
pub struct ReportFile {
    input: Input,
    header: Headed,
    body: Body,
}

enum Body {
    Csv { lines: Lines, at: usize, columns: usize },
    JsonLines { lines: Lines, first: Option<(u64, Vec<u8>)> },
    Parquet(ParquetReports),
}

impl ReportFile {
    /// Opens a file and reads what it says about itself.
    ///
    /// # Errors
    /// The file cannot be read, is of a newer version, or has no column of reports.
    pub fn open(input: &Input) -> Result<Self> {
        let (header, body) = match open(input)? {
            Source::Text(FileFormat::JsonLines, lines) => json_lines(input, lines)?,
            Source::Text(_, lines) => csv(input, lines)?,
            Source::Parquet(reader, raw) => {
                let reports = ParquetReports::of(input, reader, raw)?;
                reports.check()?;
                (None, Body::Parquet(reports))
            }
        };
        Ok(ReportFile { input: input.clone(), header, body })
    }

    /// What the file says about itself, if it does.
    pub fn header(&self) -> Option<&Header> {
        match &self.body {
            Body::Parquet(reports) => reports.footer().header(),
            _ => self.header.as_ref().map(|(header, _)| header),
        }
    }

    /// The file.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// Counts all reports, and gives their digest; `file` is the file's place among the inputs, for examples of rejected reports.
    pub(crate) fn count(self, file: usize, tallier: &Tallier<'_>) -> Result<Digest> {
        let ReportFile { input, header, body } = self;
        let found = match body {
            Body::Csv { lines, at, columns } => count_csv(&input, lines, (at, columns), file, tallier)?,
            Body::JsonLines { lines, first } => count_json_lines(&input, lines, first, file, tallier)?,
            Body::Parquet(reports) => {
                let counted = count_parquet(&reports, file, tallier);
                tallier.check()?;
                return reports.footer().check(&input, counted.map_err(|error| damaged(&input, error))?);
            }
        };
        found.checked(&input, &header)
    }
}

fn csv(input: &Input, mut lines: Lines) -> Result<(Headed, Body)> {
    let (file, column) = (input.to_string(), COLUMN.to_owned());
    let no_header = |blank| Error::NoHeader { file: input.to_string(), column: COLUMN.to_owned(), blank };
    let (_, mut names) = lines.line(input, MAX_HEADER)?.ok_or_else(|| no_header(false))?;
    let mut found = None;
    if let Some(text) = names.strip_prefix(b"#") {
        found = headed(input, text.to_vec(), HeaderPlace::Comment)?;
        (_, names) = lines.line(input, MAX_LINE)?.ok_or_else(|| no_header(false))?;
    }
    if names.trim_ascii().is_empty() {
        return Err(no_header(true));
    }
    let names: Vec<&[u8]> = names.split(|byte| *byte == b',').map(unquoted).collect();
    let mut named = names.iter().enumerate().filter(|(_, name)| **name == COLUMN.as_bytes());
    // The names are not quoted: where there are none they are values.
    let (columns, wanted) = (names.len(), Contents::Reports);
    let (at, _) = named.next().ok_or(Error::NoValueColumn { file: file.clone(), column, columns, wanted })?;
    if named.next().is_some() {
        return Err(Error::TwoColumns { file, column: COLUMN.to_owned() });
    }
    Ok((found, Body::Csv { lines, at, columns: names.len() }))
}

fn json_lines(input: &Input, mut lines: Lines) -> Result<(Headed, Body)> {
    let mut first = lines.line(input, MAX_HEADER)?;
    while first.as_ref().is_some_and(|(_, text)| text.trim_ascii().is_empty()) {
        first = lines.line(input, MAX_HEADER)?;
    }
    match first {
        Some((_, text)) if json_report(&text).is_none() => {
            let found = headed(input, text, HeaderPlace::JsonLine)?;
            Ok((found, Body::JsonLines { lines, first: None }))
        }
        first => Ok((None, Body::JsonLines { lines, first })),
    }
}

fn unquoted(field: &[u8]) -> &[u8] {
    field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\"")).unwrap_or(field)
}

/// A field of a line without quoted commas, if the line has as many fields as the header.
fn field(line: &[u8], at: usize, columns: usize) -> Option<&[u8]> {
    if columns == 1 {
        return (!line.contains(&b',')).then(|| unquoted(line));
    }
    let mut fields = line.split(|byte| *byte == b',');
    let (found, rest) = (fields.nth(at)?, fields.count());
    (at + 1 + rest == columns).then(|| unquoted(found))
}

/// The report in a line of JSON; most lines look as we write them.
fn json_report(line: &[u8]) -> Option<std::borrow::Cow<'_, [u8]>> {
    #[derive(serde::Deserialize)]
    struct Line {
        report: String,
    }
    let plain = line.strip_prefix(b"{\"report\":\"").and_then(|rest| rest.strip_suffix(b"\"}"));
    match plain.filter(|report| report.iter().all(u8::is_ascii_alphanumeric)) {
        Some(report) => Some(report.into()),
        None => serde_json::from_slice::<Line>(line).ok().map(|line| line.report.into_bytes().into()),
    }
}

/// The longest line of reports of a protocol: beside the report there may be other columns.
fn longest(tallier: &Tallier<'_>) -> usize {
    tallier.layout().text_length() + MAX_LINE
}

fn count_csv(
    input: &Input,
    lines: Lines,
    (at, columns): (usize, usize),
    file: usize,
    tallier: &Tallier<'_>,
) -> Result<Found> {
    count_lines(input, lines, tallier, |line, text, found, accumulator| {
        if text.is_empty() {
            return;
        }
        found.line(line);
        match text.strip_prefix(b"#").map(End::read) {
            Some(Some(end)) if found.end.is_none() => found.end = Some(end),
            _ => match field(text, at, columns) {
                Some(report) => accumulator.text(file, line, report),
                None => accumulator.reject(file, line, Reason::Line),
            },
        }
    })
}

fn count_json_lines(
    input: &Input,
    lines: Lines,
    first: Option<(u64, Vec<u8>)>,
    file: usize,
    tallier: &Tallier<'_>,
) -> Result<Found> {
    let count = |line: u64, text: &[u8], found: &mut Found, accumulator: &mut Accumulator<'_>| {
        if text.trim_ascii().is_empty() {
            return;
        }
        found.line(line);
        match json_report(text) {
            Some(report) => accumulator.text(file, line, report.as_ref()),
            None => match End::read(text).filter(|_| found.end.is_none()) {
                Some(end) => found.end = Some(end),
                None => accumulator.reject(file, line, Reason::Line),
            },
        }
    };
    let mut found = Found::default();
    if let Some((line, text)) = first {
        found.append(part(tallier, |found, accumulator| count(line, &text, found, accumulator)));
    }
    found.append(count_lines(input, lines, tallier, count)?);
    Ok(found)
}

/// Counts a part of a file.
fn part(tallier: &Tallier<'_>, count: impl FnOnce(&mut Found, &mut Accumulator<'_>)) -> Found {
    tallier.with(|accumulator| {
        let mut found = Found::default();
        count(&mut found, accumulator);
        found.digest = accumulator.take_digest();
        found
    })
}

fn count_lines(
    input: &Input,
    mut lines: Lines,
    tallier: &Tallier<'_>,
    count: impl Fn(u64, &[u8], &mut Found, &mut Accumulator<'_>) + Sync,
) -> Result<Found> {
    let mut all = Found::default();
    loop {
        tallier.check()?;
        let wanted = BLOCKS_A_THREAD * rayon::current_num_threads();
        let mut blocks = Vec::with_capacity(wanted);
        while blocks.len() < wanted {
            match lines.block(input, longest(tallier))? {
                Some(block) => blocks.push(block),
                None => break,
            }
        }
        if blocks.is_empty() {
            return Ok(all);
        }
        let count_block = |block: &Block| {
            part(tallier, |found, accumulator| {
                block.lines().for_each(|(line, text)| count(line, text, found, accumulator));
            })
        };
        let parts: Vec<Found> = blocks.par_iter().map(count_block).collect();
        parts.into_iter().for_each(|part| all.append(part));
    }
}

fn count_parquet(
    reports: &ParquetReports,
    file: usize,
    tallier: &Tallier<'_>,
) -> parquet::errors::Result<Digest> {
    let count_group = |group: usize| {
        if tallier.check().is_err() {
            // The caller asks again, and says why nothing is counted.
            return Ok(Digest::default());
        }
        tallier.with(|accumulator| reports.count_group(group, file, accumulator))
    };
    let groups = (0..reports.starts().len()).into_par_iter().map(count_group);
    let digests: Vec<Digest> = groups.collect::<parquet::errors::Result<_>>()?;
    let mut all = Digest::default();
    digests.into_iter().for_each(|digest| all.append(digest));
    Ok(all)
}
