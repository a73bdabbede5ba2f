//! Rounding toward privacy: the doubles of a protocol keep the required level.
//!
//! Entries are rounded, and columns are divided by their sums, so the ratios within a row may exceed `e^ε` by some units in the last place. Mixing in a
//! trace of a constant protocol with the same output probabilities brings them below `e^ε` again.

use super::tolerances::Rounding;
use crate::model::error::Result;
use crate::model::protocol::Protocol;

/// The protocol with these rows, or one so close to it that its level is at most `epsilon`.
///
/// # Errors
/// The rows are not a protocol.
pub(super) fn within_level(rows: Vec<Vec<f64>>, epsilon: f64, rounding: &Rounding) -> Result<Protocol> {
    let mut protocol = Protocol::matrix(rows.clone())?;
    for exponent in (rounding.first_share_exponent..=rounding.last_share_exponent).step_by(2) {
        if protocol.level()? <= epsilon {
            break;
        }
        protocol = Protocol::matrix(mixed_with_constant(&rows, 2f64.powi(exponent)))?;
    }
    Ok(protocol)
}

/// The rows with a share `constant` of their means: the protocol that reports `y` with its average probability, whatever the value.
pub(super) fn mixed_with_constant(rows: &[Vec<f64>], constant: f64) -> Vec<Vec<f64>> {
    let row = |row: &Vec<f64>| {
        let mean = row.iter().sum::<f64>() / row.len() as f64;
        row.iter().map(|q| q + constant * (mean - q)).collect()
    };
    rows.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_that_rounding_raised_is_lowered_again() {
        let rounding = Rounding::default();
        for epsilon in [1e-3, 0.5, 1.0, 8.0] {
            let (e, sum) = (f64::exp(epsilon), f64::exp(epsilon) + 1.0);
            let above = [vec![e * (1.0 + 1e-13) / sum, 1.0 / sum], vec![1.0 / sum, e / sum]];
            let raised = Protocol::matrix(above.to_vec()).unwrap().level().unwrap();
            assert!(raised > epsilon);
            let level = within_level(above.to_vec(), epsilon, &rounding).unwrap().level().unwrap();
            assert!(level <= epsilon && level > epsilon - 1e-9, "{epsilon}: {level}");
        }
        let kept = vec![vec![0.6, 0.4], vec![0.4, 0.6]];
        assert_eq!(within_level(kept.clone(), 1.0, &rounding).unwrap(), Protocol::matrix(kept).unwrap());
    }
}
