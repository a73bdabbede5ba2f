//! Charts as data, and their pictures.
//!
//! A [`Chart`] says what is to be seen: axes, series, annotations, and in words what they show. It is laid out once, into a scene of lines
//! and letters, which becomes
//!
//! ```text
//! Chart → layout → Scene → svg (for files and, with hover values, for HTML)   both with the outlines of the font
//!                        → png (the same scene)                              that was measured
//! Chart → terminal (braille or ASCII)
//! ```
//!
//! ```
//! use sottovoce_chart::{Axis, Chart, Scale, Series, Size};
//!
//! let root = Series::line("root", (1..=50).map(|x| (f64::from(x), f64::from(x).sqrt())));
//! let chart = Chart::new("A root", Axis::new("x", Scale::Logarithmic), Axis::new("y", Scale::Linear)).with(root);
//! assert!(chart.svg(Size::WIDE).starts_with("<svg"));
//! assert!(chart.png(Size::WIDE, 2.0).starts_with(b"\x89PNG"));
//! ```
//!
//! Colours are told apart with any kind of colour vision and in light and dark surroundings; series are labelled beside their lines where there is
//! room. There is no plotting library beneath: those we measured have no square-root axis and no dark mode, and all that a scene needs is a
//! rasteriser (`tiny-skia`) and the outlines of letters (`ttf-parser`).

mod chart;
pub mod columns;
mod label;
mod layout;
mod lettering;
mod palette;
mod png;
mod rows;
mod scale;
mod scene;
mod svg;
pub mod terminal;

pub use chart::{Annotation, Axis, Chart, Form, Point, Series};
pub use palette::{Colour, SERIES};
pub use scale::Scale;
pub use scene::Size;
pub use svg::{escaped, glyphs, marked_up, style};
