//! Leakage of a single row.
//!
//! `I(X;Y|P) = Σ_j θ_j ℓ(v_j)` with
//! ```text
//! ℓ(v) = E[ Σ_x P_x v_x ln(v_x/(v·P)) ]
//! ```
//! which is convex and homogeneous of degree one, so `ℓ(v) = ∇ℓ(v)ᵀv`.

use super::PriorComponents;
use super::direction::Direction;
use super::expansion::Expansion;
use super::packed_symmetric::entries;
use crate::leakage;
use crate::model::prior::Dirichlet;
use crate::numerics::dirichlet_mean::{ln_leads, mean_products_over_form};

/// `ℓ` under a prior given by its Dirichlet components.
pub(super) struct RowLeakage<'a>(pub &'a PriorComponents<'a>);

/// Above this base the offsets of a direction keep more digits than its values.
const MIN_BASE: f64 = 1e-3;

impl RowLeakage<'_> {
    /// `ℓ(v)`, for any direction.
    pub(super) fn of(&self, direction: &Direction) -> f64 {
        self.0.iter().map(|(weight, component)| weight * of_component(component, direction)).sum()
    }

    /// `ℓ(v) = ∇ℓ(v)ᵀv`, ten times faster than [`of`](RowLeakage::of) and within `1e-12`. Directions with zeros take the slow way.
    pub(super) fn by_gradient(&self, direction: &Direction) -> f64 {
        if direction.values.contains(&0.0) {
            return self.of(direction);
        }
        self.gradient(direction).iter().zip(&direction.values).map(|(slope, v)| slope * v).sum()
    }

    /// `∇ℓ(v)_x = π_x (ln v_x − E_x ln(v·P))` with `π = E P` and `E_x` under the prior after one user of value `x`; all `v_x` must be positive.
    pub(super) fn gradient(&self, direction: &Direction) -> Vec<f64> {
        let mut gradient = vec![0.0; direction.values.len()];
        for (weight, component) in self.0 {
            let coefficients = direction.values.iter().copied().zip(direction.offsets.iter().copied());
            let terms: Vec<_> =
                component.alpha().iter().zip(coefficients).map(|(alpha, (v, d))| (*alpha, v, d)).collect();
            let slopes = gradient.iter_mut().zip(component.alpha()).zip(ln_leads(&terms));
            slopes.for_each(|((slope, alpha), lead)| *slope += weight * alpha / component.total() * lead);
        }
        gradient
    }

    /// The expansion at a direction of positive `v_x`; the Hessian is `[x = z] π_x/v_x − E[P_x P_z/(v·P)]`.
    pub(super) fn expansion(&self, direction: &Direction) -> Expansion {
        let gradient = self.gradient(direction);
        let mut hessian = vec![0.0; entries(direction.values.len())];
        for (weight, component) in self.0 {
            let pairs: Vec<_> =
                component.alpha().iter().copied().zip(direction.values.iter().copied()).collect();
            let products = mean_products_over_form(&pairs);
            hessian.iter_mut().zip(products).for_each(|(entry, product)| *entry -= weight * product);
            for (x, (alpha, v)) in pairs.iter().enumerate() {
                hessian[entries(x) + x] += weight * alpha / component.total() / v;
            }
        }
        let value = gradient.iter().zip(&direction.values).map(|(slope, v)| slope * v).sum();
        Expansion { value, gradient, hessian }
    }

    /// `E P_x` of each input.
    pub(super) fn prior_means(&self) -> Vec<f64> {
        let inputs = self.0[0].1.alpha().len();
        let mean =
            |x: usize| self.0.iter().map(|(weight, part)| weight * part.alpha()[x] / part.total()).sum();
        (0..inputs).map(mean).collect()
    }
}

impl std::fmt::Debug for RowLeakage<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(weight, _)| weight)).finish()
    }
}

fn of_component(component: &Dirichlet, direction: &Direction) -> f64 {
    let base = direction.base();
    let alphas = component.alpha().iter().copied();
    if base > MIN_BASE {
        let means = component.alpha().iter().zip(&direction.values);
        let mean: f64 = means.map(|(alpha, v)| alpha / component.total() * v).sum();
        let pairs: Vec<_> = alphas.zip(direction.offsets.iter().map(|d| d / base)).collect();
        leakage::row_of_deviations(mean, &pairs, false).value
    } else {
        let pairs: Vec<_> = alphas.zip(direction.values.iter().copied()).collect();
        leakage::row(&pairs, false).value
    }
}
