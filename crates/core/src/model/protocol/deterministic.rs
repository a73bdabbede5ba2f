//! Deterministic protocols: each value has one report, several values may share it.

use std::collections::BTreeSet;

use faer::Mat;
use rand::Rng;

use super::identity::index_below;
use super::rank::{Rank, RowSpace};
use super::{Channel, MAX_ENTRIES, MAX_INPUTS, check_inputs};
use crate::model::error::{Error, Result};
use crate::model::output::Output;

/// `Q(x) = map[x]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Deterministic {
    map: Vec<usize>,
}

impl Deterministic {
    /// The protocol that reports `map[x]` for input `x`; outputs are `0` to the largest value in the map.
    ///
    /// # Errors
    /// The map has fewer than two entries, or a value out of range.
    pub fn new(map: Vec<usize>) -> Result<Self> {
        check_inputs(map.len())?;
        match map.iter().find(|y| **y >= MAX_INPUTS) {
            Some(&value) => Err(Error::Count { name: "map", value, low: 0, high: MAX_INPUTS - 1 }),
            None => Ok(Deterministic { map }),
        }
    }

    /// The map.
    pub fn map(&self) -> &[usize] {
        &self.map
    }

    /// The outputs that occur, ascending.
    pub fn values(&self) -> BTreeSet<usize> {
        self.map.iter().copied().collect()
    }
}

impl Channel for Deterministic {
    fn kind(&self) -> &'static str {
        "deterministic"
    }

    fn inputs(&self) -> usize {
        self.map.len()
    }

    fn outputs(&self) -> Option<usize> {
        self.map.iter().max().map(|y| y + 1)
    }

    fn report_bits(&self) -> f64 {
        (self.values().len() as f64).log2()
    }

    fn output(&self, row: usize) -> Output {
        Output::Index(row)
    }

    fn row_of(&self, output: &Output) -> Result<usize> {
        index_below(output, self.outputs().unwrap_or(0))
    }

    fn entry(&self, row: usize, x: usize) -> Result<f64> {
        Ok(if self.map[x] == row { 1.0 } else { 0.0 })
    }

    fn push_forward(&self, p: &[f64]) -> Result<Vec<f64>> {
        self.check_distribution(p)?;
        let mut q = vec![0.0; self.countable_outputs(1)?];
        for (&y, p_x) in self.map.iter().zip(p) {
            q[y] += p_x;
        }
        Ok(q)
    }

    fn sample(&self, x: usize, _rng: &mut dyn Rng) -> Result<Output> {
        self.check_input(x)?;
        Ok(Output::Index(self.map[x]))
    }

    fn level_between(&self, x: usize, other: usize) -> Result<f64> {
        Ok(if self.map[x] == self.map[other] { 0.0 } else { f64::INFINITY })
    }

    fn level(&self) -> Result<f64> {
        Ok(if self.map.iter().all(|y| *y == self.map[0]) { 0.0 } else { f64::INFINITY })
    }

    fn uniform_level(&self) -> Option<f64> {
        match self.values().len() {
            1 => Some(0.0),
            all if all == self.map.len() => Some(f64::INFINITY),
            _ => None,
        }
    }

    fn rank(&self) -> Result<Rank> {
        Ok(Rank::exact(self.values().len()))
    }

    fn row_space(&self) -> Result<RowSpace> {
        let (values, a) = (self.values(), self.inputs());
        if values.len() == a {
            return Ok(RowSpace::Full);
        }
        if values.len() * a > MAX_ENTRIES {
            return Err(Error::TooLarge { what: self.kind(), outputs: values.len().to_string(), inputs: a });
        }
        let values: Vec<usize> = values.into_iter().collect();
        let indicator = |i: usize, x: usize| if self.map[x] == values[i] { 1.0 } else { 0.0 };
        Ok(RowSpace::Span(Mat::from_fn(values.len(), a, indicator), Rank::exact(values.len())))
    }

    fn share_output(&self, x: usize, other: usize) -> Result<bool> {
        Ok(self.map[x] == self.map[other])
    }

    fn rounding(&self) -> f64 {
        0.0
    }

    fn classes(&self) -> Result<usize> {
        Ok(self.values().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parity_of_four_inputs() {
        let parity = Deterministic::new(vec![1, 0, 1, 0]).unwrap();
        assert_eq!(parity.level().unwrap(), f64::INFINITY);
        assert_eq!((parity.rank().unwrap().value, parity.classes().unwrap()), (2, 2));
        assert_eq!(parity.push_forward(&[0.1, 0.2, 0.3, 0.4]).unwrap(), [0.2 + 0.4, 0.1 + 0.3]);
    }

    #[test]
    fn an_unused_output_is_no_class() {
        let gap = Deterministic::new(vec![0, 2]).unwrap();
        assert_eq!((gap.outputs(), gap.classes().unwrap(), gap.rank().unwrap().value), (Some(3), 2, 2));
    }
}
