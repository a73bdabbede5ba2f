//! The tradeoff theorem: worst-case privacy bounds asymptotic utility.

use std::f64::consts::{E, PI};

use super::worst_case_privacy::local_privacy_level;
use crate::model::absence::Absence;
use crate::model::evaluation::Evaluation;
use crate::model::protocol::Protocol;

/// The bound on `U^as_μ` of all faithful protocols with this LDP level.
///
/// # Definition
/// ```text
/// U^as_μ(Q) ≤ −½ ln(2πe) + ln((1 − S^wc)/S^wc) = −½ ln(2πe) + ln(e^{LDP} − 1)        [paper, Thm. "tradeoff"]
/// ```
/// It is infinite without worst-case privacy, and never attained.
///
/// # Errors
/// The protocol is not faithful, or its level needs a matrix that would be too large.
pub fn utility_bound(protocol: &Protocol) -> Result<Evaluation, Absence> {
    let (rank, a) = (protocol.rank()?.value, protocol.inputs());
    if rank < a {
        return Err(Absence::NotFaithful { rank, a });
    }
    let Evaluation { value: level, error: level_error, .. } = local_privacy_level(protocol)?;
    // ln(e^l − 1) = l + ln(1 − e^{−l}) does not overflow.
    let ln_odds = level + (-(-level).exp_m1()).ln();
    let bound = ln_odds - 0.5 * (2.0 * PI * E).ln();
    // The slope of ln(e^l − 1) is 1/(1 − e^{−l}).
    let rounding = 8.0 * f64::EPSILON * (1.0 + ln_odds.abs()) - level_error / (-level).exp_m1();
    let error = if bound.is_finite() { rounding } else { 0.0 };
    Ok(Evaluation { error, ..Evaluation::closed_form(bound, 0) })
}

/// The bound on `F_μ` of all faithful protocols with this LDP level, given `C_μ`.
///
/// # Definition
/// ```text
/// F_μ(Q) ≤ e^{−2 C_μ}/(2πe) · ((1 − S^wc)/S^wc)²        [paper, Thm. "tradeoff"]
/// ```
/// It may exceed 1, where it says nothing.
///
/// # Errors
/// As for [`utility_bound`].
pub fn participation_bound(protocol: &Protocol, truth: Evaluation) -> Result<Evaluation, Absence> {
    let difference = utility_bound(protocol)?.plus(truth.times(-1.0));
    let value = (2.0 * difference.value).exp();
    let error = if value.is_finite() {
        value * ((2.0 * difference.error).exp_m1() + 2.0 * f64::EPSILON)
    } else {
        0.0
    };
    Ok(Evaluation::new(value, error, difference.method))
}
