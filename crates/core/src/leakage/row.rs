//! The leakage of single outputs, and of any protocol given as a matrix.

use crate::model::evaluation::{Evaluation, Method};
use crate::numerics::dirichlet_mean::LinearForm;
use crate::numerics::special::excess_entropy;
use crate::numerics::trapezoid::Bounded;

/// Leakage of one output with likelihoods `q_yx`: its share of `I(X; Y | P)`. `pairs` are `(alpha_x, q_yx)`, or `(p_x, q_yx)`
/// of a point prior with `Σ p_x = 1`. A row of zeros leaks nothing.
///
/// # Definition
/// ```text
/// θ [ Σ_x w_x φ(v_x) − E φ(L) ],   θ = Σ_x w_x q_yx,   v_x = q_yx / θ
/// ```
///
/// # Method and cost
/// [`LinearForm::jensen_gap`]: one integral, `O(distinct likelihoods)` a node. For a point prior the finite sum `θ Σ p_x φ(v_x)`.
///
/// # Accuracy
/// That of [`LinearForm`], also for `α0 = 10^{−3}` and likelihoods that differ by one part in `10^9`. Deviations are taken from the likelihood of most prior mass, so what was lost in rounding the likelihoods is the larger error;
/// [`row_of_deviations`] avoids it.
///
/// # Example
/// ```
/// use sottovoce::leakage::row;
/// // One output that excludes the second of two inputs, under the uniform prior.
/// let leakage = row(&[(1.0, 0.5), (1.0, 0.0)], false);
/// assert!((leakage.value - 0.25 * 0.5).abs() < 1e-15);
/// ```
pub fn row(pairs: &[(f64, f64)], is_point: bool) -> Evaluation {
    if pairs.iter().all(|&(mass, q)| mass * q == 0.0) {
        return Evaluation::closed_form(0.0, 0);
    }
    let form = LinearForm::from_coefficients(pairs);
    of_form(form.ln_mean().exp(), &form, is_point)
}

/// [`row`], with the likelihoods `q_yx ∝ 1 + d_x` given by their deviations and the output's prior probability `theta` apart.
///
/// ```
/// use sottovoce::leakage::row_of_deviations;
/// // Second order in the deviation: d² Var(X)/2 (1 − E[P²]) …
/// let leakage = row_of_deviations(1.0, &[(1.0, 1e-9), (1.0, 0.0)], false);
/// assert!((leakage.value / (1e-18 / 8.0 * 2.0 / 3.0) - 1.0).abs() < 1e-8);
/// ```
pub fn row_of_deviations(theta: f64, pairs: &[(f64, f64)], is_point: bool) -> Evaluation {
    of_form(theta, &LinearForm::from_deviations(pairs), is_point)
}

fn of_form(theta: f64, form: &LinearForm, is_point: bool) -> Evaluation {
    if is_point {
        let sum = form.scaled().map(|(weight, deviation)| weight * excess_entropy(deviation)).sum::<f64>();
        return Evaluation::closed_form(theta * sum, 16);
    }
    evaluation(form.jensen_gap().scaled(theta))
}

/// A quadrature as an evaluation; exactly zero is a closed form.
pub(super) fn evaluation(leakage: Bounded) -> Evaluation {
    let method = if leakage == Bounded::default() { Method::ClosedForm } else { Method::Quadrature };
    Evaluation::new(leakage.value, leakage.error, method)
}

/// Leakage of a protocol given by its rows (outputs), each the likelihoods `q_yx` of all inputs in the order of `masses`
/// (alphas, or probabilities of a point prior): the sum of [`row`]. Merge proportional rows first where there are many.
///
/// # Example
/// ```
/// use sottovoce::leakage::{dense, GroupedPrior, user_entropy};
/// let rows = [[1.0, 0.0, 0.0], [0.0, 2.0 / 3.0, 1.0 / 3.0], [0.0, 1.0 / 3.0, 2.0 / 3.0]];
/// let leakage = dense(&[1.0; 3], rows.iter().map(|r| &r[..]), false);
/// let entropy = user_entropy(&GroupedPrior::dirichlet(&[1.0; 3]));
/// assert!((1.0 - leakage.value / entropy.value - 0.369_678_496_298_637_5).abs() < 1e-14);
/// ```
pub fn dense<'a>(masses: &[f64], rows: impl Iterator<Item = &'a [f64]>, is_point: bool) -> Evaluation {
    let leakage = |likelihoods: &[f64]| {
        let pairs: Vec<_> = masses.iter().copied().zip(likelihoods.iter().copied()).collect();
        row(&pairs, is_point)
    };
    rows.map(leakage).fold(Evaluation::closed_form(0.0, 0), |sum, part| {
        Evaluation::new(sum.value + part.value, sum.error + part.error, sum.method.max(part.method))
    })
}
