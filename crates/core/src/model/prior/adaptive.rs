//! The adaptive prior: a symmetric Dirichlet distribution whose parameter is itself unknown.
//!
//! With many values and skewed data, a fixed `α` misleads: `Dir(½, …, ½)` on 41 values puts `Beta(½, 20)` on
//! each share, and so is nearly sure that none is large. Here the data choose: `ln α` is uniform on the range
//! of [`Adaptive::range`], and given `α` the distribution is `Dir(α, …, α)`.

use std::sync::OnceLock;

use super::dirichlet::{Dirichlet, MIN_ALPHA};
use super::mixture::DirichletMixture;
use crate::model::error::{Error, Result};
use crate::model::protocol::MAX_INPUTS;

/// A symmetric Dirichlet distribution on `a` values with a log-uniform parameter `α`.
///
/// Posteriors treat `α` as continuous. Everything else takes the mixture over [`Adaptive::NODES`] values of
/// `α` ([`Adaptive::mixture`]), equally likely and equally spaced in `ln α`.
#[derive(Clone, Debug)]
pub struct Adaptive {
    a: usize,
    nodes: usize,
    /// Made when it is first needed: it has a number for each component and value.
    mixture: OnceLock<DirichletMixture>,
}

impl PartialEq for Adaptive {
    fn eq(&self, other: &Self) -> bool {
        (self.a, self.nodes) == (other.a, other.nodes)
    }
}

impl Adaptive {
    /// The largest `α`, at which the shares of many values differ by about a third of themselves.
    pub const LARGEST: f64 = 10.0;

    /// The smallest `α` on `a` values, `2/a`, but at most 0.1 and no less than a [`Dirichlet`] accepts.
    ///
    /// At `α = 2/a` two people hold the same value with probability one third, so a few values have nearly all
    /// the mass. Smaller ones take values of two standard deviations for noise where one value has 90 %, and
    /// larger ones deny that one value can have so much (`docs/estimating.md` has the figures).
    pub fn smallest(a: usize) -> f64 {
        (2.0 / a as f64).clamp(MIN_ALPHA, 0.1)
    }

    /// The smallest and the largest `α`.
    pub fn range(&self) -> (f64, f64) {
        (Adaptive::smallest(self.a), Adaptive::LARGEST)
    }

    /// Components of the mixture. Twice as many change `S_μ` and `H(X|P)` by less than 1e-3 of themselves
    /// (`tests/adaptive.rs`), and `F_μ`, the exponential of a mean, by 4 % at 5 values.
    pub const NODES: usize = 24;

    /// The adaptive prior on `a` values.
    ///
    /// # Errors
    /// `a` is out of range.
    pub fn new(a: usize) -> Result<Self> {
        Adaptive::with_nodes(a, Adaptive::NODES)
    }

    /// The same with another number of components in its mixture.
    ///
    /// # Errors
    /// `a` is out of range, or there is no component.
    pub fn with_nodes(a: usize, nodes: usize) -> Result<Self> {
        if !(2..=MAX_INPUTS).contains(&a) {
            return Err(Error::Inputs { a });
        }
        if nodes == 0 {
            return Err(Error::Empty { name: "nodes" });
        }
        Ok(Adaptive { a, nodes, mixture: OnceLock::new() })
    }

    /// Number of values `a`.
    pub fn inputs(&self) -> usize {
        self.a
    }

    /// The mixture over a grid of `α`.
    pub fn mixture(&self) -> &DirichletMixture {
        let (low, high) = self.range();
        let ln_step = (high / low).ln() / self.nodes as f64;
        let alpha = |i: usize| low * ((i as f64 + 0.5) * ln_step).exp();
        self.mixture.get_or_init(|| {
            let parts = (0..self.nodes).map(|i| Dirichlet::symmetric(self.a, alpha(i)));
            let weights = vec![1.0 / self.nodes as f64; self.nodes];
            let mixture =
                parts.collect::<Result<_>>().and_then(|parts| DirichletMixture::new(weights, parts));
            // Unwrap safety: `new` checked the number of values, and the range of `α` is valid.
            mixture.unwrap()
        })
    }
}
