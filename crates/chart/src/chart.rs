//! What a chart says, independent of how it is drawn.

use crate::scale::{Scale, number};
use crate::scene::Size;

/// A chart: axes, series, annotations, and what they show in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What it is about, in a line.
    pub title: String,
    /// Under which circumstances, in a line.
    pub subtitle: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis. If it has categories, the chart consists of rows: bars or intervals that lie.
    pub y: Axis,
    /// What is drawn.
    pub series: Vec<Series>,
    /// Places worth a remark.
    pub annotations: Vec<Annotation>,
    /// What is to be seen, in sentences: the caption, and the text alternative.
    pub caption: String,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it measures. `S_mu` is written with a subscript.
    pub label: String,
    /// How numbers become places.
    pub scale: Scale,
    /// The numbers at both ends; without it, those that the data need.
    pub range: Option<(f64, f64)>,
    /// Names of rows, from the top; numbers on this axis are then positions in this list.
    pub categories: Vec<String>,
}

/// Data of one kind, with a name and a colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What the reader calls it.
    pub name: String,
    /// How it is drawn.
    pub form: Form,
    /// The data, in drawing order.
    pub points: Vec<Point>,
    /// Position in the list of colours; without it, that of the series in the chart.
    pub colour: Option<usize>,
    /// Whether it is a reference (a limit, a bound): thin, dashed, without a colour of its own.
    pub reference: bool,
}

/// How a series is drawn. Bars belong to charts of rows; elsewhere their points are marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A line through the points, with a band where points have an interval.
    Line,
    /// Marks, with an error bar where points have an interval.
    Marks,
    /// Bars from zero.
    Bars,
    /// Bars on top of those of earlier stacked series.
    Stacked,
}

/// A datum.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Where it is horizontally.
    pub x: f64,
    /// Where it is vertically.
    pub y: f64,
    /// The interval around its value (in rows: horizontal, else vertical).
    pub interval: Option<(f64, f64)>,
    /// What is written beside it, in rows.
    pub label: Option<String>,
    /// What a hovering reader is told; without it, the coordinates.
    pub note: Option<String>,
}

/// A remark.
#[derive(Clone, Debug, PartialEq)]
pub enum Annotation {
    /// A ring around a place, with words beside it.
    Mark {
        /// The place.
        x: f64,
        /// The place.
        y: f64,
        /// The words.
        label: String,
    },
    /// A vertical line with words.
    Vertical {
        /// Where it stands.
        x: f64,
        /// The words.
        label: String,
    },
}

impl Chart {
    /// A chart without data.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Chart {
            title: title.into(),
            subtitle: String::new(),
            x,
            y,
            series: vec![],
            annotations: vec![],
            caption: String::new(),
        }
    }

    /// Adds the circumstances.
    pub fn under(mut self, subtitle: impl Into<String>) -> Self {
        self.subtitle = subtitle.into();
        self
    }

    /// Adds a series.
    pub fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Adds a remark.
    pub fn remarking(mut self, annotation: Annotation) -> Self {
        self.annotations.push(annotation);
        self
    }

    /// Adds what is to be seen.
    pub fn saying(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// Whether the chart consists of rows.
    pub fn has_rows(&self) -> bool {
        !self.y.categories.is_empty()
    }

    /// A picture for a file: SVG that follows the reader's light or dark surroundings.
    pub fn svg(&self, size: Size) -> String {
        crate::svg::file(self, &self.scene(size))
    }

    /// The same picture within HTML; the page brings [`style`](crate::style), the outlines of letters ([`glyphs`](crate::glyphs)) and what happens when a reader points at something.
    pub fn inline_svg(&self, size: Size) -> String {
        crate::svg::inline(self, &self.scene(size))
    }

    /// A picture for a file: PNG, `scale` dots for each unit of the size.
    pub fn png(&self, size: Size, scale: f32) -> Vec<u8> {
        crate::png::encode(&self.scene(size), scale)
    }

    /// The name of a place on the vertical axis.
    pub(crate) fn row(&self, y: f64) -> Option<&str> {
        self.y.categories.get(y as usize).map(String::as_str)
    }

    /// What a hovering reader is told about a point.
    pub fn told(&self, series: &Series, point: &Point) -> String {
        if let Some(note) = &point.note {
            return note.clone();
        }
        match self.row(point.y) {
            Some(row) => format!("{row}, {}: {}", series.name, number(point.x)),
            None => format!(
                "{}: {} {}, {} {}",
                series.name,
                self.x.label,
                number(point.x),
                self.y.label,
                number(point.y)
            ),
        }
    }
}

impl Axis {
    /// An axis that is as long as the data need.
    pub fn new(label: impl Into<String>, scale: Scale) -> Self {
        Axis { label: label.into(), scale, range: None, categories: vec![] }
    }

    /// An axis between two numbers.
    pub fn between(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }

    /// An axis of rows, from the top.
    pub fn rows(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let categories = names.into_iter().map(Into::into).collect();
        Axis { label: String::new(), scale: Scale::Linear, range: None, categories }
    }
}

impl Series {
    /// A series of any form.
    pub fn new(name: impl Into<String>, form: Form, points: Vec<Point>) -> Self {
        Series { name: name.into(), form, points, colour: None, reference: false }
    }

    /// A line through places.
    pub fn line(name: impl Into<String>, places: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let point = |(x, y)| Point { x, y, ..Point::default() };
        Series::new(name, Form::Line, places.into_iter().map(point).collect())
    }

    /// The same as a reference.
    pub fn as_reference(mut self) -> Self {
        self.reference = true;
        self
    }

    /// The same in the colour of that position.
    pub fn coloured(mut self, colour: usize) -> Self {
        self.colour = Some(colour);
        self
    }
}
