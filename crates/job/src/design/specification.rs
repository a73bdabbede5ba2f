//! From a designed protocol back to a specification.

use sottovoce::Protocol;

use crate::error::Result;
use crate::spec::{ProtocolKind, ProtocolSpec};

/// The specification of a protocol as designs make them; any other as its matrix.
pub(crate) fn specification(protocol: &Protocol) -> Result<ProtocolSpec> {
    let a = protocol.inputs();
    let kind = match protocol {
        Protocol::GeneralisedRandomisedResponse(grr) => ProtocolKind::Grr { a, epsilon: grr.epsilon() },
        Protocol::SubsetSelection(subset) => {
            ProtocolKind::Subset { a, k: Some(subset.size()), epsilon: subset.epsilon() }
        }
        Protocol::Erasure(erasure) => ProtocolKind::Erasure { a, reveal: erasure.reveal() },
        Protocol::Mixture(mixture) => ProtocolKind::Mixture {
            weights: mixture.weights().to_vec(),
            parts: mixture.parts().iter().map(specification).collect::<Result<_>>()?,
        },
        other => {
            let matrix = other.to_matrix()?;
            ProtocolKind::Matrix { rows: matrix.rows().map(<[f64]>::to_vec).collect() }
        }
    };
    Ok(kind.into())
}
