//! One column of a Parquet file, batch by batch, without holding a group of rows.

use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{
    ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int64Type,
};
use parquet::errors::Result;
use parquet::file::reader::FileReader;

/// Rows that are handled at a time.
const BATCH: usize = 1 << 14;

/// A batch of a column, in the types that reports are stored in.
pub(crate) enum Batch<'b> {
    Int32(&'b [i32]),
    Int64(&'b [i64]),
    Fixed(&'b [FixedLenByteArray]),
    Bytes(&'b [ByteArray]),
}

/// The position of a column, and its type, if the file has it at the top level.
pub(crate) fn column(reader: &dyn FileReader, name: &str) -> Option<(usize, Type)> {
    let schema = reader.metadata().file_metadata().schema_descr();
    let found = schema.columns().iter().position(|column| column.path().parts() == [name.to_owned()]);
    found.map(|at| (at, schema.column(at).physical_type()))
}

/// Whether reports may be stored in a column of this type.
pub(crate) fn is_readable(kind: Type) -> bool {
    matches!(kind, Type::INT32 | Type::INT64 | Type::FIXED_LEN_BYTE_ARRAY | Type::BYTE_ARRAY)
}

/// Visits a column of one group of rows: batches of values that are there, each with the number of rows and how many are missing.
pub(crate) fn visit(
    reader: &dyn FileReader,
    group: usize,
    column: usize,
    mut visit: impl FnMut(Batch<'_>, usize),
) -> Result<()> {
    let group = reader.get_row_group(group)?;
    let reader = group.get_column_reader(column)?;
    match &reader {
        ColumnReader::Int32ColumnReader(_) => {
            batches::<Int32Type>(reader, |values, rows| visit(Batch::Int32(values), rows))
        }
        ColumnReader::Int64ColumnReader(_) => {
            batches::<Int64Type>(reader, |values, rows| visit(Batch::Int64(values), rows))
        }
        ColumnReader::FixedLenByteArrayColumnReader(_) => {
            batches::<FixedLenByteArrayType>(reader, |values, rows| visit(Batch::Fixed(values), rows))
        }
        ColumnReader::ByteArrayColumnReader(_) => {
            batches::<ByteArrayType>(reader, |values, rows| visit(Batch::Bytes(values), rows))
        }
        _ => Ok(()),
    }
}

fn batches<T: DataType>(reader: ColumnReader, mut visit: impl FnMut(&[T::T], usize)) -> Result<()> {
    let mut reader: ColumnReaderImpl<T> = get_typed_column_reader(reader);
    let (mut values, mut levels) = (Vec::with_capacity(BATCH), Vec::new());
    loop {
        values.clear();
        levels.clear();
        let (rows, _, _) = reader.read_records(BATCH, Some(&mut levels), None, &mut values)?;
        if rows == 0 {
            return Ok(());
        }
        visit(&values, rows);
    }
}
