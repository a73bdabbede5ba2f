//! The certificate of a design: an upper bound on the utility of every other protocol.

use crate::model::evaluation::Method;

/// Evidence that no protocol under the same requirement is better by more than `gap`.
///
/// # Claim
/// Let `h(v) = E[dᵀ J(P)⁻¹ d/(v·P)]` be the sensitivity of a direction at the protocol found, with its Fisher information `J` in `a − 1` coordinates
/// and `d_x = v_x − v_r`. The dual variables `λ` and `ν` satisfy
/// ```text
/// h(v) ≤ λᵀv + ν ℓ(v)        for every allowed direction v                                   (*)
/// ```
/// Then every protocol `Σ_j ψ_j v_j = 1` of allowed directions that leaks at most `B` has, because `ln det` is concave,
/// ```text
/// E ln det J(ψ) − E ln det J ≤ Σ_j ψ_j h(v_j) − (a − 1) ≤ Σ_x λ_x + ν B − (a − 1) = 2(a − 1) · gap
/// ```
/// `λ`, `ν` and `B` are given here, so that (*) can be checked without knowing how they were found.
///
/// # What it rests on
/// Either all extreme rays of the cone were priced, or branch and bound covered the whole cone (`whole_cone`). `h` is a mean over nodes of the prior. Its error
/// (the difference to a coarser rule, or four standard errors of independent replicates) is included in `λ` and `ν`, but is itself an estimate: it
/// does not see what happens where a value is rarer than at any node. For partial disclosure protocols `h` is an integral with a relative error below
/// `1e-9`, and no nodes are needed.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    /// The optimality gap: no protocol has an asymptotic utility larger by more than this, in nats.
    pub gap: f64,
    /// The dual variables `λ_x`.
    pub multipliers: Vec<f64>,
    /// The dual variable `ν` of the leakage budget, 0 where the average privacy does not bind.
    pub privacy_multiplier: f64,
    /// `B = (1 − L) H(X|P)`, if average privacy is required and binds.
    pub leakage_budget: Option<f64>,
    /// How many directions were priced.
    pub priced: usize,
    /// Whether reduced costs were bounded on the whole cone; else its extreme rays suffice.
    pub whole_cone: bool,
    /// How many nodes stand for the prior; 0 if all means over it are exact integrals.
    pub points: usize,
    /// Whether means over the prior are computed by quadrature or Monte Carlo.
    pub method: Method,
}

impl Certificate {
    /// The gap in effective participation, for a protocol whose own is `participation`.
    pub fn participation_gap(&self, participation: f64) -> f64 {
        participation * (2.0 * self.gap).exp_m1()
    }
}

/// A bound that is NaN is none: it becomes +inf, so that it cannot certify anything. (`f64::max` would drop it.)
pub(super) fn nan_to_infinity(bound: f64) -> f64 {
    if bound.is_nan() { f64::INFINITY } else { bound }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_is_no_bound() {
        assert_eq!(nan_to_infinity(f64::NAN), f64::INFINITY);
        assert_eq!(nan_to_infinity(-f64::NAN), f64::INFINITY);
        assert_eq!(nan_to_infinity(-1.5), -1.5);
    }
}
