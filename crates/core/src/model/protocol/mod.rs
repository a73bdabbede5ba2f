//! Protocols: column-stochastic matrices that keep their structure.
//!
//! A [`Protocol`] is always valid. It implements all of [`Channel`] without a dense matrix where its
//! structure allows; [`Channel::to_matrix`] makes one on request, up to [`MAX_ENTRIES`] entries.
//!
//! ```
//! use sottovoce::Protocol;
//!
//! let grr = Protocol::grr(1_000_000, 1.0)?;
//! assert_eq!(grr.level()?, 1.0);
//! assert!(grr.to_matrix().is_err()); // 10^12 entries
//!
//! // Randomised response, after which the first two answers are merged:
//! let coarse = Protocol::composition(vec![Protocol::grr(3, 1.0)?, Protocol::deterministic(vec![0, 0, 1])?])?;
//! assert_eq!(coarse.rank()?.value, 2);
//! # Ok::<(), sottovoce::Error>(())
//! ```

mod bit_noise;
mod block;
mod channel;
mod composition;
mod deterministic;
mod erasure;
mod generalised_randomised_response;
mod identity;
mod local_hash;
mod matrix;
mod mixture;
mod product;
mod questions;
mod rank;
mod specification;
mod subset_selection;
mod support;
mod unary_encoding;

pub use bit_noise::BitNoise;
pub use block::{Block, BlockShare, DifferenceSet, DifferenceSetFamily, MAX_ORDER};
pub use channel::Channel;
pub use composition::Composition;
pub use deterministic::Deterministic;
pub use erasure::Erasure;
pub use generalised_randomised_response::GeneralisedRandomisedResponse;
pub use identity::Identity;
pub use local_hash::{LocalHash, bucket};
pub use matrix::{COLUMN_TOLERANCE, Matrix, MergedRows};
pub use mixture::Mixture;
pub use product::Product;
pub use rank::{AMBIGUITY, Rank, RowSpace};
pub use specification::Specification;
pub use subset_selection::SubsetSelection;
pub(crate) use support::supported;
pub use unary_encoding::{UnaryEncoding, UnarySetting};

use crate::model::error::{Error, Result, in_range};

/// The largest number of inputs of a protocol.
pub const MAX_INPUTS: usize = 1 << 24;

/// The largest number of entries of a dense matrix: 128 MiB.
pub const MAX_ENTRIES: usize = 1 << 24;

/// Largest `ε`: beyond it a report is the true value for all practical purposes.
pub const MAX_EPSILON: f64 = 100.0;

/// Deepest nesting of compositions, products and mixtures.
pub const MAX_DEPTH: usize = 32;

/// A privacy protocol, of any kind.
///
/// The enum is not `#[non_exhaustive]`: code that randomises or stores reports must handle every kind, and
/// the compiler checks that it does.
#[derive(Clone, Debug, PartialEq)]
pub enum Protocol {
    /// Reports the true value.
    Identity(Identity),
    /// Generalised randomised response.
    GeneralisedRandomisedResponse(GeneralisedRandomisedResponse),
    /// Unary encoding, with RAPPOR, OUE and BLH as settings.
    UnaryEncoding(UnaryEncoding),
    /// Local hash over all hash functions.
    LocalHash(LocalHash),
    /// `k`-subset selection.
    SubsetSelection(SubsetSelection),
    /// A cyclic block design.
    Block(Block),
    /// A function of the value.
    Deterministic(Deterministic),
    /// The true value or a blank.
    Erasure(Erasure),
    /// Any matrix.
    Matrix(Matrix),
    /// One protocol after another.
    Composition(Composition),
    /// Several protocols on the same value, reported together.
    Product(Product),
    /// One of several protocols, drawn at random.
    Mixture(Mixture),
}

/// Constructors; each rejects parameters out of range with an [`Error`] that states what is allowed.
#[allow(clippy::missing_errors_doc)]
impl Protocol {
    /// See [`Identity`].
    pub fn identity(a: usize) -> Result<Self> {
        Identity::new(a).map(Protocol::Identity)
    }

    /// See [`GeneralisedRandomisedResponse`].
    pub fn grr(a: usize, epsilon: f64) -> Result<Self> {
        GeneralisedRandomisedResponse::new(a, epsilon).map(Protocol::GeneralisedRandomisedResponse)
    }

    /// See [`UnaryEncoding`].
    pub fn ue(a: usize, kappa: f64, lambda: f64) -> Result<Self> {
        UnaryEncoding::new(a, kappa, lambda).map(Protocol::UnaryEncoding)
    }

    /// See [`UnaryEncoding::rappor`].
    pub fn rappor(a: usize, epsilon: f64) -> Result<Self> {
        UnaryEncoding::rappor(a, epsilon).map(Protocol::UnaryEncoding)
    }

    /// See [`UnaryEncoding::oue`].
    pub fn oue(a: usize, epsilon: f64) -> Result<Self> {
        UnaryEncoding::oue(a, epsilon).map(Protocol::UnaryEncoding)
    }

    /// See [`UnaryEncoding::blh`].
    pub fn blh(a: usize, epsilon: f64) -> Result<Self> {
        UnaryEncoding::blh(a, epsilon).map(Protocol::UnaryEncoding)
    }

    /// See [`LocalHash`].
    pub fn lh(a: usize, g: usize, epsilon: f64) -> Result<Self> {
        LocalHash::new(a, g, epsilon).map(Protocol::LocalHash)
    }

    /// See [`SubsetSelection`].
    pub fn subset(a: usize, k: usize, epsilon: f64) -> Result<Self> {
        SubsetSelection::new(a, k, epsilon).map(Protocol::SubsetSelection)
    }

    /// See [`Block`].
    pub fn block(a: usize, v: usize, k: usize, epsilon: f64) -> Result<Self> {
        Block::new(a, v, k, epsilon).map(Protocol::Block)
    }

    /// See [`Deterministic`].
    pub fn deterministic(map: Vec<usize>) -> Result<Self> {
        Deterministic::new(map).map(Protocol::Deterministic)
    }

    /// See [`Erasure`].
    pub fn erasure(a: usize, reveal: f64) -> Result<Self> {
        Erasure::new(a, reveal).map(Protocol::Erasure)
    }

    /// See [`Matrix`].
    pub fn matrix(rows: Vec<Vec<f64>>) -> Result<Self> {
        Matrix::new(rows).map(Protocol::Matrix)
    }

    /// See [`Composition`].
    pub fn composition(steps: Vec<Protocol>) -> Result<Self> {
        Composition::new(steps).map(Protocol::Composition)?.check_depth()
    }

    /// See [`Product`].
    pub fn product(factors: Vec<Protocol>) -> Result<Self> {
        Product::new(factors).map(Protocol::Product)?.check_depth()
    }

    /// See [`Mixture`].
    pub fn mixture(weights: Vec<f64>, parts: Vec<Protocol>) -> Result<Self> {
        Mixture::new(weights, parts).map(Protocol::Mixture)?.check_depth()
    }
}

impl Protocol {
    /// Whether the population's distribution is identifiable, `rk Q = a`.
    ///
    /// # Errors
    /// As for [`Channel::rank`].
    pub fn faithful(&self) -> Result<bool> {
        Ok(self.rank()?.value == self.inputs())
    }

    /// The protocols that this one combines.
    pub fn parts(&self) -> &[Protocol] {
        match self {
            Protocol::Composition(composition) => composition.steps(),
            Protocol::Product(product) => product.factors(),
            Protocol::Mixture(mixture) => mixture.parts(),
            _ => &[],
        }
    }

    /// The dense matrix in canonical form: zero rows dropped, proportional rows merged. No metric changes.
    ///
    /// # Errors
    /// [`Error::TooLarge`] when more than [`MAX_ENTRIES`] entries are left.
    pub fn canonical_matrix(&self) -> Result<Matrix> {
        match self {
            Protocol::Product(product) => product.merged_matrix(),
            Protocol::Mixture(mixture) => {
                let mut rows = MergedRows::new(mixture.inputs());
                for (weight, part) in mixture.weights().iter().zip(mixture.parts()) {
                    for row in part.canonical_matrix()?.rows() {
                        rows.add(&row.iter().map(|q| weight * q).collect::<Vec<_>>());
                    }
                }
                Ok(rows.into_matrix())
            }
            Protocol::LocalHash(hash) => Protocol::UnaryEncoding(hash.as_unary()).canonical_matrix(),
            Protocol::Composition(composition) => Ok(composition.directions()?.clone().canonical()),
            other => Ok(other.to_matrix()?.canonical()),
        }
    }

    fn depth(&self) -> usize {
        1 + self.parts().iter().map(Protocol::depth).max().unwrap_or(0)
    }

    fn check_depth(self) -> Result<Self> {
        let depth = self.depth() - 1;
        if depth > MAX_DEPTH { Err(Error::TooDeep { depth }) } else { Ok(self) }
    }
}

fn check_inputs(a: usize) -> Result<usize> {
    if (2..=MAX_INPUTS).contains(&a) { Ok(a) } else { Err(Error::Inputs { a }) }
}

fn check_epsilon(epsilon: f64) -> Result<f64> {
    in_range("epsilon", epsilon, |e| e > 0.0 && e <= MAX_EPSILON, "above 0 and at most 100")
}
