//! Pricing of all extreme rays, which suffices without a leakage budget.

use super::PricingResult;
use crate::design::certificate::nan_to_infinity;
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
    let bound = upper.map(nan_to_infinity).fold(f64::NEG_INFINITY, f64::max);
    PricingResult::new(bound, bound, reduced_costs.into_iter().zip(directions).collect(), kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::column::Column;
    use crate::design::cubature::{Cubature, CubatureRequest};
    use crate::design::row_leakage::RowLeakage;
    use crate::design::tolerances::Tolerances;
    use crate::model::prior::Dirichlet;

    #[test]
    fn a_reduced_cost_that_is_nan_has_no_finite_bound() {
        let prior = Dirichlet::new(vec![0.5, 1.5]).unwrap();
        let (components, symmetry, cone) =
            ([(1.0, &prior)], Symmetry::new(prior.alpha()), Cone::new(Some(1.0)));
        let request = CubatureRequest { max_nodes: 200, contrast: 1.7, disclosure_odds: None, seed: 0 };
        let cubature = Cubature::new(&components, &symmetry, &request, &Tolerances::default());
        let rows = [[true, false], [false, true]].map(|set| cone.vertex(&set));
        let columns = rows.map(|row| Column::new(&row, 0.0, &symmetry, &cubature));
        let sensitivity = CubatureSensitivity::new(&cubature, &columns, &[0.5; 2], 16_384).unwrap();
        let leakage = RowLeakage(&components);
        let bound = |lambda: [f64; 2]| {
            let dual = DualVariables { lambda: lambda.to_vec(), nu: 0.0, leakage: &leakage };
            price_vertices(&sensitivity, &dual, &symmetry, cone, 4).bound
        };
        assert!(bound([0.5; 2]).is_finite());
        assert_eq!(bound([f64::NAN, 0.5]), f64::INFINITY);
    }
}
