//! How far an estimate is off.

use std::str::FromStr;

use crate::model::error::Error;

/// A distance between frequencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Distance {
    /// `Σ_x |φ_x − φ̂_x|`.
    L1,
    /// `(Σ_x (φ_x − φ̂_x)²)^{1/2}`.
    L2,
    /// `Σ_x (φ_x − φ̂_x)²`; no distance in the strict sense, but what is usually given.
    SquaredL2,
    /// `(Σ_x (φ_x − φ̂_x)²/a)^{1/2}`: how far a single frequency is off, typically. The mean is taken under the root: the accuracy is that of
    /// [`SquaredL2`](Distance::SquaredL2) over `a`, and then the root.
    RootMeanSquare,
    /// `max_x |φ_x − φ̂_x|`.
    Max,
}

impl Distance {
    /// All distances.
    pub const ALL: [Distance; 5] =
        [Distance::L1, Distance::L2, Distance::SquaredL2, Distance::RootMeanSquare, Distance::Max];

    /// The name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Distance::L1 => "l1",
            Distance::L2 => "l2",
            Distance::SquaredL2 => "l2sq",
            Distance::RootMeanSquare => "rms",
            Distance::Max => "max",
        }
    }

    /// What it measures, in words.
    pub fn meaning(self) -> &'static str {
        match self {
            Distance::L1 => "sum of the absolute errors",
            Distance::L2 => "root of the sum of the squared errors",
            Distance::SquaredL2 => "sum of the squared errors",
            Distance::RootMeanSquare => "typical error of one value's share (root mean square)",
            Distance::Max => "largest absolute error",
        }
    }

    /// The distance whose mean is taken.
    pub(super) fn measured(self) -> Self {
        if self == Distance::RootMeanSquare { Distance::SquaredL2 } else { self }
    }

    /// The distance between two vectors of frequencies.
    pub fn between(self, truth: &[f64], estimate: &[f64]) -> f64 {
        let errors = || truth.iter().zip(estimate).map(|(p, e)| (p - e).abs());
        match self {
            Distance::L1 => errors().sum(),
            Distance::L2 => errors().map(|e| e * e).sum::<f64>().sqrt(),
            Distance::SquaredL2 => errors().map(|e| e * e).sum(),
            Distance::RootMeanSquare => {
                (errors().map(|e| e * e).sum::<f64>() / truth.len().max(1) as f64).sqrt()
            }
            Distance::Max => errors().fold(0.0, f64::max),
        }
    }
}

impl FromStr for Distance {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let named = Distance::ALL.into_iter().find(|distance| distance.name() == name);
        named.ok_or_else(|| Error::UnknownName { what: "distance", name: name.into() })
    }
}
