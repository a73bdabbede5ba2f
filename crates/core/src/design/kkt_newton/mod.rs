//! Newton's method for the KKT conditions of the rows themselves.
//!
//! The weights of given directions are a convex program, but replacing a direction that is nearly right takes many rounds of column generation. Where
//! the rows `r_j` of an optimum are nearly known, all their entries are found at once from the KKT conditions of
//! ```text
//! maximise  E ln det Σ_j d_j d_jᵀ/(r_j·P),   d_jx = r_jx − r_jr,     so that  Σ_j r_j = 1,   Σ_j ℓ(r_j) = B
//! ```
//! This is not concave in the rows, so the result is only a candidate, which is priced like any other. Zeros stay zeros.

mod derivatives;

use faer::Mat;
use faer::prelude::Solve;

use super::control_variate::ControlVariate;
use super::cubature::Cubature;
use super::direction::Direction;
use super::row_leakage::RowLeakage;
use super::tolerances::KktTolerances;
use crate::numerics::stop::check;
use derivatives::Derivatives;

/// The program over rows.
pub(super) struct RowProgram<'a> {
    pub cubature: &'a Cubature,
    pub control: Option<&'a ControlVariate<'a>>,
    pub leakage: &'a RowLeakage<'a>,
    pub budget: f64,
    pub tolerances: &'a KktTolerances,
}

/// The rows of a protocol with the multipliers of their sums and of their leakage.
#[derive(Clone, Debug)]
pub(super) struct KktPoint {
    pub rows: Vec<Vec<f64>>,
    pub lambda: Vec<f64>,
    pub nu: f64,
}

/// The positive entries, by row and input: the variables.
type Places = [(usize, usize)];

impl RowProgram<'_> {
    /// The KKT point near this one; `None` if Newton's method does not converge, or to a point with `ν ≤ 0`.
    pub(super) fn solve(&self, mut point: KktPoint) -> Option<KktPoint> {
        for _ in 0..self.tolerances.steps {
            check();
            let change = self.newton_step(&mut point)?;
            let before = point.rows.len();
            point.rows.retain(|row| self.share(row) > self.tolerances.negligible_share);
            if change < self.tolerances.relative_change && point.rows.len() == before {
                return Some(point).filter(|point| point.nu > 0.0);
            }
        }
        None
    }

    /// What a row is of the protocol: its share of the reports or of the leakage budget, whichever is larger.
    fn share(&self, row: &[f64]) -> f64 {
        let leaked = Direction::from_row(row).map_or(0.0, |direction| self.leakage.by_gradient(&direction));
        mean(row) * (leaked / self.budget).max(1.0)
    }

    /// A Newton step, as much of it as keeps all entries positive; returns the largest relative change of an entry in a whole step.
    fn newton_step(&self, point: &mut KktPoint) -> Option<f64> {
        let places = point.places();
        let (count, inputs) = (places.len(), point.lambda.len());
        let step = self.kkt_step(point, &places)?;
        let relative = |(i, &(j, x)): (usize, &(usize, usize))| step[(i, 0)] / point.rows[j][x];
        let changes: Vec<f64> = places.iter().enumerate().map(relative).collect();
        if !changes.iter().all(|change| change.is_finite()) {
            return None;
        }
        let reduction = changes.iter().map(|change| -change).fold(0.0, f64::max);
        let length = (self.tolerances.max_reduction / reduction).min(1.0);
        places.iter().zip(&changes).for_each(|(&(j, x), change)| point.rows[j][x] *= 1.0 + length * change);
        (0..inputs).for_each(|x| point.lambda[x] += length * step[(count + x, 0)]);
        point.nu += length * step[(count + inputs, 0)];
        Some(changes.iter().map(|change| change.abs()).fold(0.0, f64::max))
    }

    /// The solution of
    /// ```text
    /// ( ∇²U − ν∇²ℓ   −Aᵀ  −∇ℓ ) ( Δr )   ( −(∇U − Aᵀλ − ν∇ℓ) )
    /// (     A         0    0  ) ( Δλ ) = (      1 − A r      )
    /// (    ∇ℓᵀ        0    0  ) ( Δν )   (      B − ℓ        )
    /// ```
    fn kkt_step(&self, point: &KktPoint, places: &Places) -> Option<Mat<f64>> {
        let (count, inputs) = (places.len(), point.lambda.len());
        let Derivatives { mut gradient, mut hessian } = self.utility_derivatives(point, places)?;
        let (leaked, leakage_gradient) = self.add_leakage(point, places, &mut hessian);
        let size = count + inputs + 1;
        let mut matrix = Mat::<f64>::zeros(size, size);
        let mut right = Mat::<f64>::zeros(size, 1);
        matrix.as_mut().submatrix_mut(0, 0, count, count).copy_from(&hessian);
        (0..inputs).for_each(|x| right[(count + x, 0)] = 1.0);
        right[(size - 1, 0)] = self.budget - leaked;
        for (i, &(j, x)) in places.iter().enumerate() {
            for (row, entry) in [(count + x, 1.0), (size - 1, leakage_gradient[i])] {
                matrix[(i, row)] = -entry;
                matrix[(row, i)] = entry;
            }
            gradient[i] -= point.lambda[x] + point.nu * leakage_gradient[i];
            right[(i, 0)] = -gradient[i];
            right[(count + x, 0)] -= point.rows[j][x];
        }
        Some(matrix.partial_piv_lu().solve(&right))
    }
}

impl KktPoint {
    fn places(&self) -> Vec<(usize, usize)> {
        let entries = |(j, row): (usize, &Vec<f64>)| {
            let positive = row.iter().enumerate().filter(|(_, r)| **r > 0.0);
            positive.map(|(x, _)| (j, x)).collect::<Vec<_>>()
        };
        self.rows.iter().enumerate().flat_map(entries).collect()
    }
}

/// The mean entry of a row: its weight.
fn mean(row: &[f64]) -> f64 {
    row.iter().sum::<f64>() / row.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::column::Column;
    use crate::design::cubature::CubatureRequest;
    use crate::design::partial_disclosure::PartialDisclosure;
    use crate::design::restricted_master::utility;
    use crate::design::sensitivity::{CubatureSensitivity, Sensitivity};
    use crate::design::symmetry::Symmetry;
    use crate::design::tolerances::Tolerances;
    use crate::model::prior::Dirichlet;

    const ALPHA: [f64; 3] = [0.5, 1.0, 2.5];

    fn start() -> KktPoint {
        let rows = [[0.1, 0.0, 0.0], [0.0, 0.2, 0.0], [0.03, 0.02, 0.3], [0.87, 0.78, 0.7]];
        KktPoint { rows: rows.iter().map(|row| row.to_vec()).collect(), lambda: vec![0.0; 3], nu: 1.0 }
    }

    fn cubature(prior: &Dirichlet, max_nodes: usize) -> Cubature {
        let request = CubatureRequest { max_nodes, contrast: 1e4, disclosure_odds: None, seed: 0 };
        Cubature::new(&[(1.0, prior)], &Symmetry::new(&ALPHA), &request, &Tolerances::default())
    }

    fn columns(point: &KktPoint, cubature: &Cubature) -> (Vec<Column>, Vec<f64>) {
        let column = |row: &Vec<f64>| {
            let direction = Direction::from_row(row).unwrap();
            (Column::new(&direction, 0.0, &Symmetry::new(&ALPHA), cubature), mean(row))
        };
        point.rows.iter().map(column).unzip()
    }

    #[test]
    fn derivatives_are_those_of_the_utility() {
        let prior = Dirichlet::new(ALPHA.to_vec()).unwrap();
        let cubature = cubature(&prior, 1_500);
        let components = [(1.0, &prior)];
        let (leakage, tolerances) = (RowLeakage(&components), KktTolerances::default());
        let program = RowProgram {
            cubature: &cubature,
            control: None,
            leakage: &leakage,
            budget: 1.0,
            tolerances: &tolerances,
        };
        let at = |point: &KktPoint| {
            let (columns, theta) = columns(point, &cubature);
            utility(&cubature, &columns, &theta).unwrap()
        };
        let here = start();
        let places = here.places();
        let Derivatives { gradient, hessian } = program.utility_derivatives(&here, &places).unwrap();
        let moved = |steps: &[(usize, f64)]| {
            let mut point = here.clone();
            steps.iter().for_each(|&(i, step)| point.rows[places[i].0][places[i].1] += step);
            at(&point)
        };
        let step = 1e-4;
        for i in 0..places.len() {
            let difference = (moved(&[(i, step)]) - moved(&[(i, -step)])) / (2.0 * step);
            assert!(
                (difference - gradient[i]).abs() < 1e-4 * (1.0 + gradient[i].abs()),
                "{i} {difference} {gradient:?}"
            );
            for z in 0..places.len() {
                let sign = |l: f64, r: f64| moved(&[(i, l * step), (z, r * step)]);
                let difference = (sign(1.0, 1.0) - sign(1.0, -1.0) - sign(-1.0, 1.0) + sign(-1.0, -1.0))
                    / (4.0 * step * step);
                let exact = hessian[(i, z)];
                assert!(
                    (difference - exact).abs() < 1e-3 * (1.0 + exact.abs()),
                    "{i} {z} {difference} {exact}"
                );
            }
        }
    }

    /// At a KKT point each row has the reduced cost 0. Checked by sensitivities, which do not know how the rows were found.
    fn rows_of_a_solution_have_no_reduced_cost(max_nodes: usize, has_control_variate: bool) {
        let prior = Dirichlet::new(ALPHA.to_vec()).unwrap();
        let components = [(1.0, &prior)];
        let leakage = RowLeakage(&components);
        let tolerances = Tolerances::default();
        let cubature = cubature(&prior, max_nodes);
        for budget in [0.3, 0.1, 1e-4] {
            // As much is disclosed as may leak.
            let mut point = start();
            let scale = budget / 0.3;
            point.rows[..3].iter_mut().flatten().for_each(|entry| *entry *= scale);
            let disclosed = [0, 1, 2].map(|x| point.rows[..3].iter().map(|row| row[x]).sum::<f64>());
            point.rows[3] = disclosed.map(|disclosed| 1.0 - disclosed).to_vec();
            point.nu = 2.0 / budget;
            let odds = disclosed.map(|disclosed| 1.0 / disclosed - 1.0).to_vec();
            let control = has_control_variate.then(|| {
                let exact = PartialDisclosure::as_control_variate(&components, odds, &tolerances.disclosure);
                ControlVariate::new(exact, &cubature, tolerances.pricing.work_per_task)
            });
            let program = RowProgram {
                cubature: &cubature,
                control: control.as_ref(),
                leakage: &leakage,
                budget,
                tolerances: &tolerances.kkt,
            };
            let solution = program.solve(point).unwrap();
            let sum = |x: usize| solution.rows.iter().map(|row| row[x]).sum::<f64>();
            assert!((0..3).all(|x| (sum(x) - 1.0).abs() < 1e-12), "{solution:?}");
            let (columns, theta) = columns(&solution, &cubature);
            let directions: Vec<Direction> =
                columns.iter().map(|column| column.direction().clone()).collect();
            let leaks: f64 = directions.iter().zip(&theta).map(|(v, t)| t * leakage.of(v)).sum();
            assert!((leaks / budget - 1.0).abs() < 1e-9, "{leaks} {budget}");
            let plain = CubatureSensitivity::new(&cubature, &columns, &theta, 16_384).unwrap();
            let sensitivities = match &control {
                Some(control) => plain.with_control_variate(control).of_each(&directions),
                None => plain.of_each(&directions),
            };
            for (direction, sensitivity) in directions.iter().zip(sensitivities) {
                let linear: f64 = solution.lambda.iter().zip(&direction.values).map(|(l, v)| l * v).sum();
                let cost = linear + solution.nu * leakage.of(direction);
                let relative = (sensitivity.value / cost - 1.0).abs();
                assert!(relative < 1e-7, "{budget} {sensitivity:?} {cost} {direction:?}");
            }
        }
    }

    #[test]
    fn solutions_meet_the_kkt_conditions_on_the_nodes() {
        rows_of_a_solution_have_no_reduced_cost(1_500, false);
    }

    #[test]
    fn solutions_meet_the_kkt_conditions_with_a_control_variate() {
        rows_of_a_solution_have_no_reduced_cost(60, true);
    }
}
