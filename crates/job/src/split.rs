//! The job `split`: what the users know, and what of it the reports tell, in the paper's three parts.
//!
//! ```text
//!             nonprivate     group-private     individual private
//! users       I(X⃗;P)         H(T|P)            H(X⃗|T)
//! aggregator  I(Y⃗;P)         I(Y⃗;T|P)          I(Y⃗;X⃗|T)           [paper, Table "information split"]
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use sottovoce::information::{UsersSide, distribution_utility};
use sottovoce::metric::{Answer, Settings, Value};
use sottovoce::{Analysis, Evaluation, Method, Metric, Observer};

use crate::contract::{AnswerFields, MethodChoice, Name, Number, Whole, answer, whole};
use crate::error::Result;
use crate::metrics::MetricEvaluation;
use crate::source::Written;
use crate::spec::{PriorSpec, ProtocolSpec};
use crate::subject::{Subject, check_users};

/// Whose information split is wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitRequest {
    /// The protocol.
    pub protocol: Written<ProtocolSpec>,
    /// The prior.
    #[serde(default)]
    pub prior: Written<PriorSpec>,
    /// The number of users.
    #[serde(deserialize_with = "whole")]
    #[schemars(with = "Whole")]
    pub n: u64,
    /// Wanted absolute error, in nats; by default that of each metric.
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// Which method to use for metrics that depend on the number of users.
    #[serde(default)]
    pub method: MethodChoice,
    /// Seed of all random draws.
    #[serde(default, deserialize_with = "whole")]
    #[schemars(with = "Whole")]
    pub seed: u64,
}

/// A valid request for an information split.
#[derive(Clone, Debug)]
pub struct SplitJob {
    subject: Subject,
    n: u64,
}

/// The information split of `n` users.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SplitReport {
    /// The protocol, with all sizes filled in.
    pub protocol: ProtocolSpec,
    /// The prior.
    pub prior: PriorSpec,
    /// The number of users.
    pub n: u64,
    /// What the users know, in nats.
    pub users: Side,
    /// What the aggregator learns, in nats.
    pub aggregator: Side,
    /// The share of each part of the users' information that the aggregator obtains.
    pub share: Shares,
    /// `U^distr`, `U^tally` and `S_μ`.
    #[serde(rename = "evaluations")]
    pub utilities: Vec<MetricEvaluation>,
}

/// One side of the split: three parts and their sums.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Side {
    /// About the distribution `P`.
    #[serde(serialize_with = "answer")]
    #[schemars(with = "AnswerFields")]
    pub nonprivate: Answer,
    /// About the tallies `T` of this group, beyond `P`.
    #[serde(serialize_with = "answer")]
    #[schemars(with = "AnswerFields")]
    pub group_private: Answer,
    /// About who holds what, beyond `T`.
    #[serde(serialize_with = "answer")]
    #[schemars(with = "AnswerFields")]
    pub individual_private: Answer,
    /// The first two.
    #[serde(serialize_with = "answer")]
    #[schemars(with = "AnswerFields")]
    pub tally: Answer,
    /// The last two.
    #[serde(serialize_with = "answer")]
    #[schemars(with = "AnswerFields")]
    pub private: Answer,
    /// All three.
    #[serde(serialize_with = "answer")]
    #[schemars(with = "AnswerFields")]
    pub total: Answer,
}

/// The share of each part that the aggregator obtains; none where the users know nothing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Shares {
    /// About the distribution `P`.
    #[serde(serialize_with = "share_fields")]
    #[schemars(with = "ShareFields")]
    pub nonprivate: Option<Evaluation>,
    /// About the tallies `T` of this group, beyond `P`.
    #[serde(serialize_with = "share_fields")]
    #[schemars(with = "ShareFields")]
    pub group_private: Option<Evaluation>,
    /// About who holds what, beyond `T`.
    #[serde(serialize_with = "share_fields")]
    #[schemars(with = "ShareFields")]
    pub individual_private: Option<Evaluation>,
    /// The first two.
    #[serde(serialize_with = "share_fields")]
    #[schemars(with = "ShareFields")]
    pub tally: Option<Evaluation>,
    /// The last two.
    #[serde(serialize_with = "share_fields")]
    #[schemars(with = "ShareFields")]
    pub private: Option<Evaluation>,
    /// All three.
    #[serde(serialize_with = "share_fields")]
    #[schemars(with = "ShareFields")]
    pub total: Option<Evaluation>,
}

/// A share as JSON has it: only a null value where the users know nothing.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Share")]
struct ShareFields {
    value: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<Name<Method>>,
}

fn share_fields<S: Serializer>(share: &Option<Evaluation>, serializer: S) -> Result<S::Ok, S::Error> {
    let (value, error) = (share.map(|e| Number(e.value)), share.map(|e| Number(e.error)));
    ShareFields { value, error, method: share.map(|e| Name(e.method)) }.serialize(serializer)
}

/// The names of the parts and sums, in the order of [`Side::entries`].
pub const PARTS: [&str; 6] =
    ["nonprivate", "group_private", "individual_private", "tally", "private", "total"];

impl Side {
    /// The parts and sums, in the order of [`PARTS`].
    pub fn entries(&self) -> [&Answer; 6] {
        [
            &self.nonprivate,
            &self.group_private,
            &self.individual_private,
            &self.tally,
            &self.private,
            &self.total,
        ]
    }
}

impl Shares {
    /// The shares of two sides.
    fn of(aggregator: &Side, users: &Side) -> Self {
        let of = |aggregator: &Answer, users: &Answer| share(aggregator.number()?, users.number()?);
        Shares {
            nonprivate: of(&aggregator.nonprivate, &users.nonprivate),
            group_private: of(&aggregator.group_private, &users.group_private),
            individual_private: of(&aggregator.individual_private, &users.individual_private),
            tally: of(&aggregator.tally, &users.tally),
            private: of(&aggregator.private, &users.private),
            total: of(&aggregator.total, &users.total),
        }
    }

    /// The shares, in the order of [`PARTS`].
    pub fn entries(&self) -> [Option<Evaluation>; 6] {
        [self.nonprivate, self.group_private, self.individual_private, self.tally, self.private, self.total]
    }
}

/// The part of the users' information that the aggregator obtains, unless the users have none.
fn share(aggregator: Evaluation, users: Evaluation) -> Option<Evaluation> {
    // With one user nothing is known about who holds what; what is left is rounding.
    (users.value > 1e-12 && users.value > 4.0 * users.error).then(|| distribution_utility(aggregator, users))
}

impl SplitRequest {
    /// The job, if all of it is valid.
    ///
    /// # Errors
    /// The protocol, the prior, the number of users or a setting is out of range.
    pub fn check(&self) -> Result<SplitJob> {
        let settings = Settings { tolerance: self.tolerance, seed: self.seed, choice: self.method.into() };
        let subject = Subject::new(&self.protocol, &self.prior, settings)?;
        check_users(&[self.n])?;
        subject.admit(Metric::AggregatorTally, Some(self.n))?;
        Ok(SplitJob { subject, n: self.n })
    }
}

impl SplitJob {
    /// The split. If the observer stops it, the parts that are not known by then have no value.
    ///
    /// # Errors
    /// None so far.
    pub fn run(&self, observer: Observer<'_>) -> Result<SplitReport> {
        let analysis = self.subject.analysis(observer);
        let utility = |metric: Metric| {
            let users = metric.needs_users().then_some(self.n);
            MetricEvaluation { metric, users, answer: analysis.answer(metric, users) }
        };
        let utilities = [Metric::DistributionUtility, Metric::TallyUtility, Metric::AveragePrivacy];
        let utilities = utilities.map(utility).into();
        let (users, aggregator) = (users(&analysis, self.n), aggregator(&analysis, self.n));
        Ok(SplitReport {
            protocol: self.subject.protocol.spec.clone(),
            prior: self.subject.prior_spec.clone(),
            n: self.n,
            share: Shares::of(&aggregator, &users),
            users,
            aggregator,
            utilities,
        })
    }
}

fn users(analysis: &Analysis<'_>, n: u64) -> Side {
    let answer = |metric: Metric| analysis.answer(metric, Some(n));
    let nonprivate = answer(Metric::UsersDistribution);
    let sum = |of: fn(&UsersSide) -> Evaluation, warning: Option<String>| Answer {
        value: analysis.users_side(n).map(|side| Value::Number(of(&side))),
        warning,
        bracketed: false,
    };
    Side {
        group_private: answer(Metric::UsersGroup),
        individual_private: answer(Metric::UsersIndividual),
        tally: answer(Metric::UsersTally),
        private: sum(UsersSide::private, None),
        total: sum(UsersSide::total, nonprivate.warning.clone()),
        nonprivate,
    }
}

fn aggregator(analysis: &Analysis<'_>, n: u64) -> Side {
    let answer = |metric: Metric| analysis.answer(metric, Some(n));
    Side {
        nonprivate: answer(Metric::AggregatorDistribution),
        group_private: answer(Metric::AggregatorGroup),
        individual_private: answer(Metric::AggregatorIndividual),
        tally: answer(Metric::AggregatorTally),
        private: answer(Metric::AggregatorPrivate),
        total: answer(Metric::AggregatorTotal),
    }
}

#[cfg(test)]
mod tests {
    use sottovoce::unobserved;

    use super::*;
    use crate::error::Error;
    use crate::render::text::remarks;
    use crate::spec::{read_prior, read_protocol};

    fn request(protocol: &str, prior: &str, n: u64) -> SplitRequest {
        SplitRequest {
            protocol: read_protocol(protocol).unwrap(),
            prior: read_prior(prior).unwrap(),
            n,
            tolerance: None,
            method: MethodChoice::Auto,
            seed: 0,
        }
    }

    fn split(protocol: &str, n: u64) -> SplitReport {
        request(protocol, "dirichlet:alpha=0.3/1.2/2.5", n).check().unwrap().run(&unobserved).unwrap()
    }

    fn values(side: &Side) -> [f64; 6] {
        side.entries().map(|answer| answer.number().unwrap().value)
    }

    #[test]
    fn both_sides_add_up() {
        for protocol in ["grr:a=3,eps=2", "oue:a=3,eps=1", "identity:a=3", "deterministic:map=0/0/1"] {
            for n in [1, 2, 15] {
                let split = split(protocol, n);
                for [nonprivate, group, individual, tally, private, total] in
                    [values(&split.users), values(&split.aggregator)]
                {
                    let close = |l: f64, r: f64| assert!((l - r).abs() < 1e-11, "{protocol} {n}: {l} {r}");
                    close(nonprivate + group, tally);
                    close(group + individual, private);
                    close(nonprivate + group + individual, total);
                }
            }
        }
    }

    #[test]
    fn the_truth_obtains_everything_and_one_user_has_no_secret_place() {
        for share in split("identity:a=3", 10).share.entries() {
            assert!((share.unwrap().value - 1.0).abs() < 1e-11);
        }
        let one = split("grr:a=3,eps=1", 1).share.entries();
        assert!(one[2].is_none() && one[0].is_some());
    }

    #[test]
    fn the_shares_are_the_utilities_and_the_lost_privacy() {
        let split = split("grr:a=3,eps=1", 12);
        let [distribution, _, _, tally, private, _] = split.share.entries().map(|s| s.unwrap().value);
        let utilities: Vec<f64> = split.utilities.iter().map(|u| u.answer.number().unwrap().value).collect();
        assert!((distribution - utilities[0]).abs() < 1e-12);
        assert!((tally - utilities[1]).abs() < 1e-12);
        assert!((private - (1.0 - utilities[2])).abs() < 1e-10);
    }

    #[test]
    fn what_is_not_known_is_told_once() {
        let exact =
            SplitRequest { method: MethodChoice::Exact, ..request("oue:a=6,eps=1", "jeffreys", 1000) };
        let split = exact.check().unwrap().run(&unobserved).unwrap();
        assert!(split.users.total.value.is_ok() && split.aggregator.private.value.is_ok());
        assert!(split.aggregator.total.value.is_err());
        assert_eq!(remarks(&split).len(), 1, "{:?}", remarks(&split));
    }

    #[test]
    fn a_group_of_nobody_is_refused() {
        let refused = request("grr:a=3,eps=1", "jeffreys", 0).check();
        assert!(matches!(refused, Err(Error::Setting { name: "n", .. })));
    }
}
