//! One sampler a kind of protocol: from a value and random words to the bytes of a report, by comparisons of whole numbers alone.

use sottovoce::protocol::{UnaryEncoding, UnarySetting, bucket};
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
        Subset { a, k, inclusion: Chance::odds(rest, k as u64, epsilon, rest).complement() }
    }

    /// A uniformly random set of the right size among the others, by Floyd's method: as many draws as members, or as missing
    /// members if those are fewer.
    fn report(&self, x: usize, generator: &mut Generator, bytes: &mut [u8]) {
        let own = self.inclusion.happens(generator);
        let (others, wanted) = (self.a - 1, self.k - usize::from(own));
        let leave_out = wanted > others / 2;
        let drawn = if leave_out { others - wanted } else { wanted };
        bytes.fill(0);
        for last in others - drawn..others {
            let other = generator.below(last as u64 + 1) as usize;
            let taken = |other: usize| if other < x { other } else { other + 1 };
            let member = if has(bytes, taken(other)) { taken(last) } else { taken(other) };
            bytes[member / 8] |= 1 << (member % 8);
        }
        if leave_out {
            bytes.iter_mut().for_each(|byte| *byte = !*byte);
            if !self.a.is_multiple_of(8) {
                bytes[self.a / 8] &= (1 << (self.a % 8)) - 1;
            }
        }
        bytes[x / 8] = bytes[x / 8] & !(1 << (x % 8)) | u8::from(own) << (x % 8);
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

    /// All sequences of draws, each with a word from the middle of its words: with and without the own value every set of the others comes
    /// equally often, and the own value is in for the right words.
    #[test]
    fn each_set_has_as_many_draws_as_any_other() {
        for (a, k) in (2..=6).flat_map(|a| (1..=a).map(move |k| (a, k))) {
            let subset = Subset::new(a, k, 1.0);
            let inclusion = subset.inclusion.numerator();
            let sampler = Sampler::Subset(subset);
            for (x, (word, own)) in
                (0..a).flat_map(|x| [(inclusion - 1, true), (inclusion, false)].map(|case| (x, case)))
            {
                if word >= ALL {
                    continue;
                }
                let (others, wanted) = (a - 1, k - usize::from(own));
                let draws = wanted.min(others - wanted);
                let bounds: Vec<u128> = (others - draws..others).map(|last| last as u128 + 1).collect();
                let mut sets: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
                for sequence in 0..bounds.iter().product() {
                    let mut rest = sequence;
                    let mut words = vec![word as u64];
                    for bound in &bounds {
                        words.push(((2 * (rest % bound) + 1) * (ALL / 2) / bound) as u64);
                        rest /= bound;
                    }
                    *sets.entry(drawn(&sampler, x, 1, &words)).or_default() += 1;
                }
                let valid =
                    |set: u8| set.count_ones() as usize == k && (set >> x & 1 == 1) == own && set >> a == 0;
                assert!(sets.keys().all(|set| valid(set[0])), "a = {a}, k = {k}, x = {x}: {sets:?}");
                let all = (0..=u8::MAX).filter(|set| usize::from(*set) >> a == 0 && valid(*set)).count();
                assert_eq!(sets.len(), all, "a = {a}, k = {k}, x = {x}");
                assert_eq!(sets.values().min(), sets.values().max(), "a = {a}, k = {k}, x = {x}: {sets:?}");
            }
        }
    }
}
