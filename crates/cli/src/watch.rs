//! Long computations: a line that tells how far they are, a clock that ends those that have an answer at any moment, and Ctrl-C.
//!
//! The first Ctrl-C ends the running number with its best estimate and leaves out what has not been begun; the results so far are printed,
//! and the exit code is 130. The second one ends the process at once.

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use sottovoce_job::render::Document;
use sottovoce_job::time::{POSTERIOR_LIMIT, limit_of_new};
use sottovoce_job::{Progress, Sampling};

use crate::arguments::OutputArguments;
use crate::failure::{Result, Told};
use crate::limits;
use crate::output::print;
use crate::signals;

/// A line of progress is written this often.
const PAUSE: Duration = Duration::from_millis(200);

/// Nothing is said about numbers that are found sooner.
const PATIENCE: Duration = Duration::from_secs(1);

/// Of the time that is left, the share of a number or of a design, after which others may come; and that of the draws of a posterior, after which only its summary
/// does.
const NUMBER_SHARE: f64 = 0.4;
const DRAWS_SHARE: f64 = 0.75;

/// Watches the computations of one command.
pub(crate) struct Watch {
    /// Whether somebody sees a line of progress.
    seen: bool,
    clock: Mutex<Clock>,
}

/// When the running number was begun, and when something was last said about it.
struct Clock {
    start: Instant,
    /// How long it may take.
    limit: Duration,
    said: Option<Instant>,
}

impl Watch {
    /// A watch that listens to Ctrl-C, ends each number after a time, and tells of progress unless it is to be quiet.
    pub(crate) fn new(quiet: bool) -> Self {
        let told = std::io::stderr().is_terminal();
        signals::listen(told);
        let limit = limits::share(DRAWS_SHARE).unwrap_or(POSTERIOR_LIMIT);
        Watch { seen: told && !quiet, clock: Mutex::new(Clock { start: Instant::now(), limit, said: None }) }
    }

    /// A watch over a job that writes a file: Ctrl-C ends it at once, since half a file is of no use.
    pub(crate) fn of_counting(quiet: bool) -> Self {
        let seen = std::io::stderr().is_terminal() && !quiet;
        Watch { seen, clock: Mutex::new(Clock { start: Instant::now(), limit: Duration::MAX, said: None }) }
    }

    /// Hears of progress, and says whether to go on.
    pub(crate) fn hear(&self, progress: &Progress) -> ControlFlow<()> {
        // Unwrap safety: nothing panics while it holds the lock.
        let mut clock = self.clock.lock().unwrap();
        if let Some(usual) = limit_of_new(progress) {
            (clock.start, clock.limit) = (Instant::now(), limits::share(NUMBER_SHARE).unwrap_or(usual));
        } else if self.seen && clock.is_due() {
            write(&format!("\r\u{1b}[2K{}", line(progress, clock.start.elapsed(), clock.limit)));
            clock.said = Some(Instant::now());
        }
        // Counting is ended by the flag of the run only: half a count is of no use.
        let counts = matches!(progress, Progress::Counting { .. } | Progress::Randomising { .. });
        if !counts && (self.interrupted() || clock.start.elapsed() >= clock.limit) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    pub(crate) fn interrupted(&self) -> bool {
        signals::interrupted()
    }

    /// Takes the line of progress away and writes the document; after Ctrl-C or if time was over, to standard output, since a file is for complete results.
    pub(crate) fn write(&self, output: &OutputArguments, document: &Document) -> Result {
        if self.interrupted() || limits::is_cut() {
            return self.print(output, document);
        }
        self.clear();
        output.write(document)
    }

    /// Takes the line of progress away and prints the document. After Ctrl-C or if time was over, a file is not written.
    pub(crate) fn print(&self, output: &OutputArguments, document: &Document) -> Result {
        self.clear();
        print(document)?;
        if self.interrupted() || limits::is_cut() {
            return Err(limits::cut(Told::SoFar, output.file()));
        }
        Ok(())
    }

    /// Takes the line of progress away.
    pub(crate) fn clear(&self) {
        // Unwrap safety: as above.
        if self.clock.lock().unwrap().said.is_some() {
            write("\r\u{1b}[2K");
        }
    }
}

impl Clock {
    fn is_due(&self) -> bool {
        self.start.elapsed() >= PATIENCE && self.said.is_none_or(|said| said.elapsed() >= PAUSE)
    }
}

/// Progress in a line of at most 79 columns.
fn line(progress: &Progress, elapsed: Duration, limit: Duration) -> String {
    let text = match progress {
        Progress::Metric { metric, users, sampling } => {
            number_line(&format!("{} n={users}", metric.symbol()), sampling, elapsed, limit)
        }
        Progress::ExpectedError { estimator, users, sampling } => {
            number_line(&format!("error of {} n={users}", estimator.name()), sampling, elapsed, limit)
        }
        Progress::Posterior { sampling } => {
            let left = left(sampling.fraction(), elapsed);
            format!(
                "posterior: {} draws, about {} left if the chains converge by then",
                sampling.draws,
                time(left)
            )
        }
        Progress::Design { directions, gap, tolerance } => {
            format!("design: {directions} directions priced, gap {gap:.1e}, wanted {tolerance:.1e}")
        }
        Progress::Randomising { reports } => {
            format!("randomise: {reports} reports, {:.0} per second", *reports as f64 / elapsed.as_secs_f64())
        }
        Progress::Counting { reports } => {
            format!("tally: {reports} reports, {:.0} per second", *reports as f64 / elapsed.as_secs_f64())
        }
        _ => String::new(),
    };
    text.chars().take(79).collect()
}

/// A number that is found by random draws.
fn number_line(name: &str, sampling: &Sampling, elapsed: Duration, limit: Duration) -> String {
    let Sampling { draws, value, error, tolerance, .. } = sampling;
    if !error.is_finite() {
        return format!("{name}: {draws} draws");
    }
    let left = left(sampling.fraction(), elapsed).min(limit.saturating_sub(elapsed));
    format!("{name}: {value:.4} ± {error:.1e}, wanted {tolerance:.1e}, about {} left", time(left))
}

/// The time that is left when this share of the work took so long.
fn left(done: f64, elapsed: Duration) -> Duration {
    let seconds = elapsed.as_secs_f64() * (1.0 / done - 1.0);
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

fn time(left: Duration) -> String {
    match left.as_secs() {
        seconds @ 0..100 => format!("{seconds} s"),
        seconds @ 100..6000 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h", seconds.div_ceil(3600)),
    }
}

/// Writes to standard error. Nobody is left to be told if it is closed.
pub(crate) fn write(text: &str) {
    let mut stderr = anstream::stderr();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_is_left_is_told_in_round_words() {
        let seconds = |done: f64, elapsed: u64| left(done, Duration::from_secs(elapsed)).as_secs();
        assert_eq!(seconds(0.25, 10), 30);
        assert_eq!(seconds(1.0, 10), 0);
        assert_eq!(left(0.0, Duration::from_secs(1)), Duration::MAX);
        assert_eq!(time(Duration::from_secs(30)), "30 s");
        assert_eq!(time(Duration::from_secs(150)), "3 min");
        assert_eq!(time(Duration::from_secs(7200)), "2 h");
    }
}
