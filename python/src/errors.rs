//! Errors of the Rust crates as exceptions of `sottovoce.errors`.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sottovoce_collect::ValueProblem;
use sottovoce_job::{Error, ErrorKind, Source};

/// What was known when a run was cut off, for the exception that says so.
pub(crate) type SoFar = Option<Py<PyAny>>;

/// The exception for an error: its class follows from the kind, and it knows the field that is wrong and what to try.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let class = match error.kind() {
        ErrorKind::InvalidInput => "InvalidInput",
        ErrorKind::NotConverged => "NotConverged",
        ErrorKind::Unsupported => "Unsupported",
        ErrorKind::Io | ErrorKind::Write => "FileError",
        ErrorKind::Stopped => "Stopped",
    };
    make(py, class, &error.to_string(), path(error), error.hint(), None)
}

/// Input that is wrong in a way that only this crate can see. The message must not have a value in it.
pub(crate) fn invalid(py: Python<'_>, message: &str, path: Option<&str>) -> PyErr {
    make(py, "InvalidInput", message, path.map(str::to_owned), None, None)
}

/// A value that is outside the domain: its row is told, and never the value.
pub(crate) fn bad_value(py: Python<'_>, row: Option<usize>, problem: ValueProblem) -> PyErr {
    let message = match row {
        Some(row) => format!("row {row}: {}", problem.words()),
        None => problem.words().to_owned(),
    };
    invalid(py, &message, None)
}

/// A run that did not finish: by Ctrl-C (`Interrupted`) or for want of time (`TimeOver`).
pub(crate) fn cut(py: Python<'_>, class: &str, so_far: SoFar) -> PyErr {
    let message = match so_far {
        Some(_) => "not finished; the best results so far are in `report`",
        None => "not finished; there are no results yet",
    };
    make(py, class, message, None, None, so_far)
}

fn make(
    py: Python<'_>,
    class: &str,
    message: &str,
    path: Option<String>,
    hint: Option<String>,
    report: SoFar,
) -> PyErr {
    let made = || -> PyResult<PyErr> {
        let class = py.import("sottovoce.errors")?.getattr(class)?;
        let facts = PyDict::new(py);
        facts.set_item("path", path)?;
        facts.set_item("hint", hint)?;
        if let Some(report) = report {
            facts.set_item("report", report)?;
        }
        Ok(PyErr::from_value(class.call((message,), Some(&facts))?))
    };
    made().unwrap_or_else(|error| error)
}

/// The field that is wrong, such as `protocol.parts[1].epsilon`.
fn path(error: &Error) -> Option<String> {
    match error {
        Error::Field { source_name: Source::Request(part), path, .. } if path.is_empty() => {
            Some((*part).to_owned())
        }
        Error::Field { source_name: Source::Request(part), path, .. } => Some(format!("{part}.{path}")),
        Error::Field { path, .. } => Some(path.clone()).filter(|path| !path.is_empty()),
        Error::Setting { name, .. } => Some((*name).to_owned()),
        Error::UnknownName { what, .. } => Some((*what).to_owned()),
        Error::UnknownMetric { .. } => Some("metric".to_owned()),
        Error::Together { second, .. } => Some((*second).to_owned()),
        Error::Needs { field, .. } => Some((*field).to_owned()),
        Error::MissingUsers { .. } => Some("n".to_owned()),
        _ => None,
    }
}
