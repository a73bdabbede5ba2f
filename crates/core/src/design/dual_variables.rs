//! Dual variables and the reduced cost of a direction.

use super::direction::Direction;
use super::row_leakage::RowLeakage;

/// The multipliers `λ_x` of `Σ_j θ_j v_jx = 1` and `ν` of the leakage budget. A direction has the reduced cost
/// ```text
/// ρ(v) = h(v) − λᵀv − ν ℓ(v)
/// ```
/// with its sensitivity `h`; it can improve the protocol only if that is positive.
#[derive(Clone, Debug)]
pub(super) struct DualVariables<'a> {
    /// `λ_x`.
    pub lambda: Vec<f64>,
    /// `ν`, 0 where leakage is not limited.
    pub nu: f64,
    pub leakage: &'a RowLeakage<'a>,
}

impl DualVariables<'_> {
    /// `λᵀv`.
    pub(super) fn linear_cost(&self, direction: &Direction) -> f64 {
        self.lambda.iter().zip(&direction.values).map(|(lambda, v)| lambda * v).sum()
    }

    /// `λᵀv + ν ℓ(v)`.
    pub(super) fn cost(&self, direction: &Direction) -> f64 {
        let leaked = if self.nu > 0.0 { self.nu * self.leakage.by_gradient(direction) } else { 0.0 };
        self.linear_cost(direction) + leaked
    }
}
