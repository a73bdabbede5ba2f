//! The posterior of the distribution `P` of the values and of the tallies `T` of this particular population.
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
//! | closed form (`certain`) | identity, erasure: reports that reveal everything or nothing | everything |
//! | polynomial products (`polynomials`) | GRR, up to `10^5` users | marginals, evidence, moments of `T`; independent draws |
//! | independent shares (`shares`) | GRR, any number of users, unless all but one value are too rare to be seen | the same |
//! | quadrature (`two_values`) | `a = 2`, any protocol, any `n` | the same |
//! | Dirichlet mixture (`mixture`) | any protocol while its terms fit [`MIXTURE_BUDGET`] | everything |
//! | Markov chains (`sampler`) | everything else | nothing; effective sample sizes and R-hat measure the quality |
//!
//! [`posterior_of_supports`] is for collections of which only supports were kept, [`posterior_of_collections`] for several collections of the
//! same values.
//!
//! The smoothing prior ([`crate::prior::Smooth`]) has chains of its own (`smooth`). Under the adaptive prior ([`crate::prior::Adaptive`]) the exact methods mix over quadrature nodes of its
//! parameter, and chains move it along with `P`.
//!
//! What people ask of a posterior — a group's share, a mean, a difference, a rank — is a [`Functional`], answered by
//! [`Posterior::functional`].
//!
//! Every method also gives joint draws of `(P, T)`. Where they are independent, the covariance and whatever
//! is not exact are computed from them.
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

mod adaptive;
mod answer;
mod certain;
mod chains;
mod functional;
mod marginal;
mod mixture;
mod plain_chains;
mod points;
mod polynomials;
mod response;
mod sampler;
mod shares;
mod smooth;
mod summary;
mod supports;
mod truthful_reports;
mod two_values;

pub use answer::{Contrast, FUNCTIONAL_DRAWS, FunctionalSummary};
pub use functional::Functional;
pub use marginal::prior_density;
pub use mixture::MIXTURE_BUDGET;
pub use response::exact_draws;
pub use summary::{Diagnostics, Draws, Posterior, PosteriorOptions, Summary};
pub use supports::posterior_of_supports;

use crate::information::Choice;
use crate::likelihood::Senders;
use crate::likelihood::blocks::Blocks;
use crate::likelihood::patterns::Patterns;
use crate::likelihood::sparse_rows::SparseRows;
use crate::mcmc::target::{ChainPrior, few};
use crate::model::combination::Combination;
use crate::model::error::{Error, Result};
use crate::model::prior::{Adaptive, Dirichlet, Prior};
use crate::model::protocol::Protocol;
use crate::model::supports::Reports;
use crate::model::tallies::Tallies;

/// The posterior of `P` and `T`.
///
/// # Errors
/// The prior is custom or has a different number of values; the tallies are impossible; no method fits the
/// choice; the chains of the sampler did not converge.
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
    if let Prior::Smooth(_) = prior {
        return match packed(protocol, tallies)? {
            Some(patterns) => smooth::posterior(&*patterns, options),
            None => smooth::posterior(&SparseRows::new(protocol, tallies)?, options),
        };
    }
    if let Some(parts) = parts.as_ref().filter(|_| !matches!(prior, Prior::Points(_)))
        && (options.choice == Choice::MonteCarlo
            || !mixture::fits(protocol.inputs(), tallies.n(), parts.len()))
        && let Some(patterns) = packed(protocol, tallies)?
    {
        if options.choice == Choice::Exact {
            return Err(Error::NoExactPosterior);
        }
        return sampler::posterior(&*patterns, &chain_priors(prior, parts), options);
    }
    let likelihood = SparseRows::new(protocol, tallies)?;
    if let Prior::Points(points) = prior {
        return points::posterior(&likelihood, points, options);
    }
    let Some(parts) = parts else { return Err(Error::PosteriorPrior) };
    if options.choice != Choice::MonteCarlo {
        let found = match prior {
            Prior::Adaptive(adaptive) => exact_mixture(protocol, &likelihood, adaptive, tallies, options),
            _ => exact(protocol, &likelihood, &parts, tallies, options),
        };
        if let Some(found) = found {
            return checked(found, &parts);
        }
        if options.choice == Choice::Exact {
            return Err(Error::NoExactPosterior);
        }
    }
    sampler::posterior(&likelihood, &chain_priors(prior, &parts), options)
}

/// The posterior of `P` and of the tallies `T` of all users, given several collections of the same values under different protocols or privacy
/// levels ([`Combination`]).
///
/// The evidence is the probability of the reports given which collection each of them is from: it has no weights of the collections in it,
/// and equals `Σ_j` of those of the collections, each given the ones before it.
///
/// # Errors
/// As for [`posterior`] and [`posterior_of_supports`].
pub fn posterior_of_collections(
    collections: &Combination,
    prior: &Prior,
    options: &PosteriorOptions<'_>,
) -> Result<Posterior> {
    let mut found = match &collections.reports {
        Reports::Tallies(tallies) => posterior(&collections.protocol, prior, tallies, options)?,
        Reports::Supports(supports) => {
            posterior_of_supports(&collections.protocol, prior, supports, options)?
        }
    };
    if let Ok(evidence) = &mut found.log_evidence {
        evidence.value -= collections.ln_weights();
    }
    Ok(found)
}

/// The priors of the chains with their weights: one for each component, or one that moves its parameter.
fn chain_priors<'a>(prior: &Prior, parts: &Parts<'_>) -> Vec<(f64, ChainPrior<'a>)> {
    match prior {
        Prior::Adaptive(adaptive) => vec![(1.0, ChainPrior::Adaptive(adaptive.inputs()))],
        _ => parts.iter().map(|(weight, part)| (*weight, ChainPrior::from(*part))).collect(),
    }
}

/// The posterior under the adaptive prior, by the first exact method that is affordable.
fn exact_mixture(
    protocol: &Protocol,
    likelihood: &SparseRows,
    prior: &Adaptive,
    tallies: &Tallies,
    options: &PosteriorOptions<'_>,
) -> Option<Posterior> {
    let nodes = if let Some(known) = likelihood.certain() {
        adaptive::nodes(prior, &|part| Some(certain::ln_evidence(part, &known)))
    } else if let Protocol::GeneralisedRandomisedResponse(response) = protocol {
        adaptive::nodes(prior, &|part| response::ln_evidence(response, tallies, part))
    } else if likelihood.inputs() == 2 {
        adaptive::nodes(prior, &|part| Some(two_values::ln_evidence(likelihood, part)))
    } else {
        adaptive::all_nodes(prior)
    }?;
    let parts: Vec<(f64, &Dirichlet)> =
        nodes.nodes.iter().map(|node| (node.weight, &node.dirichlet)).collect();
    let mut found = exact(protocol, likelihood, &parts, tallies, options)?;
    found.alpha = Some(adaptive::summary(&nodes, &found.weights, options));
    if let Ok(evidence) = &mut found.log_evidence {
        evidence.error = evidence.error.max(adaptive::LN_EVIDENCE_ERROR);
    }
    Some(found)
}

/// An identity that every posterior under one Dirichlet prior satisfies.
const TALLY_LAW: &str = "(n + α0) E[P] − α = E[T] for one value";

/// Self-check of an exact answer: the means of `P` and of `T` were computed in different ways, and under one
/// Dirichlet prior `(n + α_0) E[P_x] − α_x = E[T_x]`.
///
/// # Errors
/// They do not agree.
fn checked(found: Posterior, parts: &Parts<'_>) -> Result<Posterior> {
    /// Relative to the number of users plus the prior's pseudo-counts.
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

/// Reports of which chains need not look at one row after another: many distinct sets of inputs as packed bits, and large block designs.
///
/// # Errors
/// They do not fit into memory, or one is impossible.
fn packed(protocol: &Protocol, tallies: &Tallies) -> Result<Option<Box<dyn Senders>>> {
    let a = protocol.inputs();
    if let Protocol::Block(block) = protocol {
        return Ok((a > 2 && !few(block.order(), a)).then(|| Box::new(Blocks::of(block, tallies)) as _));
    }
    let sets = matches!(
        protocol,
        Protocol::UnaryEncoding(_) | Protocol::LocalHash(_) | Protocol::SubsetSelection(_)
    );
    // Two values have an exact method, and so have reports that reveal nothing or everything.
    let level = protocol.level()?;
    if !sets || a == 2 || few(tallies.counts().len(), a) || level == 0.0 || level > MAX_LEVEL {
        return Ok(None);
    }
    let patterns = Some(Patterns::of(protocol, tallies)?).filter(|patterns| !few(patterns.len(), a));
    Ok(patterns.map(|patterns| Box::new(patterns) as _))
}

/// The privacy level above which reports are practically the true values, and separate rows work better than
/// packed bits.
const MAX_LEVEL: f64 = 30.0;

/// The components of a Dirichlet mixture with their weights.
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
