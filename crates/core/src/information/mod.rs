//! The finite-n information quantities: what users and aggregator know, in nats, for the number of users one really has.

mod aggregator;
mod enumeration;
mod gauss;
mod grr;
mod lattice;
mod monte_carlo;
mod one_dimensional;
mod path_sampling;
mod progress;
mod reduced;
mod response_sampling;
mod stirling;
mod users;

pub use aggregator::{Choice, Options, distribution_information, tally_information};
pub use enumeration::WORK_BUDGET;
pub use progress::{Observer, Progress};
pub use users::{UsersSide, group_private, individual_private, users_side};
