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
//! Under the adaptive prior the parameter `α` is part of the state of the chains.
//!
//! `T` is drawn for some of the draws of `P`, evenly spaced: that takes a pass over the reports for each.
//!
//! # Self-check
//! Given `T` the posterior of `P` is `Dir(α + T)`, so `E[(n + α_0) P_x − α_x − T_x] = 0` for each component.
//! `P` and `T` come from different computations. An answer in which they differ by more
//! than [`MAX_DEVIATION`] standard errors is rejected.

use crate::numerics::parallel::*;

use super::TALLY_LAW;
use super::chains::{CHAINS, Chains, Draw, Problem};
use super::marginal::grid;
use super::summary::{Diagnostics, Draws, Posterior, PosteriorOptions, Summary, mixed, weighted_quantile};
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

/// The least number of draws for which the users' tallies are drawn too.
const TALLIED: usize = 500;

/// Elementary steps, a few seconds, that tallies of all draws may take.
const QUICK_STEPS: f64 = 4e8;

/// As many walks as the evidence of a hundred values usually takes.
const USUAL_WALKS: f64 = 32.0;

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
    parts: &[(f64, ChainPrior<'_>)],
    options: &PosteriorOptions<'_>,
) -> Result<Posterior> {
    let a = likelihood.inputs();
    if a * a > MAX_CURVATURE {
        let (entries, max) = ((a * a) as u128, MAX_CURVATURE as u128);
        return Err(Error::TooMuch { what: "the second derivative of the likelihood", entries, max });
    }
    let mut problems = Vec::with_capacity(parts.len());
    for (i, (_, prior)) in parts.iter().enumerate() {
        let rng = &mut generator(split_mix(options.seed, i as u64), u64::MAX);
        let target = Target::new(likelihood, prior.clone(), rng).with_ridges(likelihood);
        problems.push(Problem { likelihood, target });
    }
    let answer = match &problems[..] {
        [problem] => {
            let chains = Chains::run(problem, problem.sample_size(), options.seed, options)?;
            let evidence = evidence_in_time(problem, &chains, options);
            Sampled { parts: vec![Part::new((1.0, 0.0), problem, chains, options)], evidence }
        }
        _ => weighed(parts, &problems, options)?,
    };
    // Unconverged chains are only returned on request, and are marked as such.
    answer.parts.iter().filter(|part| part.chains.diagnostics.converged).try_for_each(Part::check)?;
    Ok(answer.posterior(options))
}

/// The non-negligible components of the posterior, each with its weight.
fn weighed<'p>(
    parts: &[(f64, ChainPrior<'_>)],
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
        let size = (weight * problem.sample_size()).max(SMALLEST_SIZE);
        let chains = Chains::run(problem, size, split_mix(options.seed, i as u64), options)?;
        let weight_error = weight * (1.0 - weight) * found[i].error;
        Ok(Part::new((weight, weight_error), problem, chains, options))
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
    const TOO_LONG: &str =
        "the walks from the prior to the posterior would take too long for this many values";
    // A single posterior can do without its evidence; components cannot be weighted without theirs.
    if !is_affordable(&problem.target, if chains.is_some() { USUAL_WALKS } else { 1.0 }) {
        return Err(TOO_LONG);
    }
    let draws: Vec<&Draw> = chains.map(|chains| chains.draws().collect()).unwrap_or_default();
    let one = |i: usize| {
        let rng = &mut generator(seed ^ 0x5eed, i as u64);
        let ln_p = |draw: &Draw| draw.p.iter().map(|p| p.max(f64::MIN_POSITIVE).ln()).collect();
        let start =
            draws.get(i * draws.len() / MOST_WALKS).map(|draw| problem.target.state(ln_p(draw), draw.alpha));
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
        // The number of walks at which the error would just be accepted.
        let needed = count * (error / LARGEST_ERROR).powi(2);
        if chains.is_some() && needed > count && !is_affordable(&problem.target, needed) {
            return Err(TOO_LONG);
        }
        let affordable = is_affordable(&problem.target, 2.0 * count);
        if error <= wanted || (chains.is_some() && error <= LARGEST_ERROR && !affordable) {
            return Ok(Evaluation::new(mean + problem.likelihood.ln_scale(), error, Method::MonteCarlo));
        }
        if walks.len() >= MOST_WALKS || stopped {
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
    /// Some of the draws, with drawn tallies.
    tallied: Vec<(Draw, Vec<u64>)>,
}

impl<'p> Part<'p> {
    fn new(
        (weight, weight_error): (f64, f64),
        problem: &'p Problem<'p>,
        chains: Chains,
        options: &PosteriorOptions<'_>,
    ) -> Self {
        let draws: Vec<&Draw> = chains.draws().collect();
        // All of them where a pass over the reports is quick.
        let quick = problem.likelihood.steps() * draws.len() as f64 <= QUICK_STEPS;
        let wanted = TALLIED.max((options.draws as f64 * weight).ceil() as usize);
        // The same iterations of all chains, so that the draws of the chains still alternate.
        let length = draws.len() / CHAINS;
        let count = if quick { length } else { wanted.div_ceil(CHAINS).min(length) };
        let iteration = |i: usize| CHAINS * (i * length / count);
        let chosen: Vec<Draw> =
            (0..CHAINS * count).map(|i| draws[iteration(i / CHAINS) + i % CHAINS].clone()).collect();
        let tallies = tallies(problem, &chosen, options.seed);
        Part { weight, weight_error, problem, tallied: chosen.into_iter().zip(tallies).collect(), chains }
    }

    /// The weight of one draw.
    fn draw_weight(&self) -> f64 {
        self.weight / self.chains.len() as f64
    }

    /// `E[(n + α_0) P_x − α_x − T_x] = 0`, from batch means.
    fn check(&self) -> Result<()> {
        const BATCHES: usize = 40;
        let prior = self.problem.target.prior();
        let (a, n) = (self.problem.likelihood.inputs(), self.problem.likelihood.n() as f64);
        let totals: Vec<f64> = self.tallied.iter().map(|(draw, _)| n + prior.total(draw.alpha, a)).collect();
        for x in 0..a {
            let difference = |i: usize| {
                let (draw, t) = &self.tallied[i];
                totals[i] * draw.p[x] - prior.alpha(x, draw.alpha) - t[x] as f64
            };
            let size = self.tallied.len() / BATCHES;
            let batch = |b: usize| (b * size..(b + 1) * size).map(difference).sum::<f64>() / size as f64;
            let (off, sd) = moments_of(&(0..BATCHES).map(batch).collect::<Vec<f64>>());
            let error = sd / (BATCHES as f64).sqrt();
            // The second term allows for rounding in a tally that is practically known.
            if off.is_nan() || off.abs() > MAX_DEVIATION * error + 1e-9 * totals[0] {
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
            alpha: self.alpha(options),
            roughness: None,
            weights: Vec::new(),
            terms: Vec::new(),
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

    /// The parameter of an adaptive prior.
    fn alpha(&self, options: &PosteriorOptions<'_>) -> Option<Summary> {
        let [part] = &self.parts[..] else { return None };
        let mut values: Vec<f64> = part.chains.draws().filter_map(|draw| draw.alpha).collect();
        if values.is_empty() {
            return None;
        }
        let (mean, sd) = moments_of(&values);
        values.sort_by(f64::total_cmp);
        let values: Vec<(f64, f64)> = values.into_iter().map(|alpha| (alpha, 1.0)).collect();
        let quantiles = options.probabilities.iter().map(|q| (*q, weighted_quantile(&values, *q))).collect();
        let bulk = part.chains.agreements.last().map_or(f64::NAN, |agreement| agreement.bulk);
        Some(Summary { mean, sd, quantiles, error: sd / bulk.sqrt(), ..Summary::default() })
    }

    /// The marginal of `T_x`.
    fn tally(&self, x: usize, options: &PosteriorOptions<'_>) -> Summary {
        let of_part = |part: &Part<'_>| {
            let drawn: Vec<f64> = part.tallied.iter().map(|(_, t)| t[x] as f64).collect();
            (part.weight, moments_of(&drawn))
        };
        let of_parts: Vec<(f64, (f64, f64))> = self.parts.iter().map(of_part).collect();
        let (mean, sd) = mixed(of_parts.iter().copied());
        let within = self.parts.iter().zip(&of_parts).map(|(part, (w, (_, sd)))| {
            let size = part.chains.agreements[x].bulk.min(part.tallied.len() as f64);
            w * sd / size.sqrt()
        });
        let weighted = |part: &Part<'_>| {
            let weight = part.weight / part.tallied.len() as f64;
            part.tallied.iter().map(|(_, t)| (t[x], weight)).collect::<Vec<_>>()
        };
        let mut values: Vec<(u64, f64)> = self.parts.iter().flat_map(weighted).collect();
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
            let (prior, likelihood) = (part.problem.target.prior(), part.problem.likelihood);
            let (inputs, n) = (likelihood.inputs(), likelihood.n());
            let of_draw = |(draw, t): &(Draw, Vec<u64>)| {
                let alpha = prior.alpha(x, draw.alpha);
                let others = prior.total(draw.alpha, inputs) - alpha;
                let (a, b) = (alpha + t[x] as f64, others + (n - t[x]) as f64);
                ((a - 1.0) * p.ln() + (b - 1.0) * (-p).ln_1p() - ln_beta(a, b)).exp()
            };
            part.weight / part.tallied.len() as f64 * part.tallied.iter().map(of_draw).sum::<f64>()
        };
        self.parts.iter().map(of_part).sum()
    }

    /// The requested number of joint draws, each from a component drawn by its weight. A component that has
    /// too few begins again; a single one has enough, unless its chains were stopped.
    fn joint(&self, options: &PosteriorOptions<'_>) -> Draws {
        let rng = &mut generator(options.seed ^ 0x5eed, u64::MAX);
        let weights: Vec<f64> = self.parts.iter().map(|part| part.weight).collect();
        let mut taken = vec![0; self.parts.len()];
        let most = if let [only] = &self.parts[..] { only.tallied.len() } else { usize::MAX };
        let joint = |_| {
            let part = pick(&weights, weights.iter().sum(), rng);
            let tallied = &self.parts[part].tallied;
            let (draw, t) = &tallied[taken[part] % tallied.len()];
            taken[part] += 1;
            (draw.p.clone(), t.clone())
        };
        let (p, t) = (0..options.draws.min(most)).map(joint).unzip();
        let chains = if self.parts.len() == 1 { CHAINS } else { 0 };
        Draws { p, t, chains }
    }
}

/// Draws of the users' tallies, one for each draw of the distribution.
fn tallies(problem: &Problem<'_>, draws: &[Draw], seed: u64) -> Vec<Vec<u64>> {
    let one = |(i, draw): (usize, &Draw)| {
        let rng = &mut generator(split_mix(seed, TALLIES), i as u64);
        problem.likelihood.sample_tallies(&draw.p, rng)
    };
    draws.par_iter().enumerate().map(one).collect()
}

/// The stream of random numbers for tallies.
const TALLIES: u64 = 0x7a11;

/// Mean and standard deviation of draws.
fn moments_of(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt())
}
