//! The collection: values → reports → tallies.
//!
//! [`randomise`] turns values into reports, many at once; the crate `sottovoce-client` draws each of them. [`layout`] is the report in bytes and text.
//! [`files`] are CSV, JSON Lines and Parquet; [`tally`] counts them on the aggregator's side. No Arrow or Parquet type leaves this crate.
//! [`read_tallies`] turns a tallies file into [`sottovoce::Tallies`] that fit a protocol, or says which entry does not;
//! [`read_reports`] also takes a file of supports.

pub mod destination;
pub mod digest;
pub mod domain;
pub mod error;
pub mod files;
pub mod header;
pub mod ledger;
pub mod randomise;
pub mod rejection;
pub mod replacement;
mod seal;
mod seed;
pub mod tallies_file;
pub mod tally;

pub use digest::Digest;
pub use domain::{Domain, ValueProblem};
pub use error::{
    Compression, Contents, Damage, EndProblem, Error, HeaderFault, HeaderPlace, NotAFile, Result,
};
pub use header::Identity;
pub use ledger::{Batch, Ledger, Mark};
pub use rejection::{Reason, Rejections};
pub use replacement::Replacement;
pub use sottovoce_client::layout::{self, Layout};
pub use tallies_file::{TalliesFile, read_reports, read_tallies, write_tallies};
pub use tally::{Form, Tally};
