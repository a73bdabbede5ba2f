//! The smallest level at which a family of protocols reaches what is wanted.
//!
//! The error of the linear estimate is a closed form that falls with the level, also where the best hash range or subset size changes with it, so halving
//! finds its level to rounding. A metric is judged by its approximation at the number of users, or by its asymptote where there is none. The simulated error of another estimator is a number with a standard error: it
//! falls with the level about as the closed form does, and few steps along that curve end where the error of the simulation is larger than
//! what is missing.

use sottovoce::accuracy::Distance;
use sottovoce::information::Choice;
use sottovoce::protocol::MAX_EPSILON;
use sottovoce::{Evaluation, Method};

use super::Chooser;
use super::runner::{Criterion, Runner, SHORT_LIST, ranked};
use crate::design::Family;
use crate::error::{Error, Result};
use crate::expected_error::{ErrorMeasure, ExpectedError};
use crate::users::{Target, Wanted};

/// A level that reaches what is wanted.
pub(super) struct Reached {
    pub level: Evaluation,
    /// The error there, where finding the level took it.
    pub error: Option<Evaluation>,
}

impl From<Evaluation> for Reached {
    fn from(level: Evaluation) -> Self {
        Reached { level, error: None }
    }
}

/// The smallest level that is tried.
const LEAST: f64 = 1e-6;

/// Relative width of the bracket around the level of a closed form.
const EXACT: f64 = 1e-13;

/// Relative width of the bracket around the level of a metric, whose asymptote has an error of some 1e-4 anyway.
const CLOSE: f64 = 1e-6;

/// An excess over the target below this, in nats, counts as zero.
const FLAT: f64 = 1e-9;

/// Most values of a curve within its bracket.
const STEPS_OF_CURVE: usize = 60;

/// Most simulations for one level.
const STEPS: usize = 10;

impl Chooser<'_> {
    /// The usual protocols, each with the smallest level that reaches what is wanted, the smallest first.
    pub(super) fn by_level(&self) -> Result<Vec<Runner>> {
        let level = |family: Family| Some((family, self.least_level(family, MAX_EPSILON)?));
        let found: Vec<_> = self.short_list().into_iter().filter_map(level).collect();
        if found.is_empty() {
            let allowed = "within reach of this many users at any epsilon";
            let (name, value) = match self.job.wanted {
                Some(Wanted::Utility(target)) => (target.metric().name(), target.value()),
                Some(Wanted::Accuracy(error)) => ("accuracy", error.most),
                None => ("requirement", f64::NAN),
            };
            return Err(Error::Setting { name, value: value.to_string(), allowed });
        }
        let runner = |(family, reached): (Family, Reached)| {
            let (protocol, spec) = family.at(&self.job.prior, reached.level.value, self.job.sizing())?;
            let runner = Runner::new(family.name(), protocol, spec, Some(family))?;
            Some(Runner { score: reached.level, error: reached.error, ..runner })
        };
        Ok(ranked(Criterion::Level, found.into_iter().filter_map(runner).collect()))
    }

    /// All families; for an estimator that takes long, those whose linear estimate needs the smallest levels.
    fn short_list(&self) -> Vec<Family> {
        let Some(wanted) = self.job.accuracy().filter(|_| self.takes_long()) else {
            return Family::ALL.to_vec();
        };
        let linear = ExpectedError { measure: ErrorMeasure::default(), most: wanted.most };
        let found = Family::ALL.iter().filter_map(|&family| {
            let level = self.exact_level(family, linear, MAX_EPSILON)?;
            let (protocol, spec) = family.at(&self.job.prior, level.value, self.job.sizing())?;
            Some(Runner { score: level, ..Runner::new(family.name(), protocol, spec, Some(family))? })
        });
        let best = ranked(Criterion::Level, found.collect()).into_iter().take(SHORT_LIST);
        best.filter_map(|runner| runner.family).collect()
    }

    /// The smallest level up to `most` at which a family reaches what is wanted.
    pub(super) fn least_level(&self, family: Family, most: f64) -> Option<Reached> {
        match self.job.wanted? {
            Wanted::Accuracy(wanted) if wanted.measure.is_closed_form() => {
                self.exact_level(family, wanted, most).map(Reached::from)
            }
            Wanted::Accuracy(wanted) => self.simulated_level(family, wanted, most),
            Wanted::Utility(target) => {
                let level = |choice: &Choice| self.level_of_metric(family, target, most, *choice);
                self.search_choices().iter().find_map(level).map(Reached::from)
            }
        }
    }

    /// By a closed form of the error: this level reaches it, and a slightly smaller one does not.
    fn exact_level(&self, family: Family, wanted: ExpectedError, most: f64) -> Option<Evaluation> {
        let reaches =
            |epsilon: f64| Some(self.error_at(family, epsilon, wanted.measure)?.value <= wanted.most);
        let level = smallest(most, EXACT, reaches)?;
        Some(Evaluation::new(level, EXACT * level, Method::ClosedForm))
    }

    fn error_at(&self, family: Family, epsilon: f64, measure: ErrorMeasure) -> Option<Evaluation> {
        self.error(&family.at(&self.job.prior, epsilon, self.job.sizing())?.0, measure)
    }

    /// By the approximation of the metric, or by its asymptote.
    fn level_of_metric(
        &self,
        family: Family,
        target: Target,
        most: f64,
        choice: Choice,
    ) -> Option<Evaluation> {
        let metric = |epsilon: f64| {
            let (protocol, _) = family.at(&self.job.prior, epsilon, self.job.sizing())?;
            self.at_users(&protocol, choice).answer.number()
        };
        let level = crossing(most, |epsilon| Some(metric(epsilon)?.value - target.value()))?;
        // How far the level is off follows from how far the metric may be, by the slope there.
        let found = metric(level)?;
        let slope = (metric(1.01 * level).map_or(f64::NAN, |e| e.value) - found.value) / 0.01;
        // The error of the asymptote is unknown; that of its constant is not.
        let known = if found.error.is_finite() { found.error } else { 1e-4 };
        let error = level * self.job.settings.tolerance.unwrap_or(known) / slope.abs().max(0.1);
        Some(Evaluation::new(level, error.max(CLOSE * level), found.method))
    }

    /// By simulation: a level at which the error is the wanted one, within the error of the simulation.
    fn simulated_level(&self, family: Family, wanted: ExpectedError, most: f64) -> Option<Reached> {
        // The typical error of the linear estimate, and what power of it the wanted error is like.
        let shape = |epsilon: f64| Some(self.error_at(family, epsilon, ErrorMeasure::default())?.value);
        let power = if wanted.measure.distance == Distance::SquaredL2 { 2.0 } else { 1.0 };
        let along = |error: f64| smallest(most, 1e-9, |epsilon| Some(shape(epsilon)? <= error));
        let (mut low, mut high) = (LEAST, most);
        let rooted = wanted.most.powf(1.0 / power);
        let mut at = along(rooted).unwrap_or(most);
        for step in 0.. {
            let found = self.error_at(family, at, wanted.measure)?;
            let close = (found.value - wanted.most).abs() <= found.error || high <= 1.001 * low;
            if close || step == STEPS {
                let slope = (shape(at / 1.01)? / shape(at)?).ln() / 1.01f64.ln() * power;
                let level = Evaluation::new(at, at * found.error / found.value / slope, Method::MonteCarlo);
                return Some(Reached { level, error: Some(found) });
            }
            if found.value > wanted.most && at >= most {
                return None;
            }
            if found.value > wanted.most {
                low = at
            } else {
                high = at
            }
            let factor = (wanted.most / found.value).powf(1.0 / power);
            let next = along(shape(at)? * factor).unwrap_or(most);
            let inside = next > low && (next < high || high == most);
            at = if inside { next } else { (low * high).sqrt() };
        }
        None
    }
}

/// Where a curve that rises with the level becomes positive, to a relative width of [`CLOSE`]; `None` if it is negative at `most`. A value of the curve takes
/// long, so a bracket is opened around 1 and closed by Illinois' false position in the logarithm of the level.
fn crossing(most: f64, curve: impl Fn(f64) -> Option<f64>) -> Option<f64> {
    let start = most.min(1.0);
    let first = (start, curve(start)?);
    let (mut low, mut high) = (first, first);
    while high.1 < 0.0 && high.0 < most {
        low = high;
        high.0 = (2.0 * high.0).min(most);
        high.1 = curve(high.0)?;
    }
    while low.1 >= 0.0 && low.0 > LEAST {
        high = low;
        low.0 = (0.5 * low.0).max(LEAST);
        low.1 = curve(low.0)?;
    }
    if high.1 < 0.0 {
        return None;
    }
    // Neither end may stay for two steps with its whole weight.
    let (mut low_weight, mut high_weight) = (low.1, high.1);
    for step in 0..STEPS_OF_CURVE {
        if high.0 <= (1.0 + CLOSE) * low.0 || high.1 <= 0.0 {
            break;
        }
        let share = if step % 4 == 3 { 0.5 } else { low_weight / (low_weight - high_weight) };
        let at = low.0 * (high.0 / low.0).powf(share.clamp(0.0, 1.0));
        let value = curve(at)?;
        if value >= 0.0 {
            (high, high_weight, low_weight) = ((at, value), value, 0.5 * low_weight);
        } else {
            (low, low_weight, high_weight) = ((at, value), value, 0.5 * high_weight);
        }
        if (0.0..=FLAT).contains(&value) {
            break;
        }
    }
    Some(high.0)
}

/// The smallest level up to `most` that meets a condition that all larger ones meet, to that relative width; `None` if `most` does not meet it.
fn smallest(most: f64, width: f64, meets: impl Fn(f64) -> Option<bool>) -> Option<f64> {
    if !meets(most)? {
        return None;
    }
    let (mut low, mut high) = (LEAST.min(most), most);
    while high > (1.0 + width) * low {
        let middle = (low * high).sqrt();
        if middle <= low || middle >= high {
            break;
        }
        if meets(middle)? { high = middle } else { low = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// The level is reached, a little less does not reach it, and few values are asked for.
    #[test]
    fn a_curve_is_crossed_in_few_steps() {
        for at in [3e-6, 0.01, 0.3, 1.0, 2.5, 40.0] {
            let asked = Cell::new(0);
            let curve = |epsilon: f64| {
                asked.set(asked.get() + 1);
                Some(epsilon.ln().min(4.0).tanh() - f64::ln(at).min(4.0).tanh())
            };
            let found = crossing(60.0, curve).unwrap();
            assert!(curve(found).unwrap() >= 0.0, "{at} {found}");
            // Far from 1 the curve is flat, and a level is as good as another.
            let near = (0.1..10.0).contains(&at);
            assert!(!near || (found >= at * (1.0 - 1e-9) && found <= at * (1.0 + 2e-6)), "{at} {found}");
            assert!(asked.get() < 45, "{at} took {}", asked.get());
        }
        assert!(crossing(60.0, |epsilon| Some(epsilon - 61.0)).is_none());
        assert_eq!(crossing(60.0, |_| Some(1.0)), Some(LEAST));
    }
}
