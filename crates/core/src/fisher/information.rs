//! The interface of every structure: the log-determinant of its Fisher information at a point of the simplex.

use super::low_rank::DiagonalPlusLowRank;

/// A point of the simplex, with logarithms: at `α = 0.01` a coordinate often underflows.
///
/// # Example
/// ```
/// use sottovoce::fisher::Point;
/// let point = Point::from_ln_weights(vec![0.0, -2000.0]);
/// assert_eq!(point.p(), [1.0, 0.0]);
/// assert_eq!(point.ln_p(), [0.0, -2000.0]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    p: Vec<f64>,
    ln_p: Vec<f64>,
}

impl Point {
    /// The point proportional to `exp(ln_weights)`.
    pub fn from_ln_weights(mut ln_weights: Vec<f64>) -> Self {
        let largest = ln_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = ln_weights.iter().map(|ln_w| (ln_w - largest).exp()).sum();
        let ln_total = largest + total.ln();
        ln_weights.iter_mut().for_each(|ln_w| *ln_w -= ln_total);
        Point { p: ln_weights.iter().map(|ln_p| ln_p.exp()).collect(), ln_p: ln_weights }
    }

    /// The point with probabilities `p`, used as given: they should sum to one.
    pub fn from_probabilities(p: Vec<f64>) -> Self {
        Point { ln_p: p.iter().map(|p_x| p_x.ln()).collect(), p }
    }

    /// The probabilities; those below `1e-308` are zero or subnormal.
    pub fn p(&self) -> &[f64] {
        &self.p
    }

    /// Their natural logarithms.
    pub fn ln_p(&self) -> &[f64] {
        &self.ln_p
    }

    /// The index of the largest probability.
    pub fn mode(&self) -> usize {
        (0..self.ln_p.len()).max_by(|&x, &z| self.ln_p[x].total_cmp(&self.ln_p[z])).unwrap_or(0)
    }
}

/// The Fisher information of a protocol.
pub trait FisherInformation: Sync {
    /// The number `a` of inputs.
    fn inputs(&self) -> usize;

    /// `ln det(Qᵀ D_p Q)`; `−∞` if the protocol is not faithful.
    fn ln_det(&self, point: &Point) -> f64;

    /// Approximate number of floating-point operations of `ln_det` at a typical point of a Dirichlet prior
    /// whose smallest parameter is `smallest`. It determines how many points are affordable.
    fn operations(&self, _smallest: f64) -> f64 {
        self.inputs() as f64 * 10.0
    }

    /// The largest number of 8-byte numbers that `ln_det` holds at once at such a point. It determines
    /// whether a job may start.
    fn numbers(&self, _smallest: f64) -> f64 {
        self.inputs() as f64 * 16.0
    }

    /// A bound on the error of `ln_det` at any point, excluding rounding.
    fn ln_det_error(&self) -> f64 {
        0.0
    }

    /// `M(p)` up to a multiple of `11ᵀ` as a diagonal matrix plus a few rank-one terms, if the protocol has
    /// that structure. A mixture adds these up.
    fn structure(&self, _point: &Point) -> Option<DiagonalPlusLowRank> {
        None
    }

    /// `(J⁻¹)_xx`, the smallest variance that an unbiased estimate of `p_x` from one report can have; `None` if
    /// the information is singular.
    fn efficient_variance(&self, point: &Point, x: usize) -> Option<f64> {
        self.structure(point)?.efficient_variance(x)
    }

    /// `ln det(J_X − J) − ln det J_X`, where `J_X` is the information of the true value: how much of it the
    /// report hides. NaN if nothing is hidden in some direction.
    fn ln_hidden(&self, point: &Point) -> f64 {
        self.structure(point).and_then(|structure| structure.ln_hidden(point)).unwrap_or(f64::NAN)
    }

    /// The scale `c` of `p_x` on which `ln det` curves, as in `ln(1 + c p_x)`: `e^ε − 1` for an `ε`-LDP
    /// protocol.
    ///
    /// It only guides the variance reduction; values depend on it only within their stated error.
    fn contrast(&self) -> f64 {
        1.0
    }
}
