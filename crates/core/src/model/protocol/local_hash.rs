//! Local hash: a random hash function into a few buckets, then randomised response on the bucket.

use rand::{Rng, RngExt};

use super::generalised_randomised_response::GeneralisedRandomisedResponse;
use super::rank::{Rank, RowSpace};
use super::{Channel, MAX_INPUTS, UnaryEncoding, check_epsilon, check_inputs};
use crate::model::error::{Error, Result};
use crate::model::output::Output;
use crate::numerics::split_mix::split_mix;

/// `LH^{a,g,ε}`: a uniformly random function `h: A → {0,…,g−1}`, reported together with `GRR^{g,ε}(h(x))`.
///
/// In the matrix the functions are all `g^a` of them; a report names its function by a 64-bit seed of [`bucket`].
/// An output `(h, z)` only tells whether `x ∈ h⁻¹(z)`, so every metric equals that of [`LocalHash::as_unary`].
#[derive(Clone, Debug, PartialEq)]
pub struct LocalHash {
    a: usize,
    g: usize,
    epsilon: f64,
}

/// The bucket of input `x` under the hash function with the given seed: the `(x+1)`-th output of the SplitMix64 generator
/// started at `seed`, scaled to `0..g` by the high half of a 128-bit product.
///
/// This function is part of the report format and never changes.
pub fn bucket(seed: u64, x: usize, g: usize) -> usize {
    ((u128::from(split_mix(seed, x as u64)) * g as u128) >> 64) as usize
}

impl LocalHash {
    /// Local hash of `a` inputs into `g` buckets with LDP level `epsilon`. With `g = 1` it says nothing.
    ///
    /// # Errors
    /// `a`, `g` or `epsilon` is out of range.
    pub fn new(a: usize, g: usize, epsilon: f64) -> Result<Self> {
        if !(1..=MAX_INPUTS).contains(&g) {
            return Err(Error::Count { name: "g", value: g, low: 1, high: MAX_INPUTS });
        }
        Ok(LocalHash { a: check_inputs(a)?, g, epsilon: check_epsilon(epsilon)? })
    }

    /// Number of buckets `g`.
    pub fn buckets(&self) -> usize {
        self.g
    }

    /// `ε`.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// The unary encoding that has the same likelihood vectors, `UE(e^ε/(e^ε+g−1), 1/g)`.
    pub fn as_unary(&self) -> UnaryEncoding {
        UnaryEncoding::of_local_hash(self.a, self.g, self.epsilon)
    }

    /// For each input whether it falls into the reported bucket.
    pub(crate) fn support(&self, output: &Output) -> Result<Vec<bool>> {
        match output {
            Output::Hash { seed, z } if *z < self.g => {
                Ok((0..self.a).map(|x| bucket(*seed, x, self.g) == *z).collect())
            }
            Output::Table { values, z }
                if *z < self.g && values.len() == self.a && values.iter().all(|v| *v < self.g) =>
            {
                Ok(values.iter().map(|v| v == z).collect())
            }
            _ => Err(Error::NoSuchOutput {
                output: output.to_string(),
                reason: "an output is [seed, z] with z below g",
            }),
        }
    }

    /// The number of a hash function among all `g^a`, its values read as digits, the first least significant.
    fn function_number(&self, values: impl DoubleEndedIterator<Item = usize>) -> usize {
        values.rev().fold(0, |number, value| number * self.g + value)
    }
}

impl Channel for LocalHash {
    fn kind(&self) -> &'static str {
        "lh"
    }

    fn inputs(&self) -> usize {
        self.a
    }

    fn outputs(&self) -> Option<usize> {
        self.g.checked_pow(u32::try_from(self.a + 1).ok()?)
    }

    fn report_bits(&self) -> f64 {
        64.0 + (self.g as f64).log2()
    }

    fn output(&self, row: usize) -> Output {
        let digits = (0..self.a).scan(row / self.g, |rest, _| {
            let value = *rest % self.g;
            *rest /= self.g;
            Some(value)
        });
        Output::Table { values: digits.collect(), z: row % self.g }
    }

    fn row_of(&self, output: &Output) -> Result<usize> {
        self.countable_outputs(1)?;
        self.support(output)?;
        Ok(match output {
            Output::Hash { seed, z } => {
                self.function_number((0..self.a).map(|x| bucket(*seed, x, self.g))) * self.g + z
            }
            Output::Table { values, z } => self.function_number(values.iter().copied()) * self.g + z,
            // Unwrap safety: `support` has refused all other outputs.
            _ => unreachable!("not an output of local hash"),
        })
    }

    fn ln_probability(&self, output: &Output, x: usize) -> Result<f64> {
        self.check_input(x)?;
        let others = (self.g - 1) as f64;
        let ln_response = if self.support(output)?[x] {
            -(others * (-self.epsilon).exp()).ln_1p()
        } else {
            -(self.epsilon.exp() + others).ln()
        };
        Ok(ln_response - self.a as f64 * (self.g as f64).ln())
    }

    fn entry(&self, row: usize, x: usize) -> Result<f64> {
        let mut values = vec![0.0; self.a];
        self.row_into(row, &mut values)?;
        Ok(values[x])
    }

    fn row_into(&self, row: usize, values: &mut [f64]) -> Result<()> {
        let functions = (self.g as f64).powi(self.a as i32);
        let others = (self.g - 1) as f64;
        let hit = 1.0 / (1.0 + others * (-self.epsilon).exp()) / functions;
        let miss = 1.0 / (self.epsilon.exp() + others) / functions;
        let (mut rest, z) = (row / self.g, row % self.g);
        for value in values {
            *value = if rest % self.g == z { hit } else { miss };
            rest /= self.g;
        }
        Ok(())
    }

    fn sample(&self, x: usize, rng: &mut dyn Rng) -> Result<Output> {
        self.check_input(x)?;
        let seed = rng.random::<u64>();
        if self.g == 1 {
            return Ok(Output::Hash { seed, z: 0 });
        }
        let response = GeneralisedRandomisedResponse::new(self.g, self.epsilon)?;
        let z = response.row_of(&response.sample(bucket(seed, x, self.g), rng)?)?;
        Ok(Output::Hash { seed, z })
    }

    fn level_between(&self, x: usize, other: usize) -> Result<f64> {
        Ok(if x == other { 0.0 } else { self.level()? })
    }

    fn level(&self) -> Result<f64> {
        Ok(if self.g == 1 { 0.0 } else { self.epsilon })
    }

    fn uniform_level(&self) -> Option<f64> {
        self.level().ok()
    }

    fn rank(&self) -> Result<Rank> {
        self.as_unary().rank()
    }

    fn row_space(&self) -> Result<RowSpace> {
        self.as_unary().row_space()
    }

    fn share_output(&self, _x: usize, _other: usize) -> Result<bool> {
        Ok(true)
    }

    fn classes(&self) -> Result<usize> {
        Ok(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_function_is_frozen() {
        // SplitMix64 started at 0 begins with these outputs; the buckets follow from them.
        assert_eq!((bucket(0, 0, 1 << 32), bucket(0, 1, 1 << 32)), (0xE220_A839, 0x6E78_9E6A));
        assert_eq!((0..8).map(|x| bucket(42, x, 4)).collect::<Vec<_>>(), [2, 0, 1, 1, 0, 3, 0, 3]);
    }

    #[test]
    fn rows_and_outputs_correspond() {
        let lh = LocalHash::new(3, 2, 1.0).unwrap();
        for row in 0..lh.outputs().unwrap() {
            assert_eq!(lh.row_of(&lh.output(row)).unwrap(), row);
            for x in 0..3 {
                let ln = lh.ln_probability(&lh.output(row), x).unwrap();
                assert!((ln - lh.entry(row, x).unwrap().ln()).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn one_bucket_says_nothing() {
        let lh = LocalHash::new(3, 1, 1.0).unwrap();
        assert_eq!((lh.level().unwrap(), lh.rank().unwrap().value), (0.0, 1));
    }
}
