//! The rank of a protocol: exact where the structure decides it, numerical where it does not.

use faer::{Mat, MatRef};

use crate::model::error::{Error, Result};

/// The rank `rk Q`.
///
/// For a dense matrix it is the number of singular values above `tolerance = 4 · max(rows, columns) · 2⁻⁵²` times the
/// largest. The answer is *ambiguous* when a counted singular value is within a factor [`AMBIGUITY`] of the tolerance or
/// a discarded one within a factor 10 of it: the matrix may then be a rounded version of one with another rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rank {
    /// The rank.
    pub value: usize,
    /// The smallest counted singular value over the largest; `None` where the structure decides the rank.
    pub smallest: Option<f64>,
    /// Whether another rank is numerically possible.
    pub ambiguous: bool,
}

/// How far above the tolerance a singular value must be to count without doubt.
pub const AMBIGUITY: f64 = 1e4;

impl Rank {
    /// A rank that follows from the structure.
    pub fn exact(value: usize) -> Self {
        Rank { value, smallest: None, ambiguous: false }
    }

    fn of_singular_values(values: &[f64], size: usize) -> Self {
        let largest = values.iter().copied().fold(0.0, f64::max);
        let tolerance = 4.0 * size as f64 * f64::EPSILON;
        let relative = |s: &&f64| **s > tolerance * largest;
        let kept = values.iter().filter(relative).copied().fold(f64::INFINITY, f64::min) / largest;
        let dropped = values.iter().filter(|s| !relative(s)).copied().fold(0.0, f64::max) / largest;
        Rank {
            value: values.iter().filter(relative).count(),
            smallest: Some(kept),
            ambiguous: kept < tolerance * AMBIGUITY || dropped > tolerance / 10.0,
        }
    }
}

/// The span of a protocol's rows.
#[derive(Clone, Debug)]
pub enum RowSpace {
    /// All of `R^a`: the protocol is faithful, by its structure.
    Full,
    /// The span of the rows of a matrix, with the rank that was found for it.
    Span(Mat<f64>, Rank),
}

impl RowSpace {
    /// The constant vectors: the row space of a protocol that ignores its input.
    pub fn constant(a: usize) -> Self {
        RowSpace::Span(Mat::from_fn(1, a, |_, _| 1.0), Rank::exact(1))
    }

    /// The span of the given rows, reduced to an orthonormal basis.
    ///
    /// # Errors
    /// The singular value decomposition does not converge.
    pub fn of_rows(rows: MatRef<'_, f64>) -> Result<Self> {
        let failed = || Error::SingularValues { rows: rows.nrows(), columns: rows.ncols() };
        let svd = rows.thin_svd().map_err(|_| failed())?;
        let values: Vec<f64> = svd.S().column_vector().iter().copied().collect();
        let rank = Rank::of_singular_values(&values, rows.nrows().max(rows.ncols()));
        let v = svd.V();
        Ok(RowSpace::Span(Mat::from_fn(rank.value, rows.ncols(), |i, x| v[(x, i)]), rank))
    }

    /// The rank of a protocol on `a` inputs with this row space.
    pub fn rank(&self, a: usize) -> Rank {
        match self {
            RowSpace::Full => Rank::exact(a),
            RowSpace::Span(_, rank) => *rank,
        }
    }

    /// The row space of a mixture: the sum of the spaces.
    ///
    /// # Errors
    /// The singular value decomposition does not converge.
    pub fn sum(self, other: RowSpace) -> Result<Self> {
        let (RowSpace::Span(rows, _), RowSpace::Span(others, _)) = (&self, &other) else {
            return Ok(RowSpace::Full);
        };
        let stacked = Mat::from_fn(rows.nrows() + others.nrows(), rows.ncols(), |i, x| {
            if i < rows.nrows() { rows[(i, x)] } else { others[(i - rows.nrows(), x)] }
        });
        RowSpace::of_rows(stacked.as_ref())
    }

    /// The row space of a product: the span of all entry-wise products. It contains each of the spaces, because the
    /// rows of a stochastic matrix add up to the constant vector.
    ///
    /// # Errors
    /// The singular value decomposition does not converge.
    pub fn product(self, other: RowSpace) -> Result<Self> {
        let (RowSpace::Span(rows, _), RowSpace::Span(others, _)) = (&self, &other) else {
            return Ok(RowSpace::Full);
        };
        let products = Mat::from_fn(rows.nrows() * others.nrows(), rows.ncols(), |i, x| {
            rows[(i / others.nrows(), x)] * others[(i % others.nrows(), x)]
        });
        RowSpace::of_rows(products.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nearly_singular_matrix_is_ambiguous() {
        let nearly = Mat::from_fn(2, 2, |i, j| if i == j { 0.5 + 1e-14 } else { 0.5 - 1e-14 });
        let RowSpace::Span(_, rank) = RowSpace::of_rows(nearly.as_ref()).unwrap() else { panic!() };
        assert!(rank.ambiguous, "{rank:?}");
    }

    #[test]
    fn a_clear_rank_is_not_ambiguous() {
        let rows = [[0.5, 0.25, 0.375], [0.25, 0.5, 0.375], [0.25, 0.25, 0.25]];
        let matrix = Mat::from_fn(3, 3, |i, j| rows[i][j]);
        let RowSpace::Span(_, rank) = RowSpace::of_rows(matrix.as_ref()).unwrap() else { panic!() };
        assert_eq!((rank.value, rank.ambiguous), (2, false), "{rank:?}");
    }
}
