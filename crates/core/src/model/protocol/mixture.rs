//! Mixture: each user draws one of several protocols and says which.

use rand::{Rng, RngExt};

use super::product::{check_same_inputs, classes_by_pairs};
use super::rank::{Rank, RowSpace};
use super::{Channel, Protocol};
use crate::model::error::{Error, Result, distribution};
use crate::model::output::Output;

/// `M_w(Q¹,…,Q^k)`: reports `(j, Q^j(x))` with probability `w_j`, so `Q_{(j,y)|x} = w_j Q^j_{y|x}`.
///
/// Rows are numbered part after part. The parts stay as they are until something needs the matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixture {
    weights: Vec<f64>,
    parts: Vec<Protocol>,
}

impl Mixture {
    /// The mixture of the parts with the given weights.
    ///
    /// # Errors
    /// There is no part, the weights are no distribution on the parts, or the parts have different numbers of inputs.
    pub fn new(weights: Vec<f64>, parts: Vec<Protocol>) -> Result<Self> {
        check_same_inputs("part", "parts", &parts)?;
        if weights.len() != parts.len() {
            let (left_length, right_length) = (weights.len(), parts.len());
            return Err(Error::Lengths { left: "weights", left_length, right: "parts", right_length });
        }
        Ok(Mixture { weights: distribution("weights", weights)?, parts })
    }

    /// The weights.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The parts.
    pub fn parts(&self) -> &[Protocol] {
        &self.parts
    }

    /// The parts that occur.
    fn live(&self) -> impl Iterator<Item = &Protocol> {
        self.parts.iter().zip(&self.weights).filter(|(_, w)| **w > 0.0).map(|(part, _)| part)
    }

    fn part_of<'o>(&self, output: &'o Output) -> Result<(usize, &'o Output)> {
        match output {
            Output::Part(j, inner) if *j < self.parts.len() => Ok((*j, inner)),
            _ => Err(Error::NoSuchOutput {
                output: output.to_string(),
                reason: "an output is [j, output of part j]",
            }),
        }
    }

    /// The part that a row belongs to, and the row within it.
    fn locate(&self, row: usize) -> (usize, usize) {
        let mut rest = row;
        for (j, part) in self.parts.iter().enumerate() {
            // Unwrap safety: a row number exists only if the number of outputs fits.
            let b = part.outputs().unwrap();
            if rest < b {
                return (j, rest);
            }
            rest -= b;
        }
        unreachable!("row {row} does not exist")
    }
}

impl Channel for Mixture {
    fn kind(&self) -> &'static str {
        "mixture"
    }

    fn inputs(&self) -> usize {
        self.parts[0].inputs()
    }

    fn outputs(&self) -> Option<usize> {
        self.parts.iter().try_fold(0usize, |b, part| b.checked_add(part.outputs()?))
    }

    fn report_bits(&self) -> f64 {
        let bits: Vec<f64> = self.live().map(|part| part.report_bits()).collect();
        let most = bits.iter().copied().fold(0.0, f64::max);
        most + bits.iter().map(|b| (b - most).exp2()).sum::<f64>().log2()
    }

    fn output(&self, row: usize) -> Output {
        let (j, row) = self.locate(row);
        Output::Part(j, Box::new(self.parts[j].output(row)))
    }

    fn row_of(&self, output: &Output) -> Result<usize> {
        self.countable_outputs(1)?;
        let (j, inner) = self.part_of(output)?;
        // Unwrap safety: the sum of the numbers of outputs fits.
        let before: usize = self.parts[..j].iter().map(|part| part.outputs().unwrap()).sum();
        Ok(before + self.parts[j].row_of(inner)?)
    }

    fn ln_probability(&self, output: &Output, x: usize) -> Result<f64> {
        let (j, inner) = self.part_of(output)?;
        Ok(self.weights[j].ln() + self.parts[j].ln_probability(inner, x)?)
    }

    fn entry(&self, row: usize, x: usize) -> Result<f64> {
        let (j, row) = self.locate(row);
        Ok(self.weights[j] * self.parts[j].entry(row, x)?)
    }

    fn row_into(&self, row: usize, values: &mut [f64]) -> Result<()> {
        let (j, row) = self.locate(row);
        self.parts[j].row_into(row, values)?;
        values.iter_mut().for_each(|q| *q *= self.weights[j]);
        Ok(())
    }

    fn push_forward(&self, p: &[f64]) -> Result<Vec<f64>> {
        let mut q = Vec::with_capacity(self.countable_outputs(1)?);
        for (weight, part) in self.weights.iter().zip(&self.parts) {
            q.extend(part.push_forward(p)?.into_iter().map(|q_y| weight * q_y));
        }
        Ok(q)
    }

    fn sample(&self, x: usize, rng: &mut dyn Rng) -> Result<Output> {
        let mut rest = rng.random::<f64>();
        let hit = self.weights.iter().position(|w| {
            rest -= w;
            rest < 0.0 && *w > 0.0
        });
        // Unwrap safety: the weights sum to 1, so one is positive.
        let j = hit.or_else(|| self.weights.iter().rposition(|w| *w > 0.0)).unwrap();
        Ok(Output::Part(j, Box::new(self.parts[j].sample(x, rng)?)))
    }

    fn level_between(&self, x: usize, other: usize) -> Result<f64> {
        self.live().try_fold(0f64, |level, part| Ok(level.max(part.level_between(x, other)?)))
    }

    /// Exact: the weight of a part cancels in the ratios of its rows.
    fn level(&self) -> Result<f64> {
        self.live().try_fold(0f64, |level, part| Ok(level.max(part.level()?)))
    }

    fn level_error(&self) -> Result<f64> {
        self.live().try_fold(0f64, |error, part| Ok(error.max(part.level_error()?)))
    }

    fn uniform_level(&self) -> Option<f64> {
        self.live().try_fold(0f64, |level, part| Some(level.max(part.uniform_level()?)))
    }

    fn rank(&self) -> Result<Rank> {
        Ok(self.row_space()?.rank(self.inputs()))
    }

    fn row_space(&self) -> Result<RowSpace> {
        let mut spaces = self.live().map(|part| part.row_space());
        // Unwrap safety: the weights sum to 1, so one is positive.
        let first = spaces.next().unwrap()?;
        spaces.try_fold(first, |sum, space| sum.sum(space?))
    }

    fn share_output(&self, x: usize, other: usize) -> Result<bool> {
        for part in self.live() {
            if part.share_output(x, other)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn rounding(&self) -> f64 {
        self.live().map(|part| part.rounding()).fold(0.0, f64::max) + f64::EPSILON
    }

    fn classes(&self) -> Result<usize> {
        if self.live().any(|part| part.level().is_ok_and(f64::is_finite)) {
            return Ok(1); // A finite level means that all inputs have the same possible outputs.
        }
        if let [only] = self.live().collect::<Vec<_>>()[..] {
            return only.classes();
        }
        classes_by_pairs(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_without_weight_counts_for_nothing() {
        let truth = Protocol::identity(3).unwrap();
        let response = Protocol::grr(3, 1.0).unwrap();
        let mixture = Mixture::new(vec![0.0, 1.0], vec![truth, response]).unwrap();
        assert_eq!((mixture.level().unwrap(), mixture.classes().unwrap()), (1.0, 1));
    }

    #[test]
    fn the_papers_mixture_joins_the_classes() {
        let third = 1.0 / 3.0;
        let one = vec![vec![1.0, 0.0, 0.0], vec![0.0, 2.0 * third, third], vec![0.0, third, 2.0 * third]];
        let two = vec![vec![2.0 * third, third, 0.0], vec![third, 2.0 * third, 0.0], vec![0.0, 0.0, 1.0]];
        let parts = vec![Protocol::matrix(one).unwrap(), Protocol::matrix(two).unwrap()];
        assert_eq!(Mixture::new(vec![0.5, 0.5], parts).unwrap().classes().unwrap(), 1);
    }

    #[test]
    fn weights_must_sum_to_one() {
        let parts = vec![Protocol::identity(2).unwrap(), Protocol::identity(2).unwrap()];
        assert!(matches!(Mixture::new(vec![0.5, 0.6], parts.clone()), Err(Error::WeightSum { .. })));
        assert!(matches!(Mixture::new(vec![1.0], parts), Err(Error::Lengths { .. })));
    }
}
