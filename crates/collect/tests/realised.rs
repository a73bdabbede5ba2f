//! The channel that is really sampled: exact fractions that sum to 1, close to the protocol's matrix, with a loss that keeps the declared
//! level; and reports that follow it.

use num_bigint::BigUint;
use sottovoce::{Output, Protocol};
use sottovoce_collect::randomise::{Generator, Loss, Randomiser, Randomness};

/// Levels from nearly nothing to more than 64 bits can hold.
const LEVELS: [f64; 7] = [1e-9, 1e-3, 0.5, 1.0, 3.0, 20.0, 100.0];

fn float(numerator: &BigUint, denominator: &BigUint) -> f64 {
    // 1100 more binary digits than needed, then the nearest double by text.
    let scaled = (numerator << 200u32) / denominator;
    scaled.to_string().parse::<f64>().unwrap() / 200f64.exp2()
}

/// All kinds with a declared level, on a few inputs, with that level.
fn declared(a: usize, epsilon: f64) -> Vec<Protocol> {
    let mut all = vec![
        Protocol::grr(a, epsilon).unwrap(),
        Protocol::rappor(a, epsilon).unwrap(),
        Protocol::oue(a, epsilon).unwrap(),
        Protocol::blh(a, epsilon).unwrap(),
    ];
    all.extend((1..=4).map(|g| Protocol::lh(a, g, epsilon).unwrap()));
    all.extend((1..=a).map(|k| Protocol::subset(a, k, epsilon).unwrap()));
    all.extend([(a, 1), (7, 3), (7, 4), (13, 4)].map(|(v, k)| Protocol::block(a, v, k, epsilon).unwrap()));
    all
}

/// Kinds without a declared level, and combinations.
fn others(a: usize) -> Vec<Protocol> {
    let third = 1.0 / 3.0;
    let map: Vec<usize> = (0..a).map(|x| x / 2).collect();
    let rows =
        (0..=a).map(|y| {
            (0..a)
                .map(|x| {
                    if y == a {
                        third
                    } else {
                        (1.0 - third) * if x == y { 0.7 } else { 0.3 / (a - 1) as f64 }
                    }
                })
                .collect()
        });
    let grr = Protocol::grr(a, 1.0).unwrap();
    let coarse =
        Protocol::composition(vec![grr.clone(), Protocol::deterministic(map.clone()).unwrap()]).unwrap();
    let hashed = Protocol::composition(vec![
        Protocol::lh(a, 2, 1.0).unwrap(),
        Protocol::erasure(2usize.pow(a as u32 + 1), 0.3).unwrap(),
    ]);
    let matrix = Protocol::matrix(rows.collect()).unwrap();
    let mixture = Protocol::mixture(
        vec![0.1, 0.0, 0.9],
        vec![coarse.clone(), Protocol::identity(a).unwrap(), matrix.clone()],
    )
    .unwrap();
    vec![
        Protocol::identity(a).unwrap(),
        Protocol::ue(a, 0.7, 0.2).unwrap(),
        Protocol::ue(a, 1.0, 1e-30).unwrap(),
        Protocol::ue(a, 0.5, 0.0).unwrap(),
        Protocol::ue(a, 0.3, 0.3).unwrap(),
        Protocol::deterministic(map).unwrap(),
        Protocol::erasure(a, 0.3).unwrap(),
        Protocol::product(vec![coarse.clone(), matrix.clone()]).unwrap(),
        Protocol::product(vec![grr.clone(), mixture.clone()]).unwrap(),
        Protocol::composition(vec![grr, matrix.clone(), Protocol::erasure(a + 1, 0.4).unwrap()]).unwrap(),
        hashed.unwrap(),
        matrix,
        mixture,
        coarse,
    ]
}

/// Columns that sum to exactly 1, entries close to the matrix, and the loss by structure that of the exact matrix.
fn check(protocol: &Protocol) -> Loss {
    let randomiser = Randomiser::new(protocol).unwrap();
    let (exact, matrix) = (randomiser.matrix().unwrap(), protocol.to_matrix().unwrap());
    assert_eq!(exact.rows.len(), matrix.rows().len(), "{protocol:?}");
    for x in 0..protocol.inputs() {
        let sum: BigUint = exact.rows.iter().map(|row| &row[x]).sum();
        assert_eq!(sum, exact.denominator, "{protocol:?}, column {x}");
    }
    for (row, wanted) in exact.rows.iter().zip(matrix.rows()) {
        for (numerator, wanted) in row.iter().zip(wanted) {
            let found = float(numerator, &exact.denominator);
            assert!((found - wanted).abs() < 1e-14, "{protocol:?}: {found} {wanted}");
        }
    }
    let realised = randomiser.realised();
    assert!(realised.exact, "{protocol:?}");
    assert_eq!(realised.loss.level(), exact.loss().level(), "{protocol:?}");
    realised.loss.clone()
}

#[test]
fn every_kind_keeps_its_declared_level_exactly() {
    for a in 2..=5 {
        for epsilon in LEVELS {
            for protocol in declared(a, epsilon) {
                let loss = check(&protocol);
                assert!(loss.within(epsilon), "{protocol:?}");
                // And no more privacy is added than the words' resolution asks for.
                let (level, wanted) = (loss.level(), protocol.level().unwrap().min(42.0));
                assert!(level >= wanted * (1.0 - 1e-8) - 1e-16, "{protocol:?}: {level}");
            }
        }
    }
}

#[test]
fn other_kinds_and_combinations_have_the_level_of_their_exact_matrix() {
    for a in 2..=5 {
        for protocol in others(a) {
            let (level, wanted) = (check(&protocol).level(), protocol.level().unwrap());
            let close = level == wanted || (level - wanted).abs() < 1e-12 || wanted > 44.0 && level > 43.0;
            assert!(close, "{protocol:?}: {level} {wanted}");
        }
    }
}

#[test]
fn large_protocols_keep_their_level_too() {
    for (a, epsilon) in [(1000, 1e-6), (100_000, 1.0), (1 << 24, 1.0), (1 << 20, 50.0)] {
        for protocol in [
            Protocol::grr(a, epsilon).unwrap(),
            Protocol::oue(a, epsilon).unwrap(),
            Protocol::subset(a, a / 4, epsilon).unwrap(),
            Protocol::lh(a, 1000, epsilon).unwrap(),
            Protocol::block(a.min(1000), 1093, 364, epsilon).unwrap(),
            Protocol::block(1000, 1_398_101, 349_525, epsilon).unwrap(),
        ] {
            let realised = Randomiser::new(&protocol).unwrap().realised().clone();
            assert!(realised.exact && realised.loss.within(epsilon), "{protocol:?}");
        }
    }
}

#[test]
fn a_level_below_the_resolution_is_refused() {
    // 2^24 inputs divide the words evenly and would tell nothing; one fewer would tell too much.
    for a in [1 << 24, (1 << 24) - 1] {
        let refused = Randomiser::new(&Protocol::grr(a, 1e-6).unwrap()).unwrap_err().to_string();
        assert!(refused.contains("cannot be sampled with 64-bit words"), "{refused}");
    }
    // In a part of a combination too.
    let part = Protocol::grr(3, 1e-20).unwrap();
    assert!(Randomiser::new(&Protocol::product(vec![part.clone(), part]).unwrap()).is_err());
}

#[test]
fn a_large_composition_has_a_bound() {
    let map = Protocol::deterministic((0..5000).map(|x| x / 50).collect()).unwrap();
    let protocol = Protocol::composition(vec![map, Protocol::grr(100, 1.0).unwrap()]).unwrap();
    let realised = Randomiser::new(&protocol).unwrap().realised().clone();
    assert!(!realised.exact && realised.loss.within(1.0));
}

/// `(χ² − df)/√(2 df)` of reports on `x` against the matrix, over outputs with an expected count of at least 5; the others together.
fn chi_square(protocol: &Protocol, x: usize, reports: u64, seed: u64) -> f64 {
    let randomiser = Randomiser::new(protocol).unwrap();
    let mut generator = Generator::new(Randomness::InsecureTestSeed(seed), x as u64).unwrap();
    let column = protocol.column(x).unwrap();
    let mut counts = vec![0u64; column.len()];
    for _ in 0..reports {
        let output: Output = randomiser.report(x, &mut generator).unwrap();
        counts[protocol.row_of(&output).unwrap()] += 1;
    }
    let (mut cells, mut rare) = (Vec::new(), (0.0, 0.0));
    for (count, q) in counts.iter().zip(&column) {
        let expected = q * reports as f64;
        assert!(*count == 0 || *q > 0.0, "{protocol:?}: an impossible output");
        if expected >= 5.0 {
            cells.push((*count as f64, expected))
        } else {
            rare = (rare.0 + *count as f64, rare.1 + expected)
        }
    }
    if rare.1 > 0.0 {
        cells.push(rare);
    }
    let freedom = cells.len() as f64 - 1.0;
    if freedom < 1.0 {
        return 0.0;
    }
    let statistic: f64 = cells.iter().map(|(count, expected)| (count - expected).powi(2) / expected).sum();
    (statistic - freedom) / (2.0 * freedom).sqrt()
}

/// Each kind, and a nested combination, on each input, with a fixed seed. A χ² with one degree of freedom exceeds its mean by 14 standard
/// deviations (χ² > 20.8) with probability 5e-6, one with more by less; the 125 tests make a false alarm less likely than 7e-4.
#[test]
fn reports_follow_the_matrix() {
    let reports = if std::env::var_os("SOTTOVOCE_FULL").is_some() { 1_000_000 } else { 40_000 };
    let grr = Protocol::grr(4, 1.0).unwrap();
    let nested = Protocol::product(vec![
        Protocol::mixture(vec![0.3, 0.7], vec![Protocol::oue(4, 2.0).unwrap(), grr.clone()]).unwrap(),
        Protocol::composition(vec![Protocol::subset(4, 2, 1.0).unwrap(), Protocol::erasure(6, 0.6).unwrap()])
            .unwrap(),
    ]);
    let mut protocols = vec![
        grr,
        Protocol::identity(4).unwrap(),
        Protocol::ue(4, 0.7, 0.2).unwrap(),
        Protocol::rappor(4, 1.0).unwrap(),
        Protocol::oue(4, 3.0).unwrap(),
        Protocol::blh(4, 1.0).unwrap(),
        Protocol::lh(3, 3, 1.0).unwrap(),
        Protocol::lh(4, 2, 1.0).unwrap(),
        Protocol::subset(5, 2, 1.0).unwrap(),
        Protocol::subset(5, 4, 1.0).unwrap(),
        Protocol::block(5, 7, 3, 1.0).unwrap(),
        Protocol::block(13, 13, 4, 0.5).unwrap(),
        Protocol::block(6, 11, 6, 2.0).unwrap(),
        nested.unwrap(),
    ];
    protocols.extend(others(4));
    for (number, protocol) in protocols.iter().enumerate() {
        for x in 0..protocol.inputs() {
            let deviation = chi_square(protocol, x, reports, number as u64);
            assert!(deviation < 14.0, "{protocol:?}, x = {x}: {deviation}");
        }
    }
}

/// Wide reports: each bit, and each pair of neighbouring bits, as often as it should be. Normal deviates beyond 5.5 have probability 4e-8
/// each; 300 of them give a false alarm less often than once in 50 000.
#[test]
fn wide_reports_have_independent_bits() {
    let (a, x, reports) = (101, 64, 40_000u64);
    let oue = Protocol::oue(a, 1.0).unwrap();
    let lambda = 1.0 / (1f64.exp() + 1.0);
    let subset = Protocol::subset(a, 70, 1.0).unwrap();
    let inclusion = 70.0 * 1f64.exp() / (70.0 * 1f64.exp() + 31.0);
    for (protocol, own, other) in [(&oue, 0.5, lambda), (&subset, inclusion, (70.0 - inclusion) / 100.0)] {
        let randomiser = Randomiser::new(protocol).unwrap();
        let mut generator = Generator::new(Randomness::InsecureTestSeed(5), 0).unwrap();
        let (mut ones, mut pairs) = (vec![0u64; a], 0u64);
        for _ in 0..reports {
            let Output::Subset(members) = randomiser.report(x, &mut generator).unwrap() else {
                unreachable!()
            };
            members.iter().for_each(|member| ones[*member] += 1);
            pairs += members.windows(2).filter(|w| w[1] == w[0] + 1 && w[0] != x && w[1] != x).count() as u64;
        }
        let deviation = |count: u64, n: f64, p: f64| (count as f64 - n * p) / (n * p * (1.0 - p)).sqrt();
        for (at, count) in ones.iter().enumerate() {
            let z = deviation(*count, reports as f64, if at == x { own } else { other });
            assert!(z.abs() < 5.5, "{protocol:?}, bit {at}: {z}");
        }
        if protocol == &oue {
            // Neighbouring pairs overlap, so their count varies more than independent ones: by 1 + 2λ/(1+λ) at most.
            let z = deviation(pairs, reports as f64 * 98.0, lambda * lambda) / (1.0 + 2.0 * lambda).sqrt();
            assert!(z.abs() < 5.5, "{z}");
        }
    }
}

/// For each input all buckets take equally many seeds (up to one), and two inputs fall together once in `g` times: 4000 seeds, the same
/// false-alarm rate as above.
#[test]
fn hash_functions_spread_evenly() {
    use sottovoce::protocol::bucket;
    for (g, x, other) in [(2usize, 0usize, 1usize), (3, 5, 1000), (16, 0, 1 << 23), (7, 12, 13)] {
        let n = 400_000u64;
        let together = (0..n).filter(|seed| bucket(*seed, x, g) == bucket(*seed, other, g)).count() as f64;
        let (n, p) = (n as f64, 1.0 / g as f64);
        let z = (together - n * p) / (n * p * (1.0 - p)).sqrt();
        assert!(z.abs() < 5.5, "g = {g}: {z}");
    }
}

#[test]
fn an_input_that_does_not_exist_is_refused() {
    let randomiser = Randomiser::new(&Protocol::oue(3, 1.0).unwrap()).unwrap();
    let mut generator = Generator::new(Randomness::System, 0).unwrap();
    assert!(randomiser.report(3, &mut generator).is_err());
}

/// Test vectors of `docs/report-format.md`: a client in another language that has the same words makes the same reports.
#[test]
fn the_first_words_of_a_test_seed_are_fixed() {
    let mut generator = Generator::new(Randomness::InsecureTestSeed(1), 0).unwrap();
    let randomiser = Randomiser::new(&Protocol::grr(10, 1.0).unwrap()).unwrap();
    let reports: Vec<String> =
        (0..10).map(|x| randomiser.report(x, &mut generator).unwrap().to_string()).collect();
    assert_eq!(reports.join(" "), FIRST_REPORTS);
}

/// GRR, a = 10, epsilon = 1, test seed 1, on the values 0 to 9.
const FIRST_REPORTS: &str = "9 6 3 3 0 9 1 5 3 1";
