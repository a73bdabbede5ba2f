//! The special functions we need, each with its measured accuracy.

/// `ln Γ(x)`.
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}
