//! Independent replicates of quasi-random nodes.
//!
//! The prior is unchanged by permutations within classes of equal inputs, so each node counts in every rotation of its classes. Under a
//! symmetric prior the mean sensitivity of the protocol's own rows is then exact, and the variance of all others is smaller.

use rayon::prelude::*;

use super::calibrated_weights::calibration_factors;
use super::importance_sampling::Proposals;
use super::{Cubature, CubatureNode, CubatureRequest};
use crate::design::PriorComponents;
use crate::design::symmetry::Symmetry;
use crate::design::tolerances::Tolerances;
use crate::fisher::Point;
use crate::model::prior::Dirichlet;

/// Replicates of equal length, each with importance weights and calibrated weights of its own.
pub(super) fn replicates(
    components: &PriorComponents<'_>,
    symmetry: &Symmetry,
    request: &CubatureRequest<'_>,
    tolerances: &Tolerances,
) -> Cubature {
    let replicates = tolerances.cubature.replicates;
    let rotations = symmetry.rotations();
    let per_component = request.max_nodes / components.len().max(1);
    let length = (per_component / (replicates * rotations.len())).max(1);
    let blocks: Vec<(usize, usize)> = (0..replicates)
        .flat_map(|replicate| (0..components.len()).map(move |component| (replicate, component)))
        .collect();
    let block = |&(replicate, i): &(usize, usize)| {
        let (weight, component) = components[i];
        let stream = replicate * components.len() + i;
        let mut nodes = weighted_nodes(component, &rotations, length, stream, request, tolerances);
        let even = weight / (nodes.len() * replicates) as f64;
        nodes.iter_mut().for_each(|(node, factor)| node.weight *= even * *factor);
        nodes.into_iter().map(|(node, _)| node).collect::<Vec<_>>()
    };
    Cubature {
        nodes: blocks.par_iter().flat_map_iter(block).collect(),
        coarser: vec![],
        replicates,
        is_converged: false,
        omitted_weight: 0.0,
        standard_errors: tolerances.cubature.standard_errors,
    }
}

/// The nodes of one replicate of a component, with importance weights, and the factors that calibrate them.
fn weighted_nodes(
    component: &Dirichlet,
    rotations: &[Vec<usize>],
    length: usize,
    stream: usize,
    request: &CubatureRequest<'_>,
    tolerances: &Tolerances,
) -> Vec<(CubatureNode, f64)> {
    let proposals = Proposals::new(component, request, length, tolerances);
    let points = proposals.draw(request.seed, stream);
    let mut nodes = rotated_nodes(&points, rotations, tolerances);
    nodes.iter_mut().for_each(|node| node.weight = proposals.importance_weight(&node.p));
    let powers = proposals.least_powers();
    let odds = request.disclosure_odds;
    let factors = calibration_factors(component, &powers, odds, &nodes, length, &tolerances.calibration);
    nodes.into_iter().zip(factors).collect()
}

fn rotated_nodes(points: &[Point], rotations: &[Vec<usize>], tolerances: &Tolerances) -> Vec<CubatureNode> {
    let rotated = points.iter().flat_map(|point| rotations.iter().map(move |turn| rotated(point, turn)));
    rotated.map(|point| CubatureNode::new(1.0, &point, tolerances.cubature.min_probability)).collect()
}

fn rotated(point: &Point, rotation: &[usize]) -> Point {
    Point::from_ln_weights(rotation.iter().map(|&x| point.ln_p()[x]).collect())
}
