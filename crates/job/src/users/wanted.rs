//! What is wanted of a collection: a utility or a small error.

use serde::{Serialize, Serializer};
use sottovoce::Metric;
use sottovoce::estimate::Estimator;

use crate::contract::Name;
use crate::error::{Error, Result};
use crate::expected_error::ExpectedError;
use crate::quantity::Quantity;

/// What is wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    /// At least this utility.
    Utility(Target),
    /// At most this error.
    Accuracy(ExpectedError),
}

impl From<Target> for Wanted {
    fn from(target: Target) -> Self {
        Wanted::Utility(target)
    }
}

impl Wanted {
    /// What is to reach the wanted value.
    pub fn quantity(self) -> Quantity {
        match self {
            Wanted::Utility(target) => Quantity::Metric(target.metric()),
            Wanted::Accuracy(error) => Quantity::Error(error.measure.distance),
        }
    }

    /// The wanted value.
    pub fn value(self) -> f64 {
        match self {
            Wanted::Utility(target) => target.value(),
            Wanted::Accuracy(error) => error.most,
        }
    }

    pub(crate) fn check(self) -> Result<()> {
        match self {
            Wanted::Utility(target) => target.check(),
            Wanted::Accuracy(error) => error.check(),
        }
    }
}

/// A utility to reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// Digits of each frequency in base e: `U^digit`.
    Digits(f64),
    /// Decimal digits of each frequency: `U^digit / ln 10`.
    DecimalDigits(f64),
    /// The share of what the true values tell about `P`: `U^distr`.
    DistributionUtility(f64),
}

impl Target {
    /// The metric that is to reach the target.
    pub fn metric(self) -> Metric {
        match self {
            Target::Digits(_) | Target::DecimalDigits(_) => Metric::DigitUtility,
            Target::DistributionUtility(_) => Metric::DistributionUtility,
        }
    }

    /// The value that the metric is to reach.
    pub fn value(self) -> f64 {
        match self {
            Target::Digits(value) | Target::DistributionUtility(value) => value,
            Target::DecimalDigits(digits) => digits * std::f64::consts::LN_10,
        }
    }

    fn check(self) -> Result<()> {
        let (name, value, most, allowed) = match self {
            Target::Digits(value) => ("digits", value, f64::MAX, "above 0 and finite"),
            Target::DecimalDigits(value) => ("decimal_digits", value, f64::MAX, "above 0 and finite"),
            Target::DistributionUtility(value) => ("u_distr", value, 1.0, "above 0 and at most 1"),
        };
        if !(value > 0.0 && value <= most) {
            return Err(Error::Setting { name, value: value.to_string(), allowed });
        }
        Ok(())
    }
}

/// The fields of a request that say what is wanted. The first four exclude each other; the last two belong to `accuracy`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WantedFields<'a> {
    pub digits: Option<f64>,
    pub decimal_digits: Option<f64>,
    pub u_distr: Option<f64>,
    pub accuracy: Option<f64>,
    pub distance: Option<&'a str>,
    pub estimator: Option<&'a str>,
}

impl WantedFields<'_> {
    /// What is wanted, if anything is.
    pub(crate) fn wanted(&self) -> Result<Option<Wanted>> {
        self.check_error()?;
        let accuracy = |most| ExpectedError::named(self.distance, self.estimator, most).map(Wanted::Accuracy);
        let given = [
            ("digits", self.digits.map(|value| Ok(Target::Digits(value).into()))),
            ("decimal_digits", self.decimal_digits.map(|value| Ok(Target::DecimalDigits(value).into()))),
            ("u_distr", self.u_distr.map(|value| Ok(Target::DistributionUtility(value).into()))),
            ("accuracy", self.accuracy.map(accuracy)),
        ];
        let mut given = given.into_iter().filter_map(|(name, wanted)| Some((name, wanted?)));
        let Some((first, wanted)) = given.next() else { return Ok(None) };
        if let Some((second, _)) = given.next() {
            return Err(Error::Together { first, second });
        }
        let wanted: Wanted = wanted?;
        wanted.check()?;
        Ok(Some(wanted))
    }

    /// How an error is measured can only be said of an error.
    fn check_error(&self) -> Result<()> {
        let measure = [("distance", self.distance), ("estimator", self.estimator)];
        match measure.into_iter().find(|(_, name)| name.is_some()) {
            Some((field, _)) if self.accuracy.is_none() => Err(Error::Needs { field, needed: "accuracy" }),
            _ => Ok(()),
        }
    }
}

/// What is wanted, as JSON has it.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Wanted")]
pub(crate) struct TargetFields {
    /// The metric, or the error.
    metric: Name<Quantity>,
    /// Its wanted value.
    value: f64,
    /// The estimator, for an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimator: Option<Name<Estimator>>,
}

impl From<&Wanted> for TargetFields {
    fn from(wanted: &Wanted) -> Self {
        let estimator = match wanted {
            Wanted::Accuracy(error) => Some(Name(error.measure.estimator)),
            Wanted::Utility(_) => None,
        };
        TargetFields { metric: Name(wanted.quantity()), value: wanted.value(), estimator }
    }
}

pub(super) fn target_fields<S: Serializer>(wanted: &Wanted, serializer: S) -> Result<S::Ok, S::Error> {
    TargetFields::from(wanted).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_wanted_at_a_time() {
        let none = WantedFields::default();
        assert_eq!(none.wanted().unwrap(), None);
        let both = WantedFields { digits: Some(1.0), u_distr: Some(0.5), ..none };
        assert!(matches!(both.wanted(), Err(Error::Together { first: "digits", second: "u_distr" })));
        let stray = WantedFields { digits: Some(1.0), distance: Some("l1"), ..none };
        assert!(matches!(stray.wanted(), Err(Error::Needs { field: "distance", needed: "accuracy" })));
    }

    #[test]
    fn impossible_targets_are_refused() {
        for target in [
            Target::Digits(-1.0),
            Target::Digits(f64::NAN),
            Target::DecimalDigits(f64::INFINITY),
            Target::DistributionUtility(0.0),
            Target::DistributionUtility(1.5),
        ] {
            assert!(matches!(target.check(), Err(Error::Setting { .. })), "{target:?}");
        }
    }
}
