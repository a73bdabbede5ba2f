//! HTML: a document as one page that needs nothing else.
//!
//! Every report that has a text has a page, laid out from the same [`Document`]: facts become a list, tables stay tables (and cards on a phone), charts
//! become figures, each with its data in a table behind it. A page refers to nothing outside itself, and says so to the browser, which would refuse
//! (`Content-Security-Policy`). It follows light or dark surroundings, prints in black on white, and without a script lacks only the values under the
//! pointer and the switch of the axis.

mod figure;

use sottovoce_chart::{escaped, marked_up};

use super::document::{Block, Column, Document, Emphasis, Entry, Listing, Table};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What tells a page of ours from other files, near its beginning.
const GENERATOR: &str =
    concat!("<meta name=\"generator\" content=\"sottovoce ", env!("CARGO_PKG_VERSION"), "\">");

/// Longer cells may be broken into lines.
const LONG: usize = 32;

/// Longer names of rows may be broken into lines.
const LONG_NAME: usize = 24;

/// Whether the text is the beginning of a page that was made here, by any version.
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
    let body = body(document);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n{GENERATOR}\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{name} · sottovoce</title>\n<style>\n{STYLE}{charts}\n</style>\n</head>\n<body>\n<main>\n\
         <h1>{heading}</h1>\n{letters}{body}</main>\n<footer>sottovoce {version}. All information is in nats; every number carries the method and the error that the data tables show.</footer>\n\
         <div id=\"told\" role=\"status\" hidden></div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        name = escaped(title),
        charts = sottovoce_chart::style(),
        heading = marked_up(title),
        letters = letters(&body),
        version = env!("CARGO_PKG_VERSION"),
    )
}

/// The outlines of the letters in all charts, which show nothing by themselves.
fn letters(body: &str) -> String {
    let glyphs = sottovoce_chart::glyphs(body);
    if glyphs.is_empty() {
        return String::new();
    }
    format!(
        "<svg class=\"letters\" aria-hidden=\"true\" width=\"0\" height=\"0\"><defs>\n{glyphs}</defs></svg>\n"
    )
}

/// The blocks; neighbours that belong together become one element.
fn body(document: &Document) -> String {
    let mut out = String::new();
    let mut figures = 0;
    let blocks = flattened(document);
    for together in blocks.chunk_by(|l, r| std::mem::discriminant(*l) == std::mem::discriminant(*r)) {
        match together[0] {
            Block::Fact(..) => out += &enclosed("dl", "", &joined(together, fact)),
            Block::Piece(..) => {
                out += &enclosed("pre", "", joined(together, piece_of).trim_matches('\n'));
            }
            _ => out += &joined(together, |block| element(block, &mut figures)),
        }
    }
    out
}

/// All blocks, with those that only a page shows in their places.
fn flattened(document: &Document) -> Vec<&Block> {
    let blocks = document.blocks().iter().flat_map(|block| match block {
        Block::Page(more) => flattened(more),
        block => vec![block],
    });
    blocks.collect()
}

fn joined(blocks: &[&Block], part: impl FnMut(&Block) -> String) -> String {
    blocks.iter().copied().map(part).collect()
}

fn fact(block: &Block) -> String {
    let Block::Fact(name, value) = block else { return String::new() };
    format!("<div><dt>{}</dt><dd>{}</dd></div>\n", marked_up(name), marked_up(value))
}

/// A block that is an element of its own.
fn element(block: &Block, figures: &mut usize) -> String {
    match block {
        Block::Heading(heading) => enclosed("h2", "", &marked_up(heading)),
        Block::Verbatim(text) => enclosed("pre", "", &piece(Emphasis::Plain, text)),
        Block::Paragraph { emphasis, indent, words, .. } => {
            let indent = if *indent > 0 { " indent" } else { "" };
            enclosed("p", &format!("{}{indent}", class(*emphasis)), &marked_up(&units_kept(words)))
        }
        Block::Table(table) => self::table(table),
        Block::Listing(listing) => self::listing(listing),
        Block::Outline(parts) => outline(parts),
        Block::Chart(chart) => {
            *figures += 1;
            figure::figure(chart, *figures)
        }
        Block::Title(_) | Block::Page(_) | Block::Fact(..) | Block::Piece(..) => String::new(),
    }
}

fn enclosed(tag: &str, class: &str, body: &str) -> String {
    let class = if class.trim().is_empty() { String::new() } else { format!(" class=\"{}\"", class.trim()) };
    if body.trim().is_empty() { String::new() } else { format!("<{tag}{class}>{body}</{tag}>\n") }
}

fn class(emphasis: Emphasis) -> &'static str {
    match emphasis {
        Emphasis::Plain | Emphasis::Series(_) => "",
        Emphasis::Strong => "strong",
        Emphasis::Faint => "explain",
        Emphasis::Warning => "warning",
    }
}

fn piece_of(block: &Block) -> String {
    let Block::Piece(emphasis, text) = block else { return String::new() };
    piece(*emphasis, text)
}

/// A piece of a line; line ends are kept, since `escaped` takes other control characters out.
fn piece(emphasis: Emphasis, text: &str) -> String {
    let text = text.split('\n').map(escaped).collect::<Vec<_>>().join("\n");
    match class(emphasis) {
        "" => text,
        class => format!("<span class=\"{class}\">{text}</span>"),
    }
}

/// Entries as a table; the words beneath each stand under its name.
fn listing(listing: &Listing) -> String {
    let shown = |column: &&Column| column.shown.on_page();
    let columns = || listing.columns.iter().filter(shown);
    let head: String =
        columns().map(|column| format!("<th scope=\"col\">{}</th>", marked_up(&column.name))).collect();
    let entry = |entry: &Entry| -> String {
        let notes: String = entry.notes.iter().filter(|note| note.0.on_page()).map(note).collect();
        let cells = listing.columns.iter().zip(&entry.cells).filter(|(column, _)| shown(column));
        let cell = |(i, (column, cell)): (usize, (&Column, &String))| match i {
            0 => format!("<th scope=\"row\">{}{notes}</th>", marked_up(cell.trim())),
            _ => data(&column.name, cell),
        };
        enclosed("tr", "", &cells.enumerate().map(cell).collect::<String>())
    };
    let body: String = listing.entries.iter().map(entry).collect();
    format!(
        "<div class=\"scroll\"><table class=\"cards listing\"><thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n"
    )
}

fn note((_, emphasis, words): &(super::Shown, Emphasis, String)) -> String {
    enclosed("p", class(*emphasis), &marked_up(words)).trim_end().to_owned()
}

/// Words in which a percent sign stays with its number.
fn units_kept(words: &str) -> String {
    words.replace(" %", "\u{a0}%")
}

/// Parts within parts as lists within lists.
fn outline(parts: &[(usize, String)]) -> String {
    let (mut out, mut depth) = (String::new(), 0);
    for (position, (level, words)) in parts.iter().enumerate() {
        match level.cmp(&depth) {
            std::cmp::Ordering::Greater => out += "<ul>",
            _ if position == 0 => {}
            _ => out += &format!("</li>{}", "</ul></li>".repeat(depth - level)),
        }
        out += &format!("<li>{}", marked_up(words));
        depth = *level;
    }
    enclosed("ul", "", &format!("{out}</li>{}", "</ul></li>".repeat(depth)))
}

/// A cell of a table, with the name of its column for a card.
fn data(name: &str, cell: &str) -> String {
    let class = match cell.chars().count() {
        0 => " class=\"empty\"",
        1..=LONG => "",
        _ => " class=\"long\"",
    };
    format!("<td data-name=\"{}\"{class}><span>{}</span></td>", unmarked(name), marked_up(cell))
}

/// An attribute cannot hold markup.
fn unmarked(name: &str) -> String {
    ["<sub>", "</sub>", "<sup>", "</sup>"].iter().fold(marked_up(name), |name, tag| name.replace(tag, ""))
}

/// A table, in a box of its own that scrolls if it must; on a phone each row becomes a card.
fn table(table: &Table) -> String {
    let head = |cells: &[String], class: &str| -> String {
        let cell = |(i, cell): (usize, &String)| {
            let name = if i == 0 && cell.is_empty() {
                "<td></td>".into()
            } else {
                format!("<th scope=\"col\">{}</th>", marked_up(cell))
            };
            if class.is_empty() { name } else { format!("<td>{}</td>", marked_up(cell)) }
        };
        let cells: String = cells.iter().enumerate().map(cell).collect();
        enclosed("tr", class, &cells)
    };
    let body: String = table.rows.iter().map(|(emphasis, cells)| row(table, *emphasis, cells)).collect();
    format!(
        "<div class=\"scroll\"><table class=\"cards\"><thead>{}{}</thead>\n<tbody>\n{body}</tbody></table></div>\n",
        head(&table.header, ""),
        head(&table.meaning, "explain")
    )
}

fn row(table: &Table, emphasis: Emphasis, cells: &[String]) -> String {
    let name = |i: usize| table.header.get(i).map_or("", String::as_str);
    let cell = |(i, cell): (usize, &String)| match i {
        // On a card a number needs to be told what it is a number of.
        0 if cell.trim().parse::<f64>().is_ok() && !name(0).is_empty() => {
            format!("<th scope=\"row\" data-name=\"{}\">{}</th>", unmarked(name(0)), marked_up(cell.trim()))
        }
        0 => {
            let class = if cell.chars().count() > LONG_NAME { " class=\"long\"" } else { "" };
            format!("<th scope=\"row\"{class}>{}</th>", marked_up(cell.trim()))
        }
        _ => data(name(i), cell),
    };
    let cells: String = cells.iter().enumerate().map(cell).collect();
    enclosed("tr", class(emphasis), &cells)
}
