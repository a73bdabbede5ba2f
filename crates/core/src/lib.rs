//! Numbers of sottovoce.

pub mod dirichlet_mean;
pub mod evaluation;
pub mod leakage;
pub mod special;
pub mod trapezoid;

pub use evaluation::{Evaluation, Method};
