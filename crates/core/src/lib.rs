//! Privacy and utility of local differential privacy protocols, in the units of information theory.
//!
//! Each of `n` users holds one of `a` values, randomises it with a published protocol `Q`, and sends only the
//! report. This crate computes how much of a user's value a report hides, how much all reports together teach
//! about the population, and what collected reports say about its frequencies.
//!
//! **Before a collection:** combine a [`Protocol`] with a [`Prior`] and ask the [`Analysis`] for any
//! [`Metric`]. Every number comes with its method and its error ([`Evaluation`]), in nats.
//!
//! ```
//! use sottovoce::{Analysis, Metric, Prior, Protocol};
//!
//! let protocol = Protocol::grr(16, 1.0)?; // randomised response on 16 values, epsilon = 1
//! let prior = Prior::jeffreys(16)?;
//! let analysis = Analysis::new(&protocol, &prior)?;
//! let hidden = analysis.answer(Metric::AveragePrivacy, None).number().unwrap();
//! let learned = analysis.answer(Metric::DistributionUtility, Some(10_000)).number().unwrap();
//! assert!((hidden.value - 0.9790).abs() < 1e-4); // 98 % of a user's private information stays hidden
//! assert!(learned.value > 0.2 && learned.error < 0.01);
//! # Ok::<(), sottovoce::Error>(())
//! ```
//!
//! **After a collection:** count the reports as [`Tallies`]. [`posterior`] gives the distribution of every
//! frequency, [`estimate`] gives point estimates with confidence intervals.
//!
//! ```
//! use sottovoce::posterior::{PosteriorOptions, posterior};
//! use sottovoce::{Output, Prior, Protocol, Tallies};
//!
//! let protocol = Protocol::grr(2, 1.0)?;
//! let tallies = Tallies::new(&protocol, [(Output::Index(0), 700), (Output::Index(1), 300)])?;
//! let found = posterior(&protocol, &Prior::jeffreys(2)?, &tallies, &PosteriorOptions::default())?;
//! assert!((found.p[0].mean - 0.94).abs() < 0.01);
//! # Ok::<(), sottovoce::Error>(())
//! ```
//!
//! **To choose a protocol:** [`design`] finds the best one for a privacy requirement, with a certificate;
//! [`accuracy`] gives the expected error of the estimates; [`information`] computes the quantities behind the
//! utilities. [`stop`] ends long computations from outside.
//!
//! Randomising real values needs exact arithmetic and a secure generator: that is the crate `sottovoce-collect`. Features: `parallel` (default), `serde`.

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
pub use metric::{Analysis, Metric, Observer, Progress, unobserved};
pub use output::Output;
pub use prior::Prior;
pub use protocol::{Channel, Protocol};
pub use stop::Stop;
pub use tallies::Tallies;

/// The Rust examples of the README, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
