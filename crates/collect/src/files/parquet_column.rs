//! One column of a Parquet file, batch by batch, without holding a group of rows.

use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{
    ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int64Type,
};
use parquet::errors::Result;
use parquet::file::reader::FileReader;
use parquet::schema::types::ColumnDescriptor;

use super::guard::guarded;

/// Rows that are handled at a time.
const BATCH: usize = 1 << 14;

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

/// Visits a column of one group of rows, the first of which has the number `first`: batches of values with their rows.
pub(crate) fn visit(
    reader: &dyn FileReader,
    group: usize,
    column: usize,
    first: u64,
    mut visit: impl FnMut(Batch<'_>, &Rows<'_>),
) -> Result<()> {
    let reader = guarded(|| reader.get_row_group(group)?.get_column_reader(column))?;
    match &reader {
        ColumnReader::Int32ColumnReader(_) => {
            batches::<Int32Type>(reader, first, |values, rows| visit(Batch::Int32(values), rows))
        }
        ColumnReader::Int64ColumnReader(_) => {
            batches::<Int64Type>(reader, first, |values, rows| visit(Batch::Int64(values), rows))
        }
        ColumnReader::FixedLenByteArrayColumnReader(_) => {
            batches::<FixedLenByteArrayType>(reader, first, |values, rows| visit(Batch::Fixed(values), rows))
        }
        ColumnReader::ByteArrayColumnReader(_) => {
            batches::<ByteArrayType>(reader, first, |values, rows| visit(Batch::Bytes(values), rows))
        }
        _ => Ok(()),
    }
}

fn batches<T: DataType>(
    reader: ColumnReader,
    mut first: u64,
    mut visit: impl FnMut(&[T::T], &Rows<'_>),
) -> Result<()> {
    let mut reader: ColumnReaderImpl<T> = get_typed_column_reader(reader);
    let (mut values, mut levels) = (Vec::with_capacity(BATCH), Vec::new());
    loop {
        values.clear();
        levels.clear();
        let (rows, _, _) = guarded(|| reader.read_records(BATCH, Some(&mut levels), None, &mut values))?;
        if rows == 0 {
            return Ok(());
        }
        visit(&values, &Rows { first, count: rows as u64, levels: &levels });
        first += rows as u64;
    }
}
