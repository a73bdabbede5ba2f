//! Pricing at a solution of the master problem.

use super::{ColumnGeneration, Purpose, Solution};
use crate::design::column::Column;
use crate::design::direction::Direction;
use crate::design::dual_variables::DualVariables;
use crate::design::pricing::{BranchAndBound, PricingResult, StoppingRule, price_vertices};
use crate::design::problem::Problem;
use crate::design::restricted_master::MasterSolution;
use crate::design::sensitivity::Sensitivity;
use crate::model::error::{Error, Result};

impl ColumnGeneration<'_> {
    /// The reduced costs of all directions at these weights, on the nodes of the cubature.
    pub(in crate::design) fn priced(
        &self,
        columns: Vec<Column>,
        master: MasterSolution,
        purpose: Purpose,
    ) -> Result<Solution> {
        let sensitivity = self.sensitivity(&columns, &master.theta).ok_or(Error::DesignNotConverged)?;
        let Problem { symmetry, cone, budget, tolerances, .. } = self.problem;
        if budget.is_some() {
            return Ok(self.priced_by(&sensitivity, columns, master, purpose));
        }
        let dual = self.dual_variables(&master, purpose);
        let pricing = price_vertices(&sensitivity, &dual, symmetry, *cone, tolerances.pricing.kept);
        let least = self.least_entering();
        let entering = pricing.best.iter().filter(|(reduced_cost, _)| *reduced_cost > least);
        let entering = entering.take(tolerances.generation.entering).cloned().collect();
        Ok(Solution { columns, master, pricing, entering, nodes: sensitivity.nodes() })
    }

    /// The same by branch and bound, where leakage is limited.
    pub(super) fn priced_by(
        &self,
        sensitivity: &dyn Sensitivity,
        columns: Vec<Column>,
        master: MasterSolution,
        purpose: Purpose,
    ) -> Solution {
        let dual = self.dual_variables(&master, purpose);
        let known = columns.iter().map(|column| column.direction().clone()).collect();
        let pricing = self.branch_and_bound(sensitivity, &dual, known, purpose);
        let nodes = sensitivity.nodes();
        let mut solution = Solution { columns, master, pricing, entering: Vec::new(), nodes };
        let share = self.problem.tolerances.levels.generation;
        if solution.pricing.bound > self.problem.allowance(share) {
            solution.entering = self.entering_directions(&solution, sensitivity, &dual);
        }
        solution
    }

    fn branch_and_bound(
        &self,
        sensitivity: &dyn Sensitivity,
        dual: &DualVariables<'_>,
        known: Vec<Direction>,
        purpose: Purpose,
    ) -> PricingResult {
        let Problem { symmetry, cone, tolerances, .. } = self.problem;
        let rule = StoppingRule {
            aim: self.problem.allowance(tolerances.levels.generation),
            tolerance: self.problem.allowance(tolerances.levels.certified),
            failure: if self.is_last { f64::INFINITY } else { self.problem.max_reduced_cost() },
            max_directions: match purpose {
                Purpose::Generation => tolerances.pricing.generation_directions,
                Purpose::Certificate => tolerances.pricing.certificate_directions,
            },
            min_directions: tolerances.pricing.generation_directions,
            is_interrupted: &|priced, bound| self.problem.is_interrupted(priced, bound),
        };
        let errors_count = purpose == Purpose::Certificate;
        BranchAndBound::new(sensitivity, dual, errors_count, &tolerances.pricing)
            .run(symmetry, *cone, known, &rule)
    }

    /// The least reduced cost of a column that enters.
    pub(super) fn least_entering(&self) -> f64 {
        let tolerances = &self.problem.tolerances;
        tolerances.generation.entering_share * self.problem.allowance(tolerances.levels.generation)
    }
}
