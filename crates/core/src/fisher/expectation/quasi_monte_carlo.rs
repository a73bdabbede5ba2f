//! Randomised quasi-Monte Carlo over the simplex.
//!
//! Independent Owen-scrambled Sobol sequences, mapped through the quantiles of gamma variables in logarithms:
//! `ln P_x = ln γ_x − ln Σ γ`. Coordinates beyond the 256 of the Sobol table are plain random numbers. Every
//! replicate has its own scrambling, so their means are independent and unbiased, and their spread gives the
//! standard error.

use crate::numerics::parallel::*;
use chacha20::ChaCha8Rng;
use rand::SeedableRng;
use sobol_burley::parts::{hash, owen_scramble_rev, sobol_rev};

use crate::fisher::{FisherInformation, Point};
use crate::model::evaluation::{Evaluation, Method};
use crate::numerics::beta_rule::{mean_ln, mean_ln_one_plus};
use crate::numerics::control_variates::Fit;
use crate::numerics::random::sample_ln_gamma;
use crate::numerics::special::{gamma_quantile, ln_gamma};
use crate::numerics::split_mix::split_mix;
use crate::numerics::stop::check;

/// Independent replicates: enough for a Student interval with three control variates (28 degrees of freedom).
const REPLICATES: u32 = 32;

/// With small parameters only a share of about `α` of the points has those coordinates away from zero, and
/// runs that happen to contain few such points report too small an error: at `α = (0.02, 0.02, 0.02)` 14 %
/// were beyond 1.96 standard errors with 512 points, 5 % with 2048 or more; at `(0.01, 50, …, 50)` one run in
/// ten was off by more than four standard errors with 128 points.
const POINTS_TIMES_RATE: f64 = 256.0;

/// Groups the parameters by size (within a factor of two). Returns the expected number of coordinates away
/// from zero in the rarest group, at most 1.
fn rarest(alpha: &[f64]) -> f64 {
    let mut rates = std::collections::BTreeMap::<i32, f64>::new();
    for alpha_x in alpha {
        *rates.entry(alpha_x.log2().floor() as i32).or_default() += alpha_x;
    }
    rates.into_values().fold(1.0, f64::min)
}

/// Limits of the Sobol table, in dimensions and in points.
const SOBOL_DIMENSIONS: usize = 256;
const MOST_POINTS: u32 = 1 << 16;

/// The mean of `ln det M(P)` over `P ~ Dirichlet(alpha)`, by 32 replicates of increasing length.
///
/// # Method and cost
/// The length of the replicates doubles from 4 until the standard error is below `tolerance` and at least
/// `256/α0` points are used, or until `evaluations` points (but at least 128) are used. Three control
/// variates with known means, `Σ p_x²`, `Σ ln(1 + c p_x)` and `Σ ln p_x`, are regressed out over the
/// replicate means. The value depends on the arguments only, not on the number of threads.
///
/// # Accuracy
/// The stated standard error has about normal coverage: of 200 runs, 4 to 8 % were off by more than 1.96
/// standard errors in each of seven cases (`tests/coverage.rs`, against cubature and a longer run). If
/// `evaluations` stops a run before the minimum number of points of `rarest`, the error may be too small.
///
/// # Example
/// ```
/// use sottovoce::{fisher::expectation::quasi_monte_carlo::mean_ln_det, fisher::UnaryEncoding};
/// use sottovoce::protocol::BitNoise;
/// let protocol = UnaryEncoding::new(20, &BitNoise::oue(1.0), 1e-8);
/// let mean = mean_ln_det(&protocol, &[0.5; 20], 1e-2, 10_000, 7);
/// assert!(mean.error < 1e-2);
/// ```
pub fn mean_ln_det(
    fisher: &dyn FisherInformation,
    alpha: &[f64],
    tolerance: f64,
    evaluations: usize,
    seed: u64,
) -> Evaluation {
    let controls = Controls::new(alpha, fisher.contrast());
    let mut replicates: Vec<Replicate> = (0..REPLICATES).map(|index| Replicate::new(seed, index)).collect();
    let fewest = POINTS_TIMES_RATE / rarest(alpha);
    let mut points = 4;
    loop {
        replicates.par_iter_mut().for_each(|replicate| replicate.extend(points, fisher, alpha, &controls));
        let found = controls.estimate(&replicates);
        let spent = points as usize * REPLICATES as usize;
        let arrived = found.error <= tolerance && spent as f64 >= fewest;
        let exhausted = 2 * spent > evaluations || points == MOST_POINTS;
        if arrived || exhausted || !found.value.is_finite() {
            return found;
        }
        points *= 2;
    }
}

/// Sums over the points of one scrambled sequence.
struct Replicate {
    sequence: DirichletSequence,
    points: u32,
    value: f64,
    controls: [f64; 3],
}

impl Replicate {
    fn new(seed: u64, index: u32) -> Self {
        Replicate { sequence: DirichletSequence::new(seed, index), points: 0, value: 0.0, controls: [0.0; 3] }
    }

    fn extend(&mut self, points: u32, fisher: &dyn FisherInformation, alpha: &[f64], controls: &Controls) {
        for i in self.points..points {
            check();
            let point = self.sequence.point(i, alpha);
            self.value += fisher.ln_det(&point);
            let at = controls.at(&point);
            self.controls.iter_mut().zip(at).for_each(|(sum, control)| *sum += control);
        }
        self.points = points;
    }
}

/// Control variates: functions of `p` that resemble `ln det` and have known means.
struct Controls {
    contrast: f64,
    known: [f64; 3],
}

impl Controls {
    fn new(alpha: &[f64], contrast: f64) -> Self {
        let total: f64 = alpha.iter().sum();
        let mut known = [0.0; 3];
        let mut last: Option<(f64, f64)> = None;
        for &alpha_x in alpha {
            // Equal neighbours share one integral: a symmetric prior needs only one.
            let mean = match last {
                Some((same, mean)) if same == alpha_x => mean,
                _ => mean_ln_one_plus(alpha_x, total - alpha_x, contrast),
            };
            last = Some((alpha_x, mean));
            known[0] += alpha_x * (alpha_x + 1.0) / (total * (total + 1.0));
            known[1] += mean;
            known[2] += mean_ln(alpha_x, total - alpha_x);
        }
        Controls { contrast, known }
    }

    fn at(&self, point: &Point) -> [f64; 3] {
        let squares = point.p().iter().map(|p_x| p_x * p_x).sum();
        let bends = point.p().iter().map(|p_x| (self.contrast * p_x).ln_1p()).sum();
        [squares, bends, point.ln_p().iter().sum()]
    }

    fn estimate(&self, replicates: &[Replicate]) -> Evaluation {
        let mean = |replicate: &Replicate| replicate.value / f64::from(replicate.points);
        let controls =
            |replicate: &Replicate| replicate.controls.map(|sum| sum / f64::from(replicate.points)).to_vec();
        let values: Vec<f64> = replicates.iter().map(mean).collect();
        let controls: Vec<Vec<f64>> = replicates.iter().map(controls).collect();
        let fit = Fit::new(&values, &controls, &self.known);
        // The integrals of the controls are accurate to 1e-13 each.
        let rounding = 1e-13 * (fit.mean.abs() + self.known[1].abs());
        Evaluation::new(fit.mean, fit.robust_error() + rounding, Method::MonteCarlo)
    }
}

/// A sequence of Dirichlet points from an Owen-scrambled Sobol sequence.
#[derive(Clone, Copy, Debug)]
pub struct DirichletSequence {
    seed: u64,
    scramble: u32,
}

impl DirichletSequence {
    /// Sequence number `replicate` for this `seed`.
    pub fn new(seed: u64, replicate: u32) -> Self {
        let seed = split_mix(seed ^ split_mix(u64::from(replicate) + 1, 0), 0);
        DirichletSequence { seed, scramble: (seed >> 32) as u32 }
    }

    /// Point `index` (below 65536) of the sequence for `Dirichlet(alpha)`.
    pub fn point(&self, index: u32, alpha: &[f64]) -> Point {
        let sobol = alpha.len().min(SOBOL_DIMENSIONS);
        let quantile =
            |(x, &alpha_x): (usize, &f64)| ln_gamma_quantile(alpha_x, self.uniform(index, x as u32));
        let mut ln_weights: Vec<f64> = alpha[..sobol].iter().enumerate().map(quantile).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(u64::from(index));
        ln_weights.extend(alpha[sobol..].iter().map(|&alpha_x| sample_ln_gamma(alpha_x, &mut rng)));
        Point::from_ln_weights(ln_weights)
    }

    /// Coordinate `dimension` of the scrambled Sobol point, in the open interval `(0, 1)`.
    fn uniform(&self, index: u32, dimension: u32) -> f64 {
        let scramble = hash(self.scramble ^ hash(dimension.wrapping_add(0x9e37_79b9)));
        let bits = owen_scramble_rev(sobol_rev(index.reverse_bits(), dimension), scramble).reverse_bits();
        // The sequence determines the upper 32 bits; the lower ones are random, so that the tails are
        // reached.
        let low = split_mix(self.seed ^ (u64::from(index) << 32 | u64::from(dimension)), 0) >> 32;
        let bits = u64::from(bits) << 32 | low;
        ((bits >> 11) as f64 + 0.5) * 2f64.powi(-53)
    }
}

/// `ln x` with `P(γ ≤ x) = u` for `γ ~ Gamma(alpha)`.
fn ln_gamma_quantile(alpha: f64, u: f64) -> f64 {
    // P(γ ≤ x) = x^α/Γ(α+1) · (1 − O(x)): below x = e^{−37} the correction is below rounding.
    let ln_small = (u.ln() + ln_gamma(alpha + 1.0)) / alpha;
    if ln_small < -37.0 { ln_small } else { gamma_quantile(alpha, u).ln() }
}
