//! A protocol under a prior, and any of their metrics by name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use super::answer::{Answer, BRACKETED, Value};
use super::average_privacy::Leakage;
use super::bridged::Bridged;
use super::finite_users::{FiniteUsers, Question, shortfall};
use super::name::Metric;
use super::progress::Observer;
use super::{
    asymptotic_utility, distribution_utility_limit, effective_participation, faithful_growth_constant,
    group_information_limit, growth_constant, level_bracket, local_privacy_level, participation_bound,
    prior_entropy, private_leakage, tally_constant, tally_utility_limit, truth_utility, user_entropy,
    utility_bound, worst_case_privacy,
};
use crate::information::{Choice, UsersSide};
use crate::model::absence::Absence;
use crate::model::error::{Error, Result};
use crate::model::evaluation::{Evaluation, Method};
use crate::model::prior::Prior;
use crate::model::protocol::Protocol;
use crate::numerics::stop::{self, Stopped};

/// Options of a computation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// Target absolute error (standard error for Monte Carlo), in nats. `None` means `1e-4` for quantities
    /// that do not depend on the number of users, and `0.01` for Monte Carlo at a finite number of them.
    pub tolerance: Option<f64>,
    /// Seed of all random draws. The same seed gives the same answer on any number of threads.
    pub seed: u64,
    /// The method for quantities that depend on the number of users.
    pub choice: Choice,
}

impl Settings {
    /// Target error of quantities that do not depend on the number of users.
    pub(super) fn mean_tolerance(&self) -> f64 {
        self.tolerance.unwrap_or(1e-4)
    }
}

/// A protocol under a prior. Quantities that several metrics need are computed once.
pub struct Analysis<'a> {
    protocol: &'a Protocol,
    prior: &'a Prior,
    settings: Settings,
    entropy: OnceLock<Evaluation>,
    leakage: OnceLock<Result<Leakage, Absence>>,
    truth: OnceLock<Result<Evaluation, Absence>>,
    utility: OnceLock<Result<Evaluation, Absence>>,
    prior_entropy: OnceLock<Result<Evaluation, Absence>>,
    finite: Mutex<BTreeMap<u64, Arc<FiniteUsers>>>,
    bridged: OnceLock<Result<Bridged, Absence>>,
    observer: Option<Observer<'a>>,
}

impl std::fmt::Debug for Analysis<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Analysis")
            .field("protocol", self.protocol)
            .field("prior", self.prior)
            .finish_non_exhaustive()
    }
}

impl<'a> Analysis<'a> {
    /// The analysis of a protocol under a prior, with default settings.
    ///
    /// # Errors
    /// The prior and the protocol have different numbers of values.
    pub fn new(protocol: &'a Protocol, prior: &'a Prior) -> Result<Self> {
        Self::with_settings(protocol, prior, Settings::default())
    }

    /// The analysis of a protocol under a prior.
    ///
    /// # Errors
    /// As for [`new`](Analysis::new).
    pub fn with_settings(protocol: &'a Protocol, prior: &'a Prior, settings: Settings) -> Result<Self> {
        if protocol.inputs() != prior.inputs() {
            return Err(Error::PriorSize { prior: prior.inputs(), protocol: protocol.inputs() });
        }
        Ok(Analysis {
            protocol,
            prior,
            settings,
            entropy: OnceLock::new(),
            leakage: OnceLock::new(),
            truth: OnceLock::new(),
            utility: OnceLock::new(),
            prior_entropy: OnceLock::new(),
            finite: Mutex::default(),
            bridged: OnceLock::new(),
            observer: None,
        })
    }

    /// Lets `observer` follow long computations, and end them with their best estimate so far.
    pub fn observed_by(mut self, observer: Observer<'a>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// The value of a metric, or why it has none. `users` is `n`, for the metrics that need it.
    ///
    /// A warning is attached if Monte Carlo ended before the target error, because of an observer or the
    /// largest number of draws.
    pub fn answer(&self, metric: Metric, users: Option<u64>) -> Answer {
        let found = stop::caught(|| {
            let answer = self.value(metric, users);
            let said = || self.shortfall(metric, users, answer.number()?);
            Answer { warning: answer.warning.clone().or_else(said), ..answer }
        });
        found.unwrap_or_else(|Stopped| Err(Absence::Stopped).into())
    }

    /// The users' side of the information split for `n` users.
    ///
    /// # Errors
    /// There is no method for this prior, or the computation was stopped.
    pub fn users_side(&self, n: u64) -> Result<UsersSide, Absence> {
        stop::caught(|| self.known(n).users(&self.question(n))).unwrap_or(Err(Absence::Stopped))
    }

    /// An independent check of a number that was approximated: `metric` at `n` users by a short Monte Carlo run.
    /// `None` if it was not approximated, or if the run would take more than about a second.
    pub fn confirmation(&self, metric: Metric, n: u64) -> Option<Evaluation> {
        let approximated = self.answer(metric, Some(n)).number()?.method == Method::Approximation;
        let sampled = || self.known(n).sampled(metric, &self.question(n));
        approximated.then(|| stop::caught(sampled).ok().flatten()).flatten()
    }

    fn shortfall(&self, metric: Metric, users: Option<u64>, found: Evaluation) -> Option<String> {
        match users.filter(|_| metric.needs_users()) {
            Some(n) => self.known(n).shortfall(metric, &self.question(n)),
            None => {
                // The tolerance applies to U_as, and r_mu contains a − 1 times that.
                let in_nats = matches!(
                    metric,
                    Metric::GrowthConstant | Metric::GroupInformationLimit | Metric::TallyConstant
                );
                let shares = if in_nats { 2 * (self.protocol.inputs() - 1) } else { 1 };
                shortfall(found, shares as f64 * self.settings.mean_tolerance())
            }
        }
    }

    fn value(&self, metric: Metric, users: Option<u64>) -> Answer {
        match metric {
            Metric::LocalPrivacyLevel | Metric::WorstCasePrivacy => self.worst_case(metric),
            Metric::Rank => self.rank(),
            Metric::Classes => self.classes(),
            Metric::Faithful => self.faithful(),
            Metric::UserEntropy => Ok(self.user_entropy()).into(),
            Metric::PriorEntropy => self.prior_entropy().into(),
            Metric::TruthUtility => self.truth_utility().into(),
            Metric::AveragePrivacy => self.average_privacy(),
            Metric::AsymptoticUtility => self.asymptotic_utility().into(),
            Metric::EffectiveParticipation => self.effective_participation().into(),
            Metric::UtilityBound => self.continuous(|_| utility_bound(self.protocol)),
            Metric::ParticipationBound => self.continuous(|truth| participation_bound(self.protocol, truth)),
            Metric::DistributionUtilityLimit => {
                self.continuous(|_| Ok(distribution_utility_limit(self.protocol)?))
            }
            Metric::TallyUtilityLimit => self.continuous(|_| Ok(tally_utility_limit(self.protocol)?)),
            Metric::GrowthConstant => self.growth_constant().into(),
            Metric::GroupInformationLimit => self.group_information_limit().into(),
            Metric::TallyConstant => self.tally_constant().into(),
            finite => match users {
                Some(n) => self.finite(finite, n).into(),
                None => Err(Absence::NeedsUsers).into(),
            },
        }
    }

    fn finite(&self, metric: Metric, n: u64) -> Result<Evaluation, Absence> {
        self.known(n).answer(metric, &self.question(n))
    }

    /// The quantities computed so far for `n` users.
    fn known(&self, n: u64) -> Arc<FiniteUsers> {
        // Unwrap safety: nothing panics while it holds the lock.
        self.finite.lock().unwrap().entry(n).or_default().clone()
    }

    fn question(&self, n: u64) -> Question<'_> {
        Question {
            protocol: self.protocol,
            prior: self.prior,
            n,
            settings: &self.settings,
            observer: self.observer,
            leakage: self.leakage().map(|leakage| leakage.evaluation),
            bridged: &self.bridged,
        }
    }

    fn leakage(&self) -> Result<Leakage, Absence> {
        self.leakage.get_or_init(|| private_leakage(self.protocol, self.prior, &self.settings)).clone()
    }

    fn user_entropy(&self) -> Evaluation {
        *self.entropy.get_or_init(|| user_entropy(self.prior, &self.settings))
    }

    fn truth_utility(&self) -> Result<Evaluation, Absence> {
        self.truth.get_or_init(|| truth_utility(self.prior, &self.settings)).clone()
    }

    fn asymptotic_utility(&self) -> Result<Evaluation, Absence> {
        self.utility.get_or_init(|| asymptotic_utility(self.protocol, self.prior, &self.settings)).clone()
    }

    fn effective_participation(&self) -> Result<Evaluation, Absence> {
        effective_participation(self.asymptotic_utility(), self.truth_utility()?)
    }

    fn prior_entropy(&self) -> Result<Evaluation, Absence> {
        self.prior_entropy.get_or_init(|| prior_entropy(self.prior, &self.settings)).clone()
    }

    fn growth_constant(&self) -> Result<Evaluation, Absence> {
        match self.asymptotic_utility() {
            Ok(utility) => {
                Ok(faithful_growth_constant(utility, self.prior_entropy()?, self.protocol.inputs()))
            }
            Err(Absence::NotFaithful { .. }) => growth_constant(self.protocol, self.prior, &self.settings),
            Err(other) => Err(other),
        }
    }

    fn group_information_limit(&self) -> Result<Evaluation, Absence> {
        group_information_limit(self.protocol, self.prior, &self.settings)
    }

    fn tally_constant(&self) -> Result<Evaluation, Absence> {
        tally_constant(self.protocol, self.prior, &self.settings)
    }

    fn average_privacy(&self) -> Answer {
        let leakage = self.leakage();
        let bracketed = matches!(leakage, Ok(Leakage { bracketed: true, .. }));
        let privacy = leakage.map(|leakage| leakage.as_privacy(self.user_entropy()));
        Answer { warning: bracketed.then(|| BRACKETED.into()), bracketed, ..privacy.into() }
    }

    /// `LDP` or `S^wc`, or a bracket if the level is only bracketed.
    fn worst_case(&self, metric: Metric) -> Answer {
        let exact = match metric {
            Metric::LocalPrivacyLevel => local_privacy_level(self.protocol),
            _ => worst_case_privacy(self.protocol),
        };
        let bracket = match exact {
            Err(Error::TooLarge { .. }) => level_bracket(self.protocol).ok(),
            _ => None,
        };
        let ends = bracket.map(|(low, high)| match metric {
            Metric::LocalPrivacyLevel => (low, high),
            _ => ((-high).exp(), (-low).exp()),
        });
        match ends.filter(|(_, high)| high.is_finite()) {
            Some((low, high)) => Answer::between(low, high, Method::ClosedForm),
            None => exact.map_err(Absence::from).into(),
        }
    }

    /// A metric that is defined for continuous priors, given `C_μ`.
    fn continuous(&self, metric: impl Fn(Evaluation) -> Result<Evaluation, Absence>) -> Answer {
        self.truth_utility().and_then(metric).into()
    }

    fn classes(&self) -> Answer {
        let value = self.protocol.classes().map(|classes| Value::Count(classes, Method::ClosedForm));
        Answer { value: value.map_err(Absence::from), warning: None, bracketed: false }
    }

    fn rank(&self) -> Answer {
        let rank = match self.protocol.rank() {
            Ok(rank) => rank,
            Err(error) => return Answer::from(Err(error.into())),
        };
        let warning = rank.ambiguous.then(|| {
            format!(
                "the rank is numerically ambiguous: the smallest singular value counted is {:.1e} of the largest",
                rank.smallest.unwrap_or(0.0)
            )
        });
        Answer { warning, ..Answer::of(Value::Count(rank.value, Method::ClosedForm)) }
    }

    fn faithful(&self) -> Answer {
        let rank = self.rank();
        let truth = rank.value.clone().map(|rank| match rank {
            Value::Count(d, method) => Value::Truth(d == self.protocol.inputs(), method),
            other => other,
        });
        Answer { value: truth, ..rank }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A service may share one analysis between its threads.
    #[test]
    fn an_analysis_can_be_shared_between_threads() {
        let (protocol, prior) = (Protocol::grr(3, 1.0).unwrap(), Prior::jeffreys(3).unwrap());
        let analysis = Analysis::new(&protocol, &prior).unwrap();
        let privacy = || analysis.answer(Metric::AveragePrivacy, None);
        let elsewhere = std::thread::scope(|scope| scope.spawn(privacy).join().unwrap());
        assert_eq!(elsewhere, privacy());
    }
}
