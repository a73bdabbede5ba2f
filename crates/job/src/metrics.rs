//! The job `metrics`: any metrics of a protocol under a prior.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sottovoce::metric::{Absence, Answer, Settings};
use sottovoce::{Metric, Observer};

use crate::contract::{
    AnswerFields, MethodChoice, Name, OneOrMore, Whole, answer, by_name, one_or_more, whole,
};
use crate::error::{Error, Result};
use crate::source::Written;
use crate::spec::{PriorSpec, ProtocolSpec, shown};
use crate::subject::{Subject, check_users};
use crate::suggestion::closest;

/// Which metrics are wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricsRequest {
    /// The protocol.
    pub protocol: Written<ProtocolSpec>,
    /// The prior.
    #[serde(default)]
    pub prior: Written<PriorSpec>,
    /// Numbers of users, for the metrics that need one.
    #[serde(default, deserialize_with = "one_or_more::<_, Whole, _>")]
    #[schemars(with = "OneOrMore<Whole>")]
    pub n: Vec<u64>,
    /// Names of metrics. None means all that do not need `n`, and those that do if `n` is given.
    #[serde(default, deserialize_with = "one_or_more::<_, String, _>")]
    #[schemars(with = "OneOrMore<Name<Metric>>")]
    pub metric: Vec<String>,
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

/// A valid request for metrics.
#[derive(Clone, Debug)]
pub struct MetricsJob {
    subject: Subject,
    requests: Vec<(Metric, Option<u64>)>,
}

/// What the job found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MetricsReport {
    /// The protocol, with all sizes filled in.
    pub protocol: ProtocolSpec,
    /// The prior.
    pub prior: PriorSpec,
    /// One entry for each metric and number of users.
    pub evaluations: Vec<MetricEvaluation>,
}

/// One metric with its answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricEvaluation {
    /// The metric.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "Name<Metric>")]
    pub metric: Metric,
    /// The number of users, for a metric that needs one.
    #[serde(rename = "n")]
    pub users: Option<u64>,
    /// The value, or why there is none.
    #[serde(flatten, serialize_with = "answer")]
    #[schemars(with = "AnswerFields")]
    pub answer: Answer,
}

impl MetricsRequest {
    /// All metrics of a protocol under the Jeffreys prior that need no number of users.
    pub fn of(protocol: impl Into<Written<ProtocolSpec>>) -> Self {
        MetricsRequest {
            protocol: protocol.into(),
            prior: Written::default(),
            n: vec![],
            metric: vec![],
            tolerance: None,
            method: MethodChoice::Auto,
            seed: 0,
        }
    }

    /// The job, if all of it is valid.
    ///
    /// # Errors
    /// The protocol, the prior or a setting is out of range, or a metric does not exist.
    pub fn check(&self) -> Result<MetricsJob> {
        let settings = Settings { tolerance: self.tolerance, seed: self.seed, choice: self.method.into() };
        let subject = Subject::new(&self.protocol, &self.prior, settings)?;
        check_users(&self.n)?;
        let requests = self.requests()?;
        // What is too large for one metric need not be for another; if it is for all, there is nothing to do.
        let mut refusals = requests.iter().map(|(metric, users)| subject.admit(*metric, *users).err());
        match refusals.all(|refusal| refusal.is_some()) {
            true => Err(subject
                .admit(requests[0].0, requests[0].1)
                .err()
                .map_or(Error::NothingWanted, Error::from)),
            false => Ok(MetricsJob { subject, requests }),
        }
    }

    /// Each metric once, or once for each number of users if it needs one.
    fn requests(&self) -> Result<Vec<(Metric, Option<u64>)>> {
        let metrics = if self.metric.is_empty() {
            Metric::all().filter(|metric| !metric.needs_users() || !self.n.is_empty()).collect()
        } else {
            self.metric.iter().map(|name| metric(name)).collect::<Result<Vec<_>>>()?
        };
        if self.n.is_empty() && metrics.iter().all(|metric| metric.needs_users()) {
            return Err(Error::MissingUsers { metrics: metrics.into_iter().map(Metric::name).collect() });
        }
        let once = metrics.iter().filter(|m| !m.needs_users() || self.n.is_empty());
        let mut requests: Vec<_> = once.map(|metric| (*metric, None)).collect();
        for n in &self.n {
            requests.extend(metrics.iter().filter(|m| m.needs_users()).map(|metric| (*metric, Some(*n))));
        }
        Ok(requests)
    }
}

/// The metric of that name.
///
/// # Errors
/// [`Error::UnknownMetric`], with a suggestion if one is close.
pub fn metric(name: &str) -> Result<Metric> {
    if name.trim().is_empty() {
        let allowed = "a name; a list of metrics has one comma between two names and none at its end";
        return Err(Error::Setting { name: "metric", value: "``".into(), allowed });
    }
    name.trim().parse().map_err(|()| {
        let suggestion = closest(name, all_names().collect::<Vec<_>>());
        Error::UnknownMetric { name: shown(name), suggestion }
    })
}

/// The names of all metrics.
pub fn all_names() -> impl Iterator<Item = &'static str> {
    Metric::all().map(Metric::name)
}

impl MetricsJob {
    /// Evaluates all metrics. If the observer stops it, the metrics that are not known by then have no value.
    ///
    /// # Errors
    /// None so far.
    pub fn run(&self, observer: Observer<'_>) -> Result<MetricsReport> {
        let analysis = self.subject.analysis(observer);
        let evaluate = |&(metric, users): &(Metric, Option<u64>)| MetricEvaluation {
            metric,
            users,
            answer: match self.subject.admit(metric, users) {
                Ok(()) => analysis.answer(metric, users),
                Err(refusal) => Err(Absence::Failed(refusal)).into(),
            },
        };
        Ok(MetricsReport {
            protocol: self.subject.protocol.spec.clone(),
            prior: self.subject.prior_spec.clone(),
            evaluations: self.requests.iter().map(evaluate).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sottovoce::unobserved;

    use crate::spec::read_protocol;

    fn request(metrics: &[&str], users: &[u64]) -> MetricsRequest {
        MetricsRequest {
            metric: metrics.iter().map(|m| (*m).to_owned()).collect(),
            n: users.to_vec(),
            ..MetricsRequest::of(read_protocol("grr:a=3,eps=1").unwrap())
        }
    }

    fn requests(metrics: &[&str], users: &[u64]) -> Vec<(Metric, Option<u64>)> {
        request(metrics, users).check().unwrap().requests
    }

    #[test]
    fn metrics_that_need_no_users_are_asked_once() {
        let all = Metric::all().count();
        let finite = Metric::all().filter(|m| m.needs_users()).count();
        assert_eq!(requests(&[], &[]).len(), all - finite);
        assert_eq!(requests(&[], &[10, 20]).len(), all + finite);
        assert_eq!(
            requests(&["u_distr", "ldp"], &[10, 20]),
            [
                (Metric::LocalPrivacyLevel, None),
                (Metric::DistributionUtility, Some(10)),
                (Metric::DistributionUtility, Some(20))
            ]
        );
    }

    #[test]
    fn a_metric_without_its_users_gives_a_reason() {
        let report = request(&["u_distr", "ldp"], &[]).check().unwrap().run(&unobserved).unwrap();
        assert!(report.evaluations[0].answer.value.is_err() && report.evaluations[1].answer.value.is_ok());
        // Nothing but such metrics is a mistake.
        assert!(matches!(request(&["u_distr"], &[]).check(), Err(Error::MissingUsers { .. })));
    }

    #[test]
    fn bad_settings_are_refused() {
        assert!(matches!(
            request(&["u_dist"], &[]).check(),
            Err(Error::UnknownMetric { suggestion: Some("u_distr"), .. })
        ));
        assert!(matches!(request(&[], &[0]).check(), Err(Error::Setting { name: "n", .. })));
        let endless = MetricsRequest { tolerance: Some(f64::NAN), ..request(&[], &[]) };
        assert!(matches!(endless.check(), Err(Error::Setting { name: "tolerance", .. })));
    }
}
