//! What can be wrong with the files of a collection.

use thiserror::Error;

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
    /// Tallies that do not fit the protocol as a whole.
    #[error(transparent)]
    Tallies(#[from] sottovoce::Error),
}

impl Error {
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
