//! Moves of the parameter `α` of the adaptive prior, `P | α ~ Dir(α, …, α)` with `ln α` uniform.
//!
//! # Three moves
//! * *Given `P`*: the density of `ln α` is that of the Dirichlet distribution at `P`. It needs no likelihood,
//!   but the shares that the reports say nothing about pin `α` down: they were drawn with it.
//! * *Along an orbit*: `α → αe^s`, and each rare share moves with it so that `α ln(p_x/c_x)` stays the same;
//!   the most common value takes up the difference. Where a share is far below `c_x`, the noise of the
//!   reports, `(p_x/c_x)^α` is uniform under the prior, so `α` moves as if the rare shares were not there.
//!   The shifts `s` form a group, so `s` has the density of the target along the orbit times the Jacobian of
//!   the map (J. S. Liu and C. Sabatti, Generalised Gibbs sampler, Biometrika 87, 2000).
//! * *Given the users' tallies*: `P` is integrated out, which leaves a product of gamma ratios.

use rand::{Rng, RngExt};

use crate::model::prior::Adaptive;
use crate::numerics::special::ln_gamma;
use crate::numerics::stirling::ln_rising;

/// The values that the reports can hardly tell from 0.
pub(super) struct Orbit {
    /// Each with the logarithm of the noise of its share.
    rare: Vec<(usize, f64)>,
    /// The most common value.
    main: usize,
}

/// A value is rare if its mean share is below this many standard deviations of its noise.
const RARE: f64 = 3.0;

impl Orbit {
    /// The orbit of the values with these shares and standard deviations of their noise.
    pub(super) fn new(shares: &[f64], noise: impl Fn(usize, usize) -> f64) -> Self {
        let largest = shares.iter().enumerate().max_by(|l, r| l.1.total_cmp(r.1));
        let main = largest.map_or(0, |(x, _)| x);
        let others = (0..shares.len()).filter(|x| *x != main).map(|x| (x, noise(x, main).min(1.0)));
        let rare = others.filter(|(x, noise)| shares[*x] < RARE * noise);
        Orbit { rare: rare.map(|(x, noise)| (x, noise.ln())).collect(), main }
    }

    /// `ln P` after `α` moves along the orbit from `now`, with the logarithm of the prior density there times
    /// the Jacobian of the move; `None` if the most common value cannot take up the difference.
    pub(super) fn moved(&self, ln_p: &[f64], now: f64, alpha: f64) -> Option<(Vec<f64>, f64)> {
        let mut moved = ln_p.to_vec();
        let (mut left_over, mut jacobian) = (0.0, self.rare.len() as f64 * (now / alpha).ln());
        for (x, ln_noise) in &self.rare {
            moved[*x] = ln_noise + now / alpha * (ln_p[*x] - ln_noise);
            left_over += ln_p[*x].exp() - moved[*x].exp();
            jacobian += moved[*x] - ln_p[*x];
        }
        let main = ln_p[self.main].exp() + left_over;
        // False for NaN too.
        let possible = main > 0.0;
        moved[self.main] = main.ln();
        let prior = ln_density(moved.len(), alpha, moved.iter().sum());
        possible.then_some((moved, prior + jacobian))
    }
}

/// `α` given the distribution, by one step of slice sampling.
pub(super) fn given_shares(ln_p: &[f64], alpha: f64, rng: &mut dyn Rng) -> f64 {
    let sum_ln_p: f64 = ln_p.iter().sum();
    slice(ln_p.len(), &|alpha| ln_density(ln_p.len(), alpha, sum_ln_p), alpha, rng)
}

/// A draw of `α` from the prior on `a` values.
pub(crate) fn prior_alpha(a: usize, rng: &mut dyn Rng) -> f64 {
    let (low, high) = (Adaptive::smallest(a), Adaptive::LARGEST);
    low * ((high / low).ln() * rng.random::<f64>()).exp()
}

/// `ln` of the density of `Dir(α, …, α)` on `a` values at a point with this sum of `ln p_x`.
fn ln_density(a: usize, alpha: f64, sum_ln_p: f64) -> f64 {
    let a = a as f64;
    ln_gamma(a * alpha) - a * ln_gamma(alpha) + (alpha - 1.0) * sum_ln_p
}

/// `α` given the users' tallies, by one step of slice sampling.
pub(crate) fn alpha_given_tallies(t: &[u64], alpha: f64, rng: &mut dyn Rng) -> f64 {
    let (a, n) = (t.len() as f64, t.iter().sum::<u64>() as f64);
    let ln_at = |alpha: f64| {
        let held = t.iter().filter(|t| **t > 0).map(|t| ln_rising(alpha, *t as f64));
        held.sum::<f64>() - ln_rising(a * alpha, n)
    };
    slice(t.len(), &ln_at, alpha, rng)
}

/// A step of slice sampling in `ln α`, shrinking from the whole range for `a` values.
pub(super) fn slice(a: usize, ln_at: &dyn Fn(f64) -> f64, alpha: f64, rng: &mut dyn Rng) -> f64 {
    const MOST_TRIALS: usize = 100;
    let (now, ends) = (alpha.ln(), (Adaptive::smallest(a), Adaptive::LARGEST));
    let (mut low, mut high) = (ends.0.ln(), ends.1.ln());
    let floor = ln_at(alpha) + (1.0 - rng.random::<f64>()).ln();
    for _ in 0..MOST_TRIALS {
        let v = low + (high - low) * rng.random::<f64>();
        let alpha = v.exp().clamp(ends.0, ends.1);
        if ln_at(alpha) > floor {
            return alpha;
        }
        if v < now { low = v } else { high = v }
    }
    alpha
}
