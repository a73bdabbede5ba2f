//! The service over HTTP.
//!
//! | path | who | what |
//! |---|---|---|
//! | `GET /v1/study` | everybody | the study, with the whole numbers that clients draw with |
//! | `POST /v1/collections/{name}/reports` | everybody | takes a batch of reports |
//! | `GET /v1/results` | the token | counts, refusals, what the reports say |
//! | `GET /v1/collections/{name}/reports` | the token | all reports as a file that `tally` reads |
//! | `GET /v1/collections/{name}/tallies` | the token | the tallies |
//! | `POST /v1/close`, `POST /v1/forget` | the token | takes no more reports; keeps only tallies |
//! | `GET /metrics` | the token | counters for Prometheus |
//! | `GET /health` | everybody | whether reports can be kept |
//! | `GET /take`, `/results`, … | everybody | the pages and their files |

mod export;
mod metrics;
mod pages;
mod rate;
mod reports;
mod results;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use crate::analyst::Analyst;
use crate::ingest::Ingest;
use crate::live::Live;
use crate::served::Served;
use crate::store::Store;
use crate::token::Token;

pub use metrics::Metrics;
pub use rate::Rate;

/// Most bytes of a body.
pub const MAX_BODY: usize = 1 << 20;

/// A body must be there after so long.
pub const BODY_TIME: Duration = Duration::from_secs(20);

/// Most reports of a batch.
pub const MAX_BATCH: usize = 1000;

/// All that an answer may need.
pub struct Service {
    /// What is asked.
    pub served: Arc<Served>,
    /// The study as it is published.
    pub publication: Bytes,
    /// The secret of the store.
    pub state: crate::store::State,
    /// Where reports are kept.
    pub store: Arc<dyn Store>,
    /// The way to the writing thread.
    pub ingest: Ingest,
    /// The tallies.
    pub live: Arc<Live>,
    /// What they say.
    pub analyst: Analyst,
    /// Who may read results.
    pub token: Token,
    /// How many reports may come.
    pub rate: Rate,
    /// What was done.
    pub metrics: Metrics,
}

/// The whole service.
pub fn router(service: Arc<Service>) -> Router {
    let closed_to_others = Router::new()
        .route("/v1/results", get(results::results))
        .route("/v1/close", post(results::close))
        .route("/v1/forget", post(results::forget))
        .route("/v1/collections/{name}/tallies", get(export::tallies))
        .route("/v1/collections/{name}/reports", get(export::reports))
        .route("/metrics", get(metrics::metrics))
        .route_layer(middleware::from_fn_with_state(service.clone(), with_token));
    let open = Router::new()
        .route("/v1/study", get(reports::study).options(reports::preflight))
        .route("/v1/collections/{name}/reports", post(reports::take).options(reports::preflight))
        .route_layer(middleware::from_fn(for_any_site));
    let plain = Router::new().route("/health", get(results::health)).merge(pages::router());
    open.merge(closed_to_others)
        .merge(plain)
        .fallback(|| async { problem(StatusCode::NOT_FOUND, "not_found") })
        .method_not_allowed_fallback(|| async { problem(StatusCode::METHOD_NOT_ALLOWED, "method") })
        .layer(middleware::from_fn(guarded))
        .with_state(service)
}

/// An error as programs read it. It never repeats what was sent.
fn problem(status: StatusCode, reason: &'static str) -> Response {
    json(status, format!("{{\"error\":\"{reason}\"}}"))
}

fn json(status: StatusCode, text: impl Into<Body>) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], text.into()).into_response()
}

/// The same, to be tried again later.
fn later(status: StatusCode, reason: &'static str, seconds: u64) -> Response {
    let mut response = problem(status, reason);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

/// Lets in only who has the token.
async fn with_token(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.strip_prefix("Bearer "));
    match given.is_some_and(|given| service.token.is(given)) {
        true => next.run(request).await,
        false => {
            let mut response = problem(StatusCode::UNAUTHORIZED, "token");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            response
        }
    }
}

/// What scripts of other sites may use: the study is public, and anybody may send reports.
async fn for_any_site(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

const GUARDS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
    (header::X_FRAME_OPTIONS, "DENY"),
];

/// What a browser must not do with any answer.
async fn guarded(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in GUARDS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::pages::FILES;

    /// The routes are read in this file, so that none can be forgotten.
    #[test]
    fn the_document_has_every_route_and_no_other() {
        let document: Value = serde_json::from_str(include_str!("../../assets/openapi.json")).unwrap();
        let mut routes: Vec<(String, &str)> =
            FILES.iter().map(|(path, _, _)| ((*path).to_owned(), "get")).collect();
        for route in include_str!("mod.rs").split(".route(\"").skip(1) {
            let (path, handlers) = route.split_once("\", ").unwrap();
            let handlers = handlers.lines().next().unwrap();
            for method in ["get", "post"] {
                if handlers.contains(&format!("{method}(")) {
                    routes.push((path.to_owned(), method));
                }
            }
        }
        assert!(routes.len() >= 9 + 8, "{routes:?}");
        let mut documented = 0;
        for (path, operations) in document["paths"].as_object().unwrap() {
            for method in operations.as_object().unwrap().keys().filter(|key| *key != "parameters") {
                assert!(
                    routes.iter().any(|(own, of)| own == path && of == method),
                    "{method} {path} does not exist"
                );
                documented += 1;
            }
        }
        assert_eq!(documented, routes.len(), "a route is not documented");
    }
}
