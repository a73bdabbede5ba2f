//! Evidence and posterior moments by importance sampling, one component of the prior after the other.
//!
//! # Method
//! One component times the likelihood is `e^{h(p)}` with the concave
//! `h = Σ_x (α_x − 1) ln p_x + Σ_y s_y ln (Qp)_y − ln B(α)`. Newton's method finds its mode in the simplex.
//! Proposals are Student-t around the mode with the curvature there, in the coordinates `p` themselves, in
//! which well-identified directions are straight. The mean weight is the evidence of the component, and
//! evidence times prior weight gives its share of the posterior. So a distant component is never missed.
//!
//! Errors come from a jackknife over 40 batches, so they hold for ratios and standard deviations too.
//! Degenerate weights are rejected.

use chacha20::ChaCha8Rng;
use rand_distr::{ChiSquared, Distribution as _, StandardNormal};
use rayon::prelude::*;

use super::model::{Mixture, Reports, Source, ln_beta, ln_gamma, ln_sum_exp, mean};
use super::particle_filter::{Draw, Estimate, estimate, stream};
use super::reference::Value;

/// Degrees of freedom of the proposals: their tails are heavier than those of the posterior.
const FREEDOM: f64 = 5.0;

/// Batches of the jackknife.
const BATCHES: usize = 40;

/// Smallest effective share of the draws.
const LEAST_SHARE: f64 = 0.02;

/// Smallest parameter of the prior. Towards 1 the mode moves into a corner, where no proposal of this shape
/// fits.
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

/// Weighted draws for one component, with the values of the requested functions.
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
            let (p, ln_density) = proposal.draw(rng);
            let inside = p.iter().all(|p_x| *p_x > 0.0);
            let ln_p: Vec<f64> =
                if inside { p.iter().map(|p_x| p_x.ln()).collect() } else { proposal.centre() };
            sample.ln_weights.push(if inside { target.h(&ln_p) - ln_density } else { f64::NEG_INFINITY });
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

/// `I(Y⃗;P)` with the evidence by importance sampling: for many users and few outputs, whose reports are
/// drawn as counts. `ln Ẑ` is biased downwards by half its variance, which is added.
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

/// `E[ln f(y⃗|P) | y⃗] − ln m(y⃗)`, with a jackknife bias correction.
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

/// One component of the prior times the likelihood.
struct Target<'a> {
    reports: &'a Reports,
    alpha: &'a [f64],
}

impl Target<'_> {
    fn h(&self, ln_p: &[f64]) -> f64 {
        let prior: f64 = self.alpha.iter().zip(ln_p).map(|(a, l)| (a - 1.0) * l).sum();
        prior + self.reports.ln_likelihood(ln_p) - ln_beta(self.alpha)
    }

    /// The gradient and the negative Hessian with respect to all `p_x` except that of `base`, which is 1
    /// minus the others.
    fn derivatives(&self, p: &[f64], base: usize) -> (Vec<f64>, Vec<Vec<f64>>) {
        let others: Vec<usize> = (0..p.len()).filter(|x| *x != base).collect();
        let prior = |x: usize, power: i32| (self.alpha[x] - 1.0) / p[x].powi(power);
        let mut gradient: Vec<f64> = others.iter().map(|x| prior(*x, 1) - prior(base, 1)).collect();
        let mut curvature = vec![vec![prior(base, 2); others.len()]; others.len()];
        others.iter().enumerate().for_each(|(i, x)| curvature[i][i] += prior(*x, 2));
        for (row, count) in &self.reports.rows {
            let f = mean(row, p);
            let slopes: Vec<f64> = others.iter().map(|x| (row[*x] - row[base]) / f).collect();
            for (i, slope) in slopes.iter().enumerate() {
                gradient[i] += *count as f64 * slope;
                slopes.iter().enumerate().for_each(|(j, s)| curvature[i][j] += *count as f64 * slope * s);
            }
        }
        (gradient, curvature)
    }
}

/// A Student-t distribution around the mode.
struct Proposal {
    /// The most probable value; its probability is 1 minus the others.
    base: usize,
    mode: Vec<f64>,
    /// Lower triangle `L` of the curvature `L Lᵀ`.
    root: Vec<Vec<f64>>,
}

impl Proposal {
    fn around(target: &Target<'_>) -> Self {
        let mut p = start(target);
        let base = (0..p.len()).max_by(|l, r| p[*l].total_cmp(&p[*r])).unwrap();
        for _ in 0..200 {
            let (next, done) = newton(target, &p, base);
            p = next;
            if done {
                break;
            }
        }
        let root = cholesky(&target.derivatives(&p, base).1).expect("a concave function");
        Proposal { base, mode: p, root }
    }

    fn centre(&self) -> Vec<f64> {
        self.mode.iter().map(|p_x| p_x.ln()).collect()
    }

    /// A draw with the `ln` of its density.
    fn draw(&self, rng: &mut ChaCha8Rng) -> (Vec<f64>, f64) {
        let d = self.root.len() as f64;
        let normals: Vec<f64> = self.root.iter().map(|_| StandardNormal.sample(rng)).collect();
        let chi: f64 = ChiSquared::new(FREEDOM).unwrap().sample(rng);
        let scale = (FREEDOM / chi).sqrt();
        let squares = scale * scale * normals.iter().map(|z| z * z).sum::<f64>();
        let step: Vec<f64> = solve_transposed(&self.root, &normals).iter().map(|s| scale * s).collect();
        let ln_root: f64 = (0..self.root.len()).map(|i| self.root[i][i].ln()).sum();
        let ln_constant = ln_gamma(0.5 * (FREEDOM + d))
            - ln_gamma(0.5 * FREEDOM)
            - 0.5 * d * (FREEDOM * std::f64::consts::PI).ln()
            + ln_root;
        (
            shifted(&self.mode, &step, self.base),
            ln_constant - 0.5 * (FREEDOM + d) * (squares / FREEDOM).ln_1p(),
        )
    }
}

/// One damped Newton step inside the simplex; returns whether it was the last.
fn newton(target: &Target<'_>, p: &[f64], base: usize) -> (Vec<f64>, bool) {
    let h = |p: &[f64]| target.h(&p.iter().map(|p_x| p_x.ln()).collect::<Vec<_>>());
    let (gradient, curvature) = target.derivatives(p, base);
    let step = solve(&cholesky(&curvature).expect("a concave function"), &gradient);
    let mut length = 1.0;
    while length > 1e-9 {
        let part: Vec<f64> = step.iter().map(|s| length * s).collect();
        let next = shifted(p, &part, base);
        if next.iter().all(|p_x| *p_x > 0.0) && h(&next) >= h(p) {
            let done = length == 1.0 && next.iter().zip(p).all(|(l, r)| (l / r - 1.0).abs() < 1e-9);
            return (next, done);
        }
        length *= 0.5;
    }
    (p.to_vec(), true)
}

/// `p` with the step added to all values except `base`, which is 1 minus the others.
fn shifted(p: &[f64], step: &[f64], base: usize) -> Vec<f64> {
    let mut full = step.to_vec();
    full.insert(base, -step.iter().sum::<f64>());
    p.iter().zip(full).map(|(p_x, s)| p_x + s).collect()
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
                if rest.is_nan() || rest <= 0.0 {
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
