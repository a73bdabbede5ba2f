//! Expectations over the whole numbers `0..=n` without visiting all of them.
//!
//! The distributions here (binomial, Beta-binomial) are smooth functions of a *real* `t` away from both ends. Smooth sums are
//! to whole numbers what smooth integrals are to the line: on a panel of `N` consecutive numbers the Gauss rule of the discrete
//! Chebyshev (Gram) polynomials sums every polynomial of degree below `2K` exactly with `K` real nodes. Panels widen
//! geometrically away from the ends, where powers of `t` and `n − t` live, and never beyond two standard deviations. So
//! about a hundred panels do for `n = 10^12`, and for small `n` every number is visited.
//!
//! ```text
//! 0 1 2 … 47 | panel | panel   |  panel      |  …  | panel | n−47 … n
//! ```
//!
//! Accuracy: against the sum over all numbers, relative `1e-11` at `n = 2·10^5` for Beta-binomials with `0.05 ≤ α ≤ 2000` (tests of
//! `super::users`).

use crate::numerics::gauss::discrete_chebyshev;
use crate::numerics::stop::check;

/// Numbers visited one by one at either end, and the smallest panel.
const SINGLE: u64 = 48;

/// Weights below `e^−60` of the largest are left out.
const LN_NEGLIGIBLE: f64 = -60.0;

/// A distribution on `0..=n` that is smooth inside.
pub(crate) struct Lattice<'a> {
    /// The largest number.
    pub n: u64,
    /// `ln` of the weight, up to a constant.
    pub ln_weight: &'a (dyn Fn(f64) -> f64 + Sync),
    /// Where the distribution has its mode, or its middle if it has none inside.
    pub centre: f64,
    /// Length over which the weight changes by a factor of order `e`, near a number.
    pub scale: &'a (dyn Fn(f64) -> f64 + Sync),
    /// Whether the weight falls monotonically from the centre towards 0.
    pub falls_left: bool,
    /// Whether the weight falls monotonically from the centre towards `n`.
    pub falls_right: bool,
}

impl Lattice<'_> {
    /// The nodes and their normalised weights, by rules with `order` nodes a panel.
    pub(crate) fn nodes(&self, order: usize) -> Vec<(f64, f64)> {
        self.weigh(self.rule(order))
    }

    /// The nodes and how many numbers each stands for.
    pub(crate) fn rule(&self, order: usize) -> Vec<(f64, f64)> {
        let (low, high) = self.window();
        let mut nodes = Vec::new();
        let mut left = low;
        while left <= high {
            check();
            let width = self.panel(left, high);
            if width <= SINGLE {
                nodes.push((left as f64, 1.0));
                left += 1;
                continue;
            }
            let middle = left as f64 + (width - 1) as f64 / 2.0;
            let half = width as f64 / 2.0;
            nodes.extend(discrete_chebyshev(order, width).into_iter().map(|(x, w)| (middle + half * x, w)));
            left += width;
        }
        nodes
    }

    fn weigh(&self, mut nodes: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
        let ln_weights: Vec<f64> = nodes.iter().map(|(t, _)| (self.ln_weight)(*t)).collect();
        let largest = ln_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        nodes.iter_mut().zip(&ln_weights).for_each(|((_, w), ln)| *w *= (ln - largest).exp());
        let total: f64 = nodes.iter().map(|(_, w)| w).sum();
        nodes.iter_mut().for_each(|(_, w)| *w /= total);
        nodes
    }

    /// How many numbers the panel that starts at `left` holds; up to [`SINGLE`] means "go one by one".
    fn panel(&self, left: u64, high: u64) -> u64 {
        let by_left = left / 2;
        // The right end mirrors the left one: at most a third of what is left over, so that the panel ends at 2/3.
        let by_right = (self.n - left) / 3;
        let by_scale = (self.scale)(left as f64) as u64;
        if by_left.min(by_right) <= SINGLE / 2 {
            return 1;
        }
        // Where the scale is below the panel size every number matters.
        if by_scale <= SINGLE {
            1
        } else {
            by_left.min(by_right).min(by_scale).max(SINGLE + 1).min(high - left + 1)
        }
    }

    /// The numbers with a weight that matters.
    fn window(&self) -> (u64, u64) {
        let centre = (self.centre.clamp(0.0, self.n as f64)) as u64;
        let floor = (self.ln_weight)(centre as f64) + LN_NEGLIGIBLE;
        let matters = |t: u64| (self.ln_weight)(t as f64) >= floor;
        let low = if self.falls_left { first(0, centre, matters) } else { 0 };
        let high = if self.falls_right {
            self.n - first(0, self.n - centre, |d| matters(self.n - d))
        } else {
            self.n
        };
        (low, high)
    }
}

/// The smallest number in `low..=high` from which on `holds` holds; `holds(high)` is known.
fn first(mut low: u64, mut high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    high
}
