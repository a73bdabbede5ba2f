//! Text, for people: fits 80 columns, and reads the same on a terminal and in a file.

mod accuracy;
mod collection;
mod comparison;
mod demo;
mod description;
mod design;
mod estimate;
mod metrics;
mod posterior;
mod split;
mod users;

pub use accuracy::accuracy;
pub use collection::collection;
pub use comparison::comparison;
pub use demo::demo;
pub use description::description;
pub use design::{budget, choose, design, frontier};
pub use estimate::{estimate, estimate_chart};
pub use metrics::metrics;
pub use posterior::posterior;
pub use split::split;
pub use users::users;

use sottovoce::metric::Value;

use super::document::Document;
use super::number::{short, with_error};
use crate::describe::summary;
use crate::spec::{PriorSpec, ProtocolSpec};

/// Most columns of a line.
const WIDTH: usize = 80;

/// Where explanations start.
const INDENT: usize = 4;

/// Says which protocol and prior it is all about.
fn heading(document: &mut Document, protocol: &ProtocolSpec, prior: &PriorSpec) {
    document.fact("Protocol", summary(protocol));
    document.fact("Prior", prior_text(prior));
}

pub(super) fn prior_text(prior: &PriorSpec) -> String {
    match prior {
        PriorSpec::Jeffreys => "Jeffreys (Dirichlet, all alpha = 0.5)".into(),
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
    method.name().replace('_', " ")
}

fn value_text(value: &Value) -> String {
    match value {
        Value::Number(e) => with_error(e.value, e.error),
        Value::Count(count, _) => count.to_string(),
        Value::Truth(truth, _) => if *truth { "yes" } else { "no" }.into(),
    }
}

/// A user's text in at most `width` columns, without control characters that a terminal would obey.
fn clipped(text: &str, width: usize) -> String {
    let printable = |c: char| if c.is_control() { '·' } else { c };
    if text.chars().count() <= width {
        return text.chars().map(printable).collect();
    }
    text.chars().take(width - 1).map(printable).chain(['…']).collect()
}
