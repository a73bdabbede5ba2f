//! Unary encoding: every input has a bit, one with probability κ if it is the user's and λ if not. RAPPOR, OUE and,
//! output by output, local hashing are of this kind.

use super::mixture::{self, CloseNode, DirectNode, Pair, Ratio, Relative};
use super::row::evaluation;
use super::{UserPrior, erasure};
use crate::evaluation::Evaluation;
use crate::special::{exp_difference, ln_bernoulli_moment};
use crate::trapezoid::{Term, trapezoid};

/// The bit probabilities of unary encoding, with their ratios `A = κ/λ` and `B = (1−κ)/(1−λ)` and the excesses
/// `A − 1` and `B − 1` to full precision, which two rounded probabilities cannot give at small ε.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnaryEncoding {
    kappa: f64,
    lambda: f64,
    one: Ratio,
    zero: Ratio,
}

impl UnaryEncoding {
    /// From the probabilities of a one for the user's own bit (`kappa`) and for any other (`lambda`), taken as exact.
    ///
    /// # Panics
    /// If a probability is not in `[0, 1]`.
    pub fn new(kappa: f64, lambda: f64) -> Self {
        let valid = (0.0..=1.0).contains(&kappa) && (0.0..=1.0).contains(&lambda);
        assert!(valid, "bit probabilities {kappa}, {lambda} must lie between 0 and 1");
        let difference = kappa - lambda;
        let one = Ratio { value: kappa / lambda, excess: difference / lambda };
        let zero = Ratio { value: (1.0 - kappa) / (1.0 - lambda), excess: -difference / (1.0 - lambda) };
        UnaryEncoding { kappa, lambda, one, zero }
    }

    /// From `λ` and the excess `κ/λ − 1` of the ratio, which may be as small as one likes.
    ///
    /// # Panics
    /// If `λ` is not in `(0, 1)` or `κ` not in `[0, 1]`.
    pub fn from_excess(lambda: f64, excess: f64) -> Self {
        let kappa = lambda * (1.0 + excess);
        assert!(lambda > 0.0 && lambda < 1.0, "bit probability {lambda} must lie inside (0, 1)");
        assert!((0.0..=1.0).contains(&kappa), "bit probability {kappa} must lie between 0 and 1");
        let one = Ratio { value: 1.0 + excess, excess };
        let zero = Ratio { value: (1.0 - kappa) / (1.0 - lambda), excess: -lambda * excess / (1.0 - lambda) };
        UnaryEncoding { kappa, lambda, one, zero }
    }

    /// Symmetric unary encoding (basic RAPPOR): `κ = 1 − λ = e^{ε/2}/(e^{ε/2} + 1)`.
    pub fn symmetric(epsilon: f64) -> Self {
        let half = 0.5 * epsilon;
        let one = Ratio { value: half.exp(), excess: half.exp_m1() };
        let zero = Ratio { value: (-half).exp(), excess: (-half).exp_m1() };
        UnaryEncoding { kappa: 1.0 / (1.0 + zero.value), lambda: 1.0 / (1.0 + one.value), one, zero }
    }

    /// Optimised unary encoding (OUE): `κ = ½`, `λ = 1/(e^ε + 1)`.
    pub fn optimised(epsilon: f64) -> Self {
        let one = Ratio { value: 0.5 * (epsilon.exp() + 1.0), excess: 0.5 * epsilon.exp_m1() };
        let zero = Ratio { value: 0.5 * (1.0 + (-epsilon).exp()), excess: 0.5 * (-epsilon).exp_m1() };
        UnaryEncoding { kappa: 0.5, lambda: 0.5 / one.value, one, zero }
    }

    /// The unary encoding whose outputs have the likelihoods of local hashing to `buckets` values:
    /// `κ = e^ε/(e^ε + g − 1)`, `λ = 1/g`.
    ///
    /// # Panics
    /// If there are fewer than two buckets.
    pub fn local_hash(buckets: usize, epsilon: f64) -> Self {
        assert!(buckets >= 2, "local hashing needs two buckets at least");
        let g = buckets as f64;
        // Divided by e^ε, so that a large ε does not overflow.
        let (inverse, gain) = ((-epsilon).exp(), -(-epsilon).exp_m1());
        let normaliser = gain + g * inverse;
        let one = Ratio { value: g / normaliser, excess: (g - 1.0) * gain / normaliser };
        let zero = Ratio { value: g * inverse / normaliser, excess: -gain / normaliser };
        UnaryEncoding { kappa: 1.0 / normaliser, lambda: 1.0 / g, one, zero }
    }

    /// Probability of a one in the user's own bit.
    pub fn kappa(&self) -> f64 {
        self.kappa
    }

    /// Probability of a one in any other bit.
    pub fn lambda(&self) -> f64 {
        self.lambda
    }
}

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
/// use sottovoce::leakage::{UnaryEncoding, UserPrior, unary_encoding};
/// let prior = UserPrior::dirichlet_groups(&[(0.5, 10_000)]);
/// let tiny = unary_encoding(&UnaryEncoding::symmetric(1e-6), &prior).value;
/// assert!((tiny / (1e-12 / 8.0) - 1.0).abs() < 1e-3); // ½ E[(r−1)²] = ε²/8, nearly
/// ```
pub fn unary_encoding(protocol: &UnaryEncoding, prior: &UserPrior) -> Evaluation {
    let UnaryEncoding { kappa, lambda, one, zero } = *protocol;
    if lambda == 0.0 {
        return erasure(kappa, prior);
    }
    if lambda == 1.0 {
        return erasure(1.0 - kappa, prior);
    }
    if prior.inputs() == 1.0 || one.excess == 0.0 {
        return Evaluation::closed_form(0.0, 0);
    }
    let (left, right) = mixture::limits(one, zero, prior);
    let mut bits =
        Bits { prior, ln_moments: vec![0.0; prior.groups.len()], ln_others: vec![0.0; prior.groups.len()] };
    if mixture::are_close(one, zero) {
        return evaluation(trapezoid(left, right, |u| bits.close_term(u, protocol)));
    }
    // The smaller ratio is the better reference, because nothing grows relative to it, unless it is rare.
    let (one, zero) =
        (Bit { ratio: one, probability: lambda }, Bit { ratio: zero, probability: 1.0 - lambda });
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
    prior: &'a UserPrior,
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
    fn close_term(&mut self, u: f64, protocol: &UnaryEncoding) -> Term {
        let prior = self.prior;
        let Some(CloseNode { scale, base }) = mixture::close_node(u, prior) else { return Term::default() };
        let inside = Relative::new(protocol.one, scale, prior.is_point);
        let outside = Relative::new(protocol.zero, scale, prior.is_point);
        let pair = Pair { inside, outside, share: protocol.lambda };
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
