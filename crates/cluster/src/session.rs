//! The engine with our functions and stores, the same on this machine, in a scheduler and in an executor.

use std::sync::Arc;

use ballista_core::execution_plans::execute_physical_plan;
use ballista_core::extension::SessionConfigExt;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::session_state::SessionState;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::common::collect;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_proto::protobuf::PhysicalPlanNode;

use crate::aggregate;
use crate::error::Result;
use crate::scan::Codec;
use crate::store::Stores;

/// Most bytes of a message: a plan names all files, and a tally has as many patterns as are asked for.
pub(crate) const MAX_MESSAGE: u32 = 1 << 30;

/// What files are read with.
pub(crate) fn runtime() -> DataFusionResult<Arc<RuntimeEnv>> {
    RuntimeEnvBuilder::new().with_object_store_registry(Arc::new(Stores::default())).build_arc()
}

/// The settings of a session, of scheduler and client alike.
pub(crate) fn config() -> SessionConfig {
    // Rows that are dealt out among tasks of one machine would be dealt out again by each task of a cluster.
    let config = SessionConfig::new_with_ballista().with_round_robin_repartition(false);
    let config = config.with_ballista_grpc_client_max_message_size(MAX_MESSAGE as usize);
    config.with_ballista_physical_extension_codec(Arc::new(Codec::default()))
}

/// A state of the engine with our functions.
pub(crate) fn state(config: SessionConfig) -> DataFusionResult<SessionState> {
    let builder = SessionStateBuilder::new().with_config(config).with_runtime_env(runtime()?);
    let mut state = builder.with_default_features().build();
    for function in aggregate::functions() {
        datafusion::execution::FunctionRegistry::register_udaf(&mut state, Arc::new(function))?;
    }
    Ok(state)
}

/// A context that cuts work into so many tasks.
pub(crate) fn context(tasks: usize) -> DataFusionResult<SessionContext> {
    Ok(SessionContext::new_with_state(state(config().with_target_partitions(tasks))?))
}

/// Has a plan executed here, or by the executors of a scheduler.
pub(crate) async fn execute(
    context: &SessionContext,
    plan: Arc<dyn ExecutionPlan>,
    scheduler: Option<&str>,
) -> Result<Vec<RecordBatch>> {
    let Some(scheduler) = scheduler else {
        return Ok(datafusion::physical_plan::collect(plan, context.task_ctx()).await?);
    };
    let config = context.copied_config();
    let (ballista, codec) = (config.ballista_config(), config.ballista_physical_extension_codec());
    let address = format!("http://{scheduler}");
    let session = context.session_id();
    let stream =
        execute_physical_plan::<PhysicalPlanNode>(address, &ballista, plan, codec.as_ref(), session, config);
    Ok(collect(stream.await?).await?)
}
