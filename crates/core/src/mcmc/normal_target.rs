//! Chains for the posterior given supports: the prior times the normal likelihood of
//! [`crate::likelihood::normal_supports`].
//!
//! The moves are those of [`super::target`]: exchanges between two values, and moves of the parameter of an
//! adaptive prior. The likelihood is a function of a few sums over the values, so an exchange takes a constant
//! number of steps.

use rand::{Rng, RngExt};

use super::concentration::{self, Orbit};
use super::target::{ChainPrior, ln_add, shares, slice};
use crate::likelihood::normal_supports::{NormalSupports, Sums};
use crate::numerics::stop::check;

/// The posterior given supports.
pub(crate) struct NormalTarget<'a> {
    likelihood: &'a NormalSupports,
    prior: ChainPrior<'a>,
    orbit: Option<Orbit>,
}

/// The position of a chain.
#[derive(Clone)]
pub(crate) struct NormalState {
    pub(crate) p: Vec<f64>,
    ln_p: Vec<f64>,
    pub(crate) alpha: Option<f64>,
    sums: Sums,
}

impl<'a> NormalTarget<'a> {
    pub(crate) fn new(likelihood: &'a NormalSupports, prior: ChainPrior<'a>) -> Self {
        let adaptive = prior.is_adaptive();
        let orbit = adaptive.then(|| {
            let linear: Vec<f64> = (0..likelihood.inputs()).map(|x| likelihood.linear(x)).collect();
            Orbit::new(&linear, |x, _| likelihood.noise(linear[x].clamp(0.0, 1.0)))
        });
        NormalTarget { likelihood, prior, orbit }
    }

    /// A state at a draw of the prior.
    pub(crate) fn prior_state(&self, rng: &mut dyn Rng) -> NormalState {
        let (alpha, ln_p) = self.prior.sample_ln(rng);
        self.state(ln_p, alpha)
    }

    fn state(&self, ln_p: Vec<f64>, alpha: Option<f64>) -> NormalState {
        let p: Vec<f64> = ln_p.iter().map(|ln| ln.exp()).collect();
        NormalState { sums: self.sums(&p), p, ln_p, alpha }
    }

    fn sums(&self, p: &[f64]) -> Sums {
        let mut sums = [0.0; 7];
        p.iter().enumerate().for_each(|(x, p_x)| add(&mut sums, &self.likelihood.terms(x, *p_x), 1.0));
        sums
    }

    /// One move for each value.
    pub(crate) fn sweep(&self, state: &mut NormalState, rng: &mut dyn Rng) {
        let a = state.p.len();
        // Rounding errors of the moves would add up.
        state.sums = self.sums(&state.p);
        for _ in 0..a {
            check();
            let number = rng.random_range(0..a + 2 * usize::from(self.orbit.is_some()));
            match &self.orbit {
                Some(orbit) if number == a => self.along_orbit(state, orbit, rng),
                Some(_) if number > a => {
                    state.alpha = state.alpha.map(|now| concentration::given_shares(&state.ln_p, now, rng));
                }
                _ => {
                    let other = rng.random_range(0..a - 1);
                    self.exchange(state, number, if other < number { other } else { other + 1 }, rng);
                }
            }
        }
    }

    /// Moves mass between two values by slice sampling in the log-odds of their shares.
    fn exchange(&self, state: &mut NormalState, x: usize, other: usize, rng: &mut dyn Rng) {
        let ln_total = ln_add(state.ln_p[x], state.ln_p[other]).min(0.0);
        let mut rest = state.sums;
        add(&mut rest, &self.likelihood.terms(x, state.p[x]), -1.0);
        add(&mut rest, &self.likelihood.terms(other, state.p[other]), -1.0);
        let [alpha, beside] = [x, other].map(|x| self.prior.alpha(x, state.alpha));
        let sums_at = |p_x: f64, p_other: f64| {
            let mut sums = rest;
            add(&mut sums, &self.likelihood.terms(x, p_x), 1.0);
            add(&mut sums, &self.likelihood.terms(other, p_other), 1.0);
            sums
        };
        let ln_density = |u: f64| {
            let (ln_share, ln_rest) = shares(u);
            let sums = sums_at((ln_total + ln_share).exp(), (ln_total + ln_rest).exp());
            alpha * ln_share + beside * ln_rest + self.likelihood.ln_likelihood(&sums)
        };
        let now = state.ln_p[x] - state.ln_p[other];
        let Some(u) = slice(&ln_density, now, alpha, beside, rng) else { return };
        let (ln_share, ln_rest) = shares(u);
        (state.ln_p[x], state.ln_p[other]) = (ln_total + ln_share, ln_total + ln_rest);
        (state.p[x], state.p[other]) = (state.ln_p[x].exp(), state.ln_p[other].exp());
        state.sums = sums_at(state.p[x], state.p[other]);
    }

    /// Moves the parameter of an adaptive prior together with the rare shares.
    fn along_orbit(&self, state: &mut NormalState, orbit: &Orbit, rng: &mut dyn Rng) {
        let Some(now) = state.alpha else { return };
        let ln_at = |alpha: f64| {
            let Some((ln_p, ln_prior)) = orbit.moved(&state.ln_p, now, alpha) else {
                return f64::NEG_INFINITY;
            };
            let p: Vec<f64> = ln_p.iter().map(|ln| ln.exp()).collect();
            ln_prior + self.likelihood.ln_likelihood(&self.sums(&p))
        };
        let alpha = concentration::slice(state.p.len(), &ln_at, now, rng);
        if let Some((ln_p, _)) = orbit.moved(&state.ln_p, now, alpha) {
            *state = self.state(ln_p, Some(alpha));
        }
    }
}

fn add(sums: &mut Sums, terms: &Sums, sign: f64) {
    sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += sign * term);
}
