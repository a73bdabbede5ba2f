//! Which files are meant: paths, directories, patterns and standard input, each file once.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::pattern::{matches, metadata};
use crate::destination::{is_standard_output, own};
use crate::error::{Damage, Error, NotAFile, Result};

/// A file to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Standard input.
    StandardInput,
    /// A file.
    File(PathBuf),
}

impl std::fmt::Display for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Input::StandardInput => f.write_str("standard input"),
            Input::File(path) => {
                path.to_string_lossy().chars().filter(|c| !c.is_control()).try_for_each(|c| write!(f, "{c}"))
            }
        }
    }
}

/// The files that the arguments name, in the order of the arguments, those of a directory or pattern by name. A pattern may match
/// directories, which stand for their files too. Files of a directory or pattern whose name begins with a point are left out: they may be
/// incomplete. Nothing else is left out in silence.
///
/// # Errors
/// A file does not exist, a directory cannot be read or has something in it that is not a file, a pattern or directory has no file, or a file
/// is named twice.
pub fn inputs(arguments: &[String]) -> Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for argument in arguments {
        match argument.as_str() {
            "-" => inputs.push(Input::StandardInput),
            _ => inputs.extend(files(argument)?.into_iter().map(Input::File)),
        }
    }
    refuse_same_files(&inputs)?;
    Ok(inputs)
}

fn files(argument: &str) -> Result<Vec<PathBuf>> {
    let path = Path::new(argument);
    let nothing = || Error::NoFiles { argument: argument.to_owned() };
    let found = match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => directory(path)?,
        Ok(_) => return Ok(vec![path.to_owned()]),
        Err(_) if argument.contains(['*', '?', '[']) => pattern(argument)?,
        Err(error) => return Err(unreadable(&Input::File(path.to_owned()), error)),
    };
    if found.is_empty() { Err(nothing()) } else { Ok(found) }
}

/// The files that a pattern matches, and those of the directories that it matches.
fn pattern(argument: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in matches(argument)? {
        match metadata(&path)? {
            found if found.is_dir() => files.extend(directory(&path)?),
            found => files.push(plain(path, &found, argument)?),
        }
    }
    Ok(files)
}

/// The files of a directory, which must have nothing else in it.
fn directory(path: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |error| unreadable(&Input::File(path.to_owned()), error);
    let entries =
        fs::read_dir(path).map_err(unreadable)?.collect::<io::Result<Vec<_>>>().map_err(unreadable)?;
    let visible = |entry: &&fs::DirEntry| !entry.file_name().to_string_lossy().starts_with('.');
    let argument = path.to_string_lossy();
    let file = |path: PathBuf| plain(path.clone(), &metadata(&path)?, &argument);
    let mut paths: Vec<PathBuf> = entries.iter().filter(visible).map(fs::DirEntry::path).collect();
    paths.sort();
    paths.into_iter().map(file).collect()
}

/// The path, if there is a file. A pipe or device must be named by itself, and so must a directory within a directory.
fn plain(path: PathBuf, found: &fs::Metadata, argument: &str) -> Result<PathBuf> {
    let what = match () {
        () if found.is_file() => return Ok(path),
        () if found.is_dir() => NotAFile::Directory,
        () => NotAFile::Stream,
    };
    let path = Input::File(path).to_string();
    Err(Error::NotAFile { path, what, argument: argument.to_owned() })
}

/// The error that an input cannot be read, or how it is damaged if its reader found that.
pub(crate) fn unreadable(input: &Input, error: io::Error) -> Error {
    let file = input.to_string();
    match error.downcast::<Damage>() {
        Ok(damage) => Error::Damaged { file, damage },
        Err(error) => Error::Unreadable { file, error },
    }
}

/// Refuses an output that is one of the inputs: what was read would be gone.
///
/// # Errors
/// It is.
pub fn refuse_as_output<'i>(inputs: impl IntoIterator<Item = &'i Input>, output: &Path) -> Result<()> {
    let file = |input: &Input| identity(input).ok().flatten().filter(|identity| identity.is_file);
    let written = match is_standard_output(output) {
        true => standard_output_identity().filter(|identity| identity.is_file),
        false => file(&Input::File(output.to_owned())),
    };
    let Some(written) = written else { return Ok(()) };
    match inputs.into_iter().any(|input| file(input).as_ref() == Some(&written)) {
        true => Err(Error::OutputIsInput { file: Input::File(output.to_owned()).to_string() }),
        false => Ok(()),
    }
}

/// The file that standard output goes to (`>> file`).
#[cfg(unix)]
fn standard_output_identity() -> Option<Identity> {
    Identity::of(&own(io::stdout()).and_then(|open| open.metadata()).ok()?).into()
}

#[cfg(not(unix))]
fn standard_output_identity() -> Option<Identity> {
    None
}

/// Refuses a file that is there twice, under the same or another name, by a link or as standard input. Counting reports twice would make an
/// estimate look surer than it is.
fn refuse_same_files(inputs: &[Input]) -> Result<()> {
    let mut seen = HashMap::new();
    for input in inputs {
        let identity = identity(input).map_err(|error| unreadable(input, error))?;
        if let Some(first) = seen.insert(identity, input) {
            return Err(Error::Duplicate { first: first.to_string(), second: input.to_string() });
        }
    }
    Ok(())
}

/// What two names of one file have in common; none for a standard input that has no name.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Identity {
    is_file: bool,
    #[cfg(unix)]
    place: (u64, u64),
    #[cfg(not(unix))]
    place: PathBuf,
}

#[cfg(unix)]
fn identity(input: &Input) -> io::Result<Option<Identity>> {
    let found = match input {
        Input::StandardInput => own(io::stdin())?.metadata()?,
        Input::File(path) => fs::metadata(path)?,
    };
    Ok(Some(Identity::of(&found)))
}

#[cfg(unix)]
impl Identity {
    fn of(found: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Identity { is_file: found.is_file(), place: (found.dev(), found.ino()) }
    }
}

#[cfg(not(unix))]
fn identity(input: &Input) -> io::Result<Option<Identity>> {
    let Input::File(path) = input else { return Ok(None) };
    Ok(Some(Identity { is_file: fs::metadata(path)?.is_file(), place: path.canonicalize()? }))
}
