//! Randomised response: the probability of many reports given the tally of the values.
//!
//! # Method
//! Of the `t_x` users with value `x`, `k_x ~ Binomial(t_x, r)` keep it; all others, `m` users, report uniformly. Were `m` a Poisson variable with mean `y`, the reports of
//! different values would be independent, and `∫ e^{−y} y^m/m! dy = 1` mixes over `y`:
//!
//! ```text
//! P(s|t) = ∫_0^∞ Π_x h_x(y) dy,      h_x(y) = Σ_k Binomial(k; t_x, r) · Poisson(s_x − k; y/a)
//! ```
//!
//! The integrand is a smooth peak, and so is each sum over `k` where it has many terms: both are sampled at a few dozen places (Poisson summation), whatever `n`.

use crate::numerics::search::first_not_below;
use crate::numerics::stirling::ln_factorial;

/// Steps in one standard deviation of a smooth peak; their error is `e^{−2π²·9}`.
const STEPS_A_DEVIATION: f64 = 3.0;

/// Shorter strides are not worth it; longer ones belong to peaks whose ends are many standard deviations away.
const MIN_STRIDE: f64 = 4.0;

/// Terms below this part of the largest do not matter beside the error of Monte Carlo.
const CUTOFF: f64 = 1e-18;

/// `ln P(S=s | T=t)`, for so many reports that more than a hundred lie.
pub(crate) fn ln_reports_given_tally(s: &[u64], t: &[u64], beta: f64) -> f64 {
    let (a, n) = (s.len() as f64, t.iter().sum::<u64>() as f64);
    let (kept, drawn) = (beta / (a + beta), a / (a + beta));
    let ln_at = |y: f64| {
        let of_value = |(s, t): (&u64, &u64)| ln_of_value(*s as f64, *t as f64, (kept, drawn), y / a);
        s.iter().zip(t).map(of_value).sum::<f64>()
    };
    let deviation = (n * drawn).sqrt();
    let peak = peak_near(&ln_at, n * drawn, deviation);
    let (top, step) = (ln_at(peak), deviation / STEPS_A_DEVIATION);
    let side = |sign: f64| ended((1..).map(|i| (ln_at(peak + sign * step * f64::from(i)) - top).exp()));
    top + (step * (1.0 + side(1.0) + side(-1.0))).ln()
}

/// The sum of falling terms, as far as they matter.
fn ended(terms: impl Iterator<Item = f64>) -> f64 {
    terms.take_while(|term| *term > CUTOFF).sum()
}

/// `ln h_x(y)` with `m = y/a`.
fn ln_of_value(s: f64, t: f64, (kept, drawn): (f64, f64), mean: f64) -> f64 {
    let most = s.min(t);
    let ln_odds = kept.ln() - drawn.ln() - mean.ln();
    // Neighbours have the ratio (t−k)(s−k)/(k+1) · r/((1−r) m), which falls with k: the largest term is where it passes 1.
    let rises = |k: f64| ((t - k) * (s - k)).ln() + ln_odds > (k + 1.0).ln();
    let low = first_not_below(0, most as u64, |k| rises(k as f64)) as f64;
    let ln_term = |k: f64| k * ln_odds - ln_factorial(k) - ln_factorial(t - k) - ln_factorial(s - k);
    let top = ln_term(low);
    let curvature = 1.0 / (low + 1.0) + 1.0 / (t - low + 1.0) + 1.0 / (s - low + 1.0);
    let stride = (1.0 / (STEPS_A_DEVIATION * curvature.sqrt())).floor();
    let stride = if stride < MIN_STRIDE { 1.0 } else { stride };
    let side = |sign: f64| {
        let places = (1..).map(|i| low + sign * stride * f64::from(i));
        ended(places.take_while(|k| (0.0..=most).contains(k)).map(|k| (ln_term(k) - top).exp()))
    };
    let sum = stride * (1.0 + side(1.0) + side(-1.0));
    top + sum.ln() + ln_factorial(t) + t * drawn.ln() + s * mean.ln() - mean
}

/// The peak of a concave function, by steps from a place near it, to a tenth of the given scale.
fn peak_near(f: &dyn Fn(f64) -> f64, start: f64, scale: f64) -> f64 {
    let (mut at, mut best, mut step) = (start, f(start), scale);
    while step > 0.1 * scale {
        let places = [at - step, at + step];
        match places.into_iter().map(|place| (place, f(place))).find(|(_, value)| *value > best) {
            Some(better) => (at, best) = better,
            None => step *= 0.5,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::polynomials::ln_tally_given_tally;

    /// The products of polynomials are exact to the same cutoff, but their cost grows with the reports.
    #[test]
    fn the_probability_is_that_of_the_polynomials() {
        for (s, t, epsilon) in [
            (vec![4_000u64, 3_000, 3_000], vec![6_000u64, 3_000, 1_000], 1f64),
            (vec![4_100, 2_950, 2_950], vec![7_500, 2_498, 2], 0.5),
            (vec![65_500, 21_750, 6_780, 5_970], vec![74_000, 21_000, 3_000, 2_000], 3.0),
            (vec![500, 500, 400, 300, 300], vec![2_000, 0, 0, 0, 0], 0.1),
        ] {
            let (found, exact) = (
                ln_reports_given_tally(&s, &t, epsilon.exp_m1()),
                ln_tally_given_tally(&s, &t, epsilon.exp_m1()),
            );
            assert!((found - exact).abs() < 1e-9 * (1.0 + exact.abs()), "{found} {exact} {s:?} {t:?}");
        }
    }
}
