//! The bytes of an input: decompressed, and either lines of text or a Parquet file.
//!
//! Files come from strangers, so everything has a bound: how long a line is, how much larger a file becomes that is decompressed, and how
//! much of it is held in memory.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};

use super::FileFormat;
use super::guard::guarded;
use super::inputs::{Input, unreadable};
use crate::error::{Compression, Damage, Error, Result};

/// Longest first line, which may hold a protocol: as long as a specification.
pub(crate) const MAX_HEADER: usize = 64 << 20;

/// Longest other line, beside the value or report that is wanted of it.
pub(crate) const MAX_LINE: usize = 1 << 20;

/// Most bytes of a Parquet file that is compressed as a whole or comes from standard input, and so must be held in memory.
const MAX_HELD: u64 = 256 << 20;

/// Most bytes that a byte of a compressed file may become. (One and the same short line again and again becomes 12 000 times smaller with
/// Zstandard, and 1000 times with gzip.)
const MAX_RATIO: u64 = 1 << 14;

/// So much a compressed file may become however short it is.
const ALWAYS_ALLOWED: u64 = 1 << 20;

/// Text that is handled at a time.
const BLOCK: usize = 1 << 20;

/// An opened input.
pub(crate) enum Source {
    Text(FileFormat, Lines),
    Parquet(Box<dyn FileReader>, Raw),
}

/// The bytes of a Parquet file.
pub(crate) struct Raw {
    /// How many.
    pub(crate) length: u64,
    /// Reads so many from a place.
    pub(crate) read: Box<dyn Fn(u64, usize) -> parquet::errors::Result<Bytes> + Send + Sync>,
}

/// Opens an input, decompressing gzip and Zstandard, and tells its format by its beginning.
pub(crate) fn open(input: &Input) -> Result<Source> {
    let fail = |error| unreadable(input, error);
    let mut raw = raw(input)?;
    let parquet_itself = FileFormat::of_start(raw.fill_buf().map_err(fail)?) == FileFormat::Parquet;
    if let (true, Input::File(path)) = (parquet_itself, input) {
        let file = File::open(path).map_err(fail)?;
        let length = file.metadata().map_err(fail)?.len();
        return parquet(input, Positioned { file: Arc::new(file), length });
    }
    let mut plain = BufReader::with_capacity(BLOCK, unpacked(raw).map_err(fail)?);
    let start = plain.fill_buf().map_err(fail)?;
    if is_array(start) {
        return Err(Error::JsonArray { file: input.to_string() });
    }
    match FileFormat::of_start(start) {
        FileFormat::Parquet => {
            let held = held(plain).map_err(fail)?;
            let held = held.ok_or_else(|| Error::TooMuchHeld { file: input.to_string(), most: MAX_HELD });
            parquet(input, Bytes::from(held?))
        }
        format => Ok(Source::Text(format, Lines { reader: plain, rest: Vec::new(), line: 1, ended: false })),
    }
}

/// All that a reader gives; `None` if it is too much. Room is made little by little, not twice as much each time.
fn held(mut reader: impl Read) -> io::Result<Option<Vec<u8>>> {
    const ROOM: usize = 16 << 20;
    let mut bytes = Vec::new();
    while bytes.len() as u64 <= MAX_HELD {
        // A few bytes more, by which the end is found.
        bytes.try_reserve_exact(ROOM + 64).map_err(|_| io::ErrorKind::OutOfMemory)?;
        if (&mut reader).take(ROOM as u64).read_to_end(&mut bytes)? == 0 {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

/// Whether a file begins like a JSON array of anything, which is not one object a line. The name of a column may have brackets too, as in
/// `[value]`.
fn is_array(start: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    let inside = start.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    inside.is_some_and(|inside| inside.first().is_none_or(|byte| b"{[]\"-0123456789".contains(byte)))
}

fn raw(input: &Input) -> Result<BufReader<Box<dyn Read>>> {
    let raw: Box<dyn Read> = match input {
        Input::StandardInput => Box::new(io::stdin()),
        Input::File(path) => Box::new(File::open(path).map_err(|error| unreadable(input, error))?),
    };
    Ok(BufReader::with_capacity(BLOCK, raw))
}

fn unpacked(mut raw: BufReader<Box<dyn Read>>) -> io::Result<Box<dyn Read>> {
    let start = raw.fill_buf()?;
    let (gzip, zstandard) = (start.starts_with(&[0x1f, 0x8b]), start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]));
    if !gzip && !zstandard {
        return Ok(Box::new(raw));
    }
    let packed = Rc::new(Cell::new(0));
    let raw = Metered { reader: raw, read: Rc::clone(&packed) };
    let (plain, compression): (Box<dyn Read>, _) = match gzip {
        true => (Box::new(flate2::bufread::MultiGzDecoder::new(raw)), Compression::Gzip),
        false => (Box::new(zstd::stream::read::Decoder::with_buffer(raw)?), Compression::Zstandard),
    };
    Ok(Box::new(Bounded { reader: plain, compression, read: 0, packed }))
}

/// Counts the bytes that are taken from a reader.
struct Metered<R> {
    reader: R,
    read: Rc<Cell<u64>>,
}

impl<R: BufRead> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.read.set(self.read.get() + count as u64);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Metered<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.read.set(self.read.get() + count as u64);
        self.reader.consume(count);
    }
}

/// What is decompressed, as long as it is not too much for what it was.
struct Bounded {
    reader: Box<dyn Read>,
    compression: Compression,
    read: u64,
    packed: Rc<Cell<u64>>,
}

impl Bounded {
    /// What an error of the decompressor means. Errors of the system have a number, and stay as they are.
    fn damaged(&self, error: io::Error) -> io::Error {
        match error.kind() {
            io::ErrorKind::Interrupted => error,
            _ if error.raw_os_error().is_some() => error,
            io::ErrorKind::UnexpectedEof => invalid(Damage::CompressedEnd(self.compression)),
            _ => invalid(Damage::Compressed(self.compression)),
        }
    }
}

fn invalid(damage: Damage) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, damage)
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer).map_err(|error| self.damaged(error))?;
        self.read += count as u64;
        if self.read > ALWAYS_ALLOWED + self.packed.get().saturating_mul(MAX_RATIO) {
            return Err(invalid(Damage::Expansion { ratio: MAX_RATIO }));
        }
        Ok(count)
    }
}

pub(super) fn parquet<R: ChunkReader + Clone + 'static>(input: &Input, bytes: R) -> Result<Source> {
    let raw = bytes.clone();
    let reader = guarded(|| SerializedFileReader::new(bytes)).map_err(|error| damaged(input, error))?;
    let raw = Raw { length: raw.len(), read: Box::new(move |start, length| raw.get_bytes(start, length)) };
    Ok(Source::Parquet(Box::new(reader), raw))
}

/// What the reader of Parquet files found. Its own words are not repeated: they may quote the file, and few people know what they mean.
pub(crate) fn damaged(input: &Input, error: ParquetError) -> Error {
    let file = input.to_string();
    let damage = match error {
        ParquetError::EOF(_) | ParquetError::NeedMoreData(_) => Damage::ParquetEnd,
        ParquetError::NYI(_) => Damage::Unsupported,
        ParquetError::External(cause) => match found_in(cause) {
            Ok(damage) => damage,
            Err(error) => return unreadable(input, error),
        },
        _ => Damage::Parquet,
    };
    Error::Damaged { file, damage }
}

/// The damage that we found ourselves, or what the system said.
fn found_in(cause: Box<dyn std::error::Error + Send + Sync>) -> std::result::Result<Damage, io::Error> {
    let cause = match cause.downcast::<Damage>() {
        Ok(damage) => return Ok(*damage),
        Err(cause) => cause,
    };
    match cause.downcast::<io::Error>() {
        Ok(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Damage::ParquetEnd),
        // Only the system gives a number, and only a store these kinds; all else is about the contents.
        Ok(error) if error.raw_os_error().is_some() || of_store(error.kind()) => Err(*error),
        _ => Ok(Damage::Parquet),
    }
}

/// Whether an error is that of a store of files on another machine.
fn of_store(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{ConnectionAborted, NotFound, PermissionDenied};
    matches!(kind, ConnectionAborted | NotFound | PermissionDenied)
}

/// A file that many threads read at places of their own. (Copies of a file's handle share one place, and groups of rows that are read at
/// once would get each other's bytes.)
#[derive(Clone)]
struct Positioned {
    file: Arc<File>,
    length: u64,
}

/// A place in a file.
struct Place {
    file: Arc<File>,
    at: u64,
}

impl Read for Place {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let count = std::os::unix::fs::FileExt::read_at(&*self.file, buffer, self.at)?;
        #[cfg(windows)]
        let count = std::os::windows::fs::FileExt::seek_read(&*self.file, buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Length for Positioned {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Positioned {
    type T = BufReader<Place>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(BufReader::new(Place { file: Arc::clone(&self.file), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        if self.length < start.saturating_add(length as u64) {
            return Err(ParquetError::EOF("the file is cut off".into()));
        }
        let mut bytes = vec![0; length];
        Place { file: Arc::clone(&self.file), at: start }.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// Text in blocks of whole lines.
pub(crate) struct Lines {
    reader: BufReader<Box<dyn Read>>,
    rest: Vec<u8>,
    line: u64,
    ended: bool,
}

/// Some whole lines.
pub(crate) struct Block {
    /// The number of the first line, from 1.
    pub(crate) first: u64,
    bytes: Vec<u8>,
}

impl Block {
    /// The lines with their numbers, without line ends.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let lines = self.bytes.split_inclusive(|byte| *byte == b'\n');
        (self.first..).zip(lines.map(|line| {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            line.strip_suffix(b"\r").unwrap_or(line)
        }))
    }
}

impl Lines {
    /// The next line alone, of at most `longest` bytes, without a byte order mark.
    pub(crate) fn line(&mut self, input: &Input, longest: usize) -> Result<Option<(u64, Vec<u8>)>> {
        let mut line = Vec::new();
        let mut limited = (&mut self.reader).take(longest as u64 + 2);
        limited.read_until(b'\n', &mut line).map_err(|error| unreadable(input, error))?;
        if line.is_empty() {
            return Ok(None);
        }
        if line.len() > longest + 1 {
            return Err(Error::LongLine { file: input.to_string(), line: self.line, longest });
        }
        let number = self.line;
        self.line += 1;
        while line.last().is_some_and(|byte| b"\r\n".contains(byte)) {
            line.pop();
        }
        let line = line.strip_prefix(b"\xef\xbb\xbf").map(<[u8]>::to_vec).unwrap_or(line);
        Ok(Some((number, line)))
    }

    /// The next lines, none of them of much more than `longest` bytes.
    pub(crate) fn block(&mut self, input: &Input, longest: usize) -> Result<Option<Block>> {
        let mut has_line = self.rest.contains(&b'\n');
        while !self.ended && (self.rest.len() < BLOCK || !has_line) {
            let before = self.rest.len();
            let mut limited = (&mut self.reader).take(BLOCK as u64);
            limited.read_to_end(&mut self.rest).map_err(|error| unreadable(input, error))?;
            self.ended = self.rest.len() == before;
            has_line |= self.rest[before..].contains(&b'\n');
            if self.rest.len() > longest + BLOCK && !has_line {
                return Err(Error::LongLine { file: input.to_string(), line: self.line, longest });
            }
        }
        let end = match self.rest.iter().rposition(|byte| *byte == b'\n') {
            _ if self.ended => self.rest.len(),
            Some(at) => at + 1,
            None => self.rest.len(),
        };
        if end == 0 {
            return Ok(None);
        }
        let after = self.rest.split_off(end);
        let block = Block { first: self.line, bytes: std::mem::replace(&mut self.rest, after) };
        self.line += block.lines().count() as u64;
        Ok(Some(block))
    }
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer)
    }
}
