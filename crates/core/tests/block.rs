//! Block designs: the same numbers as their matrix, and nearly the utility of subset selection.

use sottovoce::design::optimal_parameter::{best_block, best_subset_size};
use sottovoce::estimate::{Estimation, Estimator, Reports};
use sottovoce::metric::{
    Settings, asymptotic_utility, average_privacy, effective_participation, truth_utility,
};
use sottovoce::posterior::{PosteriorOptions, posterior};
use sottovoce::prior::Points;
use sottovoce::{Evaluation, Method, Output, Prior, Protocol, Tallies};

fn settings() -> Settings {
    Settings::default()
}

fn participation(protocol: &Protocol, prior: &Prior) -> Evaluation {
    let truth = truth_utility(prior, &settings()).unwrap();
    effective_participation(asymptotic_utility(protocol, prior, &settings()), truth).unwrap()
}

fn privacy(protocol: &Protocol, prior: &Prior) -> Evaluation {
    average_privacy(protocol, prior, &settings()).unwrap()
}

fn dense(protocol: &Protocol) -> Protocol {
    let rows = protocol.to_matrix().unwrap().rows().map(<[f64]>::to_vec).collect();
    Protocol::matrix(rows).unwrap()
}

/// Projective planes, residues and a complement, under a symmetric and an asymmetric prior: participation and privacy to `1e-10`.
#[test]
fn metrics_are_those_of_the_matrix() {
    for (v, k, epsilon) in
        [(7, 3, 1.0), (13, 4, 1.0), (21, 5, 1.2), (31, 6, 1.6), (57, 8, 2.0), (31, 15, 0.3), (13, 9, 0.5)]
    {
        let block = Protocol::block(v, v, k, epsilon).unwrap();
        let matrix = dense(&block);
        let uneven = Prior::dirichlet((1..=v).map(|x| x as f64 / 7.0).collect()).unwrap();
        for prior in [Prior::jeffreys(v).unwrap(), uneven] {
            let (left, right) = (participation(&block, &prior), participation(&matrix, &prior));
            assert!((left.value - right.value).abs() < 1e-10, "F_mu {v} {k}: {left:?} {right:?}");
            assert!(left.method <= Method::Quadrature && left.error < 1e-10);
            let (left, right) = (privacy(&block, &prior), privacy(&matrix, &prior));
            assert!((left.value - right.value).abs() < 1e-10, "S_mu {v} {k}: {left:?} {right:?}");
        }
    }
}

/// The same on some of the residues. The participation has the error that is stated.
#[test]
fn fewer_inputs_than_blocks_are_columns_of_the_matrix() {
    for (a, v, k, epsilon) in [(5, 7, 3, 1.0), (10, 13, 4, 1.0), (4, 31, 6, 2.0), (6, 11, 5, 0.4)] {
        let block = Protocol::block(a, v, k, epsilon).unwrap();
        let matrix = dense(&block);
        let uneven = Prior::dirichlet((1..=a).map(|x| x as f64 / 3.0).collect()).unwrap();
        let point: Vec<f64> = (1..=a).map(|x| x as f64 / (a * (a + 1) / 2) as f64).collect();
        let other = point.iter().rev().copied().collect();
        let points = Prior::Points(Points::new(vec![0.3, 0.7], vec![point, other]).unwrap());
        for prior in [Prior::jeffreys(a).unwrap(), uneven] {
            let (left, right) = (participation(&block, &prior), participation(&matrix, &prior));
            let off = (left.value - right.value).abs();
            assert!(off < 4.0 * (left.error + right.error), "F_mu {a} {v}: {left:?} {right:?}");
            let (left, right) = (privacy(&block, &prior), privacy(&matrix, &prior));
            assert!((left.value - right.value).abs() < 1e-12, "S_mu {a} {v}: {left:?} {right:?}");
        }
        let (left, right) = (privacy(&block, &points), privacy(&matrix, &points));
        assert!((left.value - right.value).abs() < 1e-12, "points {a} {v}: {left:?} {right:?}");
    }
}

/// A few of the residues of a small design, high privacy and a skewed prior: not a case for the approximation.
#[test]
fn a_small_design_is_not_approximated() {
    let (block, prior) = (Protocol::block(3, 7, 3, 0.0845).unwrap(), Prior::symmetric(3, 0.1).unwrap());
    let [found, matrix] =
        [&block, &dense(&block)].map(|q| asymptotic_utility(q, &prior, &settings()).unwrap());
    assert!(found.method != Method::Approximation, "{found:?}");
    assert!(
        (found.value - matrix.value).abs() <= 4.0 * (found.error + matrix.error) + 1e-10,
        "{found:?} {matrix:?}"
    );
}

/// Under a symmetric prior a report leaks as much as one of subset selection of the same size.
#[test]
fn a_design_leaks_as_much_as_all_subsets() {
    for (v, k) in [(7, 3), (57, 8), (1093, 364), (10_303, 102)] {
        let prior = Prior::jeffreys(v).unwrap();
        for epsilon in [1e-6, 0.5, 3.0, 40.0] {
            let block = privacy(&Protocol::block(v, v, k, epsilon).unwrap(), &prior).value;
            let subset = privacy(&Protocol::subset(v, k, epsilon).unwrap(), &prior).value;
            assert!((block - subset).abs() < 1e-13, "{v} {k} {epsilon}: {block} {subset}");
        }
    }
}

/// At a = 100 and 1000 the best design keeps 97 % of the participation of the best subset selection; only at a = 100, epsilon = 3 no difference
/// set of up to 1600 residues does: the best is the projective plane of order 19 with 94.5 %. The share of a set should be near 1/21, and
/// the smaller planes, which lose less by numbers that are no values, have larger shares.
#[test]
fn the_best_design_is_nearly_as_good_as_the_best_subset_selection() {
    for (a, epsilon) in [100, 1000].into_iter().flat_map(|a| [0.5, 1.0, 2.0, 3.0].map(|e| (a, e))) {
        let prior = Prior::jeffreys(a).unwrap();
        let (v, k) = best_block(&prior, epsilon, None, None).unwrap();
        let subset = Protocol::subset(a, best_subset_size(&prior, epsilon), epsilon).unwrap();
        let (block, all) = (
            participation(&Protocol::block(a, v, k, epsilon).unwrap(), &prior),
            participation(&subset, &prior),
        );
        let share = block.value / all.value;
        println!("a = {a}, epsilon = {epsilon}: v = {v}, k = {k}, share {share:.4} {block:?} {all:?}");
        let least = if (a, epsilon) == (100, 3.0) { 0.944 } else { 0.97 };
        assert!(share > least && share < 1.001, "{a} {epsilon}: {v} {k} {share}");
    }
}

/// A million values: every metric of one report in closed form or by few integrals.
#[test]
fn large_designs_have_their_metrics() {
    for (a, v, k) in [(797_161, 797_161, 265_720), (100_000, 100_807, 318)] {
        let (block, prior) = (Protocol::block(a, v, k, 1.0).unwrap(), Prior::jeffreys(a).unwrap());
        let (participation, privacy) = (participation(&block, &prior), privacy(&block, &prior));
        assert!(participation.value > 0.0 && participation.value < 1.0, "{participation:?}");
        assert!(participation.error < 1e-3 * participation.value, "{participation:?}");
        assert!(privacy.value > 0.9 && privacy.error < 1e-12, "{privacy:?}");
    }
}

fn tallies(protocol: &Protocol, n: u64, p: &[f64]) -> Tallies {
    let q = protocol.push_forward(p).unwrap();
    let counts = q.iter().enumerate().map(|(y, q_y)| (Output::Index(y), (n as f64 * q_y).round() as u64));
    Tallies::new(protocol, counts).unwrap()
}

/// Counts that are what is expected give back the distribution, by every estimator.
#[test]
fn expected_counts_are_estimated_exactly() {
    for (a, v, k) in [(7, 7, 3), (10, 13, 4), (40, 57, 8)] {
        let protocol = Protocol::block(a, v, k, 1.5).unwrap();
        let p: Vec<f64> = (1..=a).map(|x| x as f64 / (a * (a + 1) / 2) as f64).collect();
        let tallies = tallies(&protocol, 1_000_000_000, &p);
        let estimation = Estimation::new(&protocol, Reports::Tallies(tallies), 0.95).unwrap();
        for estimator in [Estimator::Linear, Estimator::NormSub, Estimator::MaximumLikelihood] {
            let found = estimation.estimate(estimator).unwrap();
            let off = found.values.iter().zip(&p).map(|(f, p)| (f - p).abs()).fold(0.0, f64::max);
            assert!(off < 1e-3, "{a} {v} {estimator:?}: {off}");
        }
    }
}

/// The posterior of a design is that of its matrix, by the exact mixture, and by chains within their error.
#[test]
fn the_posterior_is_that_of_the_matrix() {
    let block = Protocol::block(3, 7, 3, 1.5).unwrap();
    let prior = Prior::jeffreys(3).unwrap();
    let counts = [4, 0, 3, 7, 1, 2, 5];
    let of = |protocol: &Protocol| {
        let counts = counts.iter().enumerate().map(|(y, count)| (Output::Index(y), *count));
        let tallies = Tallies::new(protocol, counts).unwrap();
        posterior(protocol, &prior, &tallies, &PosteriorOptions::default()).unwrap()
    };
    let (left, right) = (of(&block), of(&dense(&block)));
    for (l, r) in left.p.iter().zip(&right.p) {
        assert!((l.mean - r.mean).abs() < 1e-9 && (l.sd - r.sd).abs() < 1e-9, "{l:?} {r:?}");
    }
}

#[test]
fn chains_find_the_distribution_behind_many_reports() {
    let protocol = Protocol::block(25, 31, 6, 2.0).unwrap();
    let p: Vec<f64> = (1..=25).map(|x| f64::from(x) / 325.0).collect();
    let tallies = tallies(&protocol, 200_000, &p);
    let found =
        posterior(&protocol, &Prior::jeffreys(25).unwrap(), &tallies, &PosteriorOptions::default()).unwrap();
    for (summary, p_x) in found.p.iter().zip(&p) {
        assert!((summary.mean - p_x).abs() < 2.0 * summary.sd, "{summary:?} {p_x}");
    }
}

/// The design that is filled in, against all others of similar shares at one of the two sizes: none has 0.3 % more participation.
#[test]
fn the_design_that_is_filled_in_is_the_best_of_all() {
    use sottovoce::numerics::difference_set::DifferenceSet;
    let a = 100;
    let prior = Prior::jeffreys(a).unwrap();
    for epsilon in [1.0, 3.0] {
        let found = |(v, k)| participation(&Protocol::block(a, v, k, epsilon).unwrap(), &prior).value;
        let best = best_block(&prior, epsilon, None, None).unwrap();
        let share = 1.0 / (f64::exp(epsilon) + 1.0);
        let sizes = |v: usize| {
            let size = |factor: f64| (factor * share * v as f64) as usize;
            (size(0.6)..=size(1.6)).map(move |k| (v, k))
        };
        let others = (a..=5 * a).flat_map(sizes).filter(|(v, k)| DifferenceSet::exists(*v, *k));
        let (most, other) =
            others.map(|pair| (found(pair), pair)).max_by(|l, r| l.0.total_cmp(&r.0)).unwrap();
        assert!(found(best) > 0.997 * most, "{epsilon}: {best:?} {}, {other:?} {most}", found(best));
    }
}

/// A hundred thousand values: the search for the most likely frequencies takes few passes, each by transforms.
#[test]
fn a_hundred_thousand_values_are_estimated() {
    let (a, n) = (100_000, 10_000_000u64);
    let protocol = Protocol::block(a, 349_525, 87_381, 1.0).unwrap();
    let sum: f64 = (1..=a).map(|x| 1.0 / x as f64).sum();
    let p: Vec<f64> = (1..=a).map(|x| 1.0 / x as f64 / sum).collect();
    let q = protocol.push_forward(&p).unwrap();
    // Counts with the spread of independent reports.
    let count = |(y, q_y): (usize, &f64)| {
        let mean = n as f64 * q_y;
        let spread = mean.sqrt()
            * (((y as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / 2f64.powi(24) - 0.5);
        (Output::Index(y), (mean + 12f64.sqrt() * spread).round().max(0.0) as u64)
    };
    let tallies = Tallies::new(&protocol, q.iter().enumerate().map(count)).unwrap();
    let estimation = Estimation::new(&protocol, Reports::Tallies(tallies), 0.95).unwrap();
    let linear = estimation.estimate(Estimator::Linear).unwrap();
    let standard_error = linear.standard_errors.unwrap()[0];
    assert!((linear.values[0] - p[0]).abs() < 5.0 * standard_error);
    let likely = estimation.estimate(Estimator::MaximumLikelihood).unwrap();
    let certificate = likely.certificate.unwrap();
    assert!(certificate.holds() && certificate.passes < 50, "{certificate:?}");
    assert!((likely.values[0] - p[0]).abs() < 5.0 * standard_error);
}
