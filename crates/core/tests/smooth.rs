//! The smoothing prior: its chains against a grid, calibration under its own prior, and a binned column of real data.
//!
//! `SOTTOVOCE_FULL=1` runs the calibration on 400 collections and the column on 100 for each protocol.

mod simulation;

use std::ops::ControlFlow;

use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use sottovoce::estimate::{Estimation, Estimator, Reports};
use sottovoce::information::{Choice, Sampling, SamplingObserver};
use sottovoce::posterior::{Posterior, PosteriorOptions, Summary, posterior};
use sottovoce::prior::{CustomPrior, Smooth};
use sottovoce::{Error, Output, Prior, Protocol, Tallies};

use simulation::collected;

fn full() -> bool {
    std::env::var("SOTTOVOCE_FULL").is_ok()
}

/// Leaves out the evidence, which follows the chains of the adaptive prior.
fn without_evidence(sampling: &Sampling) -> ControlFlow<()> {
    if sampling.draws == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

fn options(probabilities: Vec<f64>, seed: u64) -> PosteriorOptions<'static> {
    let observer: Option<SamplingObserver<'static>> = Some(&without_evidence);
    PosteriorOptions { probabilities, seed, draws: 0, observer, ..PosteriorOptions::default() }
}

/// Three values, against the sum over a grid of both log-ratios with the density of the prior. Means within five of their stated standard
/// errors plus 1e-4 for the grid (six comparisons: false-alarm rate 4e-6), ends of intervals within 10 % of their width.
#[test]
fn chains_meet_a_grid() {
    let protocol = Protocol::grr(3, 1.5).unwrap();
    let prior = Smooth::new(3).unwrap();
    for counts in [[40, 25, 12], [0, 3, 1]] {
        let reported = counts.iter().enumerate().map(|(y, count)| (Output::Index(y), *count));
        let tallies = Tallies::new(&protocol, reported).unwrap();
        let found =
            posterior(&protocol, &Prior::Smooth(prior), &tallies, &options(vec![0.05, 0.95], 1)).unwrap();
        let rows: Vec<Vec<f64>> = protocol.to_matrix().unwrap().rows().map(<[f64]>::to_vec).collect();
        // Log-ratios are sinh of evenly spaced points: dense at 0, where the prior is, with long tails.
        let (cells, reach) = (1500, 6.0);
        let place = |i: usize| (-reach + 2.0 * reach * (i as f64 + 0.5) / f64::from(cells)).sinh() * 0.3;
        let width = |i: usize| (-reach + 2.0 * reach * (i as f64 + 0.5) / f64::from(cells)).cosh();
        let mut points: Vec<([f64; 3], f64)> = Vec::new();
        for i in 0..cells as usize {
            for j in 0..cells as usize {
                let (first, second) = (place(i), place(j));
                let ln_weights = [0.0, first, first + second];
                let top = ln_weights.iter().copied().fold(0.0, f64::max);
                let sum: f64 = ln_weights.iter().map(|ln| (ln - top).exp()).sum();
                let ln_p = ln_weights.map(|ln| ln - top - sum.ln());
                let p = ln_p.map(f64::exp);
                let ln_likelihood: f64 = rows
                    .iter()
                    .zip(counts)
                    .map(|(row, count)| {
                        count as f64 * row.iter().zip(&p).map(|(q, p)| q * p).sum::<f64>().ln()
                    })
                    .sum();
                // The density of the steps: that of p times Π p_x.
                let ln_prior = prior.ln_density(&ln_p) + ln_p.iter().sum::<f64>();
                points.push((p, (ln_likelihood + ln_prior).exp() * width(i) * width(j)));
            }
        }
        let mass: f64 = points.iter().map(|(_, w)| w).sum();
        for (x, share) in found.p.iter().enumerate() {
            let mean = points.iter().map(|(p, w)| p[x] * w).sum::<f64>() / mass;
            assert!((share.mean - mean).abs() < 5.0 * share.error + 1e-4, "{counts:?}: {share:?} {mean}");
            let ends = &share.quantiles;
            for (q, end) in ends {
                let shift = 0.1 * (ends[1].1 - ends[0].1);
                let below =
                    |at: f64| points.iter().filter(|(p, _)| p[x] <= at).map(|(_, w)| w).sum::<f64>() / mass;
                assert!(below(end - shift) < *q && *q < below(end + shift), "{counts:?}: {share:?}");
            }
        }
    }
}

const BINS: usize = 10;

/// The bin of a number among the deciles of a distribution.
fn bin(summary: &Summary, value: f64) -> usize {
    summary.quantiles[..BINS - 1].iter().filter(|(_, q)| *q < value).count()
}

/// One collection under the smoothing prior: the bins of the first share, the middle share and the roughness, and how many of the 90 % intervals of
/// the shares hold the truth; and whether the chains converged.
fn calibrated(protocol: &Protocol, n: usize, seed: u64) -> ([usize; 3], usize, bool) {
    let a = protocol.inputs();
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    // An exponential precision: shape 1.
    assert!((Smooth::SHAPE - 1.0).abs() < f64::EPSILON);
    let sigma = (Smooth::RATE / -(1.0 - rng.random::<f64>()).ln()).sqrt();
    let mut normal = || {
        let (u, angle) = (1.0 - rng.random::<f64>(), std::f64::consts::TAU * rng.random::<f64>());
        sigma * (-2.0 * u.ln()).sqrt() * angle.cos()
    };
    // Steps whose changes are independent, shifted to a mean that is independent of them.
    let mean = Smooth::SLOPE * normal();
    let mut steps = vec![0.0];
    (2..a).for_each(|_| steps.push(steps[steps.len() - 1] + normal()));
    let shift = mean - steps.iter().sum::<f64>() / steps.len() as f64;
    let mut ln_weights = vec![0.0];
    steps.iter().for_each(|step| ln_weights.push(ln_weights[ln_weights.len() - 1] + step + shift));
    let top = ln_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = ln_weights.iter().map(|ln| (ln - top).exp()).sum();
    let p: Vec<f64> = ln_weights.iter().map(|ln| (ln - top).exp() / sum).collect();
    let tallies = collected(protocol, &p, n, rng);
    let mut probabilities: Vec<f64> = (1..BINS).map(|i| i as f64 / BINS as f64).collect();
    probabilities.extend([0.05, 0.95]);
    let prior = Prior::smooth(a).unwrap();
    // Chains on an extremely rough curve may have fewer effective draws than asked for; leaving these out would bias the comparison.
    let options = PosteriorOptions { unconverged: true, ..options(probabilities, seed) };
    let found: Posterior = posterior(protocol, &prior, &tallies, &options).unwrap();
    let roughness = found.roughness.as_ref().unwrap();
    let bins = [bin(&found.p[0], p[0]), bin(&found.p[a / 2], p[a / 2]), bin(roughness, sigma)];
    let holds = |x: &usize| {
        let ends = &found.p[*x].quantiles[BINS - 1..];
        ends[0].1 <= p[*x] && p[*x] <= ends[1].1
    };
    let converged = found.diagnostics.as_ref().is_some_and(|d| d.converged);
    (bins, (0..a).filter(holds).count(), converged)
}

fn chi_square(counts: &[usize]) -> f64 {
    let expected = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
    counts.iter().map(|c| (*c as f64 - expected).powi(2) / expected).sum()
}

fn protocol(name: &str, a: usize, epsilon: f64) -> Protocol {
    if name == "grr" { Protocol::grr(a, epsilon) } else { Protocol::oue(a, epsilon) }.unwrap()
}

/// Simulation-based calibration: if the precision is drawn from its prior, the shares given it and reports given the shares, the truth falls into each
/// tenth of its posterior equally often.
///
/// Six chi-square statistics with 9 degrees of freedom (two protocols, three quantities) exceed 33.7 with probability 1e-4 each: false-alarm rate
/// 6e-4. Coverage: the values of one collection are dependent, so the collection is the unit: its covered share has a standard deviation of at
/// most 0.2 (printed), and 4.5 standard errors of the mean have a false-alarm rate of 7e-6.
#[test]
fn the_truth_is_where_the_posterior_says() {
    let seeds: u64 = if full() { 50 } else { 3 };
    for name in ["grr", "oue"] {
        let cases = [(16, 1.0, 1_000), (16, 3.0, 3_000), (32, 1.0, 3_000), (32, 3.0, 1_000)];
        let trials: Vec<(usize, usize, f64, usize, u64)> = cases
            .iter()
            .enumerate()
            .flat_map(|(i, (a, e, n))| (0..seeds).map(move |seed| (i, *a, *e, *n, seed)))
            .collect();
        let found: Vec<(usize, [usize; 3], usize, bool)> = trials
            .par_iter()
            .map(|(i, a, epsilon, n, seed)| {
                let protocol = protocol(name, *a, *epsilon);
                let (bins, held, converged) = calibrated(&protocol, *n, 1000 * *i as u64 + seed);
                (*a, bins, held, converged)
            })
            .collect();
        let mut counts = [[0; BINS]; 3];
        for (_, bins, ..) in &found {
            bins.iter().enumerate().for_each(|(quantity, bin)| counts[quantity][*bin] += 1);
        }
        let shares: Vec<f64> = found.iter().map(|(a, _, held, _)| *held as f64 / *a as f64).collect();
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        let sd = (shares.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / shares.len() as f64).sqrt();
        let unconverged = found.iter().filter(|(.., converged)| !converged).count();
        let statistics = counts.map(|counts| chi_square(&counts));
        println!(
            "{name}: {} collections, coverage of 90 % intervals {mean:.4} (sd of one {sd:.3}), chi-square {statistics:.1?}, {counts:?}; {unconverged} not converged",
            found.len()
        );
        // Measured: none or one.
        assert!(unconverged <= found.len() / 8, "{name}: {unconverged}");
        assert!(statistics.iter().all(|s| *s < 33.7), "{name}: {statistics:?} {counts:?}");
        let error = 0.2 / (shares.len() as f64).sqrt();
        assert!((mean - 0.9).abs() < 4.5 * error, "{name}: {mean} ± {error}");
    }
}

/// People by age, 17 to 20 first, in bins of four years, the last of which is open (73 and older): UCI "Adult" census extract, the 32,561 rows of adult.data (Becker and
/// Kohavi, 1996; CC BY 4.0).
const AGES: [u64; 15] =
    [2410, 3160, 3328, 3390, 3535, 3295, 3082, 2722, 2252, 1664, 1391, 996, 599, 336, 401];

/// The same in bins of five years, 17 to 21 first. Two of the last three have hardly anybody.
const AGES_WITH_TAIL: [u64; 15] =
    [3130, 4066, 4264, 4363, 4103, 3745, 3025, 2142, 1691, 1024, 540, 273, 116, 32, 47];

/// Root mean square error of the posterior means, and in how many collections the 95 % interval of each value held, under a prior.
fn repeated(protocol: &Protocol, p: &[f64], n: u64, prior: &Prior, collections: u64) -> (f64, Vec<usize>) {
    let one = |seed: u64| {
        let tallies = collected(protocol, p, n as usize, &mut ChaCha8Rng::seed_from_u64(seed));
        let found = posterior(protocol, prior, &tallies, &options(vec![0.025, 0.975], seed)).unwrap();
        let squares: f64 = found.p.iter().zip(p).map(|(s, p)| (s.mean - p).powi(2)).sum();
        let holds = |(s, p): (&Summary, &f64)| s.quantiles[0].1 <= *p && *p <= s.quantiles[1].1;
        (squares, found.p.iter().zip(p).map(holds).collect::<Vec<bool>>())
    };
    let found: Vec<(f64, Vec<bool>)> = (0..collections).into_par_iter().map(one).collect();
    let squares = found.iter().map(|f| f.0).sum::<f64>() / (collections * p.len() as u64) as f64;
    (squares.sqrt(), (0..p.len()).map(|x| found.iter().filter(|f| f.1[x]).count()).collect())
}

/// Real bins, which the prior did not generate, at epsilon 1: the root mean square error of the posterior means and the share of 95 % intervals that hold, under
/// the smoothing and the adaptive prior.
///
/// The short form has four collections, whose fifteen intervals are dependent: it asks for a smaller error and for 80 % of the intervals. The long form asks for 92 to
/// 98 %, but not where some bins have hardly anybody: see `docs/estimating.md`.
#[test]
fn bins_of_ages_are_better_known_than_without_their_order() {
    let (collections, cases) = if full() { (100, 3) } else { (4, 1) };
    let allowed = if full() { 0.92..=0.98 } else { 0.8..=1.0 };
    for (name, counts) in [("grr", AGES), ("grr", AGES_WITH_TAIL), ("oue", AGES)].into_iter().take(cases) {
        let n: u64 = counts.iter().sum();
        let p: Vec<f64> = counts.iter().map(|c| *c as f64 / n as f64).collect();
        let protocol = protocol(name, counts.len(), 1.0);
        let total = (collections * counts.len() as u64) as f64;
        let [(smooth, held), (adaptive, held_adaptive)] =
            [Prior::smooth(counts.len()), Prior::adaptive(counts.len())].map(|prior| {
                let (error, held) = repeated(&protocol, &p, n, &prior.unwrap(), collections);
                println!("{name}: {held:?} of {collections}");
                (error, held.iter().sum::<usize>() as f64 / total)
            });
        println!(
            "{name}: rms error {smooth:.5} smooth, {adaptive:.5} adaptive; 95 % intervals hold in {held:.4} and {held_adaptive:.4} of {total}"
        );
        assert!(smooth < adaptive, "{name}: {smooth} {adaptive}");
        assert!(counts == AGES_WITH_TAIL || allowed.contains(&held), "{name}: {held}");
    }
}

#[test]
fn it_is_a_prior_of_posteriors_and_of_their_mean() {
    let protocol = Protocol::oue(5, 1.0).unwrap();
    let tallies = collected(&protocol, &[0.1, 0.2, 0.4, 0.2, 0.1], 300, &mut ChaCha8Rng::seed_from_u64(1));
    let prior = Prior::smooth(5).unwrap();
    let found =
        posterior(&protocol, &prior, &tallies, &PosteriorOptions { grid: 5, ..options(vec![0.5], 0) });
    let found = found.unwrap();
    assert!(found.alpha.is_none() && found.roughness.is_some() && found.p[0].density.len() == 5);
    assert!((found.p.iter().map(|s| s.mean).sum::<f64>() - 1.0).abs() < 1e-9);
    assert!((found.t.iter().map(|s| s.mean).sum::<f64>() - 300.0).abs() < 1e-6);
    let estimation = Estimation::new(&protocol, Reports::Tallies(tallies.clone()), 0.9).unwrap();
    let estimate = estimation.with_prior(prior.clone()).unwrap().estimate(Estimator::PosteriorMean).unwrap();
    for (value, share) in estimate.values.iter().zip(&found.p) {
        assert!((value - share.mean).abs() < 10.0 * share.error, "{value} {share:?}");
    }
    let exact = PosteriorOptions { choice: Choice::Exact, ..options(vec![0.5], 0) };
    assert_eq!(posterior(&protocol, &prior, &tallies, &exact).unwrap_err(), Error::NoExactPosterior);
    // Nobody reported: the prior, which is symmetric under reversal.
    let none = Tallies::new(&protocol, []).unwrap();
    let found = posterior(&protocol, &prior, &none, &options(vec![0.5], 0)).unwrap();
    let off = (found.p[0].mean - found.p[4].mean).abs();
    assert!(off < 5.0 * (found.p[0].error + found.p[4].error), "{:?}", found.p);
}
