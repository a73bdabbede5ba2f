//! The convex program over the weights of given directions.
//!
//! ```text
//! maximise  E ln det J(P; θ),   J = Σ_j θ_j J_j        over θ ≥ 0
//! so that   Σ_j θ_j v̄_j = 1 in each class,  Σ_j θ_j ℓ_j ≤ B
//! ```
//! A primal-dual interior-point method: few columns, few constraints and a smooth objective whose gradient `h_j = E tr(J⁻¹ J_j)` and Hessian
//! `−E tr(J⁻¹ J_j J⁻¹ J_k)` are sums over the points of the rule. Since `Σ θ_j h_j = a − 1` at every point (but for corrections), the dual gap is
//! `λᵀb − (a − 1) = Σ θ_j z_j` with the slacks `z_j = λᵀa_j − h_j`.

use crate::numerics::parallel::*;
use faer::linalg::matmul::matmul;
use faer::prelude::Solve;
use faer::{Accum, Mat, Par};

use super::direction::{Classes, Direction};
use super::rule::{Node, Rule};
use super::triangle::{add_square, entries, inverse_factor, whitened, whitened_square};
use crate::numerics::stop::check;

/// A direction's orbit as a column of the program.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// The orbit.
    pub members: Vec<Direction>,
    /// What it adds to the constraint of each class.
    pub sums: Vec<f64>,
    /// Its leakage as a share of the budget, if there is one.
    pub leakage: f64,
    /// What the points of the rule [underestimate](super::reference) of its gain.
    pub correction: f64,
    /// Its reduced information at every point of the rule, check points last.
    information: Vec<f64>,
}

impl Column {
    /// The orbit of a direction that leaks the share `leakage` of the budget.
    pub(super) fn new(direction: &Direction, leakage: f64, classes: &Classes, rule: &Rule) -> Self {
        let members = classes.orbit(direction);
        let (n, size) = (classes.inputs() - 1, entries(classes.inputs() - 1));
        let nodes: Vec<&Node> = rule.all().collect();
        let mut information = vec![0.0; nodes.len() * size];
        information.par_chunks_mut(size).zip(&nodes).for_each(|(triangle, node)| {
            let mut d = vec![0.0; n];
            for member in &members {
                let likelihood = reduced(member, node, &mut d);
                add_square(triangle, &d, 1.0 / (likelihood * members.len() as f64));
            }
        });
        Column { sums: classes.sums(direction), members, leakage, correction: 0.0, information }
    }

    /// The information at point `i`.
    pub(super) fn at(&self, i: usize) -> &[f64] {
        let size = entries(self.members[0].values.len() - 1);
        &self.information[i * size..(i + 1) * size]
    }
}

/// Writes `d_x − d_r` for all `x` but the reference `r`, and returns `v·p`.
pub(super) fn reduced(direction: &Direction, node: &Node, d: &mut [f64]) -> f64 {
    let d_r = direction.deviations[node.reference];
    let others = (0..direction.values.len()).filter(|x| *x != node.reference);
    d.iter_mut().zip(others).for_each(|(d, x)| *d = direction.deviations[x] - d_r);
    direction.values.iter().zip(&node.p).map(|(v, p)| v * p).sum()
}

/// Weights and multipliers of a program.
#[derive(Clone, Debug)]
pub(super) struct Weights {
    /// The weight of each column.
    pub theta: Vec<f64>,
    /// The multiplier of each class, and of the budget if there is one.
    pub lambda: Vec<f64>,
}

/// The columns with their constraints.
pub(super) struct Program<'a> {
    pub classes: &'a Classes,
    pub rule: &'a Rule,
    pub columns: &'a [Column],
    /// Whether leakage is limited.
    pub limited: bool,
}

/// Where iteration ends: far below the gap of `1e-4 · 2(a−1)` that designs are to have.
const GAP: f64 = 1e-8;
/// Iterations at most; typical are fifteen to thirty.
const ITERATIONS: usize = 80;
/// Points in one task, always the same, so that sums do not depend on the number of threads.
const CHUNK: usize = 128;

impl Program<'_> {
    /// The best weights, from a start with positive weights that need not meet the constraints.
    pub(super) fn solve(&self, start: &[f64]) -> Option<Weights> {
        let mut state = self.start(start);
        for _ in 0..ITERATIONS {
            check();
            let (gradient, hessian) = self.derivatives(&state.theta)?;
            if state.converged(self, &gradient) {
                break;
            }
            let step = self.direction(&state, &gradient, &hessian)?;
            state.advance(&step);
        }
        state.theta.truncate(self.columns.len());
        Some(Weights { theta: state.theta, lambda: state.lambda })
    }

    /// Columns and, where leakage is limited, the slack of the budget.
    fn variables(&self) -> usize {
        self.columns.len() + usize::from(self.limited)
    }

    fn constraints(&self) -> usize {
        self.classes.sizes.len() + usize::from(self.limited)
    }

    /// The right-hand sides: classes by their size, the budget as 1.
    fn right(&self, row: usize) -> f64 {
        self.classes.sizes.get(row).map_or(1.0, |size| *size as f64 / self.classes.inputs() as f64)
    }

    fn coefficient(&self, row: usize, j: usize) -> f64 {
        match (self.columns.get(j), row < self.classes.sizes.len()) {
            (Some(column), true) => column.sums[row],
            (Some(column), false) => column.leakage,
            (None, true) => 0.0,
            (None, false) => 1.0,
        }
    }

    fn start(&self, start: &[f64]) -> State {
        let mut theta = start.to_vec();
        if self.limited {
            let used: f64 = start.iter().zip(self.columns).map(|(t, column)| t * column.leakage).sum();
            theta.push((1.0 - used).max(0.1));
        }
        let level = self.classes.inputs() as f64 - 1.0;
        let mut lambda = vec![level; self.classes.sizes.len()];
        lambda.extend(self.limited.then_some(0.5 * level));
        State { z: vec![0.5 * level; theta.len()], theta, lambda }
    }

    /// Gradient and negative Hessian of the objective; `None` where the information is singular.
    fn derivatives(&self, theta: &[f64]) -> Option<(Vec<f64>, Mat<f64>)> {
        let count = self.columns.len();
        let parts: Option<Vec<(Vec<f64>, Mat<f64>)>> = (0..self.rule.nodes.len().div_ceil(CHUNK))
            .into_par_iter()
            .map(|chunk| self.chunk_derivatives(theta, chunk))
            .collect();
        let mut gradient: Vec<f64> = self.columns.iter().map(|column| column.correction).collect();
        let mut hessian = Mat::<f64>::zeros(count, count);
        for (g, h) in parts? {
            gradient.iter_mut().zip(g).for_each(|(sum, g)| *sum += g);
            hessian += h;
        }
        Some((gradient, hessian))
    }

    fn chunk_derivatives(&self, theta: &[f64], chunk: usize) -> Option<(Vec<f64>, Mat<f64>)> {
        let (count, n) = (self.columns.len(), self.classes.inputs() - 1);
        let size = entries(n);
        let nodes = chunk * CHUNK..((chunk + 1) * CHUNK).min(self.rule.nodes.len());
        // One column of this matrix for each column of the program: all its whitened information.
        let mut white = Mat::<f64>::zeros(size * nodes.len(), count);
        let mut gradient = vec![0.0; count];
        let mut d = vec![0.0; n];
        for (place, i) in nodes.enumerate() {
            let node = &self.rule.nodes[i];
            let factor = inverse_factor(&information(self.columns, theta, i), n)?;
            let root = node.weight.sqrt();
            for (j, column) in self.columns.iter().enumerate() {
                let out = &mut white.col_as_slice_mut(j)[place * size..(place + 1) * size];
                match &column.members[..] {
                    [single] => {
                        let likelihood = reduced(single, node, &mut d);
                        whitened_square(&factor, &mut d, likelihood, out);
                    }
                    _ => whitened(&factor, column.at(i), n, out),
                }
                gradient[j] += node.weight * (0..n).map(|k| out[entries(k) + k]).sum::<f64>();
                out.iter_mut().for_each(|entry| *entry *= root);
            }
        }
        let mut hessian = Mat::<f64>::zeros(count, count);
        matmul(hessian.as_mut(), Accum::Replace, white.transpose(), white.as_ref(), 1.0, Par::Seq);
        Some((gradient, hessian))
    }

    /// The Newton step towards a tenth of the present complementarity.
    fn direction(&self, state: &State, gradient: &[f64], hessian: &Mat<f64>) -> Option<State> {
        let (count, rows) = (self.variables(), self.constraints());
        let target = 0.1 * state.complementarity();
        let mut matrix = Mat::<f64>::zeros(count + rows, count + rows);
        let mut right = Mat::<f64>::zeros(count + rows, 1);
        for j in 0..count {
            for k in (0..gradient.len()).filter(|_| j < gradient.len()) {
                matrix[(j, k)] = hessian[(j, k)];
            }
            matrix[(j, j)] += state.z[j] / state.theta[j];
            right[(j, 0)] = self.dual_residual(state, gradient, j) + target / state.theta[j] - state.z[j];
        }
        for row in 0..rows {
            for j in 0..count {
                matrix[(count + row, j)] = self.coefficient(row, j);
                matrix[(j, count + row)] = self.coefficient(row, j);
            }
            right[(count + row, 0)] = self.primal_residual(state, row);
        }
        let solution = matrix.partial_piv_lu().solve(&right);
        let theta: Vec<f64> = (0..count).map(|j| solution[(j, 0)]).collect();
        let slack = |j: usize| (target - state.z[j] * theta[j]) / state.theta[j] - state.z[j];
        let z = (0..count).map(slack).collect();
        let lambda: Vec<f64> = (0..rows).map(|row| solution[(count + row, 0)]).collect();
        theta.iter().all(|t| t.is_finite()).then_some(State { theta, lambda, z })
    }

    /// `∇F − Aᵀλ + z` in coordinate `j`.
    fn dual_residual(&self, state: &State, gradient: &[f64], j: usize) -> f64 {
        let price: f64 =
            state.lambda.iter().enumerate().map(|(row, lambda)| lambda * self.coefficient(row, j)).sum();
        gradient.get(j).copied().unwrap_or(0.0) - price + state.z[j]
    }

    /// `b − Aθ` in constraint `row`.
    fn primal_residual(&self, state: &State, row: usize) -> f64 {
        let used: f64 = state.theta.iter().enumerate().map(|(j, t)| t * self.coefficient(row, j)).sum();
        self.right(row) - used
    }
}

/// `E ln det J(θ)` on the points of the rule, corrected; `None` where the information is singular.
pub(super) fn utility(rule: &Rule, columns: &[Column], theta: &[f64]) -> Option<f64> {
    let n = columns[0].members[0].values.len() - 1;
    let at = |(i, node): (usize, &Node)| {
        let factor = inverse_factor(&information(columns, theta, i), n)?;
        Some(-2.0 * node.weight * (0..n).map(|k| factor[entries(k) + k].ln()).sum::<f64>())
    };
    let corrections: f64 = columns.iter().zip(theta).map(|(column, t)| t * column.correction).sum();
    Some(corrections + rule.nodes.iter().enumerate().map(at).sum::<Option<f64>>()?)
}

/// `J(θ)` at point `i`.
pub(super) fn information(columns: &[Column], theta: &[f64], i: usize) -> Vec<f64> {
    let mut sum = vec![0.0; columns[0].at(i).len()];
    for (column, t) in columns.iter().zip(theta) {
        sum.iter_mut().zip(column.at(i)).for_each(|(sum, entry)| *sum += t * entry);
    }
    sum
}

/// A point of the iteration, or a step.
struct State {
    theta: Vec<f64>,
    lambda: Vec<f64>,
    z: Vec<f64>,
}

impl State {
    fn complementarity(&self) -> f64 {
        let sum: f64 = self.theta.iter().zip(&self.z).map(|(t, z)| t * z).sum();
        sum / self.theta.len() as f64
    }

    fn converged(&self, program: &Program<'_>, gradient: &[f64]) -> bool {
        let primal = (0..program.constraints()).map(|row| program.primal_residual(self, row).abs());
        let dual = (0..program.variables()).map(|j| program.dual_residual(self, gradient, j).abs());
        let gap = self.complementarity() * self.theta.len() as f64;
        gap < GAP && primal.fold(0.0, f64::max) < 1e-13 && dual.fold(0.0, f64::max) < GAP
    }

    /// The longest step, at most a whole one, that leaves 0.5 % of the distance to the boundary.
    fn advance(&mut self, step: &State) {
        let limit = |values: &[f64], steps: &[f64]| {
            let reach = |(v, s): (&f64, &f64)| if *s < 0.0 { -v / s } else { f64::INFINITY };
            values.iter().zip(steps).map(reach).fold(f64::INFINITY, f64::min)
        };
        let length = (0.995 * limit(&self.theta, &step.theta).min(limit(&self.z, &step.z))).min(1.0);
        let go = |values: &mut [f64], steps: &[f64]| {
            values.iter_mut().zip(steps).for_each(|(v, s)| *v += length * s);
        };
        go(&mut self.theta, &step.theta);
        go(&mut self.z, &step.z);
        go(&mut self.lambda, &step.lambda);
    }
}
