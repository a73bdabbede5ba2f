//! One-dimensional rules for a Beta variable, with the logarithms of both ends.

use super::dirichlet_mean::LinearForm;
use super::gauss::jacobi;
use super::special::{digamma_difference, ln_beta};

/// A node of a rule for `B ~ Beta`: `ln B`, `ln(1−B)` and its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BetaNode {
    pub ln_head: f64,
    pub ln_tail: f64,
    pub weight: f64,
}

/// The mean of `f(ln B, ln(1−B))` under a rule.
pub(crate) fn mean(rule: &[BetaNode], f: impl Fn(f64, f64) -> f64) -> f64 {
    rule.iter().map(|node| node.weight * f(node.ln_head, node.ln_tail)).sum()
}

/// The Gauss rule of `Beta(head, tail)` with `order` nodes (Gauss–Jacobi): exact for polynomials of degree `2·order − 1`.
pub(crate) fn gauss(head: f64, tail: f64, order: usize) -> Vec<BetaNode> {
    // A node may round past an end; 1e-18 is below what the node knows.
    let ln = |v: f64| v.max(1e-18).ln();
    let node =
        |(x, weight): (f64, f64)| BetaNode { ln_head: ln(0.5 + 0.5 * x), ln_tail: ln(0.5 - 0.5 * x), weight };
    jacobi(head, tail, order).into_iter().map(node).collect()
}

/// A trapezoidal rule for `Beta(head, tail)` in `logit B = mode + width · sinh v`, `step` apart in `v`.
///
/// For integrands with logarithmic singularities at the ends, and for prior weight at `ln B ≈ −1/head`: the density falls like
/// `e^{−head |logit|}`, so a `sinh` spans thousands with few nodes. Weights are scaled to sum to one.
pub(crate) fn logit_trapezoid(head: f64, tail: f64, width: f64, step: f64) -> Vec<BetaNode> {
    let mode = (head / tail).ln();
    let ln_b = ln_beta(head, tail);
    let ln_density = |t: f64| head * ln_logistic(t) + tail * ln_logistic(-t) - ln_b;
    let deviation = ((head + tail) / (head * tail)).sqrt();
    let width = width.min(deviation);
    let reach = |sign: f64| {
        let fallen = |v: &i32| {
            ln_density(mode + sign * width * (f64::from(*v) * step).sinh()) < ln_density(mode) - LN_NEGLIGIBLE
        };
        (0..100_000).find(fallen).unwrap_or(100_000)
    };
    let node = |j: i32| {
        let v = f64::from(j) * step;
        let t = mode + width * v.sinh();
        let weight = (ln_density(t) + (step * width * v.cosh()).ln()).exp();
        BetaNode { ln_head: ln_logistic(t), ln_tail: ln_logistic(-t), weight }
    };
    let mut rule: Vec<BetaNode> = (-reach(-1.0)..=reach(1.0)).map(node).collect();
    let total = mean(&rule, |_, _| 1.0);
    rule.iter_mut().for_each(|node| node.weight /= total);
    rule
}

/// The density is followed down to `e^{−42}` of its peak: what is left times its `logit` is below `1e-14` of the mean.
const LN_NEGLIGIBLE: f64 = 42.0;

fn ln_logistic(t: f64) -> f64 {
    -((-t.abs()).exp().ln_1p() + (-t).max(0.0))
}

/// `E ln(1 + c B)` for `B ~ Beta(head, tail)`.
pub(crate) fn mean_ln_one_plus(head: f64, tail: f64, c: f64) -> f64 {
    LinearForm::from_deviations(&[(head, c), (tail, 0.0)]).mean_ln().value
}

/// `E ln B` for `B ~ Beta(head, tail)`.
pub(crate) fn mean_ln(head: f64, tail: f64) -> f64 {
    -digamma_difference(head, tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gauss_rule_has_the_moments_of_beta() {
        for (head, tail) in [(0.01, 0.01), (0.5, 1.5), (3.0, 0.05), (1e4, 2e4), (0.5, 499.5)] {
            let rule = gauss(head, tail, 12);
            let mut moment = 1.0;
            for degree in 0..20 {
                let found = mean(&rule, |ln_b, _| (f64::from(degree) * ln_b).exp());
                assert!((found / moment - 1.0).abs() < 1e-11, "{head} {tail} {degree} {found} {moment}");
                moment *= (head + f64::from(degree)) / (head + tail + f64::from(degree));
            }
        }
    }

    #[test]
    fn logit_rule_has_the_mean_logarithm() {
        for (head, tail) in [(0.01, 0.01), (0.01, 0.02), (0.5, 1.5), (3.0, 0.05), (1e4, 2e4), (0.01, 10.0)] {
            let rule = logit_trapezoid(head, tail, 2.0, 0.05);
            let (found, exact) = (mean(&rule, |ln_b, _| ln_b), mean_ln(head, tail));
            assert!((found / exact - 1.0).abs() < 1e-12, "{head} {tail} {found} {exact}");
        }
    }

    #[test]
    fn mean_logarithms_agree_with_the_gauss_rule() {
        for (head, tail) in [(0.01, 0.02), (0.01, 99.99), (0.5, 4999.5), (100.0, 1e5), (2.0, 0.3)] {
            for c in [1e-6, 0.1, 1.7, 54.0] {
                let gauss = mean(&gauss(head, tail, 90), |ln_b, _| (c * ln_b.exp()).ln_1p());
                let found = mean_ln_one_plus(head, tail, c);
                assert!((found / gauss - 1.0).abs() < 1e-11, "{head} {tail} {c} {found} {gauss}");
            }
        }
    }
}
