//! Writing output: coloured on a terminal, complete or not at all in a file.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use sottovoce_job::render::{Document, Emphasis};

use crate::arguments::OutputArguments;
use crate::failure::{Failure, Result, say};

impl OutputArguments {
    /// Writes the document where the user wants it.
    pub(crate) fn write(&self, document: &Document) -> Result {
        let Some(path) = self.file() else {
            return print(document);
        };
        write_file(path, document.to_string().as_bytes())?;
        if !self.quiet {
            say(AnsiColor::Green, "wrote", &path.to_string_lossy());
        }
        Ok(())
    }

    /// The file that the output goes to, if it is not standard output.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| !is_standard_output(path))
    }
}

/// Writes a file, complete or not at all.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result {
    replace(path, bytes).map_err(|error| Failure::Write { path: Some(path.to_owned()), error })
}

/// Whether the path is another name for standard output. Replacing what `/dev/stdout` points to would take the file away
/// from others who write to it.
fn is_standard_output(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

/// Writes to standard output. A reader that has seen enough (`| head`) is no failure.
pub(crate) fn print(document: &Document) -> Result {
    let mut output = anstream::stdout().lock();
    match output.write_all(coloured(document).as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Write { path: None, error }),
        _ => Ok(()),
    }
}

/// The document with colour codes, which `anstream` takes out again where there is no terminal.
fn coloured(document: &Document) -> String {
    document
        .pieces()
        .map(|(emphasis, text)| {
            let style = style(emphasis);
            format!("{style}{text}{style:#}")
        })
        .collect()
}

fn style(emphasis: Emphasis) -> Style {
    match emphasis {
        Emphasis::Plain => Style::new(),
        Emphasis::Strong => Style::new().bold(),
        Emphasis::Faint => Style::new().dimmed(),
        Emphasis::Warning => Style::new().fg_color(Some(AnsiColor::Yellow.into())),
    }
}

/// Writes a file aside and then renames it, so that an interruption leaves the old file whole.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A device or a pipe cannot be replaced, and the file behind a link should be, not the link.
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        return File::create(path)?.write_all(bytes);
    }
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let aside = aside(&path)?;
    let written = write_new(&aside, bytes).and_then(|()| fs::rename(&aside, &path));
    if written.is_err() {
        let _ = fs::remove_file(&aside);
    }
    written
}

/// The name of the temporary file beside `path`.
fn aside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::other("the path names no file"))?;
    Ok(path.with_file_name(format!(".{}.{}.part", name.to_string_lossy(), std::process::id())))
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.json");
        replace(&path, b"old").unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failure_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        assert!(replace(directory.path(), b"x").is_err());
        assert!(replace(&directory.path().join("no/such/file"), b"x").is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
