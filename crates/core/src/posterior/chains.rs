//! Markov chains for the posterior under one Dirichlet prior, or under the adaptive one.
//!
//! # Method
//! There are two kinds of updates, each of which leaves the posterior invariant:
//!
//! * *Moves* of mass between two values or along a ridge ([`crate::mcmc::target`]). If some rows of the
//!   likelihood are only expanded there, several moves form one proposal, which is accepted or rejected in
//!   one pass over the reports. The warm-up tunes how many moves make one proposal.
//! * *Data augmentation*: draw the users' tallies `T` given `P` and the reports, then `P ~ Dir(α + T)`, and
//!   before that `α` given `T` if it is unknown. It mixes well at low privacy and at the boundary of the
//!   simplex, and slowly at high privacy. Chains whose long proposals are accepted do without it.
//!
//! A proposal has as many sweeps as cost about as much as the pass over the reports that decides about it.
//!
//! Four chains start at draws from the prior, followed by some sweeps. They run until the effective sample
//! sizes of all `P_x` suffice and R-hat is small. Each time their length doubles they discard the first half
//! of their draws as burn-in and thin the rest by two, so that memory is bounded.

use std::ops::ControlFlow;

use crate::numerics::parallel::*;
use chacha20::ChaCha8Rng;
use rand::RngExt;

use super::summary::{Diagnostics, PosteriorOptions};
use crate::information::Sampling;
use crate::likelihood::Senders;
use crate::mcmc::concentration::alpha_given_tallies;
use crate::mcmc::diagnostics::{Agreement, agreement};
use crate::mcmc::target::{State, Target};
use crate::model::error::{Error, Result};
use crate::numerics::random::generator;
use crate::numerics::random::sample_ln_gamma;
use crate::numerics::special::ln_sum_exp;

/// Number of chains.
pub(crate) const CHAINS: usize = 4;

/// Iterations of the warm-up, and of them between two adjustments.
const WARM_UP: usize = 100;
const TUNED: usize = 10;

/// Minimum number of kept draws of a chain before its final assessment.
const KEPT: usize = 1000;

/// Draws between two convergence checks of chains whose draws are expensive.
const CHECKED: usize = 50;

/// Draws between two calls of the observer.
const SLICE: usize = 50;

/// Smallest effective sample size of a converged answer.
const SAMPLE_SIZE: f64 = 1000.0;

/// Largest excess of R-hat over 1, times the wanted effective sample size. By chance alone the excess of chains
/// that mix is about `4χ²_7/7` over that size for one value, and three times its mean for the worst of a thousand:
/// 1.01 belongs to 1,000 effective draws.
const R_HAT_EXCESS: f64 = 10.0;

/// The smallest effective sample size where a pass over the reports takes more than [`EXPENSIVE`] steps: what
/// Vehtari et al. ask of four chains.
const LEAST_SAMPLE_SIZE: f64 = 400.0;
const EXPENSIVE: f64 = 5e7;

/// The same for the parameter of an adaptive prior. The shares hardly depend on it, and their own diagnostics
/// tell if they do.
const PARAMETER_R_HAT: f64 = 1.05;
const PARAMETER_SAMPLE_SIZE: f64 = 100.0;

/// Largest number of doublings of the chains' length.
const DOUBLINGS: u32 = 6;

/// Proposals per iteration with data augmentation.
const PROPOSALS: usize = 2;

/// Sweeps from a draw of the prior to the start of the warm-up.
const APPROACH: usize = 50;

/// Bounds of the largest number of sweeps per proposal. By the upper one a walk has forgotten its start.
const LONGEST: (f64, f64) = (8.0, 32.0);

/// Shared by all chains: reports, and the target of the chains.
pub(crate) struct Problem<'a> {
    pub(crate) likelihood: &'a dyn Senders,
    pub(crate) target: Target<'a>,
}

/// The chains after their run.
pub(crate) struct Chains {
    chains: Vec<Chain>,
    /// The convergence diagnostics of each value, and then of the parameter of an adaptive prior.
    pub(crate) agreements: Vec<Agreement>,
    pub(crate) diagnostics: Diagnostics,
}

/// A draw of the distribution, and of the parameter of an adaptive prior.
#[derive(Clone)]
pub(crate) struct Draw {
    pub(crate) p: Vec<f64>,
    pub(crate) alpha: Option<f64>,
}

/// One chain and its draws.
struct Chain {
    rng: ChaCha8Rng,
    state: State,
    /// Moves per proposal.
    moves: usize,
    /// Whether an iteration redraws `P` given drawn tallies.
    augments: bool,
    /// `D = L − L̂` at the current state.
    difference: f64,
    proposed: f64,
    accepted: f64,
    /// One of this many iterations is kept.
    thinning: usize,
    draws: Vec<Draw>,
}

impl Problem<'_> {
    /// Largest R-hat of a converged answer.
    fn largest_r_hat(&self) -> f64 {
        1.0 + R_HAT_EXCESS / self.sample_size()
    }

    /// The effective sample size of a converged answer.
    pub(crate) fn sample_size(&self) -> f64 {
        if self.likelihood.steps() > EXPENSIVE { LEAST_SAMPLE_SIZE } else { SAMPLE_SIZE }
    }
}

impl Chains {
    /// Runs chains until they agree with at least `sample_size` effective draws, are stopped, or have doubled
    /// their length too often.
    ///
    /// # Errors
    /// They did not converge, and the caller does not accept an unconverged answer.
    pub(crate) fn run(
        problem: &Problem<'_>,
        sample_size: f64,
        seed: u64,
        options: &PosteriorOptions<'_>,
    ) -> Result<Self> {
        let mut chains: Vec<Chain> =
            (0..CHAINS as u64).into_par_iter().map(|i| Chain::new(problem, seed, i)).collect();
        warm_up(&mut chains, problem);
        let (agreements, diagnostics) = until_they_agree(&mut chains, problem, sample_size, options);
        if !diagnostics.converged && !options.unconverged {
            return Err(Error::Unconverged {
                r_hat: diagnostics.r_hat,
                allowed: problem.largest_r_hat(),
                sample_size: diagnostics.bulk.min(diagnostics.tail),
                wanted: sample_size,
            });
        }
        Ok(Chains { chains, agreements, diagnostics })
    }

    /// The draws of all chains, interleaved, so that any prefix is as good as the rest.
    pub(crate) fn draws(&self) -> impl Iterator<Item = &Draw> {
        let length = self.chains[0].draws.len();
        (0..length).flat_map(|i| self.chains.iter().map(move |chain| &chain.draws[i]))
    }

    /// The number of draws.
    pub(crate) fn len(&self) -> usize {
        CHAINS * self.chains[0].draws.len()
    }
}

impl Chain {
    fn new(problem: &Problem<'_>, seed: u64, number: u64) -> Self {
        let mut rng = generator(seed, number);
        let mut state = problem.target.prior_state(&mut rng);
        let a = state.p.len();
        problem.target.moves(&mut state, APPROACH * a, 1.0, &mut rng);
        Chain {
            difference: problem.target.difference(&state),
            state,
            rng,
            moves: if problem.target.is_expanded() { longest(problem) * a } else { 2 * a },
            augments: !problem.target.is_expanded(),
            proposed: 0.0,
            accepted: 0.0,
            thinning: 1,
            draws: Vec::new(),
        }
    }

    /// Tunes the number of moves per proposal, for an acceptance rate of about two thirds, by the last
    /// iterations.
    fn tune(&mut self, longest: usize) {
        let share = self.accepted / self.proposed;
        (self.proposed, self.accepted) = (0.0, 0.0);
        if share < 0.5 {
            self.moves = (self.moves / 2).max(2);
        } else if share > 0.8 {
            self.moves = (self.moves * 2).min(longest);
        }
    }

    /// One iteration with data augmentation.
    fn augmented_step(&mut self, problem: &Problem<'_>) {
        let t = problem.likelihood.sample_tallies(&self.state.p, &mut self.rng);
        self.augment(problem, &t);
        for _ in 0..PROPOSALS {
            let proposal = self.proposal(problem);
            let difference = problem.target.difference(&proposal);
            self.decide(proposal, difference);
        }
    }

    /// Redraws the distribution given the users' tallies: `P ~ Dir(α + T)`.
    fn augment(&mut self, problem: &Problem<'_>, t: &[u64]) {
        let common = self.state.alpha.map(|alpha| alpha_given_tallies(t, alpha, &mut self.rng));
        let prior = problem.target.prior();
        let gamma =
            |(x, t): (usize, &u64)| sample_ln_gamma(prior.alpha(x, common) + *t as f64, &mut self.rng);
        let ln_gammas: Vec<f64> = t.iter().enumerate().map(gamma).collect();
        let ln_sum = ln_sum_exp(&ln_gammas);
        self.state = problem.target.state(ln_gammas.iter().map(|ln| ln - ln_sum).collect(), common);
        self.difference = problem.target.difference(&self.state);
    }

    /// Several moves at once, by the surrogate.
    fn proposal(&mut self, problem: &Problem<'_>) -> State {
        let mut proposal = self.state.clone();
        problem.target.moves(&mut proposal, self.moves, 1.0, &mut self.rng);
        proposal
    }

    /// Accepts or rejects a proposal by the exact likelihood.
    fn decide(&mut self, proposal: State, difference: f64) {
        self.proposed += 1.0;
        if difference >= self.difference || self.rng.random::<f64>() < (difference - self.difference).exp() {
            (self.state, self.difference) = (proposal, difference);
            self.accepted += 1.0;
        }
    }

    fn keep(&mut self) {
        self.draws.push(Draw { p: self.state.p.clone(), alpha: self.state.alpha });
    }

    /// Discards the first half as burn-in and every second draw of the rest, and doubles the thinning.
    fn forget(&mut self) {
        let half = self.draws.len() / 2;
        self.draws = self.draws.drain(half..).step_by(2).collect();
        self.thinning *= 2;
    }
}

/// Tunes all chains.
fn warm_up(chains: &mut [Chain], problem: &Problem<'_>) {
    let longest = longest(problem) * problem.likelihood.inputs();
    for round in 0..WARM_UP / TUNED {
        (0..TUNED).for_each(|_| step(chains, problem));
        // Where the expansion is good there is nothing to tune.
        let good = |chain: &Chain| chain.accepted > 0.8 * chain.proposed && chain.moves == longest;
        if problem.target.is_expanded() && round > 0 && chains.iter().all(good) {
            break;
        }
        chains.iter_mut().for_each(|chain| chain.tune(longest));
    }
    let expanded = problem.target.is_expanded();
    for chain in chains {
        chain.augments = !expanded || chain.moves < longest / 2;
        (chain.proposed, chain.accepted) = (0.0, 0.0);
    }
}

/// One iteration of every chain. Proposals without data augmentation are decided together, in one pass over the
/// reports.
fn step(chains: &mut [Chain], problem: &Problem<'_>) {
    let (mut alone, mut together): (Vec<&mut Chain>, Vec<&mut Chain>) =
        chains.iter_mut().partition(|chain| chain.augments);
    alone.par_iter_mut().for_each(|chain| chain.augmented_step(problem));
    let proposals: Vec<State> = together.par_iter_mut().map(|chain| chain.proposal(problem)).collect();
    let differences = problem.target.differences(&proposals);
    for ((chain, proposal), difference) in together.iter_mut().zip(proposals).zip(differences) {
        chain.decide(proposal, difference);
    }
}

/// Adds this many draws to every chain.
fn go_on(chains: &mut [Chain], problem: &Problem<'_>, draws: usize) {
    if chains.iter().all(|chain| chain.augments) {
        // Nothing is decided together, so no chain waits for another.
        let draw = |chain: &mut Chain| {
            (0..chain.thinning).for_each(|_| chain.augmented_step(problem));
            chain.keep();
        };
        chains.par_iter_mut().for_each(|chain| (0..draws).for_each(|_| draw(chain)));
        return;
    }
    for _ in 0..draws {
        (0..chains[0].thinning).for_each(|_| step(chains, problem));
        chains.iter_mut().for_each(Chain::keep);
    }
}

/// The largest number of sweeps per proposal: as many as take as long as the pass over the reports.
fn longest(problem: &Problem<'_>) -> usize {
    let passes = problem.likelihood.steps() / problem.target.steps_a_sweep();
    passes.clamp(LONGEST.0, LONGEST.1) as usize
}

/// Runs the chains until they agree, are stopped, or have doubled their length too often.
fn until_they_agree(
    chains: &mut [Chain],
    problem: &Problem<'_>,
    sample_size: f64,
    options: &PosteriorOptions<'_>,
) -> (Vec<Agreement>, Diagnostics) {
    let kept = KEPT.max(options.draws.div_ceil(CHAINS)).next_multiple_of(SLICE);
    for doubling in 0..=DOUBLINGS {
        while chains[0].draws.len() < kept {
            go_on(chains, problem, SLICE);
            // Where a draw is expensive, stop as soon as the chains agree.
            let length = chains[0].draws.len();
            let may_end = problem.target.is_expanded() && CHAINS * length >= options.draws;
            let enough = may_end
                && length.is_multiple_of(CHECKED)
                && diagnostics(chains, problem, sample_size).1.converged;
            if enough || stopped(chains, kept, options) {
                return diagnostics(chains, problem, sample_size);
            }
        }
        let found = diagnostics(chains, problem, sample_size);
        if found.1.converged || doubling == DOUBLINGS {
            return found;
        }
        chains.iter_mut().for_each(Chain::forget);
    }
    diagnostics(chains, problem, sample_size)
}

/// Reports progress to the observer as if the draws were independent.
fn stopped(chains: &[Chain], wanted: usize, options: &PosteriorOptions<'_>) -> bool {
    let kept = (chains.len() * chains[0].draws.len()) as f64;
    let draws = kept as u64 * chains[0].thinning as u64;
    let progress = Sampling {
        draws,
        assessed: draws,
        value: kept,
        error: 1.0 / kept.sqrt(),
        tolerance: 1.0 / ((CHAINS * wanted) as f64).sqrt(),
    };
    options.observer.is_some_and(|observer| observer(&progress) == ControlFlow::Break(()))
}

fn diagnostics(chains: &[Chain], problem: &Problem<'_>, sample_size: f64) -> (Vec<Agreement>, Diagnostics) {
    let of_value = |x: usize| {
        let column = |chain: &Chain| chain.draws.iter().map(|draw| draw.p[x]).collect();
        agreement(&chains.iter().map(column).collect::<Vec<Vec<f64>>>())
    };
    let mut found: Vec<Agreement> = (0..chains[0].state.p.len()).into_par_iter().map(of_value).collect();
    if chains[0].state.alpha.is_some() {
        let column = |chain: &Chain| chain.draws.iter().filter_map(|draw| draw.alpha).collect();
        found.push(agreement(&chains.iter().map(column).collect::<Vec<Vec<f64>>>()));
    }
    let values = &found[..chains[0].state.p.len()];
    let least = |f: fn(&Agreement) -> f64| values.iter().map(f).fold(f64::INFINITY, f64::min);
    let (r_hat, bulk, tail) = (-least(|a| -a.r_hat), least(|a| a.bulk), least(|a| a.tail));
    let parameter_agrees = found[values.len()..]
        .iter()
        .all(|alpha| alpha.r_hat <= PARAMETER_R_HAT && alpha.bulk >= PARAMETER_SAMPLE_SIZE);
    let sum = |f: fn(&Chain) -> f64| chains.iter().map(f).sum::<f64>();
    let diagnostics = Diagnostics {
        chains: chains.len(),
        length: chains[0].draws.len() * chains[0].thinning,
        r_hat,
        bulk,
        tail,
        acceptance: sum(|c| c.accepted) / sum(|c| c.proposed),
        converged: r_hat <= problem.largest_r_hat() && bulk.min(tail) >= sample_size && parameter_agrees,
    };
    (found, diagnostics)
}
