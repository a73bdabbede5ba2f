//! One sampler a kind of protocol: from a value and random words to the bytes of a report, by comparisons of whole numbers alone.

use sottovoce::protocol::{Block, UnaryEncoding, UnarySetting, bucket};
use sottovoce::{Output, Protocol};

use super::chance::{Chance, Wheel};
use super::columns::columns;
use super::generator::Generator;
use crate::layout::{Layout, put, width};

/// Draws reports of a protocol.
#[derive(Clone, Debug)]
pub(super) enum Sampler {
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
    Composition(Vec<Step>),
    Product(Vec<Part>),
    Mixture {
        choice: Wheel,
        parts: Vec<Part>,
    },
}

/// Generalised randomised response on `a` inputs: `truth + (a − 1)·lie = 2^64` words.
#[derive(Clone, Debug)]
pub(super) struct Response {
    pub(super) a: u64,
    pub(super) truth: u64,
    pub(super) lie: u64,
}

/// Unary encoding.
#[derive(Clone, Debug)]
pub(super) struct Bits {
    pub(super) a: usize,
    pub(super) kappa: Chance,
    pub(super) lambda: Chance,
}

/// Local hash: `None` into one bucket, which says nothing.
#[derive(Clone, Debug)]
pub(super) struct Hash {
    pub(super) a: usize,
    pub(super) g: usize,
    pub(super) response: Option<Response>,
}

/// Subset selection.
#[derive(Clone, Debug)]
pub(super) struct Subset {
    pub(super) a: usize,
    pub(super) k: usize,
    pub(super) inclusion: Chance,
    start: Start,
}

/// A block design.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    pub(super) block: Block,
    pub(super) inclusion: Chance,
}

/// A step of a composition, with what is needed to pass its output on.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) sampler: Sampler,
    pub(super) protocol: Protocol,
    layout: Layout,
}

/// A factor of a product or a part of a mixture, with the bytes of its report.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) sampler: Sampler,
    length: usize,
}

impl Response {
    /// The lie is rounded up, so the ratio of the two is rounded down.
    fn new(a: usize, epsilon: f64) -> Self {
        let lie = Chance::odds(1, 1, epsilon, a as u64 - 1).numerator();
        let truth = super::chance::ALL - (a as u128 - 1) * lie;
        // Both fit: a lie is rarer than 1/2 (at 1/2 with two inputs), and what is left for the truth is less than all.
        Response { a: a as u64, truth: truth as u64, lie: lie as u64 }
    }

    /// One word: the first `truth` words tell the truth, each following `lie` words another value.
    #[inline]
    pub(super) fn answer(&self, x: u64, generator: &mut Generator) -> u64 {
        let word = generator.word();
        if word < self.truth {
            return x;
        }
        let other = (word - self.truth) / self.lie;
        if other < x { other } else { other + 1 }
    }
}

impl Bits {
    fn new(a: usize, ue: &UnaryEncoding) -> Self {
        let half = Chance::new(super::chance::ALL / 2);
        let (kappa, lambda) = match ue.setting() {
            UnarySetting::Rappor { epsilon } => {
                let flip = Chance::odds(1, 1, epsilon / 2.0, 1);
                (flip.complement(), flip)
            }
            UnarySetting::Oue { epsilon } => (half, Chance::odds(1, 1, epsilon, 1)),
            UnarySetting::Blh { epsilon } => (Chance::odds(1, 1, epsilon, 1).complement(), half),
            _ => {
                let (kappa, lambda) =
                    (Chance::rounded_down(ue.bits().kappa), Chance::rounded_up(ue.bits().lambda));
                // Two probabilities closer than a word are one.
                if kappa.numerator() < lambda.numerator() { (lambda, lambda) } else { (kappa, lambda) }
            }
        };
        Bits { a, kappa, lambda }
    }

    #[inline]
    fn report(&self, x: usize, generator: &mut Generator, bytes: &mut [u8]) {
        let (words, rest) = bytes.as_chunks_mut::<8>();
        for word in words {
            *word = self.lambda.sixty_four(generator).to_le_bytes();
        }
        if !rest.is_empty() {
            let last = self.lambda.sixty_four(generator) & ((1 << (8 * rest.len())) - 1);
            put(last, rest);
        }
        if !self.a.is_multiple_of(8) {
            bytes[self.a / 8] &= (1 << (self.a % 8)) - 1;
        }
        let own = u8::from(self.kappa.happens(generator));
        bytes[x / 8] = bytes[x / 8] & !(1 << (x % 8)) | own << (x % 8);
    }
}

impl Hash {
    #[inline]
    fn report(&self, x: usize, generator: &mut Generator, bytes: &mut [u8]) {
        let seed = generator.word();
        let z = match &self.response {
            Some(response) => response.answer(bucket(seed, x, self.g) as u64, generator),
            None => 0,
        };
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        put(z, &mut bytes[8..]);
    }

    /// A function of all `g^a`, as the matrix has them, instead of a seed: for a step whose output is the input of another.
    fn output(&self, x: usize, generator: &mut Generator) -> Output {
        let values: Vec<usize> = (0..self.a).map(|_| generator.below(self.g as u64) as usize).collect();
        let z = self.response.as_ref().map_or(0, |response| response.answer(values[x] as u64, generator));
        Output::Table { values, z: z as usize }
    }
}

impl Subset {
    fn new(a: usize, k: usize, epsilon: f64) -> Self {
        // The chance that the value is left out, (a−k)/(k e^ε + a − k), is rounded up.
        let rest = (a - k) as u64;
        let inclusion = Chance::odds(rest, k as u64, epsilon, rest).complement();
        Subset { a, k, inclusion, start: Start::new(a, k) }
    }

    /// A uniformly random set of the right size among the others: a random set of any size, each other value in it independently with one chance,
    /// and then random members more or less.
    ///
    /// Nothing in this prefers a value to another, so all sets of the right size are exactly equally likely, whatever the chance. It is chosen near
    /// `k/a`, to leave little to correct.
    fn report(&self, x: usize, generator: &mut Generator, bytes: &mut [u8]) {
        let own = self.inclusion.happens(generator);
        let wanted = self.k - usize::from(own);
        self.start.fill(generator, bytes);
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
            let place = places.draw(generator);
            let changes = (place != x) & (has(bytes, place) != is_short);
            bytes[place / 8] ^= u8::from(changes) << (place % 8);
            missing -= usize::from(changes);
        }
        bytes[x / 8] |= u8::from(own) << (x % 8);
    }
}

/// A random set, each value in it with chance `chance/2^digits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Start {
    chance: u64,
    digits: u32,
}

impl Start {
    /// Most words for 64 values.
    const MOST_DIGITS: u32 = 6;

    /// The chance that takes the fewest words and corrections, roughly: a correction, with the places that are drawn in vain, is as much work as
    /// two words.
    fn new(a: usize, k: usize) -> Self {
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

    fn fill(self, generator: &mut Generator, bytes: &mut [u8]) {
        let (words, rest) = bytes.as_chunks_mut::<8>();
        words.iter_mut().for_each(|word| *word = self.sixty_four(generator).to_le_bytes());
        if !rest.is_empty() {
            let last = self.sixty_four(generator) & ((1 << (8 * rest.len())) - 1);
            put(last, rest);
        }
    }

    /// Sixty-four independent events: with the digits of the chance from the last to the first, `½(digit + chance so far)` is an "or" or an "and" with a
    /// random word.
    fn sixty_four(self, generator: &mut Generator) -> u64 {
        let certain = if self.chance >> self.digits == 1 { !0 } else { 0 };
        (0..self.digits).fold(certain, |events, digit| {
            let word = generator.word();
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
    fn draw(&mut self, generator: &mut Generator) -> usize {
        loop {
            if self.left == 0 {
                (self.word, self.left) = (generator.word(), u64::BITS / self.bits);
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
    fn new(block: &Block) -> Self {
        // The chance that the value is left out, (v−k)/(k e^ε + v − k), is rounded up.
        let (k, rest) = (block.size() as u64, (block.order() - block.size()) as u64);
        let inclusion = Chance::odds(rest, k, block.epsilon(), rest).complement();
        Blocks { block: block.clone(), inclusion }
    }

    /// Whether the block is to contain the value, and a uniformly random one of those that do, or do not.
    #[inline]
    fn answer(&self, x: u64, generator: &mut Generator) -> u64 {
        let set = self.block.set();
        let residues = if self.inclusion.happens(generator) { set.elements() } else { set.others() };
        let residue = u64::from(residues[generator.below(residues.len() as u64) as usize]);
        if x >= residue { x - residue } else { x + set.order() as u64 - residue }
    }
}

fn has(bytes: &[u8], x: usize) -> bool {
    bytes[x / 8] >> (x % 8) & 1 == 1
}

impl Step {
    fn new(protocol: &Protocol) -> Self {
        Step { sampler: Sampler::new(protocol), protocol: protocol.clone(), layout: Layout::of(protocol) }
    }

    /// The row of this step's output, for the next step.
    fn row(&self, x: usize, generator: &mut Generator) -> usize {
        let output = match &self.sampler {
            Sampler::Hash(hash) => hash.output(x, generator),
            sampler => {
                let mut bytes = vec![0; self.layout.length()];
                sampler.report(x, generator, &mut bytes);
                self.layout.output(&bytes)
            }
        };
        // Unwrap safety: a composition exists only if the outputs of its inner steps can be numbered, and this is one of them.
        self.protocol.row_of(&output).unwrap()
    }
}

impl Sampler {
    pub(super) fn new(protocol: &Protocol) -> Self {
        let a = protocol.inputs();
        let part = |protocol: &Protocol| Part {
            sampler: Sampler::new(protocol),
            length: Layout::of(protocol).length(),
        };
        let all = |protocols: &[Protocol]| protocols.iter().map(part).collect();
        match protocol {
            Protocol::Identity(_) => Sampler::Identity(a),
            Protocol::GeneralisedRandomisedResponse(grr) => {
                Sampler::Response(Response::new(a, grr.epsilon()))
            }
            Protocol::UnaryEncoding(ue) => Sampler::Bits(Bits::new(a, ue)),
            Protocol::LocalHash(hash) => {
                let g = hash.buckets();
                let response = (g > 1).then(|| Response::new(g, hash.epsilon()));
                Sampler::Hash(Hash { a, g, response })
            }
            Protocol::SubsetSelection(subset) => {
                Sampler::Subset(Subset::new(a, subset.size(), subset.epsilon()))
            }
            Protocol::Block(block) => Sampler::Blocks(Blocks::new(block)),
            Protocol::Deterministic(map) => Sampler::Map(map.map().iter().map(|y| *y as u32).collect()),
            Protocol::Erasure(erasure) => {
                Sampler::Erasure { a, reveal: Chance::rounded_down(erasure.reveal()) }
            }
            Protocol::Matrix(matrix) => {
                // Unwrap safety: the level of a matrix follows from its entries.
                let columns = columns(matrix, protocol.level().unwrap());
                Sampler::Columns { outputs: matrix.rows().len(), columns }
            }
            Protocol::Composition(composition) => {
                Sampler::Composition(composition.steps().iter().map(Step::new).collect())
            }
            Protocol::Product(product) => Sampler::Product(all(product.factors())),
            Protocol::Mixture(mixture) => Sampler::Mixture {
                choice: Wheel::new(mixture.weights().iter().copied()),
                parts: all(mixture.parts()),
            },
        }
    }

    /// Writes a report on the value `x`, which must be below the number of inputs, into bytes of the protocol's layout.
    pub(super) fn report(&self, x: usize, generator: &mut Generator, bytes: &mut [u8]) {
        match self {
            Sampler::Identity(_) => put(x as u64, bytes),
            Sampler::Response(response) => put(response.answer(x as u64, generator), bytes),
            Sampler::Bits(bits) => bits.report(x, generator, bytes),
            Sampler::Hash(hash) => hash.report(x, generator, bytes),
            Sampler::Subset(subset) => subset.report(x, generator, bytes),
            Sampler::Blocks(blocks) => put(blocks.answer(x as u64, generator), bytes),
            Sampler::Map(map) => put(map[x].into(), bytes),
            Sampler::Erasure { a, reveal } => {
                put(if reveal.happens(generator) { x } else { *a } as u64, bytes);
            }
            Sampler::Columns { columns, .. } => put(columns[x].turn(generator) as u64, bytes),
            Sampler::Composition(steps) => {
                // Unwrap safety: a composition has a step.
                let (last, first) = steps.split_last().unwrap();
                let x = first.iter().fold(x, |x, step| step.row(x, generator));
                last.sampler.report(x, generator, bytes);
            }
            Sampler::Product(factors) => {
                let mut rest = bytes;
                for factor in factors {
                    let (own, after) = rest.split_at_mut(factor.length);
                    factor.sampler.report(x, generator, own);
                    rest = after;
                }
            }
            Sampler::Mixture { choice, parts } => {
                let (part, (name, rest)) =
                    (choice.turn(generator), bytes.split_at_mut(width(parts.len() as u64)));
                put(part as u64, name);
                let (own, padding) = rest.split_at_mut(parts[part].length);
                parts[part].sampler.report(x, generator, own);
                padding.fill(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::chance::ALL;
    use super::*;

    fn drawn(sampler: &Sampler, x: usize, length: usize, words: &[u64]) -> Vec<u8> {
        let mut bytes = vec![0xff; length];
        sampler.report(x, &mut Generator::replaying(words), &mut bytes);
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
                let answer = |word: u128| response.answer(x, &mut Generator::replaying(&[word as u64]));
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
            start.fill(&mut Generator::replaying(&words[1..]), &mut begun);
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
        let mut generator = Generator::replaying(&[0b100_101_000_111_011]);
        let mut places = Places::new(5);
        let drawn: Vec<usize> = (0..3).map(|_| places.draw(&mut generator)).collect();
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
            let border = blocks.inclusion.numerator();
            for (x, (word, own, count)) in
                (0..a).flat_map(|x| [(border - 1, true, k), (border, false, v - k)].map(|case| (x, case)))
            {
                let middle = |i: usize| ((2 * i as u128 + 1) * (ALL / 2) / count as u128) as u64;
                let answer =
                    |i| blocks.answer(x as u64, &mut Generator::replaying(&[word as u64, middle(i)]));
                let mut found: Vec<u64> = (0..count).map(answer).collect();
                found.sort_unstable();
                let holds = |y: &u64| blocks.block.holds(*y as usize, x) == own;
                assert_eq!(found, (0..v as u64).filter(holds).collect::<Vec<_>>(), "{a} {v} {k} {x}");
            }
        }
    }
}
