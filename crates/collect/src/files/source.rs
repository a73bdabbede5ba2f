//! The bytes of an input: decompressed, and either lines of text or a Parquet file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use bytes::Bytes;
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};

use super::FileFormat;
use super::guard::guarded;
use super::inputs::{Input, unreadable};
use crate::error::{Error, Result};

/// Longest line that is read.
pub(crate) const MAX_LINE: usize = 64 << 20;

/// Most bytes of a Parquet file that is compressed as a whole or comes from standard input, and so must be held in memory.
const MAX_HELD: u64 = 4 << 30;

/// Text that is handled at a time.
const BLOCK: usize = 1 << 20;

/// An opened input.
pub(crate) enum Source {
    Text(FileFormat, Lines),
    Parquet(Box<dyn FileReader>),
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
    match FileFormat::of_start(plain.fill_buf().map_err(fail)?) {
        FileFormat::Parquet => {
            let mut bytes = Vec::new();
            plain.take(MAX_HELD).read_to_end(&mut bytes).map_err(fail)?;
            parquet(input, Bytes::from(bytes))
        }
        format => Ok(Source::Text(format, Lines { reader: plain, rest: Vec::new(), line: 1, ended: false })),
    }
}

/// The bytes of an input, decompressed.
pub(super) fn decompressed(input: &Input) -> Result<Box<dyn Read>> {
    unpacked(raw(input)?).map_err(|error| unreadable(input, error))
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
    Ok(match () {
        () if gzip => Box::new(flate2::read::MultiGzDecoder::new(raw)),
        () if zstandard => Box::new(zstd::stream::read::Decoder::with_buffer(raw)?),
        () => Box::new(raw),
    })
}

fn parquet<R: ChunkReader + 'static>(input: &Input, bytes: R) -> Result<Source> {
    let reader = guarded(|| SerializedFileReader::new(bytes)).map_err(|error| damaged(input, &error))?;
    Ok(Source::Parquet(Box::new(reader)))
}

pub(crate) fn damaged(input: &Input, error: &parquet::errors::ParquetError) -> Error {
    let words = error.to_string();
    // The reader's own words, which may quote the file.
    let message = words.chars().filter(|c| !c.is_control()).take(300).collect();
    Error::Damaged { file: input.to_string(), message }
}

/// A file that many threads read at places of their own. (Copies of a file's handle share one place, and groups of rows that are read at
/// once would get each other's bytes.)
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
            return Err(parquet::errors::ParquetError::EOF("the file is cut off".into()));
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
    /// The next line alone, without a byte order mark.
    pub(crate) fn line(&mut self, input: &Input) -> Result<Option<(u64, Vec<u8>)>> {
        let mut line = Vec::new();
        let mut limited = (&mut self.reader).take(MAX_LINE as u64);
        limited.read_until(b'\n', &mut line).map_err(|error| unreadable(input, error))?;
        if line.is_empty() {
            return Ok(None);
        }
        if line.len() == MAX_LINE {
            return Err(Error::LongLine { file: input.to_string(), line: self.line });
        }
        let number = self.line;
        self.line += 1;
        while line.last().is_some_and(|byte| b"\r\n".contains(byte)) {
            line.pop();
        }
        let line = line.strip_prefix(b"\xef\xbb\xbf").map(<[u8]>::to_vec).unwrap_or(line);
        Ok(Some((number, line)))
    }

    /// The next lines.
    pub(crate) fn block(&mut self, input: &Input) -> Result<Option<Block>> {
        while !self.ended && (self.rest.len() < BLOCK || !self.rest.contains(&b'\n')) {
            let before = self.rest.len();
            let mut limited = (&mut self.reader).take(BLOCK as u64);
            limited.read_to_end(&mut self.rest).map_err(|error| unreadable(input, error))?;
            self.ended = self.rest.len() == before;
            if self.rest.len() > MAX_LINE && !self.rest.contains(&b'\n') {
                return Err(Error::LongLine { file: input.to_string(), line: self.line });
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
