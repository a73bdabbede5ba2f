//! Generalised randomised response: the exact evidence of a tally, by products of polynomials.
//!
//! # Definition
//! With `β = e^ε − 1` the report `y` has probability `(1 + β P_y)/(a+β)`, so up to a known factor the evidence of a tally is
//!
//! ```text
//! F(s) = E Π_x (1 + β P_x)^{s_x} = Σ_m [Γ(α0)/Γ(α0+m)] β^m [z^m] Π_x A_{s_x}(z),     A_s(z) = Σ_k C(s,k) (α_x)_k z^k
//! ```
//!
//! (`k_x` of the `s_x` reports are truthful): a product of `a` polynomials instead of the paper's sum over
//! all `k`.
//!
//! # Method
//! All terms are positive, so scaled floating point is safe. A priori the number `m` of truthful reports is
//! binomial with mean `n r`, `r = β/(a+β)`, so for every tally that matters it is within some standard
//! deviations of that. Therefore one scale `z = ζ z'`, `ζ = β/(α0 + n r)`, works for all of them: the weights
//! `Γ(α0)/Γ(α0+m) (α0+nr)^m` are largest at `m ≈ n r` and vary slowly, and coefficients below a cutoff can be
//! dropped. Windows of width `O(√n)` remain. [`Polynomials::ln_evidence`] multiplies them in a balanced tree.

use crate::model::prior::Dirichlet;
use crate::numerics::search::{bisect, first_not_below};
use crate::numerics::stirling::{ln_factorial, ln_rising};
use crate::numerics::stop::check;

/// The exact sum drops coefficients below this share of the largest. A tally with probability `1e-14` has its
/// truthful reports within 8 standard deviations, where the weights are above `e^−32`; so its relative error
/// is below `1e-18` for each coefficient.
pub(crate) const EXACT_CUTOFF: f64 = 1e-32;

/// The same for Monte Carlo, where `1e-8` is far below the statistical error.
pub(crate) const SAMPLING_CUTOFF: f64 = 1e-18;

/// A polynomial with positive coefficients: `e^{ln_scale} Σ_k coefficients[k] z^{low + k}`.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) low: usize,
    pub(crate) ln_scale: f64,
    pub(crate) coefficients: Vec<f64>,
}

impl Window {
    /// The polynomial 1.
    pub(crate) fn one() -> Window {
        Window { low: 0, ln_scale: 0.0, coefficients: vec![1.0] }
    }

    /// Coefficients given by their logarithms, followed outwards from the largest and cut off below `cutoff`.
    ///
    /// The logarithms must be concave, as for all polynomials here.
    fn around(peak: usize, degree: usize, cutoff: f64, ln_coefficient: impl Fn(usize) -> f64) -> Window {
        let (ln_scale, ln_cutoff) = (ln_coefficient(peak), cutoff.ln());
        let relative = |k: usize| {
            check();
            ln_coefficient(k) - ln_scale
        };
        let mut coefficients: Vec<f64> =
            (0..peak).rev().map(relative).take_while(|ln| *ln > ln_cutoff).map(f64::exp).collect();
        let low = peak - coefficients.len();
        coefficients.reverse();
        coefficients.extend((peak..=degree).map(relative).take_while(|ln| *ln > ln_cutoff).map(f64::exp));
        Window { low, ln_scale, coefficients }
    }

    /// The product, with the same cut-off.
    pub(crate) fn times(&self, other: &Window, cutoff: f64) -> Window {
        let (long, short) =
            if self.coefficients.len() >= other.coefficients.len() { (self, other) } else { (other, self) };
        let mut product = vec![0.0; long.coefficients.len() + short.coefficients.len() - 1];
        for (k, c) in short.coefficients.iter().enumerate() {
            if k % 64 == 0 {
                check();
            }
            product[k..].iter_mut().zip(&long.coefficients).for_each(|(sum, l)| *sum += c * l);
        }
        Window { low: self.low + other.low, ln_scale: self.ln_scale + other.ln_scale, coefficients: product }
            .trimmed(cutoff)
    }

    /// `ln Σ_k coefficient(k) e^{ln_weight(k)}`.
    pub(crate) fn ln_sum(&self, ln_weight: impl Fn(usize) -> f64) -> f64 {
        let terms = self.coefficients.iter().enumerate();
        terms.map(|(k, c)| c * ln_weight(self.low + k).exp()).sum::<f64>().ln() + self.ln_scale
    }

    fn trimmed(mut self, cutoff: f64) -> Window {
        let largest = self.coefficients.iter().copied().fold(0.0, f64::max);
        let matters = |c: &f64| *c > cutoff * largest;
        // Unwrap safety: the largest coefficient is above the cut-off.
        let first = self.coefficients.iter().position(matters).unwrap();
        let last = self.coefficients.iter().rposition(matters).unwrap();
        self.coefficients.truncate(last + 1);
        self.coefficients.drain(..first);
        self.coefficients.iter_mut().for_each(|c| *c /= largest);
        Window { low: self.low + first, ln_scale: self.ln_scale + largest.ln(), ..self }
    }
}

/// The polynomials of one Dirichlet prior.
#[derive(Clone, Debug)]
pub(crate) struct Polynomials {
    alpha_0: f64,
    /// `ln ζ`.
    ln_tilt: f64,
    /// `ln(α0 + n r)`, the scale of the weights.
    ln_centre: f64,
    /// The largest log weight.
    ln_top: f64,
    cutoff: f64,
}

impl Polynomials {
    /// For tallies whose number of truthful reports is near its prior mean.
    pub(crate) fn new(alpha_0: f64, beta: f64, a: usize, n: u64, cutoff: f64) -> Self {
        Polynomials::centred(alpha_0, beta, alpha_0 + n as f64 * beta / (a as f64 + beta), cutoff)
    }

    /// For one tally, however unlikely. The scale is chosen self-consistently: it is built for the number of
    /// truthful reports at which the product then has its largest weight.
    pub(crate) fn of_tally(dirichlet: &Dirichlet, beta: f64, s: &[u64], cutoff: f64) -> Self {
        let alpha_0 = dirichlet.total();
        let n = s.iter().sum::<u64>() as f64;
        let excess = |centre: f64| {
            let tilt = beta / centre;
            let honest = s.iter().zip(dirichlet.alpha()).map(|(s, alpha)| peak(*s as f64, *alpha, tilt));
            alpha_0 + honest.sum::<f64>() - centre
        };
        let (low, high) = bisect(alpha_0, alpha_0 + n, 60, |centre| excess(centre) > 0.0);
        Polynomials::centred(alpha_0, beta, 0.5 * (low + high), cutoff)
    }

    /// With the scale built for `α0 + m = centre`.
    pub(crate) fn centred(alpha_0: f64, beta: f64, centre: f64, cutoff: f64) -> Self {
        let mut polynomials = Polynomials {
            alpha_0,
            ln_tilt: beta.ln() - centre.ln(),
            ln_centre: centre.ln(),
            ln_top: 0.0,
            cutoff,
        };
        // W(m+1)/W(m) = centre/(α0 + m), so W falls from this m on.
        polynomials.ln_top = polynomials.ln_weight((centre - alpha_0).ceil().max(0.0) as usize);
        polynomials
    }

    /// `ln W(m) = ln Γ(α0)/Γ(α0+m) + m ln(α0 + n r)`, relative to its largest value.
    pub(crate) fn ln_weight(&self, m: usize) -> f64 {
        m as f64 * self.ln_centre - ln_rising(self.alpha_0, m as f64) - self.ln_top
    }

    /// The largest log weight.
    pub(crate) fn ln_top(&self) -> f64 {
        self.ln_top
    }

    /// `ln(α0 + m)` at the number `m` of truthful reports for which the scale is built.
    pub(crate) fn ln_centre(&self) -> f64 {
        self.ln_centre
    }

    /// `A_s(ζ z)` for the parameter `alpha`.
    pub(crate) fn factor(&self, alpha: f64, s: u64) -> Window {
        let size = s as f64;
        let ln_size = ln_factorial(size);
        let ln_coefficient = |k: usize| {
            let k = k as f64;
            ln_size - ln_factorial(k) - ln_factorial(size - k) + ln_rising(alpha, k) + k * self.ln_tilt
        };
        // The ratio of neighbours, (s−k)(α+k)ζ/(k+1), decreases; the largest coefficient is where it crosses
        // 1.
        let tilt = self.ln_tilt.exp();
        let rises = |k: usize| (size - k as f64) * (alpha + k as f64) * tilt > k as f64 + 1.0;
        let peak = first_not_below(0, s, |k| rises(k as usize)) as usize;
        Window::around(peak, s as usize, self.cutoff, ln_coefficient)
    }

    /// `ln F(s)` from the factors of all values.
    pub(crate) fn ln_evidence(&self, factors: Vec<Window>) -> f64 {
        product(factors, self.cutoff).ln_sum(|m| self.ln_weight(m)) + self.ln_top
    }
}

/// Where `C(s,k) (α)_k tilt^k` is largest, as a real number: the root of `(s−k)(α+k) tilt = k`.
fn peak(s: f64, alpha: f64, tilt: f64) -> f64 {
    let (b, c) = (tilt * (s - alpha) - 1.0, tilt * s * alpha);
    let root = (b * b + 4.0 * tilt * c).sqrt();
    if b > 0.0 { (b + root) / (2.0 * tilt) } else { 2.0 * c / (root - b) }
}

/// The product of all factors, in a balanced tree.
fn product(mut factors: Vec<Window>, cutoff: f64) -> Window {
    while factors.len() > 1 {
        let pairs = factors.chunks(2);
        factors =
            pairs.map(|pair| if let [l, r] = pair { l.times(r, cutoff) } else { pair[0].clone() }).collect();
    }
    factors.swap_remove(0)
}

/// `ln P(S=s | T=t)`: of the `t_x` users with value `x` some `k_x` keep it and all others report uniformly,
/// so `P(s|t) = Σ_m r^m ((1−r)/a)^{n−m} (n−m)! [z^m] Π_x Σ_k C(t_x,k) z^k/(s_x−k)!`.
pub(crate) fn ln_tally_given_tally(s: &[u64], t: &[u64], beta: f64) -> f64 {
    let (a, n) = (s.len() as f64, t.iter().sum::<u64>() as f64);
    // ln of r and of (1−r)/a, with r = β/(a+β).
    let (ln_kept, ln_drawn) = (beta.ln() - (a + beta).ln(), -(a + beta).ln());
    let centre = n * a / (a + beta) + 1.0;
    let ln_tilt = ln_kept - ln_drawn - centre.ln();
    let factors = s.iter().zip(t).map(|(s_x, t_x)| kept_factor(*s_x as f64, *t_x as f64, ln_tilt)).collect();
    let ln_weight = |m: usize| {
        let drawn = n - m as f64;
        n * ln_drawn + ln_factorial(drawn) + m as f64 * centre.ln()
    };
    let product = product(factors, SAMPLING_CUTOFF);
    let top = ln_weight(product.low + product.coefficients.len() / 2);
    product.ln_sum(|m| ln_weight(m) - top) + top
}

/// `Σ_k C(t,k) (ζz)^k/(s−k)!`.
fn kept_factor(s: f64, t: f64, ln_tilt: f64) -> Window {
    let degree = s.min(t);
    let ln_coefficient = |k: usize| {
        let k = k as f64;
        ln_factorial(t) - ln_factorial(k) - ln_factorial(t - k) - ln_factorial(s - k) + k * ln_tilt
    };
    // The ratio of neighbours, (t−k)(s−k)ζ/(k+1), crosses 1 at the smaller root of a quadratic equation;
    // search for it.
    let rises = |k: f64| ((t - k) * (s - k)).ln() + ln_tilt > (k + 1.0).ln();
    let peak = first_not_below(0, degree as u64, |k| rises(k as f64)) as usize;
    Window::around(peak, degree as usize, SAMPLING_CUTOFF, ln_coefficient)
}
