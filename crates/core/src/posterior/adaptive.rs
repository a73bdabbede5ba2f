//! The adaptive prior where a method is exact: a mixture over quadrature nodes of its parameter.
//!
//! # Method
//! The evidence as a function of `ln α` is a bump whose width falls with the number of values like `1/√a`. A grid of
//! [`GRID`] values is narrowed around it until [`INSIDE`] of them are in it. Gauss–Legendre nodes there become the
//! components of a mixture, which the exact methods weight by their evidence. Quantiles of `α` come from the
//! polynomial through the logarithms of these evidences.
//!
//! # Accuracy
//! Against fine rules at 5 to 5,000 values: log evidence within 1e-3, mean of `α` within 1e-3 of
//! its standard deviation, and the probability below a quantile within 5e-3 (unit test).

use crate::numerics::parallel::*;

use super::summary::{PosteriorOptions, Summary, mixed};
use crate::model::prior::{Adaptive, Dirichlet};
use crate::numerics::gauss::legendre;

/// Quadrature nodes.
const NODES: usize = 16;

/// Values of `α` on a grid, how many of them must be in the bump, and how often the grid is narrowed.
const GRID: usize = 24;
const INSIDE: usize = 8;
const NARROWED: usize = 12;

/// `ln` of the evidence relative to its largest value below which `α` is left out: five standard deviations of
/// a normal distribution.
const LN_NEGLIGIBLE: f64 = -12.0;

/// Error of the log evidence due to the nodes.
pub(super) const LN_EVIDENCE_ERROR: f64 = 1e-3;

/// Points of the grid on which the quantiles of `α` are found.
const FINE: usize = 2000;

/// A node: its probability under the prior, its Dirichlet distribution, and its `ln α`.
pub(super) struct Node {
    pub(super) weight: f64,
    pub(super) dirichlet: Dirichlet,
    ln_alpha: f64,
}

/// Nodes, and the part of the range of `ln α` that they stand for.
pub(super) struct Nodes {
    pub(super) nodes: Vec<Node>,
    range: (f64, f64),
}

/// The nodes where the evidence is not negligible; `None` if it cannot be found.
pub(super) fn nodes(
    prior: &Adaptive,
    ln_evidence: &(dyn Fn(&Dirichlet) -> Option<f64> + Sync),
) -> Option<Nodes> {
    let (low, high) = ln_range(prior);
    let (mut left, mut right) = (low, high);
    for _ in 0..NARROWED {
        let step = (right - left) / GRID as f64;
        let at = |i: usize| Dirichlet::symmetric(prior.inputs(), (left + (i as f64 + 0.5) * step).exp()).ok();
        let found: Vec<f64> =
            (0..GRID).into_par_iter().map(|i| ln_evidence(&at(i)?)).collect::<Option<_>>()?;
        let largest = found.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let matters = |ln: &f64| *ln > largest + LN_NEGLIGIBLE;
        let (first, last) = (found.iter().position(matters)?, found.iter().rposition(matters)?);
        // One step further on both sides: the evidence of the neighbours is below the limit.
        let start = left;
        left = (start + (first as f64 - 0.5) * step).max(low);
        right = (start + (last as f64 + 1.5) * step).min(high);
        if last - first + 1 >= INSIDE {
            break;
        }
    }
    over(prior.inputs(), (left, right), (right - left) / (high - low))
}

/// The nodes of the whole range.
pub(super) fn all_nodes(prior: &Adaptive) -> Option<Nodes> {
    over(prior.inputs(), ln_range(prior), 1.0)
}

/// The range of `ln α`.
fn ln_range(prior: &Adaptive) -> (f64, f64) {
    let (low, high) = prior.range();
    (low.ln(), high.ln())
}

/// Nodes between two values of `ln α`, which have this prior probability together.
fn over(a: usize, range: (f64, f64), probability: f64) -> Option<Nodes> {
    let (middle, half) = (0.5 * (range.0 + range.1), 0.5 * (range.1 - range.0));
    let node = |(x, w): (f64, f64)| {
        let ln_alpha = middle + half * x;
        let dirichlet = Dirichlet::symmetric(a, ln_alpha.exp()).ok()?;
        Some(Node { weight: 0.5 * w * probability, dirichlet, ln_alpha })
    };
    let nodes = legendre(NODES).into_iter().map(node).collect::<Option<Vec<Node>>>()?;
    Some(Nodes { nodes, range })
}

/// The posterior of `α`, from the posterior weights of the nodes.
pub(super) fn summary(nodes: &Nodes, weights: &[f64], options: &PosteriorOptions<'_>) -> Summary {
    let alphas = nodes.nodes.iter().map(|node| node.ln_alpha.exp());
    let (mean, sd) = mixed(weights.iter().copied().zip(alphas.map(|alpha| (alpha, 0.0))));
    let ln_density = interpolation(nodes, weights);
    let (left, right) = nodes.range;
    let step = (right - left) / FINE as f64;
    let densities: Vec<f64> = (0..FINE).map(|i| ln_density(left + (i as f64 + 0.5) * step).exp()).collect();
    let total: f64 = densities.iter().sum();
    let quantile = |q: f64| {
        let mut rest = q * total;
        for (i, density) in densities.iter().enumerate() {
            if rest <= *density {
                return (left + (i as f64 + rest / density) * step).exp();
            }
            rest -= density;
        }
        right.exp()
    };
    let quantiles = options.probabilities.iter().map(|q| (*q, quantile(*q))).collect();
    Summary { mean, sd, quantiles, ..Summary::default() }
}

/// `ln` of the posterior density of `ln α`: the polynomial through its values at the nodes, in barycentric form.
fn interpolation<'n>(nodes: &'n Nodes, weights: &'n [f64]) -> impl Fn(f64) -> f64 + 'n {
    let points = || nodes.nodes.iter().map(|node| node.ln_alpha);
    let values: Vec<f64> = nodes
        .nodes
        .iter()
        .zip(weights)
        .map(|(node, weight)| (weight.max(f64::MIN_POSITIVE) / node.weight).ln())
        .collect();
    // Scaled by the length of the range, so that products neither overflow nor vanish.
    let length = nodes.range.1 - nodes.range.0;
    let barycentric: Vec<f64> = points()
        .map(|x| 1.0 / points().filter(|z| *z != x).map(|z| 4.0 * (x - z) / length).product::<f64>())
        .collect();
    move |at: f64| {
        let (mut above, mut below) = (0.0, 0.0);
        for ((x, weight), value) in points().zip(&barycentric).zip(&values) {
            if at == x {
                return *value;
            }
            above += weight * value / (at - x);
            below += weight / (at - x);
        }
        above / below
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::posterior::certain;

    /// Against the trapezoidal rule with 20,000 points, where the values themselves are reported.
    #[test]
    fn nodes_meet_a_fine_rule() {
        for a in [3, 5, 41, 1000, 5000] {
            let t: Vec<u64> = (0..a).map(|x| ((x * 7919) % 97 + x % 3) as u64).collect();
            let prior = Adaptive::new(a).unwrap();
            let ln_evidence = |dirichlet: &Dirichlet| certain::ln_evidence(dirichlet, &t);
            let (low, high) = ln_range(&prior);
            let points: Vec<f64> =
                (0..20_000).map(|i| low + (i as f64 + 0.5) / 20_000.0 * (high - low)).collect();
            let fine: Vec<f64> = points
                .par_iter()
                .map(|ln| ln_evidence(&Dirichlet::symmetric(a, ln.exp()).unwrap()))
                .collect();
            let top = fine.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let masses: Vec<f64> = fine.iter().map(|ln| (ln - top).exp()).collect();
            let total: f64 = masses.iter().sum();
            let ln_expected = top + (total / 20_000.0).ln();
            let moment = |f: &dyn Fn(f64) -> f64| {
                masses.iter().zip(&points).map(|(mass, ln)| mass * f(ln.exp())).sum::<f64>() / total
            };
            let mean = moment(&|alpha| alpha);
            let sd = moment(&|alpha| (alpha - mean).powi(2)).sqrt();

            let found = nodes(&prior, &|dirichlet| Some(ln_evidence(dirichlet))).unwrap();
            let joint: Vec<f64> = found
                .nodes
                .iter()
                .map(|node| node.weight * (ln_evidence(&node.dirichlet) - top).exp())
                .collect();
            let sum: f64 = joint.iter().sum();
            assert!(
                (top + sum.ln() - ln_expected).abs() < LN_EVIDENCE_ERROR,
                "{a}: {}",
                top + sum.ln() - ln_expected
            );
            let weights: Vec<f64> = joint.iter().map(|weight| weight / sum).collect();
            let options = PosteriorOptions { probabilities: vec![0.05, 0.95], ..PosteriorOptions::default() };
            let alpha = summary(&found, &weights, &options);
            assert!(
                (alpha.mean - mean).abs() < 1e-3 * sd && (alpha.sd / sd - 1.0).abs() < 1e-3,
                "{a}: {alpha:?} {mean} {sd}"
            );
            for (q, quantile) in alpha.quantiles {
                let below = masses.iter().zip(&points).filter(|(_, ln)| ln.exp() <= quantile);
                let share = below.map(|(mass, _)| mass).sum::<f64>() / total;
                assert!((share - q).abs() < 5e-3, "{a}: {share} {q}");
            }
        }
    }
}
