//! Column generation: solve the restricted master problem, price all directions, add columns of positive reduced cost, repeat.
//!
//! - `start`: first columns, from randomised response, from the best partial disclosure protocol or from another cubature;
//! - `pricing_step`: the reduced costs at a solution, with the directions that may enter;
//! - `entering`: which of them enter, and with what they are balanced;
//! - `row_newton`: rows that are nearly optimal are moved by Newton's method instead;
//! - `simplification`: fewer columns for the same certificate.

mod entering;
mod pricing_step;
mod row_newton;
mod simplification;
mod start;

use super::column::Column;
use super::control_variate::ControlVariate;
use super::cubature::Cubature;
use super::direction::Direction;
use super::dual_variables::DualVariables;
use super::pricing::PricingResult;
use super::problem::Problem;
use super::restricted_master::{MasterSolution, RestrictedMaster};
use super::row_leakage::RowLeakage;
use super::sensitivity::CubatureSensitivity;
use crate::model::error::{Error, Result};
use crate::numerics::stop::check;

/// Column generation on the nodes of one cubature.
#[derive(Clone, Copy)]
pub(super) struct ColumnGeneration<'a> {
    pub problem: &'a Problem<'a>,
    pub cubature: &'a Cubature,
    /// A control variate for sensitivities, if it reduces their errors.
    pub control: Option<&'a ControlVariate<'a>>,
    pub leakage: &'a RowLeakage<'a>,
    /// Whether there is no larger cubature to turn to.
    pub is_last: bool,
}

/// Columns with their optimal weights, and what pricing found.
#[derive(Clone)]
pub(super) struct Solution {
    pub columns: Vec<Column>,
    pub master: MasterSolution,
    pub pricing: PricingResult,
    /// Directions that may enter, with their reduced costs; none if the bound excludes them.
    pub entering: Vec<(f64, Direction)>,
    /// How many nodes stood for the prior, 0 if sensitivities were exact integrals.
    pub nodes: usize,
}

impl Solution {
    /// The largest reduced cost of a direction that may enter.
    fn largest_reduced_cost(&self) -> f64 {
        self.entering.iter().map(|(reduced_cost, _)| *reduced_cost).fold(0.0, f64::max)
    }

    /// The columns with their weights.
    fn weighted_columns(&self) -> impl Iterator<Item = (&Column, f64)> {
        self.columns.iter().zip(self.master.theta.iter().copied())
    }
}

/// Columns with initial weights.
pub(super) type WeightedColumns = (Vec<Column>, Vec<f64>);

/// What directions are priced for.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Purpose {
    /// Finding columns that enter, on the nodes as they are.
    Generation,
    /// Bounding all reduced costs, with the errors of the cubature.
    Certificate,
}

impl<'a> ColumnGeneration<'a> {
    pub(super) fn new(
        problem: &'a Problem<'a>,
        cubature: &'a Cubature,
        leakage: &'a RowLeakage<'a>,
        is_last: bool,
    ) -> Self {
        ColumnGeneration { problem, cubature, control: None, leakage, is_last }
    }

    /// Rounds of master problem and pricing, until no direction that was found has a reduced cost above the tolerance.
    pub(super) fn run(&self, (mut columns, mut start): WeightedColumns) -> Result<Solution> {
        let tolerances = &self.problem.tolerances;
        for round in 1.. {
            check();
            let master = self.solve_master(&columns, &start)?;
            let solution = self.with_newton_rows(self.priced(columns, master, Purpose::Generation)?)?;
            let PricingResult { priced, bound, .. } = solution.pricing;
            let is_interrupted = self.problem.is_interrupted(priced, bound);
            let is_optimal =
                solution.largest_reduced_cost() <= self.problem.allowance(tolerances.levels.generation);
            if is_optimal || round == tolerances.generation.rounds || is_interrupted {
                return Ok(solution);
            }
            (columns, start) = self.with_entering(solution);
        }
        Err(Error::DesignNotConverged)
    }

    fn solve_master(&self, columns: &[Column], start: &[f64]) -> Result<MasterSolution> {
        let master = RestrictedMaster {
            symmetry: &self.problem.symmetry,
            cubature: self.cubature,
            columns,
            is_limited: self.problem.budget.is_some(),
            tolerances: &self.problem.tolerances.master,
        };
        master.solve(start).ok_or(Error::DesignNotConverged)
    }

    pub(super) fn column(&self, direction: &Direction) -> Column {
        let leakage = self.problem.budget.map_or(0.0, |budget| self.leakage.of(direction) / budget);
        let mut column = Column::new(direction, leakage, &self.problem.symmetry, self.cubature);
        column.correction = self.control.map_or(0.0, |control| control.correction(&column.members));
        column
    }

    /// The sensitivities at some weights; `None` if the information is singular at a node.
    pub(super) fn sensitivity(&self, columns: &[Column], theta: &[f64]) -> Option<CubatureSensitivity<'a>> {
        let work_per_task = self.problem.tolerances.pricing.work_per_task;
        let plain = CubatureSensitivity::new(self.cubature, columns, theta, work_per_task)?;
        Some(match self.control {
            Some(control) => plain.with_control_variate(control),
            None => plain,
        })
    }

    /// The dual variables by input, with `ν` raised (see `GapLevels::raise_generation`).
    pub(super) fn dual_variables(&self, master: &MasterSolution, purpose: Purpose) -> DualVariables<'a> {
        let Problem { symmetry, budget, tolerances, .. } = self.problem;
        let lambda = |class: &usize| master.dual[*class] / symmetry.inputs() as f64;
        let raise = self.problem.raise(match purpose {
            Purpose::Generation => tolerances.levels.raise_generation,
            Purpose::Certificate => tolerances.levels.raise_certificate,
        });
        let nu = |budget: f64| (master.dual[symmetry.classes()] + raise) / budget;
        let lambda = symmetry.class_of.iter().map(lambda).collect();
        DualVariables { lambda, nu: budget.map_or(0.0, nu), leakage: self.leakage }
    }
}
