//! The finite-n information quantities: what users and aggregator know, in nats, for the number of users one really has.

mod lattice;
mod stirling;
mod users;

pub use users::{UsersSide, group_private, individual_private, users_side};
