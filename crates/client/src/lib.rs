//! The user's side of a collection: from a value to its report, and nothing else. No file, no clock, no network.
//!
//! A [`Client`] is made of a [published protocol](Published), which has every threshold as a whole number. So there is no floating-point arithmetic between a secret
//! and its report, here or in clients in other languages; `docs/report-format.md` describes all of it.
//!
//! ```
//! use sottovoce_client::{Client, Generator, Randomness};
//!
//! let client = Client::open(r#"{
//!     "format": "sottovoce protocol", "version": 1,
//!     "fingerprint": "306eed535a92e0e5fe5eed613bb910b54f28731971494bcff1f181058eeadb71",
//!     "protocol": {"kind": "erasure", "a": 2, "reveal": 0.25, "labels": ["no", "yes"]},
//!     "inputs": 2, "labels": ["no", "yes"],
//!     "realised_ldp": {"value": "inf", "exact": true},
//!     "draw": {"kind": "erasure", "a": 2, "reveal": "4611686018427387904"}
//! }"#)?;
//! let mut generator = Generator::new(Randomness::System, 0)?;
//! let report = client.report("yes", &mut generator)?; // "1" or, if the report is blank, "2"
//! assert!(report == "1" || report == "2");
//! assert!(client.report("maybe", &mut generator).is_err());
//! # Ok::<(), sottovoce_client::Error>(())
//! ```
//!
//! With the feature `protocol` (on by default) the crate also has the other direction, which a device does not need: from a [`sottovoce::Protocol`] to its thresholds,
//! rounded toward privacy, with the exact privacy loss of what they sample ([`Randomiser`], [`Published::new`]).
#![cfg_attr(not(feature = "protocol"), allow(rustdoc::broken_intra_doc_links))]

mod belonging;
mod canonical;
mod chance;
mod client;
mod draw;
mod envelope;
mod error;
pub mod layout;
mod published;
mod reason;
mod rows;
mod sampler;
mod words;

#[cfg(feature = "protocol")]
mod columns;
#[cfg(feature = "protocol")]
mod construction;
#[cfg(feature = "protocol")]
mod exponential;
#[cfg(feature = "protocol")]
mod loss;
#[cfg(feature = "protocol")]
mod memoised;
#[cfg(feature = "protocol")]
mod randomiser;
#[cfg(feature = "protocol")]
mod realised;
#[cfg(feature = "protocol")]
mod rounding;

pub use canonical::{canonical, fingerprint};
pub use client::Client;
pub use draw::{Count, Draw, Share};
pub use envelope::{Batch, Outcome, Receipt, Submission};
pub use error::{Error, Fault, Result};
pub use layout::Layout;
#[cfg(feature = "protocol")]
pub use loss::Loss;
#[cfg(feature = "protocol")]
pub use memoised::Memoised;
pub use published::{Level, Published};
#[cfg(feature = "protocol")]
pub use randomiser::Randomiser;
#[cfg(feature = "protocol")]
pub use realised::{ExactMatrix, Realised};
pub use reason::Reason;
pub use words::{Generator, Randomness, Words};
