//! The job `accuracy`: how far estimated frequencies are off on average, before a single report is collected.

use std::ops::ControlFlow;

use sottovoce::Prior;
use sottovoce::accuracy::{Accuracy, AccuracyOptions, Distance, Place, accuracies};
use sottovoce::estimate::Estimator;
use sottovoce::information::Progress;
use sottovoce::metric::{self, Absence, Sought, Step, Watcher};
use sottovoce::stop::caught;

use crate::admission::{accuracy_bytes, admit};
use crate::error::{Error, Result};
use crate::estimate::estimators;
use crate::source::Written;
use crate::spec::{PriorSpec, ProtocolSpec, shown};
use crate::subject::{Subject, check_users};

/// What is wanted, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct AccuracySpec {
    /// The protocol.
    pub protocol: Written<ProtocolSpec>,
    /// The prior, over which the accuracy is averaged unless a place is given.
    pub prior: Written<PriorSpec>,
    /// Numbers of users.
    pub users: Vec<u64>,
    /// Names of distances, or `all`; none stands for `l1`.
    pub distances: Vec<String>,
    /// Names of estimators, or `all`; none stands for the usual ones.
    pub estimators: Vec<String>,
    /// One distribution of the values, such as `0.5/0.3/0.2` or `[0.5, 0.3, 0.2]`.
    pub at: Option<String>,
    /// Whether the worst distribution is wanted.
    pub worst: bool,
    /// Wanted standard error, relative to the accuracy.
    pub tolerance: Option<f64>,
    /// Seed of all draws.
    pub seed: u64,
}

/// Where the accuracy was asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Where {
    /// At one distribution.
    At(Vec<f64>),
    /// On average over the prior.
    Prior,
    /// At the worst distribution.
    Worst,
}

/// Accuracies, one for each number of users, distance and estimator.
#[derive(Clone, Debug)]
pub struct AccuracyReport {
    /// The protocol, with all sizes filled in.
    pub protocol: ProtocolSpec,
    /// The prior.
    pub prior: PriorSpec,
    /// Where.
    pub place: Where,
    /// The answers.
    pub entries: Vec<Entry>,
}

/// One accuracy.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The number of users.
    pub n: u64,
    /// The distance.
    pub distance: Distance,
    /// The estimator.
    pub estimator: Estimator,
    /// The accuracy, or why there is none.
    pub accuracy: Result<Accuracy, String>,
}

impl AccuracySpec {
    /// The accuracies.
    ///
    /// # Errors
    /// The protocol, the prior, a name, the place or a setting is wrong, or the protocol is not faithful.
    pub fn run(&self) -> Result<AccuracyReport> {
        self.run_watched(&|_| ControlFlow::Continue(()))
    }

    /// The accuracies, while the watcher hears of progress and may stop it.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn run_watched(&self, watcher: Watcher<'_>) -> Result<AccuracyReport> {
        let settings = metric::Settings { tolerance: self.tolerance, ..metric::Settings::default() };
        let subject = Subject::new(&self.protocol, &self.prior, settings)?;
        check_users(&self.users)?;
        let (estimators, distances) = (estimators(&self.estimators)?, distances(&self.distances)?);
        let protocol = &subject.protocol.protocol;
        let closed_form = estimators.iter().all(|estimator| *estimator == Estimator::Linear);
        let most = self.users.iter().copied().max().unwrap_or(0);
        admit(accuracy_bytes(protocol, most, closed_form))?;
        let rank = protocol.rank()?.value;
        if rank < protocol.inputs() {
            return Err(sottovoce::Error::NotFaithful { rank, a: protocol.inputs() }.into());
        }
        let place = self.place(protocol.inputs())?;
        let mut entries = Vec::new();
        for &n in &self.users {
            let first = entries.len();
            for &estimator in &estimators {
                let found = self.of_estimator(&subject, (n, estimator), &distances, &place, watcher);
                let entry = |(distance, accuracy): (&Distance, _)| Entry {
                    n,
                    distance: *distance,
                    estimator,
                    accuracy,
                };
                entries.extend(distances.iter().zip(found).map(entry));
            }
            let position = |entry: &Entry| distances.iter().position(|distance| *distance == entry.distance);
            entries[first..].sort_by_key(position);
        }
        Ok(AccuracyReport { protocol: subject.protocol.spec, prior: subject.prior_spec, place, entries })
    }

    /// The accuracies of one estimator from `n` users, one for each distance.
    fn of_estimator(
        &self,
        subject: &Subject,
        (n, estimator): (u64, Estimator),
        distances: &[Distance],
        place: &Where,
        watcher: Watcher<'_>,
    ) -> Vec<Result<Accuracy, String>> {
        let sought = Sought::Error(estimator);
        let hear = |progress: &Progress| watcher(&Step { sought, users: n, progress: *progress });
        if hear(&Progress::BEGUN).is_break() {
            return vec![Err(Absence::Stopped.to_string()); distances.len()];
        }
        let tolerance = self.tolerance.unwrap_or(AccuracyOptions::default().tolerance);
        let settings = AccuracyOptions {
            tolerance,
            seed: self.seed,
            prior: Some(&subject.prior),
            observer: Some(&hear),
        };
        let protocol = &subject.protocol.protocol;
        let place = place.of(&subject.prior);
        let found = caught(|| accuracies(protocol, n, estimator, distances, place, &settings));
        match found.unwrap_or(Err(sottovoce::Error::Stopped)) {
            Ok(found) => found.into_iter().map(|found| found.map_err(|error| error.to_string())).collect(),
            Err(error) => vec![Err(error.to_string()); distances.len()],
        }
    }

    fn place(&self, a: usize) -> Result<Where> {
        match (&self.at, self.worst) {
            (Some(text), _) => frequencies(text, a).map(Where::At),
            (None, true) => Ok(Where::Worst),
            (None, false) => Ok(Where::Prior),
        }
    }
}

impl Where {
    fn of<'a>(&'a self, prior: &'a Prior) -> Place<'a> {
        match self {
            Where::At(p) => Place::At(p),
            Where::Prior => Place::Prior(prior),
            Where::Worst => Place::Worst,
        }
    }
}

fn distances(names: &[String]) -> Result<Vec<Distance>> {
    if names.is_empty() {
        return Ok(vec![Distance::L1]);
    }
    if names.iter().any(|name| name == "all") {
        return Ok(Distance::ALL.to_vec());
    }
    let mut distances: Vec<Distance> = Vec::new();
    for name in names {
        let named = distance(name).map_err(Error::or_all)?;
        if !distances.contains(&named) {
            distances.push(named);
        }
    }
    Ok(distances)
}

/// The distance with this name.
pub(crate) fn distance(name: &str) -> Result<Distance> {
    name.parse::<Distance>().map_err(|_| Error::UnknownName {
        what: "distance",
        name: shown(name),
        allowed: Distance::ALL.map(Distance::name).join(", "),
    })
}

/// A distribution, written as `0.5/0.3/0.2` or `[0.5, 0.3, 0.2]`.
fn frequencies(text: &str, a: usize) -> Result<Vec<f64>> {
    let refused = |allowed| Error::Setting { name: "phi", value: shown(text), allowed };
    let list = text.trim().trim_start_matches('[').trim_end_matches(']');
    let numbers: Option<Vec<f64>> = list.split(['/', ',']).map(|part| part.trim().parse().ok()).collect();
    let p = numbers.ok_or_else(|| refused("a list of numbers such as 0.5/0.3/0.2"))?;
    if p.len() != a {
        return Err(refused("a list of as many frequencies as the protocol has inputs"));
    }
    let sum: f64 = p.iter().sum();
    let fits = p.iter().all(|p_x| (0.0..=1.0).contains(p_x)) && (sum - 1.0).abs() <= 1e-9;
    if fits { Ok(p) } else { Err(refused("frequencies between 0 and 1 that sum to 1")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_are_distributions() {
        assert_eq!(frequencies("[0.5, 0.5]", 2).unwrap(), [0.5, 0.5]);
        assert_eq!(frequencies("1/0/0", 3).unwrap(), [1.0, 0.0, 0.0]);
        for bad in ["0.5/0.6", "1/0/0", "a/b", "", "nan/1", "-0.5/1.5"] {
            assert!(matches!(frequencies(bad, 2), Err(Error::Setting { .. })), "{bad}");
        }
    }
}
