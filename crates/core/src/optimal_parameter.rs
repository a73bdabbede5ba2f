//! The integer parameter of a protocol family that maximises the asymptotic utility.
//!
//! The utilities for different parameters are compared at the same points of the prior (common random numbers), so what differs is the
//! protocol and not the luck of the draw; and `ln det` concentrates when there are many inputs, so that few points are
//! enough. Near its top the utility is flat: a neighbour of the best parameter costs less than the points can tell.

use std::collections::HashMap;

use rayon::prelude::*;

use crate::expectation::quasi_monte_carlo::DirichletSequence;
use crate::fisher::{FisherInformation, Point, SubsetSelection, UnaryEncoding};

/// The range `g ≥ 2` of local hashing with budget `epsilon` that has the largest asymptotic utility.
///
/// `prior` is a mixture of Dirichlet distributions: weights and parameters.
///
/// # Method and cost
/// A climb from `e^ε + 1` (best for a rare value), or `√(a e^ε)` if that is less, with shrinking ratios, some ten to twenty utilities on 8 to 512 common points. The range stops at
/// `10^15`: beyond, at `ε > 34`, the utility no longer changes in a double.
///
/// # Example
/// ```
/// use sottovoce::optimal_parameter::best_hash_range;
/// assert_eq!(best_hash_range(&[(1.0, vec![0.5; 3])], 0.5, 0), 2);
/// ```
pub fn best_hash_range(prior: &[(f64, Vec<f64>)], epsilon: f64, seed: u64) -> u64 {
    let points = common_points(prior, seed, 1 << 16);
    let inputs = prior[0].1.len();
    // Where e^ε exceeds the number of inputs, collisions are rare enough long before g = e^ε.
    let odds = epsilon.exp();
    let guess = ((odds + 1.0).min((inputs as f64 * odds).sqrt()).min(1e15) as u64).max(2);
    climb(2, 1_000_000_000_000_000, guess, |range| {
        mean_ln_det(&UnaryEncoding::local_hashing(inputs, range as f64, epsilon, TOLERANCE), &points)
    })
}

/// The size `1 ≤ k < a` of subset selection with budget `epsilon` that has the largest asymptotic utility.
///
/// `prior` is a mixture of Dirichlet distributions: weights and parameters.
///
/// # Method and cost
/// A climb from `a/(e^ε + 1)`, the minimax size, as [`best_hash_range`].
///
/// # Example
/// ```
/// use sottovoce::optimal_parameter::best_subset_size;
/// assert_eq!(best_subset_size(&[(1.0, vec![0.5; 6])], 1.0, 0), 2);
/// ```
pub fn best_subset_size(prior: &[(f64, Vec<f64>)], epsilon: f64, seed: u64) -> usize {
    let points = common_points(prior, seed, 1 << 13);
    let inputs = prior[0].1.len();
    let most = inputs as u64 - 1;
    let guess = ((inputs as f64 / (epsilon.exp() + 1.0)).round() as u64).clamp(1, most);
    let best = climb(1, most, guess, |size| {
        mean_ln_det(&SubsetSelection::new(inputs, size as usize, epsilon, TOLERANCE), &points)
    });
    best as usize
}

/// Relative tolerance of the eigenvalues: the utility is then good to half of it.
const TOLERANCE: f64 = 1e-7;

/// Points of the prior with their weights, fewer when there are many inputs: `coordinates` numbers in all.
fn common_points(prior: &[(f64, Vec<f64>)], seed: u64, coordinates: usize) -> Vec<(f64, Point)> {
    let draws = (coordinates / prior[0].1.len()).next_power_of_two().clamp(8, 512) as u32;
    let part = |(i, (weight, alpha)): (usize, &(f64, Vec<f64>))| {
        let sequence = DirichletSequence::new(seed, i as u32);
        (0..draws).map(|j| (weight / f64::from(draws), sequence.point(j, alpha))).collect::<Vec<_>>()
    };
    prior.iter().enumerate().flat_map(part).collect()
}

fn mean_ln_det(fisher: &dyn FisherInformation, points: &[(f64, Point)]) -> f64 {
    let terms: Vec<f64> = points.par_iter().map(|(weight, point)| weight * fisher.ln_det(point)).collect();
    terms.iter().sum()
}

/// The integer in `low..=high` with the largest value of a function with one maximum, within half a percent beyond 200.
///
/// Neighbours at a ratio are tried; the ratio shrinks to its square root when neither is better.
fn climb(low: u64, high: u64, guess: u64, function: impl Fn(u64) -> f64) -> u64 {
    let mut known = HashMap::new();
    let mut value = |at: u64| *known.entry(at).or_insert_with(|| function(at));
    let (mut best, mut ratio) = (guess, 2f64);
    loop {
        let below = ((best as f64 / ratio) as u64).min(best - 1).max(low);
        let above = ((best as f64 * ratio).ceil() as u64).max(best + 1).min(high);
        match [below, above].into_iter().find(|&side| value(side) > value(best)) {
            Some(side) => best = side,
            None if ratio < FINEST_RATIO || (above <= best + 1 && best <= below + 1) => return best,
            None => ratio = ratio.sqrt(),
        }
    }
}

/// At the top the loss of utility is quadratic in the step: half a percent off is far below the error of any use.
const FINEST_RATIO: f64 = 1.005;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expectation::{Effort, asymptotic_utility};

    fn jeffreys(inputs: usize) -> Vec<(f64, Vec<f64>)> {
        vec![(1.0, vec![0.5; inputs])]
    }

    #[test]
    fn climbing_finds_the_top() {
        for top in [2, 3, 17, 99, 190] {
            assert_eq!(climb(2, 1_000_000, 50, |at| -(at as f64 - f64::from(top)).abs()), top as u64);
        }
    }

    #[test]
    fn known_subset_sizes() {
        assert_eq!(best_subset_size(&jeffreys(6), 1.0, 0), 2);
        assert_eq!(best_subset_size(&jeffreys(4), 0.5, 0), 2);
        assert_eq!(best_subset_size(&jeffreys(3), 1.0, 0), 1);
    }

    #[test]
    fn many_inputs() {
        for (a, epsilon, range, size) in
            [(100, 0.1, 2, 48), (100, 5.0, 80, 1), (1000, 1.0, 4, 269), (1000, 4.0, 54, 18)]
        {
            assert!(best_hash_range(&jeffreys(a), epsilon, 1).abs_diff(range) <= range / 20);
            assert!(best_subset_size(&jeffreys(a), epsilon, 1).abs_diff(size) <= size / 20);
        }
    }

    #[test]
    fn neighbours_are_worse_by_cubature() {
        let utility = |range: u64, epsilon: f64, inputs: usize| {
            let protocol = UnaryEncoding::local_hashing(inputs, range as f64, epsilon, 1e-12);
            asymptotic_utility(&protocol, &jeffreys(inputs), &Effort { tolerance: 1e-8, ..Effort::default() })
                .value
        };
        for (inputs, epsilon) in [(2, 1.0), (3, 0.5), (3, 2.0), (4, 1.0)] {
            let best = best_hash_range(&jeffreys(inputs), epsilon, 0);
            let top = utility(best, epsilon, inputs);
            assert!(top >= utility(best + 1, epsilon, inputs), "{inputs} {epsilon} {best}");
            assert!(best == 2 || top >= utility(best - 1, epsilon, inputs), "{inputs} {epsilon} {best}");
        }
    }
}
