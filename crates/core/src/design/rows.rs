//! Rows that move: Newton's method on the rows of a protocol themselves.
//!
//! Weights of given directions are a convex program, but a direction that is nearly right takes many rounds to be replaced by better ones. Where the rows
//! `r_j` of an optimum are nearly known, all their entries are found at once:
//! ```text
//! maximise  E ln det J,   J = Σ_j r_j r_jᵀ/(r_j·P)        so that  Σ_j r_j = 1,   Σ_j ℓ(r_j) = B
//! ```
//! This is not concave in the rows, so what comes out is no more than a guess, which is priced like any other. Zeros stay zeros.

use crate::numerics::parallel::*;
use faer::linalg::matmul::matmul;
use faer::prelude::Solve;
use faer::{Accum, Mat, Par};

use super::direction::Direction;
use super::price::LeakageOf;
use super::reference::Reference;
use super::rule::{Node, Rule};
use super::triangle::{add_square, entries, inverse_factor};
use crate::numerics::stop::check;

/// The rows of a protocol, and the multipliers of their sums and of their leakage.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    pub rows: Vec<Vec<f64>>,
    pub lambda: Vec<f64>,
    pub nu: f64,
}

/// Steps at most: near an optimum five to ten are enough.
const STEPS: usize = 30;
/// A step does not take more than this share of any entry.
const MOST_TAKEN: f64 = 0.8;
/// Entries that change by a smaller share are right.
const SETTLED: f64 = 1e-8;
/// Rows of a smaller share are dropped.
const NEGLIGIBLE: f64 = 1e-5;
/// Points in one task, always the same, so that sums do not depend on the number of threads.
const CHUNK: usize = 128;

/// What a row is of a protocol: of its reports, or of the leakage that it may have if that is more.
fn share(row: &[f64], leakage: &LeakageOf<'_>, budget: f64) -> f64 {
    let theta = row.iter().sum::<f64>() / row.len() as f64;
    let leaks = Direction::of_heights(row, 0.0, 1.0).map_or(0.0, |direction| leakage.quick(&direction));
    theta * (leaks / budget).max(1.0)
}

/// The entries that are not zero, by row and input.
type Places = [(usize, usize)];

impl Rows {
    /// The rows near these where nothing is gained to first order; `None` if there are none.
    pub(super) fn settled(
        mut self,
        rule: &Rule,
        reference: Option<&Reference<'_>>,
        leakage: &LeakageOf<'_>,
        budget: f64,
    ) -> Option<Self> {
        for _ in 0..STEPS {
            check();
            let change = self.step(rule, reference, leakage, budget)?;
            let before = self.rows.len();
            self.rows.retain(|row| share(row, leakage, budget) > NEGLIGIBLE);
            if change < SETTLED && self.rows.len() == before {
                return Some(self).filter(|rows| rows.nu > 0.0);
            }
        }
        None
    }

    /// A step of Newton's method, as much of it as leaves all entries positive; by what share entries changed.
    fn step(
        &mut self,
        rule: &Rule,
        reference: Option<&Reference<'_>>,
        leakage: &LeakageOf<'_>,
        budget: f64,
    ) -> Option<f64> {
        let places = self.places();
        let (count, inputs) = (places.len(), self.lambda.len());
        let mut utility = self.utility(rule, &places)?;
        if let Some(reference) = reference {
            self.correct(reference, &mut utility);
        }
        let Derivatives { mut slope, mut curvature } = utility;
        let (leak, leak_slope) = self.leakage(leakage, &places, &mut curvature);
        let size = count + inputs + 1;
        let mut matrix = Mat::<f64>::zeros(size, size);
        let mut right = Mat::<f64>::zeros(size, 1);
        matrix.as_mut().submatrix_mut(0, 0, count, count).copy_from(&curvature);
        (0..inputs).for_each(|x| right[(count + x, 0)] = 1.0);
        right[(size - 1, 0)] = budget - leak;
        for (i, &(j, x)) in places.iter().enumerate() {
            for (row, entry) in [(count + x, 1.0), (size - 1, leak_slope[i])] {
                matrix[(i, row)] = -entry;
                matrix[(row, i)] = entry;
            }
            slope[i] -= self.lambda[x] + self.nu * leak_slope[i];
            right[(i, 0)] = -slope[i];
            right[(count + x, 0)] -= self.rows[j][x];
        }
        let step = matrix.partial_piv_lu().solve(&right);
        let share = |(i, &(j, x)): (usize, &(usize, usize))| step[(i, 0)] / self.rows[j][x];
        let shares: Vec<f64> = places.iter().enumerate().map(share).collect();
        if !shares.iter().all(|share| share.is_finite()) {
            return None;
        }
        let taken = shares.iter().map(|share| -share).fold(0.0, f64::max);
        let length = (MOST_TAKEN / taken).min(1.0);
        places.iter().zip(&shares).for_each(|(&(j, x), share)| self.rows[j][x] *= 1.0 + length * share);
        (0..inputs).for_each(|x| self.lambda[x] += length * step[(count + x, 0)]);
        self.nu += length * step[(size - 1, 0)];
        Some(shares.iter().map(|share| share.abs()).fold(0.0, f64::max))
    }

    fn places(&self) -> Vec<(usize, usize)> {
        let entries = |(j, row): (usize, &Vec<f64>)| {
            let positive = row.iter().enumerate().filter(|(_, r)| **r > 0.0);
            positive.map(|(x, _)| (j, x)).collect::<Vec<_>>()
        };
        self.rows.iter().enumerate().flat_map(entries).collect()
    }

    /// All leakage and its slope; `ν` times its curvature is subtracted from that of the utility.
    fn leakage(&self, leakage: &LeakageOf<'_>, places: &Places, curvature: &mut Mat<f64>) -> (f64, Vec<f64>) {
        let mut sum = 0.0;
        let mut slope = Vec::with_capacity(places.len());
        for row in &self.rows {
            let first = slope.len();
            let theta = row.iter().sum::<f64>() / row.len() as f64;
            // Unwrap safety: no row is zero.
            let direction = Direction::of_heights(row, 0.0, 1.0).unwrap();
            if let Some(x) = direction.is_truth().then(|| row.iter().position(|r| *r > 0.0)).flatten() {
                let all = theta * leakage.at(&direction);
                sum += all;
                slope.push(all / row[x]);
                continue;
            }
            let about = leakage.about(&direction);
            sum += theta * about.value;
            slope.extend(&about.slope);
            add_curvature(curvature, first, &about.curvature, -self.nu / theta, row.len());
        }
        (sum, slope)
    }

    /// Adds the derivatives of what points underestimate, by row and input.
    fn correct(&self, reference: &Reference<'_>, utility: &mut Derivatives) {
        let mut first = 0;
        for row in &self.rows {
            let theta = row.iter().sum::<f64>() / row.len() as f64;
            // Unwrap safety: no row is zero.
            let direction = Direction::of_heights(row, 0.0, 1.0).unwrap();
            if direction.is_truth() {
                utility.slope[first] +=
                    reference.correction(std::slice::from_ref(&direction)) / row.len() as f64;
                first += 1;
                continue;
            }
            let about = reference.correction_about(&direction);
            for x in 0..row.len() {
                utility.slope[first + x] += about.slope[x];
            }
            add_curvature(&mut utility.curvature, first, &about.curvature, 1.0 / theta, row.len());
            first += row.len();
        }
    }

    /// The derivatives of `E ln det J`; `None` where it is singular.
    fn utility(&self, rule: &Rule, places: &Places) -> Option<Derivatives> {
        let chunks: Option<Vec<Derivatives>> =
            rule.nodes.par_chunks(CHUNK).map(|nodes| self.of_nodes(nodes, places)).collect();
        chunks?.into_iter().reduce(Derivatives::plus)
    }

    /// With `J⁻¹ = LᵀL`, `a_x` the column `x` of `L` in differences, `b = L r` and `π = P/(r·P)`, the derivative of `J` in `r_x` is `L⁻¹` times
    /// ```text
    /// (a_x bᵀ + b a_xᵀ − b bᵀ π_x)/(r·P)
    /// ```
    /// times its transpose, the traces of products of two of which are the curvature, but for what `r rᵀ/(r·P)` itself bends.
    fn of_nodes(&self, nodes: &[Node], places: &Places) -> Option<Derivatives> {
        let inputs = self.lambda.len();
        let (count, n) = (places.len(), inputs - 1);
        let size = entries(n);
        let mut white = Mat::<f64>::zeros(size * nodes.len(), count);
        let mut slope = vec![0.0; count];
        let mut curvature = Mat::<f64>::zeros(count, count);
        for (place, node) in nodes.iter().enumerate() {
            check();
            let whitened = Whitened::new(&self.rows, node)?;
            let root = node.weight.sqrt();
            for (i, &(j, x)) in places.iter().enumerate() {
                let (b, likelihood) = &whitened.rows[j];
                let (a, pi) = (&whitened.columns[x], node.p[x] / likelihood);
                let k = dot(a, b);
                let q = dot(b, b);
                slope[i] += node.weight * (2.0 * k - q * pi) / likelihood;
                let out = &mut white.col_as_slice_mut(i)[place * size..(place + 1) * size];
                for s in 0..n {
                    for t in 0..=s {
                        let entry = (a[s] * b[t] + b[s] * a[t] - b[s] * b[t] * pi) / likelihood;
                        out[entries(s) + t] =
                            root * if s == t { entry } else { std::f64::consts::SQRT_2 * entry };
                    }
                }
                let same = places[..=i].iter().enumerate().rev().take_while(|(_, (other, _))| *other == j);
                for (i_z, &(_, z)) in same {
                    let (a_z, pi_z) = (&whitened.columns[z], node.p[z] / likelihood);
                    let bend = dot(a, a_z) - k * pi_z - dot(a_z, b) * pi + q * pi * pi_z;
                    curvature[(i, i_z)] += node.weight * 2.0 * bend / likelihood;
                }
            }
        }
        for i in 0..count {
            (0..i).for_each(|z| curvature[(z, i)] = curvature[(i, z)]);
        }
        matmul(curvature.as_mut(), Accum::Add, white.transpose(), white.as_ref(), -1.0, Par::Seq);
        Some(Derivatives { slope, curvature })
    }
}

/// Of the utility, in all entries.
struct Derivatives {
    slope: Vec<f64>,
    curvature: Mat<f64>,
}

impl Derivatives {
    fn plus(mut self, other: Self) -> Self {
        self.slope.iter_mut().zip(other.slope).for_each(|(sum, slope)| *sum += slope);
        self.curvature += other.curvature;
        self
    }
}

/// Adds `factor` times the triangle of a row whose entries begin at `first`.
fn add_curvature(to: &mut Mat<f64>, first: usize, triangle: &[f64], factor: f64, inputs: usize) {
    for x in 0..inputs {
        for z in 0..=x {
            let bend = factor * triangle[entries(x) + z];
            to[(first + x, first + z)] += bend;
            if z < x {
                to[(first + z, first + x)] += bend;
            }
        }
    }
}

/// Rows in coordinates where the information at a point is one.
struct Whitened {
    /// Of each input; they add up to zero.
    columns: Vec<Vec<f64>>,
    /// Each row, and its likelihood.
    rows: Vec<(Vec<f64>, f64)>,
}

impl Whitened {
    fn new(rows: &[Vec<f64>], node: &Node) -> Option<Self> {
        let (inputs, reference) = (node.p.len(), node.reference);
        let n = inputs - 1;
        let others: Vec<usize> = (0..inputs).filter(|x| *x != reference).collect();
        let mut information = vec![0.0; entries(n)];
        let mut reduced = Vec::with_capacity(rows.len());
        for row in rows {
            let d: Vec<f64> = others.iter().map(|x| row[*x] - row[reference]).collect();
            let likelihood: f64 = row.iter().zip(&node.p).map(|(r, p)| r * p).sum();
            add_square(&mut information, &d, 1.0 / likelihood);
            reduced.push((d, likelihood));
        }
        let factor = inverse_factor(&information, n)?;
        let mut columns = vec![vec![0.0; n]; inputs];
        for (j, x) in others.into_iter().enumerate() {
            for i in j..n {
                columns[x][i] = factor[entries(i) + j];
                columns[reference][i] -= factor[entries(i) + j];
            }
        }
        let whiten = |(d, likelihood): (Vec<f64>, f64)| {
            let entry = |i: usize| dot(&factor[entries(i)..=entries(i) + i], &d[..=i]);
            ((0..n).map(entry).collect(), likelihood)
        };
        Some(Whitened { columns, rows: reduced.into_iter().map(whiten).collect() })
    }
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(l, r)| l * r).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::candid::Candid;
    use crate::design::direction::Classes;
    use crate::design::price::{Gains, Prices};
    use crate::design::program::{Column, utility};
    use crate::design::rule::Wanted;
    use crate::model::prior::Dirichlet;

    fn rows() -> Rows {
        let rows = [[0.1, 0.0, 0.0], [0.0, 0.2, 0.0], [0.03, 0.02, 0.3], [0.87, 0.78, 0.7]];
        Rows { rows: rows.iter().map(|row| row.to_vec()).collect(), lambda: vec![0.0; 3], nu: 1.0 }
    }

    fn columns(rows: &Rows, rule: &Rule, classes: &Classes) -> (Vec<Column>, Vec<f64>) {
        let column = |row: &Vec<f64>| {
            let direction = Direction::of_heights(row, 0.0, 1.0).unwrap();
            (Column::new(&direction, 0.0, classes, rule), row.iter().sum::<f64>() / 3.0)
        };
        rows.rows.iter().map(column).unzip()
    }

    #[test]
    fn derivatives_are_those_of_the_utility() {
        let prior = Dirichlet::new(vec![0.5, 1.0, 2.5]).unwrap();
        let classes = Classes::new(prior.alpha());
        let wanted = Wanted { points: 1_500, contrast: 1e4, form: None, seed: 0 };
        let rule = Rule::new(&[(1.0, &prior)], &classes, &wanted);
        let at = |rows: &Rows| {
            let (columns, theta) = columns(rows, &rule, &classes);
            utility(&rule, &columns, &theta).unwrap()
        };
        let here = rows();
        let places = here.places();
        let Derivatives { slope, curvature } = here.utility(&rule, &places).unwrap();
        let moved = |steps: &[(usize, f64)]| {
            let mut rows = here.clone();
            steps.iter().for_each(|&(i, step)| rows.rows[places[i].0][places[i].1] += step);
            at(&rows)
        };
        let step = 1e-4;
        for i in 0..places.len() {
            let difference = (moved(&[(i, step)]) - moved(&[(i, -step)])) / (2.0 * step);
            assert!(
                (difference - slope[i]).abs() < 1e-4 * (1.0 + slope[i].abs()),
                "{i} {difference} {slope:?}"
            );
            for z in 0..places.len() {
                let sign = |l: f64, r: f64| moved(&[(i, l * step), (z, r * step)]);
                let difference = (sign(1.0, 1.0) - sign(1.0, -1.0) - sign(-1.0, 1.0) + sign(-1.0, -1.0))
                    / (4.0 * step * step);
                let exact = curvature[(i, z)];
                assert!(
                    (difference - exact).abs() < 1e-3 * (1.0 + exact.abs()),
                    "{i} {z} {difference} {exact}"
                );
            }
        }
    }

    /// By the prices of the rows, which know nothing of how they were found. Few points are corrected beside a reference.
    fn rows_settle_where_none_gains_more_than_it_costs(points: usize, is_beside: bool) {
        let prior = Dirichlet::new(vec![0.5, 1.0, 2.5]).unwrap();
        let classes = Classes::new(prior.alpha());
        let parts = [(1.0, &prior)];
        let leakage = LeakageOf(&parts);
        let wanted = Wanted { points, contrast: 1e4, form: None, seed: 0 };
        let rule = Rule::new(&parts, &classes, &wanted);
        for budget in [0.3, 0.1, 1e-4] {
            // As much is told as may leak.
            let mut start = rows();
            let scale = budget / 0.3;
            start.rows[..3].iter_mut().flatten().for_each(|entry| *entry *= scale);
            let told = [0, 1, 2].map(|x| start.rows[..3].iter().map(|row| row[x]).sum::<f64>());
            start.rows[3] = told.map(|told| 1.0 - told).to_vec();
            start.nu = 2.0 / budget;
            let odds = told.map(|told| 1.0 / told - 1.0).to_vec();
            let reference = is_beside.then(|| Reference::new(Candid::beside_points(&parts, odds), &rule));
            let settled = start.settled(&rule, reference.as_ref(), &leakage, budget).unwrap();
            let sum = |x: usize| settled.rows.iter().map(|row| row[x]).sum::<f64>();
            assert!((0..3).all(|x| (sum(x) - 1.0).abs() < 1e-12), "{settled:?}");
            let (columns, theta) = columns(&settled, &rule, &classes);
            let directions: Vec<Direction> = columns.iter().map(|column| column.members[0].clone()).collect();
            let leaks: f64 = directions.iter().zip(&theta).map(|(v, t)| t * leakage.at(v)).sum();
            assert!((leaks / budget - 1.0).abs() < 1e-9, "{leaks} {budget}");
            let prices = Prices::new(&rule, &columns, &theta, 3).unwrap();
            let corrected = match &reference {
                Some(reference) => prices.beside(reference).of_each(&directions),
                None => prices.of_each(&directions),
            };
            for (direction, gain) in directions.iter().zip(corrected) {
                let linear = dot(&settled.lambda, &direction.values);
                let cost = linear + settled.nu * leakage.at(direction);
                assert!((gain.value / cost - 1.0).abs() < 1e-7, "{budget} {gain:?} {cost} {direction:?}");
            }
        }
    }

    #[test]
    fn rows_settle_on_points() {
        rows_settle_where_none_gains_more_than_it_costs(1_500, false);
    }

    #[test]
    fn rows_settle_beside_a_reference() {
        rows_settle_where_none_gains_more_than_it_costs(60, true);
    }
}
