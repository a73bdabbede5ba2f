//! The paper's results about its metrics, as properties of random protocols and priors.
//!
//! A law may be violated only by the stated errors; with Monte Carlo numbers by six standard errors, which
//! happens by chance once in 10^9 draws.

mod strategies;

use proptest::prelude::*;
use sottovoce::information::Choice;
use sottovoce::metric::{
    Absence, Settings, asymptotic_utility, average_privacy, effective_participation, participation_bound,
    private_leakage, truth_utility, user_entropy, utility_bound, worst_case_privacy,
};
use sottovoce::{Analysis, Evaluation, Method, Metric, Prior, Protocol};
use strategies::{dirichlet, matrix_with, protocol, simple};

const SETTINGS: Settings = Settings { tolerance: Some(1e-3), seed: 1, choice: Choice::Automatic };

/// The tolerance for a law.
fn slack(numbers: &[Evaluation]) -> f64 {
    let allowed = |number: &Evaluation| {
        number.error * if number.method == Method::MonteCarlo { 6.0 } else { 1.0 }
            + 1e-13 * (1.0 + number.value.abs())
    };
    numbers.iter().map(allowed).sum()
}

fn at_most(small: Evaluation, large: Evaluation) -> bool {
    small.value <= large.value + slack(&[small, large])
}

fn equal(left: Evaluation, right: Evaluation) -> bool {
    (left.value - right.value).abs() <= slack(&[left, right])
}

fn privacy(protocol: &Protocol, prior: &Prior) -> Evaluation {
    average_privacy(protocol, prior, &SETTINGS).unwrap()
}

fn leakage(protocol: &Protocol, prior: &Prior) -> Evaluation {
    private_leakage(protocol, prior, &SETTINGS).unwrap().evaluation
}

fn utility(protocol: &Protocol, prior: &Prior) -> Result<Evaluation, Absence> {
    asymptotic_utility(protocol, prior, &SETTINGS)
}

/// A protocol with its inputs permuted, as a matrix.
fn relabelled(protocol: &Protocol, order: &[usize]) -> Protocol {
    let matrix = protocol.to_matrix().unwrap();
    Protocol::matrix(matrix.rows().map(|row| order.iter().map(|x| row[*x]).collect()).collect()).unwrap()
}

fn case(a: std::ops::Range<usize>) -> impl Strategy<Value = (Protocol, Prior)> {
    a.prop_flat_map(|a| (protocol(a), dirichlet(a)))
}

/// Two protocols on the same inputs, and a prior.
fn pair(a: std::ops::Range<usize>) -> impl Strategy<Value = (Protocol, Protocol, Prior)> {
    a.prop_flat_map(|a| (simple(a), simple(a), dirichlet(a)))
}

proptest! {
    #[test]
    fn average_privacy_is_a_share_above_worst_case_privacy((protocol, prior) in case(2..5)) {
        let (average, worst) = (privacy(&protocol, &prior), worst_case_privacy(&protocol).unwrap());
        prop_assert!((0.0..=1.0).contains(&average.value), "{average:?}");
        prop_assert!(at_most(worst, average), "{average:?} below {worst:?}");
    }

    #[test]
    fn structured_leakage_equals_that_of_the_dense_matrix((protocol, prior) in case(2..5)) {
        let dense = Protocol::Matrix(protocol.to_matrix().unwrap());
        let (structured, dense) = (leakage(&protocol, &prior), leakage(&dense, &prior));
        prop_assert!(equal(structured, dense), "{structured:?} {dense:?}");
    }

    #[test]
    fn merging_proportional_rows_changes_nothing((protocol, prior) in case(2..4)) {
        let (dense, merged) = (protocol.to_matrix().unwrap(), protocol.canonical_matrix().unwrap());
        let (dense, merged) = (Protocol::Matrix(dense), Protocol::Matrix(merged));
        prop_assert!(equal(privacy(&dense, &prior), privacy(&merged, &prior)));
        if let (Ok(dense), Ok(merged)) = (utility(&dense, &prior), utility(&merged, &prior)) {
            prop_assert!(equal(dense, merged), "{dense:?} {merged:?}");
        }
    }

    #[test]
    fn relabelling_changes_nothing((protocol, alpha) in protocol(3).prop_flat_map(|p| (Just(p), [0.1f64..5.0, 0.1..5.0, 0.1..5.0]))) {
        let prior = Prior::dirichlet(alpha.to_vec()).unwrap();
        let order = [2, 0, 1];
        let (other, permuted) = (relabelled(&protocol, &order), Prior::dirichlet(order.map(|x| alpha[x]).to_vec()).unwrap());
        prop_assert!(equal(privacy(&protocol, &prior), privacy(&other, &permuted)));
        if let (Ok(one), Ok(other)) = (utility(&protocol, &prior), utility(&other, &permuted)) {
            prop_assert!(equal(one, other), "{one:?} {other:?}");
        }
    }

    #[test]
    fn post_processing_hides_more((first, then, prior) in (2usize..4).prop_flat_map(|a| {
        protocol(a).prop_flat_map(move |first| {
            let b = first.outputs().unwrap().max(2);
            (Just(first), matrix_with(3, b, true), dirichlet(a))
        })
    })) {
        prop_assume!(first.outputs() == Some(then.inputs()));
        let composed = Protocol::composition(vec![first.clone(), then]).unwrap();
        prop_assert!(at_most(privacy(&first, &prior), privacy(&composed, &prior)));
        if let (Ok(before), Ok(after)) = (utility(&first, &prior), utility(&composed, &prior)) {
            prop_assert!(at_most(after, before), "{after:?} above {before:?}");
        }
    }

    #[test]
    fn a_product_leaks_at_most_the_sum_and_at_least_the_most((one, two, prior) in pair(2..4)) {
        let product = leakage(&Protocol::product(vec![one.clone(), two.clone()]).unwrap(), &prior);
        let (one, two) = (leakage(&one, &prior), leakage(&two, &prior));
        prop_assert!(at_most(product, one.plus(two)), "{product:?} above {one:?} + {two:?}");
        prop_assert!(at_most(one, product) && at_most(two, product));
    }

    #[test]
    fn a_mixture_is_as_private_as_its_parts_on_average((one, two, prior, w) in (pair(2..5), 0f64..=1.0).prop_map(|((o, t, p), w)| (o, t, p, w))) {
        let parts = vec![one.clone(), two.clone()];
        let mixture = Protocol::mixture(vec![w, 1.0 - w], parts).unwrap();
        let average = privacy(&one, &prior).times(w).plus(privacy(&two, &prior).times(1.0 - w));
        prop_assert!(equal(privacy(&mixture, &prior), average));
        // Check it without the rule that the structured form uses:
        let dense = Protocol::Matrix(mixture.to_matrix().unwrap());
        prop_assert!(equal(privacy(&dense, &prior), average));
        if let (Ok(one), Ok(two), Ok(mixture)) = (utility(&one, &prior), utility(&two, &prior), utility(&mixture, &prior)) {
            let average = one.times(w).plus(two.times(1.0 - w));
            prop_assert!(at_most(average, mixture), "{mixture:?} below {average:?}");
        }
    }

    #[test]
    fn local_hash_is_unary_encoding((g, epsilon, prior) in (2usize..4, 0.05f64..6.0, dirichlet(3))) {
        let hash = Protocol::lh(3, g, epsilon).unwrap();
        let kappa = epsilon.exp() / (epsilon.exp() + g as f64 - 1.0);
        let unary = Protocol::ue(3, kappa, 1.0 / g as f64).unwrap();
        let all_functions = Protocol::Matrix(hash.to_matrix().unwrap());
        for other in [unary, all_functions] {
            prop_assert!(equal(privacy(&hash, &prior), privacy(&other, &prior)));
            let (hash, other) = (utility(&hash, &prior).unwrap(), utility(&other, &prior).unwrap());
            prop_assert!(equal(hash, other), "{hash:?} {other:?}");
        }
    }

    #[test]
    fn utility_is_below_the_truth_and_below_the_tradeoff_bound((protocol, prior) in case(2..5)) {
        let truth = truth_utility(&prior, &SETTINGS).unwrap();
        let found = utility(&protocol, &prior);
        let participation = effective_participation(found.clone(), truth).unwrap();
        prop_assert!((0.0..=1.0).contains(&participation.value), "{participation:?}");
        let Ok(found) = found else {
            prop_assert_eq!(participation.value, 0.0);
            return Ok(());
        };
        prop_assert!(participation.value > 0.0);
        prop_assert!(at_most(found, truth), "{found:?} above {truth:?}");
        let (bound, participation_bound) = (utility_bound(&protocol).unwrap(), participation_bound(&protocol, truth).unwrap());
        prop_assert!(bound.value == f64::INFINITY || at_most(found, bound), "{found:?} above {bound:?}");
        prop_assert!(participation_bound.value == f64::INFINITY || at_most(participation, participation_bound));
    }

    #[test]
    fn metrics_are_averages_over_a_mixture_of_priors((protocol, one, two, w) in (2usize..4).prop_flat_map(|a| {
        let alpha = prop::collection::vec(0.1f64..5.0, a);
        (simple(a), alpha.clone(), alpha, 0.01f64..0.99)
    })) {
        use sottovoce::prior::{Dirichlet, DirichletMixture};
        let parts = vec![Dirichlet::new(one.clone()).unwrap(), Dirichlet::new(two.clone()).unwrap()];
        let mixture = Prior::DirichletMixture(DirichletMixture::new(vec![w, 1.0 - w], parts).unwrap());
        let (one, two) = (Prior::dirichlet(one).unwrap(), Prior::dirichlet(two).unwrap());
        let average = |f: &dyn Fn(&Prior) -> Evaluation| f(&one).times(w).plus(f(&two).times(1.0 - w));
        prop_assert!(equal(leakage(&protocol, &mixture), average(&|prior| leakage(&protocol, prior))));
        prop_assert!(equal(user_entropy(&mixture, &SETTINGS), average(&|prior| user_entropy(prior, &SETTINGS))));
        if let Ok(found) = utility(&protocol, &mixture) {
            prop_assert!(equal(found, average(&|prior| utility(&protocol, prior).unwrap())));
        }
    }

    #[test]
    fn a_point_prior_is_the_limit_of_concentrated_priors((protocol, p) in (2usize..4).prop_flat_map(|a| {
        (simple(a), strategies::distribution(a, false))
    })) {
        let mut other = p.clone();
        other.reverse();
        prop_assume!(other != p);
        let points = sottovoce::prior::Points::new(vec![0.5, 0.5], vec![p.clone(), other.clone()]).unwrap();
        let concentrated = |p: &[f64]| Prior::dirichlet(p.iter().map(|p_x| 1e7 * p_x).collect()).unwrap();
        let at_points = leakage(&protocol, &Prior::Points(points));
        let near = leakage(&protocol, &concentrated(&p)).plus(leakage(&protocol, &concentrated(&other))).times(0.5);
        // The spread of the concentrated prior changes the leakage by about 1/α0.
        prop_assert!((at_points.value - near.value).abs() < 1e-5, "{at_points:?} {near:?}");
    }
}

/// `H(X⃗)` and `I(Y⃗;X⃗)` of two users, summed over all their values and reports. `P(x⃗) = α_x (α_x' + [x = x'])/(α0 (α0 + 1))`.
fn literal_totals(protocol: &Protocol, prior: &Prior) -> (f64, f64) {
    let Prior::Dirichlet(dirichlet) = prior else { panic!("a Dirichlet prior was asked for") };
    let (alpha, total) = (dirichlet.alpha(), dirichlet.total());
    let matrix = protocol.to_matrix().unwrap();
    let rows: Vec<&[f64]> = matrix.rows().collect();
    let pairs = |size: usize| (0..size).flat_map(move |i| (0..size).map(move |j| (i, j)));
    let both =
        |x: usize, z: usize| alpha[x] * (alpha[z] + f64::from(u8::from(x == z))) / (total * (total + 1.0));
    let x_ln = |p: f64, q: f64| if p > 0.0 { p * q.ln() } else { 0.0 };
    let entropy = -pairs(alpha.len()).map(|(x, z)| x_ln(both(x, z), both(x, z))).sum::<f64>();
    let mut information = 0.0;
    for (y, w) in pairs(rows.len()) {
        let reported: f64 = pairs(alpha.len()).map(|(x, z)| both(x, z) * rows[y][x] * rows[w][z]).sum();
        let term = |(x, z)| {
            let q: f64 = rows[y][x] * rows[w][z];
            both(x, z) * x_ln(q, q / reported)
        };
        information += pairs(alpha.len()).map(term).sum::<f64>();
    }
    (entropy, information)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The paper's table: three parts add up to each total, by columns and by sides, and the aggregator's
    /// information is at most the users'.
    #[test]
    fn the_split_adds_up((protocol, prior) in (2usize..4).prop_flat_map(|a| (simple(a), dirichlet(a)))) {
        let analysis = Analysis::new(&protocol, &prior).unwrap();
        let number = |metric| analysis.answer(metric, Some(2)).number().unwrap();
        let users = [Metric::UsersDistribution, Metric::UsersGroup, Metric::UsersIndividual].map(number);
        let told = [Metric::AggregatorDistribution, Metric::AggregatorGroup, Metric::AggregatorIndividual].map(number);
        let (entropy, information) = literal_totals(&protocol, &prior);
        let sum = |parts: &[Evaluation]| parts.iter().map(|part| part.value).sum::<f64>();
        prop_assert!((sum(&users) - entropy).abs() < 1e-10, "{users:?} {entropy}");
        prop_assert!((sum(&told) - information).abs() <= 1e-9 + slack(&told), "{told:?} {information}");
        for (told, users) in told.into_iter().zip(users) {
            prop_assert!(told.value >= -slack(&[told]) && at_most(told, users), "{told:?} {users:?}");
        }
        prop_assert!((number(Metric::UsersTally).value - sum(&users[..2])).abs() < 1e-10);
        prop_assert!((number(Metric::AggregatorTally).value - sum(&told[..2])).abs() <= 1e-10 + slack(&told));
        prop_assert!((number(Metric::AggregatorPrivate).value - sum(&told[1..])).abs() <= 1e-9 + slack(&told));
        prop_assert!((number(Metric::AggregatorTotal).value - information).abs() <= 1e-9 + slack(&told));
    }
}
