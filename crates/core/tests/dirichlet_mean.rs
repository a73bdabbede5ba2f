//! Means of linear forms of a Dirichlet vector against 60-digit values, over the whole range of extremes.
// The tables are lists of tuples, read once.
#![allow(clippy::type_complexity)]

use sottovoce::numerics::dirichlet_mean::LinearForm;
use sottovoce::numerics::trapezoid::Bounded;

include!("tables/dirichlet_mean.rs");

/// Largest relative error of a mean over the table. The stated bound must hold everywhere and be worth having.
fn worst(
    mean: impl Fn(&LinearForm) -> Bounded,
    value: impl Fn(&(&[(f64, f64)], f64, f64, f64)) -> f64,
) -> f64 {
    let mut worst = 0.0f64;
    for case in FORMS {
        let (found, expected) = (mean(&LinearForm::from_deviations(case.0)), value(case));
        let error = (found.value - expected).abs();
        assert!(error <= found.error, "{:?}: error {error:e} above the bound of {found:?}", case.0);
        assert!(found.error <= 1e-12 * expected.abs(), "{:?}: bound {:e} too wide", case.0, found.error);
        if error / expected.abs() > worst {
            worst = error / expected.abs();
            println!("{:?}: {found:?} for {expected:e}, relative error {worst:e}", case.0);
        }
    }
    worst
}

#[test]
fn mean_ln_keeps_relative_accuracy() {
    assert!(worst(LinearForm::mean_ln_scaled, |case| case.1) < 2e-14);
}

#[test]
fn mean_excess_keeps_relative_accuracy() {
    assert!(worst(LinearForm::mean_excess, |case| case.2) < 2e-14);
}

#[test]
fn jensen_gap_keeps_relative_accuracy() {
    assert!(worst(LinearForm::jensen_gap, |case| case.3) < 2e-14);
}

#[test]
fn constant_form_is_exactly_zero() {
    let form = LinearForm::from_deviations(&[(0.3, 0.7), (2.0, 0.7)]);
    assert_eq!(form.mean_excess(), Bounded::default());
    assert_eq!(form.jensen_gap(), Bounded::default());
    assert_eq!(form.mean_ln().value, 0.7f64.ln_1p());
}

#[test]
fn scale_moves_only_the_mean() {
    let pairs = [(0.5, 0.125), (1.5, 2.0), (3.0, 0.0)];
    let form = LinearForm::from_coefficients(&pairs);
    let scaled = LinearForm::from_coefficients(&pairs.map(|(alpha, c)| (alpha, 1024.0 * c)));
    assert_eq!(form.mean_excess(), scaled.mean_excess());
    assert!((scaled.mean_ln().value - form.mean_ln().value - 1024f64.ln()).abs() < 1e-14);
}
