//! Local maximisation of the reduced cost.

use crate::design::cone::Cone;
use crate::design::direction::Direction;
use crate::design::dual_variables::DualVariables;
use crate::design::sensitivity::Sensitivity;
use crate::design::tolerances::LocalSearch;

/// A local maximum of the reduced cost, by steps along single coordinates that gain at least `min_gain`. Steps are in `√height`, which reaches the boundary,
/// where leakage bends most.
pub(in crate::design) fn local_maximum(
    sensitivity: &dyn Sensitivity,
    dual: &DualVariables<'_>,
    cone: Cone,
    start: &Direction,
    min_gain: f64,
    tolerances: &LocalSearch,
) -> (f64, Direction) {
    let Cone { floor, span } = cone;
    let mut heights = start.heights(floor, span);
    let mut best = (sensitivity.of(start).value - dual.cost(start), start.clone());
    let mut step = tolerances.first_step;
    while step > tolerances.last_step {
        let moves = (0..heights.len()).flat_map(|x| [(x, -step), (x, step)]).filter_map(|(x, step)| {
            let mut tried = heights.clone();
            tried[x] = (tried[x].sqrt() + step).clamp(0.0, 1.0).powi(2);
            Some((Direction::from_heights(&tried, floor, span)?, tried))
        });
        let (directions, moves): (Vec<Direction>, Vec<Vec<f64>>) = moves.unzip();
        let (place, reduced_cost) = largest_reduced_cost(sensitivity, dual, &directions);
        if reduced_cost > best.0 + min_gain {
            best = (reduced_cost, directions[place].clone());
            heights.clone_from(&moves[place]);
        } else {
            step *= tolerances.step_ratio;
        }
    }
    best
}

fn largest_reduced_cost(
    sensitivity: &dyn Sensitivity,
    dual: &DualVariables<'_>,
    directions: &[Direction],
) -> (usize, f64) {
    let sensitivities = sensitivity.of_each(directions);
    let reduced_costs = directions.iter().zip(&sensitivities).map(|(v, h)| h.value - dual.cost(v));
    reduced_costs.enumerate().max_by(|l, r| l.1.total_cmp(&r.1)).unwrap_or((0, f64::NEG_INFINITY))
}
