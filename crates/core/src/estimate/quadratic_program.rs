//! A concave quadratic function, maximised over the distributions.

use crate::numerics::stop::check;
use faer::linalg::solvers::Llt;
use faer::prelude::Solve;
use faer::{Mat, Side};

/// Steps after which the search ends; a dozen are usual.
const MOST_STEPS: usize = 80;

/// The distribution `u` that maximises `c·u − ½ uᵀHu`, to within `tolerance`; `None` if `H` is not positive semidefinite.
///
/// # Method and cost
/// A primal-dual interior point method with Mehrotra's prediction: one Cholesky decomposition a step, `O(a³)`. What ends up far below
/// its own multiplier is set to 0.
pub(crate) fn maximum(quadratic: &Mat<f64>, linear: &[f64], tolerance: f64) -> Option<Vec<f64>> {
    let a = linear.len();
    let largest = (0..a).map(|x| quadratic[(x, x)]).fold(f64::MIN_POSITIVE, f64::max);
    let scale = linear.iter().map(|c| c.abs()).fold(largest / a as f64, f64::max);
    let mut state = State { u: vec![1.0 / a as f64; a], z: vec![1.0; a], y: 0.0 };
    for _ in 0..MOST_STEPS {
        check();
        let slack = state.complementarity();
        let dual = state.dual_residual(quadratic, linear, scale);
        let off = dual.iter().map(|r| r.abs()).fold(0.0, f64::max);
        if scale * (slack + off) <= tolerance {
            break;
        }
        let diagonal: Vec<f64> = state.z.iter().zip(&state.u).map(|(z, u)| z / u).collect();
        let matrix =
            Mat::from_fn(a, a, |i, j| quadratic[(i, j)] / scale + if i == j { diagonal[i] } else { 0.0 });
        let factor = matrix.llt(Side::Lower).ok()?;
        let predicted = state.direction(&factor, &dual, &vec![0.0; a]);
        let (primal, multiplier) = state.steps(&predicted, 1.0);
        let ahead = state.moved(&predicted, primal, multiplier).complementarity();
        let centring = (ahead / slack).powi(3) * slack / a as f64;
        let corrector: Vec<f64> =
            predicted.u.iter().zip(&predicted.z).map(|(du, dz)| centring - du * dz).collect();
        let direction = state.direction(&factor, &dual, &corrector);
        let (primal, multiplier) = state.steps(&direction, 0.995);
        state = state.moved(&direction, primal, multiplier);
    }
    Some(state.distribution())
}

/// A point with the multipliers of `u ≥ 0` and of `Σ u = 1`, or a direction.
struct State {
    u: Vec<f64>,
    z: Vec<f64>,
    y: f64,
}

impl State {
    fn complementarity(&self) -> f64 {
        self.u.iter().zip(&self.z).map(|(u, z)| u * z).sum()
    }

    /// `Hu − c − z + y`.
    fn dual_residual(&self, quadratic: &Mat<f64>, linear: &[f64], scale: f64) -> Vec<f64> {
        let product = quadratic * Mat::from_fn(self.u.len(), 1, |x, _| self.u[x]);
        (0..self.u.len()).map(|x| (product[(x, 0)] - linear[x]) / scale - self.z[x] + self.y).collect()
    }

    /// The Newton direction to `u_x z_x = corrector_x`, where the dual residual is 0 and `u` sums to 1.
    fn direction(&self, factor: &Llt<f64>, dual: &[f64], corrector: &[f64]) -> State {
        let a = self.u.len();
        let right = Mat::from_fn(a, 2, |x, side| match side {
            0 => corrector[x] / self.u[x] - self.z[x] - dual[x],
            _ => 1.0,
        });
        let solved = factor.solve(right);
        let sum = |side: usize| (0..a).map(|x| solved[(x, side)]).sum::<f64>();
        let missing = 1.0 - self.u.iter().sum::<f64>();
        let y = (sum(0) - missing) / sum(1);
        let u: Vec<f64> = (0..a).map(|x| solved[(x, 0)] - y * solved[(x, 1)]).collect();
        let z = (0..a).map(|x| (corrector[x] - self.z[x] * u[x]) / self.u[x] - self.z[x]).collect();
        State { u, z, y }
    }

    /// How far `u` and `z` may go along a direction, at most 1 and this part of the way to the boundary.
    fn steps(&self, direction: &State, part: f64) -> (f64, f64) {
        let reach = |from: &[f64], along: &[f64]| {
            let ratios = from.iter().zip(along).filter(|(_, d)| **d < 0.0).map(|(v, d)| -part * v / d);
            ratios.fold(1.0, f64::min)
        };
        // One length for both: with a quadratic term the dual residual mixes u and z.
        let step = reach(&self.u, &direction.u).min(reach(&self.z, &direction.z));
        (step, step)
    }

    fn moved(&self, direction: &State, primal: f64, multiplier: f64) -> State {
        let add = |from: &[f64], along: &[f64], step: f64| {
            from.iter().zip(along).map(|(v, d)| v + step * d).collect::<Vec<f64>>()
        };
        State {
            u: add(&self.u, &direction.u, primal),
            z: add(&self.z, &direction.z, multiplier),
            y: self.y + multiplier * direction.y,
        }
    }

    fn distribution(&self) -> Vec<f64> {
        let kept = |(u, z): (&f64, &f64)| if *u < 1e-6 * z { 0.0 } else { u.max(0.0) };
        let u: Vec<f64> = self.u.iter().zip(&self.z).map(kept).collect();
        let sum: f64 = u.iter().sum();
        u.into_iter().map(|u| u / sum).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::post_processing::norm_sub;
    use super::*;

    /// With `H = I` the maximum is the nearest distribution, which one sort finds.
    #[test]
    fn the_nearest_distribution_is_found() {
        for linear in [vec![0.7, 0.45, -0.2, 0.1], vec![5.0, -3.0], vec![0.25; 4], vec![-9.0, -8.0, -8.5]] {
            let a = linear.len();
            let found = maximum(&Mat::identity(a, a), &linear, 1e-13).unwrap();
            for (f, e) in found.iter().zip(norm_sub(&linear)) {
                assert!((f - e).abs() < 1e-11, "{found:?} {linear:?}");
            }
        }
    }

    #[test]
    fn what_is_not_concave_is_refused() {
        assert!(
            maximum(&Mat::from_fn(2, 2, |i, j| if i == j { -1e9 } else { 1.0 }), &[0.0, 1.0], 1e-9).is_none()
        );
    }
}
