//! Writing files of reports.
//!
//! CSV begins with the line `#` and the header, then the column name; JSON Lines begins with the header; Parquet has the header in the
//! metadata of the file. The end stands in the last line or in the metadata. See `docs/report-format.md`.

use std::io::{self, Write};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{ByteArray, FixedLenByteArray, FixedLenByteArrayType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::FileFormat;
use crate::digest::Digest;
use crate::header::{End, Header};
use crate::layout::{Layout, number};

/// The name of the column of reports.
pub const COLUMN: &str = "report";

/// Who writes a Parquet file. The name is in that of the schema and of the keys too, and a file that has it has a header. Without this, a bit that
/// takes all metadata away would leave a file of which the user need only name the protocol.
pub const CREATOR: &str = "sottovoce";

/// The name of the schema of a Parquet file that has a header.
pub const SCHEMA: &str = "sottovoce_reports";

/// The key of the header in the metadata of a Parquet file.
pub const METADATA: &str = "sottovoce.reports";

/// The key of the end in the metadata of a Parquet file.
pub const END_METADATA: &str = "sottovoce.end";

/// Reports in a group of rows of a Parquet file.
const GROUP: usize = 1 << 20;

/// Writes reports of one protocol.
pub struct ReportWriter<W: Write + Send> {
    layout: Layout,
    kind: Kind<W>,
    header: String,
    digest: Digest,
}

enum Kind<W: Write + Send> {
    Text { writer: W, before: &'static [u8], after: &'static [u8], mark: &'static str },
    Parquet { writer: Box<SerializedFileWriter<W>>, waiting: Vec<u8> },
}

impl<W: Write + Send> ReportWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// The header cannot be written.
    pub fn new(mut writer: W, format: FileFormat, layout: Layout, header: &Header) -> io::Result<Self> {
        let kind = match format {
            FileFormat::Csv => {
                writer.write_all(format!("#{}\n{COLUMN}\n", header.text()).as_bytes())?;
                Kind::Text { writer, before: b"", after: b"\n", mark: "#" }
            }
            FileFormat::JsonLines => {
                writer.write_all(format!("{}\n", header.text()).as_bytes())?;
                Kind::Text { writer, before: b"{\"report\":\"", after: b"\"}\n", mark: "" }
            }
            FileFormat::Parquet => {
                let writer = parquet_writer(writer, &layout, header).map_err(system_error)?;
                Kind::Parquet { writer: Box::new(writer), waiting: Vec::new() }
            }
        };
        Ok(ReportWriter { layout, kind, header: header.text(), digest: Digest::default() })
    }

    /// Writes reports, given as the bytes of all of them one after another.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn write(&mut self, reports: &[u8]) -> io::Result<()> {
        let length = self.layout.length();
        reports.chunks_exact(length).for_each(|report| self.digest.add(report));
        match &mut self.kind {
            Kind::Text { writer, before, after, .. } => {
                let mut text = Vec::with_capacity(reports.len() / length * (self.layout.text_length() + 16));
                for report in reports.chunks_exact(length) {
                    text.extend_from_slice(before);
                    self.layout.write_text(report, &mut text);
                    text.extend_from_slice(after);
                }
                writer.write_all(&text)
            }
            Kind::Parquet { writer, waiting } => {
                waiting.extend_from_slice(reports);
                // Very long reports make smaller groups, so that a group stays below 64 MiB.
                let group = GROUP.min((64 << 20) / length).max(1) * length;
                while waiting.len() >= group {
                    let rest = waiting.split_off(group);
                    let full = std::mem::replace(waiting, rest);
                    write_group(writer, &self.layout, full).map_err(system_error)?;
                }
                Ok(())
            }
        }
    }

    /// Ends the file: says how many reports there are, and their digest.
    ///
    /// # Errors
    /// The end cannot be written.
    pub fn finish(self) -> io::Result<W> {
        let end = End::new(&self.digest, &self.header).text();
        match self.kind {
            Kind::Text { mut writer, mark, .. } => {
                writer.write_all(format!("{mark}{end}\n").as_bytes())?;
                Ok(writer)
            }
            Kind::Parquet { mut writer, waiting } => {
                if !waiting.is_empty() {
                    write_group(&mut writer, &self.layout, waiting).map_err(system_error)?;
                }
                writer.append_key_value_metadata(KeyValue::new(END_METADATA.to_owned(), end));
                writer.into_inner().map_err(system_error)
            }
        }
    }
}

/// What the system said, where that was the reason.
pub(super) fn system_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other.to_string()),
        },
        other => io::Error::other(other.to_string()),
    }
}

fn parquet_writer<W: Write + Send>(
    writer: W,
    layout: &Layout,
    header: &Header,
) -> Result<SerializedFileWriter<W>, ParquetError> {
    // Numbers repeat, and so compress; other reports are mostly noise.
    let (column, properties) = match layout {
        Layout::Number { .. } => (
            format!("required int32 {COLUMN} (INTEGER(32,false));"),
            WriterProperties::builder().set_compression(Compression::SNAPPY),
        ),
        _ => (
            format!("required fixed_len_byte_array({}) {COLUMN};", layout.length()),
            WriterProperties::builder().set_dictionary_enabled(false).set_encoding(Encoding::PLAIN),
        ),
    };
    let metadata = vec![KeyValue::new(METADATA.to_owned(), header.text())];
    let properties =
        properties.set_key_value_metadata(Some(metadata)).set_created_by(CREATOR.to_owned()).build();
    let schema = parse_message_type(&format!("message {SCHEMA} {{ {column} }}"))?;
    SerializedFileWriter::new(writer, Arc::new(schema), Arc::new(properties))
}

fn write_group<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    layout: &Layout,
    reports: Vec<u8>,
) -> Result<(), ParquetError> {
    let length = layout.length();
    let mut group = writer.next_row_group()?;
    if let Some(mut column) = group.next_column()? {
        if let Layout::Number { .. } = layout {
            let numbers: Vec<i32> =
                reports.chunks_exact(length).map(|report| number(report) as i32).collect();
            column.typed::<Int32Type>().write_batch(&numbers, None, None)?;
        } else {
            let (all, count) = (Bytes::from(reports), length);
            let report =
                |at: usize| FixedLenByteArray::from(ByteArray::from(all.slice(at * count..(at + 1) * count)));
            let reports: Vec<FixedLenByteArray> = (0..all.len() / count).map(report).collect();
            column.typed::<FixedLenByteArrayType>().write_batch(&reports, None, None)?;
        }
        column.close()?;
    }
    group.close()?;
    Ok(())
}
