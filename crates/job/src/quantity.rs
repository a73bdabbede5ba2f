//! What protocols are judged by: metrics, and how far estimated frequencies are off.

use sottovoce::Metric;
use sottovoce::accuracy::Distance;
use sottovoce::metric::Answer;

use crate::error::Result;
use crate::metrics::metric;

/// Something that a protocol has more or less of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A metric.
    Metric(Metric),
    /// The expected error of the estimated frequencies.
    Error(Distance),
}

/// How far a share is typically off.
pub const TYPICAL_ERROR: Quantity = Quantity::Error(Distance::RootMeanSquare);

/// What the name of an error begins with, for programs.
const ERROR: &str = "accuracy_";

impl Quantity {
    /// The quantity of that name: a metric, or a distance with or without `accuracy_` before it.
    ///
    /// # Errors
    /// As for [`metric`].
    pub fn named(name: &str) -> Result<Self> {
        let bare = name.trim();
        let distance = bare.strip_prefix(ERROR).unwrap_or(bare).parse::<Distance>().ok();
        distance.map_or_else(|| metric(name).map(Quantity::Metric), |distance| Ok(Quantity::Error(distance)))
    }

    /// The name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Metric(metric) => metric.name(),
            Quantity::Error(Distance::L1) => "accuracy_l1",
            Quantity::Error(Distance::L2) => "accuracy_l2",
            Quantity::Error(Distance::SquaredL2) => "accuracy_l2sq",
            Quantity::Error(Distance::RootMeanSquare) => "accuracy_rms",
            Quantity::Error(Distance::Max) => "accuracy_max",
        }
    }

    /// The name for people.
    pub fn symbol(self) -> &'static str {
        match self {
            Quantity::Metric(metric) => metric.symbol(),
            Quantity::Error(Distance::L1) => "E l1",
            Quantity::Error(Distance::L2) => "E l2",
            Quantity::Error(Distance::SquaredL2) => "E l2²",
            Quantity::Error(Distance::RootMeanSquare) => "typical error",
            Quantity::Error(Distance::Max) => "E max",
        }
    }

    /// Whether it depends on the number of users.
    pub fn needs_users(self) -> bool {
        match self {
            Quantity::Metric(metric) => metric.needs_users(),
            Quantity::Error(_) => true,
        }
    }

    /// Whether more of it is better (1) or less (−1).
    pub fn direction(self) -> Option<f64> {
        use Metric as M;
        match self {
            Quantity::Metric(
                M::WorstCasePrivacy
                | M::AveragePrivacy
                | M::AsymptoticUtility
                | M::EffectiveParticipation
                | M::DistributionUtility
                | M::TallyUtility
                | M::DigitUtility
                | M::AggregatorDistribution,
            ) => Some(1.0),
            Quantity::Metric(M::LocalPrivacyLevel | M::AggregatorPrivate | M::AggregatorIndividual)
            | Quantity::Error(_) => Some(-1.0),
            Quantity::Metric(_) => None,
        }
    }

    /// Whether it is a share, and so between 0 and 1.
    pub fn is_share(self) -> bool {
        !matches!(self, Quantity::Metric(Metric::DigitUtility))
    }
}

impl From<Metric> for Quantity {
    fn from(metric: Metric) -> Self {
        Quantity::Metric(metric)
    }
}

/// A quantity with its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluated {
    /// The quantity.
    pub quantity: Quantity,
    /// The number of users, where it depends on one.
    pub users: Option<u64>,
    /// The value, or why there is none.
    pub answer: Answer,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_names_of_distances() {
        for name in ["rms", "accuracy_rms", " rms "] {
            assert_eq!(Quantity::named(name).unwrap(), TYPICAL_ERROR);
        }
        for distance in Distance::ALL {
            let quantity = Quantity::Error(distance);
            assert_eq!(Quantity::named(quantity.name()).unwrap(), quantity);
        }
        assert_eq!(Quantity::named("s_mu").unwrap(), Metric::AveragePrivacy.into());
        assert!(Quantity::named("accuracy_s_mu").is_err());
    }
}
