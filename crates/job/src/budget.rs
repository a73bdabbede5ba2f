//! The job `budget`: several protocols on the same value, one collection after the other.
//!
//! ```text
//! LDP(Q¹ × … × Qᵏ) ≤ Σ_j LDP(Qʲ)          1 − S_μ(Q¹ × … × Qᵏ) ≤ Σ_j (1 − S_μ(Qʲ))        [paper, Prop. "privacy budget"]
//! ```
//! The sums are what an accountant writes down; what the reports together really tell is exact where their outputs can be visited.
//! Rounds of one protocol, with fresh or memoised noise, have methods of their own ([`sottovoce::metric::Rounds`]).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use sottovoce::metric::{Absence, Answer, MAX_ROUNDS, Rounds, Settings};
use sottovoce::{Analysis, Evaluation, Metric, Observer, Prior, Protocol};

use crate::contract::{
    AnswerFields, Number, OneOrMore, Whole, answer, answers, one_or_more, optional_number, optional_whole,
    whole,
};
use crate::error::{Error, Result};
use crate::source::Written;
use crate::spec::{NamedProtocol, PriorSpec, ProtocolKind, ProtocolSpec};

/// Which protocols are used on the same value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetRequest {
    /// The protocols, one for each collection.
    #[serde(deserialize_with = "one_or_more::<_, Written<ProtocolSpec>, _>")]
    #[schemars(with = "OneOrMore<Written<ProtocolSpec>>")]
    pub protocol: Vec<Written<ProtocolSpec>>,
    /// Memoised noise: the report of `protocol` is drawn once, and each round draws a report of this protocol from it.
    #[serde(default)]
    pub then: Option<Written<ProtocolSpec>>,
    /// Number of rounds, each with a report of every protocol. With `then` one, if not given.
    #[serde(default, deserialize_with = "optional_whole")]
    #[schemars(with = "Option<Whole>")]
    pub times: Option<u64>,
    /// The prior.
    #[serde(default)]
    pub prior: Written<PriorSpec>,
    /// Limit of the LDP level of all collections together.
    #[serde(default)]
    pub epsilon: Option<f64>,
    /// Limit of the average privacy of all collections together.
    #[serde(default)]
    pub min_average_privacy: Option<f64>,
    /// Seed of all random draws.
    #[serde(default, deserialize_with = "whole")]
    #[schemars(with = "Whole")]
    pub seed: u64,
}

/// A valid request for a budget.
#[derive(Clone, Debug)]
pub struct BudgetJob {
    protocols: Vec<NamedProtocol>,
    /// All of them on the same value.
    product: Protocol,
    repetition: Option<(Repetition, Rounds)>,
    prior_spec: PriorSpec,
    prior: Prior,
    epsilon: Option<f64>,
    min_average_privacy: Option<f64>,
    settings: Settings,
}

/// What the protocols spend.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BudgetReport {
    /// The protocols, with all sizes filled in.
    pub protocols: Vec<ProtocolSpec>,
    /// How they are repeated.
    #[serde(rename = "rounds", skip_serializing_if = "Option::is_none")]
    pub repetition: Option<Repetition>,
    /// The prior.
    pub prior: PriorSpec,
    /// The worst case.
    #[serde(rename = "ldp")]
    pub worst_case: Account,
    /// On average.
    #[serde(rename = "s_mu")]
    pub average: Account,
}

/// Several rounds about the same value.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Repetition {
    /// Number of rounds.
    pub times: u64,
    /// What each round draws from the permanent report; none if each round draws from the value, with fresh noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub then: Option<ProtocolSpec>,
    /// Whether each bit of a report is drawn from that bit of the permanent report.
    pub bit_by_bit: bool,
}

/// Privacy after some rounds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AfterRounds {
    /// Number of rounds; null for the limit of many.
    pub rounds: Option<u64>,
    /// The value.
    #[serde(flatten, serialize_with = "answer")]
    #[schemars(with = "AnswerFields")]
    pub answer: Answer,
}

/// One kind of privacy: what each protocol has, what all together have, and what is left of the limit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Account {
    /// `LDP` or `S_μ`.
    #[serde(skip)]
    pub metric: Metric,
    /// Of each protocol.
    #[serde(serialize_with = "answers")]
    #[schemars(with = "Vec<AnswerFields>")]
    pub each: Vec<Answer>,
    /// After 1, 2, 5, 10, … rounds and in the limit, if there are rounds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<AfterRounds>,
    /// Of all together, after all rounds.
    #[serde(serialize_with = "answer")]
    #[schemars(with = "AnswerFields")]
    pub together: Answer,
    /// The bound of the proposition; with memoised noise, the permanent report.
    #[serde(serialize_with = "bound_fields")]
    #[schemars(with = "BoundFields")]
    pub bound: Result<Evaluation, Absence>,
    /// The limit, if one was given.
    pub limit: Option<f64>,
    /// What is left of the limit.
    pub left: Option<Left>,
}

/// What is left of a limit; negative if the limit is exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Left {
    /// By the value of all together; of a bracket the less private end counts.
    #[serde(serialize_with = "optional_number")]
    #[schemars(with = "Option<Number>")]
    pub together: Option<f64>,
    /// By the bound.
    #[serde(serialize_with = "optional_number")]
    #[schemars(with = "Option<Number>")]
    pub bound: Option<f64>,
}

/// A bound as JSON has it, or only a null value and the reason.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Bound")]
struct BoundFields {
    /// The bound; null if there is none.
    value: Option<Number>,
    /// A bound on its absolute error.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Number>,
    /// Why there is no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

fn bound_fields<S: Serializer>(
    bound: &Result<Evaluation, Absence>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let found = bound.as_ref().ok();
    BoundFields {
        value: found.map(|bound| Number(bound.value)),
        error: found.map(|bound| Number(bound.error)),
        reason: bound.as_ref().err().map(ToString::to_string),
    }
    .serialize(serializer)
}

impl Account {
    /// `times` is how often each protocol draws from the value.
    fn new(metric: Metric, each: Vec<Answer>, times: u64, together: Answer, limit: Option<f64>) -> Self {
        let bound = bound(metric, &each, times);
        let left = limit.map(|limit| Left::new(metric, limit, &together, bound.as_ref().ok()));
        Account { metric, each, after: vec![], together, bound, limit, left }
    }
}

impl Left {
    fn new(metric: Metric, limit: f64, together: &Answer, bound: Option<&Evaluation>) -> Self {
        let left = |value: f64| {
            let left = if metric == Metric::LocalPrivacyLevel { limit - value } else { value - limit };
            // Rounding errors count as zero.
            if left.abs() <= ROUNDING * limit.abs().max(1.0) { 0.0 } else { left }
        };
        let worst = together.bracket().map(|(low, high)| match metric {
            Metric::LocalPrivacyLevel => high,
            _ => low,
        });
        let worst = worst.or(together.number().map(|e| e.value));
        Left { together: worst.map(left), bound: bound.map(|bound| left(bound.value)) }
    }
}

impl BudgetRequest {
    /// What protocols spend under the Jeffreys prior, without limits.
    pub fn of(protocol: Vec<Written<ProtocolSpec>>) -> Self {
        BudgetRequest {
            protocol,
            then: None,
            times: None,
            prior: Written::default(),
            epsilon: None,
            min_average_privacy: None,
            seed: 0,
        }
    }

    /// The job, if all of it is valid.
    ///
    /// # Errors
    /// There is no protocol, one of them, the prior, a limit or the number of rounds is out of range, the protocols have different
    /// numbers of values, or there is not exactly one permanent report whose outputs the next protocol accepts.
    pub fn check(&self) -> Result<BudgetJob> {
        self.check_limits()?;
        let same = |l: &Written<ProtocolSpec>, r: &Written<ProtocolSpec>| l.spec == r.spec;
        let protocols = each_once(&self.protocol, same, |written| written.check(&self.prior.spec))?;
        let factors = protocols.iter().map(|named| named.spec.clone()).collect();
        let all = Written::from(ProtocolSpec::from(ProtocolKind::Product { factors }));
        let product = all.check(&self.prior.spec)?.protocol;
        Ok(BudgetJob {
            repetition: self.repetition(&protocols, &product)?,
            protocols,
            prior: self.prior.check(product.inputs())?,
            product,
            prior_spec: self.prior.spec.clone(),
            epsilon: self.epsilon,
            min_average_privacy: self.min_average_privacy,
            settings: Settings { seed: self.seed, ..Settings::default() },
        })
    }

    fn repetition(
        &self,
        protocols: &[NamedProtocol],
        product: &Protocol,
    ) -> Result<Option<(Repetition, Rounds)>> {
        let Some(times) = self.times.or(self.then.as_ref().map(|_| 1)) else { return Ok(None) };
        if !(1..=MAX_ROUNDS).contains(&times) {
            let (value, allowed) = (times.to_string(), "between 1 and 10000");
            return Err(Error::Setting { name: "times", value, allowed });
        }
        let then = self.then.as_ref().map(|then| then.check(&self.prior.spec)).transpose()?;
        let rounds = match (protocols, &then) {
            ([only], Some(then)) => Rounds::memoised(only.protocol.clone(), then.protocol.clone())?,
            (_, Some(_)) => {
                let (value, allowed) = (format!("after {} protocols", protocols.len()), "after one protocol");
                return Err(Error::Setting { name: "then", value, allowed });
            }
            ([only], None) => Rounds::fresh(only.protocol.clone()),
            (_, None) => Rounds::fresh(product.clone()),
        };
        let (then, bit_by_bit) = (then.map(|named| named.spec), rounds.bit_by_bit());
        Ok(Some((Repetition { times, then, bit_by_bit }, rounds)))
    }

    fn check_limits(&self) -> Result<()> {
        let wrong =
            |name, value: f64, allowed| Err(Error::Setting { name, value: value.to_string(), allowed });
        if self.protocol.is_empty() {
            return Err(Error::Setting { name: "protocol", value: "none".into(), allowed: "at least one" });
        }
        match (self.epsilon, self.min_average_privacy) {
            (Some(epsilon), _) if !(epsilon > 0.0 && epsilon.is_finite()) => {
                wrong("epsilon", epsilon, "above 0 and finite")
            }
            (_, Some(privacy)) if !(0.0..=1.0).contains(&privacy) => {
                wrong("min_average_privacy", privacy, "between 0 and 1")
            }
            _ => Ok(()),
        }
    }
}

impl BudgetJob {
    /// The accounts.
    ///
    /// # Errors
    /// None so far.
    pub fn run(&self, observer: Observer<'_>) -> Result<BudgetReport> {
        Ok(BudgetReport {
            protocols: self.protocols.iter().map(|named| named.spec.clone()).collect(),
            repetition: self.repetition.as_ref().map(|(repetition, _)| repetition.clone()),
            prior: self.prior_spec.clone(),
            worst_case: self.account(Metric::LocalPrivacyLevel, self.epsilon, observer)?,
            average: self.account(Metric::AveragePrivacy, self.min_average_privacy, observer)?,
        })
    }

    fn account(&self, metric: Metric, limit: Option<f64>, observer: Observer<'_>) -> Result<Account> {
        let answer = |protocol: &Protocol| {
            // Unwrap safety: the prior was made for the inputs of the product, which are those of each factor.
            let analysis = Analysis::with_settings(protocol, &self.prior, self.settings).unwrap();
            analysis.observed_by(observer).answer(metric, None)
        };
        let same = |l: &NamedProtocol, r: &NamedProtocol| l.protocol == r.protocol;
        let each = each_once(&self.protocols, same, |named| Ok(answer(&named.protocol)))?;
        let Some((repetition, rounds)) = &self.repetition else {
            return Ok(Account::new(metric, each, 1, answer(&self.product), limit));
        };
        let mut after: Vec<AfterRounds> = Vec::new();
        for times in schedule(repetition.times) {
            let answer = match metric {
                Metric::LocalPrivacyLevel => rounds.level(times),
                _ => rounds.average_privacy(times, &self.prior, &self.settings),
            };
            after.push(AfterRounds { rounds: Some(times), answer });
        }
        // Unwrap safety: the schedule ends with all rounds.
        let together = after.last().unwrap().answer.clone();
        let answer = match metric {
            Metric::LocalPrivacyLevel => rounds.level_limit(),
            _ => rounds.average_privacy_limit(&self.prior, &self.settings),
        };
        after.push(AfterRounds { rounds: None, answer });
        // The permanent report is drawn once, and nothing tells more than it does.
        let draws = if repetition.then.is_some() { 1 } else { repetition.times };
        Ok(Account { after, ..Account::new(metric, each, draws, together, limit) })
    }
}

/// 1, 2, 5, 10, 20, 50, … below `times`, then `times`.
pub(crate) fn schedule(times: u64) -> Vec<u64> {
    let decades = std::iter::successors(Some(1u64), |decade| decade.checked_mul(10));
    let round = decades.take_while(|decade| *decade < times).flat_map(|decade| [1, 2, 5].map(|m| m * decade));
    round.filter(|rounds| *rounds < times).chain([times]).collect()
}

/// A difference smaller than this, relative to the limit, is rounding.
const ROUNDING: f64 = 1e-12;

/// The result of each item; equal items are evaluated once.
fn each_once<T, U: Clone>(
    items: &[T],
    same: impl Fn(&T, &T) -> bool,
    of: impl Fn(&T) -> Result<U>,
) -> Result<Vec<U>> {
    let mut found: Vec<U> = Vec::with_capacity(items.len());
    for item in items {
        let before = items[..found.len()].iter().position(|other| same(other, item));
        found.push(match before {
            Some(position) => found[position].clone(),
            None => of(item)?,
        });
    }
    Ok(found)
}

/// `Σ LDP`, or `1 − Σ (1 − S_μ)` where that is positive, with each protocol used `times` times. Of a bracket the less private end
/// counts.
fn bound(metric: Metric, each: &[Answer], times: u64) -> Result<Evaluation, Absence> {
    let mut sum = Evaluation::closed_form(0.0, 0);
    for answer in each {
        let number = match (&answer.value, answer.number()) {
            (_, Some(number)) => match (answer.bracket(), metric) {
                (Some((_, high)), Metric::LocalPrivacyLevel) => Evaluation::new(high, 0.0, number.method),
                (Some((low, _)), _) => Evaluation::new(low, 0.0, number.method),
                (None, _) => number,
            },
            (Err(absence), None) => return Err(absence.clone()),
            (Ok(_), None) => return Err(Absence::NoMethod { what: "a metric that is not a number" }),
        };
        let spent = match metric {
            Metric::LocalPrivacyLevel => number,
            _ => Evaluation::new(1.0 - number.value, number.error, number.method),
        };
        sum = sum.plus(spent);
    }
    let sum = sum.times(times as f64);
    Ok(match metric {
        Metric::LocalPrivacyLevel => sum,
        _ => Evaluation::new((1.0 - sum.value).max(0.0), sum.error, sum.method),
    })
}

#[cfg(test)]
mod tests {
    use sottovoce::unobserved;

    use super::*;
    use crate::spec::{read_prior, read_protocol};

    fn request(protocols: &[&str]) -> BudgetRequest {
        BudgetRequest {
            prior: read_prior("dirichlet:alpha=0.5/1/2").unwrap(),
            epsilon: Some(2.0),
            min_average_privacy: Some(0.5),
            ..BudgetRequest::of(protocols.iter().map(|p| read_protocol(p).unwrap()).collect())
        }
    }

    fn run(request: &BudgetRequest) -> BudgetReport {
        request.check().unwrap().run(&unobserved).unwrap()
    }

    fn report(protocols: &[&str]) -> BudgetReport {
        run(&request(protocols))
    }

    #[test]
    fn together_they_spend_at_most_the_sums() {
        let report = report(&["grr:a=3,eps=0.5", "oue:a=3,eps=1"]);
        let (together, bound) =
            (report.worst_case.together.number().unwrap(), report.worst_case.bound.as_ref().unwrap());
        assert!((bound.value - 1.5).abs() < 1e-12 && together.value <= bound.value + 1e-12);
        let (together, bound) =
            (report.average.together.number().unwrap(), report.average.bound.as_ref().unwrap());
        assert!(together.value >= bound.value && together.value < 1.0, "{together:?} {bound:?}");
        let left = report.average.left.unwrap();
        assert!(left.together.unwrap() >= left.bound.unwrap());
    }

    #[test]
    fn the_same_question_twice_spends_twice_the_level() {
        let report = report(&["grr:a=3,eps=0.7", "grr:a=3,eps=0.7"]);
        assert!((report.worst_case.together.number().unwrap().value - 1.4).abs() < 1e-12);
        assert!((report.worst_case.left.unwrap().together.unwrap() - 0.6).abs() < 1e-12);
    }

    #[test]
    fn complementary_questions_spend_less_than_the_sum() {
        // Each protects another pair: the worst pair is never the same.
        let one = "matrix:rows=0.8/0.2/0.2//0.2/0.8/0.8";
        let report = report(&[one, "matrix:rows=0.8/0.8/0.2//0.2/0.2/0.8"]);
        let (together, bound) =
            (report.worst_case.together.number().unwrap(), report.worst_case.bound.as_ref().unwrap());
        assert!(together.value <= bound.value + 1e-12);
    }

    #[test]
    fn what_rounding_leaves_of_nothing_is_nothing() {
        let tenth = "oue:a=3,eps=0.1";
        let report = run(&BudgetRequest { epsilon: Some(1.0), ..request(&[tenth; 10]) });
        // 1 − 10 · 0.1 is 1.1e-16 in floating point.
        assert_eq!(report.worst_case.left, Some(Left { together: Some(0.0), bound: Some(0.0) }));
    }

    /// The answer is given once and then remembered: however often it is reported, the level is at most that of the first step.
    #[test]
    fn a_memoised_answer_has_a_level() {
        let step = |epsilon| format!("{{\"kind\":\"grr\",\"a\":3,\"epsilon\":{epsilon}}}");
        let memoised = |days: usize, a: usize| {
            let day = step("2").replace("\"a\":3", &format!("\"a\":{a}"));
            let first = step("1").replace("\"a\":3", &format!("\"a\":{a}"));
            let days = vec![day; days].join(",");
            format!(
                "{{\"kind\":\"composition\",\"steps\":[{first},{{\"kind\":\"product\",\"factors\":[{days}]}}]}}"
            )
        };
        let exact = run(&request(&[&memoised(20, 3)]));
        let level = exact.worst_case.together.number().unwrap().value;
        assert!(level > 0.999 && level <= 1.0 && !exact.worst_case.together.bracketed, "{level}");
        assert!(exact.average.together.number().is_some());
        // Twenty reports of twenty values have too many different counts: the level is between those of one report and of all that is remembered.
        let prior = read_prior("jeffreys").unwrap();
        let wide = run(&BudgetRequest { prior, ..request(&[&memoised(20, 20)]) });
        let (low, high) = wide.worst_case.together.bracket().unwrap();
        assert!(low > 0.3 && (high - 1.0).abs() < 1e-12, "{low} {high}");
        assert_eq!(wide.worst_case.left.unwrap().together, Some(1.0));
        let (low, high) = wide.average.together.bracket().unwrap();
        assert!(low < high && high < 1.0, "{low} {high}");
    }

    /// Ten of one kind are looked at once; the product of ten is bracketed from one number too.
    #[test]
    fn equal_protocols_are_looked_at_once() {
        let looked = std::cell::Cell::new(0);
        let look = |value: &u8| {
            looked.set(looked.get() + 1);
            Ok(u32::from(*value))
        };
        assert_eq!(each_once(&[7, 7, 3, 7], PartialEq::eq, look).unwrap(), [7, 7, 3, 7]);
        assert_eq!(looked.get(), 2);
        let prior = read_prior("jeffreys").unwrap();
        let average = run(&BudgetRequest { prior, ..request(&["oue:a=16,eps=0.5"; 10]) }).average;
        let (low, high) = average.together.bracket().unwrap();
        let (one, bound) = (average.each[0].number().unwrap().value, average.bound.unwrap().value);
        assert!((high - one).abs() < 1e-12 && (low - bound).abs() < 1e-12, "{low} {high} {one} {bound}");
    }

    #[test]
    fn rounds_are_those_of_the_listed_protocol() {
        let rounds = |times| BudgetRequest { times: Some(times), ..request(&["grr:a=3,eps=0.7"]) };
        let report = run(&rounds(7));
        let seen: Vec<_> = report.worst_case.after.iter().map(|after| after.rounds).collect();
        assert_eq!(seen, [Some(1), Some(2), Some(5), Some(7), None]);
        let by_list = super::tests::report(&["grr:a=3,eps=0.7"; 7]);
        for (one, other) in [(&report.worst_case, &by_list.worst_case), (&report.average, &by_list.average)] {
            let (one_together, other_together) = (one.together.number(), other.together.number());
            assert!((one_together.unwrap().value - other_together.unwrap().value).abs() < 1e-12);
            let (one_bound, other_bound) = (one.bound.as_ref().unwrap(), other.bound.as_ref().unwrap());
            assert!((one_bound.value - other_bound.value).abs() < 1e-12);
        }
        assert_eq!(schedule(1), [1]);
        assert_eq!(schedule(100), [1, 2, 5, 10, 20, 50, 100]);
        assert!(rounds(0).check().is_err() && rounds(10_001).check().is_err());
    }

    #[test]
    fn memoised_rounds_spend_at_most_the_permanent_report() {
        let then = |spec: &str| Some(read_protocol(spec).unwrap());
        let prior = read_prior("jeffreys").unwrap();
        for (permanent, each) in
            [("grr:a=50,eps=1", "grr:a=50,eps=4"), ("oue:a=50,eps=1", "ue:a=50,kappa=0.75,lambda=0.25")]
        {
            let request = BudgetRequest {
                then: then(each),
                times: Some(30),
                prior: prior.clone(),
                ..request(&[permanent])
            };
            let report = run(&request);
            assert_eq!(report.repetition.as_ref().unwrap().bit_by_bit, permanent.starts_with("oue"));
            for account in [&report.worst_case, &report.average] {
                let (together, bound) = (account.together.number().unwrap(), account.bound.as_ref().unwrap());
                assert!(!account.together.bracketed && (together.value - bound.value).abs() < 0.05);
                let limit = account.after.last().unwrap().answer.number().unwrap();
                assert!((limit.value - bound.value).abs() < 1e-12);
            }
        }
        let two = BudgetRequest { then: then("grr:a=3,eps=1"), ..request(&["grr:a=3,eps=1"; 2]) };
        assert!(matches!(two.check(), Err(Error::Setting { name: "then", .. })));
        let misfit = BudgetRequest { then: then("grr:a=4,eps=1"), ..request(&["grr:a=3,eps=1"]) };
        assert!(misfit.check().is_err());
    }

    #[test]
    fn protocols_on_different_values_are_refused() {
        let protocols =
            vec![read_protocol("grr:a=3,eps=1").unwrap(), read_protocol("grr:a=4,eps=1").unwrap()];
        assert!(BudgetRequest::of(protocols).check().is_err());
    }
}
