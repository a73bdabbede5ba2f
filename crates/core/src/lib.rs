//! Numbers of sottovoce.

pub mod evaluation;
pub mod expectation;
pub mod fisher;
pub mod optimal_parameter;
pub mod special;

pub use evaluation::{Evaluation, Method};
