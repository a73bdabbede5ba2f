//! The scene of a chart: lines, areas and text at positions, in the colours of the palette.

use crate::palette::Colour;

/// The size of a picture, in units of about 1/96 inch (CSS pixels).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Width.
    pub width: f64,
    /// Height. Charts of rows ignore it: they are as high as they need to be.
    pub height: f64,
}

impl Size {
    /// For a page.
    pub const WIDE: Size = Size { width: 720.0, height: 440.0 };
    /// For a phone.
    pub const NARROW: Size = Size { width: 340.0, height: 330.0 };
}

/// A chart after layout.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Scene {
    pub width: f64,
    pub height: f64,
    pub shapes: Vec<Shape>,
}

/// Which part of a text is at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    /// The left end of a text of that width.
    pub(crate) fn start(self, x: f64, width: f64) -> f64 {
        match self {
            Anchor::Start => x,
            Anchor::Middle => x - width / 2.0,
            Anchor::End => x - width,
        }
    }
}

/// A part of a picture.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    Line {
        places: Vec<(f64, f64)>,
        colour: Colour,
        width: f64,
        dashes: Option<(f64, f64)>,
    },
    Area {
        places: Vec<(f64, f64)>,
        colour: Colour,
        opacity: f64,
    },
    /// A filled disc, or a ring of that thickness.
    Disc {
        x: f64,
        y: f64,
        radius: f64,
        colour: Colour,
        ring: Option<f64>,
    },
    Text {
        x: f64,
        y: f64,
        text: String,
        size: f64,
        bold: bool,
        colour: Colour,
        anchor: Anchor,
        halo: bool,
    },
    /// A point with a note for readers who point at it.
    Target {
        x: f64,
        y: f64,
        colour: Colour,
        note: String,
    },
}

impl Scene {
    pub(crate) fn add(&mut self, shape: Shape) {
        self.shapes.push(shape);
    }

    pub(crate) fn line(&mut self, places: Vec<(f64, f64)>, colour: Colour, width: f64) {
        self.add(Shape::Line { places, colour, width, dashes: None });
    }

    pub(crate) fn rectangle(&mut self, (x, y): (f64, f64), (w, h): (f64, f64), colour: Colour) {
        let places = vec![(x, y), (x + w, y), (x + w, y + h), (x, y + h)];
        self.add(Shape::Area { places, colour, opacity: 1.0 });
    }

    pub(crate) fn text(&mut self, (x, y): (f64, f64), text: &str, style: Style) {
        let Style { size, bold, colour, anchor, halo } = style;
        self.add(Shape::Text { x, y, text: text.to_owned(), size, bold, colour, anchor, halo });
    }
}

/// How a text looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Style {
    pub size: f64,
    pub bold: bool,
    pub colour: Colour,
    pub anchor: Anchor,
    /// Whether the letters are outlined in the background colour, so that lines behind them do not touch them.
    pub halo: bool,
}

impl Style {
    pub(crate) fn new(size: f64, colour: Colour) -> Self {
        Style { size, bold: false, colour, anchor: Anchor::Start, halo: false }
    }

    pub(crate) fn bold(self) -> Self {
        Style { bold: true, ..self }
    }

    pub(crate) fn at(self, anchor: Anchor) -> Self {
        Style { anchor, ..self }
    }

    pub(crate) fn with_halo(self) -> Self {
        Style { halo: true, ..self }
    }
}
