//! The linear unbiased estimate: each report votes for frequencies, and the votes are averaged.
//!
//! # Definition
//! A report `y` votes `z_y`, a vector with `E[z_Y | X = x] = e_x`; the estimate is the mean vote. It is unbiased for every `P` and
//! every number of reports, may be negative, and its entries need not sum to 1.
//!
//! # Method and cost
//! Where reports support inputs ([`SupportRates`]), `z_yx = (1[y supports x] − λ)/(κ − λ)`: the usual estimate of randomised response,
//! unary encoding, local hash and subset selection, `O(a)` from the supports.
//!
//! Any other faithful matrix has many left inverses. We take weighted least squares at the uniform distribution `u`,
//! ```text
//! z_y = (QᵀWQ)⁻¹ Qᵀ W e_y,   W = diag(1/(Qu)_y)
//! ```
//! which of all unbiased linear votes has the smallest variance when `P` is uniform (Gauss and Markov). Weights from the estimate
//! itself would be a little better elsewhere, but the votes would then depend on the data and no longer be unbiased.
//! The matrix is needed, once: `O(b a²)`.

use faer::linalg::solvers::Llt;
use faer::prelude::Solve;
use faer::{Mat, Side};

use super::supports::{Reports, SupportRates, Supports};
use super::{Interval, IntervalMethod};
use crate::error::{Error, Result};
use crate::likelihood::rows::Rows;
use crate::protocol::{Matrix, Protocol};
use crate::special::normal_quantile;
use crate::tallies::Tallies;

/// A left inverse of a protocol: what each report votes for.
#[derive(Debug)]
pub struct LeftInverse {
    a: usize,
    form: Form,
}

#[derive(Debug)]
enum Form {
    Supports(SupportRates),
    LeastSquares(Llt<f64>),
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
        let form = match SupportRates::of(protocol) {
            Some(rates) => Form::Supports(rates),
            None => Form::LeastSquares(least_squares(&protocol.canonical_matrix()?, rank)?),
        };
        Ok(LeftInverse { a, form })
    }

    /// The rates at which reports support inputs, where the votes are supports.
    pub fn rates(&self) -> Option<SupportRates> {
        match self.form {
            Form::Supports(rates) => Some(rates),
            Form::LeastSquares(_) => None,
        }
    }

    /// The linear estimate from these reports.
    ///
    /// # Errors
    /// There are no reports, or not in the form that is needed.
    pub fn estimate(&self, protocol: &Protocol, reports: &Reports) -> Result<LinearEstimate> {
        if reports.n() == 0 {
            return Err(Error::NoReports);
        }
        match (&self.form, reports) {
            (Form::Supports(rates), Reports::Supports(supports)) => Ok(from_supports(*rates, supports)),
            (Form::Supports(rates), Reports::Tallies(tallies)) => {
                let supports = Supports::of_tallies(protocol, tallies);
                Ok(from_supports(*rates, &supports.ok_or(Error::NoSupports { kind: protocol.kind() })?))
            }
            (Form::LeastSquares(_), Reports::Tallies(tallies)) => self.mean_vote(protocol, tallies),
            (Form::LeastSquares(_), Reports::Supports(_)) => Err(Error::NoSupports { kind: protocol.kind() }),
        }
    }

    /// What a report votes for whose row has these deviations from its mean.
    pub(crate) fn vote(&self, deviations: &[f64]) -> Vec<f64> {
        let Form::LeastSquares(factor) = &self.form else { return Vec::new() };
        let tangent = factor.solve(Mat::from_fn(self.a, 1, |x, _| deviations[x]));
        (0..self.a).map(|x| 1.0 / self.a as f64 + tangent[(x, 0)]).collect()
    }

    fn mean_vote(&self, protocol: &Protocol, tallies: &Tallies) -> Result<LinearEstimate> {
        let rows = Rows::of(protocol, tallies)?;
        let n = tallies.n() as f64;
        let votes: Vec<(f64, Vec<f64>)> =
            rows.iter().map(|(count, row)| (count / n, self.vote(row))).collect();
        let mut values = vec![0.0; self.a];
        for (share, vote) in &votes {
            values.iter_mut().zip(vote).for_each(|(sum, z)| *sum += share * z);
        }
        let covariance = Mat::from_fn(self.a, self.a, |x, z| {
            let term =
                |(share, vote): &(f64, Vec<f64>)| share * (vote[x] - values[x]) * (vote[z] - values[z]);
            votes.iter().map(term).sum::<f64>() / n
        });
        let variances = (0..self.a).map(|x| covariance[(x, x)]).collect();
        Ok(LinearEstimate { n, values, variances, spread: Spread::Votes(covariance) })
    }
}

/// The Cholesky factor of `QᵀWQ − 11ᵀ + c 11ᵀ`. On vectors that sum to 0 it does what `QᵀWQ` does, and with `c` of the size of the
/// rest it is well conditioned also at high privacy, where `QᵀWQ` is nearly `11ᵀ`.
fn least_squares(matrix: &Matrix, rank: usize) -> Result<Llt<f64>> {
    let rows: Vec<(f64, Vec<f64>)> = matrix.rows().map(deviations).collect();
    let a = rows[0].1.len();
    let mut sum = vec![0.0; a * a];
    for (mean, row) in &rows {
        for (x, d) in row.iter().enumerate() {
            sum[x * a..][..=x].iter_mut().zip(row).for_each(|(s, other)| *s += mean * d * other);
        }
    }
    let scale = (0..a).map(|x| sum[x * a + x]).sum::<f64>() / (a * a) as f64;
    let information = Mat::from_fn(a, a, |x, z| sum[x.max(z) * a + x.min(z)] + scale);
    information.llt(Side::Lower).map_err(|_| Error::NotFaithful { rank: rank - 1, a })
}

/// The mean of a row, and the deviations of its entries relative to it.
fn deviations(row: &[f64]) -> (f64, Vec<f64>) {
    let mean = row.iter().sum::<f64>() / row.len() as f64;
    (mean, row.iter().map(|q| (q - mean) / mean).collect())
}

/// A linear estimate with its covariance.
#[derive(Clone, Debug)]
pub struct LinearEstimate {
    n: f64,
    values: Vec<f64>,
    variances: Vec<f64>,
    spread: Spread,
}

#[derive(Clone, Debug)]
enum Spread {
    Supports(SupportRates),
    Votes(Mat<f64>),
}

fn from_supports(rates: SupportRates, supports: &Supports) -> LinearEstimate {
    let n = supports.n() as f64;
    let value = |count: &u64| (*count as f64 / n - rates.other) / rates.difference;
    let variance = |count: &u64| {
        let share = *count as f64 / n;
        share * (1.0 - share) / (n * rates.difference * rates.difference)
    };
    LinearEstimate {
        n,
        values: supports.counts().iter().map(value).collect(),
        variances: supports.counts().iter().map(variance).collect(),
        spread: Spread::Supports(rates),
    }
}

impl LinearEstimate {
    /// The estimated frequencies. They may be negative.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Their standard errors, with the shares of supporting reports (or of votes) as they were found.
    pub fn standard_errors(&self) -> Vec<f64> {
        self.variances.iter().map(|v| v.sqrt()).collect()
    }

    /// The covariance of the estimates of two inputs, estimated from the same reports.
    ///
    /// With supports, two inputs are supported together by chance alone: the share of such reports follows from the estimate.
    pub fn covariance(&self, x: usize, z: usize) -> f64 {
        match &self.spread {
            Spread::Votes(covariance) => covariance[(x, z)],
            Spread::Supports(_) if x == z => self.variances[x],
            Spread::Supports(rates) => {
                let (p_x, p_z) = (self.values[x], self.values[z]);
                let joint = rates.both(p_x + p_z) - rates.rate(p_x) * rates.rate(p_z);
                joint / (self.n * rates.difference * rates.difference)
            }
        }
    }

    /// Intervals that hold each true frequency with about this probability, and how they were made.
    ///
    /// The number of reports that support an input is binomial, so its score interval (Wilson 1927) is used, which does not shrink
    /// to nothing where no report supports an input. Other votes are averaged over many reports and taken as normal.
    pub fn intervals(&self, level: f64) -> (Vec<Interval>, IntervalMethod) {
        let method = match self.spread {
            Spread::Supports(_) => IntervalMethod::Score,
            Spread::Votes(_) => IntervalMethod::Normal,
        };
        (self.intervals_around(&self.values, level), method)
    }

    /// The intervals as they would be around estimates moved into `[0, 1]`. They hold a frequency whenever [`LinearEstimate::intervals`] do, and are
    /// not empty where an estimate is far outside (Mandelkern and Schultz 2000).
    pub fn intervals_inside(&self, level: f64) -> Vec<Interval> {
        let inside: Vec<f64> = self.values.iter().map(|p_x| p_x.clamp(0.0, 1.0)).collect();
        self.intervals_around(&inside, level)
    }

    fn intervals_around(&self, values: &[f64], level: f64) -> Vec<Interval> {
        let z = normal_quantile(0.5 + 0.5 * level);
        let interval = |(p_x, variance): (&f64, &f64)| match &self.spread {
            Spread::Supports(rates) => score(*rates, *p_x, self.n, z),
            Spread::Votes(_) => Interval::around(*p_x, z * variance.sqrt()),
        };
        values.iter().zip(&self.variances).map(interval).collect()
    }
}

/// The score interval of the share of supporting reports, as frequencies of the input.
fn score(rates: SupportRates, p_x: f64, n: f64, z: f64) -> Interval {
    let share = rates.rate(p_x);
    let shrink = 1.0 / (1.0 + z * z / n);
    let centre = shrink * (share + 0.5 * z * z / n);
    let half = shrink * z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).max(0.0).sqrt();
    let frequency = |share: f64| (share - rates.other) / rates.difference;
    Interval { low: frequency(centre - half), high: frequency(centre + half) }
}
