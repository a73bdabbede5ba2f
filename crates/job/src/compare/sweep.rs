//! A parameter that is swept over: `epsilon=0.1..8:40`.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::contract::{Whole, count};
use crate::error::{Error, Result};
use crate::render::number::tidy;
use crate::spec::shown;

/// What is swept over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Swept {
    /// The LDP level of all protocols.
    #[serde(rename = "epsilon")]
    Epsilon,
    /// The number of inputs of all protocols.
    #[serde(rename = "a")]
    Inputs,
    /// The number of users.
    #[serde(rename = "n")]
    Users,
}

impl Swept {
    /// The name, as in the paper.
    pub fn name(self) -> &'static str {
        match self {
            Swept::Epsilon => "epsilon",
            Swept::Inputs => "a",
            Swept::Users => "n",
        }
    }
}

/// A range of a parameter. Values of `epsilon` and `n` grow by equal factors, those of `a` by equal steps; whole numbers are rounded, and
/// each is taken once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SweepRange {
    /// The parameter.
    pub parameter: Swept,
    /// Its first value, above 0.
    pub low: f64,
    /// Its last value.
    pub high: f64,
    /// Number of values, from 2 to 1000.
    #[serde(deserialize_with = "count")]
    #[schemars(with = "Whole")]
    pub count: usize,
}

/// Values of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The parameter.
    pub swept: Swept,
    /// Its values, rising.
    pub values: Vec<f64>,
}

/// Most values of a sweep.
pub const MOST_VALUES: usize = 1000;

/// Largest value of a sweep: up to here doubles have no gaps between whole numbers.
const MOST: f64 = 9e15;

impl SweepRange {
    /// The values, if the range is valid.
    pub(super) fn check(&self) -> Result<Sweep> {
        let SweepRange { parameter, low, high, count } = *self;
        let counted = (2..=MOST_VALUES).contains(&count);
        if !(low > 0.0 && low < high && high <= MOST && counted) {
            let value = format!("{}={low}..{high}:{count}", parameter.name());
            let allowed = "from above 0 up to a larger value, with 2 to 1000 values";
            return Err(Error::Setting { name: "sweep", value, allowed });
        }
        Ok(Sweep { swept: parameter, values: values(parameter, low, high, count) })
    }
}

impl FromStr for SweepRange {
    type Err = Error;

    /// Reads `NAME=LO..HI:COUNT`.
    fn from_str(text: &str) -> Result<Self> {
        let allowed = "NAME=LO..HI:COUNT with NAME epsilon, a or n, 0 < LO < HI and COUNT from 2 to 1000, such as epsilon=0.1..8:40";
        let wrong = || Error::Setting { name: "sweep", value: shown(text), allowed };
        let (name, rest) = text.split_once('=').ok_or_else(wrong)?;
        let parameter = match name.trim() {
            "epsilon" | "eps" => Swept::Epsilon,
            "a" => Swept::Inputs,
            "n" => Swept::Users,
            _ => return Err(wrong()),
        };
        let (range, count) = rest.split_once(':').ok_or_else(wrong)?;
        let (low, high) = range.split_once("..").ok_or_else(wrong)?;
        let number = |text: &str| text.trim().replace('_', "").parse::<f64>().map_err(|_| wrong());
        let (low, high, count) = (number(low)?, number(high)?, number(count)?);
        if !(count.fract() == 0.0 && (2.0..=MOST_VALUES as f64).contains(&count)) {
            return Err(wrong());
        }
        let range = SweepRange { parameter, low, high, count: count as usize };
        range.check().map(|_| range).map_err(|_| wrong())
    }
}

fn values(swept: Swept, low: f64, high: f64, count: usize) -> Vec<f64> {
    let share = |i: usize| i as f64 / (count - 1) as f64;
    let value = |i: usize| match swept {
        Swept::Inputs => (low + share(i) * (high - low)).round(),
        // The ends are as written, whatever rounding does.
        _ if i == 0 => low,
        _ if i == count - 1 => high,
        // A power is a hair off where the value is round.
        Swept::Epsilon => tidy(low * (high / low).powf(share(i))),
        Swept::Users => (low * (high / low).powf(share(i))).round(),
    };
    let mut values: Vec<f64> = (0..count).map(value).collect();
    values.dedup();
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweeps_are_read() {
        let read = |text: &str| text.parse::<SweepRange>().and_then(|range| range.check()).unwrap();
        let sweep = read("epsilon=0.1..8:40");
        assert_eq!((sweep.swept, sweep.values.len()), (Swept::Epsilon, 40));
        assert_eq!((sweep.values[0], sweep.values[39]), (0.1, 8.0));
        assert!(sweep.values.is_sorted());
        assert_eq!(read("epsilon=0.5..4:4").values, [0.5, 1.0, 2.0, 4.0]);
        assert_eq!(read("a=2..5:9").values, [2.0, 3.0, 4.0, 5.0]);
        assert_eq!(read("n=10..1e3:3").values, [10.0, 100.0, 1000.0]);
    }

    #[test]
    fn what_is_no_sweep_is_refused() {
        for bad in [
            "",
            "epsilon",
            "epsilon=1",
            "epsilon=1..2",
            "epsilon=2..1:3",
            "b=1..2:3",
            "a=1..2:1",
            "n=1..2:1e9",
            "a=nan..2:3",
            "n=0..5:3",
        ] {
            assert!(matches!(bad.parse::<SweepRange>(), Err(Error::Setting { name: "sweep", .. })), "{bad}");
        }
    }
}
