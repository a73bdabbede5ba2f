//! Means of functions of a linear form `L = Σ_x c_x P_x`, with `P ~ Dirichlet(α)`, as one-dimensional integrals.
//!
//! # The picture
//! `P_x = γ_x / Σγ` with independent `γ_x ~ Gamma(α_x)`, and `ln L = ∫ (e^{−t} − e^{−tL}) dt/t`. With the form scaled
//! to mean one, `v_x = c_x / E L = 1 + δ_x`, `Σ α_x δ_x = 0`, and `g(t) = (1+t)^{−α0}`, `Φ(t) = Π_x (1 + v_x t)^{−α_x}`,
//! `s = t/(1+t)`, weights `w_x = α_x/α0`:
//!
//! ```text
//! E[ln L]                       = − ∫ (1+t)^{−1} [ (Φ − g)(1 + G) + g G ] dt/t          (no v_x zero)
//! E[φ(L)]                       =   ∫ (1+t)^{−1} [ g F − (Φ − g)(1 − F) ] dt/t
//! Σ_x w_x φ(v_x) − E[φ(L)]      =   ∫ (1+t)^{−1} [ (1 − g) F + (Φ − g)(1 − F) ] dt/t
//!
//! Φ = g e^E,   E = Σ α_x (δ_x s − ln(1 + δ_x s)),   S = Σ w_x δ_x² / (1 + δ_x s),   F = s (1−s) S,   G = s² S
//! ```
//!
//! `E`, `F`, `G`, `1 − F` and `Φ − g` are non-negative sums of non-negative terms of second order in δ: the first and the
//! third integral have no cancellation at all, the second loses a factor of about two. The third is what a mutual
//! information is made of.
//!
//! The first line is the textbook integral `∫ (g − Φ) dt/t` after `Dir(α) = Σ_x w_x Dir(α + e_x)`, which
//! turns the decay `t^{−α0}` into `t^{−α0−1}`: at `α0 = 10^{−3}` that saves 10^5 nodes.

use crate::numerics::special::{digamma_difference, ln1p_excess};
use crate::numerics::trapezoid::{Bounded, Term, trapezoid, trapezoids};

/// Inputs with the same coefficient, scaled so that the mean of the form is one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Group {
    alpha: f64,
    /// `w = α / α0`.
    weight: f64,
    /// `v`, which keeps its digits when it is tiny.
    coefficient: f64,
    /// `δ = v − 1`, which keeps its digits when it is tiny.
    deviation: f64,
}

/// A linear form `L = Σ_x c_x P_x` of a Dirichlet vector, with coefficients `c_x ≥ 0`, not all zero.
///
/// # Method and cost
/// Trapezoid in `ln t` ([`crate::numerics::trapezoid`]): about `4 (50 + ln α0 + ln(c_max/c_min))` nodes, twice that where the step is
/// halved again, each one logarithm for every distinct coefficient, no allocation.
///
/// # Accuracy
/// Largest relative error measured: `1.8e-15`, over the 299 forms of `tests/tables/dirichlet_mean.rs`: `α0` from `1e-3` to `1e7`,
/// ratios of coefficients from `1 + 1e-9` to `e^50`, zero coefficients, weights down to `1e-9`. Over a thousand further random forms it was
/// `6e-15`. The bound, about `1e-14` of the value, is an estimate from halving the step and from rounding, not a proof; it held in
/// all of them.
///
/// # Example
/// ```
/// use sottovoce::numerics::dirichlet_mean::LinearForm;
/// // L = P_1 alone, uniform on (0, 1): E[ln L] = −1.
/// let form = LinearForm::from_coefficients(&[(1.0, 1.0), (1.0, 0.0)]);
/// assert!((form.mean_ln().value + 1.0).abs() < 1e-14);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LinearForm {
    groups: Vec<Group>,
    alpha_total: f64,
    ln_mean: f64,
}

impl LinearForm {
    /// From pairs `(alpha_x, c_x)`. Coefficients close to each other keep the digits of their differences.
    ///
    /// # Panics
    /// If an alpha or a coefficient is negative or not finite, or no coefficient with a positive alpha is positive.
    pub fn from_coefficients(pairs: &[(f64, f64)]) -> Self {
        let reference = of_most_mass(pairs, 0.0);
        let term = |&(alpha, c): &(f64, f64)| (alpha, (c - reference) / reference, c / reference);
        Self::from_reference(pairs.iter().map(term).collect(), reference.ln())
    }

    /// From pairs `(alpha_x, d_x)`, where `c_x = 1 + d_x` and `d_x ≥ −1` (equal for a zero coefficient).
    ///
    /// # Panics
    /// As [`LinearForm::from_coefficients`].
    pub fn from_deviations(pairs: &[(f64, f64)]) -> Self {
        let reference = of_most_mass(pairs, -1.0);
        let scale = 1.0 + reference;
        let term = |&(alpha, d): &(f64, f64)| (alpha, (d - reference) / scale, (1.0 + d) / scale);
        Self::from_reference(pairs.iter().map(term).collect(), reference.ln_1p())
    }

    /// From `(alpha, d, c)`, where `c = 1 + d`, of which a tiny `c` and a tiny `d` each keep their digits.
    fn from_reference(mut pairs: Vec<(f64, f64, f64)>, ln_reference: f64) -> Self {
        for &(alpha, d, c) in &pairs {
            assert!(alpha >= 0.0 && alpha.is_finite(), "alpha {alpha} is not a non-negative number");
            assert!(c >= 0.0 && d.is_finite(), "coefficient {c} is not a non-negative number");
        }
        pairs.retain(|&(alpha, ..)| alpha > 0.0);
        pairs.sort_by(|x, y| x.2.total_cmp(&y.2).then(x.1.total_cmp(&y.1)));
        pairs.dedup_by(|next, kept| {
            let same = (next.1, next.2) == (kept.1, kept.2);
            kept.0 += if same { next.0 } else { 0.0 };
            same
        });
        let alpha_total: f64 = pairs.iter().map(|&(alpha, ..)| alpha).sum();
        let mean: f64 = pairs.iter().map(|&(alpha, d, _)| alpha / alpha_total * d).sum();
        // Not 1 + mean: when zero coefficients have nearly all the weight, the mean is nearly −1 and the sum cancels.
        let scale: f64 = pairs.iter().map(|&(alpha, _, c)| alpha / alpha_total * c).sum();
        let group = |&(alpha, d, c): &(f64, f64, f64)| Group {
            alpha,
            weight: alpha / alpha_total,
            coefficient: c / scale,
            deviation: if c == 0.0 { -1.0 } else { (d - mean) / scale },
        };
        let groups = pairs.iter().map(group).collect();
        let ln_scale = if mean < -0.5 { scale.ln() } else { mean.ln_1p() };
        LinearForm { groups, alpha_total, ln_mean: ln_reference + ln_scale }
    }

    /// `ln E[L]`.
    pub fn ln_mean(&self) -> f64 {
        self.ln_mean
    }

    /// Pairs `(w, δ)` of every distinct coefficient: its prior probability and its deviation from the mean, as a share of it.
    pub fn scaled(&self) -> impl Iterator<Item = (f64, f64)> {
        self.groups.iter().map(|x| (x.weight, x.deviation))
    }

    /// Whether all coefficients are equal, so that `L` is a constant.
    pub fn is_constant(&self) -> bool {
        self.groups.len() == 1
    }

    /// `E[ln L]`. Relative accuracy where it is not a difference of `ln E[L]` and the rest; see
    /// [`LinearForm::mean_ln_scaled`] for the rest alone.
    pub fn mean_ln(&self) -> Bounded {
        let scaled = self.mean_ln_scaled();
        let rounding = 4.0 * f64::EPSILON * self.ln_mean.abs();
        Bounded::new(self.ln_mean + scaled.value, scaled.error + rounding)
    }

    /// `E[ln(L / E L)] ≤ 0`, with relative accuracy.
    ///
    /// With zero coefficients the integrand decays slowly if the alpha `α_+` of the others is small. Then they factor out:
    /// `L = P_+ L'` with independent `P_+ ~ Beta(α_+, α0 − α_+)`, whose part `ψ(α_+) − ψ(α0)` is a closed form.
    pub fn mean_ln_scaled(&self) -> Bounded {
        let zero = self.groups[0];
        let alpha_positive: f64 = self.groups[1..].iter().map(|x| x.alpha).sum();
        // The integrand decays as t^{−α_+}, and the closed form cancels against ln E L when α_+ is large.
        if zero.coefficient > 0.0 || alpha_positive >= 1.0 {
            return self.mean_ln_integral();
        }
        let positive: Vec<_> = self.groups[1..].iter().map(|x| (x.alpha, x.coefficient)).collect();
        let rest = LinearForm::from_coefficients(&positive);
        let beta = -digamma_difference(rest.alpha_total, zero.alpha);
        // E L' = 1/w_+, which the rounded coefficients of the rest have forgotten when w_+ is nearly one.
        let ln_weight = if zero.weight < 0.5 {
            (-zero.weight).ln_1p()
        } else {
            (rest.alpha_total / self.alpha_total).ln()
        };
        let rounding = f64::EPSILON * 48.0 * (beta.abs() + ln_weight.abs());
        rest.mean_ln_integral() + Bounded::new(beta - ln_weight, rounding)
    }

    fn mean_ln_integral(&self) -> Bounded {
        self.integral(|node| {
            let tail = node.g * node.lower * node.s * node.s * node.spread;
            let raised = node.rise * (node.lower + node.lower * node.s * node.s * node.spread);
            Term::of_one_sign(-(raised + tail))
        })
    }

    /// `E[φ(L / E L)] ≥ 0` with `φ(t) = t ln t − t + 1`, with relative accuracy.
    ///
    /// `E[L ln L] = E L · (ln E L + E[φ(L / E L)])`.
    pub fn mean_excess(&self) -> Bounded {
        self.integral(|node| {
            let gain = node.g * node.lower * node.fall();
            let loss = node.rise * node.lower * node.kept;
            Term { value: gain - loss, magnitude: gain + loss }
        })
    }

    /// Jensen's gap `Σ_x w_x φ(v_x) − E[φ(L / E L)] ≥ 0`, with relative accuracy, also for `α0 → 0`, where the two
    /// parts become equal.
    ///
    /// It is the information `I(X; Y=y | P)` that an output of likelihoods `c` carries about a user's value, for each unit
    /// of the output's prior probability.
    ///
    /// ```
    /// use sottovoce::numerics::dirichlet_mean::LinearForm;
    /// // c = (1, 0) under the uniform prior: ln 2 − (ln 2 − ½).
    /// let form = LinearForm::from_coefficients(&[(1.0, 1.0), (1.0, 0.0)]);
    /// assert!((form.jensen_gap().value - 0.5).abs() < 1e-15);
    /// ```
    pub fn jensen_gap(&self) -> Bounded {
        self.integral(|node| {
            let left = -node.ln_g.exp_m1() * node.lower * node.fall();
            Term::of_one_sign(left + node.rise * node.lower * node.kept)
        })
    }

    fn integral(&self, term: impl Fn(Integrands) -> Term) -> Bounded {
        if self.is_constant() {
            return Bounded::default();
        }
        let largest = self.groups[self.groups.len() - 1].coefficient;
        let smallest = self.groups.iter().map(|x| x.coefficient).find(|&v| v > 0.0).unwrap_or(1.0);
        let left = -(largest * (1.0 + self.alpha_total)).ln();
        trapezoid(left, -smallest.ln(), |u| term(self.node(u)))
    }

    fn node(&self, u: f64) -> Integrands {
        let t = u.exp();
        let lower = 1.0 / (1.0 + t);
        let s = t * lower;
        let ln_one_plus_t = t.ln_1p();
        let (mut exponent, mut spread, mut kept) = (0.0, 0.0, 0.0);
        for x in &self.groups {
            let z = x.deviation * s;
            // Near −1 the deviation has forgotten a tiny coefficient.
            let (one_plus, excess) = if z > -0.5 {
                (1.0 + z, ln1p_excess(z))
            } else {
                let vt = x.coefficient * t;
                ((1.0 + vt) * lower, vt.ln_1p() - ln_one_plus_t - z)
            };
            exponent -= x.alpha * excess;
            spread += x.weight * x.deviation * x.deviation / one_plus;
            kept += x.weight * x.coefficient / one_plus;
        }
        let ln_g = -self.alpha_total * ln_one_plus_t;
        Integrands { s, lower, ln_g, g: ln_g.exp(), rise: self.rise(t, ln_g, exponent), spread, kept }
    }

    /// `Φ − g` from `E`. For large `E` the sum `E` has lost digits to `α0 s`, so `Φ` is computed afresh.
    fn rise(&self, t: f64, ln_g: f64, exponent: f64) -> f64 {
        if exponent < 1.0 {
            return ln_g.exp() * exponent.exp_m1();
        }
        let ln_phi: f64 = self.groups.iter().map(|x| -x.alpha * (x.coefficient * t).ln_1p()).sum();
        -ln_phi.exp() * (-exponent).exp_m1()
    }
}

/// `ln c_x − E[ln L]` under each `Dirichlet(α + e_x)`, the prior after one value `x`, for triples `(alpha_x, c_x, d_x)` of a positive
/// coefficient and its deviation `d_x = c_x − b` from any `b`.
///
/// # Method and cost
/// `ln v_x − ∫ (1+t)^{−α0−1} [ 1 − G(t)/r_x ] dt/t` with `r_x = (1 + v_x t)/(1 + t)` and `G = Π r_z^{−α_z}`: all `x` share their fifty nodes. Some thirty
/// times faster than a [`LinearForm`] for each.
///
/// # Accuracy
/// Absolute `1e-12`, and as a share of the largest deviation where coefficients hardly differ; the step is fixed.
pub fn ln_leads(terms: &[(f64, f64, f64)]) -> Vec<f64> {
    let total: f64 = terms.iter().map(|(alpha, ..)| alpha).sum();
    let mean = terms.iter().map(|(alpha, c, _)| alpha * c).sum::<f64>() / total;
    let mean_deviation = terms.iter().map(|(alpha, _, d)| alpha * d).sum::<f64>() / total;
    let scaled: Vec<(f64, f64, f64)> =
        terms.iter().map(|(alpha, c, d)| (*alpha, c / mean, (d - mean_deviation) / mean)).collect();
    let (smallest, largest) =
        scaled.iter().fold((f64::INFINITY, 0.0f64), |(s, l), (_, v, _)| (s.min(*v), l.max(*v)));
    let mut leads = vec![0.0; terms.len()];
    let mut ratios = vec![0.0; terms.len()];
    trapezoids(-(largest * (2.0 + total)).ln(), -smallest.ln(), STEP_TOGETHER, &mut leads, |u, values| {
        let t = u.exp();
        let (s, lower) = (t / (1.0 + t), 1.0 / (1.0 + t));
        let mut ln_g = 0.0;
        for (ratio, (alpha, v, deviation)) in ratios.iter_mut().zip(&scaled) {
            // Both are the same; where they are near 1 the first keeps the digits of their logarithm, near 0 the second.
            let off = deviation * s;
            let is_near = off.abs() < 0.5;
            *ratio = if is_near { 1.0 + off } else { lower * (1.0 + v * t) };
            ln_g -= alpha * if is_near { off.ln_1p() } else { ratio.ln() };
        }
        let ln_constant = -(total + 1.0) * t.ln_1p();
        let constant = ln_constant.exp();
        // Where parameters are large, G may be too large for a double and the constant too small, but not their product.
        let rise = if ln_g < 1.0 { constant * ln_g.exp_m1() } else { (ln_constant + ln_g).exp() - constant };
        for (value, (ratio, (_, _, deviation))) in values.iter_mut().zip(ratios.iter().zip(&scaled)) {
            *value = (constant * deviation * s - rise) / ratio;
        }
    });
    for (lead, (_, v, deviation)) in leads.iter_mut().zip(&scaled) {
        *lead = if deviation.abs() < 0.5 { deviation.ln_1p() } else { v.ln() } - *lead;
    }
    leads
}

/// The triangle of `E[P_x P_z / L]` for pairs `(alpha_x, c_x)` of positive numbers.
///
/// # Method and cost
/// `α_x (α_z + [x = z])/α0 · ∫ Φ(t)/((1 + c_x t)(1 + c_z t)) dt`: as [`ln_leads`], with as many products a node as entries.
///
/// # Accuracy
/// Relative `1e-12`; the step is fixed.
pub fn mean_products_over_form(pairs: &[(f64, f64)]) -> Vec<f64> {
    let total: f64 = pairs.iter().map(|(alpha, _)| alpha).sum();
    let (smallest, largest) =
        pairs.iter().fold((f64::INFINITY, 0.0f64), |(s, l), (_, c)| (s.min(*c), l.max(*c)));
    let places = || (0..pairs.len()).flat_map(|x| (0..=x).map(move |z| (x, z)));
    let mut products = vec![0.0; places().count()];
    // Times √(c_x c_z) none of them is above one, nor all the others small beside it.
    let roots: Vec<f64> = pairs.iter().map(|(_, c)| c.sqrt()).collect();
    let mut lower = vec![0.0; pairs.len()];
    trapezoids(-(largest * (2.0 + total)).ln(), -smallest.ln(), STEP_TOGETHER, &mut products, |u, values| {
        let t = u.exp();
        lower.iter_mut().zip(pairs).for_each(|(lower, (_, c))| *lower = 1.0 / (1.0 + c * t));
        let ln_phi: f64 = pairs.iter().zip(&lower).map(|((alpha, _), lower)| alpha * lower.ln()).sum();
        let phi = t * ln_phi.exp();
        lower.iter_mut().zip(&roots).for_each(|(lower, root)| *lower *= root);
        values.iter_mut().zip(places()).for_each(|(value, (x, z))| *value = phi * lower[x] * lower[z]);
    });
    for (product, (x, z)) in products.iter_mut().zip(places()) {
        let twice = if x == z { 1.0 } else { 0.0 };
        *product *= pairs[x].0 * (pairs[z].0 + twice) / (total * roots[x] * roots[z]);
    }
    products
}

/// The triangle of `E[c_x P_x c_z P_z / L²]` for pairs `(alpha_x, c_x)` of positive numbers; a row of it adds up to `E[c_x P_x / L]`.
///
/// # Method and cost
/// `α_x (α_z + [x = z]) ∫ Φ(t) k_x k_z dt/t` with `k_x = c_x t/(1 + c_x t)`: as [`mean_products_over_form`].
///
/// # Accuracy
/// Relative `1e-10`; the step is fixed. Largest seen in tests, with parameters from `1e-3` to `1e6`: `2e-11`.
pub fn mean_products_of_shares(pairs: &[(f64, f64)]) -> Vec<f64> {
    let total: f64 = pairs.iter().map(|(alpha, _)| alpha).sum();
    let (smallest, largest) =
        pairs.iter().fold((f64::INFINITY, 0.0f64), |(s, l), (_, c)| (s.min(*c), l.max(*c)));
    let places = || (0..pairs.len()).flat_map(|x| (0..=x).map(move |z| (x, z)));
    let mut products = vec![0.0; places().count()];
    let mut shares = vec![0.0; pairs.len()];
    trapezoids(-(largest * (2.0 + total)).ln(), -smallest.ln(), STEP_TOGETHER, &mut products, |u, values| {
        // With 1/t, since t may be too large for a number where parameters are small.
        let inverse = (-u).exp();
        let mut ln_phi = 0.0;
        for (share, (alpha, c)) in shares.iter_mut().zip(pairs) {
            *share = c / (inverse + c);
            ln_phi -= alpha * ln_one_plus(*c, u);
        }
        let phi = ln_phi.exp();
        values.iter_mut().zip(places()).for_each(|(value, (x, z))| *value = phi * shares[x] * shares[z]);
    });
    for (product, (x, z)) in products.iter_mut().zip(places()) {
        *product *= pairs[x].0 * (pairs[z].0 + if x == z { 1.0 } else { 0.0 });
    }
    products
}

/// `ln(1 + c e^u)`: small ones keep their digits, which large parameters need, and large ones are known where `e^u` is not.
pub(crate) fn ln_one_plus(c: f64, u: f64) -> f64 {
    if u < 300.0 { (c * u.exp()).ln_1p() } else { u + (c + (-u).exp()).ln() }
}

/// Its error is `e^{−π²/h}`: `1e-13`.
const STEP_TOGETHER: f64 = 1.0 / 3.0;

/// The coefficient (or deviation) above `floor` that has the largest alpha. As reference it leaves coefficients that are close to
/// most of the mass with exact differences; the smallest one did not, where it was rare.
fn of_most_mass(pairs: &[(f64, f64)], floor: f64) -> f64 {
    let positive = pairs.iter().filter(|&&(alpha, c)| alpha > 0.0 && c > floor);
    let most = positive.max_by(|x, y| x.0.total_cmp(&y.0));
    most.map(|&(_, c)| c).expect("a linear form needs a positive coefficient")
}

/// The parts of the integrands at one `t`, in the letters of the module's documentation.
struct Integrands {
    s: f64,
    /// `1 − s = 1/(1+t)`.
    lower: f64,
    ln_g: f64,
    g: f64,
    /// `Φ − g`.
    rise: f64,
    /// `S`.
    spread: f64,
    /// `1 − F`, summed from positive terms.
    kept: f64,
}

impl Integrands {
    /// `F`.
    fn fall(&self) -> f64 {
        self.s * self.lower * self.spread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leads_are_those_of_single_forms() {
        for pairs in [
            vec![(0.5, 1.0), (2.0, 1e-6), (0.05, 3.0), (1.0, 0.7)],
            vec![(50.0, 1.0), (400.0, 1.001)],
            vec![(0.01, 1e-9), (0.02, 1.0), (3.0, 2.0)],
            vec![(93.0, 2.85), (650.0, 0.055), (4.9, 0.089)],
            vec![(1e4, 3.0), (2e4, 1e-3), (0.5, 1.0)],
            vec![(1e4, 1e-6), (2e4, 1.0), (1e4, 5.0)],
            vec![(1e6, 1e-6), (0.5, 1.0), (1e4, 5.0)],
        ] {
            let terms: Vec<_> = pairs.iter().map(|(alpha, c)| (*alpha, *c, c - 1.0)).collect();
            let found = ln_leads(&terms);
            for x in 0..pairs.len() {
                let mut after = pairs.clone();
                after[x].0 += 1.0;
                let expected = pairs[x].1.ln() - LinearForm::from_coefficients(&after).mean_ln().value;
                assert!((found[x] - expected).abs() < 1e-12, "{pairs:?} {x}: {} {expected}", found[x]);
            }
        }
    }

    #[test]
    fn leads_keep_their_digits_where_coefficients_hardly_differ() {
        // To first order in d, ln c_x − E[ln L] = d_x − Σ_z d_z (α_z + [z = x])/(α0 + 1).
        let (alpha, d) = ([0.5, 1.0, 2.5], [0.0, 1e-10, 3e-10]);
        let terms: Vec<_> = alpha.iter().zip(d).map(|(alpha, d)| (*alpha, 1.0 + d, d)).collect();
        let mean: f64 = alpha.iter().zip(d).map(|(alpha, d)| alpha * d).sum();
        for (lead, d) in ln_leads(&terms).iter().zip(d) {
            let expected = d - (mean + d) / 5.0;
            assert!((lead - expected).abs() < 1e-18, "{lead} {expected}");
        }
    }

    #[test]
    fn products_over_a_form_add_up() {
        // Σ_x c_x P_x P_z / L = P_z.
        for pairs in [vec![(0.5, 1.0), (2.0, 1e-3), (0.05, 3.0)], vec![(50.0, 1.0), (400.0, 1.001)]] {
            let total: f64 = pairs.iter().map(|(alpha, _)| alpha).sum();
            let products = mean_products_over_form(&pairs);
            let entry = |x: usize, z: usize| products[x.max(z) * (x.max(z) + 1) / 2 + x.min(z)];
            for (z, (alpha, _)) in pairs.iter().enumerate() {
                let sum: f64 = pairs.iter().enumerate().map(|(x, (_, c))| c * entry(x, z)).sum();
                assert!((sum / (alpha / total) - 1.0).abs() < 1e-11, "{pairs:?} {z}: {sum}");
            }
        }
    }

    #[test]
    fn products_of_shares_add_up() {
        // Σ_xz c_x P_x c_z P_z / L² = 1, and a row of it is c_x Σ_z E[P_x P_z / L].
        for pairs in [
            vec![(0.5, 1.0), (2.0, 1e-3), (0.05, 3.0)],
            vec![(50.0, 1.0), (400.0, 1.001)],
            // Falls like t^{−0.004}: t is beyond all numbers before it is small.
            vec![(0.001, 1.0), (0.001, 1e-6), (0.002, 1e6)],
            vec![(1e6, 1e-6), (0.5, 1.0), (1e4, 5.0)],
        ] {
            let (shares, products) = (mean_products_of_shares(&pairs), mean_products_over_form(&pairs));
            let place = |x: usize, z: usize| x.max(z) * (x.max(z) + 1) / 2 + x.min(z);
            let row = |of: &[f64], x: usize| (0..pairs.len()).map(|z| of[place(x, z)]).sum::<f64>();
            let sum: f64 = (0..pairs.len()).map(|x| row(&shares, x)).sum();
            assert!((sum - 1.0).abs() < 1e-10, "{pairs:?}: {sum}");
            for (x, (_, c)) in pairs.iter().enumerate() {
                let (share, product) = (row(&shares, x), c * row(&products, x));
                assert!((share / product - 1.0).abs() < 1e-10, "{pairs:?} {x}: {share} {product}");
            }
        }
    }
}
