//! From a protocol to its sampler: every threshold in whole numbers, rounded toward privacy.

use sottovoce::Protocol;
use sottovoce::protocol::{Block, UnaryEncoding, UnarySetting};

use crate::chance::{ALL, Chance, Wheel};
use crate::columns::columns;
use crate::rounding::{completed, words};
use crate::sampler::{Bits, Blocks, Hash, Part, Response, Sampler, Start, Step, Subset};

impl Response {
    /// The lie is rounded up, so the ratio of the two is rounded down.
    pub(crate) fn new(a: usize, epsilon: f64) -> Self {
        let lie = Chance::odds(1, 1, epsilon, a as u64 - 1).numerator();
        let truth = ALL - (a as u128 - 1) * lie;
        // Both fit: a lie is rarer than 1/2 (at 1/2 with two inputs), and what is left for the truth is less than all.
        Response { a: a as u64, truth: truth as u64, lie: lie as u64 }
    }
}

impl Bits {
    fn new(a: usize, ue: &UnaryEncoding) -> Self {
        let half = Chance::new(ALL / 2);
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
}

impl Subset {
    pub(crate) fn new(a: usize, k: usize, epsilon: f64) -> Self {
        // The chance that the value is left out, (a−k)/(k e^ε + a − k), is rounded up.
        let rest = (a - k) as u64;
        let inclusion = Chance::odds(rest, k as u64, epsilon, rest).complement();
        Subset { a, k, inclusion, start: Start::new(a, k) }
    }
}

impl Blocks {
    fn new(a: usize, block: &Block) -> Self {
        // The chance that the value is left out, (v−k)/(k e^ε + v − k), is rounded up.
        let (k, rest) = (block.size() as u64, (block.order() - block.size()) as u64);
        let inclusion = Chance::odds(rest, k, block.epsilon(), rest).complement();
        let (set, others) = (block.set().elements().to_vec(), block.set().others().to_vec());
        Blocks { a, v: block.order() as u64, inclusion, set, others }
    }
}

impl Sampler {
    /// The sampler of a protocol.
    pub(crate) fn new(protocol: &Protocol) -> Self {
        let a = protocol.inputs();
        let all = |protocols: &[Protocol]| -> Vec<Part> {
            protocols.iter().map(|part| Sampler::new(part).into()).collect()
        };
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
            Protocol::Block(block) => Sampler::Blocks(Blocks::new(a, block)),
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
                let before = composition.steps().len() - 1;
                let before = composition.steps()[..before].iter().map(|step| Step::from(Sampler::new(step)));
                Sampler::Composition {
                    before: before.collect(),
                    last: Box::new(Sampler::new(composition.last())),
                }
            }
            Protocol::Product(product) => Sampler::Product(all(product.factors())),
            Protocol::Mixture(mixture) => {
                let weights = mixture.weights().iter().map(|weight| words(*weight)).collect();
                Sampler::Mixture { choice: Wheel::of(&completed(weights)), parts: all(mixture.parts()) }
            }
        }
    }
}
