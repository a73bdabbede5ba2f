//! The linear unbiased estimate: each report gives a vote for the frequencies, and the votes are averaged.
//!
//! # Definition
//! A report `y` gives the vote `z_y`, a vector with `E[z_Y | X = x] = e_x`; the estimate is the mean vote. It
//! is unbiased for every `P` and every number of reports, may be negative, and its entries need not sum to 1.
//!
//! # Method and cost
//! Where reports support inputs ([`SupportRates`]), `z_yx = (1[y supports x] − λ)/(κ − λ)`: the usual estimate of randomised response,
//! unary encoding, local hash and subset selection, `O(a)` from the supports.
//!
//! Any other faithful matrix has many left inverses. We use weighted least squares at the uniform
//! distribution `u`,
//! ```text
//! z_y = (QᵀWQ)⁻¹ Qᵀ W e_y,   W = diag(1/(Qu)_y)
//! ```
//! which has the smallest variance of all unbiased linear votes when `P` is uniform (Gauss and Markov).
//! Weights from the estimate itself would be slightly better elsewhere, but the votes would then depend on
//! the data and no longer be unbiased. This needs the matrix once: `O(b a²)`.
//!
//! # Accuracy
//! Standard errors come from the known noise, at the estimate or, where that is outside `[0, 1]`, at the
//! nearest frequency: half a user from 0 or 1. The empirical variance of the reports would be 0 when they
//! happen to agree, which ignores the known noise. Covariances are estimated from the reports.

use std::sync::Arc;

use faer::linalg::solvers::Llt;
use faer::prelude::Solve;
use faer::{Mat, Side};

use super::interval::{Interval, Measured};
use super::post_processing::norm_sub;
use crate::likelihood::centred_rows::CentredRows;
use crate::model::combination::Combination;
use crate::model::error::{Error, Result};
use crate::model::protocol::{Block, Channel, Matrix, Protocol};
use crate::model::supports::{Reports, SupportRates, Supports};
use crate::model::tallies::Tallies;
use crate::numerics::stop::check;

/// Rows whose votes are computed together: enough for efficient matrix operations, few enough to need little
/// memory.
const ROWS_AT_ONCE: usize = 64;

/// A left inverse of a protocol: the vote of each report.
#[derive(Debug)]
pub struct LeftInverse {
    a: usize,
    rule: VoteRule,
}

#[derive(Debug)]
enum VoteRule {
    Supports(SupportRates),
    LeastSquares(LeastSquares),
}

#[derive(Debug)]
struct LeastSquares {
    /// The Cholesky factor of the information of a report at the uniform distribution.
    factor: Llt<f64>,
    /// `E[z_Yx² | X = x']` in row `x` and column `x'`.
    squares: Arc<Mat<f64>>,
}

impl LeftInverse {
    /// The votes of a protocol's reports.
    ///
    /// # Errors
    /// The protocol is not faithful, or needs a matrix that is too large.
    pub fn of(protocol: &Protocol) -> Result<Self> {
        let (a, rank) = (protocol.inputs(), protocol.rank()?.value);
        if rank < a {
            return Err(Error::NotFaithful { rank, a });
        }
        let rule = match SupportRates::of(protocol) {
            Some(rates) => VoteRule::Supports(rates),
            None => {
                let matrix = protocol.canonical_matrix()?;
                let factor = factor(&matrix).ok_or(Error::NotFaithful { rank: rank - 1, a })?;
                VoteRule::LeastSquares(LeastSquares { squares: Arc::new(squares(&matrix, &factor)), factor })
            }
        };
        Ok(LeftInverse { a, rule })
    }

    /// The rates at which reports support inputs, if the votes are supports.
    pub fn rates(&self) -> Option<SupportRates> {
        match self.rule {
            VoteRule::Supports(rates) => Some(rates),
            VoteRule::LeastSquares(_) => None,
        }
    }

    /// The linear estimate from these reports.
    ///
    /// # Errors
    /// There are no reports, or they are not in the required form.
    pub fn estimate(&self, protocol: &Protocol, reports: &Reports) -> Result<LinearEstimate> {
        if reports.n() == 0 {
            return Err(Error::NoReports);
        }
        match (&self.rule, reports) {
            (VoteRule::Supports(rates), Reports::Supports(supports)) => {
                Ok(from_supports(protocol, *rates, supports))
            }
            (VoteRule::Supports(rates), Reports::Tallies(tallies)) => {
                let supports = Supports::of_tallies(protocol, tallies);
                let supports = supports.ok_or(Error::NoSupports { kind: protocol.kind() })?;
                Ok(from_supports(protocol, *rates, &supports))
            }
            (VoteRule::LeastSquares(votes), Reports::Tallies(tallies)) => votes.mean(protocol, tallies),
            (VoteRule::LeastSquares(_), Reports::Supports(_)) => {
                Err(Error::NoSupports { kind: protocol.kind() })
            }
        }
    }

    /// How far one report can move the estimated share of one input, in units of `1/n`: the largest difference of an entry between two votes. `k` users
    /// who lie together move it by at most `k/n` times this, whatever they send.
    ///
    /// # Errors
    /// The matrix is too large.
    pub fn influence(&self, protocol: &Protocol) -> Result<f64> {
        match &self.rule {
            VoteRule::Supports(rates) => Ok(1.0 / rates.difference),
            VoteRule::LeastSquares(votes) => {
                let matrix = protocol.canonical_matrix()?;
                let (mut low, mut high) = (vec![f64::INFINITY; self.a], vec![f64::NEG_INFINITY; self.a]);
                for row in matrix.rows() {
                    check();
                    for (x, z) in vote(&votes.factor, &deviations(row).1).into_iter().enumerate() {
                        (low[x], high[x]) = (low[x].min(z), high[x].max(z));
                    }
                }
                Ok(low.iter().zip(&high).map(|(low, high)| high - low).fold(0.0, f64::max))
            }
        }
    }

    /// `E[|z_Y|² | X = x]` for each `x`.
    pub(crate) fn squared_length(&self) -> Vec<f64> {
        match &self.rule {
            VoteRule::Supports(rates) => {
                let (own, others) = rates.squares();
                vec![own + (self.a - 1) as f64 * others; self.a]
            }
            VoteRule::LeastSquares(votes) => {
                (0..self.a).map(|x| (0..self.a).map(|z| votes.squares[(z, x)]).sum()).collect()
            }
        }
    }
}

impl LeastSquares {
    fn mean(&self, protocol: &Protocol, tallies: &Tallies) -> Result<LinearEstimate> {
        let rows = CentredRows::of(protocol, tallies)?;
        let (a, n) = (protocol.inputs(), tallies.n() as f64);
        let votes: Vec<(f64, Vec<f64>)> =
            rows.iter().map(|(count, row)| (count / n, vote(&self.factor, row))).collect();
        let mut values = vec![0.0; a];
        for (share, vote) in &votes {
            check();
            values.iter_mut().zip(vote).for_each(|(sum, z)| *sum += share * z);
        }
        let covariance = Mat::from_fn(a, a, |x, z| {
            let term =
                |(share, vote): &(f64, Vec<f64>)| share * (vote[x] - values[x]) * (vote[z] - values[z]);
            votes.iter().map(term).sum::<f64>() / n
        });
        Ok(LinearEstimate { n, values, spread: Spread::Votes { covariance, squares: self.squares.clone() } })
    }
}

/// The vote of a report whose row has these deviations from its mean.
fn vote(factor: &Llt<f64>, deviations: &[f64]) -> Vec<f64> {
    let a = deviations.len();
    let tangent = factor.solve(Mat::from_fn(a, 1, |x, _| deviations[x]));
    (0..a).map(|x| 1.0 / a as f64 + tangent[(x, 0)]).collect()
}

/// The second moments of the votes, given the user's value.
fn squares(matrix: &Matrix, factor: &Llt<f64>) -> Mat<f64> {
    let a = matrix.inputs();
    let rows: Vec<&[f64]> = matrix.rows().collect();
    let mut squares = Mat::zeros(a, a);
    for rows in rows.chunks(ROWS_AT_ONCE) {
        check();
        let deviations: Vec<Vec<f64>> = rows.iter().map(|row| deviations(row).1).collect();
        let tangents = factor.solve(Mat::from_fn(a, rows.len(), |x, y| deviations[y][x]));
        let votes = Mat::from_fn(a, rows.len(), |x, y| f64::powi(1.0 / a as f64 + tangents[(x, y)], 2));
        squares += votes * Mat::from_fn(rows.len(), a, |y, x| rows[y][x]);
    }
    squares
}

/// The Cholesky factor of `QᵀWQ − 11ᵀ + c 11ᵀ`; `None` if it is not positive definite. On vectors that sum to
/// 0 it acts like `QᵀWQ`, and with `c` of the size of the rest it is well conditioned even at high privacy,
/// where `QᵀWQ` is nearly `11ᵀ`.
fn factor(matrix: &Matrix) -> Option<Llt<f64>> {
    let a = matrix.inputs();
    let information = information(matrix, &vec![1.0 / a as f64; a]);
    let scale = (0..a).map(|x| information[(x, x)]).sum::<f64>() / (a * a) as f64;
    Mat::from_fn(a, a, |x, z| information[(x, z)] + scale).llt(Side::Lower).ok()
}

/// The expected information of a report at `p`, up to terms that vanish on differences of distributions:
/// `Σ_y (Qp)_y e_y e_yᵀ` with `e_yx = Q_{y|x}/(Qp)_y − 1`.
pub(crate) fn information(matrix: &Matrix, p: &[f64]) -> Mat<f64> {
    let a = p.len();
    let mut sum = vec![0.0; a * a];
    for (mean, row) in matrix.rows().map(deviations) {
        check();
        let along: f64 = row.iter().zip(p).map(|(d, p_x)| d * p_x).sum();
        let weight = mean / (1.0 + along);
        let centred: Vec<f64> = row.iter().map(|d| d - along).collect();
        for (x, d) in centred.iter().enumerate() {
            sum[x * a..][..=x].iter_mut().zip(&centred).for_each(|(s, other)| *s += weight * d * other);
        }
    }
    Mat::from_fn(a, a, |x, z| sum[x.max(z) * a + x.min(z)])
}

/// The mean of a row, and the relative deviations of its entries.
fn deviations(row: &[f64]) -> (f64, Vec<f64>) {
    let mean = row.iter().sum::<f64>() / row.len() as f64;
    (mean, row.iter().map(|q| (q - mean) / mean).collect())
}

/// The distribution of `n` users with distribution `p` together with `more` users with uniform values.
pub(crate) fn smoothed(p: &[f64], n: f64, more: f64) -> Vec<f64> {
    let each = more / p.len() as f64;
    p.iter().map(|p_x| (n * p_x + each) / (n + more)).collect()
}

/// A linear estimate with its error structure.
#[derive(Clone, Debug)]
pub struct LinearEstimate {
    n: f64,
    values: Vec<f64>,
    spread: Spread,
}

#[derive(Clone, Debug)]
enum Spread {
    Supports(SupportRates),
    /// How many blocks hold three residues depends on these, and with it the covariance.
    Blocks {
        rates: SupportRates,
        block: Block,
    },
    Votes {
        covariance: Mat<f64>,
        squares: Arc<Mat<f64>>,
    },
    /// Independent estimates with their weights.
    Weighted(Vec<(f64, LinearEstimate)>),
}

fn from_supports(protocol: &Protocol, rates: SupportRates, supports: &Supports) -> LinearEstimate {
    let n = supports.n() as f64;
    let value = |count: &u64| (*count as f64 / n - rates.other) / rates.difference;
    let values = supports.counts().iter().map(value).collect();
    let spread = match protocol {
        Protocol::Block(block) => Spread::Blocks { rates, block: block.clone() },
        _ => Spread::Supports(rates),
    };
    LinearEstimate { n, values, spread }
}

/// The estimated share of reports whose block holds two inputs: `Σ c(1 + β p(B_y))` over the `λ` blocks that do.
fn block_both(block: &Block, p: &[f64], x: usize, z: usize) -> f64 {
    let (total, beta): (f64, f64) = (p.iter().sum(), block.epsilon().exp_m1());
    let shift = |d: &u32| (x + block.order() - *d as usize) % block.order();
    let blocks = block.set().elements().iter().map(shift).filter(|y| block.holds(*y, z));
    let held = |y: usize| block.members(y).into_iter().map(|w| p[w]).sum::<f64>();
    blocks.map(|y| block.unit() * (total + beta * held(y))).sum()
}

impl LinearEstimate {
    /// The mean of the linear estimates of several collections, weighted by their inverse variances.
    ///
    /// A collection has one weight for all values, so that the sum of the estimates is kept: one over the sum of the variances of its
    /// estimates if `P` were uniform. This does not depend on the reports, so the mean is unbiased as its parts are.
    ///
    /// # Errors
    /// As for [`LeftInverse::of`] and [`LeftInverse::estimate`] of each protocol.
    pub fn of_collections(collections: &Combination) -> Result<Self> {
        let mut parts = Vec::with_capacity(collections.parts.len());
        for (protocol, reports) in &collections.parts {
            let inverse = LeftInverse::of(protocol)?;
            let found = inverse.estimate(protocol, reports)?;
            let lengths = inverse.squared_length();
            let (a, mean) = (lengths.len() as f64, lengths.iter().sum::<f64>() / lengths.len() as f64);
            parts.push((reports.n() as f64 / (mean - 1.0 / a), found));
        }
        if parts.len() == 1
            && let Some((_, only)) = parts.pop()
        {
            return Ok(only);
        }
        let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
        parts.iter_mut().for_each(|(weight, _)| *weight /= total);
        let mean = |x: usize| parts.iter().map(|(weight, part)| weight * part.values[x]).sum::<f64>();
        let values = (0..collections.protocol.inputs()).map(mean).collect();
        let n = parts.iter().map(|(_, part)| part.n).sum();
        Ok(LinearEstimate { n, values, spread: Spread::Weighted(parts) })
    }

    /// The estimated frequencies. They may be negative.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// A distribution near the estimate without zeros: the nearest one, plus one user with a uniform value.
    fn near(&self) -> Vec<f64> {
        smoothed(&norm_sub(&self.values), self.n, 1.0)
    }

    /// The standard errors of the estimates, from the known noise.
    pub fn standard_errors(&self) -> Vec<f64> {
        let near = self.near();
        (0..near.len()).map(|x| self.measured(x, &near).standard_error(self.values[x])).collect()
    }

    /// For each input the standard error of its estimate if no user held the input.
    pub fn standard_errors_of_nobody(&self) -> Vec<f64> {
        let near = self.near();
        (0..near.len()).map(|x| self.measured(x, &near).variance(0.0).sqrt()).collect()
    }

    /// The covariance of the estimates of two inputs, estimated from the same reports; its expectation is
    /// `(n − 1)/n` times the true one.
    ///
    /// For supports, joint support of two inputs arises only by chance: the share of such reports follows
    /// from the estimate.
    pub fn covariance(&self, x: usize, z: usize) -> f64 {
        match &self.spread {
            Spread::Votes { covariance, .. } => covariance[(x, z)],
            Spread::Weighted(parts) => {
                parts.iter().map(|(weight, part)| weight * weight * part.covariance(x, z)).sum()
            }
            Spread::Blocks { rates, block } => {
                let (p_x, p_z) = (self.values[x], self.values[z]);
                let both = if x == z { rates.rate(p_x) } else { block_both(block, &self.values, x, z) };
                let joint = both - rates.rate(p_x) * rates.rate(p_z);
                joint / (self.n * rates.difference * rates.difference)
            }
            Spread::Supports(rates) => {
                let (p_x, p_z) = (self.values[x], self.values[z]);
                let both = if x == z { rates.rate(p_x) } else { rates.both(p_x + p_z) };
                let joint = both - rates.rate(p_x) * rates.rate(p_z);
                joint / (self.n * rates.difference * rates.difference)
            }
        }
    }

    /// Score intervals that contain each true frequency with about this probability. They may leave `[0, 1]`,
    /// as the estimates may.
    pub fn intervals(&self, level: f64) -> Vec<Interval> {
        let near = self.near();
        (0..near.len()).map(|x| self.measured(x, &near).score(level)).collect()
    }

    /// Unified intervals inside `[0, 1]` that contain each true frequency with about this probability.
    pub fn intervals_inside(&self, level: f64) -> Vec<Interval> {
        let near = self.near();
        (0..near.len()).map(|x| self.measured(x, &near).unified(level)).collect()
    }

    /// The estimate of one input with its variance at every frequency. Users who do not hold the input are
    /// assumed to hold the others in proportion to `near`.
    pub(crate) fn measured(&self, x: usize, near: &[f64]) -> Measured {
        let (own, others) = match &self.spread {
            Spread::Weighted(parts) => return self.measured_together(parts, x, near),
            Spread::Supports(rates) | Spread::Blocks { rates, .. } => rates.squares(),
            Spread::Votes { squares, .. } => {
                let rest = || (0..near.len()).filter(|z| *z != x);
                let total: f64 = rest().map(|z| near[z]).sum();
                (squares[(x, x)], rest().map(|z| near[z] * squares[(x, z)]).sum::<f64>() / total)
            }
        };
        Measured { estimate: self.values[x], own, others, share: 1.0, n: self.n }
    }

    /// Variances `(own p + others (1 − p) − p²)/n` add up with the squares of the weights, to one of the same form.
    fn measured_together(&self, parts: &[(f64, LinearEstimate)], x: usize, near: &[f64]) -> Measured {
        let terms = || parts.iter().map(|(weight, part)| (weight * weight / part.n, part.measured(x, near)));
        let total: f64 = terms().map(|(c, _)| c).sum();
        let own = terms().map(|(c, part)| c * part.own).sum::<f64>() / total;
        let others = terms().map(|(c, part)| c * part.others).sum::<f64>() / total;
        Measured { estimate: self.values[x], own, others, share: 1.0, n: 1.0 / total }
    }
}
