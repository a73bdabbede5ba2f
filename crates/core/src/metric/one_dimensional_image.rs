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

use crate::protocol::{Channel, Matrix};

/// The columns of a matrix of rank two, by their place on the line, and the prior's parameters of them.
#[derive(Clone, Debug)]
pub struct Line {
    /// Places `c_x`, strictly ascending, first 0 and last 1.
    pub places: Vec<f64>,
    /// `α_x` in the same order.
    pub alpha: Vec<f64>,
    /// The column at place 0.
    pub start: Vec<f64>,
    /// The column at place 1.
    pub end: Vec<f64>,
}

/// Coarsest and finest step of the outer rule, as powers of two.
const OUTER_LEVELS: std::ops::RangeInclusive<i32> = 3..=8;

impl Line {
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
        Line {
            places: order.iter().map(place).collect(),
            alpha: order.iter().map(|x| alpha[*x]).collect(),
            start: matrix.rows().map(|row| row[first]).collect(),
            end: matrix.rows().map(|row| row[last]).collect(),
        }
    }

    /// `r_μ` and a bound on its error.
    ///
    /// # Method and cost
    /// Between neighbouring places `−f ln f + ½ f ln J` is analytic, with algebraic singularities at the places: the double
    /// exponential rule, its step halved until the sum stands still. About `a · 200` densities of `a · 500` operations.
    ///
    /// # Accuracy
    /// Measured against 30-digit values: `1e-12` for `0.05 ≤ α ≤ 2.5`, and the stated error was never exceeded.
    pub fn growth_constant(&self) -> (f64, f64) {
        let mut coarse = self.outer_sum(*OUTER_LEVELS.start());
        let mut error = f64::INFINITY;
        for level in OUTER_LEVELS.skip(1) {
            let fine = self.outer_sum(level);
            error = (fine.integral - coarse.integral).abs() + (fine.mass - 1.0).abs();
            coarse = fine;
            if error < 1e-13 * (1.0 + coarse.integral.abs()) {
                break;
            }
        }
        (coarse.integral - 0.5 * (2.0 * PI * E).ln(), error + 1e-14 * (1.0 + coarse.integral.abs()))
    }

    fn outer_sum(&self, level: i32) -> Outer {
        let mut sum = Outer::default();
        for (i, pair) in self.places.windows(2).enumerate() {
            for node in unit_interval(level) {
                let width = pair[1] - pair[0];
                let density = self.density(i, width * node.left, width * node.right);
                if density > 0.0 {
                    let weight = density * width * node.weight;
                    let ln_information = self.ln_information(i, node);
                    sum.mass += weight;
                    sum.integral += weight * (0.5 * ln_information - density.ln());
                }
            }
        }
        sum
    }

    /// `ln J` at a point between places `i` and `i + 1`.
    fn ln_information(&self, i: usize, node: Node) -> f64 {
        let (low, high) = (self.places[i], self.places[i + 1]);
        let entry = |l: f64, y: usize| (1.0 - l) * self.start[y] + l * self.end[y];
        let terms = (0..self.start.len()).map(|y| {
            let slope = self.end[y] - self.start[y];
            // Convex combinations of non-negative entries keep relative accuracy next to a zero.
            let value = node.right * entry(low, y) + node.left * entry(high, y);
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
}

/// `(1/π) ∫ Re[…] dt` for the pairs `(c_x − l, α_x)`.
///
/// The phase turns by up to `π α0/2`, so the step shrinks like `1/√α0`. The modulus only falls, so the sum ends where it is
/// negligible.
fn inverted_density(terms: &[(f64, f64)]) -> f64 {
    let total: f64 = terms.iter().map(|(_, alpha)| alpha).sum();
    let step = 0.2 / (1.0 + 0.5 * total).sqrt();
    let furthest = terms.iter().map(|(d, _)| d.abs()).fold(0.0, f64::max);
    let first = -furthest.ln() - 42.0 - total.ln().max(0.0);
    let (mut sum, mut largest) = (0.0, 0.0f64);
    for k in 0.. {
        let (value, modulus) = inverted_term(terms, first + f64::from(k) * step);
        sum += value;
        largest = largest.max(modulus);
        if modulus < 1e-19 * largest {
            break;
        }
    }
    sum * step / PI
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
    // One exponential of the sum: `t` alone overflows where a small `α0` makes the tail long.
    let modulus = (u + ln_modulus).exp();
    (modulus * (angle.cos() * re - angle.sin() * im), modulus * bound)
}

/// A node of the double exponential rule on `(0, 1)`: distances to both ends, and the weight.
#[derive(Clone, Copy, Debug)]
struct Node {
    left: f64,
    right: f64,
    weight: f64,
}

/// The nodes `1/(1 + e^{−π sinh v})` for `v` in steps of `2^{−level}`, as far as the distances to the ends can be told from
/// zero.
fn unit_interval(level: i32) -> impl Iterator<Item = Node> {
    let step = f64::from(-level).exp2();
    let reach = (5.4 / step) as i64; // π sinh 5.4 = 348, so the distance is e^{−348}
    (-reach..=reach).map(move |k| {
        let v = k as f64 * step;
        let s = PI * v.sinh();
        let (left, right) = (1.0 / (1.0 + (-s).exp()), 1.0 / (1.0 + s.exp()));
        Node { left, right, weight: step * PI * v.cosh() * left * right }
    })
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
        let line = Line {
            places: vec![0.0, 1.0],
            alpha: vec![0.5, 0.5],
            start: vec![truth, 1.0 - truth],
            end: vec![1.0 - truth, truth],
        };
        let (value, error) = line.growth_constant();
        assert!((value + 1.681038).abs() < 1e-6 && error < 1e-11, "{value} {error}");
    }
}
