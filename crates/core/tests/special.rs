//! The special functions against 60-digit values.
// A table may hold ln 2.
#![allow(clippy::approx_constant)]

use sottovoce::special::*;

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
