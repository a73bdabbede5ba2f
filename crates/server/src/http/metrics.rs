//! Counters for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::Service;

/// What this process has done.
#[derive(Default)]
pub struct Metrics {
    batches: AtomicU64,
    counted: AtomicU64,
    repeated: AtomicU64,
    failures: AtomicU64,
    fails: AtomicBool,
    /// When the store was tried last because nobody used it.
    probed: Mutex<Option<Instant>>,
}

/// A store that fails is tried no more often, whoever asks.
const PROBE: Duration = Duration::from_secs(2);

impl Metrics {
    pub(super) fn took(&self, counted: u64, repeated: u64) {
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.counted.fetch_add(counted, Ordering::Relaxed);
        self.repeated.fetch_add(repeated, Ordering::Relaxed);
    }

    pub(super) fn store_works(&self, works: bool) {
        self.fails.store(!works, Ordering::Relaxed);
        if !works {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether the store may be tried now.
    pub(super) fn may_probe(&self) -> bool {
        // Unwrap safety: nothing panics while it holds the lock.
        let mut probed = self.probed.lock().unwrap();
        let may = probed.is_none_or(|last| last.elapsed() >= PROBE);
        if may {
            *probed = Some(Instant::now());
        }
        may
    }

    /// Whether the store failed when it was used last.
    pub(super) fn store_fails(&self) -> bool {
        self.fails.load(Ordering::Relaxed)
    }
}

/// How many reports were refused, by reason: those of earlier runs and of other processes too.
pub(super) fn refused(service: &Service) -> BTreeMap<String, u64> {
    let mut refused = service.store.state().map(|state| state.refused).unwrap_or_default();
    for (reason, n) in service.ingest.refusals() {
        *refused.entry(reason.to_owned()).or_default() += n;
    }
    refused
}

/// The answer for Prometheus.
pub async fn metrics(State(service): State<Arc<Service>>) -> Response {
    let text = tokio::task::spawn_blocking(move || text(&service)).await.unwrap_or_default();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}

fn text(service: &Service) -> String {
    let metrics = &service.metrics;
    let mut text = String::new();
    let mut family = |name: &str, kind: &str, help: &str, values: &[(String, u64)]| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "# HELP sottovoce_{name} {help}\n# TYPE sottovoce_{name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(text, "sottovoce_{name}{labels} {value}");
        }
    };
    let one = |value: &AtomicU64| [(String::new(), value.load(Ordering::Relaxed))];
    family("batches_total", "counter", "Batches answered by this process.", &one(&metrics.batches));
    family("counted_total", "counter", "Reports counted by this process.", &one(&metrics.counted));
    family(
        "repeated_total",
        "counter",
        "Reports that this process had counted before.",
        &one(&metrics.repeated),
    );
    family(
        "store_failures_total",
        "counter",
        "Batches that the store failed to keep.",
        &one(&metrics.failures),
    );
    let label = |name: &str, value: &str| {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("{{{name}=\"{value}\"}}")
    };
    let refused: Vec<_> =
        refused(service).into_iter().map(|(reason, n)| (label("reason", &reason), n)).collect();
    family("refused_total", "counter", "Reports refused, by reason.", &refused);
    let numbers = service.live.numbers().into_iter().zip(&service.served.collections);
    let numbers: Vec<_> = numbers.map(|(n, asked)| (label("collection", &asked.name), n)).collect();
    family("reports", "gauge", "Reports counted in each collection.", &numbers);
    let up = u64::from(!metrics.store_fails());
    family("store_up", "gauge", "Whether the store worked when it was used last.", &[(String::new(), up)]);
    text
}
