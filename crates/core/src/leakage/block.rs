//! Block designs: report one of `v` blocks, with weight `e^ε` if it contains the user's value.

use super::row::{row, row_of_deviations};
use crate::model::evaluation::Evaluation;
use crate::model::protocol::{Block, BlockShare};
use crate::numerics::parallel::*;

/// Leakage of a block design. `masses` are the alphas of the inputs, or their probabilities under a point prior.
///
/// # Definition
/// ```text
/// Q_{y|x} = c e^ε if (x − y) mod v ∈ D, else c
/// ```
///
/// # Method and cost
/// A block is a two-group integral in the masses inside and outside of it; equal ones count once. Under a symmetric prior that is one integral if
/// `a = v` (the leakage is then that of subset selection with the same size), and about `√a` otherwise. With different alphas
/// there are up to `v`.
///
/// # Accuracy
/// As for [`row_of_deviations`], and for different masses in designs of more than a million entries the absolute rounding of a transform.
pub fn block(block: &Block, masses: &[f64], is_point: bool) -> Evaluation {
    let (unit, epsilon) = (block.unit(), block.epsilon());
    let of_share = |share: &BlockShare| {
        if share.held == 0.0 || share.rest == 0.0 {
            return Evaluation::closed_form(0.0, 0);
        }
        // Above 30 the deviation equals the coefficient.
        let leakage = if epsilon < 30.0 {
            let beta = epsilon.exp_m1();
            let theta = unit * (1.0 + beta * share.held / (share.held + share.rest));
            row_of_deviations(theta, &[(share.held, beta), (share.rest, 0.0)], is_point)
        } else {
            row(&[(share.held, unit * epsilon.exp()), (share.rest, unit)], is_point)
        };
        leakage.times(share.count)
    };
    let shares = block.shares(masses);
    let parts: Vec<Evaluation> = shares.par_iter().map(of_share).collect();
    parts.into_iter().fold(Evaluation::closed_form(0.0, 0), Evaluation::plus)
}
