//! What can keep a service from starting or from ending as it should.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

use crate::store::StoreProblem;

/// What went wrong.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The study is not valid.
    #[error(transparent)]
    Job(#[from] sottovoce_job::Error),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreProblem),
    /// The address is taken, or not one of this machine.
    #[error("{address}: cannot be listened on: {error}")]
    Address {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        error: io::Error,
    },
    /// A file that cannot be read or written.
    #[error("{file}: {error}")]
    File {
        /// The file.
        file: String,
        /// What the system said.
        error: io::Error,
    },
    /// A token that could be guessed.
    #[error(
        "{file}: a token has at least {MIN_TOKEN} characters, all of them letters, digits, `-`, `.` or `_`"
    )]
    Token {
        /// The file.
        file: String,
    },
    /// More collections than a service takes.
    #[error("a service takes at most {max} collections; the study has {found}")]
    TooManyCollections {
        /// How many there are.
        found: usize,
        /// How many there may be.
        max: usize,
    },
    /// A study whose clients would have to remember permanent reports.
    #[error(
        "a study with memoised noise cannot be served: the page keeps no permanent reports; use `noise = \"fresh\"`"
    )]
    Memoised,
    /// A protocol some of whose reports have probability 0 whatever the value.
    #[error(
        "{collection}: the protocol has reports that no value gives; a stranger who sends one would make every analysis fail"
    )]
    ImpossibleReports {
        /// The collection.
        collection: String,
    },
    /// A protocol with more different reports than memory has room for.
    #[error(
        "{collection}: the protocol has too many different reports; strangers could fill the memory with them"
    )]
    TooManyDifferentReports {
        /// The collection.
        collection: String,
    },
    /// A protocol that no client can draw with whole numbers.
    #[error("{collection}: {error}")]
    Client {
        /// The collection.
        collection: String,
        /// Why not.
        error: sottovoce_client::Error,
    },
    /// The system gives no thread or no randomness.
    #[error("the system failed: {0}")]
    System(io::Error),
}

/// Fewest characters of a token.
pub const MIN_TOKEN: usize = 20;

/// What a service answers to the program that runs it.
pub type Result<T = ()> = std::result::Result<T, Error>;

impl Error {
    /// Whether what the user wrote is wrong, rather than the system.
    pub fn is_input(&self) -> bool {
        match self {
            Error::Token { .. }
            | Error::Memoised
            | Error::Client { .. }
            | Error::ImpossibleReports { .. }
            | Error::TooManyDifferentReports { .. }
            | Error::TooManyCollections { .. }
            | Error::Address { .. } => true,
            Error::Store(problem) => {
                !matches!(problem, StoreProblem::Failed { .. } | StoreProblem::Closed | StoreProblem::Busy)
            }
            Error::Job(_) | Error::File { .. } | Error::System(_) => false,
        }
    }
}
