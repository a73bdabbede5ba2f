//! Letters: how wide a text is, where its subscripts are, and the outlines of its glyphs.
//!
//! DejaVu Sans Condensed, from the crate `dejavu`, measures text for the layout and draws it in PNG files; it is about as wide as what most readers
//! have. SVG and HTML use the reader's own fonts.

use std::sync::LazyLock;

use dejavu::sans_condensed;
use ttf_parser::{Face, OutlineBuilder};

/// A line of text in pieces, of which some are lower or higher.
pub(crate) type Runs = Vec<(String, Level)>;

/// Where a piece of text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Base,
    Sub,
    Super,
}

impl Level {
    /// Size in relation to the base, and how far down it moves, in base sizes.
    pub(crate) fn shape(self) -> (f64, f64) {
        match self {
            Level::Base => (1.0, 0.0),
            Level::Sub => (0.75, 0.22),
            Level::Super => (0.75, -0.36),
        }
    }
}

static REGULAR: LazyLock<Option<Face<'static>>> =
    LazyLock::new(|| Face::parse(sans_condensed::regular(), 0).ok());
static BOLD: LazyLock<Option<Face<'static>>> = LazyLock::new(|| Face::parse(sans_condensed::bold(), 0).ok());

fn face(bold: bool) -> Option<&'static Face<'static>> {
    if bold { BOLD.as_ref() } else { REGULAR.as_ref() }
}

/// Splits a text at its subscripts and superscripts: a single letter followed by `_` or `^` and a word, as in `S_mu` and `S^wc`. `mu` becomes
/// the Greek letter.
pub(crate) fn runs(text: &str) -> Runs {
    let mut runs: Runs = Vec::new();
    let mut rest = text;
    while let Some((at, level)) = next_level(rest) {
        runs.push((rest[..at].to_owned(), Level::Base));
        let after = &rest[at + 1..];
        let end = after.find(|c: char| !c.is_alphanumeric()).unwrap_or(after.len());
        runs.push((if &after[..end] == "mu" { "μ".into() } else { after[..end].to_owned() }, level));
        rest = &after[end..];
    }
    runs.push((rest.to_owned(), Level::Base));
    runs.retain(|(piece, _)| !piece.is_empty());
    runs
}

/// The next `_` or `^` between a lone letter and a word.
fn next_level(text: &str) -> Option<(usize, Level)> {
    text.char_indices().find_map(|(at, c)| {
        let level = match c {
            '_' => Level::Sub,
            '^' => Level::Super,
            _ => return None,
        };
        let mut before = text[..at].chars().rev();
        let lone = before.next().is_some_and(char::is_alphabetic)
            && !before.next().is_some_and(char::is_alphanumeric);
        let word = text[at + 1..].chars().next().is_some_and(char::is_alphanumeric);
        (lone && word).then_some((at, level))
    })
}

/// The width of a text of that size.
pub(crate) fn width(text: &str, size: f64, bold: bool) -> f64 {
    runs(text).iter().map(|(piece, level)| run_width(piece, size * level.shape().0, bold)).sum()
}

pub(crate) fn run_width(text: &str, size: f64, bold: bool) -> f64 {
    let Some(face) = face(bold) else { return 0.55 * size * text.chars().count() as f64 };
    let unit = size / f64::from(face.units_per_em());
    let advance = |c: char| face.glyph_index(c).and_then(|g| face.glyph_hor_advance(g));
    text.chars().map(|c| advance(c).map_or(0.55 * size, |a| f64::from(a) * unit)).sum()
}

/// Hands the outlines of a piece of text to `builder`, which is told before each glyph where it begins.
pub(crate) fn outlines(text: &str, size: f64, bold: bool, builder: &mut impl Pen) {
    let Some(face) = face(bold) else { return };
    let unit = size / f64::from(face.units_per_em());
    let mut x = 0.0;
    for c in text.chars() {
        if let Some(glyph) = face.glyph_index(c) {
            builder.begin(x, unit);
            face.outline_glyph(glyph, builder);
        }
        x += run_width(c.encode_utf8(&mut [0; 4]), size, bold);
    }
}

/// Draws outlines.
pub(crate) trait Pen: OutlineBuilder {
    /// The next glyph begins at `x`, and its units are so large.
    fn begin(&mut self, x: f64, unit: f64);
}

/// Breaks words into lines that are at most so wide, where a word is not wider than that.
pub(crate) fn lines(text: &str, size: f64, bold: bool, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), size, bold) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The text, with an ellipsis if it is wider than that.
pub(crate) fn clipped(text: &str, size: f64, most: f64) -> String {
    if width(text, size, false) <= most {
        return text.to_owned();
    }
    let mut kept = text.to_owned();
    while !kept.is_empty() && width(&kept, size, false) + width("…", size, false) > most {
        kept.pop();
    }
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_have_subscripts_and_other_words_do_not() {
        let sub = |text: &str| {
            runs(text).iter().filter(|r| r.1 != Level::Base).map(|r| r.0.clone()).collect::<Vec<_>>()
        };
        assert_eq!(sub("S_mu at S^wc"), ["μ", "wc"]);
        assert_eq!(sub("U_distr"), ["distr"]);
        assert!(sub("dirichlet_mixture _x 2^").is_empty());
    }

    #[test]
    fn the_fonts_have_the_signs_we_use() {
        for bold in [false, true] {
            let face = face(bold).unwrap();
            for c in "aZ0 μεαλκ±≥≤−∞…–×·⁰¹²⁹⁻".chars() {
                assert!(face.glyph_index(c).is_some(), "{c}");
            }
        }
        assert!(width("wide words", 12.0, true) > width("wide words", 12.0, false));
    }

    #[test]
    fn lines_fit_and_clipped_text_fits() {
        assert!(
            lines("many words in a long line of text", 12.0, false, 80.0)
                .iter()
                .all(|l| width(l, 12.0, false) <= 80.0)
        );
        assert!(width(&clipped("a very long label", 12.0, 40.0), 12.0, false) <= 40.0);
    }
}
