//! Text, for people: fits 80 columns, and reads the same on a terminal and in a file.

mod accuracy;
mod analyse;
mod budget;
mod choose;
mod collection;
mod comparison;
mod confirmation;
mod demo;
mod description;
mod design;
mod estimate;
mod explanation;
mod figures;
mod functional;
mod metrics;
mod plan;
mod posterior;
mod protocol;
mod spending;
mod split;
mod trend;
mod users;
mod worth;

pub use accuracy::accuracy;
pub use analyse::analyse;
pub use budget::budget;
pub use choose::choose;
pub(crate) use choose::sentences;
pub use collection::{FileReport, randomise, randomise_study, tally, tally_study};
pub use comparison::comparison;
pub use demo::demo;
pub use description::description;
pub use design::design;
pub use estimate::{estimate, estimate_chart};
pub use explanation::explanation;
pub use figures::figures;
pub use metrics::metrics;
pub use plan::plan;
pub(crate) use plan::plan_sentences;
pub use posterior::posterior;
pub(crate) use protocol::brief;
pub use protocol::summary;
#[cfg(test)]
pub(crate) use split::remarks;
pub use split::split;
pub use trend::trend;
pub use users::users;

use sottovoce::metric::{Answer, Value};
use sottovoce::{Evaluation, Method, Metric};
use sottovoce_chart::Point;

use super::document::Document;
use super::number::{bracket, rounded, short, with_error};
use crate::gathered::Gathering;
use crate::spec::{PriorSpec, ProtocolSpec};

/// Most columns of a line.
const WIDTH: usize = 80;

/// Where explanations begin.
const INDENT: usize = 4;

/// Says which protocol and prior it is all about.
fn heading(document: &mut Document, protocol: &ProtocolSpec, prior: &PriorSpec) {
    document.fact("Protocol", summary(protocol));
    document.fact("Prior", prior_text(prior));
}

/// The places of collections, in one text.
fn names(collections: &[Gathering]) -> String {
    let names: Vec<String> = collections.iter().map(|collection| printable(&collection.source)).collect();
    names.join(" and ")
}

/// Where several collections are, and what each of them is.
fn collections(document: &mut Document, collections: &[Gathering]) {
    if collections.len() < 2 {
        return;
    }
    for collection in collections {
        let words = format!(
            "{}: {}, {} reports",
            printable(&collection.source),
            summary(&collection.protocol),
            collection.n
        );
        document.fact("Collection", words);
    }
}

pub(super) fn prior_text(prior: &PriorSpec) -> String {
    match prior {
        PriorSpec::Jeffreys => "Jeffreys (Dirichlet, all alpha = 0.5)".into(),
        PriorSpec::Adaptive => "adaptive (symmetric Dirichlet, the reports choose alpha)".into(),
        PriorSpec::Smooth => "smooth (ordered values, the reports choose the roughness)".into(),
        PriorSpec::Symmetric { alpha } => format!("Dirichlet, all alpha = {alpha}"),
        PriorSpec::Dirichlet { alpha } => format!("Dirichlet, alpha = {}", list(alpha)),
        PriorSpec::DirichletMixture { parts, .. } => format!("mixture of {} Dirichlets", parts.len()),
        PriorSpec::Points { points, .. } => format!("{} possible distributions", points.len()),
    }
}

/// The first few numbers of a list.
fn list(values: &[f64]) -> String {
    const SHOWN: usize = 6;
    let start: Vec<String> = values.iter().take(SHOWN).map(|v| short(*v)).collect();
    start.join(", ") + if values.len() > SHOWN { ", …" } else { "" }
}

fn method(value: &Value) -> String {
    let method = match value {
        Value::Number(e) => e.method,
        Value::Count(_, method) | Value::Truth(_, method) => *method,
    };
    method_name(method)
}

fn method_name(method: Method) -> String {
    method.name().replace('_', " ")
}

/// The value without its error, where that stands beside it; with no more digits than the error leaves.
fn value_alone(value: &Value) -> String {
    without_error(&value_text(value))
}

fn without_error(text: &str) -> String {
    text.split(" ± ").next().unwrap_or_default().to_owned()
}

/// How far the value may be off, in words.
fn error(value: &Value) -> String {
    match value {
        Value::Number(e) => error_of(e),
        Value::Count(..) | Value::Truth(..) => "none".into(),
    }
}

/// As [`error`], for a number.
fn error_of(e: &Evaluation) -> String {
    match e.method {
        _ if !e.error.is_finite() => "not known".into(),
        _ if e.error == 0.0 => "none".into(),
        Method::MonteCarlo => format!("standard error {}", rounded(e.error, 2)),
        _ => format!("at most {}", rounded(e.error, 2)),
    }
}

/// What the metric is measured in.
fn unit(metric: Metric) -> &'static str {
    match metric {
        Metric::Rank | Metric::Classes => "count",
        Metric::Faithful => "yes or no",
        Metric::WorstCasePrivacy
        | Metric::AveragePrivacy
        | Metric::EffectiveParticipation
        | Metric::ParticipationBound
        | Metric::DistributionUtilityLimit
        | Metric::TallyUtilityLimit
        | Metric::DistributionUtility
        | Metric::TallyUtility => "share",
        Metric::TruthUtility | Metric::AsymptoticUtility | Metric::UtilityBound | Metric::DigitUtility => {
            "digits (base e)"
        }
        _ => "nats",
    }
}

/// The cells of a value in a listing: with its error for a terminal; alone, its unit, its error in words, and the method.
fn value_cells(metric: Metric, answer: &Answer) -> [String; 5] {
    if answer.bracketed {
        let text = answer_text(answer).unwrap_or_default();
        return [text.clone(), text, unit(metric).into(), "somewhere in it".into(), method_of(answer)];
    }
    match &answer.value {
        Ok(value) => {
            [value_text(value), value_alone(value), unit(metric).into(), error(value), method(value)]
        }
        Err(_) => ["no value".into(), "no value".into(), String::new(), String::new(), String::new()],
    }
}

/// A row of a chart: the value, with two standard errors around it where it comes from random draws.
fn in_row(row: usize, e: &Evaluation, label: String) -> Point {
    let interval = (e.method == Method::MonteCarlo && e.error.is_finite())
        .then_some((e.value - 2.0 * e.error, e.value + 2.0 * e.error));
    Point { x: e.value, y: row as f64, interval, label: Some(label), note: None }
}

/// The value with its error, or the bracket if no more is known; none if there is no value.
fn answer_text(answer: &Answer) -> Option<String> {
    let value = answer.value.as_ref().ok()?;
    Some(answer.bracket().map_or_else(|| value_text(value), |(low, high)| bracket(low, high)))
}

/// The method of the value, which a bracket is.
fn method_of(answer: &Answer) -> String {
    if answer.bracketed { "bracket".into() } else { answer.value.as_ref().map(method).unwrap_or_default() }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::Number(e) => with_error(e.value, e.error),
        Value::Count(count, _) => count.to_string(),
        Value::Truth(truth, _) => if *truth { "yes" } else { "no" }.into(),
    }
}

/// A user's text without control characters that a terminal would obey.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '·' } else { c }).collect()
}

/// A user's text in at most `width` columns, without control characters that a terminal would obey.
pub(crate) fn clipped(text: &str, width: usize) -> String {
    sottovoce_chart::columns::clipped(&printable(text), width, "…")
}
