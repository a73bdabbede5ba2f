//! A study as written: TOML or JSON, with the same keys.

use std::borrow::Cow;
use std::io;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema, schema_for};
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value as Json;

use super::problem::StudyProblem;
use crate::contract::{Number, Specification, Whole, whole};
use crate::error::{Error, Result};
use crate::source::{Source, Syntax, Written, locate};
use crate::spec::{PriorSpec, ProtocolSpec, Ranges, Tree};

/// The version of the format.
pub const VERSION: u64 = 1;

/// A study that would do.
const EXAMPLE: &str =
    r#"{"version": 1, "question": [{"name": "sex", "labels": ["Female", "Male"]}], "plan": {"epsilon": 1}}"#;

/// Several questions to the same people, and how they are asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Study")]
pub struct StudyFile {
    /// The version of the format: 1.
    #[serde(deserialize_with = "whole")]
    #[schemars(with = "Whole")]
    pub version: u64,
    /// The questions.
    #[serde(rename = "question")]
    pub questions: Vec<Question>,
    /// Questions whose cross-table is wanted.
    #[serde(rename = "joint", default, skip_serializing_if = "Vec::is_empty")]
    pub joints: Vec<Joint>,
    /// How the questions are asked.
    pub plan: Plan,
}

/// A question: a choice between labels, or a number that falls into bins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Its name, which is also that of its files.
    pub name: String,
    /// How it is put to participants, on the page of the service; by default its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The column of the table of people; by default that of the question's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// The possible answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
    /// The edges of the bins of a number, ascending. The first may be `-inf` and the last `inf`. A number on an edge is in the bin above it; the last bin
    /// contains both its ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bins: Option<Vec<Edge>>,
    /// What is believed about the answers; by default adaptive for more than two values, and Jeffreys for two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior: Option<PriorSpec>,
}

/// An edge of a bin: a number, `-inf` or `inf`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge(pub f64);

impl Serialize for Edge {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Number(self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Edge {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Tree::deserialize(deserializer)? {
            Tree::Number(edge) if !edge.is_nan() => Ok(Edge(edge)),
            Tree::Text(text) if text == "inf" => Ok(Edge(f64::INFINITY)),
            Tree::Text(text) if text == "-inf" => Ok(Edge(f64::NEG_INFINITY)),
            other => {
                let found = other.description();
                Err(de::Error::custom(format!("{found} is no edge of a bin; it is a number, inf or -inf")))
            }
        }
    }
}

impl JsonSchema for Edge {
    fn schema_name() -> Cow<'static, str> {
        "Edge".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf"]}]})
    }
}

/// Questions whose cross-table is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Joint {
    /// The names of the questions.
    pub questions: Vec<String>,
}

/// How the questions are asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The LDP level of everything that one person reports, in all rounds.
    pub epsilon: f64,
    /// The strategy; without it the job `plan` chooses one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// How often each person is asked.
    #[serde(default = "once", skip_serializing_if = "is_once", deserialize_with = "whole")]
    #[schemars(with = "Whole")]
    pub rounds: u64,
    /// Where the noise of a round comes from.
    #[serde(default, skip_serializing_if = "Noise::is_fresh")]
    pub noise: Noise,
    /// With memoised noise: the LDP level of one round by itself, at most `epsilon`. Without it each round sends the permanent report as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_epsilon: Option<f64>,
    /// What is collected, in the order of the questions; the job `plan` fills it in.
    #[serde(rename = "collection", default, skip_serializing_if = "Vec::is_empty")]
    pub collections: Vec<PlannedCollection>,
}

fn once() -> u64 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref)] // As serde calls it.
fn is_once(rounds: &u64) -> bool {
    *rounds == 1
}

/// Who answers which questions, and with how much of epsilon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Each person answers one group of questions, drawn at random, with the whole epsilon.
    Sample,
    /// Each person answers every question by itself, with a share of epsilon.
    Split,
    /// Each person answers every group of questions with one report on all of its questions, with a share of epsilon.
    Joint,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Strategy; 3] = [Strategy::Sample, Strategy::Split, Strategy::Joint];

    /// Its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Sample => "sample",
            Strategy::Split => "split",
            Strategy::Joint => "joint",
        }
    }
}

/// Where the noise of a round comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Noise {
    /// Each round is drawn anew, with its share of epsilon.
    #[default]
    Fresh,
    /// A report is drawn once and remembered; each round reports on the remembered one.
    Memoised,
}

impl Noise {
    #[allow(clippy::trivially_copy_pass_by_ref)] // As serde calls it.
    fn is_fresh(&self) -> bool {
        *self == Noise::Fresh
    }
}

/// What is collected on one group of questions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedCollection {
    /// The names of the questions of the group.
    pub questions: Vec<String>,
    /// The probability that a person answers them (strategy `sample`), or their share of epsilon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// The protocols, without labels: one for each question with the strategy `split`, one on all combinations of answers otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<ProtocolSpec>,
    /// With memoised noise: for each of the protocols, which then draw the permanent reports, how a round draws from these. Without it a round sends the permanent report as it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<ProtocolSpec>,
}

impl Specification for StudyFile {
    const WHAT: &'static str = "study";
    const SHORTHAND: bool = false;

    fn of_tree(tree: Tree) -> Result<Self> {
        if !matches!(tree, Tree::Object(_)) {
            let problem = StudyProblem::NoStudy { found: tree.description() };
            return Err(problem.found_in(&Source::Program));
        }
        serde_json::from_value(json(tree))
            .map_err(|error| StudyProblem::Form { message: error.to_string() }.found_in(&Source::Program))
    }
}

/// The tree as JSON. Infinite numbers, which only TOML has, are texts as in reports.
fn json(tree: Tree) -> Json {
    match tree {
        Tree::Null => Json::Null,
        Tree::Truth(truth) => truth.into(),
        Tree::Number(value) if value.is_finite() => value.into(),
        Tree::Number(value) => value.to_string().into(),
        Tree::Text(text) => text.into(),
        Tree::List(items) => items.into_iter().map(json).collect(),
        Tree::Object(entries) => entries.into_iter().map(|(key, value)| (key, json(value))).collect(),
    }
}

/// Reads a study: a path to a TOML or JSON file, inline JSON, or `-` for standard input.
///
/// # Errors
/// The text cannot be read, is not well-formed, or has a wrong key or type. Everything else is checked by [`Written::check`].
pub fn read_study(argument: &str) -> Result<Written<StudyFile>> {
    let (source, syntax, text) = locate(argument, &[], EXAMPLE)?;
    let tree = match syntax {
        Syntax::Json => Tree::of_json(&text, &source)?,
        Syntax::Toml => Tree::of_toml(&text, &source)?,
        Syntax::Shorthand => {
            let (source_name, error) = (Source::File(argument.into()), io::ErrorKind::NotFound.into());
            return Err(Error::Unreadable { source_name, error });
        }
    };
    let spec = StudyFile::of_tree(tree).map_err(|error| error.found_in(&source))?;
    Ok(Written { spec, source })
}

/// The JSON schema of a study.
pub fn study_schema() -> Schema {
    use schemars::transform::Transform;
    let mut schema = schema_for!(StudyFile);
    Ranges.transform(&mut schema);
    schema
}

impl StudyFile {
    /// The study as TOML.
    ///
    /// # Panics
    /// Never: its keys are texts and its numbers finite.
    pub fn toml(&self) -> String {
        // Unwrap safety: infinite edges are written as texts.
        toml::to_string(self).unwrap()
    }

    /// The study as JSON.
    ///
    /// # Panics
    /// Never: its keys are texts.
    pub fn json(&self) -> String {
        // Unwrap safety: text keys, and writing to a string does not fail.
        serde_json::to_string_pretty(self).unwrap() + "\n"
    }
}
