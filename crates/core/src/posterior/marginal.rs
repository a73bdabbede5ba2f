//! One-dimensional posteriors: a density on `(0, 1)`, integrated in the log-odds.
//!
//! # Method
//! A marginal density is `p^{A−1} (1−p)^{B−1} g(p)` with a smooth `g`. The beta part is computed relative to
//! its peak, because the two large logarithms of a concentrated prior (`A = 1e8`) would cancel to eight
//! digits. In `u = ln p/(1−p)` it has no singularities at the ends, whatever `A` and `B`, and a single peak.
//! It is integrated by [`Panels`].
//!
//! # Accuracy
//! Means, variances and quantiles within `1e-10` of all reference values (`job/tests/posterior.rs`).

use std::f64::consts::PI;

use super::summary::{PosteriorOptions, Summary, mixed};
use crate::model::prior::{Dirichlet, Prior};
use crate::numerics::panels::Panels;
use crate::numerics::search::{bisect, maximum};
use crate::numerics::special::{exp_m1_excess, ln_beta, ln1p_excess};
use crate::numerics::stirling::remainder;

/// Steps of false position before bisection.
const MOST_SECANTS: usize = 24;

/// Two rules of a panel agree when they differ by less than this share of the whole.
const AGREEMENT: f64 = 1e-14;

/// `ln p` and `ln(1 − p)` at the log-odds `u`.
pub(crate) fn logarithms(u: f64) -> (f64, f64) {
    let tail = (-u.abs()).exp().ln_1p();
    if u < 0.0 { (u - tail, -tail) } else { (-tail, -u - tail) }
}

/// `p` at the log-odds `u`.
fn probability(u: f64) -> f64 {
    logarithms(u).0.exp()
}

/// `ln g`, from `ln p` and `ln(1 − p)`.
pub(crate) type LnFactor<'a> = Box<dyn Fn(f64, f64) -> f64 + Send + Sync + 'a>;

/// The density `p^a (1−p)^b/B(a, b)` of a beta distribution with respect to the log-odds.
#[derive(Clone, Copy)]
struct Beta {
    total: f64,
    /// The smaller of `a/(a+b)` and `b/(a+b)`.
    share: f64,
    /// The log-odds of the peak, `ln a/b`; its sign changes if seen from the smaller share.
    peak: f64,
    sign: f64,
    /// `ln` of the density at the peak.
    ln_top: f64,
}

impl Beta {
    fn new(a: f64, b: f64) -> Self {
        let (total, sign) = (a + b, if a <= b { 1.0 } else { -1.0 });
        // Stirling: `ln B(a,b) = a ln a/(a+b) + b ln b/(a+b) + ½ ln 2π(a+b)/ab` plus three small corrections.
        let corrections = remainder(a) + remainder(b) - remainder(total);
        let ln_top = 0.5 * (a / total * b / (2.0 * PI)).ln() - corrections;
        Beta { total, share: a.min(b) / total, peak: (a / b).ln(), sign, ln_top }
    }

    /// `ln` of the density at the log-odds `u`: with `d = u − ln a/b` and `r = a/(a+b)` it falls from the peak by `(a+b) (ln(1 + r(e^d − 1)) − r d)`.
    fn ln_at(&self, u: f64) -> f64 {
        let (d, r) = (self.sign * (u - self.peak), self.share);
        let fall = if d > 500.0 {
            // A prior with parameters of 0.001 reaches log-odds whose exponentials overflow.
            (1.0 - r) * d + (r + (1.0 - r) * (-d).exp()).ln()
        } else if d.abs() > 1.0 {
            (r * d.exp_m1()).ln_1p() - r * d
        } else {
            r * exp_m1_excess(d) + ln1p_excess(r * d.exp_m1())
        };
        self.ln_top - self.total * fall
    }
}

/// The logarithm of a density with respect to the log-odds.
pub(crate) type LnDensity<'a> = Box<dyn Fn(f64) -> f64 + Send + Sync + 'a>;

/// A distribution on `(0, 1)`.
pub(crate) struct Marginal<'a> {
    ln_at: LnDensity<'a>,
    panels: Panels,
}

impl<'a> Marginal<'a> {
    /// The beta distribution with these parameters, times `g`; the product need not integrate to 1.
    pub(crate) fn new(parameters: (f64, f64), ln_factor: LnFactor<'a>) -> Self {
        Marginal::rounded(parameters, ln_factor, 0.0)
    }

    /// The same where `ln g` has errors of `rounding`.
    pub(crate) fn rounded((a, b): (f64, f64), ln_factor: LnFactor<'a>, rounding: f64) -> Self {
        let beta = Beta::new(a, b);
        let ln_at = move |u: f64| {
            let (ln_p, ln_q) = logarithms(u);
            beta.ln_at(u) + ln_factor(ln_p, ln_q)
        };
        Marginal::of_density(Box::new(ln_at), AGREEMENT.max(rounding))
    }

    /// A unimodal density with respect to the log-odds, whose values have relative errors of at most
    /// `agreement`.
    pub(crate) fn of_density(ln_at: LnDensity<'a>, agreement: f64) -> Self {
        let peak = peak(&*ln_at);
        let panels = Panels::new(&*ln_at, peak, agreement);
        Marginal { ln_at, panels }
    }

    /// `ln` of the integral of the given density.
    pub(crate) fn ln_total(&self) -> f64 {
        self.panels.ln_total()
    }

    /// Mean of a function of `p`.
    pub(crate) fn mean_of(&self, f: impl Fn(f64) -> f64) -> f64 {
        self.panels.nodes().map(|(u, mass)| mass * f(probability(u))).sum()
    }

    /// Mean and standard deviation of a quantity whose conditional mean and variance given `p` are known, as
    /// functions of `ln p` and `ln(1 − p)`.
    pub(crate) fn moments(&self, given: impl Fn(f64, f64) -> (f64, f64)) -> (f64, f64) {
        let at = |(u, mass): (f64, f64)| {
            let (ln_p, ln_q) = logarithms(u);
            let (mean, variance) = given(ln_p, ln_q);
            (mass, (mean, variance.sqrt()))
        };
        mixed(self.panels.nodes().map(at).collect::<Vec<_>>().into_iter())
    }

    /// The probability below the log-odds `u`.
    fn below(&self, u: f64) -> f64 {
        self.panels.below(&*self.ln_at, u)
    }

    /// The density with respect to `p`.
    fn density(&self, p: f64) -> f64 {
        let (ln_p, ln_q) = (p.ln(), (-p).ln_1p());
        ((self.ln_at)(ln_p - ln_q) - ln_p - ln_q - self.ln_total()).exp()
    }
}

/// The log-odds of the peak; everything relevant lies within `±45`.
fn peak(ln_at: &dyn Fn(f64) -> f64) -> f64 {
    maximum(-45.0, 45.0, 1e-9, ln_at)
}

/// A weighted mixture of distributions on `(0, 1)`: one for each component of the prior.
pub(crate) struct Mixture<'a> {
    pub parts: Vec<(f64, Marginal<'a>)>,
}

impl Mixture<'_> {
    fn mean_of(&self, f: impl Fn(f64) -> f64) -> f64 {
        self.parts.iter().map(|(w, part)| w * part.mean_of(&f)).sum()
    }

    /// The quantile for a probability between 0 and 1: false position in the log-odds (the Illinois rule), and
    /// bisection if that takes too long.
    pub(crate) fn quantile(&self, probability_below: f64) -> f64 {
        let ends = || self.parts.iter().map(|(_, part)| part.panels.ends());
        let low = ends().map(|(left, _)| left).fold(f64::INFINITY, f64::min);
        let high = ends().map(|(_, right)| right).fold(f64::NEG_INFINITY, f64::max);
        let below = |u: f64| self.parts.iter().map(|(w, part)| w * part.below(u)).sum::<f64>();
        // To a relative 1e-13; the bracket of log-odds is narrower than 2^10.
        let narrow = |low: f64, high: f64| 1e-13 * (1.0 + low.abs().min(high.abs()));
        let (mut low, mut high) = ((low, -probability_below), (high, 1.0 - probability_below));
        for _ in 0..MOST_SECANTS {
            if high.0 - low.0 <= narrow(low.0, high.0) {
                break;
            }
            let u = (low.0 * high.1 - high.0 * low.1) / (high.1 - low.1);
            let u = if u > low.0 && u < high.0 { u } else { 0.5 * (low.0 + high.0) };
            let off = below(u) - probability_below;
            if off == 0.0 {
                return probability(u);
            }
            // The weight of an end that stays is halved, so that it does not stay for long.
            if off < 0.0 {
                (low, high.1) = ((u, off), 0.5 * high.1);
            } else {
                (high, low.1) = ((u, off), 0.5 * low.1);
            }
        }
        let (low, high) = (low.0, high.0);
        let halvings = ((high - low) / narrow(low, high)).log2().ceil().max(0.0) as usize;
        let (low, high) = bisect(low, high, halvings, |u| below(u) < probability_below);
        probability(0.5 * (low + high))
    }

    /// All requested summaries of a marginal.
    pub(crate) fn summary(&self, options: &PosteriorOptions<'_>) -> Summary {
        let mean = self.mean_of(|p| p);
        let variance = self.mean_of(|p| (p - mean).powi(2));
        let density = |p: f64| self.parts.iter().map(|(w, part)| w * part.density(p)).sum::<f64>();
        let quantiles: Vec<(f64, f64)> =
            options.probabilities.iter().map(|q| (*q, self.quantile(*q))).collect();
        Summary {
            mean,
            sd: variance.sqrt(),
            quantiles,
            density: grid(mean, variance.sqrt(), options.grid, density),
            error: 0.0,
        }
    }
}

/// The density at equally spaced points around the mean, within five standard deviations and `(0, 1)`.
pub(crate) fn grid(mean: f64, sd: f64, points: usize, density: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let (low, high) = ((mean - 5.0 * sd).max(0.0), (mean + 5.0 * sd).min(1.0));
    // Midpoints, because the density may be infinite at 0 and 1.
    let point = |i: usize| low + (high - low) * (i as f64 + 0.5) / points as f64;
    (0..points).map(point).filter(|p| *p > 0.0 && *p < 1.0).map(|p| (p, density(p))).collect()
}

/// Sum of all parameters except that of `x`, without cancellation.
pub(crate) fn others(dirichlet: &Dirichlet, x: usize) -> f64 {
    let alpha = dirichlet.alpha()[x];
    let group = dirichlet.groups().iter().find(|group| group.alpha == alpha);
    group.map_or(dirichlet.total() - alpha, |group| group.others)
}

/// The prior density of `P_x` at `p`, to show beside the posterior's; `None` for priors without a closed
/// form.
///
/// ```
/// use sottovoce::{Prior, posterior::prior_density};
/// assert!((prior_density(&Prior::symmetric(2, 1.0)?, 0, 0.3).unwrap() - 1.0).abs() < 1e-15);
/// # Ok::<(), sottovoce::Error>(())
/// ```
pub fn prior_density(prior: &Prior, x: usize, p: f64) -> Option<f64> {
    let beta = |dirichlet: &Dirichlet| {
        let (alpha, others) = (dirichlet.alpha()[x], others(dirichlet, x));
        ((alpha - 1.0) * p.ln() + (others - 1.0) * (-p).ln_1p() - ln_beta(alpha, others)).exp()
    };
    Some(prior.dirichlets()?.iter().map(|(w, dirichlet)| w * beta(dirichlet)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The log beta density against its two large terms, where these do not cancel; and against its integral,
    /// 1, where they do.
    #[test]
    fn beta_densities_are_right_near_the_peak_and_far_from_it() {
        for (a, b) in [(0.5, 0.5), (1e-3, 2.0), (30.0, 0.02), (7.0, 400.0)] {
            let beta = Beta::new(a, b);
            for u in [-900.0, -40.0, -3.0, -0.1, 0.0, 0.7, 2.0, 50.0, 2000.0] {
                let (ln_p, ln_q) = logarithms(u);
                let direct = a * ln_p + b * ln_q - ln_beta(a, b);
                assert!((beta.ln_at(u) - direct).abs() < 1e-12 * (1.0 + direct.abs()), "{a} {b} {u}");
            }
        }
        for (a, b) in [(0.05, 0.05), (0.5, 1e6), (1e4, 3.0), (1e8, 1e8), (3e8, 2e7)] {
            let marginal = Marginal::new((a, b), Box::new(|_, _| 0.0));
            assert!(marginal.ln_total().abs() < 1e-12, "{a} {b}: {:e}", marginal.ln_total());
            let nodes = marginal.panels.nodes().count();
            assert!(nodes < 16_000, "{a} {b}: {nodes} nodes");
        }
    }
}
