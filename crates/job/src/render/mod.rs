//! From reports to output: one file a format, one function a report in each.

pub mod csv;
mod document;
pub mod html;
pub mod json;
pub(crate) mod number;
pub mod text;

pub use document::{
    Block, Characters, Chart, Column, Document, Emphasis, Entry, Listing, Page, Shown, Table,
};
pub use sottovoce_chart::Size;

use crate::accuracy::AccuracyReport;
use crate::budget::BudgetReport;
use crate::choose::ChooseReport;
use crate::collection::Summary;
use crate::compare::CompareReport;
use crate::demo::DemoReport;
use crate::describe::DescribeReport;
use crate::design::DesignReport;
use crate::estimate::EstimateReport;
use crate::metrics::MetricsReport;
use crate::posterior::PosteriorReport;
use crate::split::SplitReport;
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
    /// For a browser: one file that needs nothing else.
    Html,
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
            Format::Html => Document::plain(html::page(&self.text())),
        }
    }
}

/// Renders reports whose JSON is their serialisation.
macro_rules! render_serialised {
    ($($report:ty => $name:ident),+ $(,)?) => {$(
        impl Render for $report {
            fn text(&self) -> Document {
                text::$name(self)
            }

            fn json(&self) -> String {
                json::report(self)
            }

            fn csv(&self) -> String {
                csv::$name(self)
            }
        }
    )+};
}

render_serialised!(
    MetricsReport => metrics,
    DescribeReport => description,
    SplitReport => split,
    AccuracyReport => accuracy,
    BudgetReport => budget,
    UsersReport => users,
    DesignReport => design,
    ChooseReport => choose,
    CompareReport => comparison,
);

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
    PosteriorReport => posterior,
    DemoReport => demo,
    Summary => collection,
    EstimateReport => estimate,
);
