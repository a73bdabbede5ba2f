//! The files of a collection: CSV, JSON Lines and Parquet, compressed or not.

mod guard;
pub mod inputs;
mod json_value;
pub mod number_table;
mod page_header;
pub mod parquet_column;
pub mod parquet_reports;
mod pattern;
mod report_end;
pub mod report_footer;
pub mod report_reader;
pub mod report_writer;
pub mod source;
pub mod values;

/// The formats of files of values and of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// Comma-separated values with a header line.
    Csv,
    /// A JSON object a line.
    JsonLines,
    /// Apache Parquet.
    Parquet,
}

impl FileFormat {
    /// The format that a file's name asks for.
    pub fn of_name(name: &str) -> Option<Self> {
        let extension = name.rsplit_once('.')?.1.to_ascii_lowercase();
        match extension.as_str() {
            "csv" => Some(FileFormat::Csv),
            "jsonl" | "ndjson" => Some(FileFormat::JsonLines),
            "parquet" => Some(FileFormat::Parquet),
            _ => None,
        }
    }

    /// The format that a file begins like.
    pub(crate) fn of_start(bytes: &[u8]) -> Self {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
            _ if bytes.starts_with(b"PAR1") => FileFormat::Parquet,
            Some(b'{') => FileFormat::JsonLines,
            _ => FileFormat::Csv,
        }
    }
}
