//! The restricted master problem: the best weights of given columns.
//!
//! ```text
//! maximise  E ln det J(P; θ),   J = Σ_j θ_j J_j        over θ ≥ 0
//! so that   Σ_j θ_j v̄_j = 1 in each class,  Σ_j θ_j ℓ_j ≤ B
//! ```
//! A primal-dual interior-point method solves it (`interior_point`). There are few columns and constraints, and the objective is smooth: its gradient
//! `h_j = E tr(J⁻¹ J_j)` and Hessian `−E tr(J⁻¹ J_j J⁻¹ J_k)` are sums over the nodes (`objective`). Since `Σ θ_j h_j = a − 1` at every node
//! (without corrections), the duality gap is `λᵀb − (a − 1) = Σ θ_j z_j` with the dual slacks `z_j = λᵀa_j − h_j`.

mod interior_point;
mod objective;

pub(super) use objective::utility;

use super::column::Column;
use super::cubature::Cubature;
use super::symmetry::Symmetry;
use super::tolerances::MasterTolerances;

/// The optimal weights of given columns with their dual variables.
#[derive(Clone, Debug)]
pub(super) struct MasterSolution {
    /// The weight of each column: of its whole orbit.
    pub theta: Vec<f64>,
    /// The dual variable of each class, `a λ_x`, and of the budget if there is one, `νB`.
    pub dual: Vec<f64>,
}

/// The columns with their constraints.
pub(super) struct RestrictedMaster<'a> {
    pub symmetry: &'a Symmetry,
    pub cubature: &'a Cubature,
    pub columns: &'a [Column],
    /// Whether leakage is limited.
    pub is_limited: bool,
    pub tolerances: &'a MasterTolerances,
}

impl RestrictedMaster<'_> {
    /// Columns and, where leakage is limited, the slack of the budget.
    fn variables(&self) -> usize {
        self.columns.len() + usize::from(self.is_limited)
    }

    fn constraints(&self) -> usize {
        self.symmetry.classes() + usize::from(self.is_limited)
    }

    /// The right-hand sides: classes by their size, the budget as 1.
    fn right_hand_side(&self, row: usize) -> f64 {
        let inputs = self.symmetry.inputs();
        self.symmetry.class_sizes.get(row).map_or(1.0, |size| *size as f64 / inputs as f64)
    }

    fn coefficient(&self, row: usize, j: usize) -> f64 {
        match (self.columns.get(j), row < self.symmetry.classes()) {
            (Some(column), true) => column.class_sums[row],
            (Some(column), false) => column.budget_share,
            (None, true) => 0.0,
            (None, false) => 1.0,
        }
    }
}
