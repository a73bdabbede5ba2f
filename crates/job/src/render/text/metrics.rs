//! The text of the job `metrics`.

use sottovoce::metric::Value;

use super::{WIDTH, value_text};
use crate::describe::summary;
use crate::metrics::{MetricEvaluation, MetricsReport};
use crate::render::document::{Document, Emphasis};
use crate::render::number::short;
use crate::spec::PriorSpec;

/// Where explanations start.
const INDENT: usize = 4;

/// The report of the job `metrics`: two lines for each metric, its value and what it means.
pub fn metrics(report: &MetricsReport) -> Document {
    let mut document = Document::default();
    document.line(Emphasis::Strong, format!("Protocol  {}", summary(&report.protocol)));
    document.line(Emphasis::Strong, format!("Prior     {}", prior(&report.prior)));
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
    let MetricEvaluation { metric, answer, .. } = &alike[0];
    match &answer.value {
        Ok(_) => document.paragraph(Emphasis::Faint, INDENT, WIDTH, metric.meaning()),
        Err(absence) => document.paragraph(Emphasis::Warning, INDENT, WIDTH, &absence.to_string()),
    };
    if let Some(warning) = &answer.warning {
        document.paragraph(Emphasis::Warning, INDENT, WIDTH, &format!("warning: {warning}"));
    }
}

fn method(value: &Value) -> String {
    let method = match value {
        Value::Number(e) => e.method,
        Value::Count(_, method) | Value::Truth(_, method) => *method,
    };
    method.name().replace('_', " ")
}

fn prior(prior: &PriorSpec) -> String {
    match prior {
        PriorSpec::Jeffreys => "Jeffreys (Dirichlet, all alpha = 0.5)".into(),
        PriorSpec::Symmetric { alpha } => format!("Dirichlet, all alpha = {alpha}"),
        PriorSpec::Dirichlet { alpha } => format!("Dirichlet, alpha = {}", list(alpha)),
        PriorSpec::DirichletMixture { parts, .. } => format!("mixture of {} Dirichlets", parts.len()),
        PriorSpec::Points { points, .. } => format!("{} possible distributions", points.len()),
    }
}

/// The first few numbers of a list.
fn list(values: &[f64]) -> String {
    const SHOWN: usize = 6;
    let start: Vec<String> = values.iter().take(SHOWN).map(|v| short(*v)).collect();
    start.join(", ") + if values.len() > SHOWN { ", …" } else { "" }
}
