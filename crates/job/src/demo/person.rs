//! What a report gives away about the one person who sent it.
//!
//! The collector is assumed to know more than any collection tells: the exact share `p_x` of every answer. A report `y` then turns the belief `p_x` that
//! its sender has the answer `x` into `p_x Q(y|x) / Σ_z p_z Q(y|z)`.

use std::collections::HashMap;

use sottovoce::{Output, Protocol};

use super::collection::Collection;
use super::education;
use crate::error::Result;

/// One person's answer and report, and what the report changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Person {
    /// The true answer.
    pub answer: usize,
    /// What the person sent.
    pub report: Output,
    /// Whether the report speaks for each answer: makes it likelier than some other.
    pub supported: Vec<usize>,
    /// The collector's belief in the true answer before the report.
    pub before: f64,
    /// And after.
    pub after: f64,
}

/// How often the collector's best guess of a person's answer is right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guesses {
    /// Without reports: the share of the most common answer.
    pub without: f64,
    /// With the person's report.
    pub with: f64,
}

/// The belief in each answer after a report.
fn beliefs(protocol: &Protocol, report: &Output) -> Result<Vec<f64>> {
    let joint = education::shares()
        .iter()
        .enumerate()
        .map(|(x, p_x)| Ok(p_x * protocol.ln_probability(report, x)?.exp()))
        .collect::<Result<Vec<f64>>>()?;
    let total: f64 = joint.iter().sum();
    Ok(joint.into_iter().map(|j| j / total).collect())
}

/// The answers that the report makes likelier than others.
fn supported(protocol: &Protocol, report: &Output) -> Result<Vec<usize>> {
    let inputs = 0..protocol.inputs();
    let likelihoods =
        inputs.map(|x| Ok(protocol.ln_probability(report, x)?)).collect::<Result<Vec<f64>>>()?;
    let least = likelihoods.iter().copied().fold(f64::INFINITY, f64::min);
    Ok((0..likelihoods.len()).filter(|x| likelihoods[*x] > least + 1e-9).collect())
}

/// The first person who has this answer.
pub(super) fn person(protocol: &Protocol, collection: &Collection, answer: usize) -> Result<Option<Person>> {
    let Some(place) = collection.answers.iter().position(|x| *x == answer) else { return Ok(None) };
    let report = collection.reports[place].clone();
    Ok(Some(Person {
        answer,
        supported: supported(protocol, &report)?,
        before: education::shares()[answer],
        after: beliefs(protocol, &report)?[answer],
        report,
    }))
}

/// Guesses everybody's answer from the reports.
pub(super) fn guesses(protocol: &Protocol, collection: &Collection) -> Result<Guesses> {
    let mut best: HashMap<&Output, usize> = HashMap::new();
    let mut right = 0usize;
    for (answer, report) in collection.answers.iter().zip(&collection.reports) {
        let guess = match best.get(report) {
            Some(guess) => *guess,
            None => *best.entry(report).or_insert(largest(&beliefs(protocol, report)?)),
        };
        right += usize::from(guess == *answer);
    }
    let without = education::shares().into_iter().fold(0.0, f64::max);
    Ok(Guesses { without, with: right as f64 / collection.answers.len() as f64 })
}

fn largest(values: &[f64]) -> usize {
    // Of equals, the first; an answer has a belief, so the list is not empty.
    (0..values.len()).rev().max_by(|l, r| values[*l].total_cmp(&values[*r])).unwrap_or(0)
}
