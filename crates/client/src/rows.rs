//! The number of an output, where a step of a composition passes it on as the input of the next: the row of the protocol's matrix.
//!
//! | report | row |
//! |---|---|
//! | a number | the number |
//! | a set of inputs | `Σ 2^x`; with `k` members `x_1 < x_2 < …` always, `Σ C(x_i, i)` |
//! | a hash function and a bucket `z` | `g·Σ h(x) g^x + z` |
//! | several reports | `(… (y_1 b_2 + y_2) b_3 + …)` |
//! | a part `j` of a mixture | `b_1 + … + b_(j−1) + y` |

use crate::layout::{members, number, width};
use crate::sampler::{Hash, Part, Sampler, bucket};

impl Hash {
    /// The row of a function with these values and a bucket.
    pub(crate) fn row_of(&self, values: impl DoubleEndedIterator<Item = usize>, z: usize) -> usize {
        values.rev().fold(0, |function, value| function * self.g + value) * self.g + z
    }

    /// The number of functions and buckets.
    pub(crate) fn rows(&self) -> Option<usize> {
        self.g.checked_pow(u32::try_from(self.a).ok()?)?.checked_mul(self.g)
    }
}

impl Sampler {
    /// The number of rows, if it fits a machine word.
    pub(crate) fn rows(&self) -> Option<usize> {
        match self {
            Sampler::Bits(bits) => 1usize.checked_shl(u32::try_from(bits.a).ok()?),
            Sampler::Subset(subset) => binomial(subset.a, subset.k),
            Sampler::Hash(hash) => hash.rows(),
            Sampler::Composition { last, .. } => last.rows(),
            Sampler::Product(factors) => {
                factors.iter().try_fold(1usize, |rows, factor| rows.checked_mul(factor.sampler.rows()?))
            }
            Sampler::Mixture { parts, .. } => {
                parts.iter().try_fold(0usize, |rows, part| rows.checked_add(part.sampler.rows()?))
            }
            number => match number.layout() {
                crate::Layout::Number { outputs } => usize::try_from(outputs).ok(),
                _ => None,
            },
        }
    }

    /// The row of a report. There must be [`rows`](Sampler::rows).
    pub(crate) fn row_of(&self, bytes: &[u8]) -> usize {
        match self {
            Sampler::Bits(_) => members(bytes).map(|x| 1usize << x).sum(),
            Sampler::Subset(_) => {
                let ranks = members(bytes).enumerate().map(|(i, x)| binomial(x, i + 1).unwrap_or(0));
                ranks.sum()
            }
            Sampler::Hash(hash) => {
                let (seed, z) = (number(&bytes[..8]), number(&bytes[8..]) as usize);
                hash.row_of((0..hash.a).map(|x| bucket(seed, x, hash.g)), z)
            }
            Sampler::Composition { last, .. } => last.row_of(bytes),
            Sampler::Product(factors) => {
                let (mut rest, mut row) = (bytes, 0);
                for Part { sampler, length } in factors {
                    let (own, after) = rest.split_at(*length);
                    row = row * sampler.rows().unwrap_or(0) + sampler.row_of(own);
                    rest = after;
                }
                row
            }
            Sampler::Mixture { parts, .. } => {
                let (name, rest) = bytes.split_at(width(parts.len() as u64));
                let j = number(name) as usize;
                let before: usize = parts[..j].iter().map(|part| part.sampler.rows().unwrap_or(0)).sum();
                before + parts[j].sampler.row_of(&rest[..parts[j].length])
            }
            _ => number(bytes) as usize,
        }
    }
}

/// `C(n, k)`, if it fits.
fn binomial(n: usize, k: usize) -> Option<usize> {
    let k = if k > n { return Some(0) } else { k.min(n - k) };
    // Each intermediate result is a binomial; the product before the division may need more room.
    (1..=k)
        .try_fold(1u128, |c, i| {
            (c * (n - k + i) as u128 / i as u128).try_into().ok().map(|c: usize| c as u128)
        })
        .map(|c| c as usize)
}
