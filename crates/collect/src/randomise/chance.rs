//! Probabilities that are whole multiples of `2^−64`: what a comparison of a random word with a whole number can do exactly.

use num_bigint::BigUint;

use super::exponential::{DIGITS, exponential, fixed_point};
use super::generator::Generator;

/// `2^64`, the number of random words.
pub(super) const ALL: u128 = 1 << 64;

/// A probability `numerator / 2^64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chance(u128);

impl Chance {
    /// The probability with this numerator, at most `2^64`.
    pub(super) fn new(numerator: u128) -> Self {
        debug_assert!(numerator <= ALL);
        Chance(numerator.min(ALL))
    }

    /// The largest such probability that is not above `p`.
    pub(super) fn rounded_down(p: f64) -> Self {
        Chance::new(whole(&fixed_point(p, 64)))
    }

    /// The smallest such probability that is not below `p`.
    pub(super) fn rounded_up(p: f64) -> Self {
        let down = Chance::rounded_down(p);
        let exact = fixed_point(p, 1138) == BigUint::from(down.0) << 1074u32;
        Chance::new(down.0 + u128::from(!exact))
    }

    /// The smallest such probability that is not below `weight/(factor·e^exponent + rest)`.
    pub(super) fn odds(weight: u64, factor: u64, exponent: f64, rest: u64) -> Self {
        let denominator = exponential(exponent) * factor + (BigUint::from(rest) << DIGITS);
        let numerator = BigUint::from(weight) << (DIGITS + 64);
        Chance::new(whole(&((numerator + &denominator - 1u8) / denominator)))
    }

    pub(super) fn numerator(self) -> u128 {
        self.0
    }

    pub(super) fn complement(self) -> Self {
        Chance(ALL - self.0)
    }

    /// Whether it happens: one word.
    #[inline]
    pub(super) fn happens(self, generator: &mut Generator) -> bool {
        u128::from(generator.word()) < self.0
    }

    /// Sixty-four independent events, one for each bit.
    ///
    /// Bit by bit, a random number `U` is compared with the threshold, most significant digit first, for all 64 at once; each
    /// word decides half of those that are still open, so about seven words do, where one by one would take 64.
    #[inline]
    pub(super) fn sixty_four(self, generator: &mut Generator) -> u64 {
        if self.0 == ALL {
            return !0;
        }
        let (mut open, mut happened, mut digits) = (!0u64, 0u64, self.0 as u64);
        // Without digits left the rest of U cannot be smaller.
        while open != 0 && digits != 0 {
            let (word, digit) = (generator.word(), 0u64.wrapping_sub(digits >> 63));
            happened |= open & digit & !word;
            open &= !(word ^ digit);
            digits <<= 1;
        }
        happened
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

/// A distribution on finitely many outcomes with probabilities `w/2^64`, drawn with one word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wheel {
    /// The last word that leads to each possible outcome, ascending.
    ends: Vec<u64>,
    outcomes: Vec<u32>,
}

impl Wheel {
    /// The probabilities in [words](Wheel::words); what is missing goes to the most likely outcome. They must sum to 1 up to rounding.
    pub(super) fn new(probabilities: impl Iterator<Item = f64>) -> Self {
        Wheel::of(probabilities.map(Wheel::words).collect())
    }

    /// The number of words for a probability: rounded down, but never from a positive one to 0.
    pub(super) fn words(q: f64) -> u128 {
        if q > 0.0 { Chance::rounded_down(q.min(1.0)).0.max(1) } else { 0 }
    }

    /// The outcomes with so many words each; what is missing goes to the most likely one. They must sum to all up to rounding.
    pub(super) fn of(mut weights: Vec<u128>) -> Self {
        let total: u128 = weights.iter().sum();
        if let Some(largest) = weights.iter_mut().max() {
            // The sum is off by a relative 2^-20 at most, and the largest of 2^24 weights is more than 2^-24 of it.
            *largest = (*largest + ALL).saturating_sub(total);
        }
        let positive = || weights.iter().enumerate().filter(|(_, weight)| **weight > 0);
        let ends = positive().scan(0u128, |sum, (_, weight)| {
            *sum += weight;
            Some((*sum - 1) as u64)
        });
        Wheel { ends: ends.collect(), outcomes: positive().map(|(outcome, _)| outcome as u32).collect() }
    }

    /// An outcome.
    #[inline]
    pub(super) fn turn(&self, generator: &mut Generator) -> usize {
        let word = generator.word();
        self.outcomes[self.ends.partition_point(|end| *end < word)] as usize
    }

    /// The possible outcomes, ascending, with the number of words that lead to each.
    pub(super) fn weights(&self) -> impl Iterator<Item = (usize, u128)> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|end| u128::from(*end) + 1));
        let widths = starts.zip(&self.ends).map(|(start, end)| u128::from(*end) + 1 - start);
        self.outcomes.iter().map(|outcome| *outcome as usize).zip(widths)
    }

    /// The number of words that lead to an outcome.
    pub(super) fn weight(&self, outcome: usize) -> u128 {
        let Ok(at) = self.outcomes.binary_search(&(outcome as u32)) else { return 0 };
        let start = if at == 0 { 0 } else { u128::from(self.ends[at - 1]) + 1 };
        u128::from(self.ends[at]) + 1 - start
    }
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
            assert_eq!((Chance::rounded_down(p).0, Chance::rounded_up(p).0), (down, up), "{p}");
        }
    }

    #[test]
    fn odds_are_rounded_up() {
        // 1/(e + 2) = 0.21194155761708544…: the double has 53 of the 64 digits.
        let chance = Chance::odds(1, 1, 1.0, 2).0;
        let double = (1.0 / (1f64.exp() + 2.0) * 64f64.exp2()) as u128;
        assert!(chance.abs_diff(double) < 4096, "{chance} {double}");
        assert_eq!(Chance::odds(1, 1, 0.0, 2).0, ALL.div_ceil(3));
        assert_eq!(Chance::odds(1, 1, 100.0, 1).0, 1);
        assert_eq!(Chance::odds(0, 3, 1.0, 0).0, 0);
    }

    /// The comparison of each bit's own 64-digit number with the threshold, one by one.
    #[test]
    fn sixty_four_comparisons_at_once_are_sixty_four_comparisons() {
        let mut source = Generator::new(super::super::Randomness::InsecureTestSeed(3), 0).unwrap();
        for threshold in [0, 1, 2, 3, 1 << 63, (1 << 63) + 1, u64::MAX, 0x0123_4567_89ab_cdef, source.word()]
        {
            let words: Vec<u64> = (0..64).map(|_| source.word()).collect();
            let number = |lane: u32| words.iter().fold(0u64, |u, word| u << 1 | (word >> lane & 1));
            let expected =
                (0..64).fold(0u64, |bits, lane| bits | u64::from(number(lane) < threshold) << lane);
            let found = Chance::new(threshold.into()).sixty_four(&mut Generator::replaying(&words));
            assert_eq!(found, expected, "{threshold:x}");
        }
        assert_eq!(Chance::new(ALL).sixty_four(&mut source), !0);
    }

    #[test]
    fn numbers_next_to_the_threshold_are_told_apart() {
        // Lane 0 draws the threshold itself (does not happen), lane 1 one less (happens), lane 2 one more.
        let threshold = 0x8000_0000_0000_0010u64;
        let words: Vec<u64> = (0..64)
            .map(|digit| {
                let bit = |n: u64| n >> (63 - digit) & 1;
                bit(threshold) | bit(threshold - 1) << 1 | bit(threshold + 1) << 2
            })
            .collect();
        let found = Chance::new(threshold.into()).sixty_four(&mut Generator::replaying(&words));
        assert_eq!(found & 7, 2);
    }

    #[test]
    fn a_wheel_has_all_words_and_no_impossible_outcome() {
        let wheel = Wheel::new([0.0, 0.1, 5e-324, 0.6, 0.3, 0.0].into_iter());
        let weights: Vec<(usize, u128)> = wheel.weights().collect();
        assert_eq!(weights.iter().map(|(_, w)| w).sum::<u128>(), ALL);
        assert_eq!(weights.iter().map(|(y, _)| *y).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(weights[1], (2, 1));
        // The words next to each border lead to the outcomes on its two sides.
        let mut start = 0u128;
        for (y, weight) in weights {
            assert_eq!(wheel.weight(y), weight);
            for word in [start, start + weight - 1] {
                assert_eq!(wheel.turn(&mut Generator::replaying(&[word as u64])), y);
            }
            start += weight;
        }
    }
}
