//! Files that appear whole or not at all: written aside, brought to the disk, then renamed.
//!
//! Until the rename the previous file is untouched. An error, Ctrl-C or `kill -9` leaves it so, and at worst a file `.NAME.PID.part` beside
//! it; a full disk is noticed before the rename.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The temporary files of this process, for [`abandon`].
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes all files that are being written, for a process that is about to end.
pub fn abandon() {
    if let Ok(unfinished) = UNFINISHED.lock() {
        unfinished.iter().for_each(|aside| drop(fs::remove_file(aside)));
    }
}

fn forget(aside: &Path) {
    if let Ok(mut unfinished) = UNFINISHED.lock() {
        unfinished.retain(|other| other != aside);
    }
}

/// A file that is being written, and takes its name only when [finished](Replacement::finish).
#[derive(Debug)]
pub struct Replacement {
    writer: Option<BufWriter<File>>,
    /// The temporary file; none where the path is a device or a pipe, which cannot be replaced.
    aside: Option<PathBuf>,
    path: PathBuf,
}

impl Replacement {
    /// Begins to write the file. The file behind a link is replaced, not the link.
    ///
    /// # Errors
    /// The directory does not exist or cannot be written to, or the path is a directory.
    pub fn create(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(metadata) if !metadata.is_file() => {
                let writer = Some(BufWriter::new(File::create(path)?));
                return Ok(Replacement { writer, aside: None, path: path.to_owned() });
            }
            _ => {}
        }
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let aside = aside(&path)?;
        let writer = Some(BufWriter::with_capacity(1 << 20, File::create(&aside)?));
        if let Ok(mut unfinished) = UNFINISHED.lock() {
            unfinished.push(aside.clone());
        }
        Ok(Replacement { writer, aside: Some(aside), path })
    }

    /// Brings everything to the disk and gives the file its name.
    ///
    /// # Errors
    /// Not everything could be written; the previous file is untouched.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        // Unwrap safety: the writer is taken here and when dropped, and nowhere else.
        let file = self.writer.take().unwrap().into_inner().map_err(io::IntoInnerError::into_error)?;
        let Some(aside) = self.aside.take() else { return Ok(()) };
        forget(&aside);
        let renamed = file.sync_all().and_then(|()| fs::rename(&aside, &self.path));
        if renamed.is_err() {
            let _ = fs::remove_file(&aside);
        }
        renamed
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.as_mut().map_or(Ok(0), |writer| writer.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let (Some(writer), Some(aside)) = (self.writer.take(), self.aside.take()) {
            drop(writer.into_parts());
            forget(&aside);
            let _ = fs::remove_file(aside);
        }
    }
}

/// The name of the temporary file beside `path`.
fn aside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::other("the path names no file"))?;
    Ok(path.with_file_name(format!(".{}.{}.part", name.to_string_lossy(), std::process::id())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = Replacement::create(path)?;
        file.write_all(bytes)?;
        file.finish()
    }

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
    fn what_is_not_finished_leaves_the_old_file_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.json");
        replace(&path, b"old").unwrap();
        let mut file = Replacement::create(&path).unwrap();
        file.write_all(&[0; 3 << 20]).unwrap();
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failure_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        assert!(replace(directory.path(), b"x").is_err());
        assert!(replace(&directory.path().join("no/such/file"), b"x").is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error() {
        assert!(replace(Path::new("/dev/full"), &[0; 1 << 20]).is_err());
    }
}
