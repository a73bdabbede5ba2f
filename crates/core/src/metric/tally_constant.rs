//! What many reports tell about the tallies beyond the distribution, and the constant in the growth of `I(Y⃗;T)`.

use std::collections::BTreeMap;
use std::f64::consts::{E, PI};

use super::asymptotic_utility::mean_over_prior;
use super::{Settings, growth_constant};
use crate::fisher::expectation::{MeanOptions, expected_ln_det};
use crate::fisher::{DenseMatrix, FisherInformation, Point, of_protocol};
use crate::model::absence::Absence;
use crate::model::evaluation::{Evaluation, Method};
use crate::model::prior::{Dirichlet, Prior};
use crate::model::protocol::{Block, Channel, MAX_ENTRIES, Protocol};
use crate::numerics::dirichlet_mean::LinearForm;
use crate::numerics::special::digamma_difference;

/// The limit of `I(Y⃗;T|P)` for many users; infinite if the outputs fall into several classes.
///
/// # Definition
/// With the Fisher information `J_X` of a true value and `J_Y` of a report,
/// ```text
/// lim I(Y⃗;T|P) = ½ E ln [ det J_X(P) / det(J_X(P) − J_Y(P)) ] = −½ E Σ_i ln(1 − σ_i²)
/// ```
/// where `σ_i < 1` are the canonical correlations of value and report given `P`. Given `P` the pair of tallies
/// is asymptotically Gaussian, and this is the mutual information of a Gaussian pair
/// (derivation: `docs/derivations.md`).
///
/// # Method and cost
/// As [`asymptotic_utility`](super::asymptotic_utility): the mean of a log-determinant over the prior, without
/// enumerating the outputs of unary encoding, local hash and subset selection.
///
/// # Accuracy
/// As stated with the value; against exact `I(Y⃗;T|P)` at growing `n` in `tests/tally_constant.rs`.
///
/// # Example
/// ```
/// # use sottovoce::{Prior, Protocol, metric::{Settings, group_information_limit}};
/// // Erasure hides all of a value or nothing: −(a − 1)/2 · ln(1 − reveal).
/// let (protocol, prior) = (Protocol::erasure(3, 0.5)?, Prior::jeffreys(3)?);
/// let limit = group_information_limit(&protocol, &prior, &Settings::default()).unwrap();
/// assert!((limit.value - 2f64.ln()).abs() < 1e-12);
/// # Ok::<(), sottovoce::Error>(())
/// ```
///
/// # Errors
/// The prior is not continuous, or the protocol is a combination with too many outputs.
pub fn group_information_limit(
    protocol: &Protocol,
    prior: &Prior,
    settings: &Settings,
) -> Result<Evaluation, Absence> {
    if !prior.is_continuous() {
        return Err(Absence::NotContinuous);
    }
    if protocol.classes()? > 1 {
        return Ok(Evaluation::new(f64::INFINITY, 0.0, Method::ClosedForm));
    }
    hidden_part(protocol, prior, settings)
}

/// The constant `s_μ(Q)`: asymptotically `I(Y⃗;T)` is `(d+b'−2)/2 · ln n + s_μ(Q)`.
///
/// # Definition
/// With `b'` classes of outputs, of probabilities `π_c(P)`,
/// ```text
/// s_μ = r_μ + (b'−1)/2 · ln(2πe) + ½ E Σ_c ln π_c(P) − ½ E Σ_i ln(1 − σ_i²)        [paper, Thm. "growth of I(Y;T)"]
/// ```
/// The paper proves that the constant exists; this is its closed form.
///
/// # Method and cost
/// As [`growth_constant`] and [`group_information_limit`].
///
/// # Errors
/// As for these two.
pub fn tally_constant(
    protocol: &Protocol,
    prior: &Prior,
    settings: &Settings,
) -> Result<Evaluation, Absence> {
    let constant = growth_constant(protocol, prior, settings)?;
    Ok(constant.plus(group_constant(protocol, prior, settings)?))
}

/// `s_μ − r_μ`: the constant of `I(Y⃗;T|P)`, beyond `(b'−1)/2 · ln n`.
pub(super) fn group_constant(
    protocol: &Protocol,
    prior: &Prior,
    settings: &Settings,
) -> Result<Evaluation, Absence> {
    let classes = protocol.classes()?;
    if classes == 1 {
        return hidden_part(protocol, prior, settings);
    }
    let class_of = match protocol {
        Protocol::Identity(_) => (0..protocol.inputs()).collect(),
        _ => dense(protocol)?.input_classes(),
    };
    let mean_ln =
        mean_over_prior(prior, settings, &|dirichlet| class_ln_mean(&class_of, dirichlet), &|ln_p| {
            class_ln(&class_of, ln_p)
        })?;
    let counted = Evaluation::closed_form(0.5 * (classes as f64 - 1.0) * (2.0 * PI * E).ln(), 2);
    let told = counted.plus(mean_ln.times(0.5));
    // If every input has a class of its own, nothing more is hidden or told.
    if classes == protocol.inputs() {
        return Ok(told);
    }
    Ok(told.plus(hidden_part(protocol, prior, settings)?))
}

/// `−½ E Σ_i ln(1 − σ_i²)` over the canonical correlations below 1.
fn hidden_part(protocol: &Protocol, prior: &Prior, settings: &Settings) -> Result<Evaluation, Absence> {
    if let Some(found) = of_response(protocol, prior) {
        return Ok(found);
    }
    let is_large = |block: &Block| block.order() * block.inputs() > MAX_ENTRIES;
    if matches!(protocol, Protocol::Block(block) if is_large(block)) {
        return Err(Absence::NoMethod { what: "the tallies of users who report blocks of a large design" });
    }
    let fisher = if protocol.classes()? > 1 { Box::new(dense(protocol)?) } else { of_protocol(protocol)? };
    let hidden = Hidden { fisher: &*fisher };
    let options =
        MeanOptions { tolerance: settings.mean_tolerance(), seed: settings.seed, ..MeanOptions::default() };
    let under = |dirichlet: &Dirichlet| expected_ln_det(&hidden, dirichlet.alpha(), &options);
    let at = |ln_p: &[f64]| fisher.ln_hidden(&Point::from_ln_weights(ln_p.to_vec()));
    let mean = mean_over_prior(prior, settings, &under, &at)?;
    if mean.value.is_nan() {
        return Err(Absence::NoMethod { what: "a protocol that hides next to nothing" });
    }
    Ok(mean.times(-0.5))
}

/// Randomised response on many values, in one-dimensional integrals. With `β = e^ε − 1` and `γ = aβ/(a+β)`,
/// ```text
/// Σ_i ln(1 − σ_i²) = Σ_x [ln(1 + γ P_x) − ln(1 + β P_x)] + ln(1 + Z),   0 ≤ Z ≤ β/a
/// ```
/// and half of the last term's bound is added. `None` for few values, or if the bound is too large.
fn of_response(protocol: &Protocol, prior: &Prior) -> Option<Evaluation> {
    let Protocol::GeneralisedRandomisedResponse(grr) = protocol else { return None };
    let (a, beta) = (protocol.inputs() as f64, grr.epsilon().exp_m1());
    let bound = (beta / a).ln_1p();
    if bound > MOST_UNKNOWN {
        return None;
    }
    let gamma = a * beta / (a + beta);
    let mut sum = Evaluation::new(0.5 * bound, 0.5 * bound, Method::Quadrature);
    for (weight, dirichlet) in prior.dirichlets()? {
        for group in dirichlet.groups() {
            let mean = |factor: f64| {
                let mean =
                    LinearForm::from_deviations(&[(group.alpha, factor), (group.others, 0.0)]).mean_ln();
                Evaluation::new(mean.value, mean.error, Method::Quadrature)
            };
            let difference = mean(gamma).plus(mean(beta).times(-1.0));
            sum = sum.plus(difference.times(weight * group.count as f64));
        }
    }
    Some(sum.times(-0.5))
}

/// The largest unknown part of a sum of logarithms, in nats.
const MOST_UNKNOWN: f64 = 1e-3;

fn dense(protocol: &Protocol) -> Result<DenseMatrix, Absence> {
    let matrix = protocol.canonical_matrix()?;
    Ok(DenseMatrix::new(protocol.inputs(), matrix.rows().flatten().copied().collect()))
}

/// `E Σ_c ln π_c(P) = Σ_c (ψ(α_c) − ψ(α_0))`.
fn class_ln_mean(class_of: &[usize], dirichlet: &Dirichlet) -> Evaluation {
    let mut alpha = BTreeMap::<usize, f64>::new();
    for (class, alpha_x) in class_of.iter().zip(dirichlet.alpha()) {
        *alpha.entry(*class).or_default() += alpha_x;
    }
    let total = dirichlet.total();
    let sum: f64 = alpha.values().map(|alpha_c| -digamma_difference(*alpha_c, total - alpha_c)).sum();
    Evaluation::closed_form(sum, 16)
}

/// `Σ_c ln π_c(p)`.
fn class_ln(class_of: &[usize], ln_p: &[f64]) -> f64 {
    let mut masses = BTreeMap::<usize, f64>::new();
    for (class, ln_p_x) in class_of.iter().zip(ln_p) {
        *masses.entry(*class).or_default() += ln_p_x.exp();
    }
    masses.values().map(|mass| mass.ln()).sum()
}

/// `ln det(J_X − J_Y) − ln det J_X` in place of the log-determinant.
struct Hidden<'a> {
    fisher: &'a dyn FisherInformation,
}

impl FisherInformation for Hidden<'_> {
    fn inputs(&self) -> usize {
        self.fisher.inputs()
    }

    fn ln_det(&self, point: &Point) -> f64 {
        self.fisher.ln_hidden(point)
    }

    fn operations(&self, smallest: f64) -> f64 {
        2.0 * self.fisher.operations(smallest)
    }

    /// The information and what is left of it after a report, both at once.
    fn numbers(&self, smallest: f64) -> f64 {
        2.0 * self.fisher.numbers(smallest)
    }

    fn ln_det_error(&self) -> f64 {
        self.fisher.ln_det_error()
    }

    fn contrast(&self) -> f64 {
        self.fisher.contrast()
    }
}
