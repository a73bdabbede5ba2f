//! Numbers in reports.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// A number of a report as JSON has it: infinite numbers are the texts `"inf"` and `"-inf"`, NaN is null, and zero is `0`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number(pub f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            f64::INFINITY => serializer.serialize_str("inf"),
            f64::NEG_INFINITY => serializer.serialize_str("-inf"),
            0.0 => serializer.serialize_u64(0),
            value if value.is_nan() => serializer.serialize_unit(),
            value => serializer.serialize_f64(value),
        }
    }
}

impl JsonSchema for Number {
    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number; \"inf\" or \"-inf\" if it is infinite, null if it is not a number.",
            "anyOf": [{"type": "number"}, {"enum": ["inf", "-inf"]}, {"type": "null"}],
        })
    }
}

/// Serialises a field of type `f64` as a [`Number`].
pub(crate) fn number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Number(*value).serialize(serializer)
}

/// Serialises a field of type `Option<f64>` as an optional [`Number`].
pub(crate) fn optional_number<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    value.map(Number).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_json_lacks_are_texts_or_null() {
        let text = |value: f64| serde_json::to_string(&Number(value)).unwrap();
        assert_eq!((text(f64::INFINITY), text(f64::NEG_INFINITY)), ("\"inf\"".into(), "\"-inf\"".into()));
        assert_eq!((text(f64::NAN), text(0.0), text(-0.0)), ("null".into(), "0".into(), "0".into()));
        assert_eq!((text(1.0), text(1e-300)), ("1.0".into(), "1e-300".into()));
    }
}
