//! Shares as people write them, by one rule for all: a fraction from 0 to 1, or a percentage with its sign.

use thiserror::Error;

use crate::spec::shown;

/// Why a text is no share.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum NotAShare {
    /// No number.
    #[error(
        "`{text}` is no share; a share is a fraction from 0 to 1 such as 0.01, or a percentage such as 1%"
    )]
    NoNumber {
        /// What was written.
        text: String,
    },
    /// A number above 1 without a percent sign: whoever wrote 95 meant 95 %, and 1.5 is anybody's guess.
    #[error("{value} is above 1 and has no percent sign; write {value}% or {}", value / 100.0)]
    NoSign {
        /// What was written.
        value: f64,
    },
}

/// Reads a share: a fraction such as `0.01`, or a percentage such as `1%`. Whether it is one that makes sense is for others to check, but a bare number
/// above 1 is refused, since it may be meant as a percentage.
///
/// # Errors
/// The text is no number, or a bare number above 1.
pub fn share(text: &str) -> Result<f64, NotAShare> {
    let (number, percent) = match text.trim().strip_suffix('%') {
        Some(number) => (number.trim_end(), true),
        None => (text.trim(), false),
    };
    match number.parse::<f64>() {
        Ok(value) if percent => Ok(value / 100.0),
        Ok(value) if value > 1.0 => Err(NotAShare::NoSign { value }),
        Ok(value) => Ok(value),
        Err(_) => Err(NotAShare::NoNumber { text: shown(text) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_fractions_or_percentages() {
        assert_eq!((share("1%"), share("0.01"), share("7 %")), (Ok(0.01), Ok(0.01), Ok(0.07)));
        assert_eq!((share("1"), share("100%"), share("-1%")), (Ok(1.0), Ok(1.0), Ok(-0.01)));
        for bad in ["%", "one", "1%%", ""] {
            assert!(matches!(share(bad), Err(NotAShare::NoNumber { .. })), "{bad}");
        }
    }

    #[test]
    fn a_bare_number_above_one_is_told_how_to_be_written() {
        assert_eq!(share("95"), Err(NotAShare::NoSign { value: 95.0 }));
        let said = share("95").map_err(|error| error.to_string());
        assert_eq!(said, Err("95 is above 1 and has no percent sign; write 95% or 0.95".into()));
    }
}
