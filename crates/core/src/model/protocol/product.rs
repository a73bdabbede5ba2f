//! Product: several protocols on the same value, all reported together.

use rand::Rng;

use super::channel::rounding_of;
use super::matrix::{Components, MergedRows};
use super::rank::{Rank, RowSpace};
use super::{Channel, MAX_ENTRIES, Matrix, Protocol};
use crate::model::error::{Error, Result};
use crate::model::output::Output;
use crate::numerics::stop::check;

/// `Q¹ × … × Q^k`: `Q_{(y_1,…,y_k)|x} = ∏_j Q^j_{y_j|x}`.
///
/// Rows are numbered with the last factor running fastest. The factors stay as they are until something needs the matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
    factors: Vec<Protocol>,
}

impl Product {
    /// The product of the factors.
    ///
    /// # Errors
    /// There is no factor, or they have different numbers of inputs.
    pub fn new(factors: Vec<Protocol>) -> Result<Self> {
        check_same_inputs("factor", "factors", &factors)?;
        Ok(Product { factors })
    }

    /// The factors.
    pub fn factors(&self) -> &[Protocol] {
        &self.factors
    }

    /// The canonical matrix, built factor by factor so that only merged rows are ever held.
    ///
    /// # Errors
    /// [`Error::TooLarge`] when even the merged rows have more than [`MAX_ENTRIES`] entries.
    pub fn merged_matrix(&self) -> Result<Matrix> {
        let mut merged = MergedRows::new(self.inputs());
        self.for_each_row(|row| merged.add(row))?;
        Ok(merged.into_matrix())
    }

    /// Calls `visit` with each row, one after another, after merging proportional rows of all factors but the last. Rows of
    /// the product itself are not held.
    ///
    /// # Errors
    /// [`Error::TooLarge`] when more than [`MAX_ENTRIES`] entries would be visited.
    pub fn for_each_row(&self, mut visit: impl FnMut(&[f64])) -> Result<()> {
        // Unwrap safety: `new` has refused an empty list.
        let (last, first) = self.factors.split_last().unwrap();
        let last = last.canonical_matrix()?;
        let left = match first {
            [] => {
                return last.rows().try_for_each(|row| {
                    visit(row);
                    Ok(())
                });
            }
            [only] => only.canonical_matrix()?,
            several => Product { factors: several.to_vec() }.merged_matrix()?,
        };
        let (a, visited) = (self.inputs(), left.rows().len().saturating_mul(last.rows().len()));
        if visited.saturating_mul(a) > MAX_ENTRIES {
            return Err(Error::TooLarge { what: self.kind(), outputs: visited.to_string(), inputs: a });
        }
        let mut product = vec![0.0; a];
        for row in left.rows() {
            check();
            for other in last.rows() {
                product.iter_mut().zip(row.iter().zip(other)).for_each(|(p, (q, r))| *p = q * r);
                visit(&product);
            }
        }
        Ok(())
    }

    fn outputs_of<'o>(&self, output: &'o Output) -> Result<&'o [Output]> {
        match output {
            Output::Tuple(outputs) if outputs.len() == self.factors.len() => Ok(outputs),
            _ => Err(Error::NoSuchOutput {
                output: output.to_string(),
                reason: "an output is the list of the outputs of all factors",
            }),
        }
    }

    /// Row numbers of the factors that make up a row of the product.
    fn digits(&self, row: usize) -> Vec<usize> {
        let mut rest = row;
        let mut digits: Vec<usize> = Vec::with_capacity(self.factors.len());
        for factor in self.factors.iter().rev() {
            // Unwrap safety: a row number exists only if the number of outputs fits.
            let b = factor.outputs().unwrap();
            digits.push(rest % b);
            rest /= b;
        }
        digits.reverse();
        digits
    }
}

/// Refuses an empty list of parts and parts with different numbers of inputs.
pub(super) fn check_same_inputs(role: &'static str, name: &'static str, parts: &[Protocol]) -> Result<()> {
    let expected = parts.first().ok_or(Error::Empty { name })?.inputs();
    match parts.iter().position(|part| part.inputs() != expected) {
        Some(position) => Err(Error::Mismatch { role, position, found: parts[position].inputs(), expected }),
        None => Ok(()),
    }
}

impl Channel for Product {
    fn kind(&self) -> &'static str {
        "product"
    }

    fn inputs(&self) -> usize {
        self.factors[0].inputs()
    }

    fn outputs(&self) -> Option<usize> {
        self.factors.iter().try_fold(1usize, |b, factor| b.checked_mul(factor.outputs()?))
    }

    fn report_bits(&self) -> f64 {
        self.factors.iter().map(|factor| factor.report_bits()).sum()
    }

    fn output(&self, row: usize) -> Output {
        Output::Tuple(
            self.digits(row).iter().zip(&self.factors).map(|(d, factor)| factor.output(*d)).collect(),
        )
    }

    fn row_of(&self, output: &Output) -> Result<usize> {
        self.countable_outputs(1)?;
        self.outputs_of(output)?.iter().zip(&self.factors).try_fold(0, |row, (output, factor)| {
            // Unwrap safety: the product of the numbers of outputs fits.
            Ok(row * factor.outputs().unwrap() + factor.row_of(output)?)
        })
    }

    fn ln_probability(&self, output: &Output, x: usize) -> Result<f64> {
        self.outputs_of(output)?
            .iter()
            .zip(&self.factors)
            .map(|(y, factor)| factor.ln_probability(y, x))
            .sum()
    }

    fn entry(&self, row: usize, x: usize) -> Result<f64> {
        self.digits(row).iter().zip(&self.factors).map(|(digit, factor)| factor.entry(*digit, x)).product()
    }

    fn row_into(&self, row: usize, values: &mut [f64]) -> Result<()> {
        let mut factor_values = vec![0.0; values.len()];
        values.fill(1.0);
        for (digit, factor) in self.digits(row).iter().zip(&self.factors) {
            factor.row_into(*digit, &mut factor_values)?;
            values.iter_mut().zip(&factor_values).for_each(|(product, q)| *product *= q);
        }
        Ok(())
    }

    fn sample(&self, x: usize, rng: &mut dyn Rng) -> Result<Output> {
        Ok(Output::Tuple(self.factors.iter().map(|factor| factor.sample(x, rng)).collect::<Result<_>>()?))
    }

    fn level_between(&self, x: usize, other: usize) -> Result<f64> {
        self.factors.iter().map(|factor| factor.level_between(x, other)).sum()
    }

    /// Exact, not only the bound `Σ LDP(Q^j)`: given `x`, the factors' outputs are chosen independently, so the largest
    /// log ratio between `x` and `x'` is the sum of the factors' largest; then the pair is chosen.
    fn level(&self) -> Result<f64> {
        let levels: Vec<f64> = self.factors.iter().map(|factor| factor.level()).collect::<Result<_>>()?;
        let uneven: Vec<&Protocol> = self.factors.iter().filter(|f| f.uniform_level().is_none()).collect();
        if uneven.len() <= 1 || levels.contains(&f64::INFINITY) {
            return Ok(levels.iter().sum());
        }
        let even: f64 = self.factors.iter().filter_map(|factor| factor.uniform_level()).sum();
        let mut worst = 0f64;
        for x in 0..self.inputs() {
            check();
            for other in (0..self.inputs()).filter(|other| *other != x) {
                let level: f64 = uneven.iter().map(|f| f.level_between(x, other)).sum::<Result<_>>()?;
                worst = worst.max(level);
            }
        }
        Ok(even + worst)
    }

    fn level_error(&self) -> Result<f64> {
        let parts: f64 = self.factors.iter().map(|factor| factor.level_error()).sum::<Result<_>>()?;
        Ok(parts + rounding_of(self.level()?))
    }

    fn uniform_level(&self) -> Option<f64> {
        self.factors.iter().map(|factor| factor.uniform_level()).sum()
    }

    fn rank(&self) -> Result<Rank> {
        Ok(self.row_space()?.rank(self.inputs()))
    }

    fn row_space(&self) -> Result<RowSpace> {
        let first = self.factors[0].row_space()?;
        self.factors[1..].iter().try_fold(first, |space, factor| space.product(factor.row_space()?))
    }

    fn share_output(&self, x: usize, other: usize) -> Result<bool> {
        for factor in &self.factors {
            if !factor.share_output(x, other)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn rounding(&self) -> f64 {
        self.factors.iter().map(|factor| factor.rounding() + f64::EPSILON).sum()
    }

    fn classes(&self) -> Result<usize> {
        if self.factors.iter().all(|factor| factor.level().is_ok_and(f64::is_finite)) {
            return Ok(1); // A finite level means that all inputs have the same possible outputs.
        }
        for factor in &self.factors {
            if factor.classes()? == self.inputs() {
                return Ok(self.inputs()); // Inputs told apart by one factor are told apart by all together.
            }
        }
        classes_by_pairs(self)
    }
}

/// Most inputs for which all pairs are asked: eight million pairs.
const MAX_PAIRED_INPUTS: usize = 1 << 12;

/// The number of classes of a combination, by asking pairs of inputs whether they share an output. Stops asking for an
/// input as soon as all inputs up to it are connected, so it is linear in the usual case that all inputs share an output.
///
/// # Errors
/// [`Error::TooLarge`] above 4096 inputs that are not connected so quickly.
pub(super) fn classes_by_pairs(combination: &dyn Channel) -> Result<usize> {
    let a = combination.inputs();
    let mut components = Components::new(a);
    let mut open = 0;
    for x in 0..a {
        check();
        open += 1;
        for other in (0..x).take_while(|_| a <= MAX_PAIRED_INPUTS || x < MAX_PAIRED_INPUTS) {
            if open == 1 {
                break;
            }
            if !components.connected(x, other) && combination.share_output(x, other)? {
                components.join(x, other);
                open -= 1;
            }
        }
        if open > 1 && a > MAX_PAIRED_INPUTS {
            return Err(Error::TooLarge {
                what: combination.kind(),
                outputs: "too many pairs of".into(),
                inputs: a,
            });
        }
    }
    Ok(components.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_exact_and_can_be_below_the_sum() {
        let one = Protocol::matrix(vec![vec![0.6, 0.5, 0.4], vec![0.4, 0.5, 0.6]]).unwrap();
        let other = Protocol::matrix(vec![vec![0.5, 0.7, 0.5], vec![0.5, 0.3, 0.5]]).unwrap();
        let product = Product::new(vec![one.clone(), other.clone()]).unwrap();
        let exact = product.to_matrix().unwrap().level().unwrap();
        assert!((product.level().unwrap() - exact).abs() < 1e-15);
        assert!(exact < one.level().unwrap() + other.level().unwrap() - 0.1);
    }

    #[test]
    fn a_huge_product_is_an_ordinary_value() {
        let product = Product::new(vec![Protocol::grr(100, 0.1).unwrap(); 40]).unwrap();
        assert_eq!(product.outputs(), None);
        assert!((product.level().unwrap() - 4.0).abs() < 1e-12);
        assert_eq!((product.rank().unwrap().value, product.classes().unwrap()), (100, 1));
    }

    #[test]
    fn two_unfaithful_factors_can_be_faithful_together() {
        let rows = Protocol::deterministic(vec![0, 0, 1, 1]).unwrap();
        let columns = Protocol::deterministic(vec![0, 1, 0, 1]).unwrap();
        let product = Product::new(vec![rows, columns]).unwrap();
        assert_eq!((product.rank().unwrap().value, product.classes().unwrap()), (4, 4));
    }

    #[test]
    fn merged_rows_of_repeated_reports_grow_slowly() {
        let product = Product::new(vec![Protocol::grr(2, 0.5).unwrap(); 20]).unwrap();
        assert_eq!(product.merged_matrix().unwrap().rows().len(), 21);
    }
}
