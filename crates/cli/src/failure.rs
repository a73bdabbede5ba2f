//! What went wrong: a message for the user, and an exit code for programs.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use sottovoce_job::{Error, ErrorKind};
use thiserror::Error as ThisError;

use crate::hint::hint;
use crate::signals::INTERRUPTED;

/// Why a command did not finish.
#[derive(Debug, ThisError)]
pub(crate) enum Failure {
    /// The input is wrong, or the job could not be done.
    #[error(transparent)]
    Job(#[from] Error),
    /// A service could not begin, or did not end in order.
    #[error(transparent)]
    Service(#[from] sottovoce_server::Error),
    /// The output could not be written.
    #[error("{}: cannot be written: {error}", path.as_ref().map_or("standard output".into(), |p| p.to_string_lossy()))]
    Write {
        /// The file, if it is not standard output.
        path: Option<PathBuf>,
        /// What the system said.
        error: io::Error,
    },
    /// A page would replace something else.
    #[error("{}: this is not a page that sottovoce wrote, so it is not replaced", path.to_string_lossy())]
    NotOurPage {
        /// The file.
        path: PathBuf,
    },
    /// The run was cut off: what is known was printed, and a file was not touched.
    #[error("{cause}{told}{}", unwritten.as_ref().map_or(String::new(), |p| format!("; {} was not written", p.to_string_lossy())))]
    Cut {
        /// By what.
        cause: Cause,
        /// What was told nevertheless.
        told: Told,
        /// The file that complete results would have been written to.
        unwritten: Option<PathBuf>,
    },
}

/// Why a run was cut off.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cause {
    /// Ctrl-C.
    Interrupted,
    /// The time limit.
    TimeOver {
        /// It.
        limit: Duration,
    },
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Interrupted => Ok(()),
            Cause::TimeOver { limit } => {
                write!(f, "not finished within the {} s of --time-limit; ", limit.as_secs_f64())
            }
        }
    }
}

/// What a run that was cut off has told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Told {
    /// What it knew by then.
    SoFar,
    /// Nothing.
    Nothing,
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Told::SoFar => "these are the best results so far",
            Told::Nothing => "there are no results yet",
        })
    }
}

/// The result of a command.
pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

impl Failure {
    /// Tells the user, and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        let (colour, what) = match self {
            Failure::Cut { cause: Cause::Interrupted, .. } => (AnsiColor::Yellow, "interrupted"),
            _ => (AnsiColor::Red, "error"),
        };
        say(colour, what, &self.to_string());
        if let Some(hint) = self.hint() {
            say(AnsiColor::Cyan, "hint", &hint);
        }
        ExitCode::from(self.exit_code())
    }

    fn hint(&self) -> Option<String> {
        match self {
            Failure::Job(error) | Failure::Service(sottovoce_server::Error::Job(error)) => hint(error),
            Failure::Service(error) => crate::hint::hint_for_service(error).map(Into::into),
            Failure::NotOurPage { .. } => Some("name another file with --page, or use --no-page".into()),
            Failure::Write { .. } | Failure::Cut { .. } => None,
        }
    }

    /// 2 for input that is wrong, too large or cannot be read; 130 after Ctrl-C; 1 for anything else.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::Job(error) | Failure::Service(sottovoce_server::Error::Job(error)) => match error.kind()
            {
                ErrorKind::NotConverged | ErrorKind::Write | ErrorKind::Stopped => 1,
                _ => 2,
            },
            Failure::Service(error) if error.is_input() => 2,
            Failure::Cut { cause: Cause::Interrupted, .. } => INTERRUPTED,
            _ => 1,
        }
    }
}

/// Says something on standard error.
pub(crate) fn say(colour: AnsiColor, what: &str, words: &str) {
    let style = Style::new().bold().fg_color(Some(colour.into()));
    // Nobody is left to be told if standard error is closed.
    let _ = io::Write::write_all(
        &mut anstream::stderr(),
        format!("{style}{what}:{style:#} {words}\n").as_bytes(),
    );
}
