//! Utility less `ν` times leakage, as a function of the logarithms of the odds, with Newton's method for its maximum.

use faer::{Mat, Side};

use super::{common_row, ln_and_shares};
use crate::design::PriorComponents;
use crate::design::direction::Direction;
use crate::design::expansion::Expansion;
use crate::design::packed_symmetric::entries;
use crate::design::row_leakage::RowLeakage;
use crate::design::symmetry::Symmetry;
use crate::design::tolerances::DisclosureTolerances;
use crate::numerics::stop::check;

/// The search for the best odds at given multipliers.
pub(super) struct OddsSearch<'a> {
    pub components: &'a PriorComponents<'a>,
    pub symmetry: &'a Symmetry,
    pub leakage: &'a RowLeakage<'a>,
    pub tolerances: &'a DisclosureTolerances,
    /// What disclosing each value leaks: `ℓ(e_x)`.
    pub unit_leakages: Vec<f64>,
    pub ln_odds: Vec<f64>,
    /// The `ln w_x` from which on a value counts as undisclosed.
    pub max_ln_odds: f64,
    pub undisclosed: Option<usize>,
}

/// The Lagrangian with its derivatives in `ln w_x`.
struct Lagrangian {
    value: f64,
    gradient: Vec<f64>,
    hessian: Mat<f64>,
    leakage: f64,
}

/// `ℓ(e_x)` of each input.
pub(super) fn unit_leakages(leakage: &RowLeakage<'_>, inputs: usize) -> Vec<f64> {
    (0..inputs).map(|x| leakage.of(&Direction::unit(x, inputs)) / inputs as f64).collect()
}

impl OddsSearch<'_> {
    /// Moves to the best odds at the multiplier `ν` by Newton's method; returns the leakage there.
    pub(super) fn maximise(&mut self, nu: f64) -> Option<f64> {
        let DisclosureTolerances { steps, ln_change, flat_derivative, value_rounding, halvings, .. } =
            *self.tolerances;
        let mut here = self.lagrangian(&self.ln_odds, nu);
        for _ in 0..steps {
            check();
            let step = self.newton_step(&here)?;
            let has_converged =
                |(step, slope): (&f64, &f64)| step.abs() < ln_change || slope.abs() < flat_derivative;
            if step.iter().zip(&here.gradient).all(has_converged) {
                return Some(here.leakage);
            }
            let rounding = value_rounding * (1.0 + here.value.abs());
            let mut tried = (0..halvings).map(|halvings| {
                let moved =
                    self.ln_odds.iter().zip(&step).map(|(y, step)| y + step / f64::from(1u32 << halvings));
                let moved: Vec<f64> = moved.map(|y| y.min(self.max_ln_odds)).collect();
                (self.lagrangian(&moved, nu), moved)
            });
            let better = tried.find(|(tried, _)| tried.value >= here.value - rounding);
            (here, self.ln_odds) = better?;
            self.undisclosed = self.ln_odds.iter().position(|y| *y >= self.max_ln_odds);
        }
        None
    }

    /// The Newton step with the moduli of the eigenvalues, so that it also ascends where the function is not concave. An undisclosed value stays so:
    /// if that is wrong, its unit row will have a positive reduced cost.
    fn newton_step(&self, here: &Lagrangian) -> Option<Vec<f64>> {
        let inputs = self.ln_odds.len();
        let active: Vec<usize> = (0..inputs).filter(|x| Some(*x) != self.undisclosed).collect();
        let matrix = Mat::from_fn(active.len(), active.len(), |i, j| here.hessian[(active[i], active[j])]);
        let eigen = matrix.self_adjoint_eigen(Side::Lower).ok()?;
        let (vectors, values) = (eigen.U(), eigen.S());
        let mut step = vec![0.0; inputs];
        for k in 0..active.len() {
            let slope: f64 = (0..active.len()).map(|i| vectors[(i, k)] * here.gradient[active[i]]).sum();
            let length = slope / values[k].abs().max(self.tolerances.min_curvature);
            active.iter().enumerate().for_each(|(i, x)| step[*x] += length * vectors[(i, k)]);
        }
        let longest = step.iter().map(|step| step.abs()).fold(0.0, f64::max);
        let scale = (self.tolerances.max_ln_step / longest).min(1.0);
        // Inputs that are alike keep equal odds.
        let of_class = |class: usize| {
            let total = self.symmetry.members(class).map(|x| step[x]).sum::<f64>();
            scale * total / self.symmetry.class_sizes[class] as f64
        };
        let steps: Vec<f64> = self.symmetry.class_of.iter().map(|class| of_class(*class)).collect();
        steps.iter().all(|step| step.is_finite()).then_some(steps)
    }

    /// `Σ_x ln t_x + E ln(w·P) − E ln(r·P) − ν (Σ_x t_x ℓ(e_x) + ℓ(r))`.
    fn lagrangian(&self, ln_odds: &[f64], nu: f64) -> Lagrangian {
        let odds: Vec<f64> = ln_odds.iter().map(|y| y.exp()).collect();
        let disclosed: Vec<f64> = odds.iter().map(|w| 1.0 / (1.0 + w)).collect();
        let common: Vec<f64> = odds.iter().zip(&disclosed).map(|(w, t)| w * t).collect();
        let (theta, direction) = common_row(&odds);
        let leaks = self.leakage.expansion(&direction);
        let mut sum = Lagrangian {
            value: disclosed.iter().map(|t| t.ln()).sum(),
            gradient: common.iter().map(|r| -r).collect(),
            hessian: Mat::zeros(odds.len(), odds.len()),
            leakage: theta * leaks.value,
        };
        self.add_utility(&mut sum, &odds, &disclosed, &common);
        self.subtract_leakage(&mut sum, nu, &disclosed, &common, theta, &leaks);
        sum
    }

    /// Adds `E ln(w·P) − E ln(r·P)`.
    fn add_utility(&self, sum: &mut Lagrangian, odds: &[f64], disclosed: &[f64], common: &[f64]) {
        for (weight, component) in self.components {
            let (mean_ln, products) = ln_and_shares(component, odds);
            let (mean_ln_common, products_common) = ln_and_shares(component, common);
            sum.value += weight * (mean_ln - mean_ln_common);
            for x in 0..odds.len() {
                for z in 0..odds.len() {
                    let place = entries(x.max(z)) + x.min(z);
                    let (product, of_common) = (weight * products[place], weight * products_common[place]);
                    sum.gradient[x] += product - disclosed[x] * of_common;
                    sum.hessian[(x, x)] += product + disclosed[x] * (common[x] - disclosed[x]) * of_common;
                    sum.hessian[(x, z)] += disclosed[x] * disclosed[z] * of_common - product;
                }
            }
        }
    }

    /// Subtracts `ν (Σ_x t_x ℓ(e_x) + ℓ(r))`, and what is left of the derivatives of `Σ_x ln t_x`.
    fn subtract_leakage(
        &self,
        sum: &mut Lagrangian,
        nu: f64,
        disclosed: &[f64],
        common: &[f64],
        theta: f64,
        leaks: &Expansion,
    ) {
        for x in 0..disclosed.len() {
            let both = disclosed[x] * common[x];
            let rise = leaks.gradient[x] - self.unit_leakages[x];
            sum.leakage += disclosed[x] * self.unit_leakages[x];
            sum.gradient[x] -= nu * both * rise;
            sum.hessian[(x, x)] -= both + nu * both * (disclosed[x] - common[x]) * rise;
            for z in 0..disclosed.len() {
                let second = leaks.hessian[entries(x.max(z)) + x.min(z)] / theta;
                sum.hessian[(x, z)] -= nu * both * disclosed[z] * common[z] * second;
            }
        }
        sum.value -= nu * sum.leakage;
    }
}
