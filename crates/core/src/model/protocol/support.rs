//! The inputs that an output supports, for protocols whose reports name a set of inputs.

use std::borrow::Cow;

use super::Protocol;
use crate::model::output::Output;

/// The inputs that an output of a protocol that reports sets (or single inputs) supports, ascending.
pub(crate) fn supported<'o>(protocol: &Protocol, output: &'o Output) -> Cow<'o, [usize]> {
    match (protocol, output) {
        (_, Output::Subset(members)) => Cow::Borrowed(members),
        // The blank of an erasure has the number a.
        (_, Output::Index(y)) => Cow::Owned((*y < protocol.inputs()).then_some(*y).into_iter().collect()),
        (Protocol::LocalHash(hash), _) => {
            let support = hash.support(output).unwrap_or_default();
            Cow::Owned((0..support.len()).filter(|x| support[*x]).collect())
        }
        _ => Cow::Owned(Vec::new()),
    }
}
