//! Markov chains for everything that has no exact method.
//!
//! # Method
//! There are two kinds of moves, each of which leaves the posterior invariant:
//!
//! * *Exchanges* of mass between two values by slice sampling in their log-odds ([`crate::information`], path sampling). With few different reports they follow the exact likelihood.
//!   With many they follow a quadratic surrogate of the log-likelihood around the posterior mean, at `O(a)` each whatever `n`; then the exact likelihood accepts or rejects some sweeps at
//!   once, which is one pass over the reports. The higher the privacy and the more users, the more nearly quadratic the log-likelihood is. How many exchanges make one proposal is found in the warm-up.
//! * *Data augmentation*: draw the users' tallies `T` given `P` and the reports, then `P ~ Dir(α + T)` (and the part of a mixture of priors with it). It
//!   moves well at low privacy and at the boundary of the simplex, and crawls at high privacy. Chains whose long proposals are accepted do without it.
//!
//! Four chains start at draws from the prior, moved by some sweeps that follow the surrogate. They run until the effective sample sizes of all `P_x` suffice and R-hat is small; every doubling of their length keeps every second
//! draw, so memory is bounded.
//!
//! The moments of `T` are means of its moments given `P` (law of total variance), its quantiles those of the drawn tallies.
//!
//! # Log evidence
//! The tallies that the chains visited make a mixture of `Dir(α + t)`, a proposal for importance sampling. Where many components overlap (few values, or low privacy) this gives the
//! evidence with a standard error; elsewhere it cannot, and the evidence is not given.

use std::ops::ControlFlow;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::Parts;
use super::diagnostics::{Agreement, agreement};
use super::marginal::{grid, others};
use super::summary::{Diagnostics, Draws, Options, Posterior, Summary, sample_quantile};
use crate::error::{Error, Result};
use crate::evaluation::{Evaluation, Method};
use crate::information::Progress;
use crate::information::belief::Belief;
use crate::information::monte_carlo::{generator, pick};
use crate::information::path_sampling::{State, Target};
use crate::information::reduced::ln_rising;
use crate::information::reports::{Reports, Rows};
use crate::likelihood::Senders;
use crate::prior::{Dirichlet, Prior, ln_sum_exp, sample_dirichlet, sample_ln_gamma};
use crate::special::ln_beta;

/// Number of chains.
const CHAINS: usize = 4;

/// Iterations of the warm-up.
const WARM_UP: usize = 100;

/// Most draws that a chain keeps.
const KEPT: usize = 1000;

/// Draws between two looks at the convergence of chains whose draws are dear.
const CHECKED: usize = 250;

/// Draws between two calls of the observer.
const SLICE: usize = 50;

/// Largest R-hat and smallest effective sample size of a converged answer.
const R_HAT: f64 = 1.01;
const SAMPLE_SIZE: f64 = 600.0;

/// Most doublings of the length of the chains.
const DOUBLINGS: u32 = 6;

/// Most entries of the second derivative of the likelihood: half a gigabyte.
const MAX_CURVATURE: usize = 1 << 26;

/// Proposals of an iteration with data augmentation.
const PROPOSALS: usize = 2;

/// Sweeps that follow the surrogate from a draw of the prior to where the warm-up begins.
const APPROACH: usize = 50;

/// Most sweeps of a proposal: after these a walk on the surrogate has forgotten where it began.
const LONGEST: usize = 8;

/// The posterior by Markov chains. `dense` are the same reports as rows in full, if these are few.
///
/// # Errors
/// The chains did not converge, and an unconverged answer is not wanted.
pub(crate) fn posterior(
    likelihood: &dyn Senders,
    dense: Option<&Reports>,
    prior: &Prior,
    parts: &Parts<'_>,
    options: &Options<'_>,
) -> Result<Posterior> {
    let (a, belief) = (likelihood.inputs(), Belief::new(prior, None));
    if a * a > MAX_CURVATURE {
        let (entries, max) = ((a * a) as u128, MAX_CURVATURE as u128);
        return Err(Error::TooMuch { what: "the second derivative of the likelihood", entries, max });
    }
    let rows: &dyn Rows = dense.map_or(likelihood, |dense| dense);
    let centre = centre(likelihood, parts);
    let target = Target::around(centre, rows, &belief, &mut generator(options.seed, u64::MAX));
    let problem = Problem { likelihood, parts, target, surrogate: dense.is_none() };
    let mut chains: Vec<Chain> =
        (0..CHAINS).map(|i| Chain::new(&problem, &belief, options.seed, i as u64)).collect();
    chains.par_iter_mut().for_each(|chain| chain.warm_up(&problem));
    let diagnostics = run(&mut chains, &problem, options);
    if !diagnostics.converged && !options.unconverged {
        return Err(Error::Unconverged {
            r_hat: diagnostics.r_hat,
            allowed: R_HAT,
            sample_size: diagnostics.bulk.min(diagnostics.tail),
            wanted: SAMPLE_SIZE,
        });
    }
    Ok(answer(&chains, &problem, diagnostics, options))
}

/// Where the surrogate is first expanded: some steps of expectation maximisation towards the posterior mean.
fn centre(likelihood: &dyn Senders, parts: &Parts<'_>) -> Vec<f64> {
    let (a, n) = (likelihood.inputs(), likelihood.n() as f64);
    let mut p = vec![1.0 / a as f64; a];
    let alpha = |x: usize| parts.iter().map(|(w, prior)| w * prior.alpha()[x]).sum::<f64>();
    let alpha: Vec<f64> = (0..a).map(alpha).collect();
    let total = alpha.iter().sum::<f64>() + n;
    for _ in 0..30 {
        let t = likelihood.tally_moments(&p).0;
        p = t.iter().zip(&alpha).map(|(t, alpha)| (t + alpha) / total).collect();
    }
    p
}

/// What the chains share.
struct Problem<'a> {
    likelihood: &'a dyn Senders,
    parts: &'a Parts<'a>,
    target: Target<'a>,
    /// Whether the exchanges follow a surrogate.
    surrogate: bool,
}

/// One chain, and what it has heard.
struct Chain {
    rng: ChaCha8Rng,
    state: State,
    /// Exchanges of a proposal.
    moves: usize,
    /// Whether an iteration draws `P` again from drawn tallies.
    augments: bool,
    /// `L − L̂` at the state.
    difference: f64,
    proposed: f64,
    accepted: f64,
    /// One of so many iterations is kept.
    thinning: usize,
    p: Vec<Vec<f64>>,
    t: Vec<Vec<u64>>,
    tally: TallyMoments,
}

/// Sums over the draws of `E[T_x|P]`, its square, and `Var[T_x|P]`.
#[derive(Clone, Default)]
struct TallyMoments {
    count: f64,
    sums: Vec<[f64; 3]>,
}

impl Chain {
    fn new(problem: &Problem<'_>, belief: &Belief<'_>, seed: u64, number: u64) -> Self {
        let mut rng = generator(seed, number);
        let (ln_p, alpha) = belief.sample(&mut rng);
        let a = ln_p.len();
        let mut state = problem.target.ready(State::new(ln_p, alpha));
        problem.target.moves(&mut state, APPROACH * a, 1.0, &mut rng);
        Chain {
            difference: problem.target.difference(&state),
            state,
            rng,
            moves: 2 * a,
            augments: true,
            proposed: 0.0,
            accepted: 0.0,
            thinning: 1,
            p: Vec::new(),
            t: Vec::new(),
            tally: TallyMoments { count: 0.0, sums: vec![[0.0; 3]; a] },
        }
    }

    /// Finds how many exchanges make a proposal that is accepted about two times of three.
    fn warm_up(&mut self, problem: &Problem<'_>) {
        let a = problem.likelihood.inputs();
        for _ in 0..WARM_UP / 10 {
            (self.proposed, self.accepted) = (0.0, 0.0);
            (0..10).for_each(|_| self.step(problem));
            let share = self.accepted / self.proposed;
            if share < 0.5 {
                self.moves = (self.moves / 2).max(2);
            } else if share > 0.8 {
                self.moves = (self.moves * 2).min(LONGEST * a);
            }
        }
        self.augments = !problem.surrogate || self.moves < LONGEST / 2 * a;
        (self.proposed, self.accepted) = (0.0, 0.0);
    }

    /// One iteration.
    fn step(&mut self, problem: &Problem<'_>) {
        if self.augments {
            let t = problem.likelihood.sample_tallies(&self.state.p, &mut self.rng);
            self.augment(problem, &t);
        }
        self.propose(problem);
    }

    /// Draws the distribution again, given the users' tallies.
    fn augment(&mut self, problem: &Problem<'_>, t: &[u64]) {
        self.state = problem.target.ready(problem.given_tallies(t, &mut self.rng));
        self.difference = problem.target.difference(&self.state);
    }

    /// Proposes some exchanges at once, to the exact likelihood.
    fn propose(&mut self, problem: &Problem<'_>) {
        for _ in 0..if self.augments { PROPOSALS } else { 1 } {
            let mut proposal = self.state.clone();
            problem.target.moves(&mut proposal, self.moves, 1.0, &mut self.rng);
            let proposed = problem.target.difference(&proposal);
            self.proposed += 1.0;
            if proposed >= self.difference || self.rng.random::<f64>() < (proposed - self.difference).exp() {
                (self.state, self.difference) = (proposal, proposed);
                self.accepted += 1.0;
            }
        }
    }

    /// Keeps so many more draws.
    fn go_on(&mut self, problem: &Problem<'_>, draws: usize) {
        for _ in 0..draws {
            (1..self.thinning).for_each(|_| self.step(problem));
            self.p.push(self.state.p.clone());
            self.tally.hear(problem.likelihood.tally_moments(&self.state.p));
            let t = problem.likelihood.sample_tallies(&self.state.p, &mut self.rng);
            if self.augments {
                self.augment(problem, &t);
            }
            self.propose(problem);
            self.t.push(t);
        }
    }

    /// Forgets every second draw, to keep only every second one from now on.
    fn thin(&mut self) {
        let mut odd = false;
        let mut every_second = || {
            odd = !odd;
            odd
        };
        self.p.retain(|_| every_second());
        self.t.retain(|_| every_second());
        self.thinning *= 2;
    }
}

impl TallyMoments {
    fn hear(&mut self, (mean, variance): (Vec<f64>, Vec<f64>)) {
        self.count += 1.0;
        for ((sum, mean), variance) in self.sums.iter_mut().zip(mean).zip(variance) {
            sum.iter_mut().zip([mean, mean * mean, variance]).for_each(|(sum, more)| *sum += more);
        }
    }
}

impl Problem<'_> {
    /// Draws the part of the prior and `P` given the users' tallies.
    fn given_tallies(&self, t: &[u64], rng: &mut ChaCha8Rng) -> State {
        let part = pick(&self.part_weights(t), 1.0, rng);
        let alpha = self.parts[part].1.alpha();
        let gamma = |(alpha, t): (&f64, &u64)| sample_ln_gamma(alpha + *t as f64, rng);
        let ln_gammas: Vec<f64> = alpha.iter().zip(t).map(gamma).collect();
        let ln_sum = ln_sum_exp(&ln_gammas);
        State::new(ln_gammas.iter().map(|ln| ln - ln_sum).collect(), alpha.to_vec())
    }
}

/// Runs the chains until they agree, are told to stop, or have doubled their length too often.
fn run(chains: &mut [Chain], problem: &Problem<'_>, options: &Options<'_>) -> Diagnostics {
    for doubling in 0..=DOUBLINGS {
        while chains[0].p.len() < KEPT {
            chains.par_iter_mut().for_each(|chain| chain.go_on(problem, SLICE));
            // Where a draw is dear, the chains end as soon as they agree.
            let enough = problem.surrogate
                && chains[0].p.len().is_multiple_of(CHECKED)
                && diagnostics(chains).converged;
            if enough || stopped(chains, options) {
                return diagnostics(chains);
            }
        }
        let found = diagnostics(chains);
        if found.converged || doubling == DOUBLINGS {
            return found;
        }
        chains.iter_mut().for_each(Chain::thin);
    }
    diagnostics(chains)
}

/// Tells the observer of the progress, as if the number of draws decided; it does when they are independent.
fn stopped(chains: &[Chain], options: &Options<'_>) -> bool {
    let kept = (chains.len() * chains[0].p.len()) as f64;
    let draws = kept as u64 * chains[0].thinning as u64;
    let progress = Progress {
        draws,
        value: kept,
        error: 1.0 / kept.sqrt(),
        tolerance: 1.0 / ((CHAINS * KEPT) as f64).sqrt(),
    };
    options.observer.is_some_and(|observer| observer(&progress) == ControlFlow::Break(()))
}

fn agreements(chains: &[Chain]) -> Vec<Agreement> {
    let of_value = |x: usize| {
        let column = |chain: &Chain| chain.p.iter().map(|p| p[x]).collect();
        agreement(&chains.iter().map(column).collect::<Vec<Vec<f64>>>())
    };
    (0..chains[0].state.p.len()).into_par_iter().map(of_value).collect()
}

fn diagnostics(chains: &[Chain]) -> Diagnostics {
    let found = agreements(chains);
    let least = |f: fn(&Agreement) -> f64| found.iter().map(f).fold(f64::INFINITY, f64::min);
    let (r_hat, bulk, tail) = (-least(|a| -a.r_hat), least(|a| a.bulk), least(|a| a.tail));
    let sum = |f: fn(&Chain) -> f64| chains.iter().map(f).sum::<f64>();
    Diagnostics {
        chains: chains.len(),
        length: chains[0].p.len() * chains[0].thinning,
        r_hat,
        bulk,
        tail,
        acceptance: sum(|c| c.accepted) / sum(|c| c.proposed),
        converged: r_hat <= R_HAT && bulk.min(tail) >= SAMPLE_SIZE,
    }
}

fn answer(
    chains: &[Chain],
    problem: &Problem<'_>,
    diagnostics: Diagnostics,
    options: &Options<'_>,
) -> Posterior {
    let agreements = agreements(chains);
    let drawn: Vec<&Vec<u64>> = chains.iter().flat_map(|chain| &chain.t).collect();
    let of_value = |x: usize| {
        let mut values: Vec<f64> = chains.iter().flat_map(|chain| chain.p.iter().map(|p| p[x])).collect();
        values.sort_by(f64::total_cmp);
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
        let quantiles = options.probabilities.iter().map(|q| (*q, sample_quantile(&values, *q))).collect();
        let density = grid(mean, sd, options.grid, |p| problem.density(&drawn, x, p));
        let size = agreements[x].bulk;
        (Summary { mean, sd, quantiles, density, error: sd / size.sqrt() }, tally(chains, x, size))
    };
    let (p, mut t): (Vec<Summary>, Vec<Summary>) =
        (0..agreements.len()).into_par_iter().map(of_value).unzip();
    let draws = joint(chains).into_quantiles(&mut t, options);
    Posterior {
        n: problem.likelihood.n(),
        method: Method::MonteCarlo,
        log_evidence: problem.log_evidence(&drawn, options.seed),
        p,
        t,
        t_quantiles: Method::MonteCarlo,
        draws,
        diagnostics: Some(diagnostics),
    }
}

/// The draws of all chains, one of each in turn, so that the first ones are as good as any.
fn joint(chains: &[Chain]) -> Draws {
    let order = (0..chains[0].p.len()).flat_map(|i| chains.iter().map(move |chain| (chain, i)));
    let (p, t) = order.map(|(chain, i)| (chain.p[i].clone(), chain.t[i].clone())).unzip();
    Draws { p, t }
}

/// Mean and standard deviation of `T_x` by the law of total variance.
fn tally(chains: &[Chain], x: usize, size: f64) -> Summary {
    let count: f64 = chains.iter().map(|chain| chain.tally.count).sum();
    let [first, square, within] =
        [0, 1, 2].map(|i| chains.iter().map(|chain| chain.tally.sums[x][i]).sum::<f64>() / count);
    let between = (square - first * first).max(0.0);
    Summary {
        mean: first,
        sd: (between + within).sqrt(),
        error: (between / size).sqrt(),
        ..Summary::default()
    }
}

impl Problem<'_> {
    /// The density of `P_x`, as the mean of its densities given the drawn tallies.
    fn density(&self, drawn: &[&Vec<u64>], x: usize, p: f64) -> f64 {
        // Tallies do not say which part they came with; the parts are weighted as given them.
        let n = self.likelihood.n();
        let of_part = |prior: &Dirichlet, t: &[u64]| {
            let (a, b) = (prior.alpha()[x] + t[x] as f64, others(prior, x) + (n - t[x]) as f64);
            ((a - 1.0) * p.ln() + (b - 1.0) * (-p).ln_1p() - ln_beta(a, b)).exp()
        };
        let of_draw = |t: &&Vec<u64>| {
            let weights = self.part_weights(t);
            self.parts.iter().zip(weights).map(|((_, prior), w)| w * of_part(prior, t)).sum::<f64>()
        };
        drawn.iter().map(of_draw).sum::<f64>() / drawn.len() as f64
    }

    /// The probabilities of the parts of the prior given the users' tallies.
    fn part_weights(&self, t: &[u64]) -> Vec<f64> {
        if let [_] = self.parts {
            return vec![1.0];
        }
        let n = self.likelihood.n() as f64;
        let ln_weight = |(w, prior): &(f64, &Dirichlet)| {
            let rising = prior.alpha().iter().zip(t).map(|(alpha, t)| ln_rising(*alpha, *t as f64));
            w.ln() + rising.sum::<f64>() - ln_rising(prior.total(), n)
        };
        let logs: Vec<f64> = self.parts.iter().map(ln_weight).collect();
        let ln_total = ln_sum_exp(&logs);
        logs.iter().map(|ln| (ln - ln_total).exp()).collect()
    }

    /// The evidence by importance sampling from the mixture of `Dir(α + t)` over some drawn tallies.
    fn log_evidence(&self, drawn: &[&Vec<u64>], seed: u64) -> Result<Evaluation, &'static str> {
        const COMPONENTS: usize = 500;
        let [(_, prior)] = self.parts else {
            return Err("the sampler finds no evidence under a mixture of priors");
        };
        let stride = (drawn.len() / COMPONENTS).max(1);
        let components: Vec<Component> =
            drawn.iter().step_by(stride).map(|t| Component::new(prior, t)).collect();
        let draws: Vec<(f64, f64)> = components
            .par_iter()
            .enumerate()
            .map(|(i, own)| {
                let rng = &mut generator(seed ^ 0x5eed, i as u64);
                let p = sample_dirichlet(own.alpha.iter().copied(), rng);
                let ln_p: Vec<f64> = p.iter().map(|p| p.max(f64::MIN_POSITIVE).ln()).collect();
                let logs: Vec<f64> = components.iter().map(|c| c.ln_density(&ln_p)).collect();
                let ln_mixture = ln_sum_exp(&logs) - (logs.len() as f64).ln();
                let ln_weight = self.likelihood.ln_value(&p) + prior.ln_density(&ln_p) - ln_mixture;
                (ln_weight, (logs[i] - ln_sum_exp(&logs)).exp())
            })
            .collect();
        importance(&draws)
            .map(|(ln, error)| Evaluation::new(ln + self.likelihood.ln_scale(), error, Method::MonteCarlo))
    }
}

/// `ln` of the mean weight and its standard error, if the components overlap and the weights vary little. Draws are given by
/// `ln` of their weight and the share that their own component has in the density there.
fn importance(draws: &[(f64, f64)]) -> Result<(f64, f64), &'static str> {
    const LARGEST_SHARE: f64 = 0.05;
    const LARGEST_ERROR: f64 = 0.1;
    let count = draws.len() as f64;
    let own = draws.iter().map(|(_, share)| share).sum::<f64>() / count;
    let logs: Vec<f64> = draws.iter().map(|(ln, _)| *ln).collect();
    let ln_mean = ln_sum_exp(&logs) - count.ln();
    let squares = logs.iter().map(|ln| ((ln - ln_mean).exp() - 1.0).powi(2)).sum::<f64>();
    let error = squares.sqrt() / count;
    if own > LARGEST_SHARE || error.is_nan() || error > LARGEST_ERROR {
        return Err("importance sampling from the drawn tallies does not cover this posterior");
    }
    Ok((ln_mean, error))
}

/// One `Dir(α + t)`.
struct Component {
    alpha: Vec<f64>,
    ln_norm: f64,
}

impl Component {
    fn new(prior: &Dirichlet, t: &[u64]) -> Self {
        let alpha: Vec<f64> = prior.alpha().iter().zip(t).map(|(alpha, t)| alpha + *t as f64).collect();
        let total: f64 = alpha.iter().sum();
        let ln_norm = alpha.iter().map(|alpha| libm::lgamma(*alpha)).sum::<f64>() - libm::lgamma(total);
        Component { alpha, ln_norm }
    }

    fn ln_density(&self, ln_p: &[f64]) -> f64 {
        self.alpha.iter().zip(ln_p).map(|(alpha, ln_p)| (alpha - 1.0) * ln_p).sum::<f64>() - self.ln_norm
    }
}
