//! Parquet files of others: columns that hold no reports, rows without a value, damage.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use sottovoce::Protocol;
use sottovoce_collect::files::inputs::Input;
use sottovoce_collect::files::report_reader::ReportFile;
use sottovoce_collect::files::values::ValueReader;
use sottovoce_collect::tally::Counts;
use sottovoce_collect::{Domain, Error, Form, Identity, Reason, Tally, ValueProblem};

/// Writes one column; the levels tell which rows have a value, if some have none.
fn file<T: DataType>(path: &Path, column: &str, values: &[T::T], levels: Option<&[i16]>) -> Input {
    let schema = Arc::new(parse_message_type(&format!("message m {{ {column}; }}")).unwrap());
    let properties = Arc::new(WriterProperties::default());
    let mut writer = SerializedFileWriter::new(File::create(path).unwrap(), schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let repetition = levels.map(|levels| vec![0; levels.len()]);
    column.typed::<T>().write_batch(values, levels, repetition.as_deref()).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    Input::File(path.to_owned())
}

/// A directory, and the path of a file in it.
fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f.parquet");
    (directory, path)
}

fn tally(protocol: &Protocol, input: &Input) -> Result<Tally, Error> {
    let mut tally = Tally::new(protocol, Form::Automatic);
    tally.add([ReportFile::open(input)].into_iter(), &Identity::new("{}".into()))?;
    Ok(tally)
}

/// The inputs that are read, and the problems with their rows.
fn values(input: &Input, domain: &Domain) -> (Vec<usize>, Vec<(ValueProblem, u64)>, Vec<u64>) {
    let mut read = Vec::new();
    let reader = ValueReader { domain, column: "value", skip: true };
    let skipped = reader.read(input, &mut |batch| {
        read.extend_from_slice(batch);
        Ok(())
    });
    let skipped = skipped.unwrap();
    (read, skipped.counts.into_iter().collect(), skipped.lines)
}

#[test]
fn reports_are_whole_numbers_bytes_or_text() {
    let ((_directory, path), grr) = (place(), Protocol::grr(300, 1.0).unwrap());
    for column in [
        "required int32 report",
        "optional int32 report (INTEGER(16,false))",
        "required int32 report (UINT_8)",
    ] {
        let levels = column.starts_with("optional").then_some(&[1i16, 1, 1][..]);
        let tally = tally(&grr, &file::<Int32Type>(&path, column, &[7, 299, 7], levels)).unwrap();
        let Counts::Numbers(counts) = &tally.counts else { panic!() };
        assert_eq!((tally.n, counts[7], counts[299]), (3, 2, 1), "{column}");
    }
    let text: Vec<ByteArray> = ["007", "7", "299"].iter().map(|text| ByteArray::from(*text)).collect();
    let found =
        tally(&grr, &file::<ByteArrayType>(&path, "required binary report (UTF8)", &text, None)).unwrap();
    assert_eq!((found.n, found.rejections.counts[&Reason::Length]), (2, 1));
    // 3.00 is stored as 300, and a day as its number.
    for column in ["int32 report (DECIMAL(9,2))", "int32 report (DATE)", "int32 report (TIME(MILLIS,true))"] {
        let input = file::<Int32Type>(&path, &format!("required {column}"), &[7], None);
        assert!(matches!(tally(&grr, &input), Err(Error::ColumnType { .. })), "{column}");
    }
    let input = file::<DoubleType>(&path, "required double report", &[7.0], None);
    assert!(matches!(tally(&grr, &input), Err(Error::ColumnType { .. })));
    let input = file::<Int32Type>(&path, "repeated int32 report", &[7, 8], Some(&[1, 1]));
    assert!(matches!(tally(&grr, &input), Err(Error::ColumnType { .. })));
    // A name that would move the cursor is not printed.
    let input = file::<Int32Type>(&path, "required int32 repord", &[7], None);
    assert!(tally(&grr, &input).unwrap_err().to_string().contains("the columns are: repord"));
}

#[test]
fn rejected_rows_have_their_numbers_beside_rows_without_a_report() {
    let ((_directory, path), grr) = (place(), Protocol::grr(3, 1.0).unwrap());
    let input = file::<Int64Type>(&path, "optional int64 report", &[0, -1, 2, 3], Some(&[1, 0, 1, 0, 1, 1]));
    let tally = tally(&grr, &input).unwrap();
    assert_eq!((tally.n, tally.rejections.total()), (2, 4));
    let examples: Vec<(u64, Reason)> = tally.rejections.examples.iter().map(|e| (e.line, e.reason)).collect();
    let expected = [(2, Reason::Empty), (3, Reason::OutOfRange), (4, Reason::Empty), (6, Reason::OutOfRange)];
    assert_eq!(examples, expected);
}

#[test]
fn values_are_read_from_columns_of_any_plain_type() {
    let ((_directory, path), plain) = (place(), Domain::new(3, None));
    let doubles = [0.0, 2.0, 1.5, f64::NAN, -0.0, 3.0, 1e300, f64::INFINITY];
    let (read, problems, _) =
        values(&file::<DoubleType>(&path, "required double value", &doubles, None), &plain);
    assert_eq!(read, [0, 2]);
    assert_eq!(problems, [(ValueProblem::NotWhole, 4), (ValueProblem::OutOfRange, 2)]);
    let input = file::<Int32Type>(&path, "optional int32 value", &[2, -1, 3], Some(&[1, 0, 1, 1]));
    let (read, problems, lines) = values(&input, &plain);
    assert_eq!((read, lines), (vec![2], vec![2, 3, 4]));
    let expected = [(ValueProblem::Missing, 1), (ValueProblem::NotWhole, 1), (ValueProblem::OutOfRange, 1)];
    assert_eq!(problems, expected);
    let yes = Domain::new(2, Some(&["false".into(), "true".into()]));
    assert_eq!(
        values(&file::<BoolType>(&path, "required boolean value", &[true, false], None), &yes).0,
        [1, 0]
    );
    let input = file::<Int32Type>(&path, "repeated int32 value", &[1, 2], Some(&[1, 1]));
    assert_eq!(values(&input, &plain).1, [(ValueProblem::Row, 2)]);
}

/// Any byte may be wrong: the file is refused, or its rows are rejected or counted, but nothing panics (the reader of Parquet files does, on
/// some of these).
#[test]
fn damage_is_an_error() {
    let ((_directory, path), grr, plain) =
        (place(), Protocol::grr(300, 1.0).unwrap(), Domain::new(300, None));
    for (column, read) in [("report", true), ("value", false)] {
        let numbers: Vec<i32> = (0..20).collect();
        let input = file::<Int32Type>(&path, &format!("required int32 {column}"), &numbers, None);
        let good = fs::read(&path).unwrap();
        for at in 4..good.len() {
            for byte in [0xff, good[at] ^ 1, good[at] ^ 0x80] {
                let mut bad = good.clone();
                bad[at] = byte;
                fs::write(&path, &bad).unwrap();
                if read {
                    let _ = tally(&grr, &input);
                } else {
                    let reader = ValueReader { domain: &plain, column: "value", skip: true };
                    let _ = reader.read(&input, &mut |_| Ok(()));
                }
            }
        }
    }
}
