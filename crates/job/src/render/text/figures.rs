//! All figures on one page.

use crate::figures::FiguresReport;
use crate::render::document::Document;

/// The report of the job `figures`.
pub fn figures(report: &FiguresReport) -> Document {
    let mut document = Document::default();
    document.title("Privacy and utility of randomised reports, in pictures");
    for figure in &report.figures {
        document.picture(figure.chart.clone());
    }
    document
}
