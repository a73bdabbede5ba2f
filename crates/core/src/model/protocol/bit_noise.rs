//! The noise on one bit of unary encoding, accurate where `κ` and `λ` alone have lost digits.

/// The probabilities of a bit, stored so that nothing is lost at either extreme: with almost no noise
/// (`ε = 50`) `1 − κ` is rounded away in `κ`; with strong noise (`ε = 1e-6`) the deviations of the likelihood
/// ratios from 1 are rounded away in `κ` and `λ`.
///
/// An output `y` of unary encoding has `Q_{y|x} = π(y) · r`, where `π` draws each bit with probability `λ`, and the *likelihood
/// ratio* `r` is `κ/λ` if `x ∈ y` and `(1−κ)/(1−λ)` if not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BitNoise {
    /// `κ`, probability that the true bit is set.
    pub kappa: f64,
    /// `1 − κ`.
    pub kappa_complement: f64,
    /// `λ`, probability that another bit is set.
    pub lambda: f64,
    /// `1 − λ`.
    pub lambda_complement: f64,
    /// `κ/λ − 1`; infinite at `λ = 0 < κ`.
    pub member_deviation: f64,
    /// `(1−κ)/(1−λ) − 1`.
    pub other_deviation: f64,
}

impl BitNoise {
    /// The probabilities `kappa` and `lambda`, between 0 and 1, taken as exact.
    pub fn new(kappa: f64, lambda: f64) -> Self {
        let (difference, lambda_complement) = (kappa - lambda, 1.0 - lambda);
        // With κ = λ both ratios are 1, even where the formula reads 0/0.
        let over = |p: f64| if difference == 0.0 { 0.0 } else { difference / p };
        BitNoise {
            kappa,
            kappa_complement: 1.0 - kappa,
            lambda,
            lambda_complement,
            member_deviation: over(lambda),
            other_deviation: -over(lambda_complement),
        }
    }

    /// Basic RAPPOR: both bits flip equally often, `κ = 1 − λ = e^{ε/2}/(e^{ε/2}+1)`.
    pub fn rappor(epsilon: f64) -> Self {
        let half = epsilon / 2.0;
        let (truth, flip) = (1.0 / (1.0 + (-half).exp()), 1.0 / (half.exp() + 1.0));
        BitNoise {
            kappa: truth,
            kappa_complement: flip,
            lambda: flip,
            lambda_complement: truth,
            member_deviation: half.exp_m1(),
            other_deviation: (-half).exp_m1(),
        }
    }

    /// Optimised unary encoding: `κ = 1/2`, `λ = 1/(e^ε+1)`.
    pub fn oue(epsilon: f64) -> Self {
        BitNoise {
            kappa: 0.5,
            kappa_complement: 0.5,
            lambda: 1.0 / (epsilon.exp() + 1.0),
            lambda_complement: 1.0 / (1.0 + (-epsilon).exp()),
            member_deviation: epsilon.exp_m1() / 2.0,
            other_deviation: (-epsilon).exp_m1() / 2.0,
        }
    }

    /// Local hash into `g` buckets, whose outputs only reveal whether `x ∈ h⁻¹(z)`: `κ = e^ε/(e^ε+g−1)`,
    /// `λ = 1/g`.
    pub fn local_hash(g: usize, epsilon: f64) -> Self {
        let (g, others, beta) = (g as f64, g as f64 - 1.0, epsilon.exp_m1());
        BitNoise {
            kappa: 1.0 / (1.0 + others * (-epsilon).exp()),
            kappa_complement: others / (beta + g),
            lambda: 1.0 / g,
            lambda_complement: others / g,
            member_deviation: others * beta / (beta + g),
            other_deviation: if others == 0.0 { 0.0 } else { -beta / (beta + g) },
        }
    }

    /// Whether a reported subset of `k` of `a` values contains the user's value, and whether it contains another
    /// one; randomised response is `k = 1`. With `w = k e^ε + a − k`: `κ = k e^ε / w`,
    /// `λ = k ((k−1) e^ε + a − k) / ((a−1) w)`.
    pub fn subset(a: usize, k: usize, epsilon: f64) -> Self {
        let (a, k, odds, beta) = (a as f64, k as f64, epsilon.exp(), epsilon.exp_m1());
        let (weight, rest) = (k * beta + a, a - k);
        let shared = (a - 1.0) * weight;
        let lambda = k * ((k - 1.0) * odds + rest) / shared;
        let lambda_complement = rest * (k * odds + rest - 1.0) / shared;
        let difference = k * rest * beta / shared;
        BitNoise {
            kappa: k / (k + rest / odds),
            kappa_complement: rest / weight,
            lambda,
            lambda_complement,
            member_deviation: difference / lambda,
            other_deviation: if rest == 0.0 { 0.0 } else { -difference / lambda_complement },
        }
    }

    /// Likelihood ratio `κ/λ` of a set bit; infinite at `λ = 0 < κ`.
    pub fn member_ratio(&self) -> f64 {
        if self.member_deviation == 0.0 { 1.0 } else { self.kappa / self.lambda }
    }

    /// Likelihood ratio `(1−κ)/(1−λ)` of a bit that is not set.
    pub fn other_ratio(&self) -> f64 {
        if self.other_deviation == 0.0 { 1.0 } else { self.kappa_complement / self.lambda_complement }
    }

    /// `LDP = ln[κ(1−λ) / (λ(1−κ))]`, the largest log ratio between two inputs.
    pub fn level(&self) -> f64 {
        if self.member_deviation < 1.0 {
            self.member_deviation.ln_1p() - self.other_deviation.ln_1p()
        } else {
            (self.member_ratio() / self.other_ratio()).ln()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subset_contains_each_other_value_equally_often() {
        for (a, k, epsilon) in [(2, 1, 1.0), (5, 1, 2.0), (7, 3, 0.5), (40, 17, 3.0), (4, 4, 1.0)] {
            let bits = BitNoise::subset(a, k, epsilon);
            // The expected size of the reported subset is k.
            let size = bits.kappa + (a as f64 - 1.0) * bits.lambda;
            assert!((size - k as f64).abs() < 1e-13 * k as f64, "{bits:?}");
            assert!((bits.kappa + bits.kappa_complement - 1.0).abs() < 1e-15);
            assert!((bits.lambda + bits.lambda_complement - 1.0).abs() < 1e-15);
            assert!((bits.lambda * (1.0 + bits.member_deviation) - bits.kappa).abs() < 1e-15);
        }
    }

    #[test]
    fn all_settings_have_their_level() {
        for epsilon in [1e-6, 1e-3, 1.0, 20.0, 50.0] {
            for bits in [BitNoise::rappor(epsilon), BitNoise::oue(epsilon), BitNoise::local_hash(3, epsilon)]
            {
                assert!((bits.level() / epsilon - 1.0).abs() < 1e-14, "{bits:?}: {}", bits.level());
                assert!((bits.kappa + bits.kappa_complement - 1.0).abs() < 1e-15);
                assert!((bits.lambda + bits.lambda_complement - 1.0).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn equal_probabilities_have_ratio_one() {
        for p in [0.0, 0.3, 1.0] {
            let bits = BitNoise::new(p, p);
            assert_eq!((bits.member_ratio(), bits.other_ratio(), bits.level()), (1.0, 1.0, 0.0));
        }
    }
}
