//! The columns of a matrix in whole numbers, rounded toward privacy.
//!
//! Each probability is rounded down to a multiple of `2^−64`, but never from a positive one to 0, and what is missing in a column goes to its
//! most likely output. That changes the ratios within a row a little, the more the smaller its entries are. Where the level of the matrix is
//! exceeded, a trace of the protocol that says nothing is mixed in, in whole numbers:
//!
//! ```text
//! w'_yx = w_yx − ⌊w_yx / 2^s⌋ + ⌊m_y / 2^s⌋,        m_y = ⌊Σ_x w_yx / a⌋
//! ```
//!
//! with the largest `s` of 52, 48, …, 8 that brings the level back. It exists unless rows have entries of a few words; then the matrix is
//! refused.

use sottovoce::protocol::Matrix;

use crate::chance::Wheel;
use crate::loss::Loss;
use crate::realised::columns_loss;
use crate::rounding::{completed, words};

/// The first and last share `2^−s` of the protocol that says nothing, and how `s` changes from one to the next.
const FIRST: u32 = 52;
const LAST: u32 = 8;
const STEP: usize = 4;

/// The columns, with a loss within `level` if there are such.
pub(crate) fn columns(matrix: &Matrix, level: f64) -> Vec<Wheel> {
    let a = matrix.rows().next().map_or(0, <[f64]>::len);
    let plain: Vec<Wheel> = (0..a).map(|x| wheel(matrix.rows().map(|row| words(row[x])).collect())).collect();
    let outputs = matrix.rows().len();
    let kept = |columns: &Vec<Wheel>| columns_loss(outputs, columns).within(level);
    if kept(&plain) || columns_loss(outputs, &plain) == Loss::Infinite {
        return plain;
    }
    let means: Vec<u128> =
        matrix.rows().map(|row| row.iter().map(|q| words(*q)).sum::<u128>() / a as u128).collect();
    let mixed = |shift: u32| -> Vec<Wheel> {
        let weight = |(row, mean): (&[f64], &u128), x: usize| {
            let own = words(row[x]);
            own - (own >> shift) + (mean >> shift)
        };
        let column = |x: usize| wheel(matrix.rows().zip(&means).map(|entry| weight(entry, x)).collect());
        (0..a).map(column).collect()
    };
    (LAST..=FIRST).rev().step_by(STEP).map(mixed).find(kept).unwrap_or(plain)
}

fn wheel(weights: Vec<u128>) -> Wheel {
    Wheel::of(&completed(weights))
}
