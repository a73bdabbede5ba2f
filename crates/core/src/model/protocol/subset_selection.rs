//! Subset selection: a set of `k` values that favours those containing the true one.

use rand::{Rng, RngExt};

use super::rank::{Rank, RowSpace};
use super::unary_encoding::is_subset;
use super::{Channel, check_epsilon, check_inputs};
use crate::model::error::{Error, Result};
use crate::model::output::Output;
use crate::numerics::special::ln_binomial;

/// `k`-subset selection: reports a `k`-subset `y` with probability proportional to `e^ε` if `x ∈ y` and to 1 if not.
#[derive(Clone, Debug, PartialEq)]
pub struct SubsetSelection {
    a: usize,
    k: usize,
    epsilon: f64,
}

impl SubsetSelection {
    /// Subsets of size `k` of `a` inputs with LDP level `epsilon`. With `k = a` it says nothing.
    ///
    /// # Errors
    /// `a`, `k` or `epsilon` is out of range.
    pub fn new(a: usize, k: usize, epsilon: f64) -> Result<Self> {
        let a = check_inputs(a)?;
        if !(1..=a).contains(&k) {
            return Err(Error::Count { name: "k", value: k, low: 1, high: a });
        }
        Ok(SubsetSelection { a, k, epsilon: check_epsilon(epsilon)? })
    }

    /// Size `k` of the reported set.
    pub fn size(&self) -> usize {
        self.k
    }

    /// `ε`.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// Probability that the reported set contains the true value, `k e^ε/(k e^ε + a − k)`.
    pub fn inclusion(&self) -> f64 {
        let odds = (self.a - self.k) as f64 / self.k as f64;
        1.0 / (1.0 + odds * (-self.epsilon).exp())
    }

    /// `ln Q_{y|x}` for a set that contains `x`, or that does not.
    fn ln_set(&self, contains_x: bool) -> f64 {
        let (a, k) = (self.a as f64, self.k as f64);
        let ln_average =
            (a / (k * self.epsilon.exp() + a - k)).ln() - ln_binomial(self.a as f64, self.k as f64);
        if contains_x { self.epsilon + ln_average } else { ln_average }
    }

    fn members<'o>(&self, output: &'o Output) -> Result<&'o [usize]> {
        match output {
            Output::Subset(members) if members.len() == self.k && is_subset(members, self.a) => Ok(members),
            _ => Err(Error::NoSuchOutput {
                output: output.to_string(),
                reason: "an output is an ascending list of k inputs",
            }),
        }
    }

    /// The set with the given number in colexicographic order, descending.
    fn unrank(&self, row: usize) -> Vec<usize> {
        let (mut rest, mut members, mut above) = (row, Vec::with_capacity(self.k), self.a);
        for size in (1..=self.k).rev() {
            // Unwrap safety: the number of subsets fits, so smaller binomials do.
            let count = |x: usize| binomial(x, size).unwrap();
            let member = (0..above).rev().find(|&x| count(x) <= rest).unwrap();
            rest -= count(member);
            members.push(member);
            above = member;
        }
        members
    }
}

/// `C(n, k)` if it fits a machine word.
fn binomial(n: usize, k: usize) -> Option<usize> {
    if k > n {
        return Some(0);
    }
    let mut value: u128 = 1;
    for i in 0..k.min(n - k) {
        value = value * (n - i) as u128 / (i + 1) as u128;
        usize::try_from(value).ok()?;
    }
    Some(value as usize)
}

impl Channel for SubsetSelection {
    fn kind(&self) -> &'static str {
        "subset"
    }

    fn inputs(&self) -> usize {
        self.a
    }

    fn outputs(&self) -> Option<usize> {
        binomial(self.a, self.k)
    }

    fn report_bits(&self) -> f64 {
        ln_binomial(self.a as f64, self.k as f64) / std::f64::consts::LN_2
    }

    fn output(&self, row: usize) -> Output {
        Output::Subset(self.unrank(row).into_iter().rev().collect())
    }

    fn row_of(&self, output: &Output) -> Result<usize> {
        self.countable_outputs(1)?;
        // Unwrap safety: the number of subsets fits, so smaller binomials do.
        Ok(self.members(output)?.iter().enumerate().map(|(i, &x)| binomial(x, i + 1).unwrap()).sum())
    }

    fn ln_probability(&self, output: &Output, x: usize) -> Result<f64> {
        self.check_input(x)?;
        Ok(self.ln_set(self.members(output)?.binary_search(&x).is_ok()))
    }

    fn entry(&self, row: usize, x: usize) -> Result<f64> {
        Ok(self.ln_set(self.unrank(row).contains(&x)).exp())
    }

    fn row_into(&self, row: usize, values: &mut [f64]) -> Result<()> {
        values.fill(self.ln_set(false).exp());
        let member = self.ln_set(true).exp();
        for x in self.unrank(row) {
            values[x] = member;
        }
        Ok(())
    }

    fn sample(&self, x: usize, rng: &mut dyn Rng) -> Result<Output> {
        self.check_input(x)?;
        let own = rng.random::<f64>() < self.inclusion();
        let others = rand::seq::index::sample(rng, self.a - 1, self.k - usize::from(own));
        let mut members: Vec<usize> = others.iter().map(|o| if o < x { o } else { o + 1 }).collect();
        members.extend(own.then_some(x));
        members.sort_unstable();
        Ok(Output::Subset(members))
    }

    fn level_between(&self, x: usize, other: usize) -> Result<f64> {
        Ok(if x == other { 0.0 } else { self.level()? })
    }

    fn level(&self) -> Result<f64> {
        Ok(if self.k == self.a { 0.0 } else { self.epsilon })
    }

    fn uniform_level(&self) -> Option<f64> {
        self.level().ok()
    }

    fn rank(&self) -> Result<Rank> {
        Ok(Rank::exact(if self.k == self.a { 1 } else { self.a }))
    }

    fn row_space(&self) -> Result<RowSpace> {
        Ok(if self.k == self.a { RowSpace::constant(self.a) } else { RowSpace::Full })
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
    fn rows_and_outputs_correspond() {
        let subset = SubsetSelection::new(7, 3, 1.0).unwrap();
        for row in 0..subset.outputs().unwrap() {
            assert_eq!(subset.row_of(&subset.output(row)).unwrap(), row);
        }
    }

    #[test]
    fn columns_are_distributions() {
        for k in 1..=6 {
            let subset = SubsetSelection::new(6, k, 2.0).unwrap();
            for x in 0..6 {
                let sum: f64 = subset.column(x).unwrap().iter().sum();
                assert!((sum - 1.0).abs() < 1e-14, "k = {k}: {sum}");
            }
        }
    }

    #[test]
    fn ten_thousand_inputs_are_an_ordinary_value() {
        let subset = SubsetSelection::new(10_000, 2_700, 1.0).unwrap();
        assert_eq!(subset.outputs(), None);
        assert!(subset.report_bits() > 8_000.0);
        assert!(subset.ln_probability(&subset_of(2_700), 0).unwrap().is_finite());
    }

    fn subset_of(k: usize) -> Output {
        Output::Subset((0..k).collect())
    }

    #[test]
    fn an_empty_set_is_refused() {
        let refused = SubsetSelection::new(4, 0, 1.0);
        assert_eq!(refused, Err(Error::Count { name: "k", value: 0, low: 1, high: 4 }));
    }
}
