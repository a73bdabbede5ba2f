//! Priors with finitely many points: Bayes' rule.
//!
//! Given the point and the reports, the users' values are independent, so the moments of `T` are those of
//! sums of independent indicators.

use crate::numerics::parallel::*;

use super::summary::{Draws, Posterior, PosteriorOptions, Summary, mixed};
use crate::likelihood::Senders;
use crate::likelihood::sparse_rows::SparseRows;
use crate::model::error::{Error, Result};
use crate::model::evaluation::{Evaluation, Method};
use crate::model::prior::Points;
use crate::numerics::random::{generator, pick};
use crate::numerics::special::ln_sum_exp;

/// The posterior under a prior with finitely many points.
///
/// # Errors
/// No point can produce the reports.
pub(crate) fn posterior(
    likelihood: &SparseRows,
    prior: &Points,
    options: &PosteriorOptions<'_>,
) -> Result<Posterior> {
    let points = prior.points();
    let ln_joint: Vec<f64> =
        prior.weights().iter().zip(points).map(|(w, p)| w.ln() + likelihood.ln_value(p)).collect();
    let ln_total = ln_sum_exp(&ln_joint);
    if ln_total == f64::NEG_INFINITY {
        return Err(Error::ImpossibleReports);
    }
    let weights: Vec<f64> = ln_joint.iter().map(|ln| (ln - ln_total).exp()).collect();
    let possible = || weights.iter().zip(points).filter(|(w, _)| **w > 0.0);
    let moments: Vec<_> = possible().map(|(w, p)| (*w, likelihood.tally_moments(p))).collect();
    let p =
        (0..likelihood.inputs()).map(|x| discrete(possible().map(|(w, p)| (p[x], *w)).collect(), options));
    let tally = |x: usize| {
        let (mean, sd) =
            mixed(moments.iter().map(|(w, (mean, variance))| (*w, (mean[x], variance[x].sqrt()))));
        Summary { mean, sd, ..Summary::default() }
    };
    let (p, mut t): (Vec<_>, Vec<_>) = (p.collect(), (0..likelihood.inputs()).map(tally).collect());
    let draws = draws(likelihood, points, &weights, options).into_quantiles(&mut t, options);
    let value = ln_total + likelihood.ln_scale();
    Ok(Posterior {
        n: likelihood.n(),
        method: Method::ClosedForm,
        log_evidence: Ok(Evaluation::new(value, 1e-14 * (1.0 + value.abs()), Method::ClosedForm)),
        p,
        t,
        t_quantiles: Method::MonteCarlo,
        draws,
        alpha: None,
        roughness: None,
        weights: Vec::new(),
        terms: Vec::new(),
        diagnostics: None,
    })
}

/// A distribution with finitely many values; it has no density.
fn discrete(mut values: Vec<(f64, f64)>, options: &PosteriorOptions<'_>) -> Summary {
    values.sort_by(|l, r| l.0.total_cmp(&r.0));
    let (mean, sd) = mixed(values.iter().map(|(value, w)| (*w, (*value, 0.0))));
    let quantile = |q: f64| {
        let mut below = 0.0;
        let reached = values.iter().find(|(_, w)| {
            below += w;
            below >= q * (1.0 - 1e-15)
        });
        // Unwrap safety: rounding may leave the sum of all weights below 1, but there is a value.
        reached.or(values.last()).unwrap().0
    };
    let quantiles = options.probabilities.iter().map(|q| (*q, quantile(*q))).collect();
    Summary { mean, sd, quantiles, ..Summary::default() }
}

fn draws(
    likelihood: &SparseRows,
    points: &[Vec<f64>],
    weights: &[f64],
    options: &PosteriorOptions<'_>,
) -> Draws {
    let draw = |i: usize| {
        let rng = &mut generator(options.seed, i as u64);
        let p = points[pick(weights, 1.0, rng)].clone();
        let t = likelihood.sample_tallies(&p, rng);
        (p, t)
    };
    Draws::independent((0..options.enough_draws(likelihood.inputs())).into_par_iter().map(draw).unzip())
}
