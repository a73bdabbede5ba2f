//! Sensitivities: how fast the utility grows with the weight of a direction.
//!
//! At weights `θ` the derivative of `E ln det J(P;θ)` in the weight of a direction `v` is
//! ```text
//! h(v) = E[ dᵀ J(P;θ)⁻¹ d / (v·P) ],   d_x = v_x − v_r
//! ```
//! (the sensitivity function of D-optimal design; `r` is any reference input). `h` is convex and homogeneous of degree one, and so is the leakage `ℓ`.

mod node_block;
mod on_cubature;

pub(super) use on_cubature::CubatureSensitivity;

use super::cubature::EstimatedMean;
use super::direction::Direction;
use super::expansion::Expansion;

/// Sensitivities at fixed weights.
pub(super) trait Sensitivity: Sync {
    /// `h(v)` of each direction.
    fn of_each(&self, directions: &[Direction]) -> Vec<EstimatedMean>;

    /// The second-order expansion of `h` at a direction of positive `v_x`.
    fn expansion(&self, direction: &Direction) -> Expansion;

    /// The number of nodes that stand for the prior, without those of coarser rules; 0 if `h` is an exact integral.
    fn nodes(&self) -> usize;

    /// The number of nodes on which an expansion would take as long.
    fn expansion_cost(&self) -> usize;

    /// `h(v)` of one direction.
    fn of(&self, direction: &Direction) -> EstimatedMean {
        self.of_each(std::slice::from_ref(direction))[0]
    }
}
