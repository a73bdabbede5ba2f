//! From real probabilities to whole numbers of words, rounded toward privacy.

use num_bigint::BigUint;

use crate::chance::{ALL, Chance};
use crate::exponential::{DIGITS, exponential, fixed_point};

impl Chance {
    /// The largest such probability that is not above `p`.
    pub(crate) fn rounded_down(p: f64) -> Self {
        Chance::new(whole(&fixed_point(p, 64)))
    }

    /// The smallest such probability that is not below `p`.
    pub(crate) fn rounded_up(p: f64) -> Self {
        let down = Chance::rounded_down(p).numerator();
        let exact = fixed_point(p, 1138) == BigUint::from(down) << 1074u32;
        Chance::new(down + u128::from(!exact))
    }

    /// The smallest such probability that is not below `weight/(factor·e^exponent + rest)`.
    pub(crate) fn odds(weight: u64, factor: u64, exponent: f64, rest: u64) -> Self {
        let denominator = exponential(exponent) * factor + (BigUint::from(rest) << DIGITS);
        let numerator = BigUint::from(weight) << (DIGITS + 64);
        Chance::new(whole(&((numerator + &denominator - 1u8) / denominator)))
    }
}

/// A whole number that is known to be at most `2^64`.
fn whole(n: &BigUint) -> u128 {
    let digits = n.to_u64_digits();
    match digits[..] {
        [] => 0,
        [low] => low.into(),
        _ => ALL,
    }
}

/// The number of words for a probability: rounded down, but never from a positive one to 0.
pub(crate) fn words(q: f64) -> u128 {
    if q > 0.0 { Chance::rounded_down(q.min(1.0)).numerator().max(1) } else { 0 }
}

/// The weights, where what is missing to all words goes to the most likely outcome, the last of several. They must sum to all up to rounding.
pub(crate) fn completed(mut weights: Vec<u128>) -> Vec<u128> {
    let total: u128 = weights.iter().sum();
    if let Some(largest) = weights.iter_mut().max() {
        // The sum is off by a relative 2^-20 at most, and the largest of 2^24 weights is more than 2^-24 of it.
        *largest = (*largest + ALL).saturating_sub(total);
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_rounded_to_either_side() {
        for (p, down, up) in [
            (0.0, 0, 0),
            (1.0, ALL, ALL),
            (0.5, ALL / 2, ALL / 2),
            (5e-324, 0, 1),
            (1e-19, 1, 2),
            (1.0 - f64::EPSILON, ALL - (1 << 12), ALL - (1 << 12)),
        ] {
            let both = (Chance::rounded_down(p).numerator(), Chance::rounded_up(p).numerator());
            assert_eq!(both, (down, up), "{p}");
        }
    }

    #[test]
    fn odds_are_rounded_up() {
        let odds = |weight, factor, exponent, rest| Chance::odds(weight, factor, exponent, rest).numerator();
        // 1/(e + 2) = 0.21194155761708544…: the double has 53 of the 64 digits.
        let (chance, double) = (odds(1, 1, 1.0, 2), (1.0 / (1f64.exp() + 2.0) * 64f64.exp2()) as u128);
        assert!(chance.abs_diff(double) < 4096, "{chance} {double}");
        assert_eq!(odds(1, 1, 0.0, 2), ALL.div_ceil(3));
        assert_eq!(odds(1, 1, 100.0, 1), 1);
        assert_eq!(odds(0, 3, 1.0, 0), 0);
    }

    #[test]
    fn what_is_missing_goes_to_the_last_of_the_most_likely() {
        let third = words(1.0 / 3.0);
        assert_eq!(completed(vec![third, third, third]), [third, third, ALL - 2 * third]);
        assert_eq!(completed(vec![words(0.1), words(5e-324), words(0.9)])[1], 1);
    }
}
