//! What can go wrong, and the exit code.

use std::collections::BTreeMap;
use std::path::PathBuf;

use datafusion::error::DataFusionError;
use sottovoce_collect::Reason;
use thiserror::Error as ThisError;

/// Why there are no tallies.
#[derive(Debug, ThisError)]
pub(crate) enum Error {
    /// The files or the protocol are wrong.
    #[error(transparent)]
    Job(#[from] sottovoce_job::Error),
    /// The reports are wrong.
    #[error(transparent)]
    Collect(#[from] sottovoce_collect::Error),
    /// A worker found a fault in the reports, and said so in these words.
    #[error("{0}")]
    Reported(String),
    /// A text that is no URL of a store that is known.
    #[error(
        "{argument}: is not a URL of a store that is known; they begin with s3://, http://, https:// or file://"
    )]
    Url {
        /// The text.
        argument: String,
    },
    /// A pattern where the store gives no list.
    #[error("{argument}: a web server gives no list of its files; name them one by one")]
    NoList {
        /// The text.
        argument: String,
    },
    /// A file that is not a Parquet file.
    #[error("{file}: only Parquet files are read here; `sottovoce tally` reads others")]
    NotParquet {
        /// The file.
        file: String,
    },
    /// A store cannot be read.
    #[error("{file}: cannot be read: {problem}")]
    Store {
        /// The file or pattern.
        file: String,
        /// What the store said.
        problem: String,
    },
    /// Nothing but rejected reports.
    #[error("none of the {} reports fits the protocol ({})", .0.values().sum::<u64>(), reasons(.0))]
    NothingCounted(BTreeMap<Reason, u64>),
    /// Groups that do not have all rows.
    #[error("{found} of {rows} rows were counted; a file was changed while it was read")]
    Rows {
        /// How many were counted.
        found: u64,
        /// How many there are.
        rows: u64,
    },
    /// Too many groups.
    #[error("there are more than {most} groups; group by columns with fewer values")]
    TooManyGroups {
        /// Most groups.
        most: usize,
    },
    /// The output cannot be written.
    #[error("{}: cannot be written: {problem}", path.to_string_lossy())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        problem: std::io::Error,
    },
    /// The scheduler or its executors are gone, or cannot do it.
    #[error("the work was not done: {0}")]
    Engine(String),
    /// A server that cannot start.
    #[error("the server cannot run: {0}")]
    Server(String),
}

/// The result of a function of this program.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// What stands around the words of a worker who found a fault in the reports, in the longer story that the engine tells of it.
const MARKS: [&str; 2] = ["⟦", "⟧"];

impl Error {
    /// 2 for input that is wrong or cannot be read, 1 for anything else, as `sottovoce` has it.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Error::Write { .. } | Error::Engine(_) | Error::Server(_) | Error::Rows { .. } => 1,
            _ => 2,
        }
    }

    /// For the engine, which passes on the words alone.
    pub(crate) fn marked(self) -> DataFusionError {
        DataFusionError::Execution(format!("{}{self}{}", MARKS[0], MARKS[1]))
    }
}

impl From<DataFusionError> for Error {
    fn from(error: DataFusionError) -> Self {
        let story = error.to_string();
        let words = story.split_once(MARKS[0]).and_then(|(_, rest)| rest.split_once(MARKS[1]));
        match words {
            Some((words, _)) => Error::Reported(words.to_owned()),
            // The engine tells of its connections in the words of its libraries.
            None if story.to_lowercase().contains("transport") => {
                Error::Engine(format!("the scheduler does not answer ({story})"))
            }
            None => Error::Engine(story),
        }
    }
}

fn reasons(counts: &BTreeMap<Reason, u64>) -> String {
    let reasons = counts.iter().map(|(reason, count)| format!("{count} × {}", reason.words()));
    reasons.collect::<Vec<_>>().join(", ")
}
