//! First columns.

use super::{ColumnGeneration, Purpose, Solution, WeightedColumns};
use crate::design::column::Column;
use crate::design::direction::Direction;
use crate::design::partial_disclosure::{Multipliers, PartialDisclosure};
use crate::design::problem::Problem;
use crate::design::restricted_master::MasterSolution;

impl ColumnGeneration<'_> {
    /// The best [partial disclosure protocol](crate::design::partial_disclosure), if zeros are allowed and leakage is limited, and whether it is optimal among
    /// all protocols. Its sensitivities are exact integrals.
    pub(in crate::design) fn partial_disclosure(&self) -> Option<(Solution, bool)> {
        let Problem { components, symmetry, cone, budget, tolerances, .. } = self.problem;
        let budget = budget.filter(|_| cone.allows_zeros())?;
        let (best, multipliers) =
            PartialDisclosure::best(components, symmetry, self.leakage, budget, &tolerances.disclosure)?;
        let (columns, theta) = best.rows(symmetry).iter().map(|(t, row)| (self.column(row), *t)).unzip();
        let master = MasterSolution { theta, dual: self.dual_of_classes(&multipliers, budget) };
        let accepted = self.problem.allowance(tolerances.levels.accepted);
        let is_optimal = |solution: &Solution| solution.largest_reduced_cost() <= accepted;
        let solution = self.priced_by(&best, columns, master, Purpose::Generation);
        if !is_optimal(&solution) {
            return Some((solution, false));
        }
        let solution = self.priced_by(&best, solution.columns, solution.master, Purpose::Certificate);
        let is_optimal = is_optimal(&solution);
        Some((solution, is_optimal))
    }

    /// The multipliers in the units of the master problem: one for each class, and one for the budget as 1.
    fn dual_of_classes(&self, multipliers: &Multipliers, budget: f64) -> Vec<f64> {
        let symmetry = &self.problem.symmetry;
        let classes = symmetry.representatives().map(|x| multipliers.lambda[x] * symmetry.inputs() as f64);
        classes.chain([multipliers.nu * budget]).collect()
    }

    /// Randomised response mixed with the constant protocol, within half of the budget.
    pub(in crate::design) fn randomised_response(&self) -> WeightedColumns {
        let symmetry = &self.problem.symmetry;
        let is_single = |set: &Vec<bool>| set.iter().filter(|member| **member).count() == 1;
        let singles = symmetry.subset_representatives().into_iter().filter(is_single);
        let mut columns: Vec<Column> =
            singles.map(|set| self.column(&self.problem.cone.vertex(&set))).collect();
        let size = |column: &Column| column.members.len() as f64 / symmetry.inputs() as f64;
        let leakage: f64 = columns.iter().map(|column| size(column) * column.budget_share).sum();
        let share = self.problem.tolerances.generation.first_weight / leakage.max(1.0);
        let mut start: Vec<f64> = columns.iter().map(|column| share * size(column)).collect();
        columns.push(self.column(&Direction::constant(symmetry.inputs())));
        start.push(1.0 - share);
        (columns, start)
    }

    /// The columns of a solution that was found on other nodes.
    pub(in crate::design) fn on_these_nodes(&self, solution: &Solution) -> WeightedColumns {
        let least = self.problem.tolerances.generation.staying_weight;
        let staying = solution.weighted_columns().filter(|(column, t)| self.stays(column, *t));
        staying.map(|(column, t)| (self.column(column.direction()), t.max(least))).unzip()
    }
}
