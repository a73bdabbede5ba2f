//! The smallest number of users whose estimated frequencies are off by so little on average.
//!
//! The logarithm of the expected error is a straight line in `ln n` but for small `n`, so the search runs on that.

use sottovoce::Evaluation;
use sottovoce::metric::{Absence, Answer, Value};

use super::search::{Found, Obstacle, Search, smallest};
use super::{Count, Evaluated, Probes, Quantity};
use crate::expected_error::ErrorCurve;

/// Where the first guess is read off.
const FIRST_LOOK: u64 = 10_000;

/// The smallest number of users at which the expected error is at most `most`.
pub(super) fn count(curve: &ErrorCurve<'_>, most: f64) -> Count {
    let probes = Probes::default();
    let found = needed(curve, most, &probes);
    Count::new(found, probes, |n| at(curve, n))
}

fn at(curve: &ErrorCurve<'_>, n: u64) -> Evaluated {
    Evaluated { quantity: Quantity::Error(curve.measure.distance), users: Some(n), answer: curve.at(n) }
}

fn needed(curve: &ErrorCurve<'_>, most: f64, probes: &Probes) -> Result<Found, Obstacle> {
    let first = match probes.keep(at(curve, FIRST_LOOK)).value {
        Ok(Value::Number(first)) => first.value,
        Ok(_) => f64::NAN,
        Err(Absence::Stopped) => return Err(Obstacle::Stopped { low: None, high: None }),
        Err(absence) => return Err(Obstacle::Absent(absence)),
    };
    let decay = curve.measure.decay();
    smallest(&Search {
        target: -most.ln(),
        guess: FIRST_LOOK as f64 * (first / most).powf(1.0 / decay),
        slope: Some(decay),
        metric: &|n| logarithm(probes.keep(at(curve, n))),
    })
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
