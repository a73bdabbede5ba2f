//! Generalised randomised response: the true value, or any other one, all others equally likely.

use rand::{Rng, RngExt};

use super::identity::index_below;
use super::rank::{Rank, RowSpace};
use super::{Channel, check_epsilon, check_inputs};
use crate::model::error::Result;
use crate::model::output::Output;

/// `GRR^{a,ε}`: reports `x` with probability `e^ε/(e^ε+a−1)` and each other value with probability `1/(e^ε+a−1)`.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneralisedRandomisedResponse {
    a: usize,
    epsilon: f64,
}

impl GeneralisedRandomisedResponse {
    /// Randomised response on `a` inputs with LDP level `epsilon`.
    ///
    /// # Errors
    /// `a` or `epsilon` is out of range.
    pub fn new(a: usize, epsilon: f64) -> Result<Self> {
        Ok(GeneralisedRandomisedResponse { a: check_inputs(a)?, epsilon: check_epsilon(epsilon)? })
    }

    /// `ε`.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// Probability of the true value.
    pub fn truth(&self) -> f64 {
        1.0 / (1.0 + (self.a - 1) as f64 * (-self.epsilon).exp())
    }

    /// Probability of each other value.
    pub fn lie(&self) -> f64 {
        1.0 / (self.epsilon.exp() + (self.a - 1) as f64)
    }
}

impl Channel for GeneralisedRandomisedResponse {
    fn kind(&self) -> &'static str {
        "grr"
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
        Ok(if row == x { self.truth() } else { self.lie() })
    }

    fn push_forward(&self, p: &[f64]) -> Result<Vec<f64>> {
        self.check_distribution(p)?;
        let (lie, total) = (self.lie(), p.iter().sum::<f64>());
        Ok(p.iter().map(|p_x| lie * (total + self.epsilon.exp_m1() * p_x)).collect())
    }

    fn sample(&self, x: usize, rng: &mut dyn Rng) -> Result<Output> {
        self.check_input(x)?;
        if rng.random::<f64>() < self.truth() {
            return Ok(Output::Index(x));
        }
        let other = rng.random_range(0..self.a - 1);
        Ok(Output::Index(if other < x { other } else { other + 1 }))
    }

    fn level_between(&self, x: usize, other: usize) -> Result<f64> {
        Ok(if x == other { 0.0 } else { self.epsilon })
    }

    fn level(&self) -> Result<f64> {
        Ok(self.epsilon)
    }

    fn uniform_level(&self) -> Option<f64> {
        Some(self.epsilon)
    }

    fn rank(&self) -> Result<Rank> {
        Ok(Rank::exact(self.a))
    }

    fn row_space(&self) -> Result<RowSpace> {
        Ok(RowSpace::Full)
    }

    fn share_output(&self, _x: usize, _other: usize) -> Result<bool> {
        Ok(true)
    }

    fn rounding(&self) -> f64 {
        8.0 * f64::EPSILON
    }

    fn classes(&self) -> Result<usize> {
        Ok(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_stay_finite_and_stochastic() {
        for (a, epsilon) in [(2, 1e-6), (2, 50.0), (1_000_000, 1e-6), (1_000_000, 50.0)] {
            let grr = GeneralisedRandomisedResponse::new(a, epsilon).unwrap();
            let sum = grr.truth() + (a - 1) as f64 * grr.lie();
            assert!((sum - 1.0).abs() < 1e-15, "a = {a}, epsilon = {epsilon}: {sum}");
            assert!(grr.lie() > 0.0);
        }
    }

    #[test]
    fn push_forward_of_a_million_inputs_needs_no_matrix() {
        let grr = GeneralisedRandomisedResponse::new(1_000_000, 1.0).unwrap();
        let q = grr.push_forward(&vec![1e-6; 1_000_000]).unwrap();
        assert!((q.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(grr.to_matrix().is_err());
    }
}
