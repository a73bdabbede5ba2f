//! Do the stated errors hold where a matrix is computed and small quantities come from differences of its
//! rounded entries?

use sottovoce::metric::{Analysis, Metric, local_privacy_level};
use sottovoce::{Prior, Protocol};

/// The metrics in which two protocols differ by more than their errors plus `slack` units in the last place.
fn differences(one: &Protocol, other: &Protocol, n: u64, slack: f64) -> Vec<String> {
    let prior = Prior::jeffreys(one.inputs()).unwrap();
    let (left, right) = (Analysis::new(one, &prior).unwrap(), Analysis::new(other, &prior).unwrap());
    let differs = |metric: Metric| {
        let users = metric.needs_users().then_some(n);
        let (l, r) = (left.answer(metric, users).number()?, right.answer(metric, users).number()?);
        let allowed = l.error + r.error + slack * f64::EPSILON * r.value.abs();
        let text = || format!("{}: {l:?} {r:?}", metric.name());
        let off = (l.value - r.value).abs();
        // Without information the limit is −∞ for both, and their difference is NaN.
        (l.value != r.value && (off.is_nan() || off > allowed)).then(text)
    };
    Metric::all().filter_map(differs).collect()
}

/// Randomised response after randomised response is randomised response: `κ − λ` is the product of theirs.
fn single(a: usize, epsilons: [f64; 2]) -> Protocol {
    let difference = |epsilon: f64| epsilon.exp_m1() / (epsilon.exp_m1() + a as f64);
    let product = difference(epsilons[0]) * difference(epsilons[1]);
    Protocol::grr(a, (a as f64 * product / (1.0 - product)).ln_1p()).unwrap()
}

const EPSILONS: [[f64; 2]; 6] =
    [[1.0, 1.0], [0.1, 0.1], [1e-2, 1e-2], [1e-3, 1e-3], [1e-4, 1e-4], [3.0, 1e-6]];

#[test]
fn compositions_are_as_accurate_as_they_say() {
    for a in [2, 3, 6] {
        for epsilons in EPSILONS {
            let steps = epsilons.map(|epsilon| Protocol::grr(a, epsilon).unwrap());
            let composition = Protocol::composition(steps.to_vec()).unwrap();
            // The level of the single response is known to a few units in the last place.
            let found = differences(&composition, &single(a, epsilons), 6, 16.0);
            assert!(found.is_empty(), "a = {a}, {epsilons:?}: {found:#?}");
        }
    }
}

/// Randomised response in disguise: subsets of size one, a product with one factor, a mixture of equal parts.
#[test]
fn other_words_for_randomised_response_are_as_accurate_as_they_say() {
    for a in [2, 3, 6] {
        for epsilon in [3.0, 1.0, 0.1, 1e-2, 1e-4, 1e-6] {
            let grr = Protocol::grr(a, epsilon).unwrap();
            for other in [
                Protocol::subset(a, 1, epsilon).unwrap(),
                Protocol::product(vec![grr.clone()]).unwrap(),
                Protocol::mixture(vec![0.3, 0.7], vec![grr.clone(); 2]).unwrap(),
            ] {
                let found = differences(&other, &grr, 6, 2.0);
                assert!(found.is_empty(), "{other:?}: {found:#?}");
            }
        }
    }
}

/// The level of a product of matrices is a sum of logarithms near 0, which must keep their digits.
#[test]
fn products_of_matrices_near_constant_keep_their_digits() {
    for deviation in [1e-2, 1e-5, 1e-9] {
        let rows =
            |shift: f64| vec![vec![0.5, 0.5 + shift, 0.5 - shift], vec![0.5, 0.5 - shift, 0.5 + shift]];
        let matrix = |shift: f64| Protocol::matrix(rows(shift)).unwrap();
        let product = Protocol::product(vec![matrix(deviation), matrix(deviation / 4.0)]).unwrap();
        let level = local_privacy_level(&product).unwrap();
        // The entries as stored: ln(q/r) = 2 artanh((q − r)/(q + r)).
        let between = |shift: f64| 2.0 * (((0.5 + shift) - (0.5 - shift)) / 1.0).atanh();
        let expected = between(deviation) + between(deviation / 4.0);
        assert!((level.value - expected).abs() <= level.error, "{level:?} {expected:e}");
        assert!(level.error < 1e-14 * level.value, "{level:?}");
    }
}

/// Columns divided by their sums are rounded. Here the sums are 1 + 2⁻³², and the level of the intended
/// matrix is known.
#[test]
fn the_level_of_a_normalised_matrix_has_the_error_of_the_division() {
    let unit = 2f64.powi(-32);
    let rows = vec![vec![0.5 + 3.0 * unit, 0.5], vec![0.5 - 2.0 * unit, 0.5]];
    let level = local_privacy_level(&Protocol::matrix(rows).unwrap()).unwrap();
    // 0.5 over (0.5 − 2u)/(1 + u) is 1 + 5u/(1 − 4u).
    let expected = (5.0 * unit / (1.0 - 4.0 * unit)).ln_1p();
    assert!((level.value - expected).abs() <= level.error, "{level:?} {expected:e}");
}
