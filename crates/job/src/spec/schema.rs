//! JSON schemas of the specifications, for editors and other programs.

use schemars::{Schema, schema_for};

use super::{PriorSpec, ProtocolSpec};

/// The JSON schema of a protocol specification.
pub fn protocol_schema() -> Schema {
    schema_for!(ProtocolSpec)
}

/// The JSON schema of a prior specification.
pub fn prior_schema() -> Schema {
    schema_for!(PriorSpec)
}
