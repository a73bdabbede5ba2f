//! The best partial disclosure protocol under a leakage budget, with its dual variables.

use super::lagrangian::{OddsSearch, unit_leakages};
use super::{Multipliers, PartialDisclosure, common_row, ln_and_shares};
use crate::design::PriorComponents;
use crate::design::packed_symmetric::entries;
use crate::design::row_leakage::RowLeakage;
use crate::design::sensitivity::Sensitivity;
use crate::design::symmetry::Symmetry;
use crate::design::tolerances::DisclosureTolerances;
use crate::model::prior::Dirichlet;
use crate::numerics::stop::check;

impl<'a> PartialDisclosure<'a> {
    /// The best one that leaks the budget; `None` if the search does not converge.
    pub(in crate::design) fn best(
        components: &'a PriorComponents<'a>,
        symmetry: &Symmetry,
        leakage: &RowLeakage<'_>,
        budget: f64,
        tolerances: &DisclosureTolerances,
    ) -> Option<(Self, Multipliers)> {
        let mut search = OddsSearch::from_erasure(components, symmetry, leakage, budget, tolerances);
        let nu = search.meet_budget(budget)?;
        let DisclosureTolerances { exact: quadrature, nodes_per_expansion, .. } = *tolerances;
        let mut best = PartialDisclosure {
            components,
            odds: search.ln_odds.iter().map(|y| y.exp()).collect(),
            undisclosed: search.undisclosed,
            quadrature,
            nodes_per_expansion,
        };
        let multipliers = search.multipliers(&best, nu);
        // If its unit row would improve the protocol, hardly anybody discloses the value, but somebody does.
        let cost = |x: usize| multipliers.lambda[x] + nu * search.unit_leakages[x];
        best.undisclosed = best.undisclosed.filter(|x| best.undisclosed_sensitivity(*x) <= cost(*x));
        Some((best, multipliers))
    }

    /// The sensitivity of the unit row of `x` if nobody discloses `x`: `1 − E P_x + Σ_{z≠x} w_z E[P_z/P_x]`, infinite for `α_x ≤ 1`.
    pub(super) fn undisclosed_sensitivity(&self, x: usize) -> f64 {
        let of_component = |(weight, component): &(f64, &Dirichlet)| {
            let alpha = component.alpha();
            let others = (0..alpha.len()).filter(|z| *z != x).map(|z| self.odds[z] * alpha[z]).sum::<f64>();
            let ratios = if alpha[x] > 1.0 { others / (alpha[x] - 1.0) } else { f64::INFINITY };
            weight * (1.0 - alpha[x] / component.total() + ratios)
        };
        self.components.iter().map(of_component).sum()
    }
}

impl<'a> OddsSearch<'a> {
    /// Starts from the erasure that leaks the budget.
    fn from_erasure(
        components: &'a PriorComponents<'a>,
        symmetry: &'a Symmetry,
        leakage: &'a RowLeakage<'a>,
        budget: f64,
        tolerances: &'a DisclosureTolerances,
    ) -> Self {
        let unit_leakages = unit_leakages(leakage, symmetry.inputs());
        let erasure_odds = unit_leakages.iter().sum::<f64>() / budget - 1.0;
        OddsSearch {
            components,
            symmetry,
            leakage,
            tolerances,
            unit_leakages,
            ln_odds: vec![erasure_odds.ln(); symmetry.inputs()],
            max_ln_odds: (tolerances.undisclosed_odds * (1.0 + erasure_odds)).ln(),
            undisclosed: None,
        }
    }

    /// Finds the multiplier `ν` at which the best odds leak the budget: a safeguarded secant method in `ln ν`.
    fn meet_budget(&mut self, budget: f64) -> Option<f64> {
        let DisclosureTolerances { budget_error, multipliers, bracket_margin, .. } = *self.tolerances;
        let mut ln_nu = ((self.unit_leakages.len() as f64 - 1.0) / budget).ln();
        // Values of ln ν whose leakage is below and above the budget, with the logarithm of the ratio. Leakage falls with ν.
        let mut sides: [Option<(f64, f64)>; 2] = [None, None];
        for _ in 0..multipliers {
            check();
            let off = (self.maximise(ln_nu.exp())? / budget).ln() + budget_error;
            if off.abs() <= budget_error {
                return Some(ln_nu.exp());
            }
            sides[usize::from(off > 0.0)] = Some((ln_nu, off));
            ln_nu = match sides {
                [Some((high, below)), Some((low, above))] => {
                    let share = (above / (above - below)).clamp(bracket_margin, 1.0 - bracket_margin);
                    low + share * (high - low)
                }
                _ => ln_nu + 2.0 * off,
            };
        }
        None
    }

    /// `λ` from the KKT conditions: rows have the reduced cost 0. For a unit row that is `1 − E P_x + w_x Σ_{z≠x} E[w_z P_z/(w·P)] = λ_x + ν ℓ(e_x)`, for
    /// the common row the same in the derivatives in `v_x`. Both determine `λ_x`; the more frequent of the two rows does so with less rounding.
    fn multipliers(&self, best: &PartialDisclosure<'_>, nu: f64) -> Multipliers {
        let inputs = self.ln_odds.len();
        let (_, common) = common_row(&best.odds);
        let (sensitivity, leaks) = (best.expansion(&common), self.leakage.expansion(&common));
        let means = self.leakage.prior_means();
        let component_shares =
            |(weight, component): &(f64, &Dirichlet)| (*weight, ln_and_shares(component, &best.odds).1);
        let shares: Vec<(f64, Vec<f64>)> = self.components.iter().map(component_shares).collect();
        let from_unit_row = |x: usize| {
            let others: f64 = shares.iter().map(|(weight, shares)| weight * others(shares, x, inputs)).sum();
            1.0 - means[x] + best.odds[x] * others - nu * self.unit_leakages[x]
        };
        let from_common_row = |x: usize| sensitivity.gradient[x] - nu * leaks.gradient[x];
        let lambda = |x: usize| if best.odds[x] < 1.0 { from_unit_row(x) } else { from_common_row(x) };
        Multipliers { lambda: (0..inputs).map(lambda).collect(), nu }
    }
}

/// `Σ_{z≠x} E[w_z P_z/(w·P)]` from the products of shares.
fn others(shares: &[f64], x: usize, inputs: usize) -> f64 {
    let pairs = (0..inputs).filter(|y| *y != x).flat_map(|y| (0..inputs).map(move |z| (y, z)));
    pairs.map(|(y, z)| shares[entries(y.max(z)) + y.min(z)]).sum::<f64>()
}
