//! Derivatives of utility and leakage in the entries of all rows.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use rayon::prelude::*;

use super::{KktPoint, Places, RowProgram, mean};
use crate::design::control_variate::ControlVariate;
use crate::design::cubature::CubatureNode;
use crate::design::direction::Direction;
use crate::design::packed_symmetric::{add_square, difference_columns, entries, inverse_factor};
use crate::numerics::stop::check;

/// Gradient and Hessian of the utility.
pub(super) struct Derivatives {
    pub gradient: Vec<f64>,
    pub hessian: Mat<f64>,
}

impl Derivatives {
    fn plus(mut self, other: Self) -> Self {
        self.gradient.iter_mut().zip(other.gradient).for_each(|(sum, slope)| *sum += slope);
        self.hessian += other.hessian;
        self
    }
}

impl RowProgram<'_> {
    /// The derivatives of `E ln det J`, with the correction of a control variate; `None` where `J` is singular.
    pub(super) fn utility_derivatives(&self, point: &KktPoint, places: &Places) -> Option<Derivatives> {
        let tasks = self.cubature.nodes.par_chunks(self.tolerances.nodes_per_task);
        let parts: Option<Vec<Derivatives>> =
            tasks.map(|nodes| derivatives_on(nodes, &point.rows, places)).collect();
        let mut utility = parts?.into_iter().reduce(Derivatives::plus)?;
        if let Some(control) = self.control {
            add_corrections(&point.rows, control, &mut utility);
        }
        Some(utility)
    }

    /// The leakage and its gradient; `ν` times its Hessian is subtracted from that of the utility.
    pub(super) fn add_leakage(
        &self,
        point: &KktPoint,
        places: &Places,
        hessian: &mut Mat<f64>,
    ) -> (f64, Vec<f64>) {
        let mut sum = 0.0;
        let mut gradient = Vec::with_capacity(places.len());
        for row in &point.rows {
            let first = gradient.len();
            let theta = mean(row);
            let direction = direction_of(row);
            if let Some(x) = direction.is_unit().then(|| row.iter().position(|r| *r > 0.0)).flatten() {
                let leaked = theta * self.leakage.of(&direction);
                sum += leaked;
                gradient.push(leaked / row[x]);
                continue;
            }
            let expansion = self.leakage.expansion(&direction);
            sum += theta * expansion.value;
            gradient.extend(&expansion.gradient);
            add_triangle(hessian, first, &expansion.hessian, -point.nu / theta, row.len());
        }
        (sum, gradient)
    }
}

/// Adds the derivatives of what the nodes underestimate.
fn add_corrections(rows: &[Vec<f64>], control: &ControlVariate<'_>, utility: &mut Derivatives) {
    let mut first = 0;
    for row in rows {
        let direction = direction_of(row);
        if direction.is_unit() {
            let correction = control.correction(std::slice::from_ref(&direction));
            utility.gradient[first] += correction / row.len() as f64;
            first += 1;
            continue;
        }
        let expansion = control.correction_expansion(&direction);
        for x in 0..row.len() {
            utility.gradient[first + x] += expansion.gradient[x];
        }
        add_triangle(&mut utility.hessian, first, &expansion.hessian, 1.0 / mean(row), row.len());
        first += row.len();
    }
}

fn direction_of(row: &[f64]) -> Direction {
    // Unwrap safety: no row is zero.
    Direction::from_row(row).unwrap()
}

/// Adds `factor` times the triangle of a row whose entries begin at `first`.
fn add_triangle(to: &mut Mat<f64>, first: usize, triangle: &[f64], factor: f64, inputs: usize) {
    for x in 0..inputs {
        for z in 0..=x {
            let entry = factor * triangle[entries(x) + z];
            to[(first + x, first + z)] += entry;
            if z < x {
                to[(first + z, first + x)] += entry;
            }
        }
    }
}

/// The part of some nodes. With `J⁻¹ = LᵀL`, `a_x` the column `x` of `L` in differences, `b = L r` and `π = P/(r·P)`, the derivative of `J` in `r_x`
/// is, in coordinates where `J` is the identity,
/// ```text
/// D_x = (a_x bᵀ + b a_xᵀ − b bᵀ π_x)/(r·P)
/// ```
/// The gradient is `tr D_x`. The Hessian is `−tr(D_x D_z)`, plus the second derivative of `r rᵀ/(r·P)` for entries of the same row.
fn derivatives_on(nodes: &[CubatureNode], rows: &[Vec<f64>], places: &Places) -> Option<Derivatives> {
    let (count, n) = (places.len(), rows[0].len() - 1);
    let size = entries(n);
    let mut white = Mat::<f64>::zeros(size * nodes.len(), count);
    let mut gradient = vec![0.0; count];
    let mut hessian = Mat::<f64>::zeros(count, count);
    for (place, node) in nodes.iter().enumerate() {
        check();
        let whitened = WhitenedRows::new(rows, node)?;
        for (i, &(j, x)) in places.iter().enumerate() {
            gradient[i] += whitened.weighted_trace(j, x);
            let out = &mut white.col_as_slice_mut(i)[place * size..(place + 1) * size];
            whitened.write_derivative(j, x, out);
            let same_row = places[..=i].iter().enumerate().rev().take_while(|(_, (other, _))| *other == j);
            for (i_z, &(_, z)) in same_row {
                hessian[(i, i_z)] += whitened.weighted_second_derivative(j, x, z);
            }
        }
    }
    for i in 0..count {
        (0..i).for_each(|z| hessian[(z, i)] = hessian[(i, z)]);
    }
    matmul(hessian.as_mut(), Accum::Add, white.transpose(), white.as_ref(), -1.0, Par::Seq);
    Some(Derivatives { gradient, hessian })
}

/// Rows in coordinates where the information at a node is the identity.
struct WhitenedRows<'a> {
    node: &'a CubatureNode,
    /// `a_x` of each input; they add up to zero.
    columns: Vec<Vec<f64>>,
    rows: Vec<WhitenedRow>,
}

struct WhitenedRow {
    b: Vec<f64>,
    /// `r·P`.
    likelihood: f64,
    /// `b·b`, and `a_x·b` of each input.
    square: f64,
    products: Vec<f64>,
}

impl<'a> WhitenedRows<'a> {
    fn new(rows: &[Vec<f64>], node: &'a CubatureNode) -> Option<Self> {
        let (inputs, mode) = (node.p.len(), node.mode);
        let n = inputs - 1;
        let others: Vec<usize> = (0..inputs).filter(|x| *x != mode).collect();
        let mut information = vec![0.0; entries(n)];
        let mut reduced = Vec::with_capacity(rows.len());
        for row in rows {
            let d: Vec<f64> = others.iter().map(|x| row[*x] - row[mode]).collect();
            let likelihood: f64 = row.iter().zip(&node.p).map(|(r, p)| r * p).sum();
            add_square(&mut information, &d, 1.0 / likelihood);
            reduced.push((d, likelihood));
        }
        let factor = inverse_factor(&information, n)?;
        let columns = difference_columns(&factor, inputs, mode);
        let whiten = |(d, likelihood): (Vec<f64>, f64)| {
            let entry = |i: usize| dot(&factor[entries(i)..=entries(i) + i], &d[..=i]);
            let b: Vec<f64> = (0..n).map(entry).collect();
            let products = columns.iter().map(|a| dot(a, &b)).collect();
            WhitenedRow { square: dot(&b, &b), products, b, likelihood }
        };
        let rows = reduced.into_iter().map(whiten).collect();
        Some(WhitenedRows { node, columns, rows })
    }

    /// `π_x` of row `j`.
    fn pi(&self, j: usize, x: usize) -> f64 {
        self.node.p[x] / self.rows[j].likelihood
    }

    /// `tr D_x = (2 a_x·b − b·b π_x)/(r·P)`, times the weight of the node.
    fn weighted_trace(&self, j: usize, x: usize) -> f64 {
        let row = &self.rows[j];
        self.node.weight * (2.0 * row.products[x] - row.square * self.pi(j, x)) / row.likelihood
    }

    /// Writes `√weight · D_x`, with the entries off the diagonal times `√2`, so that scalar products are traces of products.
    fn write_derivative(&self, j: usize, x: usize, out: &mut [f64]) {
        let WhitenedRow { b, likelihood, .. } = &self.rows[j];
        let (a, pi, root) = (&self.columns[x], self.pi(j, x), self.node.weight.sqrt());
        for s in 0..b.len() {
            for t in 0..=s {
                let entry = (a[s] * b[t] + b[s] * a[t] - b[s] * b[t] * pi) / likelihood;
                out[entries(s) + t] = root * if s == t { entry } else { std::f64::consts::SQRT_2 * entry };
            }
        }
    }

    /// `tr(J⁻¹ ∂²(r rᵀ/(r·P))/∂r_x∂r_z) = 2 (a_x·a_z − a_x·b π_z − a_z·b π_x + b·b π_x π_z)/(r·P)`, times the weight of the node.
    fn weighted_second_derivative(&self, j: usize, x: usize, z: usize) -> f64 {
        let row = &self.rows[j];
        let (pi_x, pi_z) = (self.pi(j, x), self.pi(j, z));
        let second =
            dot(&self.columns[x], &self.columns[z]) - row.products[x] * pi_z - row.products[z] * pi_x
                + row.square * pi_x * pi_z;
        self.node.weight * 2.0 * second / row.likelihood
    }
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(l, r)| l * r).sum()
}
