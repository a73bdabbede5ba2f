//! The best way of each strategy to spend epsilon, or people, on the groups of a study.
//!
//! The criterion is the largest expected error of all tables. With the strategy `sample` a group that has the error `c_g/√n` from `n` people gets the
//! share `w_g = c_g²/Σ c²` of them, which makes all errors equal. With the others the error falls with the epsilon of its group, so that the smallest common
//! error is found by bisection. Within a group the strategy `split` gives each question the same epsilon: the error of a cell depends on the product of what
//! the questions lose, of which each is about `1/ε²`.

use sottovoce::{Prior, Protocol};

use super::expected::{Beliefs, Errors};
use super::file::Strategy;
use super::groups::{Group, Study};
use super::memoised::possible;
use crate::design::{Family, Sizing};
use crate::error::{Error, Result};
use crate::spec::ProtocolSpec;

/// The families that are compared while epsilon is split. Block designs are about as good as subsets of the same size, and are only compared at the end.
const FAMILIES: [Family; 6] =
    [Family::Grr, Family::Rappor, Family::Oue, Family::Blh, Family::LocalHash, Family::Subset];

/// Errors that differ by less, relative to them, are the same.
const SAME: f64 = 1e-9;

/// Steps of a bisection: 2^−40 of the interval.
const STEPS: usize = 40;

/// A group under a strategy.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The probability that a person answers it, or its share of epsilon.
    pub share: f64,
    /// Its level.
    pub epsilon: f64,
    /// One protocol for each question, or one for all combinations of answers.
    pub protocols: Vec<(Protocol, ProtocolSpec)>,
    /// The errors of one report.
    pub errors: Errors,
    /// What else was compared, with its largest error; only where there is one protocol.
    pub others: Vec<(ProtocolSpec, f64)>,
}

impl Asked {
    /// The largest error for one person of the study, and not one who answers this group.
    pub(crate) fn largest(&self, strategy: Strategy) -> f64 {
        self.errors.largest() / self.reach(strategy).sqrt()
    }

    /// The share of people who answer.
    pub(crate) fn reach(&self, strategy: Strategy) -> f64 {
        if strategy == Strategy::Sample { self.share } else { 1.0 }
    }
}

/// The groups of a study under a strategy.
///
/// # Errors
/// No protocol exists at a level.
pub(crate) fn asked(
    study: &Study,
    beliefs: &[Beliefs],
    strategy: Strategy,
    shares: Option<&[f64]>,
) -> Result<Vec<Asked>> {
    let epsilon = study.round_epsilon();
    let (compared, all) = (possible(study, &FAMILIES), possible(study, &Family::ALL));
    let parts = |group: &Group| strategy == Strategy::Split && group.questions.len() > 1;
    let curve = |g: usize, epsilon: f64| {
        let (group, beliefs) = (&study.groups[g], &beliefs[g]);
        sottovoce::stop::check();
        best(group, beliefs, epsilon, parts(group), &compared)
            .map_or(f64::INFINITY, |best| best.errors.largest())
    };
    let count = study.groups.len();
    let shares: Vec<f64> = match (shares, strategy) {
        (Some(shares), _) => shares.to_vec(),
        (None, Strategy::Sample) => {
            let squares: Vec<f64> = (0..count).map(|g| curve(g, epsilon).powi(2)).collect();
            let sum: f64 = squares.iter().sum();
            squares.iter().map(|square| square / sum).collect()
        }
        (None, _) => evenly_wrong(count, epsilon, &curve).iter().map(|level| level / epsilon).collect(),
    };
    let group = |(g, share): (usize, &f64)| {
        let (group, beliefs) = (&study.groups[g], &beliefs[g]);
        let level = if strategy == Strategy::Sample { epsilon } else { epsilon * share };
        let families = if parts(group) { &compared } else { &all };
        let found = best(group, beliefs, level, parts(group), families).ok_or(Error::NoProtocol)?;
        Ok(Asked { share: *share, ..found })
    };
    shares.iter().enumerate().map(group).collect()
}

/// The best protocols of a group at a level.
fn best(group: &Group, beliefs: &Beliefs, epsilon: f64, parts: bool, families: &[Family]) -> Option<Asked> {
    if parts {
        let each = epsilon / group.questions.len() as f64;
        let best_of = |size: &usize| {
            let prior = Prior::jeffreys(*size).ok()?;
            let members = families.iter().filter_map(|family| member(*family, &prior, each));
            let error = |member: &(Protocol, ProtocolSpec)| {
                sottovoce::estimate::SupportRates::of(&member.0)
                    .map_or(f64::INFINITY, |rates| rates.squared_vote(*size))
            };
            members
                .map(|member| (error(&member), member))
                .min_by(|l, r| l.0.total_cmp(&r.0))
                .map(|(_, member)| member)
        };
        let protocols = group.sizes.iter().map(best_of).collect::<Option<Vec<_>>>()?;
        let alone: Vec<Protocol> = protocols.iter().map(|(protocol, _)| protocol.clone()).collect();
        let errors = Errors::of_parts(group, beliefs, &alone)?;
        return Some(Asked { share: 1.0, epsilon, protocols, errors, others: Vec::new() });
    }
    let prior = Prior::jeffreys(group.inputs()).ok()?;
    let mut found: Vec<(f64, Errors, (Protocol, ProtocolSpec))> = Vec::new();
    for family in families {
        // The covariance of two votes of a block design is only known on average.
        let apart = group.questions.len() > 1 && *family == Family::Block;
        let Some(member) = member(*family, &prior, epsilon).filter(|_| !apart) else { continue };
        let Some(errors) = Errors::of_whole(group, beliefs, &member.0) else { continue };
        let known = found.iter().any(|(error, ..)| (error - errors.largest()).abs() <= SAME * error);
        if errors.largest().is_finite() && (!known || *family == Family::Block) {
            found.push((errors.largest(), errors, member));
        }
    }
    // Of two that are the same, the later one is a block design, whose reports are shorter.
    let least = found.iter().map(|(error, ..)| *error).fold(f64::INFINITY, f64::min);
    let at = found.iter().rposition(|(error, ..)| *error <= least * (1.0 + SAME))?;
    let (_, errors, chosen) = found.remove(at);
    found.sort_by(|l, r| l.0.total_cmp(&r.0));
    let others = found.into_iter().map(|(error, _, (_, spec))| (spec, error)).collect();
    Some(Asked { share: 1.0, epsilon, protocols: vec![chosen], errors, others })
}

/// The most accurate member of a family. Subsets and blocks of one value are randomised response, which has its own name.
fn member(family: Family, prior: &Prior, epsilon: f64) -> Option<(Protocol, ProtocolSpec)> {
    let found = family.at(prior, epsilon, Sizing::Error)?;
    let again = match &found.0 {
        Protocol::SubsetSelection(subset) => subset.size() == 1,
        Protocol::Block(block) => block.size() == 1,
        _ => false,
    };
    (!again).then_some(found)
}

/// Splits epsilon so that the largest of several errors, which fall with their levels, is as small as possible.
fn evenly_wrong(count: usize, epsilon: f64, error: &impl Fn(usize, f64) -> f64) -> Vec<f64> {
    if count == 1 {
        return vec![epsilon];
    }
    // The smallest level at which an error is reached.
    let level = |g: usize, wanted: f64| {
        let (mut low, mut high) = (0.0, epsilon);
        for _ in 0..STEPS {
            let middle = 0.5 * (low + high);
            if error(g, middle) <= wanted { high = middle } else { low = middle }
        }
        high
    };
    let levels = |wanted: f64| (0..count).map(|g| level(g, wanted)).collect::<Vec<f64>>();
    let largest = |epsilon: f64| (0..count).map(|g| error(g, epsilon)).fold(0.0, f64::max);
    // All of epsilon is too much for any one, and the same share for all is enough.
    let (mut low, mut high) = (largest(epsilon), largest(epsilon / count as f64));
    for _ in 0..STEPS {
        let middle = (low * high).sqrt();
        if levels(middle).iter().sum::<f64>() <= epsilon { high = middle } else { low = middle }
    }
    let found = levels(high);
    let sum: f64 = found.iter().sum();
    found.iter().map(|level| level * epsilon / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors `c/ε` are equal for shares in proportion to `c`.
    #[test]
    fn errors_become_equal() {
        let weights = [1.0, 2.0, 5.0];
        let found = evenly_wrong(3, 4.0, &|g, epsilon: f64| weights[g] / epsilon);
        for (level, weight) in found.iter().zip(weights) {
            assert!((level - weight / 2.0).abs() < 1e-8, "{found:?}");
        }
    }
}
