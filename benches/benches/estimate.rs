//! Maximum likelihood at scale: water-filling, and unary encoding on packed bits with its certificate.

use std::time::Duration;

use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use sottovoce::estimate::maximum_likelihood::maximum_likelihood;
use sottovoce::estimate::{Estimation, Estimator, LeftInverse, Reports, Supports};
use sottovoce::{Output, Protocol, Tallies};
use stopwatch::{full, once, peak_memory, quotable, rounded, shortest, two_digits};

fn main() {
    water_filling(1024, 1_000_000);
    unary_encoding(16, 1.0, 1_000_000);
    unary_encoding(128, 1.0, 100_000);
    let (time, gap) = unary_encoding(128, 1.0, 1_000_000);
    quotable(
        "ml.oue",
        rounded(time),
        "maximum likelihood of OUE, 128 values, a million reports, epsilon = 1",
    );
    quotable("ml.oue_gap", format!("{gap:.1e}"), "nats within which that estimate is certified");
    let memory = peak_memory().map_or_else(|| "unknown".into(), |mb| format!("{} MB", two_digits(mb)));
    quotable("ml.oue_memory", memory, "memory that it takes");
    if full() {
        unary_encoding(128, 0.5, 1_000_000);
    }
}

/// A value with frequency proportional to 1/(x + 1).
fn value(a: usize, rng: &mut ChaCha8Rng) -> usize {
    let total: f64 = (1..=a).map(|x| 1.0 / x as f64).sum();
    let mut rest = rng.random::<f64>() * total;
    (0..a)
        .find(|x| {
            rest -= 1.0 / (*x + 1) as f64;
            rest < 0.0
        })
        .unwrap_or(a - 1)
}

fn water_filling(a: usize, n: u64) {
    let grr = Protocol::grr(a, 1.0).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut counts = vec![0; a];
    for _ in 0..n {
        let x = value(a, &mut rng);
        let Output::Index(y) = grr.sample(x, &mut rng).unwrap() else { return };
        counts[y] += 1;
    }
    let reports = Reports::Supports(Supports::new(&grr, n, counts).unwrap());
    let linear = LeftInverse::of(&grr).unwrap().estimate(&grr, &reports).unwrap();
    let found = maximum_likelihood(&grr, &reports, linear.values(), 1e-6).unwrap();
    let time = shortest(|| maximum_likelihood(&grr, &reports, linear.values(), 1e-6).unwrap());
    println!(
        "maximum likelihood, GRR a = {a}, n = {n}: {time:.1?}, gap {:.1e} nats\n",
        found.certificate.gap
    );
    quotable("ml.grr", rounded(time), "maximum likelihood of GRR, 1024 values, a million reports");
}

/// Prints what the estimate took, and gives its time and its gap in nats.
fn unary_encoding(a: usize, epsilon: f64, n: usize) -> (Duration, f64) {
    let oue = Protocol::oue(a, epsilon).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut counts = std::collections::HashMap::<Output, u64>::new();
    for _ in 0..n {
        let x = value(a, &mut rng);
        *counts.entry(oue.sample(x, &mut rng).unwrap()).or_default() += 1;
    }
    let tallies = Tallies::new(&oue, counts).unwrap();
    let estimation = Estimation::new(&oue, Reports::Tallies(tallies), 0.95).unwrap();
    let (time, found) = once(|| estimation.estimate(Estimator::MaximumLikelihood).unwrap());
    let certificate = found.certificate.unwrap();
    println!("maximum likelihood, OUE a = {a}, eps = {epsilon}, n = {n}");
    println!(
        "  {time:.2?}, {} passes, gap {:.1e} nats ({})",
        certificate.passes,
        certificate.gap,
        if certificate.holds() { "certified" } else { "not reached" }
    );
    println!("  {}\n", peak_memory().map_or_else(String::new, |mb| format!("peak {mb:.0} MB")));
    (time, certificate.gap)
}
