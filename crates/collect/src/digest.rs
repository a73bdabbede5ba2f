//! The digest of a sequence of reports: what tells copies of a collection, and reports that got lost on the way.
//!
//! The bytes of all reports, one after another, are the digits of a number to the base 256, the first one the most significant; the digest
//! is that number modulo the prime `p = 2^128 − 159`, beside the number of reports:
//!
//! ```text
//! D(r_1 … r_n) = r_1 r_2 … r_n mod p,        D(left right) = D(left) · 256^|right| + D(right) mod p
//! ```
//!
//! It depends on the reports and their order alone, not on the format of a file, its line ends or its compression. The second equation lets
//! many threads work on parts of a file. Two sequences that differ in 16 bytes in a row always have different digests, others with
//! probability `1 − 2^−128`; that reports change places is seen since 256 has an order above `2^122` modulo `p`. The order of reports must
//! count: two honest days of ten thousand answers to a yes-no question have the same *numbers* of answers about once in 180 times.
//!
//! It tells accidents, not forgeries: whoever can change a file can also change its digest.

use std::fmt;

/// `2^128 − p`.
const GAP: u128 = 159;

/// The prime.
const PRIME: u128 = u128::MAX - GAP + 1;

/// Most reports and bytes of a digest that was written down: more than any disk has, and few enough that sums of many do not overflow.
const MOST: u64 = 1 << 50;

/// The digest of a sequence of reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct Digest {
    reports: u64,
    bytes: u64,
    /// The number modulo the prime, but for a multiple of it.
    value: u128,
    /// Bytes that are not yet in the number: short reports are taken together.
    waiting: u64,
    waiting_bytes: u32,
}

impl Digest {
    /// The digest of so many reports of so many bytes together, if there can be one with this number.
    pub(crate) fn restored(reports: u64, bytes: u64, value: u128) -> Option<Self> {
        let possible = value < PRIME && (reports > 0 || value == 0) && reports.max(bytes) <= MOST;
        possible.then_some(Digest { reports, bytes, value, ..Digest::default() })
    }

    /// How many reports there are.
    pub fn reports(&self) -> u64 {
        self.reports
    }

    /// Adds one report at the end.
    #[inline]
    pub fn add(&mut self, report: &[u8]) {
        self.reports += 1;
        self.bytes += report.len() as u64;
        if self.waiting_bytes as usize + report.len() > 8 {
            self.take_waiting();
        }
        let (words, rest) = report.as_chunks::<8>();
        for word in words {
            self.value = shifted(self.value, 64, u64::from_be_bytes(*word));
        }
        for byte in rest {
            self.waiting = self.waiting << 8 | u64::from(*byte);
        }
        self.waiting_bytes += rest.len() as u32;
    }

    /// Adds the reports of another sequence at the end.
    pub fn append(&mut self, mut next: Digest) {
        self.take_waiting();
        next.take_waiting();
        self.value = sum(product(self.value, power(next.bytes)), next.value);
        // Nobody has so many reports; crafted parts must not end the program.
        self.reports = self.reports.saturating_add(next.reports);
        self.bytes = self.bytes.saturating_add(next.bytes);
    }

    fn take_waiting(&mut self) {
        if self.waiting_bytes > 0 {
            self.value = shifted(self.value, 8 * self.waiting_bytes, self.waiting);
            (self.waiting, self.waiting_bytes) = (0, 0);
        }
    }

    /// The number itself.
    pub(crate) fn remainder(mut self) -> u128 {
        self.take_waiting();
        self.value % PRIME
    }
}

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        self.reports == other.reports && self.remainder() == other.remainder()
    }
}

impl Eq for Digest {}

/// 32 hexadecimal digits.
impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.remainder())
    }
}

/// `value · 2^bits + word`, for 8 to 64 bits and a word of so many: `2^128` is the gap.
#[inline]
fn shifted(value: u128, bits: u32, word: u64) -> u128 {
    sum(value << bits | u128::from(word), (value >> (128 - bits)) * GAP)
}

/// The sum of two numbers, but for a multiple of the prime. A second overflow leaves less than the gap.
#[inline]
fn sum(left: u128, right: u128) -> u128 {
    let (sum, over) = left.overflowing_add(right);
    if !over {
        return sum;
    }
    let (sum, over) = sum.overflowing_add(GAP);
    if over { sum + GAP } else { sum }
}

fn product(left: u128, right: u128) -> u128 {
    let times = |word: u64| {
        let (high, low) = ((left >> 64) * u128::from(word), (left as u64 as u128) * u128::from(word));
        sum(shifted(high, 64, 0), low)
    };
    sum(shifted(times((right >> 64) as u64), 64, 0), times(right as u64))
}

/// `256^exponent`.
fn power(mut exponent: u64) -> u128 {
    let (mut result, mut square) = (1, 256);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = product(result, square);
        }
        square = product(square, square);
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;

    fn expected(bytes: &[u8]) -> String {
        format!("{:0>32}", (BigUint::from_bytes_be(bytes) % PRIME).to_str_radix(16))
    }

    /// Numbers of every kind, those next to the prime and to `2^128` among them.
    fn bytes(seed: u64, count: usize) -> Vec<u8> {
        let mut state = seed;
        let mut byte = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..count).map(|at| if seed.is_multiple_of(3) && at % 40 < 20 { 0xff } else { byte() }).collect()
    }

    #[test]
    fn the_digest_is_the_number_modulo_the_prime() {
        for length in [1, 2, 3, 7, 8, 9, 13, 16, 17, 40] {
            for seed in 0..30 {
                let all = bytes(seed, 20 * length);
                let mut digest = Digest::default();
                all.chunks(length).for_each(|report| digest.add(report));
                assert_eq!((digest.to_string(), digest.reports()), (expected(&all), 20), "{length} {seed}");
            }
        }
        let most = (PRIME - 1).to_be_bytes();
        for last in [most, PRIME.to_be_bytes(), u128::MAX.to_be_bytes()] {
            let mut digest = Digest::default();
            digest.add(&last);
            assert_eq!(digest.to_string(), expected(&last));
            assert_eq!(digest == Digest { reports: 1, ..Digest::default() }, last == PRIME.to_be_bytes());
        }
    }

    #[test]
    fn parts_together_are_the_whole() {
        for (length, cut) in [(1, 0), (1, 7), (3, 50), (8, 20), (13, 33), (5, 60)] {
            let all = bytes(length as u64, 60 * length);
            let mut parts = [Digest::default(); 2];
            for (at, report) in all.chunks(length).enumerate() {
                parts[usize::from(at >= cut)].add(report);
            }
            let [mut left, right] = parts;
            left.append(right);
            assert_eq!((left.to_string(), left.reports()), (expected(&all), 60), "{length} {cut}");
            left.add(&all[..length]);
            assert_eq!(left.to_string(), expected(&[&all[..], &all[..length]].concat()));
        }
    }

    #[test]
    fn crafted_numbers_do_not_overflow() {
        assert_eq!(Digest::restored(1, u64::MAX, 0), None);
        assert_eq!(Digest::restored(u64::MAX, 1, 0), None);
        let most = Digest::restored(MOST, MOST, 1).unwrap();
        let mut all = most;
        (0..20_000).for_each(|_| all.append(most));
        assert_eq!(all.reports(), u64::MAX);
    }

    #[test]
    fn order_and_number_count() {
        let digest = |reports: &[u8]| {
            let mut digest = Digest::default();
            reports.iter().for_each(|report| digest.add(&[*report]));
            digest
        };
        assert_ne!(digest(&[0, 1]), digest(&[1, 0]));
        assert_ne!(digest(&[0]), digest(&[0, 0]));
        assert_ne!(digest(&[1]), digest(&[0, 1]));
        assert_eq!(digest(&[2, 1]), digest(&[2, 1]));
    }
}
