//! The paper's own numbers, by name, and extreme cases that every metric must handle.

use sottovoce::metric::{
    Settings, asymptotic_utility, average_privacy, effective_participation, private_leakage, truth_utility,
};
use sottovoce::{Prior, Protocol};

fn privacy(protocol: &Protocol, prior: &Prior) -> f64 {
    average_privacy(protocol, prior, &Settings::default()).unwrap().value
}

fn utility(protocol: &Protocol, prior: &Prior) -> f64 {
    asymptotic_utility(protocol, prior, &Settings::default()).unwrap().value
}

#[test]
fn the_mixture_of_the_remark_beats_its_parts_at_the_same_privacy() {
    let third = 1.0 / 3.0;
    let one = vec![vec![1.0, 0.0, 0.0], vec![0.0, 2.0 * third, third], vec![0.0, third, 2.0 * third]];
    let two = vec![vec![2.0 * third, third, 0.0], vec![third, 2.0 * third, 0.0], vec![0.0, 0.0, 1.0]];
    let (one, two) = (Protocol::matrix(one).unwrap(), Protocol::matrix(two).unwrap());
    let mixture = Protocol::mixture(vec![0.5, 0.5], vec![one.clone(), two.clone()]).unwrap();
    let prior = Prior::symmetric(3, 1.0).unwrap();
    for part in [&one, &two] {
        assert!((utility(part, &prior) + 0.987085713764618).abs() < 1e-12);
    }
    assert!((utility(&mixture, &prior) + 0.691227450897894).abs() < 1e-11);
    for protocol in [&one, &two, &mixture] {
        assert!((privacy(protocol, &prior) - 0.369678496298637).abs() < 1e-14);
    }
}

#[test]
fn average_privacy_of_randomised_response_grows_with_the_number_of_values() {
    for (a, expected) in [(16, 0.873167861), (1024, 0.998696670)] {
        let found = privacy(&Protocol::grr(a, 2.0).unwrap(), &Prior::jeffreys(a).unwrap());
        assert!((found - expected).abs() < 1e-9, "a = {a}: {found}");
    }
}

#[test]
fn randomised_response_overtakes_the_unary_encodings() {
    let overtakes = |other: fn(usize, f64) -> sottovoce::Result<Protocol>| {
        (2..40).find(|&a| {
            let prior = Prior::jeffreys(a).unwrap();
            privacy(&Protocol::grr(a, 2.0).unwrap(), &prior) > privacy(&other(a, 2.0).unwrap(), &prior)
        })
    };
    assert_eq!(overtakes(Protocol::rappor), Some(9));
    assert_eq!(overtakes(Protocol::oue), Some(12));
    assert_eq!(overtakes(Protocol::blh), Some(15));
}

#[test]
fn randomised_response_and_oue_cross_where_the_errata_say() {
    let prior = Prior::jeffreys(3).unwrap();
    let truth = truth_utility(&prior, &Settings::default()).unwrap();
    // F_mu at the epsilon with a given average privacy, by bisection.
    let participation = |protocol: fn(usize, f64) -> sottovoce::Result<Protocol>, wanted: f64| {
        let (mut low, mut high) = (1e-3, 20.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if privacy(&protocol(3, middle).unwrap(), &prior) > wanted { low = middle } else { high = middle }
        }
        let utility = asymptotic_utility(&protocol(3, low).unwrap(), &prior, &Settings::default());
        effective_participation(utility, truth).unwrap().value
    };
    let difference =
        |wanted: f64| participation(Protocol::grr, wanted) - participation(Protocol::oue, wanted);
    let (mut low, mut high) = (0.85, 0.97);
    for _ in 0..36 {
        let middle = 0.5 * (low + high);
        if difference(middle) > 0.0 { high = middle } else { low = middle }
    }
    assert!((low - 0.911917457).abs() < 2e-9, "{low}");
}

#[test]
fn average_privacy_survives_all_extremes() {
    for epsilon in [1e-6, 1e-3, 20.0, 50.0] {
        for alpha in [0.01, 0.5, 1.0, 1e4] {
            for a in [2, 1000, 10_000, 1_000_000] {
                let prior = Prior::symmetric(a, alpha).unwrap();
                let mut protocols = vec![Protocol::grr(a, epsilon).unwrap()];
                if a <= 10_000 {
                    protocols.push(Protocol::oue(a, epsilon).unwrap());
                    protocols.push(Protocol::rappor(a, epsilon).unwrap());
                    protocols.push(Protocol::lh(a, 4, epsilon).unwrap());
                    protocols.push(Protocol::subset(a, (a / 4).max(1), epsilon).unwrap());
                }
                for protocol in protocols {
                    let found = private_leakage(&protocol, &prior, &Settings::default()).unwrap().evaluation;
                    let context = format!(
                        "{}, a = {a}, epsilon = {epsilon}, alpha = {alpha}: {found:?}",
                        protocol.kind()
                    );
                    assert!(found.value > 0.0 && found.value.is_finite(), "{context}");
                    assert!(found.error <= 1e-6 * found.value, "{context}");
                    assert!((0.0..=1.0).contains(&privacy(&protocol, &prior)), "{context}");
                }
            }
        }
    }
}

#[test]
fn asymptotic_utility_survives_all_extremes() {
    let settings = Settings { tolerance: Some(0.05), ..Settings::default() };
    for epsilon in [1e-6, 1e-3, 20.0, 50.0] {
        for alpha in [0.01, 0.5, 1.0, 1e4] {
            for a in [2, 1000, 1_000_000] {
                let prior = Prior::symmetric(a, alpha).unwrap();
                let truth = truth_utility(&prior, &settings).unwrap();
                let mut protocols = vec![Protocol::grr(a, epsilon).unwrap()];
                if a <= 1000 {
                    protocols.push(Protocol::oue(a, epsilon).unwrap());
                    protocols.push(Protocol::lh(a, 4, epsilon).unwrap());
                }
                if a == 2 {
                    protocols.push(Protocol::subset(a, 1, epsilon).unwrap());
                }
                for protocol in protocols {
                    let found = asymptotic_utility(&protocol, &prior, &settings).unwrap();
                    let context = format!(
                        "{}, a = {a}, epsilon = {epsilon}, alpha = {alpha}: {found:?}",
                        protocol.kind()
                    );
                    assert!(found.value.is_finite() && found.error.is_finite(), "{context}");
                    assert!(
                        found.value <= truth.value + 6.0 * found.error + 1e-9 * truth.value.abs(),
                        "{context}"
                    );
                }
            }
        }
    }
}
