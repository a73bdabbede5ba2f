//! The job `budget`: several protocols on the same value, one collection after the other.
//!
//! ```text
//! LDP(Q¹ × … × Qᵏ) ≤ Σ_j LDP(Qʲ)          1 − S_μ(Q¹ × … × Qᵏ) ≤ Σ_j (1 − S_μ(Qʲ))        [paper, Prop. "privacy budget"]
//! ```
//! The sums are what an accountant writes down; what the reports together really tell is exact where their outputs can be visited.

use sottovoce::metric::{Absence, Answer, Settings};
use sottovoce::{Analysis, Evaluation, Metric, Protocol};

use crate::error::{Error, Result};
use crate::source::Written;
use crate::spec::{NamedProtocol, PriorSpec, ProtocolKind, ProtocolSpec};

/// Which protocols are used on the same value, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct BudgetSpec {
    /// The protocols.
    pub protocols: Vec<Written<ProtocolSpec>>,
    /// The prior.
    pub prior: Written<PriorSpec>,
    /// The LDP level that may be spent in all.
    pub epsilon: Option<f64>,
    /// The average privacy that must remain.
    pub least_average_privacy: Option<f64>,
    /// Tolerance and seed.
    pub settings: Settings,
}

/// What has been spent.
#[derive(Clone, Debug)]
pub struct BudgetReport {
    /// The protocols, with all sizes filled in.
    pub protocols: Vec<ProtocolSpec>,
    /// The prior.
    pub prior: PriorSpec,
    /// The worst case.
    pub worst_case: Account,
    /// On average.
    pub average: Account,
}

/// One kind of privacy: what each protocol has, what all together have, and what is left.
#[derive(Clone, Debug)]
pub struct Account {
    /// `LDP` or `S_μ`.
    pub metric: Metric,
    /// Of each protocol.
    pub each: Vec<Answer>,
    /// Of all together.
    pub together: Answer,
    /// The bound of the proposition.
    pub bound: Result<Evaluation, Absence>,
    /// The limit, if one was given.
    pub limit: Option<f64>,
}

impl Account {
    /// What is left of the limit by the value of all together, and by the bound; negative if it is exceeded. Of a bracket the less private end counts.
    pub fn left(&self) -> Option<(Option<f64>, Option<f64>)> {
        let limit = self.limit?;
        let left = |value: f64| {
            let left = if self.metric == Metric::LocalPrivacyLevel { limit - value } else { value - limit };
            // What rounding leaves of nothing is nothing.
            if left.abs() <= ROUNDING * limit.abs().max(1.0) { 0.0 } else { left }
        };
        let bound = self.bound.as_ref().ok().map(|bound| left(bound.value));
        let together = self.together.bracket().map(|(low, high)| match self.metric {
            Metric::LocalPrivacyLevel => high,
            _ => low,
        });
        let together = together.or(self.together.number().map(|e| e.value));
        Some((together.map(left), bound))
    }
}

impl BudgetSpec {
    /// The accounts.
    ///
    /// # Errors
    /// There is no protocol, one is out of range, or they are on different numbers of values.
    pub fn run(&self) -> Result<BudgetReport> {
        self.check_limits()?;
        let same = |l: &Written<ProtocolSpec>, r: &Written<ProtocolSpec>| l.spec == r.spec;
        let named: Vec<NamedProtocol> =
            each_once(&self.protocols, same, |written| written.check(&self.prior.spec))?;
        let protocols: Vec<ProtocolSpec> = named.iter().map(|named| named.spec.clone()).collect();
        let factors: Vec<Protocol> = named.into_iter().map(|named| named.protocol).collect();
        let all = Written::from(ProtocolSpec::from(ProtocolKind::Product { factors: protocols.clone() }));
        let product = all.check(&self.prior.spec)?.protocol;
        let prior = self.prior.check(product.inputs())?;
        let answer = |protocol: &Protocol, metric: Metric| {
            // Unwrap safety: the prior was made for the inputs of the product, which are those of each factor.
            Analysis::with_settings(protocol, &prior, self.settings).unwrap().answer(metric, None)
        };
        let account = |metric: Metric, limit: Option<f64>| -> Result<Account> {
            let each = each_once(&factors, PartialEq::eq, |factor| Ok(answer(factor, metric)))?;
            let together = answer(&product, metric);
            Ok(Account { metric, together, bound: bound(metric, &each), each, limit })
        };
        Ok(BudgetReport {
            worst_case: account(Metric::LocalPrivacyLevel, self.epsilon)?,
            average: account(Metric::AveragePrivacy, self.least_average_privacy)?,
            protocols,
            prior: self.prior.spec.clone(),
        })
    }

    fn check_limits(&self) -> Result<()> {
        let wrong =
            |name, value: f64, allowed| Err(Error::Setting { name, value: value.to_string(), allowed });
        if self.protocols.is_empty() {
            return Err(Error::Setting { name: "protocols", value: "none".into(), allowed: "at least one" });
        }
        match (self.epsilon, self.least_average_privacy) {
            (Some(epsilon), _) if !(epsilon > 0.0 && epsilon.is_finite()) => {
                wrong("epsilon", epsilon, "above 0 and finite")
            }
            (_, Some(privacy)) if !(0.0..=1.0).contains(&privacy) => {
                wrong("min-average-privacy", privacy, "between 0 and 1")
            }
            _ => Ok(()),
        }
    }
}

/// What is less than this, relative to the limit, is rounding.
const ROUNDING: f64 = 1e-12;

/// The result of each; those that are the same are looked at once.
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

/// `Σ LDP`, or `1 − Σ (1 − S_μ)` where that is positive. Of a bracket the less private end counts.
fn bound(metric: Metric, each: &[Answer]) -> Result<Evaluation, Absence> {
    let mut sum = Evaluation::closed_form(0.0, 0);
    for answer in each {
        let number = match (&answer.value, answer.number()) {
            (_, Some(number)) => match (answer.bracket(), metric) {
                (Some((_, high)), Metric::LocalPrivacyLevel) => Evaluation::new(high, 0.0, number.method),
                (Some((low, _)), _) => Evaluation::new(low, 0.0, number.method),
                (None, _) => number,
            },
            (Err(absence), None) => return Err(absence.clone()),
            (Ok(_), None) => return Err(Absence::NoMethod { what: "a metric that is no number" }),
        };
        let spent = match metric {
            Metric::LocalPrivacyLevel => number,
            _ => Evaluation::new(1.0 - number.value, number.error, number.method),
        };
        sum = sum.plus(spent);
    }
    Ok(match metric {
        Metric::LocalPrivacyLevel => sum,
        _ => Evaluation::new((1.0 - sum.value).max(0.0), sum.error, sum.method),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{read_prior, read_protocol};

    fn spec(protocols: &[&str]) -> BudgetSpec {
        BudgetSpec {
            protocols: protocols.iter().map(|p| read_protocol(p).unwrap()).collect(),
            prior: read_prior("dirichlet:alpha=0.5/1/2").unwrap(),
            epsilon: Some(2.0),
            least_average_privacy: Some(0.5),
            settings: Settings::default(),
        }
    }

    fn report(protocols: &[&str]) -> BudgetReport {
        spec(protocols).run().unwrap()
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
        let (left, sure) = report.average.left().unwrap();
        assert!(left.unwrap() >= sure.unwrap());
    }

    #[test]
    fn the_same_question_twice_spends_twice_the_level() {
        let report = report(&["grr:a=3,eps=0.7", "grr:a=3,eps=0.7"]);
        assert!((report.worst_case.together.number().unwrap().value - 1.4).abs() < 1e-12);
        assert!((report.worst_case.left().unwrap().0.unwrap() - 0.6).abs() < 1e-12);
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
        let report = BudgetSpec { epsilon: Some(1.0), ..spec(&[tenth; 10]) }.run().unwrap();
        // 1 − 10 · 0.1 is 1.1e-16 in floating point.
        assert_eq!(report.worst_case.left(), Some((Some(0.0), Some(0.0))));
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
        let exact = spec(&[&memoised(20, 3)]).run().unwrap();
        let level = exact.worst_case.together.number().unwrap().value;
        assert!(level > 0.999 && level <= 1.0 && !exact.worst_case.together.bracketed, "{level}");
        assert!(exact.average.together.number().is_some());
        // Twenty reports of twenty values have too many different counts: the level is between those of one report and of all that is remembered.
        let prior = read_prior("jeffreys").unwrap();
        let wide = BudgetSpec { prior, ..spec(&[&memoised(20, 20)]) }.run().unwrap();
        let (low, high) = wide.worst_case.together.bracket().unwrap();
        assert!(low > 0.3 && (high - 1.0).abs() < 1e-12, "{low} {high}");
        assert_eq!(wide.worst_case.left().unwrap().0, Some(1.0));
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
        let report = BudgetSpec { prior: read_prior("jeffreys").unwrap(), ..spec(&["oue:a=16,eps=0.5"; 10]) };
        let average = report.run().unwrap().average;
        let (low, high) = average.together.bracket().unwrap();
        let (one, bound) = (average.each[0].number().unwrap().value, average.bound.unwrap().value);
        assert!((high - one).abs() < 1e-12 && (low - bound).abs() < 1e-12, "{low} {high} {one} {bound}");
    }

    #[test]
    fn protocols_on_different_values_are_refused() {
        let spec = BudgetSpec {
            protocols: vec![read_protocol("grr:a=3,eps=1").unwrap(), read_protocol("grr:a=4,eps=1").unwrap()],
            prior: read_prior("jeffreys").unwrap(),
            epsilon: None,
            least_average_privacy: None,
            settings: Settings::default(),
        };
        assert!(spec.run().is_err());
    }
}
