//! The job `choose`: which protocol, which epsilon, and are there enough users?
//!
//! All usual protocols are tuned to the requirement, and the optimum of [`sottovoce::design`] is added where it can be found. They are ranked by what
//! many users' reports teach; the best two are then judged at the number of users asked for, with the finite-n metrics. Without a
//! requirement the smallest epsilon is looked for that reaches the target.

use sottovoce::accuracy::{self, Distance, Place, accuracy};
use sottovoce::design::{Effort, Requirement, best_protocol};
use sottovoce::estimate::Estimator;
use sottovoce::information::{Choice, Progress};
use sottovoce::metric::{Settings, Watcher};
use sottovoce::protocol::MAX_EPSILON;
use sottovoce::{Analysis, Evaluation, Method, Metric, Prior, Protocol};

use crate::describe::summary;
use crate::design::{Candidate, Family, search_heard, specification, unlimited};
use crate::error::{Error, Result};
use crate::metrics::MetricEvaluation;
use crate::render::number::rounded;
use crate::source::Written;
use crate::spec::{PriorSpec, ProtocolSpec};
use crate::subject::check_users;
use crate::users::{Target, UsersSpec};

/// The error of the digits, in base e, to which protocols are judged at the number of users.
const DIGIT: f64 = 0.02;

/// What is asked, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct ChooseSpec {
    /// Number of values `a`.
    pub inputs: usize,
    /// Number of users `n`.
    pub users: u64,
    /// Largest LDP level.
    pub epsilon: Option<f64>,
    /// Least average privacy.
    pub least_average_privacy: Option<f64>,
    /// What is wanted.
    pub target: Option<Target>,
    /// The largest typical error of a share, if that is wanted instead.
    pub accuracy: Option<f64>,
    /// The prior.
    pub prior: Written<PriorSpec>,
    /// Tolerance, method and seed.
    pub settings: Settings,
}

/// The answer.
#[derive(Clone, Debug)]
pub struct ChooseReport {
    /// Number of users.
    pub n: u64,
    /// The prior.
    pub prior: PriorSpec,
    /// What is wanted.
    pub target: Option<Target>,
    /// The largest typical error of a share, if that is wanted instead.
    pub accuracy: Option<f64>,
    /// The protocol to use.
    pub best: Candidate,
    /// The next best.
    pub runner_up: Option<Candidate>,
    /// How many times more users the runner-up needs, for many users.
    pub cost: Option<f64>,
    /// Whether the users are enough for the target; `None` if Monte Carlo cannot tell.
    pub enough: Option<bool>,
    /// The number of users that the target takes: by the asymptote, but for a typical error, where it is exact.
    pub needed: Option<u64>,
    /// The smallest level, to two digits, at which the same kind of protocol still reaches the target with these users.
    pub least_epsilon: Option<f64>,
    /// How far the linear estimate of a single share is off with these users: the root of the mean square, over the prior too.
    pub typical_error: Option<Evaluation>,
    /// What `U_digit` is without any report: `−h(P)/(a−1)`.
    pub known_before: f64,
    /// What it means for a single user if nothing limits the worst case.
    pub unlimited: Option<String>,
    /// The answer in words.
    pub sentences: Vec<String>,
}

/// A protocol in the running.
struct Runner {
    name: &'static str,
    protocol: Protocol,
    spec: ProtocolSpec,
    /// Where it comes from, if it has an epsilon to be changed.
    family: Option<Family>,
    /// `U_as`.
    utility: f64,
}

struct Chooser<'a> {
    spec: &'a ChooseSpec,
    prior: Prior,
    watcher: Option<Watcher<'a>>,
}

/// Metrics told of the best two, beside that of the target.
const METRICS: [Metric; 3] =
    [Metric::EffectiveParticipation, Metric::AveragePrivacy, Metric::LocalPrivacyLevel];

impl ChooseSpec {
    /// The answer.
    ///
    /// # Errors
    /// A number or the prior is out of range, nothing is required and nothing wanted, or nothing reaches it.
    pub fn run(&self, watcher: Option<Watcher<'_>>) -> Result<ChooseReport> {
        check_users(&[self.users])?;
        let prior = self.prior.check(self.inputs)?;
        if let Some(target) = self.target {
            target.check()?;
        }
        if let Some(most) = self.accuracy.filter(|most| *most <= 0.0 || !most.is_finite()) {
            return Err(Error::Setting {
                name: "accuracy",
                value: most.to_string(),
                allowed: "above 0 and finite",
            });
        }
        if !prior.is_continuous() {
            return Err(Error::Numbers(sottovoce::Error::DesignPrior));
        }
        let chooser = Chooser { spec: self, prior, watcher };
        let wanted = self.target.is_some() || self.accuracy.is_some();
        let runners = match (self.epsilon, self.least_average_privacy) {
            (None, None) if wanted => chooser.least_levels()?,
            (epsilon, least) => chooser.runners(&Requirement::new(epsilon, least)?),
        };
        chooser.answer(runners)
    }

    /// The metric that counts at `n` users.
    fn metric(&self) -> Metric {
        self.target.map_or(Metric::DigitUtility, Target::metric)
    }
}

impl Chooser<'_> {
    fn utility(&self, protocol: &Protocol) -> Option<f64> {
        let analysis = Analysis::with_settings(protocol, &self.prior, self.spec.settings).ok()?;
        Some(analysis.answer(Metric::AsymptoticUtility, None).number()?.value)
    }

    fn runner(
        &self,
        name: &'static str,
        protocol: Protocol,
        spec: ProtocolSpec,
        family: Option<Family>,
    ) -> Option<Runner> {
        // Subsets of size one are randomised response, which runs under its own name.
        if matches!(&protocol, Protocol::SubsetSelection(subset) if subset.size() == 1) {
            return None;
        }
        let utility = self.utility(&protocol)?;
        Some(Runner { name, protocol, spec, family, utility })
    }

    /// All protocols under the requirement, best first.
    fn runners(&self, requirement: &Requirement) -> Vec<Runner> {
        let tuned = |&family: &Family| {
            let (protocol, spec) = family.tuned(&self.prior, requirement, &self.spec.settings)?;
            self.runner(family.name(), protocol, spec, Some(family))
        };
        let mut runners: Vec<Runner> = Family::ALL.iter().filter_map(tuned).collect();
        let hear = |progress: &Progress| search_heard(self.watcher, progress);
        let effort = Effort { seed: self.spec.settings.seed, observer: Some(&hear), ..Effort::default() };
        let designed = best_protocol(&self.prior, requirement, effort).ok();
        let designed = designed.and_then(|design| {
            let spec = specification(&design.protocol).ok()?;
            self.runner("best of all", design.protocol, spec, None)
        });
        // A design that has a name is that protocol.
        if let Some(designed) = designed
            && runners.iter().all(|runner| runner.utility < designed.utility - SAME)
        {
            runners.push(designed);
        }
        sorted(runners)
    }

    /// The smallest level of each family that reaches what is wanted, the smallest first.
    fn least_levels(&self) -> Result<Vec<Runner>> {
        let runner = |&family: &Family| {
            let epsilon = self.least_level(family, MAX_EPSILON)?;
            let requirement = Requirement::new(Some(epsilon), None).ok()?;
            let (protocol, spec) = family.tuned(&self.prior, &requirement, &self.spec.settings)?;
            Some((epsilon, self.runner(family.name(), protocol, spec, Some(family))?))
        };
        let mut found: Vec<(f64, Runner)> = Family::ALL.iter().filter_map(runner).collect();
        found.sort_by(|l, r| l.0.total_cmp(&r.0));
        if found.is_empty() {
            let target = self.spec.target.map(|target| (target.metric().name(), target.value()));
            let (name, value) = target.unwrap_or(("accuracy", self.spec.accuracy.unwrap_or(f64::NAN)));
            let allowed = "within reach of these users at any epsilon";
            return Err(Error::Setting { name, value: value.to_string(), allowed });
        }
        Ok(found.into_iter().map(|(_, runner)| runner).collect())
    }

    /// Whether a protocol reaches what is wanted: the typical error, or the metric by its asymptote.
    fn reaches(&self, protocol: &Protocol) -> Option<bool> {
        match (self.spec.accuracy, self.spec.target) {
            (Some(most), _) => Some(self.typical_error(protocol)?.value <= most),
            (None, target) => {
                Some(self.at_users(protocol, Choice::Asymptote).answer.number()?.value >= target?.value())
            }
        }
    }

    /// The smallest level up to `most`, to two digits, at which a family reaches what is wanted.
    fn least_level(&self, family: Family, most: f64) -> Option<f64> {
        let reaches = |epsilon: f64| {
            let requirement = Requirement::new(Some(epsilon), None).ok()?;
            self.reaches(&family.tuned(&self.prior, &requirement, &self.spec.settings)?.0)
        };
        if !reaches(most)? {
            return None;
        }
        let (mut low, mut high) = (1e-3f64, most);
        for _ in 0..24 {
            let middle = (low * high).sqrt();
            if reaches(middle)? { high = middle } else { low = middle }
        }
        Some(two_digits_up(high).min(most))
    }

    /// The metric that counts, at the number of users.
    fn at_users(&self, protocol: &Protocol, choice: Choice) -> MetricEvaluation {
        // To a fiftieth of a digit, unless the user wants otherwise.
        let tolerance = self.spec.settings.tolerance.unwrap_or(DIGIT * (self.spec.inputs as f64 - 1.0));
        let settings = Settings { choice, tolerance: Some(tolerance), ..self.spec.settings };
        let (metric, users) = (self.spec.metric(), Some(self.spec.users));
        // Unwrap safety: the protocol is on the inputs of the prior.
        let analysis = Analysis::with_settings(protocol, &self.prior, settings).unwrap();
        let analysis = match self.watcher {
            Some(watcher) if choice != Choice::Asymptote => analysis.watched_by(watcher),
            _ => analysis,
        };
        MetricEvaluation { metric, users, answer: analysis.answer(metric, users) }
    }

    fn candidate(&self, runner: &Runner) -> Candidate {
        // Unwrap safety: as above.
        let analysis = Analysis::with_settings(&runner.protocol, &self.prior, self.spec.settings).unwrap();
        let told =
            |metric: Metric| MetricEvaluation { metric, users: None, answer: analysis.answer(metric, None) };
        let mut evaluations: Vec<MetricEvaluation> = METRICS.map(told).into();
        // Where a typical error is wanted, no digits need be found.
        if self.spec.accuracy.is_none() {
            let exact = self.at_users(&runner.protocol, self.spec.settings.choice);
            let known = exact.answer.number().is_some();
            evaluations.push(if known { exact } else { self.at_users(&runner.protocol, Choice::Asymptote) });
        }
        Candidate {
            name: runner.name,
            protocol: runner.spec.clone(),
            evaluations,
            report_bits: runner.protocol.report_bits(),
            outputs: runner.protocol.outputs(),
        }
    }

    fn answer(&self, runners: Vec<Runner>) -> Result<ChooseReport> {
        let mut told: Vec<(Runner, Candidate)> = runners
            .into_iter()
            .take(2)
            .map(|runner| {
                let candidate = self.candidate(&runner);
                (runner, candidate)
            })
            .collect();
        let limited = self.spec.epsilon.is_some() || self.spec.least_average_privacy.is_some();
        if limited && told.len() == 2 && self.clearly_better(&told[1].1, &told[0].1) {
            told.swap(0, 1);
        }
        let mut told = told.into_iter();
        let (runner, best) = told.next().ok_or(Error::Setting {
            name: "requirement",
            value: "this".into(),
            allowed: "met by any protocol",
        })?;
        let next = told.next();
        let typical_error = self.typical_error(&runner.protocol);
        let (enough, needed) = match self.spec.accuracy {
            Some(most) => self.judge_error(typical_error.map(|error| error.value), most),
            None => self.judge(&best),
        };
        let least_epsilon = match (runner.family, enough, self.spec.epsilon) {
            (Some(family), Some(true), Some(most)) => self.least_level(family, most),
            _ => None,
        };
        let cost = next.as_ref().map(|(next, _)| (2.0 * (runner.utility - next.utility)).exp());
        let unlimited = unlimited(&runner.protocol, &best);
        let mut report = ChooseReport {
            n: self.spec.users,
            prior: self.spec.prior.spec.clone(),
            target: self.spec.target,
            accuracy: self.spec.accuracy,
            best,
            runner_up: next.map(|(_, candidate)| candidate),
            cost,
            enough,
            needed,
            least_epsilon,
            typical_error,
            known_before: self.known_before(&runner.protocol),
            unlimited,
            sentences: Vec::new(),
        };
        report.sentences = sentences(&report);
        Ok(report)
    }

    fn known_before(&self, protocol: &Protocol) -> f64 {
        // Unwrap safety: as above.
        let analysis = Analysis::with_settings(protocol, &self.prior, self.spec.settings).unwrap();
        let entropy = analysis.answer(Metric::PriorEntropy, None).number().map_or(f64::NAN, |e| e.value);
        -entropy / (self.spec.inputs as f64 - 1.0)
    }

    /// A closed form under a Dirichlet prior.
    fn typical_error(&self, protocol: &Protocol) -> Option<Evaluation> {
        let (place, settings) = (Place::Prior(&self.prior), accuracy::Settings::default());
        let (estimator, distance) = (Estimator::Linear, Distance::RootMeanSquare);
        let found = accuracy(protocol, self.spec.users, estimator, distance, place, &settings).ok()?;
        Some(found.evaluation)
    }

    /// Whether the metric at the number of users is better by more than the errors.
    fn clearly_better(&self, left: &Candidate, right: &Candidate) -> bool {
        match (counted(left), counted(right)) {
            (Some(left), Some(right)) => left.value - right.value > 2.0 * (left.error + right.error),
            _ => false,
        }
    }

    /// Whether the users are enough for a typical error, and how many would be: its square falls like `1/n`.
    fn judge_error(&self, found: Option<f64>, most: f64) -> (Option<bool>, Option<u64>) {
        let Some(found) = found else { return (None, None) };
        let needed = (self.spec.users as f64 * (found / most).powi(2)).ceil();
        (Some(found <= most), (needed < 1e18).then_some(needed.max(1.0) as u64))
    }

    /// Whether the users are enough, and how many would be by the asymptote.
    fn judge(&self, best: &Candidate) -> (Option<bool>, Option<u64>) {
        let (Some(target), Some(found)) = (self.spec.target, counted(best)) else { return (None, None) };
        let doubt = if found.method == Method::MonteCarlo { 2.0 * found.error } else { 0.0 };
        let beyond = found.value - target.value();
        let enough = if beyond.abs() <= doubt { None } else { Some(beyond > 0.0) };
        let settings = Settings { choice: Choice::Asymptote, ..self.spec.settings };
        let users = UsersSpec {
            protocol: best.protocol.clone().into(),
            prior: self.spec.prior.clone(),
            wanted: target.into(),
            settings,
        };
        let needed = users.check().and_then(|job| job.run()).ok();
        (enough, needed.and_then(|report| report.needed.found.ok()).map(|found| found.n))
    }
}

/// Utilities closer than this are the same.
const SAME: f64 = 1e-4;

/// The next number of two digits that is not below.
fn two_digits_up(value: f64) -> f64 {
    let power = 1 - value.log10().floor() as i32;
    // Division by a power of ten is right to the last place, multiplication with a negative one is not.
    let scale = |v: f64, power: i32| if power >= 0 { v * 10f64.powi(power) } else { v / 10f64.powi(-power) };
    scale(scale(value, power).ceil(), -power)
}

fn sorted(mut runners: Vec<Runner>) -> Vec<Runner> {
    // One protocol may have two names, as randomised response is the selection of subsets of size 1: the first name stays first.
    let rank = |runner: &Runner| (runner.utility * 1e9).round();
    runners.sort_by(|l, r| rank(r).total_cmp(&rank(l)));
    runners.dedup_by(|next, kept| (kept.utility - next.utility).abs() < 1e-9);
    runners
}

/// The metric at the number of users.
fn counted(candidate: &Candidate) -> Option<Evaluation> {
    candidate.evaluations.iter().find(|e| e.users.is_some())?.answer.number()
}

/// The answer in words.
fn sentences(report: &ChooseReport) -> Vec<String> {
    let mut said = vec![use_it(report)];
    said.extend(report.unlimited.clone());
    said.extend(is_it_enough(report));
    said.extend(how_far_off(report));
    if let Some(epsilon) = report.least_epsilon {
        let by = if report.accuracy.is_some() { "The" } else { "By the asymptote the" };
        said.push(format!(
            "{by} same kind of protocol would still reach it with epsilon = {epsilon}, which is more private."
        ));
    }
    if let (Some(next), Some(cost)) = (&report.runner_up, report.cost) {
        let comparison = if report.best_is_least_level() {
            format!("Runner-up: {}, which needs this level for the same.", summary(&next.protocol))
        } else {
            let more = 100.0 * (cost - 1.0);
            format!(
                "Runner-up: {}, which needs {more:.1} % more users for the same, when there are many.",
                summary(&next.protocol)
            )
        };
        said.push(comparison + &format!(" Its reports take {:.1} bits.", next.report_bits));
    }
    said
}

impl ChooseReport {
    /// Whether levels were looked for, not utilities at a level: then the utilities of both are about the target.
    fn best_is_least_level(&self) -> bool {
        let level = |candidate: &Candidate| candidate.number(Metric::LocalPrivacyLevel);
        match (level(&self.best), self.runner_up.as_ref().and_then(level)) {
            (Some(best), Some(next)) => {
                self.cost.is_some_and(|cost| (cost - 1.0).abs() < 0.1) && next > best + 1e-9
            }
            _ => false,
        }
    }
}

fn use_it(report: &ChooseReport) -> String {
    let hidden = report.best.number(Metric::AveragePrivacy).map_or(f64::NAN, |s| 100.0 * s);
    let level = report.best.number(Metric::LocalPrivacyLevel).unwrap_or(f64::NAN);
    let level =
        if level.is_finite() { format!("epsilon = {level:.3}") } else { "no limit in the worst case".into() };
    format!(
        "Use {} ({:.1} bits a report). It keeps on average {hidden:.1} % of a user's private information hidden, with {level}.",
        summary(&report.best.protocol),
        report.best.report_bits
    )
}

fn how_far_off(report: &ChooseReport) -> Option<String> {
    let points = |share: f64| rounded(100.0 * share, 3);
    let off = points(report.typical_error?.value);
    let verdict = match (report.accuracy, report.enough) {
        (Some(most), Some(enough)) => {
            let words = if enough { "enough" } else { "not enough" };
            let needed = report.needed.map(|n| format!("; it takes {n} users")).unwrap_or_default();
            format!(" That is {words} for the {} wanted{needed}.", points(most))
        }
        _ => String::new(),
    };
    Some(format!(
        "A share estimated from {} reports is typically off by {off} percentage points (root mean square of the linear estimate).{verdict}",
        report.n
    ))
}

fn is_it_enough(report: &ChooseReport) -> Option<String> {
    let found = counted(&report.best)?;
    let n = report.n;
    let by = match found.method {
        Method::Asymptote => ", by the asymptote, whose error at this number of users is not known".into(),
        Method::MonteCarlo => format!(" (standard error {:.1e})", found.error),
        _ => String::new(),
    };
    let what = match report.target {
        Some(Target::DistributionUtility(_)) => {
            format!(
                "{:.1} % of what their true values would tell about the distribution",
                100.0 * found.value
            )
        }
        _ => format!(
            "{:.2} decimal digits of each frequency (U_digit = {:.3}), of which {:.2} are known without them",
            found.value / std::f64::consts::LN_10,
            found.value,
            report.known_before / std::f64::consts::LN_10
        ),
    };
    // Where the asymptote says the contrary of the number itself, it is of no use.
    let agrees = |needed: &u64| report.enough.is_none_or(|enough| enough == (*needed <= n));
    let needed = report
        .needed
        .filter(agrees)
        .map(|n| format!("; by the asymptote it takes about {n} users"))
        .unwrap_or_default();
    let verdict = match (report.target, report.enough) {
        (None, _) => String::new(),
        (_, Some(true)) => format!(" That is enough for what is wanted{needed}."),
        (_, Some(false)) => format!(" That is not enough for what is wanted{needed}."),
        (_, None) => format!(" Whether that is enough for what is wanted is within the error{needed}."),
    };
    Some(format!("With {n} users its reports tell {what}{by}.{verdict}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::read_prior;

    fn spec(inputs: usize, users: u64, epsilon: Option<f64>, target: Option<Target>) -> ChooseSpec {
        ChooseSpec {
            inputs,
            users,
            epsilon,
            least_average_privacy: None,
            target,
            accuracy: None,
            prior: read_prior("jeffreys").unwrap(),
            settings: Settings { choice: Choice::Asymptote, ..Settings::default() },
        }
    }

    #[test]
    fn the_best_for_six_values_are_pairs_and_randomised_response_is_next() {
        let report = spec(6, 100_000, Some(1.0), None).run(None).unwrap();
        assert_eq!(report.best.protocol.name(), "subset");
        assert_eq!(report.runner_up.unwrap().protocol.name(), "grr");
        // F is 0.01513 against 0.0138.
        assert!((report.cost.unwrap() - 1.097).abs() < 0.01, "{:?}", report.cost);
    }

    #[test]
    fn exact_numbers_are_used_where_they_are_affordable() {
        let settings = Settings::default();
        let report =
            ChooseSpec { settings, ..spec(3, 60, Some(2.0), Some(Target::Digits(1.0))) }.run(None).unwrap();
        let found = counted(&report.best).unwrap();
        assert_eq!(found.method, Method::Enumeration);
        assert_eq!(report.enough, Some(found.value >= 1.0));
    }

    #[test]
    fn without_a_limit_the_smallest_level_is_found() {
        let report = spec(4, 1_000_000, None, Some(Target::DecimalDigits(2.0))).run(None).unwrap();
        let level = report.best.number(Metric::LocalPrivacyLevel).unwrap();
        let reached = |epsilon: f64| {
            let report =
                spec(4, 1_000_000, Some(epsilon), Some(Target::DecimalDigits(2.0))).run(None).unwrap();
            counted(&report.best).unwrap().value >= 2.0 * std::f64::consts::LN_10
        };
        assert!(reached(level) && !reached(0.9 * level), "{level}");
    }

    #[test]
    fn levels_are_rounded_up_to_round_numbers() {
        for (value, up) in
            [(1.141, 1.2), (0.0231, 0.024), (17.2, 18.0), (0.3, 0.3), (1.2, 1.2), (99.5, 100.0)]
        {
            assert_eq!(two_digits_up(value), up, "{value}");
        }
    }

    #[test]
    fn the_typical_error_is_that_of_randomised_response() {
        let report = spec(3, 10_000, Some(1.0), None).run(None).unwrap();
        // Each report is kept with p and turned into each other value with q; the mean of P_x(1 − P_x) under Jeffreys is 1/3 · 2/3 · 1.5/2.5.
        let (p, q) = (1f64.exp() / (2.0 + 1f64.exp()), 1.0 / (2.0 + 1f64.exp()));
        let shown = |share: f64| q + (p - q) * share;
        let square = 1.0 / 3.0 * (0.5 + 1.0) / (1.5 + 1.0);
        let variance = shown(1.0 / 3.0) - (q * q + 2.0 * q * (p - q) / 3.0 + (p - q).powi(2) * square);
        let expected = (variance / 1e4).sqrt() / (p - q);
        assert!(
            (report.typical_error.unwrap().value / expected - 1.0).abs() < 1e-12,
            "{expected} {:?}",
            report.typical_error
        );
    }

    #[test]
    fn a_typical_error_can_be_wanted() {
        let wanted = |users, epsilon| ChooseSpec { accuracy: Some(0.01), ..spec(12, users, epsilon, None) };
        let report = wanted(30_000, Some(1.0)).run(None).unwrap();
        let needed = report.needed.unwrap();
        assert_eq!(report.enough, Some(false));
        assert!(wanted(needed, Some(1.0)).run(None).unwrap().enough.unwrap());
        assert!(!wanted(needed - 1, Some(1.0)).run(None).unwrap().enough.unwrap());
        // The least level is just above the one that was not enough.
        let level = wanted(30_000, None).run(None).unwrap().best.number(Metric::LocalPrivacyLevel).unwrap();
        assert!(level > 1.0 && level <= 1.1, "{level}");
        assert!(ChooseSpec { accuracy: Some(0.0), ..spec(3, 10, Some(1.0), None) }.run(None).is_err());
    }

    #[test]
    fn what_protects_nobody_in_particular_says_so() {
        let spec = ChooseSpec { least_average_privacy: Some(0.6), ..spec(3, 1_000, None, None) };
        let report = spec.run(None).unwrap();
        assert!(report.sentences[1].contains("plain truth"), "{:?}", report.sentences);
    }

    #[test]
    fn nothing_asked_is_refused() {
        assert!(spec(4, 100, None, None).run(None).is_err());
        assert!(spec(4, 0, Some(1.0), None).run(None).is_err());
    }
}
