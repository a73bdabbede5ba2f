//! Control variates: a mean corrected by the known means of other quantities, from independent replicates.

/// The least-squares intercept of `values` on the deviations of `controls` from their known means, and its standard error.
///
/// One row of `controls` for each value. With `R` replicates and `m` controls the estimate is exactly unbiased, and its error about Student with
/// `R − m − 1` degrees of freedom, if the replicate means are jointly normal; else its bias is of order `1/R` of its error. The error is that
/// of leaving out one replicate at a time (HC3): the usual one missed twice as often as it should where unusual controls come
/// with large residuals, as at `α = 0.02`. It is inflated by the ratio of the Student and normal 97.5 % points, so that ±1.96 errors cover 95 %. A control that is
/// (nearly) a combination of the earlier ones is left out.
pub(crate) fn controlled_mean(values: &[f64], controls: &[Vec<f64>], known: &[f64]) -> (f64, f64) {
    let r = values.len() as f64;
    let average = |column: &dyn Fn(usize) -> f64| (0..values.len()).map(column).sum::<f64>() / r;
    let mut mean = average(&|i| values[i]);
    let mut residual: Vec<f64> = values.iter().map(|v| v - mean).collect();
    // Orthonormal centred controls, each with the deviation of its own mean from the known one.
    let mut basis: Vec<(Vec<f64>, f64)> = Vec::new();
    // The estimate is Σ weight · value; leverage is how far a replicate pulls the fit towards itself.
    let (mut weights, mut leverages) = (vec![1.0 / r; values.len()], vec![1.0 / r; values.len()]);
    for (c, known) in known.iter().enumerate() {
        let centre = average(&|i| controls[i][c]);
        let mut column: Vec<f64> = controls.iter().map(|row| row[c] - centre).collect();
        let (mut offset, before) = (centre - known, norm(&column));
        for (unit, unit_offset) in &basis {
            let along = dot(&column, unit);
            column.iter_mut().zip(unit).for_each(|(v, u)| *v -= along * u);
            offset -= along * unit_offset;
        }
        let length = norm(&column);
        // Below 1e-5 of its length what is left is mostly what the others explain; below 1e-13 of its value, rounding.
        if !(length > 1e-5 * before && length > 1e-13 * centre.abs()) {
            continue;
        }
        column.iter_mut().for_each(|v| *v /= length);
        offset /= length;
        let slope = dot(&residual, &column);
        residual.iter_mut().zip(&column).for_each(|(v, u)| *v -= slope * u);
        mean -= slope * offset;
        for (i, u) in column.iter().enumerate() {
            weights[i] -= u * offset;
            leverages[i] += u * u;
        }
        basis.push((column, offset));
    }
    let freedom = r - 1.0 - basis.len() as f64;
    let share = |i: usize| (weights[i] * residual[i] / (1.0 - leverages[i]).max(1e-3)).powi(2);
    let variance: f64 = (0..values.len()).map(share).sum();
    (mean, variance.sqrt() * student_inflation(freedom))
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(l, r)| l * r).sum()
}

fn norm(vector: &[f64]) -> f64 {
    dot(vector, vector).sqrt()
}

/// `t_{0.975}/z_{0.975}` (Cornish and Fisher), within `1e-3` for ten or more degrees of freedom.
fn student_inflation(freedom: f64) -> f64 {
    let square = 1.959_963_984_540_054_f64.powi(2);
    1.0 + (square + 1.0) / (4.0 * freedom)
        + (5.0 * square * square + 16.0 * square + 3.0) / (96.0 * freedom * freedom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_function_of_its_control_is_exact() {
        let controls: Vec<Vec<f64>> = (0..8).map(|i| vec![f64::from(i * i)]).collect();
        let values: Vec<f64> = controls.iter().map(|row| 3.0 - 2.0 * row[0]).collect();
        let (mean, error) = controlled_mean(&values, &controls, &[10.0]);
        assert!((mean + 17.0).abs() < 1e-12 && error < 1e-12);
    }

    #[test]
    fn student_is_wider_than_normal() {
        assert!((student_inflation(10.0) * 1.959_964 - 2.228_139).abs() < 1e-2);
        assert!((student_inflation(28.0) * 1.959_964 - 2.048_407).abs() < 1e-3);
    }
}
