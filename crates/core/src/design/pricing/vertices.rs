//! Pricing of all extreme rays, which suffices without a leakage budget.

use super::PricingResult;
use crate::design::cone::Cone;
use crate::design::direction::Direction;
use crate::design::dual_variables::DualVariables;
use crate::design::sensitivity::CubatureSensitivity;
use crate::design::symmetry::Symmetry;

/// Prices the two-valued directions `v ∈ {1, e^ε}^a`, one of each orbit; errors count in the bound. The `kept` best are returned.
pub(in crate::design) fn price_vertices(
    sensitivity: &CubatureSensitivity<'_>,
    dual: &DualVariables<'_>,
    symmetry: &Symmetry,
    cone: Cone,
    kept: usize,
) -> PricingResult {
    let vertices = symmetry.subset_representatives().into_iter().map(|set| cone.vertex(&set));
    let directions: Vec<Direction> = vertices.chain([Direction::constant(symmetry.inputs())]).collect();
    let orbits: Vec<Vec<Direction>> = directions.iter().map(|direction| symmetry.orbit(direction)).collect();
    let members: Vec<&[Direction]> = orbits.iter().map(Vec::as_slice).collect();
    let sensitivities = sensitivity.of_orbits(&members);
    let reduced_costs: Vec<f64> =
        directions.iter().zip(&sensitivities).map(|(v, h)| h.value - dual.cost(v)).collect();
    let upper = reduced_costs.iter().zip(&sensitivities).map(|(reduced_cost, h)| reduced_cost + h.error);
    let bound = upper.fold(f64::NEG_INFINITY, f64::max);
    PricingResult::new(bound, bound, reduced_costs.into_iter().zip(directions).collect(), kept)
}
