//! The best protocol for a privacy requirement, with a certificate: the paper's open problem "find optimal privacy protocols".
//!
//! # The picture
//! A protocol is a bag of rows, and a row is a weight times a direction: `row_j = θ_j v_j`. For fixed directions
//! ```text
//! Qᵀ D_p Q = Σ_j θ_j v_j v_jᵀ/(v_j·p)      is linear in θ, so U_as (an expected ln det) is concave,
//! I(X;Y|P) = Σ_j θ_j ℓ(v_j)                 is linear in θ, so S_μ is,
//! Σ_j θ_j v_j = 1                           makes Q column-stochastic.
//! ```
//! So the best protocol is a convex program, as in the optimal design of experiments, and its multipliers are a proof that
//! nothing is better ([`Certificate`]). `ε`-LDP allows the directions with `max v ≤ e^ε min v`; splitting a row along the edges of that cone,
//! `v ∈ {1, e^ε}^a`, never lowers the utility, so without a limit on the leakage those suffice. With one, directions inside count too,
//! and are found by column generation.
//!
//! Where only leakage is limited, the best protocol is often a candid one, which tells a share of the truth about each value and else one thing. That
//! is tried first, because what directions gain is then known without any points of the prior.
//!
//! Inputs that the prior does not tell apart may be permuted: only orbits of directions have weights. Under a symmetric prior and
//! `ε` alone the candidates are the mixtures of `k`-subset selections.
//!
//! # Rooms
//! `rule` the points of the prior, `calibration` their weights, `direction` directions and orbits, `program` the weights of given directions,
//! `rows` what becomes of all rows of a protocol if they move, `candid` protocols of which all is known by integrals,
//! `price` the gain of a direction, `branch_and_bound` a bound on that of all, `simplex` a bound on a quadratic function, `toward_privacy` rows whose doubles keep the level, `optimum` the loop around them, `many_inputs` subset selections for up to ten thousand inputs, `one_user` the linear program for a
//! single report.

mod branch_and_bound;
mod calibration;
mod candid;
mod certificate;
mod difference_set;
mod direction;
mod many_inputs;
mod one_user;
mod optimum;
mod price;
mod program;
mod reference;
mod requirement;
mod rows;
mod rule;
mod simplex;
mod toward_privacy;
mod triangle;

pub use certificate::Certificate;
pub use difference_set::{block_selection, difference_set};
pub use direction::{Classes, Direction};
pub use one_user::{OneUserDesign, best_for_one_user};
pub use requirement::Requirement;

use crate::error::{Error, Result};
use crate::information::{Sampling, SamplingObserver};
use crate::prior::Prior;
use crate::protocol::Protocol;
use many_inputs::ManyInputs;
use optimum::Problem;

/// A protocol, and how much better any other could be.
#[derive(Clone, Debug)]
pub struct Design {
    /// The protocol.
    pub protocol: Protocol,
    /// Its leakage `I(X;Y|P)`.
    pub leakage: f64,
    /// Why no other is better by more than its gap.
    pub certificate: Certificate,
}

/// How much work a design may take.
#[derive(Clone, Copy)]
pub struct Effort<'a> {
    /// The gap in `U_as` to aim at.
    pub gap: f64,
    /// The seed of the random points, where there are any.
    pub seed: u64,
    /// Hears of the search: how many directions were priced in the last look (`draws`, 0 at the start), the gap in `U_as` that is left (`error`) and the one to aim at. When
    /// it breaks, the best protocol so far is given, with the gap that is certified for it.
    pub observer: Option<SamplingObserver<'a>>,
}

impl Default for Effort<'_> {
    fn default() -> Self {
        Effort { gap: 1e-4, seed: 0, observer: None }
    }
}

impl Effort<'_> {
    /// Tells the observer, and says whether to stop.
    fn is_over(&self, priced: usize, gap: f64) -> bool {
        let progress = Sampling { draws: priced as u64, value: f64::NAN, error: gap, tolerance: self.gap };
        self.observer.is_some_and(|observer| observer(&progress).is_break())
    }

    /// Points of the prior to begin with: a column holds a triangle of numbers for each, and a direction takes a triangle of operations.
    fn points(self, inputs: usize, limited: bool) -> usize {
        match (inputs, limited) {
            (..=3, _) => 6_000,
            (4, _) | (5..=6, false) => 32_768,
            (5, true) => 8_192,
            (6, true) => 16_384,
            _ => 4_096,
        }
    }
}

/// The protocol of largest asymptotic utility among all that meet the requirement.
///
/// # Method and cost
/// See the module. Without a limit on the average privacy up to twelve inputs, or ten thousand under a symmetric prior; with one up to
/// six, or ten under a symmetric prior.
///
/// # Accuracy
/// As the certificate states.
///
/// # Example
/// ```
/// use sottovoce::{Prior, Protocol, design::{Effort, Requirement, best_protocol}};
/// let requirement = Requirement::new(Some(1.0), None)?;
/// let design = best_protocol(&Prior::jeffreys(3)?, &requirement, Effort::default())?;
/// assert_eq!(design.protocol, Protocol::grr(3, 1.0)?);
/// assert!(design.certificate.gap < 1e-4);
/// # Ok::<(), sottovoce::Error>(())
/// ```
///
/// # Errors
/// The prior is not Dirichlet or a mixture of Dirichlets, there are too many inputs, or the search did not converge.
pub fn best_protocol(prior: &Prior, requirement: &Requirement, effort: Effort<'_>) -> Result<Design> {
    let parts = prior.dirichlets().ok_or(Error::DesignPrior)?;
    effort.is_over(0, f64::INFINITY);
    if let (Some(epsilon), None, [(_, part)]) =
        (requirement.epsilon(), requirement.average_privacy(), &parts[..])
    {
        let inputs = part.alpha().len();
        if part.groups().len() == 1 && (optimum::MOST_INPUTS + 1..=many_inputs::MOST_INPUTS).contains(&inputs)
        {
            return ManyInputs::new(part, epsilon, effort).solve();
        }
    }
    Problem::new(&parts, requirement, effort)?.solve()
}

/// The mixture of subset selections of the given sizes; one alone is itself.
fn subset_mixture(a: usize, epsilon: f64, sizes: &[usize], weights: &[f64]) -> Result<Protocol> {
    let part = |k: &usize| if *k == 1 { Protocol::grr(a, epsilon) } else { Protocol::subset(a, *k, epsilon) };
    let mut parts: Vec<Protocol> = sizes.iter().map(part).collect::<Result<_>>()?;
    if parts.len() == 1 {
        return Ok(parts.remove(0));
    }
    let total: f64 = weights.iter().sum();
    Protocol::mixture(weights.iter().map(|w| w / total).collect(), parts)
}
