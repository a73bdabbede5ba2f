//! A protocol under a prior, and any metric of the two by name.

use super::answer::{Absence, Answer, Value};
use super::name::Metric;
use super::{limit, worst_case_privacy};
use crate::error::{Error, Result};
use crate::evaluation::Method;
use crate::prior::Prior;
use crate::protocol::Protocol;

/// What the caller may choose about a computation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Wanted absolute error (standard error for Monte Carlo), in nats.
    pub tolerance: f64,
    /// Seed of all random draws. The same seed gives the same answer on any number of threads.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { tolerance: 1e-3, seed: 0 }
    }
}

/// A protocol under a prior. Numbers that several metrics need are computed once.
#[derive(Debug)]
pub struct Analysis<'a> {
    protocol: &'a Protocol,
    prior: &'a Prior,
    settings: Settings,
}

impl<'a> Analysis<'a> {
    /// Puts a protocol under a prior, with default settings.
    ///
    /// # Errors
    /// The prior is on another number of values than the protocol.
    pub fn new(protocol: &'a Protocol, prior: &'a Prior) -> Result<Self> {
        Self::with_settings(protocol, prior, Settings::default())
    }

    /// Puts a protocol under a prior.
    ///
    /// # Errors
    /// As for [`new`](Analysis::new).
    pub fn with_settings(protocol: &'a Protocol, prior: &'a Prior, settings: Settings) -> Result<Self> {
        if protocol.inputs() != prior.inputs() {
            return Err(Error::PriorSize { prior: prior.inputs(), protocol: protocol.inputs() });
        }
        Ok(Analysis { protocol, prior, settings })
    }

    /// The value of a metric, or why there is none. `users` is `n`, for the metrics that need it.
    pub fn answer(&self, metric: Metric, users: Option<u64>) -> Answer {
        match metric {
            Metric::LocalPrivacyLevel => failing(worst_case_privacy::local_privacy_level(self.protocol)),
            Metric::WorstCasePrivacy => failing(worst_case_privacy::worst_case_privacy(self.protocol)),
            Metric::Rank => self.rank(),
            Metric::Classes => absent_or(self.protocol.classes(), |b| Value::Count(b, Method::ClosedForm)),
            Metric::Faithful => self.faithful(),
            Metric::DistributionUtilityLimit => failing(limit::distribution_utility_limit(self.protocol)),
            Metric::TallyUtilityLimit => failing(limit::tally_utility_limit(self.protocol)),
            _ if metric.needs_users() && users.is_none() => Err(Absence::NeedsUsers).into(),
            _ => {
                let _ = (self.prior, self.settings);
                Err(Absence::NoMethod { what: "this metric" }).into()
            }
        }
    }

    fn rank(&self) -> Answer {
        let rank = match self.protocol.rank() {
            Ok(rank) => rank,
            Err(error) => return Answer { value: Err(error.into()), warning: None },
        };
        let warning = rank.ambiguous.then(|| {
            format!(
                "the rank is numerically ambiguous: the smallest singular value counted is {:.1e} of the largest",
                rank.smallest.unwrap_or(0.0)
            )
        });
        Answer { value: Ok(Value::Count(rank.value, Method::ClosedForm)), warning }
    }

    fn faithful(&self) -> Answer {
        let Answer { value, warning } = self.rank();
        let truth = value.map(|rank| match rank {
            Value::Count(d, method) => Value::Truth(d == self.protocol.inputs(), method),
            other => other,
        });
        Answer { value: truth, warning }
    }
}

fn failing(result: Result<crate::evaluation::Evaluation>) -> Answer {
    result.map_err(Absence::from).into()
}

fn absent_or<T>(result: Result<T>, value: impl Fn(T) -> Value) -> Answer {
    Answer { value: result.map(value).map_err(Absence::from), warning: None }
}
