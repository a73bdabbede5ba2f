//! Designs against laws and against independently computed numbers.

use proptest::prelude::*;
use sottovoce::design::{Effort, Requirement, best_for_one_user, best_protocol};
use sottovoce::metric::{
    Settings, asymptotic_utility, average_privacy, effective_participation, truth_utility,
};
use sottovoce::prior::Points;
use sottovoce::{Analysis, Metric, Prior, Protocol};

fn settings() -> Settings {
    Settings { tolerance: Some(1e-6), ..Settings::default() }
}

fn utility(protocol: &Protocol, prior: &Prior) -> f64 {
    asymptotic_utility(protocol, prior, &settings()).map_or(f64::NEG_INFINITY, |u| u.value)
}

fn participation(protocol: &Protocol, prior: &Prior) -> f64 {
    let truth = truth_utility(prior, &settings()).unwrap();
    effective_participation(asymptotic_utility(protocol, prior, &settings()), truth).unwrap().value
}

fn privacy(protocol: &Protocol, prior: &Prior) -> f64 {
    average_privacy(protocol, prior, &settings()).unwrap().value
}

fn design(prior: &Prior, epsilon: Option<f64>, least: Option<f64>) -> (Protocol, f64) {
    let requirement = Requirement::new(epsilon, least).unwrap();
    let design = best_protocol(prior, &requirement, Effort::default()).unwrap();
    (design.protocol, design.certificate.gap)
}

/// Rounding does not raise the level: the written protocol keeps it to the last bit.
#[test]
fn designs_for_one_user_and_blocks_keep_their_level_exactly() {
    let mut state = 7u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for case in 0..40 {
        let (a, epsilon) = (3 + case % 5, [0.1, 0.5, 1.0, 2.0, 5.0][case % 5]);
        let mut point = || {
            let point: Vec<f64> = (0..a).map(|_| draw()).collect();
            let sum: f64 = point.iter().sum();
            point.into_iter().map(|p| p / sum).collect::<Vec<f64>>()
        };
        let prior = Prior::Points(Points::new(vec![0.5, 0.5], vec![point(), point()]).unwrap());
        let level = best_for_one_user(&prior, epsilon).unwrap().protocol.level().unwrap();
        assert!(level <= epsilon && level > epsilon - 1e-9, "{case}: {level} for {epsilon}");
    }
    for (a, k) in [(7, 3), (13, 4), (21, 5), (11, 5), (13, 9)] {
        for epsilon in [0.1, 0.3, 0.7, 1.0, 1.3, 2.0, 3.0, 5.0] {
            let block = Protocol::block(a, a, k, epsilon).unwrap();
            let level = block.level().unwrap();
            assert!(level <= epsilon && level > epsilon - 1e-12, "{a} {k}: {level} for {epsilon}");
        }
    }
}

fn jeffreys(a: usize) -> Prior {
    Prior::jeffreys(a).unwrap()
}

#[test]
fn subsets_of_two_are_best_for_six_inputs() {
    let prior = jeffreys(6);
    let (protocol, gap) = design(&prior, Some(1.0), None);
    assert_eq!(protocol, Protocol::subset(6, 2, 1.0).unwrap());
    assert!(gap < 1e-4, "{gap}");
    assert!((participation(&protocol, &prior) - 0.0152).abs() < 1e-4);
    assert!((participation(&Protocol::grr(6, 1.0).unwrap(), &prior) - 0.0138).abs() < 1e-4);
    assert!((participation(&Protocol::oue(6, 1.0).unwrap(), &prior) - 0.0121).abs() < 1e-4);
}

#[test]
fn randomised_response_is_best_for_three_inputs_and_pairs_for_four() {
    for epsilon in [0.1, 0.5, 1.0, 2.0, 4.0] {
        let (protocol, gap) = design(&jeffreys(3), Some(epsilon), None);
        assert_eq!(protocol, Protocol::grr(3, epsilon).unwrap());
        assert!(gap < 1e-4, "{epsilon} {gap}");
    }
    let (protocol, gap) = design(&jeffreys(4), Some(0.5), None);
    assert_eq!(protocol, Protocol::subset(4, 2, 0.5).unwrap());
    assert!(gap < 1e-4, "{gap}");
}

#[test]
fn erasure_is_best_for_average_privacy_under_jeffreys() {
    let prior = jeffreys(3);
    let (protocol, gap) = design(&prior, None, Some(0.5));
    let found = participation(&protocol, &prior);
    assert!(gap < 1e-4 && (found - 0.5).abs() <= found * (2.0 * gap).exp_m1() + 1e-9, "{found} {gap}");
    assert_eq!(protocol.kind(), "erasure");
}

#[test]
fn erasure_is_not_best_under_a_concentrated_prior() {
    let prior = Prior::dirichlet(vec![50.0, 50.0]).unwrap();
    let (protocol, gap) = design(&prior, None, Some(0.5));
    assert!(gap < 1e-4, "{gap}");
    assert!(privacy(&protocol, &prior) >= 0.5);
    // Erasure with the same average privacy has 0.5; the best is above it by far more than the gap.
    assert!(participation(&protocol, &prior) > 0.6, "{}", participation(&protocol, &prior));
}

/// The member of a family with the largest `ε ≤ epsilon` whose average privacy is at least `least`, by bisection.
fn tuned(family: impl Fn(f64) -> Protocol, prior: &Prior, epsilon: f64, least: f64) -> Protocol {
    let (mut low, mut high) = (1e-3, epsilon);
    if privacy(&family(epsilon), prior) >= least {
        return family(epsilon);
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if privacy(&family(middle), prior) >= least { low = middle } else { high = middle }
    }
    family(low)
}

#[test]
fn both_requirements_are_met_and_tuned_protocols_are_worse() {
    for a in [3, 4] {
        let prior = jeffreys(a);
        let (protocol, gap) = design(&prior, Some(2.0), Some(0.7));
        assert!(gap < 1e-4, "{gap}");
        assert!(privacy(&protocol, &prior) >= 0.7 && protocol.level().unwrap() <= 2.0 + 1e-12);
        let best = utility(&protocol, &prior);
        let families: [fn(usize, f64) -> sottovoce::Result<Protocol>; 3] =
            [Protocol::grr, Protocol::oue, Protocol::rappor];
        for family in families {
            let other = tuned(|e| family(a, e).unwrap(), &prior, 2.0, 0.7);
            assert!(best > utility(&other, &prior) + 1e-3, "{a} {other:?}");
        }
    }
}

#[test]
fn many_inputs_have_the_best_subset_size() {
    for (a, epsilon, size) in [(16, 1.0, 4), (100, 1.0, 27), (1000, 4.0, 18)] {
        let (protocol, gap) = design(&jeffreys(a), Some(epsilon), None);
        assert!(gap < 1e-4, "{a} {gap}");
        let Protocol::SubsetSelection(subset) = &protocol else { panic!("{protocol:?}") };
        assert!(subset.size().abs_diff(size) <= 1, "{a} {epsilon} {subset:?}");
    }
}

/// One solver is used up to twelve inputs and another beyond; both choose the size that the metric itself
/// finds best.
#[test]
fn both_solvers_agree_with_the_metric() {
    for a in [12, 13] {
        let (protocol, gap) = design(&jeffreys(a), Some(1.0), None);
        assert!(gap < 1e-4, "{a} {gap}");
        let coarse = Settings { tolerance: Some(1e-5), ..Settings::default() };
        let utility =
            |protocol: &Protocol| asymptotic_utility(protocol, &jeffreys(a), &coarse).unwrap().value;
        let best = utility(&protocol);
        for k in 2..=5 {
            assert!(best >= utility(&Protocol::subset(a, k, 1.0).unwrap()) - 5e-5, "{a} {k}");
        }
    }
}

#[test]
fn an_asymmetric_prior_has_a_better_protocol_than_subset_selection() {
    let prior = Prior::dirichlet(vec![0.3, 0.3, 1.0, 2.5]).unwrap();
    let (protocol, gap) = design(&prior, Some(1.0), None);
    assert!(gap < 1e-4, "{gap}");
    let best = utility(&protocol, &prior);
    for k in 1..4 {
        assert!(best >= utility(&Protocol::subset(4, k, 1.0).unwrap(), &prior) - 1e-7);
    }
}

#[test]
fn average_privacy_can_be_required_for_eight_inputs_under_a_symmetric_prior() {
    let prior = jeffreys(8);
    let (protocol, gap) = design(&prior, None, Some(0.6));
    assert!(gap < 1e-4, "{gap}");
    assert_eq!(protocol.kind(), "erasure");
    let (protocol, gap) = design(&prior, Some(2.0), Some(0.85));
    assert!(gap < 1e-4, "{gap}");
    assert!(privacy(&protocol, &prior) >= 0.85 && protocol.level().unwrap() <= 2.0);
}

/// A designed matrix is rounded so that no level is exceeded and no zero is lost.
#[test]
fn matrices_keep_their_level_and_their_zeros() {
    let prior = Prior::dirichlet(vec![0.5, 2.0, 1.0]).unwrap();
    for epsilon in [0.1, 1.0, 3.0] {
        for least in [None, Some(0.8)] {
            let (protocol, _) = design(&prior, Some(epsilon), least);
            let level = protocol.level().unwrap();
            assert!(level <= epsilon && level > 0.0, "{epsilon} {least:?} {level}");
        }
    }
    let (protocol, gap) = design(&prior, None, Some(0.6));
    assert!(gap < 1e-4, "{gap}");
    let Protocol::Matrix(matrix) = &protocol else { panic!("{protocol:?}") };
    assert!(matrix.rows().any(|row| row.iter().filter(|q| **q == 0.0).count() == 2), "{matrix:?}");
    assert_eq!(protocol.level().unwrap(), f64::INFINITY);
}

/// Where `E[1/P_x]` is infinite, some users report `x` truthfully; nearly truthful is not enough.
#[test]
fn values_with_infinite_mean_inverse_are_disclosed() {
    for alpha in [vec![1.1, 1.05, 2.0], vec![0.5, 1.2, 3.0], vec![0.9, 1.0, 1.3]] {
        let prior = Prior::dirichlet(alpha.clone()).unwrap();
        for least in [0.6, 0.9] {
            let (protocol, gap) = design(&prior, None, Some(least));
            assert!(gap < 1e-4, "{alpha:?} {least} {gap}");
            assert!(privacy(&protocol, &prior) >= least);
            let matrix = protocol.to_matrix().unwrap();
            for x in (0..3).filter(|x| alpha[*x] <= 1.0) {
                let is_unit = |row: &[f64]| (0..3).all(|z| (row[z] > 0.0) == (z == x));
                assert!(matrix.rows().any(is_unit), "{alpha:?} {least} {matrix:?}");
            }
        }
    }
}

/// Where little may leak, informative rows are rare and valuable: their means must have relative, not
/// absolute, accuracy.
#[test]
fn average_privacy_may_be_close_to_one() {
    let cases: [(&[f64], f64); 5] = [
        (&[93.0, 650.0, 4.9], 0.9999),
        (&[0.45, 0.8, 0.92], 0.9999),
        (&[1.0, 1.5, 1.5, 0.5], 0.999),
        (&[1.2, 1.3, 1.15, 1.25, 5.0], 0.97),
        // Besides the truthful rows and the constant one there is a rare row for all values but the third.
        (&[0.0235, 0.966, 0.525, 0.0174], 0.999),
    ];
    for (alpha, least) in cases {
        let prior = Prior::dirichlet(alpha.to_vec()).unwrap();
        let (protocol, gap) = design(&prior, None, Some(least));
        assert!(gap < 1e-4, "{alpha:?} {least} {gap}");
        assert!(privacy(&protocol, &prior) >= least);
    }
}

/// With `ε` a thousand times smaller and the leakage a million times, every protocol carries a million times
/// less information.
#[test]
fn high_privacy_scales() {
    let prior = Prior::dirichlet(vec![0.5, 1.0, 2.0]).unwrap();
    let best =
        |epsilon: f64, hidden: f64| utility(&design(&prior, Some(epsilon), Some(1.0 - hidden)).0, &prior);
    let difference = best(1e-2, 1e-6) - best(1e-5, 1e-12);
    assert!((difference - 1e3f64.ln()).abs() < 3e-3, "{difference}");
}

#[test]
fn too_many_inputs_and_bad_requirements_are_errors() {
    let refused = |prior: &Prior, epsilon, least| {
        best_protocol(prior, &Requirement::new(epsilon, least).unwrap(), Effort::default()).is_err()
    };
    assert!(refused(&jeffreys(11), None, Some(0.5)));
    assert!(refused(&Prior::dirichlet((1..8).map(f64::from).collect()).unwrap(), None, Some(0.5)));
    assert!(refused(&jeffreys(10_001), Some(1.0), None));
    assert!(refused(&Prior::dirichlet((1..14).map(f64::from).collect()).unwrap(), Some(1.0), None));
    for (epsilon, least) in [(None, None), (Some(-1.0), None), (Some(f64::NAN), None), (None, Some(1.0))] {
        assert!(Requirement::new(epsilon, least).is_err());
    }
}

#[test]
fn a_projective_plane_loses_little_utility() {
    let (a, epsilon) = (13, 0.8);
    let plane = Protocol::block(a, a, 4, epsilon).unwrap();
    let all = Protocol::subset(a, 4, epsilon).unwrap();
    assert!((plane.level().unwrap() - epsilon).abs() < 1e-12);
    let (few, many) = (utility(&plane, &jeffreys(a)), utility(&all, &jeffreys(a)));
    assert!(few < many + 1e-5 && few > many - 0.05, "{few} {many}");
}

/// A random `ε`-LDP matrix: rows of random heights, made column-stochastic by a last row if possible.
fn random_protocol(heights: &[Vec<f64>], epsilon: f64) -> Option<Protocol> {
    let a = heights[0].len();
    let mut rows: Vec<Vec<f64>> =
        heights.iter().map(|row| row.iter().map(|h| 1.0 + h * epsilon.exp_m1()).collect()).collect();
    let sums: Vec<f64> = (0..a).map(|x| rows.iter().map(|row| row[x]).sum()).collect();
    // The remainder 1 − s·sum must itself be within e^ε.
    let most = sums.iter().copied().fold(0.0, f64::max);
    let least = sums.iter().copied().fold(f64::INFINITY, f64::min);
    let scale = epsilon.exp_m1() / (epsilon.exp() * most - least);
    rows.iter_mut().flatten().for_each(|entry| *entry *= scale);
    rows.push(sums.iter().map(|sum| 1.0 - scale * sum).collect());
    let protocol = Protocol::matrix(rows).ok()?;
    (protocol.level().ok()? <= epsilon + 1e-9).then_some(protocol)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn no_other_protocol_is_better_than_the_gap_allows(
        alpha in prop::collection::vec(0.2f64..5.0, 2..=4),
        epsilon in 0.1f64..3.0,
        heights in prop::collection::vec(prop::collection::vec(0.0f64..=1.0, 4), 2..=7),
    ) {
        let a = alpha.len();
        let prior = Prior::dirichlet(alpha).unwrap();
        let (protocol, gap) = design(&prior, Some(epsilon), None);
        prop_assert!(gap < 1e-4, "gap {}", gap);
        prop_assert!(protocol.level().unwrap() <= epsilon + 1e-9);
        let best = utility(&protocol, &prior);
        let mut others = vec![
            Protocol::grr(a, epsilon).unwrap(), Protocol::rappor(a, epsilon).unwrap(), Protocol::oue(a, epsilon).unwrap(),
            Protocol::blh(a, epsilon).unwrap(), Protocol::lh(a, 3, epsilon).unwrap(),
        ];
        others.extend((1..a).map(|k| Protocol::subset(a, k, epsilon).unwrap()));
        let heights: Vec<Vec<f64>> = heights.iter().map(|row| row[..a].to_vec()).collect();
        others.extend(random_protocol(&heights, epsilon));
        for other in others {
            // Utilities are accurate to 1e-6.
            prop_assert!(best + gap + 3e-6 >= utility(&other, &prior), "{other:?} beats {protocol:?}");
        }
    }

    #[test]
    fn no_other_protocol_has_more_information_in_one_report(
        left in prop::collection::vec(0.05f64..1.0, 4),
        right in prop::collection::vec(0.05f64..1.0, 4),
        epsilon in 0.1f64..4.0,
    ) {
        let scaled = |p: &[f64]| { let total: f64 = p.iter().sum(); p.iter().map(|v| v / total).collect::<Vec<_>>() };
        let prior = Prior::Points(Points::new(vec![0.4, 0.6], vec![scaled(&left), scaled(&right)]).unwrap());
        let design = best_for_one_user(&prior, epsilon).unwrap();
        prop_assert!(design.gap < 1e-10 * design.information.max(1e-6));
        prop_assert!(design.protocol.level().unwrap() <= epsilon + 1e-9);
        let information = |protocol: &Protocol| {
            let analysis = Analysis::new(protocol, &prior).unwrap();
            analysis.answer(Metric::AggregatorDistribution, Some(1)).number().unwrap().value
        };
        prop_assert!((information(&design.protocol) - design.information).abs() < 1e-9);
        for other in [
            Protocol::grr(4, epsilon).unwrap(), Protocol::subset(4, 2, epsilon).unwrap(), Protocol::oue(4, epsilon).unwrap(),
        ] {
            prop_assert!(information(&other) <= design.information + 1e-9, "{other:?}");
        }
    }
}

/// Kairouz, Oh and Viswanath: at high privacy the best test of two hypotheses has two outputs (sets where the likelihood ratio is above and
/// below 1); at low privacy it is randomised response.
#[test]
fn two_hypotheses_at_high_and_low_privacy() {
    let (p, q) = (vec![0.5, 0.3, 0.15, 0.05], vec![0.1, 0.15, 0.25, 0.5]);
    let prior = Prior::Points(Points::new(vec![0.5, 0.5], vec![p, q]).unwrap());
    let high = best_for_one_user(&prior, 0.1).unwrap().protocol.to_matrix().unwrap();
    let rows: Vec<&[f64]> = high.rows().collect();
    assert_eq!(rows.len(), 2);
    let e = 0.1f64.exp();
    for row in rows {
        let above = if row[0] > 0.5 { [e, e, 1.0, 1.0] } else { [1.0, 1.0, e, e] };
        for (q_yx, share) in row.iter().zip(above) {
            assert!((q_yx - share / (1.0 + e)).abs() < 1e-12);
        }
    }
    let low = best_for_one_user(&prior, 8.0).unwrap();
    let mut rows: Vec<Vec<f64>> = low.protocol.to_matrix().unwrap().rows().map(<[f64]>::to_vec).collect();
    rows.sort_by(|l, r| {
        r.iter().zip(l).find(|(r, l)| r != l).map_or(std::cmp::Ordering::Equal, |(r, l)| r.total_cmp(l))
    });
    let response = Protocol::grr(4, 8.0).unwrap().to_matrix().unwrap();
    for (row, expected) in rows.iter().zip(response.rows()) {
        assert!(row.iter().zip(expected).all(|(l, r)| (l - r).abs() < 1e-9), "{row:?}");
    }
}
