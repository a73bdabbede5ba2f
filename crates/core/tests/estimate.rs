//! Point estimates against enumeration, brute force and each other.

mod strategies;

use chacha20::ChaCha8Rng;
use proptest::prelude::*;
use rand::SeedableRng;
use sottovoce::estimate::{Estimate, Estimation, Estimator, LeftInverse, Reports, Supports};
use sottovoce::{Error, Output, Prior, Protocol, Tallies};
use strategies::{any_protocol, distribution};

fn tallies(protocol: &Protocol, outputs: impl IntoIterator<Item = Output>) -> Tallies {
    let mut counts = std::collections::BTreeMap::<Output, u64>::new();
    outputs.into_iter().for_each(|output| *counts.entry(output).or_default() += 1);
    Tallies::new(protocol, counts).unwrap()
}

/// `n` reports of users whose values are drawn from `p`.
fn simulated(protocol: &Protocol, p: &[f64], n: usize, seed: u64) -> Tallies {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let population = Protocol::matrix(p.iter().map(|p_x| vec![*p_x; 2]).collect()).unwrap();
    let outputs = (0..n).map(|_| {
        let Output::Index(x) = population.sample(0, &mut rng).unwrap() else { unreachable!() };
        protocol.sample(x, &mut rng).unwrap()
    });
    tallies(protocol, outputs.collect::<Vec<_>>())
}

fn estimate(protocol: &Protocol, tallies: &Tallies, estimator: Estimator) -> Result<Estimate, Error> {
    Estimation::new(protocol, Reports::Tallies(tallies.clone()), 0.9)?.estimate(estimator)
}

fn ln_likelihood(protocol: &Protocol, tallies: &Tallies, p: &[f64]) -> f64 {
    let term = |(output, count): &(Output, u64)| {
        let q: f64 = (0..p.len()).map(|x| p[x] * protocol.ln_probability(output, x).unwrap().exp()).sum();
        *count as f64 * q.ln()
    };
    tallies.counts().iter().map(term).sum()
}

fn faithful_kinds() -> Vec<Protocol> {
    let rows = vec![vec![0.5, 0.1, 0.2], vec![0.2, 0.6, 0.2], vec![0.2, 0.1, 0.3], vec![0.1, 0.2, 0.3]];
    vec![
        Protocol::grr(3, 1.0).unwrap(),
        Protocol::oue(3, 0.7).unwrap(),
        Protocol::lh(3, 2, 1.0).unwrap(),
        Protocol::subset(3, 2, 1.5).unwrap(),
        Protocol::block(3, 7, 3, 1.5).unwrap(),
        Protocol::block(3, 7, 4, 1.0).unwrap(),
        Protocol::erasure(3, 0.6).unwrap(),
        Protocol::matrix(rows).unwrap(),
        Protocol::mixture(
            vec![0.4, 0.6],
            vec![Protocol::grr(3, 1.0).unwrap(), Protocol::oue(3, 1.0).unwrap()],
        )
        .unwrap(),
    ]
}

/// All pairs of reports, weighted by their probability: the mean of the linear estimate is the true value,
/// and the mean of the stated covariance is (n − 1)/n of the true one, as for every variance around an
/// estimated mean.
#[test]
fn linear_estimates_are_unbiased_and_know_their_covariance() {
    let p = [0.6, 0.3, 0.1];
    for protocol in faithful_kinds() {
        let b = protocol.outputs().unwrap();
        let q = protocol.push_forward(&p).unwrap();
        let inverse = LeftInverse::of(&protocol).unwrap();
        let (mut mean, mut square, mut stated) = ([0.0; 3], [[0.0; 3]; 3], [[0.0; 3]; 3]);
        for (y, other) in (0..b).flat_map(|y| (0..b).map(move |other| (y, other))) {
            let pair = tallies(&protocol, [protocol.output(y), protocol.output(other)]);
            let found = inverse.estimate(&protocol, &Reports::Tallies(pair)).unwrap();
            let weight = q[y] * q[other];
            for x in 0..3 {
                mean[x] += weight * found.values()[x];
                for z in 0..3 {
                    square[x][z] += weight * found.values()[x] * found.values()[z];
                    stated[x][z] += weight * found.covariance(x, z);
                }
            }
        }
        for x in 0..3 {
            assert!((mean[x] - p[x]).abs() < 1e-12, "{protocol:?}: {mean:?}");
            for z in 0..3 {
                let truth = square[x][z] - p[x] * p[z];
                assert!(
                    (stated[x][z] - truth / 2.0).abs() < 1e-12,
                    "{protocol:?} {x} {z}: {stated:?} {truth}"
                );
            }
        }
    }
}

/// Least squares at the uniform distribution has the smallest variance there: less than another left inverse
/// of the same matrix.
#[test]
fn least_squares_beat_the_usual_votes_of_unary_encoding() {
    let ue = Protocol::oue(3, 1.0).unwrap();
    let dense = Protocol::Matrix(ue.to_matrix().unwrap());
    let q = ue.push_forward(&[1.0 / 3.0; 3]).unwrap();
    let variance = |protocol: &Protocol| -> f64 {
        let inverse = LeftInverse::of(protocol).unwrap();
        let square = |y: usize| {
            let one = tallies(protocol, [protocol.output(y)]);
            let vote = inverse.estimate(protocol, &Reports::Tallies(one)).unwrap();
            q[y] * vote.values().iter().map(|z| z * z).sum::<f64>()
        };
        (0..8).map(square).sum::<f64>() - 1.0 / 3.0
    };
    assert!(variance(&dense) < 0.95 * variance(&ue), "{} {}", variance(&dense), variance(&ue));
}

#[test]
fn supports_say_as_much_as_tallies_to_a_linear_estimate() {
    for protocol in faithful_kinds().into_iter().take(5) {
        let reports = simulated(&protocol, &[0.5, 0.3, 0.2], 200, 3);
        let supports = Supports::of_tallies(&protocol, &reports).unwrap();
        let again = Supports::new(&protocol, supports.n(), supports.counts().to_vec()).unwrap();
        let inverse = LeftInverse::of(&protocol).unwrap();
        let one = inverse.estimate(&protocol, &Reports::Tallies(reports)).unwrap();
        let other = inverse.estimate(&protocol, &Reports::Supports(again.clone())).unwrap();
        assert_eq!(one.values(), other.values());
        let most_likely = Estimation::new(&protocol, Reports::Supports(again), 0.9)
            .unwrap()
            .estimate(Estimator::MaximumLikelihood);
        let whole = matches!(
            protocol,
            Protocol::GeneralisedRandomisedResponse(_) | Protocol::Erasure(_) | Protocol::Identity(_)
        );
        assert_eq!(most_likely.is_ok(), whole, "{protocol:?}");
        if !whole {
            assert!(matches!(most_likely, Err(Error::SupportsOnly { .. })));
        }
    }
}

/// Base-Cut shows a value that no user holds with at most the stated probability 0.05/a: the exact
/// probability over all triples of reports. Reports that happen to agree are not significant by themselves.
#[test]
fn values_that_nobody_holds_are_cut() {
    let p = [0.7, 0.3, 0.0];
    for protocol in [Protocol::lh(3, 2, 1.0).unwrap(), Protocol::subset(3, 2, 0.5).unwrap()] {
        let (b, q) = (protocol.outputs().unwrap(), protocol.push_forward(&p).unwrap());
        let mut kept = 0.0;
        for rows in (0..b).flat_map(|i| (0..b).flat_map(move |j| (0..b).map(move |k| [i, j, k]))) {
            let reports = tallies(&protocol, rows.map(|row| protocol.output(row)));
            let found = estimate(&protocol, &reports, Estimator::BaseCut).unwrap();
            kept += if found.values[2] > 0.0 { rows.map(|row| q[row]).iter().product() } else { 0.0 };
        }
        assert!(kept < 0.05 / 3.0, "{protocol:?}: {kept}");
    }
}

#[test]
fn what_cannot_be_estimated_is_refused() {
    let refused = |protocol: &Protocol| {
        let one = tallies(protocol, [protocol.output(0)]);
        Estimation::new(protocol, Reports::Tallies(one), 0.9).unwrap_err()
    };
    let merged = Protocol::deterministic(vec![0, 0, 1]).unwrap();
    assert_eq!(refused(&merged), Error::NotFaithful { rank: 2, a: 3 });
    assert_eq!(refused(&Protocol::ue(3, 0.4, 0.4).unwrap()), Error::NotFaithful { rank: 1, a: 3 });
    let grr = Protocol::grr(3, 1.0).unwrap();
    let none = Tallies::new(&grr, []).unwrap();
    assert_eq!(Estimation::new(&grr, Reports::Tallies(none), 0.9).unwrap_err(), Error::NoReports);
    let one = || Reports::Tallies(tallies(&grr, [Output::Index(0)]));
    for level in [0.0, 1.0, f64::NAN, -0.5] {
        assert!(matches!(Estimation::new(&grr, one(), level), Err(Error::OutOfRange { .. })));
    }
    let blank = Protocol::erasure(3, 0.5).unwrap();
    let blanks = tallies(&blank, [Output::Index(3)]);
    let estimation = Estimation::new(&blank, Reports::Tallies(blanks), 0.9).unwrap();
    assert_eq!(estimation.estimate(Estimator::MaximumLikelihood).unwrap_err(), Error::NothingTold);
}

/// Water-filling, packed bits and matrix rows give the same maximum.
#[test]
fn structure_finds_the_same_maximum_as_the_matrix() {
    let p = [0.55, 0.25, 0.15, 0.05, 0.0];
    for protocol in [
        Protocol::grr(5, 0.4).unwrap(),
        Protocol::grr(5, 3.0).unwrap(),
        Protocol::oue(5, 0.8).unwrap(),
        Protocol::lh(5, 3, 1.0).unwrap(),
        Protocol::subset(5, 2, 1.0).unwrap(),
    ] {
        for seed in 0..5 {
            let reports = simulated(&protocol, &p, 3000, seed);
            let dense = Protocol::Matrix(protocol.to_matrix().unwrap());
            let rows = |(output, count): &(Output, u64)| (protocol.row_of(output).unwrap(), *count);
            let mut counts = std::collections::BTreeMap::<usize, u64>::new();
            for (row, count) in reports.counts().iter().map(rows) {
                *counts.entry(row).or_default() += count;
            }
            let dense_reports =
                Tallies::new(&dense, counts.into_iter().map(|(row, count)| (Output::Index(row), count)))
                    .unwrap();
            let one = estimate(&protocol, &reports, Estimator::MaximumLikelihood).unwrap();
            let other = estimate(&dense, &dense_reports, Estimator::MaximumLikelihood).unwrap();
            assert!(one.certificate.unwrap().holds() && other.certificate.unwrap().holds());
            let [l, r] = [&one, &other].map(|e| ln_likelihood(&protocol, &reports, &e.values));
            assert!((l - r).abs() < 1.1e-6, "{protocol:?} {seed}: {l} {r}");
            for x in 0..5 {
                let wide = 1e-2 * one.standard_errors.as_ref().unwrap()[x];
                assert!((one.values[x] - other.values[x]).abs() < wide, "{protocol:?} {one:?} {other:?}");
            }
        }
    }
}

/// At a = 2 the maximum can be found by a grid search.
#[test]
fn no_distribution_on_a_fine_grid_is_more_likely() {
    for protocol in [
        Protocol::oue(2, 0.5).unwrap(),
        Protocol::subset(2, 1, 2.0).unwrap(),
        Protocol::lh(2, 2, 1.0).unwrap(),
    ] {
        for (seed, p) in [(1, [0.9, 0.1]), (2, [1.0, 0.0]), (3, [0.5, 0.5])] {
            let reports = simulated(&protocol, &p, 300, seed);
            let found = estimate(&protocol, &reports, Estimator::MaximumLikelihood).unwrap();
            let best = ln_likelihood(&protocol, &reports, &found.values);
            let grid = (0..=2000).map(|i| f64::from(i) / 2000.0);
            let other = grid
                .map(|p| ln_likelihood(&protocol, &reports, &[p, 1.0 - p]))
                .fold(f64::NEG_INFINITY, f64::max);
            assert!(best >= other - 1e-6 && best < other + 0.01, "{protocol:?}: {best} {other}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The certificate of a search that was stopped early bounds the gain of a longer search, and of any
    /// other distribution.
    #[test]
    fn the_gap_bounds_what_is_missing(
        protocol in any_protocol(),
        n in 1usize..300,
        seed in 0u64..1000,
        ln_tolerance in -3.0f64..4.0,
        others in prop::collection::vec(distribution(4, true), 8),
    ) {
        prop_assume!(protocol.faithful().unwrap());
        let a = protocol.inputs();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let p: Vec<f64> =
            Prior::jeffreys(a).unwrap().sample_ln(&mut rng).into_iter().map(f64::exp).collect();
        let reports = simulated(&protocol, &p, n, seed);
        let estimation = Estimation::new(&protocol, Reports::Tallies(reports.clone()), 0.9).unwrap();
        let Ok(best) = estimation.estimate(Estimator::MaximumLikelihood) else { return Ok(()) };
        let early = estimation.with_tolerance(ln_tolerance.exp()).unwrap();
        let early = early.estimate(Estimator::MaximumLikelihood).unwrap();
        let certificate = best.certificate.unwrap();
        prop_assert!(certificate.holds(), "{:?} {:?}", certificate, protocol);
        let value = |p: &[f64]| ln_likelihood(&protocol, &reports, p);
        let (top, low) = (value(&best.values), value(&early.values));
        let rounding = 1e-9 * (1.0 + top.abs());
        prop_assert!(top - low <= early.certificate.unwrap().gap + rounding);
        prop_assert!(low - top <= certificate.gap + rounding);
        for other in &others {
            let part: f64 = other[..a].iter().sum();
            if part > 0.0 {
                let other: Vec<f64> = other[..a].iter().map(|v| v / part).collect();
                prop_assert!(value(&other) - top <= certificate.gap + rounding);
                prop_assert!(value(&other) - low <= early.certificate.unwrap().gap + rounding);
            }
        }
        let sum: f64 = best.values.iter().sum();
        prop_assert!((sum - 1.0).abs() < 1e-9 && best.values.iter().all(|p_x| *p_x >= 0.0));
        for (p_x, interval) in best.values.iter().zip(&best.intervals) {
            prop_assert!(interval.low <= *p_x && *p_x <= interval.high);
        }
    }
}

/// Intervals of 90 % contain the true value in 90 % of 400 collections, also for a value that no user holds.
///
/// The number of misses of one interval is binomial(400, 0.1) if the level is exact: mean 40, standard
/// deviation 6. More than 64 misses have probability below 1e-4 per cell; intervals carried over from the
/// linear estimate, or cut at 0, may miss less. With 72 cells the false-alarm rate is below 1 %.
#[test]
fn intervals_cover_as_often_as_they_say() {
    let p = [0.5, 0.3, 0.2, 0.0];
    let rows = (0..5).map(|y| (0..4).map(|x| if x == y { 0.5 } else { 0.125 }).collect()).collect();
    for protocol in [
        Protocol::grr(4, 1.0).unwrap(),
        Protocol::oue(4, 1.0).unwrap(),
        Protocol::lh(4, 3, 1.0).unwrap(),
        Protocol::subset(4, 2, 0.5).unwrap(),
        Protocol::erasure(4, 0.3).unwrap(),
        Protocol::matrix(rows).unwrap(),
    ] {
        for estimator in [Estimator::Linear, Estimator::NormSub, Estimator::MaximumLikelihood] {
            let mut misses = [0; 4];
            for seed in 0..400 {
                let found = estimate(&protocol, &simulated(&protocol, &p, 400, seed), estimator).unwrap();
                for (x, interval) in found.intervals.iter().enumerate() {
                    misses[x] +=
                        usize::from(!(interval.low <= p[x] + 1e-12 && p[x] <= interval.high + 1e-12));
                }
            }
            assert!(misses.iter().all(|m| *m <= 64), "{protocol:?} {estimator:?}: {misses:?}");
            assert!(misses.iter().take(3).any(|m| *m >= 10), "{protocol:?} {estimator:?}: {misses:?}");
        }
    }
}
