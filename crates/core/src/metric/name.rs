//! The names of the metrics, what each means, and which need a number of users.

use std::fmt;
use std::str::FromStr;

use crate::model::error::Error;

/// A metric of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    /// `LDP(Q)`.
    LocalPrivacyLevel,
    /// `S^wc(Q) = e^{−LDP(Q)}`.
    WorstCasePrivacy,
    /// `d = rk Q`.
    Rank,
    /// `b'`, the number of classes of outputs.
    Classes,
    /// Whether `d = a`.
    Faithful,
    /// `H(X_i | P)`.
    UserEntropy,
    /// `h(P)`.
    PriorEntropy,
    /// `C_μ`, the asymptotic utility of the identity protocol.
    TruthUtility,
    /// `S_μ(Q)`.
    AveragePrivacy,
    /// `U^as_μ(Q)`.
    AsymptoticUtility,
    /// `F_μ(Q)`.
    EffectiveParticipation,
    /// The tradeoff theorem's bound on `U^as_μ`.
    UtilityBound,
    /// The tradeoff theorem's bound on `F_μ`.
    ParticipationBound,
    /// The limit of `U^distr`.
    DistributionUtilityLimit,
    /// The limit of `U^tally`.
    TallyUtilityLimit,
    /// `r_μ(Q)`, the constant in the growth of `I(Y⃗;P)`.
    GrowthConstant,
    /// The limit of `I(Y⃗;T | P)`.
    GroupInformationLimit,
    /// `s_μ(Q)`, the constant in the growth of `I(Y⃗;T)`.
    TallyConstant,
    /// `I(X⃗;P)`.
    UsersDistribution,
    /// `H(T)`.
    UsersTally,
    /// `H(T | P)`.
    UsersGroup,
    /// `H(X⃗ | T)`.
    UsersIndividual,
    /// `I(Y⃗;P)`.
    AggregatorDistribution,
    /// `I(Y⃗;T)`.
    AggregatorTally,
    /// `I(Y⃗;T | P)`.
    AggregatorGroup,
    /// `I(Y⃗;X⃗ | T)`.
    AggregatorIndividual,
    /// `I(Y⃗;X⃗)`.
    AggregatorTotal,
    /// `I(Y⃗;X⃗ | P)`.
    AggregatorPrivate,
    /// `U^distr_{n,μ}(Q)`.
    DistributionUtility,
    /// `U^tally_{n,μ}(Q)`.
    TallyUtility,
    /// `U^digit_{n,μ}(Q)`.
    DigitUtility,
}

/// Metric, name for programs, symbol for people, and its meaning in one plain line.
type Entry = (Metric, &'static str, &'static str, &'static str);

const TABLE: [Entry; 31] = {
    use Metric as M;
    [
        (
            M::LocalPrivacyLevel,
            "ldp",
            "LDP",
            "worst-case privacy loss of a report, in nats; lower means more private",
        ),
        (
            M::WorstCasePrivacy,
            "s_wc",
            "S^wc",
            "share of a user's secret that stays hidden in the worst case; higher means more private",
        ),
        (M::Rank, "rank", "rk Q", "number of independent facts about P that reports can reveal"),
        (
            M::Classes,
            "classes",
            "b'",
            "number of groups of outputs that never mix; 1 for protocols with a finite LDP level",
        ),
        (M::Faithful, "faithful", "faithful", "whether enough reports pin down P completely"),
        (M::UserEntropy, "h_x_given_p", "H(X|P)", "private information of one user, in nats"),
        (M::PriorEntropy, "h_p", "h(P)", "differential entropy of the prior, in nats"),
        (
            M::TruthUtility,
            "c_mu",
            "C_mu",
            "u_as of the truth itself: the ceiling for all protocols under this prior",
        ),
        (
            M::AveragePrivacy,
            "s_mu",
            "S_mu",
            "share of a user's secret that stays hidden on average; higher means more private",
        ),
        (
            M::AsymptoticUtility,
            "u_as",
            "U_as",
            "what n reports teach of each frequency, in digits to base e, less (ln n)/2, for many users; higher (nearer c_mu) means more useful",
        ),
        (
            M::EffectiveParticipation,
            "f_mu",
            "F_mu",
            "n noisy reports teach as much about P as F_mu * n true values, for many users; higher means more useful",
        ),
        (
            M::UtilityBound,
            "tradeoff_u_as",
            "max U_as",
            "no protocol with this worst-case privacy has a higher u_as; says nothing when above c_mu",
        ),
        (
            M::ParticipationBound,
            "tradeoff_f_mu",
            "max F_mu",
            "no protocol with this worst-case privacy has a higher f_mu; says nothing when above 1",
        ),
        (
            M::DistributionUtilityLimit,
            "limit_u_distr",
            "lim U_distr",
            "distribution utility that is approached with more and more users",
        ),
        (
            M::TallyUtilityLimit,
            "limit_u_tally",
            "lim U_tally",
            "tally utility that is approached with more and more users",
        ),
        (
            M::GrowthConstant,
            "r_mu",
            "r_mu",
            "I(Y;P) approaches (d-1)/2 * ln n + r_mu with more and more users",
        ),
        (
            M::GroupInformationLimit,
            "limit_i_y_t_given_p",
            "lim I(Y;T|P)",
            "nats that n reports tell about the tallies beyond the distribution, asymptotically",
        ),
        (
            M::TallyConstant,
            "tally_constant",
            "s_mu(Q)",
            "nats that n reports tell about the tallies, less (d+b'-2)/2 ln n, asymptotically; not to be confused with S_mu",
        ),
        (M::UsersDistribution, "i_x_p", "I(X;P)", "what the users' true values tell about P, in nats"),
        (M::UsersTally, "h_t", "H(T)", "information in the true tallies, in nats"),
        (M::UsersGroup, "h_t_given_p", "H(T|P)", "information in the true tallies beyond P, in nats"),
        (
            M::UsersIndividual,
            "h_x_given_t",
            "H(X|T)",
            "information in who holds what, beyond the tallies, in nats",
        ),
        (M::AggregatorDistribution, "i_y_p", "I(Y;P)", "what the reports tell about P, in nats"),
        (M::AggregatorTally, "i_y_t", "I(Y;T)", "what the reports tell about the true tallies, in nats"),
        (
            M::AggregatorGroup,
            "i_y_t_given_p",
            "I(Y;T|P)",
            "what the reports tell about the true tallies beyond P, in nats",
        ),
        (
            M::AggregatorIndividual,
            "i_y_x_given_t",
            "I(Y;X|T)",
            "what the reports tell about who holds what, in nats",
        ),
        (M::AggregatorTotal, "i_y_x", "I(Y;X)", "all that the reports tell about the true values, in nats"),
        (
            M::AggregatorPrivate,
            "i_y_x_given_p",
            "I(Y;X|P)",
            "private information that the reports leak, in nats",
        ),
        (
            M::DistributionUtility,
            "u_distr",
            "U_distr",
            "share of what the true values tell about P that the reports keep; higher means more useful",
        ),
        (
            M::TallyUtility,
            "u_tally",
            "U_tally",
            "share of the information in the true tallies that the reports keep; higher means more useful",
        ),
        (
            M::DigitUtility,
            "u_digit",
            "U_digit",
            "digits of each frequency learned, in base e; higher means more useful",
        ),
    ]
};

impl Metric {
    /// All metrics, in the order of the paper.
    pub fn all() -> impl Iterator<Item = Metric> {
        TABLE.iter().map(|entry| entry.0)
    }

    fn entry(self) -> &'static Entry {
        // Unwrap safety: a unit test finds each metric in the table.
        TABLE.iter().find(|entry| entry.0 == self).unwrap()
    }

    /// The name used in JSON and on the command line.
    pub fn name(self) -> &'static str {
        self.entry().1
    }

    /// The paper's symbol, in plain text.
    pub fn symbol(self) -> &'static str {
        self.entry().2
    }

    /// What the metric means, in one plain line.
    pub fn meaning(self) -> &'static str {
        self.entry().3
    }

    /// Whether the metric depends on the number of users.
    pub fn needs_users(self) -> bool {
        self >= Metric::UsersDistribution
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Metric {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let entry = TABLE.iter().find(|entry| entry.1 == name);
        entry.map(|entry| entry.0).ok_or_else(|| Error::UnknownName { what: "metric", name: name.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_complete_and_in_order() {
        assert!(Metric::all().is_sorted());
        assert_eq!(Metric::all().last(), Some(Metric::DigitUtility));
        for metric in Metric::all() {
            assert_eq!(metric.name().parse(), Ok(metric));
        }
    }

    #[test]
    fn exactly_the_finite_metrics_need_users() {
        assert_eq!(Metric::all().filter(|m| m.needs_users()).count(), 13);
        assert!(!Metric::GrowthConstant.needs_users());
    }
}
