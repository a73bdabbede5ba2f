//! A design problem for few inputs: what is given, and how a gap in utility translates into reduced costs.

use super::certificate::nan_to_infinity;
use super::cone::Cone;
use super::requirement::Requirement;
use super::symmetry::Symmetry;
use super::tolerances::Tolerances;
use super::{Effort, PriorComponents};
use crate::leakage::{GroupedPrior, user_entropy};
use crate::model::error::{Error, Result};
use crate::model::prior::Dirichlet;

/// A design problem for few inputs.
#[derive(Clone)]
pub(super) struct Problem<'a> {
    pub components: &'a PriorComponents<'a>,
    pub symmetry: Symmetry,
    pub cone: Cone,
    /// `B = (1 − L) H(X|P)`, if average privacy is required.
    pub budget: Option<f64>,
    pub epsilon: Option<f64>,
    /// The least average privacy `L`, if required.
    pub average_privacy: Option<f64>,
    pub effort: Effort<'a>,
    pub tolerances: Tolerances,
}

impl<'a> Problem<'a> {
    /// # Errors
    /// There are too many inputs.
    pub(super) fn new(
        components: &'a PriorComponents<'a>,
        requirement: &Requirement,
        effort: Effort<'a>,
    ) -> Result<Self> {
        let tolerances = Tolerances::default();
        let symmetry = symmetry_of(components);
        let limited = requirement.average_privacy().is_some();
        let (a, most) = (symmetry.inputs(), max_inputs(&symmetry, limited, &tolerances));
        if a > most {
            return Err(Error::DesignSize { a, most, limited });
        }
        let margin = 1.0 - tolerances.rounding.budget_margin;
        let budget = |privacy: f64| (1.0 - privacy) * entropy(components) * margin;
        Ok(Problem {
            components,
            symmetry,
            cone: Cone::new(requirement.epsilon()),
            budget: requirement.average_privacy().map(budget),
            epsilon: requirement.epsilon(),
            average_privacy: requirement.average_privacy(),
            effort,
            tolerances,
        })
    }

    /// The same problem without the leakage budget.
    pub(super) fn without_budget(&self) -> Self {
        Problem { budget: None, ..self.clone() }
    }

    /// The reduced cost that a share of the requested gap allows: `share · Δ`, `Δ = 2(a − 1) · gap`.
    pub(super) fn allowance(&self, share: f64) -> f64 {
        share * self.effort.gap * 2.0 * (self.symmetry.inputs() as f64 - 1.0)
    }

    /// By how much `ν B` is raised, if leakage is limited (see `GapLevels::raise_generation`).
    pub(super) fn raise(&self, share: f64) -> f64 {
        self.budget.map_or(0.0, |_| self.allowance(share))
    }

    /// The largest reduced cost, errors included, at which the gap can still be certified: the bound rests a little above it.
    pub(super) fn max_reduced_cost(&self) -> f64 {
        let raise = self.raise(self.tolerances.levels.raise_certificate);
        (self.allowance(1.0) - raise) / self.tolerances.pricing.bound_ratio
    }

    /// Reports the gap that a bound on reduced costs certifies; whether to stop.
    pub(super) fn is_interrupted(&self, priced: usize, bound: f64) -> bool {
        let dual_gap = nan_to_infinity(bound).max(0.0) + self.raise(self.tolerances.levels.raise_certificate);
        self.effort.is_interrupted(priced, dual_gap / (2.0 * (self.symmetry.inputs() as f64 - 1.0)))
    }

    /// Whether every optimum has the unit row of `x`: where zeros are allowed and `E[1/P_x] = ∞`, its sensitivity would be infinite without it.
    pub(super) fn needs_unit_row(&self, x: usize) -> bool {
        self.cone.allows_zeros() && self.components.iter().any(|(_, part)| part.alpha()[x] <= 1.0)
    }
}

/// Inputs are alike if their parameters are equal in all components.
pub(super) fn symmetry_of(components: &PriorComponents<'_>) -> Symmetry {
    let parameters = |x: usize| components.iter().map(|(_, part)| part.alpha()[x].to_bits()).collect();
    let inputs = components[0].1.alpha().len();
    Symmetry::new(&(0..inputs).map(parameters).collect::<Vec<Vec<u64>>>())
}

fn max_inputs(symmetry: &Symmetry, limited: bool, tolerances: &Tolerances) -> usize {
    match (limited, symmetry.is_full()) {
        (false, _) => tolerances.limits.inputs_epsilon,
        (true, true) => tolerances.limits.inputs_average_symmetric,
        (true, false) => tolerances.limits.inputs_average,
    }
}

/// `H(X|P)`.
fn entropy(components: &PriorComponents<'_>) -> f64 {
    let of_component = |(weight, component): &(f64, &Dirichlet)| {
        weight * user_entropy(&GroupedPrior::dirichlet(component.alpha())).value
    };
    components.iter().map(of_component).sum()
}
