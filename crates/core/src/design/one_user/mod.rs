//! The best protocol for a single report: a linear program over the extreme rays of the cone.
//!
//! The information of one report about `P` is a sum over the rows, `I(Y;P) = Σ_j θ_j f(v_j)`, with the convex
//! ```text
//! f(v) = E[L ln(L / E L)],   L = v·P
//! ```
//! so the best `ε`-LDP protocol has rows `v ∈ {1, e^ε}^a`, and its weights are a linear program with `a` constraints. For a prior with two
//! points this is hypothesis testing as Kairouz, Oh and Viswanath study it ("Extremal mechanisms for local differential privacy", 2014):
//! at high privacy the best protocol has two outputs, at low privacy it is randomised response.

mod simplex_method;

use super::cone::Cone;
use super::direction::Direction;
use super::symmetry::Symmetry;
use super::tolerances::Tolerances;
use super::toward_privacy::within_level;
use crate::model::error::{Error, Result};
use crate::model::prior::{Dirichlet, Prior};
use crate::model::protocol::Protocol;
use crate::numerics::dirichlet_mean::LinearForm;
use crate::numerics::special::excess_entropy;
use simplex_method::LinearProgram;

/// The protocol whose single report has the most information about `P`.
#[derive(Clone, Debug)]
pub struct OneUserDesign {
    /// The protocol, with one row for each direction of positive weight.
    pub protocol: Protocol,
    /// `I(Y;P)` of one report, in nats.
    pub information: f64,
    /// Dual variables `λ_x` with `f(v) ≤ λᵀv` for all directions: no protocol has more information than `Σ_x λ_x`.
    pub multipliers: Vec<f64>,
    /// `Σ_x λ_x − I(Y;P)`, with `λ` raised by the reduced cost that rounding leaves.
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
/// `epsilon` is out of range, there are more than twelve inputs, or the prior is a mixture or custom.
pub fn best_for_one_user(prior: &Prior, epsilon: f64) -> Result<OneUserDesign> {
    super::Requirement::new(Some(epsilon), None)?;
    let (inputs, tolerances) = (prior.inputs(), Tolerances::default());
    let most = tolerances.limits.inputs_one_user;
    if inputs > most {
        return Err(Error::DesignSize { a: inputs, most, limited: false });
    }
    let cone = Cone::new(Some(epsilon));
    let distinct: Vec<usize> = (0..inputs).collect();
    let sets = Symmetry::new(&distinct).subset_representatives();
    let directions: Vec<Direction> =
        sets.iter().map(|set| cone.vertex(set)).chain([Direction::constant(inputs)]).collect();
    let values = directions.iter().map(|v| information(prior, v)).collect::<Result<Vec<f64>>>()?;
    let mut design = LinearProgram { directions, values, tolerances: tolerances.one_user }.solve(inputs)?;
    let rows = design.protocol.to_matrix()?.rows().map(<[f64]>::to_vec).collect();
    design.protocol = within_level(rows, epsilon, &tolerances.rounding)?;
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
                dot(&direction.offsets, &difference) / total
            };
            let parts = points.weights().iter().zip(points.points());
            Ok(total * parts.map(|(weight, p)| weight * excess_entropy(deviation(p))).sum::<f64>())
        }
        Prior::Dirichlet(dirichlet) => Ok(of_dirichlet(dirichlet, direction)),
        Prior::DirichletMixture(_) | Prior::Adaptive(_) | Prior::Custom(_) => Err(Error::DesignPrior),
    }
}

fn of_dirichlet(dirichlet: &Dirichlet, direction: &Direction) -> f64 {
    let base = direction.base();
    let pairs: Vec<_> =
        dirichlet.alpha().iter().zip(&direction.offsets).map(|(alpha, d)| (*alpha, d / base)).collect();
    let form = LinearForm::from_deviations(&pairs);
    base * form.ln_mean().exp() * form.mean_excess().value
}
