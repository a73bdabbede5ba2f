//! Colours for light and dark mode.
//!
//! The series colours follow Okabe and Ito, darkened (for light mode) or lightened (for dark mode) until each has a contrast of at least 3 : 1 with the
//! background, as the Web Content Accessibility Guidelines require. A test computes the contrast.

/// The colour of a shape, by its purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Title and labels.
    Ink,
    /// Tick labels, explanations.
    Faint,
    /// Lines of the grid.
    Grid,
    /// The background.
    Paper,
    /// A series, by its index.
    Series(usize),
}

/// Colours of the series in light and in dark mode, in order.
pub const SERIES: [(&str, &str); 7] = [
    ("#0072b2", "#4fb3ef"),
    ("#d55e00", "#ff8a3d"),
    ("#00805c", "#2fc99a"),
    ("#a8437f", "#e694c1"),
    ("#8a6a00", "#e6c13a"),
    ("#4b4fc4", "#a3a6ff"),
    ("#6b6b6b", "#b4b4b4"),
];

impl Colour {
    /// On a light background.
    pub fn light(self) -> &'static str {
        match self {
            Colour::Ink => "#1b1f24",
            Colour::Faint => "#59616b",
            Colour::Grid => "#e1e5ea",
            Colour::Paper => "#ffffff",
            Colour::Series(i) => SERIES[i % SERIES.len()].0,
        }
    }

    /// On a dark background.
    pub fn dark(self) -> &'static str {
        match self {
            Colour::Ink => "#e9edf1",
            Colour::Faint => "#a2abb6",
            Colour::Grid => "#343b44",
            Colour::Paper => "#14181d",
            Colour::Series(i) => SERIES[i % SERIES.len()].1,
        }
    }

    /// The class name of the colour in style sheets.
    pub(crate) fn class(self) -> String {
        match self {
            Colour::Ink => "ink".into(),
            Colour::Faint => "faint".into(),
            Colour::Grid => "grid".into(),
            Colour::Paper => "paper".into(),
            Colour::Series(i) => format!("s{}", i % SERIES.len()),
        }
    }

    /// Every colour once.
    pub(crate) fn all() -> impl Iterator<Item = Colour> {
        [Colour::Ink, Colour::Faint, Colour::Grid, Colour::Paper]
            .into_iter()
            .chain((0..SERIES.len()).map(Colour::Series))
    }
}

/// Red, green and blue of `#rrggbb`.
pub(crate) fn rgb(hex: &str) -> [u8; 3] {
    let part = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap_or(0);
    [part(1), part(3), part(5)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance as the web accessibility guidelines define it.
    fn luminance(hex: &str) -> f64 {
        let linear = |c: u8| {
            let c = f64::from(c) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        let [r, g, b] = rgb(hex).map(linear);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let (l, r) = (luminance(one), luminance(other));
        (l.max(r) + 0.05) / (l.min(r) + 0.05)
    }

    #[test]
    fn everything_that_matters_stands_out() {
        for colour in Colour::all().filter(|c| !matches!(c, Colour::Paper | Colour::Grid)) {
            let text = matches!(colour, Colour::Ink | Colour::Faint);
            let wanted = if text { 4.5 } else { 3.0 };
            for (paint, paper) in
                [(colour.light(), Colour::Paper.light()), (colour.dark(), Colour::Paper.dark())]
            {
                assert!(contrast(paint, paper) >= wanted, "{paint} on {paper}: {}", contrast(paint, paper));
            }
        }
    }
}
