//! The truth under mixtures of Dirichlet distributions and under points, beyond enumeration.
//!
//! `P(T)` is a finite sum, so `H(T) = E[−ln P(T)]` is Monte Carlo with one exact logarithm a draw; `H(T|P)` is exact ([`super::users`]).

use chacha20::ChaCha8Rng;

use super::aggregator::InformationOptions;
use super::monte_carlo::mean;
use super::users::group_private;
use crate::model::absence::Absence;
use crate::model::evaluation::{Evaluation, Method};
use crate::model::prior::{Component, Prior};
use crate::numerics::random::multinomial;
use crate::numerics::stirling::{ln_factorial, ln_rising};

/// `H(T)`, or `I(X⃗;P)` if not `tally`; `None` for a prior of one's own.
pub(crate) fn information(
    prior: &Prior,
    n: u64,
    tally: bool,
    options: &InformationOptions<'_>,
) -> Option<Result<Evaluation, Absence>> {
    let (parts, group) = (Component::parts_of(prior)?, group_private(prior, n)?);
    let offset = if tally { 0.0 } else { -group.value };
    let draw = |rng: &mut ChaCha8Rng| {
        let p: Vec<f64> = prior.sample_ln(rng).into_iter().map(f64::exp).collect();
        vec![-ln_probability(&parts, &multinomial(n, &p, rng))]
    };
    Some(mean(Evaluation::new(offset, group.error, Method::Quadrature), options, &draw))
}

fn ln_probability(parts: &[(f64, Component)], t: &[u64]) -> f64 {
    let counts = || t.iter().map(|t_x| *t_x as f64);
    let n: f64 = counts().sum();
    let ln_part = |(w, law): &(f64, Component)| {
        w.ln()
            + match law {
                Component::Dirichlet(alpha) => {
                    let total: f64 = alpha.iter().sum();
                    counts().zip(alpha).map(|(t, a)| ln_rising(*a, t)).sum::<f64>() - ln_rising(total, n)
                }
                Component::Point(p) => {
                    counts().zip(p).map(|(t, p)| if t == 0.0 { 0.0 } else { t * p.ln() }).sum()
                }
            }
    };
    let logs: Vec<f64> = parts.iter().map(ln_part).collect();
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let ln_orders = ln_factorial(n) - counts().map(ln_factorial).sum::<f64>();
    ln_orders + top + logs.iter().map(|l| (l - top).exp()).sum::<f64>().ln()
}
