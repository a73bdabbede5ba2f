//! Columns that enter, and columns that stay.

use crate::numerics::parallel::*;

use super::{ColumnGeneration, Solution, WeightedColumns};
use crate::design::column::Column;
use crate::design::direction::Direction;
use crate::design::dual_variables::DualVariables;
use crate::design::pricing::local_maximum;
use crate::design::sensitivity::Sensitivity;

impl ColumnGeneration<'_> {
    /// Local maxima of the reduced cost that are above the tolerance, different from each other and from the present columns; best first.
    pub(super) fn entering_directions(
        &self,
        solution: &Solution,
        sensitivity: &dyn Sensitivity,
        dual: &DualVariables<'_>,
    ) -> Vec<(f64, Direction)> {
        let tolerances = &self.problem.tolerances;
        let (cone, local) = (self.problem.cone, &tolerances.local_search);
        let least = self.least_entering();
        let climb = |start: &&Direction| {
            local_maximum(sensitivity, dual, cone, start, local.min_gain_share * least, local)
        };
        let mut maxima: Vec<(f64, Direction)> = self.starts(solution).par_iter().map(climb).collect();
        maxima.sort_by(|l, r| r.0.total_cmp(&l.0));
        maxima.retain(|(reduced_cost, _)| *reduced_cost > least);
        self.different(maxima, solution)
    }

    /// Those of the directions that differ from each other and from the columns of the solution. Nodes need not be as symmetric as the prior: the reduced
    /// cost of a member of a present orbit is an error of the cubature.
    fn different(&self, directions: Vec<(f64, Direction)>, solution: &Solution) -> Vec<(f64, Direction)> {
        let tolerances = &self.problem.tolerances;
        let same = self.problem.cone.scaled_tolerance(tolerances.local_search.same_distance);
        let mut chosen: Vec<(f64, Direction)> = Vec::new();
        for (reduced_cost, direction) in directions {
            let direction = self.snapped_to_unit(direction);
            let is_present =
                |column: &Column| column.members.iter().any(|m| m.squared_distance(&direction) < same);
            if !solution.columns.iter().any(is_present)
                && chosen.iter().all(|(_, other)| other.squared_distance(&direction) > same)
                && chosen.len() < tolerances.generation.entering
            {
                chosen.push((reduced_cost, direction));
            }
        }
        chosen
    }

    /// Starts of local searches: the columns of the solution and the best directions of the pricing problem, apart from each other.
    fn starts<'s>(&self, solution: &'s Solution) -> Vec<&'s Direction> {
        let tolerances = &self.problem.tolerances;
        let mut starts: Vec<&Direction> =
            self.non_negligible(solution).map(|(column, _)| column.direction()).collect();
        let most = starts.len() + tolerances.local_search.starts;
        let apart = self.problem.cone.scaled_tolerance(tolerances.local_search.start_distance);
        for (place, (_, direction)) in solution.pricing.best.iter().enumerate() {
            // A unit direction is a start besides any neighbour: between them the reduced cost may be smaller than at both.
            let is_apart = |other: &&Direction| {
                direction.squared_distance(other) > apart || direction.is_unit() != other.is_unit()
            };
            // The best one always: it may lie on a ridge from a column, along which coordinate steps do not advance.
            if starts.len() < most && (place == 0 || starts.iter().all(is_apart)) {
                starts.push(direction);
            }
        }
        starts
    }

    /// The columns that stay, with those that enter.
    pub(in crate::design) fn with_entering(&self, solution: Solution) -> WeightedColumns {
        let tolerances = &self.problem.tolerances.generation;
        let entering = self.balanced_entering(&solution);
        let columns = solution.columns.into_iter().zip(solution.master.theta);
        let staying = columns.filter(|(column, t)| self.stays(column, *t));
        let entering = entering.iter().map(|direction| (self.column(direction), tolerances.entering_weight));
        staying.chain(entering).map(|(column, t)| (column, t.max(tolerances.staying_weight))).unzip()
    }

    /// The entering directions. After Newton's method there may be as few rows as constraints, which leave no room for another one. So each comes with what it
    /// leaves of the heaviest row.
    fn balanced_entering(&self, solution: &Solution) -> Vec<Direction> {
        let entering = solution.entering.iter().map(|(_, direction)| direction.clone());
        let Some(budget) = self.budget_of_free_rows() else { return entering.collect() };
        let split_share = self.problem.tolerances.generation.split_share;
        let heaviest = solution.columns.iter().zip(&solution.master.theta).max_by(|l, r| l.1.total_cmp(r.1));
        let remainder = |direction: &Direction| {
            let row = &heaviest?.0.direction().values;
            let ratios = direction.values.iter().zip(row).map(|(v, w)| v / w);
            let most = ratios.fold(0.0, f64::max) * (self.leakage.by_gradient(direction) / budget).max(1.0);
            let rest: Vec<f64> =
                row.iter().zip(&direction.values).map(|(w, v)| w - split_share / most * v).collect();
            Direction::from_row(&rest).filter(|_| most.is_finite())
        };
        entering.flat_map(|direction| [remainder(&direction), Some(direction)]).flatten().collect()
    }

    /// Whether a column stays while others enter. Unit columns do: an optimum may need them with any small weight.
    pub(super) fn stays(&self, column: &Column, theta: f64) -> bool {
        column.share(theta) > self.problem.tolerances.generation.leaving_share || column.direction().is_unit()
    }

    /// The columns that are more than a negligible share of the protocol.
    pub(super) fn non_negligible<'s>(
        &self,
        solution: &'s Solution,
    ) -> impl Iterator<Item = (&'s Column, f64)> {
        let least = self.problem.tolerances.simplification.negligible_share;
        solution.weighted_columns().filter(move |(column, theta)| column.share(*theta) > least)
    }
}
