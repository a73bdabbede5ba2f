//! The Fisher information of a protocol, in the form that suits it.

use super::{
    BlockDesign, DenseMatrix, Erasure, FisherInformation, Identity, Mixture, RandomizedResponse,
    SubsetSelection, UnaryEncoding,
};
use crate::model::error::Result;
use crate::model::protocol::Protocol;

/// Relative error allowed for the eigenvalues of a structured Fisher information.
const STRUCTURE_TOLERANCE: f64 = 1e-13;

/// Largest `b a²`, the cost of the information at one distribution, for which a mixture goes through its matrix.
const SMALL_MIXTURE: f64 = 1e5;

/// The Fisher information of any protocol: structured if it has few enough parameters for that, and that of
/// its canonical matrix otherwise. Small mixtures go through their matrix, which is faster.
///
/// # Errors
/// The matrix would be too large.
pub fn of_protocol(protocol: &Protocol) -> Result<Box<dyn FisherInformation + Send>> {
    let dense = || -> Result<Box<dyn FisherInformation + Send>> {
        let matrix = protocol.canonical_matrix()?;
        let rows = matrix.rows().flatten().copied().collect();
        Ok(Box::new(DenseMatrix::new(protocol.inputs(), rows)))
    };
    match (protocol, structured(protocol)) {
        (Protocol::Mixture(_), Some(fisher)) if is_small(protocol) => dense().or(Ok(fisher)),
        (_, Some(fisher)) => Ok(fisher),
        (_, None) => dense(),
    }
}

fn is_small(protocol: &Protocol) -> bool {
    let a = protocol.inputs() as f64;
    protocol.outputs().is_some_and(|b| b as f64 * a * a <= SMALL_MIXTURE)
}

/// The Fisher information of a structured protocol, or of a mixture of such; `None` for all others, and for
/// those that carry no information.
pub fn structured(protocol: &Protocol) -> Option<Box<dyn FisherInformation + Send>> {
    let inputs = protocol.inputs();
    Some(match protocol {
        Protocol::Identity(_) => Box::new(Identity { inputs }),
        Protocol::GeneralisedRandomisedResponse(grr) => {
            Box::new(RandomizedResponse { inputs, epsilon: grr.epsilon() })
        }
        Protocol::UnaryEncoding(ue) => Box::new(UnaryEncoding::new(inputs, ue.bits(), STRUCTURE_TOLERANCE)),
        Protocol::LocalHash(hash) => {
            Box::new(UnaryEncoding::new(inputs, hash.as_unary().bits(), STRUCTURE_TOLERANCE))
        }
        Protocol::SubsetSelection(subset) if subset.size() < inputs => {
            Box::new(SubsetSelection::new(inputs, subset.size(), subset.epsilon(), STRUCTURE_TOLERANCE))
        }
        Protocol::Block(block) => Box::new(BlockDesign::new(block)),
        Protocol::Erasure(erasure) if erasure.reveal() > 0.0 => {
            Box::new(Erasure { inputs, kept: erasure.reveal() })
        }
        Protocol::Mixture(mixture) => {
            // A block design is not a diagonal matrix with a few rank-one terms, which a mixture would add up.
            if mixture.parts().iter().any(|part| matches!(part, Protocol::Block(_))) {
                return None;
            }
            let live = mixture.weights().iter().zip(mixture.parts()).filter(|(weight, _)| **weight > 0.0);
            // A part that carries no information contributes nothing.
            let telling = live.filter(|(_, part)| part.rank().map_or(true, |rank| rank.value > 1));
            let parts: Option<Vec<_>> =
                telling.map(|(weight, part)| Some((*weight, structured(part)?))).collect();
            Box::new(Mixture::new(parts.filter(|parts| !parts.is_empty())?, STRUCTURE_TOLERANCE))
        }
        _ => return None,
    })
}
