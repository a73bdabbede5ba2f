//! The primal-dual interior-point method.

use faer::Mat;
use faer::prelude::Solve;

use super::{MasterSolution, RestrictedMaster};
use crate::numerics::stop::check;

/// An iterate, or a step between iterates: weights, dual variables and dual slacks.
struct Iterate {
    theta: Vec<f64>,
    lambda: Vec<f64>,
    z: Vec<f64>,
}

impl RestrictedMaster<'_> {
    /// The optimal weights, from positive weights that need not meet the constraints; `None` if a step is not finite or the information is singular.
    ///
    /// After the last iteration the iterate is returned as it is, without a test of its residuals: rounding may keep them above the tolerance. Any dual
    /// variables serve a certificate, which bounds reduced costs anew; columns of the matrix are divided by their sums later.
    pub(in crate::design) fn solve(&self, start: &[f64]) -> Option<MasterSolution> {
        let mut iterate = self.first_iterate(start);
        for _ in 0..self.tolerances.iterations {
            check();
            let (gradient, hessian) = self.derivatives(&iterate.theta)?;
            if self.has_converged(&iterate, &gradient) {
                break;
            }
            let step = self.newton_step(&iterate, &gradient, &hessian)?;
            iterate.advance(&step, self.tolerances.boundary_share);
        }
        iterate.theta.truncate(self.columns.len());
        Some(MasterSolution { theta: iterate.theta, dual: iterate.lambda })
    }

    fn first_iterate(&self, start: &[f64]) -> Iterate {
        let mut theta = start.to_vec();
        if self.is_limited {
            let used: f64 = start.iter().zip(self.columns).map(|(t, column)| t * column.budget_share).sum();
            theta.push((1.0 - used).max(self.tolerances.min_slack));
        }
        let level = self.symmetry.inputs() as f64 - 1.0;
        let mut lambda = vec![level; self.symmetry.classes()];
        lambda.extend(self.is_limited.then_some(0.5 * level));
        Iterate { z: vec![0.5 * level; theta.len()], theta, lambda }
    }

    /// The Newton step of the perturbed KKT conditions, towards a share of the present complementarity.
    fn newton_step(&self, iterate: &Iterate, gradient: &[f64], hessian: &Mat<f64>) -> Option<Iterate> {
        let (count, rows) = (self.variables(), self.constraints());
        let target = self.tolerances.centring * iterate.complementarity();
        let (matrix, right) = self.kkt_system(iterate, gradient, hessian, target);
        let solution = matrix.partial_piv_lu().solve(&right);
        let theta: Vec<f64> = (0..count).map(|j| solution[(j, 0)]).collect();
        let slack = |j: usize| (target - iterate.z[j] * theta[j]) / iterate.theta[j] - iterate.z[j];
        let z = (0..count).map(slack).collect();
        let lambda: Vec<f64> = (0..rows).map(|row| solution[(count + row, 0)]).collect();
        theta.iter().all(|t| t.is_finite()).then_some(Iterate { theta, lambda, z })
    }

    /// ```text
    /// ( H + z/θ   Aᵀ ) ( Δθ )   ( ∇F − Aᵀλ + target/θ )
    /// (   A       0  ) ( Δλ ) = (      b − Aθ         )
    /// ```
    fn kkt_system(
        &self,
        iterate: &Iterate,
        gradient: &[f64],
        hessian: &Mat<f64>,
        target: f64,
    ) -> (Mat<f64>, Mat<f64>) {
        let (count, rows) = (self.variables(), self.constraints());
        let mut matrix = Mat::<f64>::zeros(count + rows, count + rows);
        let mut right = Mat::<f64>::zeros(count + rows, 1);
        for j in 0..count {
            for k in (0..gradient.len()).filter(|_| j < gradient.len()) {
                matrix[(j, k)] = hessian[(j, k)];
            }
            matrix[(j, j)] += iterate.z[j] / iterate.theta[j];
            right[(j, 0)] =
                self.dual_residual(iterate, gradient, j) + target / iterate.theta[j] - iterate.z[j];
        }
        for row in 0..rows {
            for j in 0..count {
                matrix[(count + row, j)] = self.coefficient(row, j);
                matrix[(j, count + row)] = self.coefficient(row, j);
            }
            right[(count + row, 0)] = self.primal_residual(iterate, row);
        }
        (matrix, right)
    }

    /// `∇F − Aᵀλ + z` in coordinate `j`.
    fn dual_residual(&self, iterate: &Iterate, gradient: &[f64], j: usize) -> f64 {
        let duals = iterate.lambda.iter().enumerate();
        let cost: f64 = duals.map(|(row, lambda)| lambda * self.coefficient(row, j)).sum();
        gradient.get(j).copied().unwrap_or(0.0) - cost + iterate.z[j]
    }

    /// `b − Aθ` in constraint `row`.
    fn primal_residual(&self, iterate: &Iterate, row: usize) -> f64 {
        let used: f64 = iterate.theta.iter().enumerate().map(|(j, t)| t * self.coefficient(row, j)).sum();
        self.right_hand_side(row) - used
    }

    fn has_converged(&self, iterate: &Iterate, gradient: &[f64]) -> bool {
        let primal = (0..self.constraints()).map(|row| self.primal_residual(iterate, row).abs());
        let dual = (0..self.variables()).map(|j| self.dual_residual(iterate, gradient, j).abs());
        let gap = iterate.complementarity() * iterate.theta.len() as f64;
        gap < self.tolerances.gap
            && primal.fold(0.0, f64::max) < self.tolerances.primal_residual
            && dual.fold(0.0, f64::max) < self.tolerances.gap
    }
}

impl Iterate {
    /// `θᵀz` divided by the number of variables.
    fn complementarity(&self) -> f64 {
        let sum: f64 = self.theta.iter().zip(&self.z).map(|(t, z)| t * z).sum();
        sum / self.theta.len() as f64
    }

    /// The whole step, or as much of it as keeps `θ` and `z` positive.
    fn advance(&mut self, step: &Iterate, boundary_share: f64) {
        let limit = |values: &[f64], steps: &[f64]| {
            let reach = |(v, s): (&f64, &f64)| if *s < 0.0 { -v / s } else { f64::INFINITY };
            values.iter().zip(steps).map(reach).fold(f64::INFINITY, f64::min)
        };
        let length = (boundary_share * limit(&self.theta, &step.theta).min(limit(&self.z, &step.z))).min(1.0);
        let go = |values: &mut [f64], steps: &[f64]| {
            values.iter_mut().zip(steps).for_each(|(v, s)| *v += length * s);
        };
        go(&mut self.theta, &step.theta);
        go(&mut self.z, &step.z);
        go(&mut self.lambda, &step.lambda);
    }
}
