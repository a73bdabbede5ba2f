//! The best protocol for a single report: a linear program over the staircase directions.
//!
//! What one report tells about `P` is a sum over the rows, `I(Y;P) = Σ_j θ_j f(v_j)`, with the convex
//! ```text
//! f(v) = E[L ln(L / E L)],   L = v·P
//! ```
//! so the best `ε`-LDP protocol has rows `v ∈ {1, e^ε}^a`, and its weights are a linear program with `a` constraints. For a prior with two
//! points this is hypothesis testing as Kairouz, Oh and Viswanath study it ("Extremal mechanisms for local differential privacy", 2014):
//! at high privacy the best protocol has two outputs, at low privacy it is randomised response.

use faer::Mat;
use faer::prelude::Solve;

use super::branch_and_bound::Cone;
use super::direction::{Classes, Direction};
use super::toward_privacy::within;
use crate::model::error::{Error, Result};
use crate::model::prior::{Dirichlet, Prior};
use crate::model::protocol::Protocol;
use crate::numerics::dirichlet_mean::LinearForm;
use crate::numerics::special::excess_entropy;
use crate::numerics::stop::check;

/// The most inputs: `2^a` directions are priced in each step.
const MOST_INPUTS: usize = 12;
/// Steps of the simplex method at most; typical are a few times `a`.
const MOST_STEPS: usize = 5_000;
/// A gain below this share of the largest value is rounding.
const ROUNDING: f64 = 1e-12;

/// The protocol whose single report tells most about `P`.
#[derive(Clone, Debug)]
pub struct OneUserDesign {
    /// The protocol, with one row for each direction of positive weight.
    pub protocol: Protocol,
    /// `I(Y;P)` of one report, in nats.
    pub information: f64,
    /// Multipliers `λ_x` with `f(v) ≤ λᵀv` for all directions, so that no protocol tells more than `Σ_x λ_x`.
    pub multipliers: Vec<f64>,
    /// `Σ_x λ_x − I(Y;P)`, with `λ` raised by what rounding leaves.
    pub gap: f64,
}

/// The `ε`-LDP protocol of largest `I(Y;P)` for one user.
///
/// # Method and cost
/// The simplex method with all `2^a` columns priced in each step: milliseconds up to `a = 8`, seconds at 12.
///
/// # Example
/// ```
/// use sottovoce::{Prior, design::best_for_one_user, prior::Points};
/// // Two hypotheses; at high privacy two outputs are best.
/// let hypotheses = Points::new(vec![0.5, 0.5], vec![vec![0.6, 0.3, 0.1], vec![0.2, 0.3, 0.5]])?;
/// let design = best_for_one_user(&Prior::Points(hypotheses), 0.2)?;
/// assert_eq!(design.protocol.outputs(), Some(2));
/// # Ok::<(), sottovoce::Error>(())
/// ```
///
/// # Errors
/// `epsilon` is out of range, there are more than twelve inputs, or the prior is one's own.
pub fn best_for_one_user(prior: &Prior, epsilon: f64) -> Result<OneUserDesign> {
    super::Requirement::new(Some(epsilon), None)?;
    let inputs = prior.inputs();
    if inputs > MOST_INPUTS {
        return Err(Error::DesignSize { a: inputs, most: MOST_INPUTS, limited: false });
    }
    let cone = Cone { floor: (-epsilon).exp(), span: -(-epsilon).exp_m1() };
    let distinct: Vec<usize> = (0..inputs).collect();
    let sets = Classes::new(&distinct).subsets();
    let directions: Vec<Direction> =
        sets.iter().map(|set| cone.two_valued(set)).chain([Direction::constant(inputs)]).collect();
    let values = directions.iter().map(|v| information(prior, v)).collect::<Result<Vec<f64>>>()?;
    let mut design = Simplex { directions, values }.solve(inputs)?;
    let rows = design.protocol.to_matrix()?.rows().map(<[f64]>::to_vec).collect();
    design.protocol = within(rows, epsilon)?;
    Ok(design)
}

/// `f(v)`.
fn information(prior: &Prior, direction: &Direction) -> Result<f64> {
    match prior {
        Prior::Points(points) => {
            let dot = |v: &[f64], p: &[f64]| v.iter().zip(p).map(|(v, p)| v * p).sum::<f64>();
            let mean = prior.mean();
            let total = dot(&direction.values, &mean);
            let deviation = |p: &[f64]| {
                let difference: Vec<f64> = p.iter().zip(&mean).map(|(p, mean)| p - mean).collect();
                dot(&direction.deviations, &difference) / total
            };
            let parts = points.weights().iter().zip(points.points());
            Ok(total * parts.map(|(weight, p)| weight * excess_entropy(deviation(p))).sum::<f64>())
        }
        Prior::Dirichlet(dirichlet) => Ok(of_dirichlet(dirichlet, direction)),
        Prior::DirichletMixture(_) | Prior::Custom(_) => Err(Error::DesignPrior),
    }
}

fn of_dirichlet(dirichlet: &Dirichlet, direction: &Direction) -> f64 {
    let base = direction.base();
    let pairs: Vec<_> =
        dirichlet.alpha().iter().zip(&direction.deviations).map(|(alpha, d)| (*alpha, d / base)).collect();
    let form = LinearForm::from_deviations(&pairs);
    base * form.ln_mean().exp() * form.mean_excess().value
}

/// `maximise Σ θ_j f_j` over `θ ≥ 0` with `Σ θ_j v_j = 1`.
struct Simplex {
    directions: Vec<Direction>,
    values: Vec<f64>,
}

impl Simplex {
    fn solve(&self, inputs: usize) -> Result<OneUserDesign> {
        // Randomised response is a vertex.
        let single = |v: &Direction| v.deviations.iter().filter(|d| **d > 0.0).count() == 1;
        let mut basis: Vec<usize> =
            (0..self.directions.len()).filter(|&j| single(&self.directions[j])).collect();
        let scale = self.values.iter().copied().fold(0.0, f64::max);
        let mut stalled = 0;
        for _ in 0..MOST_STEPS {
            check();
            let (theta, multipliers) = self.vertex(&basis, inputs);
            let Some(entering) = self.entering(&multipliers, ROUNDING * scale, stalled > inputs) else {
                return Ok(self.design(&basis, &theta, multipliers));
            };
            let step = self.through(&basis, &self.directions[entering].values, inputs);
            let Some((leaving, length)) = leaving(&basis, &theta, &step) else { break };
            stalled = if length > 1e-14 { 0 } else { stalled + 1 };
            basis[leaving] = entering;
        }
        Err(Error::DesignNotConverged)
    }

    fn matrix(&self, basis: &[usize], inputs: usize) -> Mat<f64> {
        Mat::from_fn(inputs, inputs, |x, i| self.directions[basis[i]].values[x])
    }

    /// The weights of the basis, and the multipliers.
    fn vertex(&self, basis: &[usize], inputs: usize) -> (Vec<f64>, Vec<f64>) {
        let prices = Mat::from_fn(inputs, 1, |i, _| self.values[basis[i]]);
        let multipliers = self.matrix(basis, inputs).transpose().to_owned().partial_piv_lu().solve(&prices);
        let theta = self.through(basis, &vec![1.0; inputs], inputs);
        (theta, (0..inputs).map(|x| multipliers[(x, 0)]).collect())
    }

    /// `B⁻¹ v`.
    fn through(&self, basis: &[usize], v: &[f64], inputs: usize) -> Vec<f64> {
        let right = Mat::from_fn(inputs, 1, |x, _| v[x]);
        let solution = self.matrix(basis, inputs).partial_piv_lu().solve(&right);
        (0..inputs).map(|i| solution[(i, 0)]).collect()
    }

    fn beyond(&self, multipliers: &[f64], j: usize) -> f64 {
        let cost: f64 = multipliers.iter().zip(&self.directions[j].values).map(|(l, v)| l * v).sum();
        self.values[j] - cost
    }

    /// The direction that gains most; the first that gains (Bland's rule) while steps are stalled, so that none is tried twice.
    fn entering(&self, multipliers: &[f64], rounding: f64, first: bool) -> Option<usize> {
        let mut gaining = (0..self.values.len())
            .map(|j| (j, self.beyond(multipliers, j)))
            .filter(|(_, gain)| *gain > rounding);
        if first {
            return gaining.next().map(|(j, _)| j);
        }
        gaining.max_by(|l, r| l.1.total_cmp(&r.1)).map(|(j, _)| j)
    }

    fn design(&self, basis: &[usize], theta: &[f64], mut multipliers: Vec<f64>) -> OneUserDesign {
        let inputs = multipliers.len();
        let used = || basis.iter().zip(theta).filter(|(_, t)| **t > 1e-12);
        let row =
            |(j, t): (&usize, &f64)| self.directions[*j].values.iter().map(|v| t * v).collect::<Vec<_>>();
        let mut rows: Vec<Vec<f64>> = used().map(row).collect();
        for x in 0..inputs {
            let sum: f64 = rows.iter().map(|row| row[x]).sum();
            rows.iter_mut().for_each(|row| row[x] /= sum);
        }
        let information: f64 = used().map(|(j, t)| t * self.values[*j]).sum();
        let left = (0..self.values.len()).map(|j| self.beyond(&multipliers, j)).fold(0.0, f64::max);
        multipliers.iter_mut().for_each(|lambda| *lambda += left / inputs as f64);
        let gap = (multipliers.iter().sum::<f64>() - information).max(0.0);
        // Unwrap safety: a vertex meets the constraints, so the columns are distributions.
        OneUserDesign { protocol: Protocol::matrix(rows).unwrap(), information, multipliers, gap }
    }
}

/// The place in the basis that first reaches zero along the step, by the smallest index among equals, and how far that is.
fn leaving(basis: &[usize], theta: &[f64], step: &[f64]) -> Option<(usize, f64)> {
    let reach = |i: usize| (step[i] > 1e-11).then(|| (i, (theta[i] / step[i]).max(0.0)));
    let order = |l: &(usize, f64), r: &(usize, f64)| l.1.total_cmp(&r.1).then(basis[l.0].cmp(&basis[r.0]));
    (0..basis.len()).filter_map(reach).min_by(order)
}
