//! Numbers for people, with the digits that are known and useful.

/// Significant digits shown when more are known.
const DIGITS: i32 = 6;

/// A number with [`DIGITS`] significant digits, without trailing zeros.
pub(crate) fn short(value: f64) -> String {
    rounded(value, DIGITS)
}

/// The nearest number with twelve digits, which hides rounding errors: 1.2 for 1.2000000000000002.
pub(crate) fn tidy(value: f64) -> f64 {
    // Parsing what was printed cannot fail, except for NaN and infinity, which stay as they are.
    format!("{value:.11e}").parse().unwrap_or(value)
}

/// A number with its error, which is shown if it affects the digits shown.
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

/// A bracket in few digits. Its ends are rounded outwards, so that it still contains the value.
pub(crate) fn bracket(low: f64, high: f64) -> String {
    // At least three digits of the width and four of the ends.
    let places = (2 - exponent((high - low).abs().max(1e-9))).max(3 - exponent(high.abs().max(1e-9)));
    let scale = 10f64.powi(places.clamp(0, 9));
    let (low, high) = ((low * scale).floor() / scale, (high * scale).ceil() / scale);
    format!("{} to {}", tidy(low), tidy(high))
}

/// The power of ten of the first digit.
fn exponent(value: f64) -> i32 {
    value.abs().log10().floor() as i32
}

/// A number with `digits` significant digits, without trailing zeros.
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

/// Significant digits of a computed level.
const LEVEL_DIGITS: usize = 5;

/// An LDP level in few digits, cut and not rounded, so that using the level shown never gives less privacy than the exact one. An ellipsis marks cut digits.
pub(crate) fn level(value: f64) -> String {
    let exact = tidy(value);
    let whole = rounded(exact, LEVEL_DIGITS as i32);
    // A round number needs no more digits.
    if !(exact.is_finite() && exact > 0.0) || whole.parse() == Ok(exact) {
        return whole;
    }
    let places = (LEVEL_DIGITS as i32 - 1 - exponent(exact)).max(0) as usize;
    let text = format!("{exact:.*}", places + 12);
    let cut = text[..text.len() - 12].trim_end_matches('.');
    format!("{cut}…")
}

/// A share in percentage points.
pub(crate) fn points(share: f64) -> String {
    rounded(100.0 * share, 3)
}

/// The unit of a number of percentage points.
pub(crate) fn points_word(text: &str) -> &'static str {
    if text == "1" { "percentage point" } else { "percentage points" }
}

/// Two different shares in percentage points, with enough digits to show that they differ.
pub(crate) fn points_apart(left: f64, right: f64) -> (String, String) {
    let both = |digits: i32| (rounded(100.0 * left, digits), rounded(100.0 * right, digits));
    let differ = |texts: &(String, String)| texts.0 != texts.1;
    (3..=9).map(both).find(differ).unwrap_or_else(|| both(3))
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
    fn levels_are_cut_toward_privacy() {
        assert_eq!(level(1.013_749_999), "1.0137…");
        assert_eq!(level(1.099_999), "1.0999…");
        assert_eq!((level(17.299_96), level(1.226_04)), ("17.299…".into(), "1.2260…".into()));
        assert_eq!(level(0.000_123_456_789), "0.00012345…");
        assert_eq!((level(1.1), level(0.1 + 0.2), level(2.0)), ("1.1".into(), "0.3".into(), "2".into()));
        assert_eq!(
            (level(1.02), level(100.0), level(1e-6)),
            ("1.02".into(), "100".into(), "1.0000e-6".into())
        );
        for value in [1.000_04, 0.99999999, 3.000_000_01, 12.345_678, 0.069_314_718_055] {
            let shown: f64 = level(value).trim_end_matches('…').parse().unwrap();
            assert!(shown <= value && shown > value * (1.0 - 1e-4), "{value} {shown}");
        }
    }

    #[test]
    fn different_points_look_different() {
        assert_eq!(points_apart(0.010_000_4, 0.01), ("1.00004".into(), "1".into()));
        assert_eq!(points_apart(0.01, 0.01), ("1".into(), "1".into()));
    }

    #[test]
    fn brackets_are_rounded_outwards() {
        assert_eq!(bracket(0.9526091, 0.9952612), "0.9526 to 0.9953");
        assert_eq!(bracket(0.6191, 1.0), "0.619 to 1");
        assert_eq!(bracket(0.0, 1.0), "0 to 1");
    }

    #[test]
    fn errors_are_shown_when_they_matter() {
        assert_eq!(with_error(0.8975, 1e-13), "0.8975");
        assert_eq!(with_error(0.897_531, 0.0012), "0.8975 ± 0.0012");
        assert_eq!(with_error(123.456, 7.0), "123.5 ± 7.0");
        assert_eq!(with_error(0.5, f64::INFINITY), "0.5 ± ?");
    }
}
