//! Means of random draws, with control variates and a standard error, until a tolerance is met.
//!
//! Draw number `i` uses the stream `i` of a ChaCha8 generator with the given seed, draws are made in rounds of fixed sizes, and sums are
//! taken in the order of the draws. So the answer depends on the seed and not on the number of threads; only an observer that
//! breaks because of a clock makes it depend on the machine.
//!
//! A draw is a value with some *controls*, numbers whose mean is known to be 0. The mean of the value is estimated after regression on
//! the controls, and the standard error is that of the residuals.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use chacha20::ChaCha8Rng;
use rayon::prelude::*;

use super::aggregator::InformationOptions;
use super::progress::{Observer, Progress};
use crate::model::absence::Absence;
use crate::model::evaluation::{Evaluation, Method};
use crate::numerics::control_variates::Fit;
use crate::numerics::random::generator;
use crate::numerics::stop;

/// Draws of the first round. With 128 the residuals of GRR with three values, which are large only near the corners of the
/// simplex, had a standard error that was ten times too small.
const FIRST_ROUND: u64 = 512;

/// One draw: its value, then its controls.
pub(crate) type Draw = Vec<f64>;

/// An observer is asked before every draw once there are so many, below which a standard error means little.
const FEWEST: u64 = 16;

/// Draws for each control: with fewer, the regression fits their noise.
const DRAWS_A_CONTROL: usize = 10;

/// The mean of the draws' values, plus `offset`. The number of draws grows until the standard error, with that of the offset, is at most the
/// tolerance.
pub(crate) fn mean(
    offset: Evaluation,
    options: &InformationOptions<'_>,
    draw: &(dyn Fn(&mut ChaCha8Rng) -> Draw + Sync),
) -> Result<Evaluation, Absence> {
    let tolerance = options.tolerance;
    // An offset that is itself too uncertain leaves a fifth.
    let wanted =
        (tolerance * tolerance - offset.error * offset.error).max(0.04 * tolerance * tolerance).sqrt();
    let mut draws: Vec<Draw> = Vec::new();
    let mut round = FIRST_ROUND.min(options.draws.max(2));
    let mut progress = Progress { draws: 0, value: f64::NAN, error: f64::INFINITY, tolerance };
    loop {
        let source = Source { seed: options.seed, observer: options.observer, fewest: FEWEST };
        let complete = stop::caught(|| draw_round(&mut draws, round, &source, &progress, draw));
        let Ok(stopped) = complete else { return best_so_far(&progress) };
        if draws.iter().flatten().any(|number| !number.is_finite()) {
            return Err(Absence::NoMethod {
                what: "a draw of Monte Carlo is not finite, or its weights degenerate",
            });
        }
        let (value, error) = regression(&draws);
        let found = Evaluation::new(value + offset.value, error.hypot(offset.error), Method::MonteCarlo);
        let total = draws.len() as u64;
        progress = Progress { draws: total, value: found.value, error: found.error, tolerance };
        let broken = options.observer.is_some_and(|observer| observer(&progress).is_break());
        if stopped || broken || error <= wanted || total >= options.draws {
            return Ok(found);
        }
        round = next_round(total, error / wanted).min(options.draws - total);
    }
}

/// What complete rounds have found, when the run is ended in the midst of one: to keep the draws of that round which are done would favour the quick ones.
fn best_so_far(progress: &Progress) -> Result<Evaluation, Absence> {
    if progress.draws == 0 {
        return Err(Absence::Stopped);
    }
    Ok(Evaluation::new(progress.value, progress.error, Method::MonteCarlo))
}

/// Where draws come from, and who may stop them once there are the fewest.
pub(crate) struct Source<'a> {
    pub(crate) seed: u64,
    pub(crate) observer: Option<Observer<'a>>,
    pub(crate) fewest: u64,
}

/// Makes a round of draws, and tells whether the observer has stopped it. Draws that have been begun are ended, so that slow ones are not left out more
/// often than others.
pub(crate) fn draw_round<D: Send>(
    draws: &mut Vec<D>,
    round: u64,
    source: &Source<'_>,
    progress: &Progress,
    draw: &(dyn Fn(&mut ChaCha8Rng) -> D + Sync),
) -> bool {
    let start = draws.len() as u64;
    let (stopped, made) = (AtomicBool::new(false), AtomicU64::new(start));
    let asked = |observer: Observer<'_>| {
        let draws = made.load(Ordering::Relaxed);
        draws >= source.fewest && observer(&Progress { draws, ..*progress }).is_break()
    };
    let one = |i: u64| {
        if stopped.load(Ordering::Relaxed) || source.observer.is_some_and(asked) {
            stopped.store(true, Ordering::Relaxed);
            return None;
        }
        let drawn = draw(&mut generator(source.seed, i));
        made.fetch_add(1, Ordering::Relaxed);
        Some(drawn)
    };
    let more: Vec<Option<D>> = (start..start + round).into_par_iter().map(one).collect();
    draws.extend(more.into_iter().flatten());
    stopped.into_inner()
}

/// Draws still needed, but at most as many again as there are, so that an early misjudgement costs little and a
/// caller hears of progress.
fn next_round(total: u64, ratio: f64) -> u64 {
    let needed = (total as f64 * (1.05 * ratio * ratio - 1.0)).ceil();
    (needed.clamp(16.0, total as f64) as u64).min(4096)
}

/// The mean of the first column after regression on as many of the others as the draws allow, and its standard error.
fn regression(draws: &[Draw]) -> (f64, f64) {
    let controls = (draws[0].len() - 1).min(draws.len() / DRAWS_A_CONTROL);
    let (values, rows): (Vec<f64>, Vec<Vec<f64>>) =
        draws.iter().map(|draw| (draw[0], draw[1..=controls].to_vec())).unzip();
    let fit = Fit::new(&values, &rows, &vec![0.0; controls]);
    (fit.mean, fit.error())
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;

    #[test]
    fn a_perfect_control_leaves_no_error() {
        let nothing = Evaluation::new(0.0, 0.0, Method::ClosedForm);
        let options = InformationOptions { tolerance: 1e-3, draws: 10_000, ..InformationOptions::default() };
        let draw = |rng: &mut ChaCha8Rng| {
            let u = rng.random::<f64>() - 0.5;
            vec![3.0 + 2.0 * u, u]
        };
        let found = mean(nothing, &options, &draw).unwrap();
        assert!((found.value - 3.0).abs() < 1e-12 && found.error < 1e-12, "{found:?}");
    }

    #[test]
    fn the_tolerance_is_met_and_threads_do_not_matter() {
        let nothing = Evaluation::new(0.0, 0.0, Method::ClosedForm);
        let options = InformationOptions { tolerance: 0.01, ..InformationOptions::default() };
        let draw = |rng: &mut ChaCha8Rng| vec![rng.random::<f64>()];
        let found = mean(nothing, &options, &draw).unwrap();
        let single = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(found, single.install(|| mean(nothing, &options, &draw)).unwrap());
        assert!(found.error <= 0.01 && (found.value - 0.5).abs() < 0.05);
    }

    #[test]
    fn an_observer_can_stop() {
        let nothing = Evaluation::new(0.0, 0.0, Method::ClosedForm);
        let stop = |_: &Progress| std::ops::ControlFlow::Break(());
        let options =
            InformationOptions { tolerance: 1e-9, observer: Some(&stop), ..InformationOptions::default() };
        let found = mean(nothing, &options, &|rng: &mut ChaCha8Rng| vec![rng.random::<f64>()]).unwrap();
        assert!(found.error > 0.03 && found.error < 0.2, "{found:?}");
    }

    #[test]
    fn a_round_that_is_stopped_keeps_its_draws() {
        let nothing = Evaluation::new(0.0, 0.0, Method::ClosedForm);
        let seen = AtomicU64::new(0);
        let stop = |p: &Progress| {
            seen.store(p.draws, Ordering::Relaxed);
            if p.draws < 100 { std::ops::ControlFlow::Continue(()) } else { std::ops::ControlFlow::Break(()) }
        };
        let options =
            InformationOptions { tolerance: 1e-9, observer: Some(&stop), ..InformationOptions::default() };
        let found = mean(nothing, &options, &|rng: &mut ChaCha8Rng| vec![rng.random::<f64>()]).unwrap();
        // The standard deviation is 0.29; threads may have made some more draws than they were asked about.
        assert!(
            (100..200).contains(&seen.into_inner()) && found.error > 0.015 && found.error < 0.035,
            "{found:?}"
        );
    }

    /// Means of 16 and of 24 normal numbers, with four controls that tell nothing: as many estimates as there should be lie beyond 1.96 and beyond 4 stated errors. Of
    /// 4,000 means 200 are expected beyond 1.96; 150 to 250 are there except with probability 3e-4. Beyond 4 errors lie 6e-4 by Student's law: at most 12 except with
    /// probability 1e-5.
    #[test]
    fn few_draws_state_errors_that_hold() {
        let nothing = Evaluation::new(0.0, 0.0, Method::ClosedForm);
        for draws in [16, 24] {
            let normal = |rng: &mut ChaCha8Rng| (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
            let deviation = |seed: u64| {
                let options =
                    InformationOptions { tolerance: 1e-9, draws, seed, ..InformationOptions::default() };
                let found = mean(nothing, &options, &|rng| (0..5).map(|_| normal(rng)).collect()).unwrap();
                (found.value / found.error).abs()
            };
            let deviations: Vec<f64> = (0..4000).map(deviation).collect();
            let beyond = |bound: f64| deviations.iter().filter(|d| **d > bound).count();
            assert!(
                (150..=250).contains(&beyond(1.96)) && beyond(4.0) <= 12,
                "{draws}: {} {}",
                beyond(1.96),
                beyond(4.0)
            );
        }
    }

    #[test]
    fn a_draw_that_is_no_number_is_refused() {
        let nothing = Evaluation::new(0.0, 0.0, Method::ClosedForm);
        let options = InformationOptions { draws: 32, ..InformationOptions::default() };
        assert!(mean(nothing, &options, &|_: &mut ChaCha8Rng| vec![f64::NAN]).is_err());
    }
}
