//! One column of a Parquet file, batch by batch, without holding a group of rows.

use parquet::basic::{Compression as Codec, ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{
    ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int64Type,
};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::FileReader;
use parquet::schema::types::ColumnDescriptor;

use super::guard::guarded;
use super::page_header::PageHeader;
use super::source::Raw;
use crate::error::Damage;

/// Rows that are handled at a time.
const BATCH: usize = 1 << 14;

/// Most rows that a byte of a file may stand for. (Rows that are all alike take a byte for some thousand of them.)
const MAX_ROWS_A_BYTE: u64 = 1 << 14;

/// A batch of a column, in the types that reports are stored in.
pub(crate) enum Batch<'b> {
    Int32(&'b [i32]),
    Int64(&'b [i64]),
    Fixed(&'b [FixedLenByteArray]),
    Bytes(&'b [ByteArray]),
}

/// The rows of a batch. A row without a value has the level 0; where all must have one there are no levels.
pub(crate) struct Rows<'b> {
    first: u64,
    count: u64,
    levels: &'b [i16],
}

impl Rows<'_> {
    fn has_value(&self, row: u64) -> bool {
        self.levels.get((row - self.first) as usize).is_none_or(|level| *level > 0)
    }

    fn all(&self) -> impl Iterator<Item = u64> {
        self.first..self.first + self.count
    }

    /// The rows of the values, in their order.
    pub(crate) fn present(&self) -> impl Iterator<Item = u64> {
        self.all().filter(|row| self.has_value(*row))
    }

    /// The rows that have none.
    pub(crate) fn missing(&self) -> impl Iterator<Item = u64> {
        self.all().filter(|row| !self.has_value(*row))
    }
}

/// Most bytes of a page when it is decompressed. (Usual is one MiB; ours have up to 64, where a single report has some.)
const MAX_PAGE: i64 = 128 << 20;

/// Bytes of a page's header that are read at first, and at most: it may hold the smallest and the largest value.
const FIRST_HEADER: usize = 1 << 12;
const MAX_HEADER: usize = 16 << 20;

/// Refuses a file with a codec that is not supported, whose groups have other numbers of rows than the file, more rows than so many bytes can have, or too large a page in the
/// column.
pub(crate) fn check(reader: &dyn FileReader, column: usize, raw: &Raw) -> Result<()> {
    check_rows(reader, raw.length)?;
    (0..reader.metadata().num_row_groups()).try_for_each(|group| check_group(reader, group, column, raw))
}

/// The same for one group, but for the rows.
pub(crate) fn check_group(reader: &dyn FileReader, group: usize, column: usize, raw: &Raw) -> Result<()> {
    let chunk = reader.metadata().row_group(group).column(column);
    check_codec(chunk.compression())?;
    let (mut at, length) = guarded(|| Ok(chunk.byte_range()))?;
    let end = at.checked_add(length).filter(|end| *end <= raw.length);
    let end = end.ok_or_else(|| contradiction(Damage::ColumnEnd))?;
    while at < end {
        let header = page_header(raw, at, end)?;
        if header.uncompressed > MAX_PAGE {
            let damage = Damage::PageSize { bytes: header.uncompressed, most: MAX_PAGE };
            return Err(contradiction(damage));
        }
        let compressed = u64::try_from(header.compressed).map_err(|_| contradiction(Damage::PageHeader))?;
        at = at.saturating_add(header.length as u64).saturating_add(compressed);
    }
    Ok(())
}

/// Refuses a codec that this program was not built with.
fn check_codec(codec: Codec) -> Result<()> {
    let codec = match codec {
        Codec::UNCOMPRESSED | Codec::SNAPPY | Codec::GZIP(_) | Codec::ZSTD(_) => return Ok(()),
        Codec::LZO => "LZO",
        Codec::BROTLI(_) => "BROTLI",
        Codec::LZ4 => "LZ4",
        Codec::LZ4_RAW => "LZ4_RAW",
    };
    Err(contradiction(Damage::Codec { codec }))
}

fn page_header(raw: &Raw, at: u64, end: u64) -> Result<PageHeader> {
    let mut length = FIRST_HEADER;
    loop {
        let left = usize::try_from(end - at).unwrap_or(usize::MAX);
        match PageHeader::read(&(raw.read)(at, length.min(left))?) {
            Some(header) => return Ok(header),
            None if length < left && length < MAX_HEADER => length *= 8,
            None => return Err(contradiction(Damage::PageHeader)),
        }
    }
}

/// Refuses groups with other numbers of rows than the file, and more rows than so many bytes can have.
pub(crate) fn check_rows(reader: &dyn FileReader, bytes: u64) -> Result<()> {
    let claimed = |rows: i64| u64::try_from(rows).map_err(|_| contradiction(Damage::Rows));
    let all = claimed(reader.metadata().file_metadata().num_rows())?;
    if all > bytes.saturating_mul(MAX_ROWS_A_BYTE) {
        return Err(contradiction(Damage::Rows));
    }
    let groups = reader.metadata().row_groups().iter();
    let sum = groups
        .map(|group| claimed(group.num_rows()))
        .try_fold(0u64, |sum, rows| sum.checked_add(rows?).ok_or_else(|| contradiction(Damage::Rows)))?;
    if sum == all { Ok(()) } else { Err(contradiction(Damage::RowCount { found: sum, claimed: all })) }
}

/// Refuses a column whose pages have other numbers of values than their group has rows.
pub(crate) fn check_pages(reader: &dyn FileReader, column: usize) -> Result<()> {
    for (at, group) in reader.metadata().row_groups().iter().enumerate() {
        let (mut pages, mut values) = (reader.get_row_group(at)?.get_column_page_reader(column)?, 0u64);
        while let Some(page) = pages.peek_next_page()? {
            values += page.num_levels.or(page.num_rows).unwrap_or(0) as u64;
            pages.skip_next_page()?;
        }
        if values != group.num_rows() as u64 {
            return Err(wrong_rows(values, group.num_rows()));
        }
    }
    Ok(())
}

fn wrong_rows(found: u64, claimed: i64) -> ParquetError {
    // The numbers of rows were checked: none is negative.
    contradiction(Damage::RowCount { found, claimed: claimed as u64 })
}

fn contradiction(damage: Damage) -> ParquetError {
    ParquetError::External(Box::new(damage))
}

/// The position of a column at the top level.
pub(crate) fn position(reader: &dyn FileReader, name: &str) -> Option<usize> {
    let columns = reader.metadata().file_metadata().schema_descr().columns();
    columns.iter().position(|column| column.path().parts() == [name.to_owned()])
}

/// Whether reports may be stored in a column: one whole number, bytes or text a row, and not, say, a decimal, whose digits are a whole number
/// too.
pub(crate) fn holds_reports(column: &ColumnDescriptor) -> bool {
    use ConvertedType as C;
    const WHOLE: [C; 8] =
        [C::INT_8, C::INT_16, C::INT_32, C::INT_64, C::UINT_8, C::UINT_16, C::UINT_32, C::UINT_64];
    let (logical, converted) = (column.logical_type_ref(), column.converted_type());
    let plain = logical.is_none() && converted == C::NONE;
    let kind = match column.physical_type() {
        Type::INT32 | Type::INT64 => {
            plain || WHOLE.contains(&converted) || matches!(logical, Some(LogicalType::Integer { .. }))
        }
        Type::BYTE_ARRAY => plain || converted == C::UTF8 || matches!(logical, Some(LogicalType::String)),
        Type::FIXED_LEN_BYTE_ARRAY => plain,
        _ => false,
    };
    kind && column.max_rep_level() == 0
}

/// Visits a column of one group of rows, the first of which has the number `first`: batches of values with their rows. There must be as many
/// as the group claims.
pub(crate) fn visit(
    reader: &dyn FileReader,
    group: usize,
    column: usize,
    first: u64,
    mut visit: impl FnMut(Batch<'_>, &Rows<'_>),
) -> Result<()> {
    let claimed = reader.metadata().row_group(group).num_rows();
    let reader = guarded(|| reader.get_row_group(group)?.get_column_reader(column))?;
    let places = (first, claimed);
    match &reader {
        ColumnReader::Int32ColumnReader(_) => {
            batches::<Int32Type>(reader, places, |values, rows| visit(Batch::Int32(values), rows))
        }
        ColumnReader::Int64ColumnReader(_) => {
            batches::<Int64Type>(reader, places, |values, rows| visit(Batch::Int64(values), rows))
        }
        ColumnReader::FixedLenByteArrayColumnReader(_) => {
            batches::<FixedLenByteArrayType>(reader, places, |values, rows| visit(Batch::Fixed(values), rows))
        }
        ColumnReader::ByteArrayColumnReader(_) => {
            batches::<ByteArrayType>(reader, places, |values, rows| visit(Batch::Bytes(values), rows))
        }
        _ => Err(contradiction(Damage::ColumnType)),
    }
}

fn batches<T: DataType>(
    reader: ColumnReader,
    (mut first, claimed): (u64, i64),
    mut visit: impl FnMut(&[T::T], &Rows<'_>),
) -> Result<()> {
    let mut reader: ColumnReaderImpl<T> = get_typed_column_reader(reader);
    let (mut values, mut levels, mut found) = (Vec::with_capacity(BATCH), Vec::new(), 0);
    loop {
        values.clear();
        levels.clear();
        let (rows, _, _) = guarded(|| reader.read_records(BATCH, Some(&mut levels), None, &mut values))?;
        found += rows as u64;
        if found > claimed as u64 || rows == 0 && found < claimed as u64 {
            return Err(wrong_rows(found, claimed));
        }
        if rows == 0 {
            return Ok(());
        }
        let rows = Rows { first, count: rows as u64, levels: &levels };
        visit(&values, &rows);
        first += rows.count;
    }
}
