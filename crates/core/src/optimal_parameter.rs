//! The integer parameter of a protocol family that maximises the asymptotic utility.
//!
//! The utilities for different parameters are compared at the same points of the prior (common random numbers), so what differs is the
//! protocol and not the luck of the draw; and `ln det` concentrates when there are many inputs, so that few points are
//! enough. Near its top the utility is flat: a neighbour of the best parameter costs less than the points can tell.

use std::collections::HashMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rayon::prelude::*;

use crate::expectation::quasi_monte_carlo::DirichletSequence;
use crate::fisher::{FisherInformation, Point, SubsetSelection, UnaryEncoding};
use crate::prior::{Dirichlet, Prior};
use crate::protocol::{BitNoise, MAX_INPUTS};

/// Beyond so many inputs the parameter for many inputs is taken without a search.
const MOST_INPUTS_SEARCHED: usize = 20_000;

/// The number `g ≥ 2` of buckets of local hash with level `epsilon` that has the largest asymptotic utility. For a point prior,
/// which has no asymptotic utility, the best under the Jeffreys prior.
///
/// # Method and cost
/// A climb from `e^ε + 1` (best for a rare value), or `√(a e^ε)` if that is less, with shrinking ratios: some ten to twenty
/// utilities on 8 to 512 common points, under a second up to `a = 1000`. Beyond 20 000 inputs the start itself.
///
/// # Example
/// ```
/// use sottovoce::{Prior, optimal_parameter::best_hash_range};
/// assert_eq!(best_hash_range(&Prior::jeffreys(3)?, 0.5), 2);
/// # Ok::<(), sottovoce::Error>(())
/// ```
pub fn best_hash_range(prior: &Prior, epsilon: f64) -> usize {
    // Where e^ε exceeds the number of inputs, collisions are rare enough long before g = e^ε.
    let (inputs, odds) = (prior.inputs(), epsilon.exp());
    let guess = (odds + 1.0).min((inputs as f64 * odds).sqrt()).min(MAX_INPUTS as f64) as usize;
    if inputs > MOST_INPUTS_SEARCHED {
        return guess.max(2);
    }
    let points = common_points(prior, 1 << 16);
    climb(2, MAX_INPUTS, guess.max(2), |range| {
        mean_ln_det(&UnaryEncoding::new(inputs, &BitNoise::local_hash(range, epsilon), TOLERANCE), &points)
    })
}

/// The size `1 ≤ k < a` of subset selection with level `epsilon` that has the largest asymptotic utility. For a point prior,
/// which has no asymptotic utility, the best under the Jeffreys prior.
///
/// # Method and cost
/// A climb from `a/(e^ε + 1)`, the minimax size, as [`best_hash_range`].
///
/// # Example
/// ```
/// use sottovoce::{Prior, optimal_parameter::best_subset_size};
/// assert_eq!(best_subset_size(&Prior::jeffreys(6)?, 1.0), 2);
/// # Ok::<(), sottovoce::Error>(())
/// ```
pub fn best_subset_size(prior: &Prior, epsilon: f64) -> usize {
    let inputs = prior.inputs();
    let guess = ((inputs as f64 / (epsilon.exp() + 1.0)).round() as usize).clamp(1, inputs - 1);
    if inputs > MOST_INPUTS_SEARCHED {
        return guess;
    }
    let points = common_points(prior, 1 << 13);
    climb(1, inputs - 1, guess, |size| {
        mean_ln_det(&SubsetSelection::new(inputs, size, epsilon, TOLERANCE), &points)
    })
}

/// Relative tolerance of the eigenvalues: the utility is then good to half of it.
const TOLERANCE: f64 = 1e-7;

/// Points of the prior with their weights, fewer when there are many inputs: `coordinates` numbers in all. Always the same.
fn common_points(prior: &Prior, coordinates: usize) -> Vec<(f64, Point)> {
    let draws = (coordinates / prior.inputs()).next_power_of_two().clamp(8, 512) as u32;
    let weight = |part: f64| part / f64::from(draws);
    let of_part = |(i, (part, dirichlet)): (usize, (f64, &Dirichlet))| {
        let sequence = DirichletSequence::new(0, i as u32);
        (0..draws).map(|j| (weight(part), sequence.point(j, dirichlet.alpha()))).collect::<Vec<_>>()
    };
    match prior {
        Prior::Own(own) => {
            let mut rng = ChaCha8Rng::seed_from_u64(0);
            (0..draws).map(|_| (weight(1.0), Point::from_ln_weights(own.sample_ln(&mut rng)))).collect()
        }
        Prior::Points(_) => {
            let sequence = DirichletSequence::new(0, 0);
            let jeffreys = vec![0.5; prior.inputs()];
            (0..draws).map(|j| (weight(1.0), sequence.point(j, &jeffreys))).collect()
        }
        Prior::Dirichlet(_) | Prior::DirichletMixture(_) => {
            prior.dirichlets().unwrap_or_default().into_iter().enumerate().flat_map(of_part).collect()
        }
    }
}

fn mean_ln_det(fisher: &dyn FisherInformation, points: &[(f64, Point)]) -> f64 {
    let terms: Vec<f64> = points.par_iter().map(|(weight, point)| weight * fisher.ln_det(point)).collect();
    terms.iter().sum()
}

/// The integer in `low..=high` with the largest value of a function with one maximum, within half a percent beyond 200.
///
/// Neighbours at a ratio are tried; the ratio shrinks to its square root when neither is better.
fn climb(low: usize, high: usize, guess: usize, function: impl Fn(usize) -> f64) -> usize {
    let mut known = HashMap::new();
    let mut value = |at: usize| *known.entry(at).or_insert_with(|| function(at));
    let (mut best, mut ratio) = (guess, 2f64);
    loop {
        let below = ((best as f64 / ratio) as usize).min(best - 1).max(low);
        let above = ((best as f64 * ratio).ceil() as usize).max(best + 1).min(high);
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
    use crate::Protocol;
    use crate::metric::{Settings, asymptotic_utility};

    fn jeffreys(inputs: usize) -> Prior {
        Prior::jeffreys(inputs).unwrap()
    }

    #[test]
    fn climbing_finds_the_top() {
        for top in [2, 3, 17, 99, 190] {
            assert_eq!(climb(2, 1_000_000, 50, |at| -(at as f64 - f64::from(top)).abs()), top as usize);
        }
    }

    #[test]
    fn known_subset_sizes() {
        assert_eq!(best_subset_size(&jeffreys(6), 1.0), 2);
        assert_eq!(best_subset_size(&jeffreys(4), 0.5), 2);
        assert_eq!(best_subset_size(&jeffreys(3), 1.0), 1);
    }

    #[test]
    fn many_inputs() {
        for (a, epsilon, range, size) in
            [(100, 0.1, 2, 48), (100, 5.0, 80, 1), (1000, 1.0, 4, 269), (1000, 4.0, 54, 18)]
        {
            assert!(best_hash_range(&jeffreys(a), epsilon).abs_diff(range) <= range / 20);
            assert!(best_subset_size(&jeffreys(a), epsilon).abs_diff(size) <= size / 20);
        }
    }

    #[test]
    fn neighbours_are_worse_by_cubature() {
        let settings = Settings { tolerance: Some(1e-8), ..Settings::default() };
        for (inputs, epsilon) in [(2, 1.0), (3, 0.5), (3, 2.0), (4, 1.0)] {
            let utility = |g| {
                let protocol = Protocol::lh(inputs, g, epsilon).unwrap();
                asymptotic_utility(&protocol, &jeffreys(inputs), &settings).unwrap().value
            };
            let best = best_hash_range(&jeffreys(inputs), epsilon);
            assert!(utility(best) >= utility(best + 1), "{inputs} {epsilon} {best}");
            assert!(best == 2 || utility(best) >= utility(best - 1), "{inputs} {epsilon} {best}");
        }
    }
}
