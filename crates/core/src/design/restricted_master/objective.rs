//! `E ln det J(θ)` on the nodes, with its gradient and Hessian in the weights.

use crate::numerics::parallel::*;
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};

use super::RestrictedMaster;
use crate::design::column::{Column, differences, information};
use crate::design::cubature::{Cubature, CubatureNode};
use crate::design::packed_symmetric::{MAX_SIZE, entries, inverse_factor, whitened, whitened_square};

/// `E ln det J(θ)` with the columns' corrections; `None` where the information is singular.
pub(in crate::design) fn utility(cubature: &Cubature, columns: &[Column], theta: &[f64]) -> Option<f64> {
    let n = columns[0].members[0].values.len() - 1;
    let at = |(i, node): (usize, &CubatureNode)| {
        let factor = inverse_factor(&information(columns, theta, i), n)?;
        Some(-2.0 * node.weight * (0..n).map(|k| factor[entries(k) + k].ln()).sum::<f64>())
    };
    let corrections: f64 = columns.iter().zip(theta).map(|(column, t)| t * column.correction).sum();
    Some(corrections + cubature.nodes.iter().enumerate().map(at).sum::<Option<f64>>()?)
}

impl RestrictedMaster<'_> {
    /// Gradient and negative Hessian of the objective; `None` where the information is singular.
    pub(super) fn derivatives(&self, theta: &[f64]) -> Option<(Vec<f64>, Mat<f64>)> {
        let count = self.columns.len();
        let tasks = self.cubature.nodes.len().div_ceil(self.tolerances.nodes_per_task);
        let parts: Option<Vec<(Vec<f64>, Mat<f64>)>> =
            (0..tasks).into_par_iter().map(|task| self.derivatives_of_task(theta, task)).collect();
        let mut gradient: Vec<f64> = self.columns.iter().map(|column| column.correction).collect();
        let mut hessian = Mat::<f64>::zeros(count, count);
        for (g, h) in parts? {
            gradient.iter_mut().zip(g).for_each(|(sum, g)| *sum += g);
            hessian += h;
        }
        Some((gradient, hessian))
    }

    /// The part of some nodes. With `J = L Lᵀ` and `W_j = √weight · L⁻¹ J_j L⁻ᵀ`, the gradient is a sum of traces and the Hessian one product `WᵀW`
    /// of the matrix whose column `j` holds `W_j` of all nodes.
    fn derivatives_of_task(&self, theta: &[f64], task: usize) -> Option<(Vec<f64>, Mat<f64>)> {
        let (count, n) = (self.columns.len(), self.symmetry.inputs() - 1);
        let (size, length) = (entries(n), self.tolerances.nodes_per_task);
        let nodes = task * length..((task + 1) * length).min(self.cubature.nodes.len());
        let mut white = Mat::<f64>::zeros(size * nodes.len(), count);
        let mut gradient = vec![0.0; count];
        for (place, i) in nodes.enumerate() {
            let node = &self.cubature.nodes[i];
            let factor = inverse_factor(&information(self.columns, theta, i), n)?;
            let root = node.weight.sqrt();
            for (j, column) in self.columns.iter().enumerate() {
                let out = &mut white.col_as_slice_mut(j)[place * size..(place + 1) * size];
                whiten(column, i, node, &factor, out);
                gradient[j] += node.weight * (0..n).map(|k| out[entries(k) + k]).sum::<f64>();
                out.iter_mut().for_each(|entry| *entry *= root);
            }
        }
        let mut hessian = Mat::<f64>::zeros(count, count);
        matmul(hessian.as_mut(), Accum::Replace, white.transpose(), white.as_ref(), 1.0, Par::Seq);
        Some((gradient, hessian))
    }
}

/// `L⁻¹ J_j L⁻ᵀ` of a column at node `i`. An orbit of one direction has an information of rank one.
fn whiten(column: &Column, i: usize, node: &CubatureNode, factor: &[f64], out: &mut [f64]) {
    let n = node.p.len() - 1;
    match &column.members[..] {
        [single] => {
            let mut d = [0.0; MAX_SIZE];
            let likelihood = differences(single, node, &mut d[..n]);
            whitened_square(factor, &mut d[..n], likelihood, out);
        }
        _ => whitened(factor, column.information_at(i), n, out),
    }
}
