//! One sampler a kind of draw: from a value and random words to the bytes of a report, by comparisons of whole numbers alone.
//!
//! `docs/report-format.md` describes each of them for other programs, under "Drawing a report": which words are taken in which order is part of the format, and
//! `docs/vectors.json` has examples.

use crate::chance::{Chance, Wheel};
use crate::layout::{Layout, put, width};
use crate::words::Words;

/// Draws reports of a protocol.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sampler {
    /// Tells the truth about one of `a` inputs.
    Identity(usize),
    Response(Response),
    Bits(Bits),
    Hash(Hash),
    Subset(Subset),
    Blocks(Blocks),
    /// A function of the value.
    Map(Vec<u32>),
    /// The truth with some chance, else the blank `a`.
    Erasure {
        a: usize,
        reveal: Chance,
    },
    /// A distribution for each input.
    Columns {
        outputs: usize,
        columns: Vec<Wheel>,
    },
    Composition {
        before: Vec<Step>,
        last: Box<Sampler>,
    },
    Product(Vec<Part>),
    Mixture {
        choice: Wheel,
        parts: Vec<Part>,
    },
}

/// Generalised randomised response on `a` inputs: `truth + (a − 1)·lie = 2^64` words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) a: u64,
    pub(crate) truth: u64,
    pub(crate) lie: u64,
}

/// Unary encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bits {
    pub(crate) a: usize,
    pub(crate) kappa: Chance,
    pub(crate) lambda: Chance,
}

/// Local hash: `None` into one bucket, which says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hash {
    pub(crate) a: usize,
    pub(crate) g: usize,
    pub(crate) response: Option<Response>,
}

/// Subset selection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subset {
    pub(crate) a: usize,
    pub(crate) k: usize,
    pub(crate) inclusion: Chance,
    pub(crate) start: Start,
}

/// A block design on `v` residues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    pub(crate) a: usize,
    pub(crate) v: u64,
    pub(crate) inclusion: Chance,
    /// The difference set, and the other residues; both ascending.
    pub(crate) set: Vec<u32>,
    pub(crate) others: Vec<u32>,
}

/// A step before the last of a composition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Local hash with a function of all `g^a`, as its matrix has them, instead of a seed.
    Table(Hash),
    /// Anything else.
    Report(Part),
}

/// A sampler, with the bytes of its report.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) sampler: Sampler,
    pub(crate) length: usize,
}

impl Response {
    /// One word: the first `truth` words tell the truth, each following `lie` words another value.
    #[inline]
    pub(crate) fn answer(&self, x: u64, words: &mut impl Words) -> u64 {
        let word = words.word();
        if word < self.truth {
            return x;
        }
        let other = (word - self.truth) / self.lie;
        if other < x { other } else { other + 1 }
    }
}

impl Bits {
    #[inline]
    fn report(&self, x: usize, words: &mut impl Words, bytes: &mut [u8]) {
        let (chunks, rest) = bytes.as_chunks_mut::<8>();
        for word in chunks {
            *word = self.lambda.sixty_four(words).to_le_bytes();
        }
        if !rest.is_empty() {
            let last = self.lambda.sixty_four(words) & ((1 << (8 * rest.len())) - 1);
            put(last, rest);
        }
        if !self.a.is_multiple_of(8) {
            bytes[self.a / 8] &= (1 << (self.a % 8)) - 1;
        }
        let own = u8::from(self.kappa.happens(words));
        bytes[x / 8] = bytes[x / 8] & !(1 << (x % 8)) | own << (x % 8);
    }
}

impl Hash {
    #[inline]
    fn report(&self, x: usize, words: &mut impl Words, bytes: &mut [u8]) {
        let seed = words.word();
        let z = match &self.response {
            Some(response) => response.answer(bucket(seed, x, self.g) as u64, words),
            None => 0,
        };
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        put(z, &mut bytes[8..]);
    }

    /// The row of a function of all `g^a` and the answer.
    fn row(&self, x: usize, words: &mut impl Words) -> usize {
        let values: Vec<usize> = (0..self.a).map(|_| words.below(self.g as u64) as usize).collect();
        let z = self.response.as_ref().map_or(0, |response| response.answer(values[x] as u64, words));
        self.row_of(values.into_iter(), z as usize)
    }
}

/// The bucket of input `x` under the hash function with this seed: the `(x+1)`-th output of the SplitMix64 generator started at the seed, scaled to `0..g` by the
/// high half of a product. It is `sottovoce::protocol::bucket`, which a device need not have.
pub(crate) fn bucket(seed: u64, x: usize, g: usize) -> usize {
    let mut z = seed.wrapping_add((x as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((u128::from(z ^ (z >> 31)) * g as u128) >> 64) as usize
}

impl Subset {
    /// A uniformly random set of the right size among the others: a random set of any size, each other value in it independently with one chance,
    /// and then random members more or less.
    ///
    /// Nothing in this prefers a value to another, so all sets of the right size are exactly equally likely, whatever the chance. It is chosen near
    /// `k/a`, to leave little to correct.
    fn report(&self, x: usize, words: &mut impl Words, bytes: &mut [u8]) {
        let own = self.inclusion.happens(words);
        let wanted = self.k - usize::from(own);
        self.start.fill(words, bytes);
        if !self.a.is_multiple_of(8) {
            bytes[self.a / 8] &= (1 << (self.a % 8)) - 1;
        }
        bytes[x / 8] &= !(1 << (x % 8));
        let members = size(bytes);
        let (is_short, mut missing) = (members < wanted, members.abs_diff(wanted));
        let mut places = Places::new(self.a);
        // A place is drawn again if it is the own one, or needs no change. Whether it does is as random as the place, so a branch on it would
        // be mispredicted half of the time.
        while missing > 0 {
            let place = places.draw(words);
            let changes = (place != x) & (has(bytes, place) != is_short);
            bytes[place / 8] ^= u8::from(changes) << (place % 8);
            missing -= usize::from(changes);
        }
        bytes[x / 8] |= u8::from(own) << (x % 8);
    }
}

/// A random set, each value in it with chance `chance/2^digits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) chance: u64,
    pub(crate) digits: u32,
}

impl Start {
    /// Most words for 64 values.
    pub(crate) const MOST_DIGITS: u32 = 6;

    #[cfg(feature = "protocol")]
    /// The chance that takes the fewest words and corrections, roughly: a correction, with the places that are drawn in vain, is as much work as
    /// two words.
    pub(crate) fn new(a: usize, k: usize) -> Self {
        let work = |start: &Start| {
            let all = 1 << start.digits;
            let (mean, most) = (a as u64 * start.chance / all, all * all);
            let spread = (a as u64 * start.chance * (all - start.chance) / most).isqrt();
            let (few, many) =
                ((k as u64).saturating_sub(mean) + spread, mean.saturating_sub(k as u64) + spread);
            // Members are added in a/(a − k) draws each, and taken out in a/k.
            let (absent, present) = ((a - k).max(1) as u64, k.max(1) as u64);
            let corrections = (few * a as u64 / absent + many * a as u64 / present) / 2;
            u64::from(start.digits) * a.div_ceil(64) as u64 + 2 * corrections
        };
        let chances = |digits: u32| (0..=1u64 << digits).map(move |chance| Start { chance, digits });
        // Unwrap safety: the range is not empty.
        (0..=Start::MOST_DIGITS).flat_map(chances).min_by_key(work).unwrap()
    }

    fn fill(self, words: &mut impl Words, bytes: &mut [u8]) {
        let (chunks, rest) = bytes.as_chunks_mut::<8>();
        chunks.iter_mut().for_each(|word| *word = self.sixty_four(words).to_le_bytes());
        if !rest.is_empty() {
            let last = self.sixty_four(words) & ((1 << (8 * rest.len())) - 1);
            put(last, rest);
        }
    }

    /// Sixty-four independent events: with the digits of the chance from the last to the first, `½(digit + chance so far)` is an "or" or an "and" with a
    /// random word.
    fn sixty_four(self, words: &mut impl Words) -> u64 {
        let certain = if self.chance >> self.digits == 1 { !0 } else { 0 };
        (0..self.digits).fold(certain, |events, digit| {
            let word = words.word();
            if self.chance >> digit & 1 == 1 { events | word } else { events & word }
        })
    }
}

/// Random places below a bound, all equally likely: several from each word.
struct Places {
    bound: u64,
    bits: u32,
    word: u64,
    left: u32,
}

impl Places {
    fn new(bound: usize) -> Self {
        let bound = bound as u64;
        Places { bound, bits: (64 - (bound - 1).leading_zeros()).max(1), word: 0, left: 0 }
    }

    #[inline]
    fn draw(&mut self, words: &mut impl Words) -> usize {
        loop {
            if self.left == 0 {
                (self.word, self.left) = (words.word(), u64::BITS / self.bits);
            }
            let place = self.word & ((1 << self.bits) - 1);
            self.word >>= self.bits;
            self.left -= 1;
            if place < self.bound {
                return place as usize;
            }
        }
    }
}

/// How many bits are set.
fn size(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word).count_ones() as usize).sum::<usize>();
    words + rest.iter().map(|byte| byte.count_ones() as usize).sum::<usize>()
}

impl Blocks {
    /// Whether the block is to contain the value, and a uniformly random one of those that do, or do not.
    #[inline]
    fn answer(&self, x: u64, words: &mut impl Words) -> u64 {
        let residues = if self.inclusion.happens(words) { &self.set } else { &self.others };
        let residue = u64::from(residues[words.below(residues.len() as u64) as usize]);
        if x >= residue { x - residue } else { x + self.v - residue }
    }
}

fn has(bytes: &[u8], x: usize) -> bool {
    bytes[x / 8] >> (x % 8) & 1 == 1
}

impl Step {
    /// The row of this step's output, for the next step.
    fn row(&self, x: usize, words: &mut impl Words) -> usize {
        match self {
            Step::Table(hash) => hash.row(x, words),
            Step::Report(part) => {
                let mut bytes = vec![0; part.length];
                part.sampler.report(x, words, &mut bytes);
                part.sampler.row_of(&bytes)
            }
        }
    }
}

impl Step {
    pub(crate) fn inputs(&self) -> usize {
        match self {
            Step::Table(hash) => hash.a,
            Step::Report(part) => part.sampler.inputs(),
        }
    }

    pub(crate) fn rows(&self) -> Option<usize> {
        match self {
            Step::Table(hash) => hash.rows(),
            Step::Report(part) => part.sampler.rows(),
        }
    }
}

impl From<Sampler> for Part {
    fn from(sampler: Sampler) -> Self {
        Part { length: sampler.layout().length(), sampler }
    }
}

#[cfg(feature = "protocol")]
impl From<Sampler> for Step {
    fn from(sampler: Sampler) -> Self {
        match sampler {
            Sampler::Hash(hash) => Step::Table(hash),
            other => Step::Report(other.into()),
        }
    }
}

impl Sampler {
    /// The number of inputs.
    pub(crate) fn inputs(&self) -> usize {
        let first = |parts: &[Part]| parts.first().map_or(0, |part| part.sampler.inputs());
        match self {
            Sampler::Identity(a) | Sampler::Erasure { a, .. } => *a,
            Sampler::Response(response) => response.a as usize,
            Sampler::Bits(bits) => bits.a,
            Sampler::Hash(hash) => hash.a,
            Sampler::Subset(subset) => subset.a,
            Sampler::Blocks(blocks) => blocks.a,
            Sampler::Map(map) => map.len(),
            Sampler::Columns { columns, .. } => columns.len(),
            Sampler::Composition { before, last } => before.first().map_or(last.inputs(), Step::inputs),
            Sampler::Product(parts) | Sampler::Mixture { parts, .. } => first(parts),
        }
    }

    /// How reports are laid out in bytes.
    pub(crate) fn layout(&self) -> Layout {
        let all = |parts: &[Part]| parts.iter().map(|part| part.sampler.layout()).collect();
        let number = |outputs: u64| Layout::Number { outputs };
        match self {
            Sampler::Identity(a) => number(*a as u64),
            Sampler::Response(response) => number(response.a),
            Sampler::Bits(bits) => Layout::Set { inputs: bits.a, size: None },
            Sampler::Hash(hash) => Layout::Hash { buckets: hash.g as u64 },
            Sampler::Subset(subset) => Layout::Set { inputs: subset.a, size: Some(subset.k) },
            Sampler::Blocks(blocks) => number(blocks.v),
            Sampler::Map(map) => number(map.iter().max().map_or(0, |y| u64::from(*y) + 1)),
            Sampler::Erasure { a, .. } => number(*a as u64 + 1),
            Sampler::Columns { outputs, .. } => number(*outputs as u64),
            Sampler::Composition { last, .. } => last.layout(),
            Sampler::Product(factors) => Layout::Tuple(all(factors)),
            Sampler::Mixture { parts, .. } => Layout::Part(all(parts)),
        }
    }

    /// Writes a report on the value `x`, which must be below the number of inputs, into bytes of the protocol's layout.
    pub(crate) fn report(&self, x: usize, words: &mut impl Words, bytes: &mut [u8]) {
        match self {
            Sampler::Identity(_) => put(x as u64, bytes),
            Sampler::Response(response) => put(response.answer(x as u64, words), bytes),
            Sampler::Bits(bits) => bits.report(x, words, bytes),
            Sampler::Hash(hash) => hash.report(x, words, bytes),
            Sampler::Subset(subset) => subset.report(x, words, bytes),
            Sampler::Blocks(blocks) => put(blocks.answer(x as u64, words), bytes),
            Sampler::Map(map) => put(map[x].into(), bytes),
            Sampler::Erasure { a, reveal } => put(if reveal.happens(words) { x } else { *a } as u64, bytes),
            Sampler::Columns { columns, .. } => put(columns[x].turn(words) as u64, bytes),
            Sampler::Composition { before, last } => {
                let x = before.iter().fold(x, |x, step| step.row(x, words));
                last.report(x, words, bytes);
            }
            Sampler::Product(factors) => {
                let mut rest = bytes;
                for factor in factors {
                    let (own, after) = rest.split_at_mut(factor.length);
                    factor.sampler.report(x, words, own);
                    rest = after;
                }
            }
            Sampler::Mixture { choice, parts } => {
                let (part, (name, rest)) =
                    (choice.turn(words), bytes.split_at_mut(width(parts.len() as u64)));
                put(part as u64, name);
                let (own, padding) = rest.split_at_mut(parts[part].length);
                parts[part].sampler.report(x, words, own);
                padding.fill(0);
            }
        }
    }
}

#[cfg(all(test, feature = "protocol"))]
mod tests {
    use std::collections::BTreeMap;

    use sottovoce::Protocol;

    use super::*;
    use crate::chance::ALL;
    use crate::words::Replay;

    fn drawn(sampler: &Sampler, x: usize, length: usize, words: &[u64]) -> Vec<u8> {
        let mut bytes = vec![0xff; length];
        sampler.report(x, &mut Replay(words), &mut bytes);
        bytes
    }

    /// The answer is constant between borders, so the words on both sides of each border tell it for all 2^64.
    #[test]
    fn each_answer_of_randomised_response_has_its_words() {
        for (a, epsilon) in [(2, 1e-6), (3, 0.5), (4, 3.0), (5, 50.0)] {
            let response = Response::new(a, epsilon);
            let (truth, lie) = (u128::from(response.truth), u128::from(response.lie));
            assert_eq!(truth + (a as u128 - 1) * lie, ALL);
            for x in 0..a as u64 {
                let answer = |word: u128| response.answer(x, &mut Replay(&[word as u64]));
                assert_eq!([answer(0), answer(truth - 1)], [x; 2]);
                for (place, other) in (0..a as u64).filter(|other| *other != x).enumerate() {
                    let start = truth + place as u128 * lie;
                    assert_eq!([answer(start), answer(start + lie - 1)], [other; 2], "a = {a}, x = {x}");
                }
            }
        }
    }

    #[test]
    fn the_own_bit_and_erasure_have_their_words() {
        // The noise of BLH is one bit of one word for each input; the next word decides about the own bit.
        let blh = Protocol::blh(5, 1.0).unwrap();
        let (sampler, kappa) =
            (Sampler::new(&blh), Chance::odds(1, 1, 1.0, 1).complement().numerator() as u64);
        for (word, own) in [(0, 1), (kappa - 1, 1), (kappa, 0), (u64::MAX, 0)] {
            assert_eq!(drawn(&sampler, 3, 1, &[!0b10101, word]), [0b10101 & !(1 << 3) | own << 3]);
        }
        let erasure = Sampler::new(&Protocol::erasure(5, 0.25).unwrap());
        for (word, y) in [(0, 3), ((1 << 62) - 1, 3), (1 << 62, 5), (u64::MAX, 5)] {
            assert_eq!(drawn(&erasure, 3, 1, &[word]), [y]);
        }
    }

    #[test]
    fn a_hash_draws_its_seed_before_its_answer() {
        let Sampler::Hash(hash) = Sampler::new(&Protocol::lh(9, 4, 1.0).unwrap()) else { panic!() };
        let truth = hash.response.as_ref().unwrap().truth;
        for seed in 0..20 {
            let z = bucket(seed, 7, 4) as u8;
            let report = |word| drawn(&Sampler::Hash(hash.clone()), 7, 9, &[seed, word]);
            assert_eq!(report(truth - 1), [&seed.to_le_bytes()[..], &[z]].concat());
            assert_eq!(report(truth)[8], u8::from(z == 0));
        }
    }

    /// Every set of independent bits with every sequence of corrections, each with its exact probability: with and without the own value every set of the
    /// others has the same one, whatever the chance of a bit.
    #[test]
    fn each_set_is_as_likely_as_any_other() {
        let starts =
            [(0, 0), (1, 0), (1, 1), (1, 2), (3, 2)].map(|(chance, digits)| Start { chance, digits });
        for (a, k) in (2..=4).flat_map(|a| (1..=a).map(move |k| (a, k))) {
            for (start, x) in starts.iter().flat_map(|start| (0..a).map(move |x| (*start, x))) {
                let subset = Subset { start, ..Subset::new(a, k, 1.0) };
                let inclusion = subset.inclusion.numerator();
                let sampler = Sampler::Subset(subset);
                for (word, own) in [(inclusion - 1, true), (inclusion, false)] {
                    if word >= ALL || (!own && k == a) {
                        continue;
                    }
                    let sets = likelihoods(&sampler, start, (a, k, x), (word as u64, own));
                    let valid = |set: u8| {
                        set.count_ones() as usize == k && (set >> x & 1 == 1) == own && set >> a == 0
                    };
                    let all = (0..=u8::MAX).filter(|set| usize::from(*set) >> a == 0 && valid(*set)).count();
                    assert!(sets.keys().all(|set| valid(*set)), "a = {a}, k = {k}, x = {x}: {sets:?}");
                    let each = 1.0 / all as f64;
                    assert!(sets.len() == all && sets.values().all(|p| (p - each).abs() < 1e-12), "{sets:?}");
                }
            }
        }
    }

    /// The probability of each set, given the first word: over all bits of the words that make the start, and all places that are not drawn in vain.
    fn likelihoods(
        sampler: &Sampler,
        start: Start,
        (a, k, x): (usize, usize, usize),
        (word, own): (u64, bool),
    ) -> BTreeMap<u8, f64> {
        let (mut sets, patterns) = (BTreeMap::new(), 1u64 << (a as u32 * start.digits));
        for pattern in 0..patterns {
            let bits = (0..start.digits).map(|digit| pattern >> (digit * a as u32) & ((1 << a) - 1));
            let words: Vec<u64> = std::iter::once(word).chain(bits).collect();
            let mut begun = [0];
            start.fill(&mut Replay(&words[1..]), &mut begun);
            let begun = begun[0] & ((1 << a) - 1) & !(1 << x);
            let wanted = k as u32 - u32::from(own);
            // All sequences of places whose bits change, and how likely each is.
            let mut open = vec![(begun, Vec::new(), 1.0 / patterns as f64)];
            while let Some((set, places, probability)) = open.pop() {
                if u8::count_ones(set) == wanted {
                    let width = Places::new(a).bits;
                    let packed = places.iter().rev().fold(0, |word, place| word << width | *place as u64);
                    let all: Vec<u64> = words.iter().copied().chain([packed]).collect();
                    let found = drawn(sampler, x, 1, &all)[0];
                    assert_eq!(found, set | u8::from(own) << x);
                    *sets.entry(found).or_default() += probability;
                    continue;
                }
                let is_short = set.count_ones() < wanted;
                let eligible: Vec<usize> =
                    (0..a).filter(|place| *place != x && (set >> place & 1 == 1) != is_short).collect();
                for place in &eligible {
                    let longer = places.iter().copied().chain([*place]).collect();
                    open.push((set ^ (1 << place), longer, probability / eligible.len() as f64));
                }
            }
        }
        sets
    }

    #[test]
    fn places_are_several_from_a_word_and_below_the_bound() {
        // Five places have three bits each: 7 and 5 are drawn again.
        let mut words = Replay(&[0b100_101_000_111_011]);
        let mut places = Places::new(5);
        let drawn: Vec<usize> = (0..3).map(|_| places.draw(&mut words)).collect();
        assert_eq!(drawn, [3, 0, 4]);
        assert_eq!(Places::new(1024).bits, 10);
    }

    #[test]
    fn many_values_start_near_the_wanted_share() {
        let start = Start::new(1024, 276);
        let mean = (1024 * start.chance) >> start.digits;
        assert!((200..300).contains(&mean), "{start:?}");
        assert_eq!(Start::new(10, 10), Start { chance: 1, digits: 0 });
        assert_eq!(Start::new(1000, 1), Start { chance: 0, digits: 0 });
    }

    /// Every block of a design, with the words on both sides of the border between those that contain the value and those that do not.
    #[test]
    fn each_block_has_its_words() {
        for (a, v, k) in [(2, 2, 1), (5, 7, 3), (7, 7, 4), (13, 13, 4)] {
            let protocol = Protocol::block(a, v, k, 1.0).unwrap();
            let Sampler::Blocks(blocks) = Sampler::new(&protocol) else { panic!() };
            let Protocol::Block(block) = &protocol else { panic!() };
            let border = blocks.inclusion.numerator();
            for (x, (word, own, count)) in
                (0..a).flat_map(|x| [(border - 1, true, k), (border, false, v - k)].map(|case| (x, case)))
            {
                let middle = |i: usize| ((2 * i as u128 + 1) * (ALL / 2) / count as u128) as u64;
                let answer = |i| blocks.answer(x as u64, &mut Replay(&[word as u64, middle(i)]));
                let mut found: Vec<u64> = (0..count).map(answer).collect();
                found.sort_unstable();
                let holds = |y: &u64| block.holds(*y as usize, x) == own;
                assert_eq!(found, (0..v as u64).filter(holds).collect::<Vec<_>>(), "{a} {v} {k} {x}");
            }
        }
    }

    /// Both are in the format: the one here for devices, the other for the theory.
    #[test]
    fn buckets_rows_and_layouts_are_those_of_the_protocol() {
        let (grr, lh) = (Protocol::grr(3, 1.0).unwrap(), Protocol::lh(3, 2, 1.0).unwrap());
        let (oue, subset) = (Protocol::oue(3, 1.0).unwrap(), Protocol::subset(3, 2, 1.0).unwrap());
        let product = Protocol::product(vec![oue.clone(), lh.clone()]).unwrap();
        let mixture = Protocol::mixture(vec![0.5, 0.5], vec![subset.clone(), product.clone()]).unwrap();
        let erasure = Protocol::erasure(3, 0.5).unwrap();
        let block = Protocol::block(3, 7, 3, 1.0).unwrap();
        let composition = Protocol::composition(vec![grr.clone(), erasure.clone()]).unwrap();
        for protocol in [grr, lh, oue, subset, product, mixture, erasure, block, composition] {
            let (sampler, layout) = (Sampler::new(&protocol), Layout::of(&protocol));
            assert_eq!((sampler.layout(), sampler.inputs()), (layout.clone(), 3));
            assert_eq!(sampler.rows(), protocol.outputs(), "{protocol:?}");
            let mut generator = crate::Generator::new(crate::Randomness::InsecureTestSeed(1), 0).unwrap();
            for x in (0..3).cycle().take(300) {
                let mut bytes = vec![0; layout.length()];
                sampler.report(x, &mut generator, &mut bytes);
                let row = protocol.row_of(&layout.output(&bytes)).unwrap();
                assert_eq!(sampler.row_of(&bytes), row, "{protocol:?}");
                let seed = generator.word();
                assert_eq!(bucket(seed, x, 1000), sottovoce::protocol::bucket(seed, x, 1000));
            }
        }
    }
}
