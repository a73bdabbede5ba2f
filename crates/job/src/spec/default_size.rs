//! The size parameters of local hash and subset selection when the user leaves them out.

use sottovoce::Prior;
use sottovoce::protocol::MAX_INPUTS;

/// The number of buckets `g` of local hash that is best for the asymptotic utility.
///
/// For now the value `e^ε + 1` that minimises the variance of the usual estimator for many inputs.
pub(crate) fn default_hash_range(_a: usize, epsilon: f64, _prior: &Prior) -> usize {
    (epsilon.exp().round() as usize).saturating_add(1).min(MAX_INPUTS)
}

/// The size `k` of the sets of subset selection that is best for the asymptotic utility.
///
/// For now the value `a / (e^ε + 1)` that minimises the variance of the usual estimator.
pub(crate) fn default_subset_size(a: usize, epsilon: f64, _prior: &Prior) -> usize {
    ((a as f64 / (epsilon.exp() + 1.0)).round() as usize).clamp(1, a)
}
