//! Whole numbers, and lists of one, in requests.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserialize, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};

/// Largest whole number that may be written with an exponent: up to here doubles have no gaps.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// A whole number of 0 or more, also written as `1e6`: for JSON that is the same number as `1000000`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Whole(u64);

impl From<Whole> for u64 {
    fn from(whole: Whole) -> Self {
        whole.0
    }
}

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WholeVisitor)
    }
}

struct WholeVisitor;

impl Visitor<'_> for WholeVisitor {
    type Value = Whole;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number of 0 or more")
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Whole, E> {
        Ok(Whole(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Whole, E> {
        let refused = |_| E::invalid_value(de::Unexpected::Signed(value), &self);
        value.try_into().map(Whole).map_err(refused)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Whole, E> {
        if value.fract() == 0.0 && (0.0..=MAX_EXACT).contains(&value) {
            return Ok(Whole(value as u64));
        }
        Err(E::invalid_value(de::Unexpected::Float(value), &self))
    }
}

impl JsonSchema for Whole {
    fn schema_name() -> Cow<'static, str> {
        "Whole".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": 0, "maximum": u64::MAX})
    }
}

/// Reads a field of type `u64`.
pub(crate) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Whole::deserialize(deserializer).map(u64::from)
}

/// Reads a field of type `usize`.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let whole = whole(deserializer)?;
    usize::try_from(whole).map_err(|_| de::Error::custom(format!("{whole} is too large")))
}

/// Reads a field of type `Option<u64>`; null is none.
pub(crate) fn optional_whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(Option::<Whole>::deserialize(deserializer)?.map(u64::from))
}

/// Reads a field of type `Option<usize>`; null is none.
pub(crate) fn optional_count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    let whole = optional_whole(deserializer)?;
    let fits = |whole| usize::try_from(whole).map_err(|_| de::Error::custom(format!("{whole} is too large")));
    whole.map(fits).transpose()
}

/// One thing or a list of them: `1000` is the same as `[1000]`.
pub(crate) struct OneOrMore<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for OneOrMore<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("OneOrMore_{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let item = generator.subschema_for::<T>();
        json_schema!({"anyOf": [item, {"type": "array", "items": item}]})
    }
}

/// Reads a field of type `Vec<T>` whose entries are written as a `W`; a single entry needs no brackets.
pub(crate) fn one_or_more<'de, D, W, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    W: Deserialize<'de> + Into<T>,
{
    let list: Vec<W> = deserializer.deserialize_any(ListVisitor(PhantomData))?;
    Ok(list.into_iter().map(Into::into).collect())
}

struct ListVisitor<W>(PhantomData<W>);

impl<'de, W: Deserialize<'de>> Visitor<'de> for ListVisitor<W> {
    type Value = Vec<W>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one entry or a list of entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, entries: A) -> Result<Vec<W>, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(entries))
    }

    fn visit_map<A: MapAccess<'de>>(self, keys: A) -> Result<Vec<W>, A::Error> {
        W::deserialize(MapAccessDeserializer::new(keys)).map(|one| vec![one])
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Vec<W>, E> {
        W::deserialize(value.into_deserializer()).map(|one| vec![one])
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Vec<W>, E> {
        W::deserialize(value.into_deserializer()).map(|one| vec![one])
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Vec<W>, E> {
        W::deserialize(value.into_deserializer()).map(|one| vec![one])
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<W>, E> {
        W::deserialize(text.into_deserializer()).map(|one| vec![one])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> serde_json::Result<Vec<u64>> {
        one_or_more::<_, Whole, _>(&mut serde_json::Deserializer::from_str(text))
    }

    #[test]
    fn one_is_a_list_of_one_and_exponents_are_whole() {
        assert_eq!(numbers("1000").unwrap(), [1000]);
        assert_eq!(numbers("[1, 1e6, 18446744073709551615]").unwrap(), [1, 1_000_000, u64::MAX]);
        for bad in ["1.5", "-1", "1e300", "\"1\"", "null", "{}", "[[1]]", "true"] {
            assert!(numbers(bad).is_err(), "{bad}");
        }
    }
}
