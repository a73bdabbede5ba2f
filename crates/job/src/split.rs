//! The job `split`: what the users know, and what of it the reports tell, in the paper's three parts.
//!
//! ```text
//!             nonprivate     group-private     individual private
//! users       I(X⃗;P)         H(T|P)            H(X⃗|T)
//! aggregator  I(Y⃗;P)         I(Y⃗;T|P)          I(Y⃗;X⃗|T)           [paper, Table "information split"]
//! ```

use sottovoce::information::{UsersSide, distribution_utility};
use sottovoce::metric::{Absence, Answer, Settings, Value, Watcher};
use sottovoce::{Analysis, Evaluation, Metric};

use crate::error::Result;
use crate::metrics::MetricEvaluation;
use crate::source::Written;
use crate::spec::{PriorSpec, ProtocolSpec};
use crate::subject::{Subject, check_users};

/// Whose information split is wanted, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitSpec {
    /// The protocol.
    pub protocol: Written<ProtocolSpec>,
    /// The prior.
    pub prior: Written<PriorSpec>,
    /// The number of users `n`.
    pub users: u64,
    /// Tolerance, method and seed.
    pub settings: Settings,
}

/// A valid request for an information split.
#[derive(Clone, Debug)]
pub struct SplitJob {
    subject: Subject,
    n: u64,
}

/// The information split of `n` users.
#[derive(Clone, Debug)]
pub struct Split {
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
    /// `U^distr`, `U^tally` and `S_μ`.
    pub utilities: Vec<MetricEvaluation>,
}

/// One side of the split: three parts and their sums.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// About the distribution `P`.
    pub nonprivate: Answer,
    /// About the tallies `T` of this group, beyond `P`.
    pub group_private: Answer,
    /// About who holds what, beyond `T`.
    pub individual_private: Answer,
    /// The first two.
    pub tally: Answer,
    /// The last two.
    pub private: Answer,
    /// All three.
    pub total: Answer,
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

impl Split {
    /// The share of each entry of the users that the aggregator obtains, where there is one.
    pub fn shares(&self) -> [Option<Evaluation>; 6] {
        let (aggregator, users) = (self.aggregator.entries(), self.users.entries());
        std::array::from_fn(|i| share(aggregator[i].number()?, users[i].number()?))
    }
}

/// The part of the users' information that the aggregator obtains, unless the users have none.
fn share(aggregator: Evaluation, users: Evaluation) -> Option<Evaluation> {
    // With one user nothing is known about who holds what; what is left is rounding.
    (users.value > 1e-12 && users.value > 4.0 * users.error).then(|| distribution_utility(aggregator, users))
}

impl SplitSpec {
    /// The job, if all of it is valid.
    ///
    /// # Errors
    /// The protocol, the prior, the number of users or a setting is out of range.
    pub fn check(&self) -> Result<SplitJob> {
        let subject = Subject::new(&self.protocol, &self.prior, self.settings)?;
        check_users(&[self.users])?;
        subject.admit(Metric::AggregatorTally, Some(self.users))?;
        Ok(SplitJob { subject, n: self.users })
    }
}

impl SplitJob {
    /// The split.
    pub fn run(&self) -> Split {
        self.split(None)
    }

    /// The split, while `watcher` hears of it. Once it stops, what is known is told and the rest is absent.
    pub fn run_watched(&self, watcher: Watcher<'_>) -> Split {
        self.split(Some(watcher))
    }

    fn split(&self, watcher: Option<Watcher<'_>>) -> Split {
        let analysis = self.subject.analysis(watcher);
        let utility = |metric: Metric| {
            let users = metric.needs_users().then_some(self.n);
            MetricEvaluation { metric, users, answer: analysis.answer(metric, users) }
        };
        let utilities = [Metric::DistributionUtility, Metric::TallyUtility, Metric::AveragePrivacy];
        Split {
            protocol: self.subject.protocol.spec.clone(),
            prior: self.subject.prior_spec.clone(),
            n: self.n,
            users: users(&analysis, self.n),
            aggregator: aggregator(&analysis, self.n),
            utilities: utilities.map(utility).into(),
        }
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

/// The reasons and warnings of the answers, each once, with the names of the entries that they concern.
pub(crate) fn remarks(split: &Split) -> Vec<(String, String)> {
    let mut remarks: Vec<(String, String)> = Vec::new();
    for (side, entries) in [("users", split.users.entries()), ("aggregator", split.aggregator.entries())] {
        for (part, answer) in PARTS.iter().zip(entries) {
            let reason = answer.value.as_ref().err().map(Absence::to_string);
            for said in reason.into_iter().chain(answer.warning.clone()) {
                let name = format!("{side} {}", part.replace('_', "-"));
                match remarks.iter_mut().find(|(_, known)| *known == said) {
                    Some((names, _)) => *names = format!("{names}, {name}"),
                    None => remarks.push((name, said)),
                }
            }
        }
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::spec::{read_prior, read_protocol};

    fn spec(protocol: &str, prior: &str, users: u64) -> SplitSpec {
        SplitSpec {
            protocol: read_protocol(protocol).unwrap(),
            prior: read_prior(prior).unwrap(),
            users,
            settings: Settings::default(),
        }
    }

    fn split(protocol: &str, n: u64) -> Split {
        spec(protocol, "dirichlet:alpha=0.3/1.2/2.5", n).check().unwrap().run()
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
        for share in split("identity:a=3", 10).shares() {
            assert!((share.unwrap().value - 1.0).abs() < 1e-11);
        }
        let one = split("grr:a=3,eps=1", 1).shares();
        assert!(one[2].is_none() && one[0].is_some());
    }

    #[test]
    fn the_shares_are_the_utilities_and_the_lost_privacy() {
        let split = split("grr:a=3,eps=1", 12);
        let [distribution, _, _, tally, private, _] = split.shares().map(|s| s.unwrap().value);
        let utilities: Vec<f64> = split.utilities.iter().map(|u| u.answer.number().unwrap().value).collect();
        assert!((distribution - utilities[0]).abs() < 1e-12);
        assert!((tally - utilities[1]).abs() < 1e-12);
        assert!((private - (1.0 - utilities[2])).abs() < 1e-10);
    }

    #[test]
    fn what_is_not_known_is_told_once() {
        let settings = Settings { choice: sottovoce::information::Choice::Exact, ..Settings::default() };
        let split = SplitSpec { settings, ..spec("oue:a=6,eps=1", "jeffreys", 1000) }.check().unwrap().run();
        assert!(split.users.total.value.is_ok() && split.aggregator.private.value.is_ok());
        assert!(split.aggregator.total.value.is_err());
        assert_eq!(remarks(&split).len(), 1, "{:?}", remarks(&split));
    }

    #[test]
    fn a_group_of_nobody_is_refused() {
        let refused = spec("grr:a=3,eps=1", "jeffreys", 0).check();
        assert!(matches!(refused, Err(Error::Setting { name: "n", .. })));
    }
}
