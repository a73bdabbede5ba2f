//! The aggregator's side of the information split, and the choice of a method for it.

use super::grr::{self, Response};
use super::sampling::SamplingObserver;
use super::users::{binomial_nodes, group_private, users_side};
use super::{enumeration, group_sampling, one_dimensional, path_sampling, response_sampling, truth_sampling};
use crate::likelihood::reduced::Reduced;
use crate::model::absence::Absence;
use crate::model::error::Error;
use crate::model::evaluation::{Evaluation, Method};
use crate::model::prior::Prior;
use crate::model::protocol::Protocol;

/// Which method to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice {
    /// Exact if that fits the work budget, then the approximation if it is accurate enough, otherwise Monte
    /// Carlo.
    #[default]
    Automatic,
    /// Exact, or no answer.
    Exact,
    /// The bridged approximation, even where an exact method would work.
    Approximation,
    /// Monte Carlo, even where an exact method would work.
    MonteCarlo,
    /// The limit for many users, whose error at a finite number is unknown.
    Asymptote,
}

/// Options of a finite-n computation.
#[derive(Clone, Copy)]
pub struct InformationOptions<'a> {
    /// The method.
    pub choice: Choice,
    /// Target standard error of Monte Carlo, in nats.
    pub tolerance: f64,
    /// Largest number of Monte Carlo draws.
    pub draws: u64,
    /// Seed of all draws. The same seed gives the same answer on any number of threads.
    pub seed: u64,
    /// Largest number of elementary steps of an exact method; a core makes about 10⁹ per second.
    pub work_budget: f64,
    /// `I(Y⃗;P)` if it is already known, so that [`tally_information`] need not recompute it.
    pub distribution: Option<Evaluation>,
    /// Is told about progress, and may stop a Monte Carlo computation.
    pub observer: Option<SamplingObserver<'a>>,
}

impl Default for InformationOptions<'_> {
    fn default() -> Self {
        InformationOptions {
            choice: Choice::Automatic,
            tolerance: 1e-2,
            draws: 1 << 24,
            seed: 0,
            work_budget: enumeration::WORK_BUDGET,
            distribution: None,
            observer: None,
        }
    }
}

/// `I(Y⃗;P)`, the information of `n` reports about the distribution.
///
/// # Errors
/// No method fits the choice, or the protocol is too large for the only one that does.
pub fn distribution_information(
    protocol: &Protocol,
    prior: &Prior,
    n: u64,
    options: &InformationOptions<'_>,
) -> Result<Evaluation, Absence> {
    let question = Question { protocol, prior, n, options, tally: false };
    within_bounds(&question, information(&question)?)
}

/// `I(Y⃗;T)`, the information of `n` reports about the tallies of the values.
///
/// # Errors
/// As for [`distribution_information`].
pub fn tally_information(
    protocol: &Protocol,
    prior: &Prior,
    n: u64,
    options: &InformationOptions<'_>,
) -> Result<Evaluation, Absence> {
    let question = Question { protocol, prior, n, options, tally: true };
    within_bounds(&question, information(&question)?)
}

/// What to compute.
struct Question<'a> {
    protocol: &'a Protocol,
    prior: &'a Prior,
    n: u64,
    options: &'a InformationOptions<'a>,
    /// The information about the tallies rather than the distribution.
    tally: bool,
}

fn information(question: &Question<'_>) -> Result<Evaluation, Absence> {
    let Question { protocol, prior, n, options, tally } = *question;
    if protocol.inputs() != prior.inputs() {
        return Err(Error::PriorSize { prior: prior.inputs(), protocol: protocol.inputs() }.into());
    }
    if n == 0 {
        return Ok(NOTHING);
    }
    if let Some(found) = of_identity(question) {
        return Ok(found);
    }
    if let Some(found) = of_erasure(question) {
        return Ok(found);
    }
    let response = response(protocol, prior);
    let fits = |response: &&Response<'_>| {
        !tally && exact_allowed(options) && grr::work(response, n) <= options.work_budget
    };
    if let Some(response) = response.as_ref().filter(fits) {
        return Ok(grr::distribution(response, n));
    }
    let reduced = reduced(question)?;
    if let Some(reduced) = &reduced {
        if reduced.inputs() == 1 {
            return Ok(NOTHING);
        }
        if let Some(found) = exact(question, reduced).filter(|_| exact_allowed(options)) {
            return Ok(found);
        }
    }
    if options.choice == Choice::Exact {
        return Err(Absence::NoMethod {
            what: "the exact sums exceed the work budget; Monte Carlo would do",
        });
    }
    if let Some(found) = truth(question) {
        return found;
    }
    let outputs = match prior {
        Prior::Smooth(_) | Prior::Custom(_) if small(protocol) => Some(Reduced::of_outputs(protocol)?),
        _ => None,
    };
    let reduced = reduced.or(outputs);
    match (response, tally) {
        (Some(response), false) => response_sampling::distribution(&response, n, options),
        (Some(response), true) => response_sampling::tally(&response, n, options),
        (None, false) => match prior {
            Prior::DirichletMixture(prior) => {
                path_sampling::mixture_distribution(protocol, prior, reduced.as_ref(), n, options)
            }
            Prior::Adaptive(prior) => {
                path_sampling::mixture_distribution(protocol, prior.mixture(), reduced.as_ref(), n, options)
            }
            _ => path_sampling::distribution(protocol, prior, reduced.as_ref(), n, options),
        },
        (None, true) => tally_by_parts(question, reduced.as_ref()),
    }
}

/// Standard errors by which a sampled number may lie outside its bounds: by chance with probability 3e-7.
const MAX_DEVIATION: f64 = 5.0;

/// Self-check of sampled numbers: `I ≥ 0`, and reports carry no more information than the values themselves.
/// A number that lies outside by chance is clipped to the bound.
///
/// # Errors
/// The number lies outside by more than chance explains.
fn within_bounds(question: &Question<'_>, found: Evaluation) -> Result<Evaluation, Absence> {
    if found.method != Method::MonteCarlo {
        return Ok(found);
    }
    let highest = most_information(question).unwrap_or(f64::INFINITY);
    let off = if found.value < 0.0 { found.value } else { (found.value - highest).max(0.0) };
    if off.is_nan() || off.abs() > MAX_DEVIATION * found.error {
        let what = if question.tally { "0 ≤ I(Y;T) ≤ H(T)" } else { "0 ≤ I(Y;P) ≤ I(X;P)" };
        return Err(Error::FailedCheck { what, off, error: found.error }.into());
    }
    Ok(Evaluation { value: found.value.clamp(0.0, highest), ..found })
}

/// An upper bound on `I(X⃗;P)`, or on `H(T)`: under a mixture with component `J`,
/// `I(X⃗;P) ≤ H(J) + Σ_j w_j I_j(X⃗;P)`. `None` under a custom prior.
fn most_information(question: &Question<'_>) -> Option<f64> {
    let Question { prior, n, tally, .. } = *question;
    let entropy =
        |weights: &[f64]| weights.iter().map(|w| if *w > 0.0 { -w * w.ln() } else { 0.0 }).sum::<f64>();
    let group = if tally { group_private(prior, n)?.value } else { 0.0 };
    let distribution = match prior {
        Prior::Points(points) => entropy(points.weights()),
        _ => {
            let parts = prior.dirichlets()?;
            let weights: Vec<f64> = parts.iter().map(|(w, _)| *w).collect();
            entropy(&weights)
                + parts.iter().map(|(w, d)| w * users_side(d, n).distribution.value).sum::<f64>()
        }
    };
    Some(distribution + group)
}

/// `I(Y⃗;T) = I(Y⃗;P) + I(Y⃗;T|P)`.
fn tally_by_parts(question: &Question<'_>, reduced: Option<&Reduced>) -> Result<Evaluation, Absence> {
    let Question { protocol, prior, n, options, .. } = *question;
    let distribution = match options.distribution {
        Some(known) => known,
        None => {
            let part = InformationOptions { tolerance: DISTRIBUTION_SHARE * options.tolerance, ..*options };
            distribution_information(protocol, prior, n, &part)?
        }
    };
    group_sampling::tally(protocol, prior, reduced, n, distribution, options)
}

/// Whether Monte Carlo computes `I(Y⃗;T)` of a protocol as `I(Y⃗;P) + I(Y⃗;T|P)`.
pub(crate) fn by_parts(protocol: &Protocol) -> bool {
    !matches!(protocol, Protocol::GeneralisedRandomisedResponse(_) | Protocol::Identity(_))
}

/// The share of a tolerance for `I(Y⃗;T)` that `I(Y⃗;P)` may use; errors add in quadrature.
const DISTRIBUTION_SHARE: f64 = 0.9;

fn exact_allowed(options: &InformationOptions<'_>) -> bool {
    options.choice != Choice::MonteCarlo
}

/// The identity protocol under a Dirichlet prior: the aggregator knows what the users know.
fn of_identity(question: &Question<'_>) -> Option<Evaluation> {
    let (Protocol::Identity(_), Prior::Dirichlet(prior)) = (question.protocol, question.prior) else {
        return None;
    };
    if !exact_allowed(question.options) {
        return None;
    }
    let side = users_side(prior, question.n);
    Some(if question.tally { side.tally() } else { side.distribution })
}

/// Erasure under a Dirichlet prior: `I(Y⃗;P) = E[I(X⃗_N;P)]` with the number `N ~ Binomial(n, reveal)` of users who
/// told the truth. Between integers the information is linear; it bends by at most `(a−1)/2N²`.
fn of_erasure(question: &Question<'_>) -> Option<Evaluation> {
    let (Protocol::Erasure(erasure), Prior::Dirichlet(prior)) = (question.protocol, question.prior) else {
        return None;
    };
    if question.tally || !exact_allowed(question.options) {
        return None;
    }
    if erasure.reveal() == 0.0 {
        return Some(NOTHING);
    }
    let bend = 0.0625 * (prior.alpha().len() as f64 - 1.0);
    let told = |count: f64| if count < 1.0 { NOTHING } else { users_side(prior, count as u64).distribution };
    let node = |(count, weight): &(f64, f64)| {
        let share = count.fract();
        let (below, between) = (told(count.floor()).times(1.0 - share), Evaluation::closed_form(0.0, 0));
        let above = if share > 0.0 { told(count.ceil()).times(share) } else { between };
        let bent = if share > 0.0 { bend / (count * count) } else { 0.0 };
        let found = below.plus(above);
        Evaluation { error: found.error + bent, ..found }.times(*weight)
    };
    let nodes = binomial_nodes(question.n, erasure.reveal(), 20);
    Some(nodes.iter().map(node).fold(Evaluation::new(0.0, 0.0, Method::Quadrature), Evaluation::plus))
}

/// The identity protocol, by Monte Carlo.
fn truth(question: &Question<'_>) -> Option<Result<Evaluation, Absence>> {
    let Question { protocol, prior, n, options, tally } = *question;
    if !matches!(protocol, Protocol::Identity(_)) {
        return None;
    }
    truth_sampling::information(prior, n, tally, options)
}

/// GRR under Dirichlet priors and their mixtures.
fn response<'a>(protocol: &Protocol, prior: &'a Prior) -> Option<Response<'a>> {
    let Protocol::GeneralisedRandomisedResponse(grr) = protocol else { return None };
    Some(Response { a: protocol.inputs(), beta: grr.epsilon().exp_m1(), parts: prior.dirichlets()? })
}

/// The reduced problem, or `None` if its matrix would be too large to be useful or the prior is custom.
fn reduced(question: &Question<'_>) -> Result<Option<Reduced>, Absence> {
    Ok(if small(question.protocol) { Reduced::new(question.protocol, question.prior)? } else { None })
}

/// Whether the canonical matrix is small enough to be useful.
fn small(protocol: &Protocol) -> bool {
    const MOST_ENTRIES: f64 = 65536.0;
    let combined = !protocol.parts().is_empty() || matches!(protocol, Protocol::Matrix(_));
    let hash = matches!(protocol, Protocol::LocalHash(_)) && protocol.inputs() <= 12;
    combined || hash || protocol.report_bits().exp2() * protocol.inputs() as f64 <= MOST_ENTRIES
}

/// The exact sum that fits the budget, if there is one.
fn exact(question: &Question<'_>, reduced: &Reduced) -> Option<Evaluation> {
    let Question { n, options, tally, .. } = *question;
    let enumeration = enumeration::work(reduced, n, tally);
    let line = one_dimensional::work(reduced, n, tally);
    let found = if enumeration <= line.min(options.work_budget) {
        if tally { enumeration::tally(reduced, n) } else { enumeration::distribution(reduced, n) }
    } else if line <= options.work_budget {
        if tally { one_dimensional::tally(reduced, n) } else { one_dimensional::distribution(reduced, n) }
    } else {
        return None;
    };
    Some(found)
}

/// A protocol that ignores its input carries no information.
const NOTHING: Evaluation = Evaluation { value: 0.0, error: 0.0, method: Method::ClosedForm };

#[cfg(test)]
mod tests {
    use super::*;

    /// Erasure as a matrix, by enumeration.
    #[test]
    fn erasure_is_a_random_number_of_true_values() {
        for (a, reveal, alpha, n) in [(3, 0.4, 0.5, 12), (2, 0.7, 2.0, 40), (4, 0.1, 1.0, 8)] {
            let (protocol, prior) =
                (Protocol::erasure(a, reveal).unwrap(), Prior::symmetric(a, alpha).unwrap());
            let found =
                distribution_information(&protocol, &prior, n, &InformationOptions::default()).unwrap();
            let exact = enumeration::distribution(&Reduced::new(&protocol, &prior).unwrap().unwrap(), n);
            assert!((found.value - exact.value).abs() < 1e-10, "{a} {n}: {found:?} {exact:?}");
        }
    }
}
