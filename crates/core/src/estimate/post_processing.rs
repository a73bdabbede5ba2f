//! Making linear estimates consistent: frequencies are not negative and sum to 1.
//!
//! The names are those of Wang, Lopuhaä-Zwakenberg, Li, Skoric and Li (2020), who compare them. Each takes the linear estimate and nothing
//! else but, for [`base_cut`], the standard errors it would have where nobody holds a value.

use crate::model::error::{Error, Result};
use crate::numerics::special::normal_quantile;

/// Base-Pos: what is outside `[0, 1]` is moved to its edge. The sum stays as it comes, and is too large on average.
pub fn clip(linear: &[f64]) -> Vec<f64> {
    linear.iter().map(|p_x| p_x.clamp(0.0, 1.0)).collect()
}

/// Norm: the same number is added to all, so that they sum to 1. Some may stay negative.
pub fn norm(linear: &[f64]) -> Vec<f64> {
    let missing = (1.0 - linear.iter().sum::<f64>()) / linear.len() as f64;
    linear.iter().map(|p_x| p_x + missing).collect()
}

/// Norm-Mul: negatives become 0, then all are divided by their sum.
///
/// # Errors
/// [`Error::NothingPositive`].
pub fn clip_and_normalise(linear: &[f64]) -> Result<Vec<f64>> {
    let sum: f64 = linear.iter().map(|p_x| p_x.max(0.0)).sum();
    if sum <= 0.0 {
        return Err(Error::NothingPositive);
    }
    Ok(linear.iter().map(|p_x| p_x.max(0.0) / sum).collect())
}

/// Norm-Sub: the distribution nearest to the linear estimate in squared distance.
///
/// It is `max(0, p_x − δ)` with the `δ` for which the sum is 1, found with one sort.
pub fn norm_sub(linear: &[f64]) -> Vec<f64> {
    let mut sorted = linear.to_vec();
    sorted.sort_unstable_by(|l, r| r.total_cmp(l));
    let (mut sum, mut shift) = (0.0, 0.0);
    for (rank, p_x) in sorted.iter().enumerate() {
        sum += p_x;
        let candidate = (sum - 1.0) / (rank + 1) as f64;
        if *p_x <= candidate {
            break;
        }
        shift = candidate;
    }
    linear.iter().map(|p_x| (p_x - shift).max(0.0)).collect()
}

/// Base-Cut: what is not significantly positive becomes 0. A frequency that is truly 0 is kept with probability `0.05/a`, so that in all
/// one in twenty collections shows a value that nobody holds. The standard errors are therefore those of values that nobody holds. The sum stays as it comes.
pub fn base_cut(linear: &[f64], standard_errors: &[f64]) -> Vec<f64> {
    let z = normal_quantile(1.0 - 0.05 / linear.len() as f64);
    let kept = |(p_x, error): (&f64, &f64)| if *p_x > z * error { p_x.min(1.0) } else { 0.0 };
    linear.iter().zip(standard_errors).map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINEAR: [f64; 4] = [0.7, 0.45, -0.2, 0.1];

    fn close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (f, e) in found.iter().zip(expected) {
            assert!((f - e).abs() < 1e-15, "{found:?} {expected:?}");
        }
    }

    #[test]
    fn each_does_what_its_name_says() {
        close(&clip(&LINEAR), &[0.7, 0.45, 0.0, 0.1]);
        close(&norm(&LINEAR), &[0.6875, 0.4375, -0.2125, 0.0875]);
        close(&clip_and_normalise(&LINEAR).unwrap(), &[0.56, 0.36, 0.0, 0.08]);
        close(&norm_sub(&LINEAR), &[0.7 - 0.25 / 3.0, 0.45 - 0.25 / 3.0, 0.0, 0.1 - 0.25 / 3.0]);
        close(&base_cut(&LINEAR, &[0.1; 4]), &[0.7, 0.45, 0.0, 0.0]);
    }

    #[test]
    fn far_off_the_simplex_the_nearest_point_is_a_corner() {
        close(&norm_sub(&[5.0, -3.0, 0.0]), &[1.0, 0.0, 0.0]);
        close(&norm_sub(&[-5.0, -5.0]), &[0.5, 0.5]);
    }

    #[test]
    fn nothing_positive_cannot_be_normalised() {
        assert_eq!(clip_and_normalise(&[-0.1, 0.0]), Err(Error::NothingPositive));
    }
}
