//! The log-determinant of a diagonal matrix plus a few rank-one terms, on the hyperplane orthogonal to `1`.

use super::Point;
use crate::numerics::stop::check;
use faer::{Mat, Side};

/// `ln det(Eᵀ G E)` of `G = diag(d) + Σ_k ± v_k v_kᵀ`, where the columns of `E` are `e_x − e_r`, `x ≠ r`.
///
/// # Method and cost
/// `E(EᵀDE)⁻¹Eᵀ = D^{−1/2}(I − ĝĝᵀ)D^{−1/2}` with `ĝ ∝ d^{−1/2}`, so with `t_k = D^{−1/2}v_k` projected off `ĝ`
/// ```text
/// ln det(EᵀGE) = Σ ln d_x + ln Σ 1/d_x + ln det(I + Σ ± t_k t_kᵀ)
/// ```
/// Adding a constant to a `v_k` changes nothing, and there is no cancellation when the `v_k` are nearly
/// constant. The last determinant is computed in the numerical span of the `t_k` (Gram–Schmidt with
/// pivoting): `O(a · terms · rank)`.
///
/// Returns `None` if a `d_x` is not positive or the last determinant is not that of a positive definite matrix.
#[derive(Debug)]
pub struct DiagonalPlusLowRank {
    /// `ln d_x`.
    pub(super) ln_diagonal: Vec<f64>,
    /// The vectors `d_x^{−1/2} v_kx`.
    pub(super) scaled: Vec<Vec<f64>>,
    /// For each vector, whether its term is subtracted.
    pub(super) subtracted: Vec<bool>,
}

/// What may be left out of the low-rank part of an inverse or of a difference, in the trace.
const INVERSE_TOLERANCE: f64 = 1e-13;

impl DiagonalPlusLowRank {
    /// A diagonal matrix alone.
    pub(super) fn diagonal(ln_diagonal: Vec<f64>) -> Self {
        DiagonalPlusLowRank { ln_diagonal, scaled: Vec::new(), subtracted: Vec::new() }
    }

    /// The matrix times `e^{ln_factor}`; the scaled vectors stay the same.
    pub(super) fn times(mut self, ln_factor: f64) -> Self {
        self.ln_diagonal.iter_mut().for_each(|ln_d| *ln_d += ln_factor);
        self
    }

    /// The sum of matrices of the same size.
    pub(super) fn sum(parts: Vec<Self>) -> Self {
        let inputs = parts.first().map_or(0, |part| part.ln_diagonal.len());
        let ln_diagonal: Vec<f64> = (0..inputs)
            .map(|x| {
                let largest = parts.iter().map(|part| part.ln_diagonal[x]).fold(f64::NEG_INFINITY, f64::max);
                largest + parts.iter().map(|part| (part.ln_diagonal[x] - largest).exp()).sum::<f64>().ln()
            })
            .collect();
        let (mut scaled, mut subtracted) = (Vec::new(), Vec::new());
        for part in parts {
            let roots: Vec<f64> = part
                .ln_diagonal
                .iter()
                .zip(&ln_diagonal)
                .map(|(own, all)| (0.5 * (own - all)).exp())
                .collect();
            for mut vector in part.scaled {
                vector.iter_mut().zip(&roots).for_each(|(v, root)| *v *= root);
                scaled.push(vector);
            }
            subtracted.extend(part.subtracted);
        }
        DiagonalPlusLowRank { ln_diagonal, scaled, subtracted }
    }

    /// `(J⁻¹)_xx`, where `J` is this matrix off the vector `1`.
    pub(super) fn efficient_variance(self, x: usize) -> Option<f64> {
        let inverse = self.inverse_off_one(INVERSE_TOLERANCE)?;
        let terms = inverse.terms.iter().map(|(c, y)| c * y[x] * y[x]);
        Some(inverse.diagonal[x] + terms.sum::<f64>())
    }

    /// `ln det(diag(1/p) − G) − ln det diag(1/p)` off the vector `1`.
    pub(super) fn ln_hidden(mut self, point: &Point) -> Option<f64> {
        for (x, (ln_p, ln_d)) in point.ln_p().iter().zip(&mut self.ln_diagonal).enumerate() {
            let ln_rest = (-(*ln_d + ln_p).exp()).ln_1p() - ln_p;
            let root = (0.5 * (*ln_d - ln_rest)).exp();
            self.scaled.iter_mut().for_each(|vector| vector[x] *= root);
            *ln_d = ln_rest;
        }
        self.subtracted.iter_mut().for_each(|subtracted| *subtracted = !*subtracted);
        Some(self.ln_det_off_one(INVERSE_TOLERANCE)? + point.ln_p().iter().sum::<f64>())
    }

    pub(super) fn ln_det_off_one(mut self, tolerance: f64) -> Option<f64> {
        let (smallest, _, length) = self.project()?;
        let ln_diagonal = self.ln_diagonal.iter().sum::<f64>() - smallest + 2.0 * length.ln();
        let span = Span::of(&mut self.scaled, tolerance);
        ln_det_positive(span.identity_plus(&self.subtracted)).map(|ln_rest| ln_diagonal + ln_rest)
    }

    /// Projects the vectors off `ĝ`. Returns the smallest `ln d`, `ĝ`, and its length before normalisation;
    /// `None` if a `d_x` is not positive.
    fn project(&mut self) -> Option<(f64, Vec<f64>, f64)> {
        let smallest = self.ln_diagonal.iter().copied().fold(f64::INFINITY, f64::min);
        if !smallest.is_finite() {
            return None;
        }
        let mut constant: Vec<f64> =
            self.ln_diagonal.iter().map(|ln_d| (-0.5 * (ln_d - smallest)).exp()).collect();
        let length = norm_squared(&constant).sqrt();
        constant.iter_mut().for_each(|g| *g /= length);
        for vector in &mut self.scaled {
            remove(vector, &constant);
        }
        Some((smallest, constant, length))
    }

    /// `E (Eᵀ G E)⁻¹ Eᵀ = D^{−1/2}(I − ĝĝᵀ + U((I + C)⁻¹ − I)Uᵀ)D^{−1/2}`, with `U` an orthonormal basis of
    /// the vectors and `C` the sum of their signed outer products in it.
    pub fn inverse_off_one(mut self, tolerance: f64) -> Option<InverseOffOne> {
        let (_, constant, _) = self.project()?;
        let roots: Vec<f64> = self.ln_diagonal.iter().map(|ln_d| (-0.5 * ln_d).exp()).collect();
        let scaled = |vector: &[f64]| vector.iter().zip(&roots).map(|(v, root)| v * root).collect();
        let span = Span::of(&mut self.scaled, tolerance);
        let sum = span.identity_plus(&self.subtracted);
        let entry = |i: usize, j: usize| if i >= j { sum[i][j] } else { sum[j][i] };
        let rank = sum.len();
        let mut terms: Vec<(f64, Vec<f64>)> = vec![(-1.0, scaled(&constant))];
        if rank > 0 {
            let eigen = Mat::from_fn(rank, rank, entry).self_adjoint_eigen(Side::Lower).ok()?;
            for r in 0..rank {
                check();
                let mut vector = vec![0.0; roots.len()];
                for (i, unit) in span.units.iter().enumerate() {
                    let along = eigen.U()[(i, r)];
                    vector.iter_mut().zip(unit).for_each(|(v, u)| *v += along * u);
                }
                // Also rejects NaN.
                let value = Some(eigen.S()[r]).filter(|value| *value > 0.0)?;
                terms.push((1.0 / value - 1.0, scaled(&vector)));
            }
        }
        Some(InverseOffOne { diagonal: roots.iter().map(|root| root * root).collect(), terms })
    }
}

fn norm_squared(vector: &[f64]) -> f64 {
    dot(vector, vector)
}

/// The scalar product, in eight partial sums that the compiler can vectorise.
fn dot(left: &[f64], right: &[f64]) -> f64 {
    let mut partial = [0.0; 8];
    let (chunks, others) = (left.chunks_exact(8), right.chunks_exact(8));
    let rest: f64 = chunks.remainder().iter().zip(others.remainder()).map(|(l, r)| l * r).sum();
    for (l, r) in chunks.zip(others) {
        (0..8).for_each(|i| partial[i] += l[i] * r[i]);
    }
    partial.iter().sum::<f64>() + rest
}

fn remove(vector: &mut [f64], unit: &[f64]) -> f64 {
    let along = dot(vector, unit);
    vector.iter_mut().zip(unit).for_each(|(v, u)| *v -= along * u);
    along
}

/// A matrix `diag(e) + Σ_r c_r y_r y_rᵀ`: the inverse of a Fisher information on the hyperplane orthogonal to `1`.
#[derive(Debug)]
pub struct InverseOffOne {
    /// `e`.
    pub diagonal: Vec<f64>,
    /// Pairs of `c_r` and `y_r`.
    pub terms: Vec<(f64, Vec<f64>)>,
}

/// An orthonormal basis of the numerical span of some vectors.
struct Span {
    units: Vec<Vec<f64>>,
    /// For each basis vector, the coordinates of all vectors along it.
    coordinates: Vec<Vec<f64>>,
}

impl Span {
    /// Stops when the squares of the remainders sum to less than `tolerance`: the trace bounds the error of
    /// the determinant.
    fn of(vectors: &mut [Vec<f64>], tolerance: f64) -> Self {
        let mut remaining: Vec<f64> = vectors.iter().map(|v| norm_squared(v)).collect();
        let mut span = Span { units: Vec::new(), coordinates: Vec::new() };
        let dimension = vectors.first().map_or(0, Vec::len);
        while remaining.iter().sum::<f64>() > tolerance && span.units.len() < dimension {
            check();
            let pivot =
                (0..remaining.len()).max_by(|&i, &j| remaining[i].total_cmp(&remaining[j])).unwrap_or(0);
            let length = norm_squared(&vectors[pivot]).sqrt();
            let unit: Vec<f64> = vectors[pivot].iter().map(|v| v / length).collect();
            // A vector that is already negligible is left as it is: its coordinate would not matter.
            let negligible = tolerance / (16.0 * remaining.len() as f64);
            let along = vectors.iter_mut().zip(&mut remaining).map(|(vector, left)| {
                if *left < negligible {
                    return 0.0;
                }
                let along = remove(vector, &unit);
                *left = norm_squared(vector);
                along
            });
            span.coordinates.push(along.collect());
            span.units.push(unit);
        }
        span
    }

    /// The lower triangle of `I + Σ_k ± t_k t_kᵀ` in the basis.
    fn identity_plus(&self, subtracted: &[bool]) -> Vec<Vec<f64>> {
        let entry = |i: usize, j: usize| {
            let terms = self.coordinates[i].iter().zip(&self.coordinates[j]).zip(subtracted);
            let sum: f64 = terms.map(|((s, t), &minus)| if minus { -s * t } else { s * t }).sum();
            sum + f64::from(u8::from(i == j))
        };
        (0..self.coordinates.len()).map(|i| (0..=i).map(|j| entry(i, j)).collect()).collect()
    }
}

/// `ln det` of a symmetric positive definite matrix given by its lower triangle, `None` if it is not positive definite.
pub(super) fn ln_det_positive(mut matrix: Vec<Vec<f64>>) -> Option<f64> {
    let mut total = 0.0;
    for i in 0..matrix.len() {
        check();
        for j in 0..=i {
            let (above, below) = matrix.split_at_mut(i);
            let row = &mut below[0];
            let other = if j < i { &above[j] } else { &row.clone() };
            let value = row[j] - dot(&row[..j], &other[..j]);
            if j < i {
                row[j] = value / other[j];
            } else if value > 0.0 {
                row[i] = value.sqrt();
                total += value.ln();
            } else {
                return None;
            }
        }
    }
    Some(total)
}
