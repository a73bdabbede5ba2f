//! Stopping a run from outside: one flag that all long loops check.
//!
//! A front end makes a [`Stop`], hands it to whatever may end the run (a timer, Ctrl-C, a client that
//! disconnects), and does its work inside [`Stop::run`]. This crate reads no clock. It only checks the flag,
//! which costs about a nanosecond and is cheap enough for inner loops.
//!
//! # How it works
//! When the flag is set, [`check`] unwinds out of the computation without a panic message, and no
//! half-finished result is returned. [`Stop::run`] catches the unwinding. So does code that still has a valid
//! answer without the interrupted part ([`caught`]): Monte Carlo returns its complete rounds of draws, an
//! [`Analysis`](crate::Analysis) the metrics already computed. Functions in between need no parameter and
//! return no error for it.
//!
//! The flag belongs to the threads of one run. Each run has its own pool, so two runs in one process do not
//! stop each other. Outside of [`Stop::run`] nothing is ever stopped. A program that aborts on panic
//! (`panic = "abort"`) must not set the flag.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that ends a run. Clones share the same flag.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    asked: AtomicBool,
    heard: AtomicBool,
}

/// The payload that unwinds out of a stopped computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// Why a run has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoResult {
    /// The flag was set before the work was done.
    Stopped,
    /// The system could not provide threads.
    NoThreads {
        /// The system's reason.
        reason: String,
    },
}

thread_local! {
    /// The flag of the run that this thread belongs to.
    static CURRENT: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

impl Stop {
    /// A new flag, not set.
    pub fn new() -> Self {
        Stop::default()
    }

    /// Sets the flag: computations end soon. It cannot be unset.
    pub fn ask(&self) {
        self.0.asked.store(true, Ordering::Relaxed);
    }

    /// Whether the flag is set.
    pub fn is_asked(&self) -> bool {
        self.0.asked.load(Ordering::Relaxed)
    }

    /// Whether a computation was cut off. A run that finished before the flag was set has lost nothing.
    pub fn was_heard(&self) -> bool {
        self.0.heard.load(Ordering::Relaxed)
    }

    /// Runs the work on its own thread pool, by default with one thread per processor.
    ///
    /// # Errors
    /// [`NoResult::Stopped`] if the flag cut it off; [`NoResult::NoThreads`] if the system could not provide
    /// threads.
    pub fn run<T: Send>(
        &self,
        threads: Option<usize>,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, NoResult> {
        self.on_threads(threads, || caught(work))?.map_err(|Stopped| NoResult::Stopped)
    }

    #[cfg(feature = "parallel")]
    fn on_threads<T: Send>(
        &self,
        threads: Option<usize>,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, NoResult> {
        let stop = self.clone();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads.unwrap_or(0))
            .stack_size(STACK)
            .start_handler(move |_| CURRENT.set(Some(stop.clone())))
            .build()
            .map_err(|error| NoResult::NoThreads { reason: error.to_string() })?;
        Ok(pool.install(work))
    }

    /// Runs on the calling thread, whatever number of threads was requested.
    #[cfg(not(feature = "parallel"))]
    fn on_threads<T: Send>(&self, _: Option<usize>, work: impl FnOnce() -> T + Send) -> Result<T, NoResult> {
        let before = CURRENT.replace(Some(self.clone()));
        let done = work();
        CURRENT.set(before);
        Ok(done)
    }
}

/// The number of threads of the current run.
pub fn threads() -> usize {
    #[cfg(feature = "parallel")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    1
}

/// Stack size of each thread in bytes, the same as a main thread has.
#[cfg(feature = "parallel")]
const STACK: usize = 8 << 20;

/// Ends the computation if the flag is set.
pub fn check() {
    if is_asked() {
        resume_unwind(Box::new(Stopped));
    }
}

/// Whether this run should stop, for loops that can end early with a partial result. A positive answer counts
/// as a cut-off.
pub fn is_asked() -> bool {
    CURRENT.with_borrow(|current| {
        let Some(stop) = current.as_ref().filter(|stop| stop.is_asked()) else { return false };
        stop.0.heard.store(true, Ordering::Relaxed);
        true
    })
}

/// Runs some work and reports if it was cut off. State that the work modified must stay valid or must not be
/// used again.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Stopped> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast::<Stopped>() {
        Ok(stopped) => *stopped,
        Err(panic) => resume_unwind(panic),
    })
}

#[cfg(test)]
mod tests {
    use crate::numerics::parallel::*;

    use super::*;

    #[test]
    fn outside_of_a_run_nothing_is_stopped() {
        Stop::new().ask();
        check();
        assert!(!is_asked());
    }

    #[test]
    fn all_threads_of_a_run_hear_of_it_and_no_others() {
        let (stop, other) = (Stop::new(), Stop::new());
        other.ask();
        assert_eq!(stop.run(Some(2), || (0..100).into_par_iter().map(|i| (check(), i).1).sum()), Ok(4950));
        assert!(!stop.was_heard());
        let deep = || {
            stop.ask();
            (0..100).into_par_iter().map(|i| (check(), i).1).sum::<i32>()
        };
        assert_eq!(stop.run(Some(2), deep), Err(NoResult::Stopped));
        assert!(stop.was_heard());
    }

    #[test]
    fn who_has_an_answer_catches_it() {
        let stop = Stop::new();
        stop.ask();
        assert_eq!(stop.run(Some(1), || caught(check).map_or("so far", |()| "all")), Ok("so far"));
    }

    #[test]
    #[should_panic(expected = "of another kind")]
    fn a_panic_is_none_of_its_business() {
        let _ = caught(|| panic!("of another kind"));
    }
}
