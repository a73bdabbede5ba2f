//! A seal over a text of JSON: the SHA-256 of the text without the spaces and line ends between its parts.
//!
//! A program that lays the text out in another way leaves the seal whole; whoever changes a letter or a digit breaks it.

use std::io::{self, Write};

use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::header::hexadecimal;

/// The seal of a text.
pub(crate) fn seal(text: &[u8]) -> String {
    let mut hash = Compact::default();
    hash.update(text);
    hash.finish()
}

/// Hashes a text without white space outside of quotes.
#[derive(Default)]
struct Compact {
    hash: Sha256,
    quoted: bool,
    escaped: bool,
    kept: Vec<u8>,
}

impl Compact {
    fn update(&mut self, text: &[u8]) {
        for part in text.chunks(1 << 16) {
            self.kept.clear();
            for byte in part {
                if self.quoted || !byte.is_ascii_whitespace() {
                    self.kept.push(*byte);
                }
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' if self.quoted => self.escaped = true,
                    b'"' => self.quoted = !self.quoted,
                    _ => {}
                }
            }
            self.hash.update(&self.kept);
        }
    }

    fn finish(self) -> String {
        hexadecimal(&self.hash.finalize())
    }
}

/// A writer that seals what it writes, and writes at most so many bytes.
pub(crate) struct Sealed<'w> {
    writer: &'w mut dyn Write,
    hash: Compact,
    left: u64,
    most: u64,
}

impl<'w> Sealed<'w> {
    pub(crate) fn new(writer: &'w mut dyn Write, most: u64) -> Self {
        // What comes after the sealed text is short.
        Sealed { writer, hash: Compact::default(), left: most.saturating_sub(1 << 10), most }
    }

    /// The writer, and the seal of what was written.
    pub(crate) fn finish(self) -> (&'w mut dyn Write, String) {
        (self.writer, self.hash.finish())
    }
}

impl Write for Sealed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let too_many =
            || io::Error::new(io::ErrorKind::FileTooLarge, Error::TooManyPatterns { most: self.most });
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or_else(too_many)?;
        self.writer.write_all(bytes)?;
        self.hash.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_does_not_count_and_letters_do() {
        let sealed = seal(br#"{"n": 1, "a b": "c \" d"}"#);
        assert_eq!(sealed, seal(b"{\n\t\"n\" :1 ,\r\n\"a b\":\"c \\\" d\" }"));
        for other in [
            &br#"{"n": 1, "ab": "c \" d"}"#[..],
            br#"{"n": 2, "a b": "c \" d"}"#,
            br#"{"n": 1, "a b": "c \"d"}"#,
        ] {
            assert_ne!(sealed, seal(other));
        }
    }

    #[test]
    fn what_is_written_in_parts_is_sealed_as_a_whole() {
        let (mut written, text) = (Vec::new(), br#"{"n": 1, "a b": "c \" d"}"#);
        let mut writer = Sealed::new(&mut written, 1 << 20);
        text.chunks(3).for_each(|part| writer.write_all(part).unwrap());
        assert_eq!(writer.finish().1, seal(text));
        assert_eq!(written, text);
    }

    #[test]
    fn more_than_is_read_is_not_written() {
        let mut written = Vec::new();
        let mut writer = Sealed::new(&mut written, 2000);
        assert!(writer.write_all(&[b'0'; 900]).is_ok());
        let refused = writer.write_all(&[b'0'; 900]).unwrap_err();
        assert!(refused.to_string().contains("2000"), "{refused}");
    }
}
