//! Where the utilities go with more and more users.

use crate::model::error::Result;
use crate::model::evaluation::Evaluation;
use crate::model::protocol::Protocol;

/// The limit of the distribution utility, `(d−1)/(a−1)` with `d = rk Q` [paper, Cor. "limits of the utilities"].
///
/// # Errors
/// The rank needs a dense matrix that would be too large.
pub fn distribution_utility_limit(protocol: &Protocol) -> Result<Evaluation> {
    let (d, a) = (protocol.rank()?.value, protocol.inputs());
    Ok(Evaluation::closed_form((d - 1) as f64 / (a - 1) as f64, 1))
}

/// The limit of the tally utility, `(d+b'−2)/(2a−2)` with `d = rk Q` and `b'` the number of classes of outputs [paper, Cor.
/// "limits of the utilities"].
///
/// # Errors
/// As for [`distribution_utility_limit`].
pub fn tally_utility_limit(protocol: &Protocol) -> Result<Evaluation> {
    let (d, classes, a) = (protocol.rank()?.value, protocol.classes()?, protocol.inputs());
    Ok(Evaluation::closed_form((d + classes - 2) as f64 / (2 * a - 2) as f64, 1))
}
