//! Random reports `Q(x)` follow the distribution in column `x` of the matrix.
//!
//! Pearson's chi-square over 24 cases at a false-alarm rate of 1e-6 each, 2.4e-5 in all, with fixed seeds: the statistic of
//! `d` degrees of freedom exceeds `d + 2 sqrt(d·t) + 2t` with probability at most `e^{−t}` (Laurent and Massart 2000), in the
//! limit of many draws.

use chacha20::ChaCha8Rng;
use rand::SeedableRng;
use sottovoce::Protocol;

const DRAWS: usize = 100_000;

fn chi_square(protocol: &Protocol, x: usize, seed: u64) -> (f64, usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let column = protocol.column(x).unwrap();
    let mut counts = vec![0usize; column.len()];
    for _ in 0..DRAWS {
        counts[protocol.row_of(&protocol.sample(x, &mut rng).unwrap()).unwrap()] += 1;
    }
    let mut statistic = 0.0;
    for (count, q) in counts.iter().zip(&column) {
        let expected = q * DRAWS as f64;
        if expected == 0.0 {
            assert_eq!(*count, 0, "an impossible output was drawn");
        } else {
            statistic += (*count as f64 - expected).powi(2) / expected;
        }
    }
    (statistic, column.iter().filter(|q| **q > 0.0).count() - 1)
}

#[test]
fn reports_follow_the_matrix() {
    let grr = Protocol::grr(4, 1.0).unwrap();
    let ue = Protocol::ue(4, 0.7, 0.2).unwrap();
    let matrix = Protocol::matrix(vec![vec![0.5, 0.0, 0.1, 0.3], vec![0.5, 1.0, 0.9, 0.7]]).unwrap();
    let protocols = [
        Protocol::identity(4).unwrap(),
        grr.clone(),
        ue.clone(),
        Protocol::oue(4, 2.0).unwrap(),
        Protocol::lh(4, 3, 1.5).unwrap(),
        Protocol::subset(4, 2, 1.0).unwrap(),
        Protocol::block(4, 7, 3, 1.0).unwrap(),
        Protocol::deterministic(vec![0, 1, 0, 1]).unwrap(),
        Protocol::erasure(4, 0.3).unwrap(),
        matrix.clone(),
        Protocol::composition(vec![matrix.clone(), Protocol::grr(2, 1.0).unwrap()]).unwrap(),
        Protocol::product(vec![grr.clone(), matrix]).unwrap(),
        Protocol::mixture(vec![0.2, 0.8], vec![grr, ue]).unwrap(),
    ];
    let t = -(1e-6f64).ln();
    for (i, protocol) in protocols.iter().enumerate() {
        for x in [0, 3] {
            let (statistic, freedom) = chi_square(protocol, x, i as u64);
            let d = freedom as f64;
            let limit = d + 2.0 * (d * t).sqrt() + 2.0 * t;
            assert!(statistic <= limit, "{}, x = {x}: {statistic} > {limit}", protocol.kind());
        }
    }
}
