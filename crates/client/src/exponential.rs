//! `e^ε` from below, in whole numbers.
//!
//! Privacy is a promise `p/q ≤ e^ε`. It is checked, and every threshold is derived, from a *lower* bound of `e^ε`: what holds for
//! the bound holds for the number. `ε` is a double, so a whole number times a power of two; the power series is summed and squared
//! in fixed point with every rounding downward, so that no rounding can break the promise.

use num_bigint::BigUint;

/// Binary digits after the point. The bound is below `e^ε` by less than a relative `2^{−250}` for `ε ≤ 10^4`.
pub(crate) const DIGITS: u64 = 320;

/// A whole number `E` with `E/2^DIGITS ≤ e^exponent`, for a finite exponent of 0 or more.
pub(crate) fn exponential(exponent: f64) -> BigUint {
    // So many halvings bring the exponent below 2^-8, where each term of the series adds more than eight digits.
    let halvings = (exponent.log2().ceil() + 8.0).max(0.0) as u64;
    let small = fixed_point(exponent, DIGITS.saturating_sub(halvings));
    let (mut sum, mut term) = (BigUint::from(1u8) << DIGITS, BigUint::from(1u8) << DIGITS);
    for n in 1u64.. {
        term = ((term * &small) >> DIGITS) / n;
        if term == BigUint::ZERO {
            break;
        }
        sum += &term;
    }
    for _ in 0..halvings {
        sum = (&sum * &sum) >> DIGITS;
    }
    sum
}

/// `⌊value · 2^digits⌋` for a finite value of 0 or more.
pub(crate) fn fixed_point(value: f64, digits: u64) -> BigUint {
    let bits = value.to_bits();
    let (biased, fraction) = (bits >> 52 & 0x7ff, bits & ((1 << 52) - 1));
    // A double is mantissa · 2^(biased − 1075); below the normal range the leading bit is missing and the exponent stays.
    let mantissa = if biased == 0 { fraction } else { fraction | 1 << 52 };
    let shift = biased.max(1) as i64 - 1075 + digits as i64;
    let mantissa = BigUint::from(mantissa);
    if shift >= 0 { mantissa << shift as u64 } else { mantissa >> shift.unsigned_abs() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `⌊e · 2^128⌋`, from the digits of e (2.718281828459045235360287471352662497757247…).
    #[test]
    fn e_has_its_digits() {
        let e = exponential(1.0) >> (DIGITS - 128);
        assert_eq!(e.to_string(), "924983374546220337150911035843336795079");
    }

    #[test]
    fn the_bound_is_below_and_close() {
        for exponent in [0.0, 5e-324, 1e-20, 1e-6, 0.5, 1.0, 20.0, 100.0, 3200.0] {
            let (bound, twice) = (exponential(exponent), exponential(2.0 * exponent));
            let square = (&bound * &bound) >> DIGITS;
            // e^(2x) = (e^x)^2, up to roundings that the stated accuracy allows.
            let gap = if square > twice { &square - &twice } else { &twice - &square };
            assert!(gap <= (twice >> 250u32) + 1u8, "{exponent}");
        }
        let float = (exponential(1.5) >> (DIGITS - 60)).to_string().parse::<f64>().unwrap() / 60f64.exp2();
        assert!((float / 1.5f64.exp() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn doubles_are_read_exactly() {
        assert_eq!(fixed_point(0.75, 4), BigUint::from(12u8));
        assert_eq!(fixed_point(5e-324, 1074), BigUint::from(1u8));
        assert_eq!(fixed_point(5e-324, 1073), BigUint::ZERO);
        assert_eq!(fixed_point(3.0, 0), BigUint::from(3u8));
    }
}
