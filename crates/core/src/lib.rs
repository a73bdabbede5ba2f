//! Information-theoretic privacy and utility of local differential privacy protocols: the numbers.

pub mod accuracy;
pub mod design;
pub mod estimate;
#[doc(hidden)]
pub mod fisher;
pub mod information;
#[doc(hidden)]
pub mod leakage;
mod likelihood;
mod mcmc;
pub mod metric;
mod model;
#[doc(hidden)]
pub mod numerics;
pub mod posterior;

pub use model::{absence, error, evaluation, output, prior, protocol, tallies};
pub use numerics::stop;

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
#[doc = include_str!("../../../README.md")]
struct Readme;
