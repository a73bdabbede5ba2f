//! The metrics that depend on the number of users, each number computed once.

use std::sync::OnceLock;

use super::watch::{Sought, Step, Watcher};
use super::{Settings, growth_constant, prior_entropy};
use crate::information::{
    AggregatorSide, Choice, InformationOptions, Progress, UsersSide, by_parts, digit_utility,
    distribution_asymptote, distribution_information, distribution_utility, tally_information, tally_utility,
    users_side_of,
};
use crate::metric::Metric;
use crate::model::absence::Absence;
use crate::model::evaluation::{Evaluation, Method};
use crate::model::prior::Prior;
use crate::model::protocol::Protocol;

/// What is known so far about `n` users of a protocol under a prior.
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
    pub watcher: Option<Watcher<'a>>,
    /// `I(X;Y|P)` of one user.
    pub leakage: Result<Evaluation, Absence>,
}

impl Question<'_> {
    /// Wanted standard error of Monte Carlo.
    fn tolerance(&self) -> f64 {
        self.settings.tolerance.unwrap_or(InformationOptions::default().tolerance)
    }

    /// The relative error of the probabilities of all reports, in the mean square: those of single reports have mean 0 given who sent them, since columns sum
    /// to 1. Randomised response is not found from its matrix.
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

    /// Finds `metric` while the watcher hears of it, unless the watcher has had enough before it is begun.
    fn watched<T>(
        &self,
        metric: Metric,
        find: impl FnOnce(&InformationOptions<'_>) -> Result<T, Absence>,
    ) -> Result<T, Absence> {
        let (Some(watcher), users) = (self.watcher, self.n) else { return find(&self.options()) };
        let hears = |progress: &Progress| {
            watcher(&Step { sought: Sought::Metric(metric), users, progress: *progress })
        };
        let start = Progress { draws: 0, value: f64::NAN, error: f64::INFINITY, tolerance: self.tolerance() };
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

    /// What the users know.
    pub(super) fn users(&self, question: &Question<'_>) -> Result<UsersSide, Absence> {
        let side = |options: &InformationOptions<'_>| users_side_of(question.prior, question.n, options);
        let find = || match question.prior {
            Prior::Dirichlet(_) => side(&question.options()),
            _ => question.watched(Metric::UsersDistribution, side),
        };
        self.users.get_or_init(find).clone()
    }

    /// What a metric that has been answered says about a tolerance that was not met.
    pub(super) fn shortfall(&self, metric: Metric, question: &Question<'_>) -> Option<String> {
        let tolerance = question.tolerance();
        let users = || Some(("I(X;P)", self.users.get()?.as_ref().ok()?.distribution, tolerance));
        let distribution = || Some(("I(Y;P)", *self.distribution.get()?.as_ref().ok()?, tolerance));
        let tally = || Some(("I(Y;T)", *self.tally.get()?.as_ref().ok()?, tolerance));
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
            _ => question.watched(Metric::AggregatorDistribution, |options| {
                Ok(distribution_information(protocol, prior, n, options)?.of_rounded(question.rounding()))
            }),
        };
        self.distribution.get_or_init(find).clone()
    }

    fn tally(&self, question: &Question<'_>) -> Result<Evaluation, Absence> {
        let Question { protocol, prior, n, settings, .. } = *question;
        let find = || match settings.choice {
            Choice::Asymptote => {
                Err(Absence::NoMethod { what: "the asymptote of I(Y;T), whose constant is not known" })
            }
            _ => {
                // Its parts are found one after the other, so that none is found twice.
                let known = if by_parts(protocol) { self.distribution(question).ok() } else { None };
                question.watched(Metric::AggregatorTally, |options| {
                    let options = InformationOptions { distribution: known, ..*options };
                    Ok(tally_information(protocol, prior, n, &options)?.of_rounded(question.rounding()))
                })
            }
        };
        self.tally.get_or_init(find).clone()
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

/// What there is to say when Monte Carlo ended before the wanted standard error. A hundredth of it does not matter: the errors of
/// exact parts are added after the last draw.
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
    fn a_watcher_ends_the_running_number_and_leaves_out_the_next() {
        let (protocol, prior) = (Protocol::grr(4, 1.0).unwrap(), Prior::jeffreys(4).unwrap());
        let settings = Settings { tolerance: Some(1e-9), choice: Choice::MonteCarlo, ..Settings::default() };
        let stop = |step: &Step| match (step.sought, step.progress.draws) {
            (Sought::Metric(Metric::AggregatorDistribution), 0) => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        };
        let analysis = Analysis::with_settings(&protocol, &prior, settings).unwrap().watched_by(&stop);
        let found = analysis.answer(Metric::DistributionUtility, Some(50));
        assert!(found.number().unwrap().error > 1e-6, "{found:?}");
        assert!(found.warning.unwrap().starts_with("I(Y;P) stopped at standard error 0."));
        assert_eq!(analysis.answer(Metric::AggregatorTally, Some(50)).value, Err(Absence::Stopped));
        assert!(analysis.answer(Metric::AggregatorPrivate, Some(50)).value.is_ok());
    }
}
