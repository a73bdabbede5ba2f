//! One-user leakage against 60-digit values, against the sum over all outputs, and at its limits.
// The tables are lists of tuples, read once.
#![allow(clippy::type_complexity)]

use sottovoce::Evaluation;
use sottovoce::leakage::*;
use sottovoce::protocol::BitNoise;

include!("tables/leakage.rs");

/// Keeps the largest relative error, and checks that the stated one holds.
#[derive(Default)]
struct Worst(f64);

impl Drop for Worst {
    fn drop(&mut self) {
        println!("largest relative error {:e}", self.0);
    }
}

impl Worst {
    fn see(&mut self, what: impl std::fmt::Debug, found: Evaluation, expected: f64) {
        let error = (found.value - expected).abs();
        assert!(error <= found.error, "{what:?}: {found:?} for {expected:e}, error {error:e}");
        if error / expected > self.0 {
            self.0 = error / expected;
            println!("{what:?}: {found:?} for {expected:e}, relative error {:e}", self.0);
        }
    }
}

fn relative(found: f64, expected: f64) -> f64 {
    (found / expected - 1.0).abs()
}

#[test]
fn user_entropy_keeps_relative_accuracy() {
    let mut worst = Worst::default();
    for &(groups, expected) in ENTROPY {
        worst.see(groups, user_entropy(&GroupedPrior::dirichlet_groups(groups)), expected);
    }
    assert!(worst.0 < 3e-15);
}

#[test]
fn randomised_response_keeps_relative_accuracy() {
    let mut worst = Worst::default();
    for &(epsilon, groups, expected) in RANDOMISED_RESPONSE {
        let found = randomised_response(epsilon, &GroupedPrior::dirichlet_groups(groups));
        worst.see((epsilon, groups), found, expected);
    }
    assert!(worst.0 < 2e-14);
}

#[test]
fn unary_encoding_keeps_relative_accuracy() {
    let mut worst = Worst::default();
    for &(epsilon, groups, expected) in UNARY_ENCODING {
        let prior = GroupedPrior::dirichlet_groups(groups);
        let protocols =
            [BitNoise::rappor(epsilon), BitNoise::oue(epsilon), BitNoise::local_hash(1000, epsilon)];
        for (protocol, expected) in protocols.iter().zip(expected) {
            worst.see((protocol, groups), unary_encoding(protocol, &prior), expected);
        }
    }
    assert!(worst.0 < 1e-13);
}

#[test]
fn unary_encoding_is_right_at_its_edges() {
    let mut worst = Worst::default();
    for &(kappa, lambda, groups, expected) in UNARY_EDGES {
        let prior = GroupedPrior::dirichlet_groups(groups);
        let found = unary_encoding(&BitNoise::new(kappa, lambda), &prior);
        worst.see((kappa, lambda, groups), found, expected);
    }
    assert!(worst.0 < 1e-13);
}

#[test]
fn subset_selection_keeps_relative_accuracy() {
    let mut worst = Worst::default();
    for &(size, epsilon, alphas, expected) in SUBSET_SELECTION {
        let found = subset_selection(size, epsilon, &GroupedPrior::dirichlet(alphas));
        worst.see((size, epsilon, alphas), found, expected);
    }
    assert!(worst.0 < 1e-13);
}

#[test]
fn unary_encoding_states_its_error_at_random_extremes() {
    let mut worst = Worst::default();
    for &(kappa, lambda, groups, expected) in RANDOM_UNARY_ENCODING {
        let prior = GroupedPrior::dirichlet_groups(groups);
        let found = unary_encoding(&BitNoise::new(kappa, lambda), &prior);
        worst.see((kappa, lambda, groups), found, expected);
    }
    assert!(worst.0 < 1e-12);
}

#[test]
fn subset_selection_states_its_error_at_random_extremes() {
    let mut worst = Worst::default();
    for &(size, epsilon, alphas, expected) in RANDOM_SUBSET_SELECTION {
        let found = subset_selection(size, epsilon, &GroupedPrior::dirichlet(alphas));
        worst.see((size, epsilon, alphas), found, expected);
    }
    assert!(worst.0 < 1e-12);
}

const EPSILONS: [f64; 5] = [1e-6, 1e-3, 1.0, 5.0, 20.0];

fn priors() -> [(Vec<f64>, bool); 4] {
    [
        (vec![0.5, 0.5, 0.5, 0.5, 0.5], false),
        (vec![0.01, 0.3, 1.0, 1.0, 70.0], false),
        (vec![0.2; 5], true),
        (vec![0.05, 0.1, 0.15, 0.2, 0.5], true),
    ]
}

fn user_prior(masses: &[f64], is_point: bool) -> GroupedPrior {
    if is_point { GroupedPrior::point(masses) } else { GroupedPrior::dirichlet(masses) }
}

/// The sum over all reports (bit masks), each with its probability under the average input and the excess of its ratios.
fn enumerated(
    masses: &[f64],
    is_point: bool,
    probability: impl Fn(u32) -> f64,
    (inside, outside): (f64, f64),
) -> f64 {
    let total: f64 = masses.iter().sum();
    let mut sum = 0.0;
    for y in 0..1u32 << masses.len() {
        let excess = |x: usize| if y >> x & 1 == 1 { inside } else { outside };
        let pairs: Vec<_> = masses.iter().enumerate().map(|(x, &mass)| (mass, excess(x))).collect();
        let mean = 1.0 + pairs.iter().map(|&(mass, d)| mass / total * d).sum::<f64>();
        if probability(y) * mean > 0.0 {
            sum += row_of_deviations(probability(y) * mean, &pairs, is_point).value;
        }
    }
    sum
}

#[test]
fn unary_encoding_is_the_sum_over_all_reports() {
    for (masses, is_point) in priors() {
        for epsilon in EPSILONS {
            let lambda: f64 = 1.0 / (1.0 + (epsilon / 2.0).exp());
            let probability =
                |y: u32| lambda.powi(y.count_ones() as i32) * (1.0 - lambda).powi(5 - y.count_ones() as i32);
            let excess = ((epsilon / 2.0).exp_m1(), (-epsilon / 2.0).exp_m1());
            let expected = enumerated(&masses, is_point, probability, excess);
            let found = unary_encoding(&BitNoise::rappor(epsilon), &user_prior(&masses, is_point));
            assert!(
                relative(found.value, expected) < 1e-13,
                "{masses:?} {epsilon}: {found:?} for {expected}"
            );
        }
    }
}

#[test]
fn subset_selection_is_the_sum_over_all_subsets() {
    for (masses, is_point) in priors() {
        for (epsilon, size) in EPSILONS.iter().flat_map(|&e| (1..5).map(move |k| (e, k))) {
            let (inside, outside) = ((5 - size) as f64 * epsilon.exp_m1(), -(size as f64) * epsilon.exp_m1());
            let normaliser = size as f64 * epsilon.exp() + (5 - size) as f64;
            let count = [0.0, 5.0, 10.0, 10.0, 5.0][size];
            let probability = |y: u32| if y.count_ones() as usize == size { 1.0 / count } else { 0.0 };
            let excess = (inside / normaliser, outside / normaliser);
            let expected = enumerated(&masses, is_point, probability, excess);
            let found = subset_selection(size, epsilon, &user_prior(&masses, is_point));
            let error = relative(found.value, expected);
            // At ε = 20 the ratio outside is e^{−20}, which the excess of the enumeration has forgotten.
            assert!(error < 1e-12, "{masses:?} {epsilon} {size}: {found:?} for {expected}, {error:e}");
        }
    }
}

#[test]
fn subsets_of_all_but_one_are_a_sum_over_the_one() {
    let alphas: Vec<f64> = (0..200).map(|x| 0.25 + 0.01 * f64::from(x)).collect();
    let total: f64 = alphas.iter().sum();
    let mut worst = 0.0f64;
    for epsilon in [1e-6, 0.1, 1.0, 5.0, 20.0f64] {
        // The one left out has the likelihood e^{−ε} of the others.
        let (rest, normaliser) = ((-epsilon).exp_m1(), 199.0 + (-epsilon).exp());
        let expected = alphas.iter().map(|&alpha| {
            let theta = (1.0 + alpha / total * rest) / normaliser;
            row_of_deviations(theta, &[(alpha, rest), (total - alpha, 0.0)], false).value
        });
        let expected: f64 = expected.sum();
        let found = subset_selection(199, epsilon, &GroupedPrior::dirichlet(&alphas));
        assert!((found.value - expected).abs() <= found.error, "{epsilon}: {found:?} for {expected}");
        worst = worst.max(relative(found.value, expected));
        println!("{epsilon}: {found:?} for {expected:e}, {:e}", relative(found.value, expected));
    }
    assert!(worst < 1e-12);
}

#[test]
fn randomised_response_is_the_sum_over_all_outputs() {
    for (masses, is_point) in priors() {
        for epsilon in [1.0f64, 5.0, 20.0] {
            let scale = epsilon.exp() + 4.0;
            let rows: Vec<[f64; 5]> = (0..5)
                .map(|y| std::array::from_fn(|x| if x == y { epsilon.exp() } else { 1.0 } / scale))
                .collect();
            let expected = dense(&masses, rows.iter().map(|r| &r[..]), is_point).value;
            let found = randomised_response(epsilon, &user_prior(&masses, is_point)).value;
            assert!(relative(found, expected) < 1e-13, "{masses:?} {epsilon}");
        }
    }
}

#[test]
fn point_prior_is_the_textbook_sum() {
    let p = [0.1, 0.2, 0.7];
    let q = [[0.5, 0.25, 0.0], [0.25, 0.5, 0.125], [0.25, 0.25, 0.875]];
    let mut expected = 0.0;
    for row in q {
        let theta: f64 = p.iter().zip(row).map(|(p, q)| p * q).sum();
        expected +=
            p.iter().zip(row).filter(|x| x.1 > 0.0).map(|(p, q)| p * q * (q / theta).ln()).sum::<f64>();
    }
    assert!(relative(dense(&p, q.iter().map(|r| &r[..]), true).value, expected) < 1e-14);
}

#[test]
fn known_average_privacies() {
    for (a, expected) in [(16, 0.873167861), (1024, 0.998696670)] {
        let prior = GroupedPrior::dirichlet_groups(&[(0.5, a)]);
        let leakage = randomised_response(2.0, &prior).value;
        assert!((1.0 - leakage / user_entropy(&prior).value - expected).abs() < 1e-9);
    }
}

#[test]
fn ends_of_the_scale_are_closed_forms() {
    let prior = GroupedPrior::dirichlet(&[0.5, 1.0, 2.0]);
    let entropy = user_entropy(&prior).value;
    assert_eq!(randomised_response(0.0, &prior).value, 0.0);
    assert_eq!(subset_selection(2, 0.0, &prior).value, 0.0);
    assert_eq!(unary_encoding(&BitNoise::new(0.3, 0.3), &prior).value, 0.0);
    assert_eq!(randomised_response(f64::INFINITY, &prior).value, entropy);
    assert!(relative(unary_encoding(&BitNoise::new(1.0, 0.0), &prior).value, entropy) < 1e-15);
    assert!(relative(unary_encoding(&BitNoise::new(0.25, 1.0), &prior).value, 0.75 * entropy) < 1e-15);
    assert!(relative(randomised_response(100.0, &prior).value, entropy) < 1e-14);
    assert!(relative(subset_selection(1, 100.0, &prior).value, entropy) < 1e-13);
    assert!(relative(unary_encoding(&BitNoise::new(0.5, 1e-290), &prior).value, 0.5 * entropy) < 1e-13);
}

#[test]
fn equal_inputs_may_be_given_apart_or_together() {
    // The dynamic programme with groups of many, with groups of one, and the symmetric integral.
    let size = 20;
    for epsilon in [1e-6, 1.0, 20.0] {
        let symmetric = subset_selection(size, epsilon, &GroupedPrior::dirichlet_groups(&[(0.5, 60)])).value;
        let nearly: Vec<f64> = (0..60).map(|x| 0.5 * (1.0 + f64::from(x) * 1e-15)).collect();
        let apart = subset_selection(size, epsilon, &GroupedPrior::dirichlet(&nearly)).value;
        let pairs = [(nearly[3], 20), (nearly[7], 40)];
        let together = subset_selection(size, epsilon, &GroupedPrior::dirichlet_groups(&pairs)).value;
        println!("{epsilon}: {:e} {:e}", relative(apart, symmetric), relative(together, symmetric));
        assert!(relative(apart, symmetric) < 2e-13 && relative(together, symmetric) < 2e-13);
    }
}

#[test]
fn large_general_subset_selection_is_feasible() {
    let few = GroupedPrior::dirichlet_groups(&[(0.5, 5000), (0.5 + 1e-12, 3000), (0.5 + 2e-12, 2000)]);
    let symmetric = GroupedPrior::dirichlet_groups(&[(0.5, 10_000)]);
    for epsilon in [1e-6, 1.0] {
        let found = subset_selection(2500, epsilon, &few);
        let expected = subset_selection(2500, epsilon, &symmetric).value;
        println!("{found:?} for {expected:e}: {:e}", relative(found.value, expected));
        assert!(relative(found.value, expected) < 1e-11);
    }
}
