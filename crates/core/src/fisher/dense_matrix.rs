//! Any protocol, as a matrix.

use faer::Mat;

use super::{FisherInformation, Point};
use crate::numerics::quadratic_form::inverse_quadratic_form;
use crate::numerics::stop::check;

/// A protocol given by its matrix, `b` rows of `a` probabilities.
///
/// # Method and cost
/// `ln det M = 2 ln |det R|` with `R` from a Householder QR decomposition of the `b × (a−1)` matrix
/// `(q_yx − q_yr)/√(Qp)_y`, `r` the most probable input: `O(b a²)`. Near the boundary of the simplex the rows
/// differ by hundreds of orders of magnitude. Pivoting both columns and rows keeps the error small row by row
/// (Cox and Higham 1998). A Cholesky decomposition of `J` or Gram–Schmidt would lose all digits: two inputs
/// of probability `e^{−80}` that share an output are enough.
///
/// # Accuracy
/// Relative error below `2e-15` (`tests/fisher_extremes.rs`: 24 matrices with and without zeros, `a ≤ 6`,
/// `b ≤ 9`, coordinates of `p` down to `e^{−1500}`, against 2000 digits). Differences of columns are computed
/// by subtraction, which at `ε = 1e-6` costs ten digits of `q`; [`DenseMatrix::with_deviations`] avoids that.
///
/// # Example
/// ```
/// use sottovoce::fisher::{DenseMatrix, FisherInformation, Point};
/// let identity = DenseMatrix::new(2, vec![1.0, 0.0, 0.0, 1.0]);
/// let half = Point::from_probabilities(vec![0.5, 0.5]);
/// assert!((identity.ln_det(&half) - 4f64.ln()).abs() < 1e-15);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DenseMatrix {
    inputs: usize,
    rows: Vec<f64>,
    deviations: Vec<f64>,
}

impl DenseMatrix {
    /// The protocol with matrix `rows`, in row-major order. Rows of zeros are dropped: those outputs never
    /// occur.
    ///
    /// # Panics
    /// If the length of `rows` is not a multiple of `inputs`.
    pub fn new(inputs: usize, rows: Vec<f64>) -> Self {
        let deviations = rows.clone();
        DenseMatrix::with_deviations(inputs, rows, deviations)
    }

    /// The same, with `deviations` `q_yx − c_y` from any reference `c_y` of the row, for protocols that are
    /// nearly constant.
    ///
    /// # Panics
    /// If the lengths of `rows` and `deviations` differ, or are not a multiple of `inputs`.
    pub fn with_deviations(inputs: usize, rows: Vec<f64>, deviations: Vec<f64>) -> Self {
        assert!(
            rows.len() == deviations.len() && rows.len().is_multiple_of(inputs),
            "rows of {inputs} entries"
        );
        let occurs: Vec<bool> = rows.chunks(inputs).map(|row| row.iter().any(|&q_yx| q_yx > 0.0)).collect();
        let occurring = |entries: Vec<f64>| {
            let chunks = entries.chunks(inputs).zip(&occurs);
            chunks.filter(|(_, occurs)| **occurs).flat_map(|(row, _)| row.to_vec()).collect::<Vec<_>>()
        };
        DenseMatrix { inputs, rows: occurring(rows), deviations: occurring(deviations) }
    }

    /// `ln (Qp)_y`, even where all `p_x` with `q_yx > 0` underflow.
    fn ln_output(&self, row: &[f64], point: &Point) -> f64 {
        let plain: f64 = row.iter().zip(point.p()).map(|(q_yx, p_x)| q_yx * p_x).sum();
        // If the sum is above 1e-280, probabilities that underflowed contribute less than one part in 1e28.
        if plain > 1e-280 {
            return plain.ln();
        }
        let terms: Vec<f64> = row.iter().zip(point.ln_p()).map(|(q_yx, ln_p)| q_yx.ln() + ln_p).collect();
        let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        largest + terms.iter().map(|term| (term - largest).exp()).sum::<f64>().ln()
    }

    /// The class of each input, named by its first input: two inputs are in one class if they share an output,
    /// or if a chain of such inputs links them.
    pub fn input_classes(&self) -> Vec<usize> {
        let mut class: Vec<usize> = (0..self.inputs).collect();
        for row in self.rows.chunks(self.inputs) {
            let merged: Vec<usize> = (0..self.inputs).filter(|x| row[*x] > 0.0).map(|x| class[x]).collect();
            let first = merged.iter().copied().min().unwrap_or(0);
            class.iter_mut().filter(|c| merged.contains(c)).for_each(|c| *c = first);
        }
        class
    }

    /// The columns `q_x − q_r`, and `−½ ln (Qp)_y` for each row.
    fn columns(&self, point: &Point) -> (Vec<Vec<f64>>, Vec<f64>) {
        let reference = point.mode();
        let column =
            |x: usize| self.deviations.chunks(self.inputs).map(|row| row[x] - row[reference]).collect();
        let ln_scales = self.rows.chunks(self.inputs).map(|row| -0.5 * self.ln_output(row, point)).collect();
        ((0..self.inputs).filter(|&x| x != reference).map(column).collect(), ln_scales)
    }
}

/// Scales up to `e^{300}` can be applied directly: squares of entries and their sums stay below `1e308`.
const LN_LARGEST_SCALE: f64 = 300.0;

impl FisherInformation for DenseMatrix {
    fn inputs(&self) -> usize {
        self.inputs
    }

    fn operations(&self, _smallest: f64) -> f64 {
        4.0 * self.rows.len() as f64 * self.inputs as f64
    }

    fn numbers(&self, _smallest: f64) -> f64 {
        3.0 * self.rows.len() as f64
    }

    fn ln_det(&self, point: &Point) -> f64 {
        let (mut columns, ln_scales) = self.columns(point);
        if ln_scales.iter().any(|&ln_scale| ln_scale > LN_LARGEST_SCALE) {
            return 2.0 * graded::ln_abs_det_triangle(columns, ln_scales);
        }
        let scales: Vec<f64> = ln_scales.iter().map(|ln_scale| ln_scale.exp()).collect();
        for column in &mut columns {
            column.iter_mut().zip(&scales).for_each(|(entry, scale)| *entry *= scale);
        }
        2.0 * ln_abs_det_triangle(columns)
    }

    fn efficient_variance(&self, point: &Point, x: usize) -> Option<f64> {
        // The reference input must be another one; the most probable one keeps the differences of columns large.
        let others = (0..self.inputs).filter(|other| *other != x);
        let reference = others.max_by(|l, r| point.ln_p()[*l].total_cmp(&point.ln_p()[*r]))?;
        let free: Vec<usize> = (0..self.inputs).filter(|other| *other != reference).collect();
        let mut information = vec![0.0; free.len() * free.len()];
        for (row, deviation) in self.rows.chunks(self.inputs).zip(self.deviations.chunks(self.inputs)) {
            let weight = (-self.ln_output(row, point)).exp();
            let differences: Vec<f64> = free.iter().map(|x| deviation[*x] - deviation[reference]).collect();
            for (line, d_x) in information.chunks_mut(free.len()).zip(&differences) {
                line.iter_mut().zip(&differences).for_each(|(j, d_y)| *j += weight * d_x * d_y);
            }
        }
        let unit: Vec<f64> = free.iter().map(|other| f64::from(u8::from(*other == x))).collect();
        inverse_quadratic_form(|i, j| information[i * free.len() + j], &unit)
    }

    /// By the canonical correlations `σ_i` of value and report, the singular values of
    /// `D_{Qp}^{−1/2} Q D_p^{1/2}`: `Σ_i ln(1 − σ_i²)`. One for each class of outputs is 1 and is left out.
    fn ln_hidden(&self, point: &Point) -> f64 {
        let rows: Vec<(&[f64], f64)> =
            self.rows.chunks(self.inputs).map(|row| (row, self.ln_output(row, point))).collect();
        let entry = |y: usize, x: usize| {
            let (row, ln_output) = rows[y];
            if row[x] == 0.0 { 0.0 } else { row[x] * (0.5 * (point.ln_p()[x] - ln_output)).exp() }
        };
        let Ok(correlations) = Mat::from_fn(rows.len(), self.inputs, entry).singular_values() else {
            return f64::NAN;
        };
        let classes = self.input_classes().iter().enumerate().filter(|(x, class)| x == *class).count();
        correlations.iter().skip(classes).map(|sigma| (-sigma * sigma).ln_1p()).sum()
    }

    fn contrast(&self) -> f64 {
        let ratio = |row: &[f64]| {
            let largest = row.iter().copied().fold(0.0, f64::max);
            largest / row.iter().copied().fold(f64::INFINITY, f64::min) - 1.0
        };
        self.rows.chunks(self.inputs).map(ratio).fold(0.0, f64::max).min(1e6)
    }
}

/// `Σ ln |R_jj|` of a QR decomposition by Householder reflections with column and row pivoting.
fn ln_abs_det_triangle(mut columns: Vec<Vec<f64>>) -> f64 {
    let mut total = 0.0;
    for step in 0..columns.len() {
        check();
        let pivot = (step..columns.len())
            .max_by(|&i, &j| norm(&columns[i][step..]).total_cmp(&norm(&columns[j][step..])));
        columns.swap(step, pivot.unwrap_or(step));
        if step >= columns[step].len() || norm(&columns[step][step..]) == 0.0 {
            return f64::NEG_INFINITY;
        }
        pivot_rows(&mut columns, step);
        total += reflect(&mut columns, step).ln();
    }
    total
}

fn norm(entries: &[f64]) -> f64 {
    entries.iter().map(|v| v * v).sum::<f64>().sqrt()
}

fn pivot_rows(columns: &mut [Vec<f64>], step: usize) {
    let column = &columns[step];
    let row =
        (step..column.len()).max_by(|&i, &j| column[i].abs().total_cmp(&column[j].abs())).unwrap_or(step);
    columns.iter_mut().for_each(|column| column.swap(step, row));
}

/// Reflects column `step` onto its first free coordinate, along with all later columns, and returns its norm.
fn reflect(columns: &mut [Vec<f64>], step: usize) -> f64 {
    let (done, rest) = columns.split_at_mut(step + 1);
    let vector = &mut done[step][step..];
    let length = norm(vector);
    let first = vector[0];
    // v = x + sign(x₁)‖x‖e₁, divided by v₁ so that its entries are at most 1.
    let head = first + length.copysign(first);
    vector[0] = head;
    vector.iter_mut().for_each(|v| *v /= head);
    let factor = 1.0 + first.abs() / length;
    for column in rest {
        let tail = &mut column[step..];
        let projection = factor * tail.iter().zip(&*vector).map(|(t, v)| t * v).sum::<f64>();
        tail.iter_mut().zip(&*vector).for_each(|(t, v)| *t -= projection * v);
    }
    length
}

/// The same decomposition where the row scales do not fit a double: `p_x` below `e^{−600}`.
mod graded {
    use crate::numerics::stop::check;

    /// `Σ ln |R_jj|` of the matrix with entries `columns · exp(ln_scales)`, without ever forming the
    /// products.
    pub(super) fn ln_abs_det_triangle(mut columns: Vec<Vec<f64>>, mut ln_scales: Vec<f64>) -> f64 {
        let mut total = 0.0;
        for step in 0..columns.len() {
            check();
            let ln_norms: Vec<f64> =
                columns[step..].iter().map(|column| ln_norm(column, &ln_scales, step)).collect();
            let pivot = (0..ln_norms.len()).max_by(|&i, &j| ln_norms[i].total_cmp(&ln_norms[j])).unwrap_or(0);
            if !ln_norms[pivot].is_finite() {
                return f64::NEG_INFINITY;
            }
            columns.swap(step, step + pivot);
            let row = largest_row(&columns[step], &ln_scales, step);
            columns.iter_mut().for_each(|column| column.swap(step, row));
            ln_scales.swap(step, row);
            reflect(&mut columns, &ln_scales, step);
            total += ln_norms[pivot];
        }
        total
    }

    fn ln_entry(column: &[f64], ln_scales: &[f64], y: usize) -> f64 {
        column[y].abs().ln() + ln_scales[y]
    }

    fn largest_row(column: &[f64], ln_scales: &[f64], step: usize) -> usize {
        let ln = |y: usize| ln_entry(column, ln_scales, y);
        (step..column.len()).max_by(|&y, &z| ln(y).total_cmp(&ln(z))).unwrap_or(step)
    }

    fn ln_norm(column: &[f64], ln_scales: &[f64], step: usize) -> f64 {
        if step >= column.len() {
            return f64::NEG_INFINITY;
        }
        let ln = |y: usize| ln_entry(column, ln_scales, y);
        let largest = ln(largest_row(column, ln_scales, step));
        largest + 0.5 * (step..column.len()).map(|y| (2.0 * (ln(y) - largest)).exp()).sum::<f64>().ln()
    }

    /// The same reflection, with all scales relative to that of the pivot row.
    fn reflect(columns: &mut [Vec<f64>], ln_scales: &[f64], step: usize) {
        let (done, rest) = columns.split_at_mut(step + 1);
        let pivot = &done[step];
        // A row where the pivot column is zero is unaffected by the reflection, whatever its scale.
        let scale = |y: usize| if pivot[y] == 0.0 { 0.0 } else { (ln_scales[y] - ln_scales[step]).exp() };
        let scales: Vec<f64> = (step..pivot.len()).map(scale).collect();
        let true_pivot: Vec<f64> =
            pivot[step..].iter().zip(&scales).map(|(entry, scale)| entry * scale).collect();
        let length = super::norm(&true_pivot);
        let head = true_pivot[0] + length.copysign(true_pivot[0]);
        let factor = 1.0 + true_pivot[0].abs() / length;
        let shape = |i: usize, entry: f64| if i == 0 { 1.0 } else { entry / head };
        for column in rest {
            let terms = true_pivot.iter().zip(&scales).zip(&column[step..]).enumerate();
            let projection =
                factor * terms.map(|(i, ((v, scale), entry))| shape(i, *v) * scale * entry).sum::<f64>();
            for (i, entry) in column[step..].iter_mut().enumerate() {
                *entry -= projection * shape(i, pivot[step + i]);
            }
        }
    }
}
