//! Markov chains that need no tuning: four of them run until they agree, with twice as many sweeps between draws each time they do not.

use std::ops::ControlFlow;

use chacha20::ChaCha8Rng;

use super::summary::{Diagnostics, PosteriorOptions, Summary, weighted_quantile};
use crate::information::Sampling;
use crate::mcmc::diagnostics::{Agreement, agreement};
use crate::model::error::{Error, Result};
use crate::numerics::parallel::*;
use crate::numerics::random::generator;

/// Number of chains, and draws of each.
pub(super) const CHAINS: usize = 4;
const KEPT: usize = 1000;

/// Largest number of doublings of the sweeps between draws.
const DOUBLINGS: usize = 6;

/// Largest R-hat and smallest effective sample size of a converged answer.
const R_HAT: f64 = 1.01;
const SAMPLE_SIZE: f64 = 1000.0;

/// Draws between two calls of the observer.
const SLICE: usize = 100;

/// What chains move through.
pub(super) trait Walk: Sync {
    /// The position of a chain.
    type State: Send;

    /// Sweeps before the first draw.
    const BURN_IN: usize;

    /// Sweeps between two draws at first.
    const SWEEPS: usize;

    /// Where a chain begins.
    fn begin(&self, rng: &mut ChaCha8Rng) -> Self::State;

    /// Moves that leave the posterior invariant.
    fn sweep(&self, state: &mut Self::State, rng: &mut ChaCha8Rng);

    /// The distribution at a position, and the parameter of the prior if that is unknown.
    fn draw(&self, state: &Self::State) -> Draw;
}

/// A draw of the distribution, and of the parameter of the prior if that is unknown.
pub(super) type Draw = (Vec<f64>, Option<f64>);

/// The chains after their run.
pub(super) struct Drawn {
    /// The draws of all chains, in turn.
    pub draws: Vec<Draw>,
    /// The convergence diagnostics of each value, and then of the parameter of the prior.
    pub agreements: Vec<Agreement>,
    pub diagnostics: Diagnostics,
}

struct Chain<S> {
    rng: ChaCha8Rng,
    state: S,
    draws: Vec<Draw>,
}

/// Runs the chains until they agree, are stopped, or have doubled the sweeps between draws too often.
///
/// # Errors
/// They do not agree, and the caller does not accept an unconverged answer.
pub(super) fn run<W: Walk>(walk: &W, options: &PosteriorOptions<'_>) -> Result<Drawn> {
    let begin = |i: u64| {
        let mut rng = generator(options.seed, i);
        let mut state = walk.begin(&mut rng);
        (0..W::BURN_IN).for_each(|_| walk.sweep(&mut state, &mut rng));
        Chain { rng, state, draws: Vec::new() }
    };
    let mut chains: Vec<Chain<W::State>> = (0..CHAINS as u64).into_par_iter().map(begin).collect();
    let kept = KEPT.max(options.draws.div_ceil(CHAINS)).next_multiple_of(SLICE);
    let mut sweeps = W::SWEEPS;
    let (agreements, diagnostics) = loop {
        chains.iter_mut().for_each(|chain| chain.draws.clear());
        while chains[0].draws.len() < kept {
            chains.par_iter_mut().for_each(|chain| chain.go_on(walk, sweeps));
            if stopped(&chains, kept, options) {
                break;
            }
        }
        let found = assessed(&chains, sweeps);
        if found.1.converged || sweeps == W::SWEEPS << DOUBLINGS || chains[0].draws.len() < kept {
            break found;
        }
        sweeps *= 2;
    };
    if !diagnostics.converged && !options.unconverged {
        return Err(Error::Unconverged {
            r_hat: diagnostics.r_hat,
            allowed: R_HAT,
            sample_size: diagnostics.bulk.min(diagnostics.tail),
            wanted: SAMPLE_SIZE,
        });
    }
    let length = chains[0].draws.len();
    let draws = (0..length).flat_map(|i| chains.iter().map(move |chain| chain.draws[i].clone())).collect();
    Ok(Drawn { draws, agreements, diagnostics })
}

impl<S> Chain<S> {
    fn go_on<W: Walk<State = S>>(&mut self, walk: &W, sweeps: usize) {
        for _ in 0..SLICE {
            (0..sweeps).for_each(|_| walk.sweep(&mut self.state, &mut self.rng));
            self.draws.push(walk.draw(&self.state));
        }
    }
}

fn stopped<S>(chains: &[Chain<S>], wanted: usize, options: &PosteriorOptions<'_>) -> bool {
    let kept = (chains.len() * chains[0].draws.len()) as f64;
    let progress = Sampling {
        draws: kept as u64,
        assessed: kept as u64,
        value: kept,
        error: 1.0 / kept.sqrt(),
        tolerance: 1.0 / ((CHAINS * wanted) as f64).sqrt(),
    };
    options.observer.is_some_and(|observer| observer(&progress) == ControlFlow::Break(()))
}

fn assessed<S: Send>(chains: &[Chain<S>], sweeps: usize) -> (Vec<Agreement>, Diagnostics) {
    let draws: Vec<&[Draw]> = chains.iter().map(|chain| &chain.draws[..]).collect();
    let of_value = |x: usize| {
        let column = |draws: &&[Draw]| draws.iter().map(|(p, _)| p[x]).collect();
        agreement(&draws.iter().map(column).collect::<Vec<Vec<f64>>>())
    };
    let a = draws[0].first().map_or(0, |(p, _)| p.len());
    let mut found: Vec<Agreement> = (0..a).into_par_iter().map(of_value).collect();
    if draws[0].first().is_some_and(|(_, parameter)| parameter.is_some()) {
        let column = |draws: &&[Draw]| draws.iter().filter_map(|(_, parameter)| *parameter).collect();
        found.push(agreement(&draws.iter().map(column).collect::<Vec<Vec<f64>>>()));
    }
    let least = |f: fn(&Agreement) -> f64| found.iter().map(f).fold(f64::INFINITY, f64::min);
    let (r_hat, bulk, tail) = (-least(|a| -a.r_hat), least(|a| a.bulk), least(|a| a.tail));
    let diagnostics = Diagnostics {
        chains: chains.len(),
        length: draws[0].len() * sweeps,
        r_hat,
        bulk,
        tail,
        // Slices are never rejected.
        acceptance: 1.0,
        converged: r_hat <= R_HAT && bulk.min(tail) >= SAMPLE_SIZE,
    };
    (found, diagnostics)
}

impl Drawn {
    /// The parameter of the prior, if it is unknown.
    pub(super) fn parameter(&self, options: &PosteriorOptions<'_>) -> Option<Summary> {
        let values: Vec<f64> = self.draws.iter().filter_map(|(_, parameter)| *parameter).collect();
        let size = self.agreements.last().map_or(f64::NAN, |agreement| agreement.bulk);
        (!values.is_empty()).then(|| summary(values, size, options))
    }
}

/// The distribution of drawn values, of which `size` are effective.
pub(super) fn summary(mut values: Vec<f64>, size: f64, options: &PosteriorOptions<'_>) -> Summary {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
    values.sort_by(f64::total_cmp);
    let weighted: Vec<(f64, f64)> = values.into_iter().map(|value| (value, 1.0)).collect();
    let quantiles = options.probabilities.iter().map(|q| (*q, weighted_quantile(&weighted, *q))).collect();
    Summary { mean, sd, quantiles, error: sd / size.sqrt(), ..Summary::default() }
}
