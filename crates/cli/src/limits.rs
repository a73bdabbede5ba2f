//! What a run may take: its time (`--time-limit`) and its memory (`--max-memory`).
//!
//! The clock starts with the process. When the time is over, the flag of the run is set ([`Stop`]), at which all long loops look, and the run ends with what it
//! knows or with nothing; Ctrl-C sets the same flag. Computations that have an answer at any moment, as Monte Carlo has, are told earlier ([`share`]), so that there is time left
//! for the rest. A run that does not listen, since it reads from a pipe or is inside somebody else's code, is ended [`GRACE`] later.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use sottovoce_job::{NumbersError, Stop, admission, replacement};

use crate::failure::{Cause, Failure, Result, Told};
use crate::signals;

/// What a run may take, for every command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArguments {
    /// Time for the whole run; then the best so far is given, or nothing with exit code 1 [default: none, but 120 for each Monte Carlo number and 600 for the search of
    /// a design]
    #[arg(long, value_name = "SECONDS", value_parser = time_limit, allow_negative_numbers = true, global = true)]
    time_limit: Option<Duration>,
    /// Memory for the run, such as 2GB or 512MiB; what would take more is refused before it begins [default: half of what is free]
    #[arg(long, value_name = "BYTES", value_parser = bytes, allow_negative_numbers = true, global = true)]
    max_memory: Option<u64>,
}

/// A run that has been asked to end, and has not, is ended after so long.
const GRACE: Duration = Duration::from_secs(2);

/// After Ctrl-C, Monte Carlo has so long to end the draws that are under way. Then the run is to end within a second of the key.
const LAST_DRAWS: Duration = Duration::from_millis(600);

/// The run of this process.
struct Run {
    start: Instant,
    limit: Option<Duration>,
    stop: Stop,
    /// Whether all is found and being written.
    writes: AtomicBool,
}

static RUN: OnceLock<Run> = OnceLock::new();

fn the_run() -> &'static Run {
    let begun =
        || Run { start: Instant::now(), limit: None, stop: Stop::new(), writes: AtomicBool::new(false) };
    RUN.get_or_init(begun)
}

/// Does the work within the limits, on so many threads.
pub(crate) fn enforced(
    limits: &LimitArguments,
    threads: Option<u16>,
    start: Instant,
    work: impl FnOnce() -> Result + Send,
) -> Result {
    let (limit, stop) = (limits.time_limit, Stop::new());
    let run = RUN.get_or_init(|| Run { start, limit, stop, writes: AtomicBool::new(false) });
    if let Some(limit) = run.limit {
        std::thread::spawn(move || {
            std::thread::sleep(limit.saturating_sub(start.elapsed()));
            end(Duration::ZERO);
        });
    }
    let work = || admission::allowing(limits.max_memory, work);
    let done = run.stop.run(threads.map(usize::from), work).map_err(NumbersError::from);
    match done {
        Ok(Ok(())) if is_cut() => Err(cut(Told::SoFar, None)),
        // What a job says of a number that was cut off is not the reason.
        Ok(Err(Failure::Job(_))) | Err(NumbersError::Stopped) if is_cut() => Err(cut(Told::Nothing, None)),
        Ok(done) => done,
        Err(error) => Err(Failure::Job(error.into())),
    }
}

/// Asks the run to end, at once or a little later, and sees to it that it does.
fn end(later: Duration) {
    std::thread::sleep(later);
    the_run().stop.ask();
    std::thread::sleep(GRACE);
    if !the_run().writes.load(Ordering::SeqCst) {
        replacement::abandon();
        let failure = cut(Told::Nothing, None);
        failure.report();
        std::process::exit(failure.exit_code().into());
    }
}

/// Ctrl-C was pressed.
pub(crate) fn interrupt() {
    std::thread::spawn(|| end(LAST_DRAWS));
}

/// From now on the run only writes what it has found, for which a slow reader may take any time.
pub(crate) fn begin_to_write() {
    the_run().writes.store(true, Ordering::SeqCst);
}

/// Whether a computation was cut off, so that results are not complete.
pub(crate) fn is_cut() -> bool {
    the_run().stop.was_heard()
}

/// Why a run was cut off, what was told nevertheless, and the file that was not written.
pub(crate) fn cut(told: Told, unwritten: Option<&Path>) -> Failure {
    let cause = match the_run().limit {
        Some(limit) if !signals::interrupted() => Cause::TimeOver { limit },
        _ => Cause::Interrupted,
    };
    Failure::Cut { cause, told, unwritten: unwritten.map(ToOwned::to_owned) }
}

/// How long something may take that begins now and can end at any time: a share of what is left of the time, if there is a limit. Nothing if hardly any is left.
pub(crate) fn share(of_the_rest: f64) -> Option<Duration> {
    let run = the_run();
    let limit = run.limit?;
    let left = limit.saturating_sub(run.start.elapsed());
    Some(if left < limit / 50 { Duration::ZERO } else { left.mul_f64(of_the_rest) })
}

/// A positive time in seconds; `inf` is no limit.
fn time_limit(text: &str) -> std::result::Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 => Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)),
        _ => Err("a time limit is a number of seconds above 0".into()),
    }
}

/// A number of bytes, with or without a unit.
fn bytes(text: &str) -> std::result::Result<u64, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1_048_576.0,
        "gib" => 1_073_741_824.0,
        "tib" => 1_099_511_627_776.0,
        _ => f64::NAN,
    };
    match digits.trim().parse::<f64>() {
        Ok(number) if number * unit >= 1.0 => Ok((number * unit) as u64),
        _ => Err("a size is a number of bytes above 0, such as 2GB or 512MiB".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_limits_are_positive() {
        assert_eq!(time_limit("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(time_limit("inf"), Ok(Duration::MAX));
        for bad in ["0", "-1", "nan", "", "soon"] {
            assert!(time_limit(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes("2GB"), Ok(2_000_000_000));
        assert_eq!(bytes("512MiB"), Ok(536_870_912));
        assert_eq!(bytes("1.5k"), Ok(1500));
        assert_eq!(bytes("4096"), Ok(4096));
        for bad in ["0", "-1GB", "GB", "nan", "", "2 parsecs", "1e"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }
}
