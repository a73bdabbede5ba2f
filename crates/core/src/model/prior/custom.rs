//! Custom priors: what a user of the library must say about one.

use std::fmt;

use rand::Rng;

/// A custom prior. Metrics under it are found by Monte Carlo.
///
/// It must be continuous and meet the paper's two assumptions: users may hold different values, and more than one
/// distribution is possible. For the asymptotic metrics `E|ln P_x|` and the differential entropy must be finite.
pub trait CustomPrior: fmt::Debug + Send + Sync {
    /// Number of values `a`, at least 2.
    fn inputs(&self) -> usize;

    /// Draws `ln P`.
    fn sample_ln(&self, rng: &mut dyn Rng) -> Vec<f64>;

    /// `ln` of the density at `e^{ln_p}` with respect to Lebesgue measure in `a − 1` of the coordinates.
    fn ln_density(&self, ln_p: &[f64]) -> f64;
}
