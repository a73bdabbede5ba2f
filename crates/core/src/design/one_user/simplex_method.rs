//! The primal simplex method with all columns priced in each step.

use faer::Mat;
use faer::prelude::Solve;

use super::OneUserDesign;
use crate::design::direction::Direction;
use crate::design::protocol_form::normalise_columns;
use crate::design::tolerances::OneUserTolerances;
use crate::model::error::{Error, Result};
use crate::model::protocol::Protocol;
use crate::numerics::stop::check;

/// `maximise Σ θ_j f_j` over `θ ≥ 0` with `Σ θ_j v_j = 1`.
pub(super) struct LinearProgram {
    pub directions: Vec<Direction>,
    /// `f_j`.
    pub values: Vec<f64>,
    pub tolerances: OneUserTolerances,
}

impl LinearProgram {
    /// From randomised response, which is a basic solution.
    pub(super) fn solve(&self, inputs: usize) -> Result<OneUserDesign> {
        let is_single = |v: &Direction| v.offsets.iter().filter(|d| **d > 0.0).count() == 1;
        let mut basis: Vec<usize> =
            (0..self.directions.len()).filter(|&j| is_single(&self.directions[j])).collect();
        let rounding = self.tolerances.reduced_cost * self.values.iter().copied().fold(0.0, f64::max);
        let mut degenerate = 0;
        for _ in 0..self.tolerances.steps {
            check();
            let (theta, multipliers) = self.basic_solution(&basis, inputs);
            let Some(entering) = self.entering(&multipliers, rounding, degenerate > inputs) else {
                return Ok(self.design(&basis, &theta, multipliers));
            };
            let step = self.solve_basis(&basis, &self.directions[entering].values, inputs);
            let Some((leaving, length)) = leaving(&basis, &theta, &step, self.tolerances.min_pivot) else {
                break;
            };
            degenerate = if length > self.tolerances.degenerate_step { 0 } else { degenerate + 1 };
            basis[leaving] = entering;
        }
        Err(Error::DesignNotConverged)
    }

    fn basis_matrix(&self, basis: &[usize], inputs: usize) -> Mat<f64> {
        Mat::from_fn(inputs, inputs, |x, i| self.directions[basis[i]].values[x])
    }

    /// The weights of the basis, and the dual variables.
    fn basic_solution(&self, basis: &[usize], inputs: usize) -> (Vec<f64>, Vec<f64>) {
        let values = Mat::from_fn(inputs, 1, |i, _| self.values[basis[i]]);
        let multipliers =
            self.basis_matrix(basis, inputs).transpose().to_owned().partial_piv_lu().solve(&values);
        let theta = self.solve_basis(basis, &vec![1.0; inputs], inputs);
        (theta, (0..inputs).map(|x| multipliers[(x, 0)]).collect())
    }

    /// `B⁻¹ v`.
    fn solve_basis(&self, basis: &[usize], v: &[f64], inputs: usize) -> Vec<f64> {
        let right = Mat::from_fn(inputs, 1, |x, _| v[x]);
        let solution = self.basis_matrix(basis, inputs).partial_piv_lu().solve(&right);
        (0..inputs).map(|i| solution[(i, 0)]).collect()
    }

    /// `f_j − λᵀv_j`.
    fn reduced_cost(&self, multipliers: &[f64], j: usize) -> f64 {
        let cost: f64 = multipliers.iter().zip(&self.directions[j].values).map(|(l, v)| l * v).sum();
        self.values[j] - cost
    }

    /// The column of largest reduced cost; the first of positive reduced cost (Bland's rule) while steps are degenerate, so that no basis comes twice.
    fn entering(&self, multipliers: &[f64], rounding: f64, blands_rule: bool) -> Option<usize> {
        let mut improving = (0..self.values.len())
            .map(|j| (j, self.reduced_cost(multipliers, j)))
            .filter(|(_, reduced_cost)| *reduced_cost > rounding);
        if blands_rule {
            return improving.next().map(|(j, _)| j);
        }
        improving.max_by(|l, r| l.1.total_cmp(&r.1)).map(|(j, _)| j)
    }

    fn design(&self, basis: &[usize], theta: &[f64], mut multipliers: Vec<f64>) -> OneUserDesign {
        let inputs = multipliers.len();
        let used = || basis.iter().zip(theta).filter(|(_, t)| **t > self.tolerances.negligible_weight);
        let row =
            |(j, t): (&usize, &f64)| self.directions[*j].values.iter().map(|v| t * v).collect::<Vec<_>>();
        let mut rows: Vec<Vec<f64>> = used().map(row).collect();
        normalise_columns(&mut rows);
        let information: f64 = used().map(|(j, t)| t * self.values[*j]).sum();
        let left = (0..self.values.len()).map(|j| self.reduced_cost(&multipliers, j)).fold(0.0, f64::max);
        multipliers.iter_mut().for_each(|lambda| *lambda += left / inputs as f64);
        let gap = (multipliers.iter().sum::<f64>() - information).max(0.0);
        // Unwrap safety: a basic solution meets the constraints, so the columns are distributions.
        OneUserDesign { protocol: Protocol::matrix(rows).unwrap(), information, multipliers, gap }
    }
}

/// The leaving column: the place in the basis whose weight first reaches zero along the step, by the smallest index among equals, with the length of the step.
fn leaving(basis: &[usize], theta: &[f64], step: &[f64], min_pivot: f64) -> Option<(usize, f64)> {
    let reach = |i: usize| (step[i] > min_pivot).then(|| (i, (theta[i] / step[i]).max(0.0)));
    let order = |l: &(usize, f64), r: &(usize, f64)| l.1.total_cmp(&r.1).then(basis[l.0].cmp(&basis[r.0]));
    (0..basis.len()).filter_map(reach).min_by(order)
}
