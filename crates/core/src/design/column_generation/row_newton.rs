//! Newton's method on the rows of a solution.

use super::{ColumnGeneration, Purpose, Solution};
use crate::design::direction::Direction;
use crate::design::dual_variables::DualVariables;
use crate::design::kkt_newton::{KktPoint, RowProgram};
use crate::design::problem::Problem;
use crate::design::restricted_master::{MasterSolution, utility};
use crate::model::error::Result;

impl ColumnGeneration<'_> {
    /// The leakage budget, if rows may have any entries and form no orbits: only those are moved by Newton's method.
    pub(super) fn budget_of_free_rows(&self) -> Option<f64> {
        let Problem { symmetry, cone, budget, .. } = self.problem;
        budget.filter(|_| cone.allows_zeros() && symmetry.is_trivial())
    }

    /// The solution after [Newton's method on its rows](crate::design::kkt_newton), if that is better. Rows that are close are merged first, at several distances.
    pub(super) fn with_newton_rows(&self, solution: Solution) -> Result<Solution> {
        let Some(budget) = self.budget_of_free_rows() else { return Ok(solution) };
        let mut tried = 0;
        for near in self.problem.tolerances.simplification.newton_distances {
            let groups = self.groups(&solution, near);
            if groups.len() == tried {
                continue;
            }
            tried = groups.len();
            let rows = groups.iter().map(|group| self.newton_row(group)).collect();
            let Some(point) = self.kkt_point(&solution, rows, budget) else { continue };
            let moved = self.solution_at(&point, budget)?;
            if self.utility(&moved) > self.utility(&solution) {
                return Ok(moved);
            }
        }
        Ok(solution)
    }

    fn utility(&self, solution: &Solution) -> Option<f64> {
        utility(self.cubature, &solution.columns, &solution.master.theta)
    }

    /// A group of directions as one row that Newton's method can start from.
    fn newton_row(&self, group: &[(f64, &Direction)]) -> Vec<f64> {
        let theta: f64 = group.iter().map(|(theta, _)| theta).sum();
        let mean = Direction::combination(group);
        let min_entry = self.problem.tolerances.simplification.min_newton_entry;
        let least = if mean.is_unit() { 0.0 } else { min_entry };
        mean.values.iter().map(|v| theta * v.max(least)).collect()
    }

    fn kkt_point(&self, solution: &Solution, rows: Vec<Vec<f64>>, budget: f64) -> Option<KktPoint> {
        let DualVariables { lambda, nu, .. } = self.dual_variables(&solution.master, Purpose::Certificate);
        let program = RowProgram {
            cubature: self.cubature,
            control: self.control,
            leakage: self.leakage,
            budget,
            tolerances: &self.problem.tolerances.kkt,
        };
        program.solve(KktPoint { rows, lambda, nu })
    }

    /// The rows of a KKT point as columns, priced.
    fn solution_at(&self, point: &KktPoint, budget: f64) -> Result<Solution> {
        let inputs = self.problem.symmetry.inputs() as f64;
        let directions = point.rows.iter().filter_map(|row| Direction::from_row(row));
        let columns = directions.map(|direction| self.column(&direction)).collect();
        let theta = point.rows.iter().map(|row| row.iter().sum::<f64>() / inputs).collect();
        let dual = point.lambda.iter().map(|lambda| lambda * inputs);
        let dual = dual.chain([point.nu * budget]).collect();
        self.priced(columns, MasterSolution { theta, dual }, Purpose::Generation)
    }
}
