//! The scan: groups of rows of Parquet files, counted where they are read. Each part of the work gives one part of a tally.
//!
//! It reads with the code of `sottovoce tally`, so a file means the same to both, and damage is found in the same way.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use ballista_core::serde::BallistaPhysicalExtensionCodec;
use datafusion::arrow::array::{AsArray, BinaryArray, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::memory::MemorySourceConfig;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, ReplaceChildrenOptions};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use futures::TryStreamExt;
use serde::{Deserialize, Serialize};
use sottovoce_collect::PartialTally;
use sottovoce_collect::files::parquet_reports::ParquetReports;

use crate::error::{Error, Result};
use crate::listing::StoredName;
use crate::protocol::Subject;
use crate::store::StoredFile;

/// The column with the parts of the tally.
pub(crate) const PART: &str = "part";

/// Some groups of rows of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Portion {
    pub(crate) file: StoredName,
    pub(crate) first_group: usize,
    pub(crate) groups: usize,
}

/// What is to be counted, task by task.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) subject: Subject,
    pub(crate) tasks: Vec<Vec<Portion>>,
}

/// The work as a table of parts of a tally.
#[derive(Debug)]
pub(crate) struct Parts(pub(crate) Work);

/// A plan that turns portions of the work, which are rows of its input, into parts of a tally.
///
/// The portions are a table in memory because the scheduler gives each task some partitions of the tables it knows; a source of our own would be
/// read as a whole by every task.
#[derive(Debug)]
pub(crate) struct Scan {
    subject: Subject,
    portions: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new(PART, DataType::Binary, false)]))
}

impl Work {
    /// The portions as a table: a partition for each task, in each row a portion as JSON.
    fn table(&self) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let schema = Arc::new(Schema::new(vec![Field::new("portion", DataType::Utf8, false)]));
        let task = |portions: &Vec<Portion>| {
            let rows =
                portions.iter().map(serde_json::to_string).collect::<serde_json::Result<Vec<String>>>();
            let rows = rows.map_err(|error| DataFusionError::External(error.into()))?;
            Ok(vec![RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(StringArray::from(rows))])?])
        };
        let tasks = self.tasks.iter().map(task).collect::<DataFusionResult<Vec<_>>>()?;
        Ok(MemorySourceConfig::try_new_exec(&tasks, Arc::clone(&schema), None)?)
    }
}

/// The portions in a batch of rows.
fn portions(rows: &RecordBatch) -> DataFusionResult<Vec<Portion>> {
    let rows = rows.column(0).as_string_opt::<i32>();
    let rows = rows.ok_or_else(|| DataFusionError::Internal("a portion is a text".into()))?;
    let read = |row: &str| serde_json::from_str(row).map_err(|error| DataFusionError::External(error.into()));
    rows.iter().flatten().map(read).collect()
}

impl Scan {
    pub(crate) fn new(subject: Subject, portions: Arc<dyn ExecutionPlan>) -> Self {
        let tasks = portions.properties().output_partitioning().partition_count();
        let equivalences = EquivalenceProperties::new(schema());
        let (emission, bounds) = (EmissionType::Incremental, Boundedness::Bounded);
        let partitioning = Partitioning::UnknownPartitioning(tasks);
        let properties = Arc::new(PlanProperties::new(equivalences, partitioning, emission, bounds));
        Scan { subject, portions, properties }
    }

    fn over(&self, mut inputs: Vec<Arc<dyn ExecutionPlan>>) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let portions = inputs.pop().filter(|_| inputs.is_empty());
        let portions = portions.ok_or_else(|| DataFusionError::Internal("a scan has one input".into()))?;
        Ok(Arc::new(Scan::new(self.subject.clone(), portions)))
    }
}

#[async_trait]
impl TableProvider for Parts {
    fn schema(&self) -> SchemaRef {
        schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        _: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        // There is one column, and it is always asked for.
        Ok(Arc::new(Scan::new(self.0.subject.clone(), self.0.table()?)))
    }
}

impl DisplayAs for Scan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SottovoceScan")
    }
}

impl ExecutionPlan for Scan {
    fn name(&self) -> &str {
        "SottovoceScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.portions]
    }

    /// The portions are cut well already.
    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        inputs: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        self.over(inputs)
    }

    fn with_new_children(
        self: Arc<Self>,
        inputs: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        self.over(inputs)
    }

    fn execute(&self, task: usize, context: Arc<TaskContext>) -> DataFusionResult<SendableRecordBatchStream> {
        let (subject, runtime) = (self.subject.clone(), context.runtime_env());
        let rows = self.portions.execute(task, context)?;
        let portions = rows.map_ok(|rows| {
            futures::stream::iter(
                portions(&rows)
                    .map_or_else(|error| vec![Err(error)], |portions| portions.into_iter().map(Ok).collect()),
            )
        });
        let counted = portions
            .try_flatten()
            .and_then(move |portion| count(portion, subject.clone(), Arc::clone(&runtime)));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema(), counted)))
    }
}

/// Counts a portion on a thread that may wait for its bytes.
async fn count(
    portion: Portion,
    subject: Subject,
    runtime: Arc<RuntimeEnv>,
) -> DataFusionResult<RecordBatch> {
    let (store, path) = portion.file.locate(&runtime).map_err(Error::marked)?;
    let file = Arc::new(StoredFile::new(store, path, portion.file.length));
    let counted = tokio::task::spawn_blocking(move || counted(&portion, &subject, file));
    let part = counted.await.map_err(|error| DataFusionError::Execution(error.to_string()))?;
    let bytes = part.map_err(Error::marked)?.to_bytes();
    Ok(RecordBatch::try_new(schema(), vec![Arc::new(BinaryArray::from_vec(vec![&bytes]))])?)
}

fn counted(portion: &Portion, subject: &Subject, file: Arc<StoredFile>) -> Result<PartialTally> {
    let reports = ParquetReports::open(&portion.file.input(), file)?;
    if let Some(header) = reports.footer().header() {
        let identity = &subject.identified.identity;
        identity.refuse_other(reports.input(), &header.fingerprint, header.specification())?;
    }
    let mut part = subject.nothing();
    let end = reports.starts().len().min(portion.first_group + portion.groups);
    (portion.first_group..end).try_for_each(|group| part.add_group(&portion.file.name, &reports, group))?;
    Ok(part)
}

/// How the scan is sent to executors. All else is Ballista's.
#[derive(Debug, Default)]
pub(crate) struct Codec(BallistaPhysicalExtensionCodec);

/// What the bytes of a scan begin with: no message of Ballista does, since its fields have small numbers.
const MAGIC: &[u8] = b"\xffsottovoce scan 1\n";

impl PhysicalExtensionCodec for Codec {
    fn try_decode(
        &self,
        bytes: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let Some(subject) = bytes.strip_prefix(MAGIC) else {
            return self.0.try_decode(bytes, inputs, context, converter);
        };
        let subject: (String, String) =
            serde_json::from_slice(subject).map_err(|error| DataFusionError::External(error.into()))?;
        let subject = Subject::read(&subject.0, &subject.1).map_err(Error::marked)?;
        let [portions] = inputs else { return Err(DataFusionError::Internal("a scan has one input".into())) };
        Ok(Arc::new(Scan::new(subject, Arc::clone(portions))))
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        bytes: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> DataFusionResult<()> {
        let Some(scan) = node.downcast_ref::<Scan>() else {
            return self.0.try_encode(node, bytes, converter);
        };
        bytes.extend(MAGIC);
        let subject = (scan.subject.specification(), scan.subject.form_name());
        serde_json::to_writer(bytes, &subject).map_err(|error| DataFusionError::External(error.into()))
    }
}
