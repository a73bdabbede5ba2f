//! The exact privacy loss of a channel: the largest ratio `Q_{y|x} / Q_{y|x'}` as a fraction of whole numbers.

use num_bigint::BigUint;

use crate::exponential::{DIGITS, exponential};

/// The largest ratio of the probabilities of an output between two inputs, at least 1. `LDP = ln` of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// `numerator / denominator`.
    Finite {
        /// Numerator.
        numerator: BigUint,
        /// Denominator, above 0.
        denominator: BigUint,
    },
    /// Some output is possible for one input and impossible for another.
    Infinite,
}

impl Loss {
    /// The report says nothing about the value.
    pub fn none() -> Self {
        Loss::Finite { numerator: BigUint::from(1u8), denominator: BigUint::from(1u8) }
    }

    /// The ratio of the probability `p` of an output to its probability `q` under another input, and at least 1.
    pub fn ratio(p: impl Into<BigUint>, q: impl Into<BigUint>) -> Self {
        let (numerator, denominator) = (p.into(), q.into());
        if numerator <= denominator {
            Loss::none()
        } else if denominator == BigUint::ZERO {
            Loss::Infinite
        } else {
            Loss::Finite { numerator, denominator }
        }
    }

    /// The loss of two reports together.
    #[must_use]
    pub fn times(&self, other: &Loss) -> Loss {
        match (self, other) {
            (
                Loss::Finite { numerator: p, denominator: q },
                Loss::Finite { numerator: r, denominator: s },
            ) => Loss::Finite { numerator: p * r, denominator: q * s },
            _ => Loss::Infinite,
        }
    }

    /// The larger of two losses.
    #[must_use]
    pub fn max(self, other: Loss) -> Loss {
        if self.at_most(&other) { other } else { self }
    }

    /// The smaller of two losses.
    #[must_use]
    pub fn min(self, other: Loss) -> Loss {
        if self.at_most(&other) { self } else { other }
    }

    fn at_most(&self, other: &Loss) -> bool {
        match (self, other) {
            (_, Loss::Infinite) => true,
            (Loss::Infinite, _) => false,
            (
                Loss::Finite { numerator: p, denominator: q },
                Loss::Finite { numerator: r, denominator: s },
            ) => p * s <= r * q,
        }
    }

    /// Whether the loss is certainly at most `e^epsilon`, by whole numbers alone.
    pub fn within(&self, epsilon: f64) -> bool {
        match self {
            _ if epsilon == f64::INFINITY => true,
            Loss::Infinite => false,
            Loss::Finite { numerator, denominator } => {
                epsilon >= 0.0 && numerator << DIGITS <= denominator * exponential(epsilon)
            }
        }
    }

    /// The LDP level, rounded up: the smallest double that the loss is certainly [within](Loss::within).
    pub fn level(&self) -> f64 {
        let Loss::Finite { numerator, denominator } = self else { return f64::INFINITY };
        if numerator == denominator {
            return 0.0;
        }
        let mut level = approximate_logarithm(numerator, denominator);
        while self.within(level) && level > 0.0 {
            level = level.next_down();
        }
        while !self.within(level) {
            level = level.next_up();
        }
        level
    }
}

/// `ln(p/q)` for `p > q`, within a few units in the last place.
fn approximate_logarithm(p: &BigUint, q: &BigUint) -> f64 {
    let ((excess, excess_scale), (q, q_scale)) = (approximate(&(p - q)), approximate(q));
    let scale = excess_scale as f64 - q_scale as f64;
    if scale < 0.0 {
        return (excess / q * scale.exp2()).ln_1p();
    }
    let (p, p_scale) = approximate(p);
    (p / q).ln() + (p_scale as f64 - q_scale as f64) * std::f64::consts::LN_2
}

/// A number as `m · 2^scale` with `1 ≤ m < 2`.
fn approximate(n: &BigUint) -> (f64, u64) {
    let scale = n.bits() - 1;
    let leading = if scale > 63 { n >> (scale - 63) } else { n << (63 - scale) };
    let leading = leading.to_u64_digits().first().copied().unwrap_or(0);
    (leading as f64 / 63f64.exp2(), scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_logarithms_rounded_up() {
        for (p, q) in [(2u64, 1u64), (3, 2), (1 << 60, 7), ((1 << 62) + 1, 1 << 62)] {
            let (loss, float) = (Loss::ratio(p, q), ((p - q) as f64 / q as f64).ln_1p());
            let level = loss.level();
            assert!((level / float - 1.0).abs() < 4e-16, "{p}/{q}: {level} {float}");
            assert!(loss.within(level) && !loss.within(level.next_down()));
        }
        assert_eq!(Loss::ratio(5u8, 5u8).level(), 0.0);
        assert_eq!(Loss::ratio(5u8, 0u8), Loss::Infinite);
        assert_eq!(Loss::ratio(0u8, 0u8), Loss::none());
    }

    #[test]
    fn losses_multiply_and_compare() {
        let (two, three) = (Loss::ratio(2u8, 1u8), Loss::ratio(3u8, 1u8));
        assert_eq!(two.times(&three).level(), Loss::ratio(6u8, 1u8).level());
        assert_eq!(two.clone().max(three.clone()), three);
        assert_eq!(two.clone().min(Loss::Infinite), two);
        assert_eq!(two.times(&Loss::Infinite), Loss::Infinite);
    }
}
