//! The text of the job `explain`.

use super::{INDENT, WIDTH};
use crate::explain::{ExplainReport, Explanation};
use crate::render::document::{Document, Emphasis};

/// The report of the job `explain`: all about a single metric, or what each of them is.
pub fn explanation(report: &ExplainReport) -> Document {
    let mut document = Document::default();
    match (report.single, report.explanations.first()) {
        (true, Some(metric)) => {
            document.title(format!("{}: {}", metric.metric.name(), metric.symbol));
            what(&mut document, metric);
            sections(&mut document, metric);
        }
        _ => {
            document.title("Metrics");
            report.explanations.iter().for_each(|metric| what(&mut document, metric));
        }
    }
    document
}

/// Name, symbol and meaning.
fn what(document: &mut Document, explanation: &Explanation) {
    document
        .push(Emphasis::Strong, explanation.metric.name())
        .line(Emphasis::Plain, format!("  {}", explanation.symbol));
    document.paragraph(Emphasis::Plain, INDENT, WIDTH, explanation.meaning);
}

fn sections(document: &mut Document, explanation: &Explanation) {
    for (name, words) in [
        ("Definition", explanation.definition),
        ("How to read it", explanation.reading),
        ("Range", explanation.range),
        ("Computation", explanation.cost),
        ("In the paper", explanation.paper),
    ] {
        document.line(Emphasis::Plain, "").line(Emphasis::Strong, name);
        document.paragraph(Emphasis::Plain, INDENT, WIDTH, words);
    }
}
