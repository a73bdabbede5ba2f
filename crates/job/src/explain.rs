//! The job `explain`: what a metric is, for someone who meets it for the first time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sottovoce::{Metric, Observer};

use crate::contract::{Name, by_name};
use crate::error::Result;
use crate::metrics::metric;

/// Which metric is to be explained.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainRequest {
    /// The name of the metric; without it, all metrics are explained.
    #[serde(default)]
    #[schemars(with = "Option<Name<Metric>>")]
    pub metric: Option<String>,
}

/// A valid request for explanations.
#[derive(Clone, Copy, Debug)]
pub struct ExplainJob {
    metric: Option<Metric>,
}

/// The explanation of one metric, or of all.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ExplainReport {
    /// Whether a single metric was asked for; a terminal then shows all of its explanation, else only what each metric is.
    #[serde(skip)]
    pub single: bool,
    /// One entry for each metric.
    pub explanations: Vec<Explanation>,
}

/// What there is to know about a metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Explanation {
    /// The metric.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "Name<Metric>")]
    pub metric: Metric,
    /// How the paper writes it.
    pub symbol: &'static str,
    /// What it is, in a sentence.
    pub meaning: &'static str,
    /// Whether it depends on the number of users.
    pub needs_n: bool,
    /// The formula, in plain text.
    pub definition: &'static str,
    /// How to read it.
    pub reading: &'static str,
    /// Which values it can have.
    pub range: &'static str,
    /// How it is computed.
    pub cost: &'static str,
    /// Where the paper has it.
    pub paper: &'static str,
}

impl ExplainRequest {
    /// The job, if there is such a metric.
    ///
    /// # Errors
    /// As for [`metric`].
    pub fn check(&self) -> Result<ExplainJob> {
        Ok(ExplainJob { metric: self.metric.as_deref().map(metric).transpose()? })
    }
}

impl ExplainJob {
    /// The explanation.
    ///
    /// # Errors
    /// None so far.
    pub fn run(&self, _: Observer<'_>) -> Result<ExplainReport> {
        let metrics = self.metric.map_or_else(|| Metric::all().collect(), |metric| vec![metric]);
        let explanations = metrics.into_iter().map(explanation).collect();
        Ok(ExplainReport { single: self.metric.is_some(), explanations })
    }
}

/// What there is to know about a metric.
pub fn explanation(metric: Metric) -> Explanation {
    let of = |definition, reading, range, cost, paper| Explanation {
        metric,
        symbol: metric.symbol(),
        meaning: metric.meaning(),
        needs_n: metric.needs_users(),
        definition,
        reading,
        range,
        cost,
        paper,
    };
    match metric {
        Metric::LocalPrivacyLevel => of(
            "LDP(Q) = max over outputs y and inputs x, x' of ln( Q[y][x] / Q[y][x'] )",
            "How much a single report can change the odds between any two values, at worst: by a factor of e^LDP. It is a promise for every user, whatever others do and whatever is believed beforehand. It says nothing about how much a typical report tells.",
            "0 (reports say nothing) to infinity (some report rules a value out)",
            "closed form, from the structure of the protocol; a look at every entry for a matrix",
            "Def. \"local differential privacy\"; zero entries: errata, E1",
        ),
        Metric::WorstCasePrivacy => of(
            "S^wc(Q) = e^(-LDP(Q)), which is the least share H(X|Y=y,P=p) / H(X|P=p) over all y and p",
            "The share of a user's secret that is certain to stay hidden, whatever the report and whatever the distribution. It puts the LDP level on the same scale as average privacy, which is never below it.",
            "0 (nothing is certain to stay hidden) to 1 (reports say nothing)",
            "as ldp",
            "Def. and Thm. \"worst-case privacy\"",
        ),
        Metric::Rank => of(
            "d = rk Q",
            "The number of linearly independent rows: how many independent facts about the distribution reports can reveal at all. With d = a, enough reports pin the distribution down.",
            "1 to a",
            "known for every kind of protocol; singular values for matrices, with a warning when they leave doubt",
            "Def. \"faithful\" and Prop. \"faithful\"",
        ),
        Metric::Classes => of(
            "b' = number of classes of possible outputs, where outputs that share a possible input are in one class",
            "Outputs of different classes never come from the same value, so a report reveals its class for certain. Only protocols with an infinite LDP level have more than one.",
            "1 to the number of outputs",
            "known for every kind of protocol; a search through a matrix",
            "Def. before Thm. \"growth of I(Y;P)\"; errata, V6",
        ),
        Metric::Faithful => of(
            "whether rk Q = a",
            "If not, some distributions can never be told apart however many users report: utility then stays below that of the truth, u_as does not exist and f_mu is 0.",
            "true or false",
            "as rank",
            "Def. and Prop. \"faithful\"",
        ),
        Metric::UserEntropy => of(
            "H(X|P) = E_P [ - sum over x of P_x ln P_x ]",
            "What there is to hide: the uncertainty about one user's value that is left even when the distribution is known. It depends on the prior only.",
            "0 to ln a nats",
            "closed form (digamma functions); a sum over points",
            "section \"The LDP setting\"",
        ),
        Metric::PriorEntropy => of(
            "h(P) = - E_P [ ln density of the prior at P ], in a - 1 of the coordinates",
            "The differential entropy of the prior: how much is not known about the distribution beforehand. It can be negative, and depends on the coordinates, so only differences mean something.",
            "minus infinity to -ln (a-1)!, its value for the uniform prior",
            "closed form; Monte Carlo for a mixture of Dirichlets",
            "section \"Information-theoretic concepts\"; measure: errata, E2",
        ),
        Metric::TruthUtility => of(
            "C_mu = U_as of the identity = -(1/2) ln(2 pi e) - (1/(2a-2)) E_P [ sum over x of ln P_x ]",
            "The asymptotic utility of the truth itself: the ceiling of u_as for all protocols under this prior. The distance from it is what the noise costs, in digits to base e.",
            "at least -(1/2) ln(2 pi e) + a ln a / (2a-2); no upper bound",
            "closed form",
            "Lemma \"U_as is at most C_mu\"; lower bound: errata, V14",
        ),
        Metric::AveragePrivacy => of(
            "S_mu(Q) = H(X|Y,P) / H(X|P) = 1 - I(X;Y|P) / H(X|P)",
            "The share of a user's secret that stays hidden on average, from an aggregator who already knows the distribution. It averages over users and reports: erasure with S_mu = 0.9 tells the whole truth about one user in ten. Ask for a finite ldp too when every single user is to be protected.",
            "S^wc to 1; 0 for the truth, 1 when reports say nothing. The same for any number of users",
            "one-dimensional integrals, O(a) each: a million values for randomised response, ten thousand for unary encodings",
            "Def. \"average privacy\", Lemma \"S_mu is at least S^wc\"",
        ),
        Metric::AsymptoticUtility => of(
            "U_as = -(1/2) ln(2 pi e) + (1/(2a-2)) E_P [ ln det of the Fisher information of a report ]",
            "Asymptotically, n reports teach U_as + (1/2) ln n digits (to base e) of each frequency. A difference of ln 10 between two protocols is one decimal digit.",
            "minus infinity to C_mu",
            "closed form or one-dimensional integrals for randomised response and square matrices; cubature for few values, quasi-Monte Carlo with a standard error for many",
            "Def. \"asymptotic utility\"; sign: errata, V3",
        ),
        Metric::EffectiveParticipation => of(
            "F_mu = e^(2 (U_as - C_mu))",
            "n noisy reports teach as much about the distribution as F_mu * n true values would, asymptotically: what a report is worth. It depends strongly on the prior, and at a few hundred users the worth can be twice as high (see the job `users`).",
            "0 to 1; 1 for the truth, 0 for protocols that are not faithful",
            "as u_as",
            "Def. \"effective participation factor\"",
        ),
        Metric::UtilityBound => of(
            "ln( (1 - S^wc) / S^wc ) - (1/2) ln(2 pi e)",
            "No protocol with this worst-case privacy has a higher u_as, whatever the prior. Says nothing when above C_mu. It is never tight.",
            "minus infinity to infinity",
            "closed form",
            "Thm. \"tradeoff\"; tightness: errata, V13",
        ),
        Metric::ParticipationBound => of(
            "e^(-2 C_mu) / (2 pi e) * ( (1 - S^wc) / S^wc )^2",
            "No protocol with this worst-case privacy has a higher f_mu under this prior. Says nothing when above 1.",
            "0 to infinity",
            "closed form",
            "Thm. \"tradeoff\"; tightness and a bound for all priors: errata, V13 and V14",
        ),
        Metric::DistributionUtilityLimit => of(
            "(d - 1) / (a - 1)",
            "What u_distr approaches with more and more users: 1 for faithful protocols, less if some of the distribution stays out of reach. The approach is slow.",
            "0 to 1",
            "as rank",
            "Cor. \"limits of the utilities\"",
        ),
        Metric::TallyUtilityLimit => of(
            "(d + b' - 2) / (2a - 2)",
            "What u_tally approaches with more and more users. With noise it is at most 1/2: the tallies of this group beyond the distribution stay hidden.",
            "0 to 1",
            "as rank and classes",
            "Cor. \"limits of the utilities\"; errata, V8",
        ),
        Metric::GrowthConstant => of(
            "r_mu = lim of I(Y;P) - ((d - 1)/2) ln n, which is (a - 1) U_as + h(P) for faithful protocols",
            "The constant in the growth of what reports tell about the distribution. As an approximation at a finite n it is poor when the prior is singular at the boundary (Jeffreys: off by about n^(-1/4)).",
            "minus infinity to infinity",
            "as u_as and h_p",
            "Thm. \"growth of I(Y;P)\"; errata, V5 and E5",
        ),
        Metric::GroupInformationLimit => of(
            "lim of I(Y;T|P) = (1/2) E ln [ det J_X(P) / det(J_X(P) - J_Y(P)) ], with the Fisher information J_X of a true value and J_Y of a report",
            "What many reports tell about who is in this group of users, beyond what they tell about the distribution. It is finite unless outputs fall into several classes. At levels up to 4 it is reached with few users.",
            "0 to infinity",
            "as u_as: the mean of a log-determinant over the prior",
            "Thm. \"growth of I(Y;T)\"; closed form in docs/derivations.md",
        ),
        Metric::TallyConstant => of(
            "s_mu(Q) = lim of I(Y;T) - ((d + b' - 2)/2) ln n, which is r_mu + lim of I(Y;T|P) if all outputs are in one class",
            "The constant in the growth of what reports tell about the tallies. Not to be confused with average privacy S_mu.",
            "minus infinity to infinity",
            "as r_mu and limit_i_y_t_given_p",
            "Thm. \"growth of I(Y;T)\"; closed form in docs/derivations.md",
        ),
        Metric::UsersDistribution => of(
            "I(X;P) for all n users",
            "The nonprivate part of what the users know: what their true values would tell about the distribution. It is what a collection is for, and what utility is measured against.",
            "0 to infinity; grows like ((a-1)/2) ln n",
            "exact at any n: one-dimensional sums, expansions beyond ten million users",
            "Table \"information split\"; errata, V1",
        ),
        Metric::UsersTally => of(
            "H(T) = I(X;P) + H(T|P)",
            "The information in the true tallies: how many users hold each value.",
            "0 to the logarithm of the number of tallies",
            "as i_x_p",
            "Table \"information split\"",
        ),
        Metric::UsersGroup => of(
            "H(T|P)",
            "The group-private part: what the tallies of this very group say beyond the distribution it was drawn from. It concerns nobody alone, but nobody outside the group either.",
            "0 to infinity; grows like ((a-1)/2) ln n",
            "as i_x_p",
            "Table \"information split\"",
        ),
        Metric::UsersIndividual => of(
            "H(X|T) for all n users",
            "The individual private part: who holds what, once the tallies are known. As n grows it is nearly everything that they know.",
            "0 (one user) to n ln a",
            "as i_x_p",
            "Table \"information split\"",
        ),
        Metric::AggregatorDistribution => of(
            "I(Y;P) for all n reports",
            "What the reports tell about the distribution: the useful part.",
            "0 to I(X;P)",
            "sums over all tallies while that is affordable, Monte Carlo with a standard error beyond",
            "Table \"information split\", Prop. on GRR; errata, V10",
        ),
        Metric::AggregatorTally => of(
            "I(Y;T) for all n reports",
            "What the reports tell about the true tallies of this group.",
            "0 to H(T)",
            "as i_y_p; beyond exact sums only for randomised response, the truth, and two values",
            "Table \"information split\"",
        ),
        Metric::AggregatorGroup => of(
            "I(Y;T|P) for all n reports",
            "What the reports tell about this group's tallies beyond the distribution. With noise it stays bounded however many users there are.",
            "0 to H(T|P)",
            "as i_y_t",
            "Table \"information split\", Thm. \"I(Y;T|P)\"",
        ),
        Metric::AggregatorIndividual => of(
            "I(Y;X|T) for all n reports",
            "What the reports tell about who holds what: what a collection should not tell.",
            "0 to H(X|T)",
            "as i_y_t",
            "Table \"information split\"",
        ),
        Metric::AggregatorTotal => of(
            "I(Y;X) for all n reports = I(Y;P) + n I(X_i;Y_i|P)",
            "All that the reports tell, useful and private.",
            "0 to H(X)",
            "as i_y_p",
            "Table \"information split\"",
        ),
        Metric::AggregatorPrivate => of(
            "I(Y;X|P) = n I(X_i;Y_i|P) = n (1 - S_mu) H(X|P)",
            "Private information that the reports leak, of all users together.",
            "0 to n H(X|P)",
            "as s_mu",
            "Table \"information split\", Lemma before Def. \"average privacy\"",
        ),
        Metric::DistributionUtility => of(
            "U_distr = I(Y;P) / I(X;P)",
            "The share of what the true values tell about the distribution that the reports keep.",
            "0 to 1; approaches limit_u_distr slowly",
            "as i_y_p",
            "Def. \"utility\"",
        ),
        Metric::TallyUtility => of(
            "U_tally = I(Y;T) / H(T)",
            "The share of the information in the true tallies that the reports keep: for those who care about this group, not the population it comes from.",
            "0 to 1; approaches limit_u_tally",
            "as i_y_t",
            "Def. \"utility\"; mixtures: errata, V21",
        ),
        Metric::DigitUtility => of(
            "U_digit = ( I(Y;P) - h(P) ) / (a - 1)",
            "How many digits (to base e) of each frequency the reports pin down; divide by ln 10 = 2.303 for decimal digits. A frequency that is known with a normal error of standard deviation s counts -ln(4.13 s) digits: 2 decimal digits are s = 0.24 percentage points. What the prior alone pins down, -h(P)/(a-1), is included. For an error in percentage points, see the job `accuracy`.",
            "-h(P)/(a-1) to infinity; grows like (1/2) ln n; does not exist for protocols that are not faithful",
            "as i_y_p",
            "Def. and Lemma \"digit utility\"; errata, V7 and V15",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Render;

    #[test]
    fn every_metric_is_explained_in_full() {
        for metric in Metric::all() {
            let Explanation { definition, reading, range, cost, paper, .. } = explanation(metric);
            for words in [definition, reading, range, cost, paper] {
                assert!(words.len() > 5, "{metric}: {words}");
                assert_eq!(words.ends_with('.'), words == reading, "{metric}: {words}");
            }
            let report = ExplainReport { single: true, explanations: vec![explanation(metric)] };
            let text = report.text().to_string();
            assert!(
                text.contains(metric.name()) && text.lines().all(|line| line.chars().count() <= 80),
                "{text}"
            );
        }
    }
}
