//! Fewer columns for the same certificate.

use super::{ColumnGeneration, Purpose, Solution};
use crate::design::column::Column;
use crate::design::direction::Direction;
use crate::design::restricted_master::MasterSolution;
use crate::model::error::Result;
use crate::model::evaluation::Method;
use crate::numerics::stop::check;

impl ColumnGeneration<'_> {
    /// A simplified solution with a bound on all reduced costs. Columns that the search for the bound finds are added.
    pub(in crate::design) fn certified(&self, mut solution: Solution) -> Result<Solution> {
        let accepted = self.problem.allowance(self.problem.tolerances.levels.accepted);
        for _ in 0..self.problem.tolerances.generation.repairs {
            check();
            if self.problem.is_interrupted(solution.pricing.priced, solution.pricing.bound) {
                break;
            }
            let few = self.simplified(&solution)?;
            let few = self.priced(few.columns, few.master, Purpose::Certificate)?;
            if few.largest_reduced_cost() <= accepted {
                return Ok(few);
            }
            solution = self.run(self.with_entering(few))?;
        }
        self.priced(solution.columns, solution.master, Purpose::Certificate)
    }

    /// The solution with close columns merged, at the largest distance that keeps reduced costs small.
    fn simplified(&self, solution: &Solution) -> Result<Solution> {
        let tolerances = &self.problem.tolerances;
        let merging = self.problem.allowance(tolerances.levels.merging);
        let most = merging.max(solution.largest_reduced_cost());
        for near in tolerances.simplification.merging_distances {
            let columns = self.merged(solution, self.problem.cone.scaled_tolerance(near));
            let start = vec![1.0 / columns.len() as f64; columns.len()];
            // What is left may not meet the constraints.
            let Ok(MasterSolution { theta, .. }) = self.solve_master(&columns, &start) else { continue };
            // Few columns do not determine the dual variables; those of all columns are kept.
            let master = MasterSolution { theta, dual: solution.master.dual.clone() };
            let few = self.priced(columns, master, Purpose::Generation)?;
            if few.largest_reduced_cost() <= most {
                return Ok(few);
            }
        }
        Ok(solution.clone())
    }

    /// The non-negligible columns, groups of close ones replaced by their mean, with the unit columns that an optimum needs.
    fn merged(&self, solution: &Solution, near: f64) -> Vec<Column> {
        let symmetry = &self.problem.symmetry;
        let groups = self.groups(solution, near);
        let mean = |group: &Vec<(f64, &Direction)>| Direction::combination(group).with_ties(symmetry, near);
        let means = groups.iter().map(mean).map(|direction| self.snapped_to_unit(direction));
        let needed = symmetry.representatives().filter(|x| self.problem.needs_unit_row(*x));
        let needed = needed.map(|x| Direction::unit(x, symmetry.inputs()));
        let mut columns: Vec<Column> = Vec::new();
        for direction in means.chain(needed) {
            let is_new = columns.iter().flat_map(|column| &column.members).all(|other| *other != direction);
            if is_new {
                columns.push(self.column(&direction));
            }
        }
        columns
    }

    /// The non-negligible directions with their weights, those closer than `near` together. Unit directions are not grouped with others: where the value is
    /// rare, their sensitivities differ without bound.
    pub(super) fn groups<'s>(&self, solution: &'s Solution, near: f64) -> Vec<Vec<(f64, &'s Direction)>> {
        let mut groups: Vec<Vec<(f64, &Direction)>> = Vec::new();
        for (column, theta) in self.non_negligible(solution) {
            let member_near = |group: &[(f64, &Direction)]| {
                let is_near = |member: &&Direction| member.squared_distance(group[0].1) < near;
                let is_same_kind = group[0].1.is_unit() == column.direction().is_unit();
                column.members.iter().find(is_near).filter(|_| is_same_kind)
            };
            match groups.iter_mut().find_map(|group| member_near(group).map(|member| (group, member))) {
                Some((group, member)) => group.push((theta, member)),
                None => groups.push(vec![(theta, column.direction())]),
            }
        }
        groups
    }

    /// The unit direction in place of one that hardly differs from it, if every optimum needs that unit row. With the neighbour in its place, the sensitivity of
    /// the unit row would depend on smaller `P_x` than random nodes reach.
    pub(super) fn snapped_to_unit(&self, direction: Direction) -> Direction {
        if self.cubature.method() == Method::Quadrature {
            return direction;
        }
        let values = &direction.values;
        let larger = |l: (usize, f64), r: (usize, &f64)| if *r.1 > l.1 { (r.0, *r.1) } else { l };
        let (x, largest) = values.iter().enumerate().fold((0, 0.0), larger);
        let ratio = self.problem.tolerances.simplification.unit_row_ratio;
        let is_close = (0..values.len()).filter(|z| *z != x).all(|z| values[z] <= ratio * largest);
        if self.problem.needs_unit_row(x) && is_close {
            return Direction::unit(x, values.len());
        }
        direction
    }
}
