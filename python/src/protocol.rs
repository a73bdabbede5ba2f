//! A protocol, and its randomiser.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyString, PyTuple};
use rayon::prelude::*;
use sottovoce_collect::randomise::{Batches, Generator, Randomiser, Randomness};
use sottovoce_collect::{Domain, Error as CollectError, Layout, ValueProblem};
use sottovoce_job::{Error, Identified, ProtocolSpec, Source, Written, read_protocol};

use crate::column::{Column, inputs, text, type_name};
use crate::errors::{bad_value, exception, invalid};
use crate::reports::Reports;
use crate::run::counted;

/// What reports and tallies of a protocol know of it.
pub(crate) struct Known {
    pub identified: Identified,
    pub domain: Domain,
    pub layout: Layout,
}

impl Known {
    /// Refuses reports of a protocol with another fingerprint.
    pub(crate) fn refuse_other(&self, py: Python<'_>, fingerprint: &str) -> PyResult<()> {
        match fingerprint == self.identified.identity.fingerprint {
            true => Ok(()),
            false => {
                Err(invalid(py, "the reports are of another protocol, or of one with other labels", None))
            }
        }
    }
}

/// A protocol.
#[pyclass(frozen, module = "sottovoce._native")]
pub(crate) struct Protocol {
    pub known: Arc<Known>,
    /// Or why its reports cannot be drawn exactly.
    randomiser: Result<Arc<Randomiser>, String>,
    single: Mutex<Option<Single>>,
}

/// What draws one report at a time.
struct Single {
    /// The process that made the generator. After a fork both processes would draw the same words, and two reports from them would tell their values
    /// by comparison.
    process: u32,
    generator: Generator,
    report: Vec<u8>,
}

/// What became of a column: the bytes of the reports, and how many values were skipped; or the first row with a value outside the domain.
type Randomised = Result<(Vec<u8>, u64), (usize, ValueProblem)>;

impl Protocol {
    fn randomiser(&self, py: Python<'_>) -> PyResult<Arc<Randomiser>> {
        self.randomiser.clone().map_err(|reason| invalid(py, &reason, None))
    }

    /// The input that one value names.
    fn input(&self, value: &Bound<'_, PyAny>) -> PyResult<Result<usize, ValueProblem>> {
        let domain = &self.known.domain;
        if let Ok(text) = value.cast::<PyString>() {
            return Ok(text.to_str().map_or(Err(ValueProblem::UnknownLabel), |text| domain.input(text)));
        }
        if value.is_exact_instance_of::<PyInt>()
            && !domain.has_labels()
            && let Ok(x) = value.extract::<usize>()
        {
            return Ok(if x < domain.inputs() { Ok(x) } else { Err(ValueProblem::OutOfRange) });
        }
        Ok(text(value)?.map_or(Err(ValueProblem::Missing), |text| domain.input(&text)))
    }
}

#[pymethods]
impl Protocol {
    /// The protocol that a JSON object or, in quotes, a shorthand says. No file is opened.
    #[new]
    fn new(py: Python<'_>, specification: &str) -> PyResult<Self> {
        let written = if specification.starts_with('{') {
            read_protocol(specification)
        } else {
            serde_json::from_str::<Written<ProtocolSpec>>(specification).map_err(|error| Error::Request {
                source_name: Source::Program,
                problem: error.to_string().split(" at line ").next().unwrap_or_default().to_owned(),
            })
        };
        let identified = py.detach(|| written.and_then(|written| Identified::written(&written)));
        let identified = identified.map_err(|error| exception(py, &error))?;
        let named = &identified.named;
        let domain = Domain::new(named.protocol.inputs(), named.labels.as_deref());
        let layout = Layout::of(&named.protocol);
        let randomiser = py.detach(|| Randomiser::new(&named.protocol));
        let randomiser = randomiser.map(Arc::new).map_err(|error| error.to_string());
        let known = Arc::new(Known { identified, domain, layout });
        Ok(Protocol { known, randomiser, single: Mutex::new(None) })
    }

    /// The canonical JSON, with all sizes filled in.
    #[getter]
    fn specification(&self) -> &str {
        &self.known.identified.identity.specification
    }

    /// The SHA-256 of the canonical JSON.
    #[getter]
    fn fingerprint(&self) -> &str {
        &self.known.identified.identity.fingerprint
    }

    /// The number of inputs.
    #[getter]
    fn inputs(&self) -> usize {
        self.known.domain.inputs()
    }

    /// The names of the inputs: labels, or numbers.
    #[getter]
    fn labels(&self) -> Vec<String> {
        (0..self.known.domain.inputs()).map(|x| self.known.identified.named.input(x)).collect()
    }

    /// Whether the inputs have labels.
    #[getter]
    fn has_labels(&self) -> bool {
        self.known.domain.has_labels()
    }

    /// The number of bytes of a report.
    #[getter]
    fn report_bytes(&self) -> usize {
        self.known.layout.length()
    }

    /// The exact LDP level of the reports as drawn.
    #[getter]
    fn realised_ldp(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.randomiser(py)?.realised().loss.level())
    }

    /// Reports on a column of values.
    #[pyo3(signature = (values, *, column=None, skip=false, insecure_test_seed=None))]
    fn randomise(
        &self,
        py: Python<'_>,
        values: &Bound<'_, PyAny>,
        column: Option<&str>,
        skip: bool,
        insecure_test_seed: Option<u64>,
    ) -> PyResult<Reports> {
        let column = Column::read(values, column)?;
        let (known, randomiser, rows) = (self.known.clone(), self.randomiser(py)?, column.len());
        if column.chunks.iter().any(|chunk| inputs(chunk, &known.domain).is_none()) {
            let kind = column.field.data_type();
            return Err(PyTypeError::new_err(format!("a column of type {kind} holds no values")));
        }
        let randomness = insecure_test_seed.map_or(Randomness::System, Randomness::InsecureTestSeed);
        let work = move |_: &_| randomised(&column, &known.domain, &randomiser, randomness, skip);
        match counted(py, rows, work)? {
            Ok((bytes, skipped)) => Ok(Reports::of(self.known.clone(), bytes, insecure_test_seed, skipped)),
            Err((row, problem)) => Err(bad_value(py, Some(row), problem)),
        }
    }

    /// A report on one value: a number, or bytes.
    fn randomise_one<'py>(&self, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = value.py();
        let x = self.input(value)?.map_err(|problem| bad_value(py, None, problem))?;
        let randomiser = match &self.randomiser {
            Ok(randomiser) => randomiser,
            Err(reason) => return Err(crate::errors::invalid(py, reason, None)),
        };
        let failed = |error: sottovoce_collect::Error| exception(py, &error.into());
        let mut single = self.single.lock().unwrap_or_else(PoisonError::into_inner);
        let process = std::process::id();
        let own = match &mut *single {
            Some(own) if own.process == process => own,
            outdated => outdated.insert(Single {
                process,
                generator: Generator::new(Randomness::System, 0).map_err(failed)?,
                report: vec![0; self.known.layout.length()],
            }),
        };
        own.report.fill(0);
        randomiser.report_into(x, &mut own.generator, &mut own.report).map_err(failed)?;
        match self.known.layout {
            Layout::Number { .. } => Ok(crate::reports::number(&own.report).into_pyobject(py)?.into_any()),
            _ => Ok(PyBytes::new(py, &own.report).into_any()),
        }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let arguments = PyTuple::new(slf.py(), [slf.get().specification()])?;
        Ok((slf.get_type().into_any(), arguments))
    }
}

/// Why a column has no reports.
enum Failure {
    Value(usize, ValueProblem),
    Collect(CollectError),
}

impl From<CollectError> for Failure {
    fn from(error: CollectError) -> Self {
        Failure::Collect(error)
    }
}

/// Reads the values and draws a report on each.
fn randomised(
    column: &Column,
    domain: &Domain,
    randomiser: &Randomiser,
    randomness: Randomness,
    skip: bool,
) -> sottovoce_job::Result<Randomised> {
    let (mut batches, rows) = (Batches::new(randomiser, randomness), column.len());
    let readers: Vec<_> = column.chunks.iter().filter_map(|chunk| inputs(chunk, domain)).collect();
    let places = column.places();
    let read = |row: usize| {
        let (chunk, row) = places(row);
        readers[chunk](row)
    };
    if skip {
        let values: Vec<usize> = (0..rows).into_par_iter().filter_map(|row| read(row).ok()).collect();
        let skipped = (rows - values.len()) as u64;
        if values.is_empty() && skipped > 0 {
            return Err(CollectError::NothingSent { skipped }.into());
        }
        return Ok(Ok((batches.reports(&values)?, skipped)));
    }
    match batches.reports_on(rows, |row| read(row).map_err(|problem| Failure::Value(row, problem))) {
        Ok(reports) => Ok(Ok((reports, 0))),
        Err(Failure::Collect(error)) => Err(error.into()),
        Err(Failure::Value(some, problem)) => {
            // A thread met this one; the first of the column is before it or the same.
            let first = (0..some).find_map(|row| read(row).err().map(|problem| (row, problem)));
            Ok(Err(first.unwrap_or((some, problem))))
        }
    }
}

/// Refuses something that is not what is needed, by its type.
pub(crate) fn not_a(what: &str, found: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!("a {} is not {what}", type_name(found)))
}
