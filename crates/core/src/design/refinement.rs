//! The passes of column generation, with more nodes each time.
//!
//! A first pass on few nodes finds the columns that matter. Later passes start from them, until the certificate reaches the gap or the nodes cannot grow.

use super::Design;
use super::column::Column;
use super::column_generation::{ColumnGeneration, Purpose, Solution};
use super::control_variate::ControlVariate;
use super::cubature::{Cubature, CubatureRequest, max_or_nan};
use super::direction::Direction;
use super::packed_symmetric::entries;
use super::partial_disclosure::PartialDisclosure;
use super::problem::Problem;
use super::protocol_form::design;
use super::row_leakage::RowLeakage;
use super::sensitivity::{CubatureSensitivity, Sensitivity};
use crate::model::error::Result;
use crate::numerics::stop::check;

/// The outcome of the first pass.
enum FirstPass {
    /// A partial disclosure protocol is optimal.
    Optimal(Box<Design>),
    /// Columns to start the next pass from.
    Candidate(Box<Solution>),
}

impl Problem<'_> {
    /// The best protocol with its certificate. A leakage budget that the best protocol without it meets is dropped.
    pub(super) fn solve(&self) -> Result<Design> {
        if let (Some(budget), Some(_)) = (self.budget, self.epsilon) {
            let without_budget = self.without_budget().solve_as_given()?;
            if without_budget.leakage <= budget {
                return Ok(without_budget);
            }
        }
        self.solve_as_given()
    }

    fn solve_as_given(&self) -> Result<Design> {
        let leakage = RowLeakage(self.components);
        let max_nodes = self.tolerances.nodes.initial(self.symmetry.inputs(), self.budget.is_some());
        match self.first_pass(max_nodes, &leakage)? {
            FirstPass::Optimal(design) => Ok(*design),
            FirstPass::Candidate(solution) => self.refined(solution, max_nodes, &leakage),
        }
    }

    /// On few nodes: the columns that matter. The best partial disclosure protocol needs no nodes, and may already be optimal.
    fn first_pass(&self, max_nodes: usize, leakage: &RowLeakage<'_>) -> Result<FirstPass> {
        let cubature = self.cubature(max_nodes / self.tolerances.nodes.first_pass_divisor, None);
        let generation = ColumnGeneration::new(self, &cubature, leakage, false);
        let start = match generation.partial_disclosure() {
            Some((solution, true)) => {
                return Ok(FirstPass::Optimal(Box::new(design(&generation, &solution))));
            }
            Some((solution, false)) => generation.with_entering(solution),
            None => generation.randomised_response(),
        };
        Ok(FirstPass::Candidate(Box::new(generation.run(start)?)))
    }

    /// Passes on growing numbers of nodes, until the gap is certified, the nodes cannot grow, or the observer breaks.
    fn refined(
        &self,
        mut solution: Box<Solution>,
        mut max_nodes: usize,
        leakage: &RowLeakage<'_>,
    ) -> Result<Design> {
        loop {
            check();
            let odds = self.disclosure_odds(&solution);
            let cubature = self.cubature(max_nodes, odds.as_deref());
            let is_last = cubature.is_converged || self.next_nodes(max_nodes).is_none();
            let plain = ColumnGeneration::new(self, &cubature, leakage, is_last);
            let control = odds.and_then(|odds| plain.useful_control_variate(&solution, odds));
            let generation = ColumnGeneration { control: control.as_ref(), ..plain };
            *solution = generation.certified(generation.run(generation.on_these_nodes(&solution))?)?;
            // More nodes do not help if only the bound is loose.
            if is_last || solution.pricing.largest_seen <= self.max_reduced_cost() {
                return Ok(design(&generation, &solution));
            }
            if self.is_interrupted(solution.pricing.priced, solution.pricing.bound) {
                // The last search was given up in favour of more nodes, for which there is no time.
                let generation = ColumnGeneration { is_last: true, ..generation };
                let Solution { columns, master, .. } = *solution;
                return Ok(design(&generation, &generation.priced(columns, master, Purpose::Certificate)?));
            }
            max_nodes *= self.tolerances.nodes.growth;
        }
    }

    fn cubature(&self, max_nodes: usize, disclosure_odds: Option<&[f64]>) -> Cubature {
        let contrast = if self.cone.allows_zeros() {
            self.tolerances.cubature.contrast_without_epsilon
        } else {
            self.cone.span / self.cone.floor
        };
        let request = CubatureRequest { max_nodes, contrast, disclosure_odds, seed: self.effort.seed };
        Cubature::new(self.components, &self.symmetry, &request, &self.tolerances)
    }

    /// The node count of the next pass, if columns of that length are allowed.
    fn next_nodes(&self, max_nodes: usize) -> Option<usize> {
        let nodes = &self.tolerances.nodes;
        let most = nodes.max_entries / entries(self.symmetry.inputs() - 1);
        Some(max_nodes * nodes.growth).filter(|next| *next <= most)
    }

    /// The odds of a partial disclosure protocol close to a solution, if leakage is limited: rows without a dominant entry count as the common symbol.
    fn disclosure_odds(&self, solution: &Solution) -> Option<Vec<f64>> {
        self.budget?;
        let inputs = self.symmetry.inputs();
        let mut common = vec![0.0; inputs];
        for (column, theta) in solution.columns.iter().zip(&solution.master.theta) {
            let has_no_peak = |member: &&Direction| member.values.iter().all(|v| *v < 0.5 * inputs as f64);
            let share = theta / column.members.len() as f64;
            for member in column.members.iter().filter(has_no_peak) {
                common.iter_mut().zip(&member.values).for_each(|(sum, v)| *sum += share * v);
            }
        }
        // Inputs that are alike get equal odds, whatever the rounding.
        let of_class = |class: &usize| {
            let total = self.symmetry.members(*class).map(|x| common[x]).sum::<f64>();
            total / self.symmetry.class_sizes[*class] as f64
        };
        let limits = &self.tolerances.calibration;
        let odds = |share: f64| (share / (1.0 - share).max(0.0)).clamp(limits.min_odds, limits.max_odds);
        Some(self.symmetry.class_of.iter().map(of_class).map(odds).collect())
    }
}

impl ColumnGeneration<'_> {
    /// The partial disclosure protocol of these odds as a control variate, if sampling errors prevent the certificate of a solution and it reduces them enough.
    fn useful_control_variate(&self, solution: &Solution, odds: Vec<f64>) -> Option<ControlVariate<'_>> {
        let tolerances = &self.problem.tolerances;
        if !self.problem.cone.allows_zeros() {
            return None;
        }
        let columns: Vec<Column> =
            solution.columns.iter().map(|column| self.column(column.direction())).collect();
        let theta = &solution.master.theta;
        let plain = self.sensitivity(&columns, theta)?;
        let plain_error = self.largest_relative_error(&columns, &plain);
        if plain_error.is_nan() || plain_error <= tolerances.control_variate.max_relative_error {
            return None;
        }
        let exact =
            PartialDisclosure::as_control_variate(self.problem.components, odds, &tolerances.disclosure);
        let control = ControlVariate::new(exact, self.cubature, tolerances.pricing.work_per_task);
        let error = self.largest_relative_error(&columns, &plain.with_control_variate(&control));
        (error < tolerances.control_variate.max_error_ratio * plain_error).then_some(control)
    }

    /// The largest error of a column's sensitivity, relative to the reduced cost that its certificate allows.
    fn largest_relative_error(&self, columns: &[Column], sensitivity: &CubatureSensitivity<'_>) -> f64 {
        let raise = self.problem.raise(self.problem.tolerances.levels.raise_certificate);
        let relative = |column: &Column| {
            let allowed = self.problem.max_reduced_cost() + raise * column.budget_share;
            sensitivity.of(column.direction()).error / allowed
        };
        columns.iter().map(relative).fold(0.0, max_or_nan)
    }
}
