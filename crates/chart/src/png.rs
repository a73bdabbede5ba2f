//! Scenes as PNG, on a light background.

use tiny_skia::{
    FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform,
};
use ttf_parser::OutlineBuilder;

use crate::lettering::{Pen, outlines, placed, width};
use crate::palette::{Colour, rgb};
use crate::scene::{Scene, Shape};

/// Largest width and height in pixels.
const MOST: f32 = 16_384.0;

/// The scene as a PNG file. Empty only if there is not enough memory.
pub(crate) fn encode(scene: &Scene, scale: f32) -> Vec<u8> {
    let dots = |length: f64| (length as f32 * scale).ceil().clamp(1.0, MOST) as u32;
    let Some(mut canvas) = Pixmap::new(dots(scene.width), dots(scene.height)) else { return vec![] };
    let [r, g, b] = rgb(Colour::Paper.light());
    canvas.fill(tiny_skia::Color::from_rgba8(r, g, b, 255));
    scene.shapes.iter().for_each(|shape| draw(&mut canvas, shape, Transform::from_scale(scale, scale)));
    canvas.encode_png().unwrap_or_default()
}

fn draw(canvas: &mut Pixmap, shape: &Shape, transform: Transform) {
    match shape {
        Shape::Line { places, colour, width, dashes } => {
            let mut stroke = stroke(*width);
            stroke.dash = dashes.and_then(|(on, off)| StrokeDash::new(vec![on as f32, off as f32], 0.0));
            if let Some(path) = outline(places, false) {
                canvas.stroke_path(&path, &paint(*colour, 1.0), &stroke, transform, None);
            }
        }
        Shape::Area { places, colour, opacity } => {
            if let Some(path) = outline(places, true) {
                canvas.fill_path(&path, &paint(*colour, *opacity), FillRule::Winding, transform, None);
            }
        }
        Shape::Disc { x, y, radius, colour, ring } => {
            let Some(path) = PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32) else { return };
            let paint = paint(*colour, 1.0);
            match ring {
                Some(width) => canvas.stroke_path(&path, &paint, &stroke(*width), transform, None),
                None => canvas.fill_path(&path, &paint, FillRule::Winding, transform, None),
            }
        }
        Shape::Text { .. } => text(canvas, shape, transform),
        Shape::Target { .. } => {}
    }
}

fn text(canvas: &mut Pixmap, shape: &Shape, transform: Transform) {
    let Shape::Text { x, y, text, size, bold, colour, anchor, halo } = shape else { return };
    let start = anchor.start(*x, width(text, *size, *bold));
    let mut pen = Glyphs { path: PathBuilder::new(), x: 0.0, y: 0.0, left: 0.0, unit: 0.0 };
    for run in placed(text, *size, *bold, (start, *y)) {
        (pen.left, pen.y) = (run.x, run.y);
        outlines(&run.text, run.size, *bold, &mut pen);
    }
    let Some(path) = pen.path.finish() else { return };
    if *halo {
        canvas.stroke_path(&path, &paint(Colour::Paper, 1.0), &stroke(4.0), transform, None);
    }
    canvas.fill_path(&path, &paint(*colour, 1.0), FillRule::Winding, transform, None);
}

fn stroke(width: f64) -> Stroke {
    Stroke { width: width as f32, line_cap: LineCap::Round, line_join: LineJoin::Round, ..Stroke::default() }
}

fn paint(colour: Colour, opacity: f64) -> Paint<'static> {
    let [r, g, b] = rgb(colour.light());
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(r, g, b, (255.0 * opacity).round() as u8);
    paint
}

fn outline(places: &[(f64, f64)], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    let (first, rest) = places.split_first()?;
    path.move_to(first.0 as f32, first.1 as f32);
    rest.iter().for_each(|(x, y)| path.line_to(*x as f32, *y as f32));
    if closed {
        path.close();
    }
    path.finish()
}

/// Collects outlines into a path. The y axis points up in fonts and down in pictures.
struct Glyphs {
    path: PathBuilder,
    left: f64,
    x: f64,
    y: f64,
    unit: f64,
}

impl Glyphs {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        ((self.x + f64::from(x) * self.unit) as f32, (self.y - f64::from(y) * self.unit) as f32)
    }
}

impl Pen for Glyphs {
    fn begin(&mut self, x: f64, unit: f64) {
        (self.x, self.unit) = (self.left + x, unit);
    }
}

impl OutlineBuilder for Glyphs {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}
