//! Dirichlet distributions.

use std::fmt;

use rand::Rng;

use crate::model::error::{Error, Result, in_range};
use crate::model::protocol::MAX_INPUTS;
use crate::numerics::random::sample_ln_dirichlet;
use crate::numerics::special::{leave_one_out, ln_gamma};

/// The smallest and the largest parameter.
pub(super) const MIN_ALPHA: f64 = 1e-4;
const MAX_ALPHA: f64 = 1e8;

/// A Dirichlet distribution on the distributions over `a` values.
///
/// Values with the same parameter are stored as one group, so a symmetric prior on a million values is as
/// small as one on three.
#[derive(Clone, PartialEq)]
pub struct Dirichlet {
    alpha: Vec<f64>,
    groups: Vec<Group>,
    total: f64,
}

/// Values that share a Dirichlet parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// The parameter `α_x` of each of them.
    pub alpha: f64,
    /// The number of these values.
    pub count: usize,
    /// The sum of all parameters except one of this group: `α0 − α_x` without cancellation.
    pub others: f64,
}

impl Dirichlet {
    /// The Dirichlet distribution with the given parameters.
    ///
    /// # Errors
    /// Fewer than two parameters, or one outside `1e-4 ..= 1e8`.
    pub fn new(alpha: Vec<f64>) -> Result<Self> {
        if !(2..=MAX_INPUTS).contains(&alpha.len()) {
            return Err(Error::Inputs { a: alpha.len() });
        }
        for &alpha_x in &alpha {
            in_range("alpha", alpha_x, |v| (MIN_ALPHA..=MAX_ALPHA).contains(&v), "between 1e-4 and 1e8")?;
        }
        let mut sorted = alpha.clone();
        sorted.sort_by(f64::total_cmp);
        let pairs: Vec<(f64, usize)> = sorted.chunk_by(|l, r| l == r).map(|g| (g[0], g.len())).collect();
        let others = leave_one_out(&pairs);
        let groups = pairs
            .iter()
            .zip(others)
            .map(|(&(alpha, count), others)| Group { alpha, count, others })
            .collect();
        Ok(Dirichlet { total: alpha.iter().sum(), alpha, groups })
    }

    /// All parameters equal.
    ///
    /// # Errors
    /// As for [`new`](Dirichlet::new).
    pub fn symmetric(a: usize, alpha: f64) -> Result<Self> {
        if !(2..=MAX_INPUTS).contains(&a) {
            return Err(Error::Inputs { a });
        }
        Dirichlet::new(vec![alpha; a])
    }

    /// The Jeffreys prior: all parameters one half.
    ///
    /// # Errors
    /// `a` is out of range.
    pub fn jeffreys(a: usize) -> Result<Self> {
        Dirichlet::symmetric(a, 0.5)
    }

    /// The parameters `α`.
    pub fn alpha(&self) -> &[f64] {
        &self.alpha
    }

    /// The distinct parameters, ascending, with their multiplicities.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// `α0 = Σ_x α_x`.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The distribution of the frequencies of `map(x)`: the parameters of values with the same image are
    /// added. Images that do not occur are left out.
    ///
    /// # Errors
    /// Fewer than two images occur.
    pub fn merged(&self, map: &[usize]) -> Result<Dirichlet> {
        let mut alpha = std::collections::BTreeMap::<usize, f64>::new();
        for (y, alpha_x) in map.iter().zip(&self.alpha) {
            *alpha.entry(*y).or_default() += alpha_x;
        }
        Dirichlet::new(alpha.into_values().collect())
    }

    /// Draws `ln P`. Stays finite where `P_x` itself would be rounded to zero.
    pub fn sample_ln(&self, rng: &mut dyn Rng) -> Vec<f64> {
        sample_ln_dirichlet(self.alpha.iter().copied(), rng)
    }

    /// `ln` of the density at `e^{ln_p}` with respect to Lebesgue measure in `a − 1` of the coordinates.
    pub fn ln_density(&self, ln_p: &[f64]) -> f64 {
        let ln_powers = ln_p.iter().zip(&self.alpha).map(|(ln_p_x, alpha_x)| {
            // 0 · ln 0 = 0: a flat direction stays flat on the boundary.
            if *alpha_x == 1.0 { 0.0 } else { (alpha_x - 1.0) * ln_p_x }
        });
        ln_powers.sum::<f64>() - self.ln_normaliser()
    }

    /// `ln B(α)`.
    pub fn ln_normaliser(&self) -> f64 {
        self.groups.iter().map(|g| g.count as f64 * ln_gamma(g.alpha)).sum::<f64>() - ln_gamma(self.total)
    }
}

impl fmt::Debug for Dirichlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dirichlet").field("groups", &self.groups).finish_non_exhaustive()
    }
}
