//! Maximum likelihood, with a certificate.
//!
//! # Definition
//! ```text
//! p̂ = argmax Σ_y s_y ln (Qp)_y   over all distributions p
//! ```
//!
//! # Method and cost
//! - Randomised response, the identity and erasure: closed form by water-filling, one sort.
//! - Block designs: spectral projected gradients, `O(v log v)` a pass; one of the next if these do not reach the tolerance, as at high levels.
//! - Up to [`MAX_INFORMATION`] inputs: sequential quadratic programming (Newton's method with the constraints
//!   of the simplex). Reports that are sets of inputs are stored as packed bits, and no pass takes `b × a`
//!   work.
//! - Beyond: accelerated expectation maximisation.
//!
//! The likelihood is concave, so its gradient at any point bounds the distance to the maximum
//! ([`Certificate::gap`], in nats). A search ends when the gap is within the tolerance, or reports that it is
//! not.

use faer::prelude::Solve;
use faer::{Mat, Side};

use super::linear::information;
use super::post_processing::norm_sub;
use super::{expectation_maximisation, newton, projected_gradient, water_filling};
use crate::likelihood::Likelihood;
use crate::likelihood::blocks::Blocks;
use crate::likelihood::centred_rows::CentredRows;
use crate::likelihood::patterns::Patterns;
use crate::model::error::{Error, Result};
use crate::model::protocol::Protocol;
use crate::model::supports::{Reports, Supports};
use crate::model::tallies::Tallies;

/// Largest number of inputs for which an `a × a` matrix is formed and factorised.
pub const MAX_INFORMATION: usize = 1024;

/// How close a search came to the maximum of the likelihood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certificate {
    /// The log-likelihood is below its maximum by at most this, in nats.
    pub gap: f64,
    /// The requested gap.
    pub tolerance: f64,
    /// Passes over the reports; 0 for a closed form.
    pub passes: usize,
}

impl Certificate {
    /// Whether the gap is within the tolerance.
    pub fn holds(&self) -> bool {
        self.gap <= self.tolerance
    }
}

/// The most likely frequencies, with a certificate.
#[derive(Clone, Debug)]
pub struct MaximumLikelihood {
    /// The frequencies.
    pub values: Vec<f64>,
    /// How close they are to the maximum.
    pub certificate: Certificate,
}

/// One unconstrained scoring step, and the variances from the inverse information.
///
/// The point after the step is asymptotically normal around the true frequencies with these variances (a
/// one-step estimate), while the maximum itself is not normal at the boundary.
#[derive(Clone, Debug)]
pub(crate) struct ScoringStep {
    /// The frequencies after the step. They may be negative.
    pub(crate) values: Vec<f64>,
    /// The diagonal of the inverse information.
    pub(crate) variances: Vec<f64>,
}

/// The most likely frequencies given these reports, to within `tolerance` nats. The search starts at
/// `linear`.
///
/// # Errors
/// There are no reports, complete reports are needed, an impossible output was reported, or there are too
/// many reports.
pub fn maximum_likelihood(
    protocol: &Protocol,
    reports: &Reports,
    linear: &[f64],
    tolerance: f64,
) -> Result<MaximumLikelihood> {
    if let Some((counts, floor)) = response(protocol, reports) {
        return closed_form(&counts, floor, tolerance);
    }
    let Reports::Tallies(tallies) = reports else {
        return Err(Error::SupportsOnly { what: "maximum likelihood" });
    };
    if let (Protocol::Block(block), true) = (protocol, tallies.n() > 0) {
        return Ok(search_blocks(&Blocks::of(block, tallies), linear, tolerance));
    }
    let likelihood = likelihood(protocol, tallies)?;
    if likelihood.reports() == 0.0 {
        return Err(if tallies.n() == 0 { Error::NoReports } else { Error::NothingTold });
    }
    Ok(search(&*likelihood, linear, tolerance))
}

/// Passes of expectation maximisation over the reports of a block design, where projected gradients did not reach the tolerance.
const MOST_BLOCK_PASSES: usize = 1000;

/// The maximum for a block design; by the method for its size from where projected gradients end, if these do not reach the tolerance.
fn search_blocks(blocks: &Blocks, linear: &[f64], tolerance: f64) -> MaximumLikelihood {
    let start = norm_sub(linear);
    let curvature = blocks.curvature(&start);
    let found = projected_gradient::projected_gradient(blocks, start, curvature, tolerance);
    if found.certificate.gap <= tolerance.max(projected_gradient::ROUNDING.0 * blocks.reports()) {
        return found;
    }
    let mut further = within(blocks, &found.values, tolerance, MOST_BLOCK_PASSES);
    further.certificate.passes += found.certificate.passes;
    if further.certificate.gap < found.certificate.gap { further } else { found }
}

/// The maximum of a likelihood, by the method that suits its size.
pub(crate) fn search(likelihood: &dyn Likelihood, linear: &[f64], tolerance: f64) -> MaximumLikelihood {
    within(likelihood, linear, tolerance, expectation_maximisation::MOST_PASSES)
}

/// The same with at most so many passes of expectation maximisation.
fn within(likelihood: &dyn Likelihood, linear: &[f64], tolerance: f64, passes: usize) -> MaximumLikelihood {
    let a = likelihood.inputs();
    // Inside the simplex every possible report has a positive probability.
    let inside = |share: f64| norm_sub(linear).iter().map(|p| (1.0 - share) * p + share / a as f64).collect();
    if a > MAX_INFORMATION {
        expectation_maximisation::accelerated(likelihood, inside(0.1), tolerance, passes)
    } else {
        newton::newton(likelihood, inside(1e-3), tolerance)
    }
}

/// The reports in the form that suits the protocol.
fn likelihood(protocol: &Protocol, tallies: &Tallies) -> Result<Box<dyn Likelihood>> {
    match protocol {
        Protocol::Block(block) => Ok(Box::new(Blocks::of(block, tallies))),
        _ if holds_sets(protocol) => Ok(Box::new(Patterns::of(protocol, tallies)?)),
        _ => Ok(Box::new(CentredRows::of(protocol, tallies)?)),
    }
}

/// Whether reports are sets of inputs.
fn holds_sets(protocol: &Protocol) -> bool {
    matches!(protocol, Protocol::UnaryEncoding(_) | Protocol::LocalHash(_) | Protocol::SubsetSelection(_))
}

/// The counts and the floor of water-filling, for protocols that have a closed form.
fn response(protocol: &Protocol, reports: &Reports) -> Option<(Vec<u64>, f64)> {
    let floor = match protocol {
        Protocol::Identity(_) | Protocol::Erasure(_) => 0.0,
        Protocol::GeneralisedRandomisedResponse(response) => 1.0 / response.epsilon().exp_m1(),
        _ => return None,
    };
    let supports = match reports {
        Reports::Tallies(tallies) => Supports::of_tallies(protocol, tallies)?,
        Reports::Supports(supports) => supports.clone(),
    };
    Some((supports.counts().to_vec(), floor))
}

/// Water-filling, with its certificate: the remaining gap is rounding.
fn closed_form(counts: &[u64], floor: f64, tolerance: f64) -> Result<MaximumLikelihood> {
    let n = counts.iter().sum::<u64>() as f64;
    if n == 0.0 {
        return Err(Error::NothingTold);
    }
    let values = water_filling::frequencies(counts, floor);
    let gap = water_filling::slope(counts, floor, &values).gap(n);
    Ok(MaximumLikelihood { values, certificate: Certificate { gap, tolerance, passes: 0 } })
}

/// One scoring step from a distribution without zeros; `None` if the information is singular or too large.
///
/// We use the expected information at `p`, which does not depend on the reports. Only for reports that are
/// sets, with too many outputs to enumerate, we use the observed information; with few reports it may be
/// singular or far off.
///
/// # Errors
/// As for [`maximum_likelihood`].
pub(crate) fn scoring_step(protocol: &Protocol, reports: &Reports, p: &[f64]) -> Result<Option<ScoringStep>> {
    if let Some((counts, floor)) = response(protocol, reports) {
        return Ok(Some(response_step(&counts, floor, p)));
    }
    let Reports::Tallies(tallies) = reports else {
        return Err(Error::SupportsOnly { what: "maximum likelihood" });
    };
    if p.len() > MAX_INFORMATION {
        return Ok(None);
    }
    let likelihood = likelihood(protocol, tallies)?;
    let information = if holds_sets(protocol) {
        likelihood.information(p)
    } else {
        tallies.n() as f64 * information(&protocol.canonical_matrix()?, p)
    };
    Ok(step(&information, &likelihood.slope(p).excess, p))
}

/// The step of randomised response, the identity and erasure: the expected information is diagonal, `n/((1/β + p_x)(1 + a/β))`.
fn response_step(counts: &[u64], floor: f64, p: &[f64]) -> ScoringStep {
    let n = counts.iter().sum::<u64>() as f64;
    let excess = water_filling::slope(counts, floor, p).excess;
    let rooms: Vec<f64> = p.iter().map(|p_x| (floor + p_x) * (1.0 + p.len() as f64 * floor) / n).collect();
    let total: f64 = rooms.iter().sum();
    let along: f64 = rooms.iter().zip(&excess).map(|(room, e)| room * e).sum::<f64>() / total;
    let moved = |((p_x, room), e): ((&f64, &f64), &f64)| p_x + room * (e - along);
    ScoringStep {
        values: p.iter().zip(&rooms).zip(&excess).map(moved).collect(),
        variances: rooms.iter().map(|room| room - room * room / total).collect(),
    }
}

/// The step with an information matrix; `None` if it is singular.
fn step(information: &Mat<f64>, excess: &[f64], p: &[f64]) -> Option<ScoringStep> {
    let a = p.len();
    let scale = (0..a).map(|x| information[(x, x)]).sum::<f64>() / (a * a) as f64;
    let full = Mat::from_fn(a, a, |x, z| information[(x, z)] + scale);
    let inverse = full.llt(Side::Lower).ok()?.solve(Mat::<f64>::identity(a, a));
    let sums: Vec<f64> = (0..a).map(|x| (0..a).map(|z| inverse[(x, z)]).sum()).collect();
    let total: f64 = sums.iter().sum();
    // The inverse on differences of distributions: the full inverse with the direction of all ones projected
    // out.
    let entry = |x: usize, z: usize| inverse[(x, z)] - sums[x] * sums[z] / total;
    let moved = |x: usize| p[x] + (0..a).map(|z| entry(x, z) * excess[z]).sum::<f64>();
    Some(ScoringStep {
        values: (0..a).map(moved).collect(),
        variances: (0..a).map(|x| entry(x, x)).collect(),
    })
}
