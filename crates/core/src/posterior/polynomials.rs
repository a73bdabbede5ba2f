//! Randomised response with few reports: exact, by products of polynomials.
//!
//! # Method
//! With `β = e^ε − 1` the likelihood is `Π_x (1 + βp_x)^{s_x}` up to a factor: `k_x` of the `s_x` reports are *honest* ones, and the posterior is a mixture of `Dir(α + k)` with
//! weights `∝ β^m/Γ(α0+m) Π_x C(s_x,k_x)(α_x)_{k_x}`, `m = Σ_x k_x`. Given `m` the `k_x` are independent, so with the polynomials `A_{s_x}` of [`crate::information`]
//!
//! * *draws*: products of the first `x` polynomials (forward), a draw of `m`, then of `k_{a−1}, …, k_0` (backward), and `P ~ Dir(α + k)`: exact and independent. The dishonest reports tell
//!   nothing, so `T = k + Multinomial(n − m, P)`.
//! * *marginals*: with `c_j` the coefficients of the product of all polynomials but that of `x`,
//!
//! ```text
//! p(p_x) ∝ p_x^{α_x−1} (1−p_x)^{α0−α_x−1} (1 + βp_x)^{s_x} Σ_j c_j β^j (1−p_x)^j / (α0−α_x)_j
//! ```
//!
//! The terms of this sum are a smooth bump over `j`, so every `h`-th of them, `h` a third of its standard deviation, gives the sum to all digits (Poisson summation).
//!
//! # Cost
//! Windows of `O(√n)` coefficients. Draws: `O(a · window)` each.

use std::sync::{Arc, OnceLock};

use chacha20::ChaCha8Rng;
use rand::{Rng, RngExt};

use super::marginal::{Marginal, others};
use super::response::ExactPart;
use crate::likelihood::polynomials::{EXACT_CUTOFF, Polynomials, Window};
use crate::model::prior::Dirichlet;
use crate::numerics::random::sample_dirichlet;
use crate::numerics::random::{multinomial, pick};
use crate::numerics::stirling::ln_rising;
use crate::numerics::stop::check;

/// The bump of the sum over `j` is sampled so many times in one standard deviation.
const SAMPLES_PER_DEVIATION: f64 = 3.0;

/// Terms below this, as a logarithm relative to the largest, do not change a sum.
const LN_NEGLIGIBLE: f64 = -45.0;

/// Most coefficients of all prefixes together, and of all suffixes: half a gigabyte each.
const MAX_COEFFICIENTS: usize = 1 << 26;

/// The products of polynomials under one Dirichlet prior.
pub(super) struct Chain<'a> {
    prior: &'a Dirichlet,
    beta: f64,
    s: &'a [u64],
    n: u64,
    polynomials: Polynomials,
    factors: Vec<Window>,
    /// `prefixes[x]` is the product of the factors before `x`; the last one is the product of all.
    prefixes: Vec<Window>,
    /// `suffixes[x]` is the product of the factors after `x`: made when the first marginal is asked for.
    suffixes: OnceLock<Vec<Window>>,
    /// The weights of the numbers of honest reports, up to a factor.
    honest: Vec<f64>,
}

impl<'a> Chain<'a> {
    /// The products, if they fit into memory.
    pub(super) fn new(prior: &'a Dirichlet, beta: f64, s: &'a [u64]) -> Option<Self> {
        let polynomials = Polynomials::of_tally(prior, beta, s, EXACT_CUTOFF);
        let factors: Vec<Window> =
            s.iter().zip(prior.alpha()).map(|(s, alpha)| polynomials.factor(*alpha, *s)).collect();
        let (mut prefixes, mut held) = (vec![Window::one()], 0);
        for factor in &factors {
            check();
            let next = prefixes[prefixes.len() - 1].times(factor, EXACT_CUTOFF);
            held += next.coefficients.len();
            if held > MAX_COEFFICIENTS {
                return None;
            }
            prefixes.push(next);
        }
        let all = &prefixes[factors.len()];
        let terms = all.coefficients.iter().enumerate();
        let honest = terms.map(|(i, c)| c * polynomials.ln_weight(all.low + i).exp()).collect();
        let n = s.iter().sum();
        Some(Chain { prior, beta, s, n, polynomials, factors, prefixes, suffixes: OnceLock::new(), honest })
    }

    fn suffix(&self, x: usize) -> &Window {
        let suffixes = self.suffixes.get_or_init(|| {
            let mut suffixes = vec![Window::one()];
            for factor in self.factors.iter().skip(1).rev() {
                check();
                suffixes.push(suffixes[suffixes.len() - 1].times(factor, EXACT_CUTOFF));
            }
            suffixes.reverse();
            suffixes
        });
        &suffixes[x]
    }

    /// Draws the honest reports of each value, and with them their number.
    fn draw_honest(&self, rng: &mut dyn Rng) -> (u64, Vec<u64>) {
        let a = self.factors.len();
        let all = &self.prefixes[a];
        let m = all.low + pick(&self.honest, self.honest.iter().sum(), rng);
        let (mut rest, mut k) = (m, vec![0; a]);
        for x in (0..a).rev() {
            let k_x = split(&self.factors[x], &self.prefixes[x], rest, rng);
            k[x] = k_x as u64;
            rest -= k_x;
        }
        (m as u64, k)
    }

    fn marginal_of(&self, x: usize, samples: f64) -> OfValue<'_> {
        let (alpha, others) = (self.prior.alpha()[x], others(self.prior, x));
        let (own, ln_beta_value) = (self.s[x] as f64, self.beta.ln());
        let bump = Arc::new(self.bump(x, others, samples));
        let shared = Arc::clone(&bump);
        let ln_factor =
            move |ln_p: f64, ln_q: f64| own * (ln_beta_value + ln_p).exp().ln_1p() + shared.ln_at(ln_q);
        let users = self.n as f64;
        // Sums of logarithms as large as n ln n.
        let rounding = 4.0 * f64::EPSILON * users * (users + 2.0).ln();
        let marginal = Marginal::rounded((alpha, others), Box::new(ln_factor), rounding);
        OfValue { marginal, bump, beta: self.beta, own, rest: (self.n - self.s[x]) as f64 }
    }

    /// `c_j β^j/(others)_j` for every `h`-th `j`, with so many samples in one standard deviation.
    fn bump(&self, x: usize, others: f64, samples: f64) -> Bump {
        let suffix = self.suffix(x);
        let prefix = &self.prefixes[x];
        let width = prefix.coefficients.len() + suffix.coefficients.len() - 1;
        let (low, ln_scale) = (prefix.low + suffix.low, prefix.ln_scale + suffix.ln_scale);
        let centre = self.polynomials.ln_centre();
        let ln_weight = |j: usize| j as f64 * centre - ln_rising(others, j as f64);
        let variance = variance(prefix) + variance(suffix);
        let deviation = (variance / (1.0 + variance / (others + (low + width / 2) as f64))).sqrt();
        let stride = ((deviation / samples) as usize).max(1);
        // Logarithms, since the largest terms depend on `1 − p` and are far apart for different values of it.
        let ln_term =
            |i: usize| convolution(prefix, suffix, i).max(f64::MIN_POSITIVE).ln() + ln_weight(low + i);
        let ln_terms = (0..width).step_by(stride).map(ln_term).collect();
        Bump { ln_terms, low, stride, ln_scale: ln_scale + (stride as f64).ln() }
    }
}

impl ExactPart for Chain<'_> {
    fn ln_evidence(&self) -> f64 {
        let all = &self.prefixes[self.factors.len()];
        all.ln_sum(|m| self.polynomials.ln_weight(m)) + self.polynomials.ln_top()
    }

    /// The density of `P_x` with respect to its log-odds, if its integral is the evidence: by a sample of the sum over `j`, or by the whole of it.
    ///
    /// A sample is not enough where few honest reports of the other values, or none, are likely: the sum then ends at `j = 0` and is no smooth bump.
    fn marginal(&self, x: usize) -> Option<(Marginal<'_>, (f64, f64))> {
        let whole = self.ln_evidence();
        let holds = |of: &OfValue<'_>| (of.marginal.ln_total() - whole).abs() < 1e-11 * (1.0 + whole.abs());
        let mut tried =
            [SAMPLES_PER_DEVIATION, f64::INFINITY].into_iter().map(|samples| self.marginal_of(x, samples));
        tried.find(holds).map(|found| {
            let tally = found.tally();
            (found.marginal, tally)
        })
    }

    fn draw(&self, rng: &mut ChaCha8Rng) -> (Vec<f64>, Vec<u64>) {
        let (m, mut t) = self.draw_honest(rng);
        let p = sample_dirichlet(self.prior.alpha().iter().zip(&t).map(|(alpha, k)| alpha + *k as f64), rng);
        t.iter_mut().zip(multinomial(self.n - m, &p, rng)).for_each(|(t, more)| *t += more);
        (p, t)
    }
}

/// What is known of one value: the marginal of `P_x`, and the law of the honest reports of the other values that it was found with.
struct OfValue<'a> {
    marginal: Marginal<'a>,
    bump: Arc<Bump>,
    beta: f64,
    /// Reports of this value, and of the others.
    own: f64,
    rest: f64,
}

impl OfValue<'_> {
    /// Mean and standard deviation of `T_x`. Given `P_x = p`, each report of `x` is honest with probability `βp/(1 + βp)`, `j` of the others are, and the senders of the
    /// dishonest ones hold `x` with probability `p`. All terms are positive: `(α0 + n) E P_x − α_x` would be the same mean, but of its digits a prior with
    /// `α0 = 1e8` leaves half.
    fn tally(&self) -> (f64, f64) {
        self.marginal.moments(|ln_p, ln_q| {
            let (p, q) = (ln_p.exp(), ln_q.exp());
            let odds = self.beta * p;
            let (honest, lies) = (1.0 / (1.0 + 1.0 / odds), 1.0 / (1.0 + odds));
            let (dishonest, variance) = self.bump.dishonest(ln_q, self.rest);
            let silent = self.own * lies + dishonest;
            let mean = self.own * honest + silent * p;
            (mean, silent * p * q + q * q * self.own * honest * lies + p * p * variance)
        })
    }
}

/// Draws how many of `total` fall to the factor and not to the product of those before it.
fn split(factor: &Window, before: &Window, total: usize, rng: &mut dyn Rng) -> usize {
    let (low, high) = (factor.low, factor.low + factor.coefficients.len() - 1);
    let first = low.max((total + 1).saturating_sub(before.low + before.coefficients.len()));
    let last = high.min(total - before.low);
    let own = &factor.coefficients[first - low..=last - low];
    let rest = before.coefficients[total - last - before.low..=total - first - before.low].iter().rev();
    let weights = own.iter().zip(rest).map(|(own, rest)| own * rest);
    let mut left = rng.random::<f64>() * weights.clone().sum::<f64>();
    let hit = weights.into_iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    first + hit.unwrap_or(last - first)
}

/// Coefficient number `i` of a product, counted from its lowest.
fn convolution(left: &Window, right: &Window, i: usize) -> f64 {
    let (left, right) = (&left.coefficients, &right.coefficients);
    let (first, last) = ((i + 1).saturating_sub(right.len()), i.min(left.len() - 1));
    left[first..=last].iter().zip(right[i - last..=i - first].iter().rev()).map(|(l, r)| l * r).sum()
}

/// The variance of the powers of a polynomial, weighted with its coefficients.
fn variance(window: &Window) -> f64 {
    let total: f64 = window.coefficients.iter().sum();
    let moment = |f: &dyn Fn(f64) -> f64| {
        let terms = window.coefficients.iter().enumerate();
        terms.map(|(i, c)| c * f(i as f64)).sum::<f64>() / total
    };
    let mean = moment(&|i| i);
    moment(&|i| (i - mean).powi(2))
}

/// A sum of powers of `q = 1 − p`: `e^{ln_scale} Σ_i e^{ln_terms[i]} q^{low + stride·i}`.
struct Bump {
    ln_terms: Vec<f64>,
    low: usize,
    stride: usize,
    ln_scale: f64,
}

impl Bump {
    /// Mean and variance of `rest − j`, where `j` has the law of the terms at `1 − p = q`.
    fn dishonest(&self, ln_q: f64, rest: f64) -> (f64, f64) {
        let step = self.stride as f64 * ln_q;
        let ln_terms = || self.ln_terms.iter().enumerate().map(|(i, ln_term)| ln_term + i as f64 * step);
        let largest = ln_terms().fold(f64::NEG_INFINITY, f64::max);
        let terms = || {
            let j = |i: usize| (self.low + self.stride * i) as f64;
            let above = ln_terms().enumerate().map(move |(i, ln_term)| (rest - j(i), ln_term - largest));
            above.filter(|(_, above)| *above > LN_NEGLIGIBLE).map(|(count, above)| (count, above.exp()))
        };
        let (total, sum) = terms().fold((0.0, 0.0), |(t, s), (count, w)| (t + w, s + w * count));
        let mean = sum / total;
        (mean, terms().map(|(count, w)| w * (count - mean).powi(2)).sum::<f64>() / total)
    }

    fn ln_at(&self, ln_q: f64) -> f64 {
        let step = self.stride as f64 * ln_q;
        let ln_terms = || self.ln_terms.iter().enumerate().map(|(i, ln_term)| ln_term + i as f64 * step);
        let largest = ln_terms().fold(f64::NEG_INFINITY, f64::max);
        let above = ln_terms().map(|ln_term| ln_term - largest).filter(|above| *above > LN_NEGLIGIBLE);
        largest + above.map(f64::exp).sum::<f64>().ln() + self.low as f64 * ln_q + self.ln_scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_marginal_integrates_to_the_evidence() {
        let cases: [(f64, Vec<u64>); 9] = [
            (1.0, vec![700, 10, 0, 300]),
            (0.1, vec![40_000, 20_000, 25_000, 15_000]),
            (1.0, vec![6490, 5353, 4373, 3784]),
            (3.0, vec![4_000_000, 20_000, 0, 0]),
            (0.5, vec![500_000, 300_000, 200_000, 0]),
            (8.0, vec![40_000, 2, 25_000, 15_000]),
            (50.0, vec![7, 0, 1, 2]),
            (1.0, vec![100_000, 0, 0, 0]),
            (2.0, vec![0, 0, 1, 0]),
        ];
        for (epsilon, s) in cases {
            for prior in
                [Dirichlet::jeffreys(4).unwrap(), Dirichlet::new(vec![0.01, 3.0, 1e-3, 20.0]).unwrap()]
            {
                let chain = Chain::new(&prior, epsilon.exp_m1(), &s).unwrap();
                for x in 0..4 {
                    // `marginal` compares with the evidence itself.
                    assert!(chain.marginal(x).is_some(), "{epsilon} {s:?} {prior:?} {x}");
                }
            }
        }
    }
}
