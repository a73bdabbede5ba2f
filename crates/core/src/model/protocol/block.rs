//! Block designs: subset selection with the shifts of a difference set as its only subsets.

use std::sync::Arc;

use rand::{Rng, RngExt};

use super::identity::index_below;
use super::rank::{Rank, RowSpace};
use super::{BitNoise, Channel, check_epsilon, check_inputs};
use crate::model::error::{Error, Result};
use crate::model::output::Output;
pub use crate::numerics::difference_set::{DifferenceSet, Family as DifferenceSetFamily, MAX_ORDER};

/// A cyclic block design: with a difference set `D` of `k` residues modulo `v ≥ a`, reports a number `y < v` with probability
/// ```text
/// Q_{y|x} = c e^ε if (x − y) mod v ∈ D, else c,        c = 1/(k e^ε + v − k)
/// ```
/// So a report names a *block*, the `k` residues `y + D`, and is more likely if that contains the value. The `v`
/// blocks do nearly the work of all `C(v, k)` subsets, with reports of `log2 v` bits.
///
/// Inputs are the residues below `a`; others are nobody's value.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    a: usize,
    epsilon: f64,
    set: Arc<DifferenceSet>,
}

/// Masses inside and outside of a block, and how many blocks have these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockShare {
    /// The mass of the inputs in the block.
    pub held: f64,
    /// The mass of all others.
    pub rest: f64,
    /// How many blocks are like this.
    pub count: f64,
}

/// Up to so many masses are added up one by one.
const MAX_ADDED: usize = 1 << 20;

impl Block {
    /// The design of `v` blocks of `k` residues, on `a ≤ v` inputs with LDP level `epsilon`.
    ///
    /// # Errors
    /// `a`, `v` or `epsilon` is out of range, or no known difference set has these `v` and `k`.
    pub fn new(a: usize, v: usize, k: usize, epsilon: f64) -> Result<Self> {
        let (a, epsilon) = (check_inputs(a)?, check_epsilon(epsilon)?);
        if !(a..=MAX_ORDER).contains(&v) {
            return Err(Error::Count { name: "v", value: v, low: a, high: MAX_ORDER });
        }
        let set = DifferenceSet::new(v, k).ok_or(Error::NoDifferenceSet { v, k })?;
        Ok(Block { a, epsilon, set: Arc::new(set) })
    }

    /// The difference set.
    pub fn set(&self) -> &DifferenceSet {
        &self.set
    }

    /// Number `v` of blocks, which is the number of outputs.
    pub fn order(&self) -> usize {
        self.set.order()
    }

    /// Size `k` of a block.
    pub fn size(&self) -> usize {
        self.set.size()
    }

    /// `λ`, the number of blocks that contain two given residues.
    pub fn index(&self) -> usize {
        self.set.index()
    }

    /// `ε`.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// `c`, the probability of each block that does not contain the value.
    pub fn unit(&self) -> f64 {
        1.0 / (self.order() as f64 + self.size() as f64 * self.epsilon.exp_m1())
    }

    /// Probability that the reported block contains the true value, `k e^ε/(k e^ε + v − k)`.
    pub fn inclusion(&self) -> f64 {
        let odds = (self.order() - self.size()) as f64 / self.size() as f64;
        1.0 / (1.0 + odds * (-self.epsilon).exp())
    }

    /// With which probabilities the reported block contains the true value, and another one. They are those of
    /// subset selection on `v` inputs.
    pub fn bits(&self) -> BitNoise {
        BitNoise::subset(self.order(), self.size(), self.epsilon)
    }

    /// Whether block `y` contains `x`.
    pub fn holds(&self, y: usize, x: usize) -> bool {
        let v = self.order();
        self.set.contains(if x >= y { x - y } else { x + v - y })
    }

    /// The inputs in block `y`, ascending.
    pub fn members(&self, y: usize) -> Vec<usize> {
        let v = self.order();
        let shifted = |d: &u32| if *d as usize + y < v { *d as usize + y } else { *d as usize + y - v };
        let mut members: Vec<usize> =
            self.set.elements().iter().map(shifted).filter(|x| *x < self.a).collect();
        members.sort_unstable();
        members
    }

    /// How much of the masses of the inputs each block holds, equal blocks together.
    ///
    /// # Method and cost
    /// Equal masses are counted exactly. Others are added up one by one in small designs, where both parts of a block have a
    /// relative error of a few roundings, and by one transform in large ones, `O(v log v)`.
    pub fn shares(&self, masses: &[f64]) -> Vec<BlockShare> {
        let (v, total): (usize, f64) = (self.order(), masses.iter().sum());
        let mut shares: Vec<(f64, f64)> = if masses.iter().all(|mass| *mass == masses[0]) {
            let held = self.set.sum().ahead_counts(&vec![1; masses.len()]);
            let share =
                |held: u64| (held as f64 * masses[0], (masses.len() as u64 - held) as f64 * masses[0]);
            held.into_iter().map(share).collect()
        } else if v * masses.len() <= MAX_ADDED {
            let add = |y: usize, (held, rest): (f64, f64), (x, mass): (usize, &f64)| {
                if self.holds(y, x) { (held + mass, rest) } else { (held, rest + mass) }
            };
            let share =
                |y: usize| masses.iter().enumerate().fold((0.0, 0.0), |sums, pair| add(y, sums, pair));
            (0..v).map(share).collect()
        } else {
            self.set.sum().ahead(masses).into_iter().map(|held| (held, (total - held).max(0.0))).collect()
        };
        shares.sort_unstable_by(|left, right| left.0.total_cmp(&right.0));
        let mut grouped: Vec<BlockShare> = Vec::new();
        for (held, rest) in shares {
            match grouped.last_mut().filter(|last| last.held == held) {
                Some(last) => last.count += 1.0,
                None => grouped.push(BlockShare { held, rest, count: 1.0 }),
            }
        }
        grouped
    }

    fn probability(&self, holds: bool) -> f64 {
        if holds { self.unit() * self.epsilon.exp() } else { self.unit() }
    }
}

impl Channel for Block {
    fn kind(&self) -> &'static str {
        "block"
    }

    fn inputs(&self) -> usize {
        self.a
    }

    fn outputs(&self) -> Option<usize> {
        Some(self.order())
    }

    fn report_bits(&self) -> f64 {
        (self.order() as f64).log2()
    }

    fn output(&self, row: usize) -> Output {
        Output::Index(row)
    }

    fn row_of(&self, output: &Output) -> Result<usize> {
        index_below(output, self.order())
    }

    fn ln_probability(&self, output: &Output, x: usize) -> Result<f64> {
        self.check_input(x)?;
        let own = self.holds(self.row_of(output)?, x);
        Ok(self.unit().ln() + if own { self.epsilon } else { 0.0 })
    }

    fn entry(&self, row: usize, x: usize) -> Result<f64> {
        Ok(self.probability(self.holds(row, x)))
    }

    fn push_forward(&self, p: &[f64]) -> Result<Vec<f64>> {
        self.check_distribution(p)?;
        let (unit, beta) = (self.unit(), self.epsilon.exp_m1());
        let total: f64 = p.iter().sum();
        Ok(self.set.sum().ahead(p).into_iter().map(|held| unit * (total + beta * held)).collect())
    }

    fn sample(&self, x: usize, rng: &mut dyn Rng) -> Result<Output> {
        self.check_input(x)?;
        let residues =
            if rng.random::<f64>() < self.inclusion() { self.set.elements() } else { self.set.others() };
        let d = residues[rng.random_range(0..residues.len())] as usize;
        Ok(Output::Index(if x >= d { x - d } else { x + self.order() - d }))
    }

    fn level_between(&self, x: usize, other: usize) -> Result<f64> {
        Ok(if x == other { 0.0 } else { self.epsilon })
    }

    /// Of two residues some block contains the first and not the second, as many as `k − λ > 0`.
    fn level(&self) -> Result<f64> {
        Ok(self.epsilon)
    }

    fn uniform_level(&self) -> Option<f64> {
        Some(self.epsilon)
    }

    /// On `v` inputs the matrix is square with the determinant `±(βc √(k−λ))^{v−1}`; fewer columns of it are independent too.
    fn rank(&self) -> Result<Rank> {
        Ok(Rank::exact(self.a))
    }

    fn row_space(&self) -> Result<RowSpace> {
        Ok(RowSpace::Full)
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
    fn columns_are_distributions() {
        for (a, v, k) in [(2, 2, 1), (5, 7, 3), (13, 13, 4), (9, 13, 9), (11, 11, 5), (20, 21, 5)] {
            let block = Block::new(a, v, k, 2.0).unwrap();
            for x in 0..a {
                let column = block.column(x).unwrap();
                assert!((column.iter().sum::<f64>() - 1.0).abs() < 1e-14, "{a} {v} {k}");
                let blocks: Vec<usize> = (0..v).filter(|y| block.members(*y).contains(&x)).collect();
                assert_eq!(blocks, (0..v).filter(|y| block.holds(*y, x)).collect::<Vec<_>>());
                assert_eq!(blocks.len(), k);
            }
        }
    }

    #[test]
    fn the_output_of_a_population_is_the_product_with_the_matrix() {
        let block = Block::new(1000, 1093, 364, 1.0).unwrap();
        let p: Vec<f64> = (0..1000).map(|x| f64::from(x) / 499_500.0).collect();
        let found = block.push_forward(&p).unwrap();
        for y in [0, 1, 500, 1092] {
            let expected: f64 = p.iter().enumerate().map(|(x, p_x)| block.entry(y, x).unwrap() * p_x).sum();
            assert!((found[y] / expected - 1.0).abs() < 1e-13, "{y}");
        }
    }

    #[test]
    fn one_residue_is_randomised_response() {
        let (block, grr) = (Block::new(5, 5, 1, 1.5).unwrap(), super::super::Protocol::grr(5, 1.5).unwrap());
        for (y, x) in (0..5).flat_map(|y| (0..5).map(move |x| (y, x))) {
            assert!((block.entry(y, x).unwrap() - grr.entry(y, x).unwrap()).abs() < 1e-15);
        }
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        assert_eq!(
            Block::new(8, 7, 3, 1.0),
            Err(Error::Count { name: "v", value: 7, low: 8, high: MAX_ORDER })
        );
        assert_eq!(Block::new(7, 7, 2, 1.0), Err(Error::NoDifferenceSet { v: 7, k: 2 }));
        assert!(matches!(Block::new(7, 7, 3, 0.0), Err(Error::OutOfRange { name: "epsilon", .. })));
    }
}
