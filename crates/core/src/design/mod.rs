//! The best protocol for a privacy requirement, with a certificate: the paper's open problem "find optimal privacy protocols".
//!
//! # The program
//! A row of a protocol is a weight times a direction, `row_j = θ_j v_j`. For fixed directions
//! ```text
//! Qᵀ D_p Q = Σ_j θ_j v_j v_jᵀ/(v_j·p)      is linear in θ, so U_as (an expected ln det) is concave,
//! I(X;Y|P) = Σ_j θ_j ℓ(v_j)                 is linear in θ, so S_μ is,
//! Σ_j θ_j v_j = 1                           makes Q column-stochastic.
//! ```
//! So the best protocol is a convex program, as in D-optimal design of experiments. Its dual variables bound the utility of every other protocol
//! ([`Certificate`]), as in the equivalence theorem of Kiefer and Wolfowitz. An LDP level allows the directions with `max v ≤ e^ε min v`. Splitting a row along
//! the extreme rays of that cone, `v ∈ {1, e^ε}^a`, never lowers the utility, so without a limit on leakage those suffice. With one, directions inside
//! the cone count too, and are found by column generation.
//!
//! `docs/design.md` derives every step and names the file that does it.
//!
//! # Files
//! - The program: `problem`, `direction`, `cone`, `symmetry` (orbits under permutations), `row_leakage`, `tolerances`.
//! - Means over the prior: `cubature`, `control_variate`.
//! - Column generation: `column_generation` with its passes in `refinement`, `column`, `restricted_master`, `dual_variables`, `sensitivity`, `pricing`, `kkt_newton`.
//! - Protocols known by integrals: `partial_disclosure`.
//! - The result: `certificate`, `protocol_form`, `toward_privacy`.
//! - Other designs: `many_inputs` (subset selections), `one_user` (a linear program for a single report), `finite_users` (a search for `n` users).

mod certificate;
mod column;
mod column_generation;
mod cone;
mod control_variate;
mod cubature;
mod direction;
mod dual_variables;
mod effort;
mod expansion;
mod finite_users;
mod kkt_newton;
mod many_inputs;
mod one_user;
pub mod optimal_parameter;
mod packed_symmetric;
mod partial_disclosure;
mod pricing;
mod problem;
mod protocol_form;
mod refinement;
mod requirement;
mod restricted_master;
mod row_leakage;
mod sensitivity;
mod symmetry;
mod tolerances;
mod toward_privacy;

pub use certificate::Certificate;
pub use effort::Effort;
pub use finite_users::{UsersDesign, best_for_users};
pub use one_user::{OneUserDesign, best_for_one_user};
pub use requirement::Requirement;

use crate::model::error::{Error, Result};
use crate::model::prior::{Dirichlet, Prior};
use crate::model::protocol::Protocol;
use many_inputs::ManyInputs;
use problem::Problem;
use tolerances::Tolerances;

/// A prior as a mixture of Dirichlets: components with their weights.
type PriorComponents<'a> = [(f64, &'a Dirichlet)];

/// A protocol with a bound on how much better any other can be.
#[derive(Clone, Debug)]
pub struct Design {
    /// The protocol.
    pub protocol: Protocol,
    /// Its leakage `I(X;Y|P)`.
    pub leakage: f64,
    /// The bound on all other protocols.
    pub certificate: Certificate,
}

/// The protocol of largest asymptotic utility among all that meet the requirement.
///
/// # Method and cost
/// Column generation, see the module. Without a limit on the average privacy up to twelve inputs, or ten thousand under a symmetric prior; with one up to
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
    let components = prior.dirichlets().ok_or(Error::DesignPrior)?;
    effort.is_interrupted(0, f64::INFINITY);
    if let (Some(epsilon), None, [(_, dirichlet)]) =
        (requirement.epsilon(), requirement.average_privacy(), &components[..])
    {
        let Tolerances { limits, many_inputs, .. } = Tolerances::default();
        let inputs = dirichlet.alpha().len();
        let is_large = (limits.inputs_epsilon + 1..=many_inputs.max_inputs).contains(&inputs);
        if dirichlet.groups().len() == 1 && is_large {
            return ManyInputs::new(dirichlet, epsilon, effort, many_inputs).solve();
        }
    }
    Problem::new(&components, requirement, effort)?.solve()
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
