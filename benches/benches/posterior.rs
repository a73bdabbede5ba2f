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
use stopwatch::{full, once, peak_memory, quotable, rounded, two_digits, wanted};

fn main() {
    if wanted("grr") {
        randomised_response(128, 100_000, true);
        let draws = randomised_response(1024, 1_000_000, full());
        quotable(
            "posterior.grr",
            rounded(draws),
            "CPU time of 1,000 exact posterior draws: GRR, 1024 values, a million reports",
        );
    }
    if wanted("many") {
        many_reports(3);
        let ratio = many_reports(16);
        quotable(
            "posterior.exact_against_chains",
            two_digits(ratio),
            "how many times less CPU time the exact posterior of GRR takes than Markov chains: 16 values, 10^8 reports",
        );
    }
    if wanted("oue") {
        unary_encoding(128, 100_000, 1.0);
    }
    if wanted("block") {
        let cpu =
            chains("block, v = 1453, k = 364", &Protocol::block(1024, 1453, 364, 1.0).unwrap(), 1_000_000);
        quotable(
            "posterior.block",
            rounded(cpu),
            "CPU time of the posterior of a block design by Markov chains, adaptive prior: 1024 values, a million reports, epsilon = 1",
        );
    }
    if wanted("lh") && full() {
        chains("LH, g = 4", &Protocol::lh(1024, 4, 1.0).unwrap(), 1_000_000);
    }
}

/// Prints what Markov chains take under the adaptive prior, and gives their CPU time.
fn chains(name: &str, protocol: &Protocol, n: usize) -> Duration {
    let (tallies, a) = (simulated(protocol, n), protocol.inputs());
    let prior = Prior::adaptive(a).unwrap();
    let ((wall, found), cpu) =
        with_cpu(|| posterior(protocol, &prior, &tallies, &PosteriorOptions::default()).unwrap());
    println!("{name}, a = {a}, n = {n}, eps = 1, adaptive: {cpu:.1?} CPU, {wall:.1?}, {}", memory());
    println!("  {:?}", found.diagnostics);
    cpu
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

/// Prints what draws and, if wanted, marginals take, and gives the CPU time of the draws.
fn randomised_response(a: usize, n: usize, marginals: bool) -> Duration {
    let (protocol, prior) = (Protocol::grr(a, 1.0).unwrap(), Dirichlet::jeffreys(a).unwrap());
    let tallies = simulated(&protocol, n);
    let response = GeneralisedRandomisedResponse::new(a, 1.0).unwrap();
    println!("GRR a = {a}, n = {n}, eps = 1, Jeffreys");
    let ((wall, draws), drawing) = with_cpu(|| exact_draws(&response, &tallies, &prior, 1000, 1).unwrap());
    println!("  {} exact independent draws: {drawing:.3?} CPU, {wall:.3?}, {}", draws.p.len(), memory());
    if !marginals {
        return drawing;
    }
    let prior = Prior::Dirichlet(prior);
    let ((wall, _), cpu) =
        with_cpu(|| posterior(&protocol, &prior, &tallies, &PosteriorOptions::default()).unwrap());
    println!("  all marginals, evidence, 4000 draws: {cpu:.3?} CPU, {wall:.3?}, {}", memory());
    drawing
}

/// How the exact posterior of randomised response grows with the reports (expected counts), and Markov chains on the same counts. Gives the ratio of
/// their times at 10^8 reports.
fn many_reports(a: usize) -> f64 {
    let (protocol, prior) = (Protocol::grr(a, 1.0).unwrap(), Prior::jeffreys(a).unwrap());
    let beta = 1f64.exp_m1();
    let mut ratio = f64::NAN;
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
        if n == 1e8 {
            // The system counts CPU time in hundredths of a second.
            ratio = chains / exact.max(0.01);
        }
    }
    ratio
}

/// Under a fixed prior, and under the adaptive one, which is the default for many values.
fn unary_encoding(a: usize, n: usize, epsilon: f64) {
    let (protocol, prior) = (Protocol::oue(a, epsilon).unwrap(), Prior::jeffreys(a).unwrap());
    let tallies = simulated(&protocol, n);
    println!(
        "OUE a = {a}, n = {n}, eps = {epsilon}, Jeffreys, {} different patterns",
        tallies.counts().len()
    );
    let options = PosteriorOptions::default();
    let ((wall, found), cpu) = with_cpu(|| posterior(&protocol, &prior, &tallies, &options).unwrap());
    println!("  {:?}", found.diagnostics.unwrap());
    println!("  {cpu:.1?} CPU, {wall:.1?}, {}", memory());
    quotable(
        "posterior.oue",
        rounded(chains("OUE", &protocol, n)),
        "CPU time of the posterior of OUE by Markov chains, adaptive prior: 128 values, 100,000 reports, epsilon = 1",
    );
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
