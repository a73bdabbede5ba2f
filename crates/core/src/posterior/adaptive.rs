//! The adaptive prior where a method is exact: a mixture over quadrature nodes of its parameter.
//!
//! # Method
//! The evidence as a function of `ln α` is found on the grid of the prior. Where it is not negligible,
//! Gauss–Legendre nodes in `ln α` become the components of a mixture, which the exact methods weight by their
//! evidence.

use crate::numerics::parallel::*;

use super::summary::{PosteriorOptions, Summary, mixed};
use crate::model::prior::{Adaptive, Dirichlet};
use crate::numerics::gauss::legendre;

/// Quadrature nodes.
const NODES: usize = 12;

/// `ln` of the evidence relative to its largest value below which `α` is left out: five standard deviations of
/// a normal distribution.
const LN_NEGLIGIBLE: f64 = -12.0;

/// Error of the log evidence due to the nodes, against 96 of them on the whole range (`tests/adaptive.rs`).
pub(super) const LN_EVIDENCE_ERROR: f64 = 0.01;

/// A node: its probability under the prior, its Dirichlet distribution, and the part of the range of `ln α`
/// that it stands for.
pub(super) struct Node {
    pub(super) weight: f64,
    pub(super) dirichlet: Dirichlet,
    cell: (f64, f64),
}

/// The nodes where the evidence is not negligible; `None` if it cannot be found.
pub(super) fn nodes(
    prior: &Adaptive,
    ln_evidence: &(dyn Fn(&Dirichlet) -> Option<f64> + Sync),
) -> Option<Vec<Node>> {
    let grid = prior.mixture().parts();
    let found: Vec<f64> = grid.par_iter().map(ln_evidence).collect::<Option<_>>()?;
    let largest = found.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let matters = |ln: &f64| *ln > largest + LN_NEGLIGIBLE;
    let (first, last) = (found.iter().position(matters)?, found.iter().rposition(matters)?);
    let (low, high) = (Adaptive::ALPHA.0.ln(), Adaptive::ALPHA.1.ln());
    let step = (high - low) / grid.len() as f64;
    // One step further on both sides: the evidence of the neighbours is below the limit.
    let left = (low + (first as f64 - 0.5) * step).max(low);
    let right = (low + (last as f64 + 1.5) * step).min(high);
    over(prior.inputs(), left, right, (right - left) / (high - low))
}

/// The nodes of the whole range.
pub(super) fn all_nodes(prior: &Adaptive) -> Option<Vec<Node>> {
    over(prior.inputs(), Adaptive::ALPHA.0.ln(), Adaptive::ALPHA.1.ln(), 1.0)
}

/// Nodes between two values of `ln α`, which have this prior probability together.
fn over(a: usize, left: f64, right: f64, probability: f64) -> Option<Vec<Node>> {
    let (middle, half) = (0.5 * (left + right), 0.5 * (right - left));
    let mut edge = left;
    let node = |(x, w): (f64, f64)| {
        let cell = (edge, edge + half * w);
        edge = cell.1;
        let dirichlet = Dirichlet::symmetric(a, (middle + half * x).exp()).ok()?;
        Some(Node { weight: 0.5 * w * probability, dirichlet, cell })
    };
    let mut rule = legendre(NODES);
    rule.sort_by(|l, r| l.0.total_cmp(&r.0));
    rule.into_iter().map(node).collect()
}

/// The posterior of `α`, from those of the nodes.
pub(super) fn summary(nodes: &[Node], weights: &[f64], options: &PosteriorOptions<'_>) -> Summary {
    let alphas = nodes.iter().map(|node| node.dirichlet.alpha()[0]);
    let points: Vec<(f64, (f64, f64))> =
        weights.iter().copied().zip(alphas.map(|alpha| (alpha, 0.0))).collect();
    let (mean, sd) = mixed(points.iter().copied());
    let quantile = |q: f64| {
        let mut rest = q;
        for (node, weight) in nodes.iter().zip(weights) {
            if rest <= *weight {
                let share = if *weight > 0.0 { rest / weight } else { 0.0 };
                return (node.cell.0 + share * (node.cell.1 - node.cell.0)).exp();
            }
            rest -= weight;
        }
        nodes.last().map_or(f64::NAN, |node| node.cell.1.exp())
    };
    let quantiles = options.probabilities.iter().map(|q| (*q, quantile(*q))).collect();
    Summary { mean, sd, quantiles, ..Summary::default() }
}
