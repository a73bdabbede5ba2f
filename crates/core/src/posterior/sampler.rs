//! Markov chains for everything without an exact method.
//!
//! # Method
//! Under one Dirichlet prior: four chains ([`super::chains`]), and the evidence from walks between prior and
//! posterior ([`crate::mcmc::evidence`]) that start at their draws.
//!
//! Under a mixture of Dirichlet distributions the posterior is a mixture too, `Σ_j ρ_j p_j(P | y⃗)` with
//! `ρ_j ∝ w_j m_j`. Chains may fail to move between components. So each component has its own chains, and its
//! weight comes from its evidence `m_j`.
//!
//! The moments of `T` are means of its moments given `P` (law of total variance); its quantiles are those of
//! the drawn tallies.
//!
//! # Self-check
//! Given `T` the posterior of `P` is `Dir(α + T)`, so `(n + α_0) E[P_x] − α_x = E[T_x]` for each component.
//! Both sides are means of different functions over the same draws. An answer in which they differ by more
//! than [`MAX_DEVIATION`] standard errors is rejected.

use crate::numerics::parallel::*;

use super::chains::{Chains, Draw, Problem, SAMPLE_SIZE};
use super::marginal::{grid, others};
use super::summary::{Diagnostics, Draws, Posterior, PosteriorOptions, Summary, mixed, weighted_quantile};
use super::{Parts, TALLY_LAW};
use crate::information::Sampling;
use crate::likelihood::Senders;
use crate::mcmc::evidence::{is_affordable, walk};
use crate::mcmc::target::{ChainPrior, Target};
use crate::model::error::{Error, Result};
use crate::model::evaluation::{Evaluation, Method};
use crate::numerics::random::{generator, pick};
use crate::numerics::special::ln_beta;
use crate::numerics::special::ln_sum_exp;
use crate::numerics::special::student_factor;
use crate::numerics::split_mix::split_mix;
use crate::numerics::stop::caught;

/// Largest number of entries of the likelihood's Hessian: half a gigabyte.
const MAX_CURVATURE: usize = 1 << 26;

/// Walks per batch, and largest number of walks for one evidence.
const WALKS: usize = 8;
const MOST_WALKS: usize = 64;

/// Target standard error of a log evidence, alone and when it weights components; and the largest that is
/// accepted.
const EVIDENCE_ERROR: f64 = 0.05;
const WEIGHING_ERROR: f64 = 0.02;
const LARGEST_ERROR: f64 = 0.2;

/// Components with less weight are left out.
const NEGLIGIBLE: f64 = 1e-6;

/// Smallest effective sample size of a component with little weight.
const SMALLEST_SIZE: f64 = 100.0;

/// Standard errors within which both sides of the self-check must agree. With 40 batches of draws chance
/// alone exceeds this with probability 5e-7.
const MAX_DEVIATION: f64 = 6.0;

/// The posterior by Markov chains.
///
/// # Errors
/// The chains did not converge and the caller does not accept an unconverged answer; the components of a
/// mixture cannot be weighted; an answer fails its self-check.
pub(crate) fn posterior(
    likelihood: &dyn Senders,
    parts: &Parts<'_>,
    options: &PosteriorOptions<'_>,
) -> Result<Posterior> {
    let a = likelihood.inputs();
    if a * a > MAX_CURVATURE {
        let (entries, max) = ((a * a) as u128, MAX_CURVATURE as u128);
        return Err(Error::TooMuch { what: "the second derivative of the likelihood", entries, max });
    }
    let mut problems = Vec::with_capacity(parts.len());
    for (i, &(_, prior)) in parts.iter().enumerate() {
        let rng = &mut generator(split_mix(options.seed, i as u64), u64::MAX);
        let target = Target::new(likelihood, ChainPrior::from(prior), rng).with_ridges(likelihood);
        problems.push(Problem { likelihood, prior, target });
    }
    let answer = match &problems[..] {
        [problem] => {
            let chains = Chains::run(problem, SAMPLE_SIZE, options.seed, options)?;
            let evidence = evidence_in_time(problem, &chains, options);
            Sampled { parts: vec![Part::new(1.0, 0.0, problem, chains)], evidence }
        }
        _ => weighed(parts, &problems, options)?,
    };
    // Unconverged chains are only returned on request, and are marked as such.
    answer.parts.iter().filter(|part| part.chains.diagnostics.converged).try_for_each(Part::check)?;
    Ok(answer.posterior(options))
}

/// The non-negligible components of the posterior, each with its weight.
fn weighed<'p>(
    parts: &Parts<'_>,
    problems: &'p [Problem<'p>],
    options: &PosteriorOptions<'_>,
) -> Result<Sampled<'p>> {
    let evidence = |(i, problem): (usize, &Problem<'_>)| {
        log_evidence(problem, None, WEIGHING_ERROR, split_mix(options.seed, i as u64), options)
            .map_err(|reason| Error::PartsNotWeighed { reason })
    };
    let found: Vec<Evaluation> = problems.iter().enumerate().map(evidence).collect::<Result<_>>()?;
    let ln_joint: Vec<f64> = found.iter().zip(parts).map(|(ln, (w, _))| ln.value + w.ln()).collect();
    let ln_total = ln_sum_exp(&ln_joint);
    let weights: Vec<f64> = ln_joint.iter().map(|ln| (ln - ln_total).exp()).collect();
    let error = weights.iter().zip(&found).map(|(w, ln)| (w * ln.error).powi(2)).sum::<f64>().sqrt();
    let run = |(i, problem): (usize, &'p Problem<'p>)| {
        let weight = weights[i];
        let size = (weight * SAMPLE_SIZE).max(SMALLEST_SIZE);
        let chains = Chains::run(problem, size, split_mix(options.seed, i as u64), options)?;
        Ok(Part::new(weight, weight * (1.0 - weight) * found[i].error, problem, chains))
    };
    for (weight, ln) in weights.iter().zip(&found) {
        let reason = |reason| Error::PartsNotWeighed { reason };
        // A component with posterior probability near 0 or 1 needs no accurate evidence.
        if_known(*ln, 4.0 * weight * (1.0 - weight) * ln.error).map_err(reason)?;
    }
    let matter = |i: &usize| weights[*i] * (4.0 * found[*i].error).exp() > NEGLIGIBLE;
    let sampled: Vec<Part<'_>> =
        (0..problems.len()).filter(matter).map(|i| run((i, &problems[i]))).collect::<Result<_>>()?;
    let evidence = Evaluation::new(ln_total, error, Method::MonteCarlo);
    Ok(Sampled { parts: sampled, evidence: if_known(evidence, error) })
}

/// The number, if its relevant error is not too large.
fn if_known(found: Evaluation, error: f64) -> Result<Evaluation, &'static str> {
    if error <= LARGEST_ERROR {
        Ok(found)
    } else {
        Err("the walks from the prior to the posterior differ too much")
    }
}

/// The evidence after the chains, unless the run is stopped: the draws are useful without it.
fn evidence_in_time(
    problem: &Problem<'_>,
    chains: &Chains,
    options: &PosteriorOptions<'_>,
) -> Result<Evaluation, &'static str> {
    const NO_TIME: &str = "there was no time left for the walks from the prior to the posterior";
    let before = Sampling { tolerance: EVIDENCE_ERROR, ..Sampling::BEGUN };
    if options.observer.is_some_and(|observer| observer(&before).is_break()) {
        return Err(NO_TIME);
    }
    let found = caught(|| log_evidence(problem, Some(chains), EVIDENCE_ERROR, options.seed, options));
    let found = found.unwrap_or(Err(NO_TIME))?;
    if_known(found, found.error)
}

/// `ln P(y⃗)` as the mean of walks, starting from draws of the posterior if there are any.
fn log_evidence(
    problem: &Problem<'_>,
    chains: Option<&Chains>,
    wanted: f64,
    seed: u64,
    options: &PosteriorOptions<'_>,
) -> Result<Evaluation, &'static str> {
    if !is_affordable(&problem.target) {
        return Err("the walks from the prior to the posterior would take too long for this many values");
    }
    let draws: Vec<&Draw> = chains.map(|chains| chains.draws().collect()).unwrap_or_default();
    let one = |i: usize| {
        let rng = &mut generator(seed ^ 0x5eed, i as u64);
        let start = draws
            .get(i * draws.len() / MOST_WALKS)
            .map(|draw| problem.target.state(draw.p.iter().map(|p| p.max(f64::MIN_POSITIVE).ln()).collect()));
        walk(&problem.target, start, rng).ln_evidence
    };
    let mut walks: Vec<f64> = Vec::new();
    loop {
        walks.extend((walks.len()..walks.len() + WALKS).into_par_iter().map(one).collect::<Vec<f64>>());
        let count = walks.len() as f64;
        let mean = walks.iter().sum::<f64>() / count;
        let variance = walks.iter().map(|ln| (ln - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let error = student_factor(count - 1.0) * (variance / count).sqrt();
        let draws = walks.len() as u64;
        let progress = Sampling { draws, assessed: draws, value: mean, error, tolerance: wanted };
        let stopped = options.observer.is_some_and(|observer| observer(&progress).is_break());
        if error.is_nan() {
            return Err("a walk from the prior to the posterior failed");
        }
        if error <= wanted || walks.len() >= MOST_WALKS || stopped {
            return Ok(Evaluation::new(mean + problem.likelihood.ln_scale(), error, Method::MonteCarlo));
        }
    }
}

/// The sampled posterior.
struct Sampled<'p> {
    parts: Vec<Part<'p>>,
    evidence: Result<Evaluation, &'static str>,
}

/// One component of the posterior.
struct Part<'p> {
    /// Its posterior probability and the standard error of that.
    weight: f64,
    weight_error: f64,
    problem: &'p Problem<'p>,
    chains: Chains,
    /// For each draw `E[T|P]` and `Var[T|P]`.
    tally_moments: Vec<(Vec<f64>, Vec<f64>)>,
}

impl<'p> Part<'p> {
    fn new(weight: f64, weight_error: f64, problem: &'p Problem<'p>, chains: Chains) -> Self {
        let draws: Vec<&Draw> = chains.draws().collect();
        let tally_moments = draws.par_iter().map(|draw| problem.likelihood.tally_moments(&draw.p)).collect();
        Part { weight, weight_error, problem, chains, tally_moments }
    }

    /// The weight of one draw.
    fn draw_weight(&self) -> f64 {
        self.weight / self.chains.len() as f64
    }

    /// `(n + α_0) E[P_x] − α_x = E[T_x]`, from batch means.
    fn check(&self) -> Result<()> {
        const BATCHES: usize = 40;
        let prior = self.problem.prior;
        let total = self.problem.likelihood.n() as f64 + prior.total();
        let draws: Vec<&Draw> = self.chains.draws().collect();
        for (x, alpha) in prior.alpha().iter().enumerate() {
            let difference = |i: usize| total * draws[i].p[x] - alpha - self.tally_moments[i].0[x];
            let size = draws.len() / BATCHES;
            let batch = |b: usize| (b * size..(b + 1) * size).map(difference).sum::<f64>() / size as f64;
            let (off, sd) = moments_of(&(0..BATCHES).map(batch).collect::<Vec<f64>>());
            let error = sd / (BATCHES as f64).sqrt();
            // The second term allows for rounding in a tally that is practically known.
            if off.is_nan() || off.abs() > MAX_DEVIATION * error + 1e-9 * total {
                return Err(Error::FailedCheck { what: TALLY_LAW, off, error });
            }
        }
        Ok(())
    }
}

impl Sampled<'_> {
    fn posterior(&self, options: &PosteriorOptions<'_>) -> Posterior {
        let inputs = self.parts[0].problem.likelihood.inputs();
        let of_value = |x: usize| (self.share(x, options), self.tally(x, options));
        let (p, t) = (0..inputs).into_par_iter().map(of_value).unzip();
        let length = |part: &Part<'_>| part.chains.diagnostics.length;
        Posterior {
            n: self.parts[0].problem.likelihood.n(),
            method: Method::MonteCarlo,
            log_evidence: self.evidence,
            p,
            t,
            t_quantiles: Method::MonteCarlo,
            draws: self.joint(options),
            diagnostics: Some(self.parts.iter().fold(
                self.parts[0].chains.diagnostics.clone(),
                |worst, part| Diagnostics {
                    chains: worst.chains,
                    length: worst.length.min(length(part)),
                    r_hat: worst.r_hat.max(part.chains.diagnostics.r_hat),
                    bulk: worst.bulk.min(part.chains.diagnostics.bulk),
                    tail: worst.tail.min(part.chains.diagnostics.tail),
                    acceptance: worst.acceptance.min(part.chains.diagnostics.acceptance),
                    converged: worst.converged && part.chains.diagnostics.converged,
                },
            )),
        }
    }

    /// The marginal of `P_x`.
    fn share(&self, x: usize, options: &PosteriorOptions<'_>) -> Summary {
        let drawn = |part: &Part<'_>| part.chains.draws().map(|draw| draw.p[x]).collect::<Vec<f64>>();
        let of_part = |part: &Part<'_>| (part.weight, moments_of(&drawn(part)));
        let of_parts: Vec<(f64, (f64, f64))> = self.parts.iter().map(of_part).collect();
        let (mean, sd) = mixed(of_parts.iter().copied());
        let weighted = self.parts.iter().flat_map(|part| {
            drawn(part).into_iter().map(|value| (value, part.draw_weight())).collect::<Vec<_>>()
        });
        let mut values: Vec<(f64, f64)> = weighted.collect();
        values.sort_by(|l, r| l.0.total_cmp(&r.0));
        let quantiles = options.probabilities.iter().map(|q| (*q, weighted_quantile(&values, *q))).collect();
        let within = self
            .parts
            .iter()
            .zip(&of_parts)
            .map(|(part, (w, (_, sd)))| w * sd / part.chains.agreements[x].bulk.sqrt());
        let error = self.error(mean, within, &of_parts);
        let density = grid(mean, sd, options.grid, |p| self.density(x, p));
        Summary { mean, sd, quantiles, density, error }
    }

    /// The standard error of a mean: from the means of the components and from their weights.
    fn error(&self, mean: f64, within: impl Iterator<Item = f64>, of_parts: &[(f64, (f64, f64))]) -> f64 {
        let between =
            self.parts.iter().zip(of_parts).map(|(part, (_, (own, _)))| part.weight_error * (own - mean));
        within.chain(between).map(|error| error * error).sum::<f64>().sqrt()
    }

    /// The marginal of `T_x`, by the law of total variance.
    fn tally(&self, x: usize, options: &PosteriorOptions<'_>) -> Summary {
        let of_part = |part: &Part<'_>| {
            let moments = &part.tally_moments;
            let (first, between) = moments_of(&moments.iter().map(|(mean, _)| mean[x]).collect::<Vec<_>>());
            let within = moments.iter().map(|(_, variance)| variance[x]).sum::<f64>() / moments.len() as f64;
            (part.weight, (first, between.hypot(within.sqrt())), between)
        };
        let found: Vec<_> = self.parts.iter().map(of_part).collect();
        let of_parts: Vec<(f64, (f64, f64))> = found.iter().map(|(w, both, _)| (*w, *both)).collect();
        let (mean, sd) = mixed(of_parts.iter().copied());
        let within = self
            .parts
            .iter()
            .zip(&found)
            .map(|(part, (w, _, between))| w * between / part.chains.agreements[x].bulk.sqrt());
        let mut values: Vec<(u64, f64)> = self
            .parts
            .iter()
            .flat_map(|part| part.chains.draws().map(|draw| (draw.t[x], part.draw_weight())))
            .collect();
        values.sort_by_key(|(t, _)| *t);
        let quantile = |q: f64| {
            let mut below = 0.0;
            let reached = values.iter().find(|(_, w)| {
                below += w;
                below >= q * (1.0 - 1e-12)
            });
            reached.or(values.last()).map_or(0.0, |(t, _)| *t as f64)
        };
        let quantiles = options.probabilities.iter().map(|q| (*q, quantile(*q))).collect();
        Summary { mean, sd, quantiles, error: self.error(mean, within, &of_parts), ..Summary::default() }
    }

    /// The density of `P_x`, as the mean of its conditional densities given the drawn tallies.
    fn density(&self, x: usize, p: f64) -> f64 {
        let of_part = |part: &Part<'_>| {
            let (prior, n) = (part.problem.prior, part.problem.likelihood.n());
            let of_draw = |draw: &Draw| {
                let (a, b) = (prior.alpha()[x] + draw.t[x] as f64, others(prior, x) + (n - draw.t[x]) as f64);
                ((a - 1.0) * p.ln() + (b - 1.0) * (-p).ln_1p() - ln_beta(a, b)).exp()
            };
            part.draw_weight() * part.chains.draws().map(of_draw).sum::<f64>()
        };
        self.parts.iter().map(of_part).sum()
    }

    /// The requested number of joint draws, each from a component drawn by its weight.
    fn joint(&self, options: &PosteriorOptions<'_>) -> Draws {
        let rng = &mut generator(options.seed ^ 0x5eed, u64::MAX);
        let weights: Vec<f64> = self.parts.iter().map(|part| part.weight).collect();
        let mut draws: Vec<_> = self.parts.iter().map(|part| part.chains.draws()).collect();
        let one = |_| draws[pick(&weights, weights.iter().sum(), rng)].next();
        let (p, t) = (0..options.draws).map_while(one).map(|draw| (draw.p.clone(), draw.t.clone())).unzip();
        Draws { p, t }
    }
}

/// Mean and standard deviation of draws.
fn moments_of(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt())
}
