//! The integer parameter of a protocol family that is best for asymptotic utility, or for the error of the linear estimate.
//!
//! The utilities for different parameters are compared at the same points of the prior (common random numbers), so what differs is the
//! protocol and not the luck of the draw; and `ln det` concentrates when there are many inputs, so that few points are
//! enough. Two parameters race: points are added until the mean difference stands out of its standard error. Near its top the utility is flat: a
//! neighbour of the best parameter costs less than the points can tell.
//!
//! The squared error of the linear estimate is a closed form, so its best parameter is exact and takes microseconds.

use std::collections::HashMap;

use crate::numerics::parallel::*;
use chacha20::ChaCha8Rng;
use rand::SeedableRng;

use crate::estimate::SupportRates;
use crate::fisher::expectation::quasi_monte_carlo::DirichletSequence;
use crate::fisher::{
    BlockDesign, FisherInformation, Point, SubsetSelection, UnaryEncoding, approximate_ln_det,
};
use crate::model::prior::{Dirichlet, Prior};
use crate::model::protocol::{BitNoise, Block, DifferenceSet, MAX_INPUTS, MAX_ORDER, Protocol};
use crate::numerics::difference_set::smallest_parameters;
use crate::numerics::finite_field::prime_power;

/// Beyond so many inputs the parameter for many inputs is taken without a search.
const MOST_INPUTS_SEARCHED: usize = 20_000;

/// The number `g ≥ 2` of buckets of local hash with level `epsilon` that has the largest asymptotic utility. For a point prior,
/// which has no asymptotic utility, the best under the Jeffreys prior.
///
/// # Method and cost
/// A climb from `e^ε + 1` (best for a rare value), or `√(a e^ε)` if that is less: three races or more on 8 to 512 common points, some ten
/// milliseconds up to `a = 100`. Beyond 20 000 inputs the start itself.
///
/// # Example
/// ```
/// use sottovoce::{Prior, design::optimal_parameter::best_hash_range};
/// assert_eq!(best_hash_range(&Prior::jeffreys(3)?, 0.5), 2);
/// # Ok::<(), sottovoce::Error>(())
/// ```
pub fn best_hash_range(prior: &Prior, epsilon: f64) -> usize {
    let inputs = prior.inputs();
    let guess = usual_hash_range(inputs, epsilon);
    if inputs > MOST_INPUTS_SEARCHED {
        return guess;
    }
    let fisher = |range: usize| UnaryEncoding::new(inputs, &BitNoise::local_hash(range, epsilon), TOLERANCE);
    let mut race = Race::new(common_points(prior, 1 << 16), &fisher);
    climb(2, MAX_INPUTS, guess, |left, right| race.is_better(left, right))
}

/// The size `1 ≤ k < a` of subset selection with level `epsilon` that has the largest asymptotic utility. For a point prior,
/// which has no asymptotic utility, the best under the Jeffreys prior.
///
/// # Method and cost
/// A climb from `a/(e^ε + 1)`, the minimax size, as [`best_hash_range`].
///
/// # Example
/// ```
/// use sottovoce::{Prior, design::optimal_parameter::best_subset_size};
/// assert_eq!(best_subset_size(&Prior::jeffreys(6)?, 1.0), 2);
/// # Ok::<(), sottovoce::Error>(())
/// ```
pub fn best_subset_size(prior: &Prior, epsilon: f64) -> usize {
    let inputs = prior.inputs();
    let guess = usual_subset_size(inputs, epsilon);
    if inputs > MOST_INPUTS_SEARCHED {
        return guess;
    }
    let fisher = |size: usize| SubsetSelection::new(inputs, size, epsilon, TOLERANCE);
    let mut race = Race::new(common_points(prior, 1 << 13), &fisher);
    climb(1, inputs - 1, guess, |left, right| race.is_better(left, right))
}

/// The number `g ≥ 2` of buckets of local hash with level `epsilon` whose linear estimate has the least squared error, whatever the distribution of
/// the values and the number of users ([`SupportRates::squared_vote`]).
///
/// # Example
/// ```
/// use sottovoce::design::optimal_parameter::most_accurate_hash_range;
/// assert_eq!(most_accurate_hash_range(1000, 1.0), 4); // near e + 1
/// ```
pub fn most_accurate_hash_range(inputs: usize, epsilon: f64) -> usize {
    let error = |range: usize| squared_vote(Protocol::lh(inputs, range, epsilon));
    fewest(2, MAX_INPUTS, usual_hash_range(inputs, epsilon), error)
}

/// The size `1 ≤ k < a` of subset selection with level `epsilon` whose linear estimate has the least squared error, as
/// [`most_accurate_hash_range`].
///
/// # Example
/// ```
/// use sottovoce::design::optimal_parameter::most_accurate_subset_size;
/// assert_eq!(most_accurate_subset_size(41, 1.05), 11);
/// ```
pub fn most_accurate_subset_size(inputs: usize, epsilon: f64) -> usize {
    let error = |size: usize| squared_vote(Protocol::subset(inputs, size, epsilon));
    fewest(1, inputs - 1, usual_subset_size(inputs, epsilon), error)
}

/// `(v, k)` of the block design on the prior's inputs with level `epsilon` that has the largest asymptotic utility, among those with the given `v` or
/// `k`; `None` if there is none. Without either the designs of up to `8a + 64` blocks are compared: of each projective
/// space the smallest, of each other family the smallest, and randomised response.
///
/// # Method and cost
/// An approximation of the utility from `v`, `k` and the mean parameter of the prior ([`approximate_ln_det`]). Up to 128 inputs the best few by that, and
/// up to 24 inputs, where it is too coarse, all designs, are compared by the mean over common points of the prior: some ten milliseconds, whatever `a`.
///
/// # Example
/// ```
/// use sottovoce::{Prior, design::optimal_parameter::best_block};
/// assert_eq!(best_block(&Prior::jeffreys(100)?, 1.0, None, None), Some((109, 28)));
/// assert_eq!(best_block(&Prior::jeffreys(7)?, 1.0, Some(7), None), Some((7, 3)));
/// # Ok::<(), sottovoce::Error>(())
/// ```
pub fn best_block(prior: &Prior, epsilon: f64, v: Option<usize>, k: Option<usize>) -> Option<(usize, usize)> {
    let inputs = prior.inputs();
    let mean = |(weight, dirichlet): &(f64, &Dirichlet)| weight * dirichlet.total() / inputs as f64;
    let alpha = prior.dirichlets().map_or(0.5, |parts| parts.iter().map(mean).sum());
    let mut parameters = block_parameters(inputs, v, k);
    let approximate = |(v, k)| approximate_ln_det(inputs, v, k, epsilon, alpha);
    if inputs > MOST_INPUTS_REFINED {
        return largest(parameters, approximate);
    }
    if inputs > MOST_INPUTS_SAMPLED {
        parameters.sort_by(|left, right| approximate(*right).total_cmp(&approximate(*left)));
        parameters.truncate(REFINED);
        parameters.sort_unstable();
    }
    let points = common_points(prior, inputs * BLOCK_POINTS);
    largest(parameters, |(v, k)| {
        let Ok(block) = Block::new(inputs, v, k, epsilon) else { return f64::NAN };
        let fisher = BlockDesign::new(&block);
        points.par_iter().map(|(weight, point)| weight * fisher.ln_det(point)).sum()
    })
}

/// Up to so many inputs all designs are compared at points of the prior.
const MOST_INPUTS_SAMPLED: usize = 24;

/// Up to so many inputs the best designs by the approximation are, and how many of them.
const MOST_INPUTS_REFINED: usize = 128;
const REFINED: usize = 6;

/// Number of these points.
const BLOCK_POINTS: usize = 16;

/// `(v, k)` of the block design of level `epsilon` whose linear estimate has the least squared error, as
/// [`most_accurate_hash_range`], among those that [`best_block`] compares.
///
/// # Example
/// ```
/// use sottovoce::design::optimal_parameter::most_accurate_block;
/// assert_eq!(most_accurate_block(1000, 1.0), Some((1453, 364)));
/// ```
pub fn most_accurate_block(inputs: usize, epsilon: f64) -> Option<(usize, usize)> {
    let error = |v, k| SupportRates::of_design(v, k, epsilon).squared_vote(inputs);
    largest(block_parameters(inputs, None, None), |(v, k)| -error(v, k))
}

/// The parameters with the largest score, and of those the ones with the fewest blocks.
fn largest(parameters: Vec<(usize, usize)>, score: impl Fn((usize, usize)) -> f64) -> Option<(usize, usize)> {
    let scored = parameters.into_iter().map(|pair| (pair, score(pair))).filter(|(_, score)| !score.is_nan());
    scored.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(pair, _)| pair)
}

/// The parameters of block designs on `inputs` residues that are worth comparing, in ascending order.
fn block_parameters(inputs: usize, v: Option<usize>, k: Option<usize>) -> Vec<(usize, usize)> {
    let fields = |most: usize| (2..=most).filter(|q| prime_power(*q as u64).is_some());
    let pairs: Vec<(usize, usize)> = match (v, k) {
        (Some(v), Some(k)) => vec![(v, k)],
        (None, None) => return smallest_parameters(inputs, 8 * inputs + 64),
        (Some(v), None) if !(2..=MAX_ORDER).contains(&v) => Vec::new(),
        (Some(v), None) => {
            let spaces = fields(v.isqrt()).map(|q| (v - 1) / q);
            let sizes = spaces.chain([(v - 1) / 2, (v - 1) / 4, v.div_ceil(4)]).flat_map(|k| [k, v - k]);
            let known = |k: &usize| (2..v - 1).contains(k) && DifferenceSet::exists(v, *k);
            let sizes: Vec<usize> = sizes.filter(known).collect();
            // Only the trivial designs exist, a single residue or all but one: the caller must ask for these by k.
            if sizes.is_empty() && v > 3 {
                return Vec::new();
            }
            sizes.into_iter().chain([1, v - 1]).map(|k| (v, k)).collect()
        }
        (None, Some(0)) => Vec::new(),
        (None, Some(k)) if k > MAX_ORDER => Vec::new(),
        (None, Some(k)) => {
            // A plane has q² + q + 1 points, and other spaces more.
            let largest_field = k.min(MAX_ORDER.isqrt());
            let spaces = fields(largest_field).map(|q| k * q + 1);
            let complements = fields(largest_field).map(|q| (k * q - 1) / (q - 1));
            let fourth = [4 * k + 1, (4 * k).saturating_sub(3), (4 * k - 1) / 3, (4 * k + 3) / 3];
            let others =
                [if k == 1 { inputs } else { k + 1 }, 2 * k + 1, 2 * k - 1].into_iter().chain(fourth);
            spaces.chain(complements).chain(others).map(|v| (v, k)).collect()
        }
    };
    let mut pairs: Vec<_> =
        pairs.into_iter().filter(|(v, k)| *v >= inputs && DifferenceSet::exists(*v, *k)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Infinite for a protocol that cannot be: it is never the best.
fn squared_vote(protocol: crate::model::error::Result<Protocol>) -> f64 {
    let rates = protocol.ok().and_then(|protocol| Some((SupportRates::of(&protocol)?, protocol.inputs())));
    rates.map_or(f64::INFINITY, |(rates, inputs)| rates.squared_vote(inputs))
}

/// Where `e^ε` exceeds the number of inputs, collisions are rare enough long before `g = e^ε`.
fn usual_hash_range(inputs: usize, epsilon: f64) -> usize {
    let odds = epsilon.exp();
    ((odds + 1.0).min((inputs as f64 * odds).sqrt()).min(MAX_INPUTS as f64) as usize).max(2)
}

fn usual_subset_size(inputs: usize, epsilon: f64) -> usize {
    ((inputs as f64 / (epsilon.exp() + 1.0)).round() as usize).clamp(1, inputs - 1)
}

/// Relative tolerance of the eigenvalues: the utility is then good to half of it, and its differences to less.
const TOLERANCE: f64 = 1e-6;

/// Points of the prior with their weights, fewer when there are many inputs: `coordinates` numbers in all. Always the same; each first part of them
/// has points of all parts of the prior.
fn common_points(prior: &Prior, coordinates: usize) -> Vec<(f64, Point)> {
    let draws = (coordinates / prior.inputs()).next_power_of_two().clamp(8, 512) as u32;
    let weight = |part: f64| part / f64::from(draws);
    let of_parts = |parts: &[(f64, &Dirichlet)]| -> Vec<(f64, Point)> {
        let sequences: Vec<_> = (0..parts.len()).map(|i| DirichletSequence::new(0, i as u32)).collect();
        let drawn = (0..draws).flat_map(|j| parts.iter().zip(&sequences).map(move |part| (j, part)));
        drawn
            .map(|(j, ((part, dirichlet), sequence))| (weight(*part), sequence.point(j, dirichlet.alpha())))
            .collect()
    };
    match prior {
        Prior::Smooth(_) | Prior::Custom(_) => {
            let mut rng = ChaCha8Rng::seed_from_u64(0);
            (0..draws).map(|_| (weight(1.0), Point::from_ln_weights(prior.sample_ln(&mut rng)))).collect()
        }
        Prior::Points(_) => {
            let sequence = DirichletSequence::new(0, 0);
            let jeffreys = vec![0.5; prior.inputs()];
            (0..draws).map(|j| (weight(1.0), sequence.point(j, &jeffreys))).collect()
        }
        Prior::Dirichlet(_) | Prior::DirichletMixture(_) | Prior::Adaptive(_) => {
            of_parts(&prior.dirichlets().unwrap_or_default())
        }
    }
}

/// Points with which a race begins.
const FIRST_POINTS: usize = 16;

/// A race ends when the mean difference is so many standard errors. The points are more even than random ones, so that the true error is less.
const CLEAR: f64 = 6.0;

/// Compares the utilities of parameters, on as many of the common points as it takes.
struct Race<'a, F> {
    points: Vec<(f64, Point)>,
    fisher: &'a (dyn Fn(usize) -> F + Sync),
    /// What is known of a parameter: `ln det` at the first points, times their weights.
    known: HashMap<usize, (F, Vec<f64>)>,
}

impl<'a, F: FisherInformation> Race<'a, F> {
    fn new(points: Vec<(f64, Point)>, fisher: &'a (dyn Fn(usize) -> F + Sync)) -> Self {
        Race { points, fisher, known: HashMap::new() }
    }

    /// Whether the parameter `left` has the larger utility.
    fn is_better(&mut self, left: usize, right: usize) -> bool {
        if left == right {
            return false;
        }
        let mut count = FIRST_POINTS.min(self.points.len());
        loop {
            self.extend(left, count);
            self.extend(right, count);
            let pairs = self.known[&left].1.iter().zip(&self.known[&right].1).take(count);
            let differences: Vec<f64> = pairs.map(|(l, r)| l - r).collect();
            if count == self.points.len() || stands_out(&differences) {
                return differences.iter().sum::<f64>() > 0.0;
            }
            count = (2 * count).min(self.points.len());
        }
    }

    /// Finds what is not yet known of a parameter at the first `count` points.
    fn extend(&mut self, parameter: usize, count: usize) {
        let entry = self.known.entry(parameter).or_insert_with(|| ((self.fisher)(parameter), Vec::new()));
        let (fisher, values) = (&entry.0, &mut entry.1);
        let new = self.points[..count].par_iter().skip(values.len());
        let new: Vec<f64> = new.map(|(weight, point)| weight * fisher.ln_det(point)).collect();
        values.extend(new);
    }
}

/// Whether the mean is so far from zero that more values would not change its sign.
fn stands_out(differences: &[f64]) -> bool {
    let count = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / count;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (count - 1.0);
    mean.abs() > CLEAR * (variance / count).sqrt()
}

/// The integer in `low..=high` that is better than its neighbours, given `is_better(left, right)` of a function with one maximum; within half
/// a percent beyond 200.
///
/// Neighbours at a ratio are tried. The ratio grows when one of them is better, and shrinks when none is; it begins small, since the guess is good.
fn climb(low: usize, high: usize, guess: usize, mut is_better: impl FnMut(usize, usize) -> bool) -> usize {
    let (mut best, mut ratio) = (guess.clamp(low, high), FINEST_RATIO);
    loop {
        let below = ((best as f64 / ratio) as usize).min(best - 1).max(low);
        let above = ((best as f64 * ratio).ceil() as usize).max(best + 1).min(high);
        match [below, above].into_iter().find(|&side| side != best && is_better(side, best)) {
            Some(side) => (best, ratio) = (side, (ratio * ratio).min(2.0)),
            None if ratio <= FINEST_RATIO || (above <= best + 1 && best <= below + 1) => return best,
            None => ratio = ratio.sqrt(),
        }
    }
}

/// At the top the loss of utility is quadratic in the step: half a percent off is far below the error of any use.
const FINEST_RATIO: f64 = 1.005;

/// The integer in `low..=high` at which a function with one minimum is smallest.
fn fewest(low: usize, high: usize, guess: usize, function: impl Fn(usize) -> f64) -> usize {
    let mut best = climb(low, high, guess, |left, right| function(left) < function(right));
    while best > low && function(best - 1) <= function(best) {
        best -= 1;
    }
    while best < high && function(best + 1) < function(best) {
        best += 1;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{Settings, asymptotic_utility};

    fn jeffreys(inputs: usize) -> Prior {
        Prior::jeffreys(inputs).unwrap()
    }

    #[test]
    fn climbing_finds_the_top() {
        for top in [2, 3, 17, 99, 190] {
            let far = |at: usize| (at as f64 - f64::from(top)).abs();
            assert_eq!(climb(2, 1_000_000, 50, |left, right| far(left) < far(right)), top as usize);
        }
    }

    #[test]
    fn known_subset_sizes() {
        assert_eq!(best_subset_size(&jeffreys(6), 1.0), 2);
        assert_eq!(best_subset_size(&jeffreys(4), 0.5), 2);
        assert_eq!(best_subset_size(&jeffreys(3), 1.0), 1);
    }

    /// The closed form has one minimum in the size, and the walk down to it ends there.
    #[test]
    fn most_accurate_sizes_are_those_of_a_full_search() {
        for inputs in [2, 3, 7, 14, 41, 300] {
            for epsilon in [1e-3, 0.1, 0.7, 1.05, 2.0, 4.5, 9.0] {
                let least = |errors: &mut dyn Iterator<Item = (usize, f64)>| {
                    errors.min_by(|l, r| l.1.total_cmp(&r.1)).map(|(size, _)| size)
                };
                let subset = |size| (size, squared_vote(Protocol::subset(inputs, size, epsilon)));
                let hash = |range| (range, squared_vote(Protocol::lh(inputs, range, epsilon)));
                let (size, range) =
                    (most_accurate_subset_size(inputs, epsilon), most_accurate_hash_range(inputs, epsilon));
                assert_eq!(Some(size), least(&mut (1..inputs).map(subset)), "{inputs} {epsilon}");
                assert_eq!(Some(range), least(&mut (2..20_000).map(hash)), "{inputs} {epsilon}");
            }
        }
    }

    /// A race on a part of the points ends as one on all of them: no neighbour is better on all.
    #[test]
    fn races_end_as_on_all_points() {
        for (inputs, epsilon) in [(7, 0.3), (9, 0.8), (12, 1.5), (16, 1.0)] {
            let points = common_points(&jeffreys(inputs), 1 << 13);
            let mean = |size: usize| -> f64 {
                let fisher = SubsetSelection::new(inputs, size, epsilon, 1e-9);
                points.par_iter().map(|(weight, point)| weight * fisher.ln_det(point)).sum()
            };
            let best = best_subset_size(&jeffreys(inputs), epsilon);
            let top = mean(best);
            let neighbours = [best - 1, best + 1].into_iter().filter(|size| (1..inputs).contains(size));
            assert!(neighbours.map(mean).all(|beside| beside < top), "{inputs} {epsilon}");
        }
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
    fn designs_are_found_by_one_of_their_numbers() {
        assert_eq!(best_block(&jeffreys(5), 1.0, None, Some(3)), Some((7, 3)));
        assert_eq!(best_block(&jeffreys(5), 1.0, None, Some(40)), Some((121, 40)));
        assert_eq!(best_block(&jeffreys(5), 1.0, None, Some(4)), Some((13, 4)));
        assert_eq!(best_block(&jeffreys(5), 3.0, Some(31), None), Some((31, 6)));
        assert_eq!(best_block(&jeffreys(5), 1.0, Some(8), None), None, "only single residues");
        assert_eq!(best_block(&jeffreys(90), 1.0, Some(101), None), Some((101, 25)));
        assert_eq!(best_block(&jeffreys(90), 1.0, None, Some(28)), Some((109, 28)));
        assert_eq!(best_block(&jeffreys(5), 1.0, None, Some(1)), Some((5, 1)));
        assert_eq!(best_block(&jeffreys(5), 1.0, Some(31), Some(7)), None);
        assert_eq!(best_block(&jeffreys(5), 1.0, Some(4), None), None);
        assert_eq!(best_block(&jeffreys(3), 9.0, None, None), Some((3, 1)));
    }

    /// Of the designs that are compared none is better by more than the approximation may be off.
    #[test]
    fn no_other_design_is_much_better() {
        let settings = Settings { tolerance: Some(1e-3), ..Settings::default() };
        for (inputs, epsilon) in
            [(3, 9.0), (5, 1.0), (9, 0.5), (12, 2.0), (20, 1.0), (25, 3.0), (30, 5.0), (40, 0.7)]
        {
            let utility = |(v, k): (usize, usize)| {
                let protocol = Protocol::block(inputs, v, k, epsilon).unwrap();
                asymptotic_utility(&protocol, &jeffreys(inputs), &settings).unwrap().value
            };
            let best = best_block(&jeffreys(inputs), epsilon, None, None).unwrap();
            let found = utility(best);
            let near = smallest_parameters(inputs, 4 * inputs + 20);
            let (other, most) = near
                .into_iter()
                .map(|pair| (pair, utility(pair)))
                .max_by(|l, r| l.1.total_cmp(&r.1))
                .unwrap();
            // F_mu is the exponential of twice the utility.
            assert!(most - found < 0.01, "{inputs} {epsilon}: {best:?} {found}, {other:?} {most}");
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
