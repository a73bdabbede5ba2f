//! The collection: values → reports → tallies.
//!
//! [`read_tallies`] turns a tallies file into [`sottovoce::Tallies`] that fit a protocol, or says which entry does not;
//! [`read_reports`] also takes a file of supports.

pub mod error;
pub mod supports_file;
pub mod tallies_file;

pub use error::{Error, Result};
pub use supports_file::{SupportsFile, read_reports};
pub use tallies_file::{TalliesFile, read_tallies};
