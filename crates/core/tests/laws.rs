//! The propositions of the paper, as properties of random protocols and priors.

mod strategies;

use proptest::prelude::*;
use sottovoce::{Channel, Protocol};
use strategies::{any_protocol, distribution, matrix_with, protocol, simple};

fn close(left: f64, right: f64) -> bool {
    left == right || (left - right).abs() <= 1e-12 * (1.0 + left.abs())
}

proptest! {
    #[test]
    fn columns_are_distributions(protocol in any_protocol()) {
        for x in 0..protocol.inputs() {
            let sum: f64 = protocol.column(x).unwrap().iter().sum();
            prop_assert!(close(sum, 1.0), "{sum}");
        }
    }

    #[test]
    fn rows_and_outputs_correspond(protocol in any_protocol(), row in any::<prop::sample::Index>()) {
        let row = row.index(protocol.outputs().unwrap());
        let output = protocol.output(row);
        prop_assert_eq!(protocol.row_of(&output).unwrap(), row);
        for x in 0..protocol.inputs() {
            let (entry, ln_probability) = (protocol.entry(row, x).unwrap(), protocol.ln_probability(&output, x).unwrap());
            prop_assert!(close(entry, ln_probability.exp()), "{entry} {ln_probability}");
        }
    }

    #[test]
    fn structured_answers_equal_those_of_the_dense_matrix(protocol in any_protocol()) {
        let dense = protocol.to_matrix().unwrap();
        prop_assert!(close(protocol.level().unwrap(), dense.level().unwrap()));
        prop_assert_eq!(protocol.classes().unwrap(), dense.classes().unwrap());
        let (rank, dense_rank) = (protocol.rank().unwrap(), dense.rank().unwrap());
        prop_assert!(rank.value == dense_rank.value || dense_rank.ambiguous, "{rank:?} {dense_rank:?}");
        for x in 0..protocol.inputs() {
            for other in 0..protocol.inputs() {
                let (level, dense_level) = (protocol.level_between(x, other), dense.level_between(x, other));
                prop_assert!(close(level.unwrap(), dense_level.unwrap()));
                prop_assert_eq!(protocol.share_output(x, other).unwrap(), dense.share_output(x, other).unwrap());
            }
        }
    }

    #[test]
    fn push_forward_is_the_matrix_times_the_vector(
        (protocol, p) in (2usize..5).prop_flat_map(|a| (protocol(a), distribution(a, true)))
    ) {
        let (structured, dense) = (protocol.push_forward(&p).unwrap(), protocol.to_matrix().unwrap());
        for (q, row) in structured.iter().zip(dense.rows()) {
            prop_assert!(close(*q, row.iter().zip(&p).map(|(q_yx, p_x)| q_yx * p_x).sum()));
        }
    }

    #[test]
    fn canonical_form_keeps_level_rank_and_classes(protocol in any_protocol()) {
        let (dense, canonical) = (protocol.to_matrix().unwrap(), protocol.canonical_matrix().unwrap());
        prop_assert!(canonical.rows().all(|row| row.iter().any(|q| *q > 0.0)));
        prop_assert!(close(dense.level().unwrap(), canonical.level().unwrap()));
        prop_assert_eq!(dense.classes().unwrap(), canonical.classes().unwrap());
        let (rank, canonical_rank) = (dense.rank().unwrap(), canonical.rank().unwrap());
        prop_assert!(rank.value == canonical_rank.value || rank.ambiguous);
        prop_assert_eq!(canonical.canonical().rows().len(), canonical.rows().len());
    }

    #[test]
    fn composition_is_matrix_multiplication((first, then) in simple(3).prop_flat_map(|first| {
        let b = first.outputs().unwrap().max(2);
        (Just(first), matrix_with(3, b, true))
    })) {
        prop_assume!(first.outputs() == Some(then.inputs()));
        let composed = Protocol::composition(vec![first.clone(), then.clone()]).unwrap();
        let (q, r) = (first.to_matrix().unwrap(), then.to_matrix().unwrap());
        for (z, row) in r.rows().enumerate() {
            for x in 0..3 {
                let sum: f64 = row.iter().zip(q.rows()).map(|(r_zy, q_y)| r_zy * q_y[x]).sum();
                prop_assert!(close(composed.entry(z, x).unwrap(), sum));
            }
        }
    }

    #[test]
    fn product_multiplies_entries((one, two) in (simple(3), simple(3))) {
        let product = Protocol::product(vec![one.clone(), two.clone()]).unwrap();
        let (b1, b2) = (one.outputs().unwrap(), two.outputs().unwrap());
        prop_assert_eq!(product.outputs(), Some(b1 * b2));
        for x in 0..3 {
            for row in 0..b1 * b2 {
                let expected = one.entry(row / b2, x).unwrap() * two.entry(row % b2, x).unwrap();
                prop_assert!(close(product.entry(row, x).unwrap(), expected));
            }
        }
    }

    #[test]
    fn mixture_stacks_weighted_parts((one, two, w) in (simple(3), simple(3), 0f64..=1.0)) {
        let mixture = Protocol::mixture(vec![w, 1.0 - w], vec![one.clone(), two.clone()]).unwrap();
        let b1 = one.outputs().unwrap();
        for x in 0..3 {
            for row in 0..mixture.outputs().unwrap() {
                let part = if row < b1 { w * one.entry(row, x).unwrap() } else { (1.0 - w) * two.entry(row - b1, x).unwrap() };
                prop_assert!(close(mixture.entry(row, x).unwrap(), part));
            }
        }
    }

    #[test]
    fn level_of_a_product_is_at_most_the_sum_and_at_least_the_largest((one, two) in (protocol(3), protocol(3))) {
        let product = Protocol::product(vec![one.clone(), two.clone()]).unwrap().level().unwrap();
        let (one, two) = (one.level().unwrap(), two.level().unwrap());
        prop_assert!(product <= (one + two) * (1.0 + 1e-12) + 1e-12, "{product} > {one} + {two}");
        prop_assert!(product >= one.max(two) * (1.0 - 1e-12) - 1e-12);
    }

    #[test]
    fn level_of_a_mixture_is_the_largest_of_its_parts((one, two) in (protocol(3), protocol(3))) {
        let mixture = Protocol::mixture(vec![0.25, 0.75], vec![one.clone(), two.clone()]).unwrap();
        prop_assert!(close(mixture.level().unwrap(), one.level().unwrap().max(two.level().unwrap())));
    }

    #[test]
    fn post_processing_never_raises_the_level((first, then) in protocol(3).prop_flat_map(|first| {
        let b = first.outputs().unwrap().max(2);
        (Just(first), matrix_with(3, b, true))
    })) {
        prop_assume!(first.outputs() == Some(then.inputs()));
        let composed = Protocol::composition(vec![first.clone(), then]).unwrap();
        prop_assert!(composed.level().unwrap() <= first.level().unwrap() * (1.0 + 1e-12) + 1e-12);
        prop_assert!(composed.rank().unwrap().value <= first.rank().unwrap().value);
    }
}
