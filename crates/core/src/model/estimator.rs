//! The estimators of frequencies, by name.

use std::str::FromStr;

use super::error::Error;

/// The ways to estimate frequencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Estimator {
    /// The mean of the reports' votes.
    Linear,
    /// Base-Pos: negative estimates become 0.
    Clip,
    /// Norm: one number is added to all, for a sum of 1.
    Norm,
    /// Norm-Mul: clipped, then divided by the sum.
    ClipAndNormalise,
    /// Norm-Sub: the nearest distribution.
    NormSub,
    /// Base-Cut: what is not significant becomes 0.
    BaseCut,
    /// The distribution that makes the reports most likely.
    MaximumLikelihood,
    /// The mean of what is believed after the reports. On average over the prior, no estimate has a smaller squared error.
    PosteriorMean,
}

impl Estimator {
    /// All estimators, in the order of the table.
    pub const ALL: [Estimator; 8] = [
        Estimator::Linear,
        Estimator::Clip,
        Estimator::Norm,
        Estimator::ClipAndNormalise,
        Estimator::NormSub,
        Estimator::BaseCut,
        Estimator::MaximumLikelihood,
        Estimator::PosteriorMean,
    ];

    /// The name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Estimator::Linear => "linear",
            Estimator::Clip => "clip",
            Estimator::Norm => "norm",
            Estimator::ClipAndNormalise => "norm_mul",
            Estimator::NormSub => "norm_sub",
            Estimator::BaseCut => "base_cut",
            Estimator::MaximumLikelihood => "ml",
            Estimator::PosteriorMean => "posterior_mean",
        }
    }

    /// What it does, in a few words.
    pub fn meaning(self) -> &'static str {
        match self {
            Estimator::Linear => "unbiased; may be negative",
            Estimator::Clip => "negative estimates become 0; the sum is too large on average",
            Estimator::Norm => "one number added to all, so that they sum to 1; may be negative",
            Estimator::ClipAndNormalise => "clipped, then divided by the sum",
            Estimator::NormSub => "the distribution nearest to the linear estimate",
            Estimator::BaseCut => "what is not significantly above 0 becomes 0",
            Estimator::MaximumLikelihood => "the distribution that makes the reports most likely",
            Estimator::PosteriorMean => "the mean of what is believed after the reports",
        }
    }
}

impl FromStr for Estimator {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let named = Estimator::ALL.into_iter().find(|estimator| estimator.name() == name);
        named.ok_or_else(|| Error::UnknownName { what: "estimator", name: name.into() })
    }
}
