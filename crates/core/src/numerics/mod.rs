//! Numerical methods that know nothing of privacy: special functions, quadrature, searches, random numbers, and the flag that stops long loops.
//!
//! The lowest layer: nothing here uses another module of this crate.

pub mod beta_rule;
pub mod control_variates;
pub mod dirichlet_mean;
pub mod gauss;
pub mod panels;
pub(crate) mod quadratic_form;
pub mod random;
pub(crate) mod search;
pub mod special;
pub mod split_mix;
pub mod stirling;
pub mod stop;
pub mod trapezoid;
