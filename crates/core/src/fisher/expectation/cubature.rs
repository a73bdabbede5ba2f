//! Tensor rules over the simplex, by stick-breaking.
//!
//! `P_1 = B_1`, `P_2 = (1−B_1)B_2`, … with independent `B_x ~ Beta(α_x, α_{x+1} + … + α_a)`. If all entries
//! of `Q` are positive, `ln det` is an analytic function of `p` around the simplex. A Gauss rule in each
//! `B_x` then converges like `ρ^{−2n}`, with `ρ` = 4.1 at `ε = 1` and 1.3 at `ε = 4` for randomised response,
//! whatever `α`. If entries vanish or `ε` is large, the singularity is at the boundary, and we use a
//! trapezoidal rule in `logit B_x` for two to four inputs. If it also reaches far into the corners, as for
//! `α = 0.01`, we use a rule in sorted coordinates for two and three inputs.

use crate::numerics::parallel::*;

use super::sectors;
use crate::fisher::{FisherInformation, Point};
use crate::model::evaluation::{Evaluation, Method};
use crate::numerics::beta_rule::{BetaNode, gauss, logit_trapezoid};
use crate::numerics::stop::check;

/// The mean of `ln det M(P)` over `P ~ Dirichlet(alpha)` by tensor rules of increasing order.
///
/// # Method and cost
/// Gauss rules of order 4, 6, 9, … while they converge; else, up to four inputs, the logit trapezoid with
/// shrinking step; else, up to three, Gauss rules on the gaps between sorted `ln p_x`. Each continues until
/// two successive rules differ by less than `tolerance` or the next needs more than `evaluations` points:
/// `order^{a−1}`, or some hundred thousand for the last kind.
///
/// # Accuracy
/// The error is the difference of the last two rules (ten times that where convergence is slow), or a
/// thousandth of the previous difference if that is larger, plus rounding.
///
/// # Example
/// ```
/// use sottovoce::{fisher::expectation::cubature::mean_ln_det, fisher::Identity};
/// let mean = mean_ln_det(&Identity { inputs: 2 }, &[1.0, 1.0], 1e-11, 10_000).unwrap();
/// assert!((mean.value - 2.0).abs() < 1e-10);
/// ```
pub fn mean_ln_det(
    fisher: &dyn FisherInformation,
    alpha: &[f64],
    tolerance: f64,
    evaluations: usize,
) -> Option<Evaluation> {
    let rules = [by_gauss, by_logit, by_sectors];
    let mut found: Option<Evaluation> = None;
    for rule in rules {
        if found.is_some_and(|found| found.error <= tolerance) {
            break;
        }
        found = better(found, rule(fisher, alpha, tolerance, evaluations));
    }
    found
}

/// The trapezoid needs about a hundred nodes per dimension, and the panels need that many again for each
/// ordering of the inputs.
const MOST_INPUTS_OF_TRAPEZOID: usize = 4;
const MOST_INPUTS_OF_SECTORS: usize = 3;

/// Each order is a little less than one half larger: the error of a converging rule is then raised to the
/// power 1.4 each time.
const ORDERS: [usize; 11] = [4, 6, 9, 13, 18, 25, 35, 49, 68, 95, 133];

pub(super) fn better(left: Option<Evaluation>, right: Option<Evaluation>) -> Option<Evaluation> {
    [left, right].into_iter().flatten().min_by(|l, r| l.error.total_cmp(&r.error))
}

fn by_gauss(
    fisher: &dyn FisherInformation,
    alpha: &[f64],
    tolerance: f64,
    evaluations: usize,
) -> Option<Evaluation> {
    let dimensions = alpha.len() as i32 - 1;
    let affordable = |order: &&usize| (**order as f64).powi(dimensions) <= evaluations as f64;
    let values = ORDERS
        .iter()
        .take_while(affordable)
        .map(|&order| tensor(fisher, &sticks(alpha, |h, t| gauss(h, t, order))));
    // Nodes have an absolute error of 1e-16, and the slope of `ln det` is at most the contrast.
    converged(values, tolerance, 2.0 * f64::EPSILON * fisher.contrast())
}

fn by_logit(
    fisher: &dyn FisherInformation,
    alpha: &[f64],
    tolerance: f64,
    evaluations: usize,
) -> Option<Evaluation> {
    if alpha.len() > MOST_INPUTS_OF_TRAPEZOID {
        return None;
    }
    // Where kinks run into the corners this rule does not converge but sectors do. With three inputs this
    // limit allows 300 nodes per dimension.
    let evaluations = evaluations.min(100_000);
    let width = logit_width(fisher.contrast());
    let steps = (0..12).map(|level| 0.5 * 0.7f64.powi(level));
    let rules = steps.map(|step| sticks(alpha, |h, t| logit_trapezoid(h, t, width, step)));
    let affordable = |rules: &Vec<Vec<BetaNode>>| {
        rules.iter().map(|rule| rule.len() as f64).product::<f64>() <= evaluations as f64
    };
    converged(rules.take_while(affordable).map(|rules| tensor(fisher, &rules)), tolerance, 0.0)
}

fn by_sectors(
    fisher: &dyn FisherInformation,
    alpha: &[f64],
    tolerance: f64,
    evaluations: usize,
) -> Option<Evaluation> {
    if alpha.len() > MOST_INPUTS_OF_SECTORS {
        return None;
    }
    let orders = [5, 8, 12, 16, 22, 30].into_iter();
    // There is no further fallback for so few inputs, and their determinants are cheap.
    let evaluations = evaluations.max(1 << 22);
    let affordable = orders.take_while(|&order| sectors::points(alpha, order) <= evaluations);
    converged(affordable.map(|order| sectors::mean_ln_det(fisher, alpha, order)), tolerance, 0.0)
}

/// The last of a sequence of values, once two agree within `tolerance` or the sequence ends or stalls.
/// `node_error` is the error due to the rounding of the nodes.
fn converged(values: impl Iterator<Item = f64>, tolerance: f64, node_error: f64) -> Option<Evaluation> {
    let (mut last, mut change, mut found) = (f64::NAN, f64::NAN, None);
    for (count, value) in values.enumerate() {
        let now = (value - last).abs();
        if count >= 2 {
            let rounding = 32.0 * f64::EPSILON * value.abs() + node_error;
            // If a step gains less than a digit, the remaining steps add up to more than the last change.
            let remaining = if now > 0.1 * change { 10.0 * now } else { now.max(1e-3 * change) };
            let error = remaining + rounding;
            found = better(found, Some(Evaluation::new(value, error, Method::Quadrature)));
            // Less than a digit gained from the fifth rule on: convergence is algebraic, and more nodes would
            // be wasted.
            let stalled = count >= 5 && now > 0.3 * change && now > rounding;
            if error <= tolerance || now <= rounding || stalled {
                break;
            }
        }
        (last, change) = (value, now);
    }
    found
}

/// A rule for each `B_x`.
fn sticks(alpha: &[f64], rule: impl Fn(f64, f64) -> Vec<BetaNode>) -> Vec<Vec<BetaNode>> {
    (0..alpha.len() - 1).map(|x| rule(alpha[x], alpha[x + 1..].iter().sum())).collect()
}

/// The sum over the tensor product, first coordinate in parallel, summed in a fixed order.
fn tensor(fisher: &dyn FisherInformation, rules: &[Vec<BetaNode>]) -> f64 {
    let part = |node: &BetaNode| {
        let mut sum = 0.0;
        let mut add = |weight: f64, point: Point| {
            check();
            sum += weight * fisher.ln_det(&point);
        };
        stick(&rules[1..], &mut vec![], (0.0, 1.0), node, &mut add);
        sum
    };
    let parts: Vec<f64> = rules[0].par_iter().map(part).collect();
    parts.iter().sum()
}

/// The points of the Gauss rule with `order` nodes per dimension, with their weights.
pub fn gauss_points(alpha: &[f64], order: usize) -> Vec<(f64, Point)> {
    tensor_points(&sticks(alpha, |h, t| gauss(h, t, order)))
}

/// The points of the logit trapezoid of the given step, with their weights; `contrast` as in
/// [`FisherInformation::contrast`].
pub fn logit_points(alpha: &[f64], contrast: f64, step: f64) -> Vec<(f64, Point)> {
    tensor_points(&sticks(alpha, |h, t| logit_trapezoid(h, t, logit_width(contrast), step)))
}

fn tensor_points(rules: &[Vec<BetaNode>]) -> Vec<(f64, Point)> {
    let mut points = Vec::new();
    for node in &rules[0] {
        stick(&rules[1..], &mut vec![], (0.0, 1.0), node, &mut |weight, point| points.push((weight, point)));
    }
    points
}

/// The features of `ln det` lie within `±ε` of the centre.
fn logit_width(contrast: f64) -> f64 {
    (0.5 * contrast.ln_1p()).clamp(1.0, 30.0)
}

/// Weights below this are skipped: even with a `ln det` of thousands they contribute less than `1e-18` in
/// total.
const NEGLIGIBLE_WEIGHT: f64 = 1e-26;

/// Visits all points that share the coordinates `ln_p` followed by `node`. The mass left for `node` and the
/// later coordinates is `e^{ln_left}`.
fn stick(
    rest: &[Vec<BetaNode>],
    ln_p: &mut Vec<f64>,
    (ln_left, weight): (f64, f64),
    node: &BetaNode,
    visit: &mut dyn FnMut(f64, Point),
) {
    let weight = weight * node.weight;
    if weight < NEGLIGIBLE_WEIGHT {
        return;
    }
    ln_p.push(ln_left + node.ln_head);
    let ln_left = ln_left + node.ln_tail;
    match rest {
        [] => visit(weight, Point::from_ln_weights([&ln_p[..], &[ln_left]].concat())),
        [rule, rest @ ..] => rule.iter().for_each(|node| stick(rest, ln_p, (ln_left, weight), node, visit)),
    }
    ln_p.pop();
}
