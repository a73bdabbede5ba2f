//! The job `users`: how many users a target needs, and how many true values would be enough.
//!
//! The smallest `n` whose `U^digit` (or `U^distr`) reaches the target is found by a search on [`Analysis`]. The same search
//! finds how many true values tell as much about `P`. The quotient of the two numbers is what a report is worth at this `n`, and tends to the
//! effective participation `F_μ`. Instead of a utility, an [`ExpectedError`] of the estimated frequencies can be wanted.

mod expected_error;
mod search;
mod wanted;

pub use crate::expected_error::ExpectedError;
pub use crate::quantity::{Evaluated, Quantity};
pub use search::{Found, MOST_USERS, Obstacle};
pub use wanted::{Target, Wanted};
pub(crate) use wanted::{TargetFields, WantedFields};

use std::cell::RefCell;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use sottovoce::accuracy::Distance;
use sottovoce::estimate::Estimator;
use sottovoce::metric::{Answer, Settings, Value};
use sottovoce::{Analysis, Metric, Observer, Protocol};

use crate::contract::{MethodChoice, Name, Whole, whole};
use crate::error::{Error, Result};
use crate::expected_error::ErrorCurve;
use crate::metrics::MetricEvaluation;
use crate::source::Written;
use crate::spec::{PriorSpec, ProtocolSpec};
use crate::subject::Subject;
use search::{Search, smallest};
use wanted::target_fields;

/// If the asymptote asks for this many times the most users, they are certainly not enough.
const BEYOND_DOUBT: f64 = 10.0;

/// What is wanted of which protocol: exactly one of `digits`, `decimal_digits`, `u_distr` and `accuracy`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UsersRequest {
    /// The protocol.
    pub protocol: Written<ProtocolSpec>,
    /// The prior.
    #[serde(default)]
    pub prior: Written<PriorSpec>,
    /// Wanted digits of each frequency in base e: `u_digit`.
    #[serde(default)]
    pub digits: Option<f64>,
    /// Wanted decimal digits of each frequency: `u_digit / ln 10`.
    #[serde(default)]
    pub decimal_digits: Option<f64>,
    /// Wanted share of what the true values tell about their distribution: `u_distr`.
    #[serde(default)]
    pub u_distr: Option<f64>,
    /// Largest expected error of the estimated frequencies, on average over the prior.
    #[serde(default)]
    pub accuracy: Option<f64>,
    /// How errors are measured, with `accuracy`; by default `rms`, the typical error of one value's share.
    #[serde(default)]
    #[schemars(with = "Option<Name<Distance>>")]
    pub distance: Option<String>,
    /// The estimator, with `accuracy`; by default `linear`.
    #[serde(default)]
    #[schemars(with = "Option<Name<Estimator>>")]
    pub estimator: Option<String>,
    /// Wanted absolute error, in nats; for simulated errors of frequencies, relative to them.
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

/// A valid request for a number of users.
#[derive(Clone, Debug)]
pub struct UsersJob {
    subject: Subject,
    wanted: Wanted,
}

/// How many users are needed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UsersReport {
    /// The protocol, with all sizes filled in.
    pub protocol: ProtocolSpec,
    /// The prior.
    pub prior: PriorSpec,
    /// What is wanted.
    #[serde(rename = "target", serialize_with = "target_fields")]
    #[schemars(with = "TargetFields")]
    pub wanted: Wanted,
    /// The number of users who report through the protocol.
    pub needed: Count,
    /// The number of true values that tell as much about `P`, or are as accurate.
    pub truth: Count,
    /// The wanted utility at the number of users, by a short Monte Carlo run, if the search used the
    /// approximation and that run is affordable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Evaluated>,
    /// The second number over the first, if there are both.
    pub ratio: Option<Ratio>,
    /// `F_μ`, to which the quotient tends.
    #[serde(rename = "f_mu")]
    pub participation: MetricEvaluation,
}

/// A number of users, or why there is none, with the evaluations behind it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Count {
    /// The number.
    #[serde(flatten, serialize_with = "found_fields")]
    #[schemars(with = "FoundFields")]
    pub found: Result<Found, Obstacle>,
    /// The metric at this number and, where the method is exact, at one user fewer.
    pub evaluations: Vec<Evaluated>,
    /// All numbers of users that the search evaluated, in rising order.
    #[serde(skip)]
    pub probes: Vec<Evaluated>,
}

/// A number of users as JSON has it, or nulls and the reason.
#[derive(Default, Serialize, JsonSchema)]
struct FoundFields {
    /// The smallest number that reaches the target; with Monte Carlo, an estimate of it.
    n: Option<u64>,
    /// Two standard errors below.
    low: Option<u64>,
    /// Two standard errors above.
    high: Option<u64>,
    /// Why there is no number.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

fn found_fields<S: Serializer>(found: &Result<Found, Obstacle>, serializer: S) -> Result<S::Ok, S::Error> {
    match found {
        Ok(Found { n, low, high }) => {
            FoundFields { n: Some(*n), low: Some(*low), high: Some(*high), reason: None }
        }
        Err(obstacle) => FoundFields { reason: Some(obstacle.to_string()), ..FoundFields::default() },
    }
    .serialize(serializer)
}

impl Count {
    /// No number, and nothing was looked at.
    fn none(obstacle: Obstacle) -> Self {
        Count { found: Err(obstacle), evaluations: vec![], probes: vec![] }
    }

    /// A number that was found by looking at these places; `at` gives the quantity at others.
    fn new(found: Result<Found, Obstacle>, probes: Probes, at: impl Fn(u64) -> Evaluated) -> Self {
        let places = match &found {
            Ok(found) if found.is_exact() && found.n > 1 => vec![found.n, found.n - 1],
            Ok(found) => vec![found.n],
            Err(_) => vec![],
        };
        Count { found, evaluations: places.into_iter().map(at).collect(), probes: probes.sorted() }
    }
}

/// The places that a search has looked at.
#[derive(Default)]
struct Probes(RefCell<Vec<Evaluated>>);

impl Probes {
    /// Remembers a place, and gives its answer.
    fn keep(&self, evaluated: Evaluated) -> Answer {
        let answer = evaluated.answer.clone();
        self.0.borrow_mut().push(evaluated);
        answer
    }

    /// What was found, each place once.
    fn sorted(self) -> Vec<Evaluated> {
        let mut probes = self.0.into_inner();
        probes.sort_by_key(|probe| probe.users);
        probes.dedup_by_key(|probe| probe.users);
        probes
    }
}

/// A quotient of two numbers of users.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Ratio {
    /// The quotient.
    pub value: f64,
    /// Its smallest value, given the uncertainty of both.
    pub low: f64,
    /// Its largest value.
    pub high: f64,
}

impl Ratio {
    fn new(truth: Found, needed: Found) -> Self {
        let over = |l: u64, r: u64| l as f64 / r as f64;
        Ratio {
            value: over(truth.n, needed.n),
            low: over(truth.low, needed.high),
            high: over(truth.high, needed.low),
        }
    }
}

impl UsersRequest {
    /// A protocol under the Jeffreys prior; what is wanted is still to be filled in.
    pub fn of(protocol: impl Into<Written<ProtocolSpec>>) -> Self {
        UsersRequest {
            protocol: protocol.into(),
            prior: Written::default(),
            digits: None,
            decimal_digits: None,
            u_distr: None,
            accuracy: None,
            distance: None,
            estimator: None,
            tolerance: None,
            method: MethodChoice::Auto,
            seed: 0,
        }
    }

    /// The job, if all of it is valid.
    ///
    /// # Errors
    /// The protocol, the prior, the target or a setting is out of range, or there is no target or more than one.
    pub fn check(&self) -> Result<UsersJob> {
        let settings = Settings { tolerance: self.tolerance, seed: self.seed, choice: self.method.into() };
        let subject = Subject::new(&self.protocol, &self.prior, settings)?;
        let wanted = WantedFields {
            digits: self.digits,
            decimal_digits: self.decimal_digits,
            u_distr: self.u_distr,
            accuracy: self.accuracy,
            distance: self.distance.as_deref(),
            estimator: self.estimator.as_deref(),
        };
        UsersJob::new(subject, wanted.wanted()?.ok_or(Error::NothingWanted)?)
    }
}

impl UsersJob {
    /// What is wanted of a protocol.
    pub(crate) fn new(subject: Subject, wanted: Wanted) -> Result<Self> {
        wanted.check()?;
        subject.admit(Metric::EffectiveParticipation, None)?;
        Ok(UsersJob { subject, wanted })
    }

    /// The number of users. If the observer stops the search, the report has what is known by then.
    ///
    /// # Errors
    /// The truth on as many values as the protocol has cannot be analysed.
    pub fn run(&self, observer: Observer<'_>) -> Result<UsersReport> {
        let identity = Protocol::identity(self.subject.protocol.protocol.inputs())?;
        let reports = self.subject.analysis(observer);
        let participation = reports.answer(Metric::EffectiveParticipation, None);
        let (needed, truth) = match self.wanted {
            Wanted::Utility(target) => {
                let truth = self.subject.analysis_of(&identity, observer);
                let search = UtilitySearch { subject: &self.subject, target };
                let needed = search.needed(&reports);
                let factor = number(&participation).unwrap_or(0.5);
                let truth = search.as_good(&reports, &truth, &needed, factor);
                (needed, truth)
            }
            Wanted::Accuracy(error) => {
                let (prior, settings) = (&self.subject.prior, self.subject.settings);
                let count = |protocol: &Protocol| {
                    let curve = ErrorCurve { protocol, prior, measure: error.measure, settings, observer };
                    expected_error::count(&curve, error.most)
                };
                (count(&self.subject.protocol.protocol), count(&identity))
            }
        };
        let ratio = match (&truth.found, &needed.found) {
            (Ok(truth), Ok(needed)) => Some(Ratio::new(*truth, *needed)),
            _ => None,
        };
        let confirmation = match (self.wanted, &needed.found) {
            (Wanted::Utility(target), Ok(found)) => Evaluated::confirmed(&reports, target.metric(), found.n),
            _ => None,
        };
        let metric = Metric::EffectiveParticipation;
        Ok(UsersReport {
            protocol: self.subject.protocol.spec.clone(),
            prior: self.subject.prior_spec.clone(),
            wanted: self.wanted,
            needed,
            truth,
            confirmation,
            ratio,
            participation: MetricEvaluation { metric, users: None, answer: participation },
        })
    }
}

/// The search for a utility.
struct UtilitySearch<'a> {
    subject: &'a Subject,
    target: Target,
}

impl UtilitySearch<'_> {
    /// The users who are needed.
    fn needed(&self, reports: &Analysis<'_>) -> Count {
        let (metric, target) = (self.target.metric(), self.target.value());
        let probes = Probes::default();
        let limit = number(&reports.answer(Metric::DistributionUtilityLimit, None));
        let found = match limit.filter(|limit| metric == Metric::DistributionUtility && target >= *limit) {
            Some(limit) => one_user_or_none(reports, target, limit),
            None => match self.guess(reports) {
                // Evaluating the metric at so many users is slow, and there the asymptote is as good.
                guess if guess > BEYOND_DOUBT * MOST_USERS as f64 => Err(Obstacle::TooMany),
                guess => smallest(&Search {
                    target,
                    guess,
                    slope: self.slope(),
                    metric: &|n| probes.keep(at(reports, metric, n)),
                }),
            },
        };
        Count::new(found, probes, |n| at(reports, metric, n))
    }

    /// The true values that tell as much about `P`: the same digits, or the information of the users who are needed.
    fn as_good(&self, reports: &Analysis<'_>, truth: &Analysis<'_>, needed: &Count, factor: f64) -> Count {
        let (metric, target) = match (self.target.metric(), &needed.found) {
            (Metric::DistributionUtility, Ok(found)) => {
                let information = reports.answer(Metric::AggregatorDistribution, Some(found.n));
                (Metric::UsersDistribution, number(&information).unwrap_or(f64::NAN))
            }
            (_, Err(obstacle @ (Obstacle::TooMany | Obstacle::Limit { .. } | Obstacle::Stopped { .. })))
            | (Metric::DistributionUtility, Err(obstacle)) => {
                return Count::none(obstacle.clone());
            }
            (metric, _) => (metric, self.target.value()),
        };
        let guess = needed.found.as_ref().map_or(1.0, |found| factor * found.n as f64);
        let slope = if metric == Metric::DigitUtility { self.slope() } else { None };
        let probes = Probes::default();
        let metric_at = |n: u64| probes.keep(at(truth, metric, n));
        let found = smallest(&Search { target, guess, slope, metric: &metric_at });
        Count::new(found, probes, |n| at(truth, metric, n))
    }

    /// The slope of the digits in `ln n` for many users.
    fn slope(&self) -> Option<f64> {
        (self.target.metric() == Metric::DigitUtility).then_some(0.5)
    }

    /// The number of users according to the asymptote `I(Y⃗;P) ≈ ((d−1)/2) ln n + r_μ`.
    fn guess(&self, reports: &Analysis<'_>) -> f64 {
        let protocol = &self.subject.protocol.protocol;
        let (Ok(rank), Some(constant)) =
            (protocol.rank(), number(&reports.answer(Metric::GrowthConstant, None)))
        else {
            return 1.0;
        };
        let growth = (rank.value as f64 - 1.0) / 2.0;
        match self.target.metric() {
            Metric::DigitUtility => {
                let entropy = number(&reports.answer(Metric::PriorEntropy, None)).unwrap_or(0.0);
                let information = self.target.value() * (protocol.inputs() as f64 - 1.0) + entropy;
                ((information - constant) / growth).exp()
            }
            _ => {
                let reaches = |n: f64| {
                    let users = number(&reports.answer(Metric::UsersDistribution, Some(n as u64)));
                    growth * n.ln() + constant >= self.target.value() * users.unwrap_or(f64::NAN)
                };
                // A prior without a quick users' side would make this guess dearer than the search.
                let quick = matches!(self.subject.prior, sottovoce::Prior::Dirichlet(_));
                if quick { halving(reaches) } else { 1.0 }
            }
        }
    }
}

/// The place where `reaches` becomes true, to about a tenth of itself.
fn halving(reaches: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, (MOST_USERS as f64).ln());
    while high - low > 0.1 {
        let middle: f64 = 0.5 * (low + high);
        if reaches(middle.exp()) { high = middle } else { low = middle }
    }
    high.exp()
}

/// A target that is only approached may still be reached by one user.
fn one_user_or_none(reports: &Analysis<'_>, target: f64, limit: f64) -> Result<Found, Obstacle> {
    let one = reports.answer(Metric::DistributionUtility, Some(1));
    match one.value {
        Ok(Value::Number(e)) if e.value >= target - e.error.min(1e-9) => Ok(Found::exactly(1)),
        Ok(_) => Err(Obstacle::Limit { limit }),
        Err(absence) => Err(Obstacle::Absent(absence)),
    }
}

/// The metric at so many users.
fn at(analysis: &Analysis<'_>, metric: Metric, users: u64) -> Evaluated {
    Evaluated { quantity: metric.into(), users: Some(users), answer: analysis.answer(metric, Some(users)) }
}

fn number(answer: &Answer) -> Option<f64> {
    answer.number().map(|e| e.value).filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use sottovoce::accuracy::Distance;
    use sottovoce::estimate::Estimator;
    use sottovoce::information::Choice;
    use sottovoce::metric::Absence;

    use sottovoce::unobserved;

    use super::*;
    use crate::expected_error::ErrorMeasure;
    use crate::spec::{read_prior, read_protocol};

    fn job(protocol: &str, target: impl Into<Wanted>, settings: Settings) -> Result<UsersJob> {
        let prior = read_prior("jeffreys").unwrap();
        UsersJob::new(
            Subject::new(&read_protocol(protocol).unwrap(), &prior, settings).unwrap(),
            target.into(),
        )
    }

    fn report(protocol: &str, target: impl Into<Wanted>) -> UsersReport {
        job(protocol, target, Settings::default()).unwrap().run(&unobserved).unwrap()
    }

    fn values(count: &Count) -> Vec<f64> {
        count.evaluations.iter().map(|e| number(&e.answer).unwrap()).collect()
    }

    #[test]
    fn one_user_fewer_would_not_do() {
        for (protocol, target) in [
            ("grr:a=3,eps=2", Target::Digits(1.5)),
            ("grr:a=3,eps=2", Target::DistributionUtility(0.55)),
            ("grr:a=2,eps=1", Target::DecimalDigits(1.2)),
            ("ue:a=2,kappa=0.8,lambda=0.3", Target::Digits(1.0)),
            ("identity:a=4", Target::DecimalDigits(2.0)),
        ] {
            let report = report(protocol, target);
            let found = report.needed.found.clone().unwrap();
            assert!(found.is_exact() && found.n > 1, "{protocol} {found:?}");
            let at = values(&report.needed);
            assert!(at[0] >= target.value() && target.value() > at[1], "{protocol} {found:?}: {at:?}");
            let truth = report.truth.found.unwrap();
            assert!(truth.n <= found.n, "{protocol} {found:?} {truth:?}");
        }
    }

    fn expected(distance: Distance, estimator: Estimator, most: f64) -> Wanted {
        Wanted::Accuracy(ExpectedError { measure: ErrorMeasure { distance, estimator }, most })
    }

    /// The squared error of the linear estimate is `c/n`, so the number is `⌈c/most⌉`; that of the truth is `(1 − E Σ p²)/n`.
    #[test]
    fn the_squared_error_gives_the_number_at_once() {
        let most = 1e-4;
        let report = report("grr:a=3,eps=1", expected(Distance::SquaredL2, Estimator::Linear, most));
        let (needed, truth) = (report.needed.found.clone().unwrap(), report.truth.found.clone().unwrap());
        // Jeffreys on three values: E p² = 0.5·1.5/(1.5·2.5) = 0.2 each.
        assert_eq!(truth, Found::exactly(4000));
        let kept = (1f64.exp() - 1.0) / (1f64.exp() + 2.0);
        let other = 1.0 / (1f64.exp() + 2.0);
        // Each estimate is (Z/n − other)/kept with Z binomial.
        let variance = |p: f64, square: f64| {
            other * (1.0 - other) + p * kept * (1.0 - 2.0 * other) - square * kept * kept
        };
        let sum = 3.0 * variance(1.0 / 3.0, 0.2) / (kept * kept);
        assert_eq!(needed, Found::exactly((sum / most).ceil() as u64));
        let at = values(&report.needed);
        assert!(at[0] <= most && most < at[1], "{at:?}");
    }

    #[test]
    fn simulated_errors_give_an_interval() {
        let wanted = expected(Distance::L1, Estimator::NormSub, 0.05);
        let report = report("oue:a=8,eps=1", wanted);
        let found = report.needed.found.clone().unwrap();
        assert!(found.low < found.n && found.n < found.high && found.high < 2 * found.low, "{found:?}");
        let at = report.needed.evaluations[0].answer.number().unwrap();
        assert!((at.value - 0.05).abs() <= 2.0 * at.error, "{at:?}");
        assert!(report.truth.found.unwrap().high < found.low);
    }

    #[test]
    fn the_truth_is_worth_the_truth() {
        let report = report("identity:a=3", Target::Digits(2.0));
        assert_eq!(report.needed.found, report.truth.found);
        assert_eq!(report.ratio.unwrap().value, 1.0);
    }

    #[test]
    fn monte_carlo_gives_an_interval_that_holds_the_exact_number() {
        let target = Target::Digits(1.5);
        let exact = report("grr:a=3,eps=2", target).needed.found.unwrap().n;
        let settings = Settings { choice: Choice::MonteCarlo, tolerance: Some(0.03), ..Settings::default() };
        let random = job("grr:a=3,eps=2", target, settings).unwrap();
        let found = random.run(&unobserved).unwrap().needed.found.unwrap();
        assert!(found.low < found.n && found.n < found.high, "{found:?}");
        assert!(found.low <= exact && exact <= found.high, "{found:?} {exact}");
    }

    #[test]
    fn what_cannot_be_reached_has_a_reason() {
        let needed = |protocol: &str, target: Target| report(protocol, target).needed.found;
        let merged = "deterministic:map=0/0/1";
        assert_eq!(needed(merged, Target::DistributionUtility(0.9)), Err(Obstacle::Limit { limit: 0.5 }));
        assert!(matches!(
            needed(merged, Target::Digits(1.0)),
            Err(Obstacle::Absent(Absence::NotFaithful { rank: 2, a: 3 }))
        ));
        assert_eq!(needed("grr:a=2,eps=1", Target::Digits(40.0)), Err(Obstacle::TooMany));
        assert_eq!(
            needed("grr:a=3,eps=1", Target::DistributionUtility(1.0)),
            Err(Obstacle::Limit { limit: 1.0 })
        );
        assert_eq!(needed("identity:a=3", Target::DistributionUtility(1.0)), Ok(Found::exactly(1)));
    }

    /// One percentage point is a typical error of one, here as in `choose`; 1 is not.
    #[test]
    fn an_unnamed_error_is_the_typical_error_of_a_share() {
        let unnamed = ExpectedError::named(None, None, 0.01).unwrap();
        assert_eq!(Wanted::Accuracy(unnamed), expected(Distance::RootMeanSquare, Estimator::Linear, 0.01));
        for most in [0.0, 1.0, 1.5, -0.01, f64::NAN] {
            let refused = ExpectedError { most, ..unnamed }.check();
            assert!(matches!(refused, Err(Error::Setting { name: "accuracy", .. })), "{most}");
        }
    }

    #[test]
    fn a_request_without_a_target_is_refused() {
        let request = UsersRequest::of(read_protocol("grr:a=3,eps=1").unwrap());
        assert!(matches!(request.check(), Err(Error::NothingWanted)));
        let named = UsersRequest { accuracy: Some(0.01), distance: Some("l3".into()), ..request };
        assert!(matches!(named.check(), Err(Error::UnknownName { .. })));
    }
}
