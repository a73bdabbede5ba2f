//! The finite-n information quantities: what users and aggregator know, in nats, for the actual number of
//! users.
//!
//! The paper splits the information of `n` users, and what the aggregator learns from their reports, into
//! three parts each:
//!
//! ```text
//!             nonprivate     group-private     individual private
//! users       I(X⃗;P)         H(T|P)            H(X⃗|T)                 [`UsersSide`]
//! aggregator  I(Y⃗;P)         I(Y⃗;T|P)          I(Y⃗;X⃗|T)              [`AggregatorSide`]
//! ```
//!
//! The users' side is exact at any `n` under Dirichlet priors. The aggregator's side follows from two
//! numbers, [`distribution_information`] `I(Y⃗;P)` and [`tally_information`] `I(Y⃗;T)`, and from the leakage
//! of one user. The methods for these two, in the order in which the automatic choice tries them:
//!
//! | method | for | cost |
//! |---|---|---|
//! | polynomial products over all tallies | GRR, Dirichlet priors and their mixtures | `a = 3, n = 1000`: 2 s |
//! | enumeration of all tallies | any protocol and prior | `b C(n+a, a) C(n+b, b)` steps |
//! | one-dimensional sums | two outputs: `I(Y⃗;P)`, and `I(Y⃗;T)` of two inputs | `O(√n)` evidences; `n = 10^6`: about a second |
//! | Monte Carlo with exact evidence | GRR, the identity protocol, point priors | GRR `a = 16, n = 10^4` to ±0.012: 2 s; `a = 128, n = 10^5` to ±0.01: 14 s |
//! | Monte Carlo along a path; component by component under mixture priors | everything else, `I(Y⃗;P)` | one thread: OUE `a = 16, n = 10^4` to ±0.024: 1.6 s; subset `a = 12, n = 3000` to ±0.018: 0.2 s; a random matrix, `a = 8, b = 10, n = 10^4` to ±0.024: 17 s |
//! | Monte Carlo over assignments | everything else, `I(Y⃗;T) − I(Y⃗;P)` | OUE `a = 16, n = 10^4` to ±0.02: 11 s beside other work |
//!
//! Errors are standard errors; times are for two cores (`tests/finite_users.rs`, full run).
//!
//! Asymptotes ([`distribution_asymptote`]) are never chosen automatically: at `n = 10^4` they may still be 0.36 nats off.
//!
//! ```
//! use sottovoce::information::{InformationOptions, distribution_information};
//! use sottovoce::{Prior, Protocol};
//!
//! let (protocol, prior) = (Protocol::grr(3, 2.0)?, Prior::jeffreys(3)?);
//! let learned = distribution_information(&protocol, &prior, 100, &InformationOptions::default()).unwrap();
//! assert!((learned.value - 2.60348563).abs() < 1e-8);
//! # Ok::<(), sottovoce::Error>(())
//! ```

mod aggregator;
mod asymptotic;
pub(crate) mod binary_questions;
mod control;
pub(crate) mod enumeration;
mod group_sampling;
pub(crate) mod grr;
mod lattice;
pub(crate) mod monte_carlo;
pub(crate) mod one_dimensional;
pub(crate) mod one_dimensional_image;
pub(crate) mod path_sampling;
pub(crate) mod reports;
mod reports_given_tally;
mod response_sampling;
mod sampling;
mod tally_probability;
mod truth_sampling;
mod users;
mod utility;

pub(crate) use aggregator::by_parts;
pub use aggregator::{Choice, InformationOptions, distribution_information, tally_information};
pub use asymptotic::distribution_asymptote;
pub use enumeration::WORK_BUDGET;
pub use sampling::{Sampling, SamplingObserver};
pub use users::{UsersSide, group_private, individual_private, users_side};
pub use utility::{AggregatorSide, digit_utility, distribution_utility, tally_utility, users_side_of};
