//! Erasure: the whole truth from some users, nothing from the others.

use rand::{Rng, RngExt};

use super::identity::index_below;
use super::rank::{Rank, RowSpace};
use super::{Channel, check_inputs};
use crate::model::error::{Result, in_range};
use crate::model::output::Output;

/// Reports `x` with probability `reveal`, else the blank output `a`.
///
/// It has the best utility for its *average* privacy under some priors, and protects nobody whose value it reveals.
#[derive(Clone, Debug, PartialEq)]
pub struct Erasure {
    a: usize,
    reveal: f64,
}

impl Erasure {
    /// Erasure on `a` inputs that tells the truth with probability `reveal`.
    ///
    /// # Errors
    /// `a` or `reveal` is out of range.
    pub fn new(a: usize, reveal: f64) -> Result<Self> {
        in_range("reveal", reveal, |p| (0.0..=1.0).contains(&p), "a probability between 0 and 1")?;
        Ok(Erasure { a: check_inputs(a)?, reveal })
    }

    /// Probability of the truth.
    pub fn reveal(&self) -> f64 {
        self.reveal
    }
}

impl Channel for Erasure {
    fn kind(&self) -> &'static str {
        "erasure"
    }

    fn inputs(&self) -> usize {
        self.a
    }

    fn outputs(&self) -> Option<usize> {
        Some(self.a + 1)
    }

    fn report_bits(&self) -> f64 {
        (self.a as f64 + 1.0).log2()
    }

    fn output(&self, row: usize) -> Output {
        Output::Index(row)
    }

    fn row_of(&self, output: &Output) -> Result<usize> {
        index_below(output, self.a + 1)
    }

    fn entry(&self, row: usize, x: usize) -> Result<f64> {
        Ok(if row == self.a {
            1.0 - self.reveal
        } else if row == x {
            self.reveal
        } else {
            0.0
        })
    }

    fn push_forward(&self, p: &[f64]) -> Result<Vec<f64>> {
        self.check_distribution(p)?;
        let blank = (1.0 - self.reveal) * p.iter().sum::<f64>();
        Ok(p.iter().map(|p_x| self.reveal * p_x).chain([blank]).collect())
    }

    fn sample(&self, x: usize, rng: &mut dyn Rng) -> Result<Output> {
        self.check_input(x)?;
        Ok(Output::Index(if rng.random::<f64>() < self.reveal { x } else { self.a }))
    }

    fn level_between(&self, x: usize, other: usize) -> Result<f64> {
        Ok(if x == other { 0.0 } else { self.level()? })
    }

    fn level(&self) -> Result<f64> {
        Ok(if self.reveal > 0.0 { f64::INFINITY } else { 0.0 })
    }

    fn uniform_level(&self) -> Option<f64> {
        self.level().ok()
    }

    fn rank(&self) -> Result<Rank> {
        Ok(Rank::exact(if self.reveal > 0.0 { self.a } else { 1 }))
    }

    fn row_space(&self) -> Result<RowSpace> {
        Ok(if self.reveal > 0.0 { RowSpace::Full } else { RowSpace::constant(self.a) })
    }

    fn share_output(&self, x: usize, other: usize) -> Result<bool> {
        Ok(x == other || self.reveal < 1.0)
    }

    fn rounding(&self) -> f64 {
        f64::EPSILON
    }

    fn classes(&self) -> Result<usize> {
        Ok(if self.reveal < 1.0 { 1 } else { self.a })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_silence_and_identity() {
        let silence = Erasure::new(3, 0.0).unwrap();
        assert_eq!((silence.level().unwrap(), silence.rank().unwrap().value), (0.0, 1));
        let truth = Erasure::new(3, 1.0).unwrap();
        assert_eq!((truth.level().unwrap(), truth.classes().unwrap()), (f64::INFINITY, 3));
    }

    #[test]
    fn nan_is_refused() {
        assert!(Erasure::new(3, f64::NAN).is_err());
    }
}
