//! Random words for real secrets: ChaCha with twelve rounds, keyed by the operating system.
//!
//! A given seed makes reports predictable and is for tests only, which its name says wherever it appears.

use std::fmt;

use chacha20::ChaCha12Rng;
use chacha20::rand_core::{Rng, SeedableRng};

use crate::error::{Error, Result};

/// Words fetched at a time: the generator works on blocks, and a block costs less than its words one by one.
const WORDS: usize = 128;

/// Where the randomness comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Randomness {
    /// The operating system.
    System,
    /// A seed that anybody can guess. The same seed gives the same reports.
    InsecureTestSeed(u64),
}

/// A source of random 64-bit words. Real secrets need a [`Generator`]; what a given sequence of words leads to is a question of tests.
pub trait Words {
    /// The next word, all 2^64 equally likely.
    fn word(&mut self) -> u64;

    /// A number below `bound`, all exactly equally likely: the high half of a product, drawn again in the few cases that would
    /// favour a number.
    #[inline]
    fn below(&mut self, bound: u64) -> u64 {
        loop {
            let product = u128::from(self.word()) * u128::from(bound);
            // The lowest 2^64 mod bound low halves are one too many for some numbers.
            if product as u64 >= bound || product as u64 >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }
}

/// A stream of random 64-bit words. It cannot be copied, since reports from two copies would tell their values by comparison, and it is not
/// shown in messages, since the words that it holds are those of reports to come.
pub struct Generator {
    source: ChaCha12Rng,
    words: [u64; WORDS],
    used: usize,
}

impl fmt::Debug for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generator").finish_non_exhaustive()
    }
}

impl Generator {
    /// Stream number `stream`. From the operating system every call gives a new key; from a test seed the same stream has the
    /// same words.
    ///
    /// # Errors
    /// The operating system gives no randomness.
    pub fn new(randomness: Randomness, stream: u64) -> Result<Self> {
        let mut source = match randomness {
            Randomness::System => {
                let mut key = [0u8; 32];
                getrandom::fill(&mut key)
                    .map_err(|error| Error::NoRandomness { message: error.to_string() })?;
                ChaCha12Rng::from_seed(key)
            }
            Randomness::InsecureTestSeed(seed) => ChaCha12Rng::seed_from_u64(seed),
        };
        source.set_stream(stream);
        Ok(Generator { source, words: [0; WORDS], used: WORDS })
    }

    #[cold]
    fn refill(&mut self) {
        let mut bytes = [0u8; 8 * WORDS];
        self.source.fill_bytes(&mut bytes);
        for (word, bytes) in self.words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        self.used = 0;
    }
}

impl Words for Generator {
    #[inline]
    fn word(&mut self) -> u64 {
        if self.used == WORDS {
            self.refill();
        }
        // A word that led to a report is not kept.
        let word = std::mem::take(&mut self.words[self.used]);
        self.used += 1;
        word
    }
}

/// Given words, then zeros: for tests of what each word leads to.
#[cfg(test)]
pub(crate) struct Replay<'w>(pub(crate) &'w [u64]);

#[cfg(test)]
impl Words for Replay<'_> {
    fn word(&mut self) -> u64 {
        self.0.split_off_first().copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_and_repeat() {
        let words = |randomness, stream| {
            let mut generator = Generator::new(randomness, stream).unwrap();
            (0..300).map(|_| generator.word()).collect::<Vec<_>>()
        };
        let seed = Randomness::InsecureTestSeed(7);
        assert_eq!(words(seed, 1), words(seed, 1));
        assert_ne!(words(seed, 1), words(seed, 2));
        assert_ne!(words(Randomness::System, 1), words(Randomness::System, 1));
    }

    /// The words that reports of a test seed have been drawn from since the first version: another generator must have them too.
    #[test]
    fn known_words() {
        for (seed, stream, wanted) in [
            (
                0,
                0,
                [0xbb2a_3fb2_cd2c_6f7f, 0xc601_7c94_8e27_697b, 0xeadd_98ee_4c0b_cc72, 0x37d9_9e04_042b_542b],
            ),
            (
                7,
                0,
                [0x07c2_e0e9_6aa8_fbbe, 0x4e9d_34e8_247e_5f86, 0xf4b7_87cb_2b97_760a, 0xab20_1d8a_8895_08d6],
            ),
            (
                7,
                1,
                [0x217c_4f47_8df3_7f67, 0x5d39_d2c5_7bb2_5d52, 0x8b29_69a1_68e6_55b0, 0x7fb3_2b1a_ff09_3c2c],
            ),
            (
                u64::MAX,
                u64::MAX,
                [0x9562_ddca_e76c_226a, 0x74a6_06e9_13b8_fd27, 0x6326_12cc_8bb1_e141, 0x07c0_20e9_13da_2f20],
            ),
        ] {
            let mut generator = Generator::new(Randomness::InsecureTestSeed(seed), stream).unwrap();
            let words: Vec<u64> = (0..300).map(|_| generator.word()).collect();
            assert_eq!([words[0], words[1], words[32], words[299]], wanted, "{seed} {stream}");
        }
    }

    #[test]
    fn used_words_are_not_kept() {
        let mut generator = Generator::new(Randomness::InsecureTestSeed(1), 0).unwrap();
        assert!((0..5).all(|_| generator.word() != 0));
        assert_eq!(generator.words[..5], [0; 5]);
        assert_ne!(generator.words[5], 0);
    }

    #[test]
    fn words_to_come_are_not_shown() {
        let generator = Generator::new(Randomness::InsecureTestSeed(1), 0).unwrap();
        assert_eq!(format!("{generator:?}"), "Generator { .. }");
    }

    #[test]
    fn numbers_below_a_bound_reject_what_would_favour_some() {
        // Of 2^64 words, 2^64 mod 3 = 1 is drawn again: the word 0, whose low half is 0.
        assert_eq!(Replay(&[0, u64::MAX]).below(3), 2);
        assert_eq!(Replay(&[1]).below(3), 0);
        assert_eq!(Replay(&[u64::MAX]).below(1), 0);
    }
}
