//! A report as bytes: every report of a protocol has the same length, so its length tells nothing.
//!
//! | protocol | bytes |
//! |---|---|
//! | one of `b` outputs (identity, GRR, block, deterministic, erasure, matrix) | the output's number, little endian, in the fewest bytes that hold `b − 1` |
//! | unary encoding, subset selection | `⌈a/8⌉` bytes; input `x` is bit `x mod 8` of byte `⌊x/8⌋`, the least significant bit first; unused bits are 0 |
//! | local hash | the seed, 8 bytes, little endian; then `z`, as a number below `g` |
//! | composition | as its last step |
//! | product | the factors' bytes, one after another |
//! | mixture | the part, as a number below the number of parts; then its bytes, filled up with zeros to the longest part |
//!
//! In text (CSV, JSON Lines) a number alone is written in decimal, with leading zeros to the digits of `b − 1`; all other reports are the
//! bytes in hexadecimal, lower case.

#[cfg(feature = "protocol")]
use sottovoce::{Output, Protocol};

use crate::reason::Reason;

/// How the reports of a protocol are laid out in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A number below `outputs`.
    Number {
        /// One more than the largest number.
        outputs: u64,
    },
    /// A set of inputs.
    Set {
        /// Number of inputs.
        inputs: usize,
        /// How many must be in the set, if that is fixed.
        size: Option<usize>,
    },
    /// A hash function's seed and a bucket.
    Hash {
        /// Number of buckets.
        buckets: u64,
    },
    /// All of several reports.
    Tuple(Vec<Layout>),
    /// One of several reports.
    Part(Vec<Layout>),
}

impl Layout {
    /// The layout of a protocol's reports.
    #[cfg(feature = "protocol")]
    pub fn of(protocol: &Protocol) -> Self {
        let all = |protocols: &[Protocol]| protocols.iter().map(Layout::of).collect();
        match protocol {
            Protocol::UnaryEncoding(_) => Layout::Set { inputs: protocol.inputs(), size: None },
            Protocol::SubsetSelection(subset) => {
                Layout::Set { inputs: protocol.inputs(), size: Some(subset.size()) }
            }
            Protocol::LocalHash(hash) => Layout::Hash { buckets: hash.buckets() as u64 },
            Protocol::Composition(composition) => Layout::of(composition.last()),
            Protocol::Product(product) => Layout::Tuple(all(product.factors())),
            Protocol::Mixture(mixture) => Layout::Part(all(mixture.parts())),
            // The others have at most one output more than a protocol may have inputs, or the rows of a matrix in memory.
            other => Layout::Number { outputs: other.outputs().unwrap_or(usize::MAX) as u64 },
        }
    }

    /// Whether reports name hash functions by seeds, so that there are far more of them than outputs of the matrix.
    pub fn has_seeds(&self) -> bool {
        match self {
            Layout::Hash { .. } => true,
            Layout::Tuple(layouts) | Layout::Part(layouts) => layouts.iter().any(Layout::has_seeds),
            Layout::Number { .. } | Layout::Set { .. } => false,
        }
    }

    /// The number of bytes of every report.
    pub fn length(&self) -> usize {
        match self {
            Layout::Number { outputs } => width(*outputs),
            Layout::Set { inputs, .. } => inputs.div_ceil(8),
            Layout::Hash { buckets } => 8 + width(*buckets),
            Layout::Tuple(layouts) => layouts.iter().map(Layout::length).sum(),
            Layout::Part(layouts) => {
                width(layouts.len() as u64) + layouts.iter().map(Layout::length).max().unwrap_or(0)
            }
        }
    }

    /// The number of characters of every report in text.
    pub fn text_length(&self) -> usize {
        match self {
            Layout::Number { outputs } => digits(*outputs),
            _ => 2 * self.length(),
        }
    }

    /// Refuses bytes that are not a report. Their number must be [`length`](Layout::length).
    ///
    /// # Errors
    /// Why they are none.
    pub fn check(&self, bytes: &[u8]) -> Result<(), Reason> {
        match self {
            Layout::Number { outputs } => below(number(bytes), *outputs),
            Layout::Set { inputs, size } => check_set(bytes, *inputs, *size),
            Layout::Hash { buckets } => below(number(&bytes[8..]), *buckets),
            Layout::Tuple(layouts) => {
                let mut rest = bytes;
                layouts.iter().try_for_each(|layout| layout.check(take(&mut rest, layout.length())))
            }
            Layout::Part(layouts) => {
                let (layout, _, inner, padding) = split_part(layouts, bytes).ok_or(Reason::OutOfRange)?;
                layout.check(inner)?;
                if padding.iter().all(|byte| *byte == 0) { Ok(()) } else { Err(Reason::Padding) }
            }
        }
    }

    /// The output that the bytes of a report stand for. They must have passed [`check`](Layout::check).
    #[cfg(feature = "protocol")]
    pub fn output(&self, bytes: &[u8]) -> Output {
        match self {
            Layout::Number { .. } => Output::Index(number(bytes) as usize),
            Layout::Set { .. } => Output::Subset(members(bytes).collect()),
            Layout::Hash { .. } => {
                Output::Hash { seed: number(&bytes[..8]), z: number(&bytes[8..]) as usize }
            }
            Layout::Tuple(layouts) => {
                let mut rest = bytes;
                let output = |layout: &Layout| layout.output(take(&mut rest, layout.length()));
                Output::Tuple(layouts.iter().map(output).collect())
            }
            Layout::Part(layouts) => {
                // Unwrap safety: checked bytes name an existing part.
                let (layout, part, inner, _) = split_part(layouts, bytes).unwrap();
                Output::Part(part, Box::new(layout.output(inner)))
            }
        }
    }

    /// Writes the bytes of an output; `None` if it has none. `bytes` must be zeros, as many as [`length`](Layout::length).
    #[cfg(feature = "protocol")]
    pub fn write(&self, output: &Output, bytes: &mut [u8]) -> Option<()> {
        match (self, output) {
            (Layout::Number { outputs }, Output::Index(y)) if (*y as u64) < *outputs => put(*y as u64, bytes),
            (Layout::Set { inputs, size }, Output::Subset(members))
                if members.iter().all(|x| x < inputs) && size.is_none_or(|size| members.len() == size) =>
            {
                members.iter().for_each(|x| bytes[x / 8] |= 1 << (x % 8));
            }
            (Layout::Hash { buckets }, Output::Hash { seed, z }) if (*z as u64) < *buckets => {
                put(*seed, &mut bytes[..8]);
                put(*z as u64, &mut bytes[8..]);
            }
            (Layout::Tuple(layouts), Output::Tuple(outputs)) if layouts.len() == outputs.len() => {
                let mut rest = bytes;
                for (layout, output) in layouts.iter().zip(outputs) {
                    let (own, after) = rest.split_at_mut(layout.length());
                    layout.write(output, own)?;
                    rest = after;
                }
            }
            (Layout::Part(layouts), Output::Part(part, inner)) => {
                let (layout, width) = (layouts.get(*part)?, width(layouts.len() as u64));
                put(*part as u64, &mut bytes[..width]);
                layout.write(inner, &mut bytes[width..][..layout.length()])?;
            }
            _ => return None,
        }
        Some(())
    }

    /// Appends the text of a report.
    pub fn write_text(&self, bytes: &[u8], text: &mut Vec<u8>) {
        const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";
        match self {
            Layout::Number { outputs } => {
                let start = text.len();
                text.resize(start + digits(*outputs), b'0');
                let mut rest = number(bytes);
                for digit in text[start..].iter_mut().rev() {
                    *digit = b'0' + (rest % 10) as u8;
                    rest /= 10;
                }
            }
            _ => {
                text.extend(bytes.iter().flat_map(|byte| {
                    [HEXADECIMAL[usize::from(byte >> 4)], HEXADECIMAL[usize::from(byte & 15)]]
                }))
            }
        }
    }

    /// Reads the text of a report into its bytes.
    ///
    /// # Errors
    /// Why the text is not a report.
    pub fn read_text(&self, text: &[u8], bytes: &mut [u8]) -> Result<(), Reason> {
        if text.is_empty() {
            return Err(Reason::Empty);
        }
        if text.len() != self.text_length() {
            return Err(Reason::Length);
        }
        match self {
            Layout::Number { outputs } => {
                let number = decimal(text)?;
                below(number, *outputs)?;
                put(number, bytes);
            }
            _ => {
                for (byte, pair) in bytes.iter_mut().zip(text.as_chunks::<2>().0) {
                    *byte = hexadecimal(pair[0])? << 4 | hexadecimal(pair[1])?;
                }
            }
        }
        self.check(bytes)
    }
}

/// Fewest bytes that hold all numbers below `bound`.
pub(crate) fn width(bound: u64) -> usize {
    let bits = 64 - bound.saturating_sub(1).leading_zeros() as usize;
    bits.div_ceil(8).max(1)
}

/// Decimal digits of the largest number below `bound`.
fn digits(bound: u64) -> usize {
    bound.saturating_sub(1).checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// The number in at most eight bytes.
pub fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Writes a number that fits.
pub fn put(number: u64, bytes: &mut [u8]) {
    let all = number.to_le_bytes();
    let count = bytes.len();
    bytes.copy_from_slice(&all[..count]);
}

/// The inputs whose bit is set, ascending.
pub fn members(bytes: &[u8]) -> impl Iterator<Item = usize> {
    bytes
        .iter()
        .enumerate()
        .flat_map(|(at, byte)| (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| 8 * at + bit))
}

fn below(number: u64, bound: u64) -> Result<(), Reason> {
    if number < bound { Ok(()) } else { Err(Reason::OutOfRange) }
}

fn check_set(bytes: &[u8], inputs: usize, size: Option<usize>) -> Result<(), Reason> {
    if !inputs.is_multiple_of(8) && bytes.last().is_some_and(|last| last >> (inputs % 8) != 0) {
        return Err(Reason::Padding);
    }
    let count = || bytes.iter().map(|byte| byte.count_ones() as usize).sum::<usize>();
    if size.is_some_and(|size| count() != size) { Err(Reason::SetSize) } else { Ok(()) }
}

fn take<'b>(rest: &mut &'b [u8], count: usize) -> &'b [u8] {
    let (own, after) = rest.split_at(count);
    *rest = after;
    own
}

/// The part that a report of a mixture names, its bytes, and the zeros after them.
fn split_part<'l, 'b>(
    layouts: &'l [Layout],
    bytes: &'b [u8],
) -> Option<(&'l Layout, usize, &'b [u8], &'b [u8])> {
    let (part, rest) = bytes.split_at(width(layouts.len() as u64));
    let part = number(part) as usize;
    let layout = layouts.get(part)?;
    let (inner, padding) = rest.split_at(layout.length());
    Some((layout, part, inner, padding))
}

fn decimal(text: &[u8]) -> Result<u64, Reason> {
    text.iter().try_fold(0u64, |number, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10).ok_or(Reason::NotDigits)?;
        number.checked_mul(10).and_then(|n| n.checked_add(digit.into())).ok_or(Reason::OutOfRange)
    })
}

pub(crate) fn hexadecimal(digit: u8) -> Result<u8, Reason> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(Reason::NotDigits),
    }
}

#[cfg(all(test, feature = "protocol"))]
mod tests {
    use super::*;

    fn text(layout: &Layout, output: &Output) -> String {
        let mut bytes = vec![0; layout.length()];
        layout.write(output, &mut bytes).unwrap();
        assert_eq!(layout.check(&bytes), Ok(()));
        assert_eq!(&layout.output(&bytes), output);
        let mut text = Vec::new();
        layout.write_text(&bytes, &mut text);
        let mut again = vec![0; layout.length()];
        layout.read_text(&text, &mut again).unwrap();
        assert_eq!(again, bytes);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn each_kind_has_its_bytes() {
        let grr = Protocol::grr(300, 1.0).unwrap();
        let oue = Protocol::oue(300, 1.0).unwrap();
        let lh = Protocol::lh(300, 16, 1.0).unwrap();
        let mixture = Protocol::mixture(vec![0.5, 0.5], vec![grr.clone(), lh.clone()]).unwrap();
        let product = Protocol::product(vec![grr.clone(), mixture.clone()]).unwrap();
        assert_eq!(text(&Layout::of(&grr), &Output::Index(7)), "007");
        let set = text(&Layout::of(&oue), &Output::Subset(vec![0, 9, 299]));
        assert!(set.starts_with("010200") && set.ends_with("08") && set.len() == 76, "{set}");
        let hash = Output::Hash { seed: 0x0102_0304_0506_0708, z: 15 };
        assert_eq!(text(&Layout::of(&lh), &hash), "08070605040302010f");
        let part = Output::Part(0, Box::new(Output::Index(299)));
        assert_eq!(text(&Layout::of(&mixture), &part), "002b0100000000000000");
        let tuple = Output::Tuple(vec![Output::Index(1), part]);
        assert_eq!(text(&Layout::of(&product), &tuple), "0100002b0100000000000000");
    }

    #[test]
    fn what_is_no_report_is_refused_with_the_reason() {
        let read = |protocol: &Protocol, text: &str| {
            let layout = Layout::of(protocol);
            layout.read_text(text.as_bytes(), &mut vec![0; layout.length()]).unwrap_err()
        };
        let grr = Protocol::grr(300, 1.0).unwrap();
        assert_eq!(read(&grr, ""), Reason::Empty);
        assert_eq!(read(&grr, "7"), Reason::Length);
        assert_eq!(read(&grr, "300"), Reason::OutOfRange);
        assert_eq!(read(&grr, "-01"), Reason::NotDigits);
        // More than a byte holds, where a byte is all that a report has.
        assert_eq!(read(&Protocol::grr(200, 1.0).unwrap(), "257"), Reason::OutOfRange);
        let subset = Protocol::subset(10, 3, 1.0).unwrap();
        assert_eq!(read(&subset, "0304"), Reason::Padding);
        assert_eq!(read(&subset, "0300"), Reason::SetSize);
        assert_eq!(read(&subset, "07G0"), Reason::NotDigits);
        assert_eq!(read(&subset, "0700FF"), Reason::Length);
        let lh = Protocol::lh(300, 3, 1.0).unwrap();
        assert_eq!(read(&lh, "000000000000000003"), Reason::OutOfRange);
        let mixture = Protocol::mixture(vec![0.5, 0.5], vec![grr, lh]).unwrap();
        assert_eq!(read(&mixture, "02000000000000000000"), Reason::OutOfRange);
        assert_eq!(read(&mixture, "00000000000000000001"), Reason::Padding);
    }
}
