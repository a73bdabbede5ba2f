//! Batches of reports come in.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use serde::Serialize;
use sottovoce_client::{Batch, Reason, Submission};

use super::{BODY_TIME, MAX_BATCH, MAX_BODY, Service, json, later, problem};
use crate::ingest::NotTaken;
use crate::served::Asked;
use crate::store::{Outcome, Place, Row, StoreProblem};

/// The study.
pub async fn study(State(service): State<Arc<Service>>) -> Response {
    json(StatusCode::OK, service.publication.clone())
}

/// What a browser asks before a script of another site may send JSON.
pub async fn preflight() -> Response {
    let allowed = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "content-type"),
        (header::ACCESS_CONTROL_MAX_AGE, "86400"),
    ];
    (StatusCode::NO_CONTENT, allowed).into_response()
}

/// What became of a batch. No id and no report is in it.
#[derive(Serialize)]
struct Answer {
    counted: usize,
    repeated: usize,
    refused: usize,
    results: Vec<&'static str>,
}

/// Why a report was refused, in a word.
fn word(reason: Reason) -> &'static str {
    match reason {
        Reason::Empty => "empty",
        Reason::Length => "length",
        Reason::NotDigits => "not_digits",
        Reason::OutOfRange => "out_of_range",
        Reason::Padding => "padding",
        Reason::SetSize => "set_size",
        // Only files have lines.
        Reason::Line => "line",
    }
}

/// Another report with the same id was counted before.
const CONFLICT: &str = "conflict";

/// Takes a batch.
pub async fn take(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let Some((place, asked)) = service.served.collection(&name) else {
        return problem(StatusCode::NOT_FOUND, "collection");
    };
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")) {
        return problem(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content_type");
    }
    let text = match read(body).await {
        Ok(text) => text,
        Err(refused) => return refused,
    };
    // What a parser says may repeat what was sent.
    let Ok(batch) = serde_json::from_slice::<Batch>(&text) else {
        return problem(StatusCode::BAD_REQUEST, "envelope");
    };
    if batch.fingerprint != asked.protocol.identity.fingerprint {
        return problem(StatusCode::CONFLICT, "fingerprint");
    }
    match batch.reports.len() {
        0 => return problem(StatusCode::BAD_REQUEST, "envelope"),
        n if n > MAX_BATCH => return problem(StatusCode::PAYLOAD_TOO_LARGE, "batch"),
        n => {
            if let Err(seconds) = service.rate.take(n) {
                return later(StatusCode::TOO_MANY_REQUESTS, "rate", seconds);
            }
        }
    }
    let (rows, results) = rows(&service, place, asked, &batch);
    settle(&service, rows, results).await
}

/// The body, if it is there in time and not too long.
async fn read(body: Body) -> Result<Vec<u8>, Response> {
    match tokio::time::timeout(BODY_TIME, whole(body)).await {
        Ok(Ok(whole)) => Ok(whole),
        Ok(Err(Unread::TooLong)) => Err(problem(StatusCode::PAYLOAD_TOO_LARGE, "body")),
        Ok(Err(Unread::Broken)) => Err(problem(StatusCode::BAD_REQUEST, "body")),
        Err(_) => Err(problem(StatusCode::REQUEST_TIMEOUT, "time")),
    }
}

/// Why there is no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unread {
    TooLong,
    Broken,
}

/// The body, if it is not too long. Its parts are put together as they come: each of them alone takes far more memory than the byte that may be in it.
async fn whole(mut body: Body) -> Result<Vec<u8>, Unread> {
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        // What is no data is a trailer, which nobody asked for.
        let Ok(data) = frame.map_err(|_| Unread::Broken)?.into_data() else { continue };
        if whole.len() + data.len() > MAX_BODY {
            return Err(Unread::TooLong);
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole)
}

/// The rows of a batch, and for each report why it is none of them.
fn rows(
    service: &Service,
    place: Place,
    asked: &Asked,
    batch: &Batch,
) -> (Vec<Row>, Vec<Option<&'static str>>) {
    let mut rows = Vec::with_capacity(batch.reports.len());
    let mut row = |submission: &Submission| {
        let id = submission.id_bytes().ok_or("id")?;
        let mut report = vec![0; asked.layout.length()];
        asked.layout.read_text(submission.report.as_bytes(), &mut report).map_err(word)?;
        rows.push(Row { collection: place, key: service.state.key(place, &id), report });
        Ok(())
    };
    let results = batch.reports.iter().map(|submission| row(submission).err()).collect();
    (rows, results)
}

/// Waits until rows are durable, and answers.
async fn settle(service: &Service, rows: Vec<Row>, refused: Vec<Option<&'static str>>) -> Response {
    let outcomes = if rows.is_empty() {
        Vec::new()
    } else {
        let answered = match service.ingest.insert(rows) {
            Ok(answered) => answered,
            Err(NotTaken::Full) => return later(StatusCode::SERVICE_UNAVAILABLE, "busy", 1),
            Err(NotTaken::Ended) => return later(StatusCode::SERVICE_UNAVAILABLE, "ending", 5),
        };
        match answered.await {
            Ok(Ok(outcomes)) => {
                service.metrics.store_works(true);
                outcomes
            }
            Ok(Err(StoreProblem::Closed)) => return problem(StatusCode::GONE, "closed"),
            Ok(Err(_)) => {
                service.metrics.store_works(false);
                return later(StatusCode::SERVICE_UNAVAILABLE, "store", 5);
            }
            Err(_) => return later(StatusCode::SERVICE_UNAVAILABLE, "ending", 5),
        }
    };
    let mut outcomes = outcomes.into_iter();
    let mut settled = |refused: Option<&'static str>| {
        refused.unwrap_or_else(|| match outcomes.next() {
            Some(Outcome::New) => "counted",
            Some(Outcome::Repeated) => "repeated",
            Some(Outcome::Conflict) | None => CONFLICT,
        })
    };
    let results: Vec<&'static str> = refused.into_iter().map(&mut settled).collect();
    let count = |word: &str| results.iter().filter(|result| **result == word).count();
    let (counted, repeated) = (count("counted"), count("repeated"));
    let answer = Answer { counted, repeated, refused: results.len() - counted - repeated, results };
    service.metrics.took(answer.counted as u64, answer.repeated as u64);
    for reason in &answer.results {
        if !matches!(*reason, "counted" | "repeated") {
            service.ingest.refuse(reason, 1);
        }
    }
    match serde_json::to_string(&answer) {
        Ok(text) => json(StatusCode::OK, text),
        Err(_) => later(StatusCode::SERVICE_UNAVAILABLE, "answer", 1),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use axum::body::Bytes;
    use http_body_util::channel::Channel;

    use super::*;

    /// A body in parts of so many bytes.
    async fn sent(parts: usize, bytes: usize) -> Result<Vec<u8>, Unread> {
        let (mut sender, body) = Channel::<Bytes, io::Error>::new(4);
        let sending = tokio::spawn(async move {
            for _ in 0..parts {
                if sender.send_data(Bytes::from(vec![b'7'; bytes])).await.is_err() {
                    break;
                }
            }
        });
        let read = whole(Body::new(body)).await;
        sending.await.unwrap();
        read
    }

    #[test]
    fn parts_are_put_together_up_to_the_limit() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            assert_eq!(sent(3000, 1).await, Ok(vec![b'7'; 3000]));
            assert_eq!(sent(16, MAX_BODY / 16).await.map(|body| body.len()), Ok(MAX_BODY));
            assert_eq!(sent(17, MAX_BODY / 16).await, Err(Unread::TooLong));
        });
    }
}
