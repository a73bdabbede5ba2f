//! The asymptotic utility of a protocol from its Fisher information.

use std::f64::consts::{E, PI};

use super::beta_rule::mean_ln;
use super::{cubature, quasi_monte_carlo};
use crate::fisher::FisherInformation;
use crate::{Evaluation, Method};

/// How much work an expectation may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// The error of the utility to stop at, in nats.
    pub tolerance: f64,
    /// The number of log-determinants to compute at most.
    pub evaluations: usize,
    /// The seed of the random points, where there are any.
    pub seed: u64,
}

impl Default for Effort {
    /// Four digits, a million evaluations.
    fn default() -> Self {
        Effort { tolerance: 1e-4, evaluations: 1 << 20, seed: 0 }
    }
}

/// The asymptotic utility `U_as` of a faithful protocol for a mixture of Dirichlet priors.
///
/// # Definition
/// ```text
/// U_as = −½ ln(2πe) + 1/(2a−2) · E_P ln det(Qᵀ D_P Q)      [paper, Def. "uas"]
/// ```
/// linear in the prior: `prior` lists weights, which should sum to one, and parameters `α`.
///
/// # Method and cost
/// See [`expected_ln_det`].
///
/// # Accuracy
/// The error stated with the value; for a mixture, errors of independent draws add in squares, bounds add.
///
/// # Example
/// ```
/// use sottovoce::expectation::{Effort, asymptotic_utility};
/// use sottovoce::fisher::RandomizedResponse;
/// let grr = RandomizedResponse { inputs: 3, epsilon: 0.5 };
/// let utility = asymptotic_utility(&grr, &[(1.0, vec![0.5; 3])], &Effort::default());
/// assert!((utility.value + 2.3130437651572477).abs() < 1e-11);
/// ```
pub fn asymptotic_utility(
    fisher: &dyn FisherInformation,
    prior: &[(f64, Vec<f64>)],
    effort: &Effort,
) -> Evaluation {
    let parts = prior.iter().enumerate().map(|(i, (weight, alpha))| {
        // Each part has its own points, so that their errors are independent.
        let effort = Effort { seed: effort.seed.wrapping_add((i as u64) << 32), ..*effort };
        (*weight, expected_ln_det(fisher, alpha, &effort))
    });
    utility_of_ln_det(fisher.inputs(), combination(parts))
}

/// `Σ w_i E_i`, with the weakest method of its parts.
fn combination(parts: impl Iterator<Item = (f64, Evaluation)>) -> Evaluation {
    let (mut value, mut bound, mut variance, mut method) = (0.0, 0.0, 0.0, Method::ClosedForm);
    for (weight, part) in parts {
        value += weight * part.value;
        method = method.max(part.method);
        let error = weight * part.error;
        if part.method == Method::MonteCarlo { variance += error * error } else { bound += error }
    }
    Evaluation::new(value, bound + f64::sqrt(variance), method)
}

/// `U_as` from the mean of `ln det M`.
pub fn utility_of_ln_det(inputs: usize, ln_det: Evaluation) -> Evaluation {
    let share = 0.5 / (inputs as f64 - 1.0);
    let value = share * ln_det.value - 0.5 * (2.0 * PI * E).ln();
    Evaluation::new(value, share * ln_det.error + f64::EPSILON * value.abs(), ln_det.method)
}

/// The mean of `ln det(Qᵀ D_P Q)` over `P ~ Dirichlet(alpha)`.
///
/// # Method and cost
/// Up to seven inputs, [`cubature`]; where that does not reach the tolerance within the evaluations allowed, and beyond,
/// [`quasi_monte_carlo`]. Up to three inputs the tolerance asked for is `1e-12` whatever `effort` says: it costs nothing.
///
/// # Accuracy
/// Two and three inputs: below `1e-11` in `U_as` for all 141 cases of `tests/asymptotic_utility.rs`, among them `α` from 0.01 to `10^4`, `ε` from `1e-6`
/// to 50 and matrices with zeros. More inputs: the stated error, see `tests/coverage.rs`. A protocol that is not faithful gives `−∞`, or, in floating point, a large
/// negative number: check its rank first.
///
/// # Panics
/// If `alpha` has not one parameter for each input.
pub fn expected_ln_det(fisher: &dyn FisherInformation, alpha: &[f64], effort: &Effort) -> Evaluation {
    assert_eq!(alpha.len(), fisher.inputs(), "one parameter for each input");
    let per_utility = 2.0 * (alpha.len() as f64 - 1.0);
    let goal = if alpha.len() <= 3 { 1e-12f64.min(effort.tolerance) } else { effort.tolerance } * per_utility;
    let most = if alpha.len() <= 3 { usize::MAX } else { MOST_POINTS_OF_CUBATURE };
    let tensor = if alpha.len() <= MOST_INPUTS_OF_CUBATURE {
        cubature::mean_ln_det(fisher, alpha, goal, effort.evaluations.min(most))
    } else {
        None
    };
    let mean = match tensor {
        // A rule that has nearly arrived beats what random points could reach.
        Some(found) if found.error <= goal || (alpha.len() <= 3 && found.error < 1e-7 * per_utility) => found,
        _ => {
            let random = quasi_monte_carlo::mean_ln_det(fisher, alpha, goal, effort.evaluations, effort.seed);
            tensor.filter(|found| found.error < random.error).unwrap_or(random)
        }
    };
    Evaluation::new(mean.value, mean.error + fisher.ln_det_error(), mean.method)
}

/// A rule that has not arrived by then is slower than random points with controls. Two or three inputs may take all evaluations.
const MOST_POINTS_OF_CUBATURE: usize = 60_000;

/// At eight inputs even six nodes a dimension are 280 thousand points.
const MOST_INPUTS_OF_CUBATURE: usize = 7;

/// The mean of `ln det M` of the identity protocol, `−Σ_x E ln P_x = Σ_x (ψ(α0) − ψ(α_x))`.
///
/// Its utility is the capacity `C_μ`; that of an erasure with probability `kept` is larger by `½ ln kept`.
pub fn identity_ln_det(alpha: &[f64]) -> Evaluation {
    let total: f64 = alpha.iter().sum();
    let value = -alpha.iter().map(|&alpha_x| mean_ln(alpha_x, total - alpha_x)).sum::<f64>();
    Evaluation::closed_form(value, 4)
}

/// The mean of `ln det M` of a square invertible protocol of any size.
///
/// `det M = det² Q / Π_y (Qp)_y`, so it is `2 ln |det Q| − Σ_y E ln (QP)_y`, with the means of `ln (QP)_y` from one-dimensional integrals.
pub fn square_ln_det(ln_abs_det: f64, mean_ln_outputs: &[Evaluation]) -> Evaluation {
    let sum = combination(mean_ln_outputs.iter().map(|&mean| (1.0, mean)));
    let value = 2.0 * ln_abs_det - sum.value;
    Evaluation::new(value, sum.error + 2.0 * f64::EPSILON * ln_abs_det.abs(), sum.method)
}
