//! Where files are: on this machine, in an S3-compatible store, or on a web server.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::object_store::ObjectStoreRegistry;
use object_store::aws::AmazonS3Builder;
use object_store::http::HttpBuilder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStore, ObjectStoreExt, RetryConfig};
use sottovoce_collect::files::parquet_reports::ReadAt;
use tokio::runtime::Handle;
use url::Url;

/// The stores, opened when a file of them is first asked for. Keys and endpoints come from the environment (`AWS_…`) of the process that reads,
/// and are sent to nobody.
#[derive(Debug, Default)]
pub(crate) struct Stores(Mutex<HashMap<String, Arc<dyn ObjectStore>>>);

impl ObjectStoreRegistry for Stores {
    fn register_store(&self, url: &Url, store: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key(url), store)
    }

    fn get_store(&self, url: &Url) -> DataFusionResult<Arc<dyn ObjectStore>> {
        let mut stores = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = stores.get(&key(url)) {
            return Ok(Arc::clone(store));
        }
        let store = open(url).map_err(|error| DataFusionError::ObjectStore(Box::new(error)))?;
        stores.insert(key(url), Arc::clone(&store));
        Ok(store)
    }
}

fn key(url: &Url) -> String {
    url[..url::Position::BeforePath].to_owned()
}

fn open(url: &Url) -> object_store::Result<Arc<dyn ObjectStore>> {
    // A store that does not answer is told of within a minute, not after the three that are usual.
    let retry =
        RetryConfig { max_retries: 4, retry_timeout: Duration::from_secs(30), ..RetryConfig::default() };
    let client = ClientOptions::new().with_allow_http(true).with_timeout(Duration::from_secs(60));
    Ok(match url.scheme() {
        "s3" | "s3a" => {
            let bucket = url.host_str().unwrap_or_default();
            let builder = AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry);
            Arc::new(builder.with_allow_http(true).build()?)
        }
        "http" | "https" => {
            let builder = HttpBuilder::new().with_url(key(url)).with_retry(retry);
            Arc::new(builder.with_client_options(client).build()?)
        }
        _ => Arc::new(LocalFileSystem::new()),
    })
}

/// Bytes that are read ahead: a group of rows of ours has 16 MiB or less.
const BLOCK: u64 = 8 << 20;

/// Bytes at the end that are read together: the metadata of most files.
const TAIL: u64 = 64 << 10;

/// A file of a store, read from threads that may wait.
pub(crate) struct StoredFile {
    store: Arc<dyn ObjectStore>,
    path: Path,
    length: u64,
    runtime: Handle,
    /// The end of the file, and what was read last.
    held: Mutex<[Option<Block>; 2]>,
}

struct Block {
    start: u64,
    bytes: bytes::Bytes,
}

impl StoredFile {
    /// A file of so many bytes. Must be called within the runtime.
    pub(crate) fn new(store: Arc<dyn ObjectStore>, path: Path, length: u64) -> Self {
        StoredFile { store, path, length, runtime: Handle::current(), held: Mutex::default() }
    }

    fn fetch(&self, range: Range<u64>) -> io::Result<bytes::Bytes> {
        self.runtime.block_on(self.store.get_range(&self.path, range)).map_err(kind)
    }
}

impl Block {
    fn part(&self, range: &Range<u64>) -> Option<bytes::Bytes> {
        let end = self.start + self.bytes.len() as u64;
        let inside = self.start <= range.start && range.end <= end;
        inside
            .then(|| self.bytes.slice((range.start - self.start) as usize..(range.end - self.start) as usize))
    }
}

impl ReadAt for StoredFile {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, start: u64, length: usize) -> io::Result<bytes::Bytes> {
        let wanted = start..self.length.min(start.saturating_add(length as u64)).max(start);
        if wanted.is_empty() {
            return Ok(bytes::Bytes::new());
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = held.iter().flatten().find_map(|block| block.part(&wanted)) {
            return Ok(found);
        }
        let tail = self.length.saturating_sub(TAIL);
        let (slot, range) = match start >= tail {
            true => (0, tail..self.length),
            false => (1, start..self.length.min(wanted.end.max(start + BLOCK))),
        };
        let block = Block { start: range.start, bytes: self.fetch(range)? };
        let found = block.part(&wanted).ok_or(io::ErrorKind::UnexpectedEof)?;
        held[slot] = Some(block);
        Ok(found)
    }
}

/// What a store's error means to a reader of files.
pub(crate) fn kind(error: object_store::Error) -> io::Error {
    let kind = match &error {
        object_store::Error::NotFound { .. } => {
            return io::Error::new(io::ErrorKind::NotFound, "there is no such file");
        }
        object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
            io::ErrorKind::PermissionDenied
        }
        _ => io::ErrorKind::ConnectionAborted,
    };
    io::Error::new(kind, error.to_string())
}
