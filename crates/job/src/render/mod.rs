//! From reports to output: one file a format, one function a report in each.

pub mod csv;
mod document;
pub mod json;
mod number;
pub mod text;

pub use document::{Document, Emphasis};

use crate::collection::Summary;
use crate::demo::DemoReport;
use crate::describe::Description;
use crate::metrics::MetricsReport;
use crate::split::Split;
use crate::users::UsersReport;

/// The formats of output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
    /// For spreadsheets.
    Csv,
}

/// A report that can be rendered in every format.
pub trait Render {
    /// For people, with emphasis.
    fn text(&self) -> Document;

    /// For programs.
    fn json(&self) -> String;

    /// For spreadsheets: a header line, then one line for each entry.
    fn csv(&self) -> String;

    /// In the given format.
    fn render(&self, format: Format) -> Document {
        match format {
            Format::Text => self.text(),
            Format::Json => Document::plain(self.json()),
            Format::Csv => Document::plain(self.csv()),
        }
    }
}

macro_rules! render {
    ($($report:ty => $name:ident),+ $(,)?) => {$(
        impl Render for $report {
            fn text(&self) -> Document {
                text::$name(self)
            }

            fn json(&self) -> String {
                json::$name(self)
            }

            fn csv(&self) -> String {
                csv::$name(self)
            }
        }
    )+};
}

render!(
    MetricsReport => metrics,
    Description => description,
    Split => split,
    UsersReport => users,
    DemoReport => demo,
    Summary => collection,
);
