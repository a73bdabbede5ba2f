//! What can be wrong with what a user wrote, told so that it can be mended: where, what, and what is allowed.

use std::io;

use thiserror::Error;

use crate::source::Source;
use crate::spec::number_text;

/// A description of what is wrong with the input of a job.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that cannot be opened or read.
    #[error("{source_name}: cannot be read: {error}")]
    Unreadable {
        /// Where the text should have come from.
        source_name: Source,
        /// What the system said.
        error: io::Error,
    },
    /// Tallies that cannot be opened or read.
    #[error("{source_name}: cannot be read: {error}")]
    UnreadableTallies {
        /// The file.
        source_name: Source,
        /// What the system said.
        error: io::Error,
    },
    /// A directory where a file is needed.
    #[error("{source_name}: is a directory; a .json or .toml file is needed")]
    Directory {
        /// The directory.
        source_name: Source,
    },
    /// More text than a specification may have.
    #[error("{source_name}: is larger than {limit} bytes, the most that a {format} specification may have")]
    TooBig {
        /// Where the text comes from.
        source_name: Source,
        /// Most bytes.
        limit: u64,
        /// `JSON` or `TOML`.
        format: &'static str,
    },
    /// Bytes that are no text.
    #[error("{source_name}: is not text (byte {position} is not valid UTF-8); a JSON or TOML file is needed")]
    NotText {
        /// Where the bytes come from.
        source_name: Source,
        /// Position of the first bad byte.
        position: usize,
    },
    /// No text at all.
    #[error("{source_name}: is empty; a specification such as {example} is needed")]
    Empty {
        /// What is empty.
        source_name: Source,
        /// A specification that would do.
        example: &'static str,
    },
    /// Text that is not well-formed.
    #[error("{source_name}: not valid {format}: {message} (line {line}, column {column})")]
    Syntax {
        /// Where the text comes from.
        source_name: Source,
        /// `JSON`, `TOML` or `shorthand`.
        format: &'static str,
        /// What the parser said.
        message: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// Text nested more deeply than any valid specification.
    #[error("{source_name}: is nested too deeply; protocols may be combined {limit} levels deep", limit = sottovoce::protocol::MAX_DEPTH)]
    TooNested {
        /// Where the text comes from.
        source_name: Source,
    },
    /// Something wrong with a field of a specification.
    #[error("{source_name}: {path}{separator}{problem}", separator = if path.is_empty() { "" } else { ": " })]
    Field {
        /// Where the specification comes from.
        source_name: Source,
        /// The field, such as `parts[1].epsilon`; empty for the specification as a whole.
        path: String,
        /// What is wrong with it.
        problem: Box<FieldProblem>,
    },
    /// A metric that does not exist.
    #[error("unknown metric `{name}`; metrics are {}", metric_names())]
    UnknownMetric {
        /// What was asked for.
        name: String,
        /// What may have been meant.
        suggestion: Option<&'static str>,
    },
    /// A name that is none of a list.
    #[error("unknown {what} `{name}`; there are {allowed}")]
    UnknownName {
        /// What is named.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// The names there are.
        allowed: String,
    },
    /// Tallies that cannot be used.
    #[error("{source_name}: {problem}")]
    Tallies {
        /// Where they come from.
        source_name: Source,
        /// What is wrong with them.
        problem: sottovoce_collect::Error,
    },
    /// A setting of a job out of range.
    #[error("{name} = {value} is not {allowed}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// What was given.
        value: String,
        /// The allowed range in words.
        allowed: &'static str,
    },
    /// A request that cannot be understood.
    #[error("{source_name}: {problem}")]
    Request {
        /// Where the request comes from.
        source_name: Source,
        /// What is wrong with it.
        problem: String,
    },
    /// Only metrics that need a number of users were asked for, and none was given.
    #[error("the number of users n is missing; {} cannot be computed without it", metrics.join(", "))]
    MissingUsers {
        /// The metrics.
        metrics: Vec<&'static str>,
    },
    /// A number of users was asked for, but not for what.
    #[error("no target is given; it is one of digits, decimal_digits, u_distr and accuracy")]
    NothingWanted,
    /// No protocol that can be chosen meets the requirement.
    #[error("no protocol meets the requirement")]
    NoProtocol,
    /// Two fields of a request that exclude each other.
    #[error("{first} and {second} cannot be given together")]
    Together {
        /// One of them.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// A field of a request that has no meaning without another one.
    #[error("{field} can only be given together with {needed}")]
    Needs {
        /// The field.
        field: &'static str,
        /// The other one.
        needed: &'static str,
    },
    /// A text that is no share.
    #[error(transparent)]
    Share(#[from] crate::share::NotAShare),
    /// Something wrong with a file of a collection, or with what it should become.
    #[error(transparent)]
    Collection(#[from] sottovoce_collect::Error),
    /// A refusal of the numerical library that concerns no single field.
    #[error(transparent)]
    Numbers(#[from] sottovoce::Error),
}

/// What is wrong with one field.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum FieldProblem {
    /// A key that must be there is not.
    #[error("the key `{key}` is missing; {owner} needs {needed}")]
    Missing {
        /// The missing key.
        key: &'static str,
        /// The kind that needs it.
        owner: String,
        /// All keys it needs, in words.
        needed: String,
    },
    /// A key that the kind does not have.
    #[error("unknown key `{key}`; {owner} takes {allowed}")]
    UnknownKey {
        /// What was written.
        key: String,
        /// The kind that does not have it.
        owner: String,
        /// The keys it has, in words.
        allowed: String,
        /// What may have been meant.
        suggestion: Option<&'static str>,
    },
    /// A kind that does not exist.
    #[error("unknown kind `{kind}`; kinds of {what} are {allowed}")]
    UnknownKind {
        /// What was written.
        kind: String,
        /// `protocol` or `prior`.
        what: &'static str,
        /// The kinds there are, in words.
        allowed: String,
        /// What may have been meant.
        suggestion: Option<&'static str>,
    },
    /// A value of the wrong type.
    #[error("{found} is not {expected}")]
    WrongType {
        /// What was written.
        found: String,
        /// What is needed.
        expected: &'static str,
    },
    /// Labels that are not as many as inputs.
    #[error("there are {found} labels but {expected} inputs; they must be equally many")]
    LabelCount {
        /// Number of labels.
        found: usize,
        /// Number of inputs.
        expected: usize,
    },
    /// Two inputs with the same label.
    #[error("the label `{label}` is also that of input {first}; labels must differ")]
    DuplicateLabel {
        /// The label.
        label: String,
        /// The input that has it first.
        first: usize,
    },
    /// A value out of range.
    #[error("{}", at_its_place(.0))]
    Value(#[from] sottovoce::Error),
}

/// The kinds of error that front ends tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The input is wrong.
    InvalidInput,
    /// A computation gave up before reaching its accuracy.
    NotConverged,
    /// The input is right, but beyond what we handle.
    Unsupported,
    /// The input could not be read.
    Io,
    /// The output could not be written.
    Write,
    /// The run was ended from outside.
    Stopped,
}

impl Error {
    /// In a list of names, `all` is allowed too.
    pub(crate) fn or_all(mut self) -> Self {
        if let Error::UnknownName { allowed, .. } = &mut self {
            allowed.push_str(" and all");
        }
        self
    }

    /// Which kind of error this is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Unreadable { .. } | Error::UnreadableTallies { .. } | Error::Directory { .. } => {
                ErrorKind::Io
            }
            Error::TooBig { .. } => ErrorKind::Unsupported,
            Error::Collection(error) if error.is_unwritable() => ErrorKind::Write,
            Error::Numbers(error) => kind_of_numbers(error),
            Error::Field { problem, .. } => match &**problem {
                FieldProblem::Value(error) => kind_of_numbers(error),
                _ => ErrorKind::InvalidInput,
            },
            _ => ErrorKind::InvalidInput,
        }
    }

    /// The next step to try, if there is a likely one.
    pub fn hint(&self) -> Option<String> {
        let meant = |word: &str| format!("did you mean `{word}`?");
        match self {
            Error::UnknownMetric { suggestion, .. } => suggestion.map(meant),
            Error::Syntax { format: "JSON", message, .. } if message.starts_with("expected value") => {
                Some("JSON has no NaN or Infinity, and its keys and texts stand in double quotes".into())
            }
            Error::Unreadable { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                Some("a specification is a file, inline JSON, or a shorthand such as grr:a=16,eps=1".into())
            }
            Error::Field { source_name, problem, .. } => problem.hint(source_name),
            Error::UnreadableTallies { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                Some("tallies are a file as `sottovoce tally` writes it, inline JSON, or `-`".into())
            }
            Error::Collection(problem) | Error::Tallies { problem, .. } => hint_for_files(problem),
            Error::Numbers(sottovoce::Error::Unconverged { .. }) => Some(
                "give it more time with --time-limit, or see the answer as it is with --allow-unconverged"
                    .into(),
            ),
            _ => None,
        }
    }

    /// The same error, found in `source`.
    pub(crate) fn found_in(mut self, source: &Source) -> Self {
        if let Error::Field { source_name, .. } = &mut self {
            source_name.clone_from(source);
        }
        self
    }
}

impl FieldProblem {
    fn hint(&self, source: &Source) -> Option<String> {
        match self {
            FieldProblem::UnknownKey { suggestion, .. } => suggestion.map(|s| format!("did you mean `{s}`?")),
            FieldProblem::UnknownKind { suggestion: Some(s), .. } => Some(format!("did you mean `{s}`?")),
            FieldProblem::UnknownKind { .. } if matches!(source, Source::Shorthand(_)) => {
                Some("to name a file, let it end in .json or .toml".into())
            }
            FieldProblem::WrongType { expected, .. }
                if matches!(source, Source::Shorthand(_)) && expected.contains("protocol") =>
            {
                Some("a shorthand cannot combine protocols; write inline JSON or a file".into())
            }
            _ => None,
        }
    }
}

/// The next step to try with the files of a collection.
fn hint_for_files(problem: &sottovoce_collect::Error) -> Option<String> {
    use sottovoce_collect::{EndProblem, Error as Problem, ValueProblem};
    let hint = match problem {
        Problem::Value { problem: ValueProblem::NoLabels, .. } => {
            "nothing was written; name the values in the protocol, as in grr:a=3,eps=1,labels=red/green/blue"
        }
        Problem::Value { .. } => {
            "nothing was written; --on-error skip leaves such values out and counts them"
        }
        Problem::NoColumn { column, .. } if column == "value" => {
            "name the column of the values with --column"
        }
        Problem::NoValueColumn { column, .. } if column == "report" => {
            "reports have a column `report`; `sottovoce randomise` makes them of values"
        }
        Problem::NoValueColumn { .. } => {
            "the first line must name the columns; name that of the values with --column"
        }
        Problem::Overlap { .. } => {
            "if they are different collections that came out alike, say --allow-copies"
        }
        Problem::Incomplete { problem: EndProblem::After { .. }, .. } => {
            "name several files one by one, instead of putting them together into one"
        }
        Problem::WrongDigest => "if the change was meant, leave the key `digest` out",
        Problem::NoPlainFile { .. } => "name it by itself, or use a pattern such as 'days/*/*.csv'",
        Problem::Unwritable { error, .. } if error.get_ref().is_some_and(|inner| inner.is::<Problem>()) => {
            "say --form supports"
        }
        _ => return None,
    };
    Some(hint.into())
}

fn kind_of_numbers(error: &sottovoce::Error) -> ErrorKind {
    match error.kind() {
        sottovoce::ErrorKind::InvalidInput => ErrorKind::InvalidInput,
        sottovoce::ErrorKind::NotConverged => ErrorKind::NotConverged,
        sottovoce::ErrorKind::Unsupported => ErrorKind::Unsupported,
        sottovoce::ErrorKind::Stopped => ErrorKind::Stopped,
    }
}

/// The message of an error whose field has been named already, and whose number may be huge.
fn at_its_place(error: &sottovoce::Error) -> String {
    match error {
        sottovoce::Error::OutOfRange { value, allowed, .. } => {
            format!("{} is not {allowed}", number_text(*value))
        }
        sottovoce::Error::Entry { value, .. } => {
            format!("{} is not a probability between 0 and 1", number_text(*value))
        }
        other => other.to_string(),
    }
}

fn metric_names() -> String {
    sottovoce::Metric::all().map(|metric| metric.name()).collect::<Vec<_>>().join(", ")
}

/// The result of a function of this crate that may refuse its input.
pub type Result<T, E = Error> = std::result::Result<T, E>;
