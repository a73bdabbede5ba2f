//! The largest value of a quadratic function on a simplex, from above.
//!
//! A symmetric form is a difference `M = M⁺ − M⁻` of two that do not fall below zero. For shares `t` of the corners the first is at most the mean of its values
//! at the corners, and what is left is concave: any tangent is above it, and one that touches it at its largest value tells that value.

use faer::{Mat, Side};

use super::triangle::entries;
use crate::numerics::stop::check;

/// Steps towards the largest value of the concave function.
const STEPS: usize = 100;

/// A bound on `eᵀt + tᵀMt` over shares `t ≥ 0`, `Σ t = 1`, for a form `M` given by its triangle. It is not pressed below `enough`, nor where a value above that was seen.
pub(super) fn largest_on_simplex(linear: &[f64], form: &[f64], enough: f64) -> f64 {
    let corners = linear.len();
    let Some(fall) = negative_part(form, corners) else { return f64::INFINITY };
    let top = |i: usize| linear[i] + form[entries(i) + i] + fall[(i, i)];
    let tops: Vec<f64> = (0..corners).map(top).collect();
    let first = (0..corners).fold(0, |l, r| if tops[r] > tops[l] { r } else { l });
    let mut shares = vec![0.0; corners];
    shares[first] = 1.0;
    let mut bound = f64::INFINITY;
    for _ in 0..STEPS {
        check();
        let bent: Vec<f64> =
            (0..corners).map(|i| (0..corners).map(|j| fall[(i, j)] * shares[j]).sum()).collect();
        let slopes: Vec<f64> = tops.iter().zip(&bent).map(|(top, bent)| top - 2.0 * bent).collect();
        let square: f64 = bent.iter().zip(&shares).map(|(bent, t)| bent * t).sum();
        let value = slopes.iter().zip(&shares).map(|(slope, t)| slope * t).sum::<f64>() + square;
        let to = (0..corners).fold(0, |l, r| if slopes[r] > slopes[l] { r } else { l });
        let present = (0..corners).filter(|i| shares[*i] > 0.0);
        let from = present.fold(to, |l, r| if slopes[r] < slopes[l] { r } else { l });
        bound = bound.min(slopes[to] + square);
        if bound <= enough || value > enough || from == to {
            break;
        }
        // From the present corner of the smallest slope to the one of the largest, as far as the function rises.
        let bend = fall[(to, to)] + fall[(from, from)] - 2.0 * fall[(to, from)];
        // Rounding must not make it bend the other way.
        let step = ((slopes[to] - slopes[from]) / (2.0 * bend.max(0.0))).min(shares[from]);
        shares[to] += step;
        shares[from] -= step;
    }
    bound
}

/// `M⁻`; `None` if it is not found.
fn negative_part(form: &[f64], corners: usize) -> Option<Mat<f64>> {
    let matrix = Mat::from_fn(corners, corners, |i, j| form[entries(i.max(j)) + i.min(j)]);
    let eigen = matrix.self_adjoint_eigen(Side::Lower).ok()?;
    let (vectors, values) = (eigen.U(), eigen.S());
    let term = |k: usize, i: usize, j: usize| (-values[k]).max(0.0) * vectors[(i, k)] * vectors[(j, k)];
    Some(Mat::from_fn(corners, corners, |i, j| (0..corners).map(|k| term(k, i, j)).sum()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::split_mix::split_mix;

    #[test]
    fn the_bound_is_above_all_values_and_touches_those_of_convex_and_concave_forms() {
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
                let bent = |i: usize| (0..3).map(|j| t[j] * form[entries(i.max(j)) + i.min(j)]).sum::<f64>();
                (0..3).map(|i| t[i] * (linear[i] + bent(i))).sum::<f64>()
            };
            let most = shares.iter().map(value).fold(f64::NEG_INFINITY, f64::max);
            let bound = largest_on_simplex(&linear, &form, most + 2e-3);
            assert!(bound >= most - 1e-12, "{case}: {bound} {most}");
            // The grid misses the largest value by the square of its step at most.
            assert!(case % 3 == 2 || bound <= most + 2e-3, "{case}: {bound} {most}");
        }
    }
}
