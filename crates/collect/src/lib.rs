//! The collection: values → reports → tallies.
//!
//! [`read_tallies`] turns a tallies file into [`sottovoce::Tallies`] that fit a protocol, or says which entry does not.

pub mod error;
pub mod tallies_file;

pub use error::{Error, Result};
pub use tallies_file::{TalliesFile, read_tallies};
