//! The expressions: a small language over the labels of a protocol, read by recursive descent.
//!
//! ```text
//! expression = term [ ("-" | "/") term ] | "rank(" label ")" | "top(" count ")" | "largest()"
//! term       = "share(" label { "," label } ")" | "mean()" | "quantile(" number ")" | label
//! label      = '"' any characters, with \" and \\ '"' | characters other than space " ( ) , /
//! ```
//!
//! A dash within a word belongs to the label (`HS-grad`); as an operator it has spaces around it. A text that is a label as a whole is that
//! label, whatever it contains.

use sottovoce::posterior::Functional;
use thiserror::Error as ThisError;

use super::bins::bin;
use crate::error::{Error, Result};
use crate::spec::shown;

/// Most characters of an expression.
const MOST: usize = 10_000;

/// What the functions are called.
const FUNCTIONS: [&str; 6] = ["share", "mean", "quantile", "rank", "top", "largest"];

/// A valid question about the distribution of the values.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// As it was written.
    pub text: String,
    /// What is asked.
    pub question: Question,
    /// In which unit the answer is.
    pub unit: Unit,
    /// What is assumed of numbers within their bins.
    pub within_bins: Option<WithinBins>,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// A number.
    Number(Functional),
    /// The rank of a value.
    Rank(usize, Functional),
    /// Which values are the most common ones, and how many of them.
    Top(usize),
}

/// The unit of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A share, or a difference of shares.
    Share,
    /// A number in the unit of the labels.
    Number,
    /// A ratio.
    Ratio,
    /// A rank.
    Rank,
    /// The probability of being among the most common values.
    Probability,
}

impl Unit {
    /// The name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Share => "share",
            Unit::Number => "number",
            Unit::Ratio => "ratio",
            Unit::Rank => "rank",
            Unit::Probability => "probability",
        }
    }
}

/// What is assumed of numbers within their bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithinBins {
    /// Their mean is the middle of the bin.
    Midpoint,
    /// They are spread evenly.
    Uniform,
}

impl WithinBins {
    /// The name for programs.
    pub fn name(self) -> &'static str {
        match self {
            WithinBins::Midpoint => "midpoint",
            WithinBins::Uniform => "uniform",
        }
    }
}

/// What is wrong with an expression.
#[derive(Clone, Debug, ThisError, PartialEq)]
#[non_exhaustive]
pub enum ExpressionProblem {
    /// No value has this label.
    #[error("no value is called `{label}`")]
    UnknownLabel {
        /// What was written.
        label: String,
        /// The label that is most like it.
        nearest: Option<String>,
    },
    /// There is no such function.
    #[error("unknown function `{name}`; functions are {}", FUNCTIONS.join(", "))]
    UnknownFunction {
        /// What was written.
        name: String,
    },
    /// Something else was expected here.
    #[error("{found} where {expected} is expected")]
    Unexpected {
        /// What was found.
        found: String,
        /// What may stand there.
        expected: &'static str,
    },
    /// A label in quotes does not end.
    #[error("the closing quote is missing")]
    OpenQuote,
    /// A label that is neither a number nor a bin.
    #[error("the label `{label}` is neither a number nor a bin such as [20, 35) or 20-35")]
    NoNumber {
        /// The label.
        label: String,
    },
    /// Two bins with numbers in common.
    #[error("the bins `{first}` and `{second}` overlap")]
    Overlap {
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// A difference or ratio of a share and a number.
    #[error("a share and a number cannot be compared")]
    Units,
    /// A rank where two collections are compared.
    #[error("ranks cannot be compared between collections; ask for shares, means or quantiles")]
    RankAgainst,
    /// More text than an expression may have.
    #[error("an expression has at most {MOST} characters")]
    TooLong,
    /// A number out of range.
    #[error("{0}")]
    Value(sottovoce::Error),
}

impl Expression {
    /// Reads an expression over these labels.
    ///
    /// # Errors
    /// [`Error::Expression`], with the position of what is wrong.
    pub fn read(text: &str, labels: &[String]) -> Result<Self> {
        let problem = |(position, problem): Refusal| Error::Expression {
            expression: shown(text),
            position: position + 1,
            problem: Box::new(problem),
        };
        if text.chars().count() > MOST {
            return Err(problem((MOST, ExpressionProblem::TooLong)));
        }
        let mut reader = Reader { characters: text.chars().collect(), at: 0, labels };
        reader.expression(text).map_err(problem)
    }

    /// The share of one value.
    ///
    /// # Errors
    /// The value does not exist.
    pub fn share_of(labels: &[String], x: usize) -> Result<Self> {
        let functional = Functional::share(labels.len(), &[x])?;
        Ok(Expression {
            text: labels[x].clone(),
            question: Question::Number(functional),
            unit: Unit::Share,
            within_bins: None,
        })
    }

    /// Refuses a rank, which has no difference between two collections.
    pub(crate) fn check_comparable(&self) -> Result<()> {
        match self.question {
            Question::Number(_) => Ok(()),
            _ => Err(Error::Expression {
                expression: shown(&self.text),
                position: 1,
                problem: Box::new(ExpressionProblem::RankAgainst),
            }),
        }
    }
}

/// A problem and its position, from 0.
type Refusal = (usize, ExpressionProblem);

/// A term with its unit.
struct Term {
    functional: Functional,
    unit: Unit,
    within_bins: Option<WithinBins>,
}

struct Reader<'l> {
    characters: Vec<char>,
    at: usize,
    labels: &'l [String],
}

impl Reader<'_> {
    fn expression(&mut self, text: &str) -> Result<Expression, Refusal> {
        let whole = |question, unit, within_bins| Expression {
            text: text.trim().into(),
            question,
            unit,
            within_bins,
        };
        if let Some(x) = self.labels.iter().position(|label| label == text.trim()) {
            let share = self.share(&[x]).map_err(|problem| (0, problem))?;
            return Ok(whole(Question::Number(share), Unit::Share, None));
        }
        if let Some((question, unit)) = self.rank()? {
            self.end("the end")?;
            return Ok(whole(question, unit, None));
        }
        let left = self.term()?;
        self.skip_spaces();
        let (operator, place) = (self.peek(), self.at);
        if operator.is_none() {
            return Ok(whole(Question::Number(left.functional), left.unit, left.within_bins));
        }
        if !matches!(operator, Some('-' | '/')) {
            return Err(self.unexpected("`-`, `/` or the end"));
        }
        self.at += 1;
        let right = self.term()?;
        self.end("the end")?;
        if left.unit != right.unit {
            return Err((place, ExpressionProblem::Units));
        }
        let (combined, unit) = match operator {
            Some('-') => (left.functional.minus(right.functional), left.unit),
            _ => (left.functional.over(right.functional), Unit::Ratio),
        };
        let combined = combined.map_err(|error| (place, ExpressionProblem::Value(error)))?;
        Ok(whole(Question::Number(combined), unit, left.within_bins.or(right.within_bins)))
    }

    /// A question about ranks, if this is one.
    fn rank(&mut self) -> Result<Option<(Question, Unit)>, Refusal> {
        let start = self.at;
        let Some((name, place)) = self.function() else { return Ok(None) };
        let a = self.labels.len();
        let found = match name.as_str() {
            "rank" => {
                let x = self.label()?;
                let rank =
                    Functional::rank(a, x).map_err(|error| (place, ExpressionProblem::Value(error)))?;
                (Question::Rank(x, rank), Unit::Rank)
            }
            "top" => {
                let (at, k) = (self.at, self.number()?);
                if !(k >= 1.0 && k <= a as f64 && k.fract() == 0.0) {
                    let expected = "a whole number of values, at least 1 and at most all of them,";
                    return Err((at, ExpressionProblem::Unexpected { found: format!("`{k}`"), expected }));
                }
                (Question::Top(k as usize), Unit::Probability)
            }
            "largest" => (Question::Top(1), Unit::Probability),
            _ => {
                self.at = start;
                return Ok(None);
            }
        };
        self.closing()?;
        Ok(Some(found))
    }

    fn term(&mut self) -> Result<Term, Refusal> {
        let Some((name, place)) = self.function() else {
            let x = self.label()?;
            let functional = self.share(&[x]).map_err(|problem| (self.at, problem))?;
            return Ok(Term { functional, unit: Unit::Share, within_bins: None });
        };
        let term = match name.as_str() {
            "share" => {
                let mut group = vec![self.label()?];
                while self.takes(',') {
                    group.push(self.label()?);
                }
                let functional = self.share(&group).map_err(|problem| (place, problem))?;
                Term { functional, unit: Unit::Share, within_bins: None }
            }
            "mean" => {
                let (functional, within_bins) = self.mean().map_err(|problem| (place, problem))?;
                Term { functional, unit: Unit::Number, within_bins }
            }
            "quantile" => {
                let (at, probability) = (self.at, self.number()?);
                let found = self.quantile(probability).map_err(|problem| (at, problem))?;
                Term { functional: found.0, unit: Unit::Number, within_bins: found.1 }
            }
            "rank" | "top" | "largest" => {
                let expected = "a share, mean() or quantile()";
                return Err((place, ExpressionProblem::Unexpected { found: format!("`{name}`"), expected }));
            }
            _ => return Err((place, ExpressionProblem::UnknownFunction { name: shown(&name) })),
        };
        self.closing()?;
        Ok(term)
    }

    fn share(&self, group: &[usize]) -> Result<Functional, ExpressionProblem> {
        Functional::share(self.labels.len(), group).map_err(ExpressionProblem::Value)
    }

    fn bins(&self) -> Result<Vec<(f64, f64)>, ExpressionProblem> {
        let read =
            |label: &String| bin(label).ok_or_else(|| ExpressionProblem::NoNumber { label: shown(label) });
        self.labels.iter().map(read).collect()
    }

    fn mean(&self) -> Result<(Functional, Option<WithinBins>), ExpressionProblem> {
        let bins = self.bins()?;
        let middles = bins.iter().map(|(low, high)| 0.5 * low + 0.5 * high).collect();
        let mean = Functional::mean(middles).map_err(ExpressionProblem::Value)?;
        Ok((mean, are_wide(&bins).then_some(WithinBins::Midpoint)))
    }

    fn quantile(&self, probability: f64) -> Result<(Functional, Option<WithinBins>), ExpressionProblem> {
        let bins = self.bins()?;
        let all: Vec<Option<(f64, f64)>> = bins.iter().copied().map(Some).collect();
        let quantile = Functional::quantile(&all, probability).map_err(|error| match error {
            sottovoce::Error::OverlappingBins { first, second } => ExpressionProblem::Overlap {
                first: shown(&self.labels[first]),
                second: shown(&self.labels[second]),
            },
            other => ExpressionProblem::Value(other),
        })?;
        Ok((quantile, are_wide(&bins).then_some(WithinBins::Uniform)))
    }

    /// The name of a function with its opening parenthesis, and where it begins.
    fn function(&mut self) -> Option<(String, usize)> {
        self.skip_spaces();
        let rest = &self.characters[self.at..];
        let name: String = rest.iter().take_while(|c| c.is_alphanumeric() || **c == '_').collect();
        let length = name.chars().count();
        let place = self.at;
        (length > 0 && rest.get(length) == Some(&'(')).then(|| self.at += length + 1).map(|()| (name, place))
    }

    /// A label, quoted or bare: the number of its value.
    fn label(&mut self) -> Result<usize, Refusal> {
        self.skip_spaces();
        let place = self.at;
        let label = match self.peek() {
            Some('"') => self.quoted()?,
            _ => self.bare(),
        };
        if label.is_empty() && self.characters.get(place) != Some(&'"') {
            return Err(self.unexpected("a label"));
        }
        let found = self.labels.iter().position(|known| *known == label);
        found.ok_or_else(|| {
            (place, ExpressionProblem::UnknownLabel { nearest: self.nearest(&label), label: shown(&label) })
        })
    }

    fn quoted(&mut self) -> Result<String, Refusal> {
        let (place, mut label) = (self.at, String::new());
        self.at += 1;
        loop {
            let c = self.next().ok_or((place, ExpressionProblem::OpenQuote))?;
            match c {
                '"' => return Ok(label),
                '\\' => label.push(self.next().ok_or((place, ExpressionProblem::OpenQuote))?),
                c => label.push(c),
            }
        }
    }

    fn bare(&mut self) -> String {
        let ends = |c: char| c.is_whitespace() || "\"(),/".contains(c);
        let label: String = self.characters[self.at..].iter().take_while(|c| !ends(**c)).collect();
        self.at += label.chars().count();
        label
    }

    fn number(&mut self) -> Result<f64, Refusal> {
        self.skip_spaces();
        let (place, text) = (self.at, self.bare());
        let found = text.parse().ok().filter(|value: &f64| value.is_finite());
        found.ok_or_else(|| {
            let found = if text.is_empty() { "nothing".into() } else { format!("`{}`", shown(&text)) };
            (place, ExpressionProblem::Unexpected { found, expected: "a number" })
        })
    }

    /// The known label that is most like one that was written.
    fn nearest(&self, label: &str) -> Option<String> {
        let written: String = label.chars().take(60).collect::<String>().to_lowercase();
        let likeness = |known: &&String| strsim::jaro_winkler(&written, &known.to_lowercase());
        let best = self.labels.iter().take(MOST).max_by(|l, r| likeness(l).total_cmp(&likeness(r)))?;
        (likeness(&best) > 0.7).then(|| best.clone())
    }

    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let found = self.peek();
        self.at += 1;
        found
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn takes(&mut self, wanted: char) -> bool {
        self.skip_spaces();
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn closing(&mut self) -> Result<(), Refusal> {
        if self.takes(')') { Ok(()) } else { Err(self.unexpected("`)`")) }
    }

    fn end(&mut self, expected: &'static str) -> Result<(), Refusal> {
        self.skip_spaces();
        if self.at >= self.characters.len() { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    fn unexpected(&self, expected: &'static str) -> Refusal {
        let found = self.peek().map_or_else(|| "the end".into(), |c| format!("`{}`", shown(&c.to_string())));
        (self.at.min(self.characters.len()), ExpressionProblem::Unexpected { found, expected })
    }
}

/// Whether some are bins and not single numbers.
fn are_wide(bins: &[(f64, f64)]) -> bool {
    bins.iter().any(|(low, high)| low < high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn value(text: &str, names: &[&str], p: &[f64]) -> f64 {
        match Expression::read(text, &labels(names)).unwrap().question {
            Question::Number(functional) | Question::Rank(_, functional) => functional.of(p),
            Question::Top(k) => k as f64,
        }
    }

    fn problem(text: &str, names: &[&str]) -> (usize, ExpressionProblem) {
        match Expression::read(text, &labels(names)) {
            Err(Error::Expression { position, problem, .. }) => (position, *problem),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn expressions_mean_what_they_say() {
        let (names, p) = (["HS-grad", "a b", "mean()", "say \"x\""], [0.1, 0.2, 0.3, 0.4]);
        for (text, expected) in [
            ("HS-grad", 0.1),
            ("a b", 0.2),
            (" mean() ", 0.3),
            ("\"a b\"", 0.2),
            ("share(HS-grad, \"a b\")", 0.1 + 0.2),
            ("share( \"say \\\"x\\\"\" )", 0.4),
            ("share(\"a b\")-HS-grad", 0.1),
            ("\"a b\" - HS-grad", 0.1),
            ("\"a b\"/HS-grad", 2.0),
            ("share(HS-grad, \"a b\", \"mean()\") / \"say \\\"x\\\"\"", 1.5),
            ("rank(HS-grad)", 4.0),
            ("top(3)", 3.0),
            ("largest()", 1.0),
        ] {
            assert!((value(text, &names, &p) - expected).abs() < 1e-12, "{text}");
        }
        let bins = ["[0, 10)", "[10, 30)", "[30, 40)"];
        assert_eq!(value("mean()", &bins, &[0.5, 0.25, 0.25]), 2.5 + 5.0 + 8.75);
        assert_eq!(value("quantile(0.625) - quantile(0.5)", &bins, &[0.5, 0.25, 0.25]), 10.0);
        assert_eq!(value("\"[0, 10)\" - \"[10, 30)\"", &bins, &[0.5, 0.25, 0.25]), 0.25);
        assert_eq!(value("2 / 1", &["0", "1", "2"], &[0.5, 0.125, 0.375]), 3.0);
        assert_eq!(value("mean()", &["0", "1", "2"], &[0.5, 0.125, 0.375]), 0.875);
    }

    #[test]
    fn units_and_assumptions_are_known() {
        let bins = labels(&["0-10", "10-30"]);
        let read = |text: &str| Expression::read(text, &bins).unwrap();
        assert_eq!(
            (read("mean()").unit, read("mean()").within_bins),
            (Unit::Number, Some(WithinBins::Midpoint))
        );
        assert_eq!(read("quantile(0.5)").within_bins, Some(WithinBins::Uniform));
        assert_eq!((read("0-10 / 10-30").unit, read("0-10 - 10-30").unit), (Unit::Ratio, Unit::Share));
        assert_eq!(Expression::read("mean()", &labels(&["1", "2"])).unwrap().within_bins, None);
    }

    #[test]
    fn problems_have_their_place() {
        use ExpressionProblem as P;
        let names = ["tea", "coffee", "water"];
        let unknown = |label: &str, nearest: Option<&str>| P::UnknownLabel {
            label: label.into(),
            nearest: nearest.map(String::from),
        };
        assert_eq!(problem("share(tea, cofee)", &names), (12, unknown("cofee", Some("coffee"))));
        assert_eq!(problem("tea-water", &names), (1, unknown("tea-water", Some("tea"))));
        assert_eq!(problem("xyz", &names), (1, unknown("xyz", None)));
        assert_eq!(problem("\"tea", &names), (1, P::OpenQuote));
        assert_eq!(problem("mean()", &names).1, P::NoNumber { label: "tea".into() });
        assert_eq!(problem("median()", &names), (1, P::UnknownFunction { name: "median".into() }));
        assert!(matches!(problem("tea coffee", &names), (5, P::Unexpected { .. })));
        assert!(matches!(problem("share(tea", &names), (10, P::Unexpected { .. })));
        assert!(matches!(problem("", &names), (1, P::Unexpected { .. })));
        assert!(matches!(problem("tea -", &names), (6, P::Unexpected { .. })));
        assert!(matches!(problem("top(4)", &names), (5, P::Unexpected { .. })));
        assert!(matches!(problem("top(1.5)", &names), (5, P::Unexpected { .. })));
        assert!(matches!(problem("tea - rank(tea)", &names), (7, P::Unexpected { .. })));
        assert!(matches!(problem("rank(tea) - 1", &names), (11, P::Unexpected { .. })));
        assert!(matches!(problem("tea - coffee - water", &names), (14, P::Unexpected { .. })));
        assert!(matches!(problem("quantile(2)", &["1", "2"]), (10, P::Value(_))));
        assert_eq!(problem("mean() - 1", &["1", "2"]).1, P::Units);
        let overlap = P::Overlap { first: "0-10".into(), second: "5-20".into() };
        assert_eq!(problem("quantile(0.5)", &["0-10", "5-20"]).1, overlap);
        assert_eq!(problem(&"x".repeat(MOST + 1), &names).1, P::TooLong);
    }
}
