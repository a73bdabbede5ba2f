//! What every form of the reports can answer about their likelihood.

use faer::Mat;

/// The log-likelihood `L(p) = Σ_y s_y ln (Qp)_y` of the reports, up to a constant. It is concave.
pub(crate) trait Likelihood: Sync {
    /// Number of inputs `a`.
    fn inputs(&self) -> usize;

    /// The number of reports that tell anything.
    fn reports(&self) -> f64;

    /// Value and slope at a distribution `p`.
    fn slope(&self, p: &[f64]) -> Slope;

    /// The observed information `−∇²L` at `p`, up to terms `u_x + u_x'` that vanish between distributions: `Σ_y s_y e_y e_yᵀ`
    /// with `e_yx = Q_{y|x}/(Qp)_y − 1`.
    fn information(&self, p: &[f64]) -> Mat<f64>;
}

/// The likelihood and how it grows at one place.
#[derive(Clone, Debug)]
pub(crate) struct Slope {
    /// `L(p)`.
    pub(crate) value: f64,
    /// `∂L/∂p_x − n`, whose mean under `p` is zero.
    pub(crate) excess: Vec<f64>,
}

impl Slope {
    /// A bound in nats on what is missing to the maximum of the likelihood.
    ///
    /// For any distribution `p*`, Jensen's inequality gives
    /// ```text
    /// L(p*) − L(p) = Σ_y s_y ln((Qp*)_y/(Qp)_y) ≤ n ln(Σ_x p*_x ∂L/∂p_x / n) ≤ n ln(max_x ∂L/∂p_x / n)
    /// ```
    /// which is at most `max_x ∂L/∂p_x − n`, the bound by a tangent.
    pub(crate) fn gap(&self, n: f64) -> f64 {
        let largest = self.excess.iter().copied().fold(0.0, f64::max);
        if self.excess.iter().any(|e| e.is_nan()) { f64::INFINITY } else { n * (largest / n).ln_1p() }
    }
}
