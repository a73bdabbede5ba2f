//! Layout: turns a chart into a scene of headings, axes, lines and marks. Charts of rows are in [`rows`].

use crate::chart::{Annotation, Axis, Chart, Form, Point, Series};
use crate::label::{Crowd, Label};
use crate::lettering;
use crate::palette::Colour;
use crate::rows;
use crate::scale::{Ruler, number, range};
use crate::scene::{Anchor, Scene, Shape, Size, Style};

/// Space around everything.
pub(crate) const EDGE: f64 = 14.0;

/// Size of tick and series labels.
pub(crate) const SMALL: f64 = 12.5;

/// Most lines of a title, and of a subtitle.
const LINES: usize = 9;

/// Most lines of a name in a legend.
const NAME_LINES: usize = 3;

/// Distance between the lines of a legend.
const STEP: f64 = 18.0;

/// Least height of the plot. A picture with a long legend becomes higher than requested.
const LEAST_HEIGHT: f64 = 140.0;

/// Largest distance between a label in the margin and the end of its line.
const LARGEST_SHIFT: f64 = 15.0;

/// Least distance between the ends of two lines that are labelled in the margin.
const LEAST_DISTANCE_OF_ENDS: f64 = 2.5;

/// The rectangle in which the data are drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl Chart {
    pub(crate) fn scene(&self, size: Size) -> Scene {
        if self.has_rows() {
            return rows::scene(self, size.width);
        }
        // Labels beside the lines if there is room for all of them, else a legend.
        plane(self, size, false).unwrap_or_else(|| plane(self, size, true).unwrap_or_default())
    }

    /// The colour of a series, by its index.
    pub(crate) fn colour(&self, position: usize) -> Colour {
        let series = &self.series[position];
        let before = self.series[..position].iter().filter(|s| !s.reference).count();
        if series.reference { Colour::Faint } else { Colour::Series(series.colour.unwrap_or(before)) }
    }
}

/// Draws title and subtitle, and returns the y coordinate below them.
pub(crate) fn heading(scene: &mut Scene, chart: &Chart) -> f64 {
    let most = scene.width - 2.0 * EDGE;
    let mut y = EDGE;
    for line in lettering::wrapped(&chart.title, 16.0, true, most, LINES) {
        y += 19.0;
        scene.text((EDGE, y - 4.0), &line, Style::new(16.0, Colour::Ink).bold());
    }
    for line in lettering::wrapped(&chart.subtitle, SMALL, false, most, LINES) {
        y += 17.0;
        scene.text((EDGE, y - 3.0), &line, Style::new(SMALL, Colour::Faint));
    }
    y + 4.0
}

/// Draws a sign and a name for each series, and returns the y coordinate below them. Names that are wider than the picture are wrapped.
pub(crate) fn legend(scene: &mut Scene, chart: &Chart, top: f64) -> f64 {
    let right = scene.width - EDGE;
    let (mut x, mut y) = (EDGE, top + 14.0);
    for (position, series) in chart.series.iter().enumerate() {
        let lines = lettering::wrapped(&series.name, SMALL, false, right - EDGE - 20.0, NAME_LINES);
        let width = 20.0 + lines.iter().map(|line| lettering::width(line, SMALL, false)).fold(0.0, f64::max);
        if x > EDGE && (x + width > right || lines.len() > 1) {
            (x, y) = (EDGE, y + STEP);
        }
        chip(scene, chart, position, (x, y - 4.0));
        for (row, line) in lines.iter().enumerate() {
            scene.text((x + 20.0, y + STEP * row as f64), line, Style::new(SMALL, Colour::Ink));
        }
        y += STEP * lines.len().saturating_sub(1) as f64;
        // No other name fits beside a wrapped one.
        x = if lines.len() > 1 { right } else { x + width + 18.0 };
    }
    y + 8.0
}

fn chip(scene: &mut Scene, chart: &Chart, position: usize, (x, y): (f64, f64)) {
    let (series, colour) = (&chart.series[position], chart.colour(position));
    match series.form {
        Form::Line => {
            let dashes = series.reference.then_some((4.0, 3.0));
            scene.add(Shape::Line { places: vec![(x, y), (x + 14.0, y)], colour, width: 2.4, dashes });
        }
        Form::Marks if series.reference && series.points.iter().any(|p| p.interval.is_some()) => {
            scene.line(vec![(x, y), (x + 14.0, y)], colour, 1.4);
        }
        Form::Marks if series.reference => {
            scene.line(vec![(x + 7.0, y - 7.0), (x + 7.0, y + 7.0)], Colour::Ink, 2.0);
        }
        Form::Marks => scene.add(Shape::Disc { x: x + 7.0, y, radius: 4.0, colour, ring: None }),
        Form::Bars | Form::Stacked => scene.rectangle((x + 1.0, y - 6.0), (12.0, 12.0), colour),
    }
}

/// The scene of a chart with two numeric axes. None if a series has no room for its label and there is no legend.
fn plane(chart: &Chart, size: Size, with_legend: bool) -> Option<Scene> {
    let mut scene = Scene { width: size.width, height: size.height, shapes: vec![] };
    let below = heading(&mut scene, chart);
    let below = if with_legend { legend(&mut scene, chart, below) } else { below };
    let (x_range, y_range) = (axis_range(&chart.x, chart, |p| p.x), axis_range(&chart.y, chart, |p| p.y));
    scene.height = size.height.max(below + 30.0 + LEAST_HEIGHT + 46.0);
    let (top, bottom) = (below + 30.0, scene.height - 46.0);
    let y = Ruler::new(chart.y.scale, y_range, (bottom, top));
    let y_ticks = y.ticks(38.0);
    let tick_width = y_ticks.iter().map(|t| lettering::width(&number(*t), SMALL, false)).fold(0.0, f64::max);
    let left = EDGE + tick_width + 8.0;
    let ends = if with_legend { None } else { ends_in_margin(chart, x_range, &y, size.width) };
    let margin = ends.as_ref().map_or(0.0, |ends| ends.iter().map(|e| e.width + 10.0).fold(0.0, f64::max));
    let frame = Frame { left, right: size.width - EDGE - margin.max(4.0), top, bottom };
    let x = Ruler::new(chart.x.scale, x_range, (frame.left, frame.right));
    axes(&mut scene, chart, &frame, (&x, &y), &y_ticks);
    let mut crowd = Crowd::new(frame);
    for (position, series) in chart.series.iter().enumerate() {
        draw(&mut scene, chart.colour(position), series, (&x, &y));
        crowd.add_series(position, &places(series, &x, &y), series.form == Form::Line);
    }
    annotations(&mut scene, chart, &mut crowd, (&x, &y));
    if let Some(ends) = ends {
        name_ends(&mut scene, chart, &frame, &ends);
    } else if !with_legend {
        name_beside(&mut scene, chart, &mut crowd)?;
    }
    targets(&mut scene, chart, (&x, &y));
    Some(scene)
}

fn axis_range(axis: &Axis, chart: &Chart, of: fn(&Point) -> f64) -> (f64, f64) {
    let points = chart.series.iter().flat_map(|s| &s.points);
    axis.range.unwrap_or_else(|| range(axis.scale, points.map(of)))
}

fn axes(scene: &mut Scene, chart: &Chart, frame: &Frame, (x, y): (&Ruler, &Ruler), y_ticks: &[f64]) {
    let Frame { left, right, top, bottom } = *frame;
    for tick in y_ticks {
        let place = y.place(*tick);
        scene.line(vec![(left, place), (right, place)], Colour::Grid, 1.0);
        let style = Style::new(SMALL, Colour::Faint).at(Anchor::End);
        scene.text((left - 8.0, place + 4.5), &number(*tick), style);
    }
    scene.line(vec![(left, bottom), (right, bottom)], Colour::Faint, 1.0);
    let widest = x.ticks(1e9).iter().chain(&[x.low, x.high]).map(|t| number(*t).chars().count()).max();
    let gap = (9.0 * widest.unwrap_or(4).min(7) as f64).max(42.0);
    for tick in x.ticks(gap) {
        let place = x.place(tick);
        scene.line(vec![(place, bottom), (place, bottom + 5.0)], Colour::Faint, 1.0);
        let style = Style::new(SMALL, Colour::Faint).at(Anchor::Middle);
        scene.text((place, bottom + 18.0), &number(tick), style);
    }
    let label = lettering::clipped(&chart.y.label, SMALL, false, scene.width - 2.0 * EDGE);
    scene.text((EDGE, top - 14.0), &label, Style::new(SMALL, Colour::Ink));
    name_below(scene, &chart.x.label, (right, bottom + 37.0));
}

/// The label of the horizontal axis. It is right-aligned with the axis, or with the picture if it is longer than the axis.
pub(crate) fn name_below(scene: &mut Scene, name: &str, (end, y): (f64, f64)) {
    let fits = lettering::width(name, SMALL, false) <= end - EDGE;
    let end = if fits { end } else { scene.width - EDGE };
    let name = lettering::clipped(name, SMALL, false, end - EDGE);
    scene.text((end, y), &name, Style::new(SMALL, Colour::Ink).at(Anchor::End));
}

/// The positions of the points; NaN for points outside the ranges of the axes, which leave a gap.
fn places(series: &Series, x: &Ruler, y: &Ruler) -> Vec<(f64, f64)> {
    let place = |p: &Point| {
        if x.covers(p.x) && y.covers(p.y) { (x.place(p.x), y.place(p.y)) } else { (f64::NAN, f64::NAN) }
    };
    series.points.iter().map(place).collect()
}

fn draw(scene: &mut Scene, colour: Colour, series: &Series, (x, y): (&Ruler, &Ruler)) {
    let places = places(series, x, y);
    if series.form == Form::Line {
        band(scene, colour, series, (x, y));
        let (width, dashes) = if series.reference { (1.6, Some((5.0, 4.0))) } else { (2.4, None) };
        for piece in places.split(|p| p.0.is_nan()).filter(|piece| piece.len() > 1) {
            scene.add(Shape::Line { places: piece.to_vec(), colour, width, dashes });
        }
        return;
    }
    for (point, (px, py)) in series.points.iter().zip(places).filter(|(_, place)| !place.0.is_nan()) {
        if let Some((low, high)) = point.interval {
            let ends = vec![(px, y.place(low.max(y.low))), (px, y.place(high.min(y.high)))];
            scene.line(ends, colour, 1.6);
        }
        scene.add(Shape::Disc { x: px, y: py, radius: 4.0, colour, ring: None });
    }
}

/// The intervals of a line as a band, if it would be at least one unit wide somewhere.
fn band(scene: &mut Scene, colour: Colour, series: &Series, (x, y): (&Ruler, &Ruler)) {
    let inside: Vec<(f64, f64, f64)> = series
        .points
        .iter()
        .filter(|p| x.covers(p.x))
        .filter_map(|p| {
            p.interval.map(|(low, high)| (x.place(p.x), y.place(low.max(y.low)), y.place(high.min(y.high))))
        })
        .collect();
    if inside.len() < 2 || inside.iter().all(|(_, low, high)| low - high < 1.0) {
        return;
    }
    let there = inside.iter().map(|(x, low, _)| (*x, *low));
    let back = inside.iter().rev().map(|(x, _, high)| (*x, *high));
    scene.add(Shape::Area { places: there.chain(back).collect(), colour, opacity: 0.18 });
}

/// The label of a line in the right margin.
struct End {
    position: usize,
    width: f64,
    line: f64,
    place: f64,
}

/// The labels in the right margin, if every line ends there and the ends are far enough apart.
fn ends_in_margin(chart: &Chart, (low, high): (f64, f64), y: &Ruler, width: f64) -> Option<Vec<End>> {
    let mut ends = Vec::new();
    for (position, series) in chart.series.iter().enumerate() {
        let last = series.points.iter().filter(|p| y.covers(p.y)).max_by(|l, r| l.x.total_cmp(&r.x))?;
        if series.form != Form::Line || last.x < high - 0.02 * (high - low) {
            return None;
        }
        let place = y.place(last.y);
        ends.push(End { position, width: lettering::width(&series.name, SMALL, true), line: place, place });
    }
    ends.sort_by(|l, r| l.line.total_cmp(&r.line));
    spread(&mut ends);
    let apart = ends.windows(2).all(|w| w[1].line - w[0].line >= LEAST_DISTANCE_OF_ENDS);
    let fits =
        apart && ends.iter().all(|e| (e.place - e.line).abs() <= LARGEST_SHIFT && e.width < 0.3 * width);
    (fits && !ends.is_empty()).then_some(ends)
}

/// Moves labels apart until they do not overlap.
fn spread(ends: &mut [End]) {
    const APART: f64 = 16.0;
    for _ in 0..200 {
        let mut still = true;
        for i in 1..ends.len() {
            let missing = APART - (ends[i].place - ends[i - 1].place);
            if missing > 0.01 {
                ends[i - 1].place -= missing / 2.0;
                ends[i].place += missing / 2.0;
                still = false;
            }
        }
        if still {
            return;
        }
    }
}

fn name_ends(scene: &mut Scene, chart: &Chart, frame: &Frame, ends: &[End]) {
    for end in ends {
        let style = Style::new(SMALL, chart.colour(end.position)).bold();
        scene.text((frame.right + 7.0, end.place + 4.5), &chart.series[end.position].name, style);
    }
}

/// Labels beside their lines; none if there is no room for one of them.
fn name_beside(scene: &mut Scene, chart: &Chart, crowd: &mut Crowd) -> Option<()> {
    for (position, series) in chart.series.iter().enumerate() {
        let label = Label { text: &series.name, size: SMALL, bold: true };
        let place = crowd.beside(position, &label)?;
        scene.text(place, &series.name, Style::new(SMALL, chart.colour(position)).bold().with_halo());
    }
    Some(())
}

fn annotations(scene: &mut Scene, chart: &Chart, crowd: &mut Crowd, (x, y): (&Ruler, &Ruler)) {
    // Vertical lines first, so that labels do not cross them.
    let (upright, rest): (Vec<_>, Vec<_>) =
        chart.annotations.iter().partition(|a| matches!(a, Annotation::Vertical { .. }));
    for annotation in upright.into_iter().chain(rest) {
        match annotation {
            Annotation::Vertical { x: at, label } if x.covers(*at) => {
                vertical(scene, crowd, x.place(*at), label);
            }
            Annotation::Mark { x: at, y: height, label } if x.covers(*at) && y.covers(*height) => {
                mark(scene, crowd, (x.place(*at), y.place(*height)), label);
            }
            _ => {}
        }
    }
}

fn vertical(scene: &mut Scene, crowd: &mut Crowd, x: f64, words: &str) {
    let Frame { top, bottom, .. } = crowd.frame;
    let places = vec![(x, top), (x, bottom)];
    scene.add(Shape::Line { places, colour: Colour::Faint, width: 1.2, dashes: Some((3.0, 3.0)) });
    crowd.add_series(usize::MAX, &[(x, top), (x, bottom)], true);
    let label = Label { text: words, size: SMALL, bold: false };
    if let Some(place) = crowd.along(x, &label) {
        scene.text(place, words, Style::new(SMALL, Colour::Ink).with_halo());
    }
}

fn mark(scene: &mut Scene, crowd: &mut Crowd, (x, y): (f64, f64), words: &str) {
    scene.add(Shape::Disc { x, y, radius: 5.0, colour: Colour::Ink, ring: Some(1.5) });
    let label = Label { text: words, size: SMALL, bold: false };
    if let Some((place, near)) = crowd.around((x, y), &label) {
        scene.line(vec![(x, y), near], Colour::Faint, 0.9);
        // Draw the ring again, over the line to the label.
        scene.add(Shape::Disc { x, y, radius: 4.2, colour: Colour::Paper, ring: None });
        scene.add(Shape::Disc { x, y, radius: 5.0, colour: Colour::Ink, ring: Some(1.5) });
        scene.text(place, words, Style::new(SMALL, Colour::Ink).with_halo());
    }
}

fn targets(scene: &mut Scene, chart: &Chart, (x, y): (&Ruler, &Ruler)) {
    for (position, series) in chart.series.iter().enumerate() {
        let colour = chart.colour(position);
        for (point, (px, py)) in series.points.iter().zip(places(series, x, y)) {
            if !px.is_nan() {
                scene.add(Shape::Target { x: px, y: py, colour, note: chart.note(series, point) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::Scale;

    const LONG: &str =
        "subset, a = 16, k = 4, epsilon = 0.123456789, and more words than fit in a line of a phone";
    const WORD: &str =
        "Rindfleischetikettierungsueberwachungsaufgabenuebertragungsgesetzesentwurfsvorlagenverzeichnis";

    fn lines(names: &[String]) -> Chart {
        let axis = || Axis::new(format!("{LONG} {WORD}"), Scale::Linear);
        let chart = Chart::new(format!("{LONG} {WORD}"), axis(), axis()).under(format!("{WORD} {LONG}"));
        // All lines end at the same point, so that there is no room for labels beside them.
        let curve = |name: &String| Series::line(name.clone(), [(0.0, 0.0), (1.0, 1.0)]);
        names.iter().fold(chart, |chart, name| chart.with(curve(name)))
    }

    fn bars(names: &[String]) -> Chart {
        let axis = Axis::new(format!("{LONG} {WORD}"), Scale::Linear);
        let chart = Chart::new(WORD, axis, Axis::rows([LONG, WORD]));
        let points = || (0..2).map(|row| Point { x: 1.0, y: f64::from(row), ..Point::default() }).collect();
        names.iter().fold(chart, |chart, name| chart.with(Series::new(name.clone(), Form::Bars, points())))
    }

    /// However long texts are, they stay within the picture.
    #[test]
    fn words_stay_within_the_picture() {
        let few = [LONG.to_owned(), WORD.to_owned()];
        let many: Vec<String> = (0..12).map(|k| format!("{k} {LONG}")).collect();
        for chart in [lines(&few), lines(&many), bars(&few), bars(&many)] {
            for size in [Size::WIDE, Size::NARROW] {
                let scene = chart.scene(size);
                for shape in &scene.shapes {
                    let Shape::Text { x, y, text, size, bold, anchor, .. } = shape else { continue };
                    let width = lettering::width(text, *size, *bold);
                    let start = anchor.start(*x, width);
                    assert!(
                        start >= 0.0 && start + width <= scene.width,
                        "{text} from {start}, {width} wide"
                    );
                    assert!(*y > 0.0 && *y < scene.height, "{text} at {y}");
                }
            }
        }
    }
}
