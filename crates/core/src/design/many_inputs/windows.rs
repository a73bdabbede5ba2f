//! Means over all windows of a circular order of the inputs.

use super::Sizes;
use crate::fisher::{InverseOffOne, Point};

/// Prefix sums along a circular order of the inputs, over two rounds.
pub(super) struct Windows {
    inputs: usize,
    beta: f64,
    probability: Vec<f64>,
    diagonal: Vec<f64>,
    /// The diagonal of the whole inverse.
    trace: Vec<f64>,
    terms: Vec<(f64, Vec<f64>)>,
}

impl Windows {
    pub(super) fn new(inverse: &InverseOffOne, point: &Point, order: &[usize], epsilon: f64) -> Self {
        let prefix = |value: &dyn Fn(usize) -> f64| {
            let mut sums = vec![0.0];
            for &x in order.iter().chain(order) {
                sums.push(sums[sums.len() - 1] + value(x));
            }
            sums
        };
        let whole =
            |x: usize| inverse.diagonal[x] + inverse.terms.iter().map(|(c, y)| c * y[x] * y[x]).sum::<f64>();
        Windows {
            inputs: order.len(),
            beta: epsilon.exp_m1(),
            probability: prefix(&|x| point.p()[x]),
            diagonal: prefix(&|x| inverse.diagonal[x]),
            trace: prefix(&whole),
            terms: inverse.terms.iter().map(|(c, y)| (*c, prefix(&|x| y[x]))).collect(),
        }
    }

    /// The means over all windows of length `k` of `q/(1 + βp)` and of `tr_{S^c} A/(1 + βp)`.
    fn means(&self, k: usize) -> (f64, f64) {
        let total = self.trace[self.inputs];
        let (mut square, mut rest) = (0.0, 0.0);
        for i in 0..self.inputs {
            let sum = |prefix: &[f64]| prefix[i + k] - prefix[i];
            let squares: f64 = self.terms.iter().map(|(c, y)| c * sum(y).powi(2)).sum();
            let share = 1.0 / (1.0 + self.beta * sum(&self.probability));
            square += share * (sum(&self.diagonal) + squares);
            rest += share * (total - sum(&self.trace));
        }
        (square / self.inputs as f64, rest / self.inputs as f64)
    }

    /// `β²/(1 + βj/a)`.
    fn scale(&self, j: usize) -> f64 {
        self.beta * self.beta / (1.0 + self.beta * j as f64 / self.inputs as f64)
    }

    /// For each size its sensitivity (or the bound from the next smaller priced size) less that of the mixture.
    pub(super) fn reduced_costs(&self, sizes: &Sizes, priced: &[usize]) -> Vec<f64> {
        let means: Vec<(usize, (f64, f64))> = priced.iter().map(|&k| (k, self.means(k))).collect();
        let mut sensitivities = vec![0.0; self.inputs - 1];
        for (i, &(k, (square, rest))) in means.iter().enumerate() {
            let next = means.get(i + 1).map_or(self.inputs, |next| next.0);
            for j in k..next {
                let others = (self.inputs - k) as f64;
                let added = (j - k) as f64;
                let (rho, rho_next) = (added / others, (added - 1.0) / (others - 1.0).max(1.0));
                let bound = if j == k {
                    square
                } else {
                    square * (1.0 - 2.0 * rho + rho * rho_next) + rho * (1.0 - rho_next) * rest
                };
                sensitivities[j - 1] = self.scale(j) * bound;
            }
        }
        let own: f64 = sizes.iter().map(|(k, weight)| weight * sensitivities[k - 1]).sum();
        sensitivities.iter_mut().for_each(|sensitivity| *sensitivity -= own);
        sensitivities
    }
}
