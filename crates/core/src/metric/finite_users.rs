//! The metrics that depend on the number of users, each number computed once.

use std::cell::OnceCell;

use super::answer::Absence;
use super::{Settings, growth_constant, prior_entropy};
use crate::evaluation::Evaluation;
use crate::information::{
    AggregatorSide, Choice, Observer, Options, UsersSide, digit_utility, distribution_asymptote,
    distribution_information, distribution_utility, tally_information, tally_utility, users_side_of,
};
use crate::metric::Metric;
use crate::prior::Prior;
use crate::protocol::Protocol;

/// What is known so far about `n` users of a protocol under a prior.
#[derive(Debug, Default)]
pub(super) struct FiniteUsers {
    users: OnceCell<Result<UsersSide, Absence>>,
    distribution: OnceCell<Result<Evaluation, Absence>>,
    tally: OnceCell<Result<Evaluation, Absence>>,
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
}

impl Question<'_> {
    fn options(&self) -> Options<'_> {
        let default = Options::default();
        Options {
            choice: self.settings.choice,
            tolerance: self.settings.tolerance.unwrap_or(default.tolerance),
            seed: self.settings.seed,
            observer: self.observer,
            ..default
        }
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

    fn users(&self, question: &Question<'_>) -> Result<UsersSide, Absence> {
        let find = || users_side_of(question.prior, question.n, &question.options());
        self.users.get_or_init(find).clone()
    }

    fn distribution(&self, question: &Question<'_>) -> Result<Evaluation, Absence> {
        let Question { protocol, prior, n, settings, .. } = *question;
        let find = || match settings.choice {
            Choice::Asymptote => {
                let constant = growth_constant(protocol, prior, settings)?;
                Ok(distribution_asymptote(protocol.rank()?.value, constant, n))
            }
            _ => distribution_information(protocol, prior, n, &question.options()),
        };
        self.distribution.get_or_init(find).clone()
    }

    fn tally(&self, question: &Question<'_>) -> Result<Evaluation, Absence> {
        let Question { protocol, prior, n, settings, .. } = *question;
        let find = || match settings.choice {
            Choice::Asymptote => {
                Err(Absence::NoMethod { what: "the asymptote of I(Y;T), whose constant is not known" })
            }
            _ => tally_information(protocol, prior, n, &question.options()),
        };
        self.tally.get_or_init(find).clone()
    }

    fn aggregator(&self, question: &Question<'_>) -> Result<AggregatorSide, Absence> {
        let (distribution, tally) = (self.distribution(question)?, self.tally(question)?);
        Ok(AggregatorSide::new(distribution, tally, question.leakage.clone()?, question.n))
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

/// `I(Y⃗;X⃗|P) = n I(X;Y|P)`.
fn private(question: &Question<'_>) -> Result<Evaluation, Absence> {
    Ok(question.leakage.clone()?.times(question.n as f64))
}
