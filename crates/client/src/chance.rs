//! Probabilities that are whole multiples of `2^−64`: what a comparison of a random word with a whole number can do exactly.

use crate::words::Words;

/// `2^64`, the number of random words.
pub(crate) const ALL: u128 = 1 << 64;

/// A probability `numerator / 2^64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chance(u128);

impl Chance {
    /// The probability with this numerator, at most `2^64`.
    pub(crate) fn new(numerator: u128) -> Self {
        debug_assert!(numerator <= ALL);
        Chance(numerator.min(ALL))
    }

    pub(crate) fn numerator(self) -> u128 {
        self.0
    }

    #[cfg(feature = "protocol")]
    pub(crate) fn complement(self) -> Self {
        Chance(ALL - self.0)
    }

    /// Whether it happens: one word.
    #[inline]
    pub(crate) fn happens(self, words: &mut impl Words) -> bool {
        u128::from(words.word()) < self.0
    }

    /// Sixty-four independent events, one for each bit.
    ///
    /// Bit by bit, a random number `U` is compared with the threshold, most significant digit first, for all 64 at once; each
    /// word decides half of those that are still open, so about seven words do, where one by one would take 64.
    #[inline]
    pub(crate) fn sixty_four(self, words: &mut impl Words) -> u64 {
        if self.0 == ALL {
            return !0;
        }
        let (mut open, mut happened, mut digits) = (!0u64, 0u64, self.0 as u64);
        // Without digits left the rest of U cannot be smaller.
        while open != 0 && digits != 0 {
            let (word, digit) = (words.word(), 0u64.wrapping_sub(digits >> 63));
            happened |= open & digit & !word;
            open &= !(word ^ digit);
            digits <<= 1;
        }
        happened
    }
}

/// A distribution on finitely many outcomes with probabilities `w/2^64`, drawn with one word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wheel {
    /// The last word that leads to each possible outcome, ascending.
    ends: Vec<u64>,
    outcomes: Vec<u32>,
}

impl Wheel {
    /// The outcomes with so many words each, all words together.
    pub(crate) fn of(weights: &[u128]) -> Self {
        let positive = || weights.iter().enumerate().filter(|(_, weight)| **weight > 0);
        let ends = positive().scan(0u128, |sum, (_, weight)| {
            *sum += weight;
            Some((*sum - 1) as u64)
        });
        Wheel { ends: ends.collect(), outcomes: positive().map(|(outcome, _)| outcome as u32).collect() }
    }

    /// An outcome.
    #[inline]
    pub(crate) fn turn(&self, words: &mut impl Words) -> usize {
        let word = words.word();
        self.outcomes[self.ends.partition_point(|end| *end < word)] as usize
    }

    /// The possible outcomes, ascending, with the number of words that lead to each.
    #[cfg(feature = "protocol")]
    pub(crate) fn weights(&self) -> impl Iterator<Item = (usize, u128)> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|end| u128::from(*end) + 1));
        let widths = starts.zip(&self.ends).map(|(start, end)| u128::from(*end) + 1 - start);
        self.outcomes.iter().map(|outcome| *outcome as usize).zip(widths)
    }

    /// The number of words that lead to an outcome.
    #[cfg(feature = "protocol")]
    pub(crate) fn weight(&self, outcome: usize) -> u128 {
        let Ok(at) = self.outcomes.binary_search(&(outcome as u32)) else { return 0 };
        let start = if at == 0 { 0 } else { u128::from(self.ends[at - 1]) + 1 };
        u128::from(self.ends[at]) + 1 - start
    }
}

#[cfg(all(test, feature = "protocol"))]
mod tests {
    use super::*;
    use crate::words::{Generator, Randomness, Replay};

    /// The comparison of each bit's own 64-digit number with the threshold, one by one.
    #[test]
    fn sixty_four_comparisons_at_once_are_sixty_four_comparisons() {
        let mut source = Generator::new(Randomness::InsecureTestSeed(3), 0).unwrap();
        for threshold in [0, 1, 2, 3, 1 << 63, (1 << 63) + 1, u64::MAX, 0x0123_4567_89ab_cdef, source.word()]
        {
            let words: Vec<u64> = (0..64).map(|_| source.word()).collect();
            let number = |lane: u32| words.iter().fold(0u64, |u, word| u << 1 | (word >> lane & 1));
            let expected =
                (0..64).fold(0u64, |bits, lane| bits | u64::from(number(lane) < threshold) << lane);
            let found = Chance::new(threshold.into()).sixty_four(&mut Replay(&words));
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
        let found = Chance::new(threshold.into()).sixty_four(&mut Replay(&words));
        assert_eq!(found & 7, 2);
    }

    #[test]
    fn a_wheel_has_all_words_and_no_impossible_outcome() {
        let all = [0, 1 << 60, 1, ALL - (1 << 60) - (1 << 62) - 1, 1 << 62, 0];
        let wheel = Wheel::of(&all);
        let weights: Vec<(usize, u128)> = wheel.weights().collect();
        assert_eq!(weights.iter().map(|(_, w)| w).sum::<u128>(), ALL);
        assert_eq!(weights.iter().map(|(y, _)| *y).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(weights[1], (2, 1));
        // The words next to each border lead to the outcomes on its two sides.
        let mut start = 0u128;
        for (y, weight) in weights {
            assert_eq!(wheel.weight(y), weight);
            for word in [start, start + weight - 1] {
                assert_eq!(wheel.turn(&mut Replay(&[word as u64])), y);
            }
            start += weight;
        }
    }
}
