//! The mean of a log-determinant over a Dirichlet prior, by whichever rule reaches the tolerance.

use super::{cubature, quasi_monte_carlo};
use crate::fisher::FisherInformation;
use crate::model::evaluation::Evaluation;

/// How much work an expectation may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanOptions {
    /// The error of the utility to stop at, in nats.
    pub tolerance: f64,
    /// The number of log-determinants to compute at most.
    pub evaluations: usize,
    /// The seed of the random points, where there are any.
    pub seed: u64,
}

impl Default for MeanOptions {
    /// Four digits, a million evaluations.
    fn default() -> Self {
        MeanOptions { tolerance: 1e-4, evaluations: 1 << 20, seed: 0 }
    }
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
pub fn expected_ln_det(fisher: &dyn FisherInformation, alpha: &[f64], effort: &MeanOptions) -> Evaluation {
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
            let smallest = alpha.iter().copied().fold(f64::INFINITY, f64::min);
            let affordable = MOST_OPERATIONS / fisher.operations(smallest);
            let evaluations = effort.evaluations.min(affordable as usize).max(FEWEST_POINTS);
            let random = quasi_monte_carlo::mean_ln_det(fisher, alpha, goal, evaluations, effort.seed);
            tensor.filter(|found| found.error < random.error).unwrap_or(random)
        }
    };
    Evaluation::new(mean.value, mean.error + fisher.ln_det_error(), mean.method)
}

/// Floating-point operations that quasi-Monte Carlo may take: about a minute of one core.
const MOST_OPERATIONS: f64 = 4e10;

/// Points that are always taken.
const FEWEST_POINTS: usize = 256;

/// A rule that has not arrived by then is slower than random points with controls. Two or three inputs may take all evaluations.
const MOST_POINTS_OF_CUBATURE: usize = 60_000;

/// At eight inputs even six nodes a dimension are 280 thousand points.
const MOST_INPUTS_OF_CUBATURE: usize = 7;
