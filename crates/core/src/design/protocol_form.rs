//! From a solution to a design: the protocol, by name where it has one, and its certificate.

use super::certificate::{Certificate, nan_to_infinity};
use super::column::Column;
use super::column_generation::{ColumnGeneration, Purpose, Solution};
use super::problem::Problem;
use super::toward_privacy::{mixed_with_constant, within_level};
use super::{Design, subset_mixture};
use crate::model::evaluation::Method;
use crate::model::protocol::Protocol;

/// The design of a solution. The bound on reduced costs is added to `λ`, which makes every reduced cost negative.
pub(super) fn design(generation: &ColumnGeneration<'_>, solution: &Solution) -> Design {
    let Problem { symmetry, budget, .. } = generation.problem;
    let inputs = symmetry.inputs() as f64;
    let bound = nan_to_infinity(solution.pricing.bound).max(0.0);
    let dual = generation.dual_variables(&solution.master, Purpose::Certificate);
    let multipliers: Vec<f64> = dual.lambda.iter().map(|lambda| lambda + bound / inputs).collect();
    let dual_value = multipliers.iter().sum::<f64>() + dual.nu * budget.unwrap_or(0.0);
    let columns = solution.columns.iter().zip(&solution.master.theta);
    let leakage = columns.map(|(column, t)| t * generation.leakage.of(column.direction())).sum();
    let is_exact = solution.nodes == 0;
    Design {
        protocol: protocol(generation.problem, solution),
        leakage,
        certificate: Certificate {
            gap: nan_to_infinity(dual_value - (inputs - 1.0)).max(0.0) / (2.0 * (inputs - 1.0)),
            multipliers,
            privacy_multiplier: dual.nu,
            leakage_budget: *budget,
            priced: solution.pricing.priced,
            whole_cone: budget.is_some(),
            points: solution.nodes,
            method: if is_exact { Method::Quadrature } else { generation.cubature.method() },
        },
    }
}

/// By name where it has one, else as a matrix.
fn protocol(problem: &Problem<'_>, solution: &Solution) -> Protocol {
    let named = subset_selections(problem, solution).or_else(|| erasure(problem, solution));
    named.unwrap_or_else(|| matrix(problem, solution))
}

/// A mixture of subset selections. Under an asymmetric prior only randomised response is determined by its rows: no other weights of theirs add up to one.
fn subset_selections(problem: &Problem<'_>, solution: &Solution) -> Option<Protocol> {
    let epsilon = problem.epsilon?;
    let inputs = problem.symmetry.inputs();
    let sizes: Vec<usize> =
        solution.columns.iter().map(|column| subset_size(problem, column)).collect::<Option<_>>()?;
    if problem.symmetry.is_full() {
        return subset_mixture(inputs, epsilon, &sizes, &solution.master.theta).ok();
    }
    let is_randomised_response = sizes.iter().all(|size| *size == 1);
    is_randomised_response.then(|| Protocol::grr(inputs, epsilon).ok()).flatten()
}

/// The number of large entries, if the column is an extreme ray of the cone.
fn subset_size(problem: &Problem<'_>, column: &Column) -> Option<usize> {
    let direction = column.direction();
    let members: Vec<bool> = direction.values.iter().map(|v| *v > 1.0).collect();
    let size = members.iter().filter(|member| **member).count();
    let near = problem.cone.scaled_tolerance(problem.tolerances.rounding.vertex_distance);
    (size > 0 && problem.cone.vertex(&members).squared_distance(direction) < near).then_some(size)
}

/// Erasure: the orbit of unit rows and the constant row.
fn erasure(problem: &Problem<'_>, solution: &Solution) -> Option<Protocol> {
    if problem.epsilon.is_some() || !problem.symmetry.is_full() {
        return None;
    }
    let is_constant = |column: &Column| column.direction().offsets.iter().all(|d| *d == 0.0);
    let [unit, constant] = &solution.columns[..] else { return None };
    if !unit.direction().is_unit() || !is_constant(constant) {
        return None;
    }
    let disclosed = solution.master.theta[0];
    // Up to rounding the disclosed share is 1 − L, which is a rounder number.
    let round = problem.average_privacy.map_or(disclosed, |least| 1.0 - least);
    let is_close = (round - disclosed).abs() < problem.tolerances.rounding.erasure_share;
    let is_round = is_close && Some(1.0 - round) >= problem.average_privacy;
    Protocol::erasure(problem.symmetry.inputs(), if is_round { round } else { disclosed }).ok()
}

/// The rows of all orbits, rounded so that the level is kept. Without a level, zeros stay zeros.
fn matrix(problem: &Problem<'_>, solution: &Solution) -> Protocol {
    let rows = solution.columns.iter().zip(&solution.master.theta).flat_map(|(column, theta)| {
        let weight = theta / column.members.len() as f64;
        let row = move |values: &[f64]| values.iter().map(|v| weight * v).collect::<Vec<f64>>();
        column.members.iter().map(move |member| row(&member.values))
    });
    let mut rows: Vec<Vec<f64>> = rows.collect();
    normalise_columns(&mut rows);
    let rounding = &problem.tolerances.rounding;
    let constant = problem.epsilon.map_or(0.0, |epsilon| rounding.constant_share / epsilon.min(1.0));
    let epsilon = problem.epsilon.unwrap_or(f64::INFINITY);
    // Unwrap safety: the weights meet the constraints, so the columns are distributions.
    within_level(mixed_with_constant(&rows, constant), epsilon, rounding).unwrap()
}

/// Divides each column of a matrix by its sum.
pub(super) fn normalise_columns(rows: &mut [Vec<f64>]) {
    for x in 0..rows[0].len() {
        let sum: f64 = rows.iter().map(|row| row[x]).sum();
        rows.iter_mut().for_each(|row| row[x] /= sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::cubature::{Cubature, CubatureRequest};
    use crate::design::row_leakage::RowLeakage;
    use crate::design::{Effort, Requirement};
    use crate::model::prior::Dirichlet;

    #[test]
    fn a_bound_or_multiplier_that_is_nan_certifies_nothing() {
        let prior = Dirichlet::new(vec![0.5, 1.5]).unwrap();
        let components = [(1.0, &prior)];
        let requirement = Requirement::new(Some(1.0), None).unwrap();
        let problem = Problem::new(&components, &requirement, Effort::default()).unwrap();
        let request = CubatureRequest { max_nodes: 200, contrast: 1.7, disclosure_odds: None, seed: 0 };
        let cubature = Cubature::new(&components, &problem.symmetry, &request, &problem.tolerances);
        let leakage = RowLeakage(&components);
        let generation = ColumnGeneration::new(&problem, &cubature, &leakage, true);
        let solution = generation.run(generation.randomised_response()).unwrap();
        let gap = |solution: &Solution| design(&generation, solution).certificate.gap;
        assert!(gap(&solution).is_finite());
        let mut unbounded = solution.clone();
        unbounded.pricing.bound = f64::NAN;
        assert_eq!(gap(&unbounded), f64::INFINITY);
        let mut unknown = solution;
        unknown.master.dual[0] = f64::NAN;
        assert_eq!(gap(&unknown), f64::INFINITY);
    }
}
