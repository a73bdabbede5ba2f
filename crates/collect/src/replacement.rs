//! Files that appear whole or not at all: written aside, brought to the disk, then renamed.
//!
//! Until the rename the previous file is untouched. An error or a signal leaves it so and nothing else; `kill -9` leaves at worst a file
//! `.NAME.RANDOM.part` beside it, which no later run reads or writes; a full disk is noticed before the rename. After the rename the
//! directory is brought to the disk too, so that the new file is there after a power cut.
//!
//! Only files are replaced. Standard output, devices and pipes are written to (see [`crate::destination`]); a link stays, and what it
//! leads to is replaced.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use crate::destination::{Destination, destination, standard_output};

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

fn begin(aside: &Path, private: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let mut unfinished = unfinished();
    let file = options.open(aside)?;
    unfinished.push(aside.to_owned());
    Ok(file)
}

/// Gives a file the owner and the permissions of the previous one, as far as the user may.
fn take_over(file: &File, previous: &fs::Metadata) -> io::Result<()> {
    let mut permissions = previous.permissions();
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let (own, mode) = (file.metadata()?, permissions.mode());
        let same = (own.uid(), own.gid()) == (previous.uid(), previous.gid());
        if !same && fchown(file, Some(previous.uid()), Some(previous.gid())).is_err() {
            // What the previous group might do, another group may do only if everybody may.
            permissions.set_mode(mode & !0o070 | (mode & 0o007) << 3);
        }
    }
    file.set_permissions(permissions)
}

/// A file that is being written, and takes its name only when [finished](Replacement::finish).
#[derive(Debug)]
pub struct Replacement {
    writer: Option<BufWriter<File>>,
    /// The temporary file; none where the path is a stream, which cannot be replaced.
    aside: Option<PathBuf>,
    path: PathBuf,
}

impl Replacement {
    /// Begins to write the file. The file behind a link is replaced, not the link; its owner and permissions stay. `-` is standard output.
    ///
    /// # Errors
    /// The directory does not exist or cannot be written to, the path is a directory, or standard output is closed.
    pub fn create(path: &Path) -> io::Result<Self> {
        match destination(path)? {
            Destination::StandardOutput => Ok(Replacement::stream(standard_output()?)),
            Destination::Stream(file) => Ok(Replacement::stream(file)),
            Destination::File(path) => Replacement::beside(path, false),
        }
    }

    /// Begins to write a file that nobody but the user may read, unless a previous one has other permissions.
    ///
    /// # Errors
    /// As for [`create`](Replacement::create), and for `-`.
    pub fn create_private(path: &Path) -> io::Result<Self> {
        match destination(path)? {
            Destination::File(path) => Replacement::beside(path, true),
            _ => Err(io::Error::other("it is not a file, and what is written is secret")),
        }
    }

    fn stream(file: File) -> Self {
        Replacement { writer: Some(BufWriter::new(file)), aside: None, path: PathBuf::new() }
    }

    fn beside(path: PathBuf, private: bool) -> io::Result<Self> {
        let (previous, aside) = (fs::metadata(&path).ok(), aside(&path)?);
        // Nobody but the user may read it before it has the permissions of the previous file.
        let file = begin(&aside, private || previous.is_some())?;
        let writer = Some(BufWriter::with_capacity(1 << 20, file));
        let replacement = Replacement { writer, aside: Some(aside), path };
        if let (Some(previous), Some(writer)) = (previous, &replacement.writer) {
            take_over(writer.get_ref(), &previous)?;
        }
        Ok(replacement)
    }

    /// Brings everything to the disk and gives the file its name.
    ///
    /// # Errors
    /// Not everything could be written; the previous file is untouched.
    pub fn finish(mut self) -> io::Result<()> {
        self.synchronise()?;
        self.rename(&mut unfinished())
    }

    /// Brings several files to the disk, then gives all of them their names. Whatever cannot be written is noticed before the first is renamed, and a signal
    /// finds either none or all of them renamed.
    ///
    /// # Errors
    /// Not everything could be written; the previous files are untouched, unless a rename itself failed.
    pub fn finish_all(mut files: Vec<Self>) -> io::Result<()> {
        files.iter_mut().try_for_each(Replacement::synchronise)?;
        let mut unfinished = unfinished();
        files.iter_mut().try_for_each(|file| file.rename(&mut unfinished))
    }

    /// Brings everything to the disk, where it may still be abandoned.
    fn synchronise(&mut self) -> io::Result<()> {
        self.flush()?;
        let (Some(writer), Some(_)) = (&self.writer, &self.aside) else { return Ok(()) };
        writer.get_ref().sync_all()?;
        refuse_all_but_files(&self.path)
    }

    fn rename(&mut self, unfinished: &mut Vec<PathBuf>) -> io::Result<()> {
        let Some(aside) = &self.aside else { return Ok(()) };
        refuse_all_but_files(&self.path)?;
        fs::rename(aside, &self.path)?;
        unfinished.retain(|other| other != aside);
        self.aside = None;
        synchronise_directory(&self.path)
    }
}

/// Refuses to replace what was put in the place of the file while it was written.
fn refuse_all_but_files(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => Err(io::Error::other("it is no longer a file, and is not replaced")),
        _ => Ok(()),
    }
}

/// Brings the new name of a file to the disk.
fn synchronise_directory(path: &Path) -> io::Result<()> {
    let Some(directory) = path.parent().filter(|_| cfg!(unix)) else { return Ok(()) };
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        // Some file systems cannot, and some directories may be written to but not read.
        Err(error) if UNABLE.contains(&error.kind()) => Ok(()),
        done => done,
    }
}

/// Why a directory is not brought to the disk that need not be.
const UNABLE: [io::ErrorKind; 3] =
    [io::ErrorKind::InvalidInput, io::ErrorKind::Unsupported, io::ErrorKind::PermissionDenied];

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

/// Characters of a name that a temporary file repeats, so that its own name is not too long.
const REPEATED: usize = 50;

/// The name of a temporary file beside `path` that no other run has: two processes may have one number, in two containers that share a
/// directory.
fn aside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::other("the path names no file"))?;
    let name: String = name.to_string_lossy().chars().take(REPEATED).collect();
    let random = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
    Ok(path.with_file_name(format!(".{name}.{random:016x}.part")))
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

    /// A directory where the second file should be: neither is renamed.
    #[test]
    fn of_several_files_all_are_renamed_or_none() {
        let directory = tempfile::tempdir().unwrap();
        let begun = |name: &str| {
            let mut file = Replacement::create(&directory.path().join(name)).unwrap();
            file.write_all(b"new").unwrap();
            file
        };
        let files = vec![begun("one"), begun("two")];
        fs::create_dir(directory.path().join("two")).unwrap();
        assert!(Replacement::finish_all(files).is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        Replacement::finish_all(vec![begun("one"), begun("three")]).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3);
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

    /// While it is written, nobody but the user may read what takes the place of a private file.
    #[cfg(unix)]
    #[test]
    fn a_private_file_is_private_from_its_first_byte() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.json");
        replace(&path, b"old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let file = begin(&directory.path().join("aside"), true).unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let secret = directory.path().join("memo");
        Replacement::create_private(&secret).unwrap().finish().unwrap();
        assert_eq!(fs::metadata(&secret).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(Replacement::create_private(Path::new("-")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_and_dangling_ones_are_followed() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("deep")).unwrap();
        std::os::unix::fs::symlink("deep/middle", at("link")).unwrap();
        std::os::unix::fs::symlink("end", at("deep/middle")).unwrap();
        for content in [&b"first"[..], b"second"] {
            replace(&at("link"), content).unwrap();
            assert_eq!(fs::read(at("deep/end")).unwrap(), content);
            assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
            assert!(fs::symlink_metadata(at("deep/middle")).unwrap().is_symlink());
        }
        std::os::unix::fs::symlink("loop", at("loop")).unwrap();
        assert!(replace(&at("loop"), b"x").is_err());
        assert!(fs::symlink_metadata(at("loop")).unwrap().is_symlink());
    }

    /// What takes the place of the file while it is written is not replaced.
    #[cfg(unix)]
    #[test]
    fn a_link_that_comes_later_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.json");
        let mut file = Replacement::create(&path).unwrap();
        file.write_all(b"x").unwrap();
        std::os::unix::fs::symlink("elsewhere", &path).unwrap();
        assert!(file.finish().is_err());
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
    }

    #[test]
    fn a_long_name_has_a_temporary_file_too() {
        let directory = tempfile::tempdir().unwrap();
        replace(&directory.path().join("x".repeat(250)), b"x").unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error() {
        assert!(replace(Path::new("/dev/full"), &[0; 1 << 20]).is_err());
    }
}
