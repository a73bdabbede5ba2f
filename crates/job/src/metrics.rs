//! The job `metrics`: any metrics of a protocol under a prior.

use sottovoce::Metric;
use sottovoce::information::Choice;
use sottovoce::metric::{Absence, Answer, Settings, Watcher};

use crate::error::{Error, Result};
use crate::source::Written;
use crate::spec::{PriorSpec, ProtocolSpec, shown};
use crate::subject::{Subject, check_users};
use crate::suggestion::closest;

/// Which metrics are wanted, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricsSpec {
    /// The protocol.
    pub protocol: Written<ProtocolSpec>,
    /// The prior.
    pub prior: Written<PriorSpec>,
    /// Numbers of users `n` for the metrics that need one.
    pub users: Vec<u64>,
    /// Names of metrics. None means all that do not need `n`, and those that do if there is a number of users.
    pub metrics: Vec<String>,
    /// Wanted absolute error, in nats; none is the default of each metric.
    pub tolerance: Option<f64>,
    /// Which method to use for what depends on the number of users.
    pub choice: Choice,
    /// Seed of all random draws.
    pub seed: u64,
}

/// A valid request for metrics.
#[derive(Clone, Debug)]
pub struct MetricsJob {
    subject: Subject,
    requests: Vec<(Metric, Option<u64>)>,
}

/// What the job found.
#[derive(Clone, Debug)]
pub struct MetricsReport {
    /// The protocol, with all sizes filled in.
    pub protocol: ProtocolSpec,
    /// The prior.
    pub prior: PriorSpec,
    /// One entry for each metric and number of users.
    pub evaluations: Vec<MetricEvaluation>,
}

/// One metric with its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricEvaluation {
    /// The metric.
    pub metric: Metric,
    /// The number of users, for a metric that needs one.
    pub users: Option<u64>,
    /// The value, or why there is none.
    pub answer: Answer,
}

impl MetricsSpec {
    /// All metrics of a protocol under the Jeffreys prior that need no number of users.
    pub fn of(protocol: impl Into<Written<ProtocolSpec>>) -> Self {
        let Settings { tolerance, seed, choice } = Settings::default();
        let prior = PriorSpec::default().into();
        MetricsSpec {
            protocol: protocol.into(),
            prior,
            users: vec![],
            metrics: vec![],
            tolerance,
            choice,
            seed,
        }
    }

    /// The job, if all of it is valid.
    ///
    /// # Errors
    /// The protocol, the prior or a setting is out of range, or a metric does not exist.
    pub fn check(&self) -> Result<MetricsJob> {
        let settings = Settings { tolerance: self.tolerance, seed: self.seed, choice: self.choice };
        let subject = Subject::new(&self.protocol, &self.prior, settings)?;
        check_users(&self.users)?;
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
        let metrics = if self.metrics.is_empty() {
            Metric::all().filter(|metric| !metric.needs_users() || !self.users.is_empty()).collect()
        } else {
            self.metrics.iter().map(|name| metric(name)).collect::<Result<Vec<_>>>()?
        };
        if self.users.is_empty() && metrics.iter().all(|metric| metric.needs_users()) {
            let value = metrics.iter().map(|metric| metric.name()).collect::<Vec<_>>().join(",");
            let allowed = "known without a number of users; give one with --n";
            return Err(Error::Setting { name: "metric", value, allowed });
        }
        let once = metrics.iter().filter(|m| !m.needs_users() || self.users.is_empty());
        let mut requests: Vec<_> = once.map(|metric| (*metric, None)).collect();
        for n in &self.users {
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
    name.trim().parse().map_err(|_| {
        let suggestion = closest(name, all_names().collect::<Vec<_>>());
        Error::UnknownMetric { name: shown(name), suggestion }
    })
}

/// The names of all metrics.
pub fn all_names() -> impl Iterator<Item = &'static str> {
    Metric::all().map(Metric::name)
}

impl MetricsJob {
    /// Evaluates all metrics.
    pub fn run(&self) -> MetricsReport {
        self.evaluate(None)
    }

    /// Evaluates all metrics while `watcher` hears of it. Once it stops, what is known is told and the rest is absent.
    pub fn run_watched(&self, watcher: Watcher<'_>) -> MetricsReport {
        self.evaluate(Some(watcher))
    }

    fn evaluate(&self, watcher: Option<Watcher<'_>>) -> MetricsReport {
        let analysis = self.subject.analysis(watcher);
        let evaluate = |&(metric, users): &(Metric, Option<u64>)| MetricEvaluation {
            metric,
            users,
            answer: match self.subject.admit(metric, users) {
                Ok(()) => analysis.answer(metric, users),
                Err(refusal) => Err(Absence::Failed(refusal)).into(),
            },
        };
        MetricsReport {
            protocol: self.subject.protocol.spec.clone(),
            prior: self.subject.prior_spec.clone(),
            evaluations: self.requests.iter().map(evaluate).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::read_protocol;

    fn spec(metrics: &[&str], users: &[u64]) -> MetricsSpec {
        MetricsSpec {
            metrics: metrics.iter().map(|m| (*m).to_owned()).collect(),
            users: users.to_vec(),
            ..MetricsSpec::of(read_protocol("grr:a=3,eps=1").unwrap())
        }
    }

    fn requests(metrics: &[&str], users: &[u64]) -> Vec<(Metric, Option<u64>)> {
        spec(metrics, users).check().unwrap().requests
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
        let report = spec(&["u_distr", "ldp"], &[]).check().unwrap().run();
        assert!(report.evaluations[0].answer.value.is_err() && report.evaluations[1].answer.value.is_ok());
        // Nothing but such metrics is a mistake.
        assert!(matches!(spec(&["u_distr"], &[]).check(), Err(Error::Setting { name: "metric", .. })));
    }

    #[test]
    fn bad_settings_are_refused() {
        assert!(matches!(
            spec(&["u_dist"], &[]).check(),
            Err(Error::UnknownMetric { suggestion: Some("u_distr"), .. })
        ));
        assert!(matches!(spec(&[], &[0]).check(), Err(Error::Setting { name: "n", .. })));
        let endless = MetricsSpec { tolerance: Some(f64::NAN), ..spec(&[], &[]) };
        assert!(matches!(endless.check(), Err(Error::Setting { name: "tolerance", .. })));
    }
}
