//! JSON, for programs: the machine interface, to be kept.

mod design;

pub use design::{budget, choose, design, frontier};

use serde::Serialize;
use serde_json::{Value as Json, json};
use sottovoce::metric::{Answer, Value};

use crate::compare::{Comparison, Contender, Round};
use crate::metrics::MetricEvaluation;
use crate::users::{Count, Evaluated, UsersReport, Wanted};

/// A report as its serialisation, laid out so that people can read it too: one line for each key, and within it one line for each
/// entry of a list of objects or of an object of objects; no line breaks further inside.
pub fn report(report: &impl Serialize) -> String {
    // Unwrap safety: our types have text keys, and none of them refuses to be serialised.
    let Json::Object(keys) = serde_json::to_value(report).unwrap() else {
        unreachable!("reports are objects")
    };
    let lines: Vec<String> =
        keys.iter().map(|(key, value)| format!("\"{key}\": {}", in_lines(value))).collect();
    format!("{{{}}}\n", lines.join(",\n "))
}

/// A value of a report, in one or several lines.
fn in_lines(value: &Json) -> String {
    let holds = |value: &Json| value.is_object() || value.is_array();
    match value {
        Json::Array(entries) if entries.first().is_some_and(holds) => {
            let lines: Vec<String> = entries.iter().map(Json::to_string).collect();
            format!("[\n  {}]", lines.join(",\n  "))
        }
        Json::Object(entries) if !entries.is_empty() && entries.values().all(Json::is_object) => {
            let lines: Vec<String> =
                entries.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
            format!("{{\n  {}}}", lines.join(",\n  "))
        }
        other => other.to_string(),
    }
}

/// The report of the job `users`.
pub fn users(report: &UsersReport) -> String {
    let mut target = json!({"metric": report.wanted.quantity().name(), "value": report.wanted.value()});
    if let Wanted::Accuracy(error) = report.wanted {
        target["estimator"] = json!(error.measure.estimator.name());
    }
    let ratio = report.ratio.map(|r| json!({"value": r.value, "low": r.low, "high": r.high}));
    object(&[
        ("protocol", compact(&report.protocol)),
        ("prior", compact(&report.prior)),
        ("target", compact(&target)),
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
    json["evaluations"] = count.evaluations.iter().map(evaluated).collect();
    compact(&json)
}

/// The report of the job `compare`.
pub fn comparison(report: &Comparison) -> String {
    let matched = report.matched.map(|w| json!({"metric": w.quantity.name(), "value": w.value}));
    let better = if report.sort.direction() == Some(-1.0) { "lower" } else { "higher" };
    let round = |round: &Round| {
        let contenders: Vec<Json> = round.contenders.iter().map(|c| contender(report, c)).collect();
        compact(&json!({"at": round.at, "protocols": contenders}))
    };
    object(&[
        ("prior", compact(&report.prior)),
        ("n", compact(&report.n)),
        ("match", compact(&matched)),
        ("sweep", compact(&report.swept.map(|s| s.name()))),
        ("sort", compact(&json!({"metric": report.sort.name(), "better": better}))),
        ("estimator", compact(&report.estimator.name())),
        ("rounds", lines(report.rounds.iter().map(round))),
    ])
}

fn contender(report: &Comparison, contender: &Contender) -> Json {
    let work = contender.work;
    let mut json = json!({
        "name": report.names[contender.position],
        "protocol": contender.protocol,
        "best": contender.best,
        "report_bits": work.map(|w| w.bits),
        "client_draws": work.map(|w| w.client),
        "aggregator_steps": work.map(|w| w.aggregator),
        "evaluations": contender.evaluations.iter().map(evaluated).collect::<Vec<Json>>(),
    });
    if let Some(mismatch) = &contender.mismatch {
        json["reason"] = json!(mismatch.to_string());
    }
    json
}

/// One metric with its value, or the reason why it has none.
fn evaluation(evaluation: &MetricEvaluation) -> Json {
    let MetricEvaluation { metric, users, answer } = evaluation;
    self::answer(json!({"metric": metric.name(), "n": users}), answer)
}

/// As [`evaluation`], for what is a metric or an error.
fn evaluated(evaluated: &Evaluated) -> Json {
    let Evaluated { quantity, users, answer } = evaluated;
    self::answer(json!({"metric": quantity.name(), "n": users}), answer)
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
    if let Some((low, high)) = answer.bracket() {
        json["bracket"] = json!([number(low), number(high)]);
    }
    if let Some(warning) = &answer.warning {
        json["warning"] = json!(warning);
    }
    json
}

/// A number; JSON has no infinity, so it is a text, and no NaN, so it is null.
/// A number with its error and method.
fn numbered(evaluation: &sottovoce::Evaluation) -> Json {
    let sottovoce::Evaluation { value, error, method, .. } = evaluation;
    json!({"value": number(*value), "error": number(*error), "method": method.name()})
}

fn number(value: f64) -> Json {
    match value {
        f64::INFINITY => json!("inf"),
        f64::NEG_INFINITY => json!("-inf"),
        0.0 => json!(0),
        _ => json!(value),
    }
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

/// A list with one line for each entry.
fn lines(entries: impl Iterator<Item = String>) -> String {
    let entries: Vec<String> = entries.collect();
    if entries.is_empty() { "[]".into() } else { format!("[\n  {}]", entries.join(",\n  ")) }
}
