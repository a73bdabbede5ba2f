//! A rule for two or three inputs that follows `ln det` into the corners of the simplex.
//!
//! With entries of `Q` that vanish, `ln det` bends wherever two inputs have similar probabilities, however small both are. A prior with
//! `α = 0.01` has mass at `p ≈ e^{−100}`, so a tensor rule in fixed coordinates would need a fine grid everywhere. Sorted, all
//! bends are near an edge: with `p_(1) ≥ p_(2) ≥ …` and the gaps `d_i = ln p_(i) − ln p_(i+1) ≥ 0`, they lie at gaps of order 1 or `ε`, and
//! beyond `ln det` is linear. In these coordinates the prior has the density `Π p_x^{α_x}/B(α)`.

use rayon::prelude::*;

use crate::fisher::{FisherInformation, Point};
use crate::numerics::beta_rule::gauss;
use crate::numerics::special::ln_beta_groups;
use crate::numerics::stop::check;

/// The mean of `ln det M(P)` by Gauss rules of `order` nodes on panels of the gaps, summed over all orders of the inputs.
///
/// Panels double up to 8, are 8 wide up to 128 (bends at gaps of `ε ≤ 100`), and double again to where the density is `e^{−40}`.
pub(super) fn mean_ln_det(fisher: &dyn FisherInformation, alpha: &[f64], order: usize) -> f64 {
    let sectors: Vec<(Vec<usize>, Vec<Rule>)> =
        orders(alpha.len()).into_iter().map(|inputs| rules(alpha, inputs, order)).collect();
    let starts: Vec<_> =
        sectors.iter().flat_map(|sector| sector.1[0].iter().map(move |node| (sector, *node))).collect();
    let parts: Vec<(f64, f64)> = starts
        .par_iter()
        .map(|((inputs, rules), node)| {
            gap(fisher, &Sector { alpha, inputs }, &rules[1..], &mut vec![0.0], 1.0, *node)
        })
        .collect();
    let (mass, sum) = parts.iter().fold((0.0, 0.0), |(mass, sum), part| (mass + part.0, sum + part.1));
    sum / mass
}

/// The number of points that [`mean_ln_det`] takes.
pub(super) fn points(alpha: &[f64], order: usize) -> usize {
    let count = |inputs| rules(alpha, inputs, order).1.iter().map(Vec::len).product::<usize>();
    orders(alpha.len()).into_iter().map(count).sum()
}

/// Nodes and weights.
type Rule = Vec<(f64, f64)>;

struct Sector<'a> {
    alpha: &'a [f64],
    inputs: &'a [usize],
}

fn orders(inputs: usize) -> Vec<Vec<usize>> {
    match inputs {
        2 => vec![vec![0, 1], vec![1, 0]],
        _ => vec![vec![0, 1, 2], vec![0, 2, 1], vec![1, 0, 2], vec![1, 2, 0], vec![2, 0, 1], vec![2, 1, 0]],
    }
}

/// The order and, for each gap, nodes and weights. The density falls with gap `i` like the `α` of all smaller inputs.
fn rules(alpha: &[f64], inputs: Vec<usize>, order: usize) -> (Vec<usize>, Vec<Rule>) {
    let rate = |i: usize| inputs[i..].iter().map(|&x| alpha[x]).sum::<f64>();
    let first = alpha.iter().fold(1.0, |width: f64, alpha_x| width.min(alpha_x.powf(-0.5)));
    let unit = gauss(1.0, 1.0, order);
    let rule = |i: usize| {
        let ends = panels(first, LN_NEGLIGIBLE / rate(i));
        let panel = |pair: &[f64]| {
            let (start, width) = (pair[0], pair[1] - pair[0]);
            unit.iter()
                .map(move |node| (start + width * node.ln_head.exp(), width * node.weight))
                .collect::<Vec<_>>()
        };
        ends.windows(2).flat_map(panel).collect()
    };
    let rules = (1..inputs.len()).map(rule).collect();
    (inputs, rules)
}

const LN_NEGLIGIBLE: f64 = 40.0;

fn panels(first: f64, range: f64) -> Vec<f64> {
    let mut ends = vec![0.0, first];
    let mut end = first;
    // A density that peaks away from zero may fall late: at least the panels up to 64 are always there.
    while end < range.max(64.0) {
        end = if (8.0..128.0).contains(&end) { end + 8.0 } else { 2.0 * end };
        ends.push(end);
    }
    ends
}

/// Mass and integral over the remaining gaps.
fn gap(
    fisher: &dyn FisherInformation,
    sector: &Sector,
    rest: &[Rule],
    ln_sorted: &mut Vec<f64>,
    weight: f64,
    (gap_width, node_weight): (f64, f64),
) -> (f64, f64) {
    ln_sorted.push(ln_sorted[ln_sorted.len() - 1] - gap_width);
    let weight = weight * node_weight;
    let found = match rest {
        [] => at(fisher, sector, ln_sorted, weight),
        [rule, rest @ ..] => {
            let nodes = rule.iter().map(|&node| gap(fisher, sector, rest, ln_sorted, weight, node));
            nodes.fold((0.0, 0.0), |(mass, sum), part| (mass + part.0, sum + part.1))
        }
    };
    ln_sorted.pop();
    found
}

fn at(fisher: &dyn FisherInformation, sector: &Sector, ln_sorted: &[f64], weight: f64) -> (f64, f64) {
    check();
    let mut ln_weights = vec![0.0; ln_sorted.len()];
    sector.inputs.iter().zip(ln_sorted).for_each(|(&x, &ln_p)| ln_weights[x] = ln_p);
    let point = Point::from_ln_weights(ln_weights);
    let mass = weight * ln_density(sector.alpha, point.ln_p()).exp();
    if mass < 1e-20 { (0.0, 0.0) } else { (mass, mass * fisher.ln_det(&point)) }
}

fn ln_density(alpha: &[f64], ln_p: &[f64]) -> f64 {
    let ln_b = ln_beta_groups(&alpha.iter().map(|&alpha_x| (alpha_x, 1)).collect::<Vec<_>>());
    alpha.iter().zip(ln_p).map(|(alpha_x, ln_p)| alpha_x * ln_p).sum::<f64>() - ln_b
}
