//! Charts as data, and their pictures.
//!
//! A [`Chart`] holds axes, series, annotations, and a caption that says in words what they show. Its layout is a scene of lines and letters at
//! places, which is written as SVG or PNG. A terminal draws from the chart itself.
//!
//! ```text
//! Chart → layout → Scene → svg (for files, and for HTML with values under the pointer)
//!                        → png
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
//! People with any colour vision can tell the series apart, in light and dark mode. Series are labelled beside their lines where there is room. Text in SVG
//! and PNG is drawn as outlines of the font that measured it, so it fits on every machine.
//!
//! We use no plotting library: those we tried have no square-root axis and no dark mode, and a scene needs only a rasteriser (`tiny-skia`) and the
//! outlines of letters (`ttf-parser`).

mod chart;
pub mod columns;
mod label;
mod layout;
mod lettering;
mod markup;
mod palette;
mod png;
mod rows;
mod scale;
mod scene;
mod svg;
pub mod terminal;

pub use chart::{Annotation, Axis, Chart, Form, Point, Series};
pub use lettering::{Level, runs};
pub use palette::{Colour, SERIES};
pub use scale::Scale;
pub use scene::Size;
pub use svg::{glyphs, style};
