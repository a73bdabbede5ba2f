//! Protocols and priors in requests: a JSON object, or a text with a shorthand such as `grr:a=16,eps=1`.
//!
//! A request may come from a stranger, so a text is never taken for the name of a file.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer};
use serde::{Serialize, Serializer};

use crate::error::{Error, Result};
use crate::source::{Source, Written};
use crate::spec::{PriorSpec, ProtocolSpec, Tree, prior_of_tree, protocol_of_tree, tree_of_shorthand};

/// What can be written in a request as an object or as a shorthand.
pub(crate) trait Specification: Sized {
    /// What it is, as a request calls it.
    const WHAT: &'static str;

    /// Whether a text may be a shorthand for it.
    const SHORTHAND: bool = true;

    /// Reads it from a tree.
    fn of_tree(tree: Tree) -> Result<Self>;
}

impl Specification for ProtocolSpec {
    const WHAT: &'static str = "protocol";

    fn of_tree(tree: Tree) -> Result<Self> {
        protocol_of_tree(tree)
    }
}

impl Specification for PriorSpec {
    const WHAT: &'static str = "prior";

    fn of_tree(tree: Tree) -> Result<Self> {
        prior_of_tree(tree)
    }
}

impl<T: Default> Default for Written<T> {
    fn default() -> Self {
        T::default().into()
    }
}

impl<T: Serialize> Serialize for Written<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.spec.serialize(serializer)
    }
}

impl<'de, T: Specification> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let source = Source::Request(T::WHAT);
        let read = match Tree::deserialize(deserializer)? {
            Tree::Text(text) if T::SHORTHAND => tree_of_shorthand(&text, &source).and_then(T::of_tree),
            tree => T::of_tree(tree),
        };
        let spec = read.map_err(|error| de::Error::custom(in_words(error.found_in(&source))))?;
        Ok(Written { spec, source })
    }
}

/// The error with its hint: a deserialiser passes on only one text.
fn in_words(error: Error) -> String {
    error.hint().map_or_else(|| error.to_string(), |hint| format!("{error} ({hint})"))
}

impl<T: JsonSchema + Specification> JsonSchema for Written<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Written{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let object = generator.subschema_for::<T>();
        if !T::SHORTHAND {
            return object;
        }
        json_schema!({
            "anyOf": [object, {"type": "string", "description": "A shorthand, such as grr:a=16,eps=1 or symmetric:alpha=1."}],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protocol(json: &str) -> serde_json::Result<Written<ProtocolSpec>> {
        serde_json::from_str(json)
    }

    #[test]
    fn an_object_and_a_shorthand_are_the_same() {
        let object = protocol(r#"{"kind": "grr", "a": 3, "epsilon": 1}"#).unwrap();
        assert_eq!(object, protocol(r#""grr:a=3,eps=1""#).unwrap());
        assert_eq!(serde_json::to_string(&object).unwrap(), r#"{"kind":"grr","a":3,"epsilon":1.0}"#);
    }

    #[test]
    fn a_text_is_never_a_file() {
        let file = tempfile::NamedTempFile::with_suffix(".json").unwrap();
        std::fs::write(file.path(), r#"{"kind": "grr", "a": 3, "epsilon": 1}"#).unwrap();
        let text = serde_json::to_string(&file.path()).unwrap();
        let refused = protocol(&text).unwrap_err().to_string();
        assert!(refused.contains("the request's protocol: kind: unknown kind"), "{refused}");
        for not in ["\"-\"", "\"\"", "\"/dev/stdin\"", "3", "null", "[]", "{}"] {
            assert!(protocol(not).is_err(), "{not}");
        }
    }
}
