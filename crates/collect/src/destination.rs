//! Where a path leads: to standard output, to another stream, or to a file that can be replaced.
//!
//! A stream is somebody else's: what was written to it before stays, and what is written to it later comes behind. So `-`, `/dev/stdout`
//! and whatever else names standard output is written to and never replaced, be it a terminal, a pipe or a file; and so is a device or a
//! pipe that has a name.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// What is written to.
#[derive(Debug)]
pub(crate) enum Destination {
    /// Standard output.
    StandardOutput,
    /// Standard error, a device or a pipe, open for writing.
    Stream(File),
    /// A file, which may not exist yet, behind all links.
    File(PathBuf),
}

/// Whether a path is another name for standard output.
pub fn is_standard_output(path: &Path) -> bool {
    matches!(followed(path), Ok(End::Descriptor(1)))
}

/// Whether a path names a stream, whose name says nothing about what is written to it: standard output, another descriptor, a device or a pipe.
pub fn is_stream(path: &Path) -> bool {
    match followed(path) {
        Ok(End::Descriptor(_)) => true,
        Ok(End::Path(end)) => fs::metadata(end).is_ok_and(|found| !found.is_file() && !found.is_dir()),
        Err(_) => false,
    }
}

/// Where a path leads.
///
/// # Errors
/// To a directory, to a file that somebody has open, or nowhere because its links go round in circles.
pub(crate) fn destination(path: &Path) -> io::Result<Destination> {
    let end = match followed(path)? {
        End::Descriptor(1) => return Ok(Destination::StandardOutput),
        End::Descriptor(2) => return Ok(Destination::Stream(own(io::stderr())?)),
        End::Descriptor(_) => return open_stream(path),
        End::Path(end) => end,
    };
    match fs::metadata(&end) {
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() => open_stream(&end),
        Ok(found) if is_open_for_output(&found) => {
            Err(io::Error::other("standard output goes to this file too; name another one, or `-`"))
        }
        _ => Ok(Destination::File(end)),
    }
}

/// A device, a pipe, or another descriptor. That of a file would be written to from its beginning, over what is there.
fn open_stream(path: &Path) -> io::Result<Destination> {
    if fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is a file that is already open; name the file itself"));
    }
    OpenOptions::new().write(true).open(path).map(Destination::Stream)
}

/// Standard output, as a file of its own that says what went wrong. (The library's own says nothing of a descriptor that cannot be written to.)
///
/// # Errors
/// It is closed.
pub fn standard_output() -> io::Result<File> {
    if was_closed() {
        return Err(io::Error::other("it is closed"));
    }
    own(io::stdout())
}

/// A stream as a file of its own.
///
/// # Errors
/// The system has no descriptor left.
#[cfg(unix)]
pub fn own(stream: impl std::os::fd::AsFd) -> io::Result<File> {
    stream.as_fd().try_clone_to_owned().map(File::from)
}

/// A stream as a file of its own.
///
/// # Errors
/// The system has no handle left.
#[cfg(windows)]
pub fn own(stream: impl std::os::windows::io::AsHandle) -> io::Result<File> {
    stream.as_handle().try_clone_to_owned().map(File::from)
}

/// Whether standard output was closed when the process began. Then the runtime has put `/dev/null` in its place, open for reading too; a
/// shell opens it for writing only. (Some programs that throw the output of others away open it for both, which cannot be told apart.)
fn was_closed() -> bool {
    const ACCESS: u32 = 0o3;
    const BOTH: u32 = 0o2;
    let flags = fs::read_to_string("/proc/self/fdinfo/1").ok().and_then(|text| {
        let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
        u32::from_str_radix(flags.trim(), 8).ok()
    });
    let nothing = fs::read_link("/proc/self/fd/1").is_ok_and(|end| end == Path::new("/dev/null"));
    nothing && flags.is_some_and(|flags| flags & ACCESS == BOTH)
}

/// Whether standard output goes to this file, so that what is printed later would go to the file that was replaced.
#[cfg(unix)]
fn is_open_for_output(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let same = |open: fs::Metadata| (open.dev(), open.ino()) == (found.dev(), found.ino());
    own(io::stdout()).and_then(|open| open.metadata()).is_ok_and(same)
}

#[cfg(not(unix))]
fn is_open_for_output(_found: &fs::Metadata) -> bool {
    false
}

/// The end of a chain of links.
enum End {
    /// A descriptor of this process, or [`FOREIGN`].
    Descriptor(u32),
    /// A path that is not a link.
    Path(PathBuf),
}

/// A descriptor of another process.
const FOREIGN: u32 = u32::MAX;

/// As many links as the system follows.
const MAX_LINKS: usize = 40;

fn followed(path: &Path) -> io::Result<End> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        if let Some(number) = descriptor(&path) {
            return Ok(End::Descriptor(number));
        }
        match fs::read_link(&path) {
            Ok(next) => path = path.parent().unwrap_or(Path::new("")).join(next),
            // No link, or nothing there yet.
            Err(_) => return Ok(End::Path(path)),
        }
    }
    Err(io::Error::other("its links go round in circles"))
}

/// The descriptor that a path names.
fn descriptor(path: &Path) -> Option<u32> {
    match path.to_str() {
        Some("-" | "/dev/stdout") => return Some(1),
        Some("/dev/stderr") => return Some(2),
        _ => {}
    }
    let number = path.file_name()?.to_str()?.parse().ok()?;
    let directory = path.parent()?.canonicalize().ok()?;
    let own = directory.starts_with(format!("/proc/{}", std::process::id()));
    match () {
        () if directory == Path::new("/dev/fd") || own && directory.ends_with("fd") => Some(number),
        () if directory.starts_with("/proc") && directory.ends_with("fd") => Some(FOREIGN),
        () => None,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn standard_output_has_many_names() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("/dev/stdout", &link).unwrap();
        let own = format!("/proc/{}/fd/1", std::process::id());
        for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/../dev/fd/1", &own] {
            assert!(is_standard_output(Path::new(name)) && is_stream(Path::new(name)), "{name}");
        }
        assert!(is_stream(Path::new("/dev/null")) && is_stream(Path::new("/dev/fd/2")));
        assert!(!is_stream(directory.path()) && !is_stream(Path::new("/no/such/file")));
        assert!(is_standard_output(&link));
        for name in ["/dev/stderr", "/dev/fd/2", "/dev/null", "./-", "1"] {
            assert!(!is_standard_output(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn devices_are_streams_and_open_files_are_not_replaced() {
        assert!(matches!(destination(Path::new("/dev/null")), Ok(Destination::Stream(_))));
        assert!(matches!(destination(Path::new("/dev/stderr")), Ok(Destination::Stream(_))));
        let file = tempfile::NamedTempFile::new().unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(file.as_file());
        assert!(destination(Path::new(&format!("/dev/fd/{number}"))).is_err());
        assert!(matches!(destination(file.path()), Ok(Destination::File(_))));
        assert!(
            matches!(destination(Path::new("/tmp")), Err(error) if error.kind() == io::ErrorKind::IsADirectory)
        );
    }
}
