//! Tallies in memory.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_buffer::Buffer;
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sottovoce_collect::files::inputs::Input;
use sottovoce_collect::header::Header;
use sottovoce_collect::tally::Counts;
use sottovoce_collect::{
    Error as CollectError, Form, Rejections, Replacement, Tally as Counted, write_tallies,
};
use sottovoce_job::{Identified, Request, Source, read_tally};

use crate::column::{Column, text};
use crate::errors::{exception, invalid};
use crate::protocol::{Known, Protocol, not_a};
use crate::reports::Reports;
use crate::run::counted;

/// How often each output of a protocol was reported.
#[pyclass(frozen, module = "sottovoce._native")]
pub(crate) struct Tally {
    known: Arc<Known>,
    form: Form,
    state: Arc<Mutex<State>>,
}

struct State {
    tally: Counted,
    /// How many columns and tallies were added, for their names in messages.
    added: u64,
}

impl State {
    fn next_name(&mut self, what: &str) -> Input {
        self.added += 1;
        Input::File(PathBuf::from(format!("{what} {}", self.added)))
    }
}

pub(crate) fn form_named(py: Python<'_>, name: &str) -> PyResult<Form> {
    match name {
        "auto" => Ok(Form::Automatic),
        "patterns" => Ok(Form::Patterns),
        "supports" => Ok(Form::Supports),
        _ => Err(invalid(py, "form is not one of auto, patterns and supports", Some("form"))),
    }
}

pub(crate) fn form_name(form: Form) -> &'static str {
    match form {
        Form::Automatic => "auto",
        Form::Patterns => "patterns",
        Form::Supports => "supports",
    }
}

/// How many reports were rejected, by reason.
pub(crate) fn reasons(rejections: &Rejections) -> BTreeMap<String, u64> {
    let name =
        |reason: &_| serde_json::to_value(reason).ok().and_then(|name| name.as_str().map(str::to_owned));
    rejections.counts.iter().filter_map(|(reason, count)| Some((name(reason)?, *count))).collect()
}

/// Whether the reports of a column follow from a test seed, if it says so. It must be of a type that holds reports, and of this protocol if it names one.
pub(crate) fn readable(py: Python<'_>, known: &Known, column: &Column, text: bool) -> PyResult<bool> {
    if !column.is_readable(&known.layout, text) {
        let kind = column.field.data_type();
        return Err(PyTypeError::new_err(format!("a column of type {kind} holds no reports")));
    }
    let header = column.field.metadata().get(sottovoce_collect::files::report_writer::METADATA);
    // A header of another version says nothing that we could check.
    let Some(header) = header.and_then(|text| serde_json::from_str::<Header>(text).ok()) else {
        return Ok(false);
    };
    known.refuse_other(py, &header.fingerprint)?;
    Ok(header.insecure_test_seed.is_some())
}

impl Tally {
    fn of(identified: Identified, tally: Counted, form: Form) -> Self {
        let named = &identified.named;
        let domain = sottovoce_collect::Domain::new(named.protocol.inputs(), named.labels.as_deref());
        let layout = sottovoce_collect::Layout::of(&named.protocol);
        Tally::known(Arc::new(Known { identified, domain, layout }), tally, form)
    }

    /// What was counted of a protocol.
    pub(crate) fn known(known: Arc<Known>, tally: Counted, form: Form) -> Self {
        Tally { known, form, state: Arc::new(Mutex::new(State { tally, added: 0 })) }
    }

    /// What was counted. Counting that is stopped leaves the state as it was, so a poisoned lock is as good as any.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, py: Python<'_>, column: Column, allow_copies: bool) -> PyResult<()> {
        let insecure = readable(py, &self.known, &column, false)?;
        let (known, state, rows) = (self.known.clone(), self.state.clone(), column.len());
        counted(py, rows, move |watch| {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let name = state.next_name("update");
            state.tally.ledger.allow_copies = allow_copies;
            column.reader(&known.layout, false, |rows, report| {
                state.tally.add_column(&name, rows, report, &|progress| watch.hear(progress))
            })?;
            state.tally.insecure |= insecure;
            Ok(())
        })
    }
}

#[pymethods]
impl Tally {
    /// No reports of a protocol yet.
    #[new]
    #[pyo3(signature = (protocol, form="auto"))]
    fn new(py: Python<'_>, protocol: &Protocol, form: &str) -> PyResult<Self> {
        let form = form_named(py, form)?;
        let known = protocol.known.clone();
        let tally = Counted::new(&known.identified.named.protocol, form);
        Ok(Tally::known(known, tally, form))
    }

    /// The tally in the text of a tallies file. Patterns stay patterns, however many there are.
    #[staticmethod]
    #[pyo3(signature = (text, form=None))]
    fn from_json(py: Python<'_>, text: String, form: Option<&str>) -> PyResult<Self> {
        let form = form.map(|form| form_named(py, form)).transpose()?;
        let name = Input::File(PathBuf::from("tallies"));
        let read = py.detach(|| {
            let form = form.unwrap_or_default();
            let (identified, tally) = read_tally(&name, text.clone(), form)?;
            let kept = !matches!(tally.counts, Counts::Supports(_)) || !text.contains("\"counts\"");
            if kept || form == Form::Supports {
                return Ok((identified, tally, form));
            }
            let (identified, tally) = read_tally(&name, text, Form::Patterns)?;
            Ok((identified, tally, Form::Patterns))
        });
        let (identified, tally, form) = read.map_err(|error| exception(py, &error))?;
        Ok(Tally::of(identified, tally, form))
    }

    /// The tally of files, as a request of the job `tally` names them. Its output is not written.
    #[staticmethod]
    fn from_files(py: Python<'_>, request: &str) -> PyResult<Self> {
        let request = Request::of_json(request).map_err(|error| exception(py, &error))?;
        let Request::Tally(request) = request else {
            return Err(invalid(py, "the request is not for the job tally", Some("job")));
        };
        let form = request.form.into();
        let (identified, tally) =
            counted(py, usize::MAX, move |watch| request.check()?.count(&|progress| watch.hear(progress)))?;
        Ok(Tally::of(identified, tally, form))
    }

    /// Counts a column of reports.
    #[pyo3(signature = (reports, *, column=None, allow_copies=false))]
    fn update(
        &self,
        py: Python<'_>,
        reports: &Bound<'_, PyAny>,
        column: Option<&str>,
        allow_copies: bool,
    ) -> PyResult<()> {
        if let Ok(reports) = reports.cast::<Reports>() {
            let reports = reports.get();
            self.known.refuse_other(py, reports.fingerprint_text())?;
            let column = Column::of_bytes(py, reports.bytes().clone(), self.known.layout.length())?;
            self.add(py, column, allow_copies)?;
            self.state().tally.insecure |= reports.seed.is_some();
            return Ok(());
        }
        self.add(py, Column::read(reports, column)?, allow_copies)
    }

    /// Counts reports of equal length, one after another in memory.
    #[pyo3(signature = (bytes, length, *, allow_copies=false))]
    fn update_bytes(&self, py: Python<'_>, bytes: &[u8], length: usize, allow_copies: bool) -> PyResult<()> {
        self.add(py, Column::of_bytes(py, Buffer::from(bytes), length)?, allow_copies)
    }

    /// Counts one report: a number, bytes, or text as files have it.
    fn add_one(&self, py: Python<'_>, report: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut bytes = vec![0; self.known.layout.length()];
        let read = match report.cast::<PyBytes>() {
            Ok(report) if report.as_bytes().len() == bytes.len() => {
                bytes.copy_from_slice(report.as_bytes());
                Ok(())
            }
            Ok(_) => Err(sottovoce_collect::Reason::Length),
            Err(_) => {
                let text = text(report).map_err(|_| not_a("a report", report))?.unwrap_or_default();
                crate::column::text_report(&text, &self.known.layout, &mut bytes)
            }
        };
        let checked = read.and_then(|()| self.known.layout.check(&bytes));
        checked.map_err(|reason| invalid(py, &format!("not a report: {}", reason.words()), None))?;
        let mut digest = sottovoce_collect::Digest::default();
        digest.add(&bytes);
        let mut state = self.state();
        // Unwrap safety: bytes that were checked are a report, and one report is no batch of its own.
        state.tally.add_report(&bytes).map_err(|reason| invalid(py, reason.words(), None))?;
        let name = Input::File(PathBuf::from("one report"));
        let entered = state.tally.ledger.enter_reports(&name, digest);
        entered.map_err(|error| exception(py, &error.into()))
    }

    /// Adds what another tally has counted.
    #[pyo3(signature = (other, *, allow_copies=false))]
    fn merge(&self, py: Python<'_>, other: &Tally, allow_copies: bool) -> PyResult<()> {
        self.known.refuse_other(py, &other.known.identified.identity.fingerprint)?;
        let counted = other.state().tally.clone();
        let mut state = self.state();
        let name = state.next_name("tally");
        state.tally.ledger.allow_copies = allow_copies;
        state.tally.add_tally(&name, counted).map_err(|error| exception(py, &error.into()))
    }

    /// A copy, which counts on its own.
    fn copy(&self) -> Self {
        let tally = self.state().tally.clone();
        Tally::known(self.known.clone(), tally, self.form)
    }

    /// The number of reports.
    #[getter]
    fn n(&self) -> u64 {
        self.state().tally.n
    }

    /// How many reports were rejected, by reason.
    #[getter]
    fn rejected(&self) -> BTreeMap<String, u64> {
        reasons(&self.state().tally.rejections)
    }

    /// Whether some of the reports follow from a test seed.
    #[getter]
    fn insecure(&self) -> bool {
        self.state().tally.insecure
    }

    /// What was kept of the reports: `patterns` or `supports`.
    #[getter]
    fn kept(&self) -> &'static str {
        if let Counts::Supports(_) = self.state().tally.counts { "supports" } else { "patterns" }
    }

    /// What is to be kept: `auto`, `patterns` or `supports`.
    #[getter]
    fn form(&self) -> &'static str {
        form_name(self.form)
    }

    /// The canonical JSON of the protocol.
    #[getter]
    fn specification(&self) -> &str {
        &self.known.identified.identity.specification
    }

    /// The text of the tallies file.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        let mut text = Vec::new();
        let state = self.state();
        let written = write_tallies(&state.tally, &self.known.identified.identity, &mut text);
        let unwritable = |error| CollectError::Unwritable { file: "tallies".into(), error };
        written.map_err(|error| exception(py, &unwritable(error).into()))?;
        // Unwrap safety: JSON is text.
        Ok(String::from_utf8(text).unwrap_or_default())
    }

    /// Writes the tallies file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let state = self.state();
        let write = || {
            let mut file = Replacement::create(&path)?;
            write_tallies(&state.tally, &self.known.identified.identity, &mut file)?;
            file.finish()
        };
        let unwritable =
            |error| CollectError::Unwritable { file: Source::File(path.clone()).to_string(), error };
        write().map_err(|error| exception(py, &unwritable(error).into()))
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, operator: CompareOp) -> PyResult<Py<PyAny>> {
        let py = other.py();
        let Ok(other) = other.cast::<Tally>() else { return Ok(py.NotImplemented()) };
        let (own, other) = (self, other.get());
        let same = Arc::ptr_eq(&own.state, &other.state) || {
            let fingerprint = |tally: &Tally| tally.known.identified.identity.fingerprint.clone();
            let (left, right) = (own.state().tally.clone(), other.state());
            fingerprint(own) == fingerprint(other)
                && (left.n, left.insecure) == (right.tally.n, right.tally.insecure)
                && left.rejections.counts == right.tally.rejections.counts
                && left.counts == right.tally.counts
        };
        match operator {
            CompareOp::Eq => Ok(same.into_pyobject(py)?.to_owned().into_any().unbind()),
            CompareOp::Ne => Ok((!same).into_pyobject(py)?.to_owned().into_any().unbind()),
            _ => Ok(py.NotImplemented()),
        }
    }
}
