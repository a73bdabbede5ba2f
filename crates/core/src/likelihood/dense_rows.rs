//! Full rows: for matrices with few outputs, and for single rows of other likelihoods.

use super::RowLikelihood;
use crate::numerics::stop::check;

/// Rows of likelihoods, one entry for each input, and the count of each row.
#[derive(Clone, Debug, Default)]
pub(crate) struct DenseRows {
    pub(crate) a: usize,
    pub(crate) rows: Vec<f64>,
    pub(crate) counts: Vec<f64>,
}

impl DenseRows {
    /// Each row with its count.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[f64], f64)> {
        self.rows.chunks_exact(self.a).zip(self.counts.iter().copied())
    }

    /// The rows for which `wanted` is true.
    fn only(&self, wanted: impl Fn(usize) -> bool) -> DenseRows {
        let kept = || self.iter().enumerate().filter(|(i, _)| wanted(*i)).map(|(_, row)| row);
        DenseRows {
            a: self.a,
            rows: kept().flat_map(|(row, _)| row.iter().copied()).collect(),
            counts: kept().map(|(_, count)| count).collect(),
        }
    }
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(l, r)| l * r).sum()
}

impl RowLikelihood for DenseRows {
    fn inputs(&self) -> usize {
        self.a
    }

    fn counts(&self) -> Vec<f64> {
        self.counts.clone()
    }

    fn ln_likelihood(&self, p: &[f64]) -> f64 {
        self.iter().map(|(row, count)| count * dot(row, p).ln()).sum()
    }

    fn ratios(&self, p: &[f64]) -> Vec<f64> {
        self.iter().map(|(row, _)| dot(row, p)).collect()
    }

    fn gradient(&self, p: &[f64]) -> Vec<f64> {
        let mut gradient = vec![0.0; self.a];
        for (row, count) in self.iter() {
            check();
            let factor = count / dot(row, p);
            gradient.iter_mut().zip(row).for_each(|(g, r)| *g += factor * r);
        }
        gradient
    }

    fn expansion(&self, centre: &[f64], _: bool) -> (Vec<f64>, Vec<f64>) {
        let mut curvature = vec![0.0; self.a * self.a];
        for (row, count) in self.iter() {
            check();
            let ratio = dot(row, centre);
            let second = count / (ratio * ratio);
            for (line, r_x) in curvature.chunks_exact_mut(self.a).zip(row) {
                let factor = second * r_x;
                line.iter_mut().zip(row).for_each(|(j, r_y)| *j += factor * r_y);
            }
        }
        (self.gradient(centre), curvature)
    }

    fn steps(&self) -> f64 {
        self.rows.len() as f64
    }

    fn split(&self, chosen: &[bool]) -> (DenseRows, Box<dyn RowLikelihood>) {
        (self.only(|i| chosen[i]), Box::new(self.only(|i| !chosen[i])))
    }
}
