//! Reading the users' values: CSV with a header, JSON Lines or Parquet, as labels, as numbers of inputs, or as numbers that fall into bins.
//!
//! A value that is not one of the inputs is never sent as something else: it ends the reading with its line number, or is skipped and
//! counted if the user wants that. Its text goes into no message: what is misspelt is a secret all the same, and messages end up in logs.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{self, Read};

use parquet::file::reader::FileReader;
use parquet::record::Field;
use parquet::schema::types::Type;

use super::FileFormat;
use super::guard::guarded;
use super::inputs::{Input, unreadable};
use super::json_value::json_value;
use super::parquet_column::{check, check_pages};
use super::source::{Lines, MAX_LINE, Raw, Source, damaged, open};
use crate::domain::{Domain, ValueProblem};
use crate::error::{Contents, Error, Result};
use crate::rejection::shown;

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

/// What is wanted of a file of values: one column.
#[derive(Clone, Debug)]
pub struct ValueReader<'d> {
    /// The inputs.
    pub domain: &'d Domain,
    /// The column or key.
    pub column: &'d str,
    /// Whether values outside the protocol's domain are skipped; otherwise they end the reading.
    pub skip: bool,
}

/// What is wanted of a table: several columns of each row.
#[derive(Clone, Debug)]
pub struct TableReader<'d> {
    /// The name and the inputs of each column.
    pub columns: Vec<(&'d str, &'d Domain)>,
    /// The column that names the person of each row, if people are known by name. No two rows may name the same.
    pub person: Option<&'d str>,
    /// Whether rows with a value outside its domain are skipped; otherwise they end the reading.
    pub skip: bool,
}

/// Some rows of a table.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'r> {
    /// The inputs of all columns of a row, one row after another.
    pub inputs: &'r [usize],
    /// The person of each row, if people are known by name.
    pub people: &'r [String],
}

/// Rows that are handled at a time.
const BATCH: usize = 1 << 16;

/// Collects rows into batches: the inputs of all columns of a row, one row after another.
struct Collector<'r, 'v> {
    reader: &'r TableReader<'r>,
    input: &'r Input,
    skipped: Skipped,
    batch: Vec<usize>,
    people: Vec<String>,
    known: HashSet<String>,
    visit: &'v mut dyn FnMut(Rows<'_>) -> Result<()>,
}

impl Collector<'_, '_> {
    /// A row: the text of each wanted column, or what is wrong with it.
    fn row<T: AsRef<[u8]>>(
        &mut self,
        line: u64,
        cells: impl IntoIterator<Item = Result<T, ValueProblem>>,
    ) -> Result<()> {
        let (reader, start) = (self.reader, self.batch.len());
        let mut cells = cells.into_iter();
        for ((name, domain), cell) in reader.columns.iter().zip(cells.by_ref()) {
            let input = |bytes: T| {
                let text = std::str::from_utf8(bytes.as_ref()).map_err(|_| ValueProblem::Row);
                text.and_then(|text| domain.input(text))
            };
            match cell.and_then(input) {
                Ok(x) => self.batch.push(x),
                Err(problem) => {
                    self.batch.truncate(start);
                    return self.refuse(line, Some(name), problem);
                }
            }
        }
        if let Some((name, cell)) = reader.person.zip(cells.next()) {
            match cell.and_then(named) {
                Ok(person) if !self.known.insert(person.clone()) => {
                    return Err(Error::NamedTwice { file: self.input.to_string(), line });
                }
                Ok(person) => self.people.push(person),
                Err(problem) => {
                    self.batch.truncate(start);
                    return self.refuse(line, Some(name), problem);
                }
            }
        }
        if self.batch.len() >= BATCH * reader.columns.len() { self.flush() } else { Ok(()) }
    }

    /// The only value of a row.
    fn text(&mut self, line: u64, text: &[u8]) -> Result<()> {
        self.row(line, [Ok(text)])
    }

    /// A row that cannot be used, because of one column or as a whole.
    fn refuse(&mut self, line: u64, column: Option<&str>, problem: ValueProblem) -> Result<()> {
        if self.reader.skip {
            self.skipped.add(line, problem);
            return Ok(());
        }
        let file = self.input.to_string();
        match column.filter(|_| self.reader.wanted().count() > 1) {
            Some(column) => Err(Error::ColumnValue { file, line, column: column.to_owned(), problem }),
            None => Err(Error::Value { file, line, problem }),
        }
    }

    fn flush(&mut self) -> Result<()> {
        sottovoce::stop::check();
        let visited = (self.visit)(Rows { inputs: &self.batch, people: &self.people });
        self.batch.clear();
        self.people.clear();
        visited
    }
}

/// The name of a person: any text but none.
fn named<T: AsRef<[u8]>>(bytes: T) -> Result<String, ValueProblem> {
    match std::str::from_utf8(bytes.as_ref()).map(str::trim) {
        Ok("") => Err(ValueProblem::Missing),
        Ok(name) => Ok(name.to_owned()),
        Err(_) => Err(ValueProblem::Row),
    }
}

impl ValueReader<'_> {
    /// Visits the values in the file, in order and in batches.
    ///
    /// # Errors
    /// The file cannot be read or has no such column, a value is outside the protocol's domain (unless skipped), or a visit failed.
    pub fn read(&self, input: &Input, visit: &mut dyn FnMut(&[usize]) -> Result<()>) -> Result<Skipped> {
        let columns = vec![(self.column, self.domain)];
        TableReader { columns, person: None, skip: self.skip }.read(input, &mut |rows| visit(rows.inputs))
    }
}

impl<'d> TableReader<'d> {
    /// The columns that are read: those of values, then that of the person.
    fn wanted(&self) -> impl Iterator<Item = &'d str> {
        self.columns.iter().map(|(column, _)| *column).chain(self.person)
    }

    /// The longest line: beside the values there may be other columns.
    fn longest(&self) -> usize {
        self.columns.iter().map(|(_, domain)| domain.longest_label()).sum::<usize>() + MAX_LINE
    }

    /// Visits the rows of the file, in order and in batches.
    ///
    /// # Errors
    /// The file cannot be read or lacks a column, a value is outside its domain (unless skipped), two rows are of the same person, or a visit failed.
    pub fn read(&self, input: &Input, visit: &mut dyn FnMut(Rows<'_>) -> Result<()>) -> Result<Skipped> {
        let (skipped, batch) = (Skipped::default(), Vec::with_capacity(BATCH * self.columns.len()));
        let (people, known) = (Vec::new(), HashSet::new());
        let mut collector = Collector { reader: self, input, skipped, batch, people, known, visit };
        match open(input)? {
            Source::Text(FileFormat::JsonLines, lines) => json_lines(&mut collector, lines)?,
            Source::Text(_, lines) => csv(&mut collector, lines)?,
            Source::Parquet(reader, raw) => parquet(&mut collector, &*reader, &raw)?,
        }
        if !collector.batch.is_empty() {
            collector.flush()?;
        }
        Ok(collector.skipped)
    }
}

fn csv(collector: &mut Collector<'_, '_>, mut lines: Lines) -> Result<()> {
    let (file, wanted) = (collector.input.to_string(), collector.reader.wanted().collect::<Vec<_>>());
    let header = lines.line(collector.input, MAX_LINE)?.map(|(_, header)| header);
    let Some(header) = header.as_ref().filter(|header| !header.trim_ascii().is_empty()) else {
        let column = wanted.first().map(|name| (*name).to_owned()).unwrap_or_default();
        return Err(Error::NoHeader { file, column, blank: header.is_some() });
    };
    if is_open(header) {
        return Err(Error::OpenQuote { file, line: 1 });
    }
    let names = fields(header);
    let place = |column: &&str| {
        let mut named = names.iter().enumerate().filter(|(_, name)| name.trim_ascii() == column.as_bytes());
        let (file, column) = (file.clone(), (*column).to_owned());
        match (named.next(), named.next()) {
            (Some((at, _)), None) => Ok(at),
            (Some(_), Some(_)) => Err(Error::TwoColumns { file, column }),
            (None, _) => {
                Err(Error::NoValueColumn { file, column, columns: names.len(), wanted: Contents::Values })
            }
        }
    };
    let places = wanted.iter().map(place).collect::<Result<Vec<usize>>>()?;
    match (names.len(), places.len()) {
        (1, 1) => single_column(collector, lines),
        (columns, _) => table(collector, lines, &places, columns),
    }
}

/// The fields of one line of CSV.
fn fields(line: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line);
    let record = reader.byte_records().next().and_then(std::result::Result::ok).unwrap_or_default();
    record.iter().map(<[u8]>::to_vec).collect()
}

/// Whether a quote that is opened in the line goes on behind it.
fn is_open(line: &[u8]) -> bool {
    let next = line.chain(&b"\nnext\n"[..]);
    csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(next).byte_records().count() == 1
}

/// One value a line. An empty line among others is a missing value, which a reader of tables would pass over.
fn single_column(collector: &mut Collector<'_, '_>, mut lines: Lines) -> Result<()> {
    // The first line after the last value: those from there on are empty, and count only if a value follows.
    let mut next = 2;
    while let Some(block) = lines.block(collector.input, collector.reader.longest())? {
        for (line, text) in block.lines().filter(|(_, text)| !text.is_empty()) {
            for empty in next..line {
                collector.refuse(empty, None, ValueProblem::Missing)?;
            }
            next = line + 1;
            if text.contains(&b'"') && is_open(text) {
                return Err(Error::OpenQuote { file: collector.input.to_string(), line });
            }
            match text.iter().any(|byte| b"\",".contains(byte)).then(|| fields(text)).as_deref() {
                None => collector.text(line, text)?,
                Some([field]) => collector.text(line, field)?,
                Some(_) => collector.refuse(line, None, ValueProblem::Row)?,
            }
        }
    }
    Ok(())
}

/// What follows the lines of a table: a line that no table has.
const LAST_LINE: &[u8] = b"\n\0the end of the table\0";

/// Gives at most so many bytes for one row: a quote that is never closed would hold all that follows.
struct RowBytes<'l, R> {
    reader: R,
    left: &'l Cell<usize>,
}

impl<R: Read> Read for RowBytes<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        let left = self.left.get().checked_sub(count);
        self.left.set(left.ok_or(io::ErrorKind::FileTooLarge)?);
        Ok(count)
    }
}

fn table(collector: &mut Collector<'_, '_>, lines: Lines, places: &[usize], columns: usize) -> Result<()> {
    let (file, longest) = (collector.input.to_string(), collector.reader.longest());
    let left = Cell::new(longest);
    let damaged = |error: csv::Error, line: u64| match error.kind() {
        csv::ErrorKind::Io(system) if system.kind() == io::ErrorKind::FileTooLarge => {
            Error::LongRow { file: file.clone(), line, longest }
        }
        _ => unreadable(collector.input, error.into()),
    };
    // Carriage returns are taken off here, because a reader that does it counts their lines late. A line feed at the end makes all lines alike, and a quote that is never
    // closed has swallowed the last one.
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .terminator(csv::Terminator::Any(b'\n'))
        .from_reader(RowBytes { reader: lines.chain(LAST_LINE), left: &left });
    let mut record = csv::ByteRecord::new();
    loop {
        let before = reader.position().line() + 1;
        left.set(longest);
        if !reader.read_byte_record(&mut record).map_err(|error| damaged(error, before))? {
            return Ok(());
        }
        // The reader stands behind the record, and never saw the header, line 1; quoted values may have line feeds.
        let within = record.as_slice().iter().filter(|byte| **byte == b'\n').count() as u64;
        if record.as_slice() == &LAST_LINE[1..] {
            return Ok(());
        }
        if record.as_slice().ends_with(LAST_LINE) {
            let quoted = record.iter().next_back().unwrap_or_default().iter();
            let before = within - quoted.filter(|byte| **byte == b'\n').count() as u64;
            // No line feed behind the record was read, unlike behind others.
            let line = reader.position().line() - within + 1 + before;
            return Err(Error::OpenQuote { file: file.clone(), line });
        }
        let line = reader.position().line() - within;
        match record.len() {
            1 if &record[0] == b"\r" => {}
            length if length == columns => {
                let value = |at: &usize| record[*at].strip_suffix(b"\r").unwrap_or(&record[*at]);
                collector.row(line, places.iter().map(|at| Ok(value(at))))?;
            }
            _ => collector.refuse(line, None, ValueProblem::Row)?,
        }
    }
}

fn json_lines(collector: &mut Collector<'_, '_>, mut lines: Lines) -> Result<()> {
    while let Some(block) = lines.block(collector.input, collector.reader.longest())? {
        for (line, text) in block.lines().filter(|(_, line)| !line.trim_ascii().is_empty()) {
            let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
            let columns = collector.reader.wanted();
            collector.row(line, columns.map(|column| json_value(text, column)))?;
        }
    }
    Ok(())
}

fn parquet(collector: &mut Collector<'_, '_>, reader: &dyn FileReader, raw: &Raw) -> Result<()> {
    let (input, wanted) = (collector.input, collector.reader.wanted().collect::<Vec<_>>());
    let schema = reader.metadata().file_metadata().schema();
    let names: Vec<&str> = schema.get_fields().iter().map(|field| field.name()).collect();
    let place = |column: &&str| {
        names.iter().position(|name| name == column).ok_or_else(|| Error::NoColumn {
            file: input.to_string(),
            column: (*column).to_owned(),
            found: shown(names.join(", ").as_bytes()),
            wanted: Contents::Values,
        })
    };
    let places = wanted.iter().map(place).collect::<Result<Vec<usize>>>()?;
    // The columns of the projection stand in the order of the file, each once.
    let projected: BTreeSet<usize> = places.iter().copied().collect();
    let places: Vec<usize> = places.iter().map(|place| projected.range(..place).count()).collect();
    let fields = projected.iter().map(|at| schema.get_fields()[*at].clone()).collect();
    let projection = Type::group_type_builder(schema.name()).with_fields(fields).build();
    let damaged = |error| damaged(input, error);
    for (leaf, description) in reader.metadata().file_metadata().schema_descr().columns().iter().enumerate() {
        // A column may be a list or a group, whose leaves have more values than rows.
        let of_wanted = |name: &String| wanted.iter().any(|column| name == column);
        if description.path().parts().first().is_some_and(of_wanted) {
            check(reader, leaf, raw).map_err(damaged)?;
            if description.max_rep_level() == 0 {
                guarded(|| check_pages(reader, leaf)).map_err(damaged)?;
            }
        }
    }
    let rows = guarded(|| reader.get_row_iter(Some(projection?)));
    let mut rows = rows.map_err(damaged)?.zip(1..);
    while let Some((row, line)) =
        guarded(|| rows.next().map(|(row, line)| Ok((row?, line))).transpose()).map_err(damaged)?
    {
        let fields: Vec<&Field> = row.get_column_iter().map(|(_, field)| field).collect();
        collector.row(
            line,
            places.iter().map(|at| fields.get(*at).map_or(Err(ValueProblem::Missing), |f| cell(f))),
        )?;
    }
    Ok(())
}

/// The text of a value in a Parquet file.
fn cell(field: &Field) -> Result<Cow<'_, [u8]>, ValueProblem> {
    let owned = |text: String| Ok(Cow::Owned(text.into_bytes()));
    match field {
        Field::Null => Err(ValueProblem::Missing),
        Field::Str(text) => Ok(Cow::Borrowed(text.as_bytes())),
        Field::Bytes(bytes) => Ok(Cow::Borrowed(bytes.data())),
        // A whole double in Rust's words has no point, and no other is in a domain of whole numbers.
        Field::Double(value) => owned(value.to_string()),
        Field::Float(value) => owned(value.to_string()),
        Field::Group(_) | Field::ListInternal(_) | Field::MapInternal(_) => Err(ValueProblem::Row),
        field => owned(field.to_string()),
    }
}
