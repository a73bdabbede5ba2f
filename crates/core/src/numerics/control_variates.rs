//! Control variates: a mean corrected by the known means of other quantities, from independent replicates.

use super::special::student_factor;

/// The least-squares fit of values by controls.
pub(crate) struct Fit {
    /// The fitted value where every control has its known mean.
    pub(crate) mean: f64,
    residuals: Vec<f64>,
    /// The mean is `Σ weight · value`.
    weights: Vec<f64>,
    /// How far each value pulls the fit towards itself.
    leverages: Vec<f64>,
    /// Degrees of freedom that are left.
    freedom: f64,
}

impl Fit {
    /// Fits `values` by the deviations of `controls` from their known means. One row of `controls` for each value.
    ///
    /// With `R` values and `m` controls the mean is exactly unbiased, and its error about Student with `R − m − 1` degrees of freedom, if they are
    /// jointly normal; else its bias is of order `1/R` of its error. A control that is (nearly) a combination of the earlier ones is left out.
    pub(crate) fn new(values: &[f64], controls: &[Vec<f64>], known: &[f64]) -> Self {
        let r = values.len() as f64;
        let average = |column: &dyn Fn(usize) -> f64| (0..values.len()).map(column).sum::<f64>() / r;
        let mean = average(&|i| values[i]);
        let shares = vec![1.0 / r; values.len()];
        let mut fit = Fit {
            mean,
            residuals: values.iter().map(|v| v - mean).collect(),
            weights: shares.clone(),
            leverages: shares,
            freedom: r - 1.0,
        };
        // Orthonormal centred controls, each with the deviation of its own mean from the known one.
        let mut basis: Vec<(Vec<f64>, f64)> = Vec::new();
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
            fit.add(&column, offset / length);
            basis.push((column, offset / length));
        }
        fit
    }

    /// Takes out what an orthonormal control explains; its own mean is `offset` above the known one.
    fn add(&mut self, column: &[f64], offset: f64) {
        let slope = dot(&self.residuals, column);
        self.residuals.iter_mut().zip(column).for_each(|(v, u)| *v -= slope * u);
        self.mean -= slope * offset;
        for (i, u) in column.iter().enumerate() {
            self.weights[i] -= u * offset;
            self.leverages[i] += u * u;
        }
        self.freedom -= 1.0;
    }

    /// The standard error of the mean from the residuals, `√(Σ e_i² / (freedom · R))`, stated so that ±1.96 errors cover 95 % ([`student_factor`]).
    pub(crate) fn error(&self) -> f64 {
        let free = self.freedom.max(1.0);
        let variance = dot(&self.residuals, &self.residuals) / free;
        student_factor(free) * (variance / self.residuals.len() as f64).sqrt()
    }

    /// The standard error from leaving out one value at a time (HC3), for few values whose spread depends on the controls: the usual one missed
    /// twice as often as it should where unusual controls come with large residuals, as at `α = 0.02`. Stated as [`Fit::error`] is.
    pub(crate) fn robust_error(&self) -> f64 {
        let share =
            |i: usize| (self.weights[i] * self.residuals[i] / (1.0 - self.leverages[i]).max(1e-3)).powi(2);
        let variance: f64 = (0..self.residuals.len()).map(share).sum();
        variance.sqrt() * student_factor(self.freedom)
    }
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(l, r)| l * r).sum()
}

fn norm(vector: &[f64]) -> f64 {
    dot(vector, vector).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_function_of_its_control_is_exact() {
        let controls: Vec<Vec<f64>> = (0..8).map(|i| vec![f64::from(i * i)]).collect();
        let values: Vec<f64> = controls.iter().map(|row| 3.0 - 2.0 * row[0]).collect();
        let fit = Fit::new(&values, &controls, &[10.0]);
        assert!((fit.mean + 17.0).abs() < 1e-12 && fit.error() < 1e-12 && fit.robust_error() < 1e-12);
    }
}
