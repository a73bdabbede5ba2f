//! Unary encoding: one noisy bit for each possible value (basic RAPPOR, OUE, BLH and all settings between).

use rand::{Rng, RngExt};

use super::rank::{Rank, RowSpace};
use super::{BitNoise, Channel, check_epsilon, check_inputs};
use crate::model::error::{Error, Result, in_range};
use crate::model::output::Output;

/// `UE^{a,κ,λ}`: reports a set that contains `x` with probability `κ` and each other value with probability `λ`, all
/// independent.
#[derive(Clone, Debug, PartialEq)]
pub struct UnaryEncoding {
    kind: &'static str,
    a: usize,
    level: f64,
    bits: BitNoise,
}

impl UnaryEncoding {
    /// Unary encoding with the true bit set with probability `kappa` and each other bit with probability `lambda`.
    ///
    /// # Errors
    /// `a` is out of range, or not `0 ≤ lambda ≤ kappa ≤ 1`.
    pub fn new(a: usize, kappa: f64, lambda: f64) -> Result<Self> {
        let probability = |p: f64| (0.0..=1.0).contains(&p);
        in_range("kappa", kappa, probability, "a probability between 0 and 1")?;
        in_range("lambda", lambda, probability, "a probability between 0 and 1")?;
        if kappa < lambda {
            return Err(Error::KappaBelowLambda { kappa, lambda });
        }
        let bits = BitNoise::new(kappa, lambda);
        Ok(UnaryEncoding { kind: "ue", a: check_inputs(a)?, level: bits.level(), bits })
    }

    /// See [`BitNoise::rappor`].
    ///
    /// # Errors
    /// `a` or `epsilon` is out of range.
    pub fn rappor(a: usize, epsilon: f64) -> Result<Self> {
        let level = check_epsilon(epsilon)?;
        Ok(UnaryEncoding { kind: "rappor", a: check_inputs(a)?, level, bits: BitNoise::rappor(level) })
    }

    /// See [`BitNoise::oue`].
    ///
    /// # Errors
    /// `a` or `epsilon` is out of range.
    pub fn oue(a: usize, epsilon: f64) -> Result<Self> {
        let level = check_epsilon(epsilon)?;
        Ok(UnaryEncoding { kind: "oue", a: check_inputs(a)?, level, bits: BitNoise::oue(level) })
    }

    /// Binary local hash in its unary form: [`BitNoise::local_hash`] with two buckets.
    ///
    /// # Errors
    /// `a` or `epsilon` is out of range.
    pub fn blh(a: usize, epsilon: f64) -> Result<Self> {
        let level = check_epsilon(epsilon)?;
        Ok(UnaryEncoding { kind: "blh", a: check_inputs(a)?, level, bits: BitNoise::local_hash(2, level) })
    }

    /// The unary encoding that has the same likelihood vectors as local hash into `g` buckets.
    pub(super) fn of_local_hash(a: usize, g: usize, epsilon: f64) -> Self {
        let level = if g == 1 { 0.0 } else { epsilon };
        UnaryEncoding { kind: "ue", a, level, bits: BitNoise::local_hash(g, epsilon) }
    }

    /// The noise on each bit.
    pub fn bits(&self) -> &BitNoise {
        &self.bits
    }

    fn members<'o>(&self, output: &'o Output) -> Result<&'o [usize]> {
        match output {
            Output::Subset(members) if is_subset(members, self.a) => Ok(members),
            _ => Err(Error::NoSuchOutput {
                output: output.to_string(),
                reason: "an output is the ascending list of the inputs whose bit is set",
            }),
        }
    }

    /// `ln Q_{y|x}` for an output with `size` bits set.
    fn ln_pattern(&self, size: usize, contains_x: bool) -> f64 {
        let times = |count: usize, p: f64| if count == 0 { 0.0 } else { count as f64 * p.ln() };
        let (others_set, own) =
            if contains_x { (size - 1, self.bits.kappa) } else { (size, self.bits.kappa_complement) };
        let others_clear = self.a - 1 - others_set;
        own.ln() + times(others_set, self.bits.lambda) + times(others_clear, self.bits.lambda_complement)
    }
}

/// Whether `members` is strictly ascending and below `a`.
pub(super) fn is_subset(members: &[usize], a: usize) -> bool {
    members.windows(2).all(|w| w[0] < w[1]) && members.last().is_none_or(|&last| last < a)
}

impl Channel for UnaryEncoding {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn inputs(&self) -> usize {
        self.a
    }

    fn outputs(&self) -> Option<usize> {
        1usize.checked_shl(self.a.try_into().ok()?)
    }

    fn report_bits(&self) -> f64 {
        self.a as f64
    }

    fn output(&self, row: usize) -> Output {
        Output::Subset((0..self.a).filter(|x| row >> x & 1 == 1).collect())
    }

    fn row_of(&self, output: &Output) -> Result<usize> {
        self.countable_outputs(1)?;
        Ok(self.members(output)?.iter().map(|x| 1usize << x).sum())
    }

    fn ln_probability(&self, output: &Output, x: usize) -> Result<f64> {
        self.check_input(x)?;
        let members = self.members(output)?;
        Ok(self.ln_pattern(members.len(), members.binary_search(&x).is_ok()))
    }

    fn entry(&self, row: usize, x: usize) -> Result<f64> {
        Ok(self.ln_pattern(row.count_ones() as usize, row >> x & 1 == 1).exp())
    }

    fn row_into(&self, row: usize, values: &mut [f64]) -> Result<()> {
        let size = row.count_ones() as usize;
        let member = if size > 0 { self.ln_pattern(size, true).exp() } else { 0.0 };
        let other = if size < self.a { self.ln_pattern(size, false).exp() } else { 0.0 };
        for (x, value) in values.iter_mut().enumerate() {
            *value = if row >> x & 1 == 1 { member } else { other };
        }
        Ok(())
    }

    fn sample(&self, x: usize, rng: &mut dyn Rng) -> Result<Output> {
        self.check_input(x)?;
        let mut members: Vec<usize> =
            (0..self.a).filter(|_| rng.random::<f64>() < self.bits.lambda).collect();
        let own = rng.random::<f64>() < self.bits.kappa;
        match (members.binary_search(&x), own) {
            (Ok(at), false) => drop(members.remove(at)),
            (Err(at), true) => members.insert(at, x),
            _ => {}
        }
        Ok(Output::Subset(members))
    }

    fn level_between(&self, x: usize, other: usize) -> Result<f64> {
        Ok(if x == other { 0.0 } else { self.level })
    }

    fn level(&self) -> Result<f64> {
        Ok(self.level)
    }

    fn uniform_level(&self) -> Option<f64> {
        Some(self.level)
    }

    fn rank(&self) -> Result<Rank> {
        Ok(Rank::exact(if self.level > 0.0 { self.a } else { 1 }))
    }

    fn row_space(&self) -> Result<RowSpace> {
        Ok(if self.level > 0.0 { RowSpace::Full } else { RowSpace::constant(self.a) })
    }

    fn share_output(&self, x: usize, other: usize) -> Result<bool> {
        // With κ = 1 and λ = 0 the report is the true value alone; otherwise the empty set (κ < 1) or the full set
        // (λ > 0) is possible for all inputs.
        Ok(x == other || self.bits.kappa_complement > 0.0 || self.bits.lambda > 0.0)
    }

    fn classes(&self) -> Result<usize> {
        Ok(if self.share_output(0, 1)? { 1 } else { self.a })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_distributions_also_at_the_edges() {
        for (kappa, lambda) in [(0.7, 0.2), (1.0, 0.0), (1.0, 0.5), (0.5, 0.0), (0.0, 0.0), (1.0, 1.0)] {
            let ue = UnaryEncoding::new(4, kappa, lambda).unwrap();
            let matrix = ue.to_matrix().unwrap();
            for x in 0..4 {
                let sum: f64 = ue.column(x).unwrap().iter().sum();
                assert!((sum - 1.0).abs() < 1e-14, "{ue:?}: {sum}");
            }
            let (level, dense) = (ue.level().unwrap(), matrix.level().unwrap());
            assert!(level == dense || (level - dense).abs() < 1e-14, "{ue:?}: {level} {dense}");
            assert_eq!(ue.classes().unwrap(), matrix.classes().unwrap(), "{ue:?}");
            assert_eq!(ue.rank().unwrap().value, matrix.rank().unwrap().value, "{ue:?}");
        }
    }

    #[test]
    fn ten_thousand_inputs_are_an_ordinary_value() {
        let ue = UnaryEncoding::oue(10_000, 1.0).unwrap();
        assert_eq!(ue.outputs(), None);
        assert!(ue.ln_probability(&Output::Subset(vec![3, 77]), 3).unwrap().is_finite());
        assert!(matches!(ue.to_matrix(), Err(Error::TooLarge { .. })));
    }

    #[test]
    fn kappa_below_lambda_is_refused() {
        assert_eq!(UnaryEncoding::new(3, 0.2, 0.3), Err(Error::KappaBelowLambda { kappa: 0.2, lambda: 0.3 }));
        assert!(UnaryEncoding::new(3, f64::NAN, 0.3).is_err());
    }
}
