//! Values with notes below each: lines in a terminal, a table in a page.

use sottovoce_chart::columns;

use super::{Block, Emphasis};

/// Indentation of the notes below an entry in a terminal.
const INDENT: usize = 4;

/// Largest width of the notes, even in a wider window.
const WIDTH: usize = 80;

/// Columns between two columns that had to be narrowed.
const GAP: usize = 2;

/// Where something is shown. A page has room for more than a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// In a terminal and in a page.
    Everywhere,
    /// In a terminal only.
    Terminal,
    /// In a page only.
    Page,
}

impl Shown {
    pub(crate) fn on_page(self) -> bool {
        self != Shown::Terminal
    }

    fn in_terminal(self) -> bool {
        self != Shown::Page
    }
}

/// A list of entries with the same columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// The columns. The first one has the names of the entries.
    pub columns: Vec<Column>,
    /// The entries in order.
    pub entries: Vec<Entry>,
}

/// A column of a [`Listing`].
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name in a page.
    pub name: String,
    /// Its width in a terminal.
    pub width: usize,
    /// Where it is shown.
    pub shown: Shown,
}

/// An entry of a [`Listing`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// A cell for each column.
    pub cells: Vec<String>,
    /// The notes below it.
    pub notes: Vec<(Shown, Emphasis, String)>,
}

impl Listing {
    /// Adds a column with its width in a terminal.
    pub fn column(mut self, name: &str, width: usize) -> Self {
        self.columns.push(Column { name: name.into(), width, shown: Shown::Everywhere });
        self
    }

    /// Adds a column that only a terminal shows.
    pub fn in_terminal(mut self, width: usize) -> Self {
        self.columns.push(Column { name: String::new(), width, shown: Shown::Terminal });
        self
    }

    /// Adds a column that only a page shows.
    pub fn on_page(mut self, name: &str) -> Self {
        self.columns.push(Column { name: name.into(), width: 0, shown: Shown::Page });
        self
    }

    /// Adds an entry.
    pub fn entry(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) -> &mut Self {
        let cells = cells.into_iter().map(Into::into).collect();
        self.entries.push(Entry { cells, notes: vec![] });
        self
    }

    /// Adds a note to the last entry.
    pub fn note(&mut self, shown: Shown, emphasis: Emphasis, words: impl Into<String>) -> &mut Self {
        if let Some(entry) = self.entries.last_mut() {
            entry.notes.push((shown, emphasis, words.into()));
        }
        self
    }

    /// The lines and paragraphs for a terminal.
    pub(super) fn lines(&self, width: usize) -> Vec<Block> {
        let widths = self.widths(width);
        let mut blocks = Vec::new();
        for Entry { cells, notes } in &self.entries {
            let cells: Vec<String> = self
                .in_terminal_of(cells)
                .zip(&widths)
                .map(|(cell, width)| {
                    // A cell that is too long is set off by a space.
                    let gap = if columns::width(cell) < *width { "" } else { " " };
                    columns::left_aligned(cell, *width) + gap
                })
                .collect();
            blocks.push(Block::Piece(Emphasis::Strong, cells.first().cloned().unwrap_or_default()));
            let rest = cells.iter().skip(1).map(String::as_str).collect::<String>();
            blocks.push(Block::Piece(Emphasis::Plain, format!("{}\n", rest.trim_end())));
            for (_, emphasis, words) in notes.iter().filter(|note| note.0.in_terminal()) {
                let (emphasis, words) = (*emphasis, words.clone());
                blocks.push(Block::Paragraph { emphasis, indent: INDENT, width: WIDTH, words });
            }
        }
        blocks
    }

    /// The cells that a terminal shows.
    fn in_terminal_of<'a>(&'a self, cells: &'a [String]) -> impl Iterator<Item = &'a String> {
        let shown = self.columns.iter().zip(cells).filter(|(column, _)| column.shown.in_terminal());
        shown.map(|(_, cell)| cell)
    }

    /// The widths of the columns: as given or, where that is too wide, as narrow as the cells allow.
    fn widths(&self, width: usize) -> Vec<usize> {
        let given = self.columns.iter().filter(|column| column.shown.in_terminal()).map(|c| c.width);
        let given: Vec<usize> = given.collect();
        let longest = |i: usize| {
            let cells = self.entries.iter().filter_map(|entry| self.in_terminal_of(&entry.cells).nth(i));
            cells.map(|cell| columns::width(cell)).max().unwrap_or(0)
        };
        let last = given.len().saturating_sub(1);
        if given.iter().take(last).sum::<usize>() + longest(last) <= width {
            return given;
        }
        (0..given.len()).map(|i| given[i].min(longest(i) + GAP)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Document, Page, html};

    #[test]
    fn cells_line_up_whatever_script_names_are_in() {
        let mut listing = Listing::default().column("value", 12).column("share", 6);
        for name in ["Zu\u{308}rich", "日本語", "🙂", "plain"] {
            listing.entry([name, "0.5"]);
        }
        let mut document = Document::default();
        document.listing(listing);
        for line in document.to_string().lines() {
            assert_eq!(columns::width(line), 15, "{line}");
        }
    }

    #[test]
    fn a_terminal_and_a_page_show_what_they_have_room_for() {
        let mut listing = Listing::default().column("metric", 8).in_terminal(6).on_page("method");
        listing.entry(["s_mu", "0.9", "closed form, exact"]).note(
            Shown::Everywhere,
            Emphasis::Faint,
            "a share",
        );
        listing.note(Shown::Page, Emphasis::Plain, "of a secret");
        let mut document = Document::default();
        document.listing(listing);
        assert_eq!(document.to_string(), "s_mu    0.9\n    a share\n");
        let narrow = document.laid_out(Page { width: 9, ..Page::default() });
        assert_eq!(
            narrow.into_iter().map(|piece| piece.1).collect::<String>(),
            "s_mu  0.9\n    a\n    share\n"
        );
        let page = html::page(&document);
        assert!(page.contains("<th scope=\"col\">metric</th><th scope=\"col\">method</th>"), "{page}");
        assert!(page.contains("<p class=\"explain\">a share</p>") && page.contains("of a secret"), "{page}");
        assert!(!page.contains("0.9"), "{page}");
    }
}
