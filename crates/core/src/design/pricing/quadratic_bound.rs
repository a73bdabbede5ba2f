//! An upper bound on a quadratic function over a simplex.
//!
//! A symmetric form is a difference `M = M⁺ − M⁻` of positive semidefinite ones. For convex weights `t` of the vertices, `tᵀM⁺t` is at most the mean of its
//! values at the vertices. What is left is concave: any tangent is an upper bound, and the tangent at its maximum is tight. The maximum is found by
//! Frank–Wolfe steps between pairs of vertices.

use faer::{Mat, Side};

use crate::design::packed_symmetric::entries;
use crate::numerics::stop::check;

/// A bound on `eᵀt + tᵀMt` over `t ≥ 0`, `Σ t = 1`, for `M` given by its triangle. It stops once the bound is below `enough`, or a value above it was seen.
pub(super) fn quadratic_bound(linear: &[f64], form: &[f64], enough: f64, steps: usize) -> f64 {
    // Comparisons and eigenvalues would pass over NaN.
    if linear.iter().chain(form).any(|entry| entry.is_nan()) {
        return f64::INFINITY;
    }
    let vertices = linear.len();
    let Some(concave) = negative_part(form, vertices) else { return f64::INFINITY };
    let top = |i: usize| linear[i] + form[entries(i) + i] + concave[(i, i)];
    let tops: Vec<f64> = (0..vertices).map(top).collect();
    let first = (0..vertices).fold(0, |l, r| if tops[r] > tops[l] { r } else { l });
    let mut shares = vec![0.0; vertices];
    shares[first] = 1.0;
    let mut bound = f64::INFINITY;
    for _ in 0..steps {
        check();
        let product = |i: usize| (0..vertices).map(|j| concave[(i, j)] * shares[j]).sum();
        let products: Vec<f64> = (0..vertices).map(product).collect();
        let slopes: Vec<f64> = tops.iter().zip(&products).map(|(top, product)| top - 2.0 * product).collect();
        let square: f64 = products.iter().zip(&shares).map(|(product, t)| product * t).sum();
        let value = slopes.iter().zip(&shares).map(|(slope, t)| slope * t).sum::<f64>() + square;
        let to = (0..vertices).fold(0, |l, r| if slopes[r] > slopes[l] { r } else { l });
        let present = (0..vertices).filter(|i| shares[*i] > 0.0);
        let from = present.fold(to, |l, r| if slopes[r] < slopes[l] { r } else { l });
        bound = bound.min(slopes[to] + square);
        if bound <= enough || value > enough || from == to {
            break;
        }
        // From the present vertex of the smallest slope to the vertex of the largest. Rounding must not make the function convex.
        let curvature = concave[(to, to)] + concave[(from, from)] - 2.0 * concave[(to, from)];
        let step = ((slopes[to] - slopes[from]) / (2.0 * curvature.max(0.0))).min(shares[from]);
        shares[to] += step;
        shares[from] -= step;
    }
    bound
}

/// `M⁻`; `None` if the eigenvalues are not found.
fn negative_part(form: &[f64], vertices: usize) -> Option<Mat<f64>> {
    let matrix = Mat::from_fn(vertices, vertices, |i, j| form[entries(i.max(j)) + i.min(j)]);
    let eigen = matrix.self_adjoint_eigen(Side::Lower).ok()?;
    let (vectors, values) = (eigen.U(), eigen.S());
    let term = |k: usize, i: usize, j: usize| (-values[k]).max(0.0) * vectors[(i, k)] * vectors[(j, k)];
    Some(Mat::from_fn(vertices, vertices, |i, j| (0..vertices).map(|k| term(k, i, j)).sum()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::split_mix::split_mix;

    #[test]
    fn nan_has_no_bound() {
        let (linear, form) = ([0.0, -1.0], [-1.0, 0.0, -1.0]);
        assert!(quadratic_bound(&linear, &form, 0.0, 100).is_finite());
        assert_eq!(quadratic_bound(&[0.0, f64::NAN], &form, 0.0, 100), f64::INFINITY);
        assert_eq!(quadratic_bound(&linear, &[-1.0, f64::NAN, -1.0], 0.0, 100), f64::INFINITY);
    }

    #[test]
    fn the_bound_is_above_all_values_and_is_tight_for_convex_and_concave_forms() {
        let steps = 40;
        let shares = (0..=steps).flat_map(|i| (0..=steps - i).map(move |j| [i, j, steps - i - j]));
        let shares: Vec<[f64; 3]> = shares.map(|t| t.map(|t| f64::from(t) / f64::from(steps))).collect();
        for case in 0..300 {
            let random = |k: u64| split_mix(case, k) as f64 / u64::MAX as f64 - 0.5;
            let factor = |i: u64, j: u64| random(3 * i + j);
            let square = |i: u64, j: u64| (0..3).map(|k| factor(i, k) * factor(j, k)).sum::<f64>();
            let entry = |i: u64, j: u64| match case % 3 {
                0 => square(i, j),
                1 => -square(i, j),
                _ => random(100 + 3 * i + j),
            };
            let form: Vec<f64> =
                (0..3).flat_map(|i| (0..=i).map(move |j| (i, j))).map(|(i, j)| entry(i, j)).collect();
            let linear: Vec<f64> = (20..23).map(random).collect();
            let value = |t: &[f64; 3]| {
                let product =
                    |i: usize| (0..3).map(|j| t[j] * form[entries(i.max(j)) + i.min(j)]).sum::<f64>();
                (0..3).map(|i| t[i] * (linear[i] + product(i))).sum::<f64>()
            };
            let most = shares.iter().map(value).fold(f64::NEG_INFINITY, f64::max);
            let bound = quadratic_bound(&linear, &form, most + 2e-3, 100);
            assert!(bound >= most - 1e-12, "{case}: {bound} {most}");
            // The grid misses the largest value by the square of its step at most.
            assert!(case % 3 == 2 || bound <= most + 2e-3, "{case}: {bound} {most}");
        }
    }
}
