//! Exact sums over all tallies, for any protocol.
//!
//! # Definition
//! ```text
//! I(Y⃗;P) = n I(Y;P) − Σ_s M(s) φ(m(s)/M(s) − 1),      I(Y⃗;T) = Σ_t P(t) Σ_s m(s) φ(P(s|t)/m(s) − 1)
//! ```
//! where `m(s) = P(S=s)`, `M` is the multinomial distribution of typical reports ([`crate::likelihood::reduced`]), `I(Y;P)` is for one report, and
//! `φ(δ) = (1+δ) ln(1+δ) − δ ≥ 0`. These are the textbook entropies, arranged so that at high privacy nothing cancels.
//!
//! # Method and cost
//! The users' tallies `t` are the leaves of a tree in which every step adds one user. Along it the distribution of `S` is carried:
//! a new user with value `x` turns it into `Σ_y Q_{y|x} p(s − e_y)`. All terms are positive. Tallies of the reports are
//! numbered in colexicographic order, in which those of fewer users come first, so that one table of successors serves all
//! levels. Cost: `b · Σ_u C(u+a−1, a−1) C(u+b−1, b−1)`, see [`work`].
//!
//! # Accuracy
//! Absolute error below `1e-13` on all entries of the reference (`tests/finite_users.rs`).

use rayon::prelude::*;

use crate::likelihood::reduced::Reduced;
use crate::model::evaluation::{Evaluation, Method};
use crate::model::prior::Component;
use crate::numerics::special::excess_entropy;
use crate::numerics::stop::check;

/// Most elementary steps that the automatic choice spends on an enumeration: some seconds on one core.
pub const WORK_BUDGET: f64 = 4e9;

/// Most tallies of reports that are held.
const MAX_TALLIES: f64 = 1e7;

/// Branches of the tree that are walked together; their sums are added in order, so that the number of threads does not matter.
const BRANCHES: usize = 8;

/// The number of elementary steps of an enumeration, infinite if it would not fit into memory. `I(Y⃗;T)` needs the users'
/// tallies twice, and needs them also under point priors.
pub(crate) fn work(reduced: &Reduced, n: u64, tally: bool) -> f64 {
    let (a, b) = (reduced.inputs() as f64, reduced.outputs() as f64);
    let tallies = |u: f64, parts: f64| {
        (0..parts as u64 - 1).map(|k| (u + 1.0 + k as f64) / (k as f64 + 1.0)).product::<f64>()
    };
    let n = n as f64;
    if tallies(n, b) > MAX_TALLIES {
        return f64::INFINITY;
    }
    let levels = if only_points(reduced) && !tally { 1.0 } else { tallies(n, a) };
    (if tally { 3.0 } else { 1.0 }) * b * levels * tallies(n, b) * (1.0 + n / (a + b - 1.0))
}

fn only_points(reduced: &Reduced) -> bool {
    reduced.parts.iter().all(|(_, law)| matches!(law, Component::Point(_)))
}

/// `I(Y⃗;P)`.
pub(crate) fn distribution(reduced: &Reduced, n: u64) -> Evaluation {
    let walk = Walk::new(reduced, n);
    let (tallies, typical) = (walk.report_tallies(), walk.independent(&reduced.typical));
    let gap = |(m, typical): (&f64, &f64)| {
        if *typical > 0.0 { typical * excess_entropy((m - typical) / typical) } else { 0.0 }
    };
    let one = reduced.one_report().times(n as f64);
    let value = one.value - tallies.iter().zip(&typical).map(gap).sum::<f64>();
    Evaluation::new(value, rounding(n, one.value) + one.error, Method::Enumeration)
}

/// `I(Y⃗;T)`.
pub(crate) fn tally(reduced: &Reduced, n: u64) -> Evaluation {
    let walk = Walk::new(reduced, n);
    let marginal = walk.report_tallies();
    let branch_sum = |t_0: u32| {
        let mut sum = 0.0;
        walk.branch(t_0, &mut |t, conditional| {
            let gap = |(p, m): (&f64, &f64)| if *m > 0.0 { m * excess_entropy((p - m) / m) } else { 0.0 };
            sum += reduced.ln_tally(t).exp() * conditional.iter().zip(&marginal).map(gap).sum::<f64>();
        });
        sum
    };
    let sums: Vec<f64> = (0..=n as u32).into_par_iter().map(branch_sum).collect();
    let value = sums.iter().sum::<f64>();
    Evaluation::new(value, rounding(n, value), Method::Enumeration)
}

/// Every probability is a product of `n` factors; errors of single terms average out in the sum.
fn rounding(n: u64, size: f64) -> f64 {
    f64::EPSILON * (n as f64 + 16.0) * size.abs().max(f64::EPSILON)
}

/// The tree of the users' tallies.
struct Walk<'a> {
    reduced: &'a Reduced,
    columns: Vec<Vec<f64>>,
    n: usize,
    /// How many tallies of reports `0, 1, …, n` users have.
    sizes: Vec<usize>,
    /// For each tally and each output but the last, the number of the tally with one more such report.
    successors: Vec<u32>,
}

impl<'a> Walk<'a> {
    fn new(reduced: &'a Reduced, n: u64) -> Self {
        let (n, b) = (n as usize, reduced.outputs());
        let sizes: Vec<usize> = (0..=n).map(|u| choose(u + b - 1, b - 1)).collect();
        let columns = (0..reduced.inputs()).map(|x| reduced.column(x)).collect();
        Walk { reduced, columns, n, successors: successors(sizes[n.saturating_sub(1)], b), sizes }
    }

    /// Adds one report with the given distribution.
    fn step(&self, before: &[f64], users: usize, column: &[f64], after: &mut [f64]) {
        check();
        let (b, size) = (column.len(), self.sizes[users]);
        let last = column[b - 1];
        for (to, from) in after.iter_mut().zip(&before[..size]) {
            *to = last * from;
        }
        after[size..self.sizes[users + 1]].fill(0.0);
        if b == 1 {
            return;
        }
        for (from, next) in before[..size].iter().zip(self.successors.chunks_exact(b - 1)) {
            for (to, q) in next.iter().zip(column) {
                after[*to as usize] += q * from;
            }
        }
    }

    /// The distribution of the tally of `n` independent reports.
    fn independent(&self, column: &[f64]) -> Vec<f64> {
        let mut levels = [vec![0.0; self.sizes[self.n]], vec![0.0; self.sizes[self.n]]];
        levels[0][0] = 1.0;
        for users in 0..self.n {
            check();
            let [before, after] = &mut levels;
            self.step(before, users, column, after);
            levels.swap(0, 1);
        }
        let [result, _] = levels;
        result
    }

    /// `P(S = s)` of all tallies.
    fn report_tallies(&self) -> Vec<f64> {
        let mut total = vec![0.0; self.sizes[self.n]];
        let mut add =
            |weight: f64, part: &[f64]| total.iter_mut().zip(part).for_each(|(s, p)| *s += weight * p);
        if only_points(self.reduced) {
            for (weight, law) in &self.reduced.parts {
                add(*weight, &self.independent(&self.reduced.push_forward(&law.mean())));
            }
            return total;
        }
        let branch_sum = |t_0: u32| {
            let mut sum = vec![0.0; self.sizes[self.n]];
            self.branch(t_0, &mut |t, conditional| {
                let weight = self.reduced.ln_tally(t).exp();
                sum.iter_mut().zip(conditional).for_each(|(s, p)| *s += weight * p);
            });
            sum
        };
        let branches: Vec<u32> = (0..=self.n as u32).collect();
        for together in branches.chunks(BRANCHES) {
            let sums: Vec<Vec<f64>> = together.par_iter().map(|t_0| branch_sum(*t_0)).collect();
            sums.iter().for_each(|sum| add(1.0, sum));
        }
        total
    }

    /// Visits all tallies of the users with `t_0` of the first value, with the distribution of `S` given each.
    fn branch(&self, t_0: u32, visit: &mut dyn FnMut(&[u32], &[f64])) {
        let mut levels: Vec<Vec<f64>> = self.sizes.iter().map(|size| vec![0.0; *size]).collect();
        levels[0][0] = 1.0;
        let mut t = vec![0; self.columns.len()];
        t[0] = t_0;
        for users in 0..t_0 as usize {
            self.grow(&mut levels, users, 0);
        }
        if self.columns.len() == 1 {
            if t_0 as usize == self.n {
                visit(&t, &levels[self.n]);
            }
            return;
        }
        self.descend(1, t_0 as usize, &mut t, &mut levels, visit);
    }

    fn descend(
        &self,
        x: usize,
        users: usize,
        t: &mut [u32],
        levels: &mut [Vec<f64>],
        visit: &mut dyn FnMut(&[u32], &[f64]),
    ) {
        if users == self.n {
            visit(t, &levels[users]);
            return;
        }
        for next in x..self.columns.len() {
            self.grow(levels, users, next);
            t[next] += 1;
            self.descend(next, users + 1, t, levels, visit);
            t[next] -= 1;
        }
    }

    fn grow(&self, levels: &mut [Vec<f64>], users: usize, x: usize) {
        let (before, after) = levels.split_at_mut(users + 1);
        self.step(&before[users], users, &self.columns[x], &mut after[0]);
    }
}

/// `C(n, k)` of a table that fits into memory.
pub(crate) fn choose(n: usize, k: usize) -> usize {
    if k > n {
        return 0;
    }
    // The smaller side: with thousands of outputs and few users the other passes through numbers of hundreds of digits.
    (0..k.min(n - k)).fold(1u128, |c, i| c * (n - i) as u128 / (i as u128 + 1)) as usize
}

/// The table of successors of the first `size` tallies with `b` outputs, in colexicographic order of the partial sums
/// `c_j = s_0 + … + s_j + j`, `j < b − 1`: one more report `y` adds `Σ_{j≥y} C(c_j, j)` to the number.
pub(crate) fn successors(size: usize, b: usize) -> Vec<u32> {
    let mut table = Vec::with_capacity(size * (b - 1));
    let mut c: Vec<usize> = (0..b - 1).collect();
    for number in 0..size {
        check();
        let start = table.len();
        let mut sum = number;
        for j in (0..b - 1).rev() {
            sum += choose(c[j], j);
            table.push(sum as u32);
        }
        table[start..].reverse();
        advance(&mut c);
    }
    table
}

/// The next subset in colexicographic order.
pub(crate) fn advance(c: &mut [usize]) {
    let movable = |j: usize| j + 1 == c.len() || c[j] + 1 < c[j + 1];
    if let Some(j) = (0..c.len()).find(|j| movable(*j)) {
        c[j] += 1;
        c[..j].iter_mut().enumerate().for_each(|(i, c)| *c = i);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::prior::{Points, Prior};
    use crate::model::protocol::Protocol;

    fn reduced(protocol: &Protocol, prior: &Prior) -> Reduced {
        Reduced::new(protocol, prior).unwrap().unwrap()
    }

    #[test]
    fn successors_number_all_tallies() {
        // Two users, three outputs: from (0,0), (1,0) [c = (1,2)], (0,1) [c = (0,2)] …
        let table = successors(choose(3, 2), 3);
        assert_eq!(table.len(), 6);
        assert!(table.iter().all(|s| (*s as usize) < choose(4, 2)));
        assert_eq!(&table[..2], &[2, 1]);
    }

    #[test]
    fn many_equal_points_and_one_user_are_literal_sums() {
        let prior = Prior::Points(Points::new(vec![0.3, 0.7], vec![vec![0.2, 0.8], vec![0.6, 0.4]]).unwrap());
        let protocol = Protocol::matrix(vec![vec![0.7, 0.1], vec![0.2, 0.3], vec![0.1, 0.6]]).unwrap();
        let found = distribution(&reduced(&protocol, &prior), 1).value;
        let outputs = [[0.22, 0.46], [0.28, 0.24], [0.5, 0.3]];
        let literal: f64 = outputs
            .iter()
            .map(|[q, r]: &[f64; 2]| {
                let m = 0.3 * q + 0.7 * r;
                0.3 * q * (q / m).ln() + 0.7 * r * (r / m).ln()
            })
            .sum();
        assert!((found - literal).abs() < 1e-15, "{found} {literal}");
    }
}
