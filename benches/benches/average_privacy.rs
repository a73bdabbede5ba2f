//! Average privacy: against the definition on the dense matrix, and growth with the number of inputs.

use sottovoce::metric::{Settings, average_privacy};
use sottovoce::{Prior, Protocol, leakage};
use stopwatch::{once, quotable, ratio, shortest, two_digits};

fn main() {
    against_the_definition();
    growth(
        "OUE, Jeffreys",
        &|a| (Protocol::oue(a, 1.0).unwrap(), Prior::jeffreys(a).unwrap()),
        &[100, 1000, 10_000],
    );
    growth(
        "OUE, all alpha different",
        &|a| (Protocol::oue(a, 1.0).unwrap(), distinct(a)),
        &[100, 1000, 10_000],
    );
    growth(
        "GRR, Jeffreys",
        &|a| (Protocol::grr(a, 1.0).unwrap(), Prior::jeffreys(a).unwrap()),
        &[1000, 10_000, 100_000, 1_000_000],
    );
    growth(
        "GRR, all alpha different",
        &|a| (Protocol::grr(a, 1.0).unwrap(), distinct(a)),
        &[100, 1000, 10_000],
    );
    growth(
        "subset a/4, Jeffreys",
        &|a| (Protocol::subset(a, a / 4, 1.0).unwrap(), Prior::jeffreys(a).unwrap()),
        &[100, 1000, 10_000],
    );
    growth(
        "subset a/4, all alpha different",
        &|a| (Protocol::subset(a, a / 4, 1.0).unwrap(), distinct(a)),
        &[30, 100, 300],
    );
}

/// A prior in which no two values have the same parameter.
fn distinct(a: usize) -> Prior {
    Prior::dirichlet((0..a).map(|x| 0.3 + x as f64 / a as f64).collect()).unwrap()
}

/// The definition on the dense matrix of 2^16 outputs: one integral of full accuracy for each of them.
fn against_the_definition() {
    let (protocol, prior) = (Protocol::oue(16, 1.0).unwrap(), Prior::jeffreys(16).unwrap());
    let settings = Settings::default();
    let (slow, dense) = once(|| {
        let matrix = protocol.to_matrix().unwrap();
        let leakage = leakage::dense(&[0.5; 16], matrix.rows(), false);
        1.0 - leakage.value / sottovoce::metric::user_entropy(&prior, &settings).value
    });
    let fast = shortest(|| average_privacy(&protocol, &prior, &settings));
    let structured = average_privacy(&protocol, &prior, &settings).unwrap();
    println!("S_mu of OUE, a = 16, eps = 1, Jeffreys");
    println!("  definition on 2^16 outputs {slow:>10.1?}   {dense:.15}");
    println!("  one integral               {fast:>10.1?}   {:.15}", structured.value);
    println!("  ratio {:.0}, difference {:.1e}\n", ratio(slow, fast), (dense - structured.value).abs());
    let ratio = two_digits(ratio(slow, fast));
    quotable(
        "s_mu.against_definition",
        ratio,
        "how many times faster S_mu of OUE at a = 16 is than by its definition on 2^16 outputs",
    );
}

fn growth(name: &str, case: &dyn Fn(usize) -> (Protocol, Prior), sizes: &[usize]) {
    println!("S_mu of {name}");
    let mut last = None;
    for &a in sizes {
        let (protocol, prior) = case(a);
        let time = shortest(|| average_privacy(&protocol, &prior, &Settings::default()));
        let growth = last.map_or_else(String::new, |last| format!("{:.1} times", ratio(time, last)));
        println!("  a = {a:<8} {time:>10.1?}   {growth}");
        last = Some(time);
    }
    println!();
}
