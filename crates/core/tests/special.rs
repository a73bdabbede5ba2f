//! The special functions against 60-digit values.
// A table may hold ln 2.
#![allow(clippy::approx_constant, clippy::excessive_precision)]

use sottovoce::numerics::special::*;

include!("tables/special.rs");

/// Largest error, relative to the larger of the value and `floor`.
fn worst<const N: usize>(rows: impl Iterator<Item = ([f64; N], f64, f64)>, floor: f64) -> f64 {
    let mut worst = 0.0f64;
    for (arguments, found, expected) in rows {
        let error = (found - expected).abs() / expected.abs().max(floor);
        assert!(error.is_finite(), "{arguments:?}: {found} for {expected}");
        if error > worst {
            println!("{arguments:?}: {found:e} for {expected:e}, error {error:e}");
            worst = error;
        }
    }
    worst
}

fn worst_of_one(table: &[(f64, f64)], f: impl Fn(f64) -> f64) -> f64 {
    worst(table.iter().map(|&(x, value)| ([x], f(x), value)), f64::MIN_POSITIVE)
}

fn worst_of_two(table: &[(f64, f64, f64)], floor: f64, f: impl Fn(f64, f64) -> f64) -> f64 {
    worst(table.iter().map(|&(x, y, value)| ([x, y], f(x, y), value)), floor)
}

#[test]
fn gamma_family_is_exact_to_rounding() {
    assert!(worst_of_one(LN_GAMMA, ln_gamma) < 1e-15);
    assert!(worst_of_one(DIGAMMA, digamma) < 1e-15);
    assert!(worst_of_one(TRIGAMMA, trigamma) < 3e-15);
}

/// `(alpha, u, quantile)` with 18 digits, by bisection of the power series of the distribution function in 30 digits.
const GAMMA_QUANTILE: &[(f64, f64, f64)] = &[
    (0.01, 0.9, 0.0000150359362307029491),
    (0.01, 0.999, 1.50908414769474993),
    (0.01, 0.999999999, 13.4818148715960583),
    (0.1, 0.1, 6.07304836274318384e-11),
    (0.1, 0.5, 0.000593391104460226174),
    (0.1, 0.9, 0.266154553738837856),
    (0.1, 0.999, 3.36367701171875368),
    (0.1, 0.999999999, 15.9272310527473209),
    (0.5, 0.001, 7.85398574631244972e-7),
    (0.5, 0.1, 0.00789538704671561332),
    (0.5, 0.5, 0.227468211559786376),
    (0.5, 0.9, 1.35277172704770746),
    (0.5, 0.999, 5.41378308533136532),
    (0.5, 0.999999999, 18.6624465532593598),
    (1.0, 1e-09, 1.00000000050000006e-9),
    (1.0, 0.001, 0.00100050033358353352),
    (1.0, 0.1, 0.105360515657826307),
    (1.0, 0.5, 0.693147180559945309),
    (1.0, 0.9, 2.30258509299404591),
    (1.0, 0.999, 6.90775527898213616),
    (1.0, 0.999999999, 20.723265865228343),
    (3.7, 1e-09, 0.00775308580677093214),
    (3.7, 0.001, 0.348643700878962929),
    (3.7, 0.1, 1.54636082239002465),
    (3.7, 0.5, 3.37253801323641491),
    (3.7, 0.9, 6.27892232102263438),
    (3.7, 0.999, 12.524783303198978),
    (3.7, 0.999999999, 28.4292520457411285),
    (50.0, 1e-09, 18.4546489685909908),
    (50.0, 0.001, 30.9589696034683116),
    (50.0, 0.1, 41.1790679061785731),
    (50.0, 0.5, 49.6670646179942279),
    (50.0, 0.9, 59.2490019055310528),
    (50.0, 0.999, 74.7246263895193532),
    (50.0, 0.999999999, 104.658799405672209),
    (1000.0, 1e-09, 821.832753583170835),
    (1000.0, 0.001, 905.120790934976618),
    (1000.0, 0.1, 959.693932728833312),
    (1000.0, 0.5, 999.666686426965182),
    (1000.0, 0.9, 1040.7343080136901),
    (1000.0, 0.999, 1100.5780982933146),
    (1000.0, 0.999999999, 1201.47287311169438),
    (10000.0, 1e-09, 9411.82841144586419),
    (10000.0, 0.001, 9693.82438582372587),
    (10000.0, 0.1, 9872.06087504973578),
    (10000.0, 0.5, 9999.66666864204742),
    (10000.0, 0.9, 10128.3673736741768),
    (10000.0, 0.999, 10311.8752245395379),
    (10000.0, 0.999999999, 10611.4863648889956),
];

#[test]
fn gamma_quantiles_are_exact_to_rounding() {
    assert!(worst_of_two(GAMMA_QUANTILE, f64::MIN_POSITIVE, gamma_quantile) < 1e-14);
}

#[test]
fn excess_functions_keep_relative_accuracy() {
    assert!(worst_of_one(LN1P_EXCESS, ln1p_excess) < 1e-15);
    assert!(worst_of_one(EXCESS_ENTROPY, excess_entropy) < 1e-15);
    assert!(worst_of_one(EXP_M1_EXCESS, exp_m1_excess) < 1e-15);
    assert!(worst_of_two(POWER_EXCESS, f64::MIN_POSITIVE, power_excess) < 4e-15);
}

#[test]
fn digamma_difference_keeps_relative_accuracy() {
    assert!(worst_of_two(DIGAMMA_DIFFERENCE, f64::MIN_POSITIVE, digamma_difference) < 2e-15);
}

#[test]
fn ln_beta_is_exact_to_rounding() {
    assert!(worst_of_two(LN_BETA, 1.0, ln_beta) < 2e-15);
    let groups = |x, y| ln_beta_groups(&[(x, 1), (y, 1)]);
    assert!(worst_of_two(LN_BETA, 1.0, groups) < 2e-15);
}

#[test]
fn ln_beta_of_groups_is_exact_to_rounding_of_its_largest_term() {
    for &(groups, expected) in LN_BETA_GROUPS {
        let total: f64 = groups.iter().map(|&(alpha, count)| alpha * count as f64).sum();
        let parts: f64 = groups.iter().map(|&(alpha, count)| count as f64 * ln_gamma(alpha).abs()).sum();
        let large = groups.iter().all(|&(alpha, _)| alpha >= 10.0);
        let scale = if large { expected.abs() } else { parts.max(ln_gamma(total).abs()) };
        let error = (ln_beta_groups(groups) - expected).abs() / scale.max(1.0);
        println!("{groups:?}: error {error:e}");
        assert!(error < 3e-15, "{groups:?}: error {error:e}");
    }
}

#[test]
fn binomial_probability_keeps_relative_accuracy() {
    let row = |&(n, q, x, value)| ([n, q, x], binomial_probability(n, q, x), value);
    assert!(worst(BINOMIAL.iter().map(row), f64::MIN_POSITIVE) < 2e-14);
}
