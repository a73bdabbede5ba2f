//! Numbers for people: as many digits as are known and of use.

/// Significant digits shown when more are known.
const DIGITS: i32 = 6;

/// A number with [`DIGITS`] significant digits, without needless zeros.
pub(crate) fn short(value: f64) -> String {
    rounded(value, DIGITS)
}

/// The nearest number of twelve digits: what rounding leaves of 1.2, as 1.2000000000000002, is nothing to tell people.
pub(crate) fn tidy(value: f64) -> f64 {
    // Parsing what was printed cannot fail, but for what is no number.
    format!("{value:.11e}").parse().unwrap_or(value)
}

/// A number with its error: the error is shown if it reaches the digits that are.
pub(crate) fn with_error(value: f64, error: f64) -> String {
    let negligible = value.abs() * 0.5 * 10f64.powi(1 - DIGITS);
    if !value.is_finite() || error <= negligible || error < 1e-12 {
        return short(value);
    }
    if !error.is_finite() {
        return format!("{} ± ?", short(value));
    }
    let places = (1 - exponent(error)).clamp(0, 15) as usize;
    if places > 8 {
        return format!("{} ± {error:.1e}", rounded(value, DIGITS));
    }
    format!("{value:.places$} ± {error:.places$}")
}

/// The power of ten of the first digit.
fn exponent(value: f64) -> i32 {
    value.abs().log10().floor() as i32
}

/// A number with so many significant digits, without needless zeros.
pub(crate) fn rounded(value: f64, digits: i32) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if !value.is_finite() {
        return value.to_string().replace("inf", "infinite");
    }
    let exponent = exponent(value);
    if !(-5..=12).contains(&exponent) {
        return format!("{value:.*e}", (digits - 1) as usize);
    }
    let places = (digits - 1 - exponent).max(0) as usize;
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_long_as_they_need_to_be() {
        assert_eq!(short(1.0), "1");
        assert_eq!(short((-1f64).exp()), "0.367879");
        assert_eq!(short(32_561.0), "32561");
        assert_eq!(short(1e-9), "1.00000e-9");
        assert_eq!(short(f64::INFINITY), "infinite");
        assert_eq!(short(f64::NEG_INFINITY), "-infinite");
    }

    #[test]
    fn round_numbers_are_round() {
        assert_eq!((tidy(1.9999999999999998), tidy(1.2000000000000002), tidy(0.1 + 0.2)), (2.0, 1.2, 0.3));
        assert_eq!((tidy(5f64.ln()), tidy(0.0)), (1.60943791243, 0.0));
        assert!(tidy(f64::NAN).is_nan() && tidy(f64::INFINITY).is_infinite());
    }

    #[test]
    fn errors_are_shown_when_they_matter() {
        assert_eq!(with_error(0.8975, 1e-13), "0.8975");
        assert_eq!(with_error(0.897_531, 0.0012), "0.8975 ± 0.0012");
        assert_eq!(with_error(123.456, 7.0), "123.5 ± 7.0");
        assert_eq!(with_error(0.5, f64::INFINITY), "0.5 ± ?");
    }
}
