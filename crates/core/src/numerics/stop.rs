//! How a run is ended from outside: one flag, which all long loops look at.
//!
//! A front end makes a [`Stop`], hands it to whoever ends runs (a timer, Ctrl-C, a client that hangs up), and does its work inside [`Stop::run`]. This crate
//! reads no clock: it only looks at the flag, so that a look costs about a nanosecond and can stand in inner loops.
//!
//! # How it works
//! [`check`] unwinds out of the computation when the flag is set, without the message of a panic; nothing that was half done is given to anyone. [`Stop::run`] catches
//! it, and so does whoever has an honest answer without the part that was cut off ([`caught`]): Monte Carlo its complete rounds of draws, an
//! [`Analysis`](crate::Analysis) the metrics that it has found. Functions in between need no parameter and return no error for it.
//!
//! The flag belongs to the threads of one run: each has its own pool, and two runs in one process do not hear each other's. Outside of [`Stop::run`] nothing is ever
//! stopped. A program that aborts on panic (`panic = "abort"`) must not ask to stop.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that ends a run. Its clones are the same flag.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    asked: AtomicBool,
    heard: AtomicBool,
}

/// What unwinds out of a computation that is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// Why a run has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoResult {
    /// The flag was set before the work was done.
    Stopped,
    /// The system gives no threads.
    NoThreads {
        /// The system's reason.
        reason: String,
    },
}

thread_local! {
    /// The flag of the run that this thread works for.
    static CURRENT: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

impl Stop {
    /// A flag that is not set.
    pub fn new() -> Self {
        Stop::default()
    }

    /// Sets the flag: computations end soon, and for good.
    pub fn ask(&self) {
        self.0.asked.store(true, Ordering::Relaxed);
    }

    /// Whether the flag is set.
    pub fn is_asked(&self) -> bool {
        self.0.asked.load(Ordering::Relaxed)
    }

    /// Whether a computation was cut off: a run that was done before the flag was set has lost nothing.
    pub fn was_heard(&self) -> bool {
        self.0.heard.load(Ordering::Relaxed)
    }

    /// Does the work on threads of its own, as many as processors if nothing is said.
    ///
    /// # Errors
    /// [`NoResult::Stopped`] if the flag cut it off; [`NoResult::NoThreads`] if the system gives no threads.
    pub fn run<T: Send>(
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
        pool.install(|| caught(work)).map_err(|Stopped| NoResult::Stopped)
    }
}

/// On how many threads the run of this thread works.
pub fn threads() -> usize {
    rayon::current_num_threads()
}

/// Bytes of the stack of each thread, as main threads have.
const STACK: usize = 8 << 20;

/// Ends the computation if it was asked to.
pub fn check() {
    if is_asked() {
        resume_unwind(Box::new(Stopped));
    }
}

/// Whether the run of this thread was asked to stop, for those who can end by themselves. To be told so is to be cut off.
pub fn is_asked() -> bool {
    CURRENT.with_borrow(|current| {
        let Some(stop) = current.as_ref().filter(|stop| stop.is_asked()) else { return false };
        stop.0.heard.store(true, Ordering::Relaxed);
        true
    })
}

/// Does some work, and says if it was cut off. What it has touched must be as good as before, or not be used again.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Stopped> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast::<Stopped>() {
        Ok(stopped) => *stopped,
        Err(panic) => resume_unwind(panic),
    })
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

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
