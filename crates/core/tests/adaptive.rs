//! The adaptive prior: chains against exact mixtures, calibration under its own prior, coverage on real
//! skewed columns, and the grid that other jobs use.
//!
//! `SOTTOVOCE_FULL=1` runs the calibration on 1,260 collections and the coverage on 216.

mod simulation;

use std::ops::ControlFlow;

use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use sottovoce::design::optimal_parameter::best_block;
use sottovoce::information::{Choice, Sampling};
use sottovoce::posterior::{Posterior, PosteriorOptions, posterior};
use sottovoce::prior::{Adaptive, Dirichlet};
use sottovoce::{Analysis, Metric, Prior, Protocol};

use simulation::collected;

fn full() -> bool {
    std::env::var("SOTTOVOCE_FULL").is_ok()
}

/// Leaves out the evidence, which follows the chains.
fn without_evidence(sampling: &Sampling) -> ControlFlow<()> {
    if sampling.draws == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

fn options(probabilities: Vec<f64>, choice: Choice, seed: u64) -> PosteriorOptions<'static> {
    PosteriorOptions {
        probabilities,
        choice,
        seed,
        draws: 0,
        observer: Some(&without_evidence),
        ..PosteriorOptions::default()
    }
}

/// Randomised response has an exact mixture over `α`, which shares nothing with the chains but the
/// likelihood. Means within five of their stated standard errors (31 comparisons: false-alarm rate 2e-5),
/// ends of intervals within 15 % of their width.
#[test]
fn chains_meet_the_exact_mixture() {
    for (a, epsilon, n, skew) in [(5, 1.0, 300, 0.5), (12, 2.0, 2_000, 2.0), (12, 0.5, 2_000, 2.0)] {
        let protocol = Protocol::grr(a, epsilon).unwrap();
        let weights: Vec<f64> = (1..=a).map(|x| (x as f64).powf(-skew)).collect();
        let p: Vec<f64> = weights.iter().map(|w| w / weights.iter().sum::<f64>()).collect();
        let tallies = collected(&protocol, &p, n, &mut ChaCha8Rng::seed_from_u64(7));
        let prior = Prior::adaptive(a).unwrap();
        let [exact, chains] = [Choice::Exact, Choice::MonteCarlo].map(|choice| {
            posterior(&protocol, &prior, &tallies, &options(vec![0.05, 0.95], choice, 3)).unwrap()
        });
        let pairs = exact.p.iter().zip(&chains.p).chain(exact.t.iter().zip(&chains.t));
        for (exact, found) in pairs.chain(exact.alpha.iter().zip(&chains.alpha)) {
            let error = found.error.max(1e-3 * exact.sd);
            assert!((found.mean - exact.mean).abs() < 5.0 * error, "{a} {epsilon}: {found:?} {exact:?}");
            for (exact_at, found_at) in exact.quantiles.iter().zip(&found.quantiles) {
                // Tails of α are long; compare quantiles in units of the interval.
                let width = exact.quantiles[1].1 - exact.quantiles[0].1;
                let off = (exact_at.1 - found_at.1).abs();
                // Quantiles of tallies are whole numbers.
                let step = if exact.quantiles[1].1 > 10.0 { 2.0 } else { 1.0 / n as f64 };
                assert!(off < 0.15 * width + step, "{a} {epsilon}: {found:?} {exact:?}");
            }
        }
    }
}

/// The nodes of the exact mixture against a plain grid of 96 values of `α`.
#[test]
fn quadrature_meets_a_fine_grid() {
    for (a, epsilon, n, skew) in [(5, 1.0, 300, 0.5), (12, 2.0, 2_000, 2.0), (12, 0.5, 2_000, 2.0)] {
        let protocol = Protocol::grr(a, epsilon).unwrap();
        let weights: Vec<f64> = (1..=a).map(|x| (x as f64).powf(-skew)).collect();
        let p: Vec<f64> = weights.iter().map(|w| w / weights.iter().sum::<f64>()).collect();
        let tallies = collected(&protocol, &p, n, &mut ChaCha8Rng::seed_from_u64(7));
        let options = options(vec![0.05, 0.95], Choice::Exact, 3);
        let grid = Prior::DirichletMixture(Adaptive::with_nodes(a, 96).unwrap().mixture().clone());
        let fine = posterior(&protocol, &grid, &tallies, &options).unwrap();
        let found = posterior(&protocol, &Prior::adaptive(a).unwrap(), &tallies, &options).unwrap();
        let [fine_ln, ln] = [&fine, &found].map(|posterior| posterior.log_evidence.unwrap());
        assert!((ln.value - fine_ln.value).abs() < ln.error, "{a} {epsilon}: {ln:?} {fine_ln:?}");
        for (fine, found) in fine.p.iter().zip(&found.p) {
            assert!((fine.mean - found.mean).abs() < 1e-2 * fine.sd, "{a} {epsilon}: {fine:?} {found:?}");
            assert!(
                (fine.quantiles[1].1 - found.quantiles[1].1).abs() < 2e-2 * fine.sd,
                "{fine:?} {found:?}"
            );
        }
    }
}

/// With twice as many components the metrics stay the same to a thousandth.
#[test]
fn a_finer_grid_changes_nothing() {
    for a in [5, 41] {
        let protocol = Protocol::grr(a, 1.0).unwrap();
        let [usual, finer] = [Adaptive::NODES, 2 * Adaptive::NODES].map(|nodes| {
            let prior = Prior::Adaptive(Adaptive::with_nodes(a, nodes).unwrap());
            let analysis = Analysis::new(&protocol, &prior).unwrap();
            [Metric::AveragePrivacy, Metric::UserEntropy]
                .map(|metric| analysis.answer(metric, None).number().unwrap().value)
        });
        for (usual, finer) in usual.iter().zip(finer) {
            assert!((usual / finer - 1.0).abs() < 1e-3, "{a}: {usual} {finer}");
        }
    }
}

/// The bin of a number among the quantiles of a distribution.
fn bin(quantiles: &[(f64, f64)], value: f64) -> usize {
    quantiles.iter().filter(|(_, q)| *q < value).count()
}

const BINS: usize = 10;

/// One collection under the adaptive prior: the bins of `P_0`, `P_1` and `α`, and of how many values the 90 %
/// interval holds the truth.
fn calibrated(protocol: &Protocol, n: usize, seed: u64) -> ([usize; 3], usize) {
    let a = protocol.inputs();
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let (low, high) = (Adaptive::smallest(a), Adaptive::LARGEST);
    let alpha = low * (high / low).powf(rng.random::<f64>());
    let ln_p = Dirichlet::symmetric(a, alpha).unwrap().sample_ln(rng);
    let p: Vec<f64> = ln_p.iter().map(|ln| ln.exp()).collect();
    let tallies = collected(protocol, &p, n, rng);
    let mut probabilities: Vec<f64> = (1..BINS).map(|i| i as f64 / BINS as f64).collect();
    probabilities.extend([0.05, 0.95]);
    let prior = Prior::adaptive(a).unwrap();
    let found: Posterior =
        posterior(protocol, &prior, &tallies, &options(probabilities, Choice::Automatic, seed)).unwrap();
    let deciles = |summary: &sottovoce::posterior::Summary| summary.quantiles[..BINS - 1].to_vec();
    let bins = [
        bin(&deciles(&found.p[0]), p[0]),
        bin(&deciles(&found.p[1]), p[1]),
        bin(&deciles(found.alpha.as_ref().unwrap()), alpha),
    ];
    let holds = |x: &usize| {
        let ends = &found.p[*x].quantiles[BINS - 1..];
        ends[0].1 <= p[*x] && p[*x] <= ends[1].1
    };
    (bins, (0..a).filter(holds).count())
}

fn protocol(name: &str, a: usize, epsilon: f64) -> Protocol {
    let found = match name {
        "grr" => Protocol::grr(a, epsilon),
        "oue" => Protocol::oue(a, epsilon),
        "lh" => Protocol::lh(a, (epsilon.exp() + 1.0).round() as usize, epsilon),
        "subset" => Protocol::subset(a, (a as f64 / (epsilon.exp() + 1.0)).ceil() as usize, epsilon),
        _ => {
            let (v, k) = best_block(&Prior::jeffreys(a).unwrap(), epsilon, None, None).unwrap();
            Protocol::block(a, v, k, epsilon)
        }
    };
    found.unwrap()
}

fn chi_square(counts: &[usize]) -> f64 {
    let expected = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
    counts.iter().map(|c| (*c as f64 - expected).powi(2) / expected).sum()
}

/// Simulation-based calibration: if `α` is drawn from its prior, `P` given `α` and reports given `P`, then
/// the truth falls into each tenth of its posterior equally often.
///
/// Fifteen chi-square statistics with 9 degrees of freedom (five protocols, three quantities) exceed 33.7 with
/// probability 1e-4 each: false-alarm rate 1.5e-3. Coverage: the values of one collection are dependent, so
/// the collection is the unit: its covered share has a standard deviation of at most 0.15 (measured: 0.06 to
/// 0.12), and 4.5 standard errors of the mean have a false-alarm rate of 7e-6.
#[test]
fn the_truth_is_where_the_posterior_says() {
    let quick = [(10, 1.0, 500), (16, 3.0, 500)];
    let all = [
        (10, 0.3, 2_000),
        (10, 1.0, 500),
        (10, 3.0, 2_000),
        (20, 0.3, 500),
        (20, 1.0, 2_000),
        (20, 3.0, 500),
        (41, 0.3, 2_000),
        (41, 1.0, 500),
        (41, 3.0, 500),
        (64, 0.3, 2_000),
        (64, 1.0, 2_000),
        (64, 3.0, 500),
    ];
    let cases: &[(usize, f64, usize)] = if full() { &all } else { &quick };
    // 5 protocols × 12 cases × 21 seeds.
    let seeds: u64 = if full() { 21 } else { 4 };
    for name in ["grr", "oue", "lh", "subset", "block"] {
        let trials: Vec<(usize, usize, f64, usize, u64)> = cases
            .iter()
            .enumerate()
            .flat_map(|(i, (a, e, n))| (0..seeds).map(move |s| (i, *a, *e, *n, s)))
            .collect();
        let found: Vec<(usize, [usize; 3], usize)> = trials
            .par_iter()
            .map(|(i, a, epsilon, n, seed)| {
                let protocol = protocol(name, *a, *epsilon);
                let (bins, held) = calibrated(&protocol, *n, 1000 * *i as u64 + seed);
                (*a, bins, held)
            })
            .collect();
        let mut counts = [[0; BINS]; 3];
        for (_, bins, _) in &found {
            bins.iter().enumerate().for_each(|(quantity, bin)| counts[quantity][*bin] += 1);
        }
        let shares: Vec<f64> = found.iter().map(|(a, _, held)| *held as f64 / *a as f64).collect();
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        let sd = (shares.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / shares.len() as f64).sqrt();
        let statistics = counts.map(|counts| chi_square(&counts));
        println!(
            "{name}: {} collections, coverage of 90 % intervals {mean:.4} (sd of one {sd:.3}), chi-square {statistics:.1?}, {counts:?}",
            found.len()
        );
        assert!(statistics.iter().all(|s| *s < 33.7), "{name}: {statistics:?} {counts:?}");
        let error = 0.15 / (shares.len() as f64).sqrt();
        assert!((mean - 0.9).abs() < 4.5 * error, "{name}: {mean} ± {error}");
    }
}

/// The counts of a column of the census extract, largest first.
fn column(name: &str) -> Vec<u64> {
    let table = include_str!("tables/adult.csv");
    let lines = table.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(','));
    lines.map(|line| line.rsplit(',').next().unwrap().parse().unwrap()).collect()
}

/// In how many collections of all people the 95 % interval of each of the five largest values holds the truth.
fn coverage(protocol: &Protocol, counts: &[u64], collections: u64) -> [u64; 5] {
    let n: u64 = counts.iter().sum();
    let p: Vec<f64> = counts.iter().map(|c| *c as f64 / n as f64).collect();
    let prior = Prior::adaptive(counts.len()).unwrap();
    let held = |seed: u64| {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let tallies = collected(protocol, &p, n as usize, rng);
        let options = options(vec![0.025, 0.975], Choice::Automatic, seed);
        let found = posterior(protocol, &prior, &tallies, &options).unwrap();
        std::array::from_fn(|x| {
            let ends = &found.p[x].quantiles;
            u64::from(ends[0].1 <= p[x] && p[x] <= ends[1].1)
        })
    };
    let add = |sum: [u64; 5], one: [u64; 5]| std::array::from_fn(|x| sum[x] + one[x]);
    (0..collections).into_par_iter().map(held).reduce(|| [0; 5], add)
}

/// Skewed data that the prior did not generate: three columns, OUE, GRR and a block design at epsilon 1.1.
///
/// The posterior's intervals hold with their probability on average over its prior, not for each true
/// distribution. Shares of about two standard deviations of the noise (Mexico, 2 %, and unknown, 1.8 %) are drawn towards 0
/// whatever alpha is, and their intervals held in about 80 % of the collections; those of the most common values in about 95 %, where
/// the Jeffreys prior held the largest country in 12 of 30. With 24 collections a case 91.9 % of 1,080 intervals held (standard
/// error 0.8 %), and 96.3 % of those of the most common values; with six, 89.6 % of 270 (1.9 %). The test accepts what is five
/// standard errors below 91.9 %.
#[test]
fn intervals_hold_on_skewed_columns() {
    let (collections, least) = if full() { (24, 0.88) } else { (6, 0.82) };
    let (mut held, mut largest, mut asked) = (0, 0, 0);
    for name in ["native-country", "occupation", "education"] {
        let counts = column(name);
        for kind in ["oue", "grr", "block"] {
            let found = coverage(&protocol(kind, counts.len(), 1.1), &counts, collections);
            println!("{name}, {kind}: {found:?} of {collections} intervals of the five largest values");
            held += found.iter().sum::<u64>();
            largest += found[0];
            asked += collections;
        }
    }
    let [all, largest] = [held as f64 / (5 * asked) as f64, largest as f64 / asked as f64];
    println!("all: {:.1} % of {}; largest value: {:.1} %", 100.0 * all, 5 * asked, 100.0 * largest);
    assert!(all >= least && largest >= least, "{all} {largest}");
}
