//! What the aggregator sees and does.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot::Receiver;

use super::metrics::refused;
use super::{Service, json, later, problem};
use crate::analyst::LEVEL;
use crate::ingest::NotTaken;
use crate::store::StoreProblem;

/// Counts, refusals, and what the reports say.
#[derive(Serialize)]
struct Results<'a> {
    closed: bool,
    collections: Vec<Collection<'a>>,
    refused: BTreeMap<String, u64>,
    level: f64,
    analysis: Option<Analysis>,
}

#[derive(Serialize)]
struct Collection<'a> {
    name: &'a str,
    reports: u64,
    /// How far one report can move the linear estimate of a share, in units of one over the number of reports.
    influence: Option<f64>,
}

/// What was found from the first so many reports.
#[derive(Serialize)]
struct Analysis {
    reports: Vec<u64>,
    seconds: f64,
    report: Option<Box<RawValue>>,
    error: Option<String>,
}

/// The results as they are known, while new ones may be on their way.
pub async fn results(State(service): State<Arc<Service>>) -> Response {
    let text = tokio::task::spawn_blocking(move || {
        let finding = service.analyst.ask();
        let state = service.store.state().ok()?;
        let numbers = service.live.numbers();
        let collections = service.served.collections.iter().zip(numbers);
        let results = Results {
            closed: state.closed,
            collections: collections
                .map(|(asked, reports)| Collection { name: &asked.name, reports, influence: asked.influence })
                .collect(),
            refused: refused(&service),
            level: LEVEL,
            analysis: finding.map(|finding| Analysis {
                reports: finding.n,
                seconds: finding.took.as_secs_f64(),
                error: finding.report.as_ref().err().cloned(),
                report: finding.report.ok().map(|report| (*report).to_owned()),
            }),
        };
        serde_json::to_string(&results).ok()
    });
    match text.await.ok().flatten() {
        Some(text) => json(StatusCode::OK, text),
        None => later(StatusCode::SERVICE_UNAVAILABLE, "store", 5),
    }
}

/// Whether reports can be kept.
pub async fn health(State(service): State<Arc<Service>>) -> Response {
    // Whoever is told that the service is down sends it nothing that would show that the store works again.
    if service.metrics.store_fails()
        && service.metrics.may_probe()
        && let Ok(answered) = service.ingest.probe()
        && let Ok(Ok(())) = answered.await
    {
        service.metrics.store_works(true);
    }
    match service.metrics.store_fails() {
        false => json(StatusCode::OK, "{\"status\":\"up\"}"),
        true => later(StatusCode::SERVICE_UNAVAILABLE, "store", 5),
    }
}

/// Takes no more reports.
pub async fn close(State(service): State<Arc<Service>>) -> Response {
    done(service.ingest.close()).await
}

/// Keeps tallies only.
pub async fn forget(State(service): State<Arc<Service>>) -> Response {
    done(service.ingest.forget()).await
}

async fn done(asked: Result<Receiver<Result<(), StoreProblem>>, NotTaken>) -> Response {
    let Ok(answered) = asked else { return later(StatusCode::SERVICE_UNAVAILABLE, "busy", 1) };
    match answered.await {
        Ok(Ok(())) => json(StatusCode::OK, "{\"done\":true}"),
        Ok(Err(StoreProblem::Closed)) => problem(StatusCode::GONE, "closed"),
        _ => later(StatusCode::SERVICE_UNAVAILABLE, "store", 5),
    }
}
