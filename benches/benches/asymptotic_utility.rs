//! Asymptotic utility: growth with the number of inputs, memory, and what the structure saves.

use std::time::Duration;

use sottovoce::metric::{Settings, asymptotic_utility};
use sottovoce::{Prior, Protocol};
use stopwatch::{full, once, peak_memory, quotable, ratio, rounded, two_digits};

fn main() {
    against_the_dense_matrix();
    let tolerance = 0.004; // F_mu is e^{2 U_as − 2 C_mu}: a standard error of 0.8 %
    let time = growth("OUE", tolerance, &|a| Protocol::oue(a, 1.0).unwrap(), &[10, 30, 100, 300, 1000]);
    quotable("u_as.oue_1000", rounded(time), "U_as of OUE at a = 1000, to 0.4 %");
    if full() {
        growth("OUE, beyond", tolerance, &|a| Protocol::oue(a, 1.0).unwrap(), &[3000, 10_000]);
    }
    growth("LH into 4", tolerance, &|a| Protocol::lh(a, 4, 1.0).unwrap(), &[10, 100, 1000, 10_000]);
    growth("subset a/4", tolerance, &|a| Protocol::subset(a, a / 4, 1.0).unwrap(), &[10, 100, 1000, 10_000]);
    growth("GRR", tolerance, &|a| Protocol::grr(a, 1.0).unwrap(), &[10, 1000, 100_000, 1_000_000]);
}

/// The same quasi-random points, with the matrix of all outputs instead of the structure.
fn against_the_dense_matrix() {
    let a = 12;
    let (protocol, prior) = (Protocol::oue(a, 1.0).unwrap(), Prior::jeffreys(a).unwrap());
    let dense = Protocol::Matrix(protocol.to_matrix().unwrap());
    let settings = Settings { tolerance: Some(1e-3), seed: 1, ..Settings::default() };
    let (slow, dense) = once(|| asymptotic_utility(&dense, &prior, &settings).unwrap());
    let (fast, structured) = once(|| asymptotic_utility(&protocol, &prior, &settings).unwrap());
    println!("U_as of OUE, a = {a}, eps = 1, Jeffreys, to 1e-3");
    println!("  matrix of 2^{a} outputs {slow:>10.1?}   {:.5} ± {:.1e}", dense.value, dense.error);
    println!("  structure             {fast:>10.1?}   {:.5} ± {:.1e}", structured.value, structured.error);
    println!("  ratio {:.0}\n", ratio(slow, fast));
    let ratio = two_digits(ratio(slow, fast));
    quotable(
        "u_as.against_matrix",
        ratio,
        "how many times faster U_as of OUE at a = 12 is than on its matrix of 2^12 outputs",
    );
}

/// Prints the time at each size, and gives the last of them.
fn growth(name: &str, tolerance: f64, case: &dyn Fn(usize) -> Protocol, sizes: &[usize]) -> Duration {
    println!("U_as of {name}, eps = 1, Jeffreys, to {tolerance}");
    let mut last: Option<(usize, Duration)> = None;
    for &a in sizes {
        let (protocol, prior) = (case(a), Prior::jeffreys(a).unwrap());
        let settings = Settings { tolerance: Some(tolerance), ..Settings::default() };
        let (time, utility) = once(|| asymptotic_utility(&protocol, &prior, &settings).unwrap());
        let power = last.map_or_else(String::new, |(size, last)| {
            format!("like a^{:.1}", ratio(time, last).ln() / (a as f64 / size as f64).ln())
        });
        let memory = peak_memory().map_or_else(String::new, |mb| format!("peak {mb:.0} MB"));
        let error = 200.0 * utility.error;
        println!("  a = {a:<8} {time:>10.1?}   F_mu to {error:.1e} %   {memory}   {power}");
        last = Some((a, time));
    }
    println!();
    last.map_or(Duration::ZERO, |(_, time)| time)
}
