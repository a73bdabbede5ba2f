//! Tensor rules by stick-breaking: Gauss rules where the integrand is analytic around the simplex, else trapezoids in the logits.

use super::{Cubature, CubatureNode, CubatureRequest};
use crate::design::PriorComponents;
use crate::design::tolerances::CubatureTolerances;
use crate::fisher::Point;
use crate::fisher::expectation::cubature::{gauss_points, logit_points};
use crate::model::prior::Dirichlet;

/// A Gauss rule of the order that the contrast asks for, or `None` if that takes too many nodes. Its error is the difference to one order less.
pub(super) fn gauss(
    components: &PriorComponents<'_>,
    request: &CubatureRequest<'_>,
    tolerances: &CubatureTolerances,
) -> Option<Cubature> {
    let order = gauss_order(request.contrast, tolerances);
    let inputs = components[0].1.alpha().len();
    if (order as f64).powi(inputs as i32 - 1) > nodes_per_component(components, request) as f64 {
        return None;
    }
    let rule = |order: usize| product_rule(components, tolerances, |alpha| gauss_points(alpha, order));
    Some(tensor(rule(order), vec![rule(order - 1)], true, tolerances))
}

/// A trapezoidal rule in `logit B_x` of the stick-breaking variables. Its error is the larger difference to two longer steps.
pub(super) fn trapezoid(
    components: &PriorComponents<'_>,
    request: &CubatureRequest<'_>,
    tolerances: &CubatureTolerances,
) -> Cubature {
    let max_nodes = nodes_per_component(components, request);
    let contrast = request.contrast;
    let rule = |stretch: f64| {
        product_rule(components, tolerances, |alpha| {
            logit_points(alpha, contrast, stretch * trapezoid_step(alpha, contrast, max_nodes, tolerances))
        })
    };
    tensor(rule(1.0), tolerances.coarser_steps.map(rule).to_vec(), false, tolerances)
}

fn tensor(
    nodes: Vec<CubatureNode>,
    coarser: Vec<Vec<CubatureNode>>,
    is_converged: bool,
    tolerances: &CubatureTolerances,
) -> Cubature {
    let kept: f64 = nodes.iter().map(|node| node.weight).sum();
    Cubature {
        nodes,
        coarser,
        replicates: 1,
        is_converged,
        omitted_weight: (1.0 - kept).max(0.0),
        standard_errors: tolerances.standard_errors,
    }
}

fn nodes_per_component(components: &PriorComponents<'_>, request: &CubatureRequest<'_>) -> usize {
    request.max_nodes / components.len().max(1)
}

/// The nodes of all components, without those of negligible weight.
fn product_rule(
    components: &PriorComponents<'_>,
    tolerances: &CubatureTolerances,
    points: impl Fn(&[f64]) -> Vec<(f64, Point)>,
) -> Vec<CubatureNode> {
    let of_component = |(weight, component): &(f64, &Dirichlet)| {
        let weight = *weight;
        let points = points(component.alpha()).into_iter();
        points
            .filter(|(w, _)| *w > tolerances.negligible_weight)
            .map(move |(w, point)| CubatureNode::new(weight * w, &point, tolerances.min_probability))
    };
    components.iter().flat_map(of_component).collect()
}

/// The order `n` of a Gauss rule with `ρ^{−2n}` below the tolerance, where the nearest singularity is at `p = −1/contrast`.
fn gauss_order(contrast: f64, tolerances: &CubatureTolerances) -> usize {
    let z = 1.0 + 2.0 / contrast;
    let rate = 2.0 * (z + (z * z - 1.0).sqrt()).ln();
    ((-tolerances.gauss_error.ln() / rate).ceil() as usize).max(tolerances.min_gauss_order)
}

/// The smallest step whose rule has at most `max_nodes` nodes of weight.
fn trapezoid_step(alpha: &[f64], contrast: f64, max_nodes: usize, tolerances: &CubatureTolerances) -> f64 {
    let CubatureTolerances { first_step, step_ratio, steps, negligible_weight, .. } = *tolerances;
    let steps = (0..steps).map(|level| first_step / step_ratio.powi(level));
    let is_kept = |(weight, _): &&(f64, Point)| *weight > negligible_weight;
    let is_affordable =
        |step: &f64| logit_points(alpha, contrast, *step).iter().filter(is_kept).count() <= max_nodes;
    steps.take_while(is_affordable).last().unwrap_or(first_step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_is_not_a_small_error() {
        let rule = tensor(vec![], vec![vec![]; 2], false, &CubatureTolerances::default());
        let has_nan = |sums: &[f64; 3]| rule.mean(sums, 1.0).error.is_nan();
        assert!([[1.0, f64::NAN, 1.1], [1.0, 1.1, f64::NAN]].iter().all(has_nan));
        assert!((rule.mean(&[1.0, 1.1, 1.3], 0.0).error - 0.3).abs() < 1e-15);
    }
}
