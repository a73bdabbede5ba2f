//! What can be wrong with the files of a collection.

use std::io;

use thiserror::Error;

use crate::domain::ValueProblem;
use crate::rejection::Reason;

/// What is wrong with the header or the end record of a file of reports.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndProblem {
    /// There is no end record where one must be.
    #[error("the end record is missing, which says how many reports there are")]
    Missing,
    /// There is no header where one must be.
    #[error("the header is missing, which names the protocol")]
    NoHeader,
    /// An end record without the header that announces it.
    #[error("the end record is there, but the header that belongs to it is not")]
    WithoutHeader,
    /// Something after the end record.
    #[error("line {line} comes after the end record")]
    After {
        /// The line, from 1.
        line: u64,
    },
    /// Another number of reports.
    #[error("it has {found} of {announced} reports")]
    Count {
        /// How many there are.
        found: u64,
        /// How many there should be.
        announced: u64,
    },
    /// Other reports.
    #[error("the digest of its reports does not match its end record")]
    Digest,
}

/// What a table is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Users' values.
    Values,
    /// Reports.
    Reports,
}

/// What stands where one plain file is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAFile {
    /// A directory.
    Directory,
    /// A pipe or a device.
    Stream,
}

/// Where a header was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderPlace {
    /// In a first line that begins with `#`.
    Comment,
    /// In the first line of JSON Lines.
    JsonLine,
    /// In the metadata of a Parquet file.
    Metadata,
}

/// What is wrong with a header.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum HeaderFault {
    /// The keys are not those of a header.
    #[error("a key is missing, unknown or of the wrong type")]
    Keys,
    /// No JSON.
    #[error("it is not valid JSON")]
    Syntax,
    /// A format or version that does not exist.
    #[error("its format or version does not exist")]
    Format,
}

/// How a file was compressed as a whole.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Compression {
    /// gzip.
    #[error("gzip")]
    Gzip,
    /// Zstandard.
    #[error("Zstandard")]
    Zstandard,
}

/// How a file is damaged.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damage {
    /// The compressed data end too early.
    #[error("its {0} data end too early; the file is incomplete")]
    CompressedEnd(Compression),
    /// The compressed data cannot be decompressed.
    #[error("its {0} data cannot be decompressed; the file is damaged")]
    Compressed(Compression),
    /// The file becomes suspiciously large when it is decompressed.
    #[error("it becomes more than {ratio} times larger when it is decompressed; such files are refused")]
    Expansion {
        /// The largest ratio.
        ratio: u64,
    },
    /// A Parquet file that ends too early.
    #[error("it ends too early for a Parquet file; the file is incomplete")]
    ParquetEnd,
    /// A Parquet file whose contents cannot be read.
    #[error("it is not a valid Parquet file; it is incomplete or damaged")]
    Parquet,
    /// A Parquet file that uses a part of the format which is not supported.
    #[error("it uses a part of the Parquet format that is not supported")]
    Unsupported,
    /// A column that is compressed with an unsupported codec.
    #[error("its column is compressed with {codec}; supported are SNAPPY, GZIP, ZSTD and no compression")]
    Codec {
        /// The codec.
        codec: &'static str,
    },
    /// A column that ends beyond the file.
    #[error("a column ends beyond the end of the file; the file is damaged")]
    ColumnEnd,
    /// A page that becomes too large.
    #[error("a page of its column would take {bytes} bytes; at most {most} are read")]
    PageSize {
        /// Bytes of the page when it is decompressed.
        bytes: i64,
        /// The largest size.
        most: i64,
    },
    /// A page with a broken header.
    #[error("a page of its column has no valid header; the file is damaged")]
    PageHeader,
    /// A number of rows that cannot be right.
    #[error("it claims an impossible number of rows; the file is damaged")]
    Rows,
    /// Another number of rows than the file claims.
    #[error("it has {found} of the {claimed} rows that it claims; the file is damaged")]
    RowCount {
        /// How many there are.
        found: u64,
        /// How many there should be.
        claimed: u64,
    },
    /// A column of another type than the file claims.
    #[error("its column is of another type than it claims; the file is damaged")]
    ColumnType,
}

impl HeaderPlace {
    fn words(self) -> &'static str {
        match self {
            HeaderPlace::Comment => "the first line begins with # but is not a header of reports",
            HeaderPlace::JsonLine => "the first line is neither a header of reports nor a report",
            HeaderPlace::Metadata => "its metadata are not a header of reports",
        }
    }
}

impl NotAFile {
    fn words(self) -> &'static str {
        match self {
            NotAFile::Directory => "a directory",
            NotAFile::Stream => "a pipe or a device",
        }
    }
}

/// A number of columns in words.
fn number_of_columns(columns: usize) -> String {
    if columns == 1 { "one column".into() } else { format!("{columns} columns") }
}

/// A description of what is wrong: where, what, and what is allowed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// Text that is not the JSON of tallies.
    #[error("not valid tallies: {message} (line {line}, column {column})")]
    Syntax {
        /// What the parser said.
        message: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// An entry of tallies that does not fit.
    #[error("counts[{entry}]: {problem}")]
    Entry {
        /// The entry, from 0.
        entry: usize,
        /// What is wrong with it.
        problem: sottovoce::Error,
    },
    /// A count that is not a whole number of reports.
    #[error("counts[{entry}]: count {count} is not a whole number of reports, 0 or more")]
    Count {
        /// The entry, from 0.
        entry: usize,
        /// What was given.
        count: String,
    },
    /// A number of supporting reports that is not a whole number.
    #[error("supports[{entry}] = {count} is not a whole number of reports, 0 or more")]
    Support {
        /// The input, from 0.
        entry: usize,
        /// What was given.
        count: String,
    },
    /// A number of reports that is not a whole number.
    #[error("n = {n} is not a whole number of reports, 0 or more")]
    Total {
        /// What was given.
        n: String,
    },
    /// The counts do not add up to the number of reports.
    #[error("the counts add up to {sum}, but n is {n}; some entries are missing or wrong")]
    SumMismatch {
        /// The number of reports that the file claims.
        n: u64,
        /// What the counts add up to.
        sum: u64,
    },
    /// A file that cannot be opened or read.
    #[error("{file}: cannot be read: {error}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system said.
        error: io::Error,
    },
    /// A file that cannot be written.
    #[error("{file}: cannot be written: {error}")]
    Unwritable {
        /// The file.
        file: String,
        /// What the system said.
        error: io::Error,
    },
    /// A file that is damaged, or not what it claims to be.
    #[error("{file}: {damage}")]
    Damaged {
        /// The file.
        file: String,
        /// How it is damaged.
        damage: Damage,
    },
    /// A line longer than what is wanted of it can be.
    #[error("{file}: line {line} is longer than {longest} bytes")]
    LongLine {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// Most bytes of a line.
        longest: usize,
    },
    /// A row of a table longer than what is wanted of it can be.
    #[error("{file}: line {line}: a row or a run of blank lines of more than {longest} bytes begins here")]
    LongRow {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// Most bytes of a row.
        longest: usize,
    },
    /// A Parquet file that would have to be held in memory, and is too large for that.
    #[error(
        "{file}: is a Parquet file of more than {most} bytes that cannot be read in place; decompress it, or give the file instead of standard input"
    )]
    TooMuchHeld {
        /// The file.
        file: String,
        /// Most bytes.
        most: u64,
    },
    /// A JSON array where lines are needed.
    #[error(
        "{file}: is a JSON array; JSON Lines has one object on each line, without brackets and commas around them"
    )]
    JsonArray {
        /// The file.
        file: String,
    },
    /// A file of reports whose first line is damaged.
    #[error("{file}: {}: {fault}", place.words())]
    BadHeader {
        /// The file.
        file: String,
        /// Where the header should be.
        place: HeaderPlace,
        /// What is wrong with it.
        fault: HeaderFault,
    },
    /// A file of reports that does not end as its header announces, or that goes on after its end record.
    #[error("{file}: {problem}; the file is incomplete or was changed")]
    Incomplete {
        /// The file.
        file: String,
        /// What is not as announced.
        problem: EndProblem,
    },
    /// Every value was skipped.
    #[error("none of the {skipped} values is in the protocol's domain, so there is no report to write")]
    NothingSent {
        /// How many were skipped.
        skipped: u64,
    },
    /// A level above the one that is required.
    #[error("the reports would have LDP level {realised}, above the allowed {required}")]
    LevelAbove {
        /// The largest level allowed.
        required: f64,
        /// The exact level of the reports, rounded up.
        realised: f64,
    },
    /// Something in a directory that is not a file.
    #[error("{path}: is {}; only the files in {argument} are read", what.words())]
    NotAFile {
        /// What is there.
        path: String,
        /// What it is.
        what: NotAFile,
        /// The directory or pattern.
        argument: String,
    },
    /// Tallies too large to be read again.
    #[error(
        "the tallies would take more than {most} bytes, and larger ones are not read; keep supports instead of patterns"
    )]
    TooManyPatterns {
        /// The largest size that is read.
        most: u64,
    },
    /// A list of tallies with more entries than the protocol can have.
    #[error("{key}: there are more than {most} entries, the most that the protocol can have")]
    TooManyEntries {
        /// The list.
        key: &'static str,
        /// Most entries.
        most: usize,
    },
    /// Tallies that are not what was written.
    #[error("the digest does not match these tallies; they were changed after they were written")]
    WrongDigest,
    /// A batch without reports.
    #[error("batches[{entry}]: it has no reports")]
    EmptyBatch {
        /// The entry, from 0.
        entry: usize,
    },
    /// Batches with more reports than there are.
    #[error("the batches have at least {sum} reports, but n is {n}")]
    BatchSum {
        /// The number of reports that the file claims.
        n: u64,
        /// The number of reports of its batches.
        sum: u64,
    },
    /// The same reports in two files.
    #[error("{second} and {first} have {reports} reports in common, which would be counted twice")]
    Overlap {
        /// The one that was named first.
        first: String,
        /// The other one.
        second: String,
        /// How many reports they share.
        reports: u64,
    },
    /// A pattern or directory without files.
    #[error("{argument}: no file was found")]
    NoFiles {
        /// The pattern or directory.
        argument: String,
    },
    /// The same file twice.
    #[error("{second} is the same file as {first}; its reports would be counted twice")]
    Duplicate {
        /// The one that was named first.
        first: String,
        /// The other one.
        second: String,
    },
    /// A Parquet file without the column that is needed.
    #[error("{file}: there is no column `{column}`; the columns are: {found}")]
    NoColumn {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// The columns that there are.
        found: String,
        /// What the column should hold.
        wanted: Contents,
    },
    /// A first line that does not name the column of the values. It is not quoted: where there is no header it is a value.
    #[error("{file}: the first line has {}, but no column `{column}`", number_of_columns(*columns))]
    NoValueColumn {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// How many fields the first line has.
        columns: usize,
        /// What the column should hold.
        wanted: Contents,
    },
    /// A table without a first line.
    #[error("{file}: {}; the first line must name the columns, one of them `{column}`", if *.blank { "its first line is blank" } else { "is empty" })]
    NoHeader {
        /// The file.
        file: String,
        /// The column that is needed.
        column: String,
        /// Whether there are lines, the first of which is blank.
        blank: bool,
    },
    /// A quote that is opened and never closed.
    #[error(
        "{file}: line {line}: a quote is opened here and never closed; the lines after it would become part of one value"
    )]
    OpenQuote {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
    },
    /// A file with two columns of the wanted name.
    #[error("{file}: there are two columns `{column}`; give them different names")]
    TwoColumns {
        /// The file.
        file: String,
        /// The column.
        column: String,
    },
    /// A column of a Parquet file that cannot hold reports.
    #[error(
        "{file}: the column `{column}` cannot hold reports; they are whole numbers, bytes or text, one in each row"
    )]
    ColumnType {
        /// The file.
        file: String,
        /// The column.
        column: String,
    },
    /// A value outside the protocol's domain. Messages end up in logs, so the value itself, which is a secret, is not part of it.
    #[error("{file}: line {line}: {}", problem.words())]
    Value {
        /// The file.
        file: String,
        /// The line, or the row of a Parquet file, from 1.
        line: u64,
        /// What is wrong with it.
        problem: ValueProblem,
    },
    /// A value of one of several columns outside the domain of that column.
    #[error("{file}: line {line}, column `{}`: {}", crate::rejection::shown(column.as_bytes()), problem.words())]
    ColumnValue {
        /// The file.
        file: String,
        /// The line, or the row of a Parquet file, from 1.
        line: u64,
        /// The column.
        column: String,
        /// What is wrong with the value.
        problem: ValueProblem,
    },
    /// Reports in a version that does not exist yet.
    #[error(
        "{file}: is in version {version} of the report format; this program reads versions up to {}",
        crate::header::VERSION
    )]
    Version {
        /// The file.
        file: String,
        /// Its version.
        version: u32,
    },
    /// Tallies that name another protocol than the one given.
    #[error("the reports were made with another protocol than the one given: {found}")]
    MadeOtherwise {
        /// The specification in the tallies.
        found: String,
    },
    /// Reports or tallies of another protocol.
    #[error("{file}: belongs to another protocol, {named} (its fingerprint begins with {found})")]
    OtherProtocol {
        /// The file.
        file: String,
        /// The specification in it.
        named: String,
        /// The beginning of its fingerprint.
        found: String,
    },
    /// A fingerprint that does not match the protocol in the same file.
    #[error("{file}: the fingerprint does not match the protocol in the same file; one of them was changed")]
    WrongFingerprint {
        /// The file.
        file: String,
    },
    /// A file that does not name its protocol, where it is not given otherwise.
    #[error("{file}: does not name its protocol")]
    NoProtocol {
        /// The file.
        file: String,
    },
    /// Nothing but rejected reports. They are not quoted: a file of values is easily taken for one of reports.
    #[error("none of the {rejected} reports fits the protocol; the first, {file}, line {line}: {}", reason.words())]
    NothingCounted {
        /// How many were rejected.
        rejected: u64,
        /// The file of the first of them.
        file: String,
        /// Its line.
        line: u64,
        /// Why it was rejected.
        reason: Reason,
    },
    /// Supports where patterns are needed.
    #[error(
        "these tallies are supports, which do not say which inputs were reported together; patterns are needed"
    )]
    NoPatterns,
    /// The output is one of the inputs.
    #[error("{file} is also an input, and would be overwritten; name another file for the output")]
    OutputIsInput {
        /// The file.
        file: String,
    },
    /// A format that no file of reports has.
    #[error("{file}: the name must end in .csv, .jsonl or .parquet, which says the format of the reports")]
    UnknownFormat {
        /// The file.
        file: String,
    },
    /// No randomness, or a protocol whose reports cannot be drawn.
    #[error(transparent)]
    Client(sottovoce_client::Error),
    /// Tallies that do not fit the protocol as a whole, or an input that does not exist.
    #[error(transparent)]
    Tallies(#[from] sottovoce::Error),
}

impl From<sottovoce_client::Error> for Error {
    fn from(error: sottovoce_client::Error) -> Self {
        match error {
            sottovoce_client::Error::Protocol(error) => Error::Tallies(error),
            other => Error::Client(other),
        }
    }
}

impl Error {
    /// Whether the fault is with a file that cannot be written, rather than with the input.
    pub fn is_unwritable(&self) -> bool {
        matches!(
            self,
            Error::Unwritable { .. }
                | Error::TooManyPatterns { .. }
                | Error::Client(sottovoce_client::Error::NoRandomness { .. })
        )
    }

    /// Text that the parser refused.
    pub(crate) fn syntax(error: serde_json::Error) -> Self {
        let message = error.to_string();
        // The parser's own message ends with the place, which we give ourselves.
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        Error::Syntax { message, line: error.line(), column: error.column() }
    }
}

/// The result of a function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
