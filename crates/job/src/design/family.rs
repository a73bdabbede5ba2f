//! The usual protocols, each with the largest `ε` that a requirement allows.

use schemars::JsonSchema;
use serde::Serialize;
use sottovoce::design::Requirement;
use sottovoce::design::optimal_parameter::{
    best_block, best_hash_range, best_subset_size, most_accurate_block, most_accurate_hash_range,
    most_accurate_subset_size,
};
use sottovoce::metric::{Settings, average_privacy};
use sottovoce::protocol::MAX_EPSILON;
use sottovoce::{Metric, Prior, Protocol};

use crate::metrics::MetricEvaluation;
use crate::spec::{ProtocolKind, ProtocolSpec};

/// A protocol with its metrics.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Candidate {
    /// What it is called in the comparison.
    pub name: &'static str,
    /// The protocol.
    pub protocol: ProtocolSpec,
    /// Bits of a report.
    pub report_bits: f64,
    /// Number of outputs, if it fits a machine word.
    pub outputs: Option<usize>,
    /// Its metrics.
    pub evaluations: Vec<MetricEvaluation>,
}

impl Candidate {
    /// The value of a metric, if it has one.
    pub fn number(&self, metric: Metric) -> Option<f64> {
        let found = self.evaluations.iter().find(|evaluation| evaluation.metric == metric)?;
        Some(found.answer.number()?.value)
    }
}

/// What the hash range or subset size of a family is best for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizing {
    /// The asymptotic utility, under the prior.
    Utility,
    /// The squared error of the linear estimate.
    Error,
}

/// A family of protocols with the parameter `ε`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The names of the protocols.
pub enum Family {
    Grr,
    Rappor,
    Oue,
    Blh,
    LocalHash,
    Subset,
    Block,
}

impl Family {
    /// All of them.
    pub const ALL: [Family; 7] = [
        Family::Grr,
        Family::Rappor,
        Family::Oue,
        Family::Blh,
        Family::LocalHash,
        Family::Subset,
        Family::Block,
    ];

    /// What it is called in a comparison.
    pub fn name(self) -> &'static str {
        match self {
            Family::Grr => "GRR",
            Family::Rappor => "RAPPOR",
            Family::Oue => "OUE",
            Family::Blh => "BLH",
            Family::LocalHash => "best LH",
            Family::Subset => "best subset",
            Family::Block => "best block",
        }
    }

    /// The hash range, subset size or block design that is best at a level.
    fn size(self, prior: &Prior, epsilon: f64, sizing: Sizing) -> Option<Size> {
        match (self, sizing) {
            (Family::LocalHash, Sizing::Utility) => Some(Size::One(best_hash_range(prior, epsilon))),
            (Family::LocalHash, Sizing::Error) => {
                Some(Size::One(most_accurate_hash_range(prior.inputs(), epsilon)))
            }
            (Family::Subset, Sizing::Utility) => Some(Size::One(best_subset_size(prior, epsilon))),
            (Family::Subset, Sizing::Error) => {
                Some(Size::One(most_accurate_subset_size(prior.inputs(), epsilon)))
            }
            (Family::Block, Sizing::Utility) => best_block(prior, epsilon, None, None).map(Size::of_design),
            (Family::Block, Sizing::Error) => {
                most_accurate_block(prior.inputs(), epsilon).map(Size::of_design)
            }
            _ => None,
        }
    }

    /// The member of level `epsilon`; `None` where that is out of range.
    pub(crate) fn at(self, prior: &Prior, epsilon: f64, sizing: Sizing) -> Option<Member> {
        self.member(prior.inputs(), epsilon, self.size(prior, epsilon, sizing)).ok()
    }

    fn member(self, a: usize, epsilon: f64, size: Option<Size>) -> sottovoce::Result<Member> {
        let (protocol, kind) = match self {
            Family::Grr => (Protocol::grr(a, epsilon)?, ProtocolKind::Grr { a, epsilon }),
            Family::Rappor => (Protocol::rappor(a, epsilon)?, ProtocolKind::Rappor { a, epsilon }),
            Family::Oue => (Protocol::oue(a, epsilon)?, ProtocolKind::Oue { a, epsilon }),
            Family::Blh => (Protocol::blh(a, epsilon)?, ProtocolKind::Blh { a, epsilon }),
            Family::LocalHash => {
                let g = size.and_then(Size::one).unwrap_or(2);
                (Protocol::lh(a, g, epsilon)?, ProtocolKind::Lh { a, g: Some(g), epsilon })
            }
            Family::Subset => {
                let k = size.and_then(Size::one).unwrap_or(1);
                (Protocol::subset(a, k, epsilon)?, ProtocolKind::Subset { a, k: Some(k), epsilon })
            }
            Family::Block => {
                let (v, k) = size.and_then(Size::design).unwrap_or((a, 1));
                let spec = ProtocolKind::Block { a, v: Some(v), k: Some(k), epsilon };
                (Protocol::block(a, v, k, epsilon)?, spec)
            }
        };
        Ok((protocol, kind.into()))
    }

    /// The member with the largest level that the requirement allows, `None` if there is none.
    ///
    /// The average privacy falls with `ε`; the best size changes with it, so both are found in turn.
    pub fn tuned(
        self,
        prior: &Prior,
        requirement: &Requirement,
        settings: &Settings,
        sizing: Sizing,
    ) -> Option<Member> {
        let a = prior.inputs();
        let most = requirement.epsilon().unwrap_or(MAX_EPSILON);
        let Some(least) = requirement.average_privacy() else {
            return self.at(prior, most, sizing);
        };
        let level = |size: Option<Size>| {
            let meets = |epsilon: f64| {
                let (protocol, _) = self.member(a, epsilon, size).ok()?;
                Some(average_privacy(&protocol, prior, settings).ok()?.value >= least)
            };
            largest(most, meets)
        };
        let mut size = self.size(prior, most, sizing);
        let mut epsilon = level(size)?;
        for _ in 0..3 {
            size = self.size(prior, epsilon, sizing);
            epsilon = level(size)?;
        }
        self.member(a, epsilon, size).ok()
    }
}

/// The integer parameters of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    /// A hash range or subset size.
    One(usize),
    /// The number of blocks of a design, and their size.
    Design { v: usize, k: usize },
}

impl Size {
    fn of_design((v, k): (usize, usize)) -> Self {
        Size::Design { v, k }
    }

    fn one(self) -> Option<usize> {
        match self {
            Size::One(size) => Some(size),
            Size::Design { .. } => None,
        }
    }

    fn design(self) -> Option<(usize, usize)> {
        match self {
            Size::One(_) => None,
            Size::Design { v, k } => Some((v, k)),
        }
    }
}

/// A protocol and its specification.
pub(crate) type Member = (Protocol, ProtocolSpec);

/// The largest level up to `most` that meets a condition that small levels meet.
fn largest(most: f64, meets: impl Fn(f64) -> Option<bool>) -> Option<f64> {
    if meets(most)? {
        return Some(most);
    }
    let (mut low, mut high) = (1e-6f64, most);
    if !meets(low)? {
        return None;
    }
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        if meets(middle)? { low = middle } else { high = middle }
    }
    Some(low)
}

/// The usual protocols under a requirement. Where nothing limits the worst case, erasure is one.
pub(super) fn candidates(
    prior: &Prior,
    requirement: &Requirement,
    settings: &Settings,
) -> Vec<(&'static str, Protocol, ProtocolSpec)> {
    let tuned = |family: &Family| {
        let (protocol, spec) = family.tuned(prior, requirement, settings, Sizing::Utility)?;
        Some((family.name(), protocol, spec))
    };
    // A block design is the alternative with short reports.
    let families = Family::ALL.iter().filter(|family| **family != Family::Block);
    let mut found: Vec<_> = families.filter_map(tuned).collect();
    if let (None, Some(least)) = (requirement.epsilon(), requirement.average_privacy()) {
        let (a, reveal) = (prior.inputs(), 1.0 - least);
        if let Ok(protocol) = Protocol::erasure(a, reveal) {
            found.push(("erasure", protocol, ProtocolKind::Erasure { a, reveal }.into()));
        }
    }
    found
}
