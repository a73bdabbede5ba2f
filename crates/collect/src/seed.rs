//! Seeds in JSON: a number, or in quotes where a double would round it. Both are read.

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Deserialize as Derived, Serializer};

/// Up to here every whole number is a double.
pub(crate) const MOST_IN_A_DOUBLE: u64 = 1 << 53;

/// The seed in quotes.
pub(crate) fn read(text: &str) -> Option<u64> {
    text.parse().ok().filter(|seed: &u64| seed.to_string() == text)
}

#[derive(Derived)]
#[serde(untagged)]
enum Written {
    Number(u64),
    Quoted(String),
}

pub(crate) fn serialize<S: Serializer>(seed: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    match seed {
        Some(seed) if *seed > MOST_IN_A_DOUBLE => serializer.collect_str(seed),
        Some(seed) => serializer.serialize_u64(*seed),
        None => serializer.serialize_none(),
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    match Written::deserialize(deserializer)? {
        Written::Number(seed) => Ok(Some(seed)),
        Written::Quoted(text) => read(&text).map(Some).ok_or_else(|| D::Error::custom("not a seed")),
    }
}
