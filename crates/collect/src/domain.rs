//! The inputs of a protocol as values name them: by label, by a number that falls into a bin or, where there are neither, by number.

use std::collections::HashMap;

use serde::Serialize;

/// The inputs of a protocol, as values may name them.
#[derive(Clone, Debug)]
pub struct Domain {
    inputs: usize,
    labels: HashMap<String, usize>,
    /// The edges of the bins, if the values are numbers that fall into bins.
    edges: Vec<f64>,
}

/// Why a value is outside the protocol's domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueProblem {
    /// The value is missing.
    Missing,
    /// A text that is not one of the labels.
    UnknownLabel,
    /// A number that is not one of the labels. It is not taken for the number of an input: a wrong column of numbers would go unnoticed.
    NumberForLabel,
    /// A text, where the inputs have no labels.
    NoLabels,
    /// Neither a label nor a whole number of 0 or more.
    NotWhole,
    /// The number of an input that does not exist.
    OutOfRange,
    /// Not a number, where numbers fall into bins.
    NotANumber,
    /// A number that falls into no bin.
    NoBin,
    /// A row that does not fit its format.
    Row,
}

impl ValueProblem {
    /// The problem in words.
    pub fn words(self) -> &'static str {
        match self {
            ValueProblem::Missing => "the value is missing",
            ValueProblem::UnknownLabel => "the value is not one of the labels",
            ValueProblem::NumberForLabel => {
                "the value is a number, but the protocol has labels and values must be among them"
            }
            ValueProblem::NoLabels => {
                "the value is text, but the protocol has no labels; without labels, values are the numbers from 0"
            }
            ValueProblem::NotWhole => "the value is not a whole number of 0 or more",
            ValueProblem::OutOfRange => "the value is a number outside the protocol's domain",
            ValueProblem::NotANumber => "the value is not a number, but there are bins of numbers",
            ValueProblem::NoBin => "the number is in no bin",
            ValueProblem::Row => "the row does not fit the format",
        }
    }
}

impl Domain {
    /// The inputs `0..inputs`, with names if they have any.
    pub fn new(inputs: usize, labels: Option<&[String]>) -> Self {
        let labels = labels.unwrap_or_default();
        let labels = labels.iter().enumerate().map(|(x, label)| (label.clone(), x)).collect();
        Domain { inputs, labels, edges: Vec::new() }
    }

    /// Numbers in bins between edges that increase. A number on an edge is in the bin above it; the last bin contains both its ends. Edges may be
    /// infinite.
    pub fn of_bins(edges: &[f64]) -> Self {
        let inputs = edges.len().saturating_sub(1);
        Domain { inputs, labels: HashMap::new(), edges: edges.to_vec() }
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Whether values are labels; else they are the numbers of inputs.
    pub fn has_labels(&self) -> bool {
        !self.labels.is_empty()
    }

    /// The longest label in bytes.
    pub fn longest_label(&self) -> usize {
        self.labels.keys().map(String::len).max().unwrap_or(0)
    }

    /// The input that a text names. Spaces around it are not part of it, unless they are part of a label.
    ///
    /// # Errors
    /// Why it names none.
    pub fn input(&self, text: &str) -> Result<usize, ValueProblem> {
        if let Some(x) = self.labels.get(text).or_else(|| self.labels.get(text.trim())) {
            return Ok(*x);
        }
        match text.trim() {
            "" => Err(ValueProblem::Missing),
            number if !self.edges.is_empty() => self.bin(number),
            number if !self.labels.is_empty() => Err(match number.parse::<f64>() {
                Ok(_) => ValueProblem::NumberForLabel,
                Err(_) => ValueProblem::UnknownLabel,
            }),
            number => match whole(number) {
                Err(ValueProblem::NotWhole) if number.parse::<f64>().is_err() => Err(ValueProblem::NoLabels),
                Ok(x) if x >= self.inputs as u64 => Err(ValueProblem::OutOfRange),
                other => other.map(|x| x as usize),
            },
        }
    }

    /// The bin that a number falls into.
    fn bin(&self, text: &str) -> Result<usize, ValueProblem> {
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        let number = number.ok_or(ValueProblem::NotANumber)?;
        match self.edges.partition_point(|edge| *edge <= number) {
            0 => Err(ValueProblem::NoBin),
            above if above <= self.inputs => Ok(above - 1),
            _ if self.edges.last() == Some(&number) => Ok(self.inputs - 1),
            _ => Err(ValueProblem::NoBin),
        }
    }
}

/// The whole number in a text; `3.0`, as some programs write it, is 3.
fn whole(text: &str) -> Result<u64, ValueProblem> {
    let (digits, zeros) = text.split_once('.').unwrap_or((text, "0"));
    let all = |text: &str, allowed: fn(u8) -> bool| !text.is_empty() && text.bytes().all(allowed);
    if !all(digits, |c| c.is_ascii_digit()) || !all(zeros, |c| c == b'0') {
        return Err(ValueProblem::NotWhole);
    }
    digits.parse().map_err(|_| ValueProblem::OutOfRange)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_inputs_only_where_there_are_no_labels() {
        let plain = Domain::new(3, None);
        assert_eq!(plain.input("2"), Ok(2));
        assert_eq!(plain.input(" 2.0 "), Ok(2));
        assert_eq!(plain.input("3"), Err(ValueProblem::OutOfRange));
        assert_eq!(plain.input("99999999999999999999"), Err(ValueProblem::OutOfRange));
        for bad in ["-1", "1.5", "nan", "inf", "1e0", "+1", "1."] {
            assert_eq!(plain.input(bad), Err(ValueProblem::NotWhole), "{bad}");
        }
        for text in ["red", "0x1", ".", "1,5"] {
            assert_eq!(plain.input(text), Err(ValueProblem::NoLabels), "{text}");
        }
        assert_eq!(plain.input("  "), Err(ValueProblem::Missing));

        let words = Domain::new(2, Some(&["no".into(), "yes".into()]));
        assert_eq!((words.input("yes"), words.input("1")), (Ok(1), Err(ValueProblem::NumberForLabel)));
        assert_eq!(words.input("Yes"), Err(ValueProblem::UnknownLabel));
        assert_eq!(words.input("2"), Err(ValueProblem::NumberForLabel));

        let spaces = Domain::new(3, Some(&["red".into(), " red".into(), "blue ".into()]));
        assert_eq!((spaces.input(" red"), spaces.input("  red ")), (Ok(1), Ok(0)));
        assert_eq!((spaces.input("blue "), spaces.input("blue")), (Ok(2), Err(ValueProblem::UnknownLabel)));

        let ages = Domain::new(2, Some(&["0-17".into(), "18+".into()]));
        assert_eq!((ages.input("18+"), ages.input("1")), (Ok(1), Err(ValueProblem::NumberForLabel)));

        let years = Domain::new(2, Some(&["1".into(), "2".into()]));
        assert_eq!((years.input("1"), years.input("2")), (Ok(0), Ok(1)));
        assert_eq!(years.input("0"), Err(ValueProblem::NumberForLabel));
    }

    #[test]
    fn numbers_fall_into_bins() {
        let hours = Domain::of_bins(&[0.0, 20.0, 40.0]);
        for (text, x) in [("0", 0), ("19.99", 0), ("20", 1), (" 40 ", 1), ("2e1", 1), ("-0", 0)] {
            assert_eq!(hours.input(text), Ok(x), "{text}");
        }
        for (text, problem) in [
            ("-0.1", ValueProblem::NoBin),
            ("40.1", ValueProblem::NoBin),
            ("inf", ValueProblem::NotANumber),
            ("nan", ValueProblem::NotANumber),
            ("forty", ValueProblem::NotANumber),
            ("", ValueProblem::Missing),
        ] {
            assert_eq!(hours.input(text), Err(problem), "{text}");
        }
        let open = Domain::of_bins(&[f64::NEG_INFINITY, 0.0, f64::INFINITY]);
        assert_eq!((open.input("-1e300"), open.input("0"), open.input("1e300")), (Ok(0), Ok(1), Ok(1)));
    }
}
