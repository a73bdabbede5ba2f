//! Columns that come from Python: anything that speaks the Arrow C interface, numpy arrays, and lists.
//!
//! A column is Arrow arrays, of values or of reports. What a value is called in an error is its row: never the value itself.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, Float64Array, Int64Array};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, FieldRef};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyString};
use pyo3_arrow::input::AnyArray;
use sottovoce_collect::{Domain, Layout, Reason, ValueProblem};

use crate::errors::invalid;

/// Arrays of one type, one after another.
pub(crate) struct Column {
    pub chunks: Vec<ArrayRef>,
    pub field: FieldRef,
}

impl Column {
    fn of(array: ArrayRef) -> Self {
        let field = Arc::new(Field::new("", array.data_type().clone(), true));
        Column { chunks: vec![array], field }
    }

    pub(crate) fn len(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.len()).sum()
    }

    /// Where rows are: for a row of the column the number of its array, and the row in that.
    pub(crate) fn places(&self) -> impl Fn(usize) -> (usize, usize) + Send + Sync + use<> {
        let mut ends = Vec::with_capacity(self.chunks.len());
        for chunk in &self.chunks {
            ends.push(ends.last().unwrap_or(&0) + chunk.len());
        }
        move |row| match ends.partition_point(|end| *end <= row) {
            0 => (0, row),
            place => (place, row - ends[place - 1]),
        }
    }

    /// Whether the column is of a type that holds reports.
    pub(crate) fn is_readable(&self, layout: &Layout, text: bool) -> bool {
        self.chunks.iter().all(|chunk| reports(chunk, layout, text).is_some())
    }

    /// Hands on how many rows there are, and what reads the report in each. Rows of arrays that hold no reports cannot be read.
    pub(crate) fn reader<T>(
        &self,
        layout: &Layout,
        text: bool,
        count: impl FnOnce(usize, &(dyn Fn(usize, &mut [u8]) -> Result<(), Reason> + Sync)) -> T,
    ) -> T {
        let readers: Vec<_> = self.chunks.iter().map(|chunk| reports(chunk, layout, text)).collect();
        let places = self.places();
        count(self.len(), &|row, bytes| {
            let (chunk, row) = places(row);
            readers[chunk].as_ref().map_or(Err(Reason::Length), |read| read(row, bytes))
        })
    }

    /// The column that a Python object holds. `name` chooses one of a table.
    pub(crate) fn read(object: &Bound<'_, PyAny>, name: Option<&str>) -> PyResult<Self> {
        let py = object.py();
        if object.hasattr("__arrow_c_array__")? || object.hasattr("__arrow_c_stream__")? {
            let (chunks, field) = object.extract::<AnyArray>()?.into_chunked_array()?.into_inner();
            return Column { chunks, field }.chosen(py, name);
        }
        if name.is_some() {
            return Err(invalid(py, "only a table has columns with names", Some("column")));
        }
        if let Ok(numbers) = object.extract::<PyReadonlyArray1<'_, i64>>() {
            return Ok(Column::of(Arc::new(Int64Array::from(numbers.as_array().to_vec()))));
        }
        if let Ok(numbers) = object.extract::<PyReadonlyArray1<'_, f64>>() {
            return Ok(Column::of(Arc::new(Float64Array::from(numbers.as_array().to_vec()))));
        }
        of_items(object)
    }

    /// Reports of equal length, one after another in memory.
    pub(crate) fn of_bytes(py: Python<'_>, bytes: Buffer, length: usize) -> PyResult<Self> {
        let wrong = || invalid(py, "the bytes are not a whole number of reports", None);
        let size = i32::try_from(length).ok().filter(|size| *size > 0).ok_or_else(wrong)?;
        if !bytes.len().is_multiple_of(length) {
            return Err(wrong());
        }
        let array = FixedSizeBinaryArray::try_new(size, bytes, None).map_err(|_| wrong())?;
        Ok(Column::of(Arc::new(array)))
    }

    /// The named column of a table, or the only one.
    fn chosen(self, py: Python<'_>, name: Option<&str>) -> PyResult<Self> {
        let DataType::Struct(fields) = self.field.data_type() else {
            return match name {
                Some(_) => Err(invalid(py, "only a table has columns with names", Some("column"))),
                None => Ok(self),
            };
        };
        let place = match name {
            Some(name) => fields.iter().position(|field| field.name() == name),
            None => Some(0).filter(|_| fields.len() == 1),
        };
        let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
        let message = || format!("column is to be one of {}", names.join(", "));
        let place = place.ok_or_else(|| invalid(py, &message(), Some("column")))?;
        // A file of reports has its header in the metadata of the table, not of the column.
        let mut metadata = self.field.metadata().clone();
        metadata.extend(fields[place].metadata().clone());
        let field = Arc::new(fields[place].as_ref().clone().with_metadata(metadata));
        let chunks = self.chunks.iter();
        Ok(Column { chunks: chunks.map(|chunk| chunk.as_struct().column(place).clone()).collect(), field })
    }
}

/// A list, or anything else that has items: texts and numbers as text, or reports in bytes.
fn of_items(object: &Bound<'_, PyAny>) -> PyResult<Column> {
    if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err("a column of several values is needed, not one text"));
    }
    let items = object.try_iter().map_err(|_| PyTypeError::new_err("a column of values is needed"))?;
    let items: Vec<Bound<'_, PyAny>> = items.collect::<PyResult<_>>()?;
    if items.iter().any(|item| item.is_instance_of::<PyBytes>()) {
        let mut bytes = BinaryBuilder::new();
        for item in &items {
            match item.cast::<PyBytes>() {
                Ok(item) => bytes.append_value(item.as_bytes()),
                Err(_) if item.is_none() => bytes.append_null(),
                Err(_) => return Err(PyTypeError::new_err("reports are all bytes, or all numbers")),
            }
        }
        return Ok(Column::of(Arc::new(bytes.finish())));
    }
    let whole =
        |item: &Bound<'_, PyAny>| item.is_exact_instance_of::<PyInt>().then(|| item.extract::<i64>().ok())?;
    if let Some(numbers) = items.iter().map(whole).collect::<Option<Vec<i64>>>() {
        return Ok(Column::of(Arc::new(Int64Array::from(numbers))));
    }
    let mut texts = StringBuilder::new();
    for item in &items {
        texts.append_option(text(item)?);
    }
    Ok(Column::of(Arc::new(texts.finish())))
}

/// One value as text; `None` if it is missing.
pub(crate) fn text(item: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    if let Ok(text) = item.cast::<PyString>() {
        // A text with lone surrogates is no label: an empty one takes its place, and is missing too.
        return Ok(Some(text.to_str().map(str::to_owned).unwrap_or_default()));
    }
    if item.is_none() {
        return Ok(None);
    }
    if let Ok(truth) = item.cast::<PyBool>() {
        return Ok(Some(truth_text(truth.is_true()).to_owned()));
    }
    if item.is_instance_of::<PyInt>() {
        // Python refuses to write numbers of more than 4300 digits; no label and no input is one.
        return Ok(Some(item.str().map_or_else(|_| "-1".to_owned(), |text| text.to_string())));
    }
    if let Ok(number) = item.cast::<PyFloat>() {
        return Ok(Some(number.value()).filter(|value| !value.is_nan()).map(number_text));
    }
    // What pandas has for a missing value.
    if ["NAType", "NaTType"].contains(&type_name(item).as_str()) {
        return Ok(None);
    }
    // Scalars of numpy and of Arrow.
    for method in ["item", "as_py"] {
        if let Ok(plain) = item.call_method0(method)
            && !plain.is(item)
            && [
                plain.is_instance_of::<PyString>(),
                plain.is_instance_of::<PyInt>(),
                plain.is_instance_of::<PyFloat>(),
            ]
            .contains(&true)
        {
            return text(&plain);
        }
    }
    Err(PyTypeError::new_err(format!("a {} is not a value", type_name(item))))
}

pub(crate) fn type_name(item: &Bound<'_, PyAny>) -> String {
    item.get_type().name().map_or_else(|_| "thing".to_owned(), |name| name.to_string())
}

fn truth_text(truth: bool) -> &'static str {
    if truth { "true" } else { "false" }
}

/// A number as files write it: 3.0 is `3.0`.
fn number_text(value: f64) -> String {
    format!("{value:?}")
}

/// Reads the inputs in an array of values.
pub(crate) type ReadInput<'a> = Box<dyn Fn(usize) -> Result<usize, ValueProblem> + Send + Sync + 'a>;

/// How to read the inputs of an array; nothing if it cannot hold values.
pub(crate) fn inputs<'a>(array: &'a dyn Array, domain: &'a Domain) -> Option<ReadInput<'a>> {
    let number = move |value: i128| -> Result<usize, ValueProblem> {
        // A file writes the same digits.
        domain.input(&value.to_string())
    };
    let plain = (!domain.has_labels()).then_some(domain.inputs());
    macro_rules! whole {
        ($kind:ty) => {{
            let values = array.as_primitive::<$kind>();
            Box::new(move |row: usize| {
                let value = values.value(row);
                match plain {
                    Some(inputs) if (value as i128) >= 0 && (value as i128) < inputs as i128 => {
                        Ok(value as usize)
                    }
                    _ => number(value as i128),
                }
            })
        }};
    }
    let read: ReadInput<'a> = match array.data_type() {
        DataType::Int8 => whole!(Int8Type),
        DataType::Int16 => whole!(Int16Type),
        DataType::Int32 => whole!(Int32Type),
        DataType::Int64 => whole!(Int64Type),
        DataType::UInt8 => whole!(UInt8Type),
        DataType::UInt16 => whole!(UInt16Type),
        DataType::UInt32 => whole!(UInt32Type),
        DataType::UInt64 => whole!(UInt64Type),
        DataType::Float16 => real(array.as_primitive::<Float16Type>(), domain),
        DataType::Float32 => real(array.as_primitive::<Float32Type>(), domain),
        DataType::Float64 => real(array.as_primitive::<Float64Type>(), domain),
        DataType::Boolean => {
            let values = array.as_boolean();
            Box::new(move |row| domain.input(truth_text(values.value(row))))
        }
        DataType::Utf8 => {
            let values = array.as_string::<i32>();
            Box::new(move |row| domain.input(values.value(row)))
        }
        DataType::LargeUtf8 => {
            let values = array.as_string::<i64>();
            Box::new(move |row| domain.input(values.value(row)))
        }
        DataType::Utf8View => {
            let values = array.as_string_view();
            Box::new(move |row| domain.input(values.value(row)))
        }
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            let values = dictionary.values();
            let known = inputs(values.as_ref(), domain)?;
            let known: Vec<Result<usize, ValueProblem>> = (0..values.len()).map(known).collect();
            let keys = dictionary.normalized_keys();
            Box::new(move |row| known[keys[row]])
        }
        DataType::Null => Box::new(|_| Err(ValueProblem::Missing)),
        _ => return None,
    };
    let nulls = array.logical_nulls();
    Some(Box::new(move |row| match &nulls {
        Some(nulls) if nulls.is_null(row) => Err(ValueProblem::Missing),
        _ => read(row),
    }))
}

fn real<'a, T>(values: &'a arrow_array::PrimitiveArray<T>, domain: &'a Domain) -> ReadInput<'a>
where
    T: ArrowPrimitiveType,
    T::Native: Into<f64>,
{
    Box::new(move |row| match values.value(row).into() {
        value if f64::is_nan(value) => Err(ValueProblem::Missing),
        value => domain.input(&number_text(value)),
    })
}

/// Writes the report in a row of an array.
type ReadReport<'a> = Box<dyn Fn(usize, &mut [u8]) -> Result<(), Reason> + Send + Sync + 'a>;

/// How to read the reports of an array; nothing if it cannot hold reports. With `text`, bytes are the text of a report, as in a column of bytes of a Parquet file.
fn reports<'a>(array: &'a dyn Array, layout: &'a Layout, text: bool) -> Option<ReadReport<'a>> {
    macro_rules! whole {
        ($kind:ty) => {{
            let values = array.as_primitive::<$kind>();
            Box::new(move |row: usize, bytes: &mut [u8]| put(values.value(row) as i128, layout, bytes))
        }};
    }
    macro_rules! copied {
        ($values:expr) => {{
            let values = $values;
            Box::new(move |row: usize, bytes: &mut [u8]| {
                let report: &[u8] = values.value(row);
                if report.len() != bytes.len() {
                    return Err(Reason::Length);
                }
                bytes.copy_from_slice(report);
                Ok(())
            })
        }};
    }
    macro_rules! written {
        ($values:expr) => {{
            let values = $values;
            Box::new(move |row: usize, bytes: &mut [u8]| text_report(values.value(row), layout, bytes))
        }};
    }
    macro_rules! spelled {
        ($values:expr) => {{
            let values = $values;
            Box::new(move |row: usize, bytes: &mut [u8]| layout.read_text(values.value(row), bytes))
        }};
    }
    let read: ReadReport<'a> = match array.data_type() {
        DataType::Binary if text => spelled!(array.as_binary::<i32>()),
        DataType::LargeBinary if text => spelled!(array.as_binary::<i64>()),
        DataType::BinaryView if text => spelled!(array.as_binary_view()),
        DataType::Int8 => whole!(Int8Type),
        DataType::Int16 => whole!(Int16Type),
        DataType::Int32 => whole!(Int32Type),
        DataType::Int64 => whole!(Int64Type),
        DataType::UInt8 => whole!(UInt8Type),
        DataType::UInt16 => whole!(UInt16Type),
        DataType::UInt32 => whole!(UInt32Type),
        DataType::UInt64 => whole!(UInt64Type),
        DataType::FixedSizeBinary(_) => copied!(array.as_fixed_size_binary()),
        DataType::Binary => copied!(array.as_binary::<i32>()),
        DataType::LargeBinary => copied!(array.as_binary::<i64>()),
        DataType::BinaryView => copied!(array.as_binary_view()),
        DataType::Utf8 => written!(array.as_string::<i32>()),
        DataType::LargeUtf8 => written!(array.as_string::<i64>()),
        DataType::Utf8View => written!(array.as_string_view()),
        DataType::Null => Box::new(|_, _| Err(Reason::Empty)),
        _ => return None,
    };
    let nulls = array.logical_nulls();
    Some(Box::new(move |row, bytes| match &nulls {
        Some(nulls) if nulls.is_null(row) => Err(Reason::Empty),
        _ => read(row, bytes),
    }))
}

/// A report that is a number.
fn put(value: i128, layout: &Layout, bytes: &mut [u8]) -> Result<(), Reason> {
    let Layout::Number { outputs } = layout else { return Err(Reason::Length) };
    if !(0..i128::from(*outputs)).contains(&value) {
        return Err(Reason::OutOfRange);
    }
    let length = bytes.len();
    bytes.copy_from_slice(&(value as u64).to_le_bytes()[..length]);
    Ok(())
}

/// A report in text, as files have it; a number need not have leading zeros.
pub(crate) fn text_report(text: &str, layout: &Layout, bytes: &mut [u8]) -> Result<(), Reason> {
    match layout {
        Layout::Number { .. } if text.len() < layout.text_length() && !text.is_empty() => {
            let digits = text.bytes().all(|digit| digit.is_ascii_digit());
            put(text.parse().ok().filter(|_| digits).ok_or(Reason::NotDigits)?, layout, bytes)
        }
        _ => layout.read_text(text.as_bytes(), bytes),
    }
}
