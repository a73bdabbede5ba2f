//! The width of text, its subscripts, and the outlines of its letters.
//!
//! DejaVu Sans Condensed, from the crate `dejavu`, measures text for the layout, and its outlines are drawn in PNG and SVG. So text is as wide as measured on
//! every machine, whatever fonts it has. Text in scripts that this font does not have, or whose letters must be joined, is shown in SVG in the reader's fonts,
//! stretched or compressed to the width that was measured.

use std::sync::LazyLock;

use dejavu::sans_condensed;
use ttf_parser::{Face, GlyphId, OutlineBuilder};
use unicode_width::UnicodeWidthChar;

/// A line of text in pieces, some of which are subscripts or superscripts.
pub type Runs = Vec<(String, Level)>;

/// Where a piece of text stands in its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// On the baseline.
    Base,
    /// A subscript.
    Sub,
    /// A superscript.
    Super,
}

impl Level {
    /// Size relative to normal text, and shift downwards, in sizes of normal text.
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
pub fn runs(text: &str) -> Runs {
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
    let missing = |c: char| if takes_room(c) { MISSING * size } else { 0.0 };
    text.chars().map(|c| advance(c).map_or_else(|| missing(c), |a| f64::from(a) * unit)).sum()
}

/// The width of a letter that the font does not have, in font sizes. Most such letters are as wide as they are high.
const MISSING: f64 = 1.0;

/// Combining marks and joiners (as between the parts of an emoji) take no room of their own.
fn takes_room(c: char) -> bool {
    c.width() != Some(0)
}

/// Whether the text can be drawn with our outlines: the font has all its letters, and they are set side by side from left to right.
pub(crate) fn is_outlined(text: &str, bold: bool) -> bool {
    let known = |c: char| face(bold).is_some_and(|face| face.glyph_index(c).is_some());
    text.chars().all(|c| stands_alone(c) && known(c))
}

/// Latin, Greek and Cyrillic letters, punctuation and signs. No combining marks, joined letters or right-to-left scripts.
fn stands_alone(c: char) -> bool {
    matches!(c, ' '..='\u{2ff}' | '\u{370}'..='\u{482}' | '\u{48a}'..='\u{58f}' | '\u{1e00}'..='\u{1fff}' | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}'
        | '\u{2070}'..='\u{20cf}' | '\u{2100}'..='\u{2bff}')
}

/// A piece of text of one size, with the position of its baseline.
pub(crate) struct Run {
    pub text: String,
    pub size: f64,
    pub x: f64,
    pub y: f64,
}

/// The pieces of a text whose baseline begins at `(x, y)`.
pub(crate) fn placed(text: &str, size: f64, bold: bool, (mut x, y): (f64, f64)) -> Vec<Run> {
    let run = |(piece, level): (String, Level)| {
        let (scale, down) = level.shape();
        let run = Run { size: size * scale, x, y: y + down * size, text: piece };
        x += run_width(&run.text, run.size, bold);
        run
    };
    runs(text).into_iter().map(run).collect()
}

/// The visible letters of a piece of text, each with its x coordinate in font units, and the size of a font unit.
pub(crate) fn letters(run: &Run, bold: bool) -> (Vec<(char, u32)>, f64) {
    let Some(face) = face(bold) else { return (vec![], 1.0) };
    let mut at = 0;
    let mut letters = Vec::new();
    for c in run.text.chars() {
        if !c.is_whitespace() {
            letters.push((c, at));
        }
        at += face.glyph_index(c).and_then(|g| face.glyph_hor_advance(g)).map_or(0, u32::from);
    }
    (letters, run.size / f64::from(face.units_per_em()))
}

/// The outline of a letter as SVG path data, in font units with the y axis pointing up.
pub(crate) fn path(c: char, bold: bool) -> Option<String> {
    let face = face(bold)?;
    let mut path = PathData::default();
    face.outline_glyph(face.glyph_index(c)?, &mut path);
    Some(path.data)
}

/// Collects an outline in whole font units, each point relative to the one before.
#[derive(Default)]
struct PathData {
    data: String,
    at: (i32, i32),
}

impl PathData {
    /// Adds a command with its points.
    fn add(&mut self, command: char, places: &[(f32, f32)]) {
        self.data.push(command);
        let start = self.at;
        for (x, y) in places {
            let place = (x.round() as i32, y.round() as i32);
            for number in [place.0 - start.0, place.1 - start.1] {
                if number >= 0 && self.data.ends_with(|c: char| c.is_ascii_digit()) {
                    self.data.push(' ');
                }
                self.data += &number.to_string();
            }
            self.at = place;
        }
    }
}

impl OutlineBuilder for PathData {
    fn move_to(&mut self, x: f32, y: f32) {
        // A new contour begins at an absolute position, because closing the last one moved the pen.
        self.at = (0, 0);
        self.add('M', &[(x, y)]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.add('l', &[(x, y)]);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.add('q', &[(x1, y1), (x, y)]);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.add('c', &[(x1, y1), (x2, y2), (x, y)]);
    }

    fn close(&mut self) {
        self.data.push('z');
    }
}

/// Sends the outlines of a piece of text to `builder`, with the position of each letter before its outline.
pub(crate) fn outlines(text: &str, size: f64, bold: bool, builder: &mut impl Pen) {
    let Some(face) = face(bold) else { return };
    let unit = size / f64::from(face.units_per_em());
    let mut x = 0.0;
    for c in text.chars() {
        // A letter that the font does not have is drawn as a box, so that readers see that something is missing.
        if let Some(glyph) = face.glyph_index(c).or(takes_room(c).then_some(GlyphId(0))) {
            builder.begin(x, unit);
            face.outline_glyph(glyph, builder);
        }
        x += run_width(c.encode_utf8(&mut [0; 4]), size, bold);
    }
}

/// Draws outlines.
pub(crate) trait Pen: OutlineBuilder {
    /// The next letter begins at `x`; `unit` is the size of a font unit.
    fn begin(&mut self, x: f64, unit: f64);
}

/// Breaks text into lines at most `most` wide. A wider word gets a line by itself.
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

/// Breaks text into at most `count` lines at most `most` wide. Wider words are broken; if there are more lines, the last one ends in an ellipsis.
pub(crate) fn wrapped(text: &str, size: f64, bold: bool, most: f64, count: usize) -> Vec<String> {
    let fits = |text: &str| width(text, size, bold) <= most;
    let mut wrapped: Vec<String> = Vec::new();
    for mut rest in lines(text, size, bold, most) {
        while !fits(&rest) {
            let ends = rest.char_indices().map(|(at, _)| at).skip(1).take_while(|at| fits(&rest[..*at]));
            let at = ends.last().or(rest.char_indices().nth(1).map(|(at, _)| at)).unwrap_or(rest.len());
            let tail = rest.split_off(at);
            wrapped.push(std::mem::replace(&mut rest, tail));
            if rest.is_empty() {
                break;
            }
        }
        wrapped.push(rest);
    }
    wrapped.retain(|line| !line.is_empty());
    if wrapped.len() > count {
        let last = wrapped[count - 1..].join(" ");
        wrapped.truncate(count - 1);
        wrapped.push(clipped(&last, size, bold, most));
    }
    wrapped
}

/// The text, cut and with an ellipsis if it is wider than `most`.
pub(crate) fn clipped(text: &str, size: f64, bold: bool, most: f64) -> String {
    if width(text, size, bold) <= most {
        return text.to_owned();
    }
    let mut kept = text.to_owned();
    while !kept.is_empty() && width(&kept, size, bold) + width("…", size, bold) > most {
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
    fn what_the_font_lacks_or_joins_is_left_to_others() {
        assert!(is_outlined("S at 10⁻³ ± ½, Übergröße, Ελλάδα, Україна…", true));
        for text in ["日本", "مرحبا", "שלום", "e\u{301}", "🙂", "\u{202e}abc"] {
            assert!(!is_outlined(text, false), "{text}");
        }
        assert!(width("日本", 10.0, false) >= 20.0);
        assert_eq!(width("👩\u{200d}👩", 10.0, false), width("👩👩", 10.0, false));
    }

    #[test]
    fn outlines_are_paths_of_whole_units() {
        let path = path('l', false).unwrap();
        assert!(path.starts_with('M') && path.ends_with('z') && !path.contains('.'), "{path}");
        let run = placed("a b", 20.48, false, (3.0, 4.0)).remove(0);
        let (letters, unit) = letters(&run, false);
        assert_eq!((letters.len(), letters[0], unit), (2, ('a', 0), 0.01));
        assert!((width("a ", 20.48, false) - f64::from(letters[1].1) * unit).abs() < 1e-9);
    }

    #[test]
    fn lines_fit_and_clipped_text_fits() {
        assert!(
            lines("many words in a long line of text", 12.0, false, 80.0)
                .iter()
                .all(|l| width(l, 12.0, false) <= 80.0)
        );
        assert!(width(&clipped("a very long label", 12.0, false, 40.0), 12.0, false) <= 40.0);
        for text in ["a very long label with words", "averylonglabelwithoutanyspaces", "x", ""] {
            let whole = wrapped(text, 12.0, false, 60.0, 9);
            assert!(whole.iter().all(|line| width(line, 12.0, false) <= 60.0), "{whole:?}");
            assert_eq!(whole.concat().replace(' ', ""), text.replace(' ', ""));
            assert!(wrapped(text, 12.0, false, 60.0, 2).len() <= 2);
        }
        assert!(wrapped("a very long label with words", 12.0, false, 60.0, 2)[1].ends_with('…'));
    }
}
