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

use super::PriorComponents;
use super::cone::Cone;
use super::direction::Direction;
use super::problem::symmetry_of;
use super::symmetry::Symmetry;
use super::tolerances::Tolerances;
use super::toward_privacy::within_level;
use crate::model::error::{Error, Result};
use crate::model::prior::{Dirichlet, Prior};
use crate::model::protocol::Protocol;
use crate::numerics::dirichlet_mean::LinearForm;
use crate::numerics::special::excess_entropy;
use crate::numerics::stop::check;
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
/// If the prior treats all values alike, the best of the `a − 1` subset selections: with orbits of rows in place of rows the program
/// has one constraint, so one orbit is optimal. Otherwise the simplex method with all `2^a` columns priced in each step: milliseconds up
/// to `a = 8`, seconds at 12.
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
/// `epsilon` is out of range, there are more than twelve inputs that are not alike, or the prior is custom.
pub fn best_for_one_user(prior: &Prior, epsilon: f64) -> Result<OneUserDesign> {
    super::Requirement::new(Some(epsilon), None)?;
    let (inputs, tolerances) = (prior.inputs(), Tolerances::default());
    if prior.dirichlets().is_some_and(|components| symmetry_of(&components).is_full()) {
        return best_subset_selection(prior, epsilon);
    }
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

/// The best subset selection, under a prior that treats all values alike.
fn best_subset_selection(prior: &Prior, epsilon: f64) -> Result<OneUserDesign> {
    let (inputs, cone) = (prior.inputs(), Cone::new(Some(epsilon)));
    let components = prior.dirichlets().ok_or(Error::DesignPrior)?;
    // Of the `a` values, `k` have one entry and the others another: two values with the sums of their parameters stand for them.
    let of_size = |k: usize| {
        check();
        let (members, others) = (k as f64, (inputs - k) as f64);
        let mean = (members + others * cone.floor) / inputs as f64;
        let direction =
            Direction { values: vec![1.0 / mean, cone.floor / mean], offsets: vec![cone.span / mean, 0.0] };
        let merged = |(weight, dirichlet): &(f64, &Dirichlet)| {
            let alpha = dirichlet.alpha()[0];
            Ok((*weight, Dirichlet::new(vec![members * alpha, others * alpha])?))
        };
        let merged = components.iter().map(merged).collect::<Result<Vec<(f64, Dirichlet)>>>()?;
        // The weights of an orbit of directions of mean one sum to 1.
        Ok(of_components(
            &merged.iter().map(|(weight, part)| (*weight, part)).collect::<Vec<_>>(),
            &direction,
        ))
    };
    let values = (1..inputs).map(of_size).collect::<Result<Vec<f64>>>()?;
    let size = 1 + (0..values.len()).max_by(|l, r| values[*l].total_cmp(&values[*r])).unwrap_or(0);
    let information = values[size - 1];
    Ok(OneUserDesign {
        protocol: super::subset_mixture(inputs, epsilon, &[size], &[1.0])?,
        information,
        multipliers: vec![information / inputs as f64; inputs],
        gap: 0.0,
    })
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
        Prior::Dirichlet(_) | Prior::DirichletMixture(_) | Prior::Adaptive(_) => {
            Ok(of_components(&prior.dirichlets().unwrap_or_default(), direction))
        }
        Prior::Smooth(_) | Prior::Custom(_) => Err(Error::DesignPrior),
    }
}

/// `f(v) = Σ_j w_j (E_j[L ln(L/m_j)] + m_j ln(m_j/m))` with the means `m_j` of the components and `m` of all.
fn of_components(components: &PriorComponents<'_>, direction: &Direction) -> f64 {
    let base = direction.base();
    let parts = components.iter().map(|(weight, dirichlet)| {
        let pairs = |values: &[f64]| {
            dirichlet.alpha().iter().copied().zip(values.iter().copied()).collect::<Vec<_>>()
        };
        // At levels far above 30 the smallest entry is lost in rounding, and nothing cancels.
        let (form, scale) = if base > 0.0 {
            let deviations: Vec<f64> = direction.offsets.iter().map(|d| d / base).collect();
            (LinearForm::from_deviations(&pairs(&deviations)), base)
        } else {
            (LinearForm::from_coefficients(&pairs(&direction.values)), 1.0)
        };
        (weight, scale * form.ln_mean().exp(), form.mean_excess().value)
    });
    let parts: Vec<_> = parts.collect();
    let mean: f64 = parts.iter().map(|(weight, mean, _)| *weight * mean).sum();
    let of_part = |(weight, own, excess): &(&f64, f64, f64)| {
        *weight * (own * excess + mean * excess_entropy((own - mean) / mean))
    };
    parts.iter().map(of_part).sum()
}
