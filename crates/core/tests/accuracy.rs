//! Accuracy against enumeration of all reports, and the identities it satisfies.

mod strategies;

use chacha20::ChaCha8Rng;
use proptest::prelude::*;
use rand::SeedableRng;
use sottovoce::accuracy::{Accuracy, AccuracyOptions, Distance, Place, accuracy};
use sottovoce::estimate::{Estimation, Estimator, Reports};
use sottovoce::prior::Points;
use sottovoce::{Error, Method, Prior, Protocol, Tallies};
use strategies::{any_protocol, distribution};

fn kinds() -> Vec<Protocol> {
    let rows = vec![vec![0.5, 0.1, 0.2], vec![0.2, 0.6, 0.2], vec![0.2, 0.1, 0.3], vec![0.1, 0.2, 0.3]];
    vec![
        Protocol::grr(3, 1.0).unwrap(),
        Protocol::oue(3, 0.7).unwrap(),
        Protocol::lh(3, 2, 1.0).unwrap(),
        Protocol::subset(3, 2, 1.5).unwrap(),
        Protocol::block(3, 7, 3, 1.5).unwrap(),
        Protocol::matrix(rows).unwrap(),
    ]
}

/// The expected distance over all ordered triples of reports.
fn enumerated(protocol: &Protocol, p: &[f64], estimator: Estimator, distance: Distance) -> f64 {
    let (b, q) = (protocol.outputs().unwrap(), protocol.push_forward(p).unwrap());
    let mut sum = 0.0;
    for (i, j, k) in (0..b).flat_map(|i| (i..b).flat_map(move |j| (j..b).map(move |k| (i, j, k)))) {
        let orders = if i == k {
            1.0
        } else if i == j || j == k {
            3.0
        } else {
            6.0
        };
        let mut counts = std::collections::BTreeMap::new();
        [i, j, k].into_iter().for_each(|y| *counts.entry(protocol.output(y)).or_insert(0) += 1);
        let tallies = Tallies::new(protocol, counts).unwrap();
        let estimation = Estimation::new(protocol, Reports::Tallies(tallies), 0.9).unwrap();
        let found = estimation.estimate(estimator);
        // A report without information (all bits set, say) leaves every distribution equally likely.
        let Ok(found) = found else { return f64::NAN };
        sum += orders * q[i] * q[j] * q[k] * distance.between(p, &found.values);
    }
    sum
}

fn at(protocol: &Protocol, p: &[f64], estimator: Estimator, distance: Distance) -> Result<Accuracy, Error> {
    accuracy(protocol, 3, estimator, distance, Place::At(p), &AccuracyOptions::default())
}

#[test]
fn the_squared_error_of_linear_estimates_is_exact() {
    for protocol in kinds() {
        for p in [[0.6, 0.3, 0.1], [0.0, 1.0, 0.0]] {
            let exact = enumerated(&protocol, &p, Estimator::Linear, Distance::SquaredL2);
            let found = at(&protocol, &p, Estimator::Linear, Distance::SquaredL2).unwrap();
            assert_eq!((found.evaluation.method, found.draws), (Method::ClosedForm, 0));
            assert!((found.evaluation.value / exact - 1.0).abs() < 1e-12, "{protocol:?}: {found:?} {exact}");
        }
    }
}

/// Every simulation method, every estimator and every distance, against enumeration. 45 comparisons at 4.5
/// standard errors: the false-alarm rate is below 4e-4.
#[test]
fn simulated_accuracies_are_those_of_all_reports() {
    let p = [0.6, 0.3, 0.1];
    for protocol in kinds() {
        for estimator in
            [Estimator::Linear, Estimator::NormSub, Estimator::BaseCut, Estimator::MaximumLikelihood]
        {
            for distance in [Distance::L1, Distance::L2, Distance::Max] {
                let exact = enumerated(&protocol, &p, estimator, distance);
                let found = at(&protocol, &p, estimator, distance);
                if exact.is_nan() {
                    assert!(estimator == Estimator::MaximumLikelihood);
                    continue;
                }
                let found = found.unwrap().evaluation;
                assert_eq!(found.method, Method::MonteCarlo);
                // Three reports that each support at least half of all values are never significant: Base-Cut
                // always gives 0.
                let halves = matches!(protocol, Protocol::LocalHash(_) | Protocol::SubsetSelection(_));
                let constant = estimator == Estimator::BaseCut && halves;
                assert!(found.error <= 0.0101 * found.value, "{found:?}");
                assert_eq!(found.error < 1e-15, constant, "{protocol:?} {estimator:?}: {found:?}");
                assert!(
                    (found.value - exact).abs() < 4.5 * found.error + 1e-12,
                    "{protocol:?} {estimator:?} {distance:?}: {found:?} {exact}"
                );
            }
        }
    }
}

/// The average over a prior with few points is the weighted mean over the points; over a Dirichlet prior it
/// agrees with draws from it.
#[test]
fn averages_over_priors_are_averages() {
    let settings = AccuracyOptions::default();
    for protocol in kinds() {
        let squared = |place: Place<'_>| {
            let found =
                accuracy(&protocol, 50, Estimator::Linear, Distance::SquaredL2, place, &settings).unwrap();
            assert_eq!(found.evaluation.method, Method::ClosedForm);
            found.evaluation.value
        };
        let points = vec![vec![0.6, 0.3, 0.1], vec![0.1, 0.1, 0.8]];
        let average = 0.25 * squared(Place::At(&points[0])) + 0.75 * squared(Place::At(&points[1]));
        let prior = Prior::Points(Points::new(vec![0.25, 0.75], points).unwrap());
        assert!((squared(Place::Prior(&prior)) / average - 1.0).abs() < 1e-12);
        let prior = Prior::dirichlet(vec![0.3, 1.2, 2.5]).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let draws: Vec<f64> = (0..4000)
            .map(|_| {
                let p: Vec<f64> = prior.sample_ln(&mut rng).into_iter().map(f64::exp).collect();
                let sum: f64 = p.iter().sum();
                squared(Place::At(&p.iter().map(|v| v / sum).collect::<Vec<_>>()))
            })
            .collect();
        let mean = draws.iter().sum::<f64>() / 4000.0;
        let variance = draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 3999.0;
        let exact = squared(Place::Prior(&prior));
        assert!(
            (exact - mean).abs() < 4.5 * (variance / 4000.0).sqrt() + 1e-15,
            "{protocol:?}: {exact} {mean}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn nothing_is_worse_than_the_worst(protocol in any_protocol(), p in distribution(4, true)) {
        prop_assume!(protocol.faithful().unwrap());
        let squared = |place: Place<'_>| {
            accuracy(&protocol, 7, Estimator::Linear, Distance::SquaredL2, place, &AccuracyOptions::default()).unwrap()
        };
        let worst = squared(Place::Worst);
        prop_assert!(worst.worst_of_all);
        let sum: f64 = p[..protocol.inputs()].iter().sum();
        prop_assume!(sum > 0.0);
        let p: Vec<f64> = p[..protocol.inputs()].iter().map(|v| v / sum).collect();
        prop_assert!(squared(Place::At(&p)).evaluation.value <= worst.evaluation.value * (1.0 + 1e-9) + 1e-15);
        let place = worst.worst.clone().unwrap();
        prop_assert!((squared(Place::At(&place)).evaluation.value - worst.evaluation.value).abs() <= 1e-12 * (1.0 + worst.evaluation.value));
    }
}

#[test]
fn threads_do_not_matter() {
    let protocol = Protocol::oue(6, 1.0).unwrap();
    let prior = Prior::jeffreys(6).unwrap();
    let settings = AccuracyOptions { tolerance: 0.05, seed: 9, ..AccuracyOptions::default() };
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            accuracy(
                &protocol,
                300,
                Estimator::MaximumLikelihood,
                Distance::L1,
                Place::Prior(&prior),
                &settings,
            )
            .unwrap()
        })
    };
    assert_eq!(run(1), run(3));
}

/// Averaged over the prior, the error of every estimator decreases with more users.
#[test]
fn more_users_are_more_accurate() {
    let (protocol, prior) = (Protocol::grr(5, 1.0).unwrap(), Prior::jeffreys(5).unwrap());
    for estimator in Estimator::ALL {
        let found = |n: u64| {
            accuracy(&protocol, n, estimator, Distance::L1, Place::Prior(&prior), &AccuracyOptions::default())
                .unwrap()
                .evaluation
                .value
        };
        let (few, many) = (found(100), found(10_000));
        assert!(many < 0.5 * few, "{estimator:?}: {few} {many}");
    }
}

/// Averaged over the prior, the posterior mean has the smallest squared error; for the identity protocol it
/// is the well-known `(α + s)/(α0 + n)`, whose error is `Σ_x Var(P_x) α0/(α0 + n)`.
#[test]
fn nothing_is_nearer_than_the_posterior_mean() {
    let prior = Prior::dirichlet(vec![0.5, 1.0, 3.0]).unwrap();
    let squared = |protocol: &Protocol, estimator: Estimator| {
        let settings = AccuracyOptions { tolerance: 0.04, ..AccuracyOptions::default() };
        accuracy(protocol, 60, estimator, Distance::SquaredL2, Place::Prior(&prior), &settings)
            .unwrap()
            .evaluation
    };
    let total = 4.5;
    let variance: f64 =
        [0.5, 1.0, 3.0].iter().map(|a| a * (total - a) / (total * total * (total + 1.0))).sum();
    let truth = squared(&Protocol::identity(3).unwrap(), Estimator::PosteriorMean);
    assert!((truth.value - variance * total / (total + 60.0)).abs() < 4.0 * truth.error, "{truth:?}");
    for protocol in [Protocol::grr(3, 1.0).unwrap(), Protocol::oue(3, 1.0).unwrap()] {
        let best = squared(&protocol, Estimator::PosteriorMean);
        for estimator in [Estimator::Linear, Estimator::NormSub, Estimator::MaximumLikelihood] {
            let other = squared(&protocol, estimator);
            assert!(best.value <= other.value + 4.0 * other.error, "{estimator:?}: {best:?} {other:?}");
        }
    }
}

#[test]
fn bad_requests_are_refused() {
    let grr = Protocol::grr(3, 1.0).unwrap();
    assert!(matches!(at(&grr, &[0.5, 0.5], Estimator::Linear, Distance::L1), Err(Error::PriorSize { .. })));
    assert!(matches!(
        at(&grr, &[0.5, 0.6, 0.0], Estimator::Linear, Distance::L1),
        Err(Error::WeightSum { .. })
    ));
    assert!(matches!(
        at(&grr, &[0.5, f64::NAN, 0.5], Estimator::Linear, Distance::L1),
        Err(Error::OutOfRange { .. })
    ));
    let merged = Protocol::deterministic(vec![0, 0, 1]).unwrap();
    assert!(matches!(
        at(&merged, &[0.5, 0.5, 0.0], Estimator::NormSub, Distance::L2),
        Err(Error::NotFaithful { .. })
    ));
    let nobody =
        accuracy(&grr, 0, Estimator::Linear, Distance::L1, Place::Worst, &AccuracyOptions::default());
    assert_eq!(nobody.unwrap_err(), Error::NoReports);
    let settings = AccuracyOptions { tolerance: f64::NAN, ..AccuracyOptions::default() };
    let careless = accuracy(&grr, 5, Estimator::Linear, Distance::L1, Place::Worst, &settings);
    assert!(matches!(careless, Err(Error::OutOfRange { .. })));
}
