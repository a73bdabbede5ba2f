//! A protocol given by its dense matrix.

use std::collections::HashMap;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rand::{Rng, RngExt};

use super::channel::rounding_of;
use super::identity::index_below;
use super::rank::{Rank, RowSpace};
use super::{Channel, MAX_ENTRIES, check_inputs};
use crate::model::error::{Error, Result};
use crate::model::output::Output;
use crate::numerics::stop::check;

/// Columns must sum to 1 within this.
pub const COLUMN_TOLERANCE: f64 = 1e-9;

/// Rows are merged when their entries, relative to the largest, agree to this many binary digits. A merge of rows that
/// differ by a relative `2⁻⁴⁴` changes a metric by its square; rows left apart change nothing.
const PROPORTIONAL_BITS: i32 = 44;

/// A `b × a` column-stochastic matrix, `rows[y][x] = Q_{y|x}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    a: usize,
    entries: Vec<f64>,
    /// The relative error of the entries: 0 where they were given.
    rounding: f64,
}

impl Matrix {
    /// The protocol with the given rows. Columns that sum to 1 only within [`COLUMN_TOLERANCE`] are divided by their sum.
    ///
    /// # Errors
    /// Rows are missing or of different length, an entry is no probability, a column does not sum to 1, or the matrix is
    /// too large.
    pub fn new(rows: Vec<Vec<f64>>) -> Result<Self> {
        let a = rows.first().ok_or(Error::Empty { name: "rows" })?.len();
        check_inputs(a)?;
        if rows.len().saturating_mul(a) > MAX_ENTRIES {
            return Err(Error::TooLarge { what: "matrix", outputs: rows.len().to_string(), inputs: a });
        }
        for (y, row) in rows.iter().enumerate() {
            if row.len() != a {
                return Err(Error::RaggedRow { row: y, found: row.len(), expected: a });
            }
            if let Some(x) = row.iter().position(|q| !(0.0..=1.0 + COLUMN_TOLERANCE).contains(q)) {
                return Err(Error::Entry { y, x, value: row[x] });
            }
        }
        let mut matrix = Matrix::from_stochastic(a, rows.into_iter().flatten().collect());
        matrix.normalise_columns()?;
        Ok(matrix)
    }

    /// A matrix whose columns are known to sum to 1 up to rounding.
    pub(crate) fn from_stochastic(a: usize, entries: Vec<f64>) -> Self {
        debug_assert_eq!(entries.len() % a, 0);
        Matrix { a, entries, rounding: 0.0 }
    }

    /// The same matrix, whose entries were computed with this relative error.
    pub(crate) fn with_rounding(self, rounding: f64) -> Self {
        Matrix { rounding, ..self }
    }

    fn normalise_columns(&mut self) -> Result<()> {
        let rounding = 4.0 * f64::EPSILON * self.rows().len() as f64;
        for x in 0..self.a {
            let sum: f64 = self.rows().map(|row| row[x]).sum();
            if (sum - 1.0).abs() > COLUMN_TOLERANCE {
                return Err(Error::ColumnSum { x, sum, tolerance: COLUMN_TOLERANCE });
            }
            if (sum - 1.0).abs() > rounding {
                self.entries.iter_mut().skip(x).step_by(self.a).for_each(|q| *q /= sum);
                self.rounding = rounding;
            }
        }
        Ok(())
    }

    /// The rows.
    pub fn rows(&self) -> std::slice::ChunksExact<'_, f64> {
        self.entries.chunks_exact(self.a)
    }

    /// The canonical form: rows of zeros dropped, proportional rows merged, in order of first appearance.
    ///
    /// No metric changes: an output that never occurs tells nothing, and outputs with proportional rows tell the same.
    pub fn canonical(&self) -> Matrix {
        let mut rows = MergedRows::new(self.a);
        self.rows().for_each(|row| rows.add(row));
        rows.into_matrix()
    }

    /// The matrix of the composition `after ∘ self`.
    ///
    /// # Errors
    /// The result, or the matrix of `after`, would be too large.
    pub fn then(&self, after: &dyn Channel) -> Result<Matrix> {
        let outer = after.countable_outputs(self.a.max(self.rows().len()))?;
        let after = after.to_matrix()?;
        let mut entries = vec![0.0; outer * self.a];
        let sparse = after.entries.iter().filter(|q| **q > 0.0).count() <= 4 * (outer + self.rows().len());
        if sparse {
            for (composed, weights) in entries.chunks_exact_mut(self.a).zip(after.rows()) {
                check();
                for (weight, row) in weights.iter().zip(self.rows()).filter(|(w, _)| **w > 0.0) {
                    composed.iter_mut().zip(row).for_each(|(q, q_yx)| *q += weight * q_yx);
                }
            }
        } else {
            let composed = MatMut::from_row_major_slice_mut(&mut entries, outer, self.a);
            matmul(composed, Accum::Replace, after.as_mat(), self.as_mat(), 1.0, Par::Seq);
        }
        Ok(Matrix::from_stochastic(self.a, entries))
    }

    /// The matrix as the linear algebra library sees it.
    pub(crate) fn as_mat(&self) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(&self.entries, self.rows().len(), self.a)
    }
}

/// Collects rows, merging proportional ones and dropping zeros, so that memory holds only different directions.
#[derive(Clone, Debug)]
pub struct MergedRows {
    a: usize,
    entries: Vec<f64>,
    position: HashMap<Vec<u64>, usize>,
}

impl MergedRows {
    /// No rows yet, on `a` inputs.
    pub fn new(a: usize) -> Self {
        MergedRows { a, entries: Vec::new(), position: HashMap::new() }
    }

    /// Adds a row to the one it is proportional to, or as a new one.
    pub fn add(&mut self, row: &[f64]) {
        let largest = row.iter().copied().fold(0.0, f64::max);
        if largest == 0.0 {
            return;
        }
        let scale = f64::from(PROPORTIONAL_BITS).exp2() / largest;
        // A positive entry never falls together with zero, however small it is.
        let digits = |q: &f64| if *q > 0.0 { 1 + (q * scale).round() as u64 } else { 0 };
        let next = self.entries.len() / self.a;
        let at = *self.position.entry(row.iter().map(digits).collect()).or_insert(next);
        if at == next {
            self.entries.extend_from_slice(row);
        } else {
            let merged = &mut self.entries[at * self.a..][..self.a];
            merged.iter_mut().zip(row).for_each(|(sum, q)| *sum += q);
        }
    }

    /// The number of different directions so far.
    pub fn len(&self) -> usize {
        self.entries.len() / self.a
    }

    /// Whether there is no row yet.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The merged rows as a matrix.
    pub fn into_matrix(self) -> Matrix {
        Matrix::from_stochastic(self.a, self.entries)
    }
}

impl Channel for Matrix {
    fn kind(&self) -> &'static str {
        "matrix"
    }

    fn inputs(&self) -> usize {
        self.a
    }

    fn outputs(&self) -> Option<usize> {
        Some(self.rows().len())
    }

    fn report_bits(&self) -> f64 {
        (self.rows().filter(|row| row.iter().any(|q| *q > 0.0)).count() as f64).log2()
    }

    fn output(&self, row: usize) -> Output {
        Output::Index(row)
    }

    fn row_of(&self, output: &Output) -> Result<usize> {
        index_below(output, self.rows().len())
    }

    fn entry(&self, row: usize, x: usize) -> Result<f64> {
        Ok(self.entries[row * self.a + x])
    }

    fn row_into(&self, row: usize, values: &mut [f64]) -> Result<()> {
        values.copy_from_slice(&self.entries[row * self.a..][..self.a]);
        Ok(())
    }

    fn sample(&self, x: usize, rng: &mut dyn Rng) -> Result<Output> {
        self.check_input(x)?;
        let mut rest = rng.random::<f64>();
        let hit = self.rows().position(|row| {
            rest -= row[x];
            rest < 0.0 && row[x] > 0.0
        });
        // The column may sum to a little less than 1: then the last possible output takes what is left.
        let last = || self.rows().rposition(|row| row[x] > 0.0);
        Ok(Output::Index(hit.or_else(last).unwrap_or(0)))
    }

    fn level_between(&self, x: usize, other: usize) -> Result<f64> {
        let possible = self.rows().filter(|row| row[x] > 0.0);
        Ok(possible.map(|row| ln_ratio(row[x], row[other])).fold(0.0, f64::max))
    }

    fn level(&self) -> Result<f64> {
        let ratio = |row: &[f64]| {
            let largest = row.iter().copied().fold(0.0, f64::max);
            let smallest = row.iter().copied().fold(f64::INFINITY, f64::min);
            if largest == 0.0 { 0.0 } else { ln_ratio(largest, smallest) }
        };
        Ok(self.rows().map(ratio).fold(0.0, f64::max))
    }

    fn level_error(&self) -> Result<f64> {
        Ok(rounding_of(self.level()?) + 2.0 * self.rounding)
    }

    fn uniform_level(&self) -> Option<f64> {
        None
    }

    fn rank(&self) -> Result<Rank> {
        Ok(self.row_space()?.rank(self.a))
    }

    fn row_space(&self) -> Result<RowSpace> {
        RowSpace::of_rows(self.canonical().as_mat())
    }

    fn share_output(&self, x: usize, other: usize) -> Result<bool> {
        Ok(self.rows().any(|row| row[x] > 0.0 && row[other] > 0.0))
    }

    fn rounding(&self) -> f64 {
        self.rounding
    }

    fn classes(&self) -> Result<usize> {
        let mut components = Components::new(self.a);
        for row in self.rows() {
            check();
            let mut possible = (0..self.a).filter(|&x| row[x] > 0.0);
            if let Some(first) = possible.next() {
                possible.for_each(|x| components.join(first, x));
            }
        }
        Ok(components.count())
    }
}

/// `ln(q/r)`: of the exact difference, which keeps relative accuracy when the two are close.
fn ln_ratio(q: f64, r: f64) -> f64 {
    ((q - r) / r).ln_1p()
}

/// Connected components of the inputs, where inputs that share an output are joined: as many as classes of outputs,
/// because each input has an output and each possible output an input.
pub(super) struct Components {
    parent: Vec<usize>,
}

impl Components {
    pub(super) fn new(a: usize) -> Self {
        Components { parent: (0..a).collect() }
    }

    fn root(&mut self, mut x: usize) -> usize {
        while self.parent[x] != x {
            self.parent[x] = self.parent[self.parent[x]];
            x = self.parent[x];
        }
        x
    }

    pub(super) fn join(&mut self, x: usize, other: usize) {
        let (x, other) = (self.root(x), self.root(other));
        self.parent[x] = other;
    }

    pub(super) fn connected(&mut self, x: usize, other: usize) -> bool {
        self.root(x) == self.root(other)
    }

    pub(super) fn count(&self) -> usize {
        self.parent.iter().enumerate().filter(|(x, parent)| x == *parent).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block() -> Matrix {
        let third = 1.0 / 3.0;
        Matrix::new(vec![vec![1.0, 0.0, 0.0], vec![0.0, 2.0 * third, third], vec![0.0, third, 2.0 * third]])
            .unwrap()
    }

    #[test]
    fn a_block_protocol_has_two_classes_and_no_worst_case_privacy() {
        assert_eq!(block().classes().unwrap(), 2);
        assert_eq!(block().level().unwrap(), f64::INFINITY);
        assert_eq!(block().rank().unwrap().value, 3);
    }

    #[test]
    fn zero_rows_are_skipped_by_the_level_and_dropped_by_the_canonical_form() {
        let matrix = Matrix::new(vec![vec![0.5, 0.25], vec![0.0, 0.0], vec![0.5, 0.75]]).unwrap();
        assert!((matrix.level().unwrap() - 2f64.ln()).abs() < 1e-15);
        assert_eq!(matrix.canonical().rows().len(), 2);
    }

    #[test]
    fn proportional_rows_are_merged() {
        let split = Matrix::new(vec![vec![0.1, 0.2], vec![0.3, 0.6], vec![0.6, 0.2]]).unwrap();
        let merged = split.canonical();
        assert_eq!(merged.rows().len(), 2);
        assert_eq!(merged.column(0).unwrap(), [0.1 + 0.3, 0.6]);
    }

    #[test]
    fn bad_matrices_are_refused_with_the_place() {
        let refused = |rows: &[&[f64]]| Matrix::new(rows.iter().map(|r| r.to_vec()).collect()).unwrap_err();
        assert_eq!(refused(&[]), Error::Empty { name: "rows" });
        assert_eq!(refused(&[&[1.0, 0.5], &[0.5]]), Error::RaggedRow { row: 1, found: 1, expected: 2 });
        assert_eq!(
            refused(&[&[0.5, 1.0], &[0.6, 0.0]]),
            Error::ColumnSum { x: 0, sum: 1.1, tolerance: 1e-9 }
        );
        assert_eq!(refused(&[&[1.5, 1.0], &[-0.5, 0.0]]), Error::Entry { y: 0, x: 0, value: 1.5 });
        assert!(matches!(refused(&[&[f64::NAN, 1.0], &[1.0, 0.0]]), Error::Entry { y: 0, x: 0, .. }));
        assert_eq!(refused(&[&[1.0]]), Error::Inputs { a: 1 });
    }
}
