//! Reports in memory: an Arrow array that knows its protocol.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeBinaryArray, UInt32Array};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, FieldRef};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyTuple};
use pyo3_arrow::ffi::{to_array_pycapsules, to_schema_pycapsule};
use sottovoce_collect::files::FileFormat;
use sottovoce_collect::files::report_writer::{COLUMN, METADATA, ReportWriter};
use sottovoce_collect::header::Header;
use sottovoce_collect::{Error as CollectError, Layout, Replacement};

use crate::errors::{exception, invalid};
use crate::protocol::{Known, Protocol};
use crate::run::counted;

/// Reports of one protocol.
#[pyclass(frozen, module = "sottovoce._native")]
pub(crate) struct Reports {
    pub known: Arc<Known>,
    bytes: Buffer,
    pub seed: Option<u64>,
    skipped: u64,
}

/// The number that at most eight bytes are.
pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl Reports {
    pub(crate) fn of(known: Arc<Known>, bytes: Vec<u8>, seed: Option<u64>, skipped: u64) -> Self {
        Reports { known, bytes: Buffer::from_vec(bytes), seed, skipped }
    }

    fn header(&self) -> Header {
        Header::new(&self.known.identified.identity, self.seed)
    }

    /// What a column of these reports is: its type, and in the metadata the header that files have.
    fn field(&self) -> FieldRef {
        let kind = match self.known.layout {
            Layout::Number { .. } => DataType::UInt32,
            _ => DataType::FixedSizeBinary(self.known.layout.length() as i32),
        };
        let metadata = HashMap::from([(METADATA.to_owned(), self.header().text())]);
        Arc::new(Field::new(COLUMN, kind, false).with_metadata(metadata))
    }

    fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.bytes.chunks_exact(self.known.layout.length()).map(|report| number(report) as u32)
    }

    /// The reports as Arrow.
    pub(crate) fn array(&self) -> ArrayRef {
        match self.known.layout {
            Layout::Number { .. } => Arc::new(UInt32Array::from_iter_values(self.numbers())),
            // A report has a byte at least, and its length is that of the layout.
            _ => Arc::new(FixedSizeBinaryArray::new(
                self.known.layout.length() as i32,
                self.bytes.clone(),
                None,
            )),
        }
    }

    pub(crate) fn bytes(&self) -> &Buffer {
        &self.bytes
    }

    pub(crate) fn fingerprint_text(&self) -> &str {
        &self.known.identified.identity.fingerprint
    }
}

#[pymethods]
impl Reports {
    /// Reports of a protocol, as the bytes of all of them.
    #[new]
    #[pyo3(signature = (protocol, bytes, insecure_test_seed=None))]
    fn new(
        py: Python<'_>,
        protocol: &Protocol,
        bytes: &[u8],
        insecure_test_seed: Option<u64>,
    ) -> PyResult<Self> {
        let layout = &protocol.known.layout;
        let parts = bytes.chunks_exact(layout.length());
        if !parts.remainder().is_empty() || parts.clone().any(|report| layout.check(report).is_err()) {
            return Err(invalid(py, "the bytes are not reports of the protocol", None));
        }
        Ok(Reports::of(protocol.known.clone(), bytes.to_vec(), insecure_test_seed, 0))
    }

    fn __len__(&self) -> usize {
        self.bytes.len() / self.known.layout.length()
    }

    fn __repr__(&self) -> String {
        let spec = &self.known.identified.named.spec;
        let insecure = if self.seed.is_some() { ", from a test seed: insecure" } else { "" };
        format!("<{} reports of {}{insecure}>", self.__len__(), spec.name())
    }

    /// How many values were left out.
    #[getter]
    fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The seed, if the reports are predictable.
    #[getter]
    fn insecure_test_seed(&self) -> Option<u64> {
        self.seed
    }

    /// The fingerprint of the protocol.
    #[getter]
    fn fingerprint(&self) -> &str {
        &self.known.identified.identity.fingerprint
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(to_schema_pycapsule(py, self.field().as_ref())?)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let array = py.detach(|| self.array());
        Ok(to_array_pycapsules(py, self.field(), &array, requested_schema)?)
    }

    /// The reports as numpy: numbers, or a row of bytes for each.
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.known.layout {
            Layout::Number { .. } => {
                Ok(PyArray1::from_vec(py, py.detach(|| self.numbers().collect())).into_any())
            }
            _ => {
                let all = PyArray1::from_slice(py, &self.bytes);
                Ok(all.reshape([self.__len__(), self.known.layout.length()])?.into_any())
            }
        }
    }

    /// The bytes of all reports, one after another.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.bytes)
    }

    /// Writes a file of reports, in the format that its name ends with.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let name = path.to_string_lossy().into_owned();
        let unknown = || exception(py, &CollectError::UnknownFormat { file: name.clone() }.into());
        let format = FileFormat::of_name(&name).ok_or_else(unknown)?;
        let (layout, header, bytes) = (self.known.layout.clone(), self.header(), self.bytes.clone());
        counted(py, self.__len__(), move |_| {
            let written = || {
                let mut writer = ReportWriter::new(Replacement::create(&path)?, format, layout, &header)?;
                writer.write(&bytes)?;
                writer.finish().and_then(|mut file| file.flush().and_then(|()| file.finish()))
            };
            written().map_err(|error| CollectError::Unwritable { file: name, error }.into())
        })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, own) = (slf.py(), slf.get());
        let protocol =
            py.get_type::<Protocol>().call1((own.known.identified.identity.specification.as_str(),))?;
        let arguments = (protocol, own.to_bytes(py), own.seed).into_pyobject(py)?;
        Ok((slf.get_type().into_any(), arguments))
    }
}
