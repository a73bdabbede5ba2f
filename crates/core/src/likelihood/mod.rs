//! The likelihood of reports, in the form that suits each protocol and method.
//!
//! | form | for | used by |
//! |---|---|---|
//! | `patterns`: sets of inputs as packed bits | unary encoding, local hash, subset selection with many distinct reports | maximum likelihood, the sampler |
//! | `blocks`: how often each block was reported, and transforms | block designs | maximum likelihood, the sampler of large designs |
//! | `dense_rows`: full rows | matrices with few outputs, single rows of the others | Markov chains |
//! | `centred_rows`: deviations from the mean of each row | any matrix, with all digits at high privacy | maximum likelihood, linear estimates |
//! | `sparse_rows`: the excess of some inputs over the others | every protocol; proportional rows are merged | exact posteriors, the sampler |
//! | `normal_supports`: normal, with the exact mean and covariance | supports, where the reports are gone | Markov chains |
//! | `shares`: a factor for each value | randomised response with many reports | exact posteriors, Monte Carlo of information |

pub(crate) mod blocks;
pub(crate) mod centred_rows;
pub(crate) mod dense_rows;
pub(crate) mod normal_supports;
pub(crate) mod patterns;
pub(crate) mod polynomials;
pub(crate) mod reduced;
pub(crate) mod shares;
pub(crate) mod sparse_rows;

use faer::Mat;
use rand::Rng;

use crate::numerics::parallel::*;
use dense_rows::DenseRows;

/// The log-likelihood `L(p) = Σ_y s_y ln (Qp)_y` of the reports, up to a constant. It is concave.
pub(crate) trait Likelihood: Sync {
    /// Number of inputs `a`.
    fn inputs(&self) -> usize;

    /// The number of reports that carry information.
    fn reports(&self) -> f64;

    /// Value and gradient at a distribution `p`.
    fn slope(&self, p: &[f64]) -> Slope;

    /// The observed information `−∇²L` at `p`, up to terms `u_x + u_x'` that vanish on differences of
    /// distributions: `Σ_y s_y e_y e_yᵀ` with `e_yx = Q_{y|x}/(Qp)_y − 1`.
    fn information(&self, p: &[f64]) -> Mat<f64>;
}

/// A likelihood `Π_i R_i(p)^{s_i}` whose rows can be separated, as Markov chains need.
///
/// `R_i(p) = Σ_x r_ix p_x` is the probability of a report up to a factor that does not depend on `p`. Reports
/// with the same row are merged.
pub(crate) trait RowLikelihood: Send + Sync {
    /// Number of inputs `a`.
    fn inputs(&self) -> usize;

    /// How often each row was reported, `s_i`.
    fn counts(&self) -> Vec<f64>;

    /// `L(p) = Σ_i s_i ln R_i(p)`.
    fn ln_likelihood(&self, p: &[f64]) -> f64;

    /// `L` at several distributions, in one pass over the reports where that is faster.
    fn ln_likelihoods(&self, points: &[&[f64]]) -> Vec<f64> {
        points.par_iter().map(|p| self.ln_likelihood(p)).collect()
    }

    /// `R_i(p)`.
    fn ratios(&self, p: &[f64]) -> Vec<f64>;

    /// `∂L/∂p_x`, so that `p_x ∂L/∂p_x` is the mean tally of the senders of these reports.
    fn gradient(&self, p: &[f64]) -> Vec<f64>;

    /// The gradient of `L` and its negative Hessian in row-major order, both up to terms that vanish on
    /// differences of distributions. Unless it is to be thorough, the Hessian of very many rows may be
    /// estimated from some of them.
    fn expansion(&self, centre: &[f64], thorough: bool) -> (Vec<f64>, Vec<f64>);

    /// Elementary steps of one evaluation of `L`.
    fn steps(&self) -> f64;

    /// The chosen rows in full, and all others.
    fn split(&self, chosen: &[bool]) -> (DenseRows, Box<dyn RowLikelihood>);
}

/// `Σ s ln r`.
pub(crate) fn ln_product(factors: impl Iterator<Item = (f64, f64)>) -> f64 {
    let mut product = LnProduct::default();
    factors.for_each(|(ratio, count)| product.multiply(ratio, count));
    product.ln()
}

/// `Σ s ln r`, term by term. Factors with `s = 1` are multiplied before taking the logarithm, which is several
/// times faster.
#[derive(Clone, Copy)]
pub(crate) struct LnProduct {
    product: f64,
    sum: f64,
}

impl Default for LnProduct {
    fn default() -> Self {
        LnProduct { product: 1.0, sum: 0.0 }
    }
}

impl LnProduct {
    /// Adds `count · ln ratio`.
    pub(crate) fn multiply(&mut self, ratio: f64, count: f64) {
        if count == 1.0 {
            self.product *= ratio;
            if !(1e-200..1e200).contains(&self.product) {
                self.sum += self.product.ln();
                self.product = 1.0;
            }
        } else {
            self.sum += count * ratio.ln();
        }
    }

    /// The sum so far.
    pub(crate) fn ln(self) -> f64 {
        self.sum + self.product.ln()
    }
}

/// The distribution of the senders' values given their reports and `P`.
pub(crate) trait Senders: RowLikelihood {
    /// Number of reports.
    fn n(&self) -> u64;

    /// The part of `ln P(y⃗ | P)` that does not depend on `P`.
    fn ln_scale(&self) -> f64;

    /// `ln P(y⃗ | P)` without its scale.
    fn ln_value(&self, p: &[f64]) -> f64;

    /// `E[T_x | P]` and `Var[T_x | P]`.
    fn tally_moments(&self, p: &[f64]) -> (Vec<f64>, Vec<f64>);

    /// Draws the tallies of the users: `T | P, y⃗`.
    fn sample_tallies(&self, p: &[f64], rng: &mut dyn Rng) -> Vec<u64>;
}

/// The likelihood and its gradient at one point.
#[derive(Clone, Debug)]
pub(crate) struct Slope {
    /// `L(p)`.
    pub(crate) value: f64,
    /// `∂L/∂p_x − n`, whose mean under `p` is zero.
    pub(crate) excess: Vec<f64>,
}

impl Slope {
    /// A bound in nats on the distance to the maximum of the log-likelihood.
    ///
    /// For any distribution `p*`, Jensen's inequality gives
    /// ```text
    /// L(p*) − L(p) = Σ_y s_y ln((Qp*)_y/(Qp)_y) ≤ n ln(Σ_x p*_x ∂L/∂p_x / n) ≤ n ln(max_x ∂L/∂p_x / n)
    /// ```
    /// which is at most `max_x ∂L/∂p_x − n`, the tangent bound.
    pub(crate) fn gap(&self, n: f64) -> f64 {
        let largest = self.excess.iter().copied().fold(0.0, f64::max);
        if self.excess.iter().any(|e| e.is_nan()) { f64::INFINITY } else { n * (largest / n).ln_1p() }
    }
}
