//! Tables of numbers as Parquet: a column of doubles for each name, such as joint draws of all frequencies.

use std::io;
use std::sync::Arc;

use parquet::basic::{Repetition, Type as Physical};
use parquet::data_type::DoubleType;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::report_writer::system_error;

/// Rows in a group.
const GROUP: usize = 1 << 16;

/// The bytes of a Parquet file with these columns and rows. All rows are as long as there are names.
///
/// # Errors
/// The writer refuses a name.
pub fn parquet_table(names: &[String], rows: &[Vec<f64>]) -> io::Result<Vec<u8>> {
    written(names, rows).map_err(system_error)
}

fn written(names: &[String], rows: &[Vec<f64>]) -> Result<Vec<u8>, ParquetError> {
    let column = |name: &String| {
        let number = Type::primitive_type_builder(name, Physical::DOUBLE);
        number.with_repetition(Repetition::REQUIRED).build().map(Arc::new)
    };
    let columns = names.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    let schema = Arc::new(Type::group_type_builder("draws").with_fields(columns).build()?);
    // No two draws are alike, so a dictionary would only be in the way.
    let properties =
        WriterProperties::builder().set_dictionary_enabled(false).set_created_by("sottovoce".into());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build()))?;
    for rows in rows.chunks(GROUP) {
        let (mut group, mut at) = (writer.next_row_group()?, 0);
        while let Some(mut column) = group.next_column()? {
            let values: Vec<f64> = rows.iter().map(|row| row[at]).collect();
            column.typed::<DoubleType>().write_batch(&values, None, None)?;
            column.close()?;
            at += 1;
        }
        group.close()?;
    }
    writer.into_inner()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;

    #[test]
    fn numbers_are_read_as_they_were_written() {
        let names = ["red", "a \"b\", c", "ü"].map(String::from);
        let rows: Vec<Vec<f64>> =
            (0..GROUP + 3).map(|i| vec![i as f64, 1.0 / (1.0 + i as f64), f64::MIN_POSITIVE]).collect();
        let file = SerializedFileReader::new(Bytes::from(parquet_table(&names, &rows).unwrap())).unwrap();
        assert_eq!(file.num_row_groups(), 2);
        for (read, row) in file.get_row_iter(None).unwrap().zip(&rows) {
            let read = read.unwrap();
            for ((name, field), (expected, value)) in read.get_column_iter().zip(names.iter().zip(row)) {
                assert_eq!(name, expected);
                assert_eq!(*field, parquet::record::Field::Double(*value));
            }
        }
        assert_eq!(file.metadata().file_metadata().num_rows(), rows.len() as i64);
        assert!(parquet_table(&names, &[]).is_ok());
    }
}
