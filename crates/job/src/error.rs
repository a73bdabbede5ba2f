//! What can be wrong with the input of a job: where, what, and what is allowed.
//!
//! An error is a variant with its facts. It knows nothing of the front end: the command line adds which flag would help.

use std::io;

use thiserror::Error;

use crate::functional::ExpressionProblem;
use crate::source::{Source, Syntax};
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
    /// Something else where a request needs a plain file.
    #[error("{source_name}: is not a plain file")]
    NotAFile {
        /// What is there.
        source_name: Source,
    },
    /// More text than a specification may have.
    #[error("{source_name}: is larger than {limit} bytes, the most that a {format} specification may have")]
    TooBig {
        /// Where the text comes from.
        source_name: Source,
        /// Most bytes.
        limit: u64,
        /// How the text is written.
        format: Syntax,
    },
    /// Bytes that are not text.
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
        /// How the text should be written.
        format: Syntax,
        /// What the parser said.
        message: String,
        /// Whether the text ends before it is complete.
        ends_early: bool,
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
    /// A name that does not exist.
    #[error("unknown {what} `{name}`; allowed are {allowed}")]
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
    /// Something wrong with an expression.
    #[error("`{expression}`, character {position}: {problem}")]
    Expression {
        /// The expression.
        expression: String,
        /// Where it is wrong, from 1.
        position: usize,
        /// What is wrong.
        problem: Box<ExpressionProblem>,
    },
    /// Collections that are to be analysed together are about different values.
    #[error("{second} is about other values than {first}: {right} instead of {left}")]
    OtherValues {
        /// Where the first collection is.
        first: String,
        /// Where the other one is.
        second: String,
        /// What the first has.
        left: String,
        /// What the other has.
        right: String,
    },
    /// Collections that are to be analysed together have counted the same reports.
    #[error(
        "{second} and {first} have {reports} reports in common; collections that are analysed together must be of different reports"
    )]
    SameReports {
        /// The one that was named first.
        first: String,
        /// The other one.
        second: String,
        /// How many reports they share.
        reports: u64,
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
    /// Something wrong with a study, or with its files.
    #[error("{source_name}: {problem}")]
    Study {
        /// Where the study comes from.
        source_name: Source,
        /// What is wrong.
        problem: Box<crate::study::StudyProblem>,
    },
    /// A text that is not a share.
    #[error(transparent)]
    Share(#[from] crate::share::NotAShare),
    /// Something wrong with a file of a collection, or with what it should become.
    #[error(transparent)]
    Collection(#[from] sottovoce_collect::Error),
    /// A refusal of the numerical library that concerns no single field.
    #[error(transparent)]
    Numbers(#[from] sottovoce::Error),
}

impl From<sottovoce_client::Error> for Error {
    fn from(error: sottovoce_client::Error) -> Self {
        sottovoce_collect::Error::from(error).into()
    }
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
        /// What is specified.
        what: Specified,
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
        expected: Expected,
    },
    /// Another number of labels than of inputs.
    #[error("there are {found} labels for {expected} inputs")]
    LabelCount {
        /// Number of labels.
        found: usize,
        /// Number of inputs.
        expected: usize,
    },
    /// Two inputs with the same label.
    #[error("the label `{label}` is already the label of input {first}; labels must differ")]
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

/// What a specification describes.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Specified {
    /// A protocol.
    #[error("protocol")]
    Protocol,
    /// A prior.
    #[error("prior")]
    Prior,
}

/// What a field of a specification must hold.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expected {
    /// A protocol or a prior.
    #[error("a {0}")]
    Specified(Specified),
    /// Several protocols.
    #[error("a list of protocols")]
    Protocols,
    /// The name of a kind.
    #[error("the name of a kind")]
    KindName,
    /// A number.
    #[error("a number")]
    Number,
    /// A whole number of 0 or more.
    #[error("a whole number of 0 or more")]
    Count,
    /// A whole number that fits a machine word.
    #[error("a whole number below 2^64; there are at most {} inputs", sottovoce::protocol::MAX_INPUTS)]
    SmallCount,
    /// A text.
    #[error("a text")]
    Text,
    /// Several texts.
    #[error("a list of texts")]
    Texts,
    /// Several whole numbers.
    #[error("a list of whole numbers")]
    Counts,
    /// Several numbers.
    #[error("a list of numbers")]
    Numbers,
    /// Rows of numbers.
    #[error("a list of lists of numbers")]
    Rows,
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
            Error::Collection(sottovoce_collect::Error::Tallies(sottovoce::Error::Stopped)) => {
                ErrorKind::Stopped
            }
            Error::Numbers(error) => kind_of_numbers(error),
            Error::Field { problem, .. } => match &**problem {
                FieldProblem::Value(error) => kind_of_numbers(error),
                _ => ErrorKind::InvalidInput,
            },
            _ => ErrorKind::InvalidInput,
        }
    }

    /// The next step to try, if there is a likely one that does not depend on the front end.
    pub fn hint(&self) -> Option<String> {
        let meant = |word: &str| format!("did you mean `{word}`?");
        match self {
            Error::UnknownMetric { suggestion, .. } => suggestion.map(meant),
            Error::Syntax { format: Syntax::Json, ends_early: false, .. } => {
                Some("JSON has no NaN or Infinity, and its keys and texts stand in double quotes".into())
            }
            Error::Unreadable { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                Some("a specification is a file, inline JSON, or a shorthand such as grr:a=16,eps=1".into())
            }
            Error::Field { source_name, problem, .. } => problem.hint(source_name),
            Error::Expression { problem, .. } => match &**problem {
                ExpressionProblem::UnknownLabel { label, nearest } => match nearest {
                    Some(nearest) if label.contains('-') => {
                        Some(format!("did you mean `{nearest}`? A difference has spaces around its dash"))
                    }
                    Some(nearest) => Some(meant(nearest)),
                    None => Some("labels with spaces or special characters stand in double quotes".into()),
                },
                _ => None,
            },
            Error::UnreadableTallies { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                Some("tallies are a file as `sottovoce tally` writes it, inline JSON, or `-`".into())
            }
            _ => None,
        }
    }

    /// The same error, found in `source`.
    pub(crate) fn found_in(mut self, source: &Source) -> Self {
        if let Error::Field { source_name, .. } | Error::Study { source_name, .. } = &mut self {
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
                Some("the name of a file must end in .json or .toml".into())
            }
            FieldProblem::WrongType {
                expected: Expected::Protocols | Expected::Specified(Specified::Protocol),
                ..
            } if matches!(source, Source::Shorthand(_)) => {
                Some("a shorthand cannot combine protocols; write inline JSON or a file".into())
            }
            _ => None,
        }
    }
}

fn kind_of_numbers(error: &sottovoce::Error) -> ErrorKind {
    match error.kind() {
        sottovoce::ErrorKind::InvalidInput => ErrorKind::InvalidInput,
        sottovoce::ErrorKind::NotConverged => ErrorKind::NotConverged,
        sottovoce::ErrorKind::Unsupported => ErrorKind::Unsupported,
        sottovoce::ErrorKind::Stopped => ErrorKind::Stopped,
        // Kinds that later versions add.
        _ => ErrorKind::Unsupported,
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
