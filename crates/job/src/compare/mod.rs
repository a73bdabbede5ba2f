//! The job `compare`: several protocols side by side, at their own noise or matched to the same value of a metric, and over a sweep.

mod matching;
mod sweep;
mod work;

pub use matching::{MATCHED, Match, Mismatch, Wanted};
pub use sweep::{Sweep, SweepRange, Swept};
pub use work::Work;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use sottovoce::estimate::Estimator;
use sottovoce::metric::{Absence, Answer, Settings, Value};
use sottovoce::{Analysis, Evaluation, Metric, Observer, unobserved};

use crate::contract::{
    MethodChoice, Name, OneOrMore, Whole, as_optional_text, by_name, one_or_more, optional_whole, whole,
};
use crate::error::{Error, Result};
use crate::expected_error::{ErrorCurve, ErrorMeasure};
use crate::quantity::{Evaluated, Quantity, QuantityName, TYPICAL_ERROR};
use crate::render::text::summary;
use crate::source::Written;
use crate::spec::{Parameter, PriorSpec, ProtocolSpec};
use crate::subject::{Subject, check_users};
use work::{WorkFields, work_fields};

/// Which protocols to compare, and by what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompareRequest {
    /// The protocols.
    #[serde(deserialize_with = "one_or_more::<_, Written<ProtocolSpec>, _>")]
    #[schemars(with = "OneOrMore<Written<ProtocolSpec>>")]
    pub protocols: Vec<Written<ProtocolSpec>>,
    /// The prior.
    #[serde(default)]
    pub prior: Written<PriorSpec>,
    /// The number of users, for the metrics that need one.
    #[serde(default, deserialize_with = "optional_whole")]
    #[schemars(with = "Option<Whole>")]
    pub n: Option<u64>,
    /// The value that a metric or an error is to have for all protocols; their epsilon is solved for.
    #[serde(default, rename = "match")]
    pub matched: Option<Match>,
    /// The parameter to sweep over.
    #[serde(default)]
    pub sweep: Option<SweepRange>,
    /// Names of metrics and errors to show. None means `s_wc`, `s_mu` and `f_mu` and, with users, `u_distr`, `u_digit` and `rms`.
    #[serde(default, deserialize_with = "one_or_more::<_, String, _>")]
    #[schemars(with = "OneOrMore<QuantityName>")]
    pub metric: Vec<String>,
    /// The metric or error to rank by; by default a utility, or `s_mu` if a utility or an error is matched.
    #[serde(default)]
    #[schemars(with = "Option<QuantityName>")]
    pub sort: Option<String>,
    /// The estimator whose errors are shown or matched; by default `linear`.
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

/// A valid request for a comparison.
#[derive(Clone, Debug)]
pub struct CompareJob {
    protocols: Vec<Written<ProtocolSpec>>,
    prior: Written<PriorSpec>,
    users: Option<u64>,
    settings: Settings,
    names: Vec<String>,
    matched: Option<Wanted>,
    sweep: Option<Sweep>,
    quantities: Vec<Quantity>,
    sort: Quantity,
    estimator: Estimator,
}

/// What the comparison found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CompareReport {
    /// The prior.
    pub prior: PriorSpec,
    /// The number of users, unless it is swept over.
    pub n: Option<u64>,
    /// The value that all protocols were matched to.
    #[serde(rename = "match")]
    pub matched: Option<Wanted>,
    /// What was swept over.
    #[serde(rename = "sweep")]
    pub swept: Option<Swept>,
    /// The metrics and errors, in the order of the columns.
    #[serde(skip)]
    pub quantities: Vec<Quantity>,
    /// The one that protocols are ranked by.
    #[serde(serialize_with = "sort_fields")]
    #[schemars(with = "SortFields")]
    pub sort: Quantity,
    /// The estimator whose errors are given.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "Name<Estimator>")]
    pub estimator: Estimator,
    /// Names of the protocols, in the order in which they were given.
    #[serde(skip)]
    pub names: Vec<String>,
    /// One round for each value swept over; else a single one.
    pub rounds: Vec<Round>,
}

/// What protocols are ranked by.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Sort")]
struct SortFields {
    /// The metric, or the error.
    metric: Name<Quantity>,
    /// Which direction is better.
    better: Better,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Better {
    Lower,
    Higher,
}

fn sort_fields<S: Serializer>(sort: &Quantity, serializer: S) -> Result<S::Ok, S::Error> {
    let better = if sort.direction() == Some(-1.0) { Better::Lower } else { Better::Higher };
    SortFields { metric: Name(*sort), better }.serialize(serializer)
}

/// All protocols at one value of the swept parameter, best first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Round {
    /// The value; null if nothing is swept over.
    pub at: Option<f64>,
    /// The protocols, best first; those without a value last.
    #[serde(rename = "protocols")]
    pub contenders: Vec<Contender>,
}

/// A protocol in a comparison.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Contender {
    /// Its name.
    pub name: String,
    /// Its position in [`CompareReport::names`].
    #[serde(skip)]
    pub position: usize,
    /// The protocol, with its noise solved for and all sizes filled in; as written if it could not be matched.
    pub protocol: ProtocolSpec,
    /// Whether no other is better beyond the errors.
    pub best: bool,
    /// What a report costs; none if it could not be matched.
    #[serde(flatten, serialize_with = "work_fields")]
    #[schemars(with = "WorkFields")]
    pub work: Option<Work>,
    /// The answers, in the order of [`CompareReport::quantities`]; none if it could not be matched.
    pub evaluations: Vec<Evaluated>,
    /// What it is ranked by, by a short Monte Carlo run: for the best protocol, if its value was approximated and that
    /// run is affordable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Evaluated>,
    /// Why it could not be matched.
    #[serde(rename = "reason", skip_serializing_if = "Option::is_none", serialize_with = "as_optional_text")]
    #[schemars(with = "Option<String>")]
    pub mismatch: Option<Mismatch>,
}

impl CompareRequest {
    /// A comparison of protocols under the Jeffreys prior.
    pub fn of(protocols: Vec<Written<ProtocolSpec>>) -> Self {
        CompareRequest {
            protocols,
            prior: Written::default(),
            n: None,
            matched: None,
            sweep: None,
            metric: vec![],
            sort: None,
            estimator: None,
            tolerance: None,
            method: MethodChoice::Auto,
            seed: 0,
        }
    }

    /// The job, if all of it is valid.
    ///
    /// # Errors
    /// A protocol, the prior or a setting is out of range, the protocols have different inputs, or what is matched, swept or ranked by does
    /// not fit.
    pub fn check(&self) -> Result<CompareJob> {
        let settings = Settings { tolerance: self.tolerance, seed: self.seed, choice: self.method.into() };
        let sweep = self.sweep.as_ref().map(SweepRange::check).transpose()?;
        let swept = sweep.as_ref().map(|s| s.swept);
        check_users(self.n.as_slice())?;
        let with_users = self.n.is_some() || swept == Some(Swept::Users);
        let matched = self.matched.as_ref().map(|matched| matched.check(with_users)).transpose()?;
        self.check_protocols(swept, settings)?;
        if matched.is_some() && swept == Some(Swept::Epsilon) {
            return Err(Error::Together { first: "match", second: "a sweep over epsilon" });
        }
        let mut quantities = self.columns(with_users, matched)?;
        let sort = self.ranking(&quantities, matched, with_users)?;
        if !quantities.contains(&sort) {
            quantities.push(sort);
        }
        Ok(CompareJob {
            protocols: self.protocols.clone(),
            prior: self.prior.clone(),
            users: self.n,
            settings,
            names: names(&self.protocols),
            matched,
            sweep,
            quantities,
            sort,
            estimator: ErrorMeasure::named(None, self.estimator.as_deref())?.estimator,
        })
    }

    /// What protocols are ranked by.
    fn ranking(&self, columns: &[Quantity], matched: Option<Wanted>, with_users: bool) -> Result<Quantity> {
        let sort = match &self.sort {
            Some(name) => Quantity::named(name)?,
            None => telling(columns, matched),
        };
        if sort.direction().is_none() {
            let allowed = "a metric of which more or less is better";
            return Err(Error::Setting { name: "sort", value: sort.name().into(), allowed });
        }
        if sort.needs_users() && !with_users {
            return Err(Error::MissingUsers { metrics: vec![sort.name()] });
        }
        Ok(sort)
    }

    /// All protocols are valid, and have the parameter that is swept over.
    fn check_protocols(&self, swept: Option<Swept>, settings: Settings) -> Result<()> {
        let same = matches!(
            self.prior.spec,
            PriorSpec::Jeffreys | PriorSpec::Adaptive | PriorSpec::Symmetric { .. }
        );
        if swept == Some(Swept::Inputs) && !same {
            let allowed = "a sweep over epsilon or n: this prior is for one number of values";
            return Err(Error::Setting { name: "sweep", value: "a".into(), allowed });
        }
        let mut inputs = None;
        for written in &self.protocols {
            let found = Subject::new(written, &self.prior, settings)?.protocol.protocol.inputs();
            let parameter = match swept {
                Some(Swept::Epsilon) => Some(Parameter::Epsilon),
                Some(Swept::Inputs) => Some(Parameter::Inputs),
                _ => None,
            };
            if parameter.is_some_and(|p| written.spec.parameter(p).is_none()) {
                let allowed = "a parameter of every protocol that is compared";
                let value = format!("{} (of {})", parameter.map_or("", Parameter::name), written.spec.name());
                return Err(Error::Setting { name: "sweep", value, allowed });
            }
            if *inputs.get_or_insert(found) != found && swept != Some(Swept::Inputs) {
                let allowed = "the number of inputs of all protocols that are compared";
                return Err(Error::Setting { name: "a", value: found.to_string(), allowed });
            }
        }
        match inputs {
            Some(_) => Ok(()),
            None => Err(Error::Setting {
                name: "protocols",
                value: "none".into(),
                allowed: "a list of protocols",
            }),
        }
    }

    fn columns(&self, with_users: bool, matched: Option<Wanted>) -> Result<Vec<Quantity>> {
        if !self.metric.is_empty() {
            return self.metric.iter().map(|name| Quantity::named(name)).collect();
        }
        let privacy = [Metric::WorstCasePrivacy, Metric::AveragePrivacy, Metric::EffectiveParticipation];
        let mut columns: Vec<Quantity> = privacy.map(Quantity::Metric).into();
        if with_users {
            columns.extend([Metric::DistributionUtility, Metric::DigitUtility].map(Quantity::Metric));
            columns.push(TYPICAL_ERROR);
        }
        columns.extend(matched.map(|w| w.quantity).filter(|q| !columns.contains(q)));
        Ok(columns)
    }
}

/// Utility, unless it or an error is what was matched: then privacy. Never what was matched, which is the same for all.
fn telling(quantities: &[Quantity], matched: Option<Wanted>) -> Quantity {
    let matched = matched.map(|w| w.quantity);
    let utilities = [Metric::DigitUtility, Metric::EffectiveParticipation].map(Quantity::Metric);
    if matched.is_some_and(|q| utilities.contains(&q) || matches!(q, Quantity::Error(_))) {
        return Metric::AveragePrivacy.into();
    }
    let shown = |q: &&Quantity| quantities.contains(q);
    let other = quantities.iter().find(|q| q.direction().is_some() && Some(**q) != matched);
    utilities.iter().find(shown).or(other).copied().unwrap_or(Metric::EffectiveParticipation.into())
}

/// The kind of each protocol, with all of its parameters if two have the same kind.
fn names(protocols: &[Written<ProtocolSpec>]) -> Vec<String> {
    let name = |written: &Written<ProtocolSpec>| {
        let same = protocols.iter().filter(|other| other.spec.name() == written.spec.name()).count();
        if same == 1 { written.spec.name().to_owned() } else { summary(&written.spec) }
    };
    protocols.iter().map(name).collect()
}

impl CompareJob {
    /// The comparison. If the observer stops it, the numbers that are not known by then are absent.
    ///
    /// # Errors
    /// None so far.
    pub fn run(&self, observer: Observer<'_>) -> Result<CompareReport> {
        let places = match &self.sweep {
            Some(sweep) => sweep.values.iter().copied().map(Some).collect(),
            None => vec![None],
        };
        let swept = self.sweep.as_ref().map(|s| s.swept);
        Ok(CompareReport {
            prior: self.prior.spec.clone(),
            n: self.users.filter(|_| swept != Some(Swept::Users)),
            matched: self.matched,
            swept,
            quantities: self.quantities.clone(),
            sort: self.sort,
            estimator: self.estimator,
            names: self.names.clone(),
            rounds: places.into_iter().map(|at| self.round(at, observer)).collect(),
        })
    }

    fn round(&self, at: Option<f64>, observer: Observer<'_>) -> Round {
        let positions = 0..self.protocols.len();
        let mut contenders: Vec<Contender> =
            positions.map(|position| self.contender(position, at, observer)).collect();
        let sign = self.sort.direction().unwrap_or(1.0);
        let key = |c: &Contender| c.number(self.sort).map_or(f64::NEG_INFINITY, |e| sign * e.value);
        contenders.sort_by(|l, r| key(r).total_cmp(&key(l)));
        let best = contenders.first().and_then(|c| c.number(self.sort));
        // What was matched is the same for all, up to the error of the solver.
        let same = self.matched.is_some_and(|wanted| wanted.quantity == self.sort);
        for contender in &mut contenders {
            let behind = |e: Evaluation, best: Evaluation| {
                sign * (best.value - e.value) > 2.0 * (e.error + best.error) + 1e-12
            };
            let number = contender.number(self.sort);
            contender.best = number.zip(best).is_some_and(|(e, best)| same || !behind(e, best));
        }
        if let (None, Some(best)) = (at, contenders.first_mut()) {
            best.confirmation = self.confirmation(best);
        }
        Round { at, contenders }
    }

    /// What the best protocol is ranked by, by a short Monte Carlo run, if it was approximated.
    fn confirmation(&self, best: &Contender) -> Option<Evaluated> {
        let Quantity::Metric(metric) = self.sort else { return None };
        let subject = Subject::new(&best.protocol.clone().into(), &self.prior, self.settings).ok()?;
        let users = self.users.filter(|_| metric.needs_users())?;
        Evaluated::confirmed(&subject.analysis(&unobserved), metric, users)
    }

    fn contender(&self, position: usize, at: Option<f64>, observer: Observer<'_>) -> Contender {
        let written = self.at(position, at);
        let n = match self.sweep.as_ref().map(|s| s.swept) {
            Some(Swept::Users) => at.map(|n| n as u64),
            _ => self.users,
        };
        let name = self.names[position].clone();
        let none = |mismatch: Mismatch| Contender {
            name: name.clone(),
            position,
            protocol: written.spec.clone(),
            best: false,
            work: None,
            evaluations: vec![],
            confirmation: None,
            mismatch: Some(mismatch),
        };
        let matched = match self.matched {
            Some(wanted) => match self.solved(&written, wanted, n, observer) {
                Ok(spec) => Written { spec, source: written.source.clone() },
                Err(mismatch) => return none(mismatch),
            },
            None => written.clone(),
        };
        let subject = match Subject::new(&matched, &self.prior, self.settings) {
            Ok(subject) => subject,
            Err(_) => {
                return none(Mismatch::Absent(Absence::NoMethod {
                    what: "a protocol with these parameters",
                }));
            }
        };
        let analysis = subject.analysis(observer);
        let evaluate = |quantity: &Quantity| {
            let users = n.filter(|_| quantity.needs_users());
            let answer = self.answer(&subject, &analysis, *quantity, users, observer);
            Evaluated { quantity: *quantity, users, answer }
        };
        Contender {
            name: name.clone(),
            position,
            protocol: subject.protocol.spec.clone(),
            best: false,
            work: Some(Work::of(&subject.protocol.protocol)),
            evaluations: self.quantities.iter().map(evaluate).collect(),
            confirmation: None,
            mismatch: None,
        }
    }

    /// The metric or error of a protocol.
    fn answer(
        &self,
        subject: &Subject,
        analysis: &Analysis<'_>,
        quantity: Quantity,
        users: Option<u64>,
        observer: Observer<'_>,
    ) -> Answer {
        let distance = match quantity {
            Quantity::Metric(metric) => {
                return match subject.admit(metric, users) {
                    Ok(()) => analysis.answer(metric, users),
                    Err(refusal) => Answer::from(Err(Absence::Failed(refusal))),
                };
            }
            Quantity::Error(distance) => distance,
        };
        let measure = ErrorMeasure { distance, estimator: self.estimator };
        let (protocol, prior, settings) = (&subject.protocol.protocol, &subject.prior, subject.settings);
        let curve = ErrorCurve { protocol, prior, measure, settings, observer };
        users.map_or_else(|| Answer::from(Err(Absence::NeedsUsers)), |n| curve.at(n))
    }

    /// A protocol at a value of the swept parameter.
    fn at(&self, position: usize, at: Option<f64>) -> Written<ProtocolSpec> {
        let written = &self.protocols[position];
        let parameter = match self.sweep.as_ref().map(|s| s.swept) {
            Some(Swept::Epsilon) => Some(Parameter::Epsilon),
            Some(Swept::Inputs) => Some(Parameter::Inputs),
            _ => None,
        };
        let changed = parameter.zip(at).and_then(|(p, value)| written.spec.with_parameter(p, value));
        Written { spec: changed.unwrap_or_else(|| written.spec.clone()), source: written.source.clone() }
    }

    /// The protocol with the noise at which the metric is as wanted.
    fn solved(
        &self,
        written: &Written<ProtocolSpec>,
        wanted: Wanted,
        n: Option<u64>,
        observer: Observer<'_>,
    ) -> std::result::Result<ProtocolSpec, Mismatch> {
        let parameter = written.spec.noise().ok_or(Mismatch::Fixed)?;
        let with = |value: f64| written.spec.with_parameter(parameter, value).ok_or(Mismatch::Fixed);
        let nothing = || Absence::NoMethod { what: "a protocol with this much noise" };
        let metric = |value: f64| {
            let spec = with(value).map_err(|_| nothing())?;
            let written = Written { spec, source: written.source.clone() };
            let subject = Subject::new(&written, &self.prior, self.settings).map_err(|_| nothing())?;
            let users = n.filter(|_| wanted.quantity.needs_users());
            match self.answer(&subject, &subject.analysis(observer), wanted.quantity, users, observer).value?
            {
                Value::Number(e) => Ok(e),
                Value::Count(..) | Value::Truth(..) => Err(nothing()),
            }
        };
        with(matching::solve(wanted, parameter, &metric)?)
    }
}

impl Contender {
    /// The value of a metric or error, if it has one.
    pub fn number(&self, quantity: impl Into<Quantity>) -> Option<Evaluation> {
        self.answer(quantity.into()).and_then(Answer::number)
    }

    /// The answer to a metric or error, if the protocol could be matched.
    pub fn answer(&self, quantity: Quantity) -> Option<&Answer> {
        self.evaluations.iter().find(|e| e.quantity == quantity).map(|e| &e.answer)
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::spec::read_protocol;

    fn request(protocols: &[&str]) -> CompareRequest {
        CompareRequest::of(protocols.iter().map(|p| read_protocol(p).unwrap()).collect())
    }

    fn run(request: &CompareRequest) -> CompareReport {
        request.check().unwrap().run(&unobserved).unwrap()
    }

    fn matched(text: &str) -> Option<Match> {
        Some(text.parse().unwrap())
    }

    const FOUR: [&str; 4] = ["grr:a=3,eps=2", "rappor:a=3,eps=2", "oue:a=3,eps=2", "blh:a=3,eps=2"];

    fn order(comparison: &CompareReport, round: usize) -> Vec<&str> {
        comparison.rounds[round].contenders.iter().map(|c| comparison.names[c.position].as_str()).collect()
    }

    /// The table of the errata, at six levels of average privacy.
    #[test]
    fn the_best_at_a_level_of_average_privacy_is_as_the_errata_say() {
        for (level, best) in
            [(0.99, "grr"), (0.95, "grr"), (0.90, "oue"), (0.60, "oue"), (0.40, "rappor"), (0.10, "rappor")]
        {
            let matched = matched(&format!("s_mu={level}"));
            let comparison = run(&CompareRequest { matched, ..request(&FOUR) });
            assert_eq!(order(&comparison, 0)[0], best, "{level}");
            let contenders = &comparison.rounds[0].contenders;
            assert!(contenders[0].best && !contenders[1].best, "{level}");
            for contender in contenders.iter().filter(|c| c.mismatch.is_none()) {
                let privacy = contender.number(Metric::AveragePrivacy).unwrap().value;
                assert!((privacy - level).abs() < 1e-9, "{level} {privacy}");
            }
        }
    }

    #[test]
    fn effective_participation_at_matched_privacy_has_the_values_of_the_errata() {
        let matched = matched("s_mu=0.9");
        let comparison = run(&CompareRequest { matched, ..request(&FOUR) });
        for (name, expected) in
            [("grr", 0.033882), ("rappor", 0.032703), ("oue", 0.034163), ("blh", 0.031606)]
        {
            let contender = comparison.rounds[0]
                .contenders
                .iter()
                .find(|c| comparison.names[c.position] == name)
                .unwrap();
            let found = contender.number(Metric::EffectiveParticipation).unwrap();
            assert!((found.value - expected).abs() < 1e-6 + 4.0 * found.error, "{name}: {found:?}");
        }
    }

    #[test]
    fn a_protocol_that_cannot_be_matched_says_why_and_comes_last() {
        let (matched, three) = (matched("s_mu=0.4"), ["oue:a=3,eps=1", "grr:a=3,eps=1", "identity:a=3"]);
        let comparison = run(&CompareRequest { matched, ..request(&three) });
        assert_eq!(order(&comparison, 0)[0], "grr");
        let why = |name: &str| {
            let found = comparison.rounds[0].contenders.iter().find(|c| comparison.names[c.position] == name);
            found.unwrap().mismatch.clone()
        };
        assert!(matches!(why("oue"), Some(Mismatch::OutOfReach { .. })));
        assert_eq!(why("identity"), Some(Mismatch::Fixed));
    }

    #[test]
    fn worst_case_privacy_is_matched_by_its_epsilon() {
        let matched = matched(&format!("s_wc={}", (-1.5f64).exp()));
        let comparison = run(&CompareRequest { matched, ..request(&FOUR) });
        for contender in &comparison.rounds[0].contenders {
            let epsilon = contender.protocol.parameter(Parameter::Epsilon).unwrap();
            assert!((epsilon - 1.5).abs() < 1e-8, "{epsilon}");
        }
    }

    /// Digits grow with epsilon also where n is small; the exact sums leave no doubt.
    #[test]
    fn digits_are_matched_at_a_number_of_users() {
        let (matched, two) = (matched("u_digit=1.2"), ["grr:a=3,eps=2", "erasure:a=3,reveal=0.5"]);
        let comparison = run(&CompareRequest { matched, n: Some(40), ..request(&two) });
        for contender in &comparison.rounds[0].contenders {
            let found = contender.number(Metric::DigitUtility);
            assert!(found.is_some_and(|e| (e.value - 1.2).abs() < 1e-8), "{contender:?}");
        }
        assert_eq!(comparison.sort, Metric::AveragePrivacy.into());
    }

    /// The level at which each is off by one percentage point is the one at which the closed form says so.
    #[test]
    fn a_typical_error_is_matched_and_shown_in_points() {
        let matched = matched("rms=1%");
        let four = ["grr:a=14,eps=2", "rappor:a=14,eps=2", "oue:a=14,eps=2", "subset:a=14,k=4,eps=2"];
        let comparison = run(&CompareRequest {
            matched,
            n: Some(30_718),
            metric: vec!["s_mu".into(), "rms".into()],
            ..request(&four)
        });
        for contender in &comparison.rounds[0].contenders {
            let error = contender.number(TYPICAL_ERROR).unwrap();
            assert!((error.value - 0.01).abs() < 1e-9, "{contender:?}");
        }
        let subset = comparison.rounds[0].contenders.iter().find(|c| c.position == 3).unwrap();
        let level = subset.protocol.parameter(Parameter::Epsilon).unwrap();
        assert!(level > 1.0 && level < 1.02, "{level}");
    }

    /// What was matched differs only by the error of the solver, so it does not rank the protocols.
    #[test]
    fn what_is_matched_does_not_decide() {
        let sorted = |sort: Option<&str>| CompareRequest {
            matched: matched("s_mu=0.95"),
            n: Some(1_000),
            metric: vec!["s_mu".into(), "rms".into()],
            sort: sort.map(Into::into),
            ..request(&FOUR)
        };
        let comparison = run(&sorted(None));
        assert_eq!(comparison.sort, TYPICAL_ERROR);
        let asked = run(&sorted(Some("s_mu")));
        assert!(asked.rounds[0].contenders.iter().all(|c| c.best), "{:?}", asked.rounds);
    }

    #[test]
    fn errors_need_users_and_are_shares() {
        let with = |text: &str, n| CompareRequest { matched: matched(text), n, ..request(&FOUR) };
        assert!(matches!(with("rms=1%", None).check(), Err(Error::MissingUsers { .. })));
        assert!(matches!(with("rms=1", Some(10)).check(), Err(Error::Setting { name: "accuracy_rms", .. })));
        assert!(matches!("s_mu=95".parse::<Match>(), Err(Error::Share(_))));
        let shown = with("s_mu=0.9", Some(10)).check().unwrap();
        assert!(shown.quantities.contains(&TYPICAL_ERROR));
    }

    #[test]
    fn a_sweep_over_the_inputs_shows_where_the_order_changes() {
        let comparison = run(&CompareRequest {
            sweep: Some("a=8..15:8".parse().unwrap()),
            metric: vec!["s_mu".into()],
            sort: Some("s_mu".into()),
            ..request(&FOUR)
        });
        assert_eq!(comparison.rounds.len(), 8);
        assert_eq!((order(&comparison, 0)[0], order(&comparison, 7)[0]), ("blh", "grr"));
    }

    #[test]
    fn equals_are_both_the_best() {
        let comparison = run(&request(&["grr:a=3,eps=1", "grr:a=3,eps=1", "grr:a=3,eps=0.5"]));
        let best: Vec<bool> = comparison.rounds[0].contenders.iter().map(|c| c.best).collect();
        assert_eq!(best, [true, true, false]);
        assert_eq!(comparison.names[0], "grr, a = 3, epsilon = 1");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |request: CompareRequest| match request.check() {
            Err(Error::Setting { name, .. }) => name,
            other => panic!("{other:?}"),
        };
        let sweep = Some("epsilon=1..2:3".parse().unwrap());
        assert_eq!(refused(request(&[])), "protocols");
        assert_eq!(refused(request(&["grr:a=3,eps=1", "grr:a=4,eps=1"])), "a");
        assert_eq!(refused(CompareRequest { sweep: sweep.clone(), ..request(&["identity:a=3"]) }), "sweep");
        assert_eq!(refused(CompareRequest { sort: Some("rank".into()), ..request(&FOUR) }), "sort");
        assert_eq!(refused(CompareRequest { matched: matched("ldp=1"), ..request(&FOUR) }), "match");
        assert_eq!(refused(CompareRequest { matched: matched("s_mu=150%"), ..request(&FOUR) }), "s_mu");
        let users = CompareRequest { matched: matched("u_digit=1"), ..request(&FOUR) };
        assert!(matches!(users.check(), Err(Error::MissingUsers { .. })));
        let both = CompareRequest { matched: matched("s_mu=0.5"), sweep, ..request(&FOUR) };
        assert!(matches!(both.check(), Err(Error::Together { first: "match", .. })));
        assert!(matches!("s_mu".parse::<Match>(), Err(Error::Setting { name: "match", .. })));
    }
}
