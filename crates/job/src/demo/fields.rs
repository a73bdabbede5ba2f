//! The report of the job `demo` as JSON has it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use sottovoce::{Evaluation, Method};

use super::{DemoReport, EDUCATION, Person, Rung, SOURCE, Share};
use crate::compare::Contender;
use crate::contract::{AnswerFields, EvaluationFields, Name, Number};
use crate::quantity::Evaluated;
use crate::spec::ProtocolSpec;

/// The story's numbers.
#[derive(Serialize, JsonSchema)]
struct DemoFields<'r> {
    /// Where the data come from.
    source: &'static str,
    /// The number of people.
    users: u64,
    /// Seed of the randomisation.
    seed: u64,
    /// The protocols at several LDP levels.
    ladder: Vec<RungFields<'r>>,
    /// The position of the level that is taken.
    chosen: usize,
    /// The protocol that is used.
    protocol: &'r ProtocolSpec,
    /// The exact LDP level of the reports.
    realised_ldp: Number,
    /// How many different reports were sent.
    different_reports: usize,
    /// Probability of the credible intervals.
    level: f64,
    /// How the posterior was found.
    method: Name<Method>,
    /// True and estimated shares.
    shares: Vec<ShareFields>,
    /// Some people, closely.
    people: Vec<PersonFields>,
    /// How often the collector's best guess of an answer is right.
    guesses: GuessFields,
}

/// The protocols at one LDP level.
#[derive(Serialize, JsonSchema)]
struct RungFields<'r> {
    /// The LDP level.
    epsilon: f64,
    /// The protocols, the most useful first.
    protocols: Vec<ContenderFields<'r>>,
}

/// A protocol at one LDP level.
#[derive(Serialize, JsonSchema)]
struct ContenderFields<'r> {
    /// Its name.
    name: &'r str,
    /// The protocol.
    protocol: &'r ProtocolSpec,
    /// Whether no other is better beyond the errors.
    best: bool,
    /// How far an estimated share is typically off.
    typical_error: EvaluationFields,
    /// Its metrics.
    evaluations: Vec<EvaluatedFields>,
}

/// A metric or an expected error.
#[derive(Serialize, JsonSchema)]
struct EvaluatedFields {
    /// Its name.
    metric: &'static str,
    /// The number of users, where it depends on one.
    n: Option<u64>,
    /// The value, or why there is none.
    #[serde(flatten)]
    answer: AnswerFields,
}

impl From<&Evaluated> for EvaluatedFields {
    fn from(Evaluated { quantity, users, answer }: &Evaluated) -> Self {
        EvaluatedFields { metric: quantity.name(), n: *users, answer: answer.into() }
    }
}

/// A share of the people.
#[derive(Serialize, JsonSchema)]
struct ShareFields {
    /// The answer.
    label: &'static str,
    /// Its share of the people.
    truth: f64,
    /// The unbiased linear estimate, which may be negative.
    linear: f64,
    /// The standard error of that.
    standard_error: f64,
    /// The posterior mean.
    mean: f64,
    /// The lower end of the credible interval.
    low: f64,
    /// The upper end.
    high: f64,
    /// Whether the interval holds the truth.
    covered: bool,
}

impl From<&Share> for ShareFields {
    fn from(share: &Share) -> Self {
        ShareFields {
            label: share.label,
            truth: share.truth,
            linear: share.linear,
            standard_error: share.standard_error,
            mean: share.mean,
            low: share.interval.0,
            high: share.interval.1,
            covered: share.is_covered(),
        }
    }
}

/// One person's answer and report.
#[derive(Serialize, JsonSchema)]
struct PersonFields {
    /// The true answer.
    answer: &'static str,
    /// The answers that the report supports.
    report_supports: Vec<&'static str>,
    /// The collector's belief in the true answer before the report.
    belief_before: f64,
    /// And after it.
    belief_after: f64,
}

impl From<&Person> for PersonFields {
    fn from(person: &Person) -> Self {
        PersonFields {
            answer: EDUCATION[person.answer].0,
            report_supports: person.supported.iter().map(|x| EDUCATION[*x].0).collect(),
            belief_before: person.before,
            belief_after: person.after,
        }
    }
}

/// How often the collector's best guess is right.
#[derive(Serialize, JsonSchema)]
struct GuessFields {
    /// Without reports.
    without_reports: f64,
    /// With everybody's report.
    with_reports: f64,
}

fn rung<'r>(report: &'r DemoReport, rung: &'r Rung) -> RungFields<'r> {
    let contender = |(contender, error): (&'r Contender, &Evaluation)| ContenderFields {
        name: &report.names[contender.position],
        protocol: &contender.protocol,
        best: contender.best,
        typical_error: error.into(),
        evaluations: contender.evaluations.iter().map(EvaluatedFields::from).collect(),
    };
    let protocols = rung.round.contenders.iter().zip(&rung.typical_errors).map(contender).collect();
    RungFields { epsilon: rung.epsilon, protocols }
}

impl<'r> From<&'r DemoReport> for DemoFields<'r> {
    fn from(report: &'r DemoReport) -> Self {
        DemoFields {
            source: SOURCE,
            users: report.users,
            seed: report.seed,
            ladder: report.ladder.iter().map(|level| rung(report, level)).collect(),
            chosen: report.chosen,
            protocol: &report.protocol,
            realised_ldp: Number(report.realised_level),
            different_reports: report.different,
            level: report.posterior.level,
            method: Name(report.posterior.posterior.method),
            shares: report.shares.iter().map(ShareFields::from).collect(),
            people: report.people.iter().map(PersonFields::from).collect(),
            guesses: GuessFields {
                without_reports: report.guesses.without,
                with_reports: report.guesses.with,
            },
        }
    }
}

impl Serialize for DemoReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        DemoFields::from(self).serialize(serializer)
    }
}

impl JsonSchema for DemoReport {
    fn schema_name() -> Cow<'static, str> {
        "DemoReport".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        DemoFields::json_schema(generator)
    }
}
