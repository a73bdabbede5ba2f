//! The basic objects: protocols, priors, outputs and tallies, and evaluations (numbers with their errors).

pub mod absence;
pub mod combination;
pub mod error;
pub mod estimator;
pub mod evaluation;
pub mod output;
pub mod prior;
pub mod protocol;
pub mod supports;
pub mod tallies;
