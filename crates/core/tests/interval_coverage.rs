//! Do intervals of estimates hold the true frequencies as often as they say, also with few reports?
//!
//! With few outputs nothing is drawn: all tallies that `n` reports can make are listed, each with its intervals and, at a given distribution, its exact
//! probability. With more, collections are simulated.

use std::collections::BTreeMap;

use chacha20::ChaCha8Rng;
use rand::SeedableRng;
use sottovoce::estimate::{Estimation, Estimator, Interval, Reports};
use sottovoce::numerics::special::ln_gamma;
use sottovoce::{Output, Prior, Protocol, Tallies};

const ESTIMATORS: [Estimator; 3] = [Estimator::Linear, Estimator::NormSub, Estimator::MaximumLikelihood];

/// A protocol, a name for it, and the numbers of reports whose tallies are few enough to be listed.
type Case = (&'static str, Protocol, Vec<u64>);

fn matrix(rows: &[&[f64]]) -> Protocol {
    let sums: Vec<f64> = (0..rows[0].len()).map(|x| rows.iter().map(|row| row[x]).sum()).collect();
    let row = |row: &&[f64]| row.iter().zip(&sums).map(|(q, sum)| q / sum).collect();
    Protocol::matrix(rows.iter().map(row).collect()).unwrap()
}

/// Protocols that have no structure but their matrix, at about this LDP level.
fn cases(epsilon: f64) -> Vec<Case> {
    let (e, half) = (epsilon.exp(), (epsilon / 2.0).exp());
    let grr = |a: usize, epsilon: f64| Protocol::grr(a, epsilon).unwrap();
    let dense = |protocol: Protocol| Protocol::Matrix(protocol.to_matrix().unwrap());
    let skewed = matrix(&[&[e, 1.0, half], &[1.0, e, 1.0], &[half, 1.0, e], &[1.0, half, 1.0]]);
    let bit = matrix(&[&[e, 1.0, half], &[1.0, e, half]]);
    let mixture = |parts| Protocol::mixture(vec![0.4, 0.6], parts).unwrap();
    let product = |factors| Protocol::product(factors).unwrap();
    vec![
        ("matrix of GRR(2)", dense(grr(2, epsilon)), vec![5, 10, 20, 50]),
        ("matrix of GRR(3)", dense(grr(3, epsilon)), vec![5, 10, 20, 50]),
        ("matrix 4 × 3", skewed.clone(), vec![5, 10]),
        ("mixture of GRR(2)", mixture(vec![grr(2, epsilon), grr(2, epsilon / 2.0)]), vec![5, 10, 20]),
        ("mixture of GRR(3) and a bit", mixture(vec![grr(3, epsilon), bit.clone()]), vec![5]),
        ("product of GRR(2)", product(vec![grr(2, epsilon / 2.0), grr(2, epsilon)]), vec![5, 10]),
        ("product of GRR(3) and a bit", product(vec![grr(3, epsilon / 2.0), bit]), vec![5]),
        (
            "GRR(3) after GRR(3)",
            Protocol::composition(vec![grr(3, epsilon + 1.0), grr(3, epsilon + 1.0)]).unwrap(),
            vec![5, 10, 20],
        ),
        (
            "matrix after GRR(3)",
            Protocol::composition(vec![grr(3, epsilon + 1.0), skewed]).unwrap(),
            vec![5, 10],
        ),
    ]
}

/// All ways to make `n` of `b` counts.
fn all_counts(n: u64, b: usize) -> Vec<Vec<u64>> {
    if b == 1 {
        return vec![vec![n]];
    }
    let with_first = |first: u64| {
        let rest = all_counts(n - first, b - 1).into_iter();
        rest.map(move |rest| [vec![first], rest].concat())
    };
    (0..=n).flat_map(with_first).collect()
}

/// What is found for one tally.
struct Found {
    counts: Vec<u64>,
    /// For each estimator, an interval for each input.
    intervals: Vec<Vec<Interval>>,
}

fn found(protocol: &Protocol, counts: Vec<u64>) -> Found {
    let outputs = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    let tallies = Tallies::new(protocol, outputs.map(|(row, count)| (protocol.output(row), *count))).unwrap();
    let estimation = Estimation::new(protocol, Reports::Tallies(tallies), 0.9).unwrap();
    let intervals = ESTIMATORS.map(|estimator| estimation.estimate(estimator).unwrap().intervals);
    Found { counts, intervals: intervals.to_vec() }
}

/// The exact probability of a tally.
fn probability(counts: &[u64], q: &[f64]) -> f64 {
    let n: u64 = counts.iter().sum();
    let term = |(count, q): (&u64, &f64)| {
        if *count == 0 { 0.0 } else { *count as f64 * q.ln() - ln_gamma(*count as f64 + 1.0) }
    };
    (ln_gamma(n as f64 + 1.0) + counts.iter().zip(q).map(term).sum::<f64>()).exp()
}

fn holds(interval: &Interval, p_x: f64) -> bool {
    interval.low <= p_x + 1e-12 && p_x <= interval.high + 1e-12
}

/// How often the intervals of each estimator hold, on average over inputs and distributions.
fn coverage(protocol: &Protocol, all: &[Found], distributions: &[Vec<f64>]) -> Vec<f64> {
    let mut held = vec![0.0; ESTIMATORS.len()];
    for p in distributions {
        let q = protocol.push_forward(p).unwrap();
        for found in all {
            let weight = probability(&found.counts, &q) / (p.len() * distributions.len()) as f64;
            for (held, intervals) in held.iter_mut().zip(&found.intervals) {
                *held += weight * intervals.iter().zip(p).filter(|(i, p_x)| holds(i, **p_x)).count() as f64;
            }
        }
    }
    held
}

fn draw(prior: &Prior, rng: &mut ChaCha8Rng) -> Vec<f64> {
    prior.sample_ln(rng).into_iter().map(f64::exp).collect()
}

fn sixty(prior: &Prior) -> Vec<Vec<f64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    (0..60).map(|_| draw(prior, &mut rng)).collect()
}

fn corners(a: usize) -> Vec<Vec<f64>> {
    (0..a).map(|x| (0..a).map(|z| f64::from(u8::from(x == z))).collect()).collect()
}

/// Intervals of 90 % hold 87 to 95 %, on average over the inputs and sixty distributions drawn from a prior, for each protocol, number of reports and
/// estimator. At the corners of the simplex a few tallies have nearly all probability, and whether their intervals hold decides for each protocol alone; on average over
/// all protocols it is the same as elsewhere. Probabilities are exact, so the false-alarm rate is 0.
#[test]
fn few_reports_are_covered_as_often_as_stated() {
    let mut at_corners = vec![];
    for (epsilon, (name, protocol, numbers)) in [0.5, 1.0, 2.0, 4.0]
        .into_iter()
        .flat_map(|epsilon| cases(epsilon).into_iter().map(move |c| (epsilon, c)))
    {
        let a = protocol.inputs();
        for n in numbers {
            let counts = all_counts(n, protocol.outputs().unwrap());
            let all: Vec<Found> = counts.into_iter().map(|counts| found(&protocol, counts)).collect();
            for prior in [Prior::symmetric(a, 1.0).unwrap(), Prior::jeffreys(a).unwrap()] {
                let held = coverage(&protocol, &all, &sixty(&prior));
                println!("{name}, epsilon = {epsilon}, n = {n}: {held:.3?}");
                assert!(
                    held.iter().all(|held| (0.87..=0.95).contains(held)),
                    "{name} {epsilon} {n}: {held:?}"
                );
            }
            let held = coverage(&protocol, &all, &corners(a));
            println!("{name}, epsilon = {epsilon}, n = {n}, corners: {held:.3?}");
            assert!(held.iter().all(|held| *held > 0.8), "{name} {epsilon} {n}: {held:?}");
            at_corners.push(held);
        }
    }
    for k in 0..ESTIMATORS.len() {
        let mean = at_corners.iter().map(|held| held[k]).sum::<f64>() / at_corners.len() as f64;
        println!("{:?} at the corners: {mean:.3}", ESTIMATORS[k]);
        assert!((0.87..=0.95).contains(&mean), "{:?}: {mean}", ESTIMATORS[k]);
    }
}

/// A matrix with `a + 2` outputs of no symmetry.
fn ragged(a: usize, epsilon: f64) -> Protocol {
    let entry = |y: usize, x: usize| {
        let share = if y % a == x { 1.0 } else { 0.6 * ((7 * y + 3 * x + x * y) % 11) as f64 / 10.0 };
        (epsilon * share).exp()
    };
    let rows: Vec<Vec<f64>> = (0..a + 2).map(|y| (0..a).map(|x| entry(y, x)).collect()).collect();
    matrix(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

/// Protocols of more inputs, with and without a structure of their own.
fn larger(a: usize, epsilon: f64) -> Vec<(&'static str, Protocol)> {
    let grr = |epsilon: f64| Protocol::grr(a, epsilon).unwrap();
    let mixture = |parts| Protocol::mixture(vec![0.4, 0.6], parts).unwrap();
    let composition = |steps| Protocol::composition(steps).unwrap();
    vec![
        ("matrix", ragged(a, epsilon)),
        ("mixture", mixture(vec![grr(epsilon), Protocol::oue(a, epsilon).unwrap()])),
        ("mixture with a matrix", mixture(vec![grr(epsilon), ragged(a, epsilon)])),
        ("product", Protocol::product(vec![grr(epsilon / 2.0), ragged(a, epsilon / 2.0)]).unwrap()),
        ("composition", composition(vec![grr(epsilon + 1.0), ragged(a, epsilon + 1.0)])),
        ("grr", grr(epsilon)),
        ("oue", Protocol::oue(a, epsilon).unwrap()),
        ("rappor", Protocol::rappor(a, epsilon).unwrap()),
        ("lh", Protocol::lh(a, 3, epsilon).unwrap()),
        ("subset", Protocol::subset(a, 2, epsilon).unwrap()),
        ("erasure", Protocol::erasure(a, 0.25 * epsilon.min(3.0)).unwrap()),
    ]
}

/// The reports of `n` users whose values have distribution `p`.
fn simulated(protocol: &Protocol, p: &[f64], n: u64, rng: &mut ChaCha8Rng) -> Reports {
    let population = Protocol::matrix(p.iter().map(|p_x| vec![*p_x; 2]).collect()).unwrap();
    let mut counts = BTreeMap::<Output, u64>::new();
    for _ in 0..n {
        let Output::Index(x) = population.sample(0, rng).unwrap() else { unreachable!() };
        *counts.entry(protocol.sample(x, rng).unwrap()).or_default() += 1;
    }
    Reports::Tallies(Tallies::new(protocol, counts).unwrap())
}

/// The shares of inputs whose intervals hold, of each estimator, in one simulated collection; `None` if nothing was told.
fn shares_held(protocol: &Protocol, n: u64, rng: &mut ChaCha8Rng) -> Option<Vec<f64>> {
    let p = draw(&Prior::jeffreys(protocol.inputs()).unwrap(), rng);
    let estimation = Estimation::new(protocol, simulated(protocol, &p, n, rng), 0.9).unwrap();
    let share = |estimator: &Estimator| {
        let intervals = estimation.estimate(*estimator).ok()?.intervals;
        Some(intervals.iter().zip(&p).filter(|(i, p_x)| holds(i, **p_x)).count() as f64 / p.len() as f64)
    };
    ESTIMATORS.iter().map(share).collect()
}

/// Intervals of 90 % hold 87 to 95 % with four and eight inputs too, for each kind of protocol and number of reports, on average over epsilon from 0.5 to 4 and Jeffreys' prior.
///
/// Each mean is over 8 × 400 collections. Last seen: 89.3 to 94.2 %, standard errors of 0.2 to 0.3 percentage points, all but six of 132 means between 89.5 and
/// 93 %; the nearest to a bound is four standard errors away from it. Were these the true means, another seed would raise a false alarm in less than one of a thousand runs.
#[test]
fn simulated_collections_are_covered_as_often_as_stated() {
    if std::env::var("SOTTOVOCE_FULL").is_err() {
        return;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let settings: Vec<(usize, f64)> =
        [4, 8].into_iter().flat_map(|a| [0.5, 1.0, 2.0, 4.0].map(|epsilon| (a, epsilon))).collect();
    for kind in 0..larger(4, 1.0).len() {
        for n in [5, 10, 20, 50] {
            let mut held = vec![];
            for (a, epsilon) in &settings {
                let (_, protocol) = &larger(*a, *epsilon)[kind];
                held.extend((0..400).filter_map(|_| shares_held(protocol, n, &mut rng)));
            }
            let total = held.len() as f64;
            let mean = |k: usize| held.iter().map(|shares| shares[k]).sum::<f64>() / total;
            let means: Vec<f64> = (0..ESTIMATORS.len()).map(mean).collect();
            let square = |k: usize| held.iter().map(|shares| (shares[k] - means[k]).powi(2)).sum::<f64>();
            let errors: Vec<f64> = (0..ESTIMATORS.len()).map(|k| square(k).sqrt() / total).collect();
            let name = larger(4, 1.0)[kind].0;
            println!("{name}, n = {n}: {means:.3?} ± {errors:.4?} of {total} collections");
            assert!(means.iter().all(|mean| (0.87..=0.95).contains(mean)), "{name} {n}: {means:?}");
        }
    }
}

/// Standard errors that follow from the noise: positive also where nobody supports a value, and for maximum likelihood never above what an estimate between 0 and 1 can
/// have.
#[test]
fn standard_errors_of_few_reports_make_sense() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for (a, epsilon) in [(4, 0.5), (4, 4.0), (8, 1.0), (8, 4.0)] {
        for (name, protocol) in larger(a, epsilon) {
            for n in [1, 2, 5, 20].repeat(10) {
                let corner = corners(a).swap_remove(0);
                let reports = simulated(&protocol, &corner, n, &mut rng);
                let estimation = Estimation::new(&protocol, reports, 0.9).unwrap();
                let errors =
                    |estimator| estimation.estimate(estimator).map(|found| found.standard_errors.unwrap());
                let linear = errors(Estimator::Linear).unwrap();
                assert!(linear.iter().all(|e| *e > 0.0 && e.is_finite()), "{name} {n}: {linear:?}");
                let Ok(most_likely) = errors(Estimator::MaximumLikelihood) else { continue };
                assert!(most_likely.iter().all(|e| *e > 0.0 && *e <= 0.5), "{name} {n}: {most_likely:?}");
            }
        }
    }
}

/// With many reports the stated standard errors are those that estimates have.
///
/// The standard deviation of 400 estimates is known to 3.6 %, so one of 88 means is off by more than 15 % with a probability below 0.3 %.
#[test]
fn standard_errors_of_many_reports_are_true() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let p = [0.4, 0.3, 0.2, 0.1];
    for (name, protocol) in larger(4, 2.0) {
        for estimator in [Estimator::Linear, Estimator::MaximumLikelihood] {
            let found: Vec<_> = (0..400)
                .map(|_| Estimation::new(&protocol, simulated(&protocol, &p, 1000, &mut rng), 0.9).unwrap())
                .map(|estimation| estimation.estimate(estimator).unwrap())
                .collect();
            for (x, p_x) in p.iter().enumerate() {
                let mean =
                    |of: &dyn Fn(usize) -> f64| (0..found.len()).map(of).sum::<f64>() / found.len() as f64;
                let stated = mean(&|i| found[i].standard_errors.as_ref().unwrap()[x]);
                let spread = mean(&|i| (found[i].values[x] - p_x).powi(2)).sqrt();
                assert!((stated / spread - 1.0).abs() < 0.15, "{name} {estimator:?} {x}: {stated} {spread}");
            }
        }
    }
}

/// A matrix that is randomised response has the intervals of randomised response.
#[test]
fn a_matrix_and_its_structure_have_the_same_intervals() {
    for (a, epsilon) in [(2, 4.0), (3, 1.0), (5, 2.0)] {
        let grr = Protocol::grr(a, epsilon).unwrap();
        let dense = Protocol::Matrix(grr.to_matrix().unwrap());
        for counts in all_counts(5, a) {
            let (one, other) = (found(&grr, counts.clone()), found(&dense, counts));
            let pairs = one.intervals.iter().flatten().zip(other.intervals.iter().flatten());
            for (l, r) in pairs {
                assert!(
                    (l.low - r.low).abs() < 1e-6 && (l.high - r.high).abs() < 1e-6,
                    "{:?}: {l:?} {r:?}",
                    one.counts
                );
            }
        }
    }
}
