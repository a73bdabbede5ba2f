//! The growth constant `r_μ` of a protocol of rank two: reports can only teach one number about `P`.
//!
//! # The picture
//! The columns of a matrix of rank two lie on a line, `q_x = q_0 + c_x Δ` with `c_x ∈ [0, 1]`. Reports only depend on
//! `L = Σ_x c_x P_x`, so they can teach nothing but `L`, and
//! ```text
//! r_μ = −½ ln(2πe) + h(L) + ½ E ln J(L),   J(l) = Σ_y Δ_y² / (q_0 + l Δ)_y        [errata of the paper, E3]
//! ```
//! # The density of `L`
//! With independent Gamma variables, `L ≤ l` if and only if `Σ_x (c_x − l) γ_x ≤ 0`. Inverting the characteristic function of
//! that sum and differentiating in `l` gives
//! ```text
//! f(l) = (1/π) ∫_0^∞ Re[ φ(t) Σ_x α_x / (1 − i t (c_x − l)) ] dt,   φ(t) = Π_x (1 − i t (c_x − l))^{−α_x}
//! ```
//! In `u = ln t` the integrand decays exponentially at both ends and is analytic for `|Im u| < π/2`, so the trapezoidal
//! rule converges geometrically and does not oscillate.

use std::f64::consts::{E, PI};

use rayon::prelude::*;

use crate::model::protocol::{Channel, Matrix};
use crate::numerics::gauss::legendre_on_unit;
use crate::numerics::stop::check;

/// The columns of a matrix of rank two, by their place on the line, and the prior's parameters of them.
#[derive(Clone, Debug)]
pub struct Image {
    /// Places `c_x`, strictly ascending, first 0 and last 1.
    pub places: Vec<f64>,
    /// `α_x` in the same order.
    pub alpha: Vec<f64>,
    /// The column at place 0.
    pub start: Vec<f64>,
    /// The column at place 1.
    pub end: Vec<f64>,
}

/// Orders of the Gauss rule on each panel; the last two measure the error.
const ORDERS: [usize; 3] = [10, 16, 24];

/// Most different columns: the cost grows with their square.
pub const MAX_PLACES: usize = 32;

/// Largest `α0`: the cost grows with it, and the inverted density oscillates.
pub const MAX_TOTAL: f64 = 2000.0;

/// Closer than `e^{−REACH}` of a gap to a place, the density is a power of the distance to double precision.
const REACH: f64 = 37.0;

impl Image {
    /// The line through the columns of a matrix of rank two with different columns.
    pub fn of_columns(matrix: &Matrix, alpha: &[f64]) -> Self {
        let a = matrix.inputs();
        // The row with the widest range tells the places best.
        let range = |row: &[f64]| {
            let (low, high) = row.iter().fold((f64::INFINITY, 0f64), |(l, h), q| (l.min(*q), h.max(*q)));
            high - low
        };
        let widest = matrix.rows().max_by(|l, r| range(l).total_cmp(&range(r))).unwrap_or_default();
        let mut order: Vec<usize> = (0..a).collect();
        order.sort_by(|x, other| widest[*x].total_cmp(&widest[*other]));
        let (first, last) = (order[0], order[a - 1]);
        let place = |x: &usize| (widest[*x] - widest[first]) / (widest[last] - widest[first]);
        Image {
            places: order.iter().map(place).collect(),
            alpha: order.iter().map(|x| alpha[*x]).collect(),
            start: matrix.rows().map(|row| row[first]).collect(),
            end: matrix.rows().map(|row| row[last]).collect(),
        }
    }

    /// `r_μ` and an estimate of its error, for at most [`MAX_PLACES`] places and `α0` up to [`MAX_TOTAL`].
    ///
    /// # Method and cost
    /// Next to a place the density is a power `δ^{α0−α_x−1}` of the distance, which is integrated in closed form: a prior with
    /// `α = 1e-4` has most of its mass there, at distances like `e^{−5000}`. The rest is cut into panels, geometric towards the places
    /// and no wider than three standard deviations, with a Gauss rule on each in `ln δ`. About `a · 1000` densities of `a · 500`
    /// operations.
    ///
    /// # Accuracy
    /// `1e-12` for `0.05 ≤ α ≤ 100` against 30-digit values; the error is the difference of two orders plus what the total mass
    /// misses of 1, times the largest logarithm.
    pub fn growth_constant(&self) -> (f64, f64) {
        let rules = ORDERS.map(|order| self.outer_sum(&legendre_on_unit(order)));
        let [.., coarse, fine] = rules;
        let missing = (fine.mass - 1.0).abs() * fine.largest;
        let value = fine.integral / fine.mass + fine.mass.ln();
        let coarse = coarse.integral / coarse.mass + coarse.mass.ln();
        (value - 0.5 * (2.0 * PI * E).ln(), (value - coarse).abs() + missing + 1e-14 * (1.0 + value.abs()))
    }

    fn outer_sum(&self, rule: &[(f64, f64)]) -> Outer {
        let mut sum = Outer::default();
        for i in 0..self.places.len() - 1 {
            for from_left in [true, false] {
                self.add_end(i, from_left, &mut sum);
                self.add_half(i, from_left, rule, &mut sum);
            }
        }
        sum
    }

    /// The part closer than `e^{−REACH}` to an end of the gap above place `i`: `f = f₀ (δ/δ₀)^{A−1}` with `A` the sum of all `α` but
    /// that of the place, and `J` constant or, where an output is impossible at the place, like `1/δ`.
    fn add_end(&self, i: usize, from_left: bool, sum: &mut Outer) {
        let place = if from_left { i } else { i + 1 };
        let others: f64 = (0..self.alpha.len()).filter(|x| *x != place).map(|x| self.alpha[x]).sum();
        let width = self.places[i + 1] - self.places[i];
        let node = Position::at(-REACH, from_left);
        let density = self.density(i, width * node.left, width * node.right);
        if density <= 0.0 {
            return;
        }
        let vanishes =
            |y: &usize| self.entry(self.places[place], *y) == 0.0 && self.start[*y] != self.end[*y];
        let singular = if (0..self.start.len()).any(|y| vanishes(&y)) { 1.0 / others } else { 0.0 };
        let ln_information = self.ln_information(i, node) + singular;
        let ln_density = density.ln() - (others - 1.0) / others;
        sum.add(density * width * (-REACH).exp() / others, 0.5 * ln_information - ln_density);
    }

    /// The half of the gap above place `i` that is closer to one end, in panels of `ln δ`.
    fn add_half(&self, i: usize, from_left: bool, rule: &[(f64, f64)], sum: &mut Outer) {
        let width = self.places[i + 1] - self.places[i];
        for (low, high) in panels(&|_| self.deviation() / width) {
            for (position, weight) in rule {
                let ln_share = low + (high - low) * position;
                let node = Position::at(ln_share, from_left);
                let density = self.density(i, width * node.left, width * node.right);
                if density > 0.0 {
                    let mass = density * width * ln_share.exp() * (high - low) * weight;
                    sum.add(mass, 0.5 * self.ln_information(i, node) - density.ln());
                }
            }
        }
    }

    /// Places with their masses, for sums over functions of `L` that vary over distances of `width`, ascending. The masses sum to 1 up to the
    /// error of the density.
    ///
    /// For at most [`MAX_PLACES`] places and `α0` up to [`MAX_TOTAL`].
    pub(crate) fn nodes(&self, width: &dyn Fn(f64) -> f64) -> Vec<(f64, f64)> {
        let rule = legendre_on_unit(ORDERS[1]);
        let gap =
            |i: usize| [true, false].map(|from_left| self.half_nodes(i, from_left, width, &rule)).concat();
        let mut nodes: Vec<(f64, f64)> = (0..self.places.len() - 1).flat_map(gap).collect();
        nodes.sort_by(|(l, _), (r, _)| l.total_cmp(r));
        nodes
    }

    /// Nodes of the half of the gap above place `i` that is closer to one end.
    fn half_nodes(
        &self,
        i: usize,
        from_left: bool,
        width: &dyn Fn(f64) -> f64,
        rule: &[(f64, f64)],
    ) -> Vec<(f64, f64)> {
        let gap = self.places[i + 1] - self.places[i];
        let finest = |share: f64| {
            let off = gap * share;
            let here = if from_left { self.places[i] + off } else { self.places[i + 1] - off };
            self.deviation().min(0.5 * width(here)) / gap
        };
        let positions = panels(&finest).into_iter().flat_map(|(low, high)| {
            let node = move |(x, w): &(f64, f64)| (low + (high - low) * x, (high - low) * w);
            rule.iter().map(node)
        });
        let of_position = |(ln_share, weight): (f64, f64)| {
            let node = Position::at(ln_share, from_left);
            let density = self.density(i, gap * node.left, gap * node.right);
            (self.places[i] + gap * node.left, density.max(0.0) * gap * ln_share.exp() * weight)
        };
        let mut nodes: Vec<(f64, f64)> =
            positions.collect::<Vec<_>>().into_par_iter().map(of_position).collect();
        nodes.push(self.end_mass(i, from_left));
        nodes
    }

    /// A place and the mass closer than `e^{−REACH}` to it, as in [`Image::add_end`].
    fn end_mass(&self, i: usize, from_left: bool) -> (f64, f64) {
        let place = if from_left { i } else { i + 1 };
        let others: f64 = (0..self.alpha.len()).filter(|x| *x != place).map(|x| self.alpha[x]).sum();
        let gap = self.places[i + 1] - self.places[i];
        let node = Position::at(-REACH, from_left);
        let density = self.density(i, gap * node.left, gap * node.right).max(0.0);
        (self.places[place], density * gap * (-REACH).exp() / others)
    }

    /// Standard deviation of `L`.
    fn deviation(&self) -> f64 {
        let total: f64 = self.alpha.iter().sum();
        let mean = |power: i32| {
            self.alpha.iter().zip(&self.places).map(|(alpha, c)| alpha / total * c.powi(power)).sum::<f64>()
        };
        ((mean(2) - mean(1).powi(2)).max(1e-300) / (total + 1.0)).sqrt()
    }

    fn entry(&self, l: f64, y: usize) -> f64 {
        (1.0 - l) * self.start[y] + l * self.end[y]
    }

    /// `ln J` at a point between places `i` and `i + 1`.
    fn ln_information(&self, i: usize, node: Position) -> f64 {
        let (low, high) = (self.places[i], self.places[i + 1]);
        let terms = (0..self.start.len()).map(|y| {
            let slope = self.end[y] - self.start[y];
            // Convex combinations of non-negative entries keep relative accuracy next to a zero.
            let value = node.right * self.entry(low, y) + node.left * self.entry(high, y);
            if slope == 0.0 { 0.0 } else { slope * slope / value }
        });
        terms.sum::<f64>().ln()
    }

    /// The density of `L` at distance `below` above place `i` and `above` below place `i + 1`.
    fn density(&self, i: usize, below: f64, above: f64) -> f64 {
        let distance = |x: usize| {
            if x <= i {
                (self.places[x] - self.places[i]) - below
            } else {
                (self.places[x] - self.places[i + 1]) + above
            }
        };
        let terms: Vec<(f64, f64)> = (0..self.places.len()).map(|x| (distance(x), self.alpha[x])).collect();
        inverted_density(&terms)
    }
}

#[derive(Default)]
struct Outer {
    integral: f64,
    mass: f64,
    /// The largest logarithm met where there is mass.
    largest: f64,
}

impl Outer {
    fn add(&mut self, mass: f64, logarithm: f64) {
        self.mass += mass;
        self.integral += mass * logarithm;
        if mass > 1e-30 {
            self.largest = self.largest.max(logarithm.abs());
        }
    }
}

/// Panels `(low, high)` of the logarithm of a distance, from `e^{−REACH}` to one half, both as shares of the gap. None is wider than 4,
/// nor, in the distance itself, than three times `deviation` there.
fn panels(deviation: &dyn Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let mut panels = Vec::new();
    let mut high: f64 = 0.5f64.ln();
    while high > -REACH {
        let narrow = (1.0 - 3.0 * deviation(high.exp()) / high.exp()).max(1e-300).ln();
        let low = (high + narrow.max(-4.0)).max(-REACH);
        panels.push((low, high));
        high = low;
    }
    panels
}

/// `(1/π) ∫ Re[…] dt` for the pairs `(c_x − l, α_x)`.
///
/// The phase turns by up to `π α0/2`, so the step shrinks like `1/√α0`. On the left the integrand is `α0 t` and on the right a power
/// `t^{−α0}`, each to double precision where the sum stops, so the rest of the trapezoidal sum is a geometric series.
fn inverted_density(terms: &[(f64, f64)]) -> f64 {
    let total: f64 = terms.iter().map(|(_, alpha)| alpha).sum();
    let step = 0.2 / (1.0 + 0.5 * total).sqrt();
    let furthest = terms.iter().map(|(d, _)| d.abs()).fold(0.0, f64::max);
    let nearest = terms.iter().map(|(d, _)| d.abs()).fold(f64::INFINITY, f64::min);
    let (first, last) = (-(furthest * (1.0 + total)).ln() - 19.0, -nearest.ln() + 38.0);
    let (mut sum, mut largest, mut u) = (0.0, 0.0f64, first);
    let mut value = inverted_term(terms, u).0;
    sum += value / step.exp_m1();
    loop {
        check();
        let (term, modulus) = inverted_term(terms, u);
        (value, sum) = (term, sum + term);
        largest = largest.max(modulus);
        if u > last || modulus < 1e-19 * largest {
            break;
        }
        u += step;
    }
    (sum + value / (total * step).exp_m1()) * step / PI
}

/// The integrand in `u = ln t`, and the modulus that bounds it.
fn inverted_term(terms: &[(f64, f64)], u: f64) -> (f64, f64) {
    let t = u.exp();
    // φ in polar form; the sum in Cartesian form.
    let (mut ln_modulus, mut angle, mut re, mut im, mut bound) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for &(distance, alpha) in terms {
        let z = t * distance;
        let square = 1.0 + z * z;
        ln_modulus -= 0.5 * alpha * if z.abs() > 1e8 { 2.0 * z.abs().ln() } else { (z * z).ln_1p() };
        angle += alpha * z.atan();
        re += alpha / square;
        im += if z.abs() > 1e8 { alpha / z } else { alpha * z / square };
        bound += alpha / square.sqrt();
    }
    let modulus = (u + ln_modulus).exp();
    (modulus * (angle.cos() * re - angle.sin() * im), modulus * bound)
}

/// A point between two places: its distances to both, as shares of the gap.
#[derive(Clone, Copy, Debug)]
struct Position {
    left: f64,
    right: f64,
}

impl Position {
    /// The point at a distance of `e^{ln_share}` from one end.
    fn at(ln_share: f64, from_left: bool) -> Self {
        let (near, far) = (ln_share.exp(), -ln_share.exp_m1());
        if from_left { Position { left: near, right: far } } else { Position { left: far, right: near } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn density_of_two_places_is_the_beta_density() {
        for (alpha, beta) in [(0.5f64, 0.5f64), (2.0, 3.0), (0.05, 1.0), (50.0, 20.0)] {
            for l in [0.01f64, 0.3, 0.5, 0.9] {
                let ln_beta = libm::lgamma(alpha) + libm::lgamma(beta) - libm::lgamma(alpha + beta);
                let exact = ((alpha - 1.0) * (1.0 - l).ln() + (beta - 1.0) * l.ln() - ln_beta).exp();
                let inverted = inverted_density(&[(-l, alpha), (1.0 - l, beta)]);
                assert!(
                    (inverted - exact).abs() < 1e-12 * exact.max(1.0),
                    "{alpha} {beta} {l}: {inverted} {exact}"
                );
            }
        }
    }

    #[test]
    fn two_places_give_the_faithful_constant() {
        // Randomised response on two inputs, ε = 1, Jeffreys: (a−1) U_as + h(P) = −1.681038… [errata of the paper, V5].
        let truth = 1f64.exp() / (1f64.exp() + 1.0);
        let line = Image {
            places: vec![0.0, 1.0],
            alpha: vec![0.5, 0.5],
            start: vec![truth, 1.0 - truth],
            end: vec![1.0 - truth, truth],
        };
        let (value, error) = line.growth_constant();
        assert!((value + 1.681038).abs() < 1e-6 && error < 1e-11, "{value} {error}");
    }

    #[test]
    fn small_parameters_put_the_mass_next_to_the_places() {
        // Values of an independent double integral in logarithms, with their uncertainty.
        for (alpha, expected, uncertainty) in [
            (0.02, -20.9014, 4e-4),
            (0.01, -45.141, 1e-2),
            (0.003, -160.6, 0.2),
            (0.001, -493.2, 0.6),
            (1e-4, -4997.0, 8.0),
        ] {
            let line = Image {
                places: vec![0.0, 3.0 / 7.0, 1.0],
                alpha: vec![alpha; 3],
                start: vec![0.2, 0.8],
                end: vec![0.9, 0.1],
            };
            let (value, error) = line.growth_constant();
            assert!(
                (value - expected).abs() < uncertainty + error,
                "{alpha}: {value} ± {error}, not {expected}"
            );
            assert!(error < 1e-8 * value.abs(), "{alpha}: {value} ± {error}");
        }
    }
}
