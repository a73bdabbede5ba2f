//! Charts of rows: horizontal bars, stacked bars and intervals, one row for each category.

use crate::chart::{Chart, Form, Point, Series};
use crate::layout::{EDGE, SMALL, heading, legend, name_below};
use crate::lettering;
use crate::palette::Colour;
use crate::scale::{Ruler, number, range};
use crate::scene::{Anchor, Scene, Shape, Style};

/// Height of a row.
const ROW: f64 = 34.0;

/// Height of a row in a chart with many rows.
const DENSE: f64 = 22.0;

/// Least height for the marks of one series in a row, and least distance between rows.
const MARK: f64 = 8.0;
const GAP: f64 = 10.0;

/// Distance between the lines of a long label, and the largest number of its lines.
const LINE: f64 = 15.0;
const MOST_LINES: usize = 5;

/// Largest thickness of a bar.
const BAR: f64 = 20.0;

/// Largest distance between the marks of two series in a row.
const MARKS_APART: f64 = 11.0;

pub(crate) fn scene(chart: &Chart, width: f64) -> Scene {
    let mut scene = Scene { width, height: 0.0, shapes: vec![] };
    let rows = chart.y.categories.len();
    let marks = chart.series.iter().filter(|s| is_mark(s)).count() as f64;
    let name = |name: &String| lettering::width(name, SMALL, false);
    let names = chart.y.categories.iter().map(name).fold(0.0, f64::max).min(0.36 * width);
    let labels: Vec<Vec<String>> = chart
        .y
        .categories
        .iter()
        .map(|name| lettering::wrapped(name, SMALL, false, names, MOST_LINES))
        .collect();
    let lines = labels.iter().map(Vec::len).max().unwrap_or(0) as f64;
    let height = if rows > 12 { DENSE } else { ROW }.max(MARK * marks + GAP).max(LINE * lines + GAP);
    let below = heading(&mut scene, chart);
    let top = if chart.series.len() > 1 { legend(&mut scene, chart, below) } else { below } + 8.0;
    let bottom = top + height * rows as f64;
    scene.height = bottom + 46.0;
    let values = chart.series.iter().flat_map(|s| &s.points).filter_map(|p| p.label.as_ref());
    let beside = if is_stacked(chart) { 0.0 } else { values.map(name).fold(0.0, f64::max) };
    let (left, right) = (EDGE + names + 10.0, width - EDGE - beside.max(6.0) - 6.0);
    let x = Ruler::new(chart.x.scale, values_range(chart), (left, right));
    grid(&mut scene, chart, &x, (top, bottom));
    for (row, label) in labels.iter().enumerate() {
        let middle = top + height * (row as f64 + 0.5);
        let first = middle + 4.5 - LINE * (label.len() as f64 - 1.0) / 2.0;
        for (i, line) in label.iter().enumerate() {
            let place = (left - 10.0, first + LINE * i as f64);
            scene.text(place, line, Style::new(SMALL, Colour::Ink).at(Anchor::End));
        }
        draw(&mut scene, chart, row, &x, (middle, height));
    }
    scene
}

fn is_stacked(chart: &Chart) -> bool {
    chart.series.iter().any(|s| s.form == Form::Stacked)
}

/// The points of a series in a row.
pub(crate) fn in_row(points: &[Point], row: usize) -> impl Iterator<Item = &Point> {
    points.iter().filter(move |p| p.y == row as f64 && p.x.is_finite())
}

/// The range of the values: all points, ends of intervals and sums of stacked bars, and zero if there are bars.
pub(crate) fn values_range(chart: &Chart) -> (f64, f64) {
    if let Some(range) = chart.x.range {
        return range;
    }
    let bars = chart.series.iter().any(|s| matches!(s.form, Form::Bars | Form::Stacked));
    let points = chart.series.iter().flat_map(|s| &s.points);
    let ends = points.flat_map(|p| [p.x, p.interval.map_or(p.x, |i| i.0), p.interval.map_or(p.x, |i| i.1)]);
    let stacked = chart.series.iter().filter(|s| s.form == Form::Stacked);
    let stack = |row: usize| stacked.clone().flat_map(|s| in_row(&s.points, row)).map(|p| p.x).sum::<f64>();
    let stacks = (0..chart.y.categories.len()).map(stack);
    range(chart.x.scale, ends.chain(stacks).chain(bars.then_some(0.0)))
}

fn grid(scene: &mut Scene, chart: &Chart, x: &Ruler, (top, bottom): (f64, f64)) {
    for tick in x.ticks(58.0) {
        let place = x.place(tick);
        scene.line(vec![(place, top), (place, bottom)], Colour::Grid, 1.0);
        let style = Style::new(SMALL, Colour::Faint).at(Anchor::Middle);
        scene.text((place, bottom + 16.0), &number(tick), style);
    }
    name_below(scene, &chart.x.label, (x.place(x.high), bottom + 35.0));
}

fn draw(scene: &mut Scene, chart: &Chart, row: usize, x: &Ruler, (middle, height): (f64, f64)) {
    let bars = chart.series.iter().filter(|s| s.form == Form::Bars).count().max(1) as f64;
    let thick = (0.72 * height / bars).min(BAR);
    let marks = chart.series.iter().filter(|s| is_mark(s)).count().max(1) as f64;
    let apart = (0.76 * height / marks).min(MARKS_APART);
    let (mut bar, mut mark, mut stack) = (0.0, 0.0, 0.0);
    for (position, series) in chart.series.iter().enumerate() {
        let colour = chart.colour(position);
        for point in in_row(&series.points, row) {
            let note = chart.note(series, point);
            let y = middle + (bar + 0.5 - bars / 2.0) * thick;
            let place = match series.form {
                Form::Bars => {
                    draw_bar(scene, x, (0.0f64.max(x.low), point.x), (y, thick - 2.0), colour, point)
                }
                Form::Stacked => {
                    stack += point.x;
                    segment(
                        scene,
                        x,
                        (stack - point.x, stack),
                        (middle, BAR.min(0.72 * height)),
                        colour,
                        point,
                    )
                }
                Form::Line | Form::Marks if series.reference => reference(scene, x, middle, point),
                Form::Line | Form::Marks => {
                    let y = middle + (mark + 0.5 - marks / 2.0) * apart;
                    interval(scene, x, y, colour, point, (chart.series.len() > 1).then_some(middle))
                }
            };
            scene.add(Shape::Target { x: place.0, y: place.1, colour, note });
        }
        bar += f64::from(u8::from(series.form == Form::Bars));
        mark += f64::from(u8::from(is_mark(series)));
    }
}

/// Whether the series consists of marks that are not references.
pub(crate) fn is_mark(series: &Series) -> bool {
    matches!(series.form, Form::Line | Form::Marks) && !series.reference
}

/// Draws a bar with its label beside it, and returns the point that shows its note.
fn draw_bar(
    scene: &mut Scene,
    x: &Ruler,
    (from, to): (f64, f64),
    (y, thick): (f64, f64),
    colour: Colour,
    point: &Point,
) -> (f64, f64) {
    let (start, end) = (x.place(from), x.place(to));
    scene.rectangle((start.min(end), y - thick / 2.0), ((end - start).abs().max(1.0), thick), colour);
    if let Some((low, high)) = point.interval {
        error_bar(scene, x, (low, high), y, Colour::Ink);
    }
    let shown = point.interval.map_or(to, |i| i.1.max(to));
    if let Some(label) = &point.label {
        scene.text((x.place(shown) + 6.0, y + 4.5), label, Style::new(SMALL, Colour::Ink));
    }
    ((start + end) / 2.0, y)
}

/// Draws a part of a stacked bar, with its label inside if there is room.
fn segment(
    scene: &mut Scene,
    x: &Ruler,
    (from, to): (f64, f64),
    (y, thick): (f64, f64),
    colour: Colour,
    point: &Point,
) -> (f64, f64) {
    let (start, end) = (x.place(from), x.place(to));
    let gap = if end - start > 3.0 { 1.0 } else { 0.0 };
    scene.rectangle((start, y - thick / 2.0), ((end - start - gap).max(0.5), thick), colour);
    if let Some(label) = point.label.as_ref().filter(|l| lettering::width(l, 11.5, true) + 8.0 < end - start)
    {
        let style = Style::new(11.5, Colour::Paper).bold().at(Anchor::Middle);
        scene.text(((start + end - gap) / 2.0, y + 4.0), label, style);
    }
    ((start + end) / 2.0, y)
}

/// Draws a mark with its interval. The label is beside it or, if several series share the row, at the end of the row; `shared` is then the middle of the row.
fn interval(
    scene: &mut Scene,
    x: &Ruler,
    y: f64,
    colour: Colour,
    point: &Point,
    shared: Option<f64>,
) -> (f64, f64) {
    let place = x.place(point.x);
    if let Some((low, high)) = point.interval {
        let ends = vec![(x.place(low.max(x.low)), y), (x.place(high.min(x.high)), y)];
        scene.add(Shape::Line { places: ends, colour, width: 5.0, dashes: None });
    }
    scene.add(Shape::Disc { x: place, y, radius: 5.0, colour: Colour::Paper, ring: None });
    scene.add(Shape::Disc { x: place, y, radius: 4.0, colour, ring: None });
    if let Some(label) = &point.label {
        let beside = point.interval.map_or(place, |i| x.place(i.1.min(x.high)));
        let (end, y) = shared.map_or((beside, y), |middle| (x.place(x.high), middle));
        scene.text((end + 8.0, y + 4.5), label, Style::new(SMALL, Colour::Ink));
    }
    (place, y)
}

/// Draws a reference: a short vertical line, or a thin interval.
fn reference(scene: &mut Scene, x: &Ruler, y: f64, point: &Point) -> (f64, f64) {
    let place = x.place(point.x);
    match point.interval {
        Some(ends) => error_bar(scene, x, ends, y, Colour::Faint),
        None => scene.line(vec![(place, y - 8.0), (place, y + 8.0)], Colour::Ink, 2.0),
    }
    (place, y)
}

/// Draws a thin interval with caps, if it is at least two units long.
fn error_bar(scene: &mut Scene, x: &Ruler, (low, high): (f64, f64), y: f64, colour: Colour) {
    let (start, end) = (x.place(low.max(x.low)), x.place(high.min(x.high)));
    if end - start >= 2.0 {
        scene.line(vec![(start, y), (end, y)], colour, 1.4);
        for cap in [start, end] {
            scene.line(vec![(cap, y - 4.0), (cap, y + 4.0)], colour, 1.4);
        }
    }
}
