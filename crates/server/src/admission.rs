//! Protocols whose reports strangers may send: nothing that fits one may make every analysis fail, or take more and more memory.

use sottovoce::Protocol;
use sottovoce_collect::Layout;
use sottovoce_collect::tally::supports_inputs;

use crate::problem::{Error, Result};
use crate::served::Served;

/// Most bytes of the different reports of a collection, if all of them are sent, with their counts and places.
const MAX_PATTERN_BYTES: usize = 256 << 20;

/// What a different report takes beside its bytes.
const PATTERN_BYTES: usize = 24;

/// Refuses a study with a collection that strangers could make unusable.
///
/// # Errors
/// A protocol has reports that no value gives, or too many different ones.
pub fn admit(served: &Served) -> Result {
    for asked in &served.collections {
        let (protocol, collection) = (&asked.protocol.named.protocol, || asked.name.clone());
        if has_impossible_reports(protocol)? {
            return Err(Error::ImpossibleReports { collection: collection() });
        }
        if !is_bounded(protocol, &asked.layout) {
            return Err(Error::TooManyDifferentReports { collection: collection() });
        }
    }
    Ok(())
}

/// Whether the tallies of a protocol have a largest size. Numbers have a count each, and sets of inputs are counted by their inputs when there are many; the reports of
/// other protocols are kept as they are, each different one with its count.
fn is_bounded(protocol: &Protocol, layout: &Layout) -> bool {
    if matches!(layout, Layout::Number { .. }) || supports_inputs(protocol) {
        return true;
    }
    let bytes = protocol.outputs().and_then(|b| b.checked_mul(layout.length() + PATTERN_BYTES));
    // Seeds of hash functions are no outputs of the protocol, and there are 2^64 of them.
    !layout.has_seeds() && bytes.is_some_and(|bytes| bytes <= MAX_PATTERN_BYTES)
}

/// Whether some report has probability 0 whatever the value. Its layout would not tell, and no distribution explains a tally with it.
fn has_impossible_reports(protocol: &Protocol) -> Result<bool> {
    let any = |protocols: &[Protocol]| -> Result<bool> {
        protocols.iter().try_fold(false, |any, one| Ok(any || has_impossible_reports(one)?))
    };
    Ok(match protocol {
        Protocol::Deterministic(map) => Some(map.values().len()) != protocol.outputs(),
        Protocol::Erasure(erasure) => is_extreme(erasure.reveal()),
        Protocol::UnaryEncoding(_) => !is_positive(protocol),
        Protocol::Matrix(matrix) => has_zeros(matrix.rows()),
        Protocol::Composition(composition) if is_positive(composition.last()) => false,
        Protocol::Composition(composition) => {
            has_zeros(composition.composed().map_err(sottovoce_job::Error::from)?.rows())
        }
        Protocol::Product(product) => any(product.factors())?,
        Protocol::Mixture(mixture) => {
            mixture.weights().iter().any(|weight| *weight <= 0.0) || any(mixture.parts())?
        }
        Protocol::Identity(_)
        | Protocol::GeneralisedRandomisedResponse(_)
        | Protocol::LocalHash(_)
        | Protocol::SubsetSelection(_)
        | Protocol::Block(_) => false,
    })
}

/// Whether every value gives every report, by the structure of the protocol. Levels are finite.
fn is_positive(protocol: &Protocol) -> bool {
    match protocol {
        Protocol::GeneralisedRandomisedResponse(_)
        | Protocol::LocalHash(_)
        | Protocol::SubsetSelection(_)
        | Protocol::Block(_) => true,
        Protocol::UnaryEncoding(unary) => {
            let bits = unary.bits();
            let all = [bits.kappa, bits.kappa_complement, bits.lambda, bits.lambda_complement];
            all.iter().all(|probability| *probability > 0.0)
        }
        _ => false,
    }
}

fn is_extreme(probability: f64) -> bool {
    probability <= 0.0 || probability >= 1.0
}

fn has_zeros<'r>(mut rows: impl Iterator<Item = &'r [f64]>) -> bool {
    rows.any(|row| row.iter().all(|entry| *entry <= 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_that_no_value_gives_are_found() {
        let grr = || Protocol::grr(3, 1.0).unwrap();
        let empty = || Protocol::matrix(vec![vec![0.5, 0.2], vec![0.0, 0.0], vec![0.5, 0.8]]).unwrap();
        let impossible = [
            empty(),
            Protocol::deterministic(vec![0, 2]).unwrap(),
            Protocol::erasure(3, 1.0).unwrap(),
            Protocol::ue(3, 1.0, 0.5).unwrap(),
            Protocol::mixture(vec![1.0, 0.0], vec![grr(), grr()]).unwrap(),
            Protocol::product(vec![Protocol::grr(2, 1.0).unwrap(), empty()]).unwrap(),
            Protocol::composition(vec![empty(), Protocol::identity(3).unwrap()]).unwrap(),
        ];
        for protocol in impossible {
            assert!(has_impossible_reports(&protocol).unwrap(), "{protocol:?}");
        }
        let possible = [
            grr(),
            Protocol::identity(3).unwrap(),
            Protocol::oue(3, 1.0).unwrap(),
            Protocol::erasure(3, 0.5).unwrap(),
            Protocol::composition(vec![empty(), grr()]).unwrap(),
            Protocol::mixture(vec![0.5, 0.5], vec![grr(), grr()]).unwrap(),
        ];
        for protocol in possible {
            assert!(!has_impossible_reports(&protocol).unwrap(), "{protocol:?}");
        }
    }

    #[test]
    fn tallies_that_could_grow_for_ever_are_found() {
        let bounded = |protocol: &Protocol| is_bounded(protocol, &Layout::of(protocol));
        let grr = |a| Protocol::grr(a, 1.0).unwrap();
        let oue = |a| Protocol::oue(a, 1.0).unwrap();
        assert!(bounded(&grr(1000)) && bounded(&oue(1000)) && bounded(&Protocol::lh(9, 3, 1.0).unwrap()));
        assert!(bounded(&Protocol::product(vec![grr(9), oue(9)]).unwrap()));
        assert!(!bounded(&Protocol::product(vec![grr(90), oue(90)]).unwrap()));
        assert!(!bounded(&Protocol::product(vec![grr(9), Protocol::lh(9, 3, 1.0).unwrap()]).unwrap()));
        assert!(!bounded(&Protocol::composition(vec![grr(40), oue(40)]).unwrap()));
    }
}
