//! Maximum likelihood of randomised response in closed form, with one sort.
//!
//! ```text
//! maximise  Σ_x s_x ln(1 + β p_x)   over distributions p,   β = e^ε − 1
//! p_x = max(0, w s_x − 1/β)         with the level w for which they sum to 1
//! ```
//! Water is filled over a floor of height `1/β`: small counts stay dry and get frequency 0. If the `m`
//! largest counts are wet, `w = (1 + m/β) / Σ_{wet} s_x`.

use crate::likelihood::Slope;

/// The frequencies that maximise the likelihood of these counts, `floor = 1/β` (0 for the identity protocol),
/// not all counts 0.
pub(crate) fn frequencies(counts: &[u64], floor: f64) -> Vec<f64> {
    let mut sorted = counts.to_vec();
    sorted.sort_unstable_by(|l, r| r.cmp(l));
    let (mut sum, mut level) = (0.0, 0.0);
    for (rank, count) in sorted.iter().map(|count| *count as f64).enumerate() {
        sum += count;
        let candidate = (1.0 + (rank + 1) as f64 * floor) / sum;
        if candidate * count <= floor {
            break;
        }
        level = candidate;
    }
    counts.iter().map(|count| (level * *count as f64 - floor).max(0.0)).collect()
}

/// Likelihood and gradient at `p`: `∂L/∂p_x = s_x/(floor + p_x)` for `L = Σ s_x ln(floor + p_x)`, shifted to
/// mean 0 under `p`.
pub(crate) fn slope(counts: &[u64], floor: f64, p: &[f64]) -> Slope {
    let terms = || counts.iter().map(|count| *count as f64).zip(p);
    // A count of 0 contributes nothing, even at p_x = floor = 0.
    let weight = |(count, p_x): (f64, &f64)| if count == 0.0 { 0.0 } else { count / (floor + p_x) };
    let along: f64 = terms().map(|(count, p_x)| weight((count, p_x)) * p_x).sum();
    let value = terms().filter(|(count, _)| *count > 0.0).map(|(count, p_x)| count * (floor + p_x).ln());
    Slope { value: value.sum(), excess: terms().map(|term| weight(term) - along).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_counts_stay_dry() {
        let p = frequencies(&[60, 30, 1], 0.5);
        // Two wet: w = (1 + 2·0.5)/90, and 1·w < 0.5.
        assert!((p[0] - (60.0 / 45.0 - 0.5)).abs() < 1e-15 && (p[1] - (30.0 / 45.0 - 0.5)).abs() < 1e-15);
        assert_eq!(p[2], 0.0);
    }

    #[test]
    fn the_truth_needs_no_filling() {
        assert_eq!(frequencies(&[3, 0, 1], 0.0), [0.75, 0.0, 0.25]);
        assert_eq!(slope(&[3, 0, 1], 0.0, &[0.75, 0.0, 0.25]).excess, [0.0, -4.0, 0.0]);
    }
}
