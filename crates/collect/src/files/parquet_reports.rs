//! A Parquet file of reports, wherever its bytes are: on a disk, in memory or in an object store.
//!
//! Groups of rows are counted one by one, so that several machines can share a file.

use std::io::{self, BufReader, Read};
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::reader::{ChunkReader, FileReader, Length};

use super::inputs::Input;
use super::parquet_column::{Batch, Rows, check_group, check_rows, holds_reports, position, visit};
use super::report_footer::ReportFooter;
use super::report_writer::{COLUMN, CREATOR, END_METADATA, METADATA};
use super::source::{Raw, Source, damaged, parquet};
use crate::digest::Digest;
use crate::error::{Contents, EndProblem, Error, Result};
use crate::rejection::{Reason, shown};
use crate::tally::{Accumulator, Plan, Tally};

/// Bytes that can be read at any place.
pub trait ReadAt: Send + Sync {
    /// How many there are.
    fn length(&self) -> u64;

    /// Reads so many from a place: fewer only where there are no more.
    ///
    /// # Errors
    /// They cannot be read. The kind of the error says whether the file is gone, or may not be read.
    fn read_at(&self, start: u64, length: usize) -> io::Result<Bytes>;
}

/// An opened Parquet file of reports, of which the metadata have been read.
pub struct ParquetReports {
    input: Input,
    pub(super) reader: Box<dyn FileReader>,
    raw: Raw,
    column: usize,
    footer: ReportFooter,
    /// The number of rows before each group.
    starts: Vec<u64>,
}

impl ParquetReports {
    /// Opens a file with this name.
    ///
    /// # Errors
    /// The file cannot be read, is damaged or of a newer version, or has no column of reports.
    pub fn open(input: &Input, bytes: Arc<dyn ReadAt>) -> Result<Self> {
        match parquet(input, Shared(bytes))? {
            Source::Parquet(reader, raw) => ParquetReports::of(input, reader, raw),
            Source::Text(..) => Err(damaged(input, ParquetError::General("not Parquet".into()))),
        }
    }

    pub(super) fn of(input: &Input, reader: Box<dyn FileReader>, raw: Raw) -> Result<Self> {
        let footer = footer(input, &*reader, &raw)?;
        let column = column(input, &*reader)?;
        check_rows(&*reader, raw.length).map_err(|error| damaged(input, error))?;
        let starts = reader.metadata().row_groups().iter().scan(0u64, |start, group| {
            let first = *start;
            // The rows were checked: they are few enough.
            *start += group.num_rows() as u64;
            Some(first)
        });
        let starts = starts.collect();
        Ok(ParquetReports { input: input.clone(), reader, raw, column, footer, starts })
    }

    /// What the file says about itself.
    pub fn footer(&self) -> &ReportFooter {
        &self.footer
    }

    /// What the file says about itself, without the file.
    pub fn into_footer(self) -> ReportFooter {
        self.footer
    }

    /// The file.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// The number of rows.
    pub fn rows(&self) -> u64 {
        self.reader.metadata().file_metadata().num_rows() as u64
    }

    /// The number of rows before each group of rows.
    pub fn starts(&self) -> &[u64] {
        &self.starts
    }

    /// The number of rows of a group.
    pub fn group_rows(&self, group: usize) -> u64 {
        self.reader.metadata().row_group(group).num_rows() as u64
    }

    /// Refuses groups that cannot be read safely.
    pub(super) fn check(&self) -> Result<()> {
        (0..self.starts.len()).try_for_each(|group| self.check_group(group))
    }

    fn check_group(&self, group: usize) -> Result<()> {
        let found = check_group(&*self.reader, group, self.column, &self.raw);
        found.map_err(|error| damaged(&self.input, error))
    }

    /// Counts a group; `file` is for the examples of rejected reports.
    pub(super) fn count_group(
        &self,
        group: usize,
        file: usize,
        accumulator: &mut Accumulator<'_>,
    ) -> parquet::errors::Result<Digest> {
        let count = |batch: Batch<'_>, rows: &Rows<'_>| count_batch(&batch, rows, file, accumulator);
        visit(&*self.reader, group, self.column, self.starts[group] + 1, count)?;
        Ok(accumulator.take_digest())
    }

    /// The tally and the digest of a group.
    pub(crate) fn tally_group(&self, group: usize, plan: &Plan) -> Result<(Tally, Digest)> {
        self.check_group(group)?;
        Accumulator::counted(plan, |accumulator| {
            self.count_group(group, 0, accumulator).map_err(|error| damaged(&self.input, error))
        })
    }
}

fn footer(input: &Input, reader: &dyn FileReader, raw: &Raw) -> Result<ReportFooter> {
    let entries = reader.metadata().file_metadata().key_value_metadata().map_or(&[][..], Vec::as_slice);
    let text = |key: &str| {
        let entry = entries.iter().find(|entry| entry.key == key);
        entry.and_then(|KeyValue { value, .. }| value.clone()).map(String::into_bytes)
    };
    let header = text(METADATA);
    if header.is_none() && names_us(raw).map_err(|error| damaged(input, error))? {
        return Err(Error::Incomplete { file: input.to_string(), problem: EndProblem::NoHeader });
    }
    ReportFooter::new(input, header, text(END_METADATA))
}

fn column(input: &Input, reader: &dyn FileReader) -> Result<usize> {
    let columns = reader.metadata().file_metadata().schema_descr().columns();
    let (file, name) = (input.to_string(), COLUMN.to_owned());
    let Some(column) = position(reader, COLUMN) else {
        let found = columns.iter().map(|column| column.path().string()).collect::<Vec<_>>().join(", ");
        let (found, wanted) = (shown(found.as_bytes()), Contents::Reports);
        return Err(Error::NoColumn { file, column: name, found, wanted });
    };
    if holds_reports(&columns[column]) { Ok(column) } else { Err(Error::ColumnType { file, column: name }) }
}

/// Whether the footer of a Parquet file without a header has our name in it. Then there was a header, and with it perhaps the mark of a test
/// seed. The name is in the schema, the keys, the header, the end and the name of the writer.
fn names_us(raw: &Raw) -> parquet::errors::Result<bool> {
    // The file ends with the length of the footer in four bytes, and four letters.
    let end = raw.length.saturating_sub(8);
    let length = (raw.read)(end, 4)?.iter().rev().fold(0u64, |length, byte| length << 8 | u64::from(*byte));
    let length = length.min(end);
    let footer = (raw.read)(end - length, length as usize)?;
    Ok(footer.windows(CREATOR.len()).any(|part| part == CREATOR.as_bytes()))
}

fn count_batch(batch: &Batch<'_>, rows: &Rows<'_>, file: usize, accumulator: &mut Accumulator<'_>) {
    rows.missing().for_each(|row| accumulator.reject(file, row, Reason::Empty));
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

/// Bytes as the reader of Parquet files asks for them.
#[derive(Clone)]
struct Shared(Arc<dyn ReadAt>);

/// A place in them.
struct Place {
    bytes: Arc<dyn ReadAt>,
    at: u64,
}

impl Read for Place {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.bytes.length().saturating_sub(self.at).min(buffer.len() as u64) as usize;
        if left == 0 {
            return Ok(0);
        }
        let found = self.bytes.read_at(self.at, left)?;
        buffer[..found.len()].copy_from_slice(&found);
        self.at += found.len() as u64;
        Ok(found.len())
    }
}

impl Length for Shared {
    fn len(&self) -> u64 {
        self.0.length()
    }
}

impl ChunkReader for Shared {
    type T = BufReader<Place>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(BufReader::new(Place { bytes: Arc::clone(&self.0), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        let cut = || ParquetError::EOF("the file is cut off".into());
        if self.0.length() < start.saturating_add(length as u64) {
            return Err(cut());
        }
        Some(self.0.read_at(start, length)?).filter(|bytes| bytes.len() == length).ok_or_else(cut)
    }
}
