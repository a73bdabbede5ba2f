//! Monte Carlo means with control variates and a standard error, run until a tolerance is met.
//!
//! Draw number `i` uses stream `i` of a ChaCha8 generator with the given seed, rounds have fixed sizes, and
//! sums are taken in the order of the draws. So the answer depends on the seed and not on the number of
//! threads. Only an observer that stops by a clock makes it depend on the machine.
//!
//! A draw is a value with some *control variates*, numbers whose mean is known to be 0. The mean of the value
//! is estimated by regression on the controls, and the standard error is that of the residuals.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::numerics::parallel::*;
use chacha20::ChaCha8Rng;

use super::aggregator::InformationOptions;
use super::sampling::{Sampling, SamplingObserver};
use crate::model::absence::Absence;
use crate::model::evaluation::{Evaluation, Method};
use crate::numerics::control_variates::Fit;
use crate::numerics::random::generator;
use crate::numerics::stop;

/// Draws in the first round. With 128 draws the standard error was ten times too small for GRR with three
/// values, where the residuals are large only near the corners of the simplex.
const FIRST_ROUND: u64 = 512;

/// One draw: its value, then its controls.
pub(crate) type Draw = Vec<f64>;

/// From this number of draws on the observer is asked before every draw; with fewer, a standard error means
/// little.
const FEWEST: u64 = 16;

/// Draws per control variate: with fewer, the regression fits noise.
const DRAWS_A_CONTROL: usize = 10;

/// The mean of the draws' values, plus `offset`. The number of draws grows until the standard error, combined
/// with that of the offset, is at most the tolerance.
pub(crate) fn mean(
    offset: Evaluation,
    options: &InformationOptions<'_>,
    draw: &(dyn Fn(&mut ChaCha8Rng) -> Draw + Sync),
) -> Result<Evaluation, Absence> {
    mean_from(FIRST_ROUND, offset, options, draw)
}

/// The same with this number of draws in the first round.
pub(crate) fn mean_from(
    first_round: u64,
    offset: Evaluation,
    options: &InformationOptions<'_>,
    draw: &(dyn Fn(&mut ChaCha8Rng) -> Draw + Sync),
) -> Result<Evaluation, Absence> {
    let tolerance = options.tolerance;
    // If the offset itself is too uncertain, aim at a fifth of the tolerance.
    let wanted =
        (tolerance * tolerance - offset.error * offset.error).max(0.04 * tolerance * tolerance).sqrt();
    let mut draws: Vec<Draw> = Vec::new();
    let mut round = first_round.min(options.draws.max(2));
    let mut progress = Sampling { tolerance, ..Sampling::BEGUN };
    loop {
        let source = Source { seed: options.seed, observer: options.observer, fewest: FEWEST };
        let complete = stop::caught(|| draw_round(&mut draws, round, &source, &progress, draw));
        let Ok(stopped) = complete else { return best_so_far(&progress) };
        if draws.iter().flatten().any(|number| !number.is_finite()) {
            return Err(Absence::NoMethod {
                what: "a Monte Carlo draw is not finite, or its weights are degenerate",
            });
        }
        let (value, error) = regression(&draws);
        let found = Evaluation::new(value + offset.value, error.hypot(offset.error), Method::MonteCarlo);
        let total = draws.len() as u64;
        let Evaluation { value, error: so_far, .. } = found;
        progress = Sampling { draws: total, assessed: total, value, error: so_far, tolerance };
        let broken = options.observer.is_some_and(|observer| observer(&progress).is_break());
        if stopped || broken || error <= wanted || total >= options.draws {
            return Ok(found);
        }
        round = next_round(total, error / wanted).min(options.draws - total);
    }
}

/// The result of the complete rounds, if the run is stopped in the middle of one. Keeping the finished draws
/// of an incomplete round would favour the quick ones.
fn best_so_far(progress: &Sampling) -> Result<Evaluation, Absence> {
    if progress.draws == 0 {
        return Err(Absence::Stopped);
    }
    Ok(Evaluation::new(progress.value, progress.error, Method::MonteCarlo))
}

/// The seed of the draws, and the observer that may stop them once the minimum number is reached.
pub(crate) struct Source<'a> {
    pub(crate) seed: u64,
    pub(crate) observer: Option<SamplingObserver<'a>>,
    pub(crate) fewest: u64,
}

/// Makes a round of draws, and returns whether the observer stopped it. Draws already started are finished,
/// so that slow ones are not left out more often than others.
pub(crate) fn draw_round<D: Send>(
    draws: &mut Vec<D>,
    round: u64,
    source: &Source<'_>,
    progress: &Sampling,
    draw: &(dyn Fn(&mut ChaCha8Rng) -> D + Sync),
) -> bool {
    let start = draws.len() as u64;
    let (stopped, made) = (AtomicBool::new(false), AtomicU64::new(start));
    let asked = |observer: SamplingObserver<'_>| {
        let draws = made.load(Ordering::Relaxed);
        draws >= source.fewest && observer(&Sampling { draws, ..*progress }).is_break()
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

/// Draws still needed, but at most doubling the total, so that an early misjudgement costs little and the
/// caller gets progress updates.
fn next_round(total: u64, ratio: f64) -> u64 {
    let needed = (total as f64 * (1.05 * ratio * ratio - 1.0)).ceil();
    (needed.clamp(16.0, total as f64) as u64).min(4096)
}

/// The mean of the first column after regression on as many of the others as the number of draws allows, and
/// its standard error.
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
    use crate::numerics::stop::Stop;

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
        let single = Stop::new().run(Some(1), || mean(nothing, &options, &draw)).unwrap();
        assert_eq!(found, single.unwrap());
        assert!(found.error <= 0.01 && (found.value - 0.5).abs() < 0.05);
    }

    #[test]
    fn an_observer_can_stop() {
        let nothing = Evaluation::new(0.0, 0.0, Method::ClosedForm);
        let stop = |_: &Sampling| std::ops::ControlFlow::Break(());
        let options =
            InformationOptions { tolerance: 1e-9, observer: Some(&stop), ..InformationOptions::default() };
        let found = mean(nothing, &options, &|rng: &mut ChaCha8Rng| vec![rng.random::<f64>()]).unwrap();
        assert!(found.error > 0.03 && found.error < 0.2, "{found:?}");
    }

    #[test]
    fn a_round_that_is_stopped_keeps_its_draws() {
        let nothing = Evaluation::new(0.0, 0.0, Method::ClosedForm);
        let seen = AtomicU64::new(0);
        let stop = |p: &Sampling| {
            seen.store(p.draws, Ordering::Relaxed);
            if p.draws < 100 { std::ops::ControlFlow::Continue(()) } else { std::ops::ControlFlow::Break(()) }
        };
        let options =
            InformationOptions { tolerance: 1e-9, observer: Some(&stop), ..InformationOptions::default() };
        let found = mean(nothing, &options, &|rng: &mut ChaCha8Rng| vec![rng.random::<f64>()]).unwrap();
        // The standard deviation is 0.29; threads may have made a few draws after the observer stopped.
        assert!(
            (100..200).contains(&seen.into_inner()) && found.error > 0.015 && found.error < 0.035,
            "{found:?}"
        );
    }

    /// Means of 16 and of 24 normal numbers, with four uninformative controls: the expected number of
    /// estimates lies beyond 1.96 and beyond 4 stated errors. Of 4,000 means 200 are expected beyond 1.96;
    /// the count is between 150 and 250 except with probability 3e-4. Beyond 4 errors lie 6e-4 by Student's
    /// law: at most 12 except with probability 1e-5.
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
