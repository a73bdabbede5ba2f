//! The job `compare`: several protocols side by side, at their own noise or matched to the same value of a metric, and over a sweep.

mod matching;
mod sweep;
mod work;

pub use matching::{MATCHED, Mismatch, Wanted};
pub use sweep::{Sweep, Swept};
pub use work::Work;

use sottovoce::estimate::Estimator;
use sottovoce::metric::{Absence, Answer, Observer, Settings, Value};
use sottovoce::{Evaluation, Metric};

use crate::error::{Error, Result};
use crate::expected_error::{ErrorCurve, ErrorMeasure};
use crate::quantity::{Evaluated, Quantity, TYPICAL_ERROR};
use crate::render::text::summary;
use crate::share::share;
use crate::source::Written;
use crate::spec::{Parameter, PriorSpec, ProtocolSpec};
use crate::subject::{Subject, check_users};

/// Which protocols to compare, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareSpec {
    /// The protocols.
    pub protocols: Vec<Written<ProtocolSpec>>,
    /// The prior.
    pub prior: Written<PriorSpec>,
    /// The number of users `n`, for the metrics that need one.
    pub users: Option<u64>,
    /// The value that a metric is to have for all protocols, as `METRIC=VALUE`; their noise is solved for.
    pub matched: Option<String>,
    /// The parameter to sweep over, as `NAME=LO..HI:COUNT`.
    pub sweep: Option<String>,
    /// The metrics to show; none means the usual ones.
    pub metrics: Vec<String>,
    /// The metric to sort by; none means the most telling one.
    pub sort: Option<String>,
    /// The estimator whose errors are shown or matched; none means the linear one.
    pub estimator: Option<String>,
    /// Tolerance, method and seed.
    pub settings: Settings,
}

/// A valid request for a comparison.
#[derive(Clone, Debug)]
pub struct CompareJob {
    spec: CompareSpec,
    names: Vec<String>,
    matched: Option<Wanted>,
    sweep: Option<Sweep>,
    quantities: Vec<Quantity>,
    sort: Quantity,
    estimator: Estimator,
}

/// What the comparison found.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The prior.
    pub prior: PriorSpec,
    /// The number of users, unless it is swept over.
    pub n: Option<u64>,
    /// The value that all protocols were matched to.
    pub matched: Option<Wanted>,
    /// What was swept over.
    pub swept: Option<Swept>,
    /// The metrics and errors, in the order of the columns.
    pub quantities: Vec<Quantity>,
    /// The one that decides.
    pub sort: Quantity,
    /// The estimator whose errors are told.
    pub estimator: Estimator,
    /// Names of the protocols, in the order in which they were given.
    pub names: Vec<String>,
    /// One round for each value swept over; else a single one.
    pub rounds: Vec<Round>,
}

/// All protocols at one value of the swept parameter, best first.
#[derive(Clone, Debug)]
pub struct Round {
    /// The value.
    pub at: Option<f64>,
    /// The protocols, best first; those without a value last.
    pub contenders: Vec<Contender>,
}

/// A protocol in a comparison.
#[derive(Clone, Debug)]
pub struct Contender {
    /// Its position in [`Comparison::names`].
    pub position: usize,
    /// The protocol, with its noise solved for and all sizes filled in; as written if it could not be matched.
    pub protocol: ProtocolSpec,
    /// What a report costs.
    pub work: Option<Work>,
    /// The answers, in the order of [`Comparison::quantities`]; none if it could not be matched.
    pub evaluations: Vec<Evaluated>,
    /// Why it could not be matched.
    pub mismatch: Option<Mismatch>,
    /// Whether no other is better beyond the errors.
    pub best: bool,
}

impl CompareSpec {
    /// A comparison of protocols under the Jeffreys prior.
    pub fn of(protocols: Vec<Written<ProtocolSpec>>) -> Self {
        CompareSpec {
            protocols,
            prior: PriorSpec::default().into(),
            users: None,
            matched: None,
            sweep: None,
            metrics: vec![],
            sort: None,
            estimator: None,
            settings: Settings::default(),
        }
    }

    /// The job, if all of it is valid.
    ///
    /// # Errors
    /// A protocol, the prior or a setting is out of range, the protocols have different inputs, or what is matched, swept or sorted by does not fit.
    pub fn check(&self) -> Result<CompareJob> {
        let sweep: Option<Sweep> = self.sweep.as_deref().map(str::parse).transpose()?;
        let swept = sweep.as_ref().map(|s| s.swept);
        check_users(&self.users.into_iter().collect::<Vec<_>>())?;
        let with_users = self.users.is_some() || swept == Some(Swept::Users);
        let matched = self.matched.as_deref().map(|text| wanted(text, with_users)).transpose()?;
        self.check_protocols(swept)?;
        if matched.is_some() && swept == Some(Swept::Epsilon) {
            let allowed = "a sweep over a or n: with --match, epsilon is solved for";
            return Err(Error::Setting { name: "sweep", value: "epsilon".into(), allowed });
        }
        let quantities = self.columns(with_users, matched)?;
        let sort = match &self.sort {
            Some(name) => Quantity::named(name)?,
            None => telling(&quantities, matched),
        };
        if sort.direction().is_none() || (sort.needs_users() && !with_users) {
            let allowed = match sort.direction() {
                Some(_) => "known without a number of users: give --n, or sort by another metric",
                None => "a metric of which more or less is better",
            };
            return Err(Error::Setting { name: "sort", value: sort.name().into(), allowed });
        }
        let quantities =
            if quantities.contains(&sort) { quantities } else { [quantities, vec![sort]].concat() };
        let estimator = ErrorMeasure::named(None, self.estimator.as_deref())?.estimator;
        let names = names(&self.protocols);
        Ok(CompareJob { spec: self.clone(), names, matched, sweep, quantities, sort, estimator })
    }

    /// All protocols are valid, and can do what is asked of them.
    fn check_protocols(&self, swept: Option<Swept>) -> Result<()> {
        let same = matches!(self.prior.spec, PriorSpec::Jeffreys | PriorSpec::Symmetric { .. });
        if swept == Some(Swept::Inputs) && !same {
            let allowed = "a sweep over epsilon or n: this prior is for one number of values";
            return Err(Error::Setting { name: "sweep", value: "a".into(), allowed });
        }
        let mut inputs = None;
        for written in &self.protocols {
            let found = Subject::new(written, &self.prior, self.settings)?.protocol.protocol.inputs();
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
        if !self.metrics.is_empty() {
            return self.metrics.iter().map(|name| Quantity::named(name)).collect();
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

/// Reads `METRIC=VALUE`.
fn wanted(text: &str, with_users: bool) -> Result<Wanted> {
    let allowed = "METRIC=VALUE with METRIC s_mu, s_wc, f_mu, or with --n also u_digit, rms or another error, such as s_mu=0.9 or rms=1%";
    let wrong = || Error::Setting { name: "match", value: crate::spec::shown(text), allowed };
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    let quantity = Quantity::named(name)?;
    if !MATCHED.contains(&quantity) || (quantity.needs_users() && !with_users) {
        return Err(wrong());
    }
    let value =
        if quantity.is_share() { share(value)? } else { value.trim().parse().map_err(|_| wrong())? };
    if !value.is_finite() || (quantity.is_share() && !(value > 0.0 && value < 1.0)) {
        let allowed =
            if quantity.is_share() { "above 0 and below 1, as shares are" } else { "a finite number" };
        return Err(Error::Setting { name: quantity.name(), value: value.to_string(), allowed });
    }
    Ok(Wanted { quantity, value })
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

/// The kind of each protocol, or all of its parameters where that would not tell it apart.
fn names(protocols: &[Written<ProtocolSpec>]) -> Vec<String> {
    let name = |written: &Written<ProtocolSpec>| {
        let same = protocols.iter().filter(|other| other.spec.name() == written.spec.name()).count();
        if same == 1 { written.spec.name().to_owned() } else { summary(&written.spec) }
    };
    protocols.iter().map(name).collect()
}

impl CompareJob {
    /// The comparison. Numbers that the observer leaves out are absent from the report.
    pub fn run(&self, observer: Observer<'_>) -> Comparison {
        let places = match &self.sweep {
            Some(sweep) => sweep.values.iter().copied().map(Some).collect(),
            None => vec![None],
        };
        let swept = self.sweep.as_ref().map(|s| s.swept);
        Comparison {
            prior: self.spec.prior.spec.clone(),
            n: self.spec.users.filter(|_| swept != Some(Swept::Users)),
            matched: self.matched,
            swept,
            quantities: self.quantities.clone(),
            sort: self.sort,
            estimator: self.estimator,
            names: self.names.clone(),
            rounds: places.into_iter().map(|at| self.round(at, observer)).collect(),
        }
    }

    fn round(&self, at: Option<f64>, observer: Observer<'_>) -> Round {
        let positions = 0..self.spec.protocols.len();
        let mut contenders: Vec<Contender> =
            positions.map(|position| self.contender(position, at, observer)).collect();
        let sign = self.sort.direction().unwrap_or(1.0);
        let key = |c: &Contender| c.number(self.sort).map_or(f64::NEG_INFINITY, |e| sign * e.value);
        contenders.sort_by(|l, r| key(r).total_cmp(&key(l)));
        let best = contenders.first().and_then(|c| c.number(self.sort));
        // What was matched is the same for all, as far as it was solved for.
        let same = self.matched.is_some_and(|wanted| wanted.quantity == self.sort);
        for contender in &mut contenders {
            let behind = |e: Evaluation, best: Evaluation| {
                sign * (best.value - e.value) > 2.0 * (e.error + best.error) + 1e-12
            };
            let number = contender.number(self.sort);
            contender.best = number.zip(best).is_some_and(|(e, best)| same || !behind(e, best));
        }
        Round { at, contenders }
    }

    fn contender(&self, position: usize, at: Option<f64>, observer: Observer<'_>) -> Contender {
        let written = self.at(position, at);
        let n = match self.sweep.as_ref().map(|s| s.swept) {
            Some(Swept::Users) => at.map(|n| n as u64),
            _ => self.spec.users,
        };
        let none = |mismatch: Mismatch| Contender {
            position,
            protocol: written.spec.clone(),
            work: None,
            evaluations: vec![],
            mismatch: Some(mismatch),
            best: false,
        };
        let matched = match self.matched {
            Some(wanted) => match self.solved(&written, wanted, n, observer) {
                Ok(spec) => Written { spec, source: written.source.clone() },
                Err(mismatch) => return none(mismatch),
            },
            None => written.clone(),
        };
        let subject = match Subject::new(&matched, &self.spec.prior, self.spec.settings) {
            Ok(subject) => subject,
            Err(_) => {
                return none(Mismatch::Absent(Absence::NoMethod {
                    what: "a protocol with these parameters",
                }));
            }
        };
        let evaluate = |quantity: &Quantity| {
            let users = n.filter(|_| quantity.needs_users());
            let answer = self.answer(&subject, *quantity, users, observer);
            Evaluated { quantity: *quantity, users, answer }
        };
        Contender {
            position,
            protocol: subject.protocol.spec.clone(),
            work: Some(Work::of(&subject.protocol.protocol)),
            evaluations: self.quantities.iter().map(evaluate).collect(),
            mismatch: None,
            best: false,
        }
    }

    /// The metric or error of a protocol.
    fn answer(
        &self,
        subject: &Subject,
        quantity: Quantity,
        users: Option<u64>,
        observer: Observer<'_>,
    ) -> Answer {
        let distance = match quantity {
            Quantity::Metric(metric) => {
                return match subject.admit(metric, users) {
                    Ok(()) => subject.analysis(observer).answer(metric, users),
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
        let written = &self.spec.protocols[position];
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
            let subject =
                Subject::new(&written, &self.spec.prior, self.spec.settings).map_err(|_| nothing())?;
            let users = n.filter(|_| wanted.quantity.needs_users());
            match self.answer(&subject, wanted.quantity, users, observer).value? {
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
    use sottovoce::unobserved;

    use super::*;
    use crate::spec::read_protocol;

    fn spec(protocols: &[&str]) -> CompareSpec {
        CompareSpec::of(protocols.iter().map(|p| read_protocol(p).unwrap()).collect())
    }

    const FOUR: [&str; 4] = ["grr:a=3,eps=2", "rappor:a=3,eps=2", "oue:a=3,eps=2", "blh:a=3,eps=2"];

    fn order(comparison: &Comparison, round: usize) -> Vec<&str> {
        comparison.rounds[round].contenders.iter().map(|c| comparison.names[c.position].as_str()).collect()
    }

    /// The table of the errata, at six levels of average privacy.
    #[test]
    fn the_best_at_a_level_of_average_privacy_is_as_the_errata_say() {
        for (level, best) in
            [(0.99, "grr"), (0.95, "grr"), (0.90, "oue"), (0.60, "oue"), (0.40, "rappor"), (0.10, "rappor")]
        {
            let matched = Some(format!("s_mu={level}"));
            let comparison = CompareSpec { matched, ..spec(&FOUR) }.check().unwrap().run(&unobserved);
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
        let matched = Some("s_mu=0.9".to_owned());
        let comparison = CompareSpec { matched, ..spec(&FOUR) }.check().unwrap().run(&unobserved);
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
        let matched = Some("s_mu=0.4".to_owned());
        let comparison = CompareSpec { matched, ..spec(&["oue:a=3,eps=1", "grr:a=3,eps=1", "identity:a=3"]) }
            .check()
            .unwrap()
            .run(&unobserved);
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
        let matched = Some(format!("s_wc={}", (-1.5f64).exp()));
        let comparison = CompareSpec { matched, ..spec(&FOUR) }.check().unwrap().run(&unobserved);
        for contender in &comparison.rounds[0].contenders {
            let epsilon = contender.protocol.parameter(Parameter::Epsilon).unwrap();
            assert!((epsilon - 1.5).abs() < 1e-8, "{epsilon}");
        }
    }

    /// Digits grow with epsilon also where n is small; the exact sums leave no doubt.
    #[test]
    fn digits_are_matched_at_a_number_of_users() {
        let matched = Some("u_digit=1.2".to_owned());
        let spec =
            CompareSpec { matched, users: Some(40), ..spec(&["grr:a=3,eps=2", "erasure:a=3,reveal=0.5"]) };
        let comparison = spec.check().unwrap().run(&unobserved);
        for contender in &comparison.rounds[0].contenders {
            let found = contender.number(Metric::DigitUtility);
            assert!(found.is_some_and(|e| (e.value - 1.2).abs() < 1e-8), "{contender:?}");
        }
        assert_eq!(comparison.sort, Metric::AveragePrivacy.into());
    }

    /// The level at which each is off by one percentage point is the one at which the closed form says so.
    #[test]
    fn a_typical_error_is_matched_and_shown_in_points() {
        let matched = Some("rms=1%".to_owned());
        let four = ["grr:a=14,eps=2", "rappor:a=14,eps=2", "oue:a=14,eps=2", "subset:a=14,k=4,eps=2"];
        let spec = CompareSpec {
            matched,
            users: Some(30_718),
            metrics: vec!["s_mu".into(), "rms".into()],
            ..spec(&four)
        };
        let comparison = spec.check().unwrap().run(&unobserved);
        for contender in &comparison.rounds[0].contenders {
            let error = contender.number(TYPICAL_ERROR).unwrap();
            assert!((error.value - 0.01).abs() < 1e-9, "{contender:?}");
        }
        let subset = comparison.rounds[0].contenders.iter().find(|c| c.position == 3).unwrap();
        let level = subset.protocol.parameter(Parameter::Epsilon).unwrap();
        assert!(level > 1.0 && level < 1.02, "{level}");
    }

    /// What was matched is the same for all but for the last digits of the solver, and is nobody's merit.
    #[test]
    fn what_is_matched_does_not_decide() {
        let matched = |sort: Option<&str>| CompareSpec {
            matched: Some("s_mu=0.95".into()),
            users: Some(1_000),
            metrics: vec!["s_mu".into(), "rms".into()],
            sort: sort.map(Into::into),
            ..spec(&FOUR)
        };
        let comparison = matched(None).check().unwrap().run(&unobserved);
        assert_eq!(comparison.sort, TYPICAL_ERROR);
        let asked = matched(Some("s_mu")).check().unwrap().run(&unobserved);
        assert!(asked.rounds[0].contenders.iter().all(|c| c.best), "{:?}", asked.rounds);
    }

    #[test]
    fn errors_need_users_and_are_shares() {
        let matched = |text: &str, users| CompareSpec { matched: Some(text.into()), users, ..spec(&FOUR) };
        assert!(matches!(matched("rms=1%", None).check(), Err(Error::Setting { name: "match", .. })));
        assert!(matches!(
            matched("rms=1", Some(10)).check(),
            Err(Error::Setting { name: "accuracy_rms", .. })
        ));
        assert!(matches!(matched("s_mu=95", None).check(), Err(Error::Share(_))));
        let shown = matched("s_mu=0.9", Some(10)).check().unwrap();
        assert!(shown.quantities.contains(&TYPICAL_ERROR));
    }

    #[test]
    fn a_sweep_over_the_inputs_shows_where_the_order_changes() {
        let spec = CompareSpec {
            sweep: Some("a=8..15:8".into()),
            metrics: vec!["s_mu".into()],
            sort: Some("s_mu".into()),
            ..spec(&FOUR)
        };
        let comparison = spec.check().unwrap().run(&unobserved);
        assert_eq!(comparison.rounds.len(), 8);
        assert_eq!((order(&comparison, 0)[0], order(&comparison, 7)[0]), ("blh", "grr"));
    }

    #[test]
    fn equals_are_both_the_best() {
        let comparison =
            spec(&["grr:a=3,eps=1", "grr:a=3,eps=1", "grr:a=3,eps=0.5"]).check().unwrap().run(&unobserved);
        let best: Vec<bool> = comparison.rounds[0].contenders.iter().map(|c| c.best).collect();
        assert_eq!(best, [true, true, false]);
        assert_eq!(comparison.names[0], "grr, a = 3, epsilon = 1");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |spec: CompareSpec| match spec.check() {
            Err(Error::Setting { name, .. }) => name,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(spec(&[])), "protocols");
        assert_eq!(refused(spec(&["grr:a=3,eps=1", "grr:a=4,eps=1"])), "a");
        assert_eq!(
            refused(CompareSpec { sweep: Some("epsilon=1..2:3".into()), ..spec(&["identity:a=3"]) }),
            "sweep"
        );
        assert_eq!(refused(CompareSpec { sort: Some("rank".into()), ..spec(&FOUR) }), "sort");
        assert_eq!(refused(CompareSpec { matched: Some("u_digit=1".into()), ..spec(&FOUR) }), "match");
        assert_eq!(refused(CompareSpec { matched: Some("s_mu=150%".into()), ..spec(&FOUR) }), "s_mu");
        let both = CompareSpec {
            matched: Some("s_mu=0.5".into()),
            sweep: Some("epsilon=1..2:3".into()),
            ..spec(&FOUR)
        };
        assert_eq!(refused(both), "sweep");
    }
}
