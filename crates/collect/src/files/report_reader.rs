//! Reading files of reports, block by block and in parallel.

use parquet::file::reader::FileReader;
use rayon::prelude::*;

use super::FileFormat;
use super::inputs::Input;
use super::parquet_column::{Batch, Rows, holds_reports, position, visit};
use super::report_writer::{COLUMN, METADATA};
use super::source::{Block, Lines, Source, damaged, open};
use crate::error::{Error, Result};
use crate::header::{Header, HeaderProblem};
use crate::rejection::{Reason, shown};
use crate::tally::{Accumulator, Tallier};

/// Blocks that each thread gets before the next are read: enough to keep all busy, few enough to bound the memory.
const BLOCKS_A_THREAD: usize = 2;

/// An opened file of reports, of which the header has been read.
pub struct ReportFile {
    input: Input,
    header: Option<Header>,
    body: Body,
}

enum Body {
    Csv { lines: Lines, at: usize, columns: usize },
    JsonLines { lines: Lines, first: Option<(u64, Vec<u8>)> },
    Parquet { reader: Box<dyn FileReader>, column: usize },
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
            Source::Parquet(reader) => parquet(input, reader)?,
        };
        Ok(ReportFile { input: input.clone(), header, body })
    }

    /// What the file says about itself, if it does.
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// The file.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// Counts all reports; `file` is the file's place among the inputs, for examples of rejected reports.
    pub(crate) fn count(self, file: usize, tallier: &Tallier<'_>) -> Result<()> {
        let input = &self.input;
        match self.body {
            Body::Csv { lines, at, columns } => count_lines(input, lines, tallier, |block, accumulator| {
                for (line, text) in block.lines().filter(|(_, line)| !line.is_empty()) {
                    match field(text, at, columns) {
                        Some(report) => accumulator.text(file, line, report),
                        None => accumulator.reject(file, line, Reason::Line, text),
                    }
                }
            }),
            Body::JsonLines { lines, first } => {
                let count = |line: u64, text: &[u8], accumulator: &mut Accumulator| match json_report(text) {
                    Some(report) => accumulator.text(file, line, report.as_ref()),
                    None => accumulator.reject(file, line, Reason::Line, text),
                };
                if let Some((line, text)) = first {
                    tallier.with(|accumulator| count(line, &text, accumulator));
                }
                count_lines(input, lines, tallier, |block, accumulator| {
                    for (line, text) in block.lines().filter(|(_, line)| !line.trim_ascii().is_empty()) {
                        count(line, text, accumulator);
                    }
                })
            }
            Body::Parquet { reader, column } => {
                count_parquet(&*reader, column, file, tallier).map_err(|error| damaged(input, &error))
            }
        }
    }
}

fn header(input: &Input, text: &[u8]) -> Result<Option<Header>> {
    match std::str::from_utf8(text).map_err(|_| HeaderProblem::None).and_then(Header::read) {
        Ok(header) => Ok(Some(header)),
        Err(HeaderProblem::None) => Ok(None),
        Err(HeaderProblem::Version(version)) => Err(Error::Version { file: input.to_string(), version }),
    }
}

fn csv(input: &Input, mut lines: Lines) -> Result<(Option<Header>, Body)> {
    let no_column = |found: &[u8]| Error::NoColumn {
        file: input.to_string(),
        column: COLUMN.to_owned(),
        found: shown(found),
    };
    let no_header = |blank| Error::NoHeader { file: input.to_string(), column: COLUMN.to_owned(), blank };
    let (_, mut names) = lines.line(input)?.ok_or_else(|| no_header(false))?;
    let mut found = None;
    if let Some(text) = names.strip_prefix(b"#") {
        found = header(input, text)?;
        (_, names) = lines.line(input)?.ok_or_else(|| no_header(false))?;
    }
    if names.trim_ascii().is_empty() {
        return Err(no_header(true));
    }
    let columns: Vec<&[u8]> = names.split(|byte| *byte == b',').map(unquoted).collect();
    let mut named = columns.iter().enumerate().filter(|(_, name)| **name == COLUMN.as_bytes());
    let (at, _) = named.next().ok_or_else(|| no_column(&names))?;
    if named.next().is_some() {
        return Err(Error::TwoColumns { file: input.to_string(), column: COLUMN.to_owned() });
    }
    let columns = columns.len();
    Ok((found, Body::Csv { lines, at, columns }))
}

fn json_lines(input: &Input, mut lines: Lines) -> Result<(Option<Header>, Body)> {
    let first = lines.line(input)?;
    let found = first.as_ref().map_or(Ok(None), |(_, text)| header(input, text))?;
    let first = first.filter(|_| found.is_none());
    Ok((found, Body::JsonLines { lines, first }))
}

fn parquet(input: &Input, reader: Box<dyn FileReader>) -> Result<(Option<Header>, Body)> {
    let metadata = reader.metadata().file_metadata();
    let text = metadata.key_value_metadata().and_then(|all| all.iter().find(|entry| entry.key == METADATA));
    let found = match text.and_then(|entry| entry.value.as_deref()) {
        Some(text) => header(input, text.as_bytes())?,
        None => None,
    };
    let columns = metadata.schema_descr().columns();
    let (file, name) = (input.to_string(), COLUMN.to_owned());
    let Some(column) = position(&*reader, COLUMN) else {
        let found = columns.iter().map(|column| column.path().string()).collect::<Vec<_>>().join(", ");
        return Err(Error::NoColumn { file, column: name, found: shown(found.as_bytes()) });
    };
    if !holds_reports(&columns[column]) {
        return Err(Error::ColumnType { file, column: name });
    }
    Ok((found, Body::Parquet { reader, column }))
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

fn count_lines(
    input: &Input,
    mut lines: Lines,
    tallier: &Tallier<'_>,
    count: impl Fn(&Block, &mut Accumulator) + Sync,
) -> Result<()> {
    loop {
        let wanted = BLOCKS_A_THREAD * rayon::current_num_threads();
        let mut blocks = Vec::with_capacity(wanted);
        while blocks.len() < wanted {
            match lines.block(input)? {
                Some(block) => blocks.push(block),
                None => break,
            }
        }
        if blocks.is_empty() {
            return Ok(());
        }
        blocks.par_iter().for_each(|block| tallier.with(|accumulator| count(block, accumulator)));
    }
}

fn count_parquet(
    reader: &dyn FileReader,
    column: usize,
    file: usize,
    tallier: &Tallier<'_>,
) -> parquet::errors::Result<()> {
    let starts = reader.metadata().row_groups().iter().scan(1u64, |start, group| {
        let first = *start;
        // A file may claim any number of rows.
        *start = (*start + group.num_rows().max(0) as u64).min(1 << 62);
        Some(first)
    });
    let starts: Vec<u64> = starts.collect();
    starts.into_par_iter().enumerate().try_for_each(|(group, first)| {
        tallier.with(|accumulator| {
            visit(reader, group, column, first, |batch, rows| count_batch(&batch, rows, file, accumulator))
        })
    })
}

fn count_batch(batch: &Batch<'_>, rows: &Rows<'_>, file: usize, accumulator: &mut Accumulator) {
    rows.missing().for_each(|row| accumulator.reject(file, row, Reason::Empty, b"null"));
    let present = rows.present();
    match batch {
        Batch::Int32(values) => {
            accumulator.numbers(file, present.zip(values.iter().map(|value| i64::from(*value))));
        }
        Batch::Int64(values) => accumulator.numbers(file, present.zip(values.iter().copied())),
        Batch::Fixed(values) => {
            present.zip(*values).for_each(|(row, value)| accumulator.bytes(file, row, value.data()));
        }
        Batch::Bytes(values) => {
            present.zip(*values).for_each(|(row, value)| accumulator.text(file, row, value.data()));
        }
    }
}
