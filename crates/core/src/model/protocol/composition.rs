//! Composition: one protocol after another, `R ∘ Q`.

use std::sync::OnceLock;

use rand::Rng;

use super::rank::{Rank, RowSpace};
use super::{Channel, Matrix, Protocol};
use crate::model::error::{Error, Result};
use crate::model::output::Output;

/// `R ∘ Q`: the report of `Q` is the input of `R`. The matrix is the product `R · Q`.
///
/// The output of a step enters the next step by its row number. The composed matrix is made when it is first needed.
#[derive(Clone, Debug)]
pub struct Composition {
    steps: Vec<Protocol>,
    composed: OnceLock<Result<Matrix>>,
    merged: OnceLock<Result<Matrix>>,
}

impl Composition {
    /// The steps in the order in which they are applied.
    ///
    /// # Errors
    /// There is no step, or a step does not take the outputs of the one before.
    pub fn new(steps: Vec<Protocol>) -> Result<Self> {
        if steps.is_empty() {
            return Err(Error::Empty { name: "steps" });
        }
        for (position, pair) in steps.windows(2).enumerate() {
            let (expected, found) = (pair[0].countable_outputs(1)?, pair[1].inputs());
            if expected != found {
                return Err(Error::Mismatch { role: "step", position: position + 1, found, expected });
            }
        }
        Ok(Composition { steps, composed: OnceLock::new(), merged: OnceLock::new() })
    }

    /// The steps.
    pub fn steps(&self) -> &[Protocol] {
        &self.steps
    }

    /// The composed matrix.
    ///
    /// # Errors
    /// It would be too large.
    pub fn composed(&self) -> Result<&Matrix> {
        let compose = || {
            let first = self.steps[0].to_matrix()?;
            let composed = self.steps[1..].iter().try_fold(first, |matrix, step| matrix.then(&**step))?;
            Ok(composed.with_rounding(self.rounding()))
        };
        self.composed.get_or_init(compose).as_ref().map_err(Clone::clone)
    }

    /// The composed matrix or, where that would be too large, the one in which proportional rows of the last step are merged: no metric is another.
    ///
    /// Ten reports of randomised response about one remembered answer have `8^10` outputs, but of those only how often each value was reported matters: 19 448 rows.
    ///
    /// # Errors
    /// Also the merged matrix would be too large.
    pub fn directions(&self) -> Result<&Matrix> {
        let merge = || match self.before_last() {
            Some(before) => {
                let merged = before.to_matrix()?.then(&self.last().canonical_matrix()?)?;
                Ok(merged.with_rounding(self.rounding()))
            }
            None => self.last().canonical_matrix(),
        };
        match self.composed() {
            Ok(composed) => Ok(composed),
            Err(_) => self.merged.get_or_init(merge).as_ref().map_err(Clone::clone),
        }
    }

    /// All steps but the last; `None` if there is only one.
    pub fn before_last(&self) -> Option<Protocol> {
        let (_, before) = self.steps.split_last()?;
        match before {
            [] => None,
            [only] => Some(only.clone()),
            // Unwrap safety: these steps fit one another in the whole composition.
            several => Some(Protocol::Composition(Composition::new(several.to_vec()).unwrap())),
        }
    }

    /// The last step, whose outputs are those of the whole.
    pub fn last(&self) -> &Protocol {
        // Unwrap safety: `new` has refused an empty list.
        self.steps.last().unwrap()
    }

    /// Whether each step is faithful by its structure, so that the composition is.
    fn steps_are_faithful(&self) -> Result<bool> {
        for step in &self.steps {
            if !matches!(step.row_space()?, RowSpace::Full) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl PartialEq for Composition {
    fn eq(&self, other: &Self) -> bool {
        self.steps == other.steps
    }
}

impl Channel for Composition {
    fn kind(&self) -> &'static str {
        "composition"
    }

    fn inputs(&self) -> usize {
        self.steps[0].inputs()
    }

    fn outputs(&self) -> Option<usize> {
        self.last().outputs()
    }

    fn report_bits(&self) -> f64 {
        self.last().report_bits()
    }

    fn output(&self, row: usize) -> Output {
        self.last().output(row)
    }

    fn row_of(&self, output: &Output) -> Result<usize> {
        self.last().row_of(output)
    }

    fn entry(&self, row: usize, x: usize) -> Result<f64> {
        self.composed()?.entry(row, x)
    }

    fn row_into(&self, row: usize, values: &mut [f64]) -> Result<()> {
        self.composed()?.row_into(row, values)
    }

    fn push_forward(&self, p: &[f64]) -> Result<Vec<f64>> {
        self.steps.iter().try_fold(p.to_vec(), |p, step| step.push_forward(&p))
    }

    fn sample(&self, x: usize, rng: &mut dyn Rng) -> Result<Output> {
        let mut output = self.steps[0].sample(x, rng)?;
        for pair in self.steps.windows(2) {
            output = pair[1].sample(pair[0].row_of(&output)?, rng)?;
        }
        Ok(output)
    }

    fn level_between(&self, x: usize, other: usize) -> Result<f64> {
        self.directions()?.level_between(x, other)
    }

    fn level(&self) -> Result<f64> {
        if let [only] = &self.steps[..] { only.level() } else { self.directions()?.level() }
    }

    fn level_error(&self) -> Result<f64> {
        if let [only] = &self.steps[..] { only.level_error() } else { self.directions()?.level_error() }
    }

    fn uniform_level(&self) -> Option<f64> {
        if let [only] = &self.steps[..] { only.uniform_level() } else { None }
    }

    fn rank(&self) -> Result<Rank> {
        Ok(self.row_space()?.rank(self.inputs()))
    }

    fn row_space(&self) -> Result<RowSpace> {
        if self.steps_are_faithful()? { Ok(RowSpace::Full) } else { self.directions()?.row_space() }
    }

    fn share_output(&self, x: usize, other: usize) -> Result<bool> {
        self.directions()?.share_output(x, other)
    }

    /// The errors of the steps, and those of the sums over what each step but the first takes, whose terms have one sign.
    fn rounding(&self) -> f64 {
        let sums = self.steps[1..].iter().map(|step| f64::EPSILON * (step.inputs() + 1) as f64);
        self.steps.iter().map(|step| step.rounding()).chain(sums).sum()
    }

    fn classes(&self) -> Result<usize> {
        if let [only] = &self.steps[..] { only.classes() } else { self.directions()?.classes() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_two_outputs_leaves_rank_two() {
        let merge = Protocol::deterministic(vec![0, 0, 1]).unwrap();
        let composition = Composition::new(vec![Protocol::grr(3, 1.0).unwrap(), merge]).unwrap();
        assert_eq!(composition.rank().unwrap().value, 2);
        assert!((composition.level().unwrap() - 1.0).abs() < 1e-14);
    }

    /// `ln((p t^k + (a−1) q)/(q t^k + p + (a−2) q))` with `t = e^ε'`: all `k` reports name the value that is remembered as the true one.
    #[test]
    fn many_reports_about_one_remembered_answer_have_a_level() {
        let (a, k) = (8.0, 10);
        let reports = Protocol::product(vec![Protocol::grr(8, 2.0).unwrap(); k]).unwrap();
        let memoised = Composition::new(vec![Protocol::grr(8, 1.0).unwrap(), reports]).unwrap();
        assert!(memoised.composed().is_err());
        let (p, q) = (1f64.exp() / (1f64.exp() + a - 1.0), 1.0 / (1f64.exp() + a - 1.0));
        let t = (2.0 * k as f64).exp();
        let expected = ((p * t + (a - 1.0) * q) / (q * t + p + (a - 2.0) * q)).ln();
        assert!((memoised.level().unwrap() - expected).abs() < 1e-12);
        assert_eq!(memoised.classes().unwrap(), 1);
    }

    #[test]
    fn a_step_that_does_not_fit_is_refused() {
        let steps = vec![Protocol::grr(3, 1.0).unwrap(), Protocol::grr(4, 1.0).unwrap()];
        let refused = Composition::new(steps).unwrap_err();
        assert_eq!(refused, Error::Mismatch { role: "step", position: 1, found: 4, expected: 3 });
    }
}
