//! The integrals of sensitivities, in one and two dimensions, of positive terms only:
//! ```text
//! E[P_x P_z/((w·P)(v·P))] = ∫∫ Φ α_x α_z/(R_x R_z) ds dt,   R_x = 1 + s w_x + t v_x,   Φ = Π_x R_x^{−α_x}
//! E[P_x P_z/(v·P)]        = the same without s and w, divided by α0
//! ```
//! Both are trapezoidal rules in `ln s` and `ln(t/s)`.

use super::PartialDisclosure;
use crate::model::prior::Dirichlet;
use crate::numerics::dirichlet_mean::ln_one_plus;
use crate::numerics::stop::check;
use crate::numerics::trapezoid::trapezoids;

/// A node of both integrals. Where `s` is too large or too small for a double, its ratios to other numbers are not.
pub(super) struct IntegralNode {
    /// `s/(1 + s w_x)`.
    scale: Vec<f64>,
    /// `s w_x/(1 + s w_x)`.
    share: Vec<f64>,
    /// `c_x = v_x s/(1 + s w_x)`.
    coefficient: Vec<f64>,
    /// `1/(1 + c_x t/s)`.
    pub damping: Vec<f64>,
    /// `s w_x/R_x`.
    pub odds_ratio: Vec<f64>,
    /// `t/R_x`.
    pub direction_ratio: Vec<f64>,
}

impl PartialDisclosure<'_> {
    /// The sum of both integrals of what `write` makes of a node, over all components.
    pub(super) fn integrals(
        &self,
        v: &[f64],
        sums: &mut [f64],
        mut write: impl FnMut(&[f64], &IntegralNode, &mut [f64]),
    ) {
        let step = self.quadrature.step;
        let (smallest, largest) = extremes(&self.odds);
        let (mut outer, mut inner) = (vec![0.0; sums.len()], vec![0.0; sums.len()]);
        let mut node = IntegralNode::new(v.len());
        sums.fill(0.0);
        for (weight, component) in self.components {
            check();
            let left = -(largest * (2.0 + component.total())).ln();
            trapezoids(left, -smallest.ln(), step, &mut outer, |ln_s, values| {
                let ln_phi = node.begin(ln_s, component.alpha(), &self.odds, v);
                node.integrate(ln_phi, component, step, values, &mut write);
            });
            node.begin_without_odds(v);
            node.integrate(-component.total().ln(), component, step, &mut inner, &mut write);
            for (sum, (outer, inner)) in sums.iter_mut().zip(outer.iter().zip(&inner)) {
                *sum += weight * (outer + inner);
            }
        }
    }
}

impl IntegralNode {
    fn new(inputs: usize) -> Self {
        let zeros = || vec![0.0; inputs];
        IntegralNode {
            scale: zeros(),
            share: zeros(),
            coefficient: zeros(),
            damping: zeros(),
            odds_ratio: zeros(),
            direction_ratio: zeros(),
        }
    }

    /// Starts the single integral: `s = 1`, and the odds do not count.
    fn begin_without_odds(&mut self, v: &[f64]) {
        self.scale.fill(1.0);
        self.share.fill(1.0);
        self.coefficient.copy_from_slice(v);
    }

    /// Starts the inner integral at a node of the outer one; returns `ln Φ` at `t = 0`.
    fn begin(&mut self, ln_s: f64, alpha: &[f64], odds: &[f64], v: &[f64]) -> f64 {
        let inverse = (-ln_s).exp();
        let mut ln_phi = 0.0;
        for x in 0..v.len() {
            self.scale[x] = 1.0 / (inverse + odds[x]);
            self.share[x] = odds[x] * self.scale[x];
            self.coefficient[x] = v[x] * self.scale[x];
            ln_phi -= alpha[x] * ln_one_plus(odds[x], ln_s);
        }
        ln_phi
    }

    /// The inner integral.
    fn integrate(
        &mut self,
        ln_phi: f64,
        component: &Dirichlet,
        step: f64,
        sums: &mut [f64],
        write: &mut impl FnMut(&[f64], &IntegralNode, &mut [f64]),
    ) {
        let (smallest, largest) = extremes(&self.coefficient);
        let left = -(largest * (2.0 + component.total())).ln();
        trapezoids(left, -smallest.ln(), step, sums, |ln_ratio, values| {
            let weight = self.advance(ln_ratio, ln_phi, component.alpha());
            write(component.alpha(), self, values);
            values.iter_mut().for_each(|value| *value *= weight);
        });
    }

    /// Moves to a node `t/s` of the inner integral; returns its weight `Φ t/s`.
    fn advance(&mut self, ln_ratio: f64, ln_phi: f64, alpha: &[f64]) -> f64 {
        let ratio = ln_ratio.exp();
        let mut ln_weight = ln_phi + ln_ratio;
        for (x, alpha) in alpha.iter().enumerate() {
            let form = self.coefficient[x] * ratio;
            self.damping[x] = 1.0 / (1.0 + form);
            self.odds_ratio[x] = self.share[x] * self.damping[x];
            self.direction_ratio[x] = self.scale[x] * self.damping[x] * ratio;
            ln_weight -= alpha * form.ln_1p();
        }
        ln_weight.exp()
    }
}

/// The smallest and the largest of the positive numbers.
fn extremes(numbers: &[f64]) -> (f64, f64) {
    let positive = numbers.iter().copied().filter(|number| *number > 0.0);
    positive.fold((f64::INFINITY, 0.0), |(s, l), number| (s.min(number), l.max(number)))
}
