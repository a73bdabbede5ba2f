//! Unary encoding and local hashing, without enumerating their `2^a` outputs.

use crate::model::protocol::BitNoise;

use super::low_rank::DiagonalPlusLowRank;
use super::{DenseMatrix, Erasure, ExponentialSum, FisherInformation, Point};
use crate::numerics::stop::check;

/// Unary encoding: input `x` sets bit `x` with probability `κ` and every other bit with probability `λ`.
///
/// Local hashing over all functions to `g` values has the same metrics as `κ = e^ε/(e^ε+g−1)`, `λ = 1/g`
/// ([`BitNoise::local_hash`]).
///
/// # Definition
/// A report is a subset `y`; with `A = κ/λ`, `B = (1−κ)/(1−λ)`, `β = A/B − 1` its likelihood is proportional to
/// `s = 1 + β p(y)` under `y ~ π = Bernoulli(λ)^a`, and
/// ```text
/// det M = (β² B)^{a−1} det(Eᵀ G E),   G = E_{y~π}[ 1_y 1_yᵀ / s ]
/// ```
///
/// # Method and cost
/// `1/s` becomes a sum of `K` exponentials ([`ExponentialSum`]). Under each the bits are independent:
/// `G = Σ_k W_k(ρ_kρ_kᵀ + diag(ρ_k(1−ρ_k)))`. `O(a K · rank)` with `K` ≈ 15 + 2.5 ε and a rank of a few. At
/// `κ = 1` the smallest `s` is the smallest `p_x`, and `K` grows with `−ln min p`.
///
/// # Accuracy
/// Tolerance `1e-13`: relative difference from enumeration below `1e-13` for `5 ≤ a ≤ 10`, `1e-3 ≤ ε ≤ 20`;
/// rounding `1e-15 a` beyond. A tolerance `η` adds at most `(a−1) η`.
///
/// # Example
/// ```
/// use sottovoce::fisher::{FisherInformation, Point, UnaryEncoding};
/// use sottovoce::protocol::BitNoise;
/// let optimised = UnaryEncoding::new(1000, &BitNoise::oue(1.0), 1e-10);
/// let uniform = Point::from_ln_weights(vec![0.0; 1000]);
/// assert!(optimised.ln_det(&uniform).is_finite());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct UnaryEncoding {
    inputs: usize,
    bits: BitNoise,
    /// `A/B − 1 = (κ−λ)/(λ(1−κ))`, which is `e^ε − 1`.
    beta: f64,
    tolerance: f64,
    structure: Structure,
}

#[derive(Clone, Debug, PartialEq)]
enum Structure {
    /// `κ = λ`: the report carries no information.
    Constant,
    /// `λ = 0`: a bit is only set by the user's own value.
    Erasure,
    /// `κ = 1`: the true bit is always set, and `s = p(y)` has no positive lower bound.
    Certain,
    /// Few inputs: all `2^a` outputs.
    Enumerated(DenseMatrix),
    /// All other cases.
    Regular(ExponentialSum),
}

impl UnaryEncoding {
    /// Unary encoding over `inputs` values with the given noise, to a relative `tolerance` of each eigenvalue.
    pub fn new(inputs: usize, bits: &BitNoise, tolerance: f64) -> Self {
        let beta = bits.level().exp_m1();
        let structure = if beta == 0.0 {
            Structure::Constant
        } else if bits.lambda == 0.0 {
            Structure::Erasure
        } else if inputs <= MOST_INPUTS_ENUMERATED {
            Structure::Enumerated(enumerated(inputs, bits))
        } else if bits.kappa_complement == 0.0 {
            Structure::Certain
        } else {
            Structure::Regular(ExponentialSum::reciprocal(bits.level(), tolerance))
        };
        UnaryEncoding { inputs, bits: *bits, beta, tolerance, structure }
    }

    fn erasure(&self) -> Erasure {
        Erasure { inputs: self.inputs, kept: self.bits.kappa }
    }

    /// `G` times the factor that turns it into `M` off the vector `1`: the bits are independent under each
    /// exponential.
    fn regular(&self, sum: &ExponentialSum, point: &Point) -> DiagonalPlusLowRank {
        let terms = sum.terms().map(|(ln_weight, rate)| {
            let scale = rate * self.beta;
            self.term(ln_weight - rate, point.p().iter().map(|p_x| scale * p_x))
        });
        let ln_unit =
            2.0 * self.beta.ln() + self.bits.kappa_complement.ln() - self.bits.lambda_complement.ln();
        self.of_terms(terms.collect()).times(ln_unit)
    }

    fn certain(&self, point: &Point) -> DiagonalPlusLowRank {
        let ln_smallest = point.ln_p().iter().copied().fold(0.0, f64::min);
        let sum = ExponentialSum::reciprocal_at_once(-ln_smallest, self.tolerance);
        // The sum approximates 1/s as a function of s/min p, so its rates and weights are divided by min p,
        // in logarithms.
        let terms = sum.ln_terms().map(|(ln_weight, ln_rate)| {
            let ln_rate = ln_rate - ln_smallest;
            self.term(ln_weight - ln_smallest, point.ln_p().iter().map(|ln_p| (ln_rate + ln_p).exp()))
        });
        self.of_terms(terms.collect()).times(-self.bits.lambda.ln())
    }

    /// One exponential: its log weight and the probabilities of the bits under it.
    fn term(&self, ln_weight: f64, exponents: impl Iterator<Item = f64>) -> Term {
        check();
        let mut term = Term { ln_weight, bits: Vec::with_capacity(self.inputs) };
        let mut product = 1.0;
        for exponent in exponents {
            let set = self.bits.lambda * (-exponent).exp();
            let total = set + self.bits.lambda_complement;
            product *= total;
            if product < 1e-200 {
                term.ln_weight += product.ln();
                product = 1.0;
            }
            term.bits.push(set / total);
        }
        term.ln_weight += product.ln();
        term
    }

    fn of_terms(&self, terms: Vec<Term>) -> DiagonalPlusLowRank {
        let largest = terms.iter().map(|term| term.ln_weight).fold(f64::NEG_INFINITY, f64::max);
        let ln_diagonal = ln_diagonal(&terms, self.inputs, largest);
        let scaled: Vec<Vec<f64>> = terms.into_iter().map(|term| term.scaled(&ln_diagonal)).collect();
        let subtracted = vec![false; scaled.len()];
        DiagonalPlusLowRank { ln_diagonal, scaled, subtracted }
    }
}

/// With up to sixteen outputs a dense matrix is ten times faster.
const MOST_INPUTS_ENUMERATED: usize = 4;

/// The matrix over all subsets, with deviations from the likelihood of an input outside the subset.
fn enumerated(inputs: usize, bits: &BitNoise) -> DenseMatrix {
    let difference = -bits.other_deviation; // (κ−λ)/(1−λ)
    let (mut rows, mut deviations) = (Vec::new(), Vec::new());
    for subset in 0u32..1 << inputs {
        for x in 0..inputs {
            let others = (subset & !(1 << x)).count_ones() as i32;
            let likelihood =
                bits.lambda.powi(others) * bits.lambda_complement.powi(inputs as i32 - 1 - others);
            let member = subset >> x & 1 == 1;
            rows.push(likelihood * if member { bits.kappa } else { bits.kappa_complement });
            deviations.push(if member { likelihood * difference } else { 0.0 });
        }
    }
    DenseMatrix::with_deviations(inputs, rows, deviations)
}

struct Term {
    ln_weight: f64,
    /// `ρ_x`, the probability that bit `x` is set.
    bits: Vec<f64>,
}

impl Term {
    /// `√W ρ_x / √d_x`.
    fn scaled(mut self, ln_diagonal: &[f64]) -> Vec<f64> {
        let half = 0.5 * self.ln_weight;
        self.bits.iter_mut().zip(ln_diagonal).for_each(|(bit, ln_d)| *bit *= (half - 0.5 * ln_d).exp());
        self.bits
    }
}

/// `ln Σ_k W_k ρ_kx(1−ρ_kx)` for each `x`.
fn ln_diagonal(terms: &[Term], inputs: usize, largest: f64) -> Vec<f64> {
    let mut ln_diagonal = vec![0.0; inputs];
    for term in terms {
        check();
        let weight = (term.ln_weight - largest).exp();
        ln_diagonal.iter_mut().zip(&term.bits).for_each(|(d, bit)| *d += weight * bit * (1.0 - bit));
    }
    ln_diagonal.iter_mut().enumerate().for_each(|(x, d)| *d = ln_or_scaled(*d, x, terms, largest));
    ln_diagonal
}

/// `largest + ln d`, or the sum in logarithms where `d` underflows, as for `κ = 1` when `p` spans `e^700`.
fn ln_or_scaled(d: f64, x: usize, terms: &[Term], largest: f64) -> f64 {
    if d > 1e-280 {
        return largest + d.ln();
    }
    let parts = || terms.iter().map(|term| term.ln_weight + (term.bits[x] * (1.0 - term.bits[x])).ln());
    let peak = parts().fold(f64::NEG_INFINITY, f64::max);
    peak + parts().map(|part| (part - peak).exp()).sum::<f64>().ln()
}

impl FisherInformation for UnaryEncoding {
    fn inputs(&self) -> usize {
        self.inputs
    }

    fn ln_det(&self, point: &Point) -> f64 {
        match &self.structure {
            Structure::Constant => f64::NEG_INFINITY,
            Structure::Erasure => self.erasure().ln_det(point),
            Structure::Enumerated(matrix) => matrix.ln_det(point),
            Structure::Certain => {
                self.certain(point).ln_det_off_one(self.tolerance * 1e-2).unwrap_or(f64::NAN)
            }
            Structure::Regular(sum) => {
                self.regular(sum, point).ln_det_off_one(self.tolerance * 1e-2).unwrap_or(f64::NAN)
            }
        }
    }

    fn structure(&self, point: &Point) -> Option<DiagonalPlusLowRank> {
        match &self.structure {
            Structure::Erasure => self.erasure().structure(point),
            Structure::Certain => Some(self.certain(point)),
            Structure::Regular(sum) => Some(self.regular(sum, point)),
            Structure::Constant | Structure::Enumerated(_) => None,
        }
    }

    fn efficient_variance(&self, point: &Point, x: usize) -> Option<f64> {
        match &self.structure {
            Structure::Enumerated(matrix) => matrix.efficient_variance(point, x),
            _ => self.structure(point)?.efficient_variance(x),
        }
    }

    fn ln_hidden(&self, point: &Point) -> f64 {
        match &self.structure {
            Structure::Enumerated(matrix) => matrix.ln_hidden(point),
            Structure::Constant => 0.0,
            _ => self.structure(point).and_then(|structure| structure.ln_hidden(point)).unwrap_or(f64::NAN),
        }
    }

    fn operations(&self, smallest: f64) -> f64 {
        const RANK: f64 = 20.0;
        let terms = match &self.structure {
            Structure::Constant | Structure::Erasure => 1.0,
            Structure::Enumerated(matrix) => return matrix.operations(smallest),
            // The exponentials reach down to the smallest probability, about e^{−10/α}, and no two inputs
            // share them.
            Structure::Certain => 40.0 / smallest.min(1.0) * self.inputs as f64 / RANK,
            Structure::Regular(sum) => sum.len() as f64,
        };
        self.inputs as f64 * terms * RANK
    }

    /// The terms, the basis of their span (which is no larger), and some vectors.
    fn numbers(&self, smallest: f64) -> f64 {
        let terms = match &self.structure {
            Structure::Constant | Structure::Erasure => 1.0,
            Structure::Enumerated(matrix) => return matrix.numbers(smallest),
            Structure::Certain => 40.0 / smallest.min(1.0),
            Structure::Regular(sum) => sum.len() as f64,
        };
        self.inputs as f64 * (2.0 * terms + 16.0)
    }

    fn ln_det_error(&self) -> f64 {
        match &self.structure {
            Structure::Constant | Structure::Erasure | Structure::Enumerated(_) => 0.0,
            Structure::Certain => (self.inputs as f64 - 1.0) * self.tolerance,
            Structure::Regular(sum) => (self.inputs as f64 - 1.0) * (sum.error() + self.tolerance * 1e-2),
        }
    }

    fn contrast(&self) -> f64 {
        self.beta.min(1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(a: usize, kappa: f64, lambda: f64) -> DenseMatrix {
        enumerated(a, &BitNoise::new(kappa, lambda))
    }

    fn points(a: usize) -> Vec<Point> {
        let geometric = |ratio: f64| Point::from_ln_weights((0..a).map(|x| ratio * x as f64).collect());
        vec![geometric(0.0), geometric(0.3), geometric(-2.0), geometric(-20.0), geometric(-150.0)]
    }

    #[test]
    fn agrees_with_enumeration() {
        let pairs = |epsilon: f64| {
            let half = (0.5 * epsilon).exp();
            [(half / (1.0 + half), 1.0 / (1.0 + half)), (0.5, 1.0 / (1.0 + epsilon.exp())), (0.9, 0.7)]
        };
        let mut worst: f64 = 0.0;
        for (a, epsilon) in [(5, 20.0), (6, 0.1), (7, 4.0), (8, 1e-3), (10, 2.0)] {
            for (kappa, lambda) in pairs(epsilon) {
                for point in points(a) {
                    let fast = UnaryEncoding::new(a, &BitNoise::new(kappa, lambda), 1e-13).ln_det(&point);
                    let exact = matrix(a, kappa, lambda).ln_det(&point);
                    worst = worst.max((fast - exact).abs() / exact.abs().max(1.0));
                    assert!(
                        (fast - exact).abs() < 2e-12 * exact.abs().max(1.0),
                        "{a} {kappa} {lambda} {fast} {exact} {point:?}"
                    );
                }
            }
        }
        println!("largest difference {worst:e}");
    }

    #[test]
    fn certain_bits_and_erasure_agree_with_enumeration() {
        for (kappa, lambda) in [(1.0, 0.3), (1.0, 0.7), (0.7, 0.0), (1.0, 0.0)] {
            for point in points(5) {
                let fast = UnaryEncoding::new(5, &BitNoise::new(kappa, lambda), 1e-13).ln_det(&point);
                let exact = matrix(5, kappa, lambda).ln_det(&point);
                assert!(
                    (fast - exact).abs() < 1e-11 * exact.abs().max(1.0),
                    "{kappa} {lambda} {fast} {exact} {point:?}"
                );
            }
        }
    }

    #[test]
    fn equal_probabilities_say_nothing() {
        assert_eq!(
            UnaryEncoding::new(3, &BitNoise::new(0.4, 0.4), 1e-10).ln_det(&points(3)[0]),
            f64::NEG_INFINITY
        );
    }
}
