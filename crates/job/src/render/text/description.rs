//! The text of the job `describe`.

use sottovoce::Metric;

use super::{WIDTH, answer_text, printable, summary};
use crate::describe::{Branch, DescribeReport, RealisedLevel, ShownMatrix};
use crate::metrics::MetricEvaluation;
use crate::render::document::{Block, Document, Emphasis, Listing, Table};
use crate::render::number::short;

/// The report of the job `describe`.
pub fn description(report: &DescribeReport) -> Document {
    let mut document = Document::default();
    document.title("What the protocol is");
    document.heading(summary(&report.protocol));
    document.paragraph(Emphasis::Plain, 0, WIDTH, &report.mechanism.to_string());
    document.line(Emphasis::Plain, "").listing(properties(report));
    if let Some(tree) = &report.tree {
        document.heading("Structure").add(Block::Outline(branches(&tree.parts, 0)));
    }
    if let Some(shown) = &report.matrix {
        document.heading("Probability of each output (row) given each input (column)");
        document.table(matrix(shown));
    }
    document
}

fn properties(report: &DescribeReport) -> Listing {
    let mut listing = Listing::default().column("property", 16).column("value", 0).on_page("meaning");
    let mut property = |name: &str, value: String, meaning: &str| {
        listing.entry([name, &value, meaning]);
    };
    property("inputs", format!("{}{}", report.inputs, labels(report)), "values that a user can hold");
    let outputs =
        report.outputs.map_or_else(|| format!("about 2^{:.0}", report.outputs_bits), |b| b.to_string());
    property("outputs", outputs, "number of different reports");
    let length = format!("{} bits", short(report.report_bits));
    property("report", length, "length, if all reports are equally long");
    if let Some(level) = report.declared_level {
        let meaning = "what the parameters promise: no report changes the odds between two values by more than e to this power";
        property("LDP declared", short(level), meaning);
    }
    let realised = match &report.realised {
        Ok(RealisedLevel { level, exact: true }) => short(*level),
        Ok(RealisedLevel { level, exact: false }) => format!("at most {}", short(*level)),
        Err(reason) => format!("none: {reason}"),
    };
    property("LDP realised", realised, "the same for reports as they are really drawn, computed exactly");
    for evaluation in report.structure.iter().filter(|e| e.metric != Metric::LocalPrivacyLevel) {
        property(evaluation.metric.name(), outcome(evaluation), evaluation.metric.meaning());
    }
    listing
}

/// The value with its warning, or why there is none.
fn outcome(evaluation: &MetricEvaluation) -> String {
    let absence = || evaluation.answer.value.as_ref().err().map(|absence| format!("no value: {absence}"));
    let value = answer_text(&evaluation.answer).or_else(absence).unwrap_or_default();
    evaluation.answer.warning.as_ref().map_or(value.clone(), |warning| format!("{value} ({warning})"))
}

fn labels(report: &DescribeReport) -> String {
    const SHOWN: usize = 5;
    let Some(labels) = &report.labels else { return String::new() };
    let more = if labels.len() > SHOWN { ", …" } else { "" };
    format!(": {}{more}", labels.iter().take(SHOWN).map(|l| printable(l)).collect::<Vec<_>>().join(", "))
}

fn branches(parts: &[Branch], depth: usize) -> Vec<(usize, String)> {
    let branch = |part: &Branch| {
        let weight = part.weight.map(|w| format!("{}: ", short(w))).unwrap_or_default();
        let own = (depth, format!("{weight}{}", summary(&part.protocol)));
        [vec![own], branches(&part.parts, depth + 1)].concat()
    };
    parts.iter().flat_map(branch).collect()
}

fn matrix(matrix: &ShownMatrix) -> Table {
    let inputs = matrix.inputs.iter().map(|x| printable(x));
    let header = std::iter::once("output".to_owned()).chain(inputs);
    let mut table = Table::new(header).names_within(18).columns_within(12);
    for (output, row) in matrix.outputs.iter().zip(&matrix.rows) {
        let name = std::iter::once(printable(output));
        table.row(Emphasis::Plain, name.chain(row.iter().map(|q| probability(*q))));
    }
    table
}

/// A probability, with zero and one told apart from almost zero and one.
fn probability(q: f64) -> String {
    match q {
        0.0 | 1.0 => q.to_string(),
        _ if q < 1e-4 => format!("{q:.0e}"),
        _ => format!("{q:.4}"),
    }
}
