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
        group.iter().for_each(|evaluation| metric_lines(&mut document, evaluation));
    }
    document
}

fn metric_lines(document: &mut Document, evaluation: &MetricEvaluation) {
    let metric = evaluation.metric;
    document.push(Emphasis::Strong, format!("{:<15}", metric.name()));
    document.push(Emphasis::Plain, format!("{:<13}", metric.symbol()));
    match &evaluation.answer.value {
        Ok(value) => {
            document.line(Emphasis::Plain, format!("{:<25}{}", value_text(value), method(value)));
            document.paragraph(Emphasis::Faint, INDENT, WIDTH, metric.meaning());
        }
        Err(absence) => {
            document.line(Emphasis::Plain, "no value");
            document.paragraph(Emphasis::Warning, INDENT, WIDTH, &absence.to_string());
        }
    }
    if let Some(warning) = &evaluation.answer.warning {
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
