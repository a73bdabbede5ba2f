//! Upper bounds on the reduced costs of a cell.
//!
//! On a simplicial cone with extreme rays `u_i`, `v = Σ t_i u_i`, the *linear bound* is
//! ```text
//! h(v) − λᵀv − ν ℓ(v) ≤ Σ_i t_i [ h(u_i) − λᵀu_i − ν ∇ℓ(c)ᵀu_i ]        for any c inside
//! ```
//! because `h` and `ℓ` are convex. Where `h` and `νℓ` nearly cancel, as at high privacy, where both are nearly quadratic, the linear bound is far above
//! their difference. There the *second-order bound* uses the expansion of both about the centre of the cell.

use super::branch_and_bound::{BranchAndBound, Cell, PricedDirection};
use super::quadratic_bound::quadratic_bound;
use crate::design::certificate::nan_to_infinity;
use crate::design::cubature::max_or_nan;
use crate::design::direction::Direction;
use crate::design::dual_variables::DualVariables;
use crate::design::packed_symmetric::bilinear;

impl BranchAndBound<'_> {
    /// The cell between `rays`, inside a cell of the bound `outer`. Second-order bounds are only for certificates: column generation needs no tight bound.
    pub(super) fn cell(&self, rays: Box<[u32]>, outer: f64, enough: f64) -> Cell {
        let linear = self.linear_bound(&rays, enough);
        let bound = linear.min(outer);
        let is_tried = bound > enough && self.errors_count;
        let second = is_tried.then(|| self.second_order_bound(&rays, linear, enough)).flatten();
        Cell {
            rays,
            bound: second.map_or(bound, |second| bound.min(second)),
            second_order_sufficed: second.map(|second| second <= enough),
        }
    }

    /// The linear bound with the tangent of `ℓ` at the centre. If that is above `enough`, a second tangent nearer to the ray of the largest reduced
    /// cost often helps: any convex combination of tangents is below `ℓ`.
    fn linear_bound(&self, rays: &[u32], enough: f64) -> f64 {
        let even = 1.0 / rays.len() as f64;
        let mut at_rays = self.linearised(rays, &vec![even; rays.len()]);
        let (worst, value) = largest(&at_rays);
        if value > enough {
            let mut shares = vec![0.5 * even; rays.len()];
            shares[worst] += 0.5;
            let second = self.linearised(rays, &shares);
            at_rays = best_combination(&at_rays, &second, self.tolerances.tangent_bisections);
        }
        largest(&at_rays).1
    }

    /// For each ray the reduced cost with `ℓ` replaced by its tangent at the combination of the rays with `shares`.
    fn linearised(&self, rays: &[u32], shares: &[f64]) -> Vec<f64> {
        let priced = |ray: &u32| &self.all[*ray as usize];
        let parts: Vec<(f64, &Direction)> =
            rays.iter().zip(shares).map(|(ray, share)| (*share, &priced(ray).direction)).collect();
        let slope = self.dual.leakage.gradient(&Direction::combination(&parts));
        let reduced_cost = |ray: &u32| {
            let PricedDirection { direction, linear_part, .. } = priced(ray);
            let leakage: f64 = slope.iter().zip(&direction.values).map(|(s, v)| s * v).sum();
            nan_to_infinity(linear_part - self.dual.nu * leakage)
        };
        rays.iter().map(reduced_cost).collect()
    }

    /// The second-order bound, if it is worth its time. With the centre `c` and `δ = v − c`, exactly
    /// ```text
    /// h(v) − h(c) − ∇h(c)ᵀδ = E[ yᵀ K y/(v·P) ],   y = δ − c (δ·P)/(c·P),
    /// ```
    /// which is at most `½ δᵀ∇²h(c)δ` times the largest `c_x/v_x`. The same remainder of `ℓ` is at least `½ δᵀ∇²ℓ(c)δ` times the smallest. So the
    /// reduced cost is bounded by a quadratic function of `δ`.
    fn second_order_bound(&self, rays: &[u32], linear_bound: f64, enough: f64) -> Option<f64> {
        let priced: Vec<&PricedDirection> = rays.iter().map(|ray| &self.all[*ray as usize]).collect();
        let parts: Vec<(f64, &Direction)> = priced.iter().map(|ray| (1.0, &ray.direction)).collect();
        let centre = Direction::combination(&parts);
        let ratios = priced.iter().flat_map(|ray| centre.values.iter().zip(&ray.direction.values));
        let (smallest, largest) = ratios
            .map(|(c, v)| c / v)
            .fold((f64::INFINITY, 0.0f64), |(s, l), ratio| (s.min(ratio), l.max(ratio)));
        if !self.is_worth_expanding(&priced, largest - smallest, linear_bound, enough) {
            return None;
        }
        let DualVariables { lambda, nu, leakage } = self.dual;
        let (h, l) = (self.sensitivity.expansion(&centre), leakage.expansion(&centre));
        let at_centre = h.value - self.dual.linear_cost(&centre) - nu * l.value;
        let slope = |x: usize| h.gradient[x] - lambda[x] - nu * l.gradient[x];
        let slope: Vec<f64> = (0..lambda.len()).map(slope).collect();
        let curvature = |(h, l): (&f64, &f64)| 0.5 * (largest * h - nu * smallest * l);
        let curvature: Vec<f64> = h.hessian.iter().zip(&l.hessian).map(curvature).collect();
        let steps: Vec<Vec<f64>> = priced.iter().map(|ray| ray.direction.difference(&centre)).collect();
        let at_ray = |step: &Vec<f64>| at_centre + slope.iter().zip(step).map(|(s, d)| s * d).sum::<f64>();
        let linear: Vec<f64> = steps.iter().map(at_ray).collect();
        let places = (0..steps.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
        let form: Vec<f64> = places.map(|(i, j)| bilinear(&curvature, &steps[i], &steps[j])).collect();
        // Errors are taken to be largest at the rays, which nearly holds: they are estimates themselves.
        let error = priced.iter().map(|ray| ray.error).fold(0.0, max_or_nan);
        let bound = quadratic_bound(&linear, &form, enough - error, self.tolerances.quadratic_steps);
        Some(nan_to_infinity(error + bound))
    }

    /// Compares the expected loss of the second-order bound with the room between the rays' reduced costs and `enough`, and the halvings that it saves
    /// (the bound falls with the square of the cell's diameter) with the time of an expansion.
    fn is_worth_expanding(
        &self,
        priced: &[&PricedDirection],
        ratio_spread: f64,
        linear_bound: f64,
        enough: f64,
    ) -> bool {
        let at_rays = priced.iter().map(|ray| ray.reduced_cost + ray.error);
        let corner = at_rays.fold(f64::NEG_INFINITY, f64::max);
        let (excess, room) = (linear_bound - corner, (enough - corner).max(0.0));
        let loss = ratio_spread * excess;
        let saved_cells = (excess / room).powf(0.5 * (priced.len() as f64 - 1.0));
        let expansion_cost = self.sensitivity.expansion_cost() as f64;
        loss <= self.reach * room && saved_cells * self.tolerances.nodes_per_cell > expansion_cost
    }
}

/// The largest value and its place.
fn largest(values: &[f64]) -> (usize, f64) {
    let values = values.iter().map(|value| nan_to_infinity(*value));
    values.enumerate().fold((0, f64::NEG_INFINITY), |l, r| if r.1 > l.1 { r } else { l })
}

/// The convex combination of two lists whose largest value is least. That value is convex in the share of the second list, and its slope is that of the
/// place where it is reached.
fn best_combination(left: &[f64], right: &[f64], bisections: usize) -> Vec<f64> {
    let mean = |s: f64| left.iter().zip(right).map(|(l, r)| l + s * (r - l)).collect::<Vec<f64>>();
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..bisections {
        let middle = 0.5 * (low + high);
        let (place, _) = largest(&mean(middle));
        if right[place] > left[place] {
            high = middle;
        } else {
            low = middle;
        }
    }
    mean(0.5 * (low + high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_tangents_are_combined_to_the_lowest_bound() {
        let combined = best_combination(&[1.0, -1.0, 0.0], &[-1.0, 1.0, 0.2], 12);
        assert!((largest(&combined).1 - 1.0 / 11.0).abs() < 1e-3, "{combined:?}");
        assert!((largest(&best_combination(&[2.0, 3.0], &[0.0, 1.0], 12)).1 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn nan_is_not_a_bound() {
        assert_eq!(largest(&[1.0, f64::NAN, 2.0]), (1, f64::INFINITY));
        let unknown = [f64::INFINITY, 1.0];
        assert_eq!(largest(&best_combination(&unknown, &unknown, 12)).1, f64::INFINITY);
    }
}
