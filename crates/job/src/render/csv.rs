//! CSV, for spreadsheets: quoted as RFC 4180 asks, numbers in full.

use sottovoce::metric::Value;

use crate::demo::DemoReport;
use crate::describe::Description;
use crate::metrics::{MetricEvaluation, MetricsReport};

/// The report of the job `metrics`: one line for each evaluation.
pub fn metrics(report: &MetricsReport) -> String {
    let header = ["metric", "n", "value", "error", "method", "reason", "warning"].map(String::from);
    table(header, report.evaluations.iter().map(evaluation))
}

/// The report of the job `describe`: one line for each property, then one for each entry of a small matrix.
pub fn description(report: &Description) -> String {
    let property = |name: &str, value: String| [name.into(), String::new(), String::new(), value];
    let mut rows = vec![
        property("kind", report.protocol.name().into()),
        property("inputs", report.inputs.to_string()),
        property("outputs", report.outputs.map_or_else(|| power(report.outputs_bits), |b| b.to_string())),
        property("report_bits", number(report.report_bits)),
        property("declared_ldp", report.declared_level.map(number).unwrap_or_default()),
    ];
    rows.extend(report.structure.iter().map(|e| property(e.metric.name(), value(e))));
    if let Some(matrix) = &report.matrix {
        for (output, row) in matrix.outputs.iter().zip(&matrix.rows) {
            for (input, q) in matrix.inputs.iter().zip(row) {
                rows.push(["probability".into(), output.clone(), input.clone(), number(*q)]);
            }
        }
    }
    table(["property", "output", "input", "value"].map(String::from), rows.into_iter())
}

/// The report of the job `demo`: one line for each label.
pub fn demo(report: &DemoReport) -> String {
    let row = |f: &crate::demo::Frequency| {
        [f.label.into(), number(f.truth), number(f.estimate), number(f.standard_error)]
    };
    let header = ["label", "truth", "estimate", "standard_error"].map(String::from);
    table(header, report.frequencies.iter().map(row))
}

fn evaluation(evaluation: &MetricEvaluation) -> [String; 7] {
    let answer = &evaluation.answer;
    let (error, method) = match &answer.value {
        Ok(Value::Number(e)) => (number(e.error), e.method.name()),
        Ok(Value::Count(_, method) | Value::Truth(_, method)) => ("0".into(), method.name()),
        Err(_) => (String::new(), ""),
    };
    let reason = answer.value.as_ref().err().map(ToString::to_string).unwrap_or_default();
    let users = evaluation.users.map(|n| n.to_string()).unwrap_or_default();
    [
        evaluation.metric.name().into(),
        users,
        value(evaluation),
        error,
        method.into(),
        reason,
        answer.warning.clone().unwrap_or_default(),
    ]
}

fn value(evaluation: &MetricEvaluation) -> String {
    match &evaluation.answer.value {
        Ok(Value::Number(e)) => number(e.value),
        Ok(Value::Count(count, _)) => count.to_string(),
        Ok(Value::Truth(truth, _)) => truth.to_string(),
        Err(_) => String::new(),
    }
}

/// A number in full; unlike `Display`, this form writes small numbers with an exponent.
fn number(value: f64) -> String {
    format!("{value:?}")
}

/// A number of outputs that fits no machine word.
fn power(bits: f64) -> String {
    format!("2^{bits:.0}")
}

fn table<const N: usize>(header: [String; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let line = |cells: [String; N]| cells.map(quoted).join(",") + "\n";
    std::iter::once(header).chain(rows).map(line).collect()
}

fn quoted(cell: String) -> String {
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_when_they_must_be() {
        assert_eq!(quoted("a".into()), "a");
        assert_eq!(quoted("a,\"b\"".into()), "\"a,\"\"b\"\"\"");
    }
}
