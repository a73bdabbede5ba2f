//! Means over any prior, by plain Monte Carlo: the last resort.

use chacha20::ChaCha8Rng;
use rand::SeedableRng;
use rayon::prelude::*;

use super::Settings;
use crate::model::absence::Absence;
use crate::model::evaluation::{Evaluation, Method};
use crate::model::prior::Prior;
use crate::numerics::stop::check;

/// Draws in one batch; each batch has its own stream of random numbers, so that threads do not matter.
const BATCH: u64 = 256;

/// Most batches before the tolerance is given up.
const MOST_BATCHES: u64 = 4096;

/// `E f(ln P)` with its standard error. Draws until the standard error is below the tolerance, or about a million times.
///
/// # Errors
/// The first error of `f`.
pub(super) fn mean_over_draws(
    prior: &Prior,
    settings: &Settings,
    f: impl Fn(&[f64]) -> Result<f64, Absence> + Sync,
) -> Result<Evaluation, Absence> {
    let batch = |stream: u64| {
        let mut rng = ChaCha8Rng::seed_from_u64(settings.seed);
        rng.set_stream(stream);
        let mut moments = (0.0, 0.0);
        for _ in 0..BATCH {
            check();
            let value = f(&prior.sample_ln(&mut rng))?;
            moments = (moments.0 + value, moments.1 + value * value);
        }
        Ok(moments)
    };
    let (mut done, mut sum, mut squares, mut wave) = (0, 0.0, 0.0, 16);
    loop {
        let moments: Vec<(f64, f64)> =
            (done..done + wave).into_par_iter().map(batch).collect::<Result<_, Absence>>()?;
        done += wave;
        sum += moments.iter().map(|m| m.0).sum::<f64>();
        squares += moments.iter().map(|m| m.1).sum::<f64>();
        let draws = (done * BATCH) as f64;
        let mean = sum / draws;
        let error = ((squares / draws - mean * mean).max(0.0) / (draws - 1.0)).sqrt();
        if error <= settings.mean_tolerance() || done >= MOST_BATCHES {
            return Ok(Evaluation::new(mean, error, Method::MonteCarlo));
        }
        wave = done;
    }
}
