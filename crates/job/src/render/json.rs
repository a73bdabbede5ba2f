//! JSON, for programs: the machine interface, to be kept.

use serde::Serialize;
use serde_json::{Value as Json, json};
use sottovoce::metric::{Answer, Value};

use crate::collection::Summary;
use crate::demo::DemoReport;
use crate::describe::{Branch, Description};
use crate::metrics::{MetricEvaluation, MetricsReport};
use crate::split::{PARTS, Side, Split};
use crate::users::{Count, UsersReport};

/// The report of the job `metrics`.
pub fn metrics(report: &MetricsReport) -> String {
    let evaluations = report.evaluations.iter().map(|e| compact(&evaluation(e)));
    object(&[
        ("protocol", compact(&report.protocol)),
        ("prior", compact(&report.prior)),
        ("evaluations", lines(evaluations)),
    ])
}

/// The report of the job `describe`.
pub fn description(report: &Description) -> String {
    let matrix = report.matrix.as_ref().map(|m| json!({"outputs": m.outputs, "rows": m.rows}));
    let realised = match &report.realised {
        Ok(realised) => json!({"value": number(realised.level), "exact": realised.exact}),
        Err(reason) => json!({"value": null, "reason": reason}),
    };
    object(&[
        ("protocol", compact(&report.protocol)),
        ("sentence", compact(&report.sentence)),
        ("inputs", compact(&report.inputs)),
        ("labels", compact(&report.labels)),
        ("outputs", compact(&report.outputs)),
        ("outputs_bits", compact(&report.outputs_bits)),
        ("report_bits", compact(&report.report_bits)),
        ("declared_ldp", compact(&report.declared_level.map(number))),
        ("realised_ldp", compact(&realised)),
        ("evaluations", lines(report.structure.iter().map(|e| compact(&evaluation(e))))),
        ("matrix", compact(&matrix)),
        ("tree", compact(&report.tree.as_ref().map(branch))),
    ])
}

/// The report of the job `split`.
pub fn split(report: &Split) -> String {
    let share = |e: Option<sottovoce::Evaluation>| match e {
        Some(e) => json!({"value": number(e.value), "error": number(e.error), "method": e.method.name()}),
        None => json!({"value": null}),
    };
    object(&[
        ("protocol", compact(&report.protocol)),
        ("prior", compact(&report.prior)),
        ("n", compact(&report.n)),
        ("users", side(&report.users)),
        ("aggregator", side(&report.aggregator)),
        ("share", entries(PARTS.into_iter().zip(report.shares().map(share)))),
        ("evaluations", lines(report.utilities.iter().map(|e| compact(&evaluation(e))))),
    ])
}

fn side(side: &Side) -> String {
    entries(PARTS.into_iter().zip(side.entries().map(|entry| answer(json!({}), entry))))
}

/// The report of the job `users`.
pub fn users(report: &UsersReport) -> String {
    let (target, metric) = (report.target.value(), report.target.metric());
    let ratio = report.ratio.map(|r| json!({"value": r.value, "low": r.low, "high": r.high}));
    object(&[
        ("protocol", compact(&report.protocol)),
        ("prior", compact(&report.prior)),
        ("target", compact(&json!({"metric": metric.name(), "value": target}))),
        ("needed", count(&report.needed)),
        ("truth", count(&report.truth)),
        ("ratio", compact(&ratio)),
        ("f_mu", compact(&evaluation(&report.participation))),
    ])
}

/// A number of users, or the reason why there is none, with the metric there and at one user fewer.
fn count(count: &Count) -> String {
    let mut json = json!({"n": null, "low": null, "high": null});
    match &count.found {
        Ok(found) => json = json!({"n": found.n, "low": found.low, "high": found.high}),
        Err(obstacle) => json["reason"] = json!(obstacle.to_string()),
    }
    json["evaluations"] = count.evaluations.iter().map(evaluation).collect();
    compact(&json)
}

/// The summary of a job of a collection.
pub fn collection(report: &Summary) -> String {
    let facts = report.facts.iter().map(|(name, value)| (*name, compact(value)));
    object(&facts.chain([("notes", compact(&report.notes))]).collect::<Vec<_>>())
}

/// The report of the job `demo`.
pub fn demo(report: &DemoReport) -> String {
    let protocol = |m: &MetricsReport| {
        let evaluations: Vec<Json> = m.evaluations.iter().map(evaluation).collect();
        compact(&json!({"protocol": m.protocol, "prior": m.prior, "evaluations": evaluations}))
    };
    let frequency = |f: &crate::demo::Frequency| {
        compact(
            &json!({"label": f.label, "truth": f.truth, "estimate": f.estimate, "standard_error": f.standard_error}),
        )
    };
    object(&[
        ("source", compact(&crate::demo::SOURCE)),
        ("users", compact(&report.users)),
        ("seed", compact(&report.seed)),
        ("comparison", lines(report.comparison.iter().map(protocol))),
        ("best", compact(&report.best)),
        ("frequencies", lines(report.frequencies.iter().map(frequency))),
    ])
}

/// One metric with its value, or the reason why it has none.
fn evaluation(evaluation: &MetricEvaluation) -> Json {
    let MetricEvaluation { metric, users, answer } = evaluation;
    self::answer(json!({"metric": metric.name(), "n": users}), answer)
}

/// Adds a value, or the reason why there is none, to an object.
fn answer(mut json: Json, answer: &Answer) -> Json {
    for key in ["value", "error", "method"] {
        json[key] = Json::Null;
    }
    match &answer.value {
        Ok(value) => {
            let (value, error, method) = match value {
                Value::Number(e) => (number(e.value), number(e.error), e.method),
                Value::Count(count, method) => (json!(count), json!(0), *method),
                Value::Truth(truth, method) => (json!(truth), json!(0), *method),
            };
            json["value"] = value;
            json["error"] = error;
            json["method"] = json!(method.name());
        }
        Err(absence) => json["reason"] = json!(absence.to_string()),
    }
    if let Some(warning) = &answer.warning {
        json["warning"] = json!(warning);
    }
    json
}

/// A number; JSON has no infinity, so it is a text, and no NaN, so it is null.
fn number(value: f64) -> Json {
    match value {
        f64::INFINITY => json!("inf"),
        f64::NEG_INFINITY => json!("-inf"),
        0.0 => json!(0),
        _ => json!(value),
    }
}

fn branch(branch: &Branch) -> Json {
    let parts: Vec<Json> = branch.parts.iter().map(self::branch).collect();
    json!({"weight": branch.weight, "summary": branch.summary, "parts": parts})
}

fn compact(value: &impl Serialize) -> String {
    // Unwrap safety: our types have text keys, and writing to a string does not fail.
    serde_json::to_string(value).unwrap()
}

/// An object with one line for each key.
fn object(entries: &[(&str, String)]) -> String {
    let entries: Vec<String> = entries.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
    format!("{{{}}}\n", entries.join(",\n "))
}

/// An object within an object, with one line for each key.
fn entries<'a>(entries: impl Iterator<Item = (&'a str, Json)>) -> String {
    let entries: Vec<String> =
        entries.map(|(key, value)| format!("\"{key}\": {}", compact(&value))).collect();
    format!("{{\n  {}}}", entries.join(",\n  "))
}

/// A list with one line for each entry.
fn lines(entries: impl Iterator<Item = String>) -> String {
    format!("[\n  {}]", entries.collect::<Vec<_>>().join(",\n  "))
}
