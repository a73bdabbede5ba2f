//! The content of a report for people, independent of the width of their window and of colours.
//!
//! A [`Document`] is a list of blocks: facts, lines, paragraphs, tables, listings, charts. [`Document::laid_out`] lays it out for a terminal,
//! [`super::html::page`] as an HTML page. A job builds one document and gets both.

mod listing;
mod table;

use std::fmt;

pub use listing::{Column, Entry, Listing, Shown};
pub use sottovoce_chart::Chart;
use sottovoce_chart::columns;
pub use sottovoce_chart::terminal::Characters;
pub use table::Table;

/// How a piece of text is emphasised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emphasis {
    /// Not at all.
    Plain,
    /// A heading or a result.
    Strong,
    /// An explanation.
    Faint,
    /// A warning.
    Warning,
    /// The colour of a series of a chart.
    Series(usize),
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// The title of a page. A terminal does not show it.
    Title(String),
    /// A heading. A terminal shows an empty line before it.
    Heading(String),
    /// A name and its value.
    Fact(String, String),
    /// Text that continues the line of the piece before. Line breaks are part of the text.
    Piece(Emphasis, String),
    /// Text for programs, shown unchanged.
    Verbatim(String),
    /// Text that is broken into lines.
    Paragraph {
        /// How it is emphasised.
        emphasis: Emphasis,
        /// Columns of indentation.
        indent: usize,
        /// Largest width in columns, even in a wider window.
        width: usize,
        /// The text.
        words: String,
    },
    /// Rows and columns.
    Table(Table),
    /// Values with notes below each.
    Listing(Listing),
    /// A tree: the depth of each part, and its text.
    Outline(Vec<(usize, String)>),
    /// A chart.
    Chart(Box<Chart>),
    /// Blocks that only a page shows. Their charts can be drawn into files too.
    Page(Document),
}

/// A text in blocks. Its [`Display`](fmt::Display) is plain text in 80 columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    blocks: Vec<Block>,
}

/// What the terminal, or whatever shows the text, can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Columns.
    pub width: usize,
    /// What charts are drawn with. Without colours, series differ only by their letters.
    pub characters: Characters,
}

impl Default for Page {
    fn default() -> Self {
        Page { width: 80, characters: Characters::Ascii }
    }
}

/// Least width of the column with the names of facts.
const NAMES: usize = 10;

/// Largest width of a chart in columns: a wider one is not easier to read.
const CHART: usize = 100;

impl Document {
    /// Text for programs, without emphasis or line breaks of our own.
    pub fn plain(text: String) -> Self {
        Document { blocks: vec![Block::Verbatim(text)] }
    }

    /// The blocks in order.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The charts in order.
    pub fn charts(&self) -> impl Iterator<Item = &Chart> {
        self.blocks.iter().flat_map(|block| match block {
            Block::Chart(chart) => vec![chart.as_ref()],
            Block::Page(more) => more.charts().collect(),
            _ => vec![],
        })
    }

    /// Adds a block.
    pub fn add(&mut self, block: Block) -> &mut Self {
        self.blocks.push(block);
        self
    }

    /// Sets the title of the page.
    pub fn title(&mut self, title: impl Into<String>) -> &mut Self {
        self.add(Block::Title(title.into()))
    }

    /// Adds a heading.
    pub fn heading(&mut self, heading: impl Into<String>) -> &mut Self {
        self.add(Block::Heading(heading.into()))
    }

    /// Adds a fact.
    pub fn fact(&mut self, name: &str, value: impl Into<String>) -> &mut Self {
        self.add(Block::Fact(name.into(), value.into()))
    }

    /// Adds a piece.
    pub fn push(&mut self, emphasis: Emphasis, text: impl Into<String>) -> &mut Self {
        self.add(Block::Piece(emphasis, text.into()))
    }

    /// Adds a piece and ends the line.
    pub fn line(&mut self, emphasis: Emphasis, text: impl AsRef<str>) -> &mut Self {
        self.push(emphasis, text.as_ref().trim_end()).push(Emphasis::Plain, "\n")
    }

    /// Adds text, broken into lines of at most `width` columns, each indented by `indent` spaces.
    pub fn paragraph(&mut self, emphasis: Emphasis, indent: usize, width: usize, words: &str) -> &mut Self {
        self.add(Block::Paragraph { emphasis, indent, width, words: words.into() })
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) -> &mut Self {
        self.add(Block::Table(table))
    }

    /// Adds a chart.
    pub fn chart(&mut self, chart: Chart) -> &mut Self {
        self.add(Block::Chart(Box::new(chart)))
    }

    /// Adds values with notes below each.
    pub fn listing(&mut self, listing: Listing) -> &mut Self {
        self.add(Block::Listing(listing))
    }

    /// Adds a chart for pages and files only.
    pub fn picture(&mut self, chart: Chart) -> &mut Self {
        self.on_page(|page| page.chart(chart))
    }

    /// Adds blocks that only a page shows.
    pub fn on_page(&mut self, fill: impl FnOnce(&mut Document) -> &mut Document) -> &mut Self {
        let mut more = Document::default();
        fill(&mut more);
        self.add(Block::Page(more))
    }

    /// The text in lines that fit the width, as pieces with their emphasis.
    pub fn laid_out(&self, page: Page) -> Vec<(Emphasis, String)> {
        let (mut out, mut pieces) = (Vec::new(), Vec::new());
        for together in self.blocks.chunk_by(|l, r| is_fact(l) && is_fact(r)) {
            match &together[0] {
                Block::Fact(..) => pieces.extend(facts(together, page.width)),
                Block::Heading(heading) => {
                    let above = if pieces.is_empty() && out.is_empty() { "" } else { "\n" };
                    pieces.push((Emphasis::Strong, format!("{above}{heading}\n")));
                }
                Block::Verbatim(text) => {
                    out.extend(fitted(std::mem::take(&mut pieces), page.width));
                    out.push((Emphasis::Plain, text.clone()));
                }
                block => pieces.extend(block.laid_out(page)),
            }
        }
        out.extend(fitted(pieces, page.width));
        out
    }
}

impl Block {
    /// Lays out a block that does not depend on its neighbours.
    fn laid_out(&self, page: Page) -> Vec<(Emphasis, String)> {
        match self {
            Block::Piece(emphasis, text) => vec![(*emphasis, text.clone())],
            Block::Paragraph { emphasis, indent, width, words } => {
                let lines = wrap(words, page.width.min(*width).saturating_sub(*indent));
                let line = |line: &String| {
                    let text = format!("{:indent$}{line}", "").trim_end().to_owned();
                    [(*emphasis, text), (Emphasis::Plain, "\n".into())]
                };
                lines.iter().flat_map(line).collect()
            }
            Block::Table(table) => table.laid_out(page.width),
            Block::Listing(listing) => {
                listing.lines(page.width).iter().flat_map(|line| line.laid_out(page)).collect()
            }
            Block::Outline(parts) => outline(parts),
            Block::Chart(chart) => drawn(chart, page),
            Block::Title(_) | Block::Page(_) => vec![],
            // `Document::laid_out` handles these, because they depend on their neighbours.
            Block::Heading(_) | Block::Fact(..) | Block::Verbatim(_) => vec![],
        }
    }
}

fn is_fact(block: &Block) -> bool {
    matches!(block, Block::Fact(..))
}

/// Names in one column, values in another. Long values continue in the next line of their column.
fn facts(facts: &[Block], width: usize) -> Vec<(Emphasis, String)> {
    let facts = facts.iter().filter_map(|block| match block {
        Block::Fact(name, value) => Some((name, value)),
        _ => None,
    });
    let longest = facts.clone().map(|(name, _)| columns::width(name)).max().unwrap_or(0);
    let names = if longest < NAMES { NAMES } else { longest + 2 };
    let line = |(name, value): (&String, &String)| {
        let room = width.saturating_sub(names);
        let lines =
            wrap(value, room).iter().flat_map(|line| columns::pieces(line, room.max(8))).collect::<Vec<_>>();
        let lines = lines.join(&format!("\n{:names$}", ""));
        (
            Emphasis::Strong,
            format!("{}{lines}", columns::left_aligned(name, names)).trim_end().to_owned() + "\n",
        )
    };
    facts.map(line).collect()
}

/// A tree, drawn with lines.
fn outline(parts: &[(usize, String)]) -> Vec<(Emphasis, String)> {
    // Whether another part of this depth follows before the next part of a smaller depth.
    let goes_on = |position: usize, depth: usize| {
        let later = parts[position + 1..].iter().map(|part| part.0);
        later.take_while(|d| *d >= depth).any(|d| d == depth)
    };
    let line = |(position, (depth, words)): (usize, &(usize, String))| {
        let above = |d: usize| if goes_on(position, d) { "│  " } else { "   " };
        let knot = if goes_on(position, *depth) { "├─ " } else { "└─ " };
        let stem: String = (0..*depth).map(above).collect();
        [(Emphasis::Faint, stem + knot), (Emphasis::Plain, format!("{words}\n"))]
    };
    parts.iter().enumerate().flat_map(line).collect()
}

/// A chart with its title and caption.
fn drawn(chart: &Chart, page: Page) -> Vec<(Emphasis, String)> {
    let width = page.width.min(CHART);
    let mut pieces = vec![(Emphasis::Strong, format!("{}\n", chart.title))];
    let lines = sottovoce_chart::terminal::draw(chart, width, (width / 5).clamp(8, 18), page.characters);
    for line in lines {
        for (series, text) in line {
            pieces.push((series.map_or(Emphasis::Plain, Emphasis::Series), text));
        }
        pieces.push((Emphasis::Plain, "\n".into()));
    }
    for line in wrap(&chart.caption, width.min(80)) {
        pieces.push((Emphasis::Faint, format!("{line}\n")));
    }
    pieces
}

/// Breaks lines that are too long at spaces. The rest of a line is indented two columns more than its beginning.
fn fitted(pieces: Vec<(Emphasis, String)>, width: usize) -> Vec<(Emphasis, String)> {
    let mut out = Vec::new();
    let mut line: Vec<(Emphasis, String)> = Vec::new();
    for (emphasis, text) in pieces {
        for part in text.split_inclusive('\n') {
            line.push((emphasis, part.to_owned()));
            if part.ends_with('\n') {
                out.extend(broken(std::mem::take(&mut line), width));
            }
        }
    }
    out.extend(broken(line, width));
    out
}

fn broken(line: Vec<(Emphasis, String)>, width: usize) -> Vec<(Emphasis, String)> {
    let text: String = line.iter().map(|(_, text)| text.as_str()).collect();
    if columns::width(text.trim_end()) <= width {
        return line;
    }
    let indent = text.chars().take_while(|c| *c == ' ').count().min(width / 2);
    let (mut out, mut column) = (vec![(Emphasis::Plain, " ".repeat(indent))], indent);
    for (emphasis, text) in line {
        for word in text.split_whitespace() {
            let length = columns::width(word);
            if column > indent && column + 1 + length > width {
                out.push((Emphasis::Plain, format!("\n{:1$}", "", indent + 2)));
                column = indent + 2;
            } else if column > indent {
                out.push((emphasis, " ".into()));
                column += 1;
            }
            out.push((emphasis, word.to_owned()));
            column += length;
        }
    }
    if text.ends_with('\n') {
        out.push((Emphasis::Plain, "\n".into()));
    }
    out
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.laid_out(Page::default()).iter().try_for_each(|(_, text)| f.write_str(text))
    }
}

/// Breaks words into lines of at most `width` columns; a longer word gets a line by itself.
fn wrap(words: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in units_kept(words) {
        match lines.last_mut() {
            Some(line) if columns::width(line) + 1 + columns::width(&word) <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// The words of a text; a percent sign stays with its number.
fn units_kept(words: &str) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for word in words.split_whitespace() {
        match kept.last_mut() {
            Some(number) if word.starts_with('%') => {
                number.push(' ');
                number.push_str(word);
            }
            _ => kept.push(word.to_owned()),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_wrapped_and_indented() {
        let mut document = Document::default();
        document.paragraph(Emphasis::Faint, 2, 10, "one two three four");
        assert_eq!(document.to_string(), "  one two\n  three\n  four\n");
        let mut document = Document::default();
        document.paragraph(Emphasis::Plain, 0, 10, "about 37.7 %; so");
        assert_eq!(document.to_string(), "about\n37.7 %; so\n");
    }

    #[test]
    fn a_line_too_long_for_the_page_is_broken_at_spaces() {
        let mut document = Document::default();
        document.push(Emphasis::Strong, "name      ").line(Emphasis::Plain, "value and some words more");
        let page = Page { width: 16, ..Page::default() };
        let text: String = document.laid_out(page).into_iter().map(|p| p.1).collect();
        assert_eq!(text, "name value and\n  some words\n  more\n");
        assert_eq!(document.to_string(), "name      value and some words more\n");
    }

    #[test]
    fn facts_stand_in_two_columns_whatever_their_length() {
        let mut document = Document::default();
        document.fact("short", "value").fact("a longer name", "abcdefghij klm");
        let page = Page { width: 24, ..Page::default() };
        let text: String = document.laid_out(page).into_iter().map(|p| p.1).collect();
        assert_eq!(
            text,
            "short          value\na longer name  abcdefghi\n               j\n               klm\n"
        );
        assert_eq!(document.to_string(), "short          value\na longer name  abcdefghij klm\n");
    }

    #[test]
    fn lines_are_broken_by_columns_and_not_by_characters() {
        let mut document = Document::default();
        document.fact("名前", "日本語 日本語日本語日本語").fact("short", "e\u{301}e\u{301}e\u{301}");
        document.paragraph(Emphasis::Plain, 0, 20, "日本語日本語 日本語日本語 日本語");
        let text: String =
            document.laid_out(Page { width: 20, ..Page::default() }).into_iter().map(|p| p.1).collect();
        assert_eq!(
            text,
            "名前      日本語\n          日本語日本\n          語日本語\nshort     e\u{301}e\u{301}e\u{301}\n日本語日本語\n日本語日本語 日本語\n"
        );
    }

    #[test]
    fn parts_within_parts_are_joined_by_lines() {
        let mut document = Document::default();
        let parts = [(0, "one"), (1, "two"), (1, "three"), (0, "four"), (1, "five")];
        document.add(Block::Outline(parts.map(|(depth, words)| (depth, words.to_owned())).into()));
        assert_eq!(document.to_string(), "├─ one\n│  ├─ two\n│  └─ three\n└─ four\n   └─ five\n");
        let list =
            "<ul><li>one<ul><li>two</li><li>three</li></ul></li><li>four<ul><li>five</li></ul></li></ul>";
        assert!(crate::render::html::page(&document).replace('\n', "").contains(list));
    }

    #[test]
    fn json_in_a_document_is_left_alone() {
        let json = format!("{{\"key\": \"{}\"}}\n", "x y  ".repeat(100));
        assert_eq!(Document::plain(json.clone()).to_string(), json);
    }
}
