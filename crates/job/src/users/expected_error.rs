//! The smallest number of users whose estimated frequencies are off by so little on average.
//!
//! The expected error is the paper's d-accuracy on average over the prior. Its logarithm is a straight line in `ln n` but for small `n`, so the
//! search runs on that.

use sottovoce::Protocol;
use sottovoce::accuracy::{Distance, Place, Settings, accuracy};
use sottovoce::estimate::Estimator;
use sottovoce::information::Progress;
use sottovoce::metric::{Absence, Answer, Sought, Step, Value, Watcher};
use sottovoce::{Evaluation, Prior};

use super::search::{Found, Obstacle, Search, smallest};
use super::{Count, Evaluated, Probes, Quantity};
use crate::error::{Error, Result};

/// Where the first guess is read off.
const FIRST_LOOK: u64 = 10_000;

/// How far estimated frequencies may be off on average over the prior.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedError {
    /// How errors are measured.
    pub distance: Distance,
    /// The estimator.
    pub estimator: Estimator,
    /// The largest expected error.
    pub most: f64,
}

/// The expected error of a protocol as a function of the number of users.
pub(super) struct ErrorCurve<'a> {
    pub protocol: &'a Protocol,
    pub prior: &'a Prior,
    pub settings: Settings<'a>,
    /// Hears of an error before it is begun and while it is found, and may end it.
    pub watcher: Watcher<'a>,
}

impl ExpectedError {
    /// An error whose distance and estimator are named; unnamed, they are `l1` and `linear`.
    ///
    /// # Errors
    /// A name is unknown.
    pub fn named(distance: Option<&str>, estimator: Option<&str>, most: f64) -> Result<Self> {
        Ok(ExpectedError {
            distance: distance.map_or(Ok(Distance::L1), crate::accuracy::distance)?,
            estimator: estimator.map_or(Ok(Estimator::Linear), crate::estimate::estimator)?,
            most,
        })
    }

    pub(super) fn check(self) -> Result<()> {
        if self.most > 0.0 && self.most.is_finite() {
            return Ok(());
        }
        let value = self.most.to_string();
        Err(Error::Setting { name: "accuracy", value, allowed: "above 0 and finite" })
    }

    /// The power of `1/n` with which the error falls.
    fn decay(self) -> f64 {
        if self.distance == Distance::SquaredL2 { 1.0 } else { 0.5 }
    }

    /// The smallest number of users at which the expected error is no larger.
    pub(super) fn count(self, curve: &ErrorCurve<'_>) -> Count {
        let probes = Probes::default();
        let found = self.smallest(curve, &probes);
        Count::new(found, probes, |n| self.at(curve, n))
    }

    fn at(self, curve: &ErrorCurve<'_>, users: u64) -> Evaluated {
        Evaluated { quantity: Quantity::Error(self.distance), users, answer: self.answer(curve, users) }
    }

    fn smallest(self, curve: &ErrorCurve<'_>, probes: &Probes) -> Result<Found, Obstacle> {
        let first = match probes.keep(self.at(curve, FIRST_LOOK)).value {
            Ok(Value::Number(first)) => first.value,
            Ok(_) => f64::NAN,
            Err(Absence::Stopped) => return Err(Obstacle::Stopped { low: None, high: None }),
            Err(absence) => return Err(Obstacle::Absent(absence)),
        };
        smallest(&Search {
            target: -self.most.ln(),
            guess: FIRST_LOOK as f64 * (first / self.most).powf(1.0 / self.decay()),
            slope: Some(self.decay()),
            metric: &|n| logarithm(probes.keep(self.at(curve, n))),
        })
    }

    fn answer(self, curve: &ErrorCurve<'_>, n: u64) -> Answer {
        let sought = Sought::Error(self.estimator);
        let hear = |progress: &Progress| (curve.watcher)(&Step { sought, users: n, progress: *progress });
        if hear(&Progress::BEGUN).is_break() {
            return Answer::from(Err(Absence::Stopped));
        }
        let place = Place::Prior(curve.prior);
        let settings = Settings { observer: Some(&hear), ..curve.settings };
        let found = accuracy(curve.protocol, n, self.estimator, self.distance, place, &settings);
        Answer::from(found.map(|found| found.evaluation).map_err(Absence::Failed))
    }
}

/// The negative logarithm, which grows with the number of users. Being off by nothing is as good as it gets.
fn logarithm(answer: Answer) -> Answer {
    let number = |e: Evaluation| {
        let value = e.value.max(f64::MIN_POSITIVE);
        Evaluation::new(-value.ln(), e.error / value, e.method)
    };
    match answer.value {
        Ok(Value::Number(e)) => Answer { value: Ok(Value::Number(number(e))), ..answer },
        _ => answer,
    }
}
