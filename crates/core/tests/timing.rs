//! Timings, by hand: `cargo test --release -p sottovoce --test timing -- --ignored --nocapture`.

use std::time::Instant;

use sottovoce::expectation::{Effort, asymptotic_utility};
use sottovoce::fisher::{FisherInformation, RandomizedResponse, SubsetSelection, UnaryEncoding};

fn report(name: &str, fisher: &dyn FisherInformation, alpha: f64, tolerance: f64) {
    let start = Instant::now();
    let effort = Effort { tolerance, ..Effort::default() };
    let found = asymptotic_utility(fisher, &[(1.0, vec![alpha; fisher.inputs()])], &effort);
    println!(
        "{name:30} a={:6} alpha={alpha} {:.6} ± {:.1e} {} in {:?}",
        fisher.inputs(),
        found.value,
        found.error,
        found.method,
        start.elapsed()
    );
}

#[test]
#[ignore = "prints timings"]
fn timings() {
    for alpha in [0.5, 0.01, 10.0] {
        for a in [4, 6, 10, 30, 100, 1000, 10_000] {
            for epsilon in [1.0, 4.0] {
                report(&format!("OUE({epsilon})"), &UnaryEncoding::optimised(a, epsilon, 1e-9), alpha, 1e-3);
                report(&format!("RAPPOR({epsilon})"), &UnaryEncoding::rappor(a, epsilon, 1e-9), alpha, 1e-3);
                let k = ((a as f64 / (epsilon.exp() + 1.0)) as usize).max(1);
                report(
                    &format!("subset({k}, {epsilon})"),
                    &SubsetSelection::new(a, k, epsilon, 1e-9),
                    alpha,
                    1e-3,
                );
            }
        }
    }
    report("GRR(1)", &RandomizedResponse { inputs: 1000, epsilon: 1.0 }, 0.5, 1e-4);
}
