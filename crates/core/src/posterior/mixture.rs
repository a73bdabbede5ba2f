//! Any protocol, while the terms fit: the posterior as a mixture of `Dir(α + t)` over all tallies `t` of the
//! users.
//!
//! # Method
//! The reports are processed one after another. At each stage we know the *joint* probability `w(t)` of the
//! reports so far and of their senders' tallies `t`. The next report `y` comes from a user with value `x`
//! with probability `Q_{y|x} (α_x + t_x)/(α0 + |t|)` (Pólya's urn), so
//! `w'(t + e_x) += w(t) Q_{y|x} (α_x + t_x)/(α0 + |t|)`. All terms are positive. At the end `Σ_t w(t)` is the
//! evidence, `w` the posterior of `T`, and
//!
//! ```text
//! P_x | y⃗  ~  Σ_k P(T_x = k | y⃗) Beta(α_x + k, α0 − α_x + n − k)
//! ```
//!
//! # Cost
//! `a · Σ_{u<n} C(u+a−1, a−1)` steps for each component of the prior; the limit is [`MIXTURE_BUDGET`].

use crate::numerics::parallel::*;

use super::Parts;
use super::marginal::{Marginal, Mixture, others};
use super::summary::{Draws, Posterior, PosteriorOptions, Summary};
use crate::information::enumeration::{advance, choose, successors};
use crate::likelihood::Senders;
use crate::likelihood::sparse_rows::SparseRows;
use crate::model::evaluation::{Evaluation, Method};
use crate::model::prior::Dirichlet;
use crate::numerics::random::sample_dirichlet;
use crate::numerics::random::{generator, pick};
use crate::numerics::special::ln_sum_exp;
use crate::numerics::stirling::ln_rising;
use crate::numerics::stop::check;

/// Largest number of elementary steps of the Dirichlet mixture: a second or two.
pub const MIXTURE_BUDGET: f64 = 4e8;

/// Largest number of stored terms of the mixture.
const MAX_TERMS: f64 = 4e6;

/// Largest number of terms that are kept for functionals.
const MAX_KEPT: usize = 4096;

/// The posterior as a mixture of Dirichlet distributions, if its terms fit the budget.
pub(crate) fn posterior(
    likelihood: &SparseRows,
    parts: &Parts<'_>,
    options: &PosteriorOptions<'_>,
) -> Option<Posterior> {
    let (a, n) = (likelihood.inputs(), likelihood.n());
    if !fits(a, n, parts.len()) {
        return None;
    }
    let laws: Vec<(f64, Vec<f64>)> = parts.iter().map(|(_, prior)| tallies(likelihood, prior)).collect();
    let ln_joint: Vec<f64> = parts.iter().zip(&laws).map(|((w, _), (ln, _))| w.ln() + ln).collect();
    let ln_total = ln_sum_exp(&ln_joint);
    let weights: Vec<f64> = ln_joint.iter().map(|ln| (ln - ln_total).exp()).collect();
    let pmfs: Vec<Vec<Vec<f64>>> = laws.iter().map(|(_, w)| marginals(a, n, w)).collect();
    let of_value = |x: usize| {
        let parts = parts.iter().zip(&pmfs).map(|((_, prior), pmf)| betas(prior, x, n, &pmf[x]));
        let mixture = Mixture { parts: weights.iter().copied().zip(parts).collect() };
        let mut total = vec![0.0; n as usize + 1];
        for (w, pmf) in weights.iter().zip(&pmfs) {
            total.iter_mut().zip(&pmf[x]).for_each(|(sum, mass)| *sum += w * mass);
        }
        (mixture.summary(options), tally(&total, &options.probabilities))
    };
    let (p, t): (Vec<Summary>, Vec<Summary>) = (0..a).into_par_iter().map(of_value).unzip();
    let value = ln_total + likelihood.ln_scale();
    Some(Posterior {
        n,
        method: Method::Enumeration,
        log_evidence: Ok(Evaluation::new(
            value,
            1e-15 * (n as f64 + 16.0) * (1.0 + value.abs()),
            Method::Enumeration,
        )),
        p,
        t,
        t_quantiles: Method::Enumeration,
        draws: draws(&laws, parts, &weights, likelihood, options),
        alpha: None,
        roughness: None,
        weights: weights.clone(),
        terms: terms(&laws, parts, &weights, a, n),
        diagnostics: None,
    })
}

/// Whether the terms fit the budget.
pub(crate) fn fits(a: usize, n: u64, parts: usize) -> bool {
    let terms: f64 = (1..a).map(|k| (n as f64 + k as f64) / k as f64).product();
    terms <= MAX_TERMS && terms * n as f64 * parts as f64 <= MIXTURE_BUDGET
}

/// `ln` of the evidence without its scale, and the posterior probabilities of all tallies, numbered as in
/// [`crate::information`].
fn tallies(likelihood: &SparseRows, prior: &Dirichlet) -> (f64, Vec<f64>) {
    let (a, n) = (likelihood.inputs(), likelihood.n() as usize);
    let sizes: Vec<usize> = (0..=n).map(|u| choose(u + a - 1, a - 1)).collect();
    let table = successors(sizes[n.saturating_sub(1)], a);
    let (mut before, mut after) = (vec![0.0; sizes[n]], vec![0.0; sizes[n]]);
    before[0] = 1.0;
    let (mut ln_scale, mut users, mut row) = (0.0, 0, vec![0.0; a]);
    for view in likelihood.rows() {
        view.write(&mut row);
        for _ in 0..view.count {
            check();
            after[..sizes[users + 1]].fill(0.0);
            urn(&before[..sizes[users]], users, &table, &row, prior, &mut after);
            let total: f64 = after[..sizes[users + 1]].iter().sum();
            after[..sizes[users + 1]].iter_mut().for_each(|w| *w /= total);
            ln_scale += total.ln();
            users += 1;
            std::mem::swap(&mut before, &mut after);
        }
    }
    (ln_scale, before)
}

/// Adds one report: a user with value `x` is drawn from the urn, and sends this report with probability
/// `row[x]`.
fn urn(before: &[f64], users: usize, table: &[u32], row: &[f64], prior: &Dirichlet, after: &mut [f64]) {
    let (a, total) = (row.len(), prior.total() + users as f64);
    let mut visit = each_tally(a, users);
    for (number, weight) in before.iter().enumerate() {
        check();
        let t = visit.next_tally();
        let drawn = |x: usize| weight * row[x] * (prior.alpha()[x] + t[x] as f64) / total;
        for x in 0..a - 1 {
            after[table[number * (a - 1) + x] as usize] += drawn(x);
        }
        after[number] += drawn(a - 1);
    }
}

/// Visits the tallies of `users` in index order.
fn each_tally(a: usize, users: usize) -> EachTally {
    EachTally { c: (0..a - 1).collect(), t: vec![0; a], users, started: false }
}

/// The tallies in index order: partial sums `c_j = t_0 + … + t_j + j` in colexicographic order.
struct EachTally {
    c: Vec<usize>,
    t: Vec<usize>,
    users: usize,
    started: bool,
}

impl EachTally {
    fn next_tally(&mut self) -> &[usize] {
        check();
        if self.started {
            advance(&mut self.c);
        }
        self.started = true;
        let mut before = 0;
        for (j, c) in self.c.iter().enumerate() {
            self.t[j] = c - j - before;
            before = c - j;
        }
        let last = self.t.len() - 1;
        self.t[last] = self.users - before;
        &self.t
    }
}

/// The posterior of each `T_x`.
fn marginals(a: usize, n: u64, weights: &[f64]) -> Vec<Vec<f64>> {
    let mut pmf = vec![vec![0.0; n as usize + 1]; a];
    let mut visit = each_tally(a, n as usize);
    for weight in weights {
        pmf.iter_mut().zip(visit.next_tally()).for_each(|(pmf, t)| pmf[*t] += weight);
    }
    pmf
}

/// `Σ_k P(T_x = k) Beta(α_x + k, α0 − α_x + n − k)`, as the prior's beta density times the ratio to it.
fn betas<'a>(prior: &Dirichlet, x: usize, n: u64, pmf: &[f64]) -> Marginal<'a> {
    let (alpha, others) = (prior.alpha()[x], others(prior, x));
    let ln_all = ln_rising(prior.total(), n as f64);
    let term = |(k, mass): (usize, &f64)| {
        let (own, rest) = (k as f64, (n - k as u64) as f64);
        (own, rest, mass.ln() + ln_all - ln_rising(alpha, own) - ln_rising(others, rest))
    };
    let terms: Vec<(f64, f64, f64)> =
        pmf.iter().enumerate().filter(|(_, mass)| **mass > 1e-40).map(term).collect();
    let ln_factor = move |ln_p: f64, ln_q: f64| {
        let ln_term = |(own, rest, ln): &(f64, f64, f64)| own * ln_p + rest * ln_q + ln;
        let largest = terms.iter().map(ln_term).fold(f64::NEG_INFINITY, f64::max);
        largest + terms.iter().map(|term| (ln_term(term) - largest).exp()).sum::<f64>().ln()
    };
    Marginal::new((alpha, others), Box::new(ln_factor))
}

/// Mean, standard deviation and quantiles of an integer-valued distribution.
fn tally(pmf: &[f64], probabilities: &[f64]) -> Summary {
    let mean: f64 = pmf.iter().enumerate().map(|(k, mass)| k as f64 * mass).sum();
    let variance: f64 = pmf.iter().enumerate().map(|(k, mass)| (k as f64 - mean).powi(2) * mass).sum();
    let quantile = |q: f64| {
        let mut below = 0.0;
        let reached = pmf.iter().position(|mass| {
            below += mass;
            below >= q * (1.0 - 1e-14)
        });
        reached.unwrap_or(pmf.len() - 1) as f64
    };
    let quantiles = probabilities.iter().map(|q| (*q, quantile(*q))).collect();
    Summary { mean, sd: variance.sqrt(), quantiles, ..Summary::default() }
}

/// The Dirichlet distributions of which the posterior is a mixture, unless they are too many.
fn terms(
    laws: &[(f64, Vec<f64>)],
    parts: &Parts<'_>,
    weights: &[f64],
    a: usize,
    n: u64,
) -> Vec<(f64, Vec<f64>)> {
    let count: usize = laws.iter().map(|(_, law)| law.len()).sum();
    if count > MAX_KEPT {
        return Vec::new();
    }
    let mut terms = Vec::with_capacity(count);
    for ((weight, (_, prior)), (_, law)) in weights.iter().zip(parts).zip(laws) {
        let mut visit = each_tally(a, n as usize);
        for mass in law {
            let t = visit.next_tally();
            let alpha = prior.alpha().iter().zip(t).map(|(alpha, t)| alpha + *t as f64).collect();
            terms.push((weight * mass, alpha));
        }
    }
    terms
}

/// Independent draws: a component of the prior, a tally, a distribution.
fn draws(
    laws: &[(f64, Vec<f64>)],
    parts: &Parts<'_>,
    weights: &[f64],
    likelihood: &SparseRows,
    options: &PosteriorOptions<'_>,
) -> Draws {
    let (a, n) = (likelihood.inputs(), likelihood.n() as usize);
    let cumulative: Vec<Vec<f64>> = laws.iter().map(|(_, w)| running_sum(w)).collect();
    let draw = |i: usize| {
        let rng = &mut generator(options.seed, i as u64);
        let part = pick(weights, 1.0, rng);
        let sums = &cumulative[part];
        let u = rand::RngExt::random::<f64>(rng) * sums[sums.len() - 1];
        let t = tally_number(sums.partition_point(|sum| *sum <= u).min(sums.len() - 1), a, n);
        let p =
            sample_dirichlet(parts[part].1.alpha().iter().zip(&t).map(|(alpha, t)| alpha + *t as f64), rng);
        (p, t)
    };
    Draws::independent((0..options.draws).into_par_iter().map(draw).unzip())
}

fn running_sum(weights: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let add = |w: &f64| {
        sum += w;
        sum
    };
    weights.iter().map(add).collect()
}

/// The tally with the given index: the largest `c_j` with `C(c_j, j+1)` within the remainder, from the last
/// partial sum down.
fn tally_number(number: usize, a: usize, n: usize) -> Vec<u64> {
    let (mut rest, mut t, mut above) = (number, vec![0; a], n);
    for j in (0..a - 1).rev() {
        let (mut low, mut high) = (j, n + j);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if choose(middle, j + 1) <= rest { low = middle } else { high = middle - 1 }
        }
        rest -= choose(low, j + 1);
        let sum = low - j;
        t[j + 1] = (above - sum) as u64;
        above = sum;
    }
    t[0] = above as u64;
    t
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tallies_are_numbered_and_found_by_number() {
        for (a, n) in [(3, 5), (4, 7), (2, 3)] {
            let mut visit = each_tally(a, n);
            for number in 0..choose(n + a - 1, a - 1) {
                let t: Vec<u64> = visit.next_tally().iter().map(|t| *t as u64).collect();
                assert_eq!(t, tally_number(number, a, n), "{a} {n} {number}");
            }
        }
    }
}
