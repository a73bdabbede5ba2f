//! Two distinct inputs, or two distinct outputs: everything is one-dimensional.
//!
//! With two (distinct) inputs the distribution is one number `p`, the probability of the first. The evidence
//! of a tally,
//!
//! ```text
//! m(s)/M(s) = ∫ Beta(p) Π_y R_y(p)^{s_y} dp,      R_y(p) = (Q P)_y / π_y,
//! ```
//!
//! is a smooth integral with known singularities at the ends. [`Line`] stores one set of nodes for all
//! tallies: Gauss–Jacobi panels at both ends for `p^{α−1}` and `(1−p)^{α'−1}`, Gauss–Legendre panels between,
//! each no wider than its distance from the end and no wider than the posterior's standard deviation there.
//! That is `O(√n)` nodes, of which about a hundred matter for one tally.
//!
//! With more inputs and two outputs, reports also depend on one number, `L = Σ_x c_x P_x`, whose density is
//! an integral ([`crate::information::one_dimensional_image`]). The nodes then carry its masses, and
//! everything else is as for the two inputs at the ends of the line.
//!
//! With two outputs the tally is one number as well, and its distribution varies on the scale `√n`: sums over
//! it need `O(√n)` nodes ([`super::lattice`]). So `I(Y⃗;P)` costs `O(√n)` evidences: `n = 10^6` is a fraction
//! of a second.
//!
//! `I(Y⃗;T) = I(Y⃗;P) + H(S|P) − H(S|T)`, where given `T` the tally is a sum of two binomials: its entropy is
//! summed directly up to a variance of [`DIRECT_VARIANCE`] and expanded in its cumulants beyond.
//!
//! # Accuracy
//! Against the enumeration of all tallies: `1e-12` for `n ≤ 300` (tests). Rounding costs `n · 4e-16`, part of the stated error.

use crate::numerics::parallel::*;

use super::lattice::Lattice;
use super::users::{Marginal, binomial_nodes, mean, point_term};
use crate::information::one_dimensional_image::{Image, MAX_PLACES, MAX_TOTAL};
use crate::likelihood::reduced::Reduced;
use crate::model::evaluation::{Evaluation, Method};
use crate::model::prior::Component;
use crate::numerics::gauss::{legendre, power_rule};
use crate::numerics::search::first_not_below;
use crate::numerics::special::excess_entropy;
use crate::numerics::stirling::factorial_remainder;
use crate::numerics::stop::check;

/// Nodes per panel.
const ORDER: usize = 16;

/// Nodes per panel for sums over tallies.
const SUM_ORDER: usize = 20;

/// Terms below `e^−45` of the largest are left out.
const LN_NEGLIGIBLE: f64 = -45.0;

/// From this variance on the entropy of a sum of binomials is expanded. The first omitted term is of the
/// order of the inverse cube of the variance, `6e-11` here.
pub(crate) const DIRECT_VARIANCE: f64 = 2500.0;

/// Above this parameter a Beta distribution has negligible mass at its end.
const CONCENTRATED: f64 = 30.0;

/// Elementary steps of [`distribution`], or of [`tally`], which is for two inputs only.
pub(crate) fn work(reduced: &Reduced, n: u64, tally: bool) -> f64 {
    let (inputs, users) = (reduced.inputs(), n as f64);
    let fine = reduced.outputs() == 2 && n <= MOST_USERS;
    let image = inputs > 2;
    if !fine || (image && (tally || n > MOST_USERS_OF_IMAGE || !has_image(reduced))) {
        return f64::INFINITY;
    }
    // A density takes about 500 steps per input.
    let density = if image { 1e4 * (inputs * inputs) as f64 } else { 0.0 };
    (2e4 + density) * users.sqrt() + 1e5 + 40.0 * density
}

/// Whether the density of `L` can be computed.
fn has_image(reduced: &Reduced) -> bool {
    let few = |component: &Component| match component {
        Component::Dirichlet(alpha) => alpha.iter().sum::<f64>() <= MAX_TOTAL,
        Component::Point(_) => true,
    };
    reduced.inputs() <= MAX_PLACES && reduced.parts.iter().all(|(_, law)| few(law))
}

/// The two inputs at the ends of the line on which the columns lie (two outputs): those with the largest and
/// the smallest probability of the first output.
fn ends(reduced: &Reduced) -> [usize; 2] {
    let first = |x: &usize| reduced.ratios[0][*x];
    let mut order: Vec<usize> = (0..reduced.inputs()).collect();
    order.sort_by(|l, r| first(r).total_cmp(&first(l)));
    [order[0], order[order.len() - 1]]
}

/// The problem with two outputs restricted to the inputs at the ends. Its prior is left empty.
fn between_ends(reduced: &Reduced) -> Reduced {
    let ends = ends(reduced);
    let ratios = reduced.ratios.iter().map(|c| ends.map(|x| c[x]).to_vec()).collect();
    Reduced { typical: reduced.typical.clone(), ratios, parts: Vec::new() }
}

/// The masses of `L`, the weight of the first end, under a prior.
fn image_nodes(reduced: &Reduced, law: &Component, width: &dyn Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let c = &reduced.ratios[0];
    let [high, low] = ends(reduced).map(|x| c[x]);
    let place = |x: usize| (c[x] - low) / (high - low);
    match law {
        Component::Point(p) => vec![((0..p.len()).map(|x| place(x) * p[x]).sum(), 1.0)],
        Component::Dirichlet(alpha) => {
            let mut order: Vec<usize> = (0..c.len()).collect();
            order.sort_by(|l, r| c[*l].total_cmp(&c[*r]));
            let image = Image {
                places: order.iter().map(|x| place(*x)).collect(),
                alpha: order.iter().map(|x| alpha[*x]).collect(),
                start: vec![low],
                end: vec![high],
            };
            merged(image.nodes(width), width)
        }
    }
}

/// Merges neighbouring nodes that rounding would not distinguish into one at their centre of mass.
fn merged(nodes: Vec<(f64, f64)>, width: &dyn Fn(f64) -> f64) -> Vec<(f64, f64)> {
    const CLOSE: f64 = 3e-7;
    let mut merged: Vec<(f64, f64)> = Vec::with_capacity(nodes.len());
    for (l, mass) in nodes {
        match merged.last_mut() {
            Some((before, sum)) if l - *before <= CLOSE * width(l) => {
                *sum += mass;
                *before += if *sum > 0.0 { (l - *before) * mass / *sum } else { 0.0 };
            }
            _ => merged.push((l, mass)),
        }
    }
    merged
}

/// Checked up to here against the convergence to the asymptote, `c n^{−1/4}` under Jeffreys (tests). The time
/// grows like `√n` and is a few seconds here.
const MOST_USERS: u64 = 1_000_000_000;

/// The same for more than two inputs.
const MOST_USERS_OF_IMAGE: u64 = 10_000_000;

/// Nodes over `p` for all components of the prior.
pub(crate) struct Line {
    parts: Vec<Nodes>,
}

/// Nodes of one component of the prior, ascending in `p`.
struct Nodes {
    p: Vec<f64>,
    weights: Vec<f64>,
    /// `ln R_y` at each node, with all outputs of a node adjacent.
    ln_ratios: Vec<f64>,
    outputs: usize,
}

impl Line {
    /// Nodes that resolve posteriors of up to `n` reports.
    pub(crate) fn new(reduced: &Reduced, n: u64) -> Self {
        let nodes = |(weight, law): &(f64, Component)| {
            let points = match law {
                Component::Point(p) => vec![(p[0], 1.0)],
                Component::Dirichlet(alpha) => {
                    Beta { alpha: alpha[0], rest: alpha[1] }.nodes(&|p| width(reduced, n, p))
                }
            };
            Nodes::new(reduced, points, *weight)
        };
        Line { parts: reduced.parts.iter().map(nodes).collect() }
    }

    /// The same for two outputs and more inputs; `between` is the problem restricted to its ends.
    fn of_image(reduced: &Reduced, between: &Reduced, n: u64) -> Self {
        let nodes = |(weight, law): &(f64, Component)| {
            Nodes::new(between, image_nodes(reduced, law, &|l| width(between, n, l)), *weight)
        };
        Line { parts: reduced.parts.iter().map(nodes).collect() }
    }

    /// `ln m(s)/M(s)`. The tally may be fractional.
    pub(crate) fn ln_evidence(&self, s: &[f64]) -> f64 {
        self.evidence(s).ln_ratio
    }

    /// The evidence of a tally, and the information in it.
    fn evidence(&self, s: &[f64]) -> Evidence {
        let parts: Vec<Evidence> = self.parts.iter().map(|part| part.evidence(s)).collect();
        let largest = parts.iter().map(|e| e.ln_ratio).fold(f64::NEG_INFINITY, f64::max);
        if largest == f64::NEG_INFINITY {
            return Evidence { ln_ratio: largest, learned: 0.0 };
        }
        let share = |e: &Evidence| (e.ln_ratio - largest).exp();
        let total: f64 = parts.iter().map(share).sum();
        // E ln L − ln m over all components, from those of each: add ln m_j − ln m.
        let term = |e: &Evidence| share(e) / total * (e.learned + e.ln_ratio - largest - total.ln());
        let learned = parts.iter().filter(|e| share(e) > 0.0).map(term).sum();
        Evidence { ln_ratio: largest + total.ln(), learned }
    }
}

/// The evidence and information of a tally.
#[derive(Clone, Copy)]
struct Evidence {
    /// `ln m(s)/M(s)`.
    ln_ratio: f64,
    /// The posterior mean of `ln L − ln m`, where `L` is the likelihood.
    learned: f64,
}

/// Standard deviation of the posterior at `p`.
fn width(reduced: &Reduced, n: u64, p: f64) -> f64 {
    let information: f64 = reduced
        .typical
        .iter()
        .zip(&reduced.ratios)
        .map(|(pi, c)| pi * (c[0] - c[1]).powi(2) / (c[0] * p + c[1] * (1.0 - p)).max(f64::MIN_POSITIVE))
        .sum();
    1.0 / (n as f64 * information).sqrt()
}

impl Nodes {
    fn new(reduced: &Reduced, points: Vec<(f64, f64)>, weight: f64) -> Self {
        let outputs = reduced.outputs();
        let ln_ratio = |p: f64, c: &[f64]| ((c[0] - 1.0) * p + (c[1] - 1.0) * (1.0 - p)).ln_1p();
        let ln_ratios =
            points.iter().flat_map(|(p, _)| reduced.ratios.iter().map(move |c| ln_ratio(*p, c))).collect();
        let (p, weights) = points.into_iter().map(|(p, w)| (p, weight * w)).unzip();
        Nodes { p, weights, ln_ratios, outputs }
    }

    fn ln_likelihood(&self, i: usize, s: &[f64]) -> f64 {
        let ln_ratios = &self.ln_ratios[i * self.outputs..][..self.outputs];
        // An impossible report (ln 0) that did not occur contributes nothing.
        ln_ratios.iter().zip(s).map(|(ln, s_y)| if *s_y == 0.0 { 0.0 } else { s_y * ln }).sum()
    }

    fn evidence(&self, s: &[f64]) -> Evidence {
        check();
        // The likelihood is concave in p.
        let rises = |i: usize| {
            let (here, next) = (self.ln_likelihood(i, s), self.ln_likelihood(i + 1, s));
            if here == next { here == f64::NEG_INFINITY && self.p[i] < 0.5 } else { here < next }
        };
        let low = first_not_below(0, self.p.len() as u64 - 1, |i| rises(i as usize)) as usize;
        let top = self.ln_likelihood(low, s);
        if top == f64::NEG_INFINITY {
            return Evidence { ln_ratio: top, learned: 0.0 };
        }
        let term = |i: usize| (self.ln_likelihood(i, s) - top, self.weights[i]);
        let matters = |(ln, _): &(f64, f64)| *ln > LN_NEGLIGIBLE;
        let up = (low..self.p.len()).map(term).take_while(matters);
        let down = (0..low).rev().map(term).take_while(matters);
        let add = |[mass, mean]: [f64; 2], (ln, w): (f64, f64)| {
            let part = w * ln.exp();
            [mass + part, mean + part * ln]
        };
        let [mass, mean] = up.chain(down).fold([0.0; 2], add);
        if mass == 0.0 {
            return Evidence { ln_ratio: f64::NEG_INFINITY, learned: 0.0 };
        }
        Evidence { ln_ratio: top + mass.ln(), learned: mean / mass - mass.ln() }
    }
}

/// A Beta distribution.
pub(crate) struct Beta {
    pub alpha: f64,
    pub rest: f64,
}

impl Beta {
    /// Nodes and weights for functions that vary over distances of `width(p)`, ascending.
    ///
    /// Each side is built from its own end: near 1 the distance from the end would be lost in `p`.
    pub(crate) fn nodes(&self, width: &dyn Fn(f64) -> f64) -> Vec<(f64, f64)> {
        let mirrored = Beta { alpha: self.rest, rest: self.alpha };
        let mirrored_width = |p: f64| width(1.0 - p);
        let (low, high) = (self.start(width), 1.0 - mirrored.start(&mirrored_width));
        let split = (self.alpha / (self.alpha + self.rest)).clamp(0.25, 0.75);
        let mut nodes = self.side(low, split.min(high), width);
        let right = mirrored.side(1.0 - high, 1.0 - split.max(low), &mirrored_width);
        nodes.extend(right.into_iter().rev().map(|(p, w)| (1.0 - p, w)));
        // Large parameters cost the normaliser digits, but the total is known to be 1.
        let total: f64 = nodes.iter().map(|(_, w)| w).sum();
        nodes.iter_mut().for_each(|(_, w)| *w /= total);
        nodes
    }

    /// Nodes from 0, or from where the mass begins, up to `split`.
    fn side(&self, low: f64, split: f64, width: &dyn Fn(f64) -> f64) -> Vec<(f64, f64)> {
        let ln_normaliser =
            libm::lgamma(self.alpha) + libm::lgamma(self.rest) - libm::lgamma(self.alpha + self.rest);
        let ln_rest = |p: f64| (self.rest - 1.0) * (-p).ln_1p() - ln_normaliser;
        let mut nodes = Vec::new();
        if self.alpha <= CONCENTRATED {
            let scale = low.powf(self.alpha);
            let end = power_rule(ORDER, self.alpha).into_iter();
            nodes.extend(end.map(|(x, w)| (low * x, scale * w * ln_rest(low * x).exp())));
        }
        let (rule, mut left) = (legendre(ORDER), low);
        while left < split {
            let right = (left + self.panel(left, width)).min(split);
            let (middle, half) = (0.5 * (left + right), 0.5 * (right - left));
            let node = |(x, w): &(f64, f64)| {
                let p = middle + half * x;
                (p, half * w * ((self.alpha - 1.0) * p.ln() + ln_rest(p)).exp())
            };
            nodes.extend(rule.iter().map(node));
            left = right;
        }
        nodes
    }

    /// The mean of a function that behaves at the ends like an entropy, `p ln p`.
    pub(crate) fn mean_of_entropy(&self, f: &(dyn Fn(f64) -> f64 + Sync)) -> f64 {
        // Panels shrink towards the ends until p ln p is negligible there.
        let width = |p: f64| if p.min(1.0 - p) < 1e-11 { 1.0 } else { 0.9 * p.min(1.0 - p) };
        self.nodes(&width).par_iter().map(|(p, w)| w * f(*p)).collect::<Vec<_>>().iter().sum()
    }

    /// The end of the panel at 0 or, for a distribution without mass near 0, where its mass begins.
    fn start(&self, width: &dyn Fn(f64) -> f64) -> f64 {
        if self.alpha > CONCENTRATED {
            // The lower tail is lighter than a Gaussian tail with standard deviation mean/√α.
            let reach = (150.0 / self.alpha).sqrt();
            let share = if reach < 0.9 { 1.0 - reach } else { 0.1 * (-90.0 / self.alpha).exp() };
            return self.alpha / (self.alpha + self.rest) * share;
        }
        let mut edge = (2.0 / (1.0 + self.rest)).min(0.25);
        while edge > 0.5 * width(edge) && edge > 1e-300 {
            edge *= 0.5;
        }
        edge
    }

    fn panel(&self, p: f64, width: &dyn Fn(f64) -> f64) -> f64 {
        let (alpha, rest) = (self.alpha - 1.0, self.rest - 1.0);
        let slope = (alpha / p - rest / (1.0 - p)).abs();
        let curvature = (alpha / (p * p) + rest / ((1.0 - p) * (1.0 - p))).abs();
        p.min(0.5 * (1.0 - p)).min(1.5 * width(p)).min(6.0 / slope).min(2.0 / curvature.sqrt()).max(1e-15)
    }
}

/// The count of the first output among `n` reports, for two inputs and two outputs.
pub(crate) struct Count {
    /// The probabilities of the outputs of a typical report.
    typical: [f64; 2],
    line: Line,
    n: u64,
}

impl Count {
    pub(crate) fn new(reduced: &Reduced, n: u64) -> Self {
        Count { typical: [reduced.typical[0], reduced.typical[1]], line: Line::new(reduced, n), n }
    }

    /// `ln P(S = s)`.
    pub(crate) fn ln_probability(&self, s: f64) -> f64 {
        let (users, pi) = (self.n as f64, self.typical);
        let ln_typical =
            factorial_remainder(users) - point_term(s, users * pi[0]) - point_term(users - s, users * pi[1]);
        ln_typical + self.line.ln_evidence(&[s, users - s])
    }

    /// The posterior mean of `ln L − ln m` after `s` reports of the first output: its mean over `S` is
    /// `I(S;P)`.
    pub(crate) fn learned(&self, s: f64) -> f64 {
        self.line.evidence(&[s, self.n as f64 - s]).learned
    }

    /// `H(S)`, for the same problem.
    pub(crate) fn entropy(&self, reduced: &Reduced) -> f64 {
        let term = |(s, count): &(f64, f64)| {
            let ln = self.ln_probability(*s);
            if ln == f64::NEG_INFINITY { 0.0 } else { -count * ln * ln.exp() }
        };
        tally_rule(reduced, self.n).par_iter().map(term).collect::<Vec<_>>().iter().sum()
    }
}

/// `I(Y⃗;P)` for two outputs.
pub(crate) fn distribution(reduced: &Reduced, n: u64) -> Evaluation {
    let (between, users) = (between_ends(reduced), n as f64);
    let line =
        if reduced.inputs() == 2 { Line::new(reduced, n) } else { Line::of_image(reduced, &between, n) };
    let pi = &reduced.typical;
    let Evaluation { value: one, error: one_error, .. } = reduced.one_report().times(users);
    let direct = one > 1.0 && users > MANY_USERS;
    let term = |(s, count): &(f64, f64)| {
        let ln_typical = -point_term(*s, users * pi[0]) - point_term(users - s, users * pi[1])
            + factorial_remainder(users);
        let Evidence { ln_ratio, learned } = line.evidence(&[*s, users - s]);
        let (typical, evidence) = (ln_typical.exp(), (ln_typical + ln_ratio).exp());
        let part = if direct {
            evidence * learned
        } else if ln_ratio < 1.0 {
            typical * excess_entropy(ln_ratio.exp_m1())
        } else {
            evidence * (ln_ratio - 1.0) + typical
        };
        [count * part, count * evidence]
    };
    let ends = if reduced.inputs() == 2 { reduced } else { &between };
    let terms: Vec<[f64; 2]> = tally_rule(ends, n).par_iter().map(term).collect();
    let [sum, total] = terms.iter().fold([0.0; 2], |[g, t], [dg, dt]| [g + dg, t + dt]);
    let value = if direct { sum } else { one - sum };
    let missing = ((total - 1.0).abs() * (1.0 + value.abs())).min(value.abs());
    // The density for more than two inputs is accurate to 1e-11.
    let density = if reduced.inputs() > 2 { 1e-11 * (1.0 + value.abs()).min(value.abs()) } else { 0.0 };
    let rounding = 4e-16 * users.min(1e3 * one) + 1e-15 * one + if direct { 0.0 } else { one_error };
    Evaluation::new(value, missing + density + rounding, Method::Quadrature)
}

/// From this number of users on the information is summed as `Σ_s m(s) E[ln L − ln m(s) | s]` instead of
/// `n I(Y;P) − Σ_s M(s) φ(m(s)/M(s) − 1)`. In the latter a rounding error of `ln L`, of order `n · 1e-16`, is
/// multiplied by `ln m/M`, also of order `n`: at `n = 10^8` it was off by `1e-3`.
const MANY_USERS: f64 = 1e4;

/// Nodes over the possible counts of the first output, and how many integers each represents.
fn tally_rule(reduced: &Reduced, n: u64) -> Vec<(f64, f64)> {
    let users = n as f64;
    let extreme = |pick: fn(f64, f64) -> f64| pick(reduced.column(0)[0], reduced.column(1)[0]);
    let (low, high) = (users * extreme(f64::min), users * extreme(f64::max));
    // Beyond 13 standard deviations (or Poisson-like tails at an end) the mass is negligible: use a plateau
    // with Gaussian tails.
    let outside = |s: f64| {
        let off = (low - s).max(s - high).max(0.0);
        let variance =
            (s * (users - s) / users).max(low.min(users - low)).max(high.min(users - high)).max(1.0);
        -0.5 * off * off / (variance + off)
    };
    let scale = |s: f64| {
        let deviation = (s * (users - s) / users).sqrt();
        deviation.max(prior_scale(reduced, s, deviation, [low, high]))
    };
    let lattice = Lattice {
        n,
        ln_weight: &outside,
        centre: 0.5 * (low + high),
        scale: &scale,
        falls_left: true,
        falls_right: true,
    };
    lattice.rule(SUM_ORDER)
}

/// The length over which the density of the expected count changes, where reports do not blur its ends: more
/// than ten standard deviations away from them. There the sum needs no finer panels, so that the number of
/// nodes grows like `ln n`. 0 if the prior is not one of two inputs.
fn prior_scale(reduced: &Reduced, s: f64, deviation: f64, [low, high]: [f64; 2]) -> f64 {
    let rising = reduced.ratios[0][0] > reduced.ratios[0][1];
    let of_component = |(_, component): &(f64, Component)| match component {
        Component::Dirichlet(alpha) if alpha.len() == 2 => {
            let (alpha, rest) = if rising { (alpha[0], alpha[1]) } else { (alpha[1], alpha[0]) };
            let (from_low, to_high) = (s - low - 10.0 * deviation, high - s - 10.0 * deviation);
            let p = (s - low) / (high - low);
            if from_low <= 0.0 || to_high <= 0.0 {
                return 0.0;
            }
            let panel = Beta { alpha, rest }.panel(p, &|_| f64::INFINITY) * (high - low);
            panel.min(0.5 * from_low).min(0.3 * to_high)
        }
        _ => 0.0,
    };
    reduced.parts.iter().map(of_component).reduce(f64::min).unwrap_or(0.0)
}

/// `I(Y⃗;T)` for two inputs and two outputs.
pub(crate) fn tally(reduced: &Reduced, n: u64) -> Evaluation {
    let distribution = distribution(reduced, n);
    let given_p = entropy_given_distribution(reduced, n);
    let given_t = entropy_given_tally(reduced, n);
    let rounding = 1e-13 * (1.0 + given_p) + if n as f64 > DIRECT_VARIANCE { 1e-10 } else { 0.0 };
    let value = distribution.value + given_p - given_t;
    Evaluation::new(value, distribution.error + rounding, Method::Quadrature)
}

/// `H(S|P)`.
fn entropy_given_distribution(reduced: &Reduced, n: u64) -> f64 {
    let [first, second] = [reduced.column(0)[0], reduced.column(1)[0]];
    let entropy = |p: f64| binomial_entropy(n, p * first + (1.0 - p) * second);
    let of_component = |component: &Component| match component {
        Component::Point(p) => entropy(p[0]),
        Component::Dirichlet(alpha) => Beta { alpha: alpha[0], rest: alpha[1] }.mean_of_entropy(&entropy),
    };
    reduced.parts.iter().map(|(w, law)| w * of_component(law)).sum()
}

/// Entropy of a binomial distribution.
fn binomial_entropy(n: u64, q: f64) -> f64 {
    let (users, q) = (n as f64, q.min(1.0 - q));
    if q <= 0.0 {
        return 0.0;
    }
    if users * q * (1.0 - q) > DIRECT_VARIANCE {
        return expanded_entropy(cumulants(&[(users, q)]));
    }
    let term = |s: f64| point_term(s, users * q) + point_term(users - s, users * (1.0 - q));
    mean(&binomial_nodes(n, q, SUM_ORDER), term) - factorial_remainder(users)
}

/// `H(S|T)`.
fn entropy_given_tally(reduced: &Reduced, n: u64) -> f64 {
    let q = [reduced.column(0)[0], reduced.column(1)[0]];
    let of_part = |(weight, law): &(f64, Component)| {
        let nodes = match law {
            Component::Dirichlet(alpha) => Marginal { n, alpha: alpha[0], rest: alpha[1] }.nodes(SUM_ORDER),
            Component::Point(p) => binomial_nodes(n, p[0], SUM_ORDER),
        };
        let terms: Vec<f64> = nodes.par_iter().map(|(t, w)| w * smooth_sum_entropy(*t, n, q)).collect();
        weight * terms.iter().sum::<f64>()
    };
    reduced.parts.iter().map(of_part).sum()
}

/// Entropy of `Binomial(t, q_0) + Binomial(n − t, q_1)` at a real `t`: between integers, a polynomial through
/// the six nearest. Nodes are fractional only beyond 24 from either end, where this is accurate to `1e-12`.
fn smooth_sum_entropy(t: f64, n: u64, q: [f64; 2]) -> f64 {
    let expansion = cumulants(&[(t, q[0]), (n as f64 - t, q[1])]);
    if expansion[0] > DIRECT_VARIANCE {
        return expanded_entropy(expansion);
    }
    if t.fract() == 0.0 {
        return sum_entropy(t as u64, n, q);
    }
    let base = t.floor() as u64 - 2;
    let at = |i: u64| (base + i) as f64;
    let lagrange =
        |i: u64| (0..6).filter(|j| *j != i).map(|j| (t - at(j)) / (at(i) - at(j))).product::<f64>();
    (0..6).map(|i| lagrange(i) * sum_entropy(base + i, n, q)).sum()
}

/// Entropy of `Binomial(t, q_0) + Binomial(n − t, q_1)`, directly.
fn sum_entropy(t: u64, n: u64, q: [f64; 2]) -> f64 {
    check();
    let first = binomial_window(t, q[0]);
    let second = binomial_window(n - t, q[1]);
    let mut sum = vec![0.0; first.len() + second.len() - 1];
    for (i, p) in first.iter().enumerate() {
        sum[i..].iter_mut().zip(&second).for_each(|(s, r)| *s += p * r);
    }
    sum.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum()
}

/// The non-negligible probabilities of a binomial distribution.
fn binomial_window(n: u64, q: f64) -> Vec<f64> {
    if n == 0 || q <= 0.0 || q >= 1.0 {
        return vec![1.0];
    }
    let users = n as f64;
    let reach = 12.0 * (users * q * (1.0 - q)).sqrt() + 40.0;
    let low = (users * q - reach).max(0.0) as u64;
    let high = ((users * q + reach) as u64).min(n);
    let ln = |s: u64| {
        let s = s as f64;
        factorial_remainder(users) - point_term(s, users * q) - point_term(users - s, users * (1.0 - q))
    };
    (low..=high).map(|s| ln(s).exp()).collect()
}

/// Variance, third and fourth cumulant of a sum of independent binomials.
fn cumulants(parts: &[(f64, f64)]) -> [f64; 3] {
    parts.iter().fold([0.0; 3], |[second, third, fourth], (n, q)| {
        let v = q * (1.0 - q);
        [second + n * v, third + n * v * (1.0 - 2.0 * q), fourth + n * v * (1.0 - 6.0 * v)]
    })
}

/// `½ ln 2πeσ² − λ₃²/12 − λ₄²/48 − 7λ₃⁴/48 + λ₃²λ₄/8` with standardised cumulants `λ`. That the variable is
/// integer-valued changes this by less than `e^{−2π²σ²}`.
fn expanded_entropy([variance, third, fourth]: [f64; 3]) -> f64 {
    let (skew, excess) = (third * third / variance.powi(3), fourth / (variance * variance));
    0.5 * (2.0 * std::f64::consts::PI * std::f64::consts::E * variance).ln()
        - skew / 12.0
        - excess * excess / 48.0
        - 7.0 * skew * skew / 48.0
        + skew * excess / 8.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::information::enumeration;
    use crate::model::prior::Prior;
    use crate::model::protocol::Protocol;

    fn reduced(rows: [[f64; 2]; 2], alpha: [f64; 2]) -> Reduced {
        let protocol = Protocol::matrix(rows.iter().map(|row| row.to_vec()).collect()).unwrap();
        Reduced::new(&protocol, &Prior::dirichlet(alpha.to_vec()).unwrap()).unwrap().unwrap()
    }

    #[test]
    fn agrees_with_the_enumeration() {
        let rows = [
            [[0.7, 0.2], [0.3, 0.8]],
            [[1.0, 0.4], [0.0, 0.6]],
            [[1.0, 0.0], [0.0, 1.0]],
            [[0.51, 0.5], [0.49, 0.5]],
        ];
        let alphas = [[0.5, 0.5], [0.3, 1.2], [0.05, 0.05], [40.0, 3.0], [1e-3, 300.0], [2e4, 1e4]];
        for rows in rows {
            for alpha in alphas {
                for n in [1, 7, 150] {
                    let reduced = reduced(rows, alpha);
                    let (fast, slow) = (distribution(&reduced, n), enumeration::distribution(&reduced, n));
                    let off = (fast.value - slow.value).abs();
                    assert!(off < 1e-11 * slow.value.max(1e-3), "{rows:?} {alpha:?} {n}: {fast:?} {slow:?}");
                    let (fast, slow) = (tally(&reduced, n), enumeration::tally(&reduced, n));
                    let off = (fast.value - slow.value).abs();
                    assert!(
                        off < 1e-10 * slow.value.max(1e-1),
                        "T {rows:?} {alpha:?} {n}: {fast:?} {slow:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn more_inputs_with_two_outputs_agree_with_the_enumeration() {
        let first =
            [vec![0.7, 0.2, 0.45], vec![1.0, 0.4, 0.3], vec![0.9, 0.0, 0.5, 0.52], vec![0.6, 0.55, 0.5]];
        for row in first {
            let a = row.len();
            let second = row.iter().map(|q| 1.0 - q).collect();
            let protocol = Protocol::matrix(vec![row.clone(), second]).unwrap();
            for alpha in
                [vec![0.5; a], (0..a).map(|x| 0.2 + x as f64).collect(), vec![0.05; a], vec![30.0; a]]
            {
                let prior = Prior::dirichlet(alpha.clone()).unwrap();
                let reduced = Reduced::new(&protocol, &prior).unwrap().unwrap();
                for n in [1, 7, 40] {
                    let (fast, slow) = (distribution(&reduced, n), enumeration::distribution(&reduced, n));
                    let off = (fast.value - slow.value).abs();
                    assert!(
                        off < 1e-10 * slow.value.max(1e-3) && off <= fast.error + slow.error + 1e-14,
                        "{row:?} {alpha:?} {n}: {fast:?} {slow:?} {off:e}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_bit_about_three_values_approaches_its_limit() {
        // Under the Jeffreys prior the density of L = P_0 + P_2/2 has finite limits at both ends, which
        // reports smear over 1/√n. So the limit is approached by a factor of √10 from 10⁵ to 10⁶.
        let protocol = Protocol::matrix(vec![vec![0.7, 0.2, 0.45], vec![0.3, 0.8, 0.55]]).unwrap();
        let reduced = Reduced::new(&protocol, &Prior::jeffreys(3).unwrap()).unwrap().unwrap();
        let image = Image {
            places: vec![0.0, 0.5, 1.0],
            alpha: vec![0.5; 3],
            start: vec![0.2, 0.8],
            end: vec![0.7, 0.3],
        };
        let limit = image.growth_constant().0;
        let left = |n: u64| distribution(&reduced, n).value - 0.5 * (n as f64).ln() - limit;
        let [few, more, many] = [10_000, 100_000, 1_000_000].map(left);
        assert!(few > more && more > many && many > 0.0 && many < 5e-3, "{few} {more} {many}");
        assert!((3.0..3.4).contains(&(more / many)), "{few} {more} {many}");
    }

    #[test]
    fn the_expanded_entropy_joins_the_direct_one() {
        for (t, n, q) in [(9000, 20_000, [0.3, 0.1]), (400, 12_000, [0.9, 0.25])] {
            let direct = sum_entropy(t, n, q);
            let expanded = expanded_entropy(cumulants(&[(t as f64, q[0]), ((n - t) as f64, q[1])]));
            assert!((direct - expanded).abs() < 1e-10, "{direct} {expanded}");
        }
    }

    #[test]
    fn tallies_of_many_users_are_learned_smoothly() {
        // I(Y⃗;T) of 10⁵ users lies between its neighbours and I(Y⃗;P).
        let at = |n: u64| tally(&reduced([[0.7, 0.2], [0.3, 0.8]], [0.5, 0.5]), n);
        let [less, here, more] = [50_000, 100_000, 200_000].map(at);
        assert!(less.value < here.value && here.value < more.value, "{less:?} {here:?} {more:?}");
        assert!((more.value + less.value - 2.0 * here.value).abs() < 0.01 && here.error < 1e-8);
    }

    #[test]
    fn a_million_users_approach_the_limit() {
        // Slow convergence: r_μ = −1.681038 is approached like n^{−1/4} (errata, V5: −1.5211 at n = 10⁴).
        let e = 1f64.exp();
        let rows = [[e / (e + 1.0), 1.0 / (e + 1.0)], [1.0 / (e + 1.0), e / (e + 1.0)]];
        for (n, expected) in [(100u64, -1.1778), (1000, -1.3972), (10_000, -1.5211)] {
            let value = distribution(&reduced(rows, [0.5, 0.5]), n).value - 0.5 * (n as f64).ln();
            assert!((value - expected).abs() < 6e-5, "{n}: {value}");
        }
        // The remainder is 1.601 n^{−1/4} at all numbers of users; the older form of the sum had 1.754 at
        // 10⁸.
        for n in [1_000_000, 10_000_000, 100_000_000u64] {
            let found = distribution(&reduced(rows, [0.5, 0.5]), n);
            let scaled = (found.value - 0.5 * (n as f64).ln() + 1.681038) * (n as f64).powf(0.25);
            assert!((scaled - 1.6011).abs() < 3e-4, "{n}: {scaled}");
        }
        let million = distribution(&reduced(rows, [0.5, 0.5]), 1_000_000);
        let left = million.value - 0.5 * 1e6f64.ln() + 1.681038;
        assert!(left > 0.02 && left < 0.08 && million.error < 1e-8, "{left} {million:?}");
    }
}
