//! Running something that may take long: without the GIL, with progress, and with an end when Ctrl-C is pressed.
//!
//! The work has a thread of its own. The calling thread, which is the only one that Python tells of signals, looks after it: it asks Python for signals,
//! hands progress on to Python, and keeps the clock. Ctrl-C first lets Monte Carlo end with its best estimate, then sets the flag at which all long
//! loops look ([`Stop`]); what does not end then is left behind and ends when it looks.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use numpy::PyArray2;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use sottovoce_job::render::{Format, Page, Render, Size};
use sottovoce_job::time::{POSTERIOR_LIMIT, limit_of_new};
use sottovoce_job::{NumbersError, Progress, Report, Request, Stop, admission};

use crate::errors::{cut, exception, invalid};

/// The calling thread looks after the work this often.
const PAUSE: Duration = Duration::from_millis(50);

/// After Ctrl-C or when time is over, Monte Carlo has so long to end the draws that are under way.
const LAST_DRAWS: Duration = Duration::from_millis(500);

/// What has not ended so long after the flag was set is left behind.
const GRACE: Duration = Duration::from_millis(300);

/// What a run may take.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    pub threads: Option<usize>,
    pub time: Option<Duration>,
    pub memory: Option<u64>,
}

/// What the work tells, and is told.
pub(crate) struct Watch {
    /// Whether numbers that can end at any time are to end.
    ending: AtomicBool,
    /// Whether one did.
    was_ended: AtomicBool,
    limited: bool,
    clock: Mutex<(Instant, Duration)>,
    latest: Mutex<Option<Progress>>,
}

impl Watch {
    fn new(limited: bool) -> Self {
        Watch {
            ending: AtomicBool::new(false),
            was_ended: AtomicBool::new(false),
            limited,
            clock: Mutex::new((Instant::now(), POSTERIOR_LIMIT)),
            latest: Mutex::new(None),
        }
    }

    /// Hears of progress, and says whether to go on. Without a limit of the run, each number has its usual one.
    pub(crate) fn hear(&self, progress: &Progress) -> ControlFlow<()> {
        // Unwrap safety: nothing panics while it holds a lock.
        *self.latest.lock().unwrap() = Some(*progress);
        let mut clock = self.clock.lock().unwrap();
        if let Some(usual) = limit_of_new(progress) {
            *clock = (Instant::now(), usual);
        }
        // Half a count is of no use.
        let counts = matches!(progress, Progress::Counting { .. } | Progress::Randomising { .. });
        let over = !self.limited && clock.0.elapsed() >= clock.1;
        if !counts && (over || self.ending.load(Ordering::Relaxed)) {
            self.was_ended.store(true, Ordering::Relaxed);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// How a run ended.
pub(crate) enum Ended<T> {
    /// By itself.
    Done(T),
    /// Early, by a signal or for want of time: the exception of the signal if it was one, and what the work had by then.
    Early(Option<PyErr>, Option<T>),
}

/// Does some work on other threads while this one looks after it. `tell` hands progress on to Python.
pub(crate) fn attended<T: Send + 'static>(
    py: Python<'_>,
    limits: Limits,
    mut tell: impl FnMut(Python<'_>, &Progress) -> PyResult<()>,
    work: impl FnOnce(&Watch) -> T + Send + 'static,
) -> PyResult<Ended<T>> {
    let (stop, watch, start) = (Stop::new(), Arc::new(Watch::new(limits.time.is_some())), Instant::now());
    let (sender, receiver) = channel();
    let (its_stop, its_watch) = (stop.clone(), watch.clone());
    thread::spawn(move || {
        let work = || admission::allowing(limits.memory, || work(&its_watch));
        // Nobody listens any more if the work was left behind.
        let _ = sender.send(its_stop.run(limits.threads, work));
    });
    let receiver = Mutex::new(receiver);
    let mut ending: Option<(Instant, Option<PyErr>)> = None;
    let done = loop {
        // Unwrap safety: only this thread locks it.
        let received = py.detach(|| receiver.lock().unwrap().recv_timeout(PAUSE));
        match received {
            Ok(done) => break done,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the computation failed; please report this as a bug"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        let latest = watch.latest.lock().unwrap().take();
        let heard = py.check_signals().and_then(|()| latest.map_or(Ok(()), |latest| tell(py, &latest)));
        match (&ending, heard) {
            (None, Err(signal)) => ending = Some((Instant::now(), Some(signal))),
            (Some(_), Err(second)) => {
                stop.ask();
                return Err(second);
            }
            (None, Ok(())) if limits.time.is_some_and(|limit| start.elapsed() >= limit) => {
                ending = Some((Instant::now(), None));
            }
            _ => {}
        }
        if let Some((since, _)) = &ending {
            watch.ending.store(true, Ordering::Relaxed);
            if since.elapsed() >= LAST_DRAWS {
                stop.ask();
            }
            if since.elapsed() >= LAST_DRAWS + GRACE {
                return Ok(Ended::Early(ending.and_then(|(_, signal)| signal), None));
            }
        }
    };
    let incomplete = stop.was_heard() || watch.was_ended.load(Ordering::Relaxed);
    match (ending, done.map_err(NumbersError::from)) {
        // What ended a number after its usual time is no news: its error says how far it got.
        (None, Ok(done)) => Ok(Ended::Done(done)),
        (Some((_, None)), Ok(done)) if !incomplete => Ok(Ended::Done(done)),
        (Some((_, signal)), done) => Ok(Ended::Early(signal, done.ok())),
        (None, Err(error)) => Err(exception(py, &error.into())),
    }
}

/// The exception of a run that ended early. A signal whose handler raises something else than `KeyboardInterrupt` is raised as it is.
pub(crate) fn ended_early(py: Python<'_>, signal: Option<PyErr>, so_far: Option<Py<PyAny>>) -> PyErr {
    match signal {
        Some(signal) if !signal.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) => signal,
        Some(_) => cut(py, "Interrupted", so_far),
        None => cut(py, "TimeOver", so_far),
    }
}

/// Does work on a column, which has no answer before it ends.
pub(crate) fn counted<T: Send + 'static>(
    py: Python<'_>,
    rows: usize,
    work: impl FnOnce(&Watch) -> sottovoce_job::Result<T> + Send + 'static,
) -> PyResult<T> {
    /// Fewer rows are not worth the start of several threads.
    const FEW: usize = 1 << 14;
    let limits = Limits { threads: (rows < FEW).then_some(1), ..Limits::default() };
    match attended(py, limits, |_, _| Ok(()), work)? {
        Ended::Done(Ok(done)) => Ok(done),
        Ended::Done(Err(error)) => Err(exception(py, &error)),
        Ended::Early(signal, _) => Err(ended_early(py, signal, None)),
    }
}

/// Does the job that a request asks for.
#[pyfunction]
#[pyo3(signature = (request, *, threads=None, time_limit=None, max_memory=None, progress=None))]
pub(crate) fn run(
    py: Python<'_>,
    request: &str,
    threads: Option<usize>,
    time_limit: Option<f64>,
    max_memory: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<JobReport> {
    let time = time_limit.map(Duration::try_from_secs_f64).transpose();
    let time =
        time.map_err(|_| invalid(py, "time_limit is not a number of seconds above 0", Some("time_limit")))?;
    if threads.is_some_and(|threads| !(1..=1024).contains(&threads)) {
        return Err(invalid(py, "threads is not a number from 1 to 1024", Some("threads")));
    }
    let limits = Limits { threads, time, memory: max_memory };
    let request = py.detach(|| Request::of_json(request)).map_err(|error| exception(py, &error))?;
    let job = request.job();
    let tell = |py: Python<'_>, latest: &Progress| match &progress {
        Some(listener) => {
            let (what, done, count) = told(latest);
            listener.call1(py, (what, done, count)).map(drop)
        }
        None => Ok(()),
    };
    let work = move |watch: &Watch| request.check()?.run(&|progress| watch.hear(progress));
    match attended(py, limits, tell, work)? {
        Ended::Done(Ok(report)) => Ok(JobReport { report, job }),
        Ended::Done(Err(error)) => Err(exception(py, &error)),
        Ended::Early(signal, so_far) => {
            let report = so_far.and_then(Result::ok).map(|report| Py::new(py, JobReport { report, job }));
            let report = report.transpose()?.map(Py::into_any);
            Err(ended_early(py, signal, report))
        }
    }
}

/// Progress for a bar: of what, which share is done if that is known, and how many draws or reports there are.
fn told(progress: &Progress) -> (String, Option<f64>, u64) {
    match progress {
        Progress::Metric { metric, users, sampling } => {
            (format!("{} n={users}", metric.name()), Some(sampling.fraction()), sampling.draws)
        }
        Progress::ExpectedError { estimator, users, sampling } => {
            (format!("error of {} n={users}", estimator.name()), Some(sampling.fraction()), sampling.draws)
        }
        Progress::Posterior { sampling } => ("posterior".into(), Some(sampling.fraction()), sampling.draws),
        Progress::Design { gap, directions, .. } => (format!("design, gap {gap:.1e}"), None, *directions),
        Progress::Randomising { reports } => ("randomise".into(), None, *reports),
        Progress::Counting { reports } => ("tally".into(), None, *reports),
        _ => (String::new(), None, 0),
    }
}

/// The names of all jobs.
#[pyfunction]
pub(crate) fn jobs() -> Vec<&'static str> {
    Request::JOBS.to_vec()
}

/// The JSON schemas of the requests and of the reports of a job.
#[pyfunction]
pub(crate) fn schema(job: &str) -> Option<(String, String)> {
    // Unwrap safety: a schema is a JSON value.
    let text = |schema| serde_json::to_string(&schema).unwrap();
    Some((text(Request::schema(job)?), text(Report::schema(job)?)))
}

/// The report of a job, which can be rendered in every format.
#[pyclass(frozen, module = "sottovoce._native")]
pub(crate) struct JobReport {
    report: Report,
    job: &'static str,
}

#[pymethods]
impl JobReport {
    /// The name of the job.
    #[getter]
    fn job(&self) -> &'static str {
        self.job
    }

    /// What `--format json` prints.
    fn json(&self, py: Python<'_>) -> String {
        py.detach(|| self.report.json())
    }

    /// What `--format csv` prints.
    fn csv(&self, py: Python<'_>) -> String {
        py.detach(|| self.report.csv())
    }

    /// What `--format html` prints: a page of its own.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| self.report.render(Format::Html).to_string())
    }

    /// What `--format text` prints on a page of this width.
    fn text(&self, py: Python<'_>, width: usize) -> String {
        let page = Page { width: width.clamp(30, 400), ..Page::default() };
        py.detach(|| self.report.text().laid_out(page).into_iter().map(|(_, text)| text).collect())
    }

    /// The charts as SVG.
    fn charts(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.report.text().charts().map(|chart| chart.svg(Size::WIDE)).collect())
    }

    /// The joint draws of the shares and of the true tallies, a row for each draw; nothing for other jobs.
    #[allow(clippy::type_complexity)]
    fn draws<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<u64>>)>> {
        let Report::Posterior(report) = &self.report else { return Ok(None) };
        let draws = &report.posterior.draws;
        let bug = |error: numpy::FromVecError| PyRuntimeError::new_err(error.to_string());
        Ok(Some((
            PyArray2::from_vec2(py, &draws.p).map_err(bug)?,
            PyArray2::from_vec2(py, &draws.t).map_err(bug)?,
        )))
    }
}
