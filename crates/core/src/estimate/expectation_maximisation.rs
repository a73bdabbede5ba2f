//! Maximum likelihood by accelerated expectation maximisation, where an `a × a` matrix would be too large.

use super::maximum_likelihood::{Certificate, MaximumLikelihood};
use crate::likelihood::{Likelihood, Slope};
use crate::numerics::stop::check;

/// Passes over the reports after which the search usually gives up without having reached its tolerance.
pub(crate) const MOST_PASSES: usize = 20_000;

/// The maximum of the likelihood, starting from a distribution without zeros, after at most `most` passes.
///
/// # Method and cost
/// A step of expectation maximisation is `p_x ← p_x (∂L/∂p_x)/n`; it never decreases the likelihood, but is
/// very slow at high privacy. Two steps give the direction and the rate of decrease, from which a longer step
/// is extrapolated (SQUAREM, Varadhan and Roland 2008). It is taken only if it increases the likelihood more
/// than the two steps, so the search is monotone. `O(passes · n a/8)`.
pub(crate) fn accelerated(
    likelihood: &dyn Likelihood,
    start: Vec<f64>,
    tolerance: f64,
    most: usize,
) -> MaximumLikelihood {
    let n = likelihood.reports();
    let (mut p, mut passes) = (start, 1);
    let mut slope = likelihood.slope(&p);
    while slope.gap(n) > tolerance && passes < most {
        check();
        let first = stepped(&p, &slope, n);
        let second = stepped(&first, &likelihood.slope(&first), n);
        let (mut next, mut next_slope) = (second.clone(), likelihood.slope(&second));
        passes += 2;
        if let Some(longer) = extrapolated(&p, &first, &second) {
            let longer = stepped(&longer, &likelihood.slope(&longer), n);
            let longer_slope = likelihood.slope(&longer);
            passes += 2;
            if longer_slope.value > next_slope.value {
                (next, next_slope) = (longer, longer_slope);
            }
        }
        (p, slope) = (next, next_slope);
    }
    let gap = slope.gap(n);
    MaximumLikelihood { values: p, certificate: Certificate { gap, tolerance, passes } }
}

/// One step of expectation maximisation.
fn stepped(p: &[f64], slope: &Slope, n: f64) -> Vec<f64> {
    let raised: Vec<f64> = p.iter().zip(&slope.excess).map(|(p_x, e)| p_x * (1.0 + e / n).max(0.0)).collect();
    let sum: f64 = raised.iter().sum();
    raised.into_iter().map(|p_x| p_x / sum).collect()
}

/// The point that two steps extrapolate to, kept inside the simplex; `None` if the steps do not shrink.
fn extrapolated(p: &[f64], first: &[f64], second: &[f64]) -> Option<Vec<f64>> {
    let change: Vec<f64> = first.iter().zip(p).map(|(f, p)| f - p).collect();
    let bend: Vec<f64> = second.iter().zip(first).zip(&change).map(|((s, f), r)| s - f - r).collect();
    let length = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    let factor = length(&change) / length(&bend);
    if !(factor.is_finite() && factor > 1.0) {
        return None;
    }
    let point = (0..p.len()).map(|x| p[x] + 2.0 * factor * change[x] + factor * factor * bend[x]);
    // A frequency may shrink but not become 0, because expectation maximisation never leaves 0.
    let inside: Vec<f64> = point.zip(second).map(|(v, s)| v.max(1e-3 * s)).collect();
    let sum: f64 = inside.iter().sum();
    Some(inside.into_iter().map(|v| v / sum).collect())
}

#[cfg(test)]
mod tests {
    use super::super::newton::newton;
    use super::*;
    use crate::likelihood::patterns::Patterns;
    use crate::model::output::Output;
    use crate::model::protocol::Protocol;
    use crate::model::tallies::Tallies;

    /// Two methods that share only the gradient reach the same likelihood, within their stated gaps.
    #[test]
    fn newton_and_expectation_maximisation_agree() {
        for (a, epsilon) in [(9, 0.5), (20, 1.0), (12, 3.0)] {
            let subset = Protocol::subset(a, a / 3, epsilon).unwrap();
            let start = |y: usize| (0..a / 3).map(move |i| (y * y + i * (1 + y % 2)) % a);
            let mut counts = std::collections::BTreeMap::new();
            for y in 0..40 {
                let mut members: Vec<usize> = start(y).collect();
                members.sort_unstable();
                members.dedup();
                if members.len() == a / 3 {
                    *counts.entry(Output::Subset(members)).or_insert(0) += 10 + y as u64;
                }
            }
            let tallies = Tallies::new(&subset, counts).unwrap();
            let patterns = Patterns::of(&subset, &tallies).unwrap();
            let uniform = vec![1.0 / a as f64; a];
            let slow = accelerated(&patterns, uniform.clone(), 1e-7, MOST_PASSES);
            let fast = newton(&patterns, uniform, 1e-7);
            assert!(slow.certificate.holds() && fast.certificate.holds(), "{slow:?} {fast:?}");
            let [l, r] = [&slow, &fast].map(|s| patterns.slope(&s.values).value);
            assert!((l - r).abs() < 2e-7, "{l} {r}");
            assert!(fast.certificate.passes < slow.certificate.passes, "{slow:?} {fast:?}");
        }
    }
}
