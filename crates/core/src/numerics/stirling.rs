//! Gamma functions with their large parts taken out.
//!
//! Entropies of tallies are of order `ln n`, but the log-gammas in them are of order `n ln n`: at `n = 10^7` a plain
//! difference of [`libm::lgamma`] keeps eight digits. Everything here is therefore what is left *after* Stirling's leading
//! terms, which the callers cancel on paper.
//!
//! ```text
//! R(z) = ln Γ(z) − (z − ½) ln z + z − ½ ln 2π = 1/(12 z) − 1/(360 z³) + …
//! ```

use std::f64::consts::PI;

use super::special::ln_beta;

/// From here on the series of `R` has double precision: its first dropped term is below `1e-19`.
pub(crate) const SERIES_FROM: f64 = 10.0;

/// `B_{2k} / (2k (2k−1))`, `k = 1…9`: the coefficients of `z^{1−2k}` in `R`. Times `2k−1` they are those of `z^{−2k}` in `ln z − 1/(2z) − ψ(z)`.
pub(crate) const COEFFICIENTS: [f64; 9] = [
    1.0 / 12.0,
    -1.0 / 360.0,
    1.0 / 1260.0,
    -1.0 / 1680.0,
    1.0 / 1188.0,
    -691.0 / 360_360.0,
    1.0 / 156.0,
    -3617.0 / 122_400.0,
    43867.0 / 244_188.0,
];

/// Stirling's remainder `R(z)`, for `z > 0`.
pub(crate) fn remainder(z: f64) -> f64 {
    let (mut z, mut below) = (z, 0.0);
    while z < SERIES_FROM {
        below += (z + 0.5) * (1.0 / z).ln_1p() - 1.0;
        z += 1.0;
    }
    let square = 1.0 / (z * z);
    below + COEFFICIENTS.iter().rev().fold(0.0, |sum, c| sum * square + c) / z
}

/// `R'(z) = ψ(z) − ln z + 1/(2z)`.
pub(crate) fn remainder_slope(z: f64) -> f64 {
    let (mut z, mut below) = (z, 0.0);
    while z < SERIES_FROM {
        below += (1.0 / z).ln_1p() - (z + 0.5) / (z * (z + 1.0));
        z += 1.0;
    }
    let square = 1.0 / (z * z);
    let slope = |sum: f64, (k, c): (usize, &f64)| sum * square - (2 * k + 1) as f64 * c;
    below + COEFFICIENTS.iter().enumerate().rev().fold(0.0, slope) * square
}

/// `S(t) = ln t! − t ln t + t`, continuous in `t` and 0 at 0.
pub(crate) fn factorial_remainder(t: f64) -> f64 {
    if t == 0.0 { 0.0 } else { 0.5 * (2.0 * PI * t).ln() + remainder(t) }
}

/// `ln Γ(t + c) − ln Γ(t + 1)`, of order `(c − 1) ln t`.
pub(crate) fn ln_gamma_ratio(t: f64, c: f64) -> f64 {
    let (z, y, step) = (t + c, t + 1.0, c - 1.0);
    (z - 0.5) * (step / y).ln_1p() + step * (y.ln() - 1.0) + remainder(z) - remainder(y)
}

/// `ln n!`.
pub(crate) fn ln_factorial(n: f64) -> f64 {
    libm::lgamma(n + 1.0)
}

/// `ln Γ(α + t)/Γ(α)`.
pub(crate) fn ln_rising(alpha: f64, t: f64) -> f64 {
    if t < 16.0 {
        return (0..t as u32).map(|k| (alpha + f64::from(k)).ln()).sum();
    }
    if alpha > SURE {
        return libm::lgamma(t) - ln_beta(alpha, t);
    }
    libm::lgamma(alpha + t) - libm::lgamma(alpha)
}

/// Parameters beyond which the two log-gammas of `Γ(α + t)/Γ(α)` have more digits in common than is good: at `1e8` eight of the last.
const SURE: f64 = 1e4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::special::digamma;

    #[test]
    fn remainders_agree_with_the_gamma_function() {
        for z in [1e-4f64, 0.05, 0.5, 1.0, 2.5, 9.99, 10.01, 77.0] {
            let whole = remainder(z) + (z - 0.5) * z.ln() - z + 0.5 * (2.0 * PI).ln();
            let ln_gamma = libm::lgamma(z);
            assert!((whole - ln_gamma).abs() < 1e-14 * (1.0 + ln_gamma.abs()), "{z}: {whole} {ln_gamma}");
        }
        for z in [0.5f64, 3.0, 42.0] {
            assert!((remainder_slope(z) + z.ln() - 0.5 / z - digamma(z)).abs() < 1e-14, "{z}");
        }
        assert!((ln_gamma_ratio(3.0, 2.5) - (libm::lgamma(5.5) - libm::lgamma(4.0))).abs() < 1e-14);
    }
}
