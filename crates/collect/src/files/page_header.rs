//! The sizes in the header of a page of a Parquet file.
//!
//! The reader of Parquet files makes room for as many bytes as a page claims to become when it is decompressed, up to 2 GiB, and a page of
//! some kilobytes may really become so many. So the sizes are looked at before a page is read. A header is a struct of Thrift's compact
//! protocol: fields of a type and a distance to the number of the one before, numbers as varints, nested structs and lists.

/// What a header says about its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageHeader {
    /// Bytes of the header itself.
    pub(super) length: usize,
    /// Bytes of the page when it is decompressed.
    pub(super) uncompressed: i64,
    /// Bytes of the page in the file.
    pub(super) compressed: i64,
}

/// Structs within structs; a page header has three.
const MAX_DEPTH: u32 = 8;

const END: u8 = 0;
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const STRUCT: u8 = 12;

/// The numbers of the two fields.
const UNCOMPRESSED: i64 = 2;
const COMPRESSED: i64 = 3;

impl PageHeader {
    /// The header at the beginning of these bytes; `None` if they are none, or not all of it.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut cursor = Cursor { bytes, at: 0 };
        let (mut uncompressed, mut compressed, mut number) = (None, None, 0);
        while let Some(kind) = cursor.field(&mut number)? {
            let integer = (I16..=I64).contains(&kind);
            match number {
                UNCOMPRESSED if integer => uncompressed = Some(cursor.integer()?),
                COMPRESSED if integer => compressed = Some(cursor.integer()?),
                _ => cursor.skip(kind, MAX_DEPTH)?,
            }
        }
        Some(PageHeader { length: cursor.at, uncompressed: uncompressed?, compressed: compressed? })
    }
}

struct Cursor<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Cursor<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn pass(&mut self, count: u64) -> Option<()> {
        let end = self.at.checked_add(usize::try_from(count).ok()?)?;
        (end <= self.bytes.len()).then(|| self.at = end)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// A number with its sign in the last bit.
    fn integer(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// The type of the next field, with its number; `Some(None)` at the end of the struct.
    fn field(&mut self, number: &mut i64) -> Option<Option<u8>> {
        let byte = self.byte()?;
        let (distance, kind) = (byte >> 4, byte & 0x0f);
        if kind == END {
            return Some(None);
        }
        *number = if distance == 0 { self.integer()? } else { number.checked_add(distance.into())? };
        Some(Some(kind))
    }

    fn skip(&mut self, kind: u8, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            TRUE | FALSE => Some(()),
            BYTE => self.pass(1),
            I16..=I64 => self.varint().map(drop),
            DOUBLE => self.pass(8),
            BINARY => {
                let count = self.varint()?;
                self.pass(count)
            }
            LIST | SET => {
                let head = self.byte()?;
                let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                // A truth value is a byte of its own in a list.
                let kind = if matches!(head & 0x0f, TRUE | FALSE) { BYTE } else { head & 0x0f };
                (0..count).try_for_each(|_| self.skip(kind, depth))
            }
            STRUCT => {
                let mut number = 0;
                while let Some(kind) = self.field(&mut number)? {
                    self.skip(kind, depth)?;
                }
                Some(())
            }
            // A page header has no maps.
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A data page of 7 bytes that become 300, with a nested struct, a text, a list and a field that is numbered by itself.
    const HEADER: [u8; 26] = [
        0x15, 0x00, 0x15, 0xd8, 0x04, 0x15, 0x0e, 0x2c, 0x15, 0x06, 0x18, 0x02, b'a', b'b', 0x11, 0x00, 0x09,
        0x28, 0x25, 0x02, 0x04, 0x00, 0x00, 0xff, 0xff, 0xff,
    ];

    #[test]
    fn sizes_are_read_and_the_rest_is_passed_over() {
        let found = PageHeader::read(&HEADER).unwrap();
        assert_eq!(found, PageHeader { length: 22, uncompressed: 300, compressed: 7 });
        for cut in 0..22 {
            assert_eq!(PageHeader::read(&HEADER[..cut]), None, "{cut}");
        }
    }

    #[test]
    fn nonsense_is_none() {
        assert_eq!(PageHeader::read(&[0x00]), None);
        assert_eq!(PageHeader::read(&[0xff; 100]), None);
        assert_eq!(PageHeader::read(&[0x1c; 1 << 20]), None);
        // A list of as many lists as there can be.
        assert_eq!(PageHeader::read(&[0x19, 0xf9, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x19, 0x19]), None);
    }
}
