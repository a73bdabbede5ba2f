//! The tally as aggregate functions, whose state is a part of a tally in bytes.
//!
//! ```sql
//! SELECT sottovoce_tally('{"kind":"grr",…}', 'auto', report) FROM reports GROUP BY day
//! SELECT sottovoce_merge('{"kind":"grr",…}', 'auto', part) FROM parts
//! ```

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type, UInt64Type};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};
use datafusion::physical_expr::expressions::Literal;
use datafusion::scalar::ScalarValue;
use sottovoce_collect::tally::Counts;
use sottovoce_collect::{Layout, PartialTally, Reason};

use crate::error::Error;
use crate::protocol::Subject;

/// What the rows of the third argument are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Rows {
    Reports,
    Parts,
}

/// A tally of rows.
#[derive(Debug, PartialEq, Eq, Hash)]
struct TallyFunction {
    rows: Rows,
    signature: Signature,
}

/// Both functions.
pub(crate) fn functions() -> [AggregateUDF; 2] {
    [tally(), merge()]
}

/// The tally of reports.
pub(crate) fn tally() -> AggregateUDF {
    function(Rows::Reports)
}

/// The sum of parts of a tally.
pub(crate) fn merge() -> AggregateUDF {
    function(Rows::Parts)
}

fn function(rows: Rows) -> AggregateUDF {
    AggregateUDF::from(TallyFunction { rows, signature: Signature::any(3, Volatility::Immutable) })
}

impl AggregateUDFImpl for TallyFunction {
    fn name(&self) -> &str {
        match self.rows {
            Rows::Reports => "sottovoce_tally",
            Rows::Parts => "sottovoce_merge",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> DataFusionResult<DataType> {
        Ok(DataType::Binary)
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> DataFusionResult<Box<dyn Accumulator>> {
        let text = |at: usize| {
            let literal = arguments.exprs.get(at).and_then(|expr| expr.downcast_ref::<Literal>());
            let text = literal.and_then(|literal| literal.value().try_as_str().flatten());
            text.ok_or_else(|| {
                DataFusionError::Plan("the protocol and the form of a tally are literal texts".into())
            })
        };
        let subject = Subject::read(text(0)?, text(1)?).map_err(Error::marked)?;
        let layout = Layout::of(&subject.identified.named.protocol);
        let part = subject.nothing();
        Ok(Box::new(Counting { rows: self.rows, subject, layout, part }))
    }
}

/// A tally that grows.
#[derive(Debug)]
struct Counting {
    rows: Rows,
    subject: Subject,
    layout: Layout,
    part: PartialTally,
}

impl Counting {
    fn merge(&mut self, parts: &ArrayRef) -> DataFusionResult<()> {
        let parts = cast(parts, &DataType::Binary)?;
        for bytes in parts.as_binary::<i32>().iter().flatten() {
            let part = self.subject.part(bytes).map_err(Error::marked)?;
            self.part.merge(part).map_err(|error| Error::from(error).marked())?;
        }
        Ok(())
    }

    fn count(&mut self, column: &ArrayRef) -> DataFusionResult<()> {
        let read = reports(column, &self.layout)?;
        let counted = self.part.update(None, column.len(), read);
        counted.map_err(|error| Error::from(error).marked())
    }
}

impl Accumulator for Counting {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        match self.rows {
            Rows::Reports => self.count(&values[2]),
            Rows::Parts => self.merge(&values[2]),
        }
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> DataFusionResult<()> {
        self.merge(&states[0])
    }

    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        Ok(ScalarValue::Binary(Some(self.part.to_bytes())))
    }

    fn size(&self) -> usize {
        let counts = match &self.part.tally().counts {
            Counts::Numbers(counts) => 8 * counts.len(),
            // A report, its count, and its place in the table.
            Counts::Patterns(patterns) => patterns.len() * (self.layout.length() + 20),
            // A counter for each value of each byte.
            Counts::Supports(_) => 2048 * self.layout.length(),
        };
        size_of::<Self>() + counts
    }
}

/// How to read the report in a row.
type ReadReport = Box<dyn Fn(usize, &mut [u8]) -> Result<(), Reason>>;

/// The reports of a column, as `sottovoce tally` reads the same column of a Parquet file: whole numbers, bytes of one length, or text.
fn reports(column: &ArrayRef, layout: &Layout) -> DataFusionResult<ReadReport> {
    let (nulls, layout) = (column.logical_nulls(), layout.clone());
    let read: ReadReport = match column.data_type() {
        DataType::FixedSizeBinary(_) => {
            let values = column.as_fixed_size_binary().clone();
            Box::new(move |row, bytes| match values.value(row) {
                report if report.len() == bytes.len() => {
                    bytes.copy_from_slice(report);
                    Ok(())
                }
                _ => Err(Reason::Length),
            })
        }
        DataType::UInt64 => {
            let values = column.as_primitive::<UInt64Type>().clone();
            Box::new(move |row, bytes| put(Some(values.value(row)), &layout, bytes))
        }
        kind if kind.is_integer() => {
            let values = cast(column, &DataType::Int64)?.as_primitive::<Int64Type>().clone();
            Box::new(move |row, bytes| put(u64::try_from(values.value(row)).ok(), &layout, bytes))
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            text(cast(column, &DataType::LargeUtf8)?, layout)?
        }
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => text(Arc::clone(column), layout)?,
        _ => return Err(Error::Reported("a column of this type holds no reports".into()).marked()),
    };
    Ok(Box::new(move |row, bytes| match &nulls {
        Some(nulls) if nulls.is_null(row) => Err(Reason::Empty),
        _ => read(row, bytes),
    }))
}

fn text(column: ArrayRef, layout: Layout) -> DataFusionResult<ReadReport> {
    let values = cast(&column, &DataType::LargeBinary)?.as_binary::<i64>().clone();
    Ok(Box::new(move |row, bytes| layout.read_text(values.value(row), bytes)))
}

/// A report that is a number; none is too large or negative.
fn put(value: Option<u64>, layout: &Layout, bytes: &mut [u8]) -> Result<(), Reason> {
    let Layout::Number { outputs } = layout else { return Err(Reason::Length) };
    let value = value.filter(|value| value < outputs).ok_or(Reason::OutOfRange)?;
    let length = bytes.len();
    bytes.copy_from_slice(&value.to_le_bytes()[..length]);
    Ok(())
}
