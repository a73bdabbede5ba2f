//! Partial disclosure protocols: a share `t_x` of the users of value `x` disclose it, all others send one common symbol. Erasure is one of them.
//!
//! They are often optimal under limited leakage, and everything about them is a low-dimensional integral, without any nodes of the prior. With the odds
//! `w_x = (1 − t_x)/t_x` of the common symbol and its row `r = 1 − t`,
//! ```text
//! ln det J = Σ_x ln(t_x/P_x) + ln(w·P) − ln(r·P)
//! dᵀ J⁻¹ d = Σ_{x<z} (v_x − v_z)² P_x P_z (1 + w_x w_z/(w·P))
//! ```
//! Utility and leakage are integrals in one dimension (`lagrangian`), from which the best shares follow (`best`). Sensitivities are one integral in one
//! dimension and one in two (`integrals`, `sensitivity`).

mod best;
mod integrals;
mod lagrangian;
mod sensitivity;

use super::PriorComponents;
use super::direction::Direction;
use super::packed_symmetric::entries;
use super::symmetry::Symmetry;
use super::tolerances::{DisclosureTolerances, Quadrature};
use crate::model::prior::Dirichlet;
use crate::numerics::dirichlet_mean::{LinearForm, mean_products_of_shares};

/// A partial disclosure protocol.
#[derive(Clone, Debug)]
pub(super) struct PartialDisclosure<'a> {
    components: &'a PriorComponents<'a>,
    /// `w_x`.
    odds: Vec<f64>,
    /// The value that nobody discloses, whose odds stand for infinity. There is at most one: two could not be told apart.
    undisclosed: Option<usize>,
    quadrature: Quadrature,
    nodes_per_expansion: f64,
}

/// The dual variables of the best partial disclosure protocol: each of its rows has the reduced cost 0.
#[derive(Clone, Debug)]
pub(super) struct Multipliers {
    pub lambda: Vec<f64>,
    pub nu: f64,
}

impl<'a> PartialDisclosure<'a> {
    /// One whose sensitivities are as exact as a control variate needs.
    pub(super) fn as_control_variate(
        components: &'a PriorComponents<'a>,
        odds: Vec<f64>,
        tolerances: &DisclosureTolerances,
    ) -> Self {
        let DisclosureTolerances { control_variate: quadrature, nodes_per_expansion, .. } = *tolerances;
        PartialDisclosure { components, odds, undisclosed: None, quadrature, nodes_per_expansion }
    }

    /// The rows of the protocol, one of each orbit, with the weights of their orbits.
    pub(super) fn rows(&self, symmetry: &Symmetry) -> Vec<(f64, Direction)> {
        let inputs = self.odds.len();
        let disclosed = symmetry.representatives().filter(|x| Some(*x) != self.undisclosed);
        let unit_row = |x: usize| {
            let share = symmetry.class_sizes[symmetry.class_of[x]] as f64 / inputs as f64;
            (share / (1.0 + self.odds[x]), Direction::unit(x, inputs))
        };
        disclosed.map(unit_row).chain([common_row(&self.odds)]).collect()
    }

    /// The triangle of `K` at a point of the simplex, where `vᵀ K v = dᵀ J⁻¹ d`.
    pub(super) fn inverse_information(&self, p: &[f64]) -> Vec<f64> {
        let likelihood: f64 = self.odds.iter().zip(p).map(|(w, p)| w * p).sum();
        let mut inverse = vec![0.0; entries(p.len())];
        for x in 0..p.len() {
            for z in 0..x {
                let both = p[x] * p[z] * (1.0 + self.odds[x] * self.odds[z] / likelihood);
                inverse[entries(x) + z] = -both;
                inverse[entries(x) + x] += both;
                inverse[entries(z) + z] += both;
            }
        }
        inverse
    }
}

/// The row of the common symbol with its weight.
fn common_row(odds: &[f64]) -> (f64, Direction) {
    let inputs = odds.len() as f64;
    let disclosed = |w: &f64| 1.0 / (1.0 + w);
    let theta = odds.iter().map(|w| w * disclosed(w)).sum::<f64>() / inputs;
    let values = odds.iter().map(|w| w * disclosed(w) / theta).collect();
    // Where little is disclosed, r_x − r_z keeps its digits only as t_z − t_x.
    let offsets = odds.iter().map(|w| (disclosed(&odds[0]) - disclosed(w)) / theta).collect();
    (theta, Direction { values, offsets })
}

/// `E ln(c·P)` and all `E[c_x P_x c_z P_z/(c·P)²]`.
fn ln_and_shares(component: &Dirichlet, c: &[f64]) -> (f64, Vec<f64>) {
    let pairs: Vec<(f64, f64)> = component.alpha().iter().copied().zip(c.iter().copied()).collect();
    (LinearForm::from_coefficients(&pairs).mean_ln().value, mean_products_of_shares(&pairs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::column::Column;
    use crate::design::cubature::{Cubature, CubatureRequest};
    use crate::design::row_leakage::RowLeakage;
    use crate::design::sensitivity::{CubatureSensitivity, Sensitivity};
    use crate::design::tolerances::Tolerances;
    use crate::numerics::split_mix::split_mix;

    fn certificate_quadrature() -> Quadrature {
        Tolerances::default().disclosure.exact
    }

    fn undisclosed_odds() -> f64 {
        Tolerances::default().disclosure.undisclosed_odds
    }

    /// Three cases on the nodes of a cubature, with sensitivities from the information of the rows.
    fn on_nodes(test: impl Fn(&PartialDisclosure<'_>, &CubatureSensitivity<'_>)) {
        for (alpha, odds) in [
            (vec![0.5, 1.0, 2.5], vec![0.3, 2.0, 5.0]),
            (vec![0.5, 0.7, 1.0], vec![100.0, 200.0, 150.0]),
            (vec![0.3, 0.4, 1.5], vec![1e-5, 0.01, 3.0]),
        ] {
            let prior = Dirichlet::new(alpha).unwrap();
            let components = [(1.0, &prior)];
            let best = PartialDisclosure {
                components: &components,
                odds,
                undisclosed: None,
                quadrature: certificate_quadrature(),
                nodes_per_expansion: 1.0,
            };
            let symmetry = Symmetry::new(prior.alpha());
            let request =
                CubatureRequest { max_nodes: 20_000, contrast: 1e6, disclosure_odds: None, seed: 0 };
            let cubature = Cubature::new(&components, &symmetry, &request, &Tolerances::default());
            let rows = best.rows(&symmetry);
            let columns: Vec<Column> =
                rows.iter().map(|(_, row)| Column::new(row, 0.0, &symmetry, &cubature)).collect();
            let theta: Vec<f64> = rows.iter().map(|(theta, _)| *theta).collect();
            test(&best, &CubatureSensitivity::new(&cubature, &columns, &theta, 16_384).unwrap());
        }
    }

    /// Random directions, some with zero entries if `zeros`.
    fn random_directions(inputs: usize, zeros: bool) -> Vec<Direction> {
        let random = |i: u64| {
            let height = |x: usize| {
                let number = split_mix(i, x as u64) as f64 / u64::MAX as f64;
                if zeros && number < 0.2 { 0.0 } else { number.powi(3) }
            };
            Direction::from_row(&(0..inputs).map(height).collect::<Vec<f64>>())
        };
        (0..20).filter_map(random).collect()
    }

    #[test]
    fn sensitivities_are_those_of_the_rows() {
        on_nodes(|best, on_cubature| {
            let directions = random_directions(3, true);
            assert!(directions.iter().any(|direction| direction.values.contains(&0.0)));
            for (exact, mean) in best.of_each(&directions).iter().zip(on_cubature.of_each(&directions)) {
                assert!((exact.value - mean.value).abs() <= exact.error + mean.error, "{exact:?} {mean:?}");
            }
        });
    }

    #[test]
    fn control_variates_are_as_exact_as_stated() {
        for alpha in [vec![0.01, 0.5, 0.02, 1.0], vec![3.0, 1e-2, 40.0], vec![2e4, 3e4, 5e4]] {
            let prior = Dirichlet::new(alpha.clone()).unwrap();
            let components = [(1.0, &prior)];
            for odds in [[9e3, 110.0, 2e3, 150.0], [1e-3, 30.0, 0.2, 1.0]] {
                let coarse = PartialDisclosure::as_control_variate(
                    &components,
                    odds[..alpha.len()].to_vec(),
                    &Tolerances::default().disclosure,
                );
                let fine = PartialDisclosure {
                    quadrature: certificate_quadrature(),
                    nodes_per_expansion: 1.0,
                    ..coarse.clone()
                };
                for direction in random_directions(alpha.len(), true) {
                    let (sensitivity, exact) =
                        (coarse.exact_sensitivity(&direction), fine.exact_sensitivity(&direction));
                    let stated = Tolerances::default().disclosure.control_variate.relative_error;
                    assert!(
                        (sensitivity / exact - 1.0).abs() < 0.5 * stated,
                        "{alpha:?} {odds:?} {sensitivity} {exact}"
                    );
                }
            }
        }
    }

    /// By finite differences, in relative steps: sensitivities are homogeneous.
    #[test]
    fn expansions_are_those_of_the_sensitivity() {
        on_nodes(|best, _| {
            for direction in random_directions(3, false) {
                let at = |steps: &[f64]| {
                    let moved: Vec<f64> =
                        direction.values.iter().zip(steps).map(|(v, s)| v * (1.0 + s)).collect();
                    let mean = moved.iter().sum::<f64>() / 3.0;
                    mean * best.exact_sensitivity(&Direction::from_row(&moved).unwrap())
                };
                let expansion = best.expansion(&direction);
                assert!(
                    (expansion.value / at(&[0.0; 3]) - 1.0).abs() < certificate_quadrature().relative_error
                );
                let step = 1e-3;
                let moved = |x: usize, s: f64, z: usize, t: f64| {
                    let mut steps = [0.0; 3];
                    steps[x] += s * step;
                    steps[z] += t * step;
                    at(&steps)
                };
                for x in 0..3 {
                    let slope = (moved(x, 1.0, x, 0.0) - moved(x, -1.0, x, 0.0)) / (2.0 * step);
                    let exact = expansion.gradient[x] * direction.values[x];
                    assert!(
                        (slope - exact).abs() < 1e-5 * expansion.value,
                        "{slope} {exact} {}",
                        expansion.value
                    );
                    for z in 0..=x {
                        let sign = |s: f64, t: f64| moved(x, s, z, t);
                        let bend = (sign(1.0, 1.0) - sign(1.0, -1.0) - sign(-1.0, 1.0) + sign(-1.0, -1.0))
                            / (4.0 * step * step);
                        let exact =
                            expansion.hessian[entries(x) + z] * direction.values[x] * direction.values[z];
                        assert!(
                            (bend - exact).abs() < 1e-4 * expansion.value,
                            "{bend} {exact} {}",
                            expansion.value
                        );
                    }
                }
            }
        });
    }

    /// `Σ_j θ_j h(v_j) = a − 1` over the rows, and the sensitivity of a unit row is a one-dimensional integral.
    #[test]
    fn sensitivities_add_up_at_the_extremes_too() {
        for (alpha, odds) in [
            (vec![0.01, 0.02, 0.01], vec![1e-9, 1.0, 30.0]),
            (vec![0.01; 6], vec![1e4, 2e4, 1e4, 5e4, 1e5, 1e3]),
            (vec![0.5, 1e4, 3.0, 200.0], vec![0.1, 1e6, 40.0, 7.0]),
            (vec![1e4, 2e4], vec![3.0, 1e3]),
            (vec![1e6, 3e6, 0.5], vec![3.0, 1e3, 0.1]),
            (vec![0.7, 2.0, 0.5, 0.3], vec![2.0, undisclosed_odds(), 3.0, 0.9]),
        ] {
            let prior = Dirichlet::new(alpha).unwrap();
            let components = [(1.0, &prior)];
            let undisclosed = odds.iter().position(|w| *w == undisclosed_odds());
            let best = PartialDisclosure {
                components: &components,
                odds,
                undisclosed,
                quadrature: certificate_quadrature(),
                nodes_per_expansion: 1.0,
            };
            let inputs = best.odds.len();
            let each = Symmetry::new(&(0..inputs).collect::<Vec<usize>>());
            let rows = best.rows(&each);
            let sum: f64 = rows.iter().map(|(theta, row)| theta * best.exact_sensitivity(row)).sum();
            assert!(
                (sum / (inputs as f64 - 1.0) - 1.0).abs() < certificate_quadrature().relative_error,
                "{:?} {sum}",
                best.odds
            );
            let shares = ln_and_shares(&prior, &best.odds).1;
            for x in 0..inputs {
                let share = |y: usize, z: usize| shares[entries(y.max(z)) + y.min(z)];
                let others =
                    (0..inputs).filter(|y| *y != x).flat_map(|y| (0..inputs).map(move |z| share(y, z)));
                let exact = 1.0 - prior.alpha()[x] / prior.total() + best.odds[x] * others.sum::<f64>();
                let sensitivity = best.exact_sensitivity(&Direction::unit(x, inputs)) / inputs as f64;
                assert!(
                    (sensitivity / exact - 1.0).abs() < certificate_quadrature().relative_error,
                    "{:?} {x}: {sensitivity} {exact}",
                    best.odds
                );
            }
        }
    }

    #[test]
    fn the_best_leaks_the_budget_and_its_rows_have_no_reduced_cost() {
        for (alpha, privacy, undisclosed) in [
            (vec![0.5, 0.3, 0.7], 0.6, None),
            // Nobody discloses the frequent value.
            (vec![0.5, 2.0, 0.7], 0.6, Some(1)),
            // Nearly everybody discloses the rare value.
            (vec![0.011, 0.068, 0.74, 0.034, 0.046], 0.05, None),
            (vec![0.42, 0.0126, 0.71, 0.0153, 0.35, 0.48], 0.9999, None),
            (vec![30.0, 20.0], 0.999_999, Some(0)),
            (vec![0.5, 0.3], 0.999_999_999_999, None),
        ] {
            let prior = Dirichlet::new(alpha).unwrap();
            let components = [(1.0, &prior)];
            let leakage = RowLeakage(&components);
            let symmetry = Symmetry::new(prior.alpha());
            let inputs = symmetry.inputs();
            let entropy: f64 =
                (0..inputs).map(|x| leakage.of(&Direction::unit(x, inputs)) / inputs as f64).sum();
            let budget = (1.0 - privacy) * entropy;
            let (best, Multipliers { lambda, nu }) = PartialDisclosure::best(
                &components,
                &symmetry,
                &leakage,
                budget,
                &Tolerances::default().disclosure,
            )
            .unwrap();
            assert_eq!(best.undisclosed, undisclosed);
            let rows = best.rows(&symmetry);
            let leaks: f64 = rows.iter().map(|(theta, row)| theta * leakage.of(row)).sum();
            assert!(leaks <= budget && leaks > budget * (1.0 - 1e-8), "{leaks} {budget}");
            for (_, row) in &rows {
                let linear: f64 = lambda.iter().zip(&row.values).map(|(lambda, v)| lambda * v).sum();
                let (sensitivity, cost) = (best.exact_sensitivity(row), linear + nu * leakage.of(row));
                // Costs are differences of numbers of order one.
                assert!(
                    (sensitivity - cost).abs() < 1e-8 * sensitivity + 1e-9,
                    "{:?}: {row:?} {sensitivity} {cost}",
                    prior.alpha()
                );
            }
            let dual = lambda.iter().sum::<f64>() + nu * budget;
            assert!((dual - (inputs as f64 - 1.0)).abs() < 1e-7, "{dual}");
        }
    }

    /// The sensitivity of a unit row is far smaller if hardly anybody discloses the value than if nobody does.
    #[test]
    fn a_value_with_infinite_mean_inverse_is_always_disclosed() {
        for (alpha, privacy, undisclosed) in [
            (vec![0.01, 0.99], 0.9, None),
            (vec![0.01, 1.005], 0.9, None),
            (vec![0.01, 1.0, 0.012], 0.5, None),
            (vec![0.01, 1.1], 0.9, Some(1)),
        ] {
            let prior = Dirichlet::new(alpha).unwrap();
            let components = [(1.0, &prior)];
            let (leakage, symmetry) = (RowLeakage(&components), Symmetry::new(prior.alpha()));
            let inputs = symmetry.inputs();
            let entropy: f64 =
                (0..inputs).map(|x| leakage.of(&Direction::unit(x, inputs)) / inputs as f64).sum();
            let (best, Multipliers { lambda, nu }) = PartialDisclosure::best(
                &components,
                &symmetry,
                &leakage,
                (1.0 - privacy) * entropy,
                &Tolerances::default().disclosure,
            )
            .unwrap();
            assert_eq!(best.undisclosed, undisclosed, "{:?}", prior.alpha());
            assert_eq!(best.rows(&symmetry).len(), inputs + usize::from(undisclosed.is_none()));
            if let Some(x) = undisclosed {
                let costs = lambda[x] + nu * leakage.of(&Direction::unit(x, inputs)) / inputs as f64;
                // By the integral at very large odds.
                let sensitivity = best.exact_sensitivity(&Direction::unit(x, inputs)) / inputs as f64;
                assert!(
                    sensitivity < best.undisclosed_sensitivity(x) && best.undisclosed_sensitivity(x) < costs
                );
            }
        }
    }

    #[test]
    fn under_a_symmetric_prior_it_is_erasure() {
        let prior = Dirichlet::new(vec![0.5; 7]).unwrap();
        let components = [(1.0, &prior)];
        let (leakage, symmetry) = (RowLeakage(&components), Symmetry::new(prior.alpha()));
        let entropy = leakage.of(&Direction::unit(0, 7));
        let (best, _) = PartialDisclosure::best(
            &components,
            &symmetry,
            &leakage,
            0.3 * entropy,
            &Tolerances::default().disclosure,
        )
        .unwrap();
        let rows = best.rows(&symmetry);
        assert!(rows.len() == 2 && rows[1].1.offsets.iter().all(|d| *d == 0.0), "{rows:?}");
        assert!((rows[0].0 - 0.3).abs() < 1e-8, "{rows:?}");
    }
}
