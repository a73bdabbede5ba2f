//! Rendering: from reports to output. One file per format, with one function per report.

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
use crate::compare::CompareReport;
use crate::demo::DemoReport;
use crate::describe::DescribeReport;
use crate::design::DesignReport;
use crate::estimate::EstimateReport;
use crate::explain::ExplainReport;
use crate::figures::FiguresReport;
use crate::metrics::MetricsReport;
use crate::posterior::PosteriorReport;
use crate::randomise::RandomiseReport;
use crate::split::SplitReport;
use crate::study::{AnalyseReport, PlanReport, RandomiseStudyReport, TallyStudyReport};
use crate::tally::TallyReport;
use crate::trend::TrendReport;
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
    /// A document for people.
    fn text(&self) -> Document;

    /// For programs.
    fn json(&self) -> String;

    /// For spreadsheets: a header line, then one line per entry.
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
macro_rules! render {
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

render!(
    MetricsReport => metrics,
    DescribeReport => description,
    SplitReport => split,
    AccuracyReport => accuracy,
    PosteriorReport => posterior,
    TrendReport => trend,
    EstimateReport => estimate,
    RandomiseReport => randomise,
    TallyReport => tally,
    DemoReport => demo,
    FiguresReport => figures,
    ExplainReport => explanation,
    BudgetReport => budget,
    UsersReport => users,
    DesignReport => design,
    ChooseReport => choose,
    CompareReport => comparison,
    PlanReport => plan,
    RandomiseStudyReport => randomise_study,
    TallyStudyReport => tally_study,
    AnalyseReport => analyse,
);
