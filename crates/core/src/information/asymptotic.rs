//! The limit for many users, used for a finite number of them: only when asked for.

use crate::model::evaluation::{Evaluation, Method};

/// `((d−1)/2) ln n + r_μ`, the asymptote of `I(Y⃗;P)` for a protocol of rank `d` [paper, Thm "I(Y;P)"; errata V5 for its sign].
///
/// Its error is unknown and stated as such, infinite. Under the Jeffreys prior it shrinks like `n^{−1/4}`: GRR with `a = 3`, `ε = 2` is 0.83 nats off at
/// `n = 100` and still 0.36 at `n = 10^4`.
pub fn distribution_asymptote(rank: usize, growth_constant: Evaluation, n: u64) -> Evaluation {
    let value = 0.5 * (rank as f64 - 1.0) * (n as f64).ln() + growth_constant.value;
    Evaluation::new(value, f64::INFINITY, Method::Asymptote)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_asymptote_is_called_one() {
        let found = distribution_asymptote(3, Evaluation::new(-2.828, 0.0, Method::ClosedForm), 100);
        assert_eq!(found.method, Method::Asymptote);
        assert!((found.value - (100f64.ln() - 2.828)).abs() < 1e-12 && found.error == f64::INFINITY);
    }
}
