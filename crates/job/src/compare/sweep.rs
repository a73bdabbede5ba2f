//! A parameter that is swept over: `epsilon=0.1..8:40`.

use std::str::FromStr;

use crate::error::Error;
use crate::render::number::tidy;

/// What is swept over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swept {
    /// The LDP level of all protocols.
    Epsilon,
    /// The number of inputs of all protocols.
    Inputs,
    /// The number of users.
    Users,
}

impl Swept {
    /// The name, as in the paper and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Swept::Epsilon => "epsilon",
            Swept::Inputs => "a",
            Swept::Users => "n",
        }
    }
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

impl FromStr for Sweep {
    type Err = Error;

    /// Reads `NAME=LO..HI:COUNT`. Values of `epsilon` and `n` grow by equal factors, those of `a` by equal steps; whole numbers are rounded, and each
    /// is taken once.
    fn from_str(text: &str) -> Result<Self, Error> {
        let allowed = "NAME=LO..HI:COUNT with NAME epsilon, a or n, 0 < LO < HI and COUNT from 2 to 1000, such as epsilon=0.1..8:40";
        let wrong = || Error::Setting { name: "sweep", value: crate::spec::shown(text), allowed };
        let (name, rest) = text.split_once('=').ok_or_else(wrong)?;
        let swept = match name.trim() {
            "epsilon" | "eps" => Swept::Epsilon,
            "a" => Swept::Inputs,
            "n" => Swept::Users,
            _ => return Err(wrong()),
        };
        let (range, count) = rest.split_once(':').ok_or_else(wrong)?;
        let (low, high) = range.split_once("..").ok_or_else(wrong)?;
        let number = |text: &str| text.trim().replace('_', "").parse::<f64>().map_err(|_| wrong());
        let (low, high, count) = (number(low)?, number(high)?, number(count)?);
        let counted = count.fract() == 0.0 && (2.0..=MOST_VALUES as f64).contains(&count);
        if !(low > 0.0 && low < high && high <= 9e15 && counted) {
            return Err(wrong());
        }
        Ok(Sweep { swept, values: values(swept, low, high, count as usize) })
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
        let sweep: Sweep = "epsilon=0.1..8:40".parse().unwrap();
        assert_eq!((sweep.swept, sweep.values.len()), (Swept::Epsilon, 40));
        assert_eq!((sweep.values[0], sweep.values[39]), (0.1, 8.0));
        assert!(sweep.values.is_sorted());
        let doubled: Sweep = "epsilon=0.5..4:4".parse().unwrap();
        assert_eq!(doubled.values, [0.5, 1.0, 2.0, 4.0]);
        assert_eq!("a=2..5:9".parse::<Sweep>().unwrap().values, [2.0, 3.0, 4.0, 5.0]);
        assert_eq!("n=10..1e3:3".parse::<Sweep>().unwrap().values, [10.0, 100.0, 1000.0]);
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
            assert!(matches!(bad.parse::<Sweep>(), Err(Error::Setting { name: "sweep", .. })), "{bad}");
        }
    }
}
