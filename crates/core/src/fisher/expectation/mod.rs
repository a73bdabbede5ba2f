//! Means over a Dirichlet prior: of the log-determinant of the Fisher information, and so the asymptotic utility.
//!
//! ```text
//! U_as = −½ ln(2πe) + 1/(2a−2) · E_P ln det(Qᵀ D_P Q)
//! ```
//! Up to seven inputs the mean is a tensor rule ([`cubature`]), when that converges. Beyond, it is randomised quasi-Monte Carlo with
//! control variates ([`quasi_monte_carlo`]): the integrand is a function of many weakly interacting coordinates, and `ln det`
//! concentrates, so that a few hundred points give four digits at `a = 1000`.

pub mod cubature;
mod mean;
pub mod quasi_monte_carlo;
mod sectors;

pub use mean::{MeanOptions, expected_ln_det};
