//! Reports that reveal everything or nothing: identity, erasure.
//!
//! `k_x` users surely hold `x`, the other `u = n − Σ k_x` reported nothing. So `P ~ Dir(α + k)` in closed
//! form, and `T_x − k_x` is beta-binomial: each of `u` users holds `x` with probability `P_x`.

use crate::numerics::parallel::*;

use super::Parts;
use super::marginal::{Marginal, Mixture, others};
use super::summary::{Draws, Posterior, PosteriorOptions, Summary, mixed};
use crate::likelihood::Senders;
use crate::likelihood::sparse_rows::SparseRows;
use crate::model::evaluation::{Evaluation, Method};
use crate::model::prior::Dirichlet;
use crate::numerics::random::sample_dirichlet;
use crate::numerics::random::{generator, multinomial, pick};
use crate::numerics::special::ln_sum_exp;
use crate::numerics::stirling::ln_rising;

/// The posterior when `known` users surely hold each value.
pub(crate) fn posterior(
    likelihood: &SparseRows,
    known: &[u64],
    parts: &Parts<'_>,
    options: &PosteriorOptions<'_>,
) -> Posterior {
    let told = known.iter().sum::<u64>();
    let silent = likelihood.n() - told;
    let ln_joint: Vec<f64> = parts.iter().map(|(w, prior)| w.ln() + ln_evidence(prior, known)).collect();
    let ln_total = ln_sum_exp(&ln_joint);
    let weights: Vec<f64> = ln_joint.iter().map(|ln| (ln - ln_total).exp()).collect();
    // The two parameters of the marginal of each value under each component.
    let shapes = |x: usize| {
        let shape = move |(_, prior): &(f64, &Dirichlet)| {
            (prior.alpha()[x] + known[x] as f64, others(prior, x) + (told - known[x]) as f64)
        };
        parts.iter().map(shape).zip(&weights).map(|(shape, w)| (*w, shape))
    };
    let of_value = |x: usize| {
        let p = Mixture { parts: shapes(x).map(|(w, (a, b))| (w, beta(a, b))).collect() };
        let (mean, sd) = mixed(shapes(x).map(|(w, (a, b))| (w, beta_binomial(silent as f64, a, b))));
        (p.summary(options), Summary { mean: mean + known[x] as f64, sd, ..Summary::default() })
    };
    let (p, mut t): (Vec<Summary>, Vec<Summary>) = (0..known.len()).into_par_iter().map(of_value).unzip();
    let draws = draws(known, silent, parts, &weights, options).into_quantiles(&mut t, options);
    let term = |(w, (_, prior)): (&f64, &(f64, &Dirichlet))| {
        (*w, prior.alpha().iter().zip(known).map(|(alpha, k)| alpha + *k as f64).collect())
    };
    let terms = weights.iter().zip(parts).map(term).collect();
    let value = ln_total + likelihood.ln_scale();
    Posterior {
        n: likelihood.n(),
        method: Method::ClosedForm,
        log_evidence: Ok(Evaluation::new(value, 1e-14 * (1.0 + value.abs()), Method::ClosedForm)),
        p,
        t,
        t_quantiles: if silent == 0 { Method::ClosedForm } else { Method::MonteCarlo },
        draws,
        alpha: None,
        roughness: None,
        weights: weights.clone(),
        terms,
        diagnostics: None,
    }
}

/// `ln E Π_x P_x^{k_x}`.
pub(super) fn ln_evidence(prior: &Dirichlet, known: &[u64]) -> f64 {
    let told = known.iter().sum::<u64>() as f64;
    let rising = prior.alpha().iter().zip(known).map(|(alpha, k)| ln_rising(*alpha, *k as f64));
    rising.sum::<f64>() - ln_rising(prior.total(), told)
}

/// A beta distribution.
fn beta<'a>(a: f64, b: f64) -> Marginal<'a> {
    Marginal::new((a, b), Box::new(|_, _| 0.0))
}

/// Mean and standard deviation of a beta-binomial variable.
fn beta_binomial(n: f64, a: f64, b: f64) -> (f64, f64) {
    let (total, mean) = (a + b, a / (a + b));
    (n * mean, (n * mean * (b / total) * (total + n) / (total + 1.0)).sqrt())
}

fn draws(
    known: &[u64],
    silent: u64,
    parts: &Parts<'_>,
    weights: &[f64],
    options: &PosteriorOptions<'_>,
) -> Draws {
    let draw = |i: usize| {
        let rng = &mut generator(options.seed, i as u64);
        let prior = parts[pick(weights, 1.0, rng)].1;
        let p = sample_dirichlet(prior.alpha().iter().zip(known).map(|(alpha, k)| alpha + *k as f64), rng);
        let t = multinomial(silent, &p, rng).iter().zip(known).map(|(more, k)| more + k).collect();
        (p, t)
    };
    Draws::independent((0..options.enough_draws(known.len())).into_par_iter().map(draw).unzip())
}
