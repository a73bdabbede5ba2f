//! Posteriors at scale: exact draws of randomised response, and chains for unary encoding with full patterns.

use std::collections::BTreeMap;
use std::time::Duration;

use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use sottovoce::information::Choice;
use sottovoce::posterior::{PosteriorOptions, exact_draws, posterior};
use sottovoce::prior::Dirichlet;
use sottovoce::protocol::GeneralisedRandomisedResponse;
use sottovoce::{Output, Prior, Protocol, Tallies};
use stopwatch::{once, peak_memory};

fn main() {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let asked = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    if asked("grr") {
        randomised_response(128, 100_000);
        randomised_response(1024, 1_000_000);
    }
    if asked("many") {
        many_reports(3);
        many_reports(16);
    }
    if asked("oue") {
        unary_encoding(128, 100_000, 1.0);
    }
}

/// Frequencies that fall like those of words: `1/(x + 3)`.
fn frequencies(a: usize) -> Vec<f64> {
    let weights: Vec<f64> = (0..a).map(|x| 1.0 / (x as f64 + 3.0)).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|w| w / total).collect()
}

fn simulated(protocol: &Protocol, n: usize) -> Tallies {
    let (p, mut rng) = (frequencies(protocol.inputs()), ChaCha8Rng::seed_from_u64(1));
    let mut counts = BTreeMap::<Output, u64>::new();
    for _ in 0..n {
        let mut rest = rng.random::<f64>();
        let x = p.iter().position(|p_x| {
            rest -= p_x;
            rest < 0.0
        });
        *counts.entry(protocol.sample(x.unwrap_or(0), &mut rng).unwrap()).or_default() += 1;
    }
    Tallies::new(protocol, counts).unwrap()
}

fn randomised_response(a: usize, n: usize) {
    let (protocol, prior) = (Protocol::grr(a, 1.0).unwrap(), Dirichlet::jeffreys(a).unwrap());
    let tallies = simulated(&protocol, n);
    let response = GeneralisedRandomisedResponse::new(a, 1.0).unwrap();
    println!("GRR a = {a}, n = {n}, eps = 1, Jeffreys");
    let ((wall, draws), cpu) = with_cpu(|| exact_draws(&response, &tallies, &prior, 1000, 1).unwrap());
    println!("  {} exact independent draws: {cpu:.3?} CPU, {wall:.3?}, {}", draws.p.len(), memory());
    let prior = Prior::Dirichlet(prior);
    let ((wall, _), cpu) =
        with_cpu(|| posterior(&protocol, &prior, &tallies, &PosteriorOptions::default()).unwrap());
    println!("  all marginals, evidence, 4000 draws: {cpu:.3?} CPU, {wall:.3?}, {}", memory());
}

/// How the exact posterior of randomised response grows with the reports (expected counts), and Markov chains on the same counts.
fn many_reports(a: usize) {
    let (protocol, prior) = (Protocol::grr(a, 1.0).unwrap(), Prior::jeffreys(a).unwrap());
    let beta = 1f64.exp_m1();
    for n in [1e4, 1e6, 1e8, 1e10] {
        let count = |p: &f64| (n * (1.0 + beta * p) / (a as f64 + beta)).round() as u64;
        let p = frequencies(a);
        let counts = p.iter().map(count).enumerate().map(|(y, count)| (Output::Index(y), count));
        let tallies = Tallies::new(&protocol, counts.collect::<Vec<_>>()).unwrap();
        let of = |choice: Choice| {
            let options = PosteriorOptions { choice, unconverged: true, ..PosteriorOptions::default() };
            with_cpu(|| posterior(&protocol, &prior, &tallies, &options).unwrap()).1.as_secs_f64()
        };
        let (exact, chains) = (of(Choice::Exact), of(Choice::MonteCarlo));
        println!("GRR a = {a}, n = {n:e}: exact {exact:.2} s of CPU, Markov chains {chains:.2} s");
    }
}

fn unary_encoding(a: usize, n: usize, epsilon: f64) {
    let (protocol, prior) = (Protocol::oue(a, epsilon).unwrap(), Prior::jeffreys(a).unwrap());
    let tallies = simulated(&protocol, n);
    println!(
        "OUE a = {a}, n = {n}, eps = {epsilon}, Jeffreys, {} different patterns",
        tallies.counts().len()
    );
    let options = PosteriorOptions { unconverged: true, ..PosteriorOptions::default() };
    let ((wall, found), cpu) = with_cpu(|| posterior(&protocol, &prior, &tallies, &options).unwrap());
    println!("  {:?}", found.diagnostics.unwrap());
    println!("  {cpu:.1?} CPU, {wall:.1?}, {}", memory());
}

fn with_cpu<T>(call: impl FnOnce() -> T) -> ((Duration, T), Duration) {
    let before = cpu();
    let result = once(call);
    (result, cpu().saturating_sub(before))
}

/// CPU time of this process, where the system tells (Linux, in hundredths of a second).
fn cpu() -> Duration {
    let read = || {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
        Some(fields[11].parse::<u64>().ok()? + fields[12].parse::<u64>().ok()?)
    };
    Duration::from_millis(10 * read().unwrap_or(0))
}

fn memory() -> String {
    peak_memory().map_or_else(String::new, |mb| format!("peak {mb:.0} MB"))
}
