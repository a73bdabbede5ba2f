//! The scheduler and the executors: Ballista's, with our functions, our scan and our stores.

use std::net::SocketAddr;
use std::sync::Arc;

use ballista_core::registry::BallistaFunctionRegistry;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::start_server;

use crate::arguments::{ExecutorArguments, SchedulerArguments};
use crate::error::{Error, Result};
use crate::scan::Codec;
use crate::session::{MAX_MESSAGE, config, runtime, state};

/// Seconds between signs of life. (Ballista's own 60 would let a dead executor hold up the work for minutes.)
const HEARTBEAT: u64 = 1;

fn server_error(error: impl std::fmt::Display) -> Error {
    Error::Server(error.to_string())
}

/// Runs a scheduler until it is stopped.
pub(crate) async fn scheduler(arguments: SchedulerArguments) -> Result<()> {
    let SchedulerArguments { bind, port, executor_timeout, grace } = arguments;
    let address: SocketAddr = format!("{bind}:{port}").parse().map_err(server_error)?;
    let mut settings = SchedulerConfig {
        bind_host: bind.clone(),
        external_host: bind,
        bind_port: port,
        executor_timeout_seconds: executor_timeout,
        expire_dead_executor_interval_seconds: 1,
        no_executors_grace_period_seconds: grace,
        grpc_server_max_decoding_message_size: MAX_MESSAGE,
        grpc_server_max_encoding_message_size: MAX_MESSAGE,
        grpc_client_max_message_size: MAX_MESSAGE,
        override_physical_codec: Some(Arc::new(Codec::default())),
        ..SchedulerConfig::default()
    };
    settings.override_config_producer = Some(Arc::new(config));
    settings.override_session_builder = Some(Arc::new(state));
    let cluster = BallistaCluster::new_from_config(&settings).await.map_err(server_error)?;
    eprintln!("scheduler on {address}");
    start_server(cluster, address, Arc::new(settings)).await.map_err(server_error)
}

/// Runs an executor until it is stopped.
pub(crate) async fn executor(arguments: ExecutorArguments) -> Result<()> {
    let ExecutorArguments { scheduler, bind, port, command_port, tasks, work } = arguments;
    let parts = scheduler.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let (host, scheduler_port) =
        parts.ok_or_else(|| Error::Server(format!("{scheduler} is not HOST:PORT")))?;
    let functions = state(config()).map_err(server_error)?;
    let mut settings = ExecutorProcessConfig {
        bind_host: bind.clone(),
        external_host: Some(bind),
        port,
        grpc_port: command_port,
        scheduler_host: host.to_owned(),
        scheduler_port,
        scheduler_connect_timeout_seconds: 30,
        work_dir: work.map(|path| path.to_string_lossy().into_owned()),
        executor_heartbeat_interval_seconds: HEARTBEAT,
        grpc_max_decoding_message_size: MAX_MESSAGE,
        grpc_max_encoding_message_size: MAX_MESSAGE,
        override_function_registry: Some(Arc::new(BallistaFunctionRegistry::from(&functions))),
        override_runtime_producer: Some(Arc::new(|_| runtime())),
        override_config_producer: Some(Arc::new(config)),
        override_physical_codec: Some(Arc::new(Codec::default())),
        job_data_ttl_seconds: 3600,
        job_data_clean_up_interval_seconds: 600,
        ..ExecutorProcessConfig::default()
    };
    if let Some(tasks) = tasks {
        settings.vcores = tasks as usize;
    }
    eprintln!("executor on {}:{port}, for {scheduler}", settings.bind_host);
    start_executor_process(Arc::new(settings)).await.map_err(server_error)
}
