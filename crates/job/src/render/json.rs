//! JSON, for programs: the machine interface, to be kept.

use serde::Serialize;
use serde_json::{Value as Json, json};
use sottovoce::metric::{Answer, Value};
use sottovoce::posterior::Summary;

use crate::compare::Contender;
use crate::demo::DemoReport;
use crate::estimate::{Column, EstimateReport};
use crate::posterior::PosteriorReport;
use crate::quantity::Evaluated;

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

/// The summary of a job of a collection.
pub fn collection(report: &crate::collection::Summary) -> String {
    let facts = report.facts.iter().map(|(name, value)| (*name, compact(value)));
    object(&facts.chain([("notes", compact(&report.notes))]).collect::<Vec<_>>())
}

/// The report of the job `posterior`.
pub fn posterior(report: &PosteriorReport) -> String {
    let found = &report.posterior;
    let evidence = found.log_evidence.as_ref();
    let summaries = |summaries: &[Summary]| {
        lines(report.labels.iter().zip(summaries).map(|(label, s)| compact(&summary(label, s))))
    };
    let diagnostics = found.diagnostics.as_ref().map(|d| {
        json!({
            "chains": d.chains, "length": d.length, "r_hat": number(d.r_hat), "ess_bulk": number(d.bulk),
            "ess_tail": number(d.tail), "acceptance": number(d.acceptance), "converged": d.converged,
        })
    });
    object(&[
        ("protocol", compact(&report.protocol)),
        ("prior", compact(&report.prior)),
        ("n", compact(&found.n)),
        ("level", compact(&number(report.level))),
        ("method", compact(&found.method.name())),
        ("log_evidence", compact(&evidence.ok().map(|e| number(e.value)))),
        ("log_evidence_error", compact(&evidence.ok().map(|e| number(e.error)))),
        ("log_evidence_reason", compact(&evidence.err())),
        ("p", summaries(&found.p)),
        ("t", summaries(&found.t)),
        ("t_quantiles_method", compact(&found.t_quantiles.name())),
        ("diagnostics", compact(&diagnostics)),
    ])
}

/// A marginal with the name of its value.
fn summary(label: &str, summary: &Summary) -> Json {
    let quantile = |(q, value): &(f64, f64)| (probability(*q), number(*value));
    let quantiles: serde_json::Map<String, Json> = summary.quantiles.iter().map(quantile).collect();
    let mut json = json!({
        "label": label, "mean": number(summary.mean), "sd": number(summary.sd), "error": number(summary.error),
        "quantiles": quantiles,
    });
    if !summary.density.is_empty() {
        json["density"] = summary.density.iter().map(|(p, density)| json!([p, density])).collect();
    }
    json
}

/// A probability as the name of its quantile: `0.05` and not `0.04999999999999999`.
fn probability(q: f64) -> String {
    ((q * 1e12).round() / 1e12).to_string()
}

/// The report of the job `demo`.
pub fn demo(report: &DemoReport) -> String {
    let guesses = report.guesses;
    object(&[
        ("source", compact(&crate::demo::SOURCE)),
        ("users", compact(&report.users)),
        ("seed", compact(&report.seed)),
        ("ladder", lines(report.ladder.iter().map(|rung| compact(&self::rung(report, rung))))),
        ("chosen", compact(&report.chosen)),
        ("protocol", compact(&report.protocol)),
        ("realised_ldp", compact(&number(report.realised_level))),
        ("different_reports", compact(&report.different)),
        ("level", compact(&report.posterior.level)),
        ("method", compact(&report.posterior.posterior.method.name())),
        ("shares", lines(report.shares.iter().map(|s| compact(&share(s))))),
        ("people", lines(report.people.iter().map(|p| compact(&person(p))))),
        ("guesses", compact(&json!({"without_reports": guesses.without, "with_reports": guesses.with}))),
    ])
}

fn rung(report: &DemoReport, rung: &crate::demo::Rung) -> Json {
    let contender = |(c, error): (&Contender, &sottovoce::Evaluation)| {
        json!({
            "name": report.names[c.position],
            "protocol": c.protocol,
            "best": c.best,
            "typical_error": numbered(error),
            "evaluations": c.evaluations.iter().map(evaluated).collect::<Vec<Json>>(),
        })
    };
    let protocols: Vec<Json> =
        rung.round.contenders.iter().zip(&rung.typical_errors).map(contender).collect();
    json!({"epsilon": rung.epsilon, "protocols": protocols})
}

fn share(share: &crate::demo::Share) -> Json {
    json!({
        "label": share.label,
        "truth": share.truth,
        "linear": share.linear,
        "standard_error": share.standard_error,
        "mean": share.mean,
        "low": share.interval.0,
        "high": share.interval.1,
        "covered": share.is_covered(),
    })
}

fn person(person: &crate::demo::Person) -> Json {
    let answer = crate::demo::EDUCATION[person.answer].0;
    let supported: Vec<&str> = person.supported.iter().map(|x| crate::demo::EDUCATION[*x].0).collect();
    json!({"answer": answer, "report_supports": supported, "belief_before": person.before, "belief_after": person.after})
}

/// The report of the job `estimate`.
pub fn estimate(report: &EstimateReport) -> String {
    let input = |(x, label): (usize, &String)| {
        let mut json = json!({"label": label});
        for Column { estimator, estimate } in &report.columns {
            let Ok(found) = estimate else { continue };
            let error = found.standard_errors.as_ref().map(|errors| errors[x]);
            let (low, high) = (found.intervals[x].low, found.intervals[x].high);
            json[estimator.name()] =
                json!({"estimate": found.values[x], "standard_error": error, "low": low, "high": high});
            if let Some(errors) = &found.monte_carlo_errors {
                json[estimator.name()]["monte_carlo_error"] = json!(errors[x]);
            }
        }
        compact(&json)
    };
    let mut entries = vec![
        ("protocol", compact(&report.protocol)),
        ("n", compact(&report.n)),
        ("level", compact(&report.level)),
        ("estimators", lines(report.columns.iter().map(|column| compact(&estimator(column))))),
        ("p", lines(report.labels.iter().enumerate().map(input))),
    ];
    if let Some(covariance) = &report.covariance {
        entries.push(("covariance", lines(covariance.iter().map(compact))));
    }
    object(&entries)
}

/// How an estimator came to its frequencies, or why it has none.
fn estimator(column: &Column) -> Json {
    let mut json = json!({"estimator": column.estimator.name()});
    match &column.estimate {
        Ok(found) => {
            json["sum"] = json!(found.values.iter().sum::<f64>());
            json["intervals"] = json!(found.interval_method.name());
            if let Some(c) = found.certificate {
                json["gap"] = number(c.gap);
                json["tolerance"] = json!(c.tolerance);
                json["converged"] = json!(c.holds());
                json["passes"] = json!(c.passes);
            }
        }
        Err(reason) => json["reason"] = json!(reason),
    }
    json
}

/// A metric or error with its value, or the reason why it has none.
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

/// A number with its error and method.
fn numbered(evaluation: &sottovoce::Evaluation) -> Json {
    let sottovoce::Evaluation { value, error, method, .. } = evaluation;
    json!({"value": number(*value), "error": number(*error), "method": method.name()})
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
