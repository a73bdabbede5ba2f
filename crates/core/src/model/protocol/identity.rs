//! Telling the truth: the protocol with all utility and no privacy.

use rand::Rng;

use super::rank::{Rank, RowSpace};
use super::{Channel, check_inputs};
use crate::model::error::{Error, Result};
use crate::model::output::Output;

/// `id_A`: each user reports the true value.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    a: usize,
}

impl Identity {
    /// Truth on `a` inputs.
    ///
    /// # Errors
    /// `a` is out of range.
    pub fn new(a: usize) -> Result<Self> {
        Ok(Identity { a: check_inputs(a)? })
    }
}

impl Channel for Identity {
    fn kind(&self) -> &'static str {
        "identity"
    }

    fn inputs(&self) -> usize {
        self.a
    }

    fn outputs(&self) -> Option<usize> {
        Some(self.a)
    }

    fn report_bits(&self) -> f64 {
        (self.a as f64).log2()
    }

    fn output(&self, row: usize) -> Output {
        Output::Index(row)
    }

    fn row_of(&self, output: &Output) -> Result<usize> {
        index_below(output, self.a)
    }

    fn entry(&self, row: usize, x: usize) -> Result<f64> {
        Ok(if row == x { 1.0 } else { 0.0 })
    }

    fn push_forward(&self, p: &[f64]) -> Result<Vec<f64>> {
        self.check_distribution(p)?;
        Ok(p.to_vec())
    }

    fn sample(&self, x: usize, _rng: &mut dyn Rng) -> Result<Output> {
        self.check_input(x)?;
        Ok(Output::Index(x))
    }

    fn level_between(&self, x: usize, other: usize) -> Result<f64> {
        Ok(if x == other { 0.0 } else { f64::INFINITY })
    }

    fn level(&self) -> Result<f64> {
        Ok(f64::INFINITY)
    }

    fn uniform_level(&self) -> Option<f64> {
        Some(f64::INFINITY)
    }

    fn rank(&self) -> Result<Rank> {
        Ok(Rank::exact(self.a))
    }

    fn row_space(&self) -> Result<RowSpace> {
        Ok(RowSpace::Full)
    }

    fn share_output(&self, x: usize, other: usize) -> Result<bool> {
        Ok(x == other)
    }

    fn rounding(&self) -> f64 {
        0.0
    }

    fn classes(&self) -> Result<usize> {
        Ok(self.a)
    }
}

/// The number in [`Output::Index`], if it is below `b`.
pub(super) fn index_below(output: &Output, b: usize) -> Result<usize> {
    match output {
        Output::Index(y) if *y < b => Ok(*y),
        _ => Err(Error::NoSuchOutput {
            output: output.to_string(),
            reason: "an output is a number from 0 to the number of outputs minus 1",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_hides_nothing() {
        let identity = Identity::new(3).unwrap();
        assert_eq!(identity.level().unwrap(), f64::INFINITY);
        assert_eq!(identity.column(1).unwrap(), [0.0, 1.0, 0.0]);
        assert_eq!(identity.classes().unwrap(), 3);
    }

    #[test]
    fn one_input_is_refused() {
        assert_eq!(Identity::new(1), Err(Error::Inputs { a: 1 }));
    }
}
