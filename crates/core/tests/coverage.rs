//! Do stated standard errors hold?
//!
//! 200 seeds a case. If the errors are honest the number of misses of ±1.96 errors is binomial(200, 0.05): mean 10, standard deviation 3.1; the
//! accepted range 1..=22 has a false-alarm rate below 5e-4 a case.

use sottovoce::fisher::expectation::{cubature, quasi_monte_carlo};
use sottovoce::fisher::{DenseMatrix, FisherInformation, SubsetSelection, UnaryEncoding};
use sottovoce::protocol::BitNoise;

fn misses(fisher: &dyn FisherInformation, alpha: &[f64], exact: f64, evaluations: usize) -> usize {
    let miss = |seed: &u64| {
        let found = quasi_monte_carlo::mean_ln_det(fisher, alpha, 0.0, evaluations, *seed);
        (found.value - exact).abs() > 1.96 * found.error
    };
    (0..200).filter(miss).count()
}

fn check(name: &str, fisher: &dyn FisherInformation, alpha: &[f64], evaluations: usize) {
    let exact = cubature::mean_ln_det(fisher, alpha, 1e-8, 1 << 20).expect("few inputs");
    let sample = quasi_monte_carlo::mean_ln_det(fisher, alpha, 0.0, evaluations, 1);
    assert!(exact.error < 0.02 * sample.error, "{name}: {exact:?} {sample:?}");
    let misses = misses(fisher, alpha, exact.value, evaluations);
    println!("{name}: {misses} misses of 200, error {:.1e}", sample.error);
    assert!((1..=22).contains(&misses), "{name}: {misses} misses of 200");
}

#[test]
fn unary_encoding_with_few_points() {
    check("OUE(1), a = 4", &UnaryEncoding::new(4, &BitNoise::oue(1.0), 1e-10), &[0.5; 4], 128);
}

#[test]
fn unary_encoding_with_many_points() {
    check("RAPPOR(2), a = 4", &UnaryEncoding::new(4, &BitNoise::rappor(2.0), 1e-10), &[0.5; 4], 2048);
}

#[test]
fn five_inputs_and_a_lopsided_prior() {
    check(
        "OUE(1), a = 5",
        &UnaryEncoding::new(5, &BitNoise::oue(1.0), 1e-10),
        &[0.05, 0.3, 1.0, 2.0, 5.0],
        512,
    );
}

#[test]
fn subsets() {
    check("subset(2, 1), a = 5", &SubsetSelection::new(5, 2, 1.0, 1e-10), &[0.5; 5], 256);
}

#[test]
fn matrix_with_zeros() {
    let rows = vec![0.75, 0.0, 0.4, 0.25, 0.8, 0.0, 0.0, 0.2, 0.6];
    check("zeros, a = 3", &DenseMatrix::new(3, rows), &[0.3, 0.5, 1.5], 1024);
}

#[test]
fn corners_of_the_simplex() {
    check("OUE(3), a = 3", &UnaryEncoding::new(3, &BitNoise::oue(3.0), 1e-10), &[0.02; 3], 4096);
}

#[test]
fn thirty_inputs_against_a_long_run() {
    let (protocol, alpha) = (UnaryEncoding::new(30, &BitNoise::oue(4.0), 1e-9), [0.5; 30]);
    let long = quasi_monte_carlo::mean_ln_det(&protocol, &alpha, 0.0, 1 << 15, 999);
    let short = quasi_monte_carlo::mean_ln_det(&protocol, &alpha, 0.0, 128, 1);
    assert!(long.error < 0.1 * short.error);
    let misses = misses(&protocol, &alpha, long.value, 128);
    println!("OUE(4), a = 30: {misses} misses of 200, error {:.1e}", short.error);
    assert!((1..=22).contains(&misses), "{misses} misses of 200");
}
