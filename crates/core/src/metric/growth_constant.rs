//! The constant in the growth of what the reports tell about `P`.

use std::collections::BTreeMap;

use super::{Settings, asymptotic_utility, prior_entropy};
use crate::information::one_dimensional_image::{Image, MAX_PLACES, MAX_TOTAL};
use crate::model::absence::Absence;
use crate::model::evaluation::{Evaluation, Method};
use crate::model::prior::Prior;
use crate::model::protocol::{Channel, Matrix, Protocol};

/// The constant `r_μ(Q)`: `I(Y⃗;P)` approaches `(d−1)/2 · ln n + r_μ(Q)` with more and more users.
///
/// # Definition
/// ```text
/// r_μ = (a−1) U^as_μ + h(P)                                             for faithful Q   [paper, Thm. "growth of I(Y;P)"]
/// r_μ = −(d−1)/2 · ln(2πe) + h(M) + ½ E ln det J_M,  M = Q_* P          for rank d       [errata, E3 and V5]
/// ```
/// The approach is slow when the prior's density is singular at the boundary: like `n^{−1/4}` for Jeffreys [errata, E5].
///
/// # Method and cost
/// Inputs that a protocol treats alike are merged first, which leaves a Dirichlet prior a Dirichlet prior. If the merged protocol
/// is faithful, by [`asymptotic_utility`] and [`prior_entropy`]; if it has rank two, by one-dimensional quadrature
/// (see the module `one_dimensional_image`).
///
/// # Errors
/// The prior is not continuous, or the merged protocol has a rank between 3 and its number of inputs less one.
pub fn growth_constant(
    protocol: &Protocol,
    prior: &Prior,
    settings: &Settings,
) -> Result<Evaluation, Absence> {
    if !prior.is_continuous() {
        return Err(Absence::NotContinuous);
    }
    if protocol.rank()?.value == protocol.inputs() {
        let utility = asymptotic_utility(protocol, prior, settings)?;
        return Ok(faithful_growth_constant(utility, prior_entropy(prior, settings)?, protocol.inputs()));
    }
    let matrix = protocol.canonical_matrix()?;
    let map = equal_columns(&matrix);
    let merged = merged_matrix(&matrix, &map);
    let Some(merged) = merged else {
        return Ok(Evaluation::closed_form(0.0, 0)); // All inputs are treated alike: reports tell nothing.
    };
    let prior = prior
        .merged(&map)?
        .ok_or(Absence::NoMethod { what: "a prior of one's own and a protocol that is not faithful" })?;
    match merged.rank()?.value {
        rank if rank == merged.inputs() => growth_constant(&Protocol::Matrix(merged), &prior, settings),
        2 => of_line(&merged, &prior),
        _ => Err(Absence::NoMethod { what: "a protocol that is not faithful, of rank 3 or more" }),
    }
}

/// `r_μ = (a−1) U^as_μ + h(P)` of a faithful protocol on `a` inputs.
pub fn faithful_growth_constant(utility: Evaluation, prior_entropy: Evaluation, a: usize) -> Evaluation {
    utility.times(a as f64 - 1.0).plus(prior_entropy)
}

/// For each input the number of its class, where inputs with equal columns (up to rounding) are in one class.
fn equal_columns(matrix: &Matrix) -> Vec<usize> {
    let a = matrix.inputs();
    let rounding = 4.0 * f64::EPSILON * a.max(matrix.rows().len()) as f64;
    let equal = |x: usize, other: usize| {
        matrix.rows().all(|row| (row[x] - row[other]).abs() <= rounding * row[x].max(row[other]))
    };
    let mut representatives: Vec<usize> = Vec::new();
    (0..a)
        .map(|x| match representatives.iter().position(|&other| equal(x, other)) {
            Some(class) => class,
            None => {
                representatives.push(x);
                representatives.len() - 1
            }
        })
        .collect()
}

/// The matrix with one column for each class; `None` if there is only one.
fn merged_matrix(matrix: &Matrix, map: &[usize]) -> Option<Matrix> {
    let first: BTreeMap<usize, usize> = map.iter().enumerate().rev().map(|(x, class)| (*class, x)).collect();
    let entries = matrix.rows().flat_map(|row| first.values().map(|x| row[*x])).collect();
    (first.len() > 1).then(|| Matrix::from_stochastic(first.len(), entries))
}

/// A matrix of rank two, whose columns lie on a line.
fn of_line(matrix: &Matrix, prior: &Prior) -> Result<Evaluation, Absence> {
    let Prior::Dirichlet(dirichlet) = prior else {
        return Err(Absence::NoMethod {
            what: "a mixture of Dirichlet priors and a protocol that is not faithful",
        });
    };
    if matrix.inputs() > MAX_PLACES || dirichlet.total() > MAX_TOTAL {
        return Err(Absence::NoMethod {
            what: "a protocol of rank 2 with more than 32 different inputs, or under a prior with alpha_0 above 2000",
        });
    }
    let (value, error) = Image::of_columns(matrix, dirichlet.alpha()).growth_constant();
    Ok(Evaluation::new(value, error, Method::Quadrature))
}
