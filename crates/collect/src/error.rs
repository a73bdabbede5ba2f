//! What can be wrong with the files of a collection.

use std::io;

use thiserror::Error;

use crate::domain::ValueProblem;

/// How a file of reports does not end.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndProblem {
    /// There is no end where one must be.
    #[error("the end is missing, which says how many reports there are")]
    Missing,
    /// There is no header where one must be.
    #[error("the header is missing, which says what its reports are")]
    NoHeader,
    /// An end that no header announces.
    #[error("the end is there, but not the header that it belongs to")]
    WithoutHeader,
    /// Something behind the end.
    #[error("line {line} comes after the end")]
    After {
        /// The line, from 1.
        line: u64,
    },
    /// Another number of reports.
    #[error("it has {found} reports of {announced}")]
    Count {
        /// How many there are.
        found: u64,
        /// How many there should be.
        announced: u64,
    },
    /// Other reports.
    #[error("the digest of its reports is not the one at its end")]
    Digest,
}

/// So many columns, none of which is the one that follows.
fn others(columns: usize) -> String {
    if columns == 1 { "one column, which is not".into() } else { format!("{columns} columns, none of them") }
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
    #[error("{file}: line {line}: here begins a row, or blank lines, of more than {longest} bytes")]
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
        "{file}: is a Parquet file of more than {most} bytes that cannot be read in place; decompress it, or name the file instead of `-`"
    )]
    TooMuchHeld {
        /// The file.
        file: String,
        /// Most bytes.
        most: u64,
    },
    /// A JSON array where lines are needed.
    #[error(
        "{file}: is a JSON array; JSON Lines has one object a line, without brackets and commas around them"
    )]
    JsonArray {
        /// The file.
        file: String,
    },
    /// A file of reports whose first line is damaged.
    #[error("{file}: its first line is {what}: {why}")]
    BadHeader {
        /// The file.
        file: String,
        /// What it looks like.
        what: &'static str,
        /// Why it is none.
        why: &'static str,
    },
    /// A file of reports that does not end as its header announces, or that goes on behind its end.
    #[error("{file}: {problem}; it is not complete, or was changed")]
    Incomplete {
        /// The file.
        file: String,
        /// What is not as announced.
        problem: EndProblem,
    },
    /// Every value was skipped.
    #[error("none of the {skipped} values is one of the inputs, so there is no report to write")]
    NothingSent {
        /// How many were skipped.
        skipped: u64,
    },
    /// A level above the one that is required.
    #[error("the reports would have the LDP level {realised}, which is above the required {required}")]
    LevelAbove {
        /// The largest level allowed.
        required: f64,
        /// The exact level of the reports, rounded up.
        realised: f64,
    },
    /// Something in a directory that is not read by itself.
    #[error("{path}: is {what}; {argument} stands for the files in it only")]
    NoPlainFile {
        /// What is in the way.
        path: String,
        /// What it is.
        what: &'static str,
        /// The directory or pattern.
        argument: String,
    },
    /// Tallies too large to be read again.
    #[error(
        "the tallies would have more than {most} bytes, and larger ones are not read; keep supports instead of patterns"
    )]
    TooManyPatterns {
        /// The largest size that is read.
        most: u64,
    },
    /// A list of tallies with more entries than the protocol can have.
    #[error("{key}: there are more than {most} entries, which is all that the protocol can have")]
    TooManyEntries {
        /// The list.
        key: &'static str,
        /// Most entries.
        most: usize,
    },
    /// Tallies that are not what was written.
    #[error("the digest is not that of these tallies; they were changed after they were written")]
    WrongDigest,
    /// A batch that is none.
    #[error("batches[{entry}]: there is no report in it")]
    EmptyBatch {
        /// The entry, from 0.
        entry: usize,
    },
    /// Batches with more reports than there are.
    #[error("the batches have {sum} reports or more, but n is {n}")]
    BatchSum {
        /// The number of reports that the file claims.
        n: u64,
        /// The number of reports of its batches.
        sum: u64,
    },
    /// The same reports in two files.
    #[error("{second} has {reports} reports that {first} has too; they would be counted twice")]
    Overlap {
        /// The one that was named first.
        first: String,
        /// The other one.
        second: String,
        /// How many reports they share.
        reports: u64,
    },
    /// A pattern or directory without files.
    #[error("{argument}: there is no such file")]
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
    },
    /// A first line that does not name the column of the values. It is not quoted: where there is no header it is a value.
    #[error("{file}: its first line names {} `{column}`", others(*columns))]
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
    /// Nothing but rejected reports. They are not quoted: a file of values is easily taken for one of reports.
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
        "{kind} with the LDP level {declared} cannot be sampled with 64-bit words: they would realise the level {realised:e}; the level or the smallest probabilities must be larger, or the inputs fewer"
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
