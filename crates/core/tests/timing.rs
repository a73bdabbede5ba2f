//! Timings, by hand: `cargo test --release -p sottovoce --test timing -- --ignored --nocapture`.

use std::time::Instant;

use sottovoce::expectation::{Effort, asymptotic_utility};
use sottovoce::fisher::{DenseMatrix, FisherInformation, RandomizedResponse, SubsetSelection, UnaryEncoding};

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
    for a in [4, 6, 10, 30, 100, 1000] {
        for epsilon in [1.0f64, 4.0] {
            let k = ((a as f64 / (epsilon.exp() + 1.0)) as usize).max(1);
            report(&format!("OUE({epsilon})"), &UnaryEncoding::optimised(a, epsilon, 1e-9), 0.5, 1e-3);
            report(&format!("RAPPOR({epsilon})"), &UnaryEncoding::rappor(a, epsilon, 1e-9), 0.5, 1e-3);
            report(&format!("subset({k}, {epsilon})"), &SubsetSelection::new(a, k, epsilon, 1e-9), 0.5, 1e-3);
        }
    }
    for a in [10, 100, 1000] {
        report("UE(1, 0.3)", &UnaryEncoding::new(a, 1.0, 0.3, 1e-9), 0.5, 1e-3);
        report("RAPPOR(50)", &UnaryEncoding::rappor(a, 50.0, 1e-9), 0.5, 1e-3);
    }
    let zeros = [0.75, 0.0, 0.0, 0.25, 0.25, 0.75, 0.0, 0.0, 0.0, 0.25, 0.75, 0.0, 0.0, 0.0, 0.25, 0.75];
    for alpha in [0.01, 0.1, 0.5] {
        report("zeros", &DenseMatrix::new(4, zeros.to_vec()), alpha, 1e-4);
    }
    report("GRR(1)", &RandomizedResponse { inputs: 1000, epsilon: 1.0 }, 0.5, 1e-4);
}
