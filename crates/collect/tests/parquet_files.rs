//! Parquet files of others: columns that hold no reports, rows without a value, damage.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::file::metadata::{FileMetaData, ParquetMetaDataBuilder, ParquetMetaDataWriter};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
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
    tally.add([ReportFile::open(input)].into_iter(), &Identity::new("{}".into()), &sottovoce::unobserved)?;
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

/// Writes the same rows with other claims about their number: of the whole file, of its group, of its column.
fn claiming(path: &Path, rows: [i64; 3]) {
    let bytes = fs::read(path).unwrap();
    let [file, group, column] = rows;
    let metadata = SerializedFileReader::new(bytes::Bytes::from(bytes.clone())).unwrap().metadata().clone();
    let own = metadata.file_metadata();
    let claimed = FileMetaData::new(own.version(), file, None, None, own.schema_descr_ptr(), None);
    let chunk =
        metadata.row_group(0).column(0).clone().into_builder().set_num_values(column).build().unwrap();
    let claimed_group = metadata.row_group(0).clone().into_builder().set_num_rows(group);
    let claimed_group = claimed_group.set_column_metadata(vec![chunk]).build().unwrap();
    let claimed = ParquetMetaDataBuilder::new(claimed).add_row_group(claimed_group).build();
    let length = bytes.len() - 8;
    let footer = u32::from_le_bytes(bytes[length..length + 4].try_into().unwrap()) as usize;
    let mut changed = bytes[..length - footer].to_vec();
    ParquetMetaDataWriter::new(&mut changed, &claimed).finish().unwrap();
    fs::write(path, changed).unwrap();
}

/// The rows of a group must be there, neither fewer nor more.
#[test]
fn rows_that_are_only_claimed_are_refused() {
    let ((_directory, path), grr, plain) = (place(), Protocol::grr(3, 1.0).unwrap(), Domain::new(3, None));
    let numbers: Vec<i32> = (0..60).map(|i| i % 3).collect();
    let claims: [(i64, [i64; 3]); 9] = [
        (60, [60, 60, 60]),
        (0, [0, 0, 0]),
        (0, [0, 0, 60]),
        (5, [5, 5, 5]),
        (5, [5, 5, 60]),
        (61, [61, 61, 61]),
        (1_000_000, [1_000_000, 1_000_000, 1_000_000]),
        (0, [60, 0, 60]),
        (-60, [-60, -60, 60]),
    ];
    for (claimed, rows) in claims {
        let input = file::<Int32Type>(&path, "required int32 report", &numbers, None);
        claiming(&path, rows);
        let counted = tally(&grr, &input).map(|tally| tally.n);
        assert_eq!(counted.is_ok(), claimed == 60, "{rows:?}: {counted:?}");
        for (column, levels) in [("required", None), ("optional", Some(&[1i16; 60][..]))] {
            let column = format!("{column} int32 value");
            let input = file::<Int32Type>(&path, &column, &numbers, levels);
            claiming(&path, rows);
            let reader = ValueReader { domain: &plain, column: "value", skip: true };
            let mut read = 0;
            let outcome = reader.read(&input, &mut |batch| {
                read += batch.len();
                Ok(())
            });
            assert_eq!(outcome.is_ok() && read == 60, claimed == 60, "{rows:?} {column}: {read} {outcome:?}");
            assert!(outcome.is_err() || read == 60, "{rows:?} {column}: {read}");
        }
    }
}

/// Rows that are all alike take next to nothing; but some hundred bytes are not millions of users.
#[test]
fn a_byte_stands_for_so_many_rows_only() {
    let ((_directory, path), grr) = (place(), Protocol::grr(3, 1.0).unwrap());
    let alike = |rows: usize, page: usize| {
        let schema = Arc::new(parse_message_type("message m { required int32 report; }").unwrap());
        let properties = WriterProperties::builder()
            .set_data_page_row_count_limit(page)
            .set_compression(Compression::SNAPPY);
        let mut writer =
            SerializedFileWriter::new(File::create(&path).unwrap(), schema, Arc::new(properties.build()))
                .unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        for _ in 0..rows >> 20 {
            column.typed::<Int32Type>().write_batch(&vec![1; 1 << 20], None, None).unwrap();
        }
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        (tally(&grr, &Input::File(path.clone())), fs::metadata(&path).unwrap().len())
    };
    let (counted, bytes) = alike(1 << 20, 20_000);
    assert_eq!(counted.unwrap().n, 1 << 20, "{bytes} bytes");
    let (counted, bytes) = alike(1 << 25, usize::MAX);
    assert!(bytes < 1000, "{bytes} bytes");
    assert!(counted.unwrap_err().to_string().contains("an impossible number of rows"));
}

/// A page that becomes a thousand times larger is not decompressed.
#[test]
fn a_page_has_a_largest_size() {
    let ((_directory, path), grr, plain) = (place(), Protocol::grr(3, 1.0).unwrap(), Domain::new(3, None));
    for (name, length) in [("report", 130 << 20), ("value", 130 << 20), ("report", 1 << 10)] {
        let schema = parse_message_type(&format!("message m {{ required binary {name}; }}")).unwrap();
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(Default::default()))
            .set_dictionary_enabled(false)
            .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None);
        let file = File::create(&path).unwrap();
        let mut writer =
            SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties.build())).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let zeros = ByteArray::from(vec![b'0'; length]);
        column.typed::<ByteArrayType>().write_batch(&[zeros], None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        assert!(fs::metadata(&path).unwrap().len() < 100_000);
        let input = Input::File(path.clone());
        let refused = match name {
            "report" => tally(&grr, &input).map(|tally| tally.rejections.total()),
            _ => ValueReader { domain: &plain, column: name, skip: true }
                .read(&input, &mut |_| Ok(()))
                .map(|s| s.total()),
        };
        match length {
            1024 => assert_eq!(refused.unwrap(), 1),
            _ => assert!(
                refused.unwrap_err().to_string().contains("a page of its column would take 13631"),
                "{name}"
            ),
        }
    }
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
                // Without an end a changed value is not seen, but a lost row is.
                if read {
                    let counted = tally(&grr, &input).map(|tally| tally.n + tally.rejections.total());
                    assert!(
                        counted.as_ref().is_ok_and(|n| *n == 20) || counted.is_err(),
                        "{at}: {counted:?}"
                    );
                } else {
                    let reader = ValueReader { domain: &plain, column: "value", skip: true };
                    let mut sent = 0;
                    let skipped = reader.read(&input, &mut |batch| {
                        sent += batch.len() as u64;
                        Ok(())
                    });
                    assert!(
                        skipped.as_ref().is_ok_and(|s| sent + s.total() == 20) || skipped.is_err(),
                        "{at}: {sent}"
                    );
                }
            }
        }
    }
}
