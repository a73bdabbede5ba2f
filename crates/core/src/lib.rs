//! Numbers of sottovoce.

pub mod evaluation;
pub mod expectation;
pub mod fisher;
pub mod special;

pub use evaluation::{Evaluation, Method};
