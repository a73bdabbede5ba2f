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
use rand::{Rng, RngExt, SeedableRng};
use rand_distr::{Binomial, Distribution as _};
use rayon::prelude::*;

use super::aggregator::Options;
use super::sampling::{Sampling, SamplingObserver};
use crate::evaluation::{Evaluation, Method};
use crate::metric::Absence;
use crate::stop;

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
    options: &Options<'_>,
    draw: &(dyn Fn(&mut ChaCha8Rng) -> Draw + Sync),
) -> Result<Evaluation, Absence> {
    let tolerance = options.tolerance;
    // An offset that is itself too uncertain leaves a fifth.
    let wanted =
        (tolerance * tolerance - offset.error * offset.error).max(0.04 * tolerance * tolerance).sqrt();
    let mut draws: Vec<Draw> = Vec::new();
    let mut round = FIRST_ROUND.min(options.draws.max(2));
    let mut progress = Sampling { draws: 0, value: f64::NAN, error: f64::INFINITY, tolerance };
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
        progress = Sampling { draws: total, value: found.value, error: found.error, tolerance };
        let broken = options.observer.is_some_and(|observer| observer(&progress).is_break());
        if stopped || broken || error <= wanted || total >= options.draws {
            return Ok(found);
        }
        round = next_round(total, error / wanted).min(options.draws - total);
    }
}

/// What complete rounds have found, when the run is ended in the midst of one: to keep the draws of that round which are done would favour the quick ones.
fn best_so_far(progress: &Sampling) -> Result<Evaluation, Absence> {
    if progress.draws == 0 {
        return Err(Absence::Stopped);
    }
    Ok(Evaluation::new(progress.value, progress.error, Method::MonteCarlo))
}

/// Where draws come from, and who may stop them once there are the fewest.
pub(crate) struct Source<'a> {
    pub(crate) seed: u64,
    pub(crate) observer: Option<SamplingObserver<'a>>,
    pub(crate) fewest: u64,
}

/// Makes a round of draws, and tells whether the observer has stopped it. Draws that have been begun are ended, so that slow ones are not left out more
/// often than others.
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

/// Draws still needed, but at most as many again as there are, so that an early misjudgement costs little and a
/// caller hears of progress.
fn next_round(total: u64, ratio: f64) -> u64 {
    let needed = (total as f64 * (1.05 * ratio * ratio - 1.0)).ceil();
    (needed.clamp(16.0, total as f64) as u64).min(4096)
}

/// The generator of one draw. All draws begin here, so this is where a run may end.
pub(crate) fn generator(seed: u64, stream: u64) -> ChaCha8Rng {
    stop::check();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}

/// The mean of the first column after regression on as many of the others as the draws allow, and its standard error.
///
/// The error is stated so that 1.96 of it make a 95 % interval: the standard error of the residuals times `t/1.96`, with Student's quantile `t` for the degrees of
/// freedom that are left.
fn regression(draws: &[Draw]) -> (f64, f64) {
    let (count, columns) = (draws.len() as f64, draws[0].len().min(1 + draws.len() / DRAWS_A_CONTROL));
    let means: Vec<f64> = (0..columns).map(|c| draws.iter().map(|d| d[c]).sum::<f64>() / count).collect();
    let covariance = |i: usize, j: usize| {
        draws.iter().map(|d| (d[i] - means[i]) * (d[j] - means[j])).sum::<f64>() / (count - 1.0)
    };
    let controls: Vec<usize> = (1..columns).filter(|c| covariance(*c, *c) > 1e-24).collect();
    let matrix = controls.iter().map(|i| controls.iter().map(|j| covariance(*i, *j)).collect()).collect();
    let right = controls.iter().map(|i| covariance(0, *i)).collect();
    let slopes = solve(matrix, right);
    let residual =
        |d: &Draw| d[0] - controls.iter().zip(&slopes).map(|(c, slope)| slope * d[*c]).sum::<f64>();
    let mean = draws.iter().map(residual).sum::<f64>() / count;
    let free = (count - 1.0 - controls.len() as f64).max(1.0);
    let variance = draws.iter().map(|d| (residual(d) - mean).powi(2)).sum::<f64>() / free;
    (mean, student_factor(free) * (variance / count).sqrt())
}

/// The 97.5 % quantile of Student's distribution over that of the normal one, by Cornish and Fisher's expansion in the inverse degrees of freedom; above
/// four degrees off by less than 1 %, below larger than needed.
pub(crate) fn student_factor(degrees: f64) -> f64 {
    let z2 = 1.959_963_985_f64.powi(2);
    let first = (z2 + 1.0) / 4.0;
    let second = ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0;
    let third = (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
    1.0 + (first + (second + third / degrees) / degrees) / degrees
}

/// Solves a small positive definite system by elimination; directions that are not determined get 0.
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let size = right.len();
    let diagonal: Vec<f64> = (0..size).map(|i| matrix[i][i]).collect();
    for k in 0..size {
        if matrix[k][k] <= 1e-10 * diagonal[k] {
            matrix.iter_mut().for_each(|row| row[k] = 0.0);
            matrix[k].fill(0.0);
            (matrix[k][k], right[k]) = (1.0, 0.0);
        }
        for i in k + 1..size {
            let factor = matrix[i][k] / matrix[k][k];
            let (above, below) = matrix.split_at_mut(i);
            below[0].iter_mut().zip(&above[k]).for_each(|(m, p)| *m -= factor * p);
            right[i] -= factor * right[k];
        }
    }
    for k in (0..size).rev() {
        let known: f64 = (k + 1..size).map(|j| matrix[k][j] * right[j]).sum();
        right[k] = (right[k] - known) / matrix[k][k];
    }
    right
}

/// Draws the tally of `n` independent values with the given (not necessarily normalised) probabilities.
pub(crate) fn multinomial(n: u64, q: &[f64], rng: &mut dyn Rng) -> Vec<u64> {
    let mut rest_mass: f64 = q.iter().sum();
    let mut rest = n;
    let last = q.iter().rposition(|q| *q > 0.0).unwrap_or(0);
    let mut draw = |(y, q_y): (usize, &f64)| {
        let share = if y == last { 1.0 } else { (q_y / rest_mass).clamp(0.0, 1.0) };
        let count = binomial(rest, share, rng);
        (rest, rest_mass) = (rest - count, rest_mass - q_y);
        count
    };
    q.iter().enumerate().map(&mut draw).collect()
}

/// Draws a binomial number.
pub(crate) fn binomial(n: u64, p: f64, rng: &mut dyn Rng) -> u64 {
    match Binomial::new(n, p) {
        Ok(distribution) if n > 0 => distribution.sample(rng),
        _ => 0,
    }
}

/// Draws an index with the given probabilities, which sum to `total`.
pub(crate) fn pick(weights: &[f64], total: f64, rng: &mut dyn Rng) -> usize {
    let mut rest = rng.random::<f64>() * total;
    let hit = weights.iter().position(|w| {
        rest -= w;
        rest < 0.0
    });
    hit.or_else(|| weights.iter().rposition(|w| *w > 0.0)).unwrap_or(0)
}

/// `vᵀ C⁻¹ v` for a positive definite `C`, destroyed, or `None` if it is not.
pub(crate) fn quadratic_form(mut c: Vec<Vec<f64>>, mut v: Vec<f64>) -> Option<f64> {
    let mut sum = 0.0;
    for k in 0..v.len() {
        let pivot = c[k][k];
        if pivot.is_nan() || pivot <= 1e-12 * (1.0 + c[k].iter().map(|e| e.abs()).fold(0.0, f64::max)) {
            return None;
        }
        sum += v[k] * v[k] / pivot;
        for i in k + 1..v.len() {
            let factor = c[i][k] / pivot;
            let (above, below) = c.split_at_mut(i);
            below[0][k + 1..].iter_mut().zip(&above[k][k + 1..]).for_each(|(m, p)| *m -= factor * p);
            v[i] -= factor * v[k];
        }
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use rand::Rng;

    use super::*;

    /// The words behind every golden value that was drawn: another generator must have them too, and take them in the same pieces.
    #[test]
    fn known_words() {
        for (seed, stream, wanted) in [
            (
                0,
                0,
                [0xb585_f767_a79a_3b6c, 0x7746_a55f_bad8_c037, 0x66bb_d30e_d39c_b892, 0x4a20_3585_be65_8446],
            ),
            (
                7,
                1,
                [0xfdfa_d737_a8d7_aac7, 0x0251_3177_1b7a_4e55, 0xb2b3_3019_329c_33f9, 0x1e75_6cb5_49e2_9cd9],
            ),
        ] {
            let mut rng = generator(seed, stream);
            let words: Vec<u64> = (0..300).map(|_| rng.next_u64()).collect();
            assert_eq!([words[0], words[1], words[32], words[299]], wanted, "{seed} {stream}");
        }
        let (mut rng, mut bytes) = (ChaCha8Rng::seed_from_u64(7), [0; 5]);
        assert_eq!((rng.next_u32(), rng.next_u64()), (0x23d7_43bb, 0x2e9b_293a_2865_5334));
        rng.fill_bytes(&mut bytes);
        assert_eq!((bytes, rng.next_u32()), ([0xd3, 0x59, 0x01, 0x2b, 0x31], 0xb44b_70b9));
    }

    #[test]
    fn a_perfect_control_leaves_no_error() {
        let nothing = Evaluation::new(0.0, 0.0, Method::ClosedForm);
        let options = Options { tolerance: 1e-3, draws: 10_000, ..Options::default() };
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
        let options = Options { tolerance: 0.01, ..Options::default() };
        let draw = |rng: &mut ChaCha8Rng| vec![rng.random::<f64>()];
        let found = mean(nothing, &options, &draw).unwrap();
        let single = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(found, single.install(|| mean(nothing, &options, &draw)).unwrap());
        assert!(found.error <= 0.01 && (found.value - 0.5).abs() < 0.05);
    }

    #[test]
    fn an_observer_can_stop() {
        let nothing = Evaluation::new(0.0, 0.0, Method::ClosedForm);
        let stop = |_: &Sampling| std::ops::ControlFlow::Break(());
        let options = Options { tolerance: 1e-9, observer: Some(&stop), ..Options::default() };
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
        let options = Options { tolerance: 1e-9, observer: Some(&stop), ..Options::default() };
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
                let options = Options { tolerance: 1e-9, draws, seed, ..Options::default() };
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
    fn students_quantiles_are_right() {
        for (degrees, quantile) in [(4.0, 2.776_445), (7.0, 2.364_624), (15.0, 2.131_450), (60.0, 2.000_298)]
        {
            let factor = student_factor(degrees);
            assert!((factor / (quantile / 1.959_964) - 1.0).abs() < 0.01, "{degrees}: {factor}");
        }
    }

    #[test]
    fn a_draw_that_is_no_number_is_refused() {
        let nothing = Evaluation::new(0.0, 0.0, Method::ClosedForm);
        let options = Options { draws: 32, ..Options::default() };
        assert!(mean(nothing, &options, &|_: &mut ChaCha8Rng| vec![f64::NAN]).is_err());
    }

    #[test]
    fn quadratic_forms_are_right() {
        let form = quadratic_form(vec![vec![2.0, 1.0], vec![1.0, 3.0]], vec![1.0, 2.0]).unwrap();
        assert!((form - 1.4).abs() < 1e-14, "{form}");
        assert_eq!(quadratic_form(vec![vec![0.0]], vec![1.0]), None);
    }
}
