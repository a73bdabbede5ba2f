//! Parts of tallies: what one worker has counted, as a value to send and to merge.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_buffer::Buffer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sottovoce_collect::files::inputs::Input;
use sottovoce_collect::files::report_footer::ReportFooter;
use sottovoce_collect::{EndProblem, Error as CollectError, Form, PartialTally as Part, Place};
use sottovoce_job::Result;

use crate::column::Column;
use crate::errors::{exception, invalid};
use crate::protocol::{Known, Protocol};
use crate::reports::Reports;
use crate::run::counted;
use crate::tally::{Tally, form_name, form_named, readable, reasons};

/// What one worker has counted.
#[pyclass(frozen, module = "sottovoce._native")]
pub(crate) struct PartialTally {
    known: Arc<Known>,
    form: Form,
    /// Nothing after an update that was cut off, which may have counted some of its rows.
    part: Arc<Mutex<Option<Part>>>,
}

/// Where rows are: in a file, after so many others.
type At = Option<(String, u64)>;

impl PartialTally {
    fn of(known: Arc<Known>, form: Form, part: Part) -> Self {
        PartialTally { known, form, part: Arc::new(Mutex::new(Some(part))) }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Part>> {
        self.part.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at or changes the part.
    fn with<T>(&self, py: Python<'_>, look: impl FnOnce(&mut Part) -> T) -> PyResult<T> {
        self.lock().as_mut().map(look).ok_or_else(|| invalid(py, CUT_OFF, None))
    }

    fn add(&self, py: Python<'_>, column: Column, at: At, text: bool) -> PyResult<()> {
        let insecure = readable(py, &self.known, &column, text)?;
        self.with(py, |_| ())?;
        let (known, shared, rows) = (self.known.clone(), self.part.clone(), column.len());
        counted(py, rows, move |_| {
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            // It is put back only if the update comes to an end.
            let Some(mut part) = shared.take() else { return Ok(()) };
            let updated = column.reader(&known.layout, text, |rows, report| {
                let place = at.as_ref().map(|(file, first)| Place { file, first: *first });
                part.update(place, rows, report)
            });
            if insecure && updated.is_ok() {
                part.mark_insecure();
            }
            *shared = Some(part);
            Ok(updated?)
        })
    }
}

const CUT_OFF: &str = "an update of this part was cut off, and may have counted some of its rows; count them again in a new one";

/// What a file of reports says about itself in its metadata, under the keys of the header and of the end.
fn footer(file: &str, header: Option<String>, end: Option<String>) -> Result<ReportFooter> {
    let bytes = |text: Option<String>| text.map(String::into_bytes);
    Ok(ReportFooter::new(&Input::File(file.into()), bytes(header), bytes(end))?)
}

#[pymethods]
impl PartialTally {
    /// No reports of a protocol yet.
    #[new]
    #[pyo3(signature = (protocol, form="auto"))]
    fn new(py: Python<'_>, protocol: &Protocol, form: &str) -> PyResult<Self> {
        let (known, form) = (protocol.known.clone(), form_named(py, form)?);
        let identified = &known.identified;
        let part = Part::new(&identified.named.protocol, &identified.identity.fingerprint, form);
        Ok(PartialTally::of(known, form, part))
    }

    /// The part in bytes of this protocol.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8], protocol: &Protocol) -> PyResult<Self> {
        let known = protocol.known.clone();
        let identified = &known.identified;
        let part = py
            .detach(|| Part::from_bytes(bytes, &identified.named.protocol, &identified.identity.fingerprint));
        let part = part.map_err(|error| exception(py, &error.into()))?;
        let form = part.form();
        Ok(PartialTally::of(known, form, part))
    }

    /// Counts rows that follow one another in a file, or that came from nobody knows where. With `text`, bytes are reports in text.
    #[pyo3(signature = (reports, *, column=None, file=None, first=0, text=false))]
    fn update(
        &self,
        py: Python<'_>,
        reports: &Bound<'_, PyAny>,
        column: Option<&str>,
        file: Option<String>,
        first: u64,
        text: bool,
    ) -> PyResult<()> {
        let at = file.map(|file| (file, first));
        if let Ok(reports) = reports.cast::<Reports>() {
            let reports = reports.get();
            self.known.refuse_other(py, reports.fingerprint_text())?;
            let column = Column::of_bytes(py, reports.bytes().clone(), self.known.layout.length())?;
            self.add(py, column, at, false)?;
            return self.with(py, |part| {
                if reports.seed.is_some() {
                    part.mark_insecure()
                }
            });
        }
        self.add(py, Column::read(reports, column)?, at, text)
    }

    /// Counts reports of equal length, one after another in memory.
    #[pyo3(signature = (bytes, length, *, file=None, first=0))]
    fn update_bytes(
        &self,
        py: Python<'_>,
        bytes: &[u8],
        length: usize,
        file: Option<String>,
        first: u64,
    ) -> PyResult<()> {
        let at = file.map(|file| (file, first));
        self.add(py, Column::of_bytes(py, Buffer::from(bytes), length)?, at, false)
    }

    /// Adds what another part has counted.
    fn merge(&self, py: Python<'_>, other: &PartialTally) -> PyResult<()> {
        let other = other.with(py, |part| part.clone())?;
        let merged = self.with(py, |part| part.merge(other))?;
        merged.map_err(|error| exception(py, &error.into()))
    }

    /// Says that reports follow from a test seed.
    fn mark_insecure(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, Part::mark_insecure)
    }

    /// Forgets where the reports were.
    fn forget_places(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, Part::forget_places)
    }

    /// Whether these are all rows of every file that some are of; `rows` has the number of each file.
    fn is_whole(&self, py: Python<'_>, rows: BTreeMap<String, u64>) -> PyResult<bool> {
        self.with(py, |part| part.is_whole(|file| rows.get(file).copied()))
    }

    /// Checks that all rows of a file were counted, and that they are what the file says of them.
    #[pyo3(signature = (file, rows, header, end))]
    fn check_file(
        &self,
        py: Python<'_>,
        file: &str,
        rows: u64,
        header: Option<String>,
        end: Option<String>,
    ) -> PyResult<()> {
        let footer = footer(file, header, end).map_err(|error| exception(py, &error))?;
        let checked = self.with(py, |part| part.check_file(file, rows, &footer))?;
        checked.map_err(|error| exception(py, &error.into()))
    }

    /// The tally, in which every file is a batch.
    #[pyo3(signature = (*, allow_copies=false))]
    fn finish(&self, py: Python<'_>, allow_copies: bool) -> PyResult<Tally> {
        let part = self.with(py, |part| part.clone())?;
        let finished = py.detach(|| part.finish(allow_copies));
        let tally = finished.map_err(|error| exception(py, &error.into()))?;
        Ok(Tally::known(self.known.clone(), tally, self.form))
    }

    /// The part in bytes. Equal parts have equal bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.with(py, |part| part.to_bytes())?))
    }

    /// A copy, which counts on its own.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let part = self.with(py, |part| part.clone())?;
        Ok(PartialTally::of(self.known.clone(), self.form, part))
    }

    /// The number of reports.
    #[getter]
    fn n(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |part| part.n())
    }

    /// How many rows hold no report, by reason.
    #[getter]
    fn rejected(&self, py: Python<'_>) -> PyResult<BTreeMap<String, u64>> {
        self.with(py, |part| reasons(&part.tally().rejections))
    }

    /// Whether some of the reports follow from a test seed.
    #[getter]
    fn insecure(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |part| part.tally().insecure)
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
}

/// Whether the reports of a file follow from a test seed. The file must be one of reports of this protocol, as far as its metadata say: `header` and `end`
/// are what stands under their keys, and `named` is whether anything else in the metadata has our name.
#[pyfunction]
#[pyo3(signature = (protocol, file, header, end, named))]
pub(crate) fn check_header(
    py: Python<'_>,
    protocol: &Protocol,
    file: &str,
    header: Option<String>,
    end: Option<String>,
    named: bool,
) -> PyResult<bool> {
    let checked = || -> Result<bool> {
        let input = Input::File(file.into());
        if header.is_none() && named {
            return Err(
                CollectError::Incomplete { file: input.to_string(), problem: EndProblem::NoHeader }.into()
            );
        }
        let footer = footer(file, header, end)?;
        let Some(header) = footer.header() else { return Ok(false) };
        let identity = &protocol.known.identified.identity;
        identity.refuse_other(&input, &header.fingerprint, header.specification())?;
        Ok(header.insecure_test_seed.is_some())
    };
    checked().map_err(|error| exception(py, &error))
}
