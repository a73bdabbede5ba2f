//! Files that appear whole or not at all: written aside, brought to the disk, then renamed.
//!
//! Until the rename the previous file is untouched. An error or Ctrl-C leaves it so and nothing else; `kill -9` leaves at worst a file
//! `.NAME.RANDOM.part` beside it, which no later run reads or writes; a full disk is noticed before the rename.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

/// The temporary files of this process, for [`abandon`]. Who renames one holds the lock.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    // Unwrap safety: nothing panics while it holds the lock.
    UNFINISHED.lock().unwrap()
}

/// Removes all files that are being written, for a process that is about to end: after this call no file is renamed or begun.
pub fn abandon() {
    let unfinished = unfinished();
    unfinished.iter().for_each(|aside| drop(fs::remove_file(aside)));
    // Whoever is about to rename waits for the lock until the process ends.
    std::mem::forget(unfinished);
}

fn begin(aside: &Path) -> io::Result<File> {
    let mut unfinished = unfinished();
    let file = File::create_new(aside)?;
    unfinished.push(aside.to_owned());
    Ok(file)
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
    /// Begins to write the file. The file behind a link is replaced, not the link; its permissions stay.
    ///
    /// # Errors
    /// The directory does not exist or cannot be written to, or the path is a directory.
    pub fn create(path: &Path) -> io::Result<Self> {
        let previous = fs::metadata(path).ok();
        match &previous {
            Some(previous) if previous.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Some(previous) if !previous.is_file() => {
                let writer = Some(BufWriter::new(File::create(path)?));
                return Ok(Replacement { writer, aside: None, path: path.to_owned() });
            }
            _ => {}
        }
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let aside = aside(&path)?;
        let writer = Some(BufWriter::with_capacity(1 << 20, begin(&aside)?));
        let replacement = Replacement { writer, aside: Some(aside.clone()), path };
        previous.map_or(Ok(()), |previous| fs::set_permissions(aside, previous.permissions()))?;
        Ok(replacement)
    }

    /// Brings everything to the disk and gives the file its name.
    ///
    /// # Errors
    /// Not everything could be written; the previous file is untouched.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        let (Some(writer), Some(aside)) = (&self.writer, &self.aside) else { return Ok(()) };
        writer.get_ref().sync_all()?;
        let mut unfinished = unfinished();
        fs::rename(aside, &self.path)?;
        unfinished.retain(|other| other != aside);
        self.aside = None;
        Ok(())
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
        // What a buffer still holds of an unfinished file is not written.
        self.writer.take().map(BufWriter::into_parts);
        if let Some(aside) = self.aside.take() {
            unfinished().retain(|other| *other != aside);
            let _ = fs::remove_file(aside);
        }
    }
}

/// The name of a temporary file beside `path` that no other run has: two processes may have one number, in two containers that share a
/// directory.
fn aside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::other("the path names no file"))?;
    let random = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
    Ok(path.with_file_name(format!(".{}.{random:016x}.part", name.to_string_lossy())))
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

    #[cfg(unix)]
    #[test]
    fn permissions_stay() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.json");
        replace(&path, b"old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error() {
        assert!(replace(Path::new("/dev/full"), &[0; 1 << 20]).is_err());
    }
}
