//! The scan: groups of rows of Parquet files, counted where they are read. Each part of the work gives one part of a tally.
//!
//! It reads with the code of `sottovoce tally`, so a file means the same to both, and damage is found in the same way.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use ballista_core::serde::BallistaPhysicalExtensionCodec;
use datafusion::arrow::array::BinaryArray;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
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
use futures::StreamExt;
use serde::{Deserialize, Serialize};
use sottovoce_collect::PartialTally;
use sottovoce_collect::files::parquet_reports::ParquetReports;

use crate::error::Result;
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
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Work {
    pub(crate) specification: String,
    pub(crate) form: String,
    pub(crate) tasks: Vec<Vec<Portion>>,
}

/// The work as a table of parts of a tally.
#[derive(Debug)]
pub(crate) struct Parts(pub(crate) Arc<Work>);

/// The work as a plan.
#[derive(Debug)]
pub(crate) struct Scan {
    work: Arc<Work>,
    properties: Arc<PlanProperties>,
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new(PART, DataType::Binary, false)]))
}

impl Scan {
    pub(crate) fn new(work: Arc<Work>) -> Self {
        let partitioning = Partitioning::UnknownPartitioning(work.tasks.len());
        let equivalences = EquivalenceProperties::new(schema());
        let (emission, bounds) = (EmissionType::Incremental, Boundedness::Bounded);
        let properties = Arc::new(PlanProperties::new(equivalences, partitioning, emission, bounds));
        Scan { work, properties }
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
        Ok(Arc::new(Scan::new(Arc::clone(&self.0))))
    }
}

impl DisplayAs for Scan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SottovoceScan: {} tasks", self.work.tasks.len())
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
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, task: usize, context: Arc<TaskContext>) -> DataFusionResult<SendableRecordBatchStream> {
        let portions = self.work.tasks.get(task).cloned();
        let portions = portions.ok_or_else(|| DataFusionError::Internal("there is no such task".into()))?;
        let subject = Subject::read(&self.work.specification, &self.work.form).map_err(crate::error::Error::marked)?;
        let runtime = context.runtime_env();
        let counted = futures::stream::iter(portions).then(move |portion| {
            let (subject, runtime) = (subject.clone(), Arc::clone(&runtime));
            async move { count(portion, subject, runtime).await }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema(), counted)))
    }
}

/// Counts a portion on a thread that may wait for its bytes.
async fn count(portion: Portion, subject: Subject, runtime: Arc<RuntimeEnv>) -> DataFusionResult<RecordBatch> {
    let (store, path) = portion.file.locate(&runtime).map_err(crate::error::Error::marked)?;
    let file = Arc::new(StoredFile::new(store, path, portion.file.length));
    let counted = tokio::task::spawn_blocking(move || counted(&portion, &subject, file));
    let part = counted.await.map_err(|error| DataFusionError::Execution(error.to_string()))?;
    let bytes = part.map_err(crate::error::Error::marked)?.to_bytes();
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
        let Some(work) = bytes.strip_prefix(MAGIC) else {
            return self.0.try_decode(bytes, inputs, context, converter);
        };
        let work: Work = serde_json::from_slice(work).map_err(|error| DataFusionError::External(error.into()))?;
        Ok(Arc::new(Scan::new(Arc::new(work))))
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
        serde_json::to_writer(bytes, &*scan.work).map_err(|error| DataFusionError::External(error.into()))
    }
}
