//! What protocols share whose reports are subsets: two likelihood ratios, one for inputs inside the report and one for those
//! outside, averaged over the reports inside the integral.
//!
//! With `r_x ∈ {A, B}` the likelihood ratio of input `x` to the average input, and `b_x = α0 − α_x`,
//!
//! ```text
//! I(X;Y|P) = Σ_x w_x ∫ E_y[ r_x (1 + r_x t)^{−1−α_x} ( Π_{x'≠x} (1 + r_x' t)^{−α_x'} − (1 + r_x t)^{−b_x} ) ] dt/t
//! ```
//!
//! which follows from `I = Σ_x w_x E[ r_x ln(r_x / L) ]` under the size-biased prior `Dir(α + e_x)`. Both parts of the bracket
//! are near one when `x` has nearly all the mass, and when `α0` is small, so that nothing is lost there. For a point prior `(1 + r t)^{−α}`
//! becomes `e^{−r p t}` and the exponent `−1` disappears.

use super::prior::GroupedPrior;
use crate::numerics::special::{ln1p_excess, power_excess_of_ln};

/// A likelihood ratio `r` and `r − 1`, each with its own digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ratio {
    pub value: f64,
    pub excess: f64,
}

/// Ratios this near to one are treated by second-order differences; above it cancellation loses at most two digits,
/// below it `(1 + r t)^{−α0}` over `(1 + t)^{−α0}` cannot overflow before both vanish.
const CLOSE: f64 = 0.25;

pub(super) fn are_close(inside: Ratio, outside: Ratio) -> bool {
    inside.excess.abs().max(outside.excess.abs()) <= CLOSE
}

/// Left and right of these the integrand decays as `e^{−|u|}`.
pub(super) fn limits(inside: Ratio, outside: Ratio, prior: &GroupedPrior) -> (f64, f64) {
    let largest = inside.value.max(outside.value);
    let smallest = inside.value.min(outside.value);
    let left = -(largest * (1.0 + prior.total)).ln();
    (left, if smallest > 0.0 { -smallest.ln() } else { 0.0 })
}

/// `(1 + r t)/(1 + t) = 1 + (r − 1) s` at one node, or `e^{−(r−1) t}` for a point prior.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relative {
    pub excess: f64,
    /// `ln(1 + z)`, `z = (r − 1) s`.
    pub ln_one_plus: f64,
    /// `ln(1 + z) − z`.
    pub ln_excess: f64,
}

impl Relative {
    pub fn new(ratio: Ratio, scale: f64, is_point: bool) -> Self {
        let z = ratio.excess * scale;
        let (ln_one_plus, ln_excess) = if is_point { (z, 0.0) } else { (z.ln_1p(), ln1p_excess(z)) };
        Relative { excess: ratio.excess, ln_one_plus, ln_excess }
    }

    /// `h − 1`, where `h = r (1+z)^{−1−α}`.
    pub fn biased(&self, exponent: f64) -> f64 {
        let power = (-exponent * self.ln_one_plus).exp_m1();
        self.excess + power + self.excess * power
    }

    /// `(1+z)^{−α} − 1 + αz`.
    pub fn power_excess(&self, alpha: f64) -> f64 {
        power_excess_of_ln(self.ln_one_plus, self.ln_excess, alpha)
    }
}

/// The two likelihood ratios at one node of the second-order form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub inside: Relative,
    pub outside: Relative,
    /// Probability of the first.
    pub share: f64,
}

impl Pair {
    /// Mean of the two power excesses.
    pub fn power_excess(&self, alpha: f64) -> f64 {
        self.share * self.inside.power_excess(alpha) + (1.0 - self.share) * self.outside.power_excess(alpha)
    }

    /// `E[h]`, `s E[(r−1)(h−1)]` and `E[h ((1+z)^{−b} − 1 + bz)]`, for an input of exponent `1 + α` and all others of sum `b`.
    pub fn moments(&self, exponent: f64, others: f64, scale: f64) -> (f64, f64, f64) {
        let (inside, outside) = (self.inside.biased(exponent), self.outside.biased(exponent));
        let (p, q) = (self.share, 1.0 - self.share);
        let slope = scale * (p * self.inside.excess * inside + q * self.outside.excess * outside);
        let bend = p * (1.0 + inside) * self.inside.power_excess(others)
            + q * (1.0 + outside) * self.outside.power_excess(others);
        (1.0 + p * inside + q * outside, slope, bend)
    }
}

/// A node of the second-order form: `s = t/(1+t)` (`t` for a point prior) and `(1+t)^{−1−α0}` (`e^{−t}`).
pub(super) struct CloseNode {
    pub scale: f64,
    pub base: f64,
}

/// `None` where the integrand is below `e^{−80}`.
pub(super) fn close_node(u: f64, prior: &GroupedPrior) -> Option<CloseNode> {
    let t = u.exp();
    let lowest = (1.0 - CLOSE) * t;
    let decay = if prior.is_point { lowest } else { prior.total * lowest.ln_1p() };
    if decay > 80.0 {
        return None;
    }
    Some(if prior.is_point {
        CloseNode { scale: t / prior.total, base: (-t).exp() }
    } else {
        CloseNode { scale: t / (1.0 + t), base: (-(1.0 + prior.total) * t.ln_1p()).exp() }
    })
}

/// A node of the direct form, with one of the two ratios as reference.
pub(super) struct DirectNode {
    /// `−(1+α0) ln(1 + C t)` of the reference `C`.
    pub ln_base: f64,
    /// `−(1+α0) ln(1 + D t)` of the other ratio `D`.
    pub ln_other: f64,
    /// `Δ = ln((1 + D t)/(1 + C t))`.
    pub delta: f64,
}

impl DirectNode {
    /// Whether nothing of the integrand is left.
    pub fn is_over(&self) -> bool {
        self.ln_base.max(self.ln_other) < -300.0
    }
}

pub(super) fn direct_node(u: f64, reference: Ratio, other: Ratio, prior: &GroupedPrior) -> DirectNode {
    let t = u.exp();
    let difference = other.excess - reference.excess;
    if prior.is_point {
        let (ln_base, ln_other) = (-reference.value * t, -other.value * t);
        return DirectNode { ln_base, ln_other, delta: difference * t / prior.total };
    }
    let ct = reference.value * t;
    // For a tiny D the difference has forgotten it, and 1 + D t ≥ 1 is what is left.
    let quotient = difference * t / (1.0 + ct);
    let delta = if quotient > -0.5 { quotient.ln_1p() } else { (other.value * t).ln_1p() - ct.ln_1p() };
    let exponent = -(1.0 + prior.total);
    DirectNode { ln_base: exponent * ct.ln_1p(), ln_other: exponent * (other.value * t).ln_1p(), delta }
}
