//! Which files are meant: paths, directories, patterns and standard input, each file once.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::source::decompressed;
use crate::error::{Error, Result};

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

/// The files that the arguments name, in the order of the arguments, those of a directory or pattern by name. Files of a directory whose
/// name begins with a point are left out: they may be incomplete.
///
/// # Errors
/// A file does not exist, a pattern or directory has no file, or a file is named twice or, unless copies are allowed, has the content of
/// another.
pub fn inputs(arguments: &[String], allow_copies: bool) -> Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for argument in arguments {
        match argument.as_str() {
            "-" => inputs.push(Input::StandardInput),
            _ => inputs.extend(files(argument)?.into_iter().map(Input::File)),
        }
    }
    let files = refuse_same_files(&inputs)?;
    if !allow_copies {
        refuse_copies(&files)?;
        refuse_compressed_copies(&files)?;
    }
    Ok(inputs)
}

fn files(argument: &str) -> Result<Vec<PathBuf>> {
    let path = Path::new(argument);
    let nothing = || Error::NoFiles { argument: argument.to_owned() };
    let found = match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => directory(path)?,
        Ok(_) => return Ok(vec![path.to_owned()]),
        Err(_) if argument.contains(['*', '?', '[']) => {
            let paths = glob::glob(argument).map_err(|_| nothing())?;
            let mut paths: Vec<PathBuf> =
                paths.filter_map(|path| path.ok()).filter(|path| path.is_file()).collect();
            paths.sort();
            paths
        }
        Err(error) => return Err(unreadable(&Input::File(path.to_owned()), error)),
    };
    if found.is_empty() { Err(nothing()) } else { Ok(found) }
}

fn directory(path: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |error| unreadable(&Input::File(path.to_owned()), error);
    let entries =
        fs::read_dir(path).map_err(unreadable)?.collect::<io::Result<Vec<_>>>().map_err(unreadable)?;
    let visible = |entry: &fs::DirEntry| !entry.file_name().to_string_lossy().starts_with('.');
    let mut files: Vec<PathBuf> = entries
        .iter()
        .filter(|entry| visible(entry))
        .map(fs::DirEntry::path)
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    Ok(files)
}

pub(crate) fn unreadable(input: &Input, error: io::Error) -> Error {
    Error::Unreadable { file: input.to_string(), error }
}

fn twice(first: &Input, second: &Input, how: &'static str) -> Error {
    Error::Duplicate { first: first.to_string(), second: second.to_string(), how }
}

/// Refuses an output that is one of the inputs: what was read would be gone.
///
/// # Errors
/// It is.
pub fn refuse_as_output(inputs: &[Input], output: &Path) -> Result<()> {
    let output = Input::File(output.to_owned());
    let identity_of = |input: &Input| match input {
        Input::StandardInput => None,
        Input::File(path) => {
            fs::metadata(path).ok().filter(fs::Metadata::is_file).and_then(|m| identity(input, Some(&m)))
        }
    };
    let Some(written) = identity_of(&output) else { return Ok(()) };
    match inputs.iter().any(|input| identity_of(input).as_ref() == Some(&written)) {
        true => Err(Error::OutputIsInput { file: output.to_string() }),
        false => Ok(()),
    }
}

/// Refuses a file that is there twice, under the same or another name or by a link; gives the sizes of the others. Counting reports twice
/// would make an estimate look surer than it is.
fn refuse_same_files(inputs: &[Input]) -> Result<Vec<(u64, &Input)>> {
    let (mut files, mut seen) = (Vec::new(), HashMap::new());
    for input in inputs {
        let metadata = match input {
            Input::StandardInput => None,
            Input::File(path) => Some(fs::metadata(path).map_err(|error| unreadable(input, error))?),
        };
        if let Some(first) = seen.insert(identity(input, metadata.as_ref()), input) {
            return Err(twice(first, input, "is the same file as"));
        }
        files.extend(metadata.filter(fs::Metadata::is_file).map(|metadata| (metadata.len(), input)));
    }
    Ok(files)
}

/// Refuses a file that is a copy of another. Contents are compared only where the sizes agree.
fn refuse_copies(files: &[(u64, &Input)]) -> Result<()> {
    let mut sizes: HashMap<u64, usize> = HashMap::new();
    files.iter().for_each(|(size, _)| *sizes.entry(*size).or_default() += 1);
    let mut contents = HashMap::new();
    // In the order of the arguments, so that the message is always the same.
    for (size, input) in files.iter().filter(|(size, _)| sizes[size] > 1) {
        if let Some(first) = contents.insert((*size, content(input)?), *input) {
            return Err(twice(first, input, "has the same content as"));
        }
    }
    Ok(())
}

/// Refuses a compressed file beside what it was made of: `day.csv.gz` and `day.csv`, wherever they lie. What is in them is compared only where the names agree.
fn refuse_compressed_copies(files: &[(u64, &Input)]) -> Result<()> {
    let mut names: HashMap<String, Vec<&Input>> = HashMap::new();
    for (_, input) in files {
        names.entry(plain_name(input)).or_default().push(input);
    }
    let mut contents = HashMap::new();
    // In the order of the arguments, as above.
    for (_, input) in files.iter().filter(|(_, input)| names[&plain_name(input)].len() > 1) {
        let mut digest = Sha256::new();
        let mut reader = decompressed(input)?;
        hash(&mut reader, &mut digest).map_err(|error| unreadable(input, error))?;
        if let Some(first) = contents.insert(digest.finalize().to_vec(), *input) {
            return Err(twice(first, input, "has the same content as"));
        }
    }
    Ok(())
}

/// The name of a file without its directory, and without what compression adds.
fn plain_name(input: &Input) -> String {
    let Input::File(path) = input else { return String::new() };
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let packed = [".gz", ".gzip", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end));
    packed.map(ToOwned::to_owned).unwrap_or(name)
}

/// What two names of one file have in common.
#[cfg(unix)]
fn identity(_input: &Input, metadata: Option<&fs::Metadata>) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    metadata.map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(input: &Input, _metadata: Option<&fs::Metadata>) -> Option<PathBuf> {
    match input {
        Input::StandardInput => None,
        Input::File(path) => Some(path.canonicalize().unwrap_or_else(|_| path.to_owned())),
    }
}

fn content(input: &Input) -> Result<Vec<u8>> {
    let Input::File(path) = input else { return Ok(Vec::new()) };
    let mut digest = Sha256::new();
    let hashed = File::open(path).and_then(|mut file| hash(&mut file, &mut digest));
    hashed.map_err(|error| unreadable(input, error))?;
    Ok(digest.finalize().to_vec())
}

fn hash(file: &mut dyn io::Read, digest: &mut Sha256) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(()),
            count => digest.update(&buffer[..count]),
        }
    }
}
