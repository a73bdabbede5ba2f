//! The pricing problem: which direction of the cone has the largest reduced cost `ρ(v) = h(v) − λᵀv − νℓ(v)`?
//!
//! - Without a leakage budget `ρ` is convex, so its largest value is at an extreme ray: all are priced (`vertices`).
//! - With a budget `ρ` is a difference of convex functions: branch and bound gives an upper bound (`branch_and_bound`, with the bounds of a cell in
//!   `cell_bounds` and `quadratic_bound`), and local maximisation gives the directions that enter (`local_search`).

mod branch_and_bound;
mod cell_bounds;
mod local_search;
mod quadratic_bound;
mod vertices;

pub(super) use branch_and_bound::{BranchAndBound, StoppingRule};
pub(super) use local_search::local_maximum;
pub(super) use vertices::price_vertices;

use super::direction::Direction;

/// The outcome of pricing.
#[derive(Clone, Debug)]
pub(super) struct PricingResult {
    /// No direction of mean one has a larger reduced cost.
    pub bound: f64,
    /// The directions of largest reduced costs (which may be negative), best first.
    pub best: Vec<(f64, Direction)>,
    /// The largest reduced cost of a direction that was priced, plus its error where errors count.
    pub largest_seen: f64,
    /// How many directions were priced.
    pub priced: usize,
}

impl PricingResult {
    fn new(bound: f64, largest_seen: f64, mut all: Vec<(f64, Direction)>, kept: usize) -> Self {
        let priced = all.len();
        all.sort_by(|l, r| r.0.total_cmp(&l.0));
        all.truncate(kept);
        PricingResult { bound, best: all, largest_seen, priced }
    }
}
