//! Protocols whose `ln det(Qᵀ D_p Q)` has a closed form.

use super::low_rank::DiagonalPlusLowRank;
use super::{FisherInformation, Point};

/// The protocol that reports the true value: `ln det M = −Σ_x ln p_x`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Identity {
    /// The number `a` of inputs.
    pub inputs: usize,
}

impl FisherInformation for Identity {
    fn inputs(&self) -> usize {
        self.inputs
    }

    fn ln_det(&self, point: &Point) -> f64 {
        -point.ln_p().iter().sum::<f64>()
    }

    fn structure(&self, point: &Point) -> Option<DiagonalPlusLowRank> {
        Some(DiagonalPlusLowRank::diagonal(point.ln_p().iter().map(|ln_p| -ln_p).collect()))
    }
}

/// The protocol that reports the input with probability `kept` and a blank otherwise.
///
/// `M = kept · diag(1/p) + (1 − kept) 11ᵀ`, so `ln det M = (a − 1) ln kept − Σ_x ln p_x`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Erasure {
    /// The number `a` of inputs.
    pub inputs: usize,
    /// The probability of reporting the true value.
    pub kept: f64,
}

impl FisherInformation for Erasure {
    fn inputs(&self) -> usize {
        self.inputs
    }

    fn ln_det(&self, point: &Point) -> f64 {
        (self.inputs as f64 - 1.0) * self.kept.ln() - point.ln_p().iter().sum::<f64>()
    }

    fn structure(&self, point: &Point) -> Option<DiagonalPlusLowRank> {
        Some(Identity { inputs: self.inputs }.structure(point)?.times(self.kept.ln()))
    }
}

/// Generalised randomised response: the true value has odds `e^ε` against any other answer.
///
/// # Definition
/// With `β = e^ε − 1`, `det Q = (β/(a+β))^{a−1}` and
/// ```text
/// ln det M = 2(a−1) ln(β/(a+β)) − Σ_y ln((1 + β p_y)/(a + β))
/// ```
/// # Accuracy
/// Only rounding: a few `a · 1e-16`, for `ε` from `1e-300` to `700`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomizedResponse {
    /// The number `a` of inputs.
    pub inputs: usize,
    /// The privacy budget `ε`.
    pub epsilon: f64,
}

impl RandomizedResponse {
    fn beta(&self) -> f64 {
        self.epsilon.exp_m1()
    }
}

impl FisherInformation for RandomizedResponse {
    fn inputs(&self) -> usize {
        self.inputs
    }

    fn ln_det(&self, point: &Point) -> f64 {
        let (a, beta) = (self.inputs as f64, self.beta());
        let ln_rows: f64 = point.p().iter().map(|p_y| (beta * p_y).ln_1p()).sum();
        2.0 * (a - 1.0) * beta.ln() - (a - 2.0) * (a + beta).ln() - ln_rows
    }

    /// `β²/(a+β) · diag(1/(1 + β p_x))`, off the vector `1`.
    fn structure(&self, point: &Point) -> Option<DiagonalPlusLowRank> {
        let beta = self.beta();
        let ln_diagonal = point.p().iter().map(|p_x| -(beta * p_x).ln_1p()).collect();
        let ln_unit = 2.0 * beta.ln() - (self.inputs as f64 + beta).ln();
        Some(DiagonalPlusLowRank::diagonal(ln_diagonal).times(ln_unit))
    }

    fn contrast(&self) -> f64 {
        self.beta()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fisher::DenseMatrix;

    fn point() -> Point {
        Point::from_probabilities(vec![0.7, 0.2, 0.0625, 0.0375])
    }

    fn close(left: f64, right: f64) {
        assert!((left - right).abs() < 1e-12 * right.abs().max(1.0), "{left} {right}");
    }

    #[test]
    fn randomized_response_is_its_matrix() {
        for epsilon in [0.3, 1.0, 5.0] {
            let (a, grr) = (4, RandomizedResponse { inputs: 4, epsilon });
            let beta = grr.beta();
            let q =
                |y: usize, x: usize| if x == y { (1.0 + beta) / (4.0 + beta) } else { 1.0 / (4.0 + beta) };
            let rows = (0..a * a).map(|i| q(i / a, i % a)).collect();
            close(grr.ln_det(&point()), DenseMatrix::new(a, rows).ln_det(&point()));
        }
    }

    #[test]
    fn erasure_is_its_matrix() {
        let mut rows = vec![0.0; 20];
        (0..4).for_each(|x| rows[5 * x] = 0.3);
        rows[16..].fill(0.7);
        close(Erasure { inputs: 4, kept: 0.3 }.ln_det(&point()), DenseMatrix::new(4, rows).ln_det(&point()));
    }
}
