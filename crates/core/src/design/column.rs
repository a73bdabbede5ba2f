//! Columns of the restricted master problem.

use crate::numerics::parallel::*;

use super::cubature::{Cubature, CubatureNode};
use super::direction::Direction;
use super::packed_symmetric::{add_square, entries};
use super::symmetry::Symmetry;

/// The orbit of a direction as a column: its members share one weight.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// The orbit.
    pub members: Vec<Direction>,
    /// Its coefficient in the constraint of each class.
    pub class_sums: Vec<f64>,
    /// `ℓ(v)/B`: its leakage as a share of the budget; 0 without one.
    pub budget_share: f64,
    /// By how much the nodes underestimate its sensitivity, by a [control variate](super::control_variate).
    pub correction: f64,
    /// Its Fisher information at every node, those of coarser rules last.
    information: Vec<f64>,
}

impl Column {
    /// The orbit of a direction that leaks the share `budget_share` of the budget.
    pub(super) fn new(
        direction: &Direction,
        budget_share: f64,
        symmetry: &Symmetry,
        cubature: &Cubature,
    ) -> Self {
        let members = symmetry.orbit(direction);
        let (n, size) = (symmetry.inputs() - 1, entries(symmetry.inputs() - 1));
        let nodes: Vec<&CubatureNode> = cubature.all_nodes().collect();
        let mut information = vec![0.0; nodes.len() * size];
        information.par_chunks_mut(size).zip(&nodes).for_each(|(triangle, node)| {
            let mut d = vec![0.0; n];
            for member in &members {
                let likelihood = differences(member, node, &mut d);
                add_square(triangle, &d, 1.0 / (likelihood * members.len() as f64));
            }
        });
        Column {
            class_sums: symmetry.class_sums(direction),
            members,
            budget_share,
            correction: 0.0,
            information,
        }
    }

    /// The member that stands for the orbit.
    pub(super) fn direction(&self) -> &Direction {
        &self.members[0]
    }

    /// The information at node `i`.
    pub(super) fn information_at(&self, i: usize) -> &[f64] {
        let size = entries(self.members[0].values.len() - 1);
        &self.information[i * size..(i + 1) * size]
    }

    /// What the column is of a protocol in which it has the weight `theta`: its share of the reports or of the leakage budget, whichever is larger.
    pub(super) fn share(&self, theta: f64) -> f64 {
        theta * self.budget_share.max(1.0)
    }
}

/// Writes `d_x = v_x − v_r` for all `x` but the mode `r` of the node, and returns `v·p`.
pub(super) fn differences(direction: &Direction, node: &CubatureNode, d: &mut [f64]) -> f64 {
    let d_r = direction.offsets[node.mode];
    let others = (0..direction.values.len()).filter(|x| *x != node.mode);
    d.iter_mut().zip(others).for_each(|(d, x)| *d = direction.offsets[x] - d_r);
    direction.values.iter().zip(&node.p).map(|(v, p)| v * p).sum()
}

/// `J(θ) = Σ_j θ_j J_j` at node `i`.
pub(super) fn information(columns: &[Column], theta: &[f64], i: usize) -> Vec<f64> {
    let mut sum = vec![0.0; columns[0].information_at(i).len()];
    for (column, t) in columns.iter().zip(theta) {
        sum.iter_mut().zip(column.information_at(i)).for_each(|(sum, entry)| *sum += t * entry);
    }
    sum
}
