//! Several rounds about one value, against the matrix of all their outputs.

use sottovoce::metric::{Rounds, Settings};
use sottovoce::posterior::{PosteriorOptions, posterior};
use sottovoce::{Analysis, Method, Metric, Output, Prior, Protocol, Tallies};

/// The matrix of `rounds` reports by its definition: rows of all lists of outputs, `Σ_z Q_{z|x} Π_k R_{y_k|z}`.
fn expanded(permanent: &[Vec<f64>], each: &[Vec<f64>], rounds: u32) -> Protocol {
    let (middle, a, b) = (permanent.len(), permanent[0].len(), each.len());
    let lists = b.pow(rounds);
    let row = |mut list: usize| {
        let mut likelihoods = vec![1.0; middle];
        for _ in 0..rounds {
            likelihoods.iter_mut().zip(&each[list % b]).for_each(|(l, q)| *l *= q);
            list /= b;
        }
        (0..a).map(|x| likelihoods.iter().zip(permanent).map(|(l, q)| l * q[x]).sum()).collect()
    };
    Protocol::matrix((0..lists).map(row).collect()).unwrap()
}

fn rows(protocol: &Protocol) -> Vec<Vec<f64>> {
    protocol.to_matrix().unwrap().rows().map(<[f64]>::to_vec).collect()
}

fn unit(size: usize) -> Vec<Vec<f64>> {
    (0..size).map(|y| (0..size).map(|x| f64::from(u8::from(x == y))).collect()).collect()
}

/// Noise on each of `a` bits: from a set of ones to another.
fn noisy_bits(a: usize, kappa: f64, lambda: f64) -> Vec<Vec<f64>> {
    let bit = |y: usize, z: usize, x: usize| {
        let one = if z >> x & 1 == 1 { kappa } else { lambda };
        if y >> x & 1 == 1 { one } else { 1.0 - one }
    };
    (0..1 << a).map(|y| (0..1 << a).map(|z| (0..a).map(|x| bit(y, z, x)).product()).collect()).collect()
}

fn agrees(rounds: &Rounds, times: u64, by_definition: &Protocol, prior: &Prior) {
    let level = rounds.level(times).number().unwrap();
    let expected = by_definition.level().unwrap();
    assert!((level.value - expected).abs() < 1e-12, "{rounds:?} × {times}: {level:?} {expected}");
    let analysis = Analysis::new(by_definition, prior).unwrap();
    let expected = analysis.answer(Metric::AveragePrivacy, None).number().unwrap();
    let found = rounds.average_privacy(times, prior, &Settings::default());
    assert!(!found.bracketed);
    let found = found.number().unwrap();
    assert_ne!(found.method, Method::MonteCarlo);
    // The rounding of the entries of the large matrix dominates: its stated error covers it.
    let reach = 1e-13 + found.error + expected.error;
    assert!((found.value - expected.value).abs() < reach, "{rounds:?} × {times}: {found:?} {expected:?}");
}

fn priors(a: usize) -> Vec<Prior> {
    let uneven = Prior::dirichlet((0..a).map(|x| 0.3 + x as f64).collect()).unwrap();
    vec![Prior::jeffreys(a).unwrap(), uneven]
}

#[test]
fn randomised_response_is_that_of_all_outputs() {
    for (a, times) in [(2, 1), (2, 2), (2, 10), (3, 1), (3, 2), (3, 10)] {
        let (first, each) = (Protocol::grr(a, 1.5).unwrap(), Protocol::grr(a, 0.8).unwrap());
        let by_definition = expanded(&rows(&first), &rows(&each), times);
        let fresh = expanded(&unit(a), &rows(&each), times);
        for prior in priors(a) {
            let times = u64::from(times);
            agrees(&Rounds::memoised(first.clone(), each.clone()).unwrap(), times, &by_definition, &prior);
            agrees(&Rounds::fresh(each.clone()), times, &fresh, &prior);
        }
    }
}

#[test]
fn unary_encoding_is_that_of_all_outputs() {
    for (a, times) in [(2, 1), (2, 2), (2, 10), (3, 1), (3, 2), (3, 5)] {
        let (kappa, lambda) = (0.75, 0.4);
        for first in [Protocol::oue(a, 1.5).unwrap(), Protocol::ue(a, 0.8, 0.0).unwrap()] {
            let each = Protocol::ue(a, kappa, lambda).unwrap();
            let by_definition = expanded(&rows(&first), &noisy_bits(a, kappa, lambda), times);
            let memoised = Rounds::memoised(first, each).unwrap();
            assert!(memoised.bit_by_bit());
            // The million outputs of ten rounds are merged under one prior only.
            for prior in priors(a).iter().take(if times < 10 { 2 } else { 1 }) {
                agrees(&memoised, u64::from(times), &by_definition, prior);
            }
        }
        if times < 10 {
            let each = Protocol::rappor(a, 0.7).unwrap();
            let fresh = expanded(&unit(a), &rows(&each), times);
            for prior in priors(a) {
                agrees(&Rounds::fresh(each.clone()), u64::from(times), &fresh, &prior);
            }
        }
    }
}

/// The eleven counts of each of three bits are enough for ten rounds: `11³` rows instead of `8^10`.
#[test]
fn ten_rounds_of_three_bits_are_that_of_their_counts() {
    let (times, kappa, lambda) = (10, 0.75, 0.4);
    let first = Protocol::rappor(3, 2.0).unwrap();
    let memoised = Rounds::memoised(first.clone(), Protocol::ue(3, kappa, lambda).unwrap()).unwrap();
    let choose = |k: i32| (0..k).map(|i| f64::from(times - i) / f64::from(i + 1)).product::<f64>();
    let count = |k: i32, p: f64| choose(k) * f64::powi(p, k) * f64::powi(1.0 - p, times - k);
    let row = |list: usize| {
        let likelihood = |z: usize| {
            let bit = |x: u32| (list / 11usize.pow(x) % 11, if z >> x & 1 == 1 { kappa } else { lambda });
            (0..3).map(bit).map(|(k, p)| count(k as i32, p)).product::<f64>()
        };
        rows(&first).iter().enumerate().fold(vec![0.0; 3], |mut sums, (z, q)| {
            sums.iter_mut().zip(q).for_each(|(sum, q)| *sum += likelihood(z) * q);
            sums
        })
    };
    let by_counts = Protocol::matrix((0..11usize.pow(3)).map(row).collect()).unwrap();
    for prior in priors(3) {
        agrees(&memoised, times as u64, &by_counts, &prior);
    }
}

/// Over many values and rounds, where nothing can be enumerated: more rounds tell more, and never more than the limit.
#[test]
fn many_rounds_approach_the_permanent_report() {
    let settings = Settings::default();
    for (first, each) in [
        (Protocol::grr(1000, 3.0).unwrap(), Protocol::grr(1000, 9.0).unwrap()),
        (Protocol::oue(1000, 3.0).unwrap(), Protocol::ue(1000, 0.75, 0.25).unwrap()),
    ] {
        let prior = Prior::jeffreys(1000).unwrap();
        let rounds = Rounds::memoised(first.clone(), each).unwrap();
        let limit = rounds.average_privacy_limit(&prior, &settings).number().unwrap().value;
        let level_limit = rounds.level_limit().number().unwrap().value;
        assert_eq!(level_limit, 3.0);
        let mut last = (0.0, 1.0);
        for times in [1, 2, 5, 10, 30] {
            let level = rounds.level(times).number().unwrap().value;
            let privacy = rounds.average_privacy(times, &prior, &settings).number().unwrap().value;
            assert!(level >= last.0 && level <= level_limit, "{times}: {level}");
            assert!(privacy <= last.1 + 1e-12 && privacy >= limit - 1e-12, "{times}: {privacy} {limit}");
            last = (level, privacy);
        }
        assert!(last.1 - limit < 2e-3 && level_limit - last.0 < 1e-3, "{last:?} {limit}");
    }
}

/// A matrix that is randomised response has no structure to use, and 150 rounds of it are drawn. Five standard errors: a false
/// alarm with probability 6e-7.
#[test]
fn drawn_rounds_agree_with_counted_ones() {
    let each = Protocol::grr(2, 0.2).unwrap();
    let plain = Protocol::matrix(rows(&each)).unwrap();
    let (prior, settings) = (Prior::symmetric(2, 1.0).unwrap(), Settings::default());
    for permanent in [None, Some(Protocol::grr(2, 1.0).unwrap())] {
        let of = |each: &Protocol| match &permanent {
            Some(permanent) => Rounds::memoised(permanent.clone(), each.clone()).unwrap(),
            None => Rounds::fresh(each.clone()),
        };
        let counted = of(&each).average_privacy(150, &prior, &settings).number().unwrap();
        let drawn = of(&plain).average_privacy(150, &prior, &settings).number().unwrap();
        assert_eq!(drawn.method, Method::MonteCarlo);
        assert!((counted.value - drawn.value).abs() < 5.0 * drawn.error, "{counted:?} {drawn:?}");
    }
}

/// Reports that cannot tell two values apart never do.
#[test]
fn values_with_equal_columns_stay_hidden() {
    let each = Protocol::matrix(vec![vec![0.7, 0.7, 0.2], vec![0.3, 0.3, 0.8]]).unwrap();
    let (prior, settings) = (Prior::jeffreys(3).unwrap(), Settings::default());
    let limit = Rounds::fresh(each.clone()).average_privacy_limit(&prior, &settings).number().unwrap().value;
    let merged = Protocol::deterministic(vec![0, 0, 1]).unwrap();
    let expected = Analysis::new(&merged, &prior).unwrap().answer(Metric::AveragePrivacy, None);
    assert!((limit - expected.number().unwrap().value).abs() < 1e-14);
    assert_eq!(Rounds::fresh(each.clone()).level_limit().number().unwrap().value, f64::INFINITY);
    let memoised = Rounds::memoised(Protocol::grr(3, 1.0).unwrap(), each).unwrap();
    assert!(memoised.level_limit().number().unwrap().value <= 1.0 + 1e-12);
    assert!(Rounds::memoised(Protocol::grr(3, 1.0).unwrap(), Protocol::grr(4, 1.0).unwrap()).is_err());
}

/// The posterior of linked rounds, against the likelihood summed over permanent reports on a grid of distributions.
#[test]
fn the_posterior_uses_linked_rounds() {
    let (first, each) = (Protocol::grr(2, 1.0).unwrap(), Protocol::grr(2, 1.5).unwrap());
    let protocol = Rounds::memoised(first.clone(), each.clone()).unwrap().expanded(3).unwrap();
    let seen = [([0, 0, 0], 9), ([0, 0, 1], 4), ([1, 0, 1], 3), ([1, 1, 1], 5), ([0, 1, 0], 2)];
    let output = |y: &[usize; 3]| Output::Tuple(y.iter().map(|y| Output::Index(*y)).collect());
    let tallies = Tallies::new(&protocol, seen.iter().map(|(y, count)| (output(y), *count))).unwrap();
    let prior = Prior::symmetric(2, 1.0).unwrap();
    let found = posterior(&protocol, &prior, &tallies, &PosteriorOptions::default()).unwrap();
    let (q, r) = (rows(&first), rows(&each));
    let likelihood = |p: f64| {
        let reported = [q[0][0] * p + q[0][1] * (1.0 - p), q[1][0] * p + q[1][1] * (1.0 - p)];
        let of =
            |y: &[usize; 3]| (0..2).map(|z| reported[z] * y.map(|y| r[y][z]).iter().product::<f64>()).sum();
        seen.iter().map(|(y, count)| f64::powi(of(y), *count as i32)).product::<f64>()
    };
    let grid = 20_000;
    let at = |i: usize| (i as f64 + 0.5) / grid as f64;
    let mass: f64 = (0..grid).map(|i| likelihood(at(i))).sum();
    let mean = (0..grid).map(|i| at(i) * likelihood(at(i))).sum::<f64>() / mass;
    assert!((found.p[0].mean - mean).abs() < 1e-7 + 5.0 * found.p[0].error, "{:?} {mean}", found.p[0]);
}
