//! The content of a chart, independent of how it is drawn.

use crate::scale::{Scale, number};
use crate::scene::Size;

/// A chart: axes, series, annotations, and a caption that says what they show.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What the chart is about.
    pub title: String,
    /// The conditions under which the data hold, such as the protocol and the prior.
    pub subtitle: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis. If it has categories, the chart consists of rows: horizontal bars or intervals.
    pub y: Axis,
    /// The data.
    pub series: Vec<Series>,
    /// Marked points and lines.
    pub annotations: Vec<Annotation>,
    /// What the chart shows, in sentences. It is also the text alternative for readers who cannot see the chart.
    pub caption: String,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it measures. `S_mu` is shown with a subscript.
    pub label: String,
    /// How values are mapped to positions.
    pub scale: Scale,
    /// The values at both ends; by default, those that contain the data.
    pub range: Option<(f64, f64)>,
    /// Names of rows, from the top. Values on this axis are then indices into this list.
    pub categories: Vec<String>,
}

/// Data with a name and a colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The name that readers see.
    pub name: String,
    /// How it is drawn.
    pub form: Form,
    /// The data, in drawing order.
    pub points: Vec<Point>,
    /// Index into the list of colours; by default, the index of the series in the chart.
    pub colour: Option<usize>,
    /// Whether it is a reference (a limit, a bound), drawn thin, dashed and grey.
    pub reference: bool,
}

/// How a series is drawn. Only charts of rows have bars; in other charts, points of a bar series are marks.
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

/// A data point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Horizontal value.
    pub x: f64,
    /// Vertical value.
    pub y: f64,
    /// The interval around its value: horizontal in charts of rows, vertical in others.
    pub interval: Option<(f64, f64)>,
    /// The text beside it, in charts of rows.
    pub label: Option<String>,
    /// The text that appears under the pointer; by default, the coordinates.
    pub note: Option<String>,
}

/// A marked point or line.
#[derive(Clone, Debug, PartialEq)]
pub enum Annotation {
    /// A ring around a point, with a label beside it.
    Mark {
        /// Horizontal value.
        x: f64,
        /// Vertical value.
        y: f64,
        /// The label.
        label: String,
    },
    /// A vertical line with a label.
    Vertical {
        /// Horizontal value.
        x: f64,
        /// The label.
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

    /// Sets the subtitle.
    pub fn under(mut self, subtitle: impl Into<String>) -> Self {
        self.subtitle = subtitle.into();
        self
    }

    /// Adds a series.
    pub fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Adds an annotation.
    pub fn remarking(mut self, annotation: Annotation) -> Self {
        self.annotations.push(annotation);
        self
    }

    /// Sets the caption.
    pub fn saying(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// Whether the chart consists of rows.
    pub fn has_rows(&self) -> bool {
        !self.y.categories.is_empty()
    }

    /// An SVG file that follows the reader's light or dark mode.
    pub fn svg(&self, size: Size) -> String {
        crate::svg::file(self, &self.scene(size))
    }

    /// The same picture for an HTML page. The page must contain [`style`](crate::style) and the outlines of the letters ([`glyphs`](crate::glyphs)); a script
    /// may show the title of a point under the pointer.
    pub fn inline_svg(&self, size: Size) -> String {
        crate::svg::inline(self, &self.scene(size))
    }

    /// A PNG file with `scale` pixels for each unit of the size.
    pub fn png(&self, size: Size, scale: f32) -> Vec<u8> {
        crate::png::encode(&self.scene(size), scale)
    }

    /// The name of the row at a vertical value.
    pub(crate) fn row(&self, y: f64) -> Option<&str> {
        self.y.categories.get(y as usize).map(String::as_str)
    }

    /// The text that appears when a reader points at a data point.
    pub fn note(&self, series: &Series, point: &Point) -> String {
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
    /// An axis whose range is found from the data.
    pub fn new(label: impl Into<String>, scale: Scale) -> Self {
        Axis { label: label.into(), scale, range: None, categories: vec![] }
    }

    /// Sets the range.
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

    /// A line through points.
    pub fn line(name: impl Into<String>, places: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let point = |(x, y)| Point { x, y, ..Point::default() };
        Series::new(name, Form::Line, places.into_iter().map(point).collect())
    }

    /// Marks the series as a reference.
    pub fn as_reference(mut self) -> Self {
        self.reference = true;
        self
    }

    /// Sets the colour, as an index into the list of colours.
    pub fn coloured(mut self, colour: usize) -> Self {
        self.colour = Some(colour);
        self
    }
}
