//! The inputs that an output supports, for protocols whose reports name a set of inputs.

use std::borrow::Cow;

use super::Protocol;
use crate::model::output::Output;

/// The inputs that an output supports, ascending, for protocols that report sets or single inputs.
pub(crate) fn supported<'o>(protocol: &Protocol, output: &'o Output) -> Cow<'o, [usize]> {
    match (protocol, output) {
        (_, Output::Subset(members)) => Cow::Borrowed(members),
        (Protocol::Block(block), Output::Index(y)) => Cow::Owned(block.members(*y)),
        // The blank of an erasure has index a.
        (_, Output::Index(y)) => Cow::Owned((*y < protocol.inputs()).then_some(*y).into_iter().collect()),
        (Protocol::LocalHash(hash), _) => {
            let support = hash.support(output).unwrap_or_default();
            Cow::Owned((0..support.len()).filter(|x| support[*x]).collect())
        }
        _ => Cow::Owned(Vec::new()),
    }
}
