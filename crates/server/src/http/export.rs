//! Reports and tallies as files that the other commands read.

use std::io::{self, Write};
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::channel::Channel;
use tokio::runtime::Handle;

use super::{Service, json, later, problem};
use crate::export::write_reports;

/// Bytes that are sent at once.
const PART: usize = 1 << 16;

/// The tallies of a collection.
pub async fn tallies(State(service): State<Arc<Service>>, Path(name): Path<String>) -> Response {
    let Some((place, _)) = service.served.collection(&name) else {
        return problem(StatusCode::NOT_FOUND, "collection");
    };
    let texts = tokio::task::spawn_blocking(move || {
        service.live.refresh(&*service.store)?;
        service.live.texts()
    });
    match texts.await {
        Ok(Ok((_, mut texts))) => json(StatusCode::OK, texts.swap_remove(place.into())),
        _ => later(StatusCode::SERVICE_UNAVAILABLE, "store", 5),
    }
}

/// All reports of a collection, as CSV, if none were forgotten. A file that is cut off has no end, and no command takes it.
pub async fn reports(State(service): State<Arc<Service>>, Path(name): Path<String>) -> Response {
    let Some((place, _)) = service.served.collection(&name) else {
        return problem(StatusCode::NOT_FOUND, "collection");
    };
    let own = service.clone();
    let forgotten = tokio::task::spawn_blocking(move || own.store.state().map(|state| state.tallies));
    match forgotten.await {
        Ok(Ok(forgotten)) if forgotten.is_empty() => {}
        Ok(Ok(_)) => return problem(StatusCode::GONE, "forgotten"),
        _ => return later(StatusCode::SERVICE_UNAVAILABLE, "store", 5),
    }
    let (sender, body) = Channel::<Bytes, io::Error>::new(4);
    let parts = Parts { sender: Some(sender), waiting: Vec::with_capacity(PART), runtime: Handle::current() };
    tokio::task::spawn_blocking(move || {
        let asked = &service.served.collections[usize::from(place)];
        // Who reads the file finds no end in it if this fails.
        let written = write_reports(&*service.store, place, asked, parts);
        if let Ok(mut parts) = written {
            let _ = parts.flush();
        }
    });
    let kind = [(header::CONTENT_TYPE, "text/csv; charset=utf-8")];
    (StatusCode::OK, kind, Body::new(body)).into_response()
}

/// A writer whose bytes are sent in parts, as fast as they are taken.
struct Parts {
    sender: Option<http_body_util::channel::Sender<Bytes, io::Error>>,
    waiting: Vec<u8>,
    runtime: Handle,
}

impl Write for Parts {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= PART {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let part = std::mem::take(&mut self.waiting);
        let Some(sender) = &mut self.sender else { return Err(io::ErrorKind::BrokenPipe.into()) };
        if part.is_empty() {
            return Ok(());
        }
        let sent = self.runtime.block_on(sender.send_data(part.into()));
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
