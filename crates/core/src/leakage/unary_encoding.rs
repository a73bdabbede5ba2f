//! Unary encoding: every input has a bit, one with probability κ if it is the user's and λ if not. RAPPOR, OUE and,
//! output by output, local hashing are of this kind.

use super::mixture::{self, CloseNode, DirectNode, Pair, Ratio, Relative};
use super::row::evaluation;
use super::{GroupedPrior, erasure};
use crate::model::evaluation::Evaluation;
use crate::model::protocol::BitNoise;
use crate::numerics::special::{exp_difference, ln_bernoulli_moment};
use crate::numerics::trapezoid::{Term, trapezoid};

/// Leakage of unary encoding.
///
/// # Definition
/// A report is a subset `y` of the inputs, `Q_{y|x} = π(y) r_x(y)`, where `π` draws each bit with probability λ, and
/// `r_x = κ/λ` if `x ∈ y`, else `(1−κ)/(1−λ)`. If `λ = 0` or `λ = 1` the odd bit tells the truth: erasure.
///
/// # Method and cost
/// One integral (the bits are independent, so the average over all `2^a` reports factorises), `O(distinct alphas)` a node.
/// Ratios near one are treated by second-order differences.
///
/// # Accuracy
/// Largest relative error measured: `1.5e-15`, for RAPPOR, OUE and local hashing at `ε` from `1e-6` to `50`, alpha from `0.01` to
/// `1e4`, `a` from 2 to `10^4`. At random extremes (λ within `1e-6` of 0 or 1, alphas from `1e-3` to `1e6` in one prior) `1.7e-13`,
/// where a rare bit has the small ratio; the stated error held in every case (`tests/tables/leakage.rs`).
///
/// # Example
/// ```
/// use sottovoce::leakage::{GroupedPrior, unary_encoding};
/// use sottovoce::protocol::BitNoise;
/// let prior = GroupedPrior::dirichlet_groups(&[(0.5, 10_000)]);
/// let tiny = unary_encoding(&BitNoise::rappor(1e-6), &prior).value;
/// assert!((tiny / (1e-12 / 8.0) - 1.0).abs() < 1e-3); // ½ E[(r−1)²] = ε²/8, nearly
/// ```
pub fn unary_encoding(noise: &BitNoise, prior: &GroupedPrior) -> Evaluation {
    if noise.lambda == 0.0 {
        return erasure(noise.kappa, prior);
    }
    if noise.lambda_complement == 0.0 {
        return erasure(noise.kappa_complement, prior);
    }
    let one = Ratio { value: noise.member_ratio(), excess: noise.member_deviation };
    let zero = Ratio { value: noise.other_ratio(), excess: noise.other_deviation };
    if prior.inputs() == 1.0 || one.excess == 0.0 {
        return Evaluation::closed_form(0.0, 0);
    }
    let (left, right) = mixture::limits(one, zero, prior);
    let mut bits =
        Bits { prior, ln_moments: vec![0.0; prior.groups.len()], ln_others: vec![0.0; prior.groups.len()] };
    if mixture::are_close(one, zero) {
        return evaluation(trapezoid(left, right, |u| bits.close_term(u, one, zero, noise.lambda)));
    }
    // The smaller ratio is the better reference, because nothing grows relative to it, unless it is rare.
    let (one, zero) = (
        Bit { ratio: one, probability: noise.lambda },
        Bit { ratio: zero, probability: noise.lambda_complement },
    );
    let (small, large) = if one.ratio.value > zero.ratio.value { (zero, one) } else { (one, zero) };
    let (reference, other) = if small.probability >= 0.1 { (small, large) } else { (large, small) };
    evaluation(trapezoid(left, right, |u| bits.direct_term(u, reference, other)))
}

/// A value of a bit: its likelihood ratio and its probability for inputs other than the user's.
#[derive(Clone, Copy)]
struct Bit {
    ratio: Ratio,
    probability: f64,
}

/// The prior and the room in which one node is computed.
struct Bits<'a> {
    prior: &'a GroupedPrior,
    /// `ln E[(1 + r_x t)^{−α_x}]` relative to a reference, for one input of each group.
    ln_moments: Vec<f64>,
    /// The sum of `ln_moments` over all inputs but one of each group.
    ln_others: Vec<f64>,
}

impl Bits<'_> {
    fn sum_others(&mut self) {
        let mut prefix = 0.0;
        for (i, x) in self.prior.groups.iter().enumerate() {
            self.ln_others[i] = prefix + (x.count - 1.0) * self.ln_moments[i];
            prefix += x.count * self.ln_moments[i];
        }
        let mut suffix = 0.0;
        for (i, x) in self.prior.groups.iter().enumerate().rev() {
            self.ln_others[i] += suffix;
            suffix += x.count * self.ln_moments[i];
        }
    }

    /// Ratios near one, all terms of second order.
    fn close_term(&mut self, u: f64, one: Ratio, zero: Ratio, lambda: f64) -> Term {
        let prior = self.prior;
        let Some(CloseNode { scale, base }) = mixture::close_node(u, prior) else { return Term::default() };
        let inside = Relative::new(one, scale, prior.is_point);
        let outside = Relative::new(zero, scale, prior.is_point);
        let pair = Pair { inside, outside, share: lambda };
        for (ln_moment, x) in self.ln_moments.iter_mut().zip(&prior.groups) {
            *ln_moment = pair.power_excess(x.mass).ln_1p();
        }
        self.sum_others();
        let mut term = Term::default();
        for (x, ln_others) in prior.groups.iter().zip(&self.ln_others) {
            let (mean, slope, bend) = pair.moments(prior.bias() + x.mass, x.others, scale);
            let (rise, slope) = (mean * ln_others.exp_m1(), x.others * slope);
            let weight = x.count * x.weight * base;
            term.value += weight * (rise + slope - bend);
            term.magnitude += weight * (rise.abs() + slope.abs() + bend);
        }
        term
    }

    /// Ratios apart, all relative to one of them.
    fn direct_term(&mut self, u: f64, reference: Bit, other: Bit) -> Term {
        let prior = self.prior;
        let node = mixture::direct_node(u, reference.ratio, other.ratio, prior);
        if node.is_over() {
            return Term::default();
        }
        let DirectNode { ln_base, ln_other, delta } = node;
        for (ln_moment, x) in self.ln_moments.iter_mut().zip(&prior.groups) {
            *ln_moment = ln_bernoulli_moment(other.probability, -x.mass * delta);
        }
        self.sum_others();
        let mut term = Term::default();
        for (x, &ln_others) in prior.groups.iter().zip(&self.ln_others) {
            let usual = exp_difference(ln_base + ln_others, ln_base, ln_others);
            let ln_odd = ln_base - (prior.bias() + x.mass) * delta + ln_others;
            let odd = exp_difference(ln_odd, ln_other, ln_others + x.others * delta);
            let usual = reference.probability * reference.ratio.value * usual;
            let odd = other.probability * other.ratio.value * odd;
            // Exponents that cancel leave their rounding behind.
            let condition = 1.0 + (ln_base.abs() + ln_others.abs()) / EXPONENT_OF_A_TERM;
            term.value += x.count * x.weight * (usual + odd);
            term.magnitude += x.count * x.weight * (usual.abs() + odd.abs()) * condition;
        }
        term
    }
}

/// Exponents up to this are within the rounding that [`trapezoid`] allows every term.
const EXPONENT_OF_A_TERM: f64 = 40.0;
