//! Scales: how values are mapped to positions on an axis, and which values get tick labels.

/// How values are mapped to positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Positions are proportional to values.
    #[default]
    Linear,
    /// Positions are proportional to the logarithm.
    Logarithmic,
    /// Positions are proportional to the square root. It spreads values near zero, as a logarithm does, and includes zero.
    SquareRoot,
}

impl Scale {
    fn transformed(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Logarithmic => value.ln(),
            Scale::SquareRoot => value.max(0.0).sqrt(),
        }
    }

    /// Whether the scale can show the value.
    pub(crate) fn holds(self, value: f64) -> bool {
        value.is_finite() && (self != Scale::Logarithmic || value > 0.0)
    }
}

/// A scale with a range of values and the range of positions it is mapped to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ruler {
    scale: Scale,
    pub low: f64,
    pub high: f64,
    start: f64,
    end: f64,
}

impl Ruler {
    /// Maps `low` to `start` and `high` to `end`.
    pub(crate) fn new(scale: Scale, (low, high): (f64, f64), (start, end): (f64, f64)) -> Self {
        Ruler { scale, low, high, start, end }
    }

    /// The position of a value.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let (low, high) = (self.scale.transformed(self.low), self.scale.transformed(self.high));
        self.start + (self.scale.transformed(value) - low) / (high - low) * (self.end - self.start)
    }

    /// Whether the value is within the range.
    pub(crate) fn covers(&self, value: f64) -> bool {
        let slack = 1e-9 * (self.high - self.low).abs();
        self.scale.holds(value) && value >= self.low - slack && value <= self.high + slack
    }

    /// Round values whose positions are at least `gap` apart.
    pub(crate) fn ticks(&self, gap: f64) -> Vec<f64> {
        match self.scale {
            Scale::Linear => self.multiples(gap),
            _ => self.round_numbers(gap),
        }
    }

    /// Multiples of 1, 2 or 5 times a power of ten.
    fn multiples(&self, gap: f64) -> Vec<f64> {
        let length = (self.end - self.start).abs().max(1.0);
        let least = (self.high - self.low) * gap / length;
        let power = 10f64.powf(least.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= least * 0.999);
        let step = step.unwrap_or(10.0 * power);
        let (first, last) =
            ((self.low / step - 1e-9).ceil() as i64, (self.high / step + 1e-9).floor() as i64);
        (first..=last).map(|i| clean(i as f64 * step)).collect()
    }

    /// Zero, powers of ten, then their multiples, wherever there is room.
    fn round_numbers(&self, gap: f64) -> Vec<f64> {
        let top = self.high.log10().floor() as i32;
        let bottom = if self.low > 0.0 { self.low.log10().floor() as i32 } else { top - 6 };
        let tiers: [&[f64]; 4] = [&[1.0], &[5.0], &[2.0], &[3.0, 4.0, 6.0, 7.0, 8.0, 9.0]];
        let mut chosen: Vec<f64> = Vec::new();
        if self.scale == Scale::SquareRoot && self.covers(0.0) {
            chosen.push(0.0);
        }
        for tier in tiers {
            for power in (bottom..=top).rev() {
                for digit in tier {
                    let value = clean(digit * 10f64.powi(power));
                    let free = |other: &f64| (self.place(*other) - self.place(value)).abs() >= gap;
                    if self.covers(value) && chosen.iter().all(free) {
                        chosen.push(value);
                    }
                }
            }
        }
        chosen.sort_by(f64::total_cmp);
        chosen
    }
}

/// The value without rounding error: 0.3 for 3 · 0.1.
fn clean(value: f64) -> f64 {
    format!("{value:.12e}").parse().unwrap_or(value)
}

/// The smallest range that contains all values, widened to round ends if the scale is linear.
pub(crate) fn range(scale: Scale, values: impl Iterator<Item = f64>) -> (f64, f64) {
    let ends = |(low, high): (f64, f64), v: f64| (low.min(v), high.max(v));
    let (low, high) = values.filter(|v| scale.holds(*v)).fold((f64::INFINITY, f64::NEG_INFINITY), ends);
    if low > high {
        return if scale == Scale::Logarithmic { (1.0, 10.0) } else { (0.0, 1.0) };
    }
    match scale {
        Scale::Logarithmic if low == high => (low / 2.0, high * 2.0),
        Scale::Logarithmic => (low, high),
        Scale::SquareRoot => (0.0, if high > 0.0 { high } else { 1.0 }),
        Scale::Linear if low == high => (low - 0.5 * low.abs().max(1.0), high + 0.5 * high.abs().max(1.0)),
        Scale::Linear => {
            let power = 10f64.powf((high - low).log10().floor());
            let step = if (high - low) / power < 2.0 { power / 5.0 } else { power / 2.0 };
            (clean((low / step).floor() * step), clean((high / step).ceil() * step))
        }
    }
}

/// A value as people write it, with at most six digits.
pub(crate) fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let exponent = value.abs().log10().floor() as i32;
    if !(-5..7).contains(&exponent) {
        let text = format!("{value:.3e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        return format!(
            "{}10{}",
            if digits == "1" { String::new() } else { format!("{digits}·") },
            raised(power)
        );
    }
    let text = format!("{value:.*}", (5 - exponent).max(0) as usize);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    text.replace('-', "−")
}

/// Digits as superscripts.
fn raised(power: &str) -> String {
    let high = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    power.chars().map(|c| c.to_digit(10).map_or('⁻', |d| high[d as usize])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruler(scale: Scale, low: f64, high: f64) -> Ruler {
        Ruler::new(scale, (low, high), (0.0, 500.0))
    }

    #[test]
    fn ends_are_at_the_ends_whatever_the_scale() {
        for scale in [Scale::Linear, Scale::Logarithmic, Scale::SquareRoot] {
            let ruler = ruler(scale, 0.5, 8.0);
            assert_eq!((ruler.place(0.5), ruler.place(8.0)), (0.0, 500.0));
        }
        assert_eq!(ruler(Scale::SquareRoot, 0.0, 1.0).place(0.25), 250.0);
        assert!((ruler(Scale::Logarithmic, 1.0, 100.0).place(10.0) - 250.0).abs() < 1e-9);
    }

    #[test]
    fn ticks_are_round_and_have_room() {
        assert_eq!(ruler(Scale::Linear, 0.0, 1.0).ticks(90.0), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        assert_eq!(ruler(Scale::Logarithmic, 1.0, 1000.0).ticks(100.0), [1.0, 10.0, 100.0, 1000.0]);
        for scale in [Scale::Linear, Scale::Logarithmic, Scale::SquareRoot] {
            let ruler = ruler(scale, 0.003, 0.97);
            let ticks = ruler.ticks(40.0);
            assert!(ticks.len() >= 4, "{scale:?} {ticks:?}");
            assert!(ticks.windows(2).all(|w| ruler.place(w[1]) - ruler.place(w[0]) >= 39.9), "{ticks:?}");
        }
    }

    #[test]
    fn ranges_hold_their_values_also_when_there_is_one_or_none() {
        assert_eq!(range(Scale::Linear, [0.13, 0.87].into_iter()), (0.1, 0.9));
        for scale in [Scale::Linear, Scale::Logarithmic, Scale::SquareRoot] {
            let (low, high) = range(scale, [3.0].into_iter());
            assert!(low < 3.0 && high >= 3.0, "{scale:?}");
            let (low, high) = range(scale, [f64::NAN].into_iter());
            assert!(low < high, "{scale:?}");
        }
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!([0.1, -2.5, 1000.0, 1e9, 2e-9].map(number), ["0.1", "−2.5", "1000", "10⁹", "2·10⁻⁹"]);
    }
}
