//! Simulated collections, for tests of calibration and coverage.

use std::collections::BTreeMap;

use chacha20::ChaCha8Rng;
use rand::RngExt;
use sottovoce::{Output, Protocol, Tallies};

/// Reports of users whose values are drawn from `p`.
pub fn collected(protocol: &Protocol, p: &[f64], n: usize, rng: &mut ChaCha8Rng) -> Tallies {
    let mut counts = BTreeMap::<Output, u64>::new();
    for _ in 0..n {
        let mut rest = rng.random::<f64>();
        let held = p.iter().position(|p_x| {
            rest -= p_x;
            rest < 0.0
        });
        let x = held.unwrap_or(p.len() - 1);
        *counts.entry(protocol.sample(x, rng).unwrap()).or_default() += 1;
    }
    Tallies::new(protocol, counts).unwrap()
}
