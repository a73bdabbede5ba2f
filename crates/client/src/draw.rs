//! How a report is drawn, in whole numbers: what the published protocol tells a client, so that it need not compute any.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer};
use serde::{Serialize, Serializer};

use crate::chance::{ALL, Chance, Wheel};
use crate::error::Fault;
use crate::sampler::{Bits, Blocks, Hash, Part, Response, Sampler, Start, Step, Subset};

/// The largest number of inputs, buckets and outputs.
const MOST: usize = 1 << 24;

/// A number of words out of `2^64`, in JSON a text: numbers above `2^53` lose digits in many programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(u128);

impl Serialize for Count {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Digits;
        impl de::Visitor<'_> for Digits {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number of words in a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Count, E> {
                let written = text.parse::<u128>().ok().filter(|n| *n <= ALL && n.to_string() == text);
                written.map(Count).ok_or_else(|| E::custom("not a number of words"))
            }
        }
        deserializer.deserialize_str(Digits)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Count {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Words".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A number of words out of 2^64.",
            "type": "string",
            "pattern": "^(0|[1-9][0-9]{0,19})$",
        })
    }
}

/// How the report on a value is drawn.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs)] // The fields are those of docs/report-format.md.
pub enum Draw {
    /// The value.
    Identity { a: usize },
    /// The value, or one of the others.
    Response { a: usize, truth: Count, lie: Count },
    /// A set of values: the own one with `own` words, each other one with `other`.
    Bits { a: usize, own: Count, other: Count },
    /// A seed, and the response on the value's bucket.
    Hash {
        a: usize,
        g: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        truth: Option<Count>,
        #[serde(skip_serializing_if = "Option::is_none")]
        lie: Option<Count>,
    },
    /// The same with a table of values instead of a seed: a step before the last of a composition.
    Table {
        a: usize,
        g: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        truth: Option<Count>,
        #[serde(skip_serializing_if = "Option::is_none")]
        lie: Option<Count>,
    },
    /// A set of `k` values, with the own one in it for `own` words.
    Subset { a: usize, k: usize, own: Count, start: Share },
    /// A block of a design, with the value in it for `own` words.
    Block { a: usize, v: usize, own: Count, set: Vec<u32> },
    /// A function of the value.
    Map { map: Vec<u32> },
    /// The value, or a blank.
    Erasure { a: usize, reveal: Count },
    /// For each value the words of each output.
    Columns { columns: Vec<Vec<Count>> },
    /// One after another.
    Composition { steps: Vec<Draw> },
    /// All together.
    Product { factors: Vec<Draw> },
    /// One of several.
    Mixture { weights: Vec<Count>, parts: Vec<Draw> },
}

/// The share `chance/2^digits` of values in the set that subset selection starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// The numerator.
    pub chance: u64,
    /// The binary digits of the denominator.
    pub digits: u32,
}

impl Draw {
    /// The sampler, if the numbers fit together.
    pub(crate) fn sampler(&self) -> Result<Sampler, Fault> {
        Ok(match self {
            Draw::Identity { a } => Sampler::Identity(size(*a)?),
            Draw::Response { a, truth, lie } => Sampler::Response(response(*a, *truth, *lie)?),
            Draw::Bits { a, own, other } => {
                Sampler::Bits(Bits { a: size(*a)?, kappa: own.chance(), lambda: other.chance() })
            }
            Draw::Hash { a, g, truth, lie } => Sampler::Hash(hash(*a, *g, *truth, *lie)?),
            Draw::Table { .. } => return Err(Fault::Draw),
            Draw::Subset { a, k, own, start } => Sampler::Subset(subset(*a, *k, *own, *start)?),
            Draw::Block { a, v, own, set } => Sampler::Blocks(blocks(*a, *v, *own, set)?),
            Draw::Map { map } => {
                size(map.len())?;
                require(map.iter().all(|y| (*y as usize) < MOST))?;
                Sampler::Map(map.clone())
            }
            Draw::Erasure { a, reveal } => Sampler::Erasure { a: size(*a)?, reveal: reveal.chance() },
            Draw::Columns { columns } => {
                size(columns.len())?;
                let outputs = columns[0].len();
                require((1..=MOST).contains(&outputs) && columns.iter().all(|c| c.len() == outputs))?;
                let columns = columns.iter().map(|column| wheel(column)).collect::<Result<_, _>>()?;
                Sampler::Columns { outputs, columns }
            }
            Draw::Composition { steps } => composition(steps)?,
            Draw::Product { factors } => Sampler::Product(together(factors)?),
            Draw::Mixture { weights, parts } => {
                require(weights.len() == parts.len())?;
                Sampler::Mixture { choice: wheel(weights)?, parts: together(parts)? }
            }
        })
    }
}

impl Count {
    /// So many words.
    pub(crate) fn words(self) -> u128 {
        self.0
    }

    /// Their share of all words.
    pub(crate) fn share(self) -> f64 {
        self.0 as f64 / ALL as f64
    }

    fn chance(self) -> Chance {
        Chance::new(self.0)
    }
}

impl From<Chance> for Count {
    fn from(chance: Chance) -> Self {
        Count(chance.numerator())
    }
}

fn require(holds: bool) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(Fault::Draw) }
}

fn size(a: usize) -> Result<usize, Fault> {
    require((1..=MOST).contains(&a)).map(|()| a)
}

fn response(a: usize, Count(truth): Count, Count(lie): Count) -> Result<Response, Fault> {
    size(a)?;
    require(a >= 2 && lie >= 1 && truth + (a as u128 - 1) * lie == ALL)?;
    // Both are less than all, since they sum to it and there is a lie.
    Ok(Response { a: a as u64, truth: truth as u64, lie: lie as u64 })
}

fn hash(a: usize, g: usize, truth: Option<Count>, lie: Option<Count>) -> Result<Hash, Fault> {
    let response = match (truth, lie) {
        (Some(truth), Some(lie)) => Some(response(g, truth, lie)?),
        (None, None) if g == 1 => None,
        _ => return Err(Fault::Draw),
    };
    Ok(Hash { a: size(a)?, g, response })
}

fn subset(a: usize, k: usize, own: Count, start: Share) -> Result<Subset, Fault> {
    require((1..=size(a)?).contains(&k) && (k < a || own.0 == ALL))?;
    require(start.digits <= Start::MOST_DIGITS && start.chance <= 1 << start.digits)?;
    let start = Start { chance: start.chance, digits: start.digits };
    Ok(Subset { a, k, inclusion: own.chance(), start })
}

fn blocks(a: usize, v: usize, own: Count, set: &[u32]) -> Result<Blocks, Fault> {
    require(size(a)? <= size(v)? && set.is_sorted_by(|d, next| d < next))?;
    let last = set.last().ok_or(Fault::Draw)?;
    require((*last as usize) < v && (set.len() < v || own.0 == ALL))?;
    let mut inside = vec![false; v];
    set.iter().for_each(|d| inside[*d as usize] = true);
    let others = (0..v as u32).filter(|residue| !inside[*residue as usize]).collect();
    Ok(Blocks { a, v: v as u64, inclusion: own.chance(), set: set.to_vec(), others })
}

fn wheel(weights: &[Count]) -> Result<Wheel, Fault> {
    let weights: Vec<u128> = weights.iter().map(|weight| weight.0).collect();
    require(weights.iter().sum::<u128>() == ALL)?;
    Ok(Wheel::of(&weights))
}

/// The parts of a combination, which are about the same values.
fn together(draws: &[Draw]) -> Result<Vec<Part>, Fault> {
    let samplers = draws.iter().map(Draw::sampler).collect::<Result<Vec<_>, _>>()?;
    let first = samplers.first().ok_or(Fault::Draw)?.inputs();
    require(samplers.iter().all(|sampler| sampler.inputs() == first))?;
    Ok(samplers.into_iter().map(Part::from).collect())
}

/// Steps of which each passes its rows on as inputs of the next.
fn composition(steps: &[Draw]) -> Result<Sampler, Fault> {
    let (last, before) = steps.split_last().ok_or(Fault::Draw)?;
    let step = |draw: &Draw| match draw {
        Draw::Table { a, g, truth, lie } => Ok(Step::Table(hash(*a, *g, *truth, *lie)?)),
        // A seed in place of the table would be another number of rows.
        Draw::Hash { .. } => Err(Fault::Draw),
        other => Ok(Step::Report(other.sampler()?.into())),
    };
    let before = before.iter().map(step).collect::<Result<Vec<_>, _>>()?;
    let last = Box::new(last.sampler()?);
    let nexts = before.iter().skip(1).map(Step::inputs).chain([last.inputs()]);
    require(before.iter().zip(nexts).all(|(step, next)| step.rows() == Some(next)))?;
    Ok(Sampler::Composition { before, last })
}

#[cfg(feature = "protocol")]
impl From<&Sampler> for Draw {
    fn from(sampler: &Sampler) -> Self {
        let count = |words: u64| Count(words.into());
        let all = |parts: &[Part]| parts.iter().map(|part| Draw::from(&part.sampler)).collect();
        match sampler {
            Sampler::Identity(a) => Draw::Identity { a: *a },
            Sampler::Response(Response { a, truth, lie }) => {
                Draw::Response { a: *a as usize, truth: count(*truth), lie: count(*lie) }
            }
            Sampler::Bits(Bits { a, kappa, lambda }) => {
                Draw::Bits { a: *a, own: (*kappa).into(), other: (*lambda).into() }
            }
            Sampler::Hash(Hash { a, g, response }) => {
                let (truth, lie) = words_of(response.as_ref());
                Draw::Hash { a: *a, g: *g, truth, lie }
            }
            Sampler::Subset(Subset { a, k, inclusion, start: Start { chance, digits } }) => {
                let start = Share { chance: *chance, digits: *digits };
                Draw::Subset { a: *a, k: *k, own: (*inclusion).into(), start }
            }
            Sampler::Blocks(Blocks { a, v, inclusion, set, .. }) => {
                Draw::Block { a: *a, v: *v as usize, own: (*inclusion).into(), set: set.clone() }
            }
            Sampler::Map(map) => Draw::Map { map: map.clone() },
            Sampler::Erasure { a, reveal } => Draw::Erasure { a: *a, reveal: (*reveal).into() },
            Sampler::Columns { outputs, columns } => {
                Draw::Columns { columns: columns.iter().map(|column| counts(column, *outputs)).collect() }
            }
            Sampler::Composition { before, last } => {
                Draw::Composition { steps: before.iter().map(Draw::from).chain([(&**last).into()]).collect() }
            }
            Sampler::Product(factors) => Draw::Product { factors: all(factors) },
            Sampler::Mixture { choice, parts } => {
                Draw::Mixture { weights: counts(choice, parts.len()), parts: all(parts) }
            }
        }
    }
}

#[cfg(feature = "protocol")]
impl From<&Step> for Draw {
    fn from(step: &Step) -> Self {
        match step {
            Step::Table(Hash { a, g, response }) => {
                let (truth, lie) = words_of(response.as_ref());
                Draw::Table { a: *a, g: *g, truth, lie }
            }
            Step::Report(part) => (&part.sampler).into(),
        }
    }
}

#[cfg(feature = "protocol")]
fn words_of(response: Option<&Response>) -> (Option<Count>, Option<Count>) {
    let words = |words: fn(&Response) -> u64| response.map(|response| Count(words(response).into()));
    (words(|response| response.truth), words(|response| response.lie))
}

#[cfg(feature = "protocol")]
fn counts(wheel: &Wheel, outcomes: usize) -> Vec<Count> {
    (0..outcomes).map(|outcome| Count(wheel.weight(outcome))).collect()
}
