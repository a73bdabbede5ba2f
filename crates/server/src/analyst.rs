//! What the reports say so far: the job `analyse` on the tallies in memory, on a thread of its own.
//!
//! It runs when somebody asks and there are other reports than the last time; until it is done, the last answer is given.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use sottovoce_job::render::Render;
use sottovoce_job::{AnalyseRequest, Stop, unobserved};

use crate::live::Live;
use crate::problem::{Error, Result};
use crate::served::Served;
use crate::store::Store;

/// Probability of the intervals.
pub const LEVEL: f64 = 0.95;

/// Of the time that passes, an analysis may take this part; who asks sooner gets the last one.
const SHARE_OF_TIME: u32 = 4;

/// What was found.
#[derive(Clone)]
pub struct Finding {
    /// The numbers of reports that it was found from.
    pub n: Vec<u64>,
    /// The report of the job `analyse`, or why there is none.
    pub report: std::result::Result<Arc<RawValue>, String>,
    /// How long it took.
    pub took: Duration,
}

#[derive(Default)]
struct State {
    wanted: bool,
    ended: bool,
    latest: Option<Finding>,
    /// When the latest was found.
    at: Option<Instant>,
}

/// The way to the analysing thread.
#[derive(Clone)]
pub struct Analyst {
    state: Arc<(Mutex<State>, Condvar)>,
    stop: Stop,
}

impl Analyst {
    /// Begins to wait for questions.
    ///
    /// # Errors
    /// There is no thread.
    pub fn begin(
        served: Arc<Served>,
        store: Arc<dyn Store>,
        live: Arc<Live>,
    ) -> Result<(Self, JoinHandle<()>)> {
        let analyst = Analyst { state: Arc::default(), stop: Stop::new() };
        let own = analyst.clone();
        let thread = std::thread::Builder::new().name("analyst".into());
        let thread = thread.spawn(move || own.run(&served, &*store, &live)).map_err(Error::System)?;
        Ok((analyst, thread))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Unwrap safety: nothing panics while it holds the lock.
        self.state.0.lock().unwrap()
    }

    /// The last finding; a new one is begun if there are other reports.
    pub fn ask(&self) -> Option<Finding> {
        let mut state = self.state();
        state.wanted = true;
        self.state.1.notify_one();
        state.latest.clone()
    }

    /// Ends the thread, whatever it is doing.
    pub fn end(&self) {
        self.state().ended = true;
        self.state.1.notify_one();
        self.stop.ask();
    }

    fn run(&self, served: &Served, store: &dyn Store, live: &Live) {
        while self.wait(live) {
            // A store that does not answer shows in the health of the service; until then the last tallies are analysed.
            let _ = live.refresh(store);
            if self.state().latest.as_ref().is_some_and(|latest| latest.n == live.numbers()) {
                continue;
            }
            let start = Instant::now();
            let found = live.texts();
            let (n, report) = match found {
                Ok((n, tallies)) => (n, self.report(served, tallies)),
                Err(problem) => (live.numbers(), Err(problem.to_string())),
            };
            let finding = Finding { n, report, took: start.elapsed() };
            let mut state = self.state();
            (state.latest, state.at) = (Some(finding), Some(Instant::now()));
        }
    }

    /// Waits until somebody asks and the last analysis was long enough ago; false if the service ends.
    fn wait(&self, live: &Live) -> bool {
        let mut state = self.state();
        loop {
            if state.ended {
                return false;
            }
            let pause = state.latest.as_ref().zip(state.at).map_or(Duration::ZERO, |(latest, at)| {
                (latest.took * SHARE_OF_TIME).saturating_sub(at.elapsed())
            });
            let pause = pause.max(live.rest().unwrap_or_default());
            // Unwrap safety: as above.
            state = match (state.wanted, pause) {
                (true, Duration::ZERO) => break,
                (true, pause) => self.state.1.wait_timeout(state, pause).unwrap().0,
                (false, _) => self.state.1.wait(state).unwrap(),
            };
        }
        state.wanted = false;
        true
    }

    fn report(&self, served: &Served, tallies: Vec<String>) -> std::result::Result<Arc<RawValue>, String> {
        let mut request = AnalyseRequest::of(served.file.clone(), "the service");
        (request.round, request.level) = (served.round, LEVEL);
        // One thread: reports must not wait for an analysis.
        let done = self.stop.run(Some(1), || request.check_with(tallies)?.run(&unobserved));
        let report = match done {
            Ok(report) => report.map_err(|error| error.to_string())?,
            Err(_) => return Err("the service ends".into()),
        };
        RawValue::from_string(report.json()).map(Arc::from).map_err(|error| error.to_string())
    }
}
