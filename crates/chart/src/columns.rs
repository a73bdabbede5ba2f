//! Text in the columns of a terminal.
//!
//! A terminal gives most characters one column, 日 two, and a combining accent none. `chars().count()` and the padding of `format!` count characters,
//! so they misalign columns of such text. The functions here measure with `unicode-width`, and cut between user-perceived characters
//! (`unicode-segmentation`), so that no accent is separated from its letter and no emoji falls apart.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// How many columns the text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text, padded on the right to so many columns.
pub fn left_aligned(text: &str, columns: usize) -> String {
    format!("{text}{}", padding(text, columns))
}

/// The text, padded on the left to so many columns.
pub fn right_aligned(text: &str, columns: usize) -> String {
    format!("{}{text}", padding(text, columns))
}

fn padding(text: &str, columns: usize) -> String {
    " ".repeat(columns.saturating_sub(width(text)))
}

/// The text in at most so many columns; if it is wider, it is cut and ends in `mark`.
pub fn clipped(text: &str, columns: usize, mark: &str) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let (kept, _) = split(text, columns.saturating_sub(width(mark)));
    format!("{kept}{mark}")
}

/// The text in pieces of at most so many columns. A character that is wider than that is a piece by itself.
pub fn pieces(text: &str, columns: usize) -> Vec<String> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let (mut piece, mut after) = split(rest, columns);
        if piece.is_empty() {
            (piece, after) = rest.split_at(rest.graphemes(true).next().map_or(rest.len(), str::len));
        }
        pieces.push(piece.to_owned());
        rest = after;
    }
    pieces
}

/// The longest beginning that fits into so many columns, and the rest.
fn split(text: &str, columns: usize) -> (&str, &str) {
    let ends = text.grapheme_indices(true).map(|(start, grapheme)| start + grapheme.len());
    let end = ends.take_while(|end| width(&text[..*end]) <= columns).last().unwrap_or(0);
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAMILY: &str = "👩\u{200d}👩\u{200d}👧";

    #[test]
    fn width_is_what_a_terminal_shows() {
        for (text, columns) in
            [("abc", 3), ("ä", 1), ("a\u{308}", 1), ("日本語", 6), ("🙂", 2), (FAMILY, 2), ("", 0)]
        {
            assert_eq!(width(text), columns, "{text}");
            assert_eq!(width(&left_aligned(text, 8)), 8, "{text}");
            assert_eq!(width(&right_aligned(text, 8)), 8, "{text}");
        }
        assert_eq!(left_aligned("日本", 3), "日本");
    }

    #[test]
    fn text_is_cut_between_whole_characters() {
        assert_eq!(clipped("日本語", 6, "…"), "日本語");
        assert_eq!(clipped("日本語", 5, "…"), "日本…");
        assert_eq!(clipped("日本語", 4, "…"), "日…");
        assert_eq!(clipped("e\u{301}e\u{301}e\u{301}", 2, "…"), "e\u{301}…");
        assert_eq!(clipped(&format!("{FAMILY}{FAMILY}"), 3, "…"), format!("{FAMILY}…"));
    }

    #[test]
    fn pieces_fit_and_lose_nothing() {
        let text = format!("ab日本e\u{301}{FAMILY}語c");
        for columns in 1..9 {
            let pieces = pieces(&text, columns);
            assert_eq!(pieces.concat(), text);
            assert!(pieces.iter().all(|piece| width(piece) <= columns.max(2)), "{pieces:?}");
        }
        assert!(pieces("", 3).is_empty());
    }
}
