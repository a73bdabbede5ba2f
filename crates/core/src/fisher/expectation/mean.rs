//! The mean of a log-determinant over a Dirichlet prior, by whichever rule reaches the tolerance.

use super::{cubature, quasi_monte_carlo};
use crate::fisher::FisherInformation;
use crate::model::evaluation::Evaluation;

/// How much work an expectation may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanOptions {
    /// The target error of the utility, in nats.
    pub tolerance: f64,
    /// The largest number of log-determinants to compute.
    pub evaluations: usize,
    /// The seed of the random points, if any are used.
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
/// Up to seven inputs, [`cubature`]. Beyond that, and where cubature does not reach the tolerance within the
/// allowed evaluations, [`quasi_monte_carlo`]. Up to three inputs the tolerance is `1e-12` whatever `effort`
/// says: it costs almost nothing.
///
/// # Accuracy
/// Two and three inputs: below `1e-11` in `U_as` for all 141 cases of `tests/asymptotic_utility.rs`,
/// including `α` from 0.01 to `10^4`, `ε` from `1e-6` to 50 and matrices with zeros. More inputs: the stated
/// error, see `tests/coverage.rs`. A protocol that is not faithful gives `−∞` or, in floating point, a large
/// negative number: check its rank first.
///
/// # Panics
/// If `alpha` does not have one parameter for each input.
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
        // A rule that has nearly converged is more accurate than random points could be.
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

/// Limit on the floating-point operations of quasi-Monte Carlo: about a minute on one core.
const MOST_OPERATIONS: f64 = 4e10;

/// The smallest number of points.
const FEWEST_POINTS: usize = 256;

/// A rule that has not converged by then is slower than random points with control variates. With two or
/// three inputs all evaluations may be used.
const MOST_POINTS_OF_CUBATURE: usize = 60_000;

/// With eight inputs even six nodes per dimension are 280 thousand points.
const MOST_INPUTS_OF_CUBATURE: usize = 7;
