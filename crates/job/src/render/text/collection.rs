//! The text of the jobs of a collection.

use serde_json::Value as Json;

use super::{WIDTH, clipped};
use crate::collection::Summary;
use crate::render::document::{Document, Emphasis};

/// The summary of a job of a collection.
pub fn collection(report: &Summary) -> Document {
    let mut document = Document::default();
    document.title("What the collection holds");
    for (name, value) in report.facts.iter().filter(|(_, value)| !value.is_null()) {
        let name = if *name == "n" { "reports".into() } else { name.replace('_', " ") };
        document.fact(&name, words(value));
    }
    for note in &report.notes {
        document.line(Emphasis::Plain, "").paragraph(Emphasis::Warning, 0, WIDTH, &clipped(note, 2000));
    }
    document
}

/// A value in words: counts by reason as a list.
fn words(value: &Json) -> String {
    match value {
        Json::String(text) => clipped(text, 200),
        Json::Object(counts) => {
            let entry = |(reason, count): (&String, &Json)| format!("{} {count}", reason.replace('_', " "));
            counts.iter().map(entry).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}
