//! JSON, for programs: the serialisation of the report, laid out.

use serde::Serialize;
use serde_json::Value as Json;

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
