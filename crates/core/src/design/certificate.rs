//! Why no protocol is much better.

use crate::model::evaluation::Method;

/// A proof that no protocol under the same requirement is better by more than `gap`.
///
/// # Claim
/// With `h(v) = E[dᵀ J(P)⁻¹ d/(v·P)]` of the protocol found, `J` its Fisher information in `a − 1` coordinates and `d_x = v_x − v_r`,
/// ```text
/// h(v) ≤ λᵀv + ν ℓ(v)        for every allowed direction v                                   (*)
/// ```
/// Then every protocol `Σ_j ψ_j v_j = 1` of allowed directions that leaks at most `B` has, because `ln det` is concave,
/// ```text
/// E ln det J(ψ) − E ln det J ≤ Σ_j ψ_j h(v_j) − (a − 1) ≤ Σ_x λ_x + ν B − (a − 1) = 2(a − 1) · gap
/// ```
/// `λ`, `ν` and `B` are given here, so that (*) can be checked without knowing how they were found. What (*) rests on: all two-valued
/// directions were priced, or all of the cone was bounded from above (`whole_cone`); `h` is a mean over points of the prior, whose error (the
/// difference to a coarser rule, or four standard errors of independent replicates) is included in `λ` and `ν`.
/// Both are estimates: what a direction gains where a value is rarer than at any point is in neither. Of a protocol that tells a share of the truth and else one
/// thing `h` is an integral, right to `1e-9` of it, and no points are needed.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    /// No protocol has an asymptotic utility larger by more than this, in nats.
    pub gap: f64,
    /// `λ_x`.
    pub multipliers: Vec<f64>,
    /// `ν`, 0 where the average privacy does not bind.
    pub privacy_multiplier: f64,
    /// `B = (1 − L) H(X|P)`, if average privacy is required and binds.
    pub leakage_budget: Option<f64>,
    /// How many directions were priced.
    pub priced: usize,
    /// Whether directions inside the cone were bounded too; else its edges suffice.
    pub whole_cone: bool,
    /// How many points stand for the prior; none if all means over it are integrals.
    pub points: usize,
    /// Whether means over the prior are by quadrature or Monte Carlo.
    pub method: Method,
}

impl Certificate {
    /// The gap in the effective participation of a protocol that has `participation`.
    pub fn participation_gap(&self, participation: f64) -> f64 {
        participation * (2.0 * self.gap).exp_m1()
    }
}
