//! Gauss rules from their three-term recurrences: for integrals (Legendre, Jacobi) and for sums (discrete Chebyshev).

use super::search::bisect;

/// The rule of the orthonormal polynomials with `x p_k = b_{k+1} p_{k+1} + a_k p_k + b_k p_{k−1}`, where `diagonal` holds
/// `a_0 …`, `side` holds `b_1 …` (one fewer) and `mass` is the integral of 1. All nodes lie in `(−1, 1)`.
///
/// Nodes come from Sturm counts and are polished by Newton steps. (Newton from the Legendre nodes falls into wrong roots on
/// short panels.)
pub(crate) fn gauss_rule(diagonal: &[f64], side: &[f64], mass: f64) -> Vec<(f64, f64)> {
    let node = |i: usize| {
        let mut x = bisected_root(i, diagonal, side);
        for _ in 0..3 {
            let (value, slope, _) = polynomials(x, diagonal, side, mass);
            x -= value / slope;
        }
        (x, 1.0 / polynomials(x, diagonal, side, mass).2)
    };
    (0..diagonal.len()).map(node).collect()
}

/// The `i`-th smallest eigenvalue of a symmetric tridiagonal matrix, to 2⁻³⁰.
fn bisected_root(i: usize, diagonal: &[f64], side: &[f64]) -> f64 {
    let below = |x: f64| {
        let mut pivot = diagonal[0] - x;
        let mut count = usize::from(pivot < 0.0);
        for (a, b) in diagonal[1..].iter().zip(side) {
            pivot = a - x - b * b / if pivot == 0.0 { f64::MIN_POSITIVE } else { pivot };
            count += usize::from(pivot < 0.0);
        }
        count
    };
    let (low, high) = bisect(-1.0, 1.0, 31, |x| below(x) <= i);
    0.5 * (low + high)
}

/// The polynomial whose roots are the nodes, its slope, and the sum of squares of the orthonormal ones before it.
fn polynomials(x: f64, diagonal: &[f64], side: &[f64], mass: f64) -> (f64, f64, f64) {
    let (mut before, mut now) = (0.0, 1.0 / mass.sqrt());
    let (mut slope_before, mut slope_now, mut squares) = (0.0, 0.0, 0.0);
    for (k, a) in diagonal.iter().enumerate() {
        squares += now * now;
        let back = if k == 0 { 0.0 } else { side[k - 1] };
        let ahead = side.get(k).copied().unwrap_or(1.0);
        let next = ((x - a) * now - back * before) / ahead;
        let slope_next = (now + (x - a) * slope_now - back * slope_before) / ahead;
        (before, now, slope_before, slope_now) = (now, next, slope_now, slope_next);
    }
    (now, slope_now, squares)
}

/// Nodes and weights for integrals over `(−1, 1)` (Gauss–Legendre).
pub fn legendre(order: usize) -> Vec<(f64, f64)> {
    let side: Vec<f64> = (1..order).map(|k| k as f64 / ((4 * k * k - 1) as f64).sqrt()).collect();
    gauss_rule(&vec![0.0; order], &side, 2.0)
}

/// Nodes and weights for integrals over `(0, 1)`.
pub fn legendre_on_unit(order: usize) -> Vec<(f64, f64)> {
    legendre(order).into_iter().map(|(x, w)| (0.5 + 0.5 * x, 0.5 * w)).collect()
}

/// Nodes `x` in `(−1, 1)` and weights for the mean of a function of `x = 2B − 1`, `B ~ Beta(head, tail)` (Gauss–Jacobi).
pub(crate) fn jacobi(head: f64, tail: f64, order: usize) -> Vec<(f64, f64)> {
    let sum = head + tail;
    let diagonal = |i: usize| {
        let twice = 2.0 * i as f64 + sum;
        if i == 0 { (head - tail) / sum } else { (head - tail) * (sum - 2.0) / ((twice - 2.0) * twice) }
    };
    let side = |i: usize| {
        if i == 1 {
            return (4.0 * head * tail / (sum * sum * (sum + 1.0))).sqrt();
        }
        let (k, twice) = (i as f64, 2.0 * i as f64 + sum);
        let numerator = 4.0 * k * (k + head - 1.0) * (k + tail - 1.0) * (k + sum - 2.0);
        (numerator / ((twice - 2.0).powi(2) * (twice - 1.0) * (twice - 3.0))).sqrt()
    };
    let diagonal: Vec<f64> = (0..order).map(diagonal).collect();
    gauss_rule(&diagonal, &(1..order).map(side).collect::<Vec<_>>(), 1.0)
}

/// Nodes `p` and weights for integrals of `p^{alpha − 1} f(p)` over `(0, 1)`.
pub(crate) fn power_rule(order: usize, alpha: f64) -> Vec<(f64, f64)> {
    jacobi(alpha, 1.0, order).into_iter().map(|(x, w)| (0.5 * (1.0 + x), w / alpha)).collect()
}

/// Sums polynomials of degree below `2·order` exactly over the `count` equally spaced points `(2i + 1 − count)/count`.
pub(crate) fn discrete_chebyshev(order: usize, count: u64) -> Vec<(f64, f64)> {
    let count = count as f64;
    let side = |k: usize| ((1.0 - (k as f64 / count).powi(2)) / (4.0 - 1.0 / (k * k) as f64)).sqrt();
    gauss_rule(&vec![0.0; order], &(1..order).map(side).collect::<Vec<_>>(), count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_sum_powers_exactly() {
        for count in [49u64, 1000, 1_000_000] {
            let rule = discrete_chebyshev(20, count);
            let sum: f64 = rule.iter().map(|(_, w)| w).sum();
            assert!((sum / count as f64 - 1.0).abs() < 1e-13, "{count}: {sum}");
            let fourth: f64 = rule.iter().map(|(x, w)| w * x.powi(4)).sum();
            let direct: f64 = (0..count).map(|i| ((2 * i + 1) as f64 / count as f64 - 1.0).powi(4)).sum();
            assert!((fourth / direct - 1.0).abs() < 1e-12, "{count}: {fourth} {direct}");
        }
    }

    #[test]
    fn jacobi_and_legendre_integrate_powers() {
        for alpha in [1e-4, 0.05, 0.5, 1.0, 3.3, 25.0] {
            let found: f64 = power_rule(16, alpha).iter().map(|(p, w)| w * p.powi(5)).sum();
            assert!((found * (alpha + 5.0) - 1.0).abs() < 1e-12, "{alpha}: {found}");
        }
        let found: f64 = legendre(16).iter().map(|(x, w)| w * x.exp()).sum();
        assert!((found - 2.0 * 1f64.sinh()).abs() < 1e-14);
    }
}
