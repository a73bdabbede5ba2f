//! Scenes as SVG.
//!
//! Shapes carry their light colours as attributes and a class; a style sheet replaces them on dark screens, and never in print. A place that
//! tells something is a circle with a title, which a browser shows by itself and our pages show better.

use std::fmt::Write;

use crate::chart::Chart;
use crate::lettering::{Level, runs};
use crate::palette::Colour;
use crate::scene::{Anchor, Scene, Shape};

const FONT: &str = "Roboto, system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif";

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
    head + &body(scene) + "</svg>\n"
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

fn text(shape: &Shape) -> String {
    let Shape::Text { x, y, text, size, bold, colour, anchor, halo } = shape else { return String::new() };
    let anchor = match anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let weight = if *bold { " font-weight=\"700\"" } else { "" };
    let body = tspans(text, *size);
    let place = format!("x=\"{}\" y=\"{}\" font-size=\"{size}\"{anchor}{weight}", short(*x), short(*y));
    let under = if *halo {
        let paper = Colour::Paper.light();
        format!(
            "<text class=\"halo\" aria-hidden=\"true\" {place} fill=\"none\" stroke=\"{paper}\" stroke-width=\"4\" stroke-linejoin=\"round\">{body}</text>"
        )
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
