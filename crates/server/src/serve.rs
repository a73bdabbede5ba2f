//! The life of a service: it opens its store, listens, and ends in order when it is asked to.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, watch};

use crate::admission::admit;
use crate::analyst::Analyst;
use crate::http::{Metrics, Rate, Service, router};
use crate::ingest::Writing;
use crate::live::Live;
use crate::patient::Patient;
use crate::problem::{Error, Result};
use crate::publication::publication;
use crate::served::Served;
use crate::store::{Postgres, Sqlite, Store};
use crate::token::Token;

/// Connections at once; others wait. With [`crate::http::MAX_BODY`] this bounds the memory of half-sent batches.
const MAX_CONNECTIONS: usize = 512;

/// The head of a request must be there after so long, also on a connection that has been used before.
const HEAD_TIME: Duration = Duration::from_secs(15);

/// A write must not wait longer for a client to read.
const WRITE_TIME: Duration = Duration::from_secs(30);

/// Most bytes of the head of a request, and of what is read ahead.
const MAX_HEAD: usize = 32 << 10;

/// So long requests that are under way may take when the service ends.
const GRACE: Duration = Duration::from_secs(10);

/// Where reports are kept.
#[derive(Clone, Debug)]
pub enum Place {
    /// In a directory.
    Directory(PathBuf),
    /// In a PostgreSQL database.
    Database(String),
}

impl Place {
    /// Opens the store of a study.
    ///
    /// # Errors
    /// It cannot be used, or has the reports of another study.
    pub fn open(&self, served: &Served) -> Result<Arc<dyn Store>> {
        Ok(match self {
            Place::Directory(directory) => Arc::new(Sqlite::open(directory, &served.name())?),
            Place::Database(address) => Arc::new(Postgres::open(address, &served.name())?),
        })
    }

    /// Opens the store of a study, which must exist.
    ///
    /// # Errors
    /// There is none, it cannot be used, or has the reports of another study.
    pub fn existing(&self, served: &Served) -> Result<Arc<dyn Store>> {
        match self {
            Place::Directory(directory) => Sqlite::find(directory)?,
            Place::Database(address) => Postgres::find(address)?,
        }
        self.open(served)
    }
}

/// How a study is served.
pub struct Settings {
    /// What is asked.
    pub served: Served,
    /// Where reports are kept.
    pub place: Place,
    /// The address to listen on.
    pub address: SocketAddr,
    /// Who may read results.
    pub token: Token,
    /// Most reports a second.
    pub rate: f64,
}

/// A way to end a service from another thread.
#[derive(Clone)]
pub struct Ending(Arc<watch::Sender<bool>>);

impl Default for Ending {
    fn default() -> Self {
        Ending(Arc::new(watch::Sender::new(false)))
    }
}

impl Ending {
    /// Asks the service to end.
    pub fn ask(&self) {
        self.0.send_replace(true);
    }
}

/// A service that listens.
pub struct Listening {
    runtime: Runtime,
    listener: TcpListener,
    service: Arc<Service>,
    writing: Writing,
    analyst: (Analyst, JoinHandle<()>),
}

impl Listening {
    /// Opens the store, counts what is in it, and listens.
    ///
    /// # Errors
    /// A protocol cannot be served, or the store or the address cannot be used.
    pub fn begin(settings: Settings) -> Result<Self> {
        let Settings { served, place, address, token, rate } = settings;
        admit(&served)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(Error::System)?;
        let listener = runtime
            .block_on(TcpListener::bind(address))
            .map_err(|error| Error::Address { address, error })?;
        let served = Arc::new(served);
        let store = place.open(&served)?;
        let live = Arc::new(Live::new(served.clone(), &*store)?);
        let writing = Writing::begin(&*store, live.clone())?;
        let analyst = Analyst::begin(served.clone(), store.clone(), live.clone())?;
        let service = Arc::new(Service {
            publication: publication(&served)?.into(),
            state: store.state()?,
            served,
            store,
            ingest: writing.ingest(),
            live,
            analyst: analyst.0.clone(),
            token,
            rate: Rate::new(rate),
            metrics: Metrics::default(),
        });
        Ok(Listening { runtime, listener, service, writing, analyst })
    }

    /// The address, with the port that the system chose if none was asked for.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> Result<SocketAddr> {
        self.listener.local_addr().map_err(Error::System)
    }

    /// How many reports there are already.
    pub fn reports(&self) -> u64 {
        self.service.live.numbers().iter().sum()
    }

    /// Answers requests until it is asked to end, then ends in order: requests under way are answered, and what was taken is kept.
    ///
    /// # Errors
    /// The store fails in the end.
    pub fn run(self, ending: &Ending) -> Result {
        let Listening { runtime, listener, service, writing, analyst } = self;
        let router = router(service);
        runtime.block_on(accept(listener, router, ending.0.subscribe()));
        let (analyst, analysing) = analyst;
        analyst.end();
        // The thread has no answer, and its failure would have shown on the page.
        let _ = analysing.join();
        runtime.shutdown_timeout(Duration::from_secs(1));
        writing.end()
    }
}

async fn accept(listener: TcpListener, router: Router, mut ending: watch::Receiver<bool>) {
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let slot = tokio::select! {
            slot = connections.clone().acquire_owned() => slot,
            _ = ending.wait_for(|asked| *asked) => break,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = ending.wait_for(|asked| *asked) => break,
        };
        let (Ok(slot), Ok((stream, _))) = (slot, accepted) else {
            // Too many open files, for instance: some will be closed.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (router, ending) = (router.clone(), ending.clone());
        tokio::spawn(async move {
            converse(stream, router, ending).await;
            drop(slot);
        });
    }
    drop(listener);
    // All slots are free when all connections have ended.
    let all = connections.acquire_many(MAX_CONNECTIONS as u32);
    let _ = tokio::time::timeout(GRACE, all).await;
}

/// Answers the requests of one connection. Who is at its other end is never looked at.
async fn converse(stream: TcpStream, router: Router, mut ending: watch::Receiver<bool>) {
    // Small answers are sent at once.
    let _ = stream.set_nodelay(true);
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(MAX_HEAD);
    let stream = TokioIo::new(Patient::new(stream, WRITE_TIME));
    let connection = server.serve_connection(stream, TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    // A connection that breaks concerns its client alone.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = ending.wait_for(|asked| *asked) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = tokio::time::timeout(GRACE, connection).await;
}
