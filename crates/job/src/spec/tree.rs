//! The text of a specification as a tree, before any meaning: the same for JSON and TOML.
//!
//! A tree of our own rather than `serde_json::Value`, because that lets the second of two equal keys win silently.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::error::{Error, Result};
use crate::source::{Source, Syntax};

/// A parsed text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree {
    Null,
    Truth(bool),
    Number(f64),
    Text(String),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

impl Tree {
    /// Parses JSON. The parser refuses more than 128 levels, twice what the deepest valid combination has.
    pub(crate) fn of_json(text: &str, source: &Source) -> Result<Self> {
        let parsed = serde_json::from_str::<Tree>(text);
        parsed.map_err(|error| {
            let place = (error.line(), error.column());
            if error.is_eof() {
                return unfinished(source, Syntax::Json, place);
            }
            let message = error.to_string();
            // The parser's own message ends with the place, which we give ourselves.
            let message = message.split(" at line ").next().unwrap_or_default();
            syntax_error(source, Syntax::Json, message, place)
        })
    }

    /// Parses TOML. The parser refuses more than 80 levels.
    pub(crate) fn of_toml(text: &str, source: &Source) -> Result<Self> {
        let parsed = toml::from_str::<Tree>(text);
        parsed.map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            syntax_error(source, Syntax::Toml, error.message(), line_and_column(text, start))
        })
    }

    /// What the tree is, for a message about what it is not.
    pub(crate) fn description(&self) -> String {
        match self {
            Tree::Null => "null".into(),
            Tree::Truth(truth) => truth.to_string(),
            Tree::Number(value) => number_text(*value),
            Tree::Text(text) => format!("the text \"{}\"", shown(text)),
            Tree::List(items) => format!("a list of {} entries", items.len()),
            Tree::Object(_) => "an object".into(),
        }
    }
}

/// A number as a person would write it, however large.
pub(crate) fn number_text(value: f64) -> String {
    if value == 0.0 || (1e-5..1e15).contains(&value.abs()) || !value.is_finite() {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

/// A text that ends before it is complete.
fn unfinished(source: &Source, format: Syntax, (line, column): (usize, usize)) -> Error {
    let (source_name, message) = (source.clone(), "the text ends too early".into());
    Error::Syntax { source_name, format, message, ends_early: true, line, column }
}

fn syntax_error(source: &Source, format: Syntax, message: &str, (line, column): (usize, usize)) -> Error {
    let source_name = source.clone();
    // Both parsers refuse deep nesting, and say so only in their words.
    if message.contains("recurs") {
        return Error::TooNested { source_name };
    }
    let message = shown_within(message.trim(), 200);
    Error::Syntax { source_name, format, message, ends_early: false, line, column }
}

/// Line and column, from 1, of a byte.
fn line_and_column(text: &str, position: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..position.min(text.len())];
    let line_start = before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    (1 + before.iter().filter(|b| **b == b'\n').count(), 1 + before.len() - line_start)
}

/// A user's text as a message may quote it: short, and without control characters that a terminal would obey.
pub(crate) fn shown(text: &str) -> String {
    shown_within(text, 60)
}

fn shown_within(text: &str, most: usize) -> String {
    let visible = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    let start: String = text.chars().take(most).map(visible).collect();
    if text.chars().nth(most).is_some() { start + "…" } else { start }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Tree, E> {
        Ok(Tree::Truth(truth))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Number(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Tree, E> {
        Ok(Tree::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree, A::Error> {
        let mut object: Vec<(String, Tree)> = Vec::new();
        while let Some((key, value)) = entries.next_entry::<String, Tree>()? {
            if object.iter().any(|(known, _)| *known == key) {
                return Err(de::Error::custom(format!("the key `{}` occurs twice", shown(&key))));
            }
            if object.len() == MAX_KEYS {
                return Err(de::Error::custom(format!("an object has more than {MAX_KEYS} keys")));
            }
            object.push((key, value));
        }
        Ok(Tree::Object(object))
    }
}

/// Most keys of an object, so that the search for equal keys stays cheap. No kind has more than five.
const MAX_KEYS: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Result<Tree> {
        Tree::of_json(text, &Source::InlineJson)
    }

    #[test]
    fn json_and_toml_give_the_same_tree() {
        let toml = Tree::of_toml("a = 3\nb = [1.5, 'x']\n[c]\nd = true", &Source::StandardInput).unwrap();
        assert_eq!(toml, json(r#"{"a": 3, "b": [1.5, "x"], "c": {"d": true}}"#).unwrap());
    }

    #[test]
    fn equal_keys_are_refused() {
        let error = json(r#"{"a": 3, "a": 4}"#).unwrap_err();
        assert!(error.to_string().contains("the key `a` occurs twice"), "{error}");
    }

    #[test]
    fn bad_syntax_is_reported_with_its_place() {
        let error = json("{\"a\": 3,\n \"b\"").unwrap_err();
        assert_eq!(
            error.to_string(),
            "inline JSON: not valid JSON: the text ends too early (line 2, column 4)"
        );
        let error = Tree::of_toml("a = 3\nb = ", &Source::StandardInput).unwrap_err();
        assert!(matches!(error, Error::Syntax { line: 2, .. }), "{error}");
    }

    #[test]
    fn deep_nesting_overflows_no_stack() {
        for depth in [200, 10_000, 1_000_000] {
            let brackets = "[".repeat(depth);
            let tables = "x.".repeat(depth.min(100_000)) + "y = 1";
            let objects = r#"{"x":"#.repeat(depth.min(100_000));
            assert!(matches!(json(&brackets), Err(Error::TooNested { .. })));
            assert!(matches!(json(&objects), Err(Error::TooNested { .. })));
            for text in [format!("x = {brackets}"), tables, "x = {y = ".repeat(depth.min(100_000))] {
                let error = Tree::of_toml(&text, &Source::StandardInput).unwrap_err();
                assert!(error.to_string().len() < 400, "{error}");
            }
        }
    }

    #[test]
    fn quoted_text_is_short_and_harmless() {
        assert_eq!(shown("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(shown(&"x".repeat(1000)).chars().count(), 61);
    }
}
