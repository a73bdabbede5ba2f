//! Where a specification comes from, and how its text is read without trusting it.
//!
//! A file is measured before it is opened and read through a cap, so neither a file of gigabytes nor `/dev/zero` is ever
//! loaded. Bytes that are not text and empty files have errors of their own.

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use sottovoce_collect::files::inputs::{self, Input};
use sottovoce_collect::tallies_file::MAX_BYTES as MAX_TALLIES_BYTES;

use crate::collection::WrittenTallies;
use crate::error::{Error, Result};
use crate::spec::shown;

/// Most bytes of a JSON specification: a dense matrix of three million probabilities of full length.
pub const MAX_JSON_BYTES: u64 = 64 << 20;

/// Most bytes of a TOML specification. People write TOML by hand, and its parser needs many times the text in memory.
pub const MAX_TOML_BYTES: u64 = 4 << 20;

/// A file of tallies.
const TALLIES_EXAMPLE: &str = r#"{"n": 5, "counts": [{"y": 0, "count": 5}]}"#;

/// The specifications and tallies that this process has read from files.
static READ: Mutex<Vec<Input>> = Mutex::new(Vec::new());

fn note(input: Input) {
    // Unwrap safety: nothing panics while it holds the lock.
    let mut read = READ.lock().unwrap();
    if !read.contains(&input) {
        read.push(input);
    }
}

/// Refuses an output that is a specification or tallies that this process has read: for programs that do one job.
///
/// # Errors
/// It is one of them.
pub fn refuse_as_output(output: &Path) -> Result<()> {
    // Unwrap safety: as above.
    Ok(inputs::refuse_as_output(READ.lock().unwrap().iter(), output)?)
}

/// Where a specification was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// In a file.
    File(PathBuf),
    /// On the standard input.
    StandardInput,
    /// As JSON, directly where a specification is asked for.
    InlineJson,
    /// As a shorthand such as `grr:a=16,eps=1`.
    Shorthand(String),
    /// In a request, as this part of it.
    Request(&'static str),
    /// In a program that built the specification itself.
    Program,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File(path) => write!(f, "{}", shown(&path.to_string_lossy())),
            Source::StandardInput => f.write_str("standard input"),
            Source::InlineJson => f.write_str("inline JSON"),
            Source::Shorthand(text) => write!(f, "shorthand `{}`", shown(text)),
            Source::Request(what) => write!(f, "the request's {what}"),
            Source::Program => f.write_str("specification"),
        }
    }
}

/// A specification together with where it was written, so that an error can name the place.
#[derive(Clone, Debug, PartialEq)]
pub struct Written<T> {
    /// What was written.
    pub spec: T,
    /// Where.
    pub source: Source,
}

impl<T> From<T> for Written<T> {
    fn from(spec: T) -> Self {
        Written { spec, source: Source::Program }
    }
}

/// How the text of a specification is to be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// JSON.
    Json,
    /// TOML.
    Toml,
    /// A shorthand such as `grr:a=16,eps=1`.
    Shorthand,
}

impl fmt::Display for Syntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Syntax::Json => "JSON",
            Syntax::Toml => "TOML",
            Syntax::Shorthand => "shorthand",
        })
    }
}

impl Syntax {
    /// TOML if the name says so, JSON if it says so or the text starts like an object, else TOML.
    fn of(path: Option<&Path>, text: &str) -> Self {
        let is = |wanted: &str| {
            path.and_then(Path::extension).is_some_and(|extension| extension.eq_ignore_ascii_case(wanted))
        };
        let json = is("json") || (!is("toml") && text.trim_start().starts_with(['{', '[']));
        if json { Syntax::Json } else { Syntax::Toml }
    }
}

/// The text that an argument stands for, with its place and syntax. `kinds` are the words a shorthand may start with.
pub(crate) fn locate(
    argument: &str,
    kinds: &[&'static str],
    example: &'static str,
) -> Result<(Source, Syntax, String)> {
    let argument = argument.trim();
    if argument.is_empty() {
        return Err(Error::Empty { source_name: Source::Shorthand(String::new()), example });
    }
    if argument.starts_with(['{', '[']) {
        return Ok((Source::InlineJson, Syntax::Json, argument.to_owned()));
    }
    if argument == "-" {
        note(Input::StandardInput);
        return read(Source::StandardInput, None, io::stdin().lock(), example);
    }
    if is_shorthand(argument, kinds) {
        return Ok((Source::Shorthand(argument.to_owned()), Syntax::Shorthand, argument.to_owned()));
    }
    let path = Path::new(argument);
    read(Source::File(path.to_owned()), Some(path), open(path, MAX_JSON_BYTES)?, example)
}

/// The text of a JSON file of tallies, of standard input (`-`), or that stands inline.
pub(crate) fn locate_tallies(tallies: &WrittenTallies) -> Result<(Source, String)> {
    let source = match tallies {
        WrittenTallies::Inline(text) => return Ok((Source::InlineJson, text.clone())),
        WrittenTallies::StandardInput => Source::StandardInput,
        WrittenTallies::Path(path) | WrittenTallies::File(path) if path.as_os_str().is_empty() => {
            return Err(Error::Empty { source_name: Source::InlineJson, example: TALLIES_EXAMPLE });
        }
        WrittenTallies::File(path) if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) => {
            return Err(Error::NotAFile { source_name: Source::File(path.clone()) });
        }
        WrittenTallies::Path(path) | WrittenTallies::File(path) => Source::File(path.clone()),
    };
    let text = tallies_text(&source)?;
    Ok((source, text))
}

/// The text of a JSON file of tallies, or of standard input.
pub(crate) fn tallies_text(source: &Source) -> Result<String> {
    let bytes = match source {
        Source::File(path) => {
            let file = open(path, MAX_TALLIES_BYTES).map_err(|error| match error {
                Error::Unreadable { source_name, error } => Error::UnreadableTallies { source_name, error },
                other => other,
            });
            bytes(source, file?, MAX_TALLIES_BYTES)
        }
        _ => {
            note(Input::StandardInput);
            bytes(source, io::stdin().lock(), MAX_TALLIES_BYTES)
        }
    };
    text(source, bytes?, TALLIES_EXAMPLE)
}

/// Whether an argument is a shorthand: it starts with a kind, or looks like one and there is no such file.
fn is_shorthand(argument: &str, kinds: &[&'static str]) -> bool {
    let head = argument.split(':').next().unwrap_or_default();
    if kinds.contains(&head) {
        return true;
    }
    let is_word = head.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    is_word && !Path::new(argument).exists()
}

fn open(path: &Path, limit: u64) -> Result<std::fs::File> {
    let source_name = Source::File(path.to_owned());
    let unreadable = |error| Error::Unreadable { source_name: source_name.clone(), error };
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(Error::Directory { source_name });
    }
    if metadata.len() > limit {
        return Err(Error::TooBig { source_name, limit, format: Syntax::Json });
    }
    note(Input::File(path.to_owned()));
    std::fs::File::open(path).map_err(unreadable)
}

fn read(
    source_name: Source,
    path: Option<&Path>,
    reader: impl Read,
    example: &'static str,
) -> Result<(Source, Syntax, String)> {
    let bytes = bytes(&source_name, reader, MAX_JSON_BYTES)?;
    let text = text(&source_name, bytes, example)?;
    let syntax = Syntax::of(path, &text);
    if syntax == Syntax::Toml && text.len() as u64 > MAX_TOML_BYTES {
        return Err(Error::TooBig { source_name, limit: MAX_TOML_BYTES, format: Syntax::Toml });
    }
    Ok((source_name, syntax, text))
}

/// All that the reader gives, unless it is more than `limit` bytes.
fn bytes(source: &Source, reader: impl Read, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Err(error) = reader.take(limit + 1).read_to_end(&mut bytes) {
        return Err(Error::Unreadable { source_name: source.clone(), error });
    }
    if bytes.len() as u64 > limit {
        return Err(Error::TooBig { source_name: source.clone(), limit, format: Syntax::Json });
    }
    Ok(bytes)
}

/// The bytes as text, unless they are not UTF-8 or empty.
fn text(source: &Source, bytes: Vec<u8>, example: &'static str) -> Result<String> {
    let source_name = source.clone();
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            return Err(Error::NotText { source_name, position: error.utf8_error().valid_up_to() });
        }
    };
    // Some editors begin a file with a byte order mark.
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    if text.trim().is_empty() { Err(Error::Empty { source_name, example }) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_told_apart() {
        let syntax = |argument| locate(argument, &["grr"], "x").map(|(source, syntax, _)| (source, syntax));
        assert_eq!(syntax(" {}").unwrap(), (Source::InlineJson, Syntax::Json));
        assert_eq!(syntax("grr:a=2").unwrap().1, Syntax::Shorthand);
        assert_eq!(syntax("gr:a=2").unwrap().1, Syntax::Shorthand);
        assert!(matches!(syntax("no/such.json"), Err(Error::Unreadable { .. })));
        assert!(matches!(syntax("."), Err(Error::Directory { .. })));
        assert!(matches!(syntax(" "), Err(Error::Empty { .. })));
    }

    #[test]
    fn an_endless_reader_is_cut_off() {
        let refused = read(Source::StandardInput, None, io::repeat(b' '), "x").unwrap_err();
        assert!(matches!(refused, Error::TooBig { .. }), "{refused}");
    }

    #[test]
    fn the_name_decides_and_else_the_first_character() {
        assert_eq!(Syntax::of(Some(Path::new("p.TOML")), "{"), Syntax::Toml);
        assert_eq!(Syntax::of(Some(Path::new("p.json")), "kind"), Syntax::Json);
        assert_eq!(Syntax::of(None, " {"), Syntax::Json);
        assert_eq!(Syntax::of(None, "kind = 'grr'"), Syntax::Toml);
    }
}
