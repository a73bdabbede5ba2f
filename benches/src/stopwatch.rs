//! Measuring: times of one run are compared with each other, never with those of another machine or day.
//!
//! A bench prints its tables as text. What the documents quote is printed a second time, by [`quotable`].

use std::fmt::Display;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The shortest time of a call, over at least five calls and about half a second.
pub fn shortest<T>(mut call: impl FnMut() -> T) -> Duration {
    let (mut best, started) = (Duration::MAX, Instant::now());
    for round in 0.. {
        let before = Instant::now();
        black_box(call());
        best = best.min(before.elapsed());
        if round >= 4 && started.elapsed() > Duration::from_millis(500) {
            break;
        }
    }
    best
}

/// The processor time of a call, all threads together: the mean over at least five calls and about half a second. Unlike the time on the clock it
/// hardly depends on what else the machine does. Where the system does not tell (it must be Linux), the shortest time on the clock.
pub fn busy<T>(mut call: impl FnMut() -> T) -> Duration {
    let Some(before) = processor_time() else { return shortest(call) };
    let (started, mut calls) = (Instant::now(), 0);
    while calls < 5 || started.elapsed() < Duration::from_millis(500) {
        black_box(call());
        calls += 1;
    }
    processor_time().map_or(Duration::MAX, |after| (after - before) / calls)
}

/// The time that the threads alive have spent on processors, counted by the system at least once in a few milliseconds.
fn processor_time() -> Option<Duration> {
    let threads = std::fs::read_dir("/proc/self/task").ok()?;
    let nanoseconds = threads.map(|thread| {
        let statistics = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        statistics.split_whitespace().next()?.parse::<u64>().ok()
    });
    Some(Duration::from_nanos(nanoseconds.sum::<Option<u64>>()?))
}

/// The time of one call, and its result.
pub fn once<T>(call: impl FnOnce() -> T) -> (Duration, T) {
    let before = Instant::now();
    let result = black_box(call());
    (before.elapsed(), result)
}

/// How many times longer `slow` took than `fast`.
pub fn ratio(slow: Duration, fast: Duration) -> f64 {
    slow.as_secs_f64() / fast.as_secs_f64()
}

/// The largest amount of memory this process has held so far, in MB, where the system tells (Linux).
pub fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1000.0)
}

/// Whether the long form was asked for: `cargo bench -p sottovoce-benches -- full`. The short form of each bench takes less than two minutes.
pub fn full() -> bool {
    words().any(|word| word == FULL)
}

/// Whether a part of a bench is wanted: every part is, unless some are named, as in `cargo bench … --bench finite_users -- paper exact`.
pub fn wanted(part: &str) -> bool {
    let named: Vec<String> = words().filter(|word| word != FULL).collect();
    named.is_empty() || named.iter().any(|word| word == part)
}

const FULL: &str = "full";

/// The words after `--` on the command line. Cargo itself adds `--bench`.
fn words() -> impl Iterator<Item = String> {
    std::env::args().skip(1).filter(|word| !word.starts_with('-'))
}

/// Prints a figure that the documents may quote by its key. `cargo xtask bench` puts these lines into a table of `RESULTS.md`.
pub fn quotable(key: &str, value: impl Display, meaning: &str) {
    println!("@ {key} | {value} | {meaning}");
}

/// A time in two significant digits, with its unit.
pub fn rounded(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (number, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "µs"),
    };
    format!("{} {unit}", two_digits(number))
}

/// A number in two significant digits, without an exponent.
pub fn two_digits(number: f64) -> String {
    let magnitude = number.abs().log10().floor() as i32 - 1;
    if magnitude >= 0 {
        let unit = 10f64.powi(magnitude);
        return format!("{:.0}", (number / unit).round() * unit);
    }
    format!("{number:.*}", magnitude.unsigned_abs() as usize)
}
