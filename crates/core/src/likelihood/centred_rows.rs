//! The rows of the reported outputs, for protocols that have no better structure than a matrix.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};

use super::{Likelihood, Slope};
use crate::model::error::{Error, Result};
use crate::model::output::Output;
use crate::model::protocol::{MAX_ENTRIES, Protocol};
use crate::model::tallies::Tallies;
use crate::numerics::stop::check;

/// For each reported output how often it was reported, and its row as deviations `d_x = Q_{y|x}/mean − 1` from the row's own mean.
///
/// The scale of a row tells nothing, and as deviations the differences between inputs keep their digits at high privacy.
#[derive(Clone, Debug)]
pub(crate) struct CentredRows {
    a: usize,
    n: f64,
    counts: Vec<f64>,
    deviations: Vec<f64>,
}

impl CentredRows {
    /// The rows of what was reported.
    ///
    /// # Errors
    /// They are too many, or an output was reported that no input can produce.
    pub(crate) fn of(protocol: &Protocol, tallies: &Tallies) -> Result<Self> {
        let (a, outputs) = (protocol.inputs(), tallies.counts().len());
        let entries = a as u128 * outputs as u128;
        if entries > MAX_ENTRIES as u128 {
            return Err(Error::TooMuch {
                what: "the matrix of reported outputs",
                entries,
                max: MAX_ENTRIES as u128,
            });
        }
        let mut deviations = Vec::with_capacity(a * outputs);
        for (output, _) in tallies.counts() {
            deviations.extend(deviations_of(protocol, output)?);
        }
        let counts = tallies.counts().iter().map(|(_, count)| *count as f64).collect();
        Ok(CentredRows { a, n: tallies.n() as f64, counts, deviations })
    }

    /// For each output how often it was reported, and its deviations.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (f64, &[f64])> {
        self.counts.iter().copied().zip(self.deviations.chunks_exact(self.a))
    }
}

/// The row of an output as deviations from its mean.
fn deviations_of(protocol: &Protocol, output: &Output) -> Result<Vec<f64>> {
    let ln_row: Vec<f64> =
        (0..protocol.inputs()).map(|x| protocol.ln_probability(output, x)).collect::<Result<_>>()?;
    let largest = ln_row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return Err(Error::ImpossibleOutput { output: output.to_string() });
    }
    let shares: Vec<f64> = ln_row.iter().map(|ln_q| (ln_q - largest).exp_m1()).collect();
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    Ok(shares.into_iter().map(|share| (share - mean) / (1.0 + mean)).collect())
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(l, r)| l * r).sum()
}

impl Likelihood for CentredRows {
    fn inputs(&self) -> usize {
        self.a
    }

    fn reports(&self) -> f64 {
        self.n
    }

    fn slope(&self, p: &[f64]) -> Slope {
        let (mut value, mut excess) = (0.0, vec![0.0; self.a]);
        for (count, row) in self.iter() {
            check();
            let mean = dot(row, p);
            let weight = count / (1.0 + mean);
            value += count * mean.ln_1p();
            excess.iter_mut().zip(row).for_each(|(e, d)| *e += weight * (d - mean));
        }
        Slope { value, excess }
    }

    fn information(&self, p: &[f64]) -> Mat<f64> {
        let mut scores = Vec::with_capacity(self.deviations.len());
        for (count, row) in self.iter() {
            check();
            let mean = dot(row, p);
            let root = count.sqrt() / (1.0 + mean);
            scores.extend(row.iter().map(|d| root * (d - mean)));
        }
        let scores = MatRef::from_row_major_slice(&scores, self.counts.len(), self.a);
        let mut information = Mat::zeros(self.a, self.a);
        matmul(information.as_mut(), Accum::Replace, scores.transpose(), scores, 1.0, Par::Seq);
        information
    }
}
