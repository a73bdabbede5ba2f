//! Sensitivities at a partial disclosure protocol, as integrals.

use crate::numerics::parallel::*;

use super::PartialDisclosure;
use super::integrals::IntegralNode;
use crate::design::cubature::EstimatedMean;
use crate::design::direction::Direction;
use crate::design::expansion::Expansion;
use crate::design::packed_symmetric::entries;
use crate::design::sensitivity::Sensitivity;

impl Sensitivity for PartialDisclosure<'_> {
    fn of_each(&self, directions: &[Direction]) -> Vec<EstimatedMean> {
        let mean = |direction: &Direction| {
            let value = self.exact_sensitivity(direction);
            EstimatedMean { value, error: self.quadrature.relative_error * value }
        };
        directions.par_iter().map(mean).collect()
    }

    fn expansion(&self, direction: &Direction) -> Expansion {
        let v = &direction.values;
        let inputs = v.len();
        let mut sums = vec![0.0; 1 + inputs + entries(inputs)];
        let mut moments = Moments::new(inputs);
        self.integrals(v, &mut sums, |alpha, node, values| {
            moments.update(v, alpha, node);
            moments.write_expansion(v, alpha, node, values);
        });
        let mut hessian = sums.split_off(1 + inputs);
        let mut gradient = sums.split_off(1);
        for x in 0..inputs {
            gradient[x] /= v[x];
            (0..=x).for_each(|z| hessian[entries(x) + z] /= v[x] * v[z]);
        }
        Expansion { value: sums[0], gradient, hessian }
    }

    fn nodes(&self) -> usize {
        0
    }

    fn expansion_cost(&self) -> usize {
        (self.nodes_per_expansion / self.quadrature.step.powi(2)) as usize
    }
}

impl PartialDisclosure<'_> {
    /// `h(v)`. For two inputs with `v_z = 0` the term is a mean of the other alone: `P_x/(v·P)` does not depend on `P_z`.
    pub(super) fn exact_sensitivity(&self, direction: &Direction) -> f64 {
        let v = &direction.values;
        let mut sum = [0.0];
        self.integrals(v, &mut sum, |alpha, node, values| values[0] = integrand(v, alpha, node));
        sum[0]
    }
}

/// With the masses `m_x = α_x s w_x/R_x`, the variance of `v` under `m`, plus the pairs with an impossible input.
fn integrand(v: &[f64], alpha: &[f64], node: &IntegralNode) -> f64 {
    let (mut mass, mut first, mut impossible) = (0.0, 0.0, 0.0);
    let (mut parameter, mut damped) = (0.0, 0.0);
    for x in 0..v.len() {
        let m = alpha[x] * node.odds_ratio[x];
        if v[x] > 0.0 {
            mass += m;
            first += m * v[x];
            parameter += alpha[x];
            damped += alpha[x] * node.damping[x];
        } else {
            impossible += m;
        }
    }
    let mean = first / mass;
    let (mut variance, mut with_impossible) = (0.0, 0.0);
    for x in (0..v.len()).filter(|x| v[*x] > 0.0) {
        let m = alpha[x] * node.odds_ratio[x];
        variance += m * (v[x] - mean).powi(2);
        with_impossible += m * v[x].powi(2) * (damped + node.damping[x]);
    }
    mass * variance + impossible / parameter * with_impossible
}

/// Sums over the inputs at a node, from which products of up to four variables `P_x` follow: the `P_x` are independent gamma variables over their sum, of means
/// `m_x = α_x s w_x/R_x`.
struct Moments {
    /// `2 b_x Σ_z m_z (v_x − v_z)` with `b_x = s w_x/R_x`.
    slopes: Vec<f64>,
    /// `b_x Σ_z m_z (v_x − v_z)²`.
    spreads: Vec<f64>,
    /// `Σ_{x<z} m_x m_z (v_x − v_z)²`.
    form: f64,
    /// `Σ_x m_x`.
    mass: f64,
}

impl Moments {
    fn new(inputs: usize) -> Self {
        Moments { slopes: vec![0.0; inputs], spreads: vec![0.0; inputs], form: 0.0, mass: 0.0 }
    }

    fn update(&mut self, v: &[f64], alpha: &[f64], node: &IntegralNode) {
        let b = &node.odds_ratio;
        (self.form, self.mass) = (0.0, 0.0);
        for x in 0..v.len() {
            let (mut slope, mut spread) = (0.0, 0.0);
            for z in 0..v.len() {
                let m = alpha[z] * b[z];
                slope += m * (v[x] - v[z]);
                spread += m * (v[x] - v[z]).powi(2);
            }
            self.slopes[x] = 2.0 * b[x] * slope;
            self.spreads[x] = b[x] * spread;
            self.form += 0.5 * alpha[x] * self.spreads[x];
            self.mass += alpha[x] * b[x];
        }
    }

    /// Value, gradient and Hessian of the integrand; derivatives are multiplied by `v_x`, so that none is so large that the tails of the others
    /// seem negligible.
    fn write_expansion(&self, v: &[f64], alpha: &[f64], node: &IntegralNode, values: &mut [f64]) {
        let inputs = v.len();
        values[0] = self.form;
        for x in 0..inputs {
            let tilt = node.direction_ratio[x] * alpha[x];
            values[1 + x] = alpha[x] * self.slopes[x] - tilt * (self.form + self.spreads[x]);
            let row = &mut values[1 + inputs + entries(x)..];
            for (z, entry) in row[..x].iter_mut().enumerate() {
                *entry = self.mixed_derivative(x, z, v, alpha, node);
            }
            row[x] = self.second_derivative(x, alpha, node);
        }
        for x in 0..inputs {
            values[1 + x] *= v[x];
            let row = &mut values[1 + inputs + entries(x)..];
            (0..=x).for_each(|z| row[z] *= v[x] * v[z]);
        }
    }

    /// In `v_x` and `v_z`.
    fn mixed_derivative(&self, x: usize, z: usize, v: &[f64], alpha: &[f64], node: &IntegralNode) -> f64 {
        let b = &node.odds_ratio;
        let tilt = |x: usize| node.direction_ratio[x] * alpha[x];
        let step = 2.0 * b[x] * b[z] * (v[x] - v[z]);
        let crossed =
            tilt(z) * alpha[x] * (self.slopes[x] + step) + tilt(x) * alpha[z] * (self.slopes[z] - step);
        let joint = self.form + self.spreads[x] + self.spreads[z] + 0.5 * step * (v[x] - v[z]);
        tilt(x) * tilt(z) * joint - crossed - 2.0 * b[x] * b[z] * alpha[x] * alpha[z]
    }

    /// Twice in `v_x`.
    fn second_derivative(&self, x: usize, alpha: &[f64], node: &IntegralNode) -> f64 {
        let b = &node.odds_ratio;
        let tilt = node.direction_ratio[x] * alpha[x];
        let rest = self.mass - alpha[x] * b[x];
        let more = node.direction_ratio[x] * (alpha[x] + 1.0);
        2.0 * b[x] * alpha[x] * rest - 2.0 * alpha[x] * more * self.slopes[x]
            + tilt * more * (self.form + 2.0 * self.spreads[x])
    }
}
