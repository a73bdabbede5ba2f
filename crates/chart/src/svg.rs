//! Scenes as SVG.
//!
//! Shapes carry their light colours as attributes and a class; a style sheet replaces them on dark screens, and never in print. A place that
//! tells something is a circle with a title, which a browser shows by itself and our pages show better. Words are outlines, so that they are as wide as was
//! measured on every machine; what they say is in `data-words`, in the picture's alternative text and in the table behind a chart.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::chart::Chart;
use crate::lettering::{Level, Run, is_outlined, letters, path, placed, runs, width};
use crate::palette::Colour;
use crate::scene::{Scene, Shape};

/// For letters that have no outline here.
const FONT: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

/// A file of its own.
pub(crate) fn file(chart: &Chart, scene: &Scene) -> String {
    let head = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" font-family=\"{FONT}\">\n\
         <title>{}</title>\n<desc>{}</desc>\n<style>{}</style>\n\
         <rect class=\"paper\" width=\"{w}\" height=\"{h}\" fill=\"{}\"/>\n",
        escaped(&chart.title),
        escaped(&chart.caption),
        style(),
        Colour::Paper.light(),
        w = short(scene.width),
        h = short(scene.height),
    );
    let body = body(scene);
    format!("{head}<defs>\n{}</defs>\n{body}</svg>\n", glyphs(&body))
}

/// A part of an HTML page.
pub(crate) fn inline(chart: &Chart, scene: &Scene) -> String {
    let alternative = format!("{}. {} {}", chart.title, chart.subtitle, chart.caption);
    format!(
        "<svg class=\"chart\" role=\"img\" aria-label=\"{}\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" font-family=\"{FONT}\">\n{}</svg>\n",
        escaped(alternative.trim()),
        body(scene),
        w = short(scene.width),
        h = short(scene.height),
    )
}

/// The rules that charts need in a page: what changes on dark screens.
pub fn style() -> String {
    let mut rules = String::from("@media screen and (prefers-color-scheme:dark){");
    for colour in Colour::all() {
        let (class, dark) = (colour.class(), colour.dark());
        // Writing to a string does not fail.
        let _ = write!(
            rules,
            ".{class}{{fill:{dark}}}.{class}-line{{stroke:{dark}}}.{class}-point{{color:{dark}}}"
        );
    }
    rules + ".halo{stroke:" + Colour::Paper.dark() + "}}"
}

fn body(scene: &Scene) -> String {
    scene.shapes.iter().map(|shape| element(shape) + "\n").collect()
}

fn element(shape: &Shape) -> String {
    match shape {
        Shape::Line { places, colour, width, dashes } => {
            let dashes =
                dashes.map_or(String::new(), |(on, off)| format!(" stroke-dasharray=\"{on} {off}\""));
            format!(
                "<polyline class=\"{}-line\" points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\" stroke-linejoin=\"round\" stroke-linecap=\"round\"{dashes}/>",
                colour.class(),
                points(places),
                colour.light()
            )
        }
        Shape::Area { places, colour, opacity } => {
            let opacity = if *opacity < 1.0 { format!(" opacity=\"{opacity}\"") } else { String::new() };
            format!(
                "<polygon class=\"{}\" points=\"{}\" fill=\"{}\"{opacity}/>",
                colour.class(),
                points(places),
                colour.light()
            )
        }
        Shape::Disc { x, y, radius, colour, ring } => {
            let (class, light) = (colour.class(), colour.light());
            let paint = match ring {
                Some(width) => format!(
                    "class=\"{class}-line\" fill=\"none\" stroke=\"{light}\" stroke-width=\"{width}\""
                ),
                None => format!("class=\"{class}\" fill=\"{light}\""),
            };
            format!("<circle cx=\"{}\" cy=\"{}\" r=\"{radius}\" {paint}/>", short(*x), short(*y))
        }
        Shape::Text { .. } => text(shape),
        Shape::Target { x, y, colour, told } => format!(
            "<circle class=\"point {}-point\" cx=\"{}\" cy=\"{}\" r=\"6\" fill=\"none\" stroke=\"none\" color=\"{}\" pointer-events=\"all\"><title>{}</title></circle>",
            colour.class(),
            short(*x),
            short(*y),
            colour.light(),
            escaped(told)
        ),
    }
}

/// Words in outlines; what these do not do for is written in the reader's font.
fn text(shape: &Shape) -> String {
    let Shape::Text { x, y, text, size, bold, colour, anchor, halo } = shape else { return String::new() };
    if !is_outlined(text, *bold) {
        return written(shape);
    }
    let start = anchor.start(*x, width(text, *size, *bold));
    let runs = placed(text, *size, *bold, (start, *y));
    let drawn = |stroke: Option<f64>| runs.iter().map(|run| run_of(run, *bold, stroke)).collect::<String>();
    let under = if *halo {
        format!("<g class=\"halo\" {}>{}</g>", halo_paint(), drawn(Some(HALO)))
    } else {
        String::new()
    };
    format!(
        "{under}<g class=\"words {}\" data-words=\"{}\" font-size=\"{size}\" fill=\"{}\">{}</g>",
        colour.class(),
        escaped(text),
        colour.light(),
        drawn(None)
    )
}

/// How far the background shows around words, on both sides together.
const HALO: f64 = 4.0;

fn halo_paint() -> String {
    format!(
        "aria-hidden=\"true\" fill=\"none\" stroke=\"{}\" stroke-linejoin=\"round\"",
        Colour::Paper.light()
    )
}

/// The letters of a run in units of the font, which count upwards; each refers to its outline ([`glyphs`]).
fn run_of(run: &Run, bold: bool, stroke: Option<f64>) -> String {
    let (letters, unit) = letters(run, bold);
    let stroke = stroke.map_or(String::new(), |width| format!(" stroke-width=\"{:.0}\"", width / unit));
    let letter = |(c, at): &(char, u32)| format!("<use href=\"#{}\" x=\"{at}\"/>", glyph_name(*c, bold));
    format!(
        "<g transform=\"translate({} {}) scale({unit:.7} -{unit:.7})\"{stroke}>{}</g>",
        short(run.x),
        short(run.y),
        letters.iter().map(letter).collect::<String>()
    )
}

/// What the outline of a letter is called: `r` or `b` for regular or bold, and the number of the letter.
fn glyph_name(c: char, bold: bool) -> String {
    format!("{}{:x}", if bold { 'b' } else { 'r' }, u32::from(c))
}

/// The outlines of all letters that pictures in this markup refer to, each once.
pub fn glyphs(markup: &str) -> String {
    let names: BTreeSet<&str> =
        markup.split("<use href=\"#").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let outline = |name: &str| {
        let (weight, number) = name.split_at_checked(1)?;
        let c = char::from_u32(u32::from_str_radix(number, 16).ok()?)?;
        Some(format!("<path id=\"{name}\" d=\"{}\"/>\n", path(c, weight == "b")?))
    };
    names.into_iter().filter_map(outline).collect()
}

/// Words in the reader's font, stretched or pressed to the room that there is for them.
fn written(shape: &Shape) -> String {
    let Shape::Text { x, y, text, size, bold, colour, anchor, halo } = shape else { return String::new() };
    let room = width(text, *size, *bold);
    let start = anchor.start(*x, room);
    let weight = if *bold { " font-weight=\"700\"" } else { "" };
    let body = tspans(text, *size);
    let place = format!(
        "x=\"{}\" y=\"{}\" font-size=\"{size}\"{weight} textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"",
        short(start),
        short(*y),
        short(room)
    );
    let under = if *halo {
        format!("<text class=\"halo\" {place} {} stroke-width=\"{HALO}\">{body}</text>", halo_paint())
    } else {
        String::new()
    };
    format!("{under}<text class=\"{}\" {place} fill=\"{}\">{body}</text>", colour.class(), colour.light())
}

/// Pieces of text, of which each lower or higher one moves and moves back.
fn tspans(text: &str, size: f64) -> String {
    let (mut out, mut owed) = (String::new(), 0.0);
    for (piece, level) in runs(text) {
        let (scale, down) = level.shape();
        let shift = down * size - owed;
        owed = down * size;
        if level == Level::Base && shift == 0.0 {
            out += &escaped(&piece);
        } else {
            let _ = write!(
                out,
                "<tspan dy=\"{}\" font-size=\"{}\">{}</tspan>",
                short(shift),
                short(scale * size),
                escaped(&piece)
            );
        }
    }
    out
}

/// Text for HTML, with its subscripts and superscripts.
pub fn marked_up(text: &str) -> String {
    let piece = |(piece, level): (String, Level)| match level {
        Level::Base => escaped(&piece),
        Level::Sub => format!("<sub>{}</sub>", escaped(&piece)),
        Level::Super => format!("<sup>{}</sup>", escaped(&piece)),
    };
    runs(text).into_iter().map(piece).collect()
}

/// Text in which nothing is taken for markup, and no control character is left.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

fn points(places: &[(f64, f64)]) -> String {
    places.iter().map(|(x, y)| format!("{},{}", short(*x), short(*y))).collect::<Vec<_>>().join(" ")
}

/// A coordinate, to a hundredth.
fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_users_write_is_never_markup() {
        assert_eq!(escaped("<script>\"&'\u{7}"), "&lt;script&gt;&quot;&amp;&#39; ");
        assert_eq!(marked_up("S_mu < 1"), "S<sub>μ</sub> &lt; 1");
    }
}
