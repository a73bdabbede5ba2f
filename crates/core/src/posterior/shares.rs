//! Randomised response with many reports: marginals from independent shares, see [`crate::likelihood::shares`].

use rayon::prelude::*;

use super::Parts;
use super::marginal::{Marginal, Mixture, logarithms};
use super::response::counts;
use super::summary::{Draws, Options, Posterior, Summary, mixed};
use crate::evaluation::{Evaluation, Method};
use crate::information::monte_carlo::{binomial, generator, multinomial, pick};
use crate::likelihood::shares::{Shares, Sum};
use crate::prior::{Dirichlet, ln_sum_exp};
use crate::protocol::{Channel, GeneralisedRandomisedResponse};
use crate::tallies::Tallies;

/// Relative agreement of the integral of each marginal with the evidence.
const MAX_DEVIATION: f64 = 1e-7;

/// The posterior of randomised response, whatever the number of reports; `None` where a marginal is not smooth, or does not integrate to the evidence.
pub(crate) fn posterior(
    protocol: &GeneralisedRandomisedResponse,
    tallies: &Tallies,
    parts: &Parts<'_>,
    options: &Options<'_>,
) -> Option<Posterior> {
    let (beta, s) = (protocol.epsilon().exp_m1(), counts(protocol.inputs(), tallies));
    let shares: Vec<Part<'_>> =
        parts.par_iter().map(|(_, prior)| Part::new(prior, beta, &s)).collect::<Option<_>>()?;
    let ln_joint: Vec<f64> = parts
        .iter()
        .zip(&shares)
        .map(|((w, _), part)| w.ln() + part.shares.ln_evidence(part.ln_sum_at_1))
        .collect();
    let ln_total = ln_sum_exp(&ln_joint);
    let weights: Vec<f64> = ln_joint.iter().map(|ln| (ln - ln_total).exp()).collect();
    let answers: Vec<[Summary; 2]> = (0..s.len())
        .into_par_iter()
        .map(|x| summaries(&shares, &weights, x, tallies.n(), options))
        .collect::<Option<_>>()?;
    let (p, mut t): (Vec<Summary>, Vec<Summary>) = answers.into_iter().map(|[p, t]| (p, t)).unzip();
    let draws = draws(&shares, &weights, (beta, &s), options).into_quantiles(&mut t, options);
    let n = tallies.n() as f64;
    let ln_lie = protocol.lie().ln();
    // Each term of the sum is a product of a count and a logarithm.
    let error = 1e-13 * (1.0 + n * ln_lie.abs());
    Some(Posterior {
        n: tallies.n(),
        method: Method::Quadrature,
        log_evidence: Ok(Evaluation::new(ln_total + n * ln_lie, error, Method::Quadrature)),
        p,
        t,
        t_quantiles: Method::MonteCarlo,
        draws,
        diagnostics: None,
    })
}

/// The shares under one part of the prior.
struct Part<'a> {
    prior: &'a Dirichlet,
    shares: Shares,
    ln_sum_at_1: f64,
    /// For each value the law of the sum of the others.
    others: Vec<Sum>,
}

impl<'a> Part<'a> {
    fn new(prior: &'a Dirichlet, beta: f64, s: &[u64]) -> Option<Self> {
        let shares = Shares::new(prior.alpha(), beta, s);
        let (ln_sum_at_1, others) = (shares.ln_sum_at_1()?, shares.without()?);
        shares.has_draws().then_some(Part { prior, shares, ln_sum_at_1, others })
    }

    /// The marginal of `P_x`, if it integrates to the evidence.
    fn marginal(&self, x: usize) -> Option<Marginal<'_>> {
        let ln_at = move |u: f64| {
            let (ln_p, ln_q) = logarithms(u);
            ln_q + self.shares.ln_marginal(x, &self.others[x], ln_p)
        };
        let marginal = Marginal::of_density(Box::new(ln_at), self.shares.rounding(x));
        let off = marginal.ln_total() - self.shares.ln_marginal_total(x, self.ln_sum_at_1);
        (off.abs() < MAX_DEVIATION).then_some(marginal)
    }

    /// Mean and standard deviation of `T_x` from those of `P_x`: given the tallies `P ~ Dir(α + T)`, so with `A = α0 + n`
    /// `E T_x = A E P_x − α_x` and `Var T_x = A² Var P_x − A E[P_x(1 − P_x)]`, both up to some `1e-11 A`: a variance of 0 with hardly any noise.
    fn tally(&self, x: usize, n: u64, marginal: &Marginal<'_>) -> (f64, f64) {
        let total = self.prior.total() + n as f64;
        let (mean, sd) = marginal.moments(|ln_p, _| (ln_p.exp(), 0.0));
        let variance = total * total * sd * sd - total * marginal.mean_of(|p| p * (1.0 - p));
        (total * mean - self.prior.alpha()[x], variance.max(0.0).sqrt())
    }
}

fn summaries(
    parts: &[Part<'_>],
    weights: &[f64],
    x: usize,
    n: u64,
    options: &Options<'_>,
) -> Option<[Summary; 2]> {
    let found: Vec<Marginal<'_>> = parts.iter().map(|part| part.marginal(x)).collect::<Option<_>>()?;
    let tallies: Vec<(f64, f64)> =
        parts.iter().zip(&found).map(|(part, found)| part.tally(x, n, found)).collect();
    let (mean, sd) = mixed(weights.iter().copied().zip(tallies));
    let p = Mixture { parts: weights.iter().copied().zip(found).collect() }.summary(options);
    Some([p, Summary { mean, sd, ..Summary::default() }])
}

/// Exact and independent draws. Given `P`, a report of `x` is honest with probability `βP_x/(1 + βP_x)`, and the senders of the others hold values like everybody.
fn draws(parts: &[Part<'_>], weights: &[f64], (beta, s): (f64, &[u64]), options: &Options<'_>) -> Draws {
    let draw = |i: usize| {
        let rng = &mut generator(options.seed, i as u64);
        let p = parts[pick(weights, 1.0, rng)].shares.draw(rng);
        let honest = s.iter().zip(&p).map(|(s, p)| binomial(*s, beta * p / (1.0 + beta * p), rng));
        let mut t: Vec<u64> = honest.collect();
        let silent = s.iter().sum::<u64>() - t.iter().sum::<u64>();
        t.iter_mut().zip(multinomial(silent, &p, rng)).for_each(|(t, more)| *t += more);
        (p, t)
    };
    let (p, t) = (0..options.enough_draws(s.len())).into_par_iter().map(draw).unzip();
    Draws { p, t }
}
