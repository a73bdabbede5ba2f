//! The privacy level that is really kept, worked out a second time: thresholds by the table of `docs/report-format.md`, the matrix from the
//! thresholds, the level from the matrix, all in whole numbers and with bounds of `e^ε` of its own. Nothing here calls the library but to
//! compare with it.

use num_bigint::BigUint;
use sottovoce::protocol::UnarySetting;
use sottovoce::{Output, Protocol};
use sottovoce_collect::randomise::Randomiser;

/// Binary digits after the point of the bounds of the exponential function.
const DIGITS: u64 = 512;

fn big(n: u64) -> BigUint {
    BigUint::from(n)
}

/// The number of random words.
fn words() -> BigUint {
    big(1) << 64u32
}

fn divided_up(numerator: &BigUint, denominator: &BigUint) -> BigUint {
    (numerator + denominator - 1u8) / denominator
}

/// A double of 0 or more as `numerator / 2^1074`.
fn exactly(value: f64) -> BigUint {
    let (exponent, fraction) = (value.to_bits() >> 52, value.to_bits() << 12 >> 12);
    if exponent == 0 { big(fraction) } else { big(fraction | 1 << 52) << (exponent - 1) }
}

/// Whole numbers `(L, U)` with `L ≤ e^x 2^DIGITS ≤ U`: the power series at `x` itself, each term once rounded down and once up.
fn exponential(x: f64) -> (BigUint, BigUint) {
    let (numerator, scale) = (exactly(x), big(1) << 1074u32);
    let (mut low, mut high) = (big(1) << DIGITS, big(1) << DIGITS);
    let (mut low_sum, mut high_sum) = (low.clone(), high.clone());
    for n in 1u64.. {
        let divisor = &scale * n;
        low = low * &numerator / &divisor;
        high = divided_up(&(high * &numerator), &divisor);
        low_sum += &low;
        high_sum += &high;
        // From here on each term is less than half of the one before.
        if n as f64 > 2.0 * x && high <= big(1) {
            return (low_sum, high_sum + 1u8);
        }
    }
    unreachable!("the series goes on until it ends");
}

#[test]
fn bounds_hold_e_to_a_hundred_digits() {
    let digits = "27182818284590452353602874713526624977572470936999595749669676277240766303535475945713821785251664274";
    let e: BigUint = digits.parse().unwrap();
    let (low, high) = exponential(1.0);
    let scale = big(10).pow(digits.len() as u32 - 1);
    assert!(&low * &scale < (&e + 1u8) << DIGITS && &high * &scale > e << DIGITS);
    assert!(high - low < big(1) << 12u32);
    assert_eq!(exponential(0.0).0, big(1) << DIGITS);
}

/// `⌈W·weight/(factor·e^exponent + rest)⌉`, the same from both bounds of the exponential function.
fn rare_words(weight: u64, factor: u64, exponent: f64, rest: u64) -> BigUint {
    let (low, high) = exponential(exponent);
    let from =
        |e: BigUint| divided_up(&((words() * weight) << DIGITS), &(e * factor + (big(rest) << DIGITS)));
    let (from_low, from_high) = (from(low), from(high));
    assert_eq!(from_low, from_high);
    from_low
}

/// `Q_{y|x} = rows[y][x] / denominator`.
struct Channel {
    rows: Vec<Vec<BigUint>>,
    denominator: BigUint,
}

fn channel(protocol: &Protocol, epsilon: f64) -> Channel {
    let (a, w) = (protocol.inputs(), words());
    let outputs: Vec<Output> = (0..protocol.outputs().unwrap()).map(|y| protocol.output(y)).collect();
    let filled = |denominator: BigUint, entry: &dyn Fn(&Output, usize) -> BigUint| Channel {
        rows: outputs.iter().map(|y| (0..a).map(|x| entry(y, x)).collect()).collect(),
        denominator,
    };
    let part = |protocol: &Protocol| channel(protocol, epsilon);
    match protocol {
        Protocol::Identity(_) => filled(big(1), &|y, x| big((*y == Output::Index(x)).into())),
        Protocol::Deterministic(f) => filled(big(1), &|y, x| big((*y == Output::Index(f.map()[x])).into())),
        Protocol::GeneralisedRandomisedResponse(_) => {
            let (truth, lie) = response(a as u64, epsilon);
            filled(w, &|y, x| if *y == Output::Index(x) { truth.clone() } else { lie.clone() })
        }
        Protocol::LocalHash(hash) => {
            let g = hash.buckets() as u64;
            let (truth, lie) = response(g, epsilon);
            filled(w * big(g).pow(a as u32), &|y, x| match y {
                Output::Table { values, z } if values[x] == *z => truth.clone(),
                _ => lie.clone(),
            })
        }
        Protocol::UnaryEncoding(ue) => {
            let half = &w / 2u8;
            let (kappa, lambda) = match ue.setting() {
                UnarySetting::Rappor { .. } => {
                    let flip = rare_words(1, 1, epsilon / 2.0, 1);
                    (&w - &flip, flip)
                }
                UnarySetting::Oue { .. } => (half, rare_words(1, 1, epsilon, 1)),
                UnarySetting::Blh { .. } => (&w - rare_words(1, 1, epsilon, 1), half),
                _ => {
                    let unit = big(1) << 1074u32;
                    (
                        exactly(ue.bits().kappa) * &w / &unit,
                        divided_up(&(exactly(ue.bits().lambda) * &w), &unit),
                    )
                }
            };
            filled(w.pow(a as u32), &|y, x| {
                let Output::Subset(members) = y else { panic!("{y}") };
                let bit = |at: usize| {
                    let set = if at == x { &kappa } else { &lambda };
                    if members.contains(&at) { set.clone() } else { &w - set }
                };
                (0..a).map(bit).product()
            })
        }
        Protocol::SubsetSelection(subset) => {
            let k = subset.size() as u64;
            let out = rare_words(a as u64 - k, k, epsilon, a as u64 - k);
            let (with, without) = (binomial(a as u64 - 1, k - 1), binomial(a as u64 - 1, k).max(1));
            filled(&w * with * without, &|y, x| match y {
                Output::Subset(members) if members.contains(&x) => (&w - &out) * without,
                _ => &out * with,
            })
        }
        Protocol::Block(block) => {
            let (v, k) = (block.order() as u64, block.size() as u64);
            let out = rare_words(v - k, k, epsilon, v - k);
            let elements: Vec<usize> = block.set().elements().iter().map(|d| *d as usize).collect();
            filled(&w * k * (v - k), &|y, x| match y {
                Output::Index(y) if elements.iter().any(|d| (d + y) % v as usize == x) => {
                    (&w - &out) * (v - k)
                }
                _ => &out * k,
            })
        }
        Protocol::Erasure(erasure) => {
            let reveal = (exactly(erasure.reveal()) * &w) >> 1074u32;
            filled(w.clone(), &|y, x| match y {
                Output::Index(y) if *y == a => &w - &reveal,
                Output::Index(y) if *y == x => reveal.clone(),
                _ => big(0),
            })
        }
        Protocol::Matrix(matrix) => {
            let rows: Vec<Vec<BigUint>> =
                matrix.rows().map(|row| row.iter().map(rounded).collect()).collect();
            let shares = std::iter::once(None).chain((8..=52).rev().step_by(4).map(Some));
            let mut channels = shares.map(|shift| Channel {
                rows: completed(&rows.iter().map(|row| mixed(row, shift)).collect::<Vec<_>>()),
                denominator: w.clone(),
            });
            let level = protocol.level().unwrap();
            let kept = |channel: &Channel| {
                loss(channel)
                    .is_none_or(|(high, low)| &high << DIGITS <= &low * exponential(level.min(2000.0)).0)
            };
            channels.find(kept).unwrap()
        }
        Protocol::Composition(composition) => {
            let mut steps = composition.steps().iter().map(part);
            let first = steps.next().unwrap();
            steps.fold(first, |before, after| {
                let entry = |weights: &[BigUint], x: usize| -> BigUint {
                    weights.iter().zip(&before.rows).map(|(weight, row)| weight * &row[x]).sum()
                };
                Channel {
                    rows: after.rows.iter().map(|row| (0..a).map(|x| entry(row, x)).collect()).collect(),
                    denominator: before.denominator.clone() * after.denominator,
                }
            })
        }
        Protocol::Product(product) => {
            let mut factors = product.factors().iter().map(part);
            let first = factors.next().unwrap();
            factors.fold(first, |left, right| {
                let both = |l: &Vec<BigUint>, r: &Vec<BigUint>| l.iter().zip(r).map(|(l, r)| l * r).collect();
                let rows = left.rows.iter().flat_map(|l| right.rows.iter().map(move |r| both(l, r)));
                Channel { rows: rows.collect(), denominator: &left.denominator * &right.denominator }
            })
        }
        Protocol::Mixture(mixture) => {
            let (weights, parts) = (wheel(mixture.weights()), mixture.parts().iter().map(part));
            let parts: Vec<Channel> = parts.collect();
            let all: BigUint = parts.iter().map(|part| &part.denominator).product();
            let rows = parts.iter().zip(weights).flat_map(|(part, weight)| {
                let factor = &all / &part.denominator * weight;
                part.rows.iter().map(move |row| row.iter().map(|entry| entry * &factor).collect())
            });
            Channel { rows: rows.collect(), denominator: &all * w }
        }
    }
}

/// The words for the truth and for each lie.
fn response(a: u64, epsilon: f64) -> (BigUint, BigUint) {
    let lie = rare_words(1, 1, epsilon, a - 1);
    (words() - &lie * (a - 1), lie)
}

/// A probability rounded down, a positive one at least to a word.
fn rounded(q: &f64) -> BigUint {
    ((exactly(*q) * words()) >> 1074u32).max(big((*q > 0.0).into()))
}

/// A row with a share `2^−shift` of its mean.
fn mixed(row: &[BigUint], shift: Option<u32>) -> Vec<BigUint> {
    let Some(shift) = shift else { return row.to_vec() };
    let mean = row.iter().sum::<BigUint>() / row.len();
    row.iter().map(|entry| entry - (entry >> shift) + (&mean >> shift)).collect()
}

/// The rows of the columns that are complete.
fn completed(rows: &[Vec<BigUint>]) -> Vec<Vec<BigUint>> {
    let column = |x: usize| complete(rows.iter().map(|row| row[x].clone()).collect());
    let columns: Vec<Vec<BigUint>> = (0..rows[0].len()).map(column).collect();
    (0..rows.len()).map(|y| columns.iter().map(|column| column[y].clone()).collect()).collect()
}

/// Probabilities rounded down, positive ones at least to a word; the rest goes to the likeliest.
fn wheel(probabilities: &[f64]) -> Vec<BigUint> {
    complete(probabilities.iter().map(rounded).collect())
}

fn complete(mut all: Vec<BigUint>) -> Vec<BigUint> {
    let likeliest = (0..all.len()).max_by(|i, j| all[*i].cmp(&all[*j])).unwrap();
    let others: BigUint = all.iter().enumerate().filter(|(y, _)| *y != likeliest).map(|(_, n)| n).sum();
    all[likeliest] = words() - others;
    all
}

fn binomial(n: u64, k: u64) -> u64 {
    if k > n { 0 } else { (0..k).fold(1, |product, i| product * (n - i) / (i + 1)) }
}

/// The largest ratio within a row, `None` if it is infinite.
fn loss(channel: &Channel) -> Option<(BigUint, BigUint)> {
    let mut most = (big(1), big(1));
    for row in channel.rows.iter().filter(|row| row.iter().any(|entry| *entry > big(0))) {
        let (low, high) = (row.iter().min().unwrap(), row.iter().max().unwrap());
        if *low == big(0) {
            return None;
        }
        if high * &most.1 > low * &most.0 {
            most = (high.clone(), low.clone());
        }
    }
    Some(most)
}

/// Compares matrix and level of the library with those worked out here, and the level with the declared one.
fn check(protocol: &Protocol, epsilon: f64, declared: Option<f64>) {
    let (randomiser, own) = (Randomiser::new(protocol).unwrap(), channel(protocol, epsilon));
    for x in 0..protocol.inputs() {
        let sum: BigUint = own.rows.iter().map(|row| &row[x]).sum();
        assert_eq!(sum, own.denominator, "{protocol:?}, column {x}");
    }
    let found = randomiser.matrix().unwrap_or_else(|| panic!("{protocol:?}: no exact matrix"));
    assert_eq!(found.rows.len(), own.rows.len(), "{protocol:?}");
    for (found_row, row) in found.rows.iter().zip(&own.rows) {
        for (f, o) in found_row.iter().zip(row) {
            assert_eq!(f * &own.denominator, o * &found.denominator, "{protocol:?}");
        }
    }
    let level = randomiser.realised().loss.level();
    assert!(randomiser.realised().exact, "{protocol:?}");
    let Some((high, low)) = loss(&own) else {
        assert_eq!((level, declared), (f64::INFINITY, None), "{protocol:?}");
        return;
    };
    let certainly_within = |epsilon: f64| &high << DIGITS <= &low * exponential(epsilon).0;
    let certainly_above = |epsilon: f64| &high << DIGITS > &low * exponential(epsilon).1;
    assert!(declared.is_none_or(certainly_within), "{protocol:?}: more than declared");
    // The level that is told is the logarithm, rounded up to a double.
    assert!(certainly_within(level), "{protocol:?}: {level} is too low");
    assert!(level == 0.0 || certainly_above(level.next_down()), "{protocol:?}: {level} is too high");
}

const LEVELS: [f64; 10] = [1e-9, 1e-6, 0.01, 0.5, 1.0, 1.0986122886681098, 3.0, 10.0, 50.0, 100.0];

#[test]
fn kinds_with_a_level_realise_it() {
    for a in 2..=6 {
        for epsilon in LEVELS {
            let mut all = vec![
                Protocol::grr(a, epsilon).unwrap(),
                Protocol::rappor(a, epsilon).unwrap(),
                Protocol::oue(a, epsilon).unwrap(),
                Protocol::blh(a, epsilon).unwrap(),
            ];
            // g^a functions with g buckets each, as far as the library makes exact matrices.
            let small = |g: &usize| a * g.pow(a as u32 + 1) <= 1 << 15;
            all.extend((1..=5).filter(small).map(|g| Protocol::lh(a, g, epsilon).unwrap()));
            all.extend((1..=a).map(|k| Protocol::subset(a, k, epsilon).unwrap()));
            all.extend([(7, 3), (7, 4), (11, 5)].map(|(v, k)| Protocol::block(a, v, k, epsilon).unwrap()));
            all.iter().for_each(|protocol| check(protocol, epsilon, Some(epsilon)));
        }
    }
}

#[test]
fn other_kinds_and_combinations_have_their_own_level() {
    for a in 2..=5 {
        let epsilon = 1.0;
        let grr = || Protocol::grr(a, epsilon).unwrap();
        let map = || Protocol::deterministic((0..a).map(|x| x / 2).collect()).unwrap();
        let uneven = |y: usize, x: usize| if y == x { 0.51 } else { 0.49 / (a - 1) as f64 };
        let matrix =
            || Protocol::matrix((0..a).map(|y| (0..a).map(|x| uneven(y, x)).collect()).collect()).unwrap();
        let mixture = || {
            let parts =
                vec![grr(), Protocol::identity(a).unwrap(), matrix(), Protocol::oue(a, epsilon).unwrap()];
            Protocol::mixture(vec![0.1, 0.0, 0.6, 0.3], parts).unwrap()
        };
        let composition = |steps: Vec<Protocol>| Protocol::composition(steps).unwrap();
        for protocol in [
            Protocol::identity(a).unwrap(),
            map(),
            Protocol::ue(a, 0.7, 0.2).unwrap(),
            Protocol::ue(a, 1.0, 1e-30).unwrap(),
            Protocol::ue(a, 0.5, 0.0).unwrap(),
            Protocol::erasure(a, 0.3).unwrap(),
            Protocol::erasure(a, 5e-324).unwrap(),
            matrix(),
            mixture(),
            composition(vec![grr(), map()]),
            composition(vec![
                Protocol::erasure(a, 0.7).unwrap(),
                Protocol::subset(a + 1, 2, epsilon).unwrap(),
            ]),
            composition(vec![Protocol::lh(a, 2, epsilon).unwrap(), Protocol::erasure(2 << a, 0.3).unwrap()]),
            Protocol::product(vec![grr(), matrix(), Protocol::rappor(a, epsilon).unwrap()]).unwrap(),
            Protocol::product(vec![mixture(), composition(vec![grr(), matrix()])]).unwrap(),
        ] {
            check(&protocol, epsilon, None);
        }
    }
}

/// Matrices of all kinds of levels and of entries down to a few words keep their level or are refused. Rows are tight: each has the full
/// ratio, so that any rounding in the wrong direction shows.
#[test]
fn matrices_keep_their_level_or_are_refused() {
    let (mut kept, mut refused) = (0, 0);
    let mut state = 1u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for case in 0..600 {
        let (a, b) = (2 + case % 4, 2 + case % 5);
        let (level, smallest) = (10f64.powf(4.0 * draw() - 3.0), 10f64.powf(-20.0 * draw()));
        let mut rows: Vec<Vec<f64>> = (0..b)
            .map(|y| {
                let weight = if y == 0 { smallest } else { draw() };
                (0..a).map(|_| weight * if draw() < 0.5 { level.exp() } else { 1.0 }).collect()
            })
            .collect();
        for x in 0..a {
            let sum: f64 = rows.iter().map(|row| row[x]).sum();
            rows.iter_mut().for_each(|row| row[x] /= sum);
        }
        let protocol = Protocol::matrix(rows).unwrap();
        match Randomiser::new(&protocol) {
            Ok(_) => {
                kept += 1;
                check(&protocol, 0.0, Some(protocol.level().unwrap()));
            }
            Err(_) => refused += 1,
        }
    }
    assert!(kept > 450 && refused > 10, "{kept} {refused}");
}

/// Entries of one and two words stand for 1e-19 and 1.09e-19.
#[test]
fn a_matrix_of_few_words_is_refused() {
    let rows = |scale: f64| vec![vec![1e-19 * scale, 1.09e-19 * scale], vec![1.0, 1.0]];
    let refused = Randomiser::new(&Protocol::matrix(rows(1.0)).unwrap()).unwrap_err();
    assert!(refused.to_string().contains("the reports would have level 6.9"), "{refused}");
    let large = Protocol::matrix(rows(1e6)).unwrap();
    check(&large, 0.0, Some(large.level().unwrap()));
    // In a part of a combination too.
    let part = Protocol::matrix(rows(1.0)).unwrap();
    assert!(Randomiser::new(&Protocol::product(vec![part.clone(), part]).unwrap()).is_err());
}

/// Levels that 64-bit words cannot keep are refused; the smallest that is kept is kept exactly.
#[test]
fn what_words_cannot_keep_is_refused() {
    for a in 2..=6 {
        for epsilon in [1e-20, 1e-19] {
            assert!(Randomiser::new(&Protocol::grr(a, epsilon).unwrap()).is_err(), "a = {a}, {epsilon}");
        }
        for epsilon in (10..=19).map(|digits| 10f64.powi(-digits)) {
            for protocol in [Protocol::grr(a, epsilon).unwrap(), Protocol::oue(a, epsilon).unwrap()] {
                if Randomiser::new(&protocol).is_ok() {
                    check(&protocol, epsilon, Some(epsilon));
                }
            }
        }
    }
}
