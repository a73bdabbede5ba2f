//! `I(Y⃗;P)` by particle filters, with bounds from both sides.
//!
//! # Method
//! The reports `y_1, …, y_n` arrive one after another. A particle holds values `x_1, …, x_k` for the senders
//! so far. It does not hold `P`, because given these values `P ~ Dir(α + t)`. A new report weights the
//! particle by its predictive probability `Σ_x q_{yx} (α_x + t_x)/(α0 + k)` and draws the value of its
//! sender. The product of the mean weights, `Ẑ`, is an unbiased estimate of the evidence `m(y⃗)`, so
//! `E ln Ẑ ≤ ln m`.
//!
//! The simulation knows the senders' true values, which are an exact draw from the posterior. A second,
//! *conditional* filter keeps them as its particle 0. Then `E[1/Ẑ'] = 1/m`, so `E ln Ẑ' ≥ ln m`, and the
//! weighted mean of any function over its last particles has exactly the posterior mean as its expectation
//! (one step of a particle Gibbs sampler). So with `h = E[ln f(y⃗|P) | y⃗]` from the conditional filter
//!
//! ```text
//! E[h − ln Ẑ'] ≤ I(Y⃗;P) ≤ E[h − ln Ẑ]
//! ```
//! whatever the number of particles. The estimate is the midpoint, whose biases cancel to second order; its
//! error combines the standard error with half of half the gap.
//!
//! # Moves
//! Every `period` reports each particle is moved by data augmentation: `P ~ Dir(α + t)`, then new values of
//! all senders so far given `P`. This is reversible, so the kept particle is moved backwards: its values
//! before a move are a move away from those after it.
//!
//! # Control variate
//! The users' own information, `ln f(x⃗|P) − ln m(x⃗)`, has the mean `I(X⃗;P)`, a finite sum for one
//! Dirichlet distribution. Its posterior mean is a control variate that removes nearly all variance at low
//! privacy.

use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use super::model::{
    Collection, Mixture, Source, categorical, digamma, ln_beta, ln_dirichlet, ln_gamma, ln_sum_exp,
};

/// An estimate with its standard error, and the two mean bounds that bracket the true value.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    pub value: f64,
    pub error: f64,
    pub low: f64,
    pub high: f64,
}

/// The computational effort.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub particles: usize,
    /// Reports between two moves; 0 for none.
    pub period: usize,
    pub draws: u64,
    pub seed: u64,
}

/// `I(Y⃗;P)` of `n` users.
pub fn distribution_information(source: &Source, prior: &Mixture, n: u64, effort: Effort) -> Estimate {
    let draws: Vec<Draw> = (0..effort.draws)
        .into_par_iter()
        .map(|i| {
            let mut rng = stream(effort.seed, i);
            let ln_p = prior.draw(&mut rng);
            let collection = telling_first(source.collect(&ln_p, n, &mut rng));
            one_draw(&collection, prior, effort, &mut rng)
        })
        .collect();
    let known = (prior.parts.len() == 1).then(|| users_information(&prior.parts[0], n));
    estimate(&draws, known)
}

pub fn stream(seed: u64, i: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(i);
    rng
}

/// The result of one simulated collection.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    pub low: f64,
    pub high: f64,
    pub control: f64,
}

/// The estimate from independent draws, after regression on the control variate if its mean is known.
pub fn estimate(draws: &[Draw], known: Option<f64>) -> Estimate {
    let count = draws.len() as f64;
    let average = |f: &dyn Fn(&Draw) -> f64| draws.iter().map(f).sum::<f64>() / count;
    let middle = |d: &Draw| 0.5 * (d.low + d.high);
    let (value, control) = (average(&middle), average(&|d| d.control));
    let variance = average(&|d| (d.control - control).powi(2));
    let slope = match known {
        Some(_) if variance > 0.0 => average(&|d| (middle(d) - value) * (d.control - control)) / variance,
        _ => 0.0,
    };
    let residual = average(&|d| (middle(d) - value - slope * (d.control - control)).powi(2));
    let shift = slope * (known.unwrap_or(0.0) - control);
    let (low, high) = (average(&|d| d.low) + shift, average(&|d| d.high) + shift);
    let error = (residual / (count - 2.0)).sqrt().hypot(0.25 * (high - low));
    Estimate { value: value + shift, error, low, high }
}

/// The reports ordered by information, most informative first. So values are guessed only after the
/// informative reports have been processed.
fn telling_first(mut collection: Collection) -> Collection {
    let entropy = |row: &Vec<f64>| {
        let total: f64 = row.iter().sum();
        let terms = row.iter().map(|q| q / total).filter(|q| *q > 0.0).map(|q| -q * q.ln());
        terms.sum::<f64>()
    };
    let entropies: Vec<f64> = collection.rows.iter().map(entropy).collect();
    collection.senders.sort_by(|l, r| entropies[l.0].total_cmp(&entropies[r.0]));
    collection
}

fn one_draw(collection: &Collection, prior: &Mixture, effort: Effort, rng: &mut ChaCha8Rng) -> Draw {
    let forward = Filter::run(collection, prior, effort, None, rng);
    let kept = kept_path(collection, prior, effort, rng);
    let conditional = Filter::run(collection, prior, effort, Some(&kept), rng);
    let (h, control) = conditional.posterior_means(collection, prior, rng);
    Draw { low: h - conditional.ln_evidence, high: h - forward.ln_evidence, control }
}

/// The evidence alone, by an unconditional filter.
pub fn ln_evidence(collection: &Collection, prior: &Mixture, effort: Effort, rng: &mut ChaCha8Rng) -> f64 {
    Filter::run(collection, prior, effort, None, rng).ln_evidence
}

/// Whether particles move after report number `k`, counted from 1. After the last informative report they
/// need not.
fn moves(effort: Effort, k: usize, collection: &Collection) -> bool {
    let row = &collection.rows[collection.senders[k - 1].0];
    effort.period > 0 && k.is_multiple_of(effort.period) && row.iter().any(|q| *q != row[0])
}

/// The kept particle after each report and its move, from the last to the first: it ends at the senders' true
/// values.
fn kept_path(collection: &Collection, prior: &Mixture, effort: Effort, rng: &mut ChaCha8Rng) -> Vec<Kept> {
    let mut values: Vec<usize> = collection.senders.iter().map(|(_, x)| *x).collect();
    let mut path = Vec::new();
    for k in (1..=values.len()).rev() {
        let moved = moves(effort, k, collection).then(|| tallies(&values, prior.inputs()));
        if let Some(t) = &moved {
            values = redraw(&collection.senders[..k], &collection.rows, t, prior, rng);
        }
        path.push(Kept { x: values[k - 1], moved });
        values.pop();
    }
    path.reverse();
    path
}

/// One step of the kept particle: the value of the new sender, then all tallies after the move if there is one.
struct Kept {
    x: usize,
    moved: Option<Vec<f64>>,
}

fn tallies(values: &[usize], a: usize) -> Vec<f64> {
    let mut t = vec![0.0; a];
    values.iter().for_each(|x| t[*x] += 1.0);
    t
}

/// New values of all senders so far: `P ~ Dir(α + t)`, then each value given `P` and its report.
fn redraw(
    senders: &[(usize, usize)],
    rows: &[Vec<f64>],
    t: &[f64],
    prior: &Mixture,
    rng: &mut ChaCha8Rng,
) -> Vec<usize> {
    let particle = Particle::with(t, prior);
    let p: Vec<f64> = particle.draw(prior, rng).iter().map(|l| l.exp()).collect();
    let mut weights = vec![0.0; p.len()];
    let mut value = |(y, _): &(usize, usize)| {
        weights.iter_mut().zip(&rows[*y]).zip(&p).for_each(|((w, q), p)| *w = q * p);
        categorical(&weights, rng)
    };
    senders.iter().map(&mut value).collect()
}

#[derive(Clone)]
struct Particle {
    /// Tallies of the senders' values.
    t: Vec<f64>,
    /// `ln` of weight and Dirichlet-multinomial probability of the tallies, for each component of the prior.
    ln_parts: Vec<f64>,
    weight: f64,
}

struct Filter {
    particles: Vec<Particle>,
    ln_evidence: f64,
}

impl Filter {
    fn run(
        collection: &Collection,
        prior: &Mixture,
        effort: Effort,
        kept: Option<&[Kept]>,
        rng: &mut ChaCha8Rng,
    ) -> Filter {
        let first = Particle::with(&vec![0.0; prior.inputs()], prior);
        let first = Particle { weight: 1.0 / effort.particles as f64, ..first };
        let mut filter = Filter { particles: vec![first; effort.particles], ln_evidence: 0.0 };
        let mut weights = vec![0.0; prior.inputs()];
        for (k, (y, _)) in collection.senders.iter().enumerate() {
            filter.resample(kept.is_some(), rng);
            let kept = kept.map(|path| &path[k]);
            for (i, particle) in filter.particles.iter_mut().enumerate() {
                let x = kept.filter(|_| i == 0).map(|kept| kept.x);
                particle.step(&collection.rows[*y], prior, k as f64, x, &mut weights, rng);
            }
            filter.normalise();
            if moves(effort, k + 1, collection) {
                filter.resample_always(kept.is_some(), rng);
                filter.move_all(&collection.senders[..=k], &collection.rows, prior, kept, rng);
            }
        }
        filter
    }

    fn move_all(
        &mut self,
        senders: &[(usize, usize)],
        rows: &[Vec<f64>],
        prior: &Mixture,
        kept: Option<&Kept>,
        rng: &mut ChaCha8Rng,
    ) {
        for (i, particle) in self.particles.iter_mut().enumerate() {
            let t = match kept.filter(|_| i == 0) {
                Some(Kept { moved: Some(t), .. }) => t.clone(),
                Some(Kept { moved: None, .. }) => unreachable!("the kept particle moves when all do"),
                None => tallies(&redraw(senders, rows, &particle.t, prior, rng), particle.t.len()),
            };
            *particle = Particle { weight: particle.weight, ..Particle::with(&t, prior) };
        }
    }

    fn normalise(&mut self) {
        let total: f64 = self.particles.iter().map(|p| p.weight).sum();
        self.ln_evidence += total.ln();
        self.particles.iter_mut().for_each(|p| p.weight /= total);
    }

    /// Multinomial resampling when the effective number of particles is below half. Particle 0 stays if it is
    /// kept.
    fn resample(&mut self, conditional: bool, rng: &mut ChaCha8Rng) {
        let squares: f64 = self.particles.iter().map(|p| p.weight * p.weight).sum();
        if squares * self.particles.len() as f64 > 2.0 {
            self.resample_always(conditional, rng);
        }
    }

    fn resample_always(&mut self, conditional: bool, rng: &mut ChaCha8Rng) {
        let count = self.particles.len();
        let ends: Vec<f64> = self
            .particles
            .iter()
            .scan(0.0, |sum, p| {
                *sum += p.weight;
                Some(*sum)
            })
            .collect();
        let mut chosen = |i: usize| {
            let u = rng.random::<f64>() * ends[count - 1];
            if conditional && i == 0 { 0 } else { ends.partition_point(|end| *end <= u).min(count - 1) }
        };
        self.particles = (0..count)
            .map(|i| Particle { weight: 1.0 / count as f64, ..self.particles[chosen(i)].clone() })
            .collect();
    }

    /// Posterior means of `ln f(y⃗|P)` and of `ln f(x⃗|P) − ln m(x⃗)`, with one `P` drawn for each particle.
    fn posterior_means(&self, collection: &Collection, prior: &Mixture, rng: &mut ChaCha8Rng) -> (f64, f64) {
        let reports = collection.reports();
        let (mut h, mut control) = (0.0, 0.0);
        for particle in &self.particles {
            let ln_p = particle.draw(prior, rng);
            h += particle.weight * reports.ln_likelihood(&ln_p);
            let ln_values: f64 =
                particle.t.iter().zip(&ln_p).filter(|(t, _)| **t > 0.0).map(|(t, l)| t * l).sum();
            control += particle.weight * (ln_values - ln_sum_exp(&particle.ln_parts));
        }
        (h, control)
    }
}

impl Particle {
    fn with(t: &[f64], prior: &Mixture) -> Particle {
        let part = |(w, alpha): (&f64, &Vec<f64>)| {
            let posterior: Vec<f64> = alpha.iter().zip(t).map(|(a, t)| a + t).collect();
            w.ln() + ln_beta(&posterior) - ln_beta(alpha)
        };
        let ln_parts = prior.weights.iter().zip(&prior.parts).map(part).collect();
        Particle { t: t.to_vec(), ln_parts, weight: 1.0 }
    }

    /// Processes a report: multiplies the weight by its predictive probability and draws the sender's value,
    /// or uses the kept one.
    fn step(
        &mut self,
        row: &[f64],
        prior: &Mixture,
        k: f64,
        kept: Option<usize>,
        weights: &mut [f64],
        rng: &mut ChaCha8Rng,
    ) {
        let shares = self.shares();
        weights.fill(0.0);
        for (share, alpha) in shares.iter().zip(&prior.parts) {
            let factor = share / (alpha.iter().sum::<f64>() + k);
            for x in 0..row.len() {
                weights[x] += factor * (alpha[x] + self.t[x]);
            }
        }
        weights.iter_mut().zip(row).for_each(|(w, q)| *w *= q);
        self.weight *= weights.iter().sum::<f64>();
        let x = kept.unwrap_or_else(|| categorical(weights, rng));
        for (ln_part, alpha) in self.ln_parts.iter_mut().zip(&prior.parts) {
            *ln_part += ((alpha[x] + self.t[x]) / (alpha.iter().sum::<f64>() + k)).ln();
        }
        self.t[x] += 1.0;
    }

    /// Posterior probabilities of the prior's components, given the values.
    fn shares(&self) -> Vec<f64> {
        if self.ln_parts.len() == 1 {
            return vec![1.0];
        }
        let total = ln_sum_exp(&self.ln_parts);
        self.ln_parts.iter().map(|l| (l - total).exp()).collect()
    }

    fn draw(&self, prior: &Mixture, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let alpha = &prior.parts[categorical(&self.shares(), rng)];
        ln_dirichlet(&alpha.iter().zip(&self.t).map(|(a, t)| a + t).collect::<Vec<_>>(), rng)
    }
}

/// `I(X⃗;P)` under one Dirichlet distribution: `n Σ_x ᾱ_x E'[ln P_x] − E ln m(x⃗)`, with the beta-binomial distribution of each tally.
pub fn users_information(alpha: &[f64], n: u64) -> f64 {
    let (total, n_f) = (alpha.iter().sum::<f64>(), n as f64);
    let told: f64 = alpha.iter().map(|a| n_f * a / total * (digamma(a + 1.0) - digamma(total + 1.0))).sum();
    let ln_m: f64 = alpha.iter().map(|a| mean_ln_rising(*a, total - a, n)).sum::<f64>()
        - (ln_gamma(total + n_f) - ln_gamma(total));
    told - ln_m
}

/// `E ln (Γ(α + T)/Γ(α))` for a beta-binomial `T`.
fn mean_ln_rising(alpha: f64, others: f64, n: u64) -> f64 {
    let n_f = n as f64;
    let term = |t: u64| {
        let t = t as f64;
        let ln_choose = ln_gamma(n_f + 1.0) - ln_gamma(t + 1.0) - ln_gamma(n_f - t + 1.0);
        let ln_probability = ln_choose + ln_beta(&[alpha + t, others + n_f - t]) - ln_beta(&[alpha, others]);
        ln_probability.exp() * (ln_gamma(alpha + t) - ln_gamma(alpha))
    };
    (0..=n).map(term).sum()
}
