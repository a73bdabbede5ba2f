//! Evidence and posterior moments by importance sampling, one part of the prior after the other.
//!
//! # Method
//! In log-ratio coordinates `η_x = ln(p_x/p_r)` one part times the likelihood is `e^{h(η)}`, `h = Σ_x α_x ln p_x + Σ_y s_y ln (Qp)_y − ln B(α)`, with the gradient
//! `α_x + E[T_x|p] − (α0 + n) p_x`. Newton's method finds the mode; proposals are Student-t around it with the curvature there. The mean weight is the
//! evidence of the part, and evidence times weight of the part its share of the posterior. So a part far from the others is never missed.
//!
//! Errors are those of a jackknife over 40 batches, so they hold for ratios and standard deviations too. Degenerate weights are refused.

use rand_chacha::ChaCha8Rng;
use rand_distr::{ChiSquared, Distribution as _, StandardNormal};
use rayon::prelude::*;

use super::model::{Mixture, Reports, Source, ln_beta, ln_gamma, ln_sum_exp};
use super::particle_filter::{Draw, Estimate, estimate, stream};
use super::reference::Value;

/// Degrees of freedom of the proposals: their tails are heavier than the exponential ones of Dirichlet distributions.
const FREEDOM: f64 = 5.0;

/// Batches of the jackknife.
const BATCHES: usize = 40;

/// Least effective share of the draws.
const LEAST_SHARE: f64 = 0.02;

/// Least parameter of the prior. Below it a tail `e^{αη}` of the posterior is so long that the few draws in it carry weight: with `α = 1/2` the evidence was 0.07 nats too small
/// at a stated 0.012.
const LEAST_ALPHA: f64 = 2.0;

/// Posterior moments as named values with errors: `ln_evidence`, `p0`, `sd_p0`, `t0`, `sd_t0`, ….
pub fn posterior(reports: &Reports, prior: &Mixture, draws: usize, seed: u64) -> Vec<Value> {
    let a = prior.inputs();
    let samples: Vec<Sample> = prior
        .parts
        .iter()
        .enumerate()
        .map(|(j, alpha)| {
            Sample::new(reports, alpha, draws, &mut stream(seed, j as u64), &moments(reports, a))
        })
        .collect();
    let whole = summary(&samples, prior, a, None);
    let without: Vec<Vec<f64>> = (0..BATCHES).map(|b| summary(&samples, prior, a, Some(b))).collect();
    let names = names(a);
    names
        .into_iter()
        .enumerate()
        .map(|(i, name)| {
            let mean = without.iter().map(|v| v[i]).sum::<f64>() / BATCHES as f64;
            let squares = without.iter().map(|v| (v[i] - mean).powi(2)).sum::<f64>();
            let error = (squares * (BATCHES - 1) as f64 / BATCHES as f64).sqrt();
            Value::new(name, whole[i], error)
        })
        .collect()
}

pub fn names(a: usize) -> Vec<String> {
    let of = |kind: &'static str| (0..a).map(move |x| format!("{kind}{x}"));
    std::iter::once("ln_evidence".to_owned())
        .chain(of("p"))
        .chain(of("sd_p"))
        .chain(of("t"))
        .chain(of("sd_t"))
        .collect()
}

/// `p`, `p²`, and the first two moments of `T` given `p`.
fn moments(reports: &Reports, a: usize) -> impl Fn(&[f64]) -> Vec<f64> + '_ {
    move |ln_p| {
        let (t, variances) = reports.tally_moments(ln_p);
        let p: Vec<f64> = ln_p.iter().map(|l| l.exp()).collect();
        let squares = p.iter().map(|v| v * v).collect();
        let seconds = (0..a).map(|x| t[x] * t[x] + variances[x]).collect();
        [p, squares, t, seconds].concat()
    }
}

/// Log evidence, means and standard deviations from all batches but one.
fn summary(samples: &[Sample], prior: &Mixture, a: usize, without: Option<usize>) -> Vec<f64> {
    let parts: Vec<(f64, Vec<f64>)> = samples
        .iter()
        .zip(&prior.weights)
        .map(|(sample, w)| {
            let (ln_mass, means) = sample.mean(without);
            (ln_mass + w.ln(), means)
        })
        .collect();
    let total = ln_sum_exp(&parts.iter().map(|p| p.0).collect::<Vec<_>>());
    let mut m = vec![0.0; 4 * a];
    for (ln_mass, means) in &parts {
        m.iter_mut().zip(means).for_each(|(m, v)| *m += (ln_mass - total).exp() * v);
    }
    let sd = |i: usize| (m[i + a] - m[i] * m[i]).max(0.0).sqrt();
    let (sd_p, sd_t) = ((0..a).map(sd).collect(), (2 * a..3 * a).map(sd).collect());
    [vec![total], m[..a].to_vec(), sd_p, m[2 * a..3 * a].to_vec(), sd_t].concat()
}

/// Weighted draws for one part, with the values of the wanted functions.
struct Sample {
    ln_weights: Vec<f64>,
    values: Vec<Vec<f64>>,
}

impl Sample {
    fn new(
        reports: &Reports,
        alpha: &[f64],
        draws: usize,
        rng: &mut ChaCha8Rng,
        functions: &dyn Fn(&[f64]) -> Vec<f64>,
    ) -> Self {
        assert!(
            alpha.iter().all(|a| *a >= LEAST_ALPHA),
            "importance sampling is not for sparse priors: {alpha:?}"
        );
        let target = Target { reports, alpha };
        let proposal = Proposal::around(&target);
        let mut sample = Sample { ln_weights: Vec::new(), values: Vec::new() };
        for _ in 0..draws {
            let (eta, ln_density) = proposal.draw(rng);
            let ln_p = proposal.ln_p(&eta);
            sample.ln_weights.push(target.h(&ln_p) - ln_density);
            sample.values.push(functions(&ln_p));
        }
        sample.check();
        sample
    }

    fn check(&self) {
        let squares: Vec<f64> = self.ln_weights.iter().map(|l| 2.0 * l).collect();
        let effective = (2.0 * ln_sum_exp(&self.ln_weights) - ln_sum_exp(&squares)).exp();
        let share = effective / self.ln_weights.len() as f64;
        assert!(share > LEAST_SHARE, "importance weights degenerate: effective share {share}");
    }

    /// `ln` of the mean weight, and the weighted means.
    fn mean(&self, without: Option<usize>) -> (f64, Vec<f64>) {
        let largest = self.ln_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (mut mass, mut count, mut sums) = (0.0, 0.0, vec![0.0; self.values[0].len()]);
        for (i, (ln_w, values)) in self.ln_weights.iter().zip(&self.values).enumerate() {
            if Some(i % BATCHES) != without {
                let w = (ln_w - largest).exp();
                (mass, count) = (mass + w, count + 1.0);
                sums.iter_mut().zip(values).for_each(|(s, v)| *s += w * v);
            }
        }
        (largest + (mass / count).ln(), sums.iter().map(|s| s / mass).collect())
    }
}

/// `I(Y⃗;P)` with the evidence by importance sampling: for many users of few outputs, whose reports are counted at once.
/// `ln Ẑ` is too small by half its variance, which is added.
pub fn distribution_information(
    source: &Source,
    prior: &Mixture,
    n: u64,
    (draws, inner): (u64, usize),
    seed: u64,
) -> Estimate {
    let draw = |i: u64| {
        let mut rng = stream(seed, i);
        let reports = source.tally(&prior.draw(&mut rng), n, &mut rng);
        let information = divergence(&reports, prior, inner, &mut rng);
        Draw { low: information, high: information, control: 0.0 }
    };
    estimate(&(0..draws).into_par_iter().map(draw).collect::<Vec<_>>(), None)
}

/// `E[ln f(y⃗|P) | y⃗] − ln m(y⃗)`, after a jackknife's correction of its bias.
fn divergence(reports: &Reports, prior: &Mixture, draws: usize, rng: &mut ChaCha8Rng) -> f64 {
    let function = |ln_p: &[f64]| vec![reports.ln_likelihood(ln_p)];
    let samples: Vec<Sample> =
        prior.parts.iter().map(|alpha| Sample::new(reports, alpha, draws, rng, &function)).collect();
    let of = |without: Option<usize>| {
        let parts: Vec<(f64, f64)> = samples
            .iter()
            .zip(&prior.weights)
            .map(|(sample, w)| {
                let (ln_mass, means) = sample.mean(without);
                (ln_mass + w.ln(), means[0])
            })
            .collect();
        let total = ln_sum_exp(&parts.iter().map(|p| p.0).collect::<Vec<_>>());
        parts.iter().map(|(ln_mass, h)| (ln_mass - total).exp() * h).sum::<f64>() - total
    };
    let leave_one_out = (0..BATCHES).map(|b| of(Some(b))).sum::<f64>() / BATCHES as f64;
    let batches = BATCHES as f64;
    batches * of(None) - (batches - 1.0) * leave_one_out
}

/// One part of the prior times the likelihood.
struct Target<'a> {
    reports: &'a Reports,
    alpha: &'a [f64],
}

impl Target<'_> {
    fn h(&self, ln_p: &[f64]) -> f64 {
        let prior: f64 = self.alpha.iter().zip(ln_p).map(|(a, l)| a * l).sum();
        prior + self.reports.ln_likelihood(ln_p) - ln_beta(self.alpha)
    }

    /// `α_x + E[T_x|p] − (α0 + n) p_x`.
    fn gradient(&self, ln_p: &[f64]) -> Vec<f64> {
        let total = self.alpha.iter().sum::<f64>() + self.reports.n();
        let t = self.reports.tally_moments(ln_p).0;
        (0..t.len()).map(|x| self.alpha[x] + t[x] - total * ln_p[x].exp()).collect()
    }
}

/// A Student-t distribution around the mode.
struct Proposal {
    /// The value whose probability all others are compared with.
    base: usize,
    mode: Vec<f64>,
    /// Lower triangle `L` of the curvature `L Lᵀ`.
    root: Vec<Vec<f64>>,
}

impl Proposal {
    fn around(target: &Target<'_>) -> Self {
        let a = target.alpha.len();
        let mut p: Vec<f64> = start(target);
        let base = (0..a).max_by(|l, r| p[*l].total_cmp(&p[*r])).unwrap();
        p.iter_mut().for_each(|p_x| *p_x = p_x.ln());
        let mut proposal = Proposal { base, mode: p.clone(), root: Vec::new() };
        proposal.mode = (0..a).filter(|x| *x != base).map(|x| p[x] - p[base]).collect();
        for _ in 0..200 {
            if proposal.newton(target) {
                break;
            }
        }
        proposal.root = cholesky(&proposal.curvature(target)).expect("a mode");
        proposal
    }

    /// One damped Newton step; tells whether it was small.
    fn newton(&mut self, target: &Target<'_>) -> bool {
        let now = target.h(&self.ln_p(&self.mode));
        let gradient = self.reduced_gradient(target, &self.mode);
        let mut curvature = self.curvature(target);
        let mut ridge = 0.0;
        let root = loop {
            if let Some(root) = cholesky(&curvature) {
                break root;
            }
            ridge = if ridge == 0.0 { 1e-3 } else { 10.0 * ridge };
            (0..curvature.len()).for_each(|i| curvature[i][i] += ridge);
        };
        let step = solve(&root, &gradient);
        let mut length = 1.0;
        while length > 1e-12 {
            let next: Vec<f64> = self.mode.iter().zip(&step).map(|(m, s)| m + length * s).collect();
            if target.h(&self.ln_p(&next)) >= now {
                self.mode = next;
                return length == 1.0 && step.iter().all(|s| s.abs() < 1e-7);
            }
            length *= 0.5;
        }
        true
    }

    fn ln_p(&self, eta: &[f64]) -> Vec<f64> {
        let mut full = eta.to_vec();
        full.insert(self.base, 0.0);
        let total = ln_sum_exp(&full);
        full.into_iter().map(|e| e - total).collect()
    }

    fn reduced_gradient(&self, target: &Target<'_>, eta: &[f64]) -> Vec<f64> {
        let mut gradient = target.gradient(&self.ln_p(eta));
        gradient.remove(self.base);
        gradient
    }

    /// Minus the second derivative at the mode, by central differences of the gradient.
    fn curvature(&self, target: &Target<'_>) -> Vec<Vec<f64>> {
        const STEP: f64 = 1e-4;
        let shifted = |i: usize, by: f64| {
            let mut eta = self.mode.clone();
            eta[i] += by;
            self.reduced_gradient(target, &eta)
        };
        let rows: Vec<Vec<f64>> = (0..self.mode.len())
            .map(|i| {
                let (right, left) = (shifted(i, STEP), shifted(i, -STEP));
                right.iter().zip(left).map(|(r, l)| (l - r) / (2.0 * STEP)).collect()
            })
            .collect();
        let size = rows.len();
        (0..size).map(|i| (0..size).map(|j| 0.5 * (rows[i][j] + rows[j][i])).collect()).collect()
    }

    /// A draw with the `ln` of its density.
    fn draw(&self, rng: &mut ChaCha8Rng) -> (Vec<f64>, f64) {
        let d = self.mode.len() as f64;
        let normals: Vec<f64> = self.mode.iter().map(|_| StandardNormal.sample(rng)).collect();
        let chi: f64 = ChiSquared::new(FREEDOM).unwrap().sample(rng);
        let scale = (FREEDOM / chi).sqrt();
        let squares = scale * scale * normals.iter().map(|z| z * z).sum::<f64>();
        let step = solve_transposed(&self.root, &normals);
        let eta = self.mode.iter().zip(&step).map(|(m, s)| m + scale * s).collect();
        let ln_root: f64 = (0..self.root.len()).map(|i| self.root[i][i].ln()).sum();
        let ln_constant = ln_gamma(0.5 * (FREEDOM + d))
            - ln_gamma(0.5 * FREEDOM)
            - 0.5 * d * (FREEDOM * std::f64::consts::PI).ln()
            + ln_root;
        (eta, ln_constant - 0.5 * (FREEDOM + d) * (squares / FREEDOM).ln_1p())
    }
}

/// Some steps of expectation maximisation from the prior's mean.
fn start(target: &Target<'_>) -> Vec<f64> {
    let (prior, n) = (target.alpha.iter().sum::<f64>(), target.reports.n());
    let mut p: Vec<f64> = target.alpha.iter().map(|a| a / prior).collect();
    for _ in 0..50 {
        let ln_p: Vec<f64> = p.iter().map(|p_x| p_x.ln()).collect();
        let t = target.reports.tally_moments(&ln_p).0;
        p = (0..p.len()).map(|x| (target.alpha[x] + t[x]) / (prior + n)).collect();
    }
    p
}

/// The lower triangle `L` with `L Lᵀ = m`, if `m` is positive definite.
fn cholesky(m: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let size = m.len();
    let mut l = vec![vec![0.0; size]; size];
    for i in 0..size {
        for j in 0..=i {
            let rest = m[i][j] - (0..j).map(|k| l[i][k] * l[j][k]).sum::<f64>();
            if i == j {
                if !(rest > 0.0) {
                    return None;
                }
                l[i][i] = rest.sqrt();
            } else {
                l[i][j] = rest / l[j][j];
            }
        }
    }
    Some(l)
}

/// `(L Lᵀ)⁻¹ v`.
fn solve(l: &[Vec<f64>], v: &[f64]) -> Vec<f64> {
    let mut z = v.to_vec();
    for i in 0..z.len() {
        z[i] = (z[i] - (0..i).map(|k| l[i][k] * z[k]).sum::<f64>()) / l[i][i];
    }
    solve_transposed(l, &z)
}

/// `L⁻ᵀ v`.
fn solve_transposed(l: &[Vec<f64>], v: &[f64]) -> Vec<f64> {
    let mut z = v.to_vec();
    for i in (0..z.len()).rev() {
        z[i] = (z[i] - (i + 1..z.len()).map(|k| l[k][i] * z[k]).sum::<f64>()) / l[i][i];
    }
    z
}
