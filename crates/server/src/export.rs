//! Reports as files that `tally` and the engines read, in an order that says nothing.

use std::io::{self, Write};
use std::path::Path;

use sottovoce_collect::Replacement;
use sottovoce_collect::files::FileFormat;
use sottovoce_collect::files::report_writer::ReportWriter;
use sottovoce_collect::header::Header;

use crate::problem::{Error, Result};
use crate::served::{Asked, Served};
use crate::store::{Found, Place, Store, StoreProblem, Visit};

/// Bytes of reports that are written at once.
const BLOCK: usize = 1 << 16;

fn failed(error: &io::Error) -> StoreProblem {
    StoreProblem::Failed { reason: error.to_string() }
}

/// Writes the reports of a collection as CSV, in the order of their keys, and gives the writer back.
///
/// # Errors
/// Reports were forgotten, the store cannot be read, or the file cannot be written; then it has no end.
pub fn write_reports<W: Write + Send>(
    store: &dyn Store,
    place: Place,
    asked: &Asked,
    writer: W,
) -> std::result::Result<W, StoreProblem> {
    let header = Header::new(&asked.protocol.identity, None);
    let writer = ReportWriter::new(writer, FileFormat::Csv, asked.layout.clone(), &header);
    let mut writer = writer.map_err(|error| failed(&error))?;
    let mut block = Vec::with_capacity(BLOCK);
    store.visit(&[Visit { collection: place, grouped: false }], &mut |found| {
        let report = match found {
            Found::Report { report, .. } => report,
            Found::Tallies(forgotten) if forgotten.is_empty() => return Ok(()),
            Found::Tallies(_) => return Err(StoreProblem::Forgotten { place: store.place() }),
        };
        block.extend_from_slice(report);
        if block.len() < BLOCK {
            return Ok(());
        }
        let written = writer.write(&block).map_err(|error| failed(&error));
        block.clear();
        written
    })?;
    writer.write(&block).map_err(|error| failed(&error))?;
    writer.finish().map_err(|error| failed(&error))
}

/// Writes a file for each collection into a directory, all of them or none, and says how many there are.
///
/// # Errors
/// Reports were forgotten, the store cannot be read, or a file cannot be written.
pub fn export(store: &dyn Store, served: &Served, directory: &Path) -> Result<usize> {
    let unwritable = |error| Error::File { file: directory.to_string_lossy().into_owned(), error };
    std::fs::create_dir_all(directory).map_err(unwritable)?;
    let mut files = Vec::new();
    for (place, asked) in served.places() {
        let file = directory.join(format!("{}.csv", asked.stem));
        let file = Replacement::create(&file).map_err(unwritable)?;
        files.push(write_reports(store, place, asked, file)?);
    }
    let count = files.len();
    Replacement::finish_all(files).map_err(unwritable)?;
    Ok(count)
}
