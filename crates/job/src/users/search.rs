//! The smallest number of users at which a metric that grows with it reaches a target.
//!
//! A bracket is opened around a guess and closed by false position in `ln n`, in which digits are nearly linear. Exact values close it to
//! two neighbours; Monte Carlo ends when the target is within its error, and gives an interval.

use std::cell::RefCell;

use sottovoce::Evaluation;
use sottovoce::Method;
use sottovoce::metric::{Absence, Answer, Value};
use thiserror::Error;

/// No larger number of users is looked for.
pub const MOST_USERS: u64 = 1_000_000_000_000;

/// Evaluations after which the bracket is halved instead, and Monte Carlo gives the interval it has.
const PATIENCE: usize = 12;

/// Relative width of the bracket at which an approximated crossing is taken.
const CLOSE: f64 = 1e-4;

/// A number of users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The smallest number that reaches the target; with Monte Carlo, an estimate of it.
    pub n: u64,
    /// Two standard errors, or the error of the approximation, below; the same as `n` for an exact method, and where Monte Carlo tells it from its neighbour.
    pub low: u64,
    /// The same above.
    pub high: u64,
}

impl Found {
    /// A number without doubt.
    pub fn exactly(n: u64) -> Self {
        Found { n, low: n, high: n }
    }

    /// Whether there is no doubt.
    pub fn is_exact(&self) -> bool {
        self.low == self.high
    }
}

/// Why no number of users was found.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Obstacle {
    /// The target is not below the limit of the metric.
    #[error("out of reach: u_distr only tends to {limit} as the number of users grows")]
    Limit {
        /// The limit.
        limit: f64,
    },
    /// Even the most users are not enough.
    #[error("out of reach: 10^12 users are not enough")]
    TooMany,
    /// The metric has no value.
    #[error("out of reach: {0}")]
    Absent(Absence),
    /// The search was stopped.
    #[error("the search was stopped; the number is {}", between(*.low, *.high))]
    Stopped {
        /// A number that is not enough, if one is known.
        low: Option<u64>,
        /// A number that is enough, if one is known.
        high: Option<u64>,
    },
}

fn between(low: Option<u64>, high: Option<u64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("above {low} and at most {high}"),
        (Some(low), None) => format!("above {low}"),
        (None, Some(high)) => format!("at most {high}"),
        (None, None) => "not known".into(),
    }
}

/// What is looked for.
pub(super) struct Search<'a> {
    /// What the metric is to reach.
    pub target: f64,
    /// Where to begin.
    pub guess: f64,
    /// The slope in `ln n`, where it is not known from two evaluations.
    pub slope: Option<f64>,
    /// The metric.
    pub metric: &'a dyn Fn(u64) -> Answer,
}

/// An evaluated number of users, and by how much the target is exceeded there. `weight` is for false position.
#[derive(Clone, Copy)]
struct Place {
    n: u64,
    excess: f64,
    error: f64,
    certainty: Certainty,
    weight: f64,
}

/// What the error of an evaluated number means for the search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Certainty {
    /// The value is exact up to rounding.
    Exact,
    /// A smooth curve that is off by at most the error: it is followed to its crossing.
    Smooth,
    /// A random value with a standard error.
    Random,
}

impl Place {
    fn ln(&self) -> f64 {
        (self.n as f64).ln()
    }

    /// Whether the value may be on the other side of the target.
    fn doubtful(&self) -> bool {
        self.certainty != Certainty::Exact && self.excess.abs() <= self.reach()
    }

    /// By how much the value may be off: two standard errors, or the calibrated error.
    fn reach(&self) -> f64 {
        match self.certainty {
            Certainty::Exact => 0.0,
            Certainty::Smooth => self.error,
            Certainty::Random => 2.0 * self.error,
        }
    }

    /// Whether the target is within the error.
    fn undecided(&self) -> bool {
        self.certainty == Certainty::Random && self.excess.abs() <= 1.5 * self.error
    }
}

/// The smallest number of users at which the metric reaches the target.
pub(super) fn smallest(search: &Search<'_>) -> Result<Found, Obstacle> {
    let seen = RefCell::new(Vec::new());
    let (mut low, mut high): (Option<Place>, Option<Place>) = (None, None);
    let (mut n, mut factor) = (clamped(search.guess.round()), 1.5);
    loop {
        let place = match search.place(n) {
            Ok(place) => place,
            Err(Absence::Stopped) => {
                return Err(bracket(&seen.borrow()));
            }
            Err(absence) => return Err(Obstacle::Absent(absence)),
        };
        seen.borrow_mut().push(place);
        let random = place.certainty == Certainty::Random;
        if place.undecided() || (random && seen.borrow().len() > 2 * PATIENCE) {
            return search.interval(place, &seen.borrow());
        }
        let met = place.excess >= 0.0;
        // The end that stays counts half (Illinois), so that the other end does not creep.
        let (moved, stays) = if met { (&mut high, &mut low) } else { (&mut low, &mut high) };
        if let Some(stays) = stays.as_mut().filter(|_| moved.is_some()) {
            stays.weight *= 0.5;
        }
        *moved = Some(place);
        if let (Some(low), Some(high)) = (low, high) {
            // A crossing that is known much better than its uncertainty need not be known to the last user.
            let close = high.ln() - low.ln() < CLOSE;
            if close && low.certainty == Certainty::Smooth && high.certainty == Certainty::Smooth {
                return search.interval(high, &seen.borrow());
            }
        }
        n = match (low, high) {
            (_, Some(high)) if high.n == 1 => return Ok(Found::exactly(1)),
            (Some(low), _) if low.n == MOST_USERS => return Err(Obstacle::TooMany),
            (Some(low), Some(high)) if high.n - low.n == 1 => {
                let doubtful = low.doubtful() || high.doubtful();
                return if doubtful {
                    search.interval(high, &seen.borrow())
                } else {
                    Ok(Found::exactly(high.n))
                };
            }
            (Some(low), Some(high)) if seen.borrow().len() > PATIENCE => low.n + (high.n - low.n) / 2,
            (Some(low), Some(high)) => between_ends(&low, &high),
            (Some(low), None) => clamped((low.n as f64 * factor).ceil()).max(low.n + 1),
            (None, Some(high)) => clamped((high.n as f64 / factor).floor()).min(high.n - 1),
            (None, None) => n,
        };
        factor = f64::min(factor * factor, 16.0);
    }
}

/// The end of a search that cannot go on, with what is known beyond doubt.
fn bracket(seen: &[Place]) -> Obstacle {
    let sure = || seen.iter().filter(|place| !place.doubtful());
    let low = sure().filter(|place| place.excess < 0.0).map(|place| place.n).max();
    let high = sure().filter(|place| place.excess >= 0.0).map(|place| place.n).min();
    Obstacle::Stopped { low, high }
}

fn clamped(n: f64) -> u64 {
    // A guess that is not a number says nothing.
    if n.is_nan() { 1 } else { n.clamp(1.0, MOST_USERS as f64) as u64 }
}

/// Where the line through both ends reaches the target.
fn between_ends(low: &Place, high: &Place) -> u64 {
    let (l, h) = (low.excess * low.weight, high.excess * high.weight);
    let share = -l / (h - l);
    let n = (low.ln() + share * (high.ln() - low.ln())).exp().ceil();
    clamped(n).clamp(low.n + 1, high.n - 1)
}

impl Search<'_> {
    fn place(&self, n: u64) -> Result<Place, Absence> {
        match (self.metric)(n).value? {
            Value::Number(Evaluation { value, error, method }) => {
                let certainty = match method {
                    Method::MonteCarlo => Certainty::Random,
                    Method::Approximation => Certainty::Smooth,
                    _ => Certainty::Exact,
                };
                Ok(Place { n, excess: value - self.target, error, certainty, weight: 1.0 })
            }
            Value::Count(..) | Value::Truth(..) => {
                Err(Absence::NoMethod { what: "a metric that is not a number" })
            }
        }
    }

    /// The number with its uncertainty, by the slope in `ln n`.
    fn interval(&self, place: Place, seen: &[Place]) -> Result<Found, Obstacle> {
        let Some(slope) = self.local_slope(&place, seen).filter(|slope| *slope > 0.0) else {
            return Err(bracket(seen));
        };
        let centre = place.ln() - place.excess / slope;
        let at = |off: f64| (centre + off / slope).exp();
        let low = clamped(at(-place.reach()).floor()).min(place.n);
        let high = clamped(at(place.reach()).ceil()).max(place.n);
        Ok(Found { n: place.n, low, high })
    }

    /// The slope between this place and the nearest one that is neither too near for the noise nor too far for the bend.
    fn local_slope(&self, place: &Place, seen: &[Place]) -> Option<f64> {
        let slope = |other: &Place| (other.excess - place.excess) / (other.ln() - place.ln());
        let distance = |other: &Place| (other.ln() - place.ln()).abs();
        let useful = |other: &&Place| (0.4..3.0).contains(&distance(other));
        let nearest = seen.iter().filter(useful).min_by(|l, r| distance(l).total_cmp(&distance(r)));
        if let Some(other) = nearest {
            return Some(slope(other));
        }
        if self.slope.is_some() {
            return self.slope;
        }
        self.place(clamped(place.n as f64 * 2.0)).ok().map(|other| slope(&other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(target: f64, guess: f64, value: impl Fn(u64) -> f64) -> (Result<Found, Obstacle>, u32) {
        let calls = std::cell::Cell::new(0);
        let metric = |n: u64| {
            calls.set(calls.get() + 1);
            Answer::of(Value::Number(Evaluation::new(value(n), 0.0, Method::Enumeration)))
        };
        (smallest(&Search { target, guess, slope: None, metric: &metric }), calls.get())
    }

    #[test]
    fn the_crossing_is_found_from_any_guess_in_few_steps() {
        for exact in [1, 2, 3, 17, 1000, 123_456_789, 999_999_999_999] {
            for guess in [0.0, 1.0, 50.0, 1e9, f64::INFINITY, f64::NAN] {
                let value = |n: u64| (n as f64).ln() + (n as f64).powf(-0.5);
                let target = if exact == 1 { 0.5 } else { value(exact) };
                let (found, calls) = search(target, guess, value);
                assert_eq!(found, Ok(Found::exactly(exact)), "from {guess}");
                assert!(calls < 60, "{calls} from {guess} to {exact}");
            }
        }
    }

    #[test]
    fn a_step_is_found_too() {
        let (found, calls) = search(0.5, 10.0, |n| if n >= 7_654_321 { 1.0 } else { 0.0 });
        assert_eq!(found, Ok(Found::exactly(7_654_321)));
        assert!(calls < 80, "{calls}");
    }

    #[test]
    fn what_is_never_reached_is_too_many() {
        assert_eq!(search(2.0, 10.0, |n| 1.0 - 1.0 / n as f64).0, Err(Obstacle::TooMany));
    }

    #[test]
    fn noise_gives_an_interval() {
        let metric = |n: u64| {
            let noise = 0.01 * ((n * 2_654_435_761 % 1000) as f64 / 500.0 - 1.0);
            Answer::of(Value::Number(Evaluation::new((n as f64).ln() + noise, 0.01, Method::MonteCarlo)))
        };
        let found = smallest(&Search { target: 9.0, guess: 10.0, slope: None, metric: &metric }).unwrap();
        let exact = 9f64.exp() as u64;
        assert!(found.low < exact && exact < found.high, "{found:?}");
        assert!((found.high - found.low) as f64 / exact as f64 <= 0.05, "{found:?}");
    }
}
