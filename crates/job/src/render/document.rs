//! Text with emphasis, so that a front end can colour it and nobody else has to care.

use std::fmt;

/// How a piece of text stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emphasis {
    /// Not at all.
    Plain,
    /// A heading or a result.
    Strong,
    /// An explanation.
    Faint,
    /// Something to be careful about.
    Warning,
}

/// A text in pieces of different emphasis. Its [`Display`](fmt::Display) is plain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    pieces: Vec<(Emphasis, String)>,
}

impl Document {
    /// A text without emphasis.
    pub fn plain(text: String) -> Self {
        Document { pieces: vec![(Emphasis::Plain, text)] }
    }

    /// The pieces in order.
    pub fn pieces(&self) -> impl Iterator<Item = (Emphasis, &str)> {
        self.pieces.iter().map(|(emphasis, text)| (*emphasis, text.as_str()))
    }

    /// Adds a piece.
    pub fn push(&mut self, emphasis: Emphasis, text: impl Into<String>) -> &mut Self {
        self.pieces.push((emphasis, text.into()));
        self
    }

    /// Adds a piece and ends the line.
    pub fn line(&mut self, emphasis: Emphasis, text: impl AsRef<str>) -> &mut Self {
        self.push(emphasis, text.as_ref().trim_end()).push(Emphasis::Plain, "\n")
    }

    /// Adds words, broken into lines of at most `width` columns that all start after `indent` spaces.
    pub fn paragraph(&mut self, emphasis: Emphasis, indent: usize, width: usize, words: &str) -> &mut Self {
        for line in wrap(words, width.saturating_sub(indent)) {
            self.line(emphasis, format!("{:indent$}{line}", ""));
        }
        self
    }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces.iter().try_for_each(|(_, text)| f.write_str(text))
    }
}

/// Breaks words into lines of at most `width` characters, where a word is not longer than that.
fn wrap(words: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_wrapped_and_indented() {
        let mut document = Document::default();
        document.paragraph(Emphasis::Faint, 2, 10, "one two three four");
        assert_eq!(document.to_string(), "  one two\n  three\n  four\n");
    }
}
