//! Reading the users' values: CSV with a header, JSON Lines or Parquet, as labels or as numbers of inputs.
//!
//! A value that is not one of the inputs is never sent as something else: it ends the reading with its line number, or is skipped and
//! counted if the user wants that.

use std::collections::{BTreeMap, HashMap};

use parquet::file::reader::FileReader;
use parquet::record::Field;
use parquet::schema::types::Type;
use serde::Serialize;

use super::FileFormat;
use super::inputs::Input;
use super::source::{Lines, Source, damaged, open};
use crate::error::{Error, Result};
use crate::rejection::shown;

/// The inputs of a protocol, as values may name them.
#[derive(Clone, Debug)]
pub struct Domain {
    inputs: usize,
    labels: HashMap<String, usize>,
    /// Whether a number can only be the number of an input.
    numbers: bool,
}

/// Why a value is none of the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueProblem {
    /// There is no value.
    Missing,
    /// A text that is no label.
    UnknownLabel,
    /// Neither a label nor a whole number of 0 or more.
    NotWhole,
    /// The number of an input that does not exist.
    OutOfRange,
    /// A row that does not fit its format.
    Row,
}

impl ValueProblem {
    /// The problem in words.
    pub fn words(self) -> &'static str {
        match self {
            ValueProblem::Missing => "there is no value",
            ValueProblem::UnknownLabel => "is not one of the labels",
            ValueProblem::NotWhole => "is not a whole number of 0 or more",
            ValueProblem::OutOfRange => "is larger than the number of the last input",
            ValueProblem::Row => "the row does not fit the format",
        }
    }
}

/// Values that were skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// How many, by problem.
    pub counts: BTreeMap<ValueProblem, u64>,
    /// The lines of the first few.
    pub lines: Vec<u64>,
}

impl Skipped {
    /// How many values were skipped.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    fn add(&mut self, line: u64, problem: ValueProblem) {
        *self.counts.entry(problem).or_default() += 1;
        if self.lines.len() < 5 {
            self.lines.push(line);
        }
    }
}

impl Domain {
    /// The inputs `0..inputs`, with names if they have any.
    pub fn new(inputs: usize, labels: Option<&[String]>) -> Self {
        let labels = labels.unwrap_or_default();
        // Where a label looks like a number, a number that is no label is a mistake.
        let numbers = !labels.iter().any(|label| label.trim().parse::<f64>().is_ok());
        let labels = labels.iter().enumerate().map(|(x, label)| (label.clone(), x)).collect();
        Domain { inputs, labels, numbers }
    }

    /// The input that a text names.
    ///
    /// # Errors
    /// Why it names none.
    pub fn input(&self, text: &str) -> Result<usize, ValueProblem> {
        if let Some(x) = self.labels.get(text) {
            return Ok(*x);
        }
        match text.trim() {
            "" => Err(ValueProblem::Missing),
            number if self.numbers => match whole(number) {
                Err(ValueProblem::NotWhole) if !self.labels.is_empty() => Err(ValueProblem::UnknownLabel),
                Ok(x) if x >= self.inputs as u64 => Err(ValueProblem::OutOfRange),
                other => other.map(|x| x as usize),
            },
            _ => Err(ValueProblem::UnknownLabel),
        }
    }
}

/// The whole number in a text; `3.0`, as some programs write it, is 3.
fn whole(text: &str) -> Result<u64, ValueProblem> {
    let (digits, zeros) = text.split_once('.').unwrap_or((text, "0"));
    let all = |text: &str, allowed: fn(u8) -> bool| !text.is_empty() && text.bytes().all(allowed);
    if !all(digits, |c| c.is_ascii_digit()) || !all(zeros, |c| c == b'0') {
        return Err(ValueProblem::NotWhole);
    }
    digits.parse().map_err(|_| ValueProblem::OutOfRange)
}

/// What is wanted of a file of values.
#[derive(Clone, Debug)]
pub struct ValueReader<'d> {
    /// The inputs.
    pub domain: &'d Domain,
    /// The column or key.
    pub column: &'d str,
    /// Whether values that are no inputs are skipped; otherwise they end the reading.
    pub skip: bool,
}

/// Values that are handled at a time.
const BATCH: usize = 1 << 16;

/// Collects values into batches.
struct Collector<'r, 'v> {
    reader: &'r ValueReader<'r>,
    input: &'r Input,
    skipped: Skipped,
    batch: Vec<usize>,
    visit: &'v mut dyn FnMut(&[usize]) -> Result<()>,
}

impl Collector<'_, '_> {
    fn text(&mut self, line: u64, text: &[u8]) -> Result<()> {
        let value = std::str::from_utf8(text).map_err(|_| ValueProblem::Row);
        let value = value.and_then(|text| self.reader.domain.input(text));
        self.value(line, value, text)
    }

    fn value(&mut self, line: u64, value: Result<usize, ValueProblem>, text: &[u8]) -> Result<()> {
        match value {
            Ok(x) => self.batch.push(x),
            Err(problem) if self.reader.skip => self.skipped.add(line, problem),
            Err(problem) => {
                let (file, value) = (self.input.to_string(), shown(text));
                return Err(Error::Value { file, line, value, problem });
            }
        }
        if self.batch.len() == BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let visited = (self.visit)(&self.batch);
        self.batch.clear();
        visited
    }

    fn no_column(&self, found: String) -> Error {
        Error::NoColumn { file: self.input.to_string(), column: self.reader.column.to_owned(), found }
    }
}

impl ValueReader<'_> {
    /// Visits the values in the file, in order and in batches.
    ///
    /// # Errors
    /// The file cannot be read or has no such column, a value is no input (unless skipped), or a visit failed.
    pub fn read(&self, input: &Input, visit: &mut dyn FnMut(&[usize]) -> Result<()>) -> Result<Skipped> {
        let (skipped, batch) = (Skipped::default(), Vec::with_capacity(BATCH));
        let mut collector = Collector { reader: self, input, skipped, batch, visit };
        match open(input)? {
            Source::Text(FileFormat::JsonLines, lines) => json_lines(&mut collector, lines)?,
            Source::Text(_, lines) => csv(&mut collector, lines)?,
            Source::Parquet(reader) => parquet(&mut collector, &*reader)?,
        }
        if !collector.batch.is_empty() {
            collector.flush()?;
        }
        Ok(collector.skipped)
    }
}

fn csv(collector: &mut Collector<'_, '_>, mut lines: Lines) -> Result<()> {
    let header = lines.line(collector.input)?.map(|(_, header)| header).unwrap_or_default();
    let names = fields(&header);
    let at = names.iter().position(|name| name.trim_ascii() == collector.reader.column.as_bytes());
    let at = at.ok_or_else(|| collector.no_column(shown(&header)))?;
    if names.len() == 1 { single_column(collector, lines) } else { table(collector, lines, at, names.len()) }
}

/// The fields of one line of CSV.
fn fields(line: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line);
    let record = reader.byte_records().next().and_then(std::result::Result::ok).unwrap_or_default();
    record.iter().map(<[u8]>::to_vec).collect()
}

/// One value a line. An empty line among others is a missing value, which a reader of tables would pass over.
fn single_column(collector: &mut Collector<'_, '_>, mut lines: Lines) -> Result<()> {
    let mut empty = Vec::new();
    while let Some(block) = lines.block(collector.input)? {
        for (line, text) in block.lines() {
            if text.is_empty() {
                empty.push(line);
                continue;
            }
            for line in empty.drain(..) {
                collector.value(line, Err(ValueProblem::Missing), b"")?;
            }
            match text.iter().any(|byte| b"\",".contains(byte)).then(|| fields(text)).as_deref() {
                None => collector.text(line, text)?,
                Some([field]) => collector.text(line, field)?,
                Some(several) => {
                    let first = several.first().map(Vec::as_slice).unwrap_or_default();
                    collector.value(line, Err(ValueProblem::Row), first)?;
                }
            }
        }
    }
    Ok(())
}

fn table(collector: &mut Collector<'_, '_>, lines: Lines, at: usize, columns: usize) -> Result<()> {
    let file = collector.input.to_string();
    let damaged = |error: csv::Error| Error::Damaged { file: file.clone(), message: error.to_string() };
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(lines);
    let mut record = csv::ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(damaged)? {
        // The header was line 1.
        let line = 1 + record.position().map_or(0, csv::Position::line);
        if record.len() == columns {
            collector.text(line, &record[at])?;
        } else {
            collector.value(line, Err(ValueProblem::Row), record.get(0).unwrap_or_default())?;
        }
    }
    Ok(())
}

fn json_lines(collector: &mut Collector<'_, '_>, mut lines: Lines) -> Result<()> {
    while let Some(block) = lines.block(collector.input)? {
        for (line, text) in block.lines().filter(|(_, line)| !line.trim_ascii().is_empty()) {
            let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
            let object = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(text);
            match object.as_ref().map(|object| object.get(collector.reader.column)) {
                Ok(Some(serde_json::Value::String(value))) => collector.text(line, value.as_bytes())?,
                Ok(Some(value @ serde_json::Value::Number(_))) => {
                    collector.text(line, value.to_string().as_bytes())?;
                }
                Ok(None | Some(serde_json::Value::Null)) => {
                    collector.value(line, Err(ValueProblem::Missing), text)?;
                }
                _ => collector.value(line, Err(ValueProblem::Row), text)?,
            }
        }
    }
    Ok(())
}

fn parquet(collector: &mut Collector<'_, '_>, reader: &dyn FileReader) -> Result<()> {
    let input = collector.input;
    let schema = reader.metadata().file_metadata().schema();
    let field = schema.get_fields().iter().find(|field| field.name() == collector.reader.column);
    let names: Vec<&str> = schema.get_fields().iter().map(|field| field.name()).collect();
    let field = field.ok_or_else(|| collector.no_column(shown(names.join(", ").as_bytes())))?;
    let projection = Type::group_type_builder(schema.name()).with_fields(vec![field.clone()]).build();
    let rows = projection.and_then(|projection| reader.get_row_iter(Some(projection)));
    for (row, line) in rows.map_err(|error| damaged(input, &error))?.zip(1..) {
        let row = row.map_err(|error| damaged(input, &error))?;
        match row.get_column_iter().next().map(|(_, field)| field) {
            Some(Field::Null) | None => collector.value(line, Err(ValueProblem::Missing), b"null")?,
            Some(Field::Str(text)) => collector.text(line, text.as_bytes())?,
            Some(Field::Bytes(bytes)) => collector.text(line, bytes.data())?,
            // A whole double is shown without a point, and any other is no input.
            Some(field) => collector.text(line, field.to_string().as_bytes())?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_inputs_where_no_label_is_a_number() {
        let plain = Domain::new(3, None);
        assert_eq!(plain.input("2"), Ok(2));
        assert_eq!(plain.input(" 2.0 "), Ok(2));
        assert_eq!(plain.input("3"), Err(ValueProblem::OutOfRange));
        assert_eq!(plain.input("99999999999999999999"), Err(ValueProblem::OutOfRange));
        for bad in ["-1", "1.5", "nan", "inf", "1e0", "red", "+1", "0x1", ".", "1."] {
            assert_eq!(plain.input(bad), Err(ValueProblem::NotWhole), "{bad}");
        }
        assert_eq!(plain.input("  "), Err(ValueProblem::Missing));

        let words = Domain::new(2, Some(&["no".into(), "yes".into()]));
        assert_eq!((words.input("yes"), words.input("1")), (Ok(1), Ok(1)));
        assert_eq!(words.input("Yes"), Err(ValueProblem::UnknownLabel));
        assert_eq!(words.input("2"), Err(ValueProblem::OutOfRange));

        let years = Domain::new(2, Some(&["1".into(), "2".into()]));
        assert_eq!((years.input("1"), years.input("2")), (Ok(0), Ok(1)));
        assert_eq!(years.input("0"), Err(ValueProblem::UnknownLabel));
    }
}
