//! The text of the job `metrics`.

use sottovoce::Metric;

use super::{INDENT, WIDTH, heading, method, value_text};
use crate::metrics::{MetricEvaluation, MetricsReport};
use crate::render::document::{Document, Emphasis};
use crate::render::number::rounded;

/// The report of the job `metrics`: two lines for each metric, its value and what it means.
pub fn metrics(report: &MetricsReport) -> Document {
    let mut document = Document::default();
    document.title("Privacy and utility");
    heading(&mut document, &report.protocol, &report.prior);
    for group in report.evaluations.chunk_by(|l, r| l.users == r.users) {
        document.line(Emphasis::Plain, "");
        if let Some(n) = group[0].users {
            document.line(Emphasis::Strong, format!("n = {n} users"));
        }
        group.chunk_by(absent_alike).for_each(|alike| metric_lines(&mut document, alike));
    }
    document
}

/// Whether both have no value, for the same reason, which is then told once.
fn absent_alike(left: &MetricEvaluation, right: &MetricEvaluation) -> bool {
    left.answer.value.is_err() && left.answer == right.answer
}

fn metric_lines(document: &mut Document, alike: &[MetricEvaluation]) {
    for MetricEvaluation { metric, answer, .. } in alike {
        document.push(Emphasis::Strong, format!("{:<15}", metric.name()));
        document.push(Emphasis::Plain, format!("{:<13}", metric.symbol()));
        document.line(
            Emphasis::Plain,
            match &answer.value {
                Ok(value) => format!("{:<25}{}", value_text(value), method(value)),
                Err(_) => "no value".into(),
            },
        );
    }
    let answer = &alike[0].answer;
    match &answer.value {
        Ok(_) => document.paragraph(Emphasis::Faint, INDENT, WIDTH, &meaning(&alike[0])),
        Err(absence) => document.paragraph(Emphasis::Warning, INDENT, WIDTH, &absence.to_string()),
    };
    if let Some(warning) = &answer.warning {
        document.paragraph(Emphasis::Warning, INDENT, WIDTH, &format!("warning: {warning}"));
    }
}

/// What the metric means; for digits also as decimal ones.
fn meaning(evaluation: &MetricEvaluation) -> String {
    let meaning = evaluation.metric.meaning();
    match evaluation.answer.number().filter(|_| evaluation.metric == Metric::DigitUtility) {
        Some(digits) => {
            format!("{meaning} ({} decimal digits)", rounded(digits.value / std::f64::consts::LN_10, 3))
        }
        None => meaning.into(),
    }
}
