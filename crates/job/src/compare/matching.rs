//! The noise at which a protocol reaches a wanted value of a metric.
//!
//! With more `epsilon` (or `reveal`) privacy falls and utility rises, so a bracket around the wanted value is opened from a first guess and closed by
//! false position in the logarithm of the parameter.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sottovoce::accuracy::Distance;
use sottovoce::metric::Absence;
use sottovoce::{Evaluation, Metric};
use thiserror::Error as ThisError;

use crate::contract::{Name, by_name};
use crate::error::{Error, Result};
use crate::quantity::{Quantity, QuantityName, TYPICAL_ERROR};
use crate::share::share;
use crate::spec::{Parameter, shown};

/// The value that a metric or an error is to have for all protocols.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Match {
    /// `s_mu`, `s_wc` or `f_mu`; with a number of users also `u_digit` or an error: `rms`, `l1`, `l2`, `l2sq` or `max`.
    #[schemars(with = "QuantityName")]
    pub metric: String,
    /// The value.
    pub value: f64,
}

impl FromStr for Match {
    type Err = Error;

    /// Reads `METRIC=VALUE`. A value that is a share may be a percentage.
    fn from_str(text: &str) -> Result<Self> {
        let allowed = "METRIC=VALUE, such as s_mu=0.9 or rms=1%";
        let wrong = || Error::Setting { name: "match", value: shown(text), allowed };
        let (name, value) = text.split_once('=').ok_or_else(wrong)?;
        let value = match Quantity::named(name)?.is_share() {
            true => share(value)?,
            false => value.trim().parse().map_err(|_| wrong())?,
        };
        Ok(Match { metric: name.trim().to_owned(), value })
    }
}

impl Match {
    /// What is wanted, if it can be.
    pub(super) fn check(&self, with_users: bool) -> Result<Wanted> {
        let (quantity, value) = (Quantity::named(&self.metric)?, self.value);
        if !MATCHED.contains(&quantity) {
            let allowed = "s_mu, s_wc, f_mu, u_digit or an error: rms, l1, l2, l2sq or max";
            return Err(Error::Setting { name: "match", value: quantity.name().into(), allowed });
        }
        if quantity.needs_users() && !with_users {
            return Err(Error::MissingUsers { metrics: vec![quantity.name()] });
        }
        let (fits, allowed) = match quantity.is_share() {
            true => (value > 0.0 && value < 1.0, "above 0 and below 1, as shares are"),
            false => (value.is_finite(), "a finite number"),
        };
        if !fits {
            return Err(Error::Setting { name: quantity.name(), value: value.to_string(), allowed });
        }
        Ok(Wanted { quantity, value })
    }
}

/// A wanted value of a metric or an error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Matched")]
pub struct Wanted {
    /// The metric, or the error.
    #[serde(rename = "metric", serialize_with = "by_name")]
    #[schemars(with = "Name<Quantity>")]
    pub quantity: Quantity,
    /// Its value.
    pub value: f64,
}

/// What can be wanted.
pub const MATCHED: [Quantity; 9] = [
    Quantity::Metric(Metric::AveragePrivacy),
    Quantity::Metric(Metric::WorstCasePrivacy),
    Quantity::Metric(Metric::EffectiveParticipation),
    Quantity::Metric(Metric::DigitUtility),
    TYPICAL_ERROR,
    Quantity::Error(Distance::L1),
    Quantity::Error(Distance::L2),
    Quantity::Error(Distance::SquaredL2),
    Quantity::Error(Distance::Max),
];

impl Wanted {
    /// Whether it grows with the parameter: utility does, privacy and errors fall.
    fn rises(&self) -> bool {
        let falling = [Metric::AveragePrivacy, Metric::WorstCasePrivacy].map(Quantity::Metric);
        !falling.contains(&self.quantity) && !matches!(self.quantity, Quantity::Error(_))
    }
}

/// Why a protocol cannot be matched.
#[derive(Clone, Debug, ThisError, PartialEq)]
#[non_exhaustive]
pub enum Mismatch {
    /// It has no parameter to solve for.
    #[error("it has no epsilon to solve for")]
    Fixed,
    /// The metric does not get there.
    #[error("its {} does not reach {wanted}: it is {found:.6} at {} = {at}", quantity.symbol(), parameter.name())]
    OutOfReach {
        /// The metric, or the error.
        quantity: Quantity,
        /// The wanted value.
        wanted: f64,
        /// The nearest value.
        found: f64,
        /// The parameter.
        parameter: Parameter,
        /// Its value there.
        at: f64,
    },
    /// The metric has no value.
    #[error("{0}")]
    Absent(Absence),
}

/// Steps after which the best found is given.
const STEPS: usize = 80;

/// The wanted value is met to this, or to a tenth of the error.
const CLOSE: f64 = 1e-10;

/// The value of `parameter` at which `metric` is as wanted.
pub(super) fn solve(
    wanted: Wanted,
    parameter: Parameter,
    metric: &dyn Fn(f64) -> Result<Evaluation, Absence>,
) -> Result<f64, Mismatch> {
    let (least, most) = if parameter == Parameter::Reveal { (1e-9, 1.0) } else { (1e-6, 60.0) };
    let excess = |at: f64| metric(at).map(|e| (e.value - wanted.value, (0.1 * e.error).max(CLOSE)));
    let start = if parameter == Parameter::Reveal { 0.5 } else { 1.0 };
    let (first, close) = excess(start).map_err(Mismatch::Absent)?;
    if first.abs() <= close {
        return Ok(start);
    }
    let up = (first < 0.0) == wanted.rises();
    let (mut near, mut far) = ((start, first), (start, first));
    let mut factor = 1.5f64;
    while (far.1 > 0.0) == (first > 0.0) {
        let at = (if up { far.0 * factor } else { far.0 / factor }).clamp(least, most);
        if at == far.0 {
            let found = far.1 + wanted.value;
            return Err(Mismatch::OutOfReach {
                quantity: wanted.quantity,
                wanted: wanted.value,
                found,
                parameter,
                at,
            });
        }
        near = far;
        far = (at, excess(at).map_err(Mismatch::Absent)?.0);
        factor *= 1.5;
    }
    close_in(near, far, &excess)
}

/// Illinois' false position in the logarithm, between two ends of different sign.
fn close_in(
    mut left: (f64, f64),
    mut right: (f64, f64),
    excess: &dyn Fn(f64) -> Result<(f64, f64), Absence>,
) -> Result<f64, Mismatch> {
    for step in 0..STEPS {
        let share = if step > 30 { 0.5 } else { left.1 / (left.1 - right.1) };
        let at = (left.0.ln() + share * (right.0.ln() - left.0.ln())).exp();
        let (value, close) = excess(at).map_err(Mismatch::Absent)?;
        if value.abs() <= close || (right.0 - left.0).abs() <= 4.0 * f64::EPSILON * at {
            return Ok(at);
        }
        if (value > 0.0) == (right.1 > 0.0) {
            left.1 *= 0.5;
            right = (at, value);
        } else {
            left = std::mem::replace(&mut right, (at, value));
        }
    }
    Ok(right.0)
}

#[cfg(test)]
mod tests {
    use sottovoce::Method;

    use super::*;

    fn solved(metric: Metric, value: f64, of: impl Fn(f64) -> f64) -> Result<f64, Mismatch> {
        let wanted = Wanted { quantity: metric.into(), value };
        solve(wanted, Parameter::Epsilon, &|at| Ok(Evaluation::new(of(at), 0.0, Method::ClosedForm)))
    }

    #[test]
    fn a_falling_and_a_rising_metric_are_met() {
        for epsilon in [1e-4f64, 0.3, 1.0, 2.0, 17.0] {
            let at = solved(Metric::WorstCasePrivacy, (-epsilon).exp(), |e| (-e).exp()).unwrap();
            assert!(((-at).exp() - (-epsilon).exp()).abs() < 2e-10, "{epsilon} {at}");
            let target = epsilon / (1.0 + epsilon);
            let at = solved(Metric::EffectiveParticipation, target, |e| e / (1.0 + e)).unwrap();
            assert!((at / epsilon - 1.0).abs() < 1e-4, "{epsilon} {at}");
        }
    }

    #[test]
    fn what_is_out_of_reach_says_how_far_it_gets() {
        let stuck = solved(Metric::AveragePrivacy, 0.4, |e| 0.5 + 0.5 * (-e).exp());
        assert!(
            matches!(stuck, Err(Mismatch::OutOfReach { found, .. }) if (found - 0.5).abs() < 1e-9),
            "{stuck:?}"
        );
    }
}
