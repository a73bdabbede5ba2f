//! What is asked of a posterior, in the words of the protocol's labels: `share(tea, coffee)`, `mean()`, `tea - coffee`, `top(3)`.
//!
//! [`Expression`] is a valid question; [`Asked`] is its answer. The numbers are those of [`sottovoce::posterior::Functional`].

mod bins;
mod expression;
mod fields;

pub use bins::bin;
pub use expression::{Expression, ExpressionProblem, Question, Unit, WithinBins};
pub(crate) use fields::{AskedFields, SummaryFields, asked};

use sottovoce::Evaluation;
use sottovoce::posterior::{Contrast, FunctionalSummary, Posterior};

use crate::error::Result;

/// The answer to an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// What was asked.
    pub expression: Expression,
    /// The number; none for `top` and `largest`, which are not about one number.
    pub summary: Option<FunctionalSummary>,
    /// For `rank`, the probability of each rank from 1; for `top` and `largest`, of each value to be among the most common ones.
    pub probabilities: Vec<Evaluation>,
    /// The same number of another collection, and how this one differs.
    pub against: Option<Against>,
}

/// A number of another collection, and how it differs from that of this one.
#[derive(Clone, Debug, PartialEq)]
pub struct Against {
    /// The number of the other collection.
    pub summary: FunctionalSummary,
    /// This one minus the other.
    pub difference: FunctionalSummary,
    /// This one over the other, for shares.
    pub ratio: Option<FunctionalSummary>,
}

impl Expression {
    /// The answer, from a posterior, and from that of another collection if it is to be compared with one.
    ///
    /// # Errors
    /// There are too few draws.
    pub fn answer(
        &self,
        posterior: &Posterior,
        against: Option<&Posterior>,
        probabilities: &[f64],
    ) -> Result<Asked> {
        let (summary, masses) = match &self.question {
            Question::Number(functional) => (Some(posterior.functional(functional, probabilities)?), vec![]),
            Question::Rank(x, functional) => {
                (Some(posterior.functional(functional, probabilities)?), posterior.ranks(*x)?)
            }
            Question::Top(k) => (None, posterior.top(*k)?),
        };
        let against =
            against.map(|other| self.against(posterior, other, probabilities)).transpose()?.flatten();
        Ok(Asked { expression: self.clone(), summary, probabilities: masses, against })
    }

    fn against(
        &self,
        posterior: &Posterior,
        other: &Posterior,
        probabilities: &[f64],
    ) -> Result<Option<Against>> {
        let Question::Number(functional) = &self.question else { return Ok(None) };
        let contrast = |how| posterior.contrast(other, functional, how, probabilities);
        let ratio = (self.unit == Unit::Share).then(|| contrast(Contrast::Ratio)).transpose()?;
        Ok(Some(Against {
            summary: other.functional(functional, probabilities)?,
            difference: contrast(Contrast::Difference)?,
            ratio,
        }))
    }
}
