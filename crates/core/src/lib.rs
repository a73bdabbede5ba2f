//! Information-theoretic privacy and utility of local differential privacy protocols: the numbers.

pub mod accuracy;
pub mod design;
pub mod dirichlet_mean;
pub mod error;
pub mod estimate;
pub mod evaluation;
pub mod expectation;
pub mod fisher;
pub mod information;
pub mod leakage;
mod likelihood;
mod mcmc;
pub mod metric;
pub mod optimal_parameter;
pub mod output;
mod panels;
pub mod posterior;
pub mod prior;
pub mod protocol;
pub mod special;
pub mod split_mix;
pub mod stop;
pub mod tallies;
pub mod trapezoid;

pub use error::{Error, ErrorKind, Result};
pub use evaluation::{Evaluation, Method};
pub use metric::{Analysis, Metric};
pub use output::Output;
pub use prior::Prior;
pub use protocol::{Channel, Protocol};
pub use stop::Stop;
pub use tallies::Tallies;

/// The Rust examples of the README, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
