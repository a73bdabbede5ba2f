//! The text of the job `estimate`.

use sottovoce::estimate::{Certificate, Estimate};

use super::{INDENT, WIDTH, clipped};
use crate::describe::summary;
use crate::estimate::{Column, EstimateReport};
use crate::render::document::{Document, Emphasis};
use crate::render::number::{rounded, short};

/// Most columns of a label.
const LABEL: usize = 16;

/// The report of the job `estimate`: the estimates side by side with their intervals, then how each was made.
pub fn estimate(report: &EstimateReport) -> Document {
    let mut document = Document::default();
    document.title("Estimated frequencies");
    document.line(Emphasis::Strong, format!("Protocol  {}", summary(&report.protocol)));
    document.line(Emphasis::Strong, format!("Reports   {}", report.n));
    let percent = rounded(100.0 * report.level, 6);
    document.line(Emphasis::Strong, format!("Intervals {percent} %")).line(Emphasis::Plain, "");
    let found: Vec<&Estimate> = report.columns.iter().filter_map(|c| c.estimate.as_ref().ok()).collect();
    let label = report.labels.iter().map(|l| l.chars().count()).max().unwrap_or(0).clamp(5, LABEL);
    let places = places(&found);
    let cell = 3 * (places + 3) + 7;
    for group in found.chunks(((WIDTH - label) / cell).max(1)) {
        table(&mut document, report, group, (label, places));
        document.line(Emphasis::Plain, "");
    }
    report.columns.iter().for_each(|column| explanation(&mut document, column));
    document
}

/// Decimal places that show two digits of the narrowest interval.
fn places(found: &[&Estimate]) -> usize {
    let widths = found.iter().flat_map(|e| e.intervals.iter().map(|i| i.high - i.low));
    let narrowest = widths.filter(|w| *w > 0.0).fold(1.0, f64::min);
    (1.0 - narrowest.log10()).ceil().clamp(3.0, 6.0) as usize
}

fn table(document: &mut Document, report: &EstimateReport, group: &[&Estimate], size: (usize, usize)) {
    let (label, places) = size;
    let (width, cell) = (places + 3, 3 * (places + 3) + 7);
    let names = group.iter().map(|e| format!("{:^cell$}", e.estimator.name()));
    document.line(Emphasis::Strong, format!("{:label$}", "") + &names.collect::<String>());
    for (x, name) in report.labels.iter().enumerate() {
        let text = |e: &&Estimate| {
            let (value, low, high) = (e.values[x], e.intervals[x].low, e.intervals[x].high);
            format!("  {value:>width$.places$} [{low:>width$.places$}, {high:>width$.places$}]")
        };
        let cells: String = group.iter().map(text).collect();
        document.line(Emphasis::Plain, format!("{:<label$}{cells}", clipped(name, label)));
    }
    let sum = |e: &&Estimate| {
        let value = format!("{:>width$.places$}", e.values.iter().sum::<f64>());
        format!("{:<cell$}", format!("  {value}"))
    };
    let sums: String = group.iter().map(sum).collect();
    document.line(Emphasis::Faint, format!("{:<label$}{sums}", "sum"));
}

fn explanation(document: &mut Document, column: &Column) {
    document.push(Emphasis::Strong, format!("{:<16}", column.estimator.name()));
    document.line(Emphasis::Plain, column.estimator.meaning());
    match &column.estimate {
        Ok(found) => {
            let words = format!("intervals: {}", found.interval_method.meaning());
            document.paragraph(Emphasis::Faint, INDENT, WIDTH, &words);
            found.certificate.iter().for_each(|c| certificate(document, c));
        }
        Err(reason) => {
            document.paragraph(Emphasis::Warning, INDENT, WIDTH, &format!("no estimate: {reason}"));
        }
    }
}

fn certificate(document: &mut Document, certificate: &Certificate) {
    let gap = short(certificate.gap);
    let (emphasis, words) = if certificate.passes == 0 && certificate.holds() {
        (Emphasis::Faint, "closed form: the largest log-likelihood, but for rounding".into())
    } else if certificate.holds() {
        let passes = certificate.passes;
        let words = format!(
            "certified: at most {gap} nats below the largest log-likelihood ({passes} passes over the reports)"
        );
        (Emphasis::Faint, words)
    } else {
        let passes = certificate.passes;
        let wanted = short(certificate.tolerance);
        (
            Emphasis::Warning,
            format!(
                "warning: not certified: the log-likelihood may be up to {gap} nats below its maximum after {passes} passes, where {wanted} was asked for"
            ),
        )
    };
    document.paragraph(emphasis, INDENT, WIDTH, &words);
}
