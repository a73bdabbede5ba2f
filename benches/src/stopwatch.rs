//! Measuring: times of one run are compared with each other, never with those of another machine or day.

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
