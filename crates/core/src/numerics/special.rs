//! The special functions we need, each with its measured accuracy.
//!
//! Gamma-family functions come from `libm`, `special` and `spec_math`, whichever was most accurate. The *excess*
//! functions are what remains of `ln(1+z)`, `e^y − 1`, `t ln t` or `(1+z)^{−α}` after the terms that cancel in a
//! mutual information are taken away by hand: computed naively they lose every digit when `z` is small.
//!
//! Accuracies bound the relative errors seen against the 60-digit values in `tests/tables/special.rs`, which
//! `tests/tables.py` writes with mpmath.

use super::stirling::{COEFFICIENTS, SERIES_FROM, remainder};

/// `ln Γ(x)` for `x > 0`. Relative error below `1e-15`, for `x` from `1e-8` to `1e8`.
///
/// ```
/// assert!((sottovoce::numerics::special::ln_gamma(5.0) - 24f64.ln()).abs() < 1e-15);
/// ```
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// Digamma `ψ(x)` for `x > 0`. Relative error below `1e-15`, for `x` from `1e-8` to `1e8`.
///
/// ```
/// assert!((sottovoce::numerics::special::digamma(1.0) + 0.577_215_664_901_532_9).abs() < 1e-15);
/// ```
pub fn digamma(x: f64) -> f64 {
    spec_math::Gamma::digamma(&x)
}

/// Trigamma `ψ'(x)` for `x > 0`. Relative error below `3e-15`, for `x` from `1e-8` to `1e8`.
///
/// ```
/// assert!((sottovoce::numerics::special::trigamma(1.0) - std::f64::consts::PI.powi(2) / 6.0).abs() < 1e-14);
/// ```
pub fn trigamma(x: f64) -> f64 {
    special::Gamma::trigamma(&x)
}

/// The `u`-quantile of a Gamma(`alpha`) variable, `0 < u < 1`. Relative error below `1e-14` for `alpha`
/// from `0.01` to `1e4` where the quantile is above `1e-15`.
///
/// ```
/// let median = sottovoce::numerics::special::gamma_quantile(1.0, 0.5);
/// assert!((median - 2f64.ln()).abs() < 1e-14);
/// ```
pub fn gamma_quantile(alpha: f64, u: f64) -> f64 {
    spec_math::Gamma::igamma_inv(&alpha, u)
}

/// The `u`-quantile of a standard normal variable, `0 < u < 1`. Relative error below `1e-14` for `u` from `1e-12` to `1 − 1e-12`.
///
/// ```
/// assert!((sottovoce::numerics::special::normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-14);
/// ```
pub fn normal_quantile(u: f64) -> f64 {
    spec_math::cephes64::ndtri(u)
}

/// `ψ(x + d) − ψ(x)` for `x > 0`, `d ≥ 0`, without the cancellation of two digammas.
///
/// # Method and cost
/// The recurrence `ψ(x+1) = ψ(x) + 1/x` lifts `x` to ten or more, in positive terms `d/(x(x+d))`; there Stirling's
/// series is subtracted term by term. At most ten divisions and ten exponentials.
///
/// # Accuracy
/// Relative error below `2e-15`, for `x` from `1e-8` to `1e7`, `d` from `1e-9` to `1e7`.
///
/// ```
/// let d = sottovoce::numerics::special::digamma_difference(1e6, 1e-6);
/// assert!((d / 1.000_000_499_999_666_6e-12 - 1.0).abs() < 1e-14);
/// ```
pub fn digamma_difference(x: f64, d: f64) -> f64 {
    let mut lifted = x;
    let mut sum = 0.0;
    while lifted < SERIES_FROM {
        sum += d / (lifted * (lifted + d));
        lifted += 1.0;
    }
    sum + stirling_digamma_difference(lifted, d)
}

fn stirling_digamma_difference(x: f64, d: f64) -> f64 {
    let ln_ratio = (d / x).ln_1p();
    let inverse_square = 1.0 / (x * x);
    let mut power = 1.0;
    let mut tail = 0.0;
    for (k, coefficient) in COEFFICIENTS.iter().enumerate() {
        power *= inverse_square;
        tail += (2 * k + 1) as f64 * coefficient * power * -(-2.0 * (k + 1) as f64 * ln_ratio).exp_m1();
    }
    ln_ratio + 0.5 * d / (x * (x + d)) + tail
}

const HALF_LN_TWO_PI: f64 = 0.918_938_533_204_672_8;

/// `ln B(x, y) = ln Γ(x) + ln Γ(y) − ln Γ(x + y)`, for `x, y > 0`.
///
/// # Accuracy
/// Error below `2e-15 · max(1, |ln B|)`, for `x, y` from `1e-8` to `1e8`. (Three log-gammas lose eight digits at
/// `x = 1, y = 1e8`.)
///
/// ```
/// assert!((sottovoce::numerics::special::ln_beta(1.0, 1e8) + 1e8f64.ln()).abs() < 1e-14);
/// ```
pub fn ln_beta(x: f64, y: f64) -> f64 {
    let (small, large) = if x < y { (x, y) } else { (y, x) };
    if large < SERIES_FROM {
        return ln_gamma(small) + (ln_gamma(large) - ln_gamma(small + large));
    }
    let correction = remainder(large) - remainder(small + large);
    let ln_one_plus = (small / large).ln_1p();
    if small < SERIES_FROM {
        let ratio = small * (1.0 - (small + large).ln()) - (large - 0.5) * ln_one_plus;
        return ln_gamma(small) + ratio + correction;
    }
    let ln_share = -(large / small).ln_1p();
    (small - 0.5) * ln_share - large * ln_one_plus - 0.5 * large.ln()
        + HALF_LN_TWO_PI
        + remainder(small)
        + correction
}

/// `ln C(n, k)` for whole numbers `0 ≤ k ≤ n`. Error as of [`ln_beta`].
///
/// ```
/// assert!((sottovoce::numerics::special::ln_binomial(4.0, 2.0) - 6f64.ln()).abs() < 1e-15);
/// ```
pub fn ln_binomial(n: f64, k: f64) -> f64 {
    if k == 0.0 || k == n { 0.0 } else { -(n + 1.0).ln() - ln_beta(k + 1.0, n - k + 1.0) }
}

/// `ln B(α) = Σ_x ln Γ(α_x) − ln Γ(Σ_x α_x)`, the α given as groups `(alpha, count)`.
///
/// # Accuracy
/// Error below `3e-15 · max(1, |ln B|)` when every alpha is at least ten or there are two of them; otherwise below
/// `3e-15 · max(1, Σ |ln Γ(α_x)|, |ln Γ(α0)|)`, which is more where the two cancel.
///
/// ```
/// assert!((sottovoce::numerics::special::ln_beta_groups(&[(1.0, 3)]) + 2f64.ln()).abs() < 1e-15);
/// ```
pub fn ln_beta_groups(groups: &[(f64, usize)]) -> f64 {
    match *groups {
        [(x, 1), (y, 1)] => return ln_beta(x, y),
        [(x, 2)] => return ln_beta(x, x),
        _ => {}
    }
    let total: f64 = groups.iter().map(|&(alpha, count)| alpha * count as f64).sum();
    if groups.iter().all(|&(alpha, _)| alpha >= SERIES_FROM) {
        let term = |alpha: f64| {
            (alpha - 0.5) * (alpha / total).ln() + remainder(alpha) + HALF_LN_TWO_PI - 0.5 * total.ln()
        };
        let sum: f64 = groups.iter().map(|&(alpha, count)| count as f64 * term(alpha)).sum();
        return sum + 0.5 * total.ln() - HALF_LN_TWO_PI - remainder(total);
    }
    groups.iter().map(|&(alpha, count)| count as f64 * ln_gamma(alpha)).sum::<f64>() - ln_gamma(total)
}

/// `1/3, 1/5, …`: the first dropped term at `|r| = 1/3` is `9^{−17} / 37 < 2e-18`.
const ODD_RECIPROCALS: [f64; 17] = {
    let mut reciprocals = [0.0; 17];
    let mut k = 0;
    while k < 17 {
        reciprocals[k] = 1.0 / (2 * k + 3) as f64;
        k += 1;
    }
    reciprocals
};

/// `1/2!, 1/3!, …`: the first dropped term at `|y| = 1` is `1/20! < 1e-18`.
const FACTORIAL_RECIPROCALS: [f64; 18] = {
    let mut reciprocals = [0.5; 18];
    let mut k = 1;
    while k < 18 {
        reciprocals[k] = reciprocals[k - 1] / (k + 2) as f64;
        k += 1;
    }
    reciprocals
};

/// `2 (atanh r − r)` with `r = z/(2+z)`, so that `ln(1+z) = 2r + atanh_tail(r)`. For `|r| ≤ 1/3`.
fn atanh_tail(r: f64) -> f64 {
    let square = r * r;
    2.0 * r * square * ODD_RECIPROCALS.iter().rev().fold(0.0, |sum, c| sum * square + c)
}

/// `ln(1+z) − z ≤ 0`, for `z > −1`.
///
/// # Method
/// With `r = z/(2+z)`: `−z r + 2(r³/3 + r⁵/5 + …)` for `|z| ≤ ½`, where the difference of the first two terms of the
/// logarithm is taken exactly.
///
/// # Accuracy
/// Relative error below `1e-15`, for `|z|` from `1e-15` to `1e22`.
///
/// ```
/// let z = 1e-9;
/// assert!((sottovoce::numerics::special::ln1p_excess(z) / (-z * z / 2.0 * (1.0 - 2.0 * z / 3.0)) - 1.0).abs() < 1e-15);
/// ```
pub fn ln1p_excess(z: f64) -> f64 {
    if z.abs() > 0.5 {
        return z.ln_1p() - z;
    }
    let r = z / (2.0 + z);
    atanh_tail(r) - z * r
}

/// `φ(1+d) = (1+d) ln(1+d) − d ≥ 0`, for `d ≥ −1`.
///
/// The function `φ(t) = t ln t − t + 1` writes a mutual information as a sum of non-negative terms.
///
/// # Accuracy
/// Relative error below `1e-15`, for `|d|` from `1e-15` to `1e22`.
///
/// ```
/// use sottovoce::numerics::special::excess_entropy;
/// assert_eq!(excess_entropy(0.0), 0.0);
/// assert_eq!(excess_entropy(-1.0), 1.0);
/// ```
pub fn excess_entropy(d: f64) -> f64 {
    // Rounding may carry a probability ratio just below 0.
    if d <= -1.0 {
        return 1.0;
    }
    if d.abs() > 0.5 {
        return (1.0 + d) * d.ln_1p() - d;
    }
    d * d / (2.0 + d) + (1.0 + d) * atanh_tail(d / (2.0 + d))
}

/// `e^y − 1 − y ≥ 0`.
///
/// # Accuracy
/// Relative error below `1e-15`, for `|y|` from `1e-15` to `30`.
///
/// ```
/// let y = 1e-8;
/// assert!((sottovoce::numerics::special::exp_m1_excess(y) / (y * y / 2.0 * (1.0 + y / 3.0)) - 1.0).abs() < 1e-15);
/// ```
pub fn exp_m1_excess(y: f64) -> f64 {
    if y.abs() > 1.0 {
        return y.exp_m1() - y;
    }
    y * y * FACTORIAL_RECIPROCALS.iter().rev().fold(0.0, |sum, c| sum * y + c)
}

/// `(1+z)^{−α} − 1 + αz ≥ 0`, for `z > −1`, `α > 0`.
///
/// # Method
/// `exp_m1_excess(−α ln(1+z)) − α · ln1p_excess(z)`: both parts are non-negative.
///
/// # Accuracy
/// Relative error below `4e-15` for `|z|` from `1e-12` to `1e3` and `α` from `1e-3` to `1e6`, wherever
/// `α |ln(1+z)| ≤ 10`; beyond that `e^y` itself carries the relative error `|y|` times the machine epsilon.
///
/// ```
/// let (z, alpha) = (1e-9, 2.0);
/// assert!((sottovoce::numerics::special::power_excess(z, alpha) / (3.0 * z * z * (1.0 - 4.0 * z / 3.0)) - 1.0).abs() < 1e-15);
/// ```
pub fn power_excess(z: f64, alpha: f64) -> f64 {
    power_excess_of_ln(z.ln_1p(), ln1p_excess(z), alpha)
}

/// [`power_excess`] from `ln(1+z)` and [`ln1p_excess`]`(z)`, for loops over many `α` with the same `z`.
pub fn power_excess_of_ln(ln_one_plus: f64, ln_excess: f64, alpha: f64) -> f64 {
    exp_m1_excess(-alpha * ln_one_plus) - alpha * ln_excess
}

/// `e^x − e^y`, where the caller knows `difference = x − y` to more digits than subtraction would give.
///
/// ```
/// assert!((sottovoce::numerics::special::exp_difference(1e-9, 0.0, 1e-9) / 1.0000000005e-9 - 1.0).abs() < 1e-15);
/// ```
pub fn exp_difference(x: f64, y: f64, difference: f64) -> f64 {
    if difference > 0.0 { -x.exp() * (-difference).exp_m1() } else { y.exp() * difference.exp_m1() }
}

/// `ln(1 − μ + μ e^y)`, for `0 ≤ μ ≤ 1`: the cumulant of a Bernoulli variable, without overflow.
///
/// ```
/// assert!((sottovoce::numerics::special::ln_bernoulli_moment(0.5, 800.0) - (800.0 - 2f64.ln())).abs() < 1e-12);
/// ```
pub fn ln_bernoulli_moment(mu: f64, y: f64) -> f64 {
    if y > 30.0 && mu > 0.0 { y + (mu + (1.0 - mu) * (-y).exp()).ln() } else { (mu * y.exp_m1()).ln_1p() }
}

/// Probability of `ones` among `trials` independent bits of probability `share`, `0 < share < 1`; the counts are integers.
///
/// # Method
/// Loader's saddle-point form ("Fast and accurate computation of binomial probabilities", 2000): Stirling corrections and
/// two excess entropies instead of differences of log-factorials, which lose four digits at `10^4` trials.
///
/// # Accuracy
/// Relative error below `2e-14` for up to `10^4` trials and probabilities above `1e-25`.
///
/// ```
/// assert!((sottovoce::numerics::special::binomial_probability(4.0, 0.5, 2.0) - 0.375).abs() < 1e-15);
/// ```
pub fn binomial_probability(trials: f64, share: f64, ones: f64) -> f64 {
    let zeros = trials - ones;
    if ones < 0.0 || zeros < 0.0 {
        return 0.0;
    }
    if ones == 0.0 || zeros == 0.0 {
        return (zeros * (-share).ln_1p() + ones * share.ln()).exp();
    }
    let (mean_ones, mean_zeros) = (trials * share, trials * (1.0 - share));
    let ln_corrections = remainder(trials) - remainder(ones) - remainder(zeros);
    // Fused: the rounding of the mean alone cost 6e-14 at 10^4 trials, nine deviations out.
    let residual = (-trials).mul_add(share, ones);
    let deviance = mean_ones * excess_entropy(residual / mean_ones)
        + mean_zeros * excess_entropy(-residual / mean_zeros);
    (ln_corrections - deviance).exp() * (trials / (std::f64::consts::TAU * ones * zeros)).sqrt()
}

/// `ln Σ e^{v_i}`.
pub(crate) fn ln_sum_exp(values: &[f64]) -> f64 {
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    largest + values.iter().map(|v| (v - largest).exp()).sum::<f64>().ln()
}

/// The 97.5 % quantile of Student's distribution over that of the normal one, by Cornish and Fisher's expansion in the inverse degrees of freedom; above
/// four degrees off by less than 1 %, below larger than needed.
pub(crate) fn student_factor(degrees: f64) -> f64 {
    let z2 = 1.959_963_985_f64.powi(2);
    let first = (z2 + 1.0) / 4.0;
    let second = ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0;
    let third = (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
    1.0 + (first + (second + third / degrees) / degrees) / degrees
}

/// For each group `(mass, count)` the sum of all masses but one of its own, from prefix and suffix sums.
pub(crate) fn leave_one_out(pairs: &[(f64, usize)]) -> Vec<f64> {
    let mut others = vec![0.0; pairs.len()];
    let mut prefix = 0.0;
    for (out, &(mass, count)) in others.iter_mut().zip(pairs) {
        *out = prefix + mass * (count - 1) as f64;
        prefix += mass * count as f64;
    }
    let mut suffix = 0.0;
    for (out, &(mass, count)) in others.iter_mut().zip(pairs).rev() {
        *out += suffix;
        suffix += mass * count as f64;
    }
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_quantiles_are_right() {
        for (degrees, quantile) in [(4.0, 2.776_445), (7.0, 2.364_624), (15.0, 2.131_450), (60.0, 2.000_298)]
        {
            let factor = student_factor(degrees);
            assert!((factor / (quantile / 1.959_964) - 1.0).abs() < 0.01, "{degrees}: {factor}");
        }
    }
}
