//! Finite numbers of users: against the paper's own sum, growth with users and values, and how far each method reaches.

use std::time::Duration;

use sottovoce::evaluation::Evaluation;
use sottovoce::information::{
    Choice, InformationOptions, distribution_information, tally_information, tally_utility, users_side_of,
};
use sottovoce::metric::Settings;
use sottovoce::numerics::special::ln_gamma;
use sottovoce::{Analysis, Metric, Prior, Protocol};
use stopwatch::{full, once, peak_memory, quotable, ratio, rounded, shortest, two_digits, wanted};

/// Parts can be named: `cargo bench -p sottovoce-benches --bench finite_users -- paper exact sampled approximated reaches`.
fn main() {
    let parts: [(&str, fn()); 5] = [
        ("paper", against_the_papers_sum),
        ("exact", exact_growth),
        ("sampled", sampled_growth),
        ("approximated", approximated),
        ("reaches", reaches),
    ];
    for (name, part) in parts {
        if wanted(name) {
            part();
        }
    }
}

/// GRR with three values: the paper's sum over all tallies `s` and all `k ≤ s`, and ours.
fn against_the_papers_sum() {
    let (epsilon, n) = (2.0, 60);
    let (protocol, prior) = (Protocol::grr(3, epsilon).unwrap(), Prior::jeffreys(3).unwrap());
    let ours = || distribution_information(&protocol, &prior, n, &InformationOptions::default()).unwrap();
    let (slow, literal) = once(|| papers_sum(epsilon, n as usize));
    let (fast, found) = (shortest(ours), ours());
    println!("I(Y;P) of GRR, a = 3, n = {n}, eps = {epsilon}, Jeffreys");
    println!("  the paper's double sum {slow:>10.1?}   {literal:.12}");
    println!("  products of polynomials {fast:>9.1?}   {:.12}", found.value);
    println!("  ratio {:.0}, difference {:.1e}\n", ratio(slow, fast), (literal - found.value).abs());
    let ratio = two_digits(ratio(slow, fast));
    quotable(
        "i_y_p.against_paper",
        ratio,
        "how many times faster I(Y;P) of GRR, a = 3, n = 60, is than by the paper's double sum",
    );
}

/// `n G(β) − Σ_s C(n;s) F(s) ln F(s)` with `F(s) = (3+β)^{−n} Σ_{k≤s} β^{Σk} Π_y C(s_y,k_y) B(α+k)/B(α)` for three values under the Jeffreys prior
/// [paper, Prop. "I(Y;P) of GRR"], term by term; logarithms of factorials and of gamma functions are looked up.
fn papers_sum(epsilon: f64, n: usize) -> f64 {
    let beta = epsilon.exp_m1();
    let factorial: Vec<f64> = (0..=n).map(|k| ln_gamma(k as f64 + 1.0)).collect();
    let half: Vec<f64> = (0..=n).map(|k| ln_gamma(k as f64 + 0.5) - ln_gamma(0.5)).collect();
    let whole: Vec<f64> = (0..=n).map(|k| ln_gamma(k as f64 + 1.5) - ln_gamma(1.5)).collect();
    let choose = |s: usize, k: usize| factorial[s] - factorial[k] - factorial[s - k];
    let ln_term = |s: [usize; 3], k: [usize; 3]| {
        let total: usize = k.iter().sum();
        let values: f64 = s.iter().zip(k).map(|(s, k)| choose(*s, k) + half[k]).sum();
        values - whole[total] + total as f64 * beta.ln()
    };
    let evidence = |s: [usize; 3]| {
        let mut sum = 0.0;
        for k_0 in 0..=s[0] {
            for k_1 in 0..=s[1] {
                for k_2 in 0..=s[2] {
                    sum += ln_term(s, [k_0, k_1, k_2]).exp();
                }
            }
        }
        sum * (3.0 + beta).powi(-(n as i32))
    };
    let mut entropy = 0.0;
    for s_0 in 0..=n {
        for s_1 in 0..=n - s_0 {
            let s = [s_0, s_1, n - s_0 - s_1];
            let orders = factorial[n] - s.iter().map(|s| factorial[*s]).sum::<f64>();
            let evidence = evidence(s);
            entropy -= (orders + evidence.ln()).exp() * evidence.ln();
        }
    }
    entropy + n as f64 * mean_ln(beta)
}

/// `G(β) = 3 E[q ln q]` with `q = (1+βL)/(3+β)`, `L ~ Beta(½, 1)`: `L = U²` for a uniform `U`, by Gauss's two-point rule on 2000 panels.
fn mean_ln(beta: f64) -> f64 {
    let term = |u: f64| {
        let q = (1.0 + beta * u * u) / (3.0 + beta);
        q * q.ln()
    };
    let panels = 2000;
    let off = 0.5 / 3f64.sqrt();
    let panel = |i: i32| {
        let middle = f64::from(i) + 0.5;
        [middle - off, middle + off].map(|u| term(u / f64::from(panels))).iter().sum::<f64>() / 2.0
    };
    3.0 * (0..panels).map(panel).sum::<f64>() / f64::from(panels)
}

fn exact_growth() {
    let grr = |a: usize| Protocol::grr(a, 2.0).unwrap();
    let time = growth("GRR a = 3, exactly", "n", &[100, 300, 900], &|n| (grr(3), n as u64, Choice::Exact));
    quotable("i_y_p.exact", rounded(time), "exact I(Y;P) of GRR, a = 3, n = 900");
    growth("GRR n = 60, exactly", "a", &[2, 3, 4, 5], &|a| (grr(a), 60, Choice::Exact));
    let oue = || Protocol::oue(3, 1.0).unwrap();
    growth("OUE a = 3, exactly", "n", &[2, 4, 8], &|n| (oue(), n as u64, Choice::Exact));
    let two = || Protocol::grr(2, 1.0).unwrap();
    let time = growth("GRR a = 2, exactly", "n", &[10_000, 1_000_000, 100_000_000], &|n| {
        (two(), n as u64, Choice::Exact)
    });
    quotable("i_y_p.two_values", rounded(time), "exact I(Y;P) of GRR, a = 2, n = 10^8");
    growth("two outputs, 3 values, exactly", "n", &[10_000, 100_000, 1_000_000], &|n| {
        (two_outputs(3), n as u64, Choice::Exact)
    });
}

fn sampled_growth() {
    let sampled = Choice::MonteCarlo;
    let grr = |a: usize| Protocol::grr(a, 2.0).unwrap();
    growth("GRR a = 16, to 0.05", "n", &[1000, 10_000, 100_000], &|n| (grr(16), n as u64, sampled));
    growth("GRR n = 10^4, to 0.05", "a", &[4, 16, 64], &|a| (grr(a), 10_000, sampled));
    let oue = |a: usize| Protocol::oue(a, 1.0).unwrap();
    let oue_users: &[usize] = if full() { &[100, 1000, 10_000] } else { &[100, 1000] };
    growth("OUE a = 16, to 0.05", "n", oue_users, &|n| (oue(16), n as u64, sampled));
    let oue_values: &[usize] = if full() { &[4, 16, 64] } else { &[4, 16] };
    growth("OUE n = 1000, to 0.05", "a", oue_values, &|a| (oue(a), 1000, sampled));
}

/// The approximation against Monte Carlo at the same error, and how its cost grows.
fn approximated() {
    println!(
        "I(Y;P) by the approximation, and by Monte Carlo to at most the same error (a standard error), Jeffreys"
    );
    let of = |protocol: &Protocol, n: u64, choice: Choice, tolerance: Option<f64>| {
        let prior = Prior::jeffreys(protocol.inputs()).unwrap();
        let settings = Settings { choice, tolerance, ..Settings::default() };
        let analysis = Analysis::with_settings(protocol, &prior, settings).unwrap();
        analysis.answer(Metric::AggregatorDistribution, Some(n)).number().unwrap()
    };
    let named = [
        ("GRR a = 16, eps = 1", Protocol::grr(16, 1.0).unwrap()),
        ("OUE a = 16, eps = 2", Protocol::oue(16, 2.0).unwrap()),
        ("LH a = 16, g = 4, eps = 1", Protocol::lh(16, 4, 1.0).unwrap()),
        ("subset a = 16, k = 4, eps = 1", Protocol::subset(16, 4, 1.0).unwrap()),
    ];
    let mut ratios = Vec::new();
    for (name, protocol) in &named {
        for n in [1000, 10_000] {
            let (fast, found) = once(|| of(protocol, n, Choice::Approximation, None));
            let (slow, sampled) = once(|| of(protocol, n, Choice::MonteCarlo, Some(found.error)));
            let ratio = ratio(slow, fast);
            println!(
                "  {name:<30} n = {n:<6} {fast:>9.1?}  {:.3} ± {:.3}   Monte Carlo {slow:>9.1?}  {:.3} ± {:.3}   ratio {ratio:.0}",
                found.value, found.error, sampled.value, sampled.error
            );
            ratios.push(ratio);
        }
    }
    let smallest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = ratios.iter().copied().fold(0.0, f64::max);
    quotable(
        "i_y_p.approximation",
        two_digits(smallest),
        "how many times faster the approximation is than Monte Carlo to at most the same error, in the worst of eight cases with 16 values",
    );
    quotable("i_y_p.approximation_most", two_digits(largest), "the same in the best of the eight cases");
    println!("\nI(Y;P) by the approximation, n = 10^7, Jeffreys");
    for a in [10, 100, 1000] {
        let protocols = [
            ("GRR", Protocol::grr(a, 1.0).unwrap()),
            ("OUE", Protocol::oue(a, 1.0).unwrap()),
            ("LH, g = 4", Protocol::lh(a, 4, 1.0).unwrap()),
            ("subset, k = a/4", Protocol::subset(a, a / 4, 1.0).unwrap()),
        ];
        for (name, protocol) in &protocols {
            let (time, found) = once(|| of(protocol, 10_000_000, Choice::Approximation, None));
            println!("  {name:<16} a = {a:<5} {time:>9.1?}  {:.2} ± {:.2}", found.value, found.error);
        }
    }
    println!();
}

/// A protocol that reports a bit, which is set with a different probability for each value.
fn two_outputs(a: usize) -> Protocol {
    let first: Vec<f64> = (0..a).map(|x| 0.2 + 0.5 * x as f64 / (a as f64 - 1.0)).collect();
    let second = first.iter().map(|q| 1.0 - q).collect();
    Protocol::matrix(vec![first, second]).unwrap()
}

/// What a size asks for.
type Asked<'a> = &'a dyn Fn(usize) -> (Protocol, u64, Choice);

/// Prints the time at each size, and gives the last of them.
fn growth(name: &str, variable: &str, sizes: &[usize], case: Asked<'_>) -> Duration {
    println!("I(Y;P) of {name}, Jeffreys");
    let mut last: Option<(usize, Duration)> = None;
    for &size in sizes {
        let (protocol, n, choice) = case(size);
        let prior = Prior::jeffreys(protocol.inputs()).unwrap();
        let options = InformationOptions { choice, tolerance: 0.05, ..InformationOptions::default() };
        let (time, found) = once(|| distribution_information(&protocol, &prior, n, &options).unwrap());
        let power = last.map_or_else(String::new, |(before, last)| {
            format!("like {variable}^{:.1}", ratio(time, last).ln() / (size as f64 / before as f64).ln())
        });
        println!(
            "  {variable} = {size:<10} {time:>10.1?}   {:.5} ± {:.1e}   {power}",
            found.value, found.error
        );
        last = Some((size, time));
    }
    println!();
    last.map_or(Duration::ZERO, |(_, time)| time)
}

/// Large problems to a wanted standard error, in nats.
fn reaches() {
    println!("reaches, Jeffreys: standard error wanted and achieved");
    let mut distribution = vec![
        (Protocol::grr(16, 2.0), 10_000, 0.02),
        (Protocol::grr(128, 2.0), 100_000, 0.2),
        (Protocol::oue(16, 1.0), 10_000, 0.05),
    ];
    if full() {
        distribution.push((random_matrix(8, 4), 1_000_000, 0.02));
        distribution.push((Protocol::lh(64, 4, 1.0), 10_000, 0.1));
    }
    for (protocol, n, tolerance) in distribution {
        let (protocol, options) =
            (protocol.unwrap(), InformationOptions { tolerance, ..InformationOptions::default() });
        let prior = Prior::jeffreys(protocol.inputs()).unwrap();
        let (time, found) = once(|| distribution_information(&protocol, &prior, n, &options).unwrap());
        reached("I(Y;P)", &protocol, n, tolerance, found, time);
    }
    let mut tallies = vec![(Protocol::grr(4, 1.0), 1000, 0.02), (Protocol::oue(16, 1.0), 10_000, 0.02)];
    if full() {
        tallies.push((random_matrix(8, 4), 100_000, 0.02));
    }
    for (protocol, n, tolerance) in tallies {
        let protocol = protocol.unwrap();
        let prior = Prior::jeffreys(protocol.inputs()).unwrap();
        let users = users_side_of(&prior, n, &InformationOptions::default()).unwrap();
        // The utility is a share of H(T).
        let options = InformationOptions {
            tolerance: tolerance * users.tally().value,
            ..InformationOptions::default()
        };
        let utility =
            || tally_utility(tally_information(&protocol, &prior, n, &options).unwrap(), users.tally());
        let (time, found) = once(utility);
        reached("U_tally", &protocol, n, tolerance, found, time);
    }
}

fn reached(what: &str, protocol: &Protocol, n: u64, wanted: f64, found: Evaluation, time: Duration) {
    let memory = peak_memory().map_or_else(String::new, |mb| format!("peak {mb:.0} MB"));
    println!(
        "  {what} {:<7} a = {:<4} n = {n:<8} {time:>10.1?}   {:.4} ± {:.4}, wanted {wanted}   {memory}",
        protocol.kind(),
        protocol.inputs(),
        found.value,
        found.error,
    );
}

/// A matrix whose columns are spread evenly over the distributions: exponential variables, normalised, from a small generator.
fn random_matrix(b: usize, a: usize) -> sottovoce::Result<Protocol> {
    let mut state = 84u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    };
    let mut column = || {
        let weights: Vec<f64> = (0..b).map(|_| -uniform().ln()).collect();
        let total: f64 = weights.iter().sum();
        weights.into_iter().map(|w| w / total).collect::<Vec<f64>>()
    };
    let columns: Vec<Vec<f64>> = (0..a).map(|_| column()).collect();
    Protocol::matrix((0..b).map(|y| columns.iter().map(|c| c[y]).collect()).collect())
}
