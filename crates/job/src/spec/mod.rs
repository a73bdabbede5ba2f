//! Specifications: what a user writes to name a protocol or a prior.
//!
//! The same keys work in a JSON file, a TOML file, inline JSON and, for what is not combined, a shorthand:
//!
//! ```
//! use sottovoce_job::read_protocol;
//!
//! let short = read_protocol("grr:a=16,eps=1")?;
//! let inline = read_protocol(r#"{"kind": "grr", "a": 16, "epsilon": 1}"#)?;
//! assert_eq!(short.spec, inline.spec);
//!
//! let error = read_protocol("grr:a=16,epsilom=1").unwrap_err();
//! assert_eq!(error.hint().unwrap(), "did you mean `epsilon`?");
//! # Ok::<(), sottovoce_job::Error>(())
//! ```
//!
//! The way of the text: [`crate::source`] finds and bounds it, `tree.rs` (JSON, TOML) or `shorthand.rs` parses it into a
//! tree, `fields.rs` checks keys and types with the path in hand, `protocol.rs` and `prior.rs` say which keys there are.
//! Ranges are checked last, by the constructors of the numerical library.

mod fields;
mod parameter;
mod prior;
mod protocol;
mod schema;
mod shorthand;
mod tree;

pub use parameter::Parameter;
pub use prior::PriorSpec;
pub use protocol::{NamedProtocol, ProtocolKind, ProtocolSpec};
pub(crate) use schema::Ranges;
pub use schema::{prior_schema, protocol_schema};
pub(crate) use shorthand::parse as tree_of_shorthand;
pub(crate) use tree::{Tree, number_text, shown};

use crate::error::Result;
use crate::source::{self, Syntax, Written};
use fields::Path;

/// Reads a protocol: a path to a JSON or TOML file, inline JSON, a shorthand, or `-` for standard input.
///
/// # Errors
/// The text cannot be read, is not well-formed, or has a wrong key or type. Ranges are checked by [`Written::check`].
pub fn read_protocol(argument: &str) -> Result<Written<ProtocolSpec>> {
    read(argument, &protocol::kinds(), r#"{"kind": "grr", "a": 16, "epsilon": 1}"#, ProtocolSpec::from_tree)
}

/// Reads a prior, as [`read_protocol`] does a protocol.
///
/// # Errors
/// As for [`read_protocol`].
pub fn read_prior(argument: &str) -> Result<Written<PriorSpec>> {
    read(argument, &prior::kinds(), r#"{"kind": "jeffreys"}"#, PriorSpec::from_tree)
}

/// Reads a protocol from a tree.
pub(crate) fn protocol_of_tree(tree: Tree) -> Result<ProtocolSpec> {
    ProtocolSpec::from_tree(tree, &Path::Root)
}

/// Reads a prior from a tree.
pub(crate) fn prior_of_tree(tree: Tree) -> Result<PriorSpec> {
    PriorSpec::from_tree(tree, &Path::Root)
}

fn read<T>(
    argument: &str,
    kinds: &[&'static str],
    example: &'static str,
    from_tree: fn(Tree, &Path<'_>) -> Result<T>,
) -> Result<Written<T>> {
    let (source, syntax, text) = source::locate(argument, kinds, example)?;
    let tree = match syntax {
        Syntax::Json => Tree::of_json(&text, &source)?,
        Syntax::Toml => Tree::of_toml(&text, &source)?,
        Syntax::Shorthand => shorthand::parse(&text, &source)?,
    };
    let spec = from_tree(tree, &Path::Root).map_err(|error| error.found_in(&source))?;
    Ok(Written { spec, source })
}
