//! The protocols that a design for `n` users is mixed from. Each of them meets the requirement.

use super::Search;
use crate::design::optimal_parameter::best_subset_size;
use crate::design::tolerances::Tolerances;
use crate::design::toward_privacy::within_level;
use crate::design::{best_for_one_user, subset_mixture};
use crate::metric::{Settings, average_privacy};
use crate::model::error::Result;
use crate::model::protocol::{MAX_EPSILON, Protocol};
use crate::numerics::search::{bisect, maximum};

/// Most values for which all subset sizes are tried; for more, those around the best one.
const ALL_SIZES: usize = 12;

/// Most values for which questions about all sets of values are tried, under a prior that does not treat values alike.
const ALL_SETS: usize = 6;

/// Halvings of a level.
const HALVINGS: usize = 50;

/// The smallest level that is tried.
const SMALLEST_LEVEL: f64 = 1e-6;

impl Search<'_> {
    /// The elementary protocols, `asymptotic` first.
    pub(super) fn elementary(&self, asymptotic: &Protocol) -> Result<Vec<Protocol>> {
        let a = self.prior.inputs();
        let mut found = vec![asymptotic.clone()];
        for k in self.sizes()? {
            found.extend(self.meeting(|epsilon| subset_mixture(a, epsilon, &[k], &[1.0]))?);
        }
        if !self.is_symmetric() {
            let sets = if a <= ALL_SETS { 1..1u32 << (a - 1) } else { 0..0 };
            for set in sets {
                found.extend(self.meeting(|epsilon| response_about(a, set, epsilon)).unwrap_or_default());
            }
            // At a tiny epsilon the linear program may not converge; the search does without it.
            let single = self.meeting(|epsilon| Ok(best_for_one_user(self.prior, epsilon)?.protocol));
            found.extend(single.unwrap_or_default());
        }
        if let (None, Some(least)) = (self.requirement.epsilon(), self.requirement.average_privacy()) {
            found.push(Protocol::erasure(a, 1.0 - least)?);
        }
        let mut distinct: Vec<Protocol> = Vec::with_capacity(found.len());
        for protocol in found {
            if !distinct.contains(&protocol) {
                distinct.push(protocol);
            }
        }
        Ok(distinct)
    }

    /// The sizes of subset selections: all of them, or those around the best one at `n`.
    fn sizes(&self) -> Result<Vec<usize>> {
        let a = self.prior.inputs();
        if a <= ALL_SIZES {
            return Ok((1..a).collect());
        }
        let epsilon = self.requirement.epsilon().unwrap_or(MAX_EPSILON);
        let value = |k: usize| {
            let protocol = subset_mixture(a, epsilon, &[k], &[1.0]).ok()?;
            self.approximation(&protocol)
        };
        let of_ln = |ln_k: f64| value(ln_k.exp().round() as usize).unwrap_or(f64::NEG_INFINITY);
        // A relative width of 3 % leaves few sizes; the exchange algorithm mixes neighbours anyway.
        let best = maximum(0.0, (0.5 * a as f64).ln(), 0.03, of_ln).exp().round() as usize;
        let sizes = [best.saturating_sub(1).max(1), best, best + 1, best_subset_size(self.prior, epsilon)];
        Ok(sizes.to_vec())
    }

    /// The members of a family that meet the requirement: the one of the largest level, and if that is not private enough on average, the one of the
    /// largest level that is, and a mixture of the first with silence.
    fn meeting(&self, at: impl Fn(f64) -> Result<Protocol>) -> Result<Vec<Protocol>> {
        let most = self.requirement.epsilon().unwrap_or(MAX_EPSILON);
        let strongest = at(most)?;
        let Some(least) = self.requirement.average_privacy() else { return Ok(vec![strongest]) };
        let privacy = |protocol: &Protocol| {
            average_privacy(protocol, self.prior, &Settings::default()).map_or(0.0, |found| found.value)
        };
        let known = privacy(&strongest);
        if known >= least {
            return Ok(vec![strongest]);
        }
        let mut found = Vec::new();
        let is_private = |epsilon: f64| at(epsilon).is_ok_and(|protocol| privacy(&protocol) >= least);
        if is_private(SMALLEST_LEVEL) {
            found.push(at(bisect(SMALLEST_LEVEL, most, HALVINGS, is_private).0)?);
        }
        if self.requirement.epsilon().is_some() {
            let a = strongest.inputs();
            let share = (1.0 - least) / (1.0 - known);
            let silence = Protocol::deterministic(vec![0; a])?;
            found.push(Protocol::mixture(vec![share, 1.0 - share], vec![strongest, silence])?);
        }
        Ok(found)
    }
}

/// Randomised response to the question whether the value is in a set. Value `x` is in the set if bit `x` is set.
fn response_about(a: usize, set: u32, epsilon: f64) -> Result<Protocol> {
    // 1 / (1 + e^{−ε}) and its complement.
    let (truth, lie) = (1.0 / (1.0 + (-epsilon).exp()), 1.0 / (1.0 + epsilon.exp()));
    let row = |member: bool| {
        (0..a).map(|x| if (set >> x & 1 == 1) == member { truth } else { lie }).collect::<Vec<f64>>()
    };
    within_level(vec![row(true), row(false)], epsilon, &Tolerances::default().rounding)
}
