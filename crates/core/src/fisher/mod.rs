//! The Fisher information of a report, and its log-determinant.
//!
//! A protocol `Q` (column-stochastic, `b` outputs × `a` inputs) carries information about the input
//! distribution `p` through
//! ```text
//! M(p) = Qᵀ D_p Q,   D_p = diag(1/(Qp)_y)
//! det M(p) = det J(p),   J_xx' = Σ_y (q_yx − q_yr)(q_yx' − q_yr)/(Qp)_y   for x, x' ≠ r, any r
//! ```
//! `J` is the Fisher information in `a − 1` free coordinates. It involves only differences of columns, so it
//! keeps its digits at high privacy, where `M` is nearly `11ᵀ`. The asymptotic utility is the prior mean of
//! `ln det M`, see [`crate::fisher::expectation`].
//!
//! One structure per file: [`DenseMatrix`] for any matrix, [`Identity`], [`Erasure`] and
//! [`RandomizedResponse`] in closed form, [`UnaryEncoding`] (hence local hashing) and [`SubsetSelection`]
//! without enumerating their `2^a` outputs.

mod block;
mod closed_form;
mod dense_matrix;
pub mod expectation;
mod exponential_sum;
mod information;
mod low_rank;
mod mixture;
mod of_protocol;
mod subset_selection;
mod unary_encoding;

pub use block::{BlockDesign, approximate_ln_det};
pub use closed_form::{Erasure, Identity, RandomizedResponse};
pub use dense_matrix::DenseMatrix;
pub use exponential_sum::ExponentialSum;
pub use information::{FisherInformation, Point};
pub use low_rank::{DiagonalPlusLowRank, InverseOffOne};
pub use mixture::Mixture;
pub use of_protocol::{of_protocol, structured};
pub use subset_selection::SubsetSelection;
pub use unary_encoding::UnaryEncoding;
