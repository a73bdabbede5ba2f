//! Whether what is drawn belongs to the specification, which alone the fingerprint covers: the same kinds and sizes, names of the same inputs, and no
//! higher level than the specification declares or the document states.
//!
//! Levels are logarithms of ratios of whole numbers, `ln(1 + (p − q)/q)` with an exact `p − q`, so they are right within a few units in the last place. A document
//! that is right stays below its levels by rounding toward privacy; [`TOLERANCE`] is for the rounding of doubles alone.

use serde_json::Value;

use crate::chance::ALL;
use crate::draw::{Count, Draw};
use crate::error::Fault;
use crate::published::Published;

/// What a level may be above another by rounding, as a share of it.
const TOLERANCE: f64 = 1e-12;

/// Columns of a matrix, and weights, sum to 1 within this, and their words exactly.
const SUM_TOLERANCE: f64 = 1e-6;

/// Refuses a document whose draw, inputs, labels or level are not those of its specification.
pub(crate) fn check(published: &Published) -> Result<(), Fault> {
    if labels(&published.protocol) != published.labels {
        return Err(Fault::Inputs);
    }
    if !belongs(&published.draw, &published.protocol) {
        return Err(Fault::Specified);
    }
    let stated = &published.realised_ldp.value;
    let stated = if stated == "inf" { Some(f64::INFINITY) } else { stated.as_f64() };
    let within = stated.is_some_and(|stated| at_most(level(&published.draw), stated));
    if within { Ok(()) } else { Err(Fault::Level) }
}

/// The names of the inputs: the specification's own, or those of the first part that sees the inputs and has some.
fn labels(specification: &Value) -> Option<Vec<String>> {
    if let Some(labels) = specification.get("labels") {
        return serde_json::from_value(labels.clone()).ok();
    }
    if let Some(first) = list(specification, "steps").first() {
        return labels(first);
    }
    let parts = list(specification, "factors").iter().chain(list(specification, "parts"));
    parts.into_iter().find_map(labels)
}

fn list<'v>(specification: &'v Value, key: &str) -> &'v [Value] {
    specification.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn number(specification: &Value, key: &str) -> f64 {
    // No comparison with what is missing holds.
    specification.get(key).and_then(Value::as_f64).unwrap_or(f64::NAN)
}

fn at_most(level: f64, bound: f64) -> bool {
    level <= bound * (1.0 + TOLERANCE)
}

/// Whether the kinds and sizes are those of the specification, and no level is above the declared one.
fn belongs(draw: &Draw, specification: &Value) -> bool {
    let kind = specification.get("kind").and_then(Value::as_str).unwrap_or_default();
    let is = |key: &str, size: usize| number(specification, key) == size as f64;
    let private = at_most(level(draw), declared(kind, specification));
    match (kind, draw) {
        ("identity", Draw::Identity { a }) => is("a", *a),
        ("grr", Draw::Response { a, .. }) => is("a", *a) && private,
        ("ue" | "rappor" | "oue" | "blh", Draw::Bits { a, .. }) => is("a", *a) && private,
        ("lh", Draw::Hash { a, g, .. } | Draw::Table { a, g, .. }) => is("a", *a) && is("g", *g) && private,
        ("subset", Draw::Subset { a, k, .. }) => is("a", *a) && is("k", *k) && private,
        ("block", Draw::Block { a, v, set, .. }) => {
            is("a", *a) && is("v", *v) && is("k", set.len()) && private
        }
        ("deterministic", Draw::Map { map }) => {
            let wanted = list(specification, "map");
            wanted.len() == map.len()
                && map.iter().zip(wanted).all(|(y, z)| z.as_f64() == Some(f64::from(*y)))
        }
        ("erasure", Draw::Erasure { a, reveal }) => {
            is("a", *a) && at_most(reveal.share(), number(specification, "reveal"))
        }
        ("matrix", Draw::Columns { columns }) => of_matrix(columns, list(specification, "rows")),
        ("composition", Draw::Composition { steps }) => all(steps, list(specification, "steps")),
        ("product", Draw::Product { factors }) => all(factors, list(specification, "factors")),
        ("mixture", Draw::Mixture { weights, parts }) => {
            close(weights, list(specification, "weights")) && all(parts, list(specification, "parts"))
        }
        _ => false,
    }
}

fn all(draws: &[Draw], specifications: &[Value]) -> bool {
    let pairs = draws.iter().zip(specifications);
    draws.len() == specifications.len() && pairs.into_iter().all(|(draw, part)| belongs(draw, part))
}

/// The level that a specification declares: its epsilon, or that of its two probabilities.
fn declared(kind: &str, specification: &Value) -> f64 {
    if kind != "ue" {
        return number(specification, "epsilon");
    }
    let (own, other) = (number(specification, "kappa"), number(specification, "lambda"));
    bits(own, 1.0 - own, other, 1.0 - other, own - other)
}

/// Whether words are those of probabilities, but for what makes them sum to all.
fn close(words: &[Count], probabilities: &[Value]) -> bool {
    let near = |(words, wanted): (&Count, &Value)| {
        wanted.as_f64().is_some_and(|wanted| (words.share() - wanted).abs() <= SUM_TOLERANCE)
    };
    words.len() == probabilities.len() && words.iter().zip(probabilities).all(near)
}

/// Whether the columns are as many and as long as those of the matrix, with at most its level.
fn of_matrix(columns: &[Vec<Count>], rows: &[Value]) -> bool {
    let entries = |row: &Value| -> Option<Vec<f64>> { row.as_array()?.iter().map(Value::as_f64).collect() };
    let Some(rows) = rows.iter().map(entries).collect::<Option<Vec<_>>>() else { return false };
    let sizes = rows.iter().all(|row| row.len() == columns.len());
    let row = |row: &Vec<f64>| {
        let (low, high) = row.iter().fold((f64::INFINITY, 0.0), |(low, high), q| (q.min(low), q.max(high)));
        ratio(high - low, low)
    };
    let declared = rows.iter().map(row).fold(0.0, f64::max);
    sizes
        && columns.iter().all(|column| column.len() == rows.len())
        && columns_level(columns) <= declared + SUM_TOLERANCE
}

/// The level of what is drawn, for compositions only 0; a product has at least this level.
fn level(draw: &Draw) -> f64 {
    let revealing = |reveals: bool| if reveals { f64::INFINITY } else { 0.0 };
    match draw {
        Draw::Identity { a } => revealing(*a > 1),
        Draw::Map { map } => revealing(map.iter().any(|y| *y != map[0])),
        Draw::Erasure { a, reveal } => revealing(*a > 1 && reveal.words() > 0),
        Draw::Response { truth, lie, .. } => of_words(truth.words(), lie.words()),
        Draw::Hash { a: 1, .. }
        | Draw::Table { a: 1, .. }
        | Draw::Bits { a: 1, .. }
        | Draw::Block { a: 1, .. } => 0.0,
        Draw::Hash { truth, lie, .. } | Draw::Table { truth, lie, .. } => {
            truth.zip(*lie).map_or(0.0, |(truth, lie)| of_words(truth.words(), lie.words()))
        }
        Draw::Bits { own, other, .. } => {
            let (p, q) = (own.words(), other.words());
            let excess = if p > q { (p - q) as f64 } else { -((q - p) as f64) };
            let all = ALL as f64;
            bits(p as f64 / all, (ALL - p) as f64 / all, q as f64 / all, (ALL - q) as f64 / all, excess / all)
        }
        Draw::Subset { a, k, own, .. } => of_sets(*a, *k, *own),
        Draw::Block { v, own, set, .. } => of_sets(*v, set.len(), *own),
        Draw::Columns { columns } => columns_level(columns),
        Draw::Mixture { weights, parts } => {
            let drawn = weights.iter().zip(parts).filter(|(weight, _)| weight.words() > 0);
            drawn.map(|(_, part)| level(part)).fold(0.0, f64::max)
        }
        // Where the loss is the same between all inputs, losses multiply; among others the largest is reached.
        Draw::Product { factors } => {
            let (uneven, even): (Vec<&Draw>, Vec<&Draw>) = factors.iter().partition(|factor| {
                matches!(factor, Draw::Columns { .. } | Draw::Mixture { .. } | Draw::Product { .. })
            });
            let largest = uneven.into_iter().map(level).fold(0.0, f64::max);
            largest + even.into_iter().map(level).sum::<f64>()
        }
        Draw::Composition { .. } => 0.0,
    }
}

/// The logarithm of `(excess + least)/least`.
fn ratio(excess: f64, least: f64) -> f64 {
    if excess == 0.0 { 0.0 } else { (excess / least).ln_1p() }
}

/// The logarithm of the larger of two ratios.
fn of_words(p: u128, q: u128) -> f64 {
    ratio(p.abs_diff(q) as f64, p.min(q) as f64)
}

/// A set of `k` in `n` with the value has chance `π / C(n−1, k−1)`, one without `(1−π) / C(n−1, k)`.
fn of_sets(n: usize, k: usize, own: Count) -> f64 {
    if k == n { 0.0 } else { of_words(own.words() * (n - k) as u128, (ALL - own.words()) * k as u128) }
}

/// Two bits change: `κ(1 − λ)` to `λ(1 − κ)`, which differ by `κ − λ`, or the inverse.
fn bits(own: f64, not_own: f64, other: f64, not_other: f64, excess: f64) -> f64 {
    if excess > 0.0 { ratio(excess, other * not_own) } else { ratio(-excess, own * not_other) }
}

fn columns_level(columns: &[Vec<Count>]) -> f64 {
    let row = |y: usize| {
        let words = || columns.iter().map(|column| column[y].words());
        words().min().zip(words().max()).map_or(0.0, |(low, high)| of_words(low, high))
    };
    (0..columns.first().map_or(0, Vec::len)).map(row).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors() -> Value {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/vectors.json");
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    fn found(document: &Value) -> Result<(), Fault> {
        Published::read(&document.to_string()).and_then(|published| published.check().map(|_| ()))
    }

    #[test]
    fn what_the_program_publishes_belongs_together() {
        for vector in vectors()["protocols"].as_array().unwrap() {
            assert_eq!(found(&vector["published"]), Ok(()), "{}", vector["canonical"]);
        }
    }

    #[test]
    fn what_the_fingerprint_does_not_cover_is_compared() {
        let vectors = vectors();
        let refused = vectors["refused"].as_array().unwrap();
        let fault = |why: &str| {
            let case = refused.iter().find(|case| case["why"] == why).unwrap();
            found(&case["published"])
        };
        for (why, wanted) in [
            ("a draw that tells the truth", Fault::Specified),
            ("a draw that tells the truth, and says so", Fault::Specified),
            ("a draw of another kind", Fault::Specified),
            ("a draw on other inputs", Fault::Specified),
            ("a level below that of the draw", Fault::Level),
            ("bits with a higher level", Fault::Specified),
            ("a bucket with a higher level", Fault::Specified),
            ("a set with a higher level", Fault::Specified),
            ("a block with a higher level", Fault::Specified),
            ("swapped labels", Fault::Inputs),
            ("a step that tells the truth", Fault::Specified),
        ] {
            assert_eq!(fault(why), Err(wanted), "{why}");
        }
    }
}
