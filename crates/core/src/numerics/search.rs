//! One-dimensional searches: bisection on real and on whole numbers, and golden section.

/// Halves a bracket `halvings` times (or until it holds no further number) and keeps the half in which `is_below` changes from true to false.
///
/// Returns both ends. `low` may be larger than `high`: the first end is the one at which `is_below` holds.
pub(crate) fn bisect(
    mut low: f64,
    mut high: f64,
    halvings: usize,
    mut is_below: impl FnMut(f64) -> bool,
) -> (f64, f64) {
    for _ in 0..halvings {
        let middle = 0.5 * (low + high);
        if middle == low || middle == high {
            break;
        }
        if is_below(middle) { low = middle } else { high = middle }
    }
    (low, high)
}

/// The first whole number from `low` to `high` at which `is_below` no longer holds; `high` if there is none before it.
pub(crate) fn first_not_below(mut low: u64, mut high: u64, mut is_below: impl FnMut(u64) -> bool) -> u64 {
    while low < high {
        let middle = low + (high - low) / 2;
        if is_below(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// Where a function with one peak between `low` and `high` is largest, within `tolerance`, by golden section: one evaluation shrinks the bracket by 0.618.
pub(crate) fn maximum(mut low: f64, mut high: f64, tolerance: f64, f: impl Fn(f64) -> f64) -> f64 {
    const SHARE: f64 = 0.618_033_988_749_894_9;
    let inner = |low: f64, high: f64| (high - SHARE * (high - low), low + SHARE * (high - low));
    let (mut left, mut right) = inner(low, high);
    let (mut at_left, mut at_right) = (f(left), f(right));
    while high - low > tolerance {
        if at_left > at_right {
            (high, right, at_right) = (right, left, at_left);
            left = inner(low, high).0;
            at_left = f(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = inner(low, high).1;
            at_right = f(right);
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_bracketed_from_either_side() {
        let (low, high) = bisect(1.0, 2.0, 60, |x| x * x < 2.0);
        assert!(low * low < 2.0 && high * high >= 2.0 && high - low < 1e-15);
        let (low, high) = bisect(2.0, 1.0, 60, |x| x * x > 2.0);
        assert!(low * low > 2.0 && high * high <= 2.0 && low - high < 1e-15);
    }

    #[test]
    fn whole_numbers_are_searched_to_both_ends() {
        for wanted in [0, 1, 41, 99, 100] {
            assert_eq!(first_not_below(0, 100, |k| k < wanted), wanted);
        }
        assert_eq!(first_not_below(0, u64::MAX, |k| k < u64::MAX - 1), u64::MAX - 1);
    }

    #[test]
    fn the_peak_is_found() {
        assert!((maximum(-45.0, 45.0, 1e-9, |x| -(x - 3.25).powi(2)) - 3.25).abs() < 1e-7);
    }
}
