//! HTML: a document as one page that needs nothing else.
//!
//! Every report that has a text has a page, laid out from the same [`Document`]: facts become a list, tables stay tables (and cards on a phone), charts
//! become figures, each with its data in a table behind it. A page refers to nothing outside itself, and says so to the browser, which would refuse
//! (`Content-Security-Policy`). It follows light or dark surroundings, prints in black on white, and without a script lacks only the values under the
//! pointer and the switch of the axis.

mod figure;

use sottovoce_chart::{escaped, marked_up};

use super::document::{Block, Document, Emphasis, Table};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What tells a page of ours from other files, near its beginning.
const GENERATOR: &str =
    concat!("<meta name=\"generator\" content=\"sottovoce ", env!("CARGO_PKG_VERSION"), "\">");

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
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n{GENERATOR}\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{name} · sottovoce</title>\n<style>\n{STYLE}{charts}\n</style>\n</head>\n<body>\n<main>\n\
         <h1>{heading}</h1>\n{body}</main>\n<footer>sottovoce {version}. All information is in nats; every number carries the method and the error that the data tables show.</footer>\n\
         <div id=\"told\" role=\"status\" hidden></div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        name = escaped(title),
        charts = sottovoce_chart::style(),
        heading = marked_up(title),
        body = body(document),
        version = env!("CARGO_PKG_VERSION"),
    )
}

/// The blocks; neighbours that belong together become one element.
fn body(document: &Document) -> String {
    let mut out = String::new();
    let (mut facts, mut lines) = (String::new(), String::new());
    let mut figures = 0;
    for block in document.blocks() {
        if !matches!(block, Block::Fact(..)) {
            out += &enclosed("dl", "", &std::mem::take(&mut facts));
        }
        if !matches!(block, Block::Piece(..)) {
            out += &enclosed("pre", "", std::mem::take(&mut lines).trim_matches('\n'));
        }
        match block {
            Block::Title(_) => {}
            Block::Heading(heading) => out += &enclosed("h2", "", &marked_up(heading)),
            Block::Fact(name, value) => {
                facts += &format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(name), marked_up(value));
            }
            Block::Piece(emphasis, text) => lines += &piece(*emphasis, text),
            Block::Verbatim(text) => out += &enclosed("pre", "", &piece(Emphasis::Plain, text)),
            Block::Paragraph { emphasis, indent, words, .. } => {
                let indent = if *indent > 0 { " indent" } else { "" };
                let class = format!("{}{indent}", class(*emphasis));
                out += &enclosed("p", &class, &marked_up(words));
            }
            Block::Table(table) => out += &self::table(table),
            Block::Chart(chart) | Block::Picture(chart) => {
                figures += 1;
                out += &figure::figure(chart, figures);
            }
        }
    }
    out + &enclosed("dl", "", &facts) + &enclosed("pre", "", lines.trim_matches('\n'))
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

/// A piece of a line; line ends are kept, since `escaped` takes other control characters out.
fn piece(emphasis: Emphasis, text: &str) -> String {
    let text = text.split('\n').map(escaped).collect::<Vec<_>>().join("\n");
    match class(emphasis) {
        "" => text,
        class => format!("<span class=\"{class}\">{text}</span>"),
    }
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
    // An attribute cannot hold markup.
    let name = |i: usize| {
        let name = table.header.get(i).map(|h| marked_up(h)).unwrap_or_default();
        ["<sub>", "</sub>", "<sup>", "</sup>"].iter().fold(name, |name, tag| name.replace(tag, ""))
    };
    let cell = |(i, cell): (usize, &String)| match i {
        // On a card a number needs to be told what it is a number of.
        0 if cell.trim().parse::<f64>().is_ok() && !name(0).is_empty() => {
            format!("<th scope=\"row\" data-name=\"{}\">{}</th>", name(0), marked_up(cell.trim()))
        }
        0 => format!("<th scope=\"row\">{}</th>", marked_up(cell.trim())),
        _ => {
            let empty = if cell.is_empty() { " class=\"empty\"" } else { "" };
            format!("<td data-name=\"{}\"{empty}>{}</td>", name(i), marked_up(cell))
        }
    };
    let cells: String = cells.iter().enumerate().map(cell).collect();
    enclosed("tr", class(emphasis), &cells)
}
