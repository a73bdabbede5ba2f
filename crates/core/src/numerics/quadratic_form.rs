//! Quadratic forms of inverse matrices.

use faer::prelude::Solve;
use faer::{Mat, Side};

/// Pivots below this share of their row count as 0.
const SMALLEST_PIVOT: f64 = 1e-12;

/// `vᵀ C⁻¹ v` for the positive definite matrix with the entries `c(i, j)`, by its Cholesky factor; `None` if it is singular or not positive definite.
pub(crate) fn inverse_quadratic_form(c: impl Fn(usize, usize) -> f64, v: &[f64]) -> Option<f64> {
    let matrix = Mat::from_fn(v.len(), v.len(), &c);
    let factor = matrix.llt(Side::Lower).ok()?;
    let is_positive = |k: usize| {
        let largest = (0..v.len()).map(|j| matrix[(k, j)].abs()).fold(0.0, f64::max);
        factor.L()[(k, k)].powi(2) > SMALLEST_PIVOT * (1.0 + largest)
    };
    let solved = factor.solve(Mat::from_fn(v.len(), 1, |i, _| v[i]));
    let form: f64 = v.iter().enumerate().map(|(i, v_i)| v_i * solved[(i, 0)]).sum();
    (0..v.len()).all(is_positive).then_some(form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_of_two_is_the_formula() {
        let c = [[2.0, 1.0], [1.0, 3.0]];
        // The inverse is [[3, −1], [−1, 2]] / 5.
        let form = inverse_quadratic_form(|i, j| c[i][j], &[1.0, 2.0]).unwrap();
        assert!((form - 7.0 / 5.0).abs() < 1e-15);
        assert_eq!(inverse_quadratic_form(|_, _| 1.0, &[1.0, 2.0]), None);
        assert_eq!(inverse_quadratic_form(|_, _| f64::NAN, &[1.0, 2.0]), None);
    }
}
