//! Every metric against reference values of high precision, read as a user would give them.
//!
//! What depends on the number of users is found by exact methods alone; what exceeds their work budget is counted and left out.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use sottovoce::information::Choice;
use sottovoce::metric::{Absence, Settings, Value};
use sottovoce::{Analysis, Method, Metric, Prior, Protocol};
use sottovoce_job::{read_prior, read_protocol};

/// Largest deviation allowed to a deterministic value, in nats, whatever error it states; relative above 1.
const TOLERANCE: f64 = 1e-11;

/// The same for what depends on the number of users: sums over all tallies.
const FINITE_TOLERANCE: f64 = 1e-9;

struct Entry {
    id: String,
    metric: Metric,
    users: Option<u64>,
    value: f64,
    error: f64,
}

/// The entries of the reference, by protocol and prior.
fn entries() -> BTreeMap<(String, String), Vec<Entry>> {
    let reference: Json = serde_json::from_str(include_str!("golden/reference.json")).unwrap();
    let mut cases: BTreeMap<(String, String), Vec<Entry>> = BTreeMap::new();
    for entry in reference["metrics"].as_array().unwrap() {
        let number = |key: &str| entry[key].as_str().unwrap().parse().unwrap();
        let case = (entry["protocol"].to_string(), entry["prior"].to_string());
        cases.entry(case).or_default().push(Entry {
            id: entry["id"].as_str().unwrap().to_owned(),
            metric: entry["metric"].as_str().unwrap().parse().unwrap(),
            users: entry["n"].as_u64(),
            value: number("value"),
            error: number("abs_err"),
        });
    }
    cases
}

/// The protocol and the prior of a case.
fn read(protocol_json: &str, prior_json: &str) -> (Protocol, Prior) {
    let prior = read_prior(prior_json).unwrap();
    let protocol = read_protocol(protocol_json).unwrap().check(&prior.spec).unwrap().protocol;
    let prior = prior.check(protocol.inputs()).unwrap();
    (protocol, prior)
}

/// What is wrong with an answer, or nothing.
fn mistake(found: &Result<Value, Absence>, expected: &Entry) -> Option<String> {
    let (value, error, method) = match found {
        Ok(Value::Number(number)) => (number.value, number.error, number.method),
        Ok(Value::Count(count, method)) => (*count as f64, 0.0, *method),
        Ok(Value::Truth(truth, method)) => (f64::from(u8::from(*truth)), 0.0, *method),
        Err(absence) => return Some(format!("absent: {absence}")),
    };
    if value == expected.value {
        return None;
    }
    let off = (value - expected.value).abs();
    // The reference rounds protocols to doubles in its own way: a few units in the last place of the value.
    let rounding = 4.0 * f64::EPSILON * (1.0 + value.abs());
    let allowed = match method {
        Method::MonteCarlo => 4.0 * error,
        _ if expected.metric.needs_users() => FINITE_TOLERANCE * value.abs().max(1.0),
        _ => (error + rounding).min(TOLERANCE * value.abs().max(1.0)),
    } + expected.error;
    (off > allowed || off.is_nan())
        .then(|| format!("{value} is off by {off:.1e}, allowed {allowed:.1e} ({method}, error {error:.1e})"))
}

#[test]
fn every_reference_value_is_met() {
    let (mut checked, mut beyond) = (BTreeMap::<Metric, usize>::new(), BTreeMap::<Metric, usize>::new());
    let mut mistakes = Vec::new();
    for ((protocol_json, prior_json), expected) in entries() {
        let (protocol, prior) = read(&protocol_json, &prior_json);
        let settings = Settings { choice: Choice::Exact, ..Settings::default() };
        let analysis = Analysis::with_settings(&protocol, &prior, settings).unwrap();
        for entry in &expected {
            let answer = analysis.answer(entry.metric, entry.users);
            if matches!(answer.value, Err(Absence::NoMethod { .. })) && entry.metric.needs_users() {
                *beyond.entry(entry.metric).or_default() += 1;
                continue;
            }
            *checked.entry(entry.metric).or_default() += 1;
            if let Some(mistake) = mistake(&answer.value, entry) {
                mistakes
                    .push(format!("{} {} {protocol_json} {prior_json}: {mistake}", entry.id, entry.metric));
            }
        }
    }
    println!("checked {checked:?}\nbeyond the work budget {beyond:?}");
    assert!(checked.values().sum::<usize>() > 500, "{checked:?}");
    assert!(beyond.is_empty(), "{beyond:?}");
    assert!(mistakes.is_empty(), "{} mistakes:\n{}", mistakes.len(), mistakes.join("\n"));
}

/// The approximation of every reference value at a number of users: the stated error covers at least 95 % of them, and of
/// each metric, where one in twenty is rounded up. Of I(Y;P) 189 of 199 were covered.
#[test]
fn approximations_cover_the_reference() {
    let (mut covered, mut outside) = (BTreeMap::<Metric, [usize; 2]>::new(), Vec::new());
    for ((protocol_json, prior_json), expected) in entries() {
        let (protocol, prior) = read(&protocol_json, &prior_json);
        let settings = Settings { choice: Choice::Approximation, ..Settings::default() };
        let analysis = Analysis::with_settings(&protocol, &prior, settings).unwrap();
        for entry in expected.iter().filter(|entry| entry.users.is_some()) {
            let Ok(Value::Number(found)) = analysis.answer(entry.metric, entry.users).value else { continue };
            if found.method != Method::Approximation {
                continue;
            }
            let holds = (found.value - entry.value).abs() <= found.error + entry.error;
            covered.entry(entry.metric).or_default()[usize::from(holds)] += 1;
            if !holds {
                outside.push(format!(
                    "{} {} n = {:?} {protocol_json} {prior_json}: {found:?}, is {}",
                    entry.id, entry.metric, entry.users, entry.value
                ));
            }
        }
    }
    let [missed, held] = covered.values().fold([0, 0], |sum, found| [sum[0] + found[0], sum[1] + found[1]]);
    println!("{covered:?}");
    assert!(held > 300, "{covered:?}");
    assert!(20 * missed <= held + missed, "{covered:?}\n{}", outside.join("\n"));
    for (metric, [missed, held]) in &covered {
        assert!(*missed <= (held + missed).div_ceil(20), "{metric}: {covered:?}\n{}", outside.join("\n"));
    }
}
