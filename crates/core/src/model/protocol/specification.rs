//! The specification of a protocol: its kind and parameters as plain data, from which exactly the same
//! protocol can be rebuilt.

use super::{Matrix, Mixture, Protocol, UnaryEncoding, UnarySetting};
use crate::model::error::{Error, Result};

/// A protocol's kind with its parameters. `a` is the number of inputs, `epsilon` the LDP level in nats.
///
/// Every [`Protocol`] has one: [`Protocol::specification`] returns it, and [`Specification::protocol`] converts it back. A protocol made
/// from a specification returns the same parameters, to the last bit:
///
/// ```
/// use sottovoce::protocol::{Protocol, Specification};
///
/// let oue = Protocol::oue(16, 1.0)?;
/// assert_eq!(oue.specification(), Specification::Oue { a: 16, epsilon: 1.0 });
/// assert_eq!(oue.specification().protocol()?, oue);
/// # Ok::<(), sottovoce::Error>(())
/// ```
///
/// With the feature `serde` it is written and read as an object such as `{"kind": "oue", "a": 16, "epsilon": 1.0}`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields))]
#[allow(missing_docs)] // The doc of each variant explains its fields.
pub enum Specification {
    /// Reports the true value.
    Identity { a: usize },
    /// Generalised randomised response.
    Grr { a: usize, epsilon: f64 },
    /// Unary encoding: the true bit is set with probability `kappa`, each other bit with probability `lambda`.
    Ue { a: usize, kappa: f64, lambda: f64 },
    /// Basic RAPPOR: unary encoding that flips all bits equally often.
    Rappor { a: usize, epsilon: f64 },
    /// Optimised unary encoding.
    Oue { a: usize, epsilon: f64 },
    /// Binary local hash, as a unary encoding.
    Blh { a: usize, epsilon: f64 },
    /// Local hash into `g` buckets, over all hash functions.
    Lh { a: usize, g: usize, epsilon: f64 },
    /// Selection of a subset of size `k`.
    Subset { a: usize, k: usize, epsilon: f64 },
    /// Selection of one of `v` blocks of `k` residues, the shifts of a difference set.
    Block { a: usize, v: usize, k: usize, epsilon: f64 },
    /// Reports `map[x]` for input `x`.
    Deterministic { map: Vec<usize> },
    /// The true value with probability `reveal`, else a blank.
    Erasure { a: usize, reveal: f64 },
    /// Any matrix: `rows[y][x]` is the probability of output `y` given input `x`.
    Matrix { rows: Vec<Vec<f64>> },
    /// One protocol after another.
    Composition { steps: Vec<Specification> },
    /// Several protocols on the same value, all reported together.
    Product { factors: Vec<Specification> },
    /// One of several protocols, drawn with the given probabilities and named in the report.
    Mixture { weights: Vec<f64>, parts: Vec<Specification> },
}

impl Specification {
    /// The protocol with this specification.
    ///
    /// # Errors
    /// A parameter is out of range, or parts do not fit together.
    pub fn protocol(self) -> Result<Protocol> {
        match self {
            Specification::Identity { a } => Protocol::identity(a),
            Specification::Grr { a, epsilon } => Protocol::grr(a, epsilon),
            Specification::Ue { a, kappa, lambda } => Protocol::ue(a, kappa, lambda),
            Specification::Rappor { a, epsilon } => Protocol::rappor(a, epsilon),
            Specification::Oue { a, epsilon } => Protocol::oue(a, epsilon),
            Specification::Blh { a, epsilon } => Protocol::blh(a, epsilon),
            Specification::Lh { a, g, epsilon } => Protocol::lh(a, g, epsilon),
            Specification::Subset { a, k, epsilon } => Protocol::subset(a, k, epsilon),
            Specification::Block { a, v, k, epsilon } => Protocol::block(a, v, k, epsilon),
            Specification::Deterministic { map } => Protocol::deterministic(map),
            Specification::Erasure { a, reveal } => Protocol::erasure(a, reveal),
            Specification::Matrix { rows } => Protocol::matrix(rows),
            Specification::Composition { steps } => Protocol::composition(protocols(steps)?),
            Specification::Product { factors } => Protocol::product(protocols(factors)?),
            Specification::Mixture { weights, parts } => Protocol::mixture(weights, protocols(parts)?),
        }
    }
}

fn protocols(specifications: Vec<Specification>) -> Result<Vec<Protocol>> {
    specifications.into_iter().map(Specification::protocol).collect()
}

impl TryFrom<Specification> for Protocol {
    type Error = Error;

    fn try_from(specification: Specification) -> Result<Self> {
        specification.protocol()
    }
}

impl Protocol {
    /// The kind and parameters of this protocol, from which an equal protocol can be built.
    ///
    /// Two kinds of protocol have no exact specification: [`LocalHash::as_unary`](super::LocalHash::as_unary)
    /// is specified by its two probabilities, and a computed matrix by its entries.
    pub fn specification(&self) -> Specification {
        let a = self.inputs();
        match self {
            Protocol::Identity(_) => Specification::Identity { a },
            Protocol::GeneralisedRandomisedResponse(grr) => Specification::Grr { a, epsilon: grr.epsilon() },
            Protocol::UnaryEncoding(unary) => of_unary(a, unary),
            Protocol::LocalHash(hash) => Specification::Lh { a, g: hash.buckets(), epsilon: hash.epsilon() },
            Protocol::SubsetSelection(subset) => {
                Specification::Subset { a, k: subset.size(), epsilon: subset.epsilon() }
            }
            Protocol::Block(block) => {
                let (v, k) = (block.order(), block.size());
                Specification::Block { a, v, k, epsilon: block.epsilon() }
            }
            Protocol::Deterministic(function) => {
                Specification::Deterministic { map: function.map().to_vec() }
            }
            Protocol::Erasure(erasure) => Specification::Erasure { a, reveal: erasure.reveal() },
            Protocol::Matrix(matrix) => of_matrix(matrix),
            Protocol::Composition(composition) => {
                Specification::Composition { steps: all(composition.steps()) }
            }
            Protocol::Product(product) => Specification::Product { factors: all(product.factors()) },
            Protocol::Mixture(mixture) => of_mixture(mixture),
        }
    }
}

fn all(protocols: &[Protocol]) -> Vec<Specification> {
    protocols.iter().map(Protocol::specification).collect()
}

fn of_unary(a: usize, unary: &UnaryEncoding) -> Specification {
    match unary.setting() {
        UnarySetting::Probabilities => {
            Specification::Ue { a, kappa: unary.bits().kappa, lambda: unary.bits().lambda }
        }
        UnarySetting::Rappor { epsilon } => Specification::Rappor { a, epsilon },
        UnarySetting::Oue { epsilon } => Specification::Oue { a, epsilon },
        UnarySetting::Blh { epsilon } => Specification::Blh { a, epsilon },
    }
}

fn of_matrix(matrix: &Matrix) -> Specification {
    Specification::Matrix { rows: matrix.given_rows().map(<[f64]>::to_vec).collect() }
}

fn of_mixture(mixture: &Mixture) -> Specification {
    Specification::Mixture { weights: mixture.given_weights().to_vec(), parts: all(mixture.parts()) }
}
