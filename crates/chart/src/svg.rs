//! Scenes as SVG.
//!
//! Shapes have their light colours as attributes, and a class by which the style sheet replaces them on dark screens, but not in print. A data point is an
//! invisible circle with a title, which browsers show under the pointer. Text is drawn as outlines, so that it is as wide as measured on every machine; the
//! same text is in `data-words`, in the alternative text of the picture and in the table below a chart.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::chart::Chart;
use crate::lettering::{Level, Run, is_outlined, letters, path, placed, runs, width};
use crate::markup::Element;
use crate::palette::Colour;
use crate::scene::{Anchor, Scene, Shape};

/// For letters that the built-in font does not have.
const FONT: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

/// A picture as a file.
pub(crate) fn file(chart: &Chart, scene: &Scene) -> String {
    let shapes: Vec<Element> = shapes(scene).collect();
    let outlines = outlines(shapes.iter().map(Element::markup));
    let (w, h) = (short(scene.width), short(scene.height));
    let paper =
        Element::new("rect").attribute("class", "paper").attribute("width", &w).attribute("height", &h);
    let head = [
        Element::new("title").text(&chart.title),
        Element::new("desc").text(&chart.caption),
        Element::new("style").text(&style()),
        paper.attribute("fill", Colour::Paper.light()),
        Element::new("defs").lines(outlines),
    ];
    let svg = Element::new("svg").attribute("xmlns", "http://www.w3.org/2000/svg").attribute("role", "img");
    sized(svg, scene).lines(head.into_iter().chain(shapes)).markup() + "\n"
}

/// A picture in an HTML page.
pub(crate) fn inline(chart: &Chart, scene: &Scene) -> String {
    let alternative = format!("{}. {} {}", chart.title, chart.subtitle, chart.caption);
    let svg = Element::new("svg").attribute("class", "chart").attribute("role", "img");
    let svg = sized(svg.attribute("aria-label", alternative.trim()), scene);
    svg.lines(shapes(scene)).markup() + "\n"
}

fn sized(svg: Element, scene: &Scene) -> Element {
    let (w, h) = (short(scene.width), short(scene.height));
    let view = format!("0 0 {w} {h}");
    svg.attribute("width", w).attribute("height", h).attribute("viewBox", view).attribute("font-family", FONT)
}

/// The style sheet that charts in a page need: their colours on dark screens.
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

fn shapes(scene: &Scene) -> impl Iterator<Item = Element> {
    scene.shapes.iter().flat_map(elements)
}

/// The elements of a shape, from the bottom to the top.
fn elements(shape: &Shape) -> Vec<Element> {
    match shape {
        Shape::Line { places, colour, width, dashes } => vec![line(places, *colour, *width, *dashes)],
        Shape::Area { places, colour, opacity } => vec![area(places, *colour, *opacity)],
        Shape::Disc { x, y, radius, colour, ring } => vec![disc((*x, *y), *radius, *colour, *ring)],
        Shape::Text { .. } => text(shape),
        Shape::Target { x, y, colour, note } => vec![target((*x, *y), *colour, note)],
    }
}

fn line(places: &[(f64, f64)], colour: Colour, width: f64, dashes: Option<(f64, f64)>) -> Element {
    Element::new("polyline")
        .attribute("class", format!("{}-line", colour.class()))
        .attribute("points", points(places))
        .attribute("fill", "none")
        .attribute("stroke", colour.light())
        .attribute("stroke-width", width)
        .attribute("stroke-linejoin", "round")
        .attribute("stroke-linecap", "round")
        .optional("stroke-dasharray", dashes.map(|(on, off)| format!("{on} {off}")))
}

fn area(places: &[(f64, f64)], colour: Colour, opacity: f64) -> Element {
    Element::new("polygon")
        .attribute("class", colour.class())
        .attribute("points", points(places))
        .attribute("fill", colour.light())
        .optional("opacity", (opacity < 1.0).then_some(opacity))
}

fn circle((x, y): (f64, f64), radius: f64) -> Element {
    Element::new("circle").attribute("cx", short(x)).attribute("cy", short(y)).attribute("r", radius)
}

/// A disc, or a ring of that thickness.
fn disc(place: (f64, f64), radius: f64, colour: Colour, ring: Option<f64>) -> Element {
    let circle = circle(place, radius);
    match ring {
        Some(width) => circle
            .attribute("class", format!("{}-line", colour.class()))
            .attribute("fill", "none")
            .attribute("stroke", colour.light())
            .attribute("stroke-width", width),
        None => circle.attribute("class", colour.class()).attribute("fill", colour.light()),
    }
}

/// An invisible circle with a title, which appears when a reader points at it.
fn target((x, y): (f64, f64), colour: Colour, note: &str) -> Element {
    Element::new("circle")
        .attribute("class", format!("point {}-point", colour.class()))
        .attribute("cx", short(x))
        .attribute("cy", short(y))
        .attribute("r", 6)
        .attribute("fill", "none")
        .attribute("stroke", "none")
        .attribute("color", colour.light())
        .attribute("pointer-events", "all")
        .child(Element::new("title").text(note))
}

/// Text as outlines, or in the reader's font where the built-in font does not have all its letters.
fn text(shape: &Shape) -> Vec<Element> {
    let Shape::Text { x, y, text, size, bold, colour, anchor, halo } = shape else { return vec![] };
    if !is_outlined(text, *bold) {
        return written(shape);
    }
    let start = anchor.start(*x, width(text, *size, *bold));
    let runs = placed(text, *size, *bold, (start, *y));
    let drawn =
        |stroke: Option<f64>| runs.iter().map(move |run| run_of(run, *bold, stroke)).collect::<Vec<_>>();
    let under = halo_paint(Element::new("g").attribute("class", "halo")).children(drawn(Some(HALO)));
    let words = Element::new("g")
        .attribute("class", format!("words {}", colour.class()))
        .attribute("data-words", text)
        .attribute("font-size", size)
        .attribute("fill", colour.light())
        .children(drawn(None));
    halo.then_some(under).into_iter().chain([words]).collect()
}

/// How far the background shows around words, on both sides together.
const HALO: f64 = 4.0;

fn halo_paint(element: Element) -> Element {
    element
        .attribute("aria-hidden", "true")
        .attribute("fill", "none")
        .attribute("stroke", Colour::Paper.light())
        .attribute("stroke-linejoin", "round")
}

/// The letters of a run, in units of the font, whose y axis points up. Each letter refers to its outline ([`glyphs`]).
fn run_of(run: &Run, bold: bool, stroke: Option<f64>) -> Element {
    let (letters, unit) = letters(run, bold);
    let letter = |(c, at): (char, u32)| {
        Element::new("use").attribute("href", format!("#{}", glyph_name(c, bold))).attribute("x", at)
    };
    let place = format!("translate({} {}) scale({unit:.7} -{unit:.7})", short(run.x), short(run.y));
    Element::new("g")
        .attribute("transform", place)
        .optional("stroke-width", stroke.map(|width| format!("{:.0}", width / unit)))
        .children(letters.into_iter().map(letter))
}

/// The name of the outline of a letter: `r` or `b` for regular or bold, and the letter's code point.
fn glyph_name(c: char, bold: bool) -> String {
    format!("{}{:x}", if bold { 'b' } else { 'r' }, u32::from(c))
}

/// The outlines of all letters that the pictures in this markup refer to, each once.
pub fn glyphs(markup: &str) -> String {
    outlines([markup]).into_iter().map(|outline| outline.markup() + "\n").collect()
}

fn outlines(markup: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<Element> {
    let mut names: BTreeSet<String> = BTreeSet::new();
    for markup in markup {
        let references = markup.as_ref().split("<use href=\"#").skip(1);
        names.extend(references.filter_map(|rest| rest.split('"').next()).map(str::to_owned));
    }
    let outline = |name: String| {
        let (weight, number) = name.split_at_checked(1)?;
        let c = char::from_u32(u32::from_str_radix(number, 16).ok()?)?;
        let path = path(c, weight == "b")?;
        Some(Element::new("path").attribute("id", name).attribute("d", path))
    };
    names.into_iter().filter_map(outline).collect()
}

/// Text in the reader's font, stretched or compressed to the width that was measured.
fn written(shape: &Shape) -> Vec<Element> {
    let Shape::Text { x, y, text, size, bold, colour, anchor, halo } = shape else { return vec![] };
    let room = width(text, *size, *bold);
    let element = |class: &str| {
        let element = Element::new("text").attribute("class", class);
        let element = placed_text(element, (anchor, *x, *y), *size, room);
        element.optional("font-weight", bold.then_some("700"))
    };
    let under = halo_paint(element("halo")).attribute("stroke-width", HALO);
    let words = element(&colour.class()).attribute("fill", colour.light());
    let filled = |element: Element| pieces(element, text, *size);
    halo.then_some(under).into_iter().chain([words]).map(filled).collect()
}

fn placed_text(element: Element, (anchor, x, y): (&Anchor, f64, f64), size: f64, room: f64) -> Element {
    element
        .attribute("x", short(anchor.start(x, room)))
        .attribute("y", short(y))
        .attribute("font-size", size)
        .attribute("textLength", short(room))
        .attribute("lengthAdjust", "spacingAndGlyphs")
}

/// Adds text; a subscript or superscript shifts the baseline, and the next piece shifts it back.
fn pieces(mut element: Element, text: &str, size: f64) -> Element {
    let mut shifted = 0.0;
    for (piece, level) in runs(text) {
        let (scale, down) = level.shape();
        let shift = down * size - shifted;
        shifted = down * size;
        element = if level == Level::Base && shift == 0.0 {
            element.text(&piece)
        } else {
            let piece = Element::new("tspan").attribute("dy", short(shift)).text(&piece);
            element.child(piece.attribute("font-size", short(scale * size)))
        };
    }
    element
}

fn points(places: &[(f64, f64)]) -> String {
    places.iter().map(|(x, y)| format!("{},{}", short(*x), short(*y))).collect::<Vec<_>>().join(" ")
}

/// A coordinate, to a hundredth.
fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
