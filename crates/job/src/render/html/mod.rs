//! HTML: a document as one page that needs nothing else.
//!
//! Every report that has a text has a page, made from the same [`Document`]: facts become a list, tables stay tables (and become cards on a phone), charts
//! become figures, each with its numbers in a table below. A page refers to nothing outside itself, and its `Content-Security-Policy` tells the browser to
//! load nothing. It follows the reader's light or dark mode and prints in black on white. Without scripts it lacks only the values under the pointer and
//! the switch of the axis.
//!
//! The markup is written with `maud`, whose templates escape every value. `PreEscaped` marks the exceptions: our style sheet and script, the charts (which
//! escape their own text), and line breaks between elements.

mod figure;
mod words;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use self::words::{Plain, Words, without_markup};
use super::document::{Block, Column, Document, Emphasis, Entry, Listing, Shown, Table};

const STYLE: PreEscaped<&str> = PreEscaped(include_str!("page.css"));
const SCRIPT: PreEscaped<&str> = PreEscaped(include_str!("page.js"));

/// Ends a line of the file, so that people can read it.
const NL: PreEscaped<&str> = PreEscaped("\n");

/// Says which program wrote the page.
const GENERATOR: &str = concat!("sottovoce ", env!("CARGO_PKG_VERSION"));

/// Forbids the browser to load anything.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// Longer cells may be broken into lines.
const LONG: usize = 32;

/// Longer names of rows may be broken into lines.
const LONG_NAME: usize = 24;

/// Whether the text is the beginning of a page that any version of this program wrote.
pub fn is_page(text: &str) -> bool {
    text.starts_with("<!DOCTYPE html>") && text.contains("<meta name=\"generator\" content=\"sottovoce ")
}

/// The document as a page.
pub fn page(document: &Document) -> String {
    let title = document.blocks().iter().find_map(|block| match block {
        Block::Title(title) => Some(title.as_str()),
        _ => None,
    });
    let title = title.unwrap_or("sottovoce");
    let page = html! {
        (DOCTYPE) (NL)
        html lang="en" { (NL) (head(title)) (NL) (content(title, body(document))) (NL) } (NL)
    };
    page.into_string()
}

fn head(title: &str) -> Markup {
    html! {
        head { (NL)
            meta charset="utf-8"; (NL)
            meta name="viewport" content="width=device-width, initial-scale=1"; (NL)
            meta name="color-scheme" content="light dark"; (NL)
            meta name="generator" content=(GENERATOR); (NL)
            meta http-equiv="Content-Security-Policy" content=(POLICY); (NL)
            link rel="icon" href="data:,"; (NL)
            title { (Plain(title)) " · sottovoce" } (NL)
            style { (NL) (STYLE) (PreEscaped(sottovoce_chart::style())) (NL) } (NL)
        }
    }
}

fn content(title: &str, body: Markup) -> Markup {
    html! {
        body { (NL)
            main { (NL)
                h1 { (Words(title)) } (NL)
                (letters(&body)) (body)
            } (NL)
            footer {
                "sottovoce " (env!("CARGO_PKG_VERSION")) ". All information is in nats. The tables give the method and the error of every number."
            } (NL)
            div id="note" role="status" hidden {} (NL)
            script { (NL) (SCRIPT) } (NL)
        }
    }
}

/// The outlines of the letters in all charts. This element shows nothing by itself.
fn letters(body: &Markup) -> Markup {
    let glyphs = sottovoce_chart::glyphs(&body.0);
    html! {
        @if !glyphs.is_empty() {
            svg class="letters" aria-hidden="true" width="0" height="0" {
                defs { (NL) (PreEscaped(glyphs)) }
            } (NL)
        }
    }
}

/// The blocks. Neighbouring facts become one list, neighbouring pieces of text one element.
fn body(document: &Document) -> Markup {
    let mut figures = 0;
    let blocks = flattened(document);
    let groups = blocks.chunk_by(|l, r| std::mem::discriminant(*l) == std::mem::discriminant(*r));
    html! {
        @for group in groups {
            @match group[0] {
                Block::Fact(..) => { dl { @for block in group { (fact(block)) } } (NL) }
                Block::Piece(..) => { (lines(group)) }
                _ => { @for block in group { (element(block, &mut figures)) } }
            }
        }
    }
}

/// All blocks in order, with the blocks that only a page shows.
fn flattened(document: &Document) -> Vec<&Block> {
    let blocks = document.blocks().iter().flat_map(|block| match block {
        Block::Page(more) => flattened(more),
        block => vec![block],
    });
    blocks.collect()
}

fn fact(block: &Block) -> Markup {
    let Block::Fact(name, value) = block else { return html! {} };
    html! { div { dt { (Words(name)) } dd { (Words(value)) } } (NL) }
}

/// Pieces of text, without the empty lines before and after them.
fn lines(pieces: &[&Block]) -> Markup {
    let markup = html! {
        @for block in pieces {
            @if let Block::Piece(emphasis, text) = block { (piece(*emphasis, text)) }
        }
    };
    let lines = PreEscaped(markup.0.trim_matches('\n'));
    html! { @if !lines.0.trim().is_empty() { pre { (lines) } (NL) } }
}

/// A piece of text, which keeps its line ends.
fn piece(emphasis: Emphasis, text: &str) -> Markup {
    html! {
        @match class(emphasis) {
            Some(class) => span class=(class) { (Plain(text)) },
            None => (Plain(text)),
        }
    }
}

/// A block that becomes one element.
fn element(block: &Block, figures: &mut usize) -> Markup {
    match block {
        Block::Heading(heading) => html! { h2 { (Words(heading)) } (NL) },
        Block::Verbatim(text) => html! { @if !text.trim().is_empty() { pre { (Plain(text)) } (NL) } },
        Block::Paragraph { emphasis, indent, words, .. } => {
            let indent = (*indent > 0).then_some("indent");
            let classes: Vec<&str> = class(*emphasis).into_iter().chain(indent).collect();
            html! { (paragraph(&classes.join(" "), &units_kept(words))) (NL) }
        }
        Block::Table(table) => self::table(table),
        Block::Listing(listing) => self::listing(listing),
        Block::Outline(parts) => html! { ul { (items(parts, 0)) } (NL) },
        Block::Chart(chart) => {
            *figures += 1;
            figure::figure(chart, *figures)
        }
        Block::Title(_) | Block::Page(_) | Block::Fact(..) | Block::Piece(..) => html! {},
    }
}

/// A paragraph, or nothing if there are no words.
fn paragraph(class: &str, words: &str) -> Markup {
    let class = (!class.is_empty()).then_some(class);
    html! { @if !words.trim().is_empty() { p class=[class] { (Words(words)) } } }
}

fn class(emphasis: Emphasis) -> Option<&'static str> {
    match emphasis {
        Emphasis::Plain | Emphasis::Series(_) => None,
        Emphasis::Strong => Some("strong"),
        Emphasis::Faint => Some("explain"),
        Emphasis::Warning => Some("warning"),
    }
}

/// Words in which a percent sign stays with its number.
fn units_kept(words: &str) -> String {
    words.replace(" %", "\u{a0}%")
}

/// Parts within parts as lists within lists. Parts deeper than `depth` belong to the part before them.
fn items(parts: &[(usize, String)], depth: usize) -> Markup {
    html! {
        @for item in parts.chunk_by(|_, next| next.0 > depth) {
            li {
                (Words(&item[0].1))
                @if item.len() > 1 { ul { (items(&item[1..], depth + 1)) } }
            }
        }
    }
}

/// Entries as a table; the notes of an entry stand below its name.
fn listing(listing: &Listing) -> Markup {
    let columns = listing.columns.iter().filter(|column| column.shown.on_page());
    html! {
        div class="scroll" {
            table class="cards listing" {
                thead { tr { @for column in columns { th scope="col" { (Words(&column.name)) } } } } (NL)
                tbody { (NL) @for entry in &listing.entries { (entry_row(&listing.columns, entry)) } }
            }
        } (NL)
    }
}

fn entry_row(columns: &[Column], entry: &Entry) -> Markup {
    let cells = columns.iter().zip(&entry.cells).filter(|(column, _)| column.shown.on_page());
    html! {
        tr {
            @for (i, (column, cell)) in cells.enumerate() {
                @if i == 0 {
                    th scope="row" { (Words(cell.trim())) (notes(&entry.notes)) }
                } @else {
                    (data(&column.name, cell))
                }
            }
        } (NL)
    }
}

fn notes(notes: &[(Shown, Emphasis, String)]) -> Markup {
    html! {
        @for (_, emphasis, words) in notes.iter().filter(|note| note.0.on_page()) {
            (paragraph(class(*emphasis).unwrap_or_default(), words))
        }
    }
}

/// A cell of a table. It carries the name of its column, which cards show.
fn data(name: &str, cell: &str) -> Markup {
    let class = match cell.chars().count() {
        0 => Some("empty"),
        1..=LONG => None,
        _ => Some("long"),
    };
    html! { td data-name=(without_markup(name)) class=[class] { span { (Words(cell)) } } }
}

/// A table, which scrolls in its box if it must; on a phone each row becomes a card.
fn table(table: &Table) -> Markup {
    html! {
        div class="scroll" {
            table class="cards" {
                thead { (header(&table.header)) (meaning(&table.meaning)) } (NL)
                tbody { (NL)
                    @for (emphasis, cells) in &table.rows { (row(table, *emphasis, cells)) }
                }
            }
        } (NL)
    }
}

fn header(cells: &[String]) -> Markup {
    html! {
        tr {
            @for (i, cell) in cells.iter().enumerate() {
                // A header cell without text would be announced as an empty header.
                @if i == 0 && cell.is_empty() { td {} } @else { th scope="col" { (Words(cell)) } }
            }
        } (NL)
    }
}

fn meaning(cells: &[String]) -> Markup {
    html! {
        @if !cells.is_empty() {
            tr class="explain" { @for cell in cells { td { (Words(cell)) } } } (NL)
        }
    }
}

fn row(table: &Table, emphasis: Emphasis, cells: &[String]) -> Markup {
    let name = |i: usize| table.header.get(i).map_or("", String::as_str);
    html! {
        tr class=[class(emphasis)] {
            @for (i, cell) in cells.iter().enumerate() {
                @if i == 0 { (row_name(name(0), cell.trim())) } @else { (data(name(i), cell)) }
            }
        } (NL)
    }
}

/// The name of a row. If it is a number, a card also shows what it is a number of.
fn row_name(column: &str, name: &str) -> Markup {
    let is_number = name.parse::<f64>().is_ok() && !column.is_empty();
    let column = is_number.then(|| without_markup(column));
    let class = (!is_number && name.chars().count() > LONG_NAME).then_some("long");
    html! { th scope="row" data-name=[column] class=[class] { (Words(name)) } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sottovoce_chart::{Axis, Chart, Form, Point, Scale, Series};

    const HOSTILE: &str = "<b a=\"1\" b='2'>&amp;</b>";

    /// Every kind of block, with markup in each of its texts.
    fn document() -> Document {
        let mut table = Table::new([HOSTILE, HOSTILE]).meaning([HOSTILE, HOSTILE]);
        table.row(Emphasis::Strong, [HOSTILE, HOSTILE]).row(Emphasis::Plain, ["1", HOSTILE]);
        let mut listing = Listing::default().column(HOSTILE, 8).on_page(HOSTILE);
        listing.entry([HOSTILE, HOSTILE]).note(Shown::Everywhere, Emphasis::Warning, HOSTILE);
        let point =
            Point { x: 1.0, label: Some(HOSTILE.into()), note: Some(HOSTILE.into()), ..Point::default() };
        let chart = Chart::new(HOSTILE, Axis::new(HOSTILE, Scale::Linear), Axis::rows([HOSTILE]))
            .with(Series::new(HOSTILE, Form::Bars, vec![point]))
            .saying(HOSTILE);
        let mut document = Document::default();
        document.title(HOSTILE).heading(HOSTILE).fact(HOSTILE, HOSTILE).line(Emphasis::Faint, HOSTILE);
        document.paragraph(Emphasis::Plain, 2, 80, HOSTILE).table(table).listing(listing).picture(chart);
        document.add(Block::Outline(vec![(0, HOSTILE.into()), (1, HOSTILE.into())]));
        document.add(Block::Verbatim(HOSTILE.into()));
        document
    }

    #[test]
    fn no_text_of_any_block_is_markup() {
        let page = page(&document());
        assert!(!page.contains("<b ") && !page.contains("</b>") && !page.contains("a=\"1\""), "{page}");
        let shown = "&lt;b a=&quot;1&quot; b='2'&gt;&amp;amp;&lt;/b&gt;";
        // Title (2), heading, fact (2), line, paragraph, table (9), listing (6), outline (2), verbatim; the chart adds its own.
        assert!(page.matches(shown).count() >= 25, "{}", page.matches(shown).count());
    }
}
