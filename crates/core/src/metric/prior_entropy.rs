//! The differential entropy of the prior.

use super::Settings;
use super::monte_carlo::mean_over_draws;
use crate::model::absence::Absence;
use crate::model::evaluation::Evaluation;
use crate::model::prior::{Dirichlet, Prior};
use crate::numerics::special::{digamma_difference, ln_beta, ln_beta_groups, ln_gamma};

/// Differential entropy `h(P)`, with respect to Lebesgue measure in `a − 1` of the coordinates.
///
/// # Definition
/// ```text
/// h(P) = −E ln f(P)        [paper, section "Information-theoretic concepts"; measure: errata, E2]
/// ```
///
/// # Method and cost
/// Closed form for a Dirichlet prior, `O(1)` for each distinct parameter. Monte Carlo for a mixture or a
/// custom prior.
///
/// # Accuracy
/// `1e-14` times the largest of its terms.
///
/// # Example
/// ```
/// # use sottovoce::{Prior, metric::{Settings, prior_entropy}};
/// let entropy = prior_entropy(&Prior::symmetric(3, 1.0)?, &Settings::default()).unwrap();
/// assert!((entropy.value + 2f64.ln()).abs() < 1e-15);
/// # Ok::<(), sottovoce::Error>(())
/// ```
///
/// # Errors
/// The prior is not continuous.
pub fn prior_entropy(prior: &Prior, settings: &Settings) -> Result<Evaluation, Absence> {
    match prior {
        Prior::Dirichlet(dirichlet) => Ok(of_dirichlet(dirichlet)),
        Prior::Points(_) => Err(Absence::NotContinuous),
        Prior::DirichletMixture(_) | Prior::Adaptive(_) | Prior::Smooth(_) | Prior::Custom(_) => {
            mean_over_draws(prior, settings, |ln_p| {
                Ok(-prior.ln_density(ln_p).ok_or(Absence::NotContinuous)?)
            })
        }
    }
}

/// `ln B(α) + Σ_x (α_x − 1)(ψ(α0) − ψ(α_x))`.
fn of_dirichlet(dirichlet: &Dirichlet) -> Evaluation {
    let terms = dirichlet.groups().iter().map(|group| {
        group.count as f64 * (group.alpha - 1.0) * digamma_difference(group.alpha, group.others)
    });
    let (mut sum, mut magnitude) = ln_normaliser(dirichlet);
    for term in terms {
        sum += term;
        magnitude += term.abs();
    }
    Evaluation { error: 16.0 * f64::EPSILON * magnitude, ..Evaluation::closed_form(sum, 0) }
}

/// `ln B(α)`, and the size of its summands.
///
/// For few values as a product of Beta functions, smallest parameters first: the log-gammas of
/// `α = (1e8, 1e-4, 1)` are of order 1e9 and would leave an error of 1e-7.
fn ln_normaliser(dirichlet: &Dirichlet) -> (f64, f64) {
    const MOST_VALUES: usize = 64;
    if dirichlet.alpha().len() > MOST_VALUES {
        let pairs: Vec<(f64, usize)> = dirichlet.groups().iter().map(|g| (g.alpha, g.count)).collect();
        return (ln_beta_groups(&pairs), ln_gamma(dirichlet.total()).abs());
    }
    let mut ascending = dirichlet.groups().iter().flat_map(|g| std::iter::repeat_n(g.alpha, g.count));
    let mut total = ascending.next().unwrap_or(1.0);
    ascending.fold((0.0, 0.0), |(sum, magnitude), alpha| {
        let term = ln_beta(total, alpha);
        total += alpha;
        (sum + term, magnitude + term.abs().max(1.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn very_unequal_parameters_keep_their_digits() {
        // From 50-digit arithmetic.
        let prior = Prior::dirichlet(vec![1e8, 1e-4, 1.0]).unwrap();
        let entropy = prior_entropy(&prior, &Settings::default()).unwrap();
        assert!((entropy.value - EXPECTED).abs() <= entropy.error && entropy.error < 1e-9, "{entropy:?}");
    }

    const EXPECTED: f64 = -10026.207972322669;
}
