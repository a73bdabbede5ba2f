//! What a report says to people, before it is known how wide their window is and whether it has colours.
//!
//! A [`Document`] is a list of blocks: facts, lines, paragraphs, tables, charts. A terminal lays it out in its columns ([`Document::laid_out`]), an
//! HTML page as headings, lists, tables and figures ([`super::html::page`]); a job that builds the document has both.

mod table;

use std::fmt;

pub use sottovoce_chart::Chart;
pub use sottovoce_chart::terminal::Characters;
pub use table::Table;

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
    /// The colour of a series of a chart.
    Series(usize),
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// What a page is called; a terminal does not need it.
    Title(String),
    /// What the next part is about; a terminal leaves a line free before it.
    Heading(String),
    /// A name and what it stands for.
    Fact(String, String),
    /// Text that goes on where the last piece ended, and ends its lines itself.
    Piece(Emphasis, String),
    /// Text for programs, which stays as it is.
    Verbatim(String),
    /// Words that are broken into lines.
    Paragraph {
        /// How they stand out.
        emphasis: Emphasis,
        /// Columns left free before each line.
        indent: usize,
        /// Most columns, also in a wider window.
        width: usize,
        /// The words.
        words: String,
    },
    /// Rows and columns.
    Table(Table),
    /// A picture.
    Chart(Chart),
    /// A picture that a page and a file show, but a terminal does not.
    Picture(Chart),
}

/// A text in blocks. Its [`Display`](fmt::Display) is plain text in 80 columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    blocks: Vec<Block>,
}

/// What a terminal, or whatever shows the text, can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Columns.
    pub width: usize,
    /// What charts are drawn with. Without colours, only letters tell series apart.
    pub characters: Characters,
}

impl Default for Page {
    fn default() -> Self {
        Page { width: 80, characters: Characters::Ascii }
    }
}

/// Columns of the names of facts.
const NAMES: usize = 10;

/// Most columns of a chart: a wider one is not easier to read.
const CHART: usize = 100;

impl Document {
    /// A text for programs: no emphasis, and no line is broken.
    pub fn plain(text: String) -> Self {
        Document { blocks: vec![Block::Verbatim(text)] }
    }

    /// The blocks in order.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The charts in order.
    pub fn charts(&self) -> impl Iterator<Item = &Chart> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Chart(chart) | Block::Picture(chart) => Some(chart),
            _ => None,
        })
    }

    /// Adds a block.
    pub fn add(&mut self, block: Block) -> &mut Self {
        self.blocks.push(block);
        self
    }

    /// Names the page.
    pub fn title(&mut self, title: impl Into<String>) -> &mut Self {
        self.add(Block::Title(title.into()))
    }

    /// Begins a part.
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

    /// Adds words, broken into lines of at most `width` columns that all start after `indent` spaces.
    pub fn paragraph(&mut self, emphasis: Emphasis, indent: usize, width: usize, words: &str) -> &mut Self {
        self.add(Block::Paragraph { emphasis, indent, width, words: words.into() })
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) -> &mut Self {
        self.add(Block::Table(table))
    }

    /// Adds a chart.
    pub fn chart(&mut self, chart: Chart) -> &mut Self {
        self.add(Block::Chart(chart))
    }

    /// Adds a chart for pages and files only.
    pub fn picture(&mut self, chart: Chart) -> &mut Self {
        self.add(Block::Picture(chart))
    }

    /// The text in lines that fit the page, in pieces of different emphasis.
    pub fn laid_out(&self, page: Page) -> Vec<(Emphasis, String)> {
        let (mut out, mut pieces) = (Vec::new(), Vec::new());
        for block in &self.blocks {
            match block {
                Block::Title(_) | Block::Picture(_) => {}
                Block::Heading(heading) => {
                    let above = if pieces.is_empty() && out.is_empty() { "" } else { "\n" };
                    pieces.push((Emphasis::Strong, format!("{above}{heading}\n")));
                }
                Block::Fact(name, value) => {
                    pieces.push((Emphasis::Strong, format!("{name:<NAMES$}{value}\n")));
                }
                Block::Piece(emphasis, text) => pieces.push((*emphasis, text.clone())),
                Block::Verbatim(text) => {
                    out.extend(fitted(std::mem::take(&mut pieces), page.width));
                    out.push((Emphasis::Plain, text.clone()));
                }
                Block::Paragraph { emphasis, indent, width, words } => {
                    for line in wrap(words, page.width.min(*width).saturating_sub(*indent)) {
                        pieces.push((*emphasis, format!("{:indent$}{line}", "").trim_end().into()));
                        pieces.push((Emphasis::Plain, "\n".into()));
                    }
                }
                Block::Table(table) => pieces.extend(table.laid_out(page.width)),
                Block::Chart(chart) => pieces.extend(drawn(chart, page)),
            }
        }
        out.extend(fitted(pieces, page.width));
        out
    }
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

/// Breaks the lines that are too long for the page at spaces, and lets what is left start under the line's second column pair.
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
    if text.trim_end().chars().count() <= width {
        return line;
    }
    let indent = text.chars().take_while(|c| *c == ' ').count().min(width / 2);
    let (mut out, mut column) = (vec![(Emphasis::Plain, " ".repeat(indent))], indent);
    for (emphasis, text) in line {
        for word in text.split_whitespace() {
            let length = word.chars().count();
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

/// Breaks words into lines of at most `width` characters, where a word is not longer than that.
fn wrap(words: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in units_kept(words) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// The words; a percent sign stays with its number.
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
    fn json_in_a_document_is_left_alone() {
        let json = format!("{{\"key\": \"{}\"}}\n", "x y  ".repeat(100));
        assert_eq!(Document::plain(json.clone()).to_string(), json);
    }
}
