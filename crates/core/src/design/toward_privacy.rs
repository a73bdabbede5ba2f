//! Rows whose doubles keep the required level.
//!
//! The entries of a protocol are rounded, and its columns are divided by their sums, so that the ratios within a row are off by some units of the
//! last place or more. A trace of the protocol that says nothing, with the same weights, brings them below `e^ε` again.

use crate::model::error::Result;
use crate::model::protocol::Protocol;

/// The smallest share of the protocol that says nothing, as a power of two: a few units of the last place.
const FIRST: i32 = -48;
/// The largest one.
const LAST: i32 = -20;

/// The protocol with these rows, or one so close to it that its level is at most `epsilon`.
///
/// # Errors
/// The rows are no protocol.
pub(super) fn within(rows: Vec<Vec<f64>>, epsilon: f64) -> Result<Protocol> {
    let mut protocol = Protocol::matrix(rows.clone())?;
    let mut exponent = FIRST;
    while protocol.level()? > epsilon && exponent <= LAST {
        protocol = Protocol::matrix(with_blank(&rows, 2f64.powi(exponent)))?;
        exponent += 2;
    }
    Ok(protocol)
}

/// The rows with a share `blank` of their mean: the protocol that reports `y` with its average probability, whatever the value is.
pub(super) fn with_blank(rows: &[Vec<f64>], blank: f64) -> Vec<Vec<f64>> {
    let row = |row: &Vec<f64>| {
        let mean = row.iter().sum::<f64>() / row.len() as f64;
        row.iter().map(|q| q + blank * (mean - q)).collect()
    };
    rows.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_that_roundings_raised_is_lowered_by_a_trace() {
        for epsilon in [1e-3, 0.5, 1.0, 8.0] {
            let (e, sum) = (f64::exp(epsilon), f64::exp(epsilon) + 1.0);
            let above = [vec![e * (1.0 + 1e-13) / sum, 1.0 / sum], vec![1.0 / sum, e / sum]];
            let raised = Protocol::matrix(above.to_vec()).unwrap().level().unwrap();
            assert!(raised > epsilon);
            let level = within(above.to_vec(), epsilon).unwrap().level().unwrap();
            assert!(level <= epsilon && level > epsilon - 1e-9, "{epsilon}: {level}");
        }
        let kept = vec![vec![0.6, 0.4], vec![0.4, 0.6]];
        assert_eq!(within(kept.clone(), 1.0).unwrap(), Protocol::matrix(kept).unwrap());
    }
}
