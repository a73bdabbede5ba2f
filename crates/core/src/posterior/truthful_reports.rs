//! Exact draws for randomised response with many values and many reports, from the numbers of truthful
//! reports.
//!
//! # Method
//! The posterior is a mixture of `Dir(α + k)` over the truthful reports `k_x` of each value
//! ([`super::polynomials`]): given their total `m` the `k_x` are independent, with weights
//! `C(s_x,k)(α_x)_k ζ^k`, and the total has the factor `W(m) = ζ^{−m} β^m/Γ(α0+m)`. So all `k_x` are drawn
//! independently, and the draw is accepted with probability `W(m)/max W`. `ζ` is chosen so that `W` has its
//! maximum at the mean of the total.
//!
//! # Cost
//! `W` has the standard deviation `√(α0+m)`, and the total a larger one: about one of ten draws is accepted at
//! 1024 values and a million reports.

use std::collections::HashMap;

use chacha20::ChaCha8Rng;
use rand::RngExt;

use crate::likelihood::polynomials::{EXACT_CUTOFF, Polynomials, Window};
use crate::model::prior::Dirichlet;
use crate::numerics::random::{multinomial, sample_dirichlet};
use crate::numerics::search::bisect;
use crate::numerics::stop::check;

/// Halvings in the search for the scale.
const HALVINGS: usize = 30;

/// The numbers of truthful reports, as independent variables.
pub(super) struct TruthfulReports {
    polynomials: Polynomials,
    /// The different factors, as smallest number and cumulative weights, and that of each value.
    kinds: Vec<(usize, Vec<f64>)>,
    kind: Vec<usize>,
}

impl TruthfulReports {
    pub(super) fn new(prior: &Dirichlet, beta: f64, s: &[u64]) -> Self {
        let (alpha_0, n) = (prior.total(), s.iter().sum::<u64>() as f64);
        let (mut known, mut different) = (HashMap::new(), Vec::new());
        let mut kind_of = |(alpha, s): (&f64, &u64)| {
            *known.entry((alpha.to_bits(), *s)).or_insert_with(|| {
                different.push((*alpha, *s, 0.0));
                different.len() - 1
            })
        };
        let kind: Vec<usize> = prior.alpha().iter().zip(s).map(&mut kind_of).collect();
        kind.iter().for_each(|k| different[*k].2 += 1.0);
        let above = |ln_centre: f64| {
            check();
            let polynomials = Polynomials::centred(alpha_0, beta, ln_centre.exp(), SEARCH_CUTOFF);
            let means =
                different.iter().map(|(alpha, s, count)| count * mean(&polynomials.factor(*alpha, *s)));
            alpha_0 + means.sum::<f64>() > ln_centre.exp()
        };
        let (low, high) = bisect(alpha_0.ln(), (alpha_0 + n).ln(), HALVINGS, above);
        let polynomials = Polynomials::centred(alpha_0, beta, (0.5 * (low + high)).exp(), EXACT_CUTOFF);
        let cumulative = |(alpha, s, _): &(f64, u64, f64)| {
            let factor = polynomials.factor(*alpha, *s);
            let mut sum = 0.0;
            let below = factor.coefficients.iter().map(|c| {
                sum += c;
                sum
            });
            (factor.low, below.collect())
        };
        let kinds = different.iter().map(cumulative).collect();
        TruthfulReports { polynomials, kinds, kind }
    }

    /// A draw of `P` and `T` of `n` users.
    pub(super) fn draw(&self, prior: &Dirichlet, n: u64, rng: &mut ChaCha8Rng) -> (Vec<f64>, Vec<u64>) {
        loop {
            check();
            let mut t: Vec<u64> = self.kind.iter().map(|kind| pick(&self.kinds[*kind], rng)).collect();
            let m = t.iter().sum::<u64>();
            if m > n || rng.random::<f64>().ln() > self.polynomials.ln_weight(m as usize) {
                continue;
            }
            let alpha = prior.alpha().iter().zip(&t).map(|(alpha, k)| alpha + *k as f64);
            let p = sample_dirichlet(alpha, rng);
            t.iter_mut().zip(multinomial(n - m, &p, rng)).for_each(|(t, more)| *t += more);
            return (p, t);
        }
    }
}

/// The search for the scale needs only means.
const SEARCH_CUTOFF: f64 = 1e-9;

fn mean(factor: &Window) -> f64 {
    let (mut sum, mut total) = (0.0, 0.0);
    for (k, c) in factor.coefficients.iter().enumerate() {
        sum += c * (factor.low + k) as f64;
        total += c;
    }
    sum / total
}

fn pick((low, below): &(usize, Vec<f64>), rng: &mut ChaCha8Rng) -> u64 {
    let mass = rng.random::<f64>() * below[below.len() - 1];
    (low + below.partition_point(|below| *below <= mass).min(below.len() - 1)) as u64
}
