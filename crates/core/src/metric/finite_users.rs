//! The metrics that depend on the number of users; each number is computed once.

use std::sync::OnceLock;

use super::bridged::{Bridged, one_report};
use super::progress::{Observer, Progress};
use super::tally_constant::{group_constant, tally_constant};
use super::{Settings, growth_constant, prior_entropy};
use crate::information::{
    AggregatorSide, Choice, InformationOptions, Sampling, UsersSide, by_parts, digit_utility,
    distribution_asymptote, distribution_information, distribution_utility, group_private as users_group,
    tally_information, tally_utility, users_side, users_side_of,
};
use crate::metric::Metric;
use crate::model::absence::Absence;
use crate::model::evaluation::{Evaluation, Method};
use crate::model::prior::Prior;
use crate::model::protocol::Protocol;

/// The quantities computed so far for `n` users of a protocol under a prior.
#[derive(Debug, Default)]
pub(super) struct FiniteUsers {
    users: OnceLock<Result<UsersSide, Absence>>,
    distribution: OnceLock<Result<Evaluation, Absence>>,
    tally: OnceLock<Result<Evaluation, Absence>>,
}

/// A question about `n` users.
pub(super) struct Question<'a> {
    pub protocol: &'a Protocol,
    pub prior: &'a Prior,
    pub n: u64,
    pub settings: &'a Settings,
    pub observer: Option<Observer<'a>>,
    /// `I(X;Y|P)` of one user.
    pub leakage: Result<Evaluation, Absence>,
    /// What the approximation needs at any number of users.
    pub bridged: &'a OnceLock<Result<Bridged, Absence>>,
}

/// The automatic choice takes an exact method if it needs at most this many steps: about a second.
const QUICK: f64 = 1e9;

/// Users times values beyond which Monte Carlo is not tried: it would take hours, or more memory than there is.
pub const MOST_SAMPLED: f64 = 1e11;

/// Users times values up to which an approximated number is checked by a short Monte Carlo run.
const MOST_CHECKED: f64 = 4e5;

/// Draws of such a run.
const CHECK_DRAWS: u64 = 64;

/// Smallest parameter, largest ratio of parameters and highest level for which the error of the limit of `I(Y⃗;T|P)` was calibrated.
const GROUP_CALIBRATED: [f64; 3] = [0.5, 4.0, 4.0];

/// Rounding of a sampled `I(Y⃗;P)`, for each report: randomised response on three values was off by `1.6e-14 n` for `n` from 10¹⁰ to 10¹².
const SAMPLED_ROUNDING: f64 = 2e-14;

/// Default error of `U^distr` and of `U^tally`.
const SHARE_TOLERANCE: f64 = 0.002;

/// Default error of `U^digit`.
const DIGIT_TOLERANCE: f64 = 0.005;

/// No smaller error is asked for by default, in nats.
const SMALLEST_TOLERANCE: f64 = 0.01;

impl Question<'_> {
    /// Target error of `I(Y⃗;P)` in nats: what a reader of the utilities can see.
    fn tolerance(&self) -> f64 {
        self.settings.tolerance.unwrap_or_else(|| {
            let digits = DIGIT_TOLERANCE * (self.protocol.inputs() as f64 - 1.0);
            let share = SHARE_TOLERANCE * self.known_to_users(false);
            digits.min(share).max(SMALLEST_TOLERANCE)
        })
    }

    /// Target error of `I(Y⃗;T)` in nats.
    fn tally_tolerance(&self) -> f64 {
        let share = || (SHARE_TOLERANCE * self.known_to_users(true)).max(SMALLEST_TOLERANCE);
        self.settings.tolerance.unwrap_or_else(share)
    }

    /// `I(X⃗;P)`, or `H(T)`, under the components of the prior; 0 under other priors.
    fn known_to_users(&self, tally: bool) -> f64 {
        let parts = self.prior.dirichlets().unwrap_or_default();
        let known = |dirichlet| {
            let side = users_side(dirichlet, self.n);
            if tally { side.tally().value } else { side.distribution.value }
        };
        parts.into_iter().map(|(weight, dirichlet)| weight * known(dirichlet)).sum()
    }

    /// The root mean square relative error of the joint probability of all reports: errors of single reports
    /// have mean 0 given the values, since columns sum to 1. Randomised response is not computed from its
    /// matrix.
    fn rounding(&self) -> f64 {
        match self.protocol {
            Protocol::GeneralisedRandomisedResponse(_) => 0.0,
            protocol => (self.n as f64).sqrt() * protocol.rounding(),
        }
    }

    fn options(&self) -> InformationOptions<'_> {
        let default = InformationOptions::default();
        InformationOptions {
            choice: self.settings.choice,
            tolerance: self.tolerance(),
            seed: self.settings.seed,
            ..default
        }
    }

    /// The approximation of `I(Y⃗;P)`.
    fn approximation(&self) -> Result<Evaluation, Absence> {
        let prepare = || Bridged::new(self.protocol, self.prior, self.settings);
        Ok(self.bridged.get_or_init(prepare).as_ref().map_err(Clone::clone)?.information(self.n))
    }

    /// `I(Y⃗;P)`: exact if that is quick, then approximated if that is accurate enough, then by all other means.
    fn automatic(&self) -> Result<Evaluation, Absence> {
        let one = || one_report(self.protocol, self.prior, self.settings).ok();
        if let Some(found) = (self.n == 1).then(one).flatten() {
            return Ok(found);
        }
        let quick = InformationOptions { choice: Choice::Exact, work_budget: QUICK, ..self.options() };
        if let Ok(found) = distribution_information(self.protocol, self.prior, self.n, &quick) {
            return Ok(found.of_rounded(self.rounding()));
        }
        match self.approximation() {
            Ok(found) if found.error <= self.tolerance() || self.too_many_to_sample() => Ok(found),
            Ok(found) => self.information().or(Ok(found)),
            Err(_) => self.information(),
        }
    }

    /// Whether the reports of all users are too many to be drawn.
    fn too_many_to_sample(&self) -> bool {
        self.n as f64 * self.protocol.inputs() as f64 > MOST_SAMPLED
    }

    /// `I(Y⃗;T|P)` from its limit for many users.
    ///
    /// The limit is reached like `1/n` from the leakage of one user, at `n = 1`. The error is calibrated with
    /// `a` values: `(4 + a/4)/n` of the difference and of a quarter of the limit (`tests/tally_constant.rs`).
    fn group_approximation(&self) -> Result<Evaluation, Absence> {
        let classes = self.protocol.classes()? as f64;
        let constant = group_constant(self.protocol, self.prior, self.settings)?;
        let users = self.n as f64;
        let limit = constant.plus(Evaluation::closed_form(0.5 * (classes - 1.0) * users.ln(), 1));
        let leakage = self.leakage.clone()?.value;
        let share = ((4.0 + 0.25 * self.protocol.inputs() as f64) / users).min(1.0);
        let most = users_group(self.prior, self.n).map_or(f64::INFINITY, |group| group.value.max(0.0));
        let value = limit.value.clamp(0.0, most);
        // Between 0 and H(T|P) in any case.
        let widest = value.max(most - value);
        let calibrated = limit.error + ((limit.value - leakage).abs() + 0.25 * limit.value.abs()) * share;
        let error = if self.group_is_calibrated() { calibrated.min(widest) } else { widest };
        Ok(Evaluation::new(value, error, Method::Approximation))
    }

    /// Whether the error of the limit of `I(Y⃗;T|P)` was calibrated for such a protocol and prior. Outputs in several classes, low privacy and
    /// rare values need many more users: for randomised response with `ε = 8` and `Beta(0.3, 5)` the limit is still missed by 4 % at `n = 1000`.
    fn group_is_calibrated(&self) -> bool {
        let parameters: Vec<f64> = self
            .prior
            .dirichlets()
            .unwrap_or_default()
            .into_iter()
            .flat_map(|(_, dirichlet)| dirichlet.alpha().to_vec())
            .collect();
        let smallest = parameters.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = parameters.iter().copied().fold(0.0, f64::max);
        let [least_parameter, most_uneven, highest_level] = GROUP_CALIBRATED;
        smallest >= least_parameter
            && largest <= most_uneven * smallest
            && self.protocol.level().is_ok_and(|level| level <= highest_level)
            && self.protocol.classes().is_ok_and(|classes| classes == 1)
    }

    /// `I(Y⃗;P)` by the chosen method.
    fn information(&self) -> Result<Evaluation, Absence> {
        self.observed(Metric::AggregatorDistribution, |options| {
            let found = distribution_information(self.protocol, self.prior, self.n, options)?;
            Ok(self.with_rounding(found).of_rounded(self.rounding()))
        })
    }

    /// Log-likelihoods of `n` reports are sums of size `n`, and their rounding does not average out over draws.
    fn with_rounding(&self, found: Evaluation) -> Evaluation {
        let rounding =
            if found.method == Method::MonteCarlo { SAMPLED_ROUNDING * self.n as f64 } else { 0.0 };
        Evaluation { error: found.error.hypot(rounding), ..found }
    }

    /// Computes `metric` with progress for the observer, unless the observer stops it before it starts.
    fn observed<T>(
        &self,
        metric: Metric,
        find: impl FnOnce(&InformationOptions<'_>) -> Result<T, Absence>,
    ) -> Result<T, Absence> {
        let (Some(observer), users) = (self.observer, self.n) else { return find(&self.options()) };
        let hears = |sampling: &Sampling| observer(&Progress::Metric { metric, users, sampling: *sampling });
        let start = Sampling { tolerance: self.tolerance(), ..Sampling::BEGUN };
        if hears(&start).is_break() {
            return Err(Absence::Stopped);
        }
        find(&InformationOptions { observer: Some(&hears), ..self.options() })
    }
}

impl FiniteUsers {
    /// The value of a metric that needs a number of users.
    pub(super) fn answer(&self, metric: Metric, question: &Question<'_>) -> Result<Evaluation, Absence> {
        let users = || self.users(question);
        let side = || self.aggregator(question);
        Ok(match metric {
            Metric::UsersDistribution => users()?.distribution,
            Metric::UsersTally => users()?.tally(),
            Metric::UsersGroup => users()?.group,
            Metric::UsersIndividual => users()?.individual,
            Metric::AggregatorDistribution => self.distribution(question)?,
            Metric::AggregatorTally => self.tally(question)?,
            Metric::AggregatorGroup => side()?.group(),
            Metric::AggregatorIndividual => side()?.individual(),
            Metric::AggregatorTotal => self.distribution(question)?.plus(private(question)?),
            Metric::AggregatorPrivate => private(question)?,
            Metric::DistributionUtility => {
                distribution_utility(self.distribution(question)?, users()?.distribution)
            }
            Metric::TallyUtility => tally_utility(self.tally(question)?, users()?.tally()),
            Metric::DigitUtility => self.digits(question)?,
            _ => {
                return Err(Absence::NoMethod {
                    what: "a metric that does not depend on the number of users",
                });
            }
        })
    }

    /// The users' side.
    pub(super) fn users(&self, question: &Question<'_>) -> Result<UsersSide, Absence> {
        let side = |options: &InformationOptions<'_>| users_side_of(question.prior, question.n, options);
        let find = || match question.prior {
            Prior::Dirichlet(_) => side(&question.options()),
            _ => question.observed(Metric::UsersDistribution, side),
        };
        self.users.get_or_init(find).clone()
    }

    /// The warning for an answered metric whose tolerance was not met.
    pub(super) fn shortfall(&self, metric: Metric, question: &Question<'_>) -> Option<String> {
        let tolerance = question.tolerance();
        let users = || Some(("I(X;P)", self.users.get()?.as_ref().ok()?.distribution, tolerance));
        let distribution = || Some(("I(Y;P)", *self.distribution.get()?.as_ref().ok()?, tolerance));
        let tally = || Some(("I(Y;T)", *self.tally.get()?.as_ref().ok()?, question.tally_tolerance()));
        let leakage = || {
            let leakage = *question.leakage.as_ref().ok()?;
            Some(("I(X;Y|P) of one user", leakage, question.settings.mean_tolerance()))
        };
        let parts = match metric {
            Metric::UsersDistribution | Metric::UsersTally => vec![users()],
            Metric::AggregatorDistribution | Metric::DigitUtility => vec![distribution()],
            Metric::AggregatorTally => vec![tally()],
            Metric::AggregatorGroup => vec![distribution(), tally()],
            Metric::AggregatorIndividual => vec![distribution(), tally(), leakage()],
            Metric::AggregatorTotal => vec![distribution(), leakage()],
            Metric::AggregatorPrivate => vec![leakage()],
            Metric::DistributionUtility => vec![distribution(), users()],
            Metric::TallyUtility => vec![tally(), users()],
            _ => vec![],
        };
        let short = |(what, found, wanted): (&str, Evaluation, f64)| {
            Some(format!("{what} {}", shortfall(found, wanted)?))
        };
        let said: Vec<String> = parts.into_iter().flatten().filter_map(short).collect();
        (!said.is_empty()).then(|| said.join("; "))
    }

    fn distribution(&self, question: &Question<'_>) -> Result<Evaluation, Absence> {
        let Question { protocol, prior, n, settings, .. } = *question;
        let find = || match settings.choice {
            Choice::Asymptote => {
                let constant = growth_constant(protocol, prior, settings)?;
                Ok(distribution_asymptote(protocol.rank()?.value, constant, n))
            }
            Choice::Approximation => question.approximation(),
            Choice::Automatic => question.automatic(),
            Choice::Exact | Choice::MonteCarlo => question.information(),
        };
        self.distribution.get_or_init(find).clone()
    }

    fn tally(&self, question: &Question<'_>) -> Result<Evaluation, Absence> {
        let Question { protocol, prior, n, settings, .. } = *question;
        let approximation = || Ok(self.distribution(question)?.plus(question.group_approximation()?));
        let find = || match settings.choice {
            Choice::Asymptote => {
                let constant = tally_constant(protocol, prior, settings)?;
                let degrees = (protocol.rank()?.value + protocol.classes()? - 2) as f64;
                let value = 0.5 * degrees * (n as f64).ln() + constant.value;
                Ok(Evaluation::new(value, f64::INFINITY, Method::Asymptote))
            }
            Choice::Approximation => approximation(),
            Choice::Automatic => {
                let quick =
                    InformationOptions { choice: Choice::Exact, work_budget: QUICK, ..question.options() };
                if let Ok(found) = tally_information(protocol, prior, n, &quick) {
                    return Ok(found.of_rounded(question.rounding()));
                }
                let tolerance = question.tally_tolerance();
                match approximation() {
                    Ok(found) if found.method == Method::Approximation && found.error <= tolerance => {
                        Ok(found)
                    }
                    _ => self.tally_in_full(question),
                }
            }
            Choice::Exact | Choice::MonteCarlo => self.tally_in_full(question),
        };
        self.tally.get_or_init(find).clone()
    }

    /// `I(Y⃗;T)`, exact or by Monte Carlo.
    fn tally_in_full(&self, question: &Question<'_>) -> Result<Evaluation, Absence> {
        let Question { protocol, prior, n, .. } = *question;
        // Its parts are computed one after the other, so that none is computed twice.
        let known = if by_parts(protocol) { self.distribution(question).ok() } else { None };
        question.observed(Metric::AggregatorTally, |options| {
            let options =
                InformationOptions { distribution: known, tolerance: question.tally_tolerance(), ..*options };
            Ok(tally_information(protocol, prior, n, &options)?.of_rounded(question.rounding()))
        })
    }

    /// A short Monte Carlo run for a number that was approximated; `None` if that would take more than about a
    /// second, or for other metrics.
    pub(super) fn sampled(&self, metric: Metric, question: &Question<'_>) -> Option<Evaluation> {
        let Question { protocol, prior, n, .. } = *question;
        if n as f64 * protocol.inputs() as f64 > MOST_CHECKED {
            return None;
        }
        let options =
            InformationOptions { choice: Choice::MonteCarlo, draws: CHECK_DRAWS, ..question.options() };
        let information = || distribution_information(protocol, prior, n, &options).ok();
        match metric {
            Metric::AggregatorDistribution => information(),
            Metric::DistributionUtility => {
                Some(distribution_utility(information()?, self.users(question).ok()?.distribution))
            }
            Metric::DigitUtility => {
                let entropy = prior_entropy(prior, question.settings).ok()?;
                Some(digit_utility(information()?, entropy, protocol.inputs()))
            }
            _ => None,
        }
    }

    fn aggregator(&self, question: &Question<'_>) -> Result<AggregatorSide, Absence> {
        let (distribution, tally) = (self.distribution(question)?, self.tally(question)?);
        let side = AggregatorSide::new(distribution, tally, question.leakage.clone()?, question.n);
        let nested = by_parts(question.protocol) && tally.method == Method::MonteCarlo;
        Ok(AggregatorSide { nested, ..side })
    }

    fn digits(&self, question: &Question<'_>) -> Result<Evaluation, Absence> {
        let Question { protocol, prior, settings, .. } = *question;
        let (rank, a) = (protocol.rank()?.value, protocol.inputs());
        if rank < a {
            return Err(Absence::NotFaithful { rank, a });
        }
        let entropy = prior_entropy(prior, settings)?;
        Ok(digit_utility(self.distribution(question)?, entropy, a))
    }
}

/// The warning if Monte Carlo ended before the target standard error. An excess of a hundredth is ignored:
/// the errors of exact parts are added after the last draw.
pub(super) fn shortfall(found: Evaluation, wanted: f64) -> Option<String> {
    let short = found.method == Method::MonteCarlo && found.error > 1.01 * wanted;
    short.then(|| format!("stopped at standard error {}, wanted {}", brief(found.error), brief(wanted)))
}

/// Two significant digits.
fn brief(error: f64) -> String {
    if (1e-3..10.0).contains(&error) {
        let places = (1.0 - error.log10().floor()) as usize;
        let text = format!("{error:.places$}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    format!("{error:.1e}").replace(".0e", "e")
}

/// `I(Y⃗;X⃗|P) = n I(X;Y|P)`.
fn private(question: &Question<'_>) -> Result<Evaluation, Absence> {
    Ok(question.leakage.clone()?.times(question.n as f64))
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::metric::Analysis;

    #[test]
    fn an_error_above_the_wanted_one_is_told() {
        let found = |error: f64, method: Method| Evaluation::new(1.0, error, method);
        let said = shortfall(found(0.0213, Method::MonteCarlo), 0.01);
        assert_eq!(said.as_deref(), Some("stopped at standard error 0.021, wanted 0.01"));
        let said = shortfall(found(12.0, Method::MonteCarlo), 1e-6);
        assert_eq!(said.as_deref(), Some("stopped at standard error 1.2e1, wanted 1e-6"));
        assert_eq!(shortfall(found(0.01, Method::MonteCarlo), 0.01), None);
        assert_eq!(shortfall(found(1.0, Method::Quadrature), 0.01), None);
    }

    #[test]
    fn an_observer_ends_the_running_number_and_leaves_out_the_next() {
        let (protocol, prior) = (Protocol::grr(4, 1.0).unwrap(), Prior::jeffreys(4).unwrap());
        let settings = Settings { tolerance: Some(1e-9), choice: Choice::MonteCarlo, ..Settings::default() };
        let stop = |progress: &Progress| match progress {
            Progress::Metric { metric: Metric::AggregatorDistribution, sampling, .. }
                if sampling.draws == 0 =>
            {
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Break(()),
        };
        let analysis = Analysis::with_settings(&protocol, &prior, settings).unwrap().observed_by(&stop);
        let found = analysis.answer(Metric::DistributionUtility, Some(50));
        assert!(found.number().unwrap().error > 1e-6, "{found:?}");
        assert!(found.warning.unwrap().starts_with("I(Y;P) stopped at standard error 0."));
        assert_eq!(analysis.answer(Metric::AggregatorTally, Some(50)).value, Err(Absence::Stopped));
        assert!(analysis.answer(Metric::AggregatorPrivate, Some(50)).value.is_ok());
    }
}
