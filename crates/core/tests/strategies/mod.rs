//! Random protocols and priors for the property tests.
#![allow(dead_code)] // Each test file uses a part of these.

use proptest::prelude::*;
use sottovoce::{Prior, Protocol};

/// A distribution on `size` outcomes; about one entry in five is zero when `zeros` is set.
pub fn distribution(size: usize, zeros: bool) -> impl Strategy<Value = Vec<f64>> {
    let entry = (0.02f64..1.0, 0..5).prop_map(move |(p, zero)| if zeros && zero == 0 { 0.0 } else { p });
    prop::collection::vec(entry, size).prop_map(|mut weights| {
        if weights.iter().all(|w| *w == 0.0) {
            weights[0] = 1.0;
        }
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|w| w / sum).collect()
    })
}

/// A matrix with `b` outputs and `a` inputs.
pub fn matrix_with(b: usize, a: usize, zeros: bool) -> impl Strategy<Value = Protocol> {
    prop::collection::vec(distribution(b, zeros), a).prop_map(move |columns| {
        let rows = (0..b).map(|y| columns.iter().map(|column| column[y]).collect()).collect();
        Protocol::matrix(rows).unwrap()
    })
}

/// A matrix of any size on `a` inputs.
pub fn matrix(a: usize) -> impl Strategy<Value = Protocol> {
    (1usize..6, any::<bool>()).prop_flat_map(move |(b, zeros)| matrix_with(b, a, zeros))
}

/// A protocol of any simple kind on `a` inputs.
pub fn simple(a: usize) -> BoxedStrategy<Protocol> {
    let epsilon = (-3f64..2.0).prop_map(f64::exp);
    prop_oneof![
        Just(Protocol::identity(a).unwrap()),
        epsilon.clone().prop_map(move |e| Protocol::grr(a, e).unwrap()),
        (0f64..=1.0, 0f64..=1.0).prop_map(move |(p, q)| Protocol::ue(a, p.max(q), p.min(q)).unwrap()),
        epsilon.clone().prop_map(move |e| Protocol::rappor(a, e).unwrap()),
        epsilon.clone().prop_map(move |e| Protocol::oue(a, e).unwrap()),
        epsilon.clone().prop_map(move |e| Protocol::blh(a, e).unwrap()),
        (1usize..4, epsilon.clone()).prop_map(move |(g, e)| Protocol::lh(a, g, e).unwrap()),
        (1..=a, epsilon.clone()).prop_map(move |(k, e)| Protocol::subset(a, k, e).unwrap()),
        (0usize..5, epsilon).prop_map(move |(which, e)| {
            let (v, k) = [(a, 1), (7, 3), (7, 4), (11, 5), (13, 4)][which];
            Protocol::block(a, v.max(a), if v < a { 1 } else { k }, e).unwrap()
        }),
        prop::collection::vec(0usize..4, a).prop_map(|map| Protocol::deterministic(map).unwrap()),
        (0f64..=1.0).prop_map(move |reveal| Protocol::erasure(a, reveal).unwrap()),
        matrix(a),
    ]
    .boxed()
}

/// A protocol of any kind on `a` inputs, combinations included.
pub fn protocol(a: usize) -> BoxedStrategy<Protocol> {
    simple(a)
        .prop_recursive(2, 8, 2, move |inner| {
            let pair = prop::collection::vec(inner.clone(), 2);
            prop_oneof![
                pair.clone().prop_map(|factors| Protocol::product(factors).unwrap()),
                (0f64..=1.0, pair).prop_map(|(w, parts)| Protocol::mixture(vec![w, 1.0 - w], parts).unwrap()),
                inner.prop_flat_map(|first| {
                    let b = first.outputs().unwrap();
                    let then =
                        if b >= 2 { matrix_with(2, b, false).boxed() } else { Just(first.clone()).boxed() };
                    then.prop_map(move |then| {
                        let fits = then.inputs() == b;
                        let steps = if fits { vec![first.clone(), then] } else { vec![first.clone()] };
                        Protocol::composition(steps).unwrap()
                    })
                }),
            ]
        })
        .prop_filter("small enough for a dense matrix", |protocol| {
            protocol.outputs().is_some_and(|b| b <= 4096)
        })
        .boxed()
}

/// A protocol of any kind on 2 to 4 inputs.
pub fn any_protocol() -> impl Strategy<Value = Protocol> {
    (2usize..5).prop_flat_map(protocol)
}

/// A Dirichlet prior on `a` values, symmetric or not.
pub fn dirichlet(a: usize) -> impl Strategy<Value = Prior> {
    let alpha = (-2f64..2.5).prop_map(f64::exp);
    prop_oneof![
        alpha.clone().prop_map(move |alpha| Prior::symmetric(a, alpha).unwrap()),
        prop::collection::vec(alpha, a).prop_map(|alpha| Prior::dirichlet(alpha).unwrap()),
    ]
}
