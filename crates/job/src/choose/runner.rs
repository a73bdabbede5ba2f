//! Protocols that may be chosen, and which is ahead.

use sottovoce::estimate::Estimator;
use sottovoce::{Evaluation, Method, Protocol};

use super::Chooser;
use crate::design::Family;
use crate::expected_error::ErrorMeasure;
use crate::spec::ProtocolSpec;

/// What decides between protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Criterion {
    /// The smallest level at which what is wanted is reached.
    Level,
    /// The error at the level that is allowed.
    Error,
    /// The asymptotic utility at the level that is allowed, `U_as`.
    Utility,
}

/// A protocol that may be chosen.
pub(super) struct Runner {
    pub name: &'static str,
    pub protocol: Protocol,
    pub spec: ProtocolSpec,
    /// Where it comes from, if it has an epsilon to be changed.
    pub family: Option<Family>,
    /// The level, the error or the utility, as the criterion asks.
    pub score: Evaluation,
    /// How far estimates are off, where the score took it.
    pub error: Option<Evaluation>,
}

/// A design counts as equal to a protocol with a name if its utility is larger by at most this, or its error smaller by at most this share.
const SAME: f64 = 1e-4;

/// Scores that differ by less, relative to the larger, belong to one protocol under two names.
const ONE: f64 = 1e-9;

/// Number of protocols that are judged by an estimator that takes long.
pub(super) const SHORT_LIST: usize = 2;

impl Runner {
    /// A protocol without its score. Subsets and blocks of size one are randomised response, which runs under its own name.
    pub(super) fn new(
        name: &'static str,
        protocol: Protocol,
        spec: ProtocolSpec,
        family: Option<Family>,
    ) -> Option<Self> {
        let again = match &protocol {
            Protocol::SubsetSelection(subset) => subset.size() == 1,
            Protocol::Block(block) => block.size() == 1,
            _ => false,
        };
        let score = Evaluation::new(f64::NAN, 0.0, Method::ClosedForm);
        (!again).then_some(Runner { name, protocol, spec, family, score, error: None })
    }
}

impl Chooser<'_> {
    /// Whether the estimator looks at whole reports, and so takes seconds or minutes for each number.
    pub(super) fn takes_long(&self) -> bool {
        matches!(self.job.measure().estimator, Estimator::MaximumLikelihood | Estimator::PosteriorMean)
    }

    /// For an estimator that takes long, leaves the protocols whose linear estimate is best.
    pub(super) fn shorten(&self, runners: &mut Vec<Runner>) {
        if self.takes_long() {
            let error = |runner: &Runner| {
                let found = self.error(&runner.protocol, ErrorMeasure::default());
                found.map_or(f64::INFINITY, |error| error.value)
            };
            runners.sort_by_cached_key(|runner| ordered(error(runner)));
            runners.truncate(SHORT_LIST);
        }
    }
}

/// A key that sorts as the number does, for numbers that are not negative.
fn ordered(value: f64) -> u64 {
    value.max(0.0).to_bits()
}

/// The best first. One protocol may have two names, as binary local hash is local hash with two buckets: the first stays. A design that is no better than
/// a protocol with a name is that protocol.
pub(super) fn ranked(criterion: Criterion, mut runners: Vec<Runner>) -> Vec<Runner> {
    let sign = if criterion == Criterion::Utility { -1.0 } else { 1.0 };
    runners.retain(|runner| !runner.score.value.is_nan());
    runners.sort_by(|l, r| (sign * l.score.value).total_cmp(&(sign * r.score.value)));
    let named = runners.iter().find(|runner| runner.family.is_some()).map(|runner| runner.score.value);
    if let Some(named) = named {
        let much = if criterion == Criterion::Utility { SAME } else { SAME * named.abs() };
        runners.retain(|runner| runner.family.is_some() || sign * (named - runner.score.value) > much);
    }
    let same = |l: f64, r: f64| (l - r).abs() <= ONE * l.abs().max(r.abs());
    let is_block = |runner: &Runner| matches!(runner.protocol, Protocol::Block(_));
    // A block design may be exactly as accurate as subset selection, and is another protocol all the same: the one with shorter reports.
    for i in 1..runners.len() {
        let [before, after] = [&runners[i - 1], &runners[i]];
        if is_block(after) && !is_block(before) && same(before.score.value, after.score.value) {
            runners.swap(i - 1, i);
        }
    }
    runners
        .dedup_by(|next, kept| is_block(next) == is_block(kept) && same(next.score.value, kept.score.value));
    runners
}
