//! One value of a line of JSON.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::domain::ValueProblem;

/// The text, or the digits of the number, under a key of a JSON object.
pub(super) fn json_value(line: &[u8], key: &str) -> Result<String, ValueProblem> {
    let mut parser = serde_json::Deserializer::from_slice(line);
    let value = Key(key).deserialize(&mut parser).and_then(|value| parser.end().map(|()| value));
    let value = value.map_err(|_| ValueProblem::Row)?.ok_or(ValueProblem::Missing)?;
    match value.get() {
        "null" => Err(ValueProblem::Missing),
        text if text.starts_with('"') => serde_json::from_str(text).map_err(|_| ValueProblem::Row),
        number if number.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => Ok(number.to_owned()),
        _ => Err(ValueProblem::Row),
    }
}

/// Finds one key of an object, which must be there once at most. (A map would let the last of two stand for both, and a tree of numbers
/// would round them.)
struct Key<'k>(&'k str);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Option<Box<RawValue>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Key<'_> {
    type Value = Option<Box<RawValue>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut value = None;
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            if key != self.0 {
                map.next_value::<IgnoredAny>()?;
            } else if value.replace(map.next_value()?).is_some() {
                return Err(serde::de::Error::custom("the key is there twice"));
            }
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_of_an_object_is_the_value() {
        let value = |text: &str| json_value(text.as_bytes(), "value");
        assert_eq!(value(r#"{"id": {"value": 1}, "value": "r\u0065d"}"#), Ok("red".into()));
        assert_eq!(value(r#"{"val\u0075e": 2.0}"#), Ok("2.0".into()));
        assert_eq!(value(r#"{"value": 1.00000000000000000001}"#), Ok("1.00000000000000000001".into()));
        assert_eq!(value(r#"{"value": null}"#), Err(ValueProblem::Missing));
        assert_eq!(value(r#"{"values": 1}"#), Err(ValueProblem::Missing));
        for bad in [
            r#"{"value":0,"value":1}"#,
            r#"{"value":[0]}"#,
            r#"{"value":true}"#,
            r#"{"value":0} 1"#,
            "[0]",
            "0",
        ] {
            assert_eq!(value(bad), Err(ValueProblem::Row), "{bad}");
        }
    }
}
