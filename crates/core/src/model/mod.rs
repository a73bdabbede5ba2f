//! What everything else is about: protocols, priors, outputs and tallies, and the numbers found about them with their errors.

pub mod absence;
pub mod error;
pub mod estimator;
pub mod evaluation;
pub mod output;
pub mod prior;
pub mod protocol;
pub mod tallies;
