//! Worst-case privacy and the LDP level: two sides of one number.

use crate::model::error::{Error, Result};
use crate::model::evaluation::{Evaluation, Method};
use crate::model::protocol::Protocol;

/// The LDP level `LDP(Q)`: the most a report can change the odds between two values, as a logarithm.
///
/// # Definition
/// ```text
/// LDP(Q) = max_{x,x',y} ln(Q_{y|x} / Q_{y|x'})        [paper, Def. "local differential privacy level"]
/// ```
/// Rows of zeros are skipped; a row with both zero and positive entries makes it infinite.
///
/// # Method and cost
/// From the parameters for structured protocols. A mixture has the largest level of its parts, *exactly*; a product has
/// `max_{x,x'} Σ_j max_y ln(…)`, *exactly*, which is the sum of the levels if all but one of the factors treat all pairs of
/// inputs alike, and may be less otherwise. A composition has the level of its composed matrix.
///
/// # Accuracy
/// Exact where it is a parameter. The entries of a given matrix are taken as exact: a relative `1e-15`. Those of a composed matrix are rounded, which at high
/// privacy is what limits the level: an *absolute* `1e-15` for each ten values or so, see [`Channel::level_error`](crate::model::protocol::Channel::level_error).
///
/// # Errors
/// A composition whose matrix would be too large.
pub fn local_privacy_level(protocol: &Protocol) -> Result<Evaluation> {
    let level = protocol.level()?;
    // An infinite level comes from a zero entry, which is exact.
    let error = if level.is_finite() { protocol.level_error()? } else { 0.0 };
    Ok(Evaluation::new(level, error, Method::ClosedForm))
}

/// A bracket of the LDP level, for combinations with too many outputs to visit; both ends are the level where that is known.
///
/// # Method and cost
/// What comes after only loses information, so that a composition has at most the level of its first steps, and, if its last step is a product, at least that of
/// the composition with any one of the factors. A product has at least the level of each factor, and at most the sum.
///
/// # Errors
/// A part has no known level either.
pub fn level_bracket(protocol: &Protocol) -> Result<(f64, f64)> {
    let level = match (protocol.level(), protocol) {
        (Err(Error::TooLarge { .. }), Protocol::Composition(composition)) => {
            let before = composition.before_last().ok_or(Error::Empty { name: "steps" })?;
            let with = |factor: &Protocol| Protocol::composition(vec![before.clone(), factor.clone()]);
            let factors = different(composition.last().parts());
            let parts = factors.into_iter().filter_map(|factor| level_bracket(&with(factor).ok()?).ok());
            let is_product = matches!(composition.last(), Protocol::Product(_));
            let low = parts.filter(|_| is_product).map(|part| part.0).fold(0.0, f64::max);
            return Ok((low, level_bracket(&before)?.1));
        }
        (Err(Error::TooLarge { .. }), Protocol::Product(product)) => {
            let parts: Vec<(f64, f64)> =
                product.factors().iter().map(level_bracket).collect::<Result<_>>()?;
            let low = parts.iter().map(|part| part.0).fold(0.0, f64::max);
            return Ok((low, parts.iter().map(|part| part.1).sum()));
        }
        (Err(Error::TooLarge { .. }), Protocol::Mixture(mixture)) => {
            let parts: Vec<(f64, f64)> = mixture.parts().iter().map(level_bracket).collect::<Result<_>>()?;
            let most = |of: fn(&(f64, f64)) -> f64| parts.iter().map(of).fold(0.0, f64::max);
            return Ok((most(|part| part.0), most(|part| part.1)));
        }
        (level, _) => level?,
    };
    Ok((level, level))
}

/// Each protocol of a list once.
pub(super) fn different(protocols: &[Protocol]) -> Vec<&Protocol> {
    let mut different: Vec<&Protocol> = Vec::new();
    for protocol in protocols {
        if !different.contains(&protocol) {
            different.push(protocol);
        }
    }
    different
}

/// Worst-case privacy `S^wc(Q)`: the share of a user's private information that stays hidden under the worst prior and output.
///
/// # Definition
/// ```text
/// S^wc(Q) = inf_μ inf_y H(X|Y=y,P) / H(X|P) = e^{−LDP(Q)}        [paper, Thm. "worst-case privacy"]
/// ```
///
/// # Method and cost
/// As [`local_privacy_level`].
///
/// # Example
/// ```
/// # use sottovoce::{Protocol, metric::worst_case_privacy};
/// let privacy = worst_case_privacy(&Protocol::oue(10_000, 2.0)?)?;
/// assert!((privacy.value - 0.1353352832366127).abs() < 1e-15);
/// # Ok::<(), sottovoce::Error>(())
/// ```
///
/// # Errors
/// As for [`local_privacy_level`].
pub fn worst_case_privacy(protocol: &Protocol) -> Result<Evaluation> {
    let level = local_privacy_level(protocol)?;
    let value = (-level.value).exp();
    let error = if value == 0.0 { 0.0 } else { value * (level.error + 2.0 * f64::EPSILON) };
    Ok(Evaluation::new(value, error, Method::ClosedForm))
}
