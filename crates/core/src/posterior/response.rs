//! Generalised randomised response: exact at any size.
//!
//! By products of polynomials for few reports ([`super::polynomials`]), by independent shares for many
//! ([`super::shares`]). Both work for one Dirichlet component of the prior; here the components are combined,
//! weighted by their evidence.

use std::collections::HashMap;

use crate::numerics::parallel::*;
use chacha20::ChaCha8Rng;

use super::Parts;
use super::marginal::{Marginal, Mixture};
use super::polynomials::Chain;
use super::shares::Conditioned;
use super::summary::{Draws, Posterior, PosteriorOptions, Summary, mixed};
use crate::likelihood::shares::Shares;
use crate::model::evaluation::{Evaluation, Method};
use crate::model::output::Output;
use crate::model::prior::Dirichlet;
use crate::model::protocol::{Channel, GeneralisedRandomisedResponse};
use crate::model::tallies::Tallies;
use crate::numerics::random::{generator, pick};
use crate::numerics::special::ln_sum_exp;

/// Number of reports from which on polynomials lose digits.
const MANY: u64 = 100_000;

/// Largest number of steps of polynomial products, about a second.
const MAX_WORK: f64 = 1e9;

/// Components with less posterior probability are left out of marginals.
const NEGLIGIBLE: f64 = 1e-12;

/// The exact quantities under one Dirichlet component of the prior.
pub(super) trait ExactPart: Sync {
    /// `ln E[Π_x (1 + βP_x)^{s_x}]`.
    fn ln_evidence(&self) -> f64;

    /// The marginal of `P_x`, with mean and standard deviation of `T_x`; `None` if it does not integrate to the evidence.
    fn marginal(&self, x: usize) -> Option<(Marginal<'_>, (f64, f64))>;

    /// An exact draw of `P` and `T`.
    fn draw(&self, rng: &mut ChaCha8Rng) -> (Vec<f64>, Vec<u64>);
}

/// The posterior of randomised response. Each of the two methods replaces the other where that does not
/// apply; `None` if neither does.
pub(crate) fn posterior(
    protocol: &GeneralisedRandomisedResponse,
    tallies: &Tallies,
    parts: &Parts<'_>,
    options: &PosteriorOptions<'_>,
) -> Option<Posterior> {
    let (beta, s) = (protocol.epsilon().exp_m1(), counts(protocol.inputs(), tallies));
    let weights: Vec<f64> = parts.iter().map(|(w, _)| *w).collect();
    let quick = parts.len() as f64 * work(protocol, &s) <= MAX_WORK;
    let polynomials = || {
        let chains = parts.par_iter().map(|(_, prior)| Chain::new(prior, beta, &s));
        let chains: Vec<Chain<'_>> = quick.then(|| chains.collect::<Option<_>>()).flatten()?;
        assembled(protocol, tallies.n(), &weights, keys(parts, &s), &chains, (Method::Enumeration, options))
    };
    let shares = || {
        let shares = parts.par_iter().map(|(_, prior)| Conditioned::new(prior, beta, &s));
        let shares: Vec<Conditioned<'_>> = shares.collect::<Option<_>>()?;
        assembled(protocol, tallies.n(), &weights, keys(parts, &s), &shares, (Method::Quadrature, options))
    };
    if tallies.n() > MANY { shares().or_else(polynomials) } else { polynomials().or_else(shares) }
}

/// `ln E[Π_x (1 + βP_x)^{s_x}]` under one Dirichlet distribution; `None` if no method applies.
pub(super) fn ln_evidence(
    protocol: &GeneralisedRandomisedResponse,
    tallies: &Tallies,
    prior: &Dirichlet,
) -> Option<f64> {
    let (beta, s) = (protocol.epsilon().exp_m1(), counts(protocol.inputs(), tallies));
    let polynomials = || {
        let quick = work(protocol, &s) <= MAX_WORK;
        quick.then(|| Chain::new(prior, beta, &s)).flatten().map(|chain| chain.ln_evidence())
    };
    let shares = || {
        let shares = Shares::new(prior.alpha(), beta, &s);
        Some(shares.ln_evidence(shares.ln_sum_at_1()?))
    };
    if tallies.n() > MANY { shares().or_else(polynomials) } else { polynomials().or_else(shares) }
}

/// The posterior under a mixture, from those under its components.
fn assembled(
    protocol: &GeneralisedRandomisedResponse,
    n: u64,
    weights: &[f64],
    keys: Vec<Vec<u64>>,
    parts: &[impl ExactPart],
    (method, options): (Method, &PosteriorOptions<'_>),
) -> Option<Posterior> {
    let ln_joint: Vec<f64> = weights.iter().zip(parts).map(|(w, part)| w.ln() + part.ln_evidence()).collect();
    let ln_total = ln_sum_exp(&ln_joint);
    let weights: Vec<f64> = ln_joint.iter().map(|ln| (ln - ln_total).exp()).collect();
    let a = protocol.inputs();
    let (first, kind) = alike(&keys);
    let answers: Vec<[Summary; 2]> =
        first.into_par_iter().map(|x| summaries(parts, &weights, x, options)).collect::<Option<_>>()?;
    let (p, mut t): (Vec<Summary>, Vec<Summary>) =
        kind.iter().map(|kind| (answers[*kind][0].clone(), answers[*kind][1].clone())).unzip();
    let draws = draws(parts, &weights, options.enough_draws(a), options.seed).into_quantiles(&mut t, options);
    let ln_lies = n as f64 * protocol.lie().ln();
    let log_evidence = Evaluation::new(ln_total + ln_lies, 1e-13 * (1.0 + ln_lies.abs()), method);
    let t_quantiles = Method::MonteCarlo;
    Some(Posterior {
        n,
        method,
        log_evidence: Ok(log_evidence),
        p,
        t,
        t_quantiles,
        draws,
        alpha: None,
        roughness: None,
        weights: weights.clone(),
        terms: Vec::new(),
        diagnostics: None,
    })
}

/// What the marginals of each value depend on: its reports, and its parameters.
fn keys(parts: &Parts<'_>, s: &[u64]) -> Vec<Vec<u64>> {
    let key = |(x, s): (usize, &u64)| {
        std::iter::once(*s).chain(parts.iter().map(|(_, prior)| prior.alpha()[x].to_bits())).collect()
    };
    s.iter().enumerate().map(key).collect()
}

/// The first value with each key, and the number of the key of each value.
fn alike(keys: &[Vec<u64>]) -> (Vec<usize>, Vec<usize>) {
    let (mut first, mut known) = (Vec::new(), HashMap::new());
    let number = |(x, key)| {
        *known.entry(key).or_insert_with(|| {
            first.push(x);
            first.len() - 1
        })
    };
    let kind = keys.iter().enumerate().map(number).collect();
    (first, kind)
}

/// The marginals of `P_x` and `T_x`, the latter without quantiles.
fn summaries(
    parts: &[impl ExactPart],
    weights: &[f64],
    x: usize,
    options: &PosteriorOptions<'_>,
) -> Option<[Summary; 2]> {
    // Components that do not matter would take as long as the others.
    let matter = || parts.iter().zip(weights).filter(|(_, weight)| **weight > NEGLIGIBLE);
    let total: f64 = matter().map(|(_, weight)| weight).sum();
    let weights: Vec<f64> = matter().map(|(_, weight)| weight / total).collect();
    let found: Vec<_> = matter().map(|(part, _)| part.marginal(x)).collect::<Option<_>>()?;
    let (marginals, tallies): (Vec<Marginal<'_>>, Vec<(f64, f64)>) = found.into_iter().unzip();
    let (mean, sd) = mixed(weights.iter().copied().zip(tallies));
    let parts = weights.iter().copied().zip(marginals).collect();
    Some([Mixture { parts }.summary(options), Summary { mean, sd, ..Summary::default() }])
}

fn draws(parts: &[impl ExactPart], weights: &[f64], count: usize, seed: u64) -> Draws {
    let draw = |i: usize| {
        let rng = &mut generator(seed, i as u64);
        parts[pick(weights, 1.0, rng)].draw(rng)
    };
    Draws::independent((0..count).into_par_iter().map(draw).unzip())
}

/// Only exact and independent draws of `P` and `T` given reports of randomised response: faster than a whole
/// posterior. `None` if the products would not fit into memory.
pub fn exact_draws(
    protocol: &GeneralisedRandomisedResponse,
    tallies: &Tallies,
    prior: &Dirichlet,
    count: usize,
    seed: u64,
) -> Option<Draws> {
    let s = counts(protocol.inputs(), tallies);
    Some(draws(&[Chain::new(prior, protocol.epsilon().exp_m1(), &s)?], &[1.0], count, seed))
}

/// Elementary steps of polynomial products: coefficients within twelve standard deviations `√lies` of their
/// peak matter, and each factor is multiplied with the product of those before it.
fn work(protocol: &GeneralisedRandomisedResponse, s: &[u64]) -> f64 {
    let lies = s.iter().sum::<u64>() as f64 * protocol.lie();
    let width = |count: u64| (count as f64).min(24.0 * (count as f64).min(lies).sqrt());
    let squares: f64 = s.iter().map(|s| width(*s).powi(2)).sum();
    s.iter().map(|s| width(*s)).sum::<f64>() * squares.sqrt()
}

fn counts(a: usize, tallies: &Tallies) -> Vec<u64> {
    let mut s = vec![0; a];
    for (output, count) in tallies.counts() {
        if let Output::Index(y) = output {
            s[*y] = *count;
        }
    }
    s
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::protocol::Protocol;

    fn case(a: usize, epsilon: f64, s: &[u64]) -> (GeneralisedRandomisedResponse, Tallies) {
        let protocol = Protocol::grr(a, epsilon).unwrap();
        let counts = s.iter().enumerate().map(|(y, count)| (Output::Index(y), *count));
        let tallies = Tallies::new(&protocol, counts).unwrap();
        (GeneralisedRandomisedResponse::new(a, epsilon).unwrap(), tallies)
    }

    #[test]
    fn draws_have_the_moments_of_the_marginals() {
        // Eight comparisons of 4 standard errors: false-alarm rate 5e-4.
        let (protocol, tallies) = case(4, 1.0, &[50, 30, 11, 9]);
        let prior = Dirichlet::new(vec![0.5, 2.0, 0.2, 1.0]).unwrap();
        let options = PosteriorOptions { draws: 20_000, ..PosteriorOptions::default() };
        let found = posterior(&protocol, &tallies, &[(1.0, &prior)], &options).unwrap();
        let count = found.draws.p.len() as f64;
        for x in 0..4 {
            let p: f64 = found.draws.p.iter().map(|p| p[x]).sum::<f64>() / count;
            let t: f64 = found.draws.t.iter().map(|t| t[x] as f64).sum::<f64>() / count;
            for (drawn, exact) in [(p, &found.p[x]), (t, &found.t[x])] {
                let z = (drawn - exact.mean) / (exact.sd / count.sqrt());
                assert!(z.abs() < 4.0, "{x}: {drawn} {exact:?}");
            }
            let square = found.covariance(x, x);
            assert!((square.sqrt() / found.p[x].sd - 1.0).abs() < 0.03, "{x}: {square}");
        }
        assert_eq!(exact_draws(&protocol, &tallies, &prior, 10, 0).unwrap().p, found.draws.p[..10]);
    }

    /// The two methods share only the code for the quantiles of a marginal.
    #[test]
    fn shares_answer_as_polynomials_do() {
        let mixture = [(0.3, vec![0.5; 3]), (0.7, vec![4.0, 1.0, 0.2])];
        let parts: Vec<(f64, Dirichlet)> =
            mixture.into_iter().map(|(w, alpha)| (w, Dirichlet::new(alpha).unwrap())).collect();
        let (weights, s) = ([0.3, 0.7], [4_200, 3_100, 2_200]);
        let (protocol, tallies) = case(3, 1.0, &s);
        let beta = 1f64.exp_m1();
        let options = PosteriorOptions::default();
        let chains: Vec<_> = parts.iter().map(|(_, prior)| Chain::new(prior, beta, &s).unwrap()).collect();
        let shares: Vec<_> =
            parts.iter().map(|(_, prior)| Conditioned::new(prior, beta, &s).unwrap()).collect();
        let n = tallies.n();
        let components: Vec<(f64, &Dirichlet)> = parts.iter().map(|(w, prior)| (*w, prior)).collect();
        let keys = || keys(&components, &s);
        let exact =
            assembled(&protocol, n, &weights, keys(), &chains, (Method::Enumeration, &options)).unwrap();
        let found =
            assembled(&protocol, n, &weights, keys(), &shares, (Method::Quadrature, &options)).unwrap();
        let [ln_exact, ln_found] = [&exact, &found].map(|posterior| posterior.log_evidence.unwrap().value);
        assert!((ln_found - ln_exact).abs() < 1e-8, "{ln_found} {ln_exact}");
        for (exact, found) in exact.p.iter().zip(&found.p).chain(exact.t.iter().zip(&found.t)) {
            assert!((found.mean - exact.mean).abs() < 1e-7 * exact.sd, "{found:?} {exact:?}");
            assert!((found.sd / exact.sd - 1.0).abs() < 1e-7, "{found:?} {exact:?}");
        }
        for (exact, found) in exact.p.iter().zip(&found.p) {
            for ((_, exact_at), (_, found_at)) in exact.quantiles.iter().zip(&found.quantiles) {
                assert!((found_at - exact_at).abs() < 1e-7 * exact.sd, "{found:?} {exact:?}");
            }
        }
    }
}
