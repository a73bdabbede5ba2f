//! The text of the job `describe`.

use sottovoce::Metric;

use super::{WIDTH, clipped, value_text};
use crate::describe::{Branch, Description, RealisedLevel, ShownMatrix, summary};
use crate::metrics::MetricEvaluation;
use crate::render::document::{Document, Emphasis};
use crate::render::number::short;

/// The report of the job `describe`.
pub fn description(report: &Description) -> Document {
    let mut document = Document::default();
    document.title("What the protocol is");
    document.line(Emphasis::Strong, summary(&report.protocol));
    document.paragraph(Emphasis::Plain, 0, WIDTH, &report.sentence);
    document.line(Emphasis::Plain, "");
    facts(&mut document, report);
    if let Some(tree) = &report.tree {
        document.line(Emphasis::Plain, "").line(Emphasis::Strong, "Structure");
        branches(&mut document, &tree.parts, "");
    }
    if let Some(shown) = &report.matrix {
        document.line(Emphasis::Plain, "");
        matrix(&mut document, shown);
    }
    document
}

fn facts(document: &mut Document, report: &Description) {
    let mut fact = |name: &str, value: String| {
        document.push(Emphasis::Faint, format!("{name:<16}")).line(Emphasis::Plain, value);
    };
    fact("inputs", format!("{}{}", report.inputs, labels(report)));
    fact(
        "outputs",
        report.outputs.map_or_else(|| format!("about 2^{:.0}", report.outputs_bits), |b| b.to_string()),
    );
    fact("report", format!("{} bits", short(report.report_bits)));
    if let Some(level) = report.declared_level {
        fact("LDP declared", short(level));
    }
    fact(
        "LDP realised",
        match &report.realised {
            Ok(RealisedLevel { level, exact: true }) => short(*level),
            Ok(RealisedLevel { level, exact: false }) => format!("at most {}", short(*level)),
            Err(reason) => format!("none: {reason}"),
        },
    );
    for evaluation in report.structure.iter().filter(|e| e.metric != Metric::LocalPrivacyLevel) {
        fact(evaluation.metric.name(), outcome(evaluation));
    }
}

/// The value with its warning, or why there is none.
fn outcome(evaluation: &MetricEvaluation) -> String {
    let value = match &evaluation.answer.value {
        Ok(value) => value_text(value),
        Err(absence) => format!("no value: {absence}"),
    };
    evaluation.answer.warning.as_ref().map_or(value.clone(), |warning| format!("{value} ({warning})"))
}

fn labels(report: &Description) -> String {
    const SHOWN: usize = 5;
    let Some(labels) = &report.labels else { return String::new() };
    let more = if labels.len() > SHOWN { ", …" } else { "" };
    format!(": {}{more}", labels.iter().take(SHOWN).map(|l| clipped(l, 12)).collect::<Vec<_>>().join(", "))
}

fn branches(document: &mut Document, parts: &[Branch], indent: &str) {
    for (position, part) in parts.iter().enumerate() {
        let last = position + 1 == parts.len();
        let (knot, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let weight = part.weight.map(|w| format!("{}: ", short(w))).unwrap_or_default();
        document.push(Emphasis::Faint, format!("{indent}{knot}"));
        document.line(Emphasis::Plain, format!("{weight}{}", part.summary));
        branches(document, &part.parts, &format!("{indent}{below}"));
    }
}

fn matrix(document: &mut Document, matrix: &ShownMatrix) {
    let outputs: Vec<String> = matrix.outputs.iter().map(|output| clipped(output, 18)).collect();
    let width = outputs.iter().map(|o| o.chars().count()).chain([6]).max().unwrap_or(6);
    let header: String = matrix.inputs.iter().map(|x| format!(" {:>6}", clipped(x, 6))).collect();
    document.line(Emphasis::Strong, "Probability of each output (row) given each input (column)");
    document.line(Emphasis::Faint, format!("{:<width$}{header}", "output"));
    for (output, row) in outputs.iter().zip(&matrix.rows) {
        document.push(Emphasis::Faint, format!("{output:<width$}"));
        document.line(Emphasis::Plain, row.iter().map(|q| probability(*q)).collect::<String>());
    }
}

/// A probability in seven columns, with zero and one told apart from almost zero and one.
fn probability(q: f64) -> String {
    match q {
        0.0 | 1.0 => format!(" {q:>6}"),
        _ if q < 1e-4 => format!(" {q:>6.0e}"),
        _ => format!(" {q:>6.4}"),
    }
}
