//! A protocol stores its specification, and the round trip loses nothing.

use proptest::prelude::*;
use sottovoce::Protocol;
use sottovoce::protocol::Specification;

mod strategies;

use strategies::{any_protocol, distribution};

/// A factor so close to 1 that weights and columns multiplied by it are still accepted, but must be divided
/// by their sum.
fn nearly_one() -> impl Strategy<Value = f64> {
    prop_oneof![Just(1.0), 1.0 - 4e-10..1.0 + 4e-10]
}

/// A matrix on three inputs whose columns only nearly sum to 1.
fn matrix() -> impl Strategy<Value = Specification> {
    let column = (distribution(4, true), nearly_one());
    prop::collection::vec(column, 3).prop_map(|columns| {
        let row = |y: usize| columns.iter().map(|(column, factor)| column[y] * factor).collect();
        Specification::Matrix { rows: (0..4).map(row).collect() }
    })
}

/// A mixture of two such matrices whose weights only nearly sum to 1.
fn mixture() -> impl Strategy<Value = Specification> {
    (distribution(2, false), nearly_one(), matrix(), matrix()).prop_map(|(weights, factor, first, second)| {
        let weights = weights.iter().map(|w| w * factor).collect();
        Specification::Mixture { weights, parts: vec![first, second] }
    })
}

/// Every digit of a protocol or specification: the shortest text that parses to the same number.
fn digits(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}")
}

fn comes_back(specification: Specification) -> Result<(), TestCaseError> {
    let protocol = specification.clone().protocol().unwrap();
    let again = protocol.specification();
    prop_assert_eq!(digits(&again), digits(&specification));
    let same = Protocol::try_from(again).unwrap();
    prop_assert_eq!(digits(&same), digits(&protocol));
    prop_assert_eq!(same, protocol);
    Ok(())
}

proptest! {
    #[test]
    fn a_specification_comes_back_bit_for_bit(protocol in any_protocol()) {
        comes_back(protocol.specification())?;
    }

    #[test]
    fn probabilities_that_were_normalised_come_back_as_given(specification in prop_oneof![matrix(), mixture()]) {
        comes_back(specification)?;
    }
}

#[test]
fn a_setting_of_unary_encoding_keeps_its_name() {
    for (protocol, kind) in [
        (Protocol::rappor(3, 0.7), Specification::Rappor { a: 3, epsilon: 0.7 }),
        (Protocol::oue(3, 0.7), Specification::Oue { a: 3, epsilon: 0.7 }),
        (Protocol::blh(3, 0.7), Specification::Blh { a: 3, epsilon: 0.7 }),
        (Protocol::ue(3, 0.7, 0.2), Specification::Ue { a: 3, kappa: 0.7, lambda: 0.2 }),
    ] {
        assert_eq!(protocol.unwrap().specification(), kind);
    }
}

#[test]
fn what_is_out_of_range_is_refused() {
    assert!(Specification::Grr { a: 1, epsilon: 1.0 }.protocol().is_err());
    let parts = vec![Specification::Identity { a: 2 }, Specification::Identity { a: 3 }];
    assert!(Specification::Product { factors: parts }.protocol().is_err());
}
