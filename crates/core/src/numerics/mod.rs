//! Numerical methods, independent of privacy: special functions, quadrature, searches, random numbers, and
//! the flag that stops long loops.
//!
//! The lowest layer: nothing here uses another module of this crate.

pub mod beta_rule;
pub mod control_variates;
pub mod cyclic_sum;
pub mod difference_set;
pub mod dirichlet_mean;
pub mod finite_field;
pub mod gauss;
pub mod panels;
pub(crate) mod parallel;
pub(crate) mod quadratic_form;
pub mod random;
pub(crate) mod search;
pub mod special;
pub mod split_mix;
pub mod stirling;
pub mod stop;
pub mod trapezoid;
