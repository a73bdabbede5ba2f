//! Two values, or two different outputs: everything is one number.
//!
//! With two (different) inputs the distribution is one number `p`, the probability of the first. The evidence of a tally,
//!
//! ```text
//! m(s)/M(s) = ∫ Beta(p) Π_y R_y(p)^{s_y} dp,      R_y(p) = (Q P)_y / π_y,
//! ```
//!
//! is a smooth integral with known singularities at the ends. [`Line`] holds one set of nodes for all tallies: Gauss–Jacobi panels at
//! both ends for `p^{α−1}` and `(1−p)^{α'−1}`, Gauss–Legendre panels between, each no wider than its distance from the end and no
//! wider than the posterior's standard deviation there. That is `O(√n)` nodes, of which some hundred matter for one tally.
//!
//! With two outputs the tally is one number as well, and its distribution varies over distances of `√n`: sums over it need
//! `O(√n)` nodes ([`super::lattice`]). So `I(Y⃗;P)` costs `O(√n)` evidences: `n = 10^6` is a fraction of a second.
//!
//! `I(Y⃗;T) = I(Y⃗;P) + H(S|P) − H(S|T)`, where given `T` the tally is a sum of two binomials: its entropy is summed directly up to a variance of
//! [`DIRECT_VARIANCE`] and expanded in its cumulants beyond.
//!
//! # Accuracy
//! Against the enumeration of all tallies: `1e-12` for `n ≤ 300` (tests). `n I(Y;P)` is subtracted at the end, which costs
//! `n · 4e-16`, part of the stated error.

use rayon::prelude::*;

use super::gauss::{jacobi, legendre};
use super::lattice::Lattice;
use super::reduced::{Law, Reduced};
use super::stirling::{entropy_gap, factorial_remainder};
use super::users::{Marginal, binomial_nodes, mean, point_term};
use crate::evaluation::{Evaluation, Method};

/// Nodes a panel.
const ORDER: usize = 16;

/// Nodes a panel of sums over tallies.
const SUM_ORDER: usize = 20;

/// Parts below `e^−45` of the largest are left out.
const LN_NEGLIGIBLE: f64 = -45.0;

/// From this variance on the entropy of a sum of binomials is expanded. The first term left out is of the order of the
/// inverse cube of the variance, `6e-11` here.
pub(crate) const DIRECT_VARIANCE: f64 = 2500.0;

/// Above this parameter a Beta distribution has no mass at its end.
const CONCENTRATED: f64 = 30.0;

/// Whether the distribution is one number.
pub(crate) fn fits(reduced: &Reduced) -> bool {
    reduced.inputs() == 2
}

/// Elementary steps of [`distribution`].
pub(crate) fn work(reduced: &Reduced, n: u64) -> f64 {
    let fine = fits(reduced) && reduced.outputs() == 2 && n <= MOST_USERS;
    if fine { 2e4 * (n as f64).sqrt() + 1e5 } else { f64::INFINITY }
}

/// Checked up to here against the approach to the asymptote, `c n^{−1/4}` under Jeffreys; at `10^8` users the nodes no longer resolve
/// the posteriors next to the ends.
const MOST_USERS: u64 = 10_000_000;

/// Nodes over `p` for all parts of the prior.
pub(crate) struct Line {
    parts: Vec<Nodes>,
}

/// Nodes of one part of the prior, ascending in `p`.
struct Nodes {
    p: Vec<f64>,
    weights: Vec<f64>,
    /// `ln R_y` at each node, all outputs of a node together.
    ln_ratios: Vec<f64>,
    outputs: usize,
}

impl Line {
    /// Nodes that resolve posteriors from up to `n` reports.
    pub(crate) fn new(reduced: &Reduced, n: u64) -> Self {
        let nodes = |(weight, law): &(f64, Law)| {
            let points = match law {
                Law::Point(p) => vec![(p[0], 1.0)],
                Law::Dirichlet(alpha) => {
                    Beta { alpha: alpha[0], rest: alpha[1] }.nodes(&|p| width(reduced, n, p))
                }
            };
            Nodes::new(reduced, points, *weight)
        };
        Line { parts: reduced.parts.iter().map(nodes).collect() }
    }

    /// `ln m(s)/M(s)`. The tally may be fractional.
    pub(crate) fn ln_evidence(&self, s: &[f64]) -> f64 {
        let logs: Vec<f64> = self.parts.iter().map(|part| part.ln_evidence(s)).collect();
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if largest == f64::NEG_INFINITY {
            return largest;
        }
        largest + logs.iter().map(|l| (l - largest).exp()).sum::<f64>().ln()
    }
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
        // An impossible report (ln 0) that did not occur does not matter.
        ln_ratios.iter().zip(s).map(|(ln, s_y)| if *s_y == 0.0 { 0.0 } else { s_y * ln }).sum()
    }

    fn ln_evidence(&self, s: &[f64]) -> f64 {
        // The likelihood is concave in p.
        let (mut low, mut high) = (0, self.p.len() - 1);
        while low < high {
            let middle = (low + high) / 2;
            let (here, next) = (self.ln_likelihood(middle, s), self.ln_likelihood(middle + 1, s));
            let rises =
                if here == next { here == f64::NEG_INFINITY && self.p[middle] < 0.5 } else { here < next };
            if rises { low = middle + 1 } else { high = middle }
        }
        let top = self.ln_likelihood(low, s);
        if top == f64::NEG_INFINITY {
            return top;
        }
        let term = |i: usize| (self.ln_likelihood(i, s) - top, self.weights[i]);
        let matters = |(ln, _): &(f64, f64)| *ln > LN_NEGLIGIBLE;
        let up = (low..self.p.len()).map(term).take_while(matters);
        let down = (0..low).rev().map(term).take_while(matters);
        top + up.chain(down).map(|(ln, w)| w * ln.exp()).sum::<f64>().ln()
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
    /// Each side is built from its own end: near 1 the distance from it would be lost in `p`.
    pub(crate) fn nodes(&self, width: &dyn Fn(f64) -> f64) -> Vec<(f64, f64)> {
        let mirrored = Beta { alpha: self.rest, rest: self.alpha };
        let mirrored_width = |p: f64| width(1.0 - p);
        let (low, high) = (self.start(width), 1.0 - mirrored.start(&mirrored_width));
        let split = (self.alpha / (self.alpha + self.rest)).clamp(0.25, 0.75);
        let mut nodes = self.side(low, split.min(high), width);
        let right = mirrored.side(1.0 - high, 1.0 - split.max(low), &mirrored_width);
        nodes.extend(right.into_iter().rev().map(|(p, w)| (1.0 - p, w)));
        // Large parameters make the normaliser lose digits; the total is known.
        let total: f64 = nodes.iter().map(|(_, w)| w).sum();
        nodes.iter_mut().for_each(|(_, w)| *w /= total);
        nodes
    }

    /// Nodes from 0, or from where the mass starts, up to `split`.
    fn side(&self, low: f64, split: f64, width: &dyn Fn(f64) -> f64) -> Vec<(f64, f64)> {
        let ln_normaliser =
            libm::lgamma(self.alpha) + libm::lgamma(self.rest) - libm::lgamma(self.alpha + self.rest);
        let ln_rest = |p: f64| (self.rest - 1.0) * (-p).ln_1p() - ln_normaliser;
        let mut nodes = Vec::new();
        if self.alpha <= CONCENTRATED {
            let scale = low.powf(self.alpha);
            let end = jacobi(ORDER, self.alpha).into_iter();
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
        // Panels shrink towards the ends until p ln p no longer matters there.
        let width = |p: f64| if p.min(1.0 - p) < 1e-11 { 1.0 } else { 0.9 * p.min(1.0 - p) };
        self.nodes(&width).par_iter().map(|(p, w)| w * f(*p)).collect::<Vec<_>>().iter().sum()
    }

    /// Where the panel at 0 ends or, for a distribution without mass near 0, where its mass starts.
    fn start(&self, width: &dyn Fn(f64) -> f64) -> f64 {
        if self.alpha > CONCENTRATED {
            // The lower tail is lighter than a Gaussian one with deviation mean/√α.
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

/// The number of first outputs among `n` reports of a problem with two inputs and two outputs.
pub(crate) struct Count<'a> {
    reduced: &'a Reduced,
    line: Line,
    n: u64,
}

impl<'a> Count<'a> {
    pub(crate) fn new(reduced: &'a Reduced, n: u64) -> Self {
        Count { reduced, line: Line::new(reduced, n), n }
    }

    /// `ln P(S = s)`.
    pub(crate) fn ln_probability(&self, s: f64) -> f64 {
        let (users, pi) = (self.n as f64, &self.reduced.typical);
        let ln_typical =
            factorial_remainder(users) - point_term(s, users * pi[0]) - point_term(users - s, users * pi[1]);
        ln_typical + self.line.ln_evidence(&[s, users - s])
    }

    /// `H(S)`.
    pub(crate) fn entropy(&self) -> f64 {
        let term = |(s, count): &(f64, f64)| {
            let ln = self.ln_probability(*s);
            if ln == f64::NEG_INFINITY { 0.0 } else { -count * ln * ln.exp() }
        };
        tally_rule(self.reduced, self.n).par_iter().map(term).collect::<Vec<_>>().iter().sum()
    }
}

/// `I(Y⃗;P)` for two inputs and two outputs.
pub(crate) fn distribution(reduced: &Reduced, n: u64) -> Evaluation {
    let (line, users) = (Line::new(reduced, n), n as f64);
    let pi = &reduced.typical;
    let term = |(s, count): &(f64, f64)| {
        let ln_typical = -point_term(*s, users * pi[0]) - point_term(users - s, users * pi[1])
            + factorial_remainder(users);
        let ln_ratio = line.ln_evidence(&[*s, users - s]);
        let (typical, evidence) = (ln_typical.exp(), (ln_typical + ln_ratio).exp());
        let gap = if ln_ratio < 1.0 {
            typical * entropy_gap(ln_ratio.exp_m1())
        } else {
            evidence * (ln_ratio - 1.0) + typical
        };
        [count * gap, count * evidence]
    };
    let terms: Vec<[f64; 2]> = tally_rule(reduced, n).par_iter().map(term).collect();
    let [gap, total] = terms.iter().fold([0.0; 2], |[g, t], [dg, dt]| [g + dg, t + dt]);
    let one = users * reduced.one_report();
    let value = one - gap;
    let missing = ((total - 1.0).abs() * (1.0 + value.abs())).min(value.abs());
    Evaluation::new(value, missing + 4e-16 * users.min(1e3 * one) + 1e-15 * one, Method::Quadrature)
}

/// Nodes over the numbers of first outputs that occur, and how many numbers each stands for.
fn tally_rule(reduced: &Reduced, n: u64) -> Vec<(f64, f64)> {
    let users = n as f64;
    let extreme = |pick: fn(f64, f64) -> f64| pick(reduced.column(0)[0], reduced.column(1)[0]);
    let (low, high) = (users * extreme(f64::min), users * extreme(f64::max));
    // Beyond 13 standard deviations (or Poisson-like tails at an end) nothing is left: treat as a plateau with Gaussian tails.
    let outside = |s: f64| {
        let off = (low - s).max(s - high).max(0.0);
        let variance =
            (s * (users - s) / users).max(low.min(users - low)).max(high.min(users - high)).max(1.0);
        -0.5 * off * off / (variance + off)
    };
    let scale = |s: f64| (s * (users - s) / users).sqrt();
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
    let of_law = |law: &Law| match law {
        Law::Point(p) => entropy(p[0]),
        Law::Dirichlet(alpha) => Beta { alpha: alpha[0], rest: alpha[1] }.mean_of_entropy(&entropy),
    };
    reduced.parts.iter().map(|(w, law)| w * of_law(law)).sum()
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
    let of_part = |(weight, law): &(f64, Law)| {
        let nodes = match law {
            Law::Dirichlet(alpha) => Marginal { n, alpha: alpha[0], rest: alpha[1] }.nodes(SUM_ORDER),
            Law::Point(p) => binomial_nodes(n, p[0], SUM_ORDER),
        };
        let terms: Vec<f64> = nodes.par_iter().map(|(t, w)| w * smooth_sum_entropy(*t, n, q)).collect();
        weight * terms.iter().sum::<f64>()
    };
    reduced.parts.iter().map(of_part).sum()
}

/// Entropy of `Binomial(t, q_0) + Binomial(n − t, q_1)` at a real `t`: between whole numbers, a polynomial through the
/// six nearest. Nodes are fractional only beyond 24 from either end, where this is good to `1e-12`.
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
    let first = binomial_window(t, q[0]);
    let second = binomial_window(n - t, q[1]);
    let mut sum = vec![0.0; first.len() + second.len() - 1];
    for (i, p) in first.iter().enumerate() {
        sum[i..].iter_mut().zip(&second).for_each(|(s, r)| *s += p * r);
    }
    sum.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum()
}

/// The probabilities of a binomial distribution that matter.
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

/// `½ ln 2πeσ² − λ₃²/12 − λ₄²/48 − 7λ₃⁴/48 + λ₃²λ₄/8` with standardised cumulants `λ`. That the variable is a whole number
/// changes this by less than `e^{−2π²σ²}`.
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
    use crate::prior::Prior;
    use crate::protocol::Protocol;

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
        let million = distribution(&reduced(rows, [0.5, 0.5]), 1_000_000);
        let left = million.value - 0.5 * 1e6f64.ln() + 1.681038;
        assert!(left > 0.02 && left < 0.08 && million.error < 1e-8, "{left} {million:?}");
    }
}
