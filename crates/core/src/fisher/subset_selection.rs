//! Subset selection, without its `C(a, k)` outputs.

use crate::numerics::special::ln_binomial;
use std::f64::consts::TAU;

use super::low_rank::{DiagonalPlusLowRank, ln_det_positive};
use super::{DenseMatrix, ExponentialSum, FisherInformation, Point, RandomizedResponse};
use crate::numerics::stop::check;

/// Subset selection: report a `k`-subset of the inputs, those that contain the own input being `e^ε` times as likely.
///
/// # Definition
/// With `β = e^ε − 1`, `c = 1/(1 + βk/a)` and `y` uniform over the `k`-subsets, the likelihood of a report is `c s` with
/// `s = 1 + β p(y)`, and
/// ```text
/// det M = (β² c)^{a−1} det(Eᵀ G E),   G = E_y[ 1_y 1_yᵀ / s ]
/// ```
/// `k = 1` is generalised randomised response.
///
/// # Method and cost
/// `1/s` becomes a sum of exponentials ([`ExponentialSum`]). Under each, `y` has weights `Π_{x∈y} e^{−τβp_x}` (conditional
/// Poisson sampling), and the size `k` is the `k`-th Fourier coefficient of a product over `x`:
/// ```text
/// E[1_y 1_yᵀ e^{−τβp(y)}] ∝ Σ_θ χ(θ) (ρ_θ ρ_θᵀ + diag(ρ_θ(1−ρ_θ))),   ρ_θ = ρe^{iθ}/(1−ρ+ρe^{iθ})
/// ```
/// with `ρ` tilted so that the mean size is `k`: then `|χ|` falls like `e^{−Vθ²/2}` and about a dozen angles suffice whatever `a`.
/// So `G` is again a diagonal plus low rank, `O(a · terms · angles · rank)`. Subsets of more than half the inputs are
/// counted by their complement. Where the diagonal part is not positive (small `a`, `e^ε ≫ a`) the matrix is formed, `O(a³)`.
///
/// # Accuracy
/// Tolerance `1e-13`: relative difference below `2e-12` for `a ≤ 10`, `1e-6 ≤ ε ≤ 10`, all `k`, from enumeration. A tolerance `η` adds `(a−1) η`.
///
/// # Example
/// ```
/// use sottovoce::fisher::{FisherInformation, Point, RandomizedResponse, SubsetSelection};
/// let p = Point::from_probabilities(vec![0.5, 0.3, 0.2]);
/// let pairs = SubsetSelection::new(3, 2, 1.0, 1e-13).ln_det(&p);
/// let single = RandomizedResponse { inputs: 3, epsilon: 1.0 }.ln_det(&p);
/// assert!(pairs < single);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SubsetSelection {
    inputs: usize,
    size: usize,
    epsilon: f64,
    tolerance: f64,
    sum: ExponentialSum,
    /// All outputs, if there are few.
    matrix: Option<DenseMatrix>,
}

/// Up to twenty outputs a dense matrix is ten times faster.
const MOST_INPUTS_ENUMERATED: usize = 6;

impl SubsetSelection {
    /// Subsets of `size` of the `inputs` values, with budget `epsilon`, to a relative `tolerance` of each eigenvalue.
    ///
    /// # Panics
    /// Unless `1 ≤ size < inputs`.
    pub fn new(inputs: usize, size: usize, epsilon: f64, tolerance: f64) -> Self {
        assert!((1..inputs).contains(&size), "size {size} of {inputs} inputs");
        let sum = ExponentialSum::reciprocal(epsilon, tolerance);
        let matrix = (inputs <= MOST_INPUTS_ENUMERATED).then(|| enumerated(inputs, size, epsilon));
        SubsetSelection { inputs, size, epsilon, tolerance, sum, matrix }
    }

    fn beta(&self) -> f64 {
        self.epsilon.exp_m1()
    }

    /// Whether subsets are counted by their complement, and the size then counted.
    fn counted(&self) -> (bool, usize) {
        let flipped = 2 * self.size > self.inputs;
        (flipped, if flipped { self.inputs - self.size } else { self.size })
    }

    fn angles(&self, point: &Point) -> Vec<Angle> {
        let (flipped, size) = self.counted();
        let ln_subsets = ln_binomial(self.inputs as f64, size as f64);
        let mut tilt = (size as f64 / (self.inputs - size) as f64).ln();
        let mut angles = Vec::new();
        for (ln_weight, rate) in self.sum.terms() {
            check();
            let scale = if flipped { rate * self.beta() } else { -rate * self.beta() };
            let base = if flipped { rate * self.epsilon.exp() } else { rate };
            let exponents: Vec<f64> = point.p().iter().map(|p_x| scale * p_x).collect();
            let tilted = Tilted::new(&exponents, size, tilt);
            tilt = tilted.tilt;
            tilted.push_angles(ln_weight - base - ln_subsets, self.tolerance, &mut angles);
        }
        angles
    }

    fn ln_det_structured(&self, point: &Point) -> f64 {
        let angles = self.angles(point);
        let low_rank = self.low_rank(&angles).and_then(|sum| sum.ln_det_off_one(self.tolerance * 1e-2));
        let formed = || (self.inputs <= MOST_INPUTS_FORMED).then(|| self.ln_det_formed(&angles, point));
        let ln_rest = low_rank.or_else(formed).unwrap_or(f64::NAN);
        (self.inputs as f64 - 1.0) * self.ln_unit() + ln_rest
    }

    /// What turns `G` into `M` off the vector `1`.
    fn ln_unit(&self) -> f64 {
        let share = self.size as f64 / self.inputs as f64;
        2.0 * self.beta().ln() - (self.beta() * share).ln_1p()
    }

    fn low_rank(&self, angles: &[Angle]) -> Option<DiagonalPlusLowRank> {
        let ln_diagonal: Vec<f64> = diagonal(angles, self.inputs).iter().map(|d| d.ln()).collect();
        if !ln_diagonal.iter().all(|ln_d| ln_d.is_finite()) {
            return None;
        }
        let roots: Vec<f64> = ln_diagonal.iter().map(|ln_d| (-0.5 * ln_d).exp()).collect();
        let (mut scaled, mut subtracted) = (Vec::new(), Vec::new());
        for angle in angles {
            check();
            let (real, imaginary) = angle.halves(&roots);
            scaled.push(real);
            subtracted.push(false);
            if angle.is_complex() {
                scaled.push(imaginary);
                subtracted.push(true);
            }
        }
        Some(DiagonalPlusLowRank { ln_diagonal, scaled, subtracted })
    }

    fn ln_det_formed(&self, angles: &[Angle], point: &Point) -> f64 {
        let (a, reference) = (self.inputs, point.mode());
        let halves: Vec<_> = angles.iter().map(|angle| angle.halves(&vec![1.0; a])).collect();
        let mut information: Vec<Vec<f64>> = (0..a).map(|x| vec![0.0; x + 1]).collect();
        for (real, imaginary) in &halves {
            check();
            let relative = |half: &[f64]| half.iter().map(|v| v - half[reference]).collect::<Vec<_>>();
            let (real, imaginary) = (relative(real), relative(imaginary));
            for (x, row) in information.iter_mut().enumerate() {
                (0..=x).for_each(|z| row[z] += real[x] * real[z] - imaginary[x] * imaginary[z]);
            }
        }
        let diagonal = diagonal(angles, a);
        for (x, row) in information.iter_mut().enumerate() {
            row.iter_mut().for_each(|entry| *entry += diagonal[reference]);
            row[x] += diagonal[x];
        }
        ln_det_positive(without(information, reference)).unwrap_or(f64::NAN)
    }
}

/// Beyond, the matrix itself would take more than half a gigabyte.
const MOST_INPUTS_FORMED: usize = 1 << 13;

/// The lower triangle without row and column `reference`.
fn without(mut triangle: Vec<Vec<f64>>, reference: usize) -> Vec<Vec<f64>> {
    triangle.remove(reference);
    for row in triangle.iter_mut().skip(reference) {
        row.remove(reference);
    }
    triangle
}

/// The matrix over all subsets, with deviations from the likelihood of an input outside the subset.
fn enumerated(inputs: usize, size: usize, epsilon: f64) -> DenseMatrix {
    let beta = epsilon.exp_m1();
    let unit = (-ln_binomial(inputs as f64, size as f64)).exp() / (1.0 + beta * size as f64 / inputs as f64);
    let subsets = (0u32..1 << inputs).filter(|subset| subset.count_ones() as usize == size);
    let members: Vec<f64> =
        subsets.flat_map(|subset| (0..inputs).map(move |x| f64::from(subset >> x & 1))).collect();
    let rows = members.iter().map(|member| unit * (1.0 + beta * member)).collect();
    DenseMatrix::with_deviations(inputs, rows, members.iter().map(|member| unit * beta * member).collect())
}

/// Independent inclusions with log-odds `exponents + tilt`, whose mean number is close to `size`.
struct Tilted {
    size: usize,
    tilt: f64,
    /// `ρ_x`.
    included: Vec<f64>,
    /// `Σ ln(1 + e^{exponent + tilt}) − size · tilt`.
    ln_total: f64,
    variance: f64,
}

impl Tilted {
    fn new(exponents: &[f64], size: usize, guess: f64) -> Self {
        let tilt = tilt_for(exponents, size, guess);
        let log_odds = || exponents.iter().map(|e| e + tilt);
        let included: Vec<f64> = log_odds().map(logistic).collect();
        let ln_total = log_odds().map(softplus).sum::<f64>() - size as f64 * tilt;
        let variance = included.iter().map(|r| r * (1.0 - r)).sum();
        Tilted { size, tilt, included, ln_total, variance }
    }

    /// An odd number of angles, enough that sizes `size ± angles` have no weight left.
    ///
    /// Bernstein: `P(|S − k| ≥ N) ≤ 2 exp(−N²/(2V + 2N/3))`, set to `e^{−cut}`; `a + 1` angles are exact.
    fn count(&self, cut: f64) -> usize {
        let enough = cut / 3.0 + (cut * cut / 9.0 + 2.0 * cut * self.variance).sqrt();
        (enough.min(self.included.len() as f64 + 1.0).ceil() as usize) | 1
    }

    fn push_angles(&self, ln_weight: f64, tolerance: f64, angles: &mut Vec<Angle>) {
        let cut = -(tolerance * 1e-3).ln();
        let count = self.count(cut);
        for j in 0..=count / 2 {
            let theta = TAU * j as f64 / count as f64;
            // |χ(θ)| ≤ exp(−V(1 − cos θ)).
            if self.variance * (1.0 - theta.cos()) < cut {
                let share = if j == 0 { 1.0 } else { 2.0 } / count as f64;
                angles.push(self.angle(theta, ln_weight + self.ln_total + share.ln()));
            }
        }
    }

    fn angle(&self, theta: f64, ln_weight: f64) -> Angle {
        let (sine, cosine) = theta.sin_cos();
        let mut angle = Angle { root: (0.0, 0.0), real: Vec::new(), imaginary: Vec::new() };
        let (mut re, mut im, mut ln_modulus) = (1.0, 0.0, ln_weight);
        for r in &self.included {
            let (z_re, z_im) = (1.0 - r + r * cosine, r * sine);
            (re, im) = (re * z_re - im * z_im, re * z_im + im * z_re);
            let square = z_re * z_re + z_im * z_im;
            // ρe^{iθ}/z = ρ(e^{iθ} z̄)/|z|².
            angle.real.push(r * (cosine * z_re + sine * z_im) / square);
            angle.imaginary.push(r * (sine * z_re - cosine * z_im) / square);
            if re.abs() + im.abs() < 1e-140 {
                ln_modulus += re.hypot(im).ln();
                let modulus = re.hypot(im);
                (re, im) = (re / modulus, im / modulus);
            }
        }
        let phase = im.atan2(re) - self.size as f64 * theta;
        let root = (0.5 * (ln_modulus + re.hypot(im).ln())).exp();
        angle.root = (root * (0.5 * phase).cos(), root * (0.5 * phase).sin());
        angle
    }
}

/// The tilt at which the mean size is within a hundredth of a standard deviation of `size`: Newton steps inside a bracket.
fn tilt_for(exponents: &[f64], size: usize, guess: f64) -> f64 {
    let odds = (size as f64 / (exponents.len() - size) as f64).ln();
    let (least, most) =
        exponents.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), &e| (l.min(e), m.max(e)));
    let (mut low, mut high) = (odds - most, odds - least);
    let mut tilt = guess.clamp(low, high);
    for _ in 0..200 {
        let (mean, variance) = exponents
            .iter()
            .map(|e| logistic(e + tilt))
            .fold((0.0, 0.0), |(m, v), r| (m + r, v + r * (1.0 - r)));
        let excess: f64 = mean - size as f64;
        if excess.abs() <= 1e-2 * f64::sqrt(variance) || high - low < 1e-9 {
            break;
        }
        if excess > 0.0 {
            high = tilt
        } else {
            low = tilt
        }
        let newton = tilt - excess / variance;
        tilt = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
    }
    tilt
}

fn logistic(v: f64) -> f64 {
    1.0 / (1.0 + (-v).exp())
}

fn softplus(v: f64) -> f64 {
    v.max(0.0) + (-v.abs()).exp().ln_1p()
}

/// One pair of an exponential and an angle: `Re(root² · ρ_θ ρ_θᵀ)` is its part of `G` off the diagonal.
struct Angle {
    root: (f64, f64),
    real: Vec<f64>,
    imaginary: Vec<f64>,
}

impl Angle {
    fn is_complex(&self) -> bool {
        self.root.1 != 0.0 || self.imaginary.iter().any(|&v| v != 0.0)
    }

    /// Real and imaginary part of `root · ρ_θ`, times `factors`.
    fn halves(&self, factors: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let ((c, s), parts) = (self.root, || self.real.iter().zip(&self.imaginary).zip(factors));
        let real = parts().map(|((re, im), f)| f * (c * re - s * im)).collect();
        (real, parts().map(|((re, im), f)| f * (c * im + s * re)).collect())
    }

    /// Adds `Re(root² · ρ_θ(1−ρ_θ))` to each entry.
    fn add_diagonal(&self, diagonal: &mut [f64]) {
        let (c, s) = self.root;
        let (w_re, w_im) = (c * c - s * s, 2.0 * c * s);
        for ((d, re), im) in diagonal.iter_mut().zip(&self.real).zip(&self.imaginary) {
            let (v_re, v_im) = (re * (1.0 - re) + im * im, im * (1.0 - 2.0 * re));
            *d += w_re * v_re - w_im * v_im;
        }
    }
}

fn diagonal(angles: &[Angle], inputs: usize) -> Vec<f64> {
    let mut diagonal = vec![0.0; inputs];
    angles.iter().for_each(|angle| angle.add_diagonal(&mut diagonal));
    diagonal
}

impl FisherInformation for SubsetSelection {
    fn inputs(&self) -> usize {
        self.inputs
    }

    fn ln_det(&self, point: &Point) -> f64 {
        if self.size == 1 {
            return RandomizedResponse { inputs: self.inputs, epsilon: self.epsilon }.ln_det(point);
        }
        match &self.matrix {
            Some(matrix) => matrix.ln_det(point),
            None => self.ln_det_structured(point),
        }
    }

    fn operations(&self, smallest: f64) -> f64 {
        const ANGLES_TIMES_RANK: f64 = 400.0;
        match &self.matrix {
            Some(matrix) => matrix.operations(smallest),
            None => self.inputs as f64 * self.sum.len() as f64 * ANGLES_TIMES_RANK,
        }
    }

    /// Each exponential has at most `cut/2 + 2` angles (see `Tilted::count`); each angle has two vectors, two more in the sum, and as many of its span at most.
    fn numbers(&self, smallest: f64) -> f64 {
        if let Some(matrix) = &self.matrix {
            return matrix.numbers(smallest);
        }
        let angles = 2.0 - 0.5 * (self.tolerance * 1e-3).ln();
        self.inputs as f64 * (6.0 * self.sum.len() as f64 * angles + 64.0)
    }

    fn structure(&self, point: &Point) -> Option<DiagonalPlusLowRank> {
        if self.size == 1 {
            return RandomizedResponse { inputs: self.inputs, epsilon: self.epsilon }.structure(point);
        }
        Some(self.low_rank(&self.angles(point))?.times(self.ln_unit()))
    }

    fn ln_det_error(&self) -> f64 {
        (self.inputs as f64 - 1.0) * (self.sum.error() + self.tolerance * 1e-2)
    }

    fn contrast(&self) -> f64 {
        self.beta().min(1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_enumeration() {
        let mut worst: f64 = 0.0;
        let mut formed = 0;
        for a in [3, 4, 6, 10] {
            for k in 1..a {
                for epsilon in [1e-6, 0.1, 1.0, 3.0, 10.0] {
                    for slope in [0.0, 0.3, -2.0, -20.0, -150.0] {
                        let point = Point::from_ln_weights((0..a).map(|x| slope * x as f64).collect());
                        let subset = SubsetSelection::new(a, k, epsilon, 1e-13);
                        formed += usize::from(k > 1 && subset.low_rank(&subset.angles(&point)).is_none());
                        let (fast, exact) =
                            (subset.ln_det_structured(&point), enumerated(a, k, epsilon).ln_det(&point));
                        let difference = (fast - exact).abs() / exact.abs().max(1.0);
                        worst = worst.max(difference);
                        assert!(difference < 1e-11, "{a} {k} {epsilon} {slope} {fast} {exact}");
                    }
                }
            }
        }
        println!("largest difference {worst:e}, {formed} formed");
    }
}
