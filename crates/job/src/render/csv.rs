//! CSV, for spreadsheets: quoted as RFC 4180 asks, numbers in full.

use sottovoce::Evaluation;
use sottovoce::metric::{Answer, Value};

use crate::collection::Summary;
use crate::demo::DemoReport;
use crate::describe::Description;
use crate::metrics::{MetricEvaluation, MetricsReport};
use crate::split::{PARTS, Split};
use crate::users::{Count, UsersReport};

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
        property("realised_ldp", report.realised.as_ref().map(|r| number(r.level)).unwrap_or_default()),
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

/// The summary of a job of a collection: one line for each fact.
pub fn collection(report: &Summary) -> String {
    let rows = report.facts.iter().map(|(name, value)| [(*name).into(), plain(value)]);
    table(["fact", "value"].map(String::from), rows)
}

/// A JSON value as a cell: a text without its quotes.
fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

/// The report of the job `split`: one line for each side and part.
pub fn split(report: &Split) -> String {
    let header = ["side", "part", "value", "error", "method", "reason", "warning"].map(String::from);
    let share = |e: Evaluation| Answer::of(Value::Number(e));
    let shares = report.shares().map(|e| e.map(share));
    let sides = [
        ("users", report.users.entries().map(Some)),
        ("aggregator", report.aggregator.entries().map(Some)),
        ("share", shares.each_ref().map(Option::as_ref)),
    ];
    let rows = sides.iter().flat_map(|(side, entries)| {
        PARTS.iter().zip(entries).map(move |(part, entry)| {
            let cells = entry.map(answer).unwrap_or_default();
            let [value, error, method, reason, warning] = cells;
            [(*side).into(), (*part).into(), value, error, method, reason, warning]
        })
    });
    table(header, rows)
}

/// The report of the job `users`: one line for the protocol, one for the truth.
pub fn users(report: &UsersReport) -> String {
    let header = ["who", "metric", "target", "n", "low", "high", "reason", "ratio", "f_mu"].map(String::from);
    let row = |who: &str, count: &Count, ratio: String, factor: String| {
        let metric = count.evaluations.first().map_or(report.target.metric(), |e| e.metric);
        let target =
            if metric == report.target.metric() { number(report.target.value()) } else { String::new() };
        let found = count.found.as_ref().ok();
        let text = |n: Option<u64>| n.map(|n| n.to_string()).unwrap_or_default();
        let reason = count.found.as_ref().err().map(ToString::to_string).unwrap_or_default();
        [
            who.into(),
            metric.name().into(),
            target,
            text(found.map(|f| f.n)),
            text(found.map(|f| f.low)),
            text(found.map(|f| f.high)),
            reason,
            ratio,
            factor,
        ]
    };
    let ratio = report.ratio.map(|r| number(r.value)).unwrap_or_default();
    let rows = [
        row("protocol", &report.needed, ratio, value(&report.participation)),
        row("truth", &report.truth, String::new(), String::new()),
    ];
    table(header, rows.into_iter())
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
    let users = evaluation.users.map(|n| n.to_string()).unwrap_or_default();
    let [value, error, method, reason, warning] = answer(&evaluation.answer);
    [evaluation.metric.name().into(), users, value, error, method, reason, warning]
}

/// Value, error, method, reason and warning.
fn answer(answer: &Answer) -> [String; 5] {
    let (error, method) = match &answer.value {
        Ok(Value::Number(e)) => (number(e.error), e.method.name()),
        Ok(Value::Count(_, method) | Value::Truth(_, method)) => ("0".into(), method.name()),
        Err(_) => (String::new(), ""),
    };
    let reason = answer.value.as_ref().err().map(ToString::to_string).unwrap_or_default();
    [value_of(answer), error, method.into(), reason, answer.warning.clone().unwrap_or_default()]
}

fn value(evaluation: &MetricEvaluation) -> String {
    value_of(&evaluation.answer)
}

fn value_of(answer: &Answer) -> String {
    match &answer.value {
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
