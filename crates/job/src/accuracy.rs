//! The job `accuracy`: how far estimated frequencies are off on average, before a single report is collected.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use sottovoce::accuracy::{Accuracy, Distance, Place, Settings, accuracies};
use sottovoce::estimate::Estimator;
use sottovoce::information::Sampling;
use sottovoce::metric::{self, Absence};
use sottovoce::stop::caught;
use sottovoce::{Method, Observer, Prior, Progress};

use crate::admission::{accuracy_bytes, admit};
use crate::contract::{Name, NameOrAll, Number, OneOrMore, Whole, by_name, one_or_more, whole};
use crate::error::{Error, Result};
use crate::estimate::estimators;
use crate::source::Written;
use crate::spec::{PriorSpec, ProtocolSpec, shown};
use crate::subject::{Subject, check_users};

/// Whose accuracy is wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccuracyRequest {
    /// The protocol.
    pub protocol: Written<ProtocolSpec>,
    /// The prior, over which the accuracy is averaged unless `at` or `worst` is given.
    #[serde(default)]
    pub prior: Written<PriorSpec>,
    /// Numbers of users.
    #[serde(deserialize_with = "one_or_more::<_, Whole, _>")]
    #[schemars(with = "OneOrMore<Whole>")]
    pub n: Vec<u64>,
    /// Names of distances, or `all`; by default `l1`.
    #[serde(default, deserialize_with = "one_or_more::<_, String, _>")]
    #[schemars(with = "OneOrMore<NameOrAll<Distance>>")]
    pub distance: Vec<String>,
    /// Names of estimators, or `all`; by default `linear`, `norm_sub` and `ml`.
    #[serde(default, deserialize_with = "one_or_more::<_, String, _>")]
    #[schemars(with = "OneOrMore<NameOrAll<Estimator>>")]
    pub estimator: Vec<String>,
    /// One distribution of the values, instead of the average over the prior.
    #[serde(default)]
    pub at: Option<Vec<f64>>,
    /// The worst distribution, instead of the average over the prior.
    #[serde(default)]
    pub worst: bool,
    /// Wanted standard error of simulated numbers, relative to them; by default 0.01.
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// Seed of all random draws.
    #[serde(default, deserialize_with = "whole")]
    #[schemars(with = "Whole")]
    pub seed: u64,
}

/// A valid request for accuracies.
#[derive(Clone, Debug)]
pub struct AccuracyJob {
    subject: Subject,
    users: Vec<u64>,
    distances: Vec<Distance>,
    estimators: Vec<Estimator>,
    place: Where,
    tolerance: f64,
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

/// A place as JSON has it: a distribution, `"prior"` or `"worst"`.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum WhereFields<'a> {
    At(&'a [f64]),
    Named(NamedPlace),
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum NamedPlace {
    Prior,
    Worst,
}

fn place<S: Serializer>(place: &Where, serializer: S) -> Result<S::Ok, S::Error> {
    match place {
        Where::At(p) => WhereFields::At(p),
        Where::Prior => WhereFields::Named(NamedPlace::Prior),
        Where::Worst => WhereFields::Named(NamedPlace::Worst),
    }
    .serialize(serializer)
}

/// Accuracies, one for each number of users, distance and estimator.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AccuracyReport {
    /// The protocol, with all sizes filled in.
    pub protocol: ProtocolSpec,
    /// The prior.
    pub prior: PriorSpec,
    /// Where.
    #[serde(serialize_with = "place")]
    #[schemars(with = "WhereFields<'_>")]
    pub place: Where,
    /// The answers.
    #[serde(rename = "evaluations")]
    pub entries: Vec<Entry>,
}

/// One accuracy.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Entry {
    /// The number of users.
    pub n: u64,
    /// The distance.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "Name<Distance>")]
    pub distance: Distance,
    /// The estimator.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "Name<Estimator>")]
    pub estimator: Estimator,
    /// The accuracy, or why there is none.
    #[serde(flatten, serialize_with = "accuracy_fields")]
    #[schemars(with = "AccuracyFields")]
    pub accuracy: Result<Accuracy, Absence>,
}

/// An accuracy as JSON has it, or only a null value and the reason.
#[derive(Default, Serialize, JsonSchema)]
#[serde(default)]
struct AccuracyFields {
    /// The expected error; null if there is none.
    value: Option<Number>,
    /// Its bound on the absolute error or, for `monte_carlo`, its standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Number>,
    /// How it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<Name<Method>>,
    /// Number of simulated collections.
    #[serde(skip_serializing_if = "Option::is_none")]
    draws: Option<u64>,
    /// The worst distribution, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    worst: Option<Vec<f64>>,
    /// Whether it is the worst of all, and not only of the corners and the uniform distribution.
    #[serde(skip_serializing_if = "Option::is_none")]
    worst_of_all: Option<bool>,
    /// In how many simulated collections the maximum of the likelihood was not certified.
    #[serde(skip_serializing_if = "Option::is_none")]
    uncertified: Option<u64>,
    /// Why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

fn accuracy_fields<S: Serializer>(
    accuracy: &Result<Accuracy, Absence>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match accuracy {
        Ok(found) => AccuracyFields {
            value: Some(Number(found.evaluation.value)),
            error: Some(Number(found.evaluation.error)),
            method: Some(Name(found.evaluation.method)),
            draws: Some(found.draws),
            worst: found.worst.clone(),
            worst_of_all: found.worst.is_some().then_some(found.worst_of_all),
            uncertified: (found.uncertified > 0).then_some(found.uncertified),
            reason: None,
        },
        Err(absence) => AccuracyFields { reason: Some(absence.to_string()), ..AccuracyFields::default() },
    }
    .serialize(serializer)
}

impl AccuracyRequest {
    /// The job, if all of it is valid.
    ///
    /// # Errors
    /// The protocol, the prior, a name, the place or a setting is wrong, or the protocol is not faithful.
    pub fn check(&self) -> Result<AccuracyJob> {
        let settings = metric::Settings { tolerance: self.tolerance, seed: self.seed, ..Default::default() };
        let subject = Subject::new(&self.protocol, &self.prior, settings)?;
        check_users(&self.n)?;
        let (estimators, distances) = (estimators(&self.estimator)?, distances(&self.distance)?);
        let protocol = &subject.protocol.protocol;
        let closed_form = estimators.iter().all(|estimator| *estimator == Estimator::Linear);
        let most = self.n.iter().copied().max().unwrap_or(0);
        admit(accuracy_bytes(protocol, most, closed_form))?;
        let rank = protocol.rank()?.value;
        if rank < protocol.inputs() {
            return Err(sottovoce::Error::NotFaithful { rank, a: protocol.inputs() }.into());
        }
        let place = self.place(protocol.inputs())?;
        let tolerance = self.tolerance.unwrap_or(Settings::default().tolerance);
        Ok(AccuracyJob { subject, users: self.n.clone(), distances, estimators, place, tolerance })
    }

    fn place(&self, a: usize) -> Result<Where> {
        match (&self.at, self.worst) {
            (Some(_), true) => {
                let allowed = "possible together with at";
                Err(Error::Setting { name: "worst", value: "true".into(), allowed })
            }
            (Some(p), false) => distribution(p, a).map(Where::At),
            (None, true) => Ok(Where::Worst),
            (None, false) => Ok(Where::Prior),
        }
    }
}

impl AccuracyJob {
    /// The accuracies. If the observer stops it, those that are not known by then are absent.
    ///
    /// # Errors
    /// None so far.
    pub fn run(&self, observer: Observer<'_>) -> Result<AccuracyReport> {
        let mut entries = Vec::new();
        for &n in &self.users {
            let first = entries.len();
            for &estimator in &self.estimators {
                let found = self.of_estimator(n, estimator, observer);
                let entry = |(distance, accuracy): (&Distance, _)| Entry {
                    n,
                    distance: *distance,
                    estimator,
                    accuracy,
                };
                entries.extend(self.distances.iter().zip(found).map(entry));
            }
            let position = |entry: &Entry| self.distances.iter().position(|d| *d == entry.distance);
            entries[first..].sort_by_key(position);
        }
        let (protocol, prior) = (self.subject.protocol.spec.clone(), self.subject.prior_spec.clone());
        Ok(AccuracyReport { protocol, prior, place: self.place.clone(), entries })
    }

    /// The accuracies of one estimator from `n` users, one for each distance.
    fn of_estimator(
        &self,
        n: u64,
        estimator: Estimator,
        observer: Observer<'_>,
    ) -> Vec<Result<Accuracy, Absence>> {
        let hear = |sampling: &Sampling| {
            observer(&Progress::ExpectedError { estimator, users: n, sampling: *sampling })
        };
        let absent = |absence: Absence| vec![Err(absence); self.distances.len()];
        if hear(&Sampling::BEGUN).is_break() {
            return absent(Absence::Stopped);
        }
        let (protocol, prior) = (&self.subject.protocol.protocol, &self.subject.prior);
        let (tolerance, seed) = (self.tolerance, self.subject.settings.seed);
        let settings = Settings { tolerance, seed, prior: Some(prior), observer: Some(&hear) };
        let place = self.place.of(prior);
        let found = caught(|| accuracies(protocol, n, estimator, &self.distances, place, &settings));
        match found.unwrap_or(Err(sottovoce::Error::Stopped)) {
            Ok(found) => found.into_iter().map(|found| found.map_err(Absence::from)).collect(),
            Err(error) => absent(error.into()),
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
    Distance::from_name(name).ok_or_else(|| Error::UnknownName {
        what: "distance",
        name: shown(name),
        allowed: Distance::ALL.map(Distance::name).join(", "),
    })
}

/// A list of frequencies, written as `0.5/0.3/0.2` or `[0.5, 0.3, 0.2]`.
///
/// # Errors
/// Something in it is not a number.
pub fn frequencies(text: &str) -> Result<Vec<f64>> {
    let list = text.trim().trim_start_matches('[').trim_end_matches(']');
    let numbers: Option<Vec<f64>> = list.split(['/', ',']).map(|part| part.trim().parse().ok()).collect();
    let allowed = "a list of numbers such as 0.5/0.3/0.2";
    numbers.ok_or_else(|| Error::Setting { name: "at", value: shown(text), allowed })
}

/// The frequencies, if they are a distribution on `a` values.
fn distribution(p: &[f64], a: usize) -> Result<Vec<f64>> {
    let refused = |allowed| Error::Setting { name: "at", value: shown(&format!("{p:?}")), allowed };
    if p.len() != a {
        return Err(refused("a list with one frequency for each of the protocol's inputs"));
    }
    let sum: f64 = p.iter().sum();
    let fits = p.iter().all(|p_x| (0.0..=1.0).contains(p_x)) && (sum - 1.0).abs() <= 1e-9;
    if fits { Ok(p.to_vec()) } else { Err(refused("frequencies between 0 and 1 that sum to 1")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_are_distributions() {
        let read = |text: &str, a: usize| frequencies(text).and_then(|p| distribution(&p, a));
        assert_eq!(read("[0.5, 0.5]", 2).unwrap(), [0.5, 0.5]);
        assert_eq!(read("1/0/0", 3).unwrap(), [1.0, 0.0, 0.0]);
        for bad in ["0.5/0.6", "1/0/0", "a/b", "", "nan/1", "-0.5/1.5"] {
            assert!(matches!(read(bad, 2), Err(Error::Setting { name: "at", .. })), "{bad}");
        }
    }

    #[test]
    fn one_place_at_a_time() {
        let request = r#"{"protocol": "grr:a=2,eps=1", "n": 10, "at": [1, 0], "worst": true}"#;
        let request: AccuracyRequest = serde_json::from_str(request).unwrap();
        assert!(matches!(request.check(), Err(Error::Setting { name: "worst", .. })));
    }
}
