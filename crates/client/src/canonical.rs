//! The canonical specification of a protocol, and its fingerprint.
//!
//! `kind` first, then the keys of the kind in their order, then `labels` if there are any; no spaces. Numbers that are not counts are the shortest decimals that
//! read back as the same double: with a decimal point where they are 0 or `1e-5 ≤ |x| < 1e16`, else as `1.5e-6`.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// What stands under a key.
#[derive(Clone, Copy)]
enum Form {
    Count,
    Counts,
    Number,
    Numbers,
    Rows,
    Specifications,
}

use Form::{Count, Counts, Number, Numbers, Rows, Specifications};

/// The keys of each kind, in their order.
const KINDS: [(&str, &[(&str, Form)]); 15] = [
    ("identity", &[("a", Count)]),
    ("grr", &[("a", Count), ("epsilon", Number)]),
    ("ue", &[("a", Count), ("kappa", Number), ("lambda", Number)]),
    ("rappor", &[("a", Count), ("epsilon", Number)]),
    ("oue", &[("a", Count), ("epsilon", Number)]),
    ("blh", &[("a", Count), ("epsilon", Number)]),
    ("lh", &[("a", Count), ("g", Count), ("epsilon", Number)]),
    ("subset", &[("a", Count), ("k", Count), ("epsilon", Number)]),
    ("block", &[("a", Count), ("v", Count), ("k", Count), ("epsilon", Number)]),
    ("deterministic", &[("map", Counts)]),
    ("erasure", &[("a", Count), ("reveal", Number)]),
    ("matrix", &[("rows", Rows)]),
    ("composition", &[("steps", Specifications)]),
    ("product", &[("factors", Specifications)]),
    ("mixture", &[("weights", Numbers), ("parts", Specifications)]),
];

/// The canonical text of a specification; `None` if it is none, or lacks a size that may be left out elsewhere.
pub fn canonical(specification: &Value) -> Option<String> {
    let object = specification.as_object()?;
    let kind = object.get("kind")?.as_str()?;
    let (_, keys) = KINDS.iter().find(|(name, _)| *name == kind)?;
    let labels = object.get("labels").map(texts);
    if object.len() != 1 + keys.len() + usize::from(labels.is_some()) {
        return None;
    }
    let mut text = format!(r#"{{"kind":"{kind}""#);
    for (key, form) in *keys {
        text += &format!(r#","{key}":{}"#, form.text(object.get(*key)?)?);
    }
    if let Some(labels) = labels {
        text += &format!(r#","labels":{}"#, labels?);
    }
    Some(text + "}")
}

/// The SHA-256 of the canonical text, in lower-case hexadecimal.
pub fn fingerprint(canonical: &str) -> String {
    Sha256::digest(canonical.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Form {
    fn text(self, value: &Value) -> Option<String> {
        match self {
            Count => count(value),
            Number => number(value),
            Counts => list(value, count),
            Numbers => list(value, number),
            Rows => list(value, |row| list(row, number)),
            Specifications => list(value, canonical),
        }
    }
}

fn list(value: &Value, item: impl Fn(&Value) -> Option<String>) -> Option<String> {
    let items: Option<Vec<String>> = value.as_array()?.iter().map(item).collect();
    Some(format!("[{}]", items?.join(",")))
}

/// A whole number; some programs write it as `3.0`.
fn count(value: &Value) -> Option<String> {
    let whole = value.as_f64().filter(|x| *x >= 0.0 && *x < 9e15 && x.fract() == 0.0)?;
    Some(format!("{whole:.0}"))
}

fn number(value: &Value) -> Option<String> {
    serde_json::to_string(&value.as_f64()?).ok()
}

fn texts(value: &Value) -> Option<String> {
    list(value, |label| label.is_string().then(|| label.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical_of(text: &str) -> Option<String> {
        canonical(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn spaces_and_the_order_and_layout_of_numbers_do_not_matter() {
        let wanted = r#"{"kind":"grr","a":3,"epsilon":1.0,"labels":["é","\"\n\u001f"]}"#;
        for text in
            [wanted, r#"{"epsilon":1, "a":3.0, "kind":"grr", "labels":["\u00e9","\u0022\u000a\u001F"]}"#]
        {
            assert_eq!(canonical_of(text).as_deref(), Some(wanted), "{text}");
        }
    }

    #[test]
    fn what_is_incomplete_has_no_canonical_form() {
        for text in [
            r#"{"kind":"lh","a":3,"epsilon":1}"#,
            r#"{"kind":"grr","a":3,"epsilon":1,"g":2}"#,
            r#"{"kind":"grr","a":3.5,"epsilon":1}"#,
            r#"{"kind":"grr","a":"3","epsilon":1}"#,
            r#"{"kind":"new","a":3}"#,
            r#"{"kind":"product","factors":[{"kind":"identity"}]}"#,
            "[]",
        ] {
            assert_eq!(canonical_of(text), None, "{text}");
        }
    }
}
