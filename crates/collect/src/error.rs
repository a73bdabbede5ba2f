//! What can be wrong with the files of a collection.

use std::io;

use thiserror::Error;

use crate::domain::ValueProblem;

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
    /// A count that is no whole number of reports.
    #[error("counts[{entry}]: count {count} is not a whole number of reports, 0 or more")]
    Count {
        /// The entry, from 0.
        entry: usize,
        /// What was given.
        count: String,
    },
    /// A number of supporting reports that is no whole number.
    #[error("supports[{entry}] = {count} is not a whole number of reports, 0 or more")]
    Support {
        /// The input, from 0.
        entry: usize,
        /// What was given.
        count: String,
    },
    /// A number of reports that is no whole number.
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
    /// A file that is not what it claims to be.
    #[error("{file}: is damaged: {message}")]
    Damaged {
        /// The file.
        file: String,
        /// What its reader said.
        message: String,
    },
    /// A line longer than any that we write.
    #[error("{file}: line {line} is longer than {max} bytes", max = crate::files::source::MAX_LINE)]
    LongLine {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
    },
    /// A pattern or directory without files.
    #[error("{argument}: there is no such file")]
    NoFiles {
        /// The pattern or directory.
        argument: String,
    },
    /// The same reports twice.
    #[error("{second} {how} {first}; its reports would be counted twice")]
    Duplicate {
        /// The one that was named first.
        first: String,
        /// The other one.
        second: String,
        /// How they are the same.
        how: &'static str,
    },
    /// A file without the column that is needed.
    #[error("{file}: there is no column `{column}`; the columns are: {found}")]
    NoColumn {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// The columns that there are.
        found: String,
    },
    /// A first line that does not name the column of the values. It is not quoted: where there is no header it is a value.
    #[error("{file}: its first line names {columns} columns, and none of them is `{column}`")]
    NoValueColumn {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// How many fields the first line has.
        columns: usize,
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
        "{file}: line {line}: a quote is opened here and never closed; the lines after it would be part of one value"
    )]
    OpenQuote {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
    },
    /// A file with two columns of the wanted name.
    #[error("{file}: there are two columns `{column}`, and no telling which is meant")]
    TwoColumns {
        /// The file.
        file: String,
        /// The column.
        column: String,
    },
    /// A column of a Parquet file in which no report can stand.
    #[error(
        "{file}: the column `{column}` is of a type that no report has; whole numbers, bytes and text are, one a row"
    )]
    ColumnType {
        /// The file.
        file: String,
        /// The column.
        column: String,
    },
    /// A value that is none of the inputs. Messages end up in logs, so the value itself, which is a secret, is not part of it.
    #[error("{file}: line {line}: {}", problem.words())]
    Value {
        /// The file.
        file: String,
        /// The line, or the row of a Parquet file, from 1.
        line: u64,
        /// What is wrong with it.
        problem: ValueProblem,
    },
    /// Reports in a version that does not exist yet.
    #[error(
        "{file}: is in version {version} of the format of reports; this program reads version {}",
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
    #[error("{file}: is of another protocol, {named}: its fingerprint begins with {found}")]
    OtherProtocol {
        /// The file.
        file: String,
        /// The specification in it.
        named: String,
        /// The beginning of its fingerprint.
        found: String,
    },
    /// A fingerprint that is not that of the protocol beside it.
    #[error("{file}: the fingerprint is not that of the protocol in the same file; one of them was changed")]
    WrongFingerprint {
        /// The file.
        file: String,
    },
    /// A file that does not say which protocol it is of.
    #[error("{file}: does not say which protocol it is of; name it with --protocol")]
    NoProtocol {
        /// The file.
        file: String,
    },
    /// Nothing but rejected reports.
    #[error("none of the {rejected} reports is one of this protocol; the first: {example}")]
    NothingCounted {
        /// How many were rejected.
        rejected: u64,
        /// The first of them.
        example: String,
    },
    /// Supports where the protocol has none, or where patterns are needed.
    #[error(
        "these tallies are supports, which do not have the patterns that are needed; tally the reports with --form patterns"
    )]
    NoSupports,
    /// The output is one of the inputs.
    #[error("{file} is read, and would be replaced by what is written: name another file for the output")]
    OutputIsInput {
        /// The file.
        file: String,
    },
    /// A format that no file of reports has.
    #[error(
        "{file}: its name ends in none of .csv, .jsonl and .parquet, so the format of the reports is not known"
    )]
    UnknownFormat {
        /// The file.
        file: String,
    },
    /// The operating system gives no random numbers.
    #[error("the operating system gives no randomness: {message}")]
    NoRandomness {
        /// What it said.
        message: String,
    },
    /// A level that whole multiples of `2^-64` cannot keep.
    #[error(
        "{kind} with epsilon = {declared} cannot be sampled with 64-bit words: they would realise the level {realised:e}; epsilon must be larger, or the inputs fewer"
    )]
    NotRealisable {
        /// The kind of protocol.
        kind: &'static str,
        /// The declared level.
        declared: f64,
        /// What would be realised.
        realised: f64,
    },
    /// Tallies that do not fit the protocol as a whole, or an input that does not exist.
    #[error(transparent)]
    Tallies(#[from] sottovoce::Error),
}

impl Error {
    /// Whether the fault is with a file that cannot be written, rather than with the input.
    pub fn is_unwritable(&self) -> bool {
        matches!(self, Error::Unwritable { .. } | Error::NoRandomness { .. })
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
