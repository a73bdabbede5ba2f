//! The leakage `I(X; Y | P)` of one report about its user's value, in nats.
//!
//! Average privacy is `S_μ = 1 − I(X;Y|P) / H(X|P)`. Both parts are computed with *relative* accuracy. So
//! `1 − S_μ` is accurate even at `ε = 10^{−6}`, where it is of order `10^{−12}`, for every Dirichlet prior
//! and every point prior.
//!
//! An output `y` of prior probability `θ` and likelihoods `q_yx = θ v_x`, `Σ_x w_x v_x = 1`, contributes
//!
//! ```text
//! θ [ Σ_x w_x φ(v_x) − E φ(L) ],   L = Σ_x v_x P_x,   φ(t) = t ln t − t + 1
//! ```
//!
//! which is Jensen's gap of [`crate::numerics::dirichlet_mean`]. Protocols with exponentially many outputs average it over them
//! inside one integral.

mod block;
mod deterministic;
mod mixture;
mod prior;
mod randomised_response;
mod repeated_bits;
mod repeated_response;
mod row;
mod subset_selection;
mod unary_encoding;

pub use block::block;
pub use deterministic::{deterministic, erasure, user_entropy};
pub use prior::GroupedPrior;
pub use randomised_response::randomised_response;
pub use repeated_bits::{BitCount, RepeatedBits, repeated_bits};
pub use repeated_response::RepeatedResponse;
pub use row::{dense, row, row_of_deviations};
pub use subset_selection::subset_selection;
pub use unary_encoding::unary_encoding;
