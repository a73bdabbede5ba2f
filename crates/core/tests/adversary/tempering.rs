//! Evidence, posterior moments and `I(Y⃗;P)` by particles that move from the prior to the posterior through
//! tempered likelihoods.
//!
//! # Method
//! Particles are drawn from the prior. At the inverse temperatures `β_j = (j/J)^4` they are weighted by
//! `f(y⃗|P)^{β_j − β_{j−1}}`, resampled when the weights are uneven, and moved by exchanges of mass between
//! two values: a random step in their log-odds of a random size between 0.003 and 30, or a new split drawn
//! from the prior if this is one Dirichlet distribution. Moves are independent and reversible. Moves need not
//! reach a mixture component that the data favour: some particles start there.
//!
//! As for the particle filter, the product of the mean weights is unbiased, and a second run that keeps a
//! path from the true `P` makes the inverse unbiased: `I(Y⃗;P)` lies between two means, whatever the number
//! of particles.
//!
//! It does not need to guess the senders' values and so is suited to high privacy, where the filter over
//! reports needs many particles.

use chacha20::ChaCha8Rng;
use rand::RngExt;
use rand_distr::{Distribution as _, StandardNormal};
use rayon::prelude::*;

use super::importance::names;
use super::model::{Mixture, Reports, Source, ln_dirichlet, ln_sum_exp};
use super::particle_filter::{Draw, Estimate, estimate, stream};
use super::reference::Value;

/// The computational effort.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub particles: usize,
    /// Number of temperatures `J`.
    pub steps: usize,
    /// Sweeps of exchanges at each temperature.
    pub sweeps: usize,
    /// Simulated collections, or independent runs for a posterior.
    pub draws: u64,
    pub seed: u64,
}

/// `I(Y⃗;P)` of `n` users.
pub fn distribution_information(source: &Source, prior: &Mixture, n: u64, effort: Effort) -> Estimate {
    let draw = |i: u64| {
        let mut rng = stream(effort.seed, i);
        let ln_p = prior.draw(&mut rng);
        let problem = Problem { reports: &source.tally(&ln_p, n, &mut rng), prior, effort };
        let forward = problem.run(None, &mut rng);
        let kept = problem.kept_path(ln_p, &mut rng);
        let conditional = problem.run(Some(&kept), &mut rng);
        let h = conditional.mean(|state| vec![state.ln_likelihood])[0];
        Draw { low: h - conditional.ln_evidence, high: h - forward.ln_evidence, control: 0.0 }
    };
    estimate(&(0..effort.draws).into_par_iter().map(draw).collect::<Vec<_>>(), None)
}

/// Posterior moments from independent runs, weighted by their evidence, with jackknife errors over the runs.
pub fn posterior(reports: &Reports, prior: &Mixture, effort: Effort) -> Vec<Value> {
    let a = prior.inputs();
    let run = |i: u64| {
        let problem = Problem { reports, prior, effort };
        let population = problem.run(None, &mut stream(effort.seed, i));
        let moments = population.mean(|state| {
            let (t, variances) = reports.tally_moments(&state.ln_p);
            let p: Vec<f64> = state.ln_p.iter().map(|l| l.exp()).collect();
            let squares = p.iter().map(|v| v * v).collect();
            let seconds = (0..a).map(|x| t[x] * t[x] + variances[x]).collect();
            [p, squares, t, seconds].concat()
        });
        (population.ln_evidence, moments)
    };
    let runs: Vec<(f64, Vec<f64>)> = (0..effort.draws).into_par_iter().map(run).collect();
    let whole = combined(&runs, a, None);
    let without: Vec<Vec<f64>> = (0..runs.len()).map(|r| combined(&runs, a, Some(r))).collect();
    let count = runs.len() as f64;
    let value = |(i, name): (usize, String)| {
        let mean = without.iter().map(|v| v[i]).sum::<f64>() / count;
        let squares = without.iter().map(|v| (v[i] - mean).powi(2)).sum::<f64>();
        Value::new(name, whole[i], (squares * (count - 1.0) / count).sqrt())
    };
    names(a).into_iter().enumerate().map(value).collect()
}

fn combined(runs: &[(f64, Vec<f64>)], a: usize, without: Option<usize>) -> Vec<f64> {
    let kept: Vec<&(f64, Vec<f64>)> =
        runs.iter().enumerate().filter(|(r, _)| Some(*r) != without).map(|(_, run)| run).collect();
    let total = ln_sum_exp(&kept.iter().map(|run| run.0).collect::<Vec<_>>());
    let mut m = vec![0.0; 4 * a];
    for (ln_evidence, moments) in &kept {
        m.iter_mut().zip(moments).for_each(|(m, v)| *m += (ln_evidence - total).exp() * v);
    }
    let sd = |i: usize| (m[i + a] - m[i] * m[i]).max(0.0).sqrt();
    let (sd_p, sd_t) = ((0..a).map(sd).collect(), (2 * a..3 * a).map(sd).collect());
    let ln_evidence = total - (kept.len() as f64).ln();
    [vec![ln_evidence], m[..a].to_vec(), sd_p, m[2 * a..3 * a].to_vec(), sd_t].concat()
}

#[derive(Clone)]
struct State {
    ln_p: Vec<f64>,
    ln_prior: f64,
    ln_likelihood: f64,
}

struct Problem<'a> {
    reports: &'a Reports,
    prior: &'a Mixture,
    effort: Effort,
}

/// Weighted particles at the end.
struct Population {
    states: Vec<State>,
    weights: Vec<f64>,
    ln_evidence: f64,
}

impl Problem<'_> {
    fn beta(&self, j: usize) -> f64 {
        (j as f64 / self.effort.steps as f64).powi(4)
    }

    fn state(&self, ln_p: Vec<f64>) -> State {
        let (ln_prior, ln_likelihood) = (self.prior.ln_density(&ln_p), self.reports.ln_likelihood(&ln_p));
        State { ln_p, ln_prior, ln_likelihood }
    }

    /// The kept particle before each reweighting, from the first temperature to the last: it ends at the true `P`.
    fn kept_path(&self, ln_p: Vec<f64>, rng: &mut ChaCha8Rng) -> Vec<State> {
        let mut state = self.state(ln_p);
        let mut path = vec![state.clone()];
        for j in (1..self.effort.steps).rev() {
            self.sweep(&mut state, self.beta(j), rng);
            path.push(state.clone());
        }
        path.reverse();
        path
    }

    /// One run. At step `j` particles at temperature `β_{j−1}` are weighted towards `β_j`; after every step
    /// but the last they then move.
    fn run(&self, kept: Option<&[State]>, rng: &mut ChaCha8Rng) -> Population {
        let count = self.effort.particles;
        let mut states: Vec<State> = (0..count).map(|_| self.state(self.prior.draw(rng))).collect();
        let mut population =
            Population { states: Vec::new(), weights: vec![1.0 / count as f64; count], ln_evidence: 0.0 };
        for j in 1..=self.effort.steps {
            if let Some(path) = kept {
                states[0] = path[j - 1].clone();
            }
            population.reweight(&states, self.beta(j) - self.beta(j - 1));
            if j < self.effort.steps {
                population.resample(&mut states, kept.is_some(), rng);
                states.iter_mut().for_each(|state| self.sweep(state, self.beta(j), rng));
            }
        }
        population.states = states;
        population
    }

    fn sweep(&self, state: &mut State, beta: f64, rng: &mut ChaCha8Rng) {
        for _ in 0..self.effort.sweeps * state.ln_p.len() {
            self.exchange(state, beta, rng);
        }
    }

    /// A new split of the mass of two values.
    fn exchange(&self, state: &mut State, beta: f64, rng: &mut ChaCha8Rng) {
        let a = state.ln_p.len();
        let x = rng.random_range(0..a);
        let z = (x + rng.random_range(1..a)) % a;
        let ln_mass = ln_sum_exp(&[state.ln_p[x], state.ln_p[z]]);
        let from_prior = self.prior.parts.len() == 1 && rng.random::<bool>();
        let [ln_x, ln_z] = if from_prior {
            let alpha = &self.prior.parts[0];
            let split = ln_dirichlet(&[alpha[x], alpha[z]], rng);
            [split[0], split[1]]
        } else {
            let normal: f64 = StandardNormal.sample(rng);
            let size = (0.003f64.ln() + rng.random::<f64>() * 1e4f64.ln()).exp();
            let odds = state.ln_p[x] - state.ln_p[z] + size * normal;
            [-ln_sum_exp(&[0.0, -odds]), -ln_sum_exp(&[0.0, odds])]
        };
        let mut ln_p = state.ln_p.clone();
        (ln_p[x], ln_p[z]) = (ln_mass + ln_x, ln_mass + ln_z);
        let next = self.state(ln_p);
        let prior = if from_prior { 0.0 } else { next.ln_prior - state.ln_prior };
        if (1.0 - rng.random::<f64>()).ln() < prior + beta * (next.ln_likelihood - state.ln_likelihood) {
            *state = next;
        }
    }
}

impl Population {
    fn reweight(&mut self, states: &[State], step: f64) {
        let ln: Vec<f64> =
            self.weights.iter().zip(states).map(|(w, s)| w.ln() + step * s.ln_likelihood).collect();
        let total = ln_sum_exp(&ln);
        self.ln_evidence += total;
        self.weights = ln.iter().map(|l| (l - total).exp()).collect();
    }

    /// Multinomial resampling when the effective number of particles is below half. Particle 0 stays if it is
    /// kept.
    fn resample(&mut self, states: &mut Vec<State>, conditional: bool, rng: &mut ChaCha8Rng) {
        let count = states.len();
        if self.weights.iter().map(|w| w * w).sum::<f64>() * count as f64 <= 2.0 {
            return;
        }
        let ends: Vec<f64> = self
            .weights
            .iter()
            .scan(0.0, |sum, w| {
                *sum += w;
                Some(*sum)
            })
            .collect();
        let mut chosen = |i: usize| {
            let u = rng.random::<f64>() * ends[count - 1];
            if conditional && i == 0 { 0 } else { ends.partition_point(|end| *end <= u).min(count - 1) }
        };
        *states = (0..count).map(|i| states[chosen(i)].clone()).collect();
        self.weights = vec![1.0 / count as f64; count];
    }

    fn mean(&self, f: impl Fn(&State) -> Vec<f64>) -> Vec<f64> {
        let mut sums = Vec::new();
        for (state, w) in self.states.iter().zip(&self.weights) {
            let values = f(state);
            sums.resize(values.len(), 0.0);
            sums.iter_mut().zip(values).for_each(|(s, v)| *s += w * v);
        }
        sums
    }
}
