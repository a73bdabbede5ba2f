//! Unary encoding reported several times: each input has a count of ones instead of one bit.

use super::row::evaluation;
use super::{GroupedPrior, erasure};
use crate::model::evaluation::Evaluation;
use crate::model::protocol::BitNoise;
use crate::numerics::special::{binomial_probability, exp_difference};
use crate::numerics::trapezoid::{Term, trapezoid};

/// How often the bit of one input was set in `K` reports: the probability of that count if the input is the user's value and
/// if it is not, and the logarithm of their ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BitCount {
    /// Probability for the user's value.
    pub member: f64,
    /// Probability for another value.
    pub other: f64,
    /// `ln(member / other)`, accurate also where the ratio is near 1; infinite if only the user's value can have this count.
    pub ln_ratio: f64,
}

/// The noise on the bits of several reports of unary encoding about one value.
///
/// Fresh noise draws each report from the value; with memoised noise the bits of one permanent report are drawn from the
/// value, and every report draws its bits from those.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RepeatedBits {
    /// Noise of the permanent bits, if there are any.
    pub permanent: Option<BitNoise>,
    /// Noise of the bits of each report.
    pub each: BitNoise,
}

impl RepeatedBits {
    /// The counts 0, …, `rounds` of ones in one bit.
    pub fn counts(&self, rounds: u64) -> Vec<BitCount> {
        (0..=rounds).map(|ones| self.count(rounds, ones)).collect()
    }

    fn count(&self, rounds: u64, ones: u64) -> BitCount {
        let (trials, k) = (rounds as f64, ones as f64);
        let set = binomial(trials, self.each.kappa, self.each.kappa_complement, k);
        let clear = binomial(trials, self.each.lambda, self.each.lambda_complement, k);
        let ln_ratio = self.ln_ratio(rounds, ones);
        match self.permanent {
            None => BitCount { member: set, other: clear, ln_ratio },
            Some(bits) => BitCount {
                member: bits.kappa * set + bits.kappa_complement * clear,
                other: bits.lambda * set + bits.lambda_complement * clear,
                ln_ratio,
            },
        }
    }

    /// `ln` of the likelihood ratio of `ones` ones in `rounds` reports. It increases with `ones`.
    fn ln_ratio(&self, rounds: u64, ones: u64) -> f64 {
        let times = |count: u64, ln: f64| if count == 0 { 0.0 } else { count as f64 * ln };
        let ln_one = ln_ratio(self.each.member_deviation, self.each.kappa, self.each.lambda);
        let (kappa, lambda) = (self.each.kappa_complement, self.each.lambda_complement);
        let ln_zero = ln_ratio(self.each.other_deviation, kappa, lambda);
        let ln_set = times(ones, ln_one) + times(rounds - ones, ln_zero);
        self.permanent.map_or(ln_set, |bits| remembered(&bits, ln_set))
    }

    /// The LDP level after `rounds` reports: one bit always set, another one never. Both extremes are possible at once, and
    /// the ratio of a bit increases with its count of ones.
    pub fn level(&self, rounds: u64) -> Evaluation {
        let level = self.ln_ratio(rounds, rounds) - self.ln_ratio(rounds, 0);
        // A count that is impossible for both values has no ratio; it occurs only where κ = λ.
        Evaluation::closed_form(if level.is_nan() { 0.0 } else { level }, 16)
    }
}

/// `ln(p/q)`, given `p/q − 1`.
fn ln_ratio(deviation: f64, p: f64, q: f64) -> f64 {
    if deviation.abs() < 0.5 { deviation.ln_1p() } else { p.ln() - q.ln() }
}

fn binomial(trials: f64, share: f64, complement: f64, ones: f64) -> f64 {
    match (share > 0.0, complement > 0.0) {
        (false, _) => f64::from(ones == 0.0),
        (_, false) => f64::from(ones == trials),
        // The smaller of both is the more accurate one.
        _ if complement < share => binomial_probability(trials, complement, trials - ones),
        _ => binomial_probability(trials, share, ones),
    }
}

/// `ln[(κρ + 1 − κ)/(λρ + 1 − λ)]`, where `ln ρ` says how strongly the reports favour a permanent bit that is set:
/// `1 + (κ − λ)(ρ − 1)/(λρ + 1 − λ)`, with `ρ` and `1/ρ` in place of each other where `ρ` is large.
fn remembered(bits: &BitNoise, ln_rho: f64) -> f64 {
    let difference = -bits.other_deviation * bits.lambda_complement;
    if difference <= 0.0 || ln_rho == 0.0 {
        return 0.0;
    }
    let (set, clear) = if ln_rho > 0.0 { (1.0, (-ln_rho).exp()) } else { (ln_rho.exp(), 1.0) };
    let excess = if ln_rho > 0.0 { -(-ln_rho).exp_m1() } else { ln_rho.exp_m1() };
    let other = bits.lambda * set + bits.lambda_complement * clear;
    let member = bits.kappa * set + bits.kappa_complement * clear;
    ln_ratio(difference * excess / other, member, other)
}

/// Counts of smaller probability than this are left out.
const NEGLIGIBLE: f64 = 1e-22;

/// Leakage of several reports of unary encoding about one value.
///
/// # Definition
/// The reports matter through the count of ones of each bit. Counts of different inputs are independent, with the
/// probabilities of [`BitCount`].
///
/// # Method and cost
/// One integral, as for one report (`leakage::unary_encoding`): the average over all `(K+1)^a` counts
/// factorises. `O(K · distinct alphas)` per node.
///
/// # Accuracy
/// Absolute: about `1e-15`, unlike the kernels of one report, whose relative error is as small. The stated error covered every
/// difference from the expanded matrix in `tests/rounds.rs`.
///
/// # Example
/// ```
/// use sottovoce::leakage::{GroupedPrior, RepeatedBits, repeated_bits, unary_encoding};
/// use sottovoce::protocol::BitNoise;
/// let prior = GroupedPrior::dirichlet_groups(&[(0.5, 16)]);
/// let bits = RepeatedBits { permanent: None, each: BitNoise::oue(1.0) };
/// let (once, thrice) = (repeated_bits(&bits, 1, &prior).value, repeated_bits(&bits, 3, &prior).value);
/// assert!((once - unary_encoding(&BitNoise::oue(1.0), &prior).value).abs() < 1e-14);
/// assert!(thrice > once && thrice < 3.0 * once);
/// ```
pub fn repeated_bits(bits: &RepeatedBits, rounds: u64, prior: &GroupedPrior) -> Evaluation {
    let mut counts = bits.counts(rounds);
    counts.retain(|count| count.member.max(count.other) > NEGLIGIBLE);
    // A count that no other value can have reveals the user's value.
    let revealed: f64 = counts.iter().filter(|c| c.ln_ratio == f64::INFINITY).map(|c| c.member).sum();
    counts.retain(|count| count.ln_ratio < f64::INFINITY);
    let possible = counts.iter().filter(|count| count.member > 0.0 && count.ln_ratio.is_finite());
    let ends = possible.map(|count| count.ln_ratio);
    let (low, high) =
        ends.fold((0f64, 0f64), |(low, high), ln_ratio| (low.min(ln_ratio), high.max(ln_ratio)));
    if prior.inputs() == 1.0 || (low == high && revealed == 0.0) {
        return Evaluation::closed_form(0.0, 0);
    }
    let mut integrand =
        Integrand { counts: &counts, prior, ln_others: vec![0.0; prior.groups.len()], exponents: vec![] };
    let left = -high - (1.0 + prior.total).ln();
    evaluation(trapezoid(left, -low, |u| integrand.term(u))).plus(erasure(revealed, prior))
}

/// The integrand of `leakage/mixture.rs` with a ratio for each count.
struct Integrand<'a> {
    counts: &'a [BitCount],
    prior: &'a GroupedPrior,
    /// `Σ ln E[(1 + r_x t)^{−α_x}]` over all inputs except one of each group.
    ln_others: Vec<f64>,
    /// `ln(1 + r t)` of each count, or `r t` under a point prior.
    exponents: Vec<f64>,
}

impl Integrand<'_> {
    fn term(&mut self, u: f64) -> Term {
        let prior = self.prior;
        let exponent = |count: &BitCount| {
            let ln_rt = count.ln_ratio + u;
            match prior.is_point {
                true => ln_rt.exp() / prior.total,
                false if ln_rt > 0.0 => ln_rt + (-ln_rt).exp().ln_1p(),
                false => ln_rt.exp().ln_1p(),
            }
        };
        self.exponents.clear();
        self.exponents.extend(self.counts.iter().map(exponent));
        self.sum_others();
        let mut term = Term::default();
        for (x, &ln_others) in prior.groups.iter().zip(&self.ln_others) {
            let weight = x.count * x.weight;
            for (count, &l) in self.counts.iter().zip(&self.exponents).filter(|_| weight > 0.0) {
                let own = -(prior.bias() + x.mass) * l;
                let (mixed, alone) = (own + ln_others, own - x.others * l);
                let largest = mixed.max(alone);
                if largest > -700.0 {
                    let value = exp_difference(mixed, alone, ln_others + x.others * l);
                    // The exponents cancel, and leave their rounding errors.
                    let rounding = largest.exp() * (ln_others.abs() + x.others * l) / EXPONENT_OF_A_TERM;
                    term.value += weight * count.member * value;
                    term.magnitude += weight * count.member * (value.abs() + rounding);
                }
            }
        }
        term
    }

    fn sum_others(&mut self) {
        let (counts, exponents, prior) = (self.counts, &self.exponents, self.prior);
        let moment = |mass: f64| {
            let excess: f64 = counts.iter().zip(exponents).map(|(c, l)| c.other * (-mass * l).exp_m1()).sum();
            if excess > -0.5 {
                return excess.ln_1p();
            }
            counts.iter().zip(exponents).map(|(c, l)| c.other * (-mass * l).exp()).sum::<f64>().ln()
        };
        let ln_moments: Vec<f64> = prior.groups.iter().map(|x| moment(x.mass)).collect();
        for (i, x) in prior.groups.iter().enumerate() {
            let elsewhere = prior.groups.iter().zip(&ln_moments).enumerate().filter(|(j, _)| *j != i);
            let elsewhere: f64 = elsewhere.map(|(_, (other, ln))| other.count * ln).sum();
            let alike = if x.count > 1.0 { (x.count - 1.0) * ln_moments[i] } else { 0.0 };
            self.ln_others[i] = alike + elsewhere;
        }
    }
}

/// Exponents up to this are covered by the rounding that [`trapezoid`] assumes for every term.
const EXPONENT_OF_A_TERM: f64 = 40.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_probabilities_and_their_ratio() {
        let permanent = Some(BitNoise::rappor(2.0));
        let bits = RepeatedBits { permanent, each: BitNoise::new(0.75, 0.5) };
        let counts = bits.counts(12);
        let total = |of: fn(&BitCount) -> f64| counts.iter().map(of).sum::<f64>();
        assert!((total(|c| c.member) - 1.0).abs() < 1e-14 && (total(|c| c.other) - 1.0).abs() < 1e-14);
        for count in counts {
            assert!((count.ln_ratio - (count.member / count.other).ln()).abs() < 1e-12, "{count:?}");
        }
    }

    /// With nothing remembered wrongly, memoised noise is fresh noise; with no later noise, it is the permanent report.
    #[test]
    fn memoised_noise_has_two_extremes() {
        let (exact, noise) = (BitNoise::new(1.0, 0.0), BitNoise::oue(1.0));
        let fresh = RepeatedBits { permanent: None, each: noise };
        let trusted = RepeatedBits { permanent: Some(exact), each: noise };
        let repeated = RepeatedBits { permanent: Some(noise), each: exact };
        for rounds in [1, 2, 7] {
            assert!((fresh.level(rounds).value - rounds as f64).abs() < 1e-13);
            assert!((trusted.level(rounds).value - rounds as f64).abs() < 1e-13);
            assert!((repeated.level(rounds).value - 1.0).abs() < 1e-14);
        }
        let prior = GroupedPrior::dirichlet(&[0.5, 0.5, 2.0]);
        let (left, right) = (repeated_bits(&fresh, 3, &prior), repeated_bits(&trusted, 3, &prior));
        assert!((left.value - right.value).abs() < left.error + right.error, "{left:?} {right:?}");
        let (left, right) = (repeated_bits(&repeated, 4, &prior), repeated_bits(&fresh, 1, &prior));
        assert!((left.value - right.value).abs() < left.error + right.error, "{left:?} {right:?}");
    }
}
