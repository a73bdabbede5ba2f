//! What tallies say about the distribution `P` of the values and about the tallies `T` of this very population.
//!
//! # Definition
//! ```text
//! p(P | y⃗) ∝ p(P) Π_y (QP)_y^{s_y},      T_x = how many of the n users hold x
//! ```
//! [paper, section "Posterior distributions"]. The log-likelihood is concave in `P`; under a Dirichlet prior the posterior is a mixture of
//! `Dir(α + t)` over the possible tallies `t`.
//!
//! # Methods, in the order in which the automatic choice tries them
//!
//! | method | for | what is exact |
//! |---|---|---|
//! | Bayes' rule (`points`) | priors with finitely many points | everything but quantiles of `T` |
//! | closed form (`certain`) | the truth, erasure: reports that tell all or nothing | everything |
//! | polynomial products (`polynomials`) | GRR, up to `10^5` users | marginals, evidence, moments of `T`; independent draws |
//! | independent shares (`shares`) | GRR, any number of users, unless all but one value are too rare to be seen | the same |
//! | quadrature (`two_values`) | `a = 2`, any protocol, any `n` | the same |
//! | Dirichlet mixture (`mixture`) | any protocol while its terms fit [`MIXTURE_BUDGET`] | everything |
//! | Markov chains (`sampler`) | everything else | nothing; effective sample sizes and R-hat tell how good |
//!
//! Every method also gives joint draws of `(P, T)`; where they are independent the covariance and what is not exact come from them.
//!
//! ```
//! use sottovoce::posterior::{PosteriorOptions, posterior};
//! use sottovoce::{Output, Prior, Protocol, Tallies};
//!
//! let protocol = Protocol::matrix(vec![vec![5.0 / 6.0, 1.0 / 6.0], vec![1.0 / 6.0, 5.0 / 6.0]])?;
//! let tallies = Tallies::new(&protocol, [(Output::Index(0), 1604), (Output::Index(1), 831)])?;
//! let found = posterior(&protocol, &Prior::jeffreys(2)?, &tallies, &PosteriorOptions::default())?;
//! assert!((found.p[0].mean - 0.738).abs() < 1e-3);
//! # Ok::<(), sottovoce::Error>(())
//! ```

mod certain;
mod chains;
mod marginal;
mod mixture;
mod points;
mod polynomials;
mod response;
mod sampler;
mod shares;
mod summary;
mod two_values;

pub use marginal::prior_density;
pub use mixture::MIXTURE_BUDGET;
pub use response::exact_draws;
pub use summary::{Diagnostics, Draws, Posterior, PosteriorOptions, Summary};

use crate::information::Choice;
use crate::likelihood::patterns::Patterns;
use crate::likelihood::sparse_rows::SparseRows;
use crate::mcmc::target::few;
use crate::model::error::{Error, Result};
use crate::model::prior::{Dirichlet, Prior};
use crate::model::protocol::Protocol;
use crate::model::tallies::Tallies;

/// The posterior of `P` and `T`.
///
/// # Errors
/// The prior is on another number of values, or of one's own; the tallies are impossible; no method fits the choice; the chains of the
/// sampler did not converge.
pub fn posterior(
    protocol: &Protocol,
    prior: &Prior,
    tallies: &Tallies,
    options: &PosteriorOptions<'_>,
) -> Result<Posterior> {
    if prior.inputs() != protocol.inputs() {
        return Err(Error::PriorSize { prior: prior.inputs(), protocol: protocol.inputs() });
    }
    options.check_draws(prior.inputs())?;
    let parts = prior.dirichlets();
    if let Some(parts) = parts.as_ref().filter(|_| !matches!(prior, Prior::Points(_)))
        && (options.choice == Choice::MonteCarlo
            || !mixture::fits(protocol.inputs(), tallies.n(), parts.len()))
        && let Some(patterns) = packed(protocol, tallies)?
    {
        if options.choice == Choice::Exact {
            return Err(Error::NoExactPosterior);
        }
        return sampler::posterior(&patterns, parts, options);
    }
    let likelihood = SparseRows::new(protocol, tallies)?;
    if let Prior::Points(points) = prior {
        return points::posterior(&likelihood, points, options);
    }
    let Some(parts) = parts else { return Err(Error::PosteriorPrior) };
    if options.choice != Choice::MonteCarlo {
        if let Some(found) = exact(protocol, &likelihood, &parts, tallies, options) {
            return checked(found, &parts);
        }
        if options.choice == Choice::Exact {
            return Err(Error::NoExactPosterior);
        }
    }
    sampler::posterior(&likelihood, &parts, options)
}

/// The law that every posterior under one Dirichlet prior obeys.
const TALLY_LAW: &str = "(n + α0) E[P] − α = E[T] for one value";

/// The self-check of an exact answer: its means of `P` and of `T` were found in different ways, and under one Dirichlet prior
/// `(n + α_0) E[P_x] − α_x = E[T_x]`.
///
/// # Errors
/// They do not agree.
fn checked(found: Posterior, parts: &Parts<'_>) -> Result<Posterior> {
    /// Relative to the number of users with the prior's.
    const MAX_DEVIATION: f64 = 1e-6;
    let [(_, prior)] = parts else { return Ok(found) };
    let total = found.n as f64 + prior.total();
    for ((p, t), alpha) in found.p.iter().zip(&found.t).zip(prior.alpha()) {
        let off = total * p.mean - alpha - t.mean;
        if off.is_nan() || off.abs() > MAX_DEVIATION * total {
            return Err(Error::FailedCheck { what: TALLY_LAW, off, error: 0.0 });
        }
    }
    Ok(found)
}

/// Reports that are many different sets of inputs, as packed bits.
///
/// # Errors
/// They do not fit into memory, or one is impossible.
fn packed(protocol: &Protocol, tallies: &Tallies) -> Result<Option<Patterns>> {
    let sets = matches!(
        protocol,
        Protocol::UnaryEncoding(_) | Protocol::LocalHash(_) | Protocol::SubsetSelection(_)
    );
    let a = protocol.inputs();
    // Two values have an exact method, and so have reports that tell nothing or all.
    let level = protocol.level()?;
    if !sets || a == 2 || few(tallies.counts().len(), a) || level == 0.0 || level > MAX_LEVEL {
        return Ok(None);
    }
    Ok(Some(Patterns::of(protocol, tallies)?).filter(|patterns| !few(patterns.len(), a)))
}

/// The privacy level above which reports are as good as the truth, and rows of their own serve better than packed bits.
const MAX_LEVEL: f64 = 30.0;

/// The parts of a Dirichlet mixture with their weights.
type Parts<'a> = [(f64, &'a Dirichlet)];

/// The posterior by the first exact method that is affordable.
fn exact(
    protocol: &Protocol,
    likelihood: &SparseRows,
    parts: &Parts<'_>,
    tallies: &Tallies,
    options: &PosteriorOptions<'_>,
) -> Option<Posterior> {
    if let Some(known) = likelihood.certain() {
        return Some(certain::posterior(likelihood, &known, parts, options));
    }
    if let Protocol::GeneralisedRandomisedResponse(response) = protocol
        && let Some(found) = response::posterior(response, tallies, parts, options)
    {
        return Some(found);
    }
    if likelihood.inputs() == 2 {
        return Some(two_values::posterior(likelihood, parts, options));
    }
    mixture::posterior(likelihood, parts, options)
}
