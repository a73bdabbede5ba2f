//! How the runner-up compares to the best: never ahead of it.

use sottovoce::Evaluation;

use super::runner::Criterion;
use crate::expected_error::ErrorMeasure;

/// By how much a quantity exceeds another, relative to the other: at least 0, whatever it is made from.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Excess(f64);

impl Excess {
    /// `factor − 1`, or nothing where the factor is below 1.
    pub fn of_factor(factor: f64) -> Self {
        Excess((factor - 1.0).max(0.0))
    }

    /// The excess.
    pub fn value(self) -> f64 {
        self.0
    }
}

/// How the runner-up compares to the best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lead {
    /// It is as good within the errors.
    Tie,
    /// It needs a larger level for what is wanted.
    Level(Excess),
    /// It needs more users for the same error.
    Users(Excess),
    /// It needs more users for the same digits, asymptotically.
    ManyUsers(Excess),
    /// Asymptotically the best needs more users than it; with these users the best is ahead.
    Reversed(Excess),
}

impl Lead {
    /// The lead of the best over the next, where `reversed` says that the next has the larger asymptotic utility.
    pub(super) fn new(
        criterion: Criterion,
        measure: ErrorMeasure,
        best: Evaluation,
        next: Evaluation,
        reversed: bool,
    ) -> Self {
        let tie = (next.value - best.value).abs() <= best.error + next.error;
        let over = |l: f64, r: f64| Excess::of_factor(l / r);
        // U_as is half the logarithm of the number of users that are worth as much.
        let users = |more: f64, less: f64| Excess::of_factor((2.0 * (more - less)).exp());
        match criterion {
            Criterion::Utility if reversed => Lead::Reversed(users(next.value, best.value)),
            _ if tie => Lead::Tie,
            Criterion::Level => Lead::Level(over(next.value, best.value)),
            Criterion::Error => {
                Lead::Users(Excess::of_factor((next.value / best.value).powf(1.0 / measure.decay())))
            }
            Criterion::Utility => Lead::ManyUsers(users(best.value, next.value)),
        }
    }

    /// How many times the users of the best the runner-up needs; none if they are compared by their levels.
    pub fn users_factor(self) -> Option<f64> {
        match self {
            Lead::Users(excess) | Lead::ManyUsers(excess) => Some(1.0 + excess.value()),
            Lead::Reversed(excess) => Some(1.0 / (1.0 + excess.value())),
            Lead::Tie => Some(1.0),
            Lead::Level(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use sottovoce::Method;

    use super::*;

    #[test]
    fn no_lead_is_negative() {
        let number = |value: f64| Evaluation::new(value, 0.0, Method::ClosedForm);
        for (best, next) in [(1.0, 2.0), (2.0, 1.0), (1.0, 1.0), (1.0, 1.0 - 1e-15)] {
            for criterion in [Criterion::Level, Criterion::Error, Criterion::Utility] {
                for reversed in [false, true] {
                    let measure = ErrorMeasure::default();
                    match Lead::new(criterion, measure, number(best), number(next), reversed) {
                        Lead::Tie => assert_eq!(best, next),
                        Lead::Level(excess)
                        | Lead::Users(excess)
                        | Lead::ManyUsers(excess)
                        | Lead::Reversed(excess) => assert!(excess.value() >= 0.0),
                    }
                }
            }
        }
    }
}
