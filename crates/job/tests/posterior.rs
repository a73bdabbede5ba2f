//! Every posterior of the reference, read as a user would give it: exact methods within `1e-8`, the sampler within four standard errors.

use serde_json::Value as Json;
use sottovoce::posterior::{Options, Posterior, posterior};
use sottovoce::{Prior, Protocol, Tallies};
use sottovoce_collect::read_tallies;
use sottovoce_job::{read_prior, read_protocol};

struct Case {
    id: String,
    protocol: Protocol,
    prior: Prior,
    tallies: Tallies,
    expected: Json,
}

fn cases() -> Vec<Case> {
    let reference: Json = serde_json::from_str(include_str!("golden/posteriors.json")).unwrap();
    let case = |entry: &Json| {
        let prior = read_prior(&entry["prior"].to_string()).unwrap();
        let protocol =
            read_protocol(&entry["protocol"].to_string()).unwrap().check(&prior.spec).unwrap().protocol;
        let prior = prior.check(protocol.inputs()).unwrap();
        let tallies = read_tallies(&entry["tallies"].to_string(), &protocol).unwrap();
        Case { id: entry["id"].as_str().unwrap().into(), protocol, prior, tallies, expected: entry.clone() }
    };
    reference["posteriors"].as_array().unwrap().iter().map(case).collect()
}

fn number(json: &Json) -> f64 {
    json.as_str().unwrap().parse().unwrap()
}

/// The names and values of a reference entry beside those found.
fn compared(case: &Case, found: &Posterior) -> Vec<(String, f64, f64)> {
    let mut pairs = Vec::new();
    for (x, (p, expected)) in found.p.iter().zip(case.expected["p"].as_array().unwrap()).enumerate() {
        pairs.push((format!("mean {x}"), p.mean, number(&expected["mean"])));
        pairs.push((format!("variance {x}"), p.sd * p.sd, number(&expected["variance"])));
        for ((_, value), key) in p.quantiles.iter().zip(["0.05", "0.50", "0.95"]) {
            pairs.push((format!("quantile {key} {x}"), *value, number(&expected["quantiles"][key])));
        }
    }
    for (x, (t, expected)) in found.t.iter().zip(case.expected["t"].as_array().unwrap()).enumerate() {
        pairs.push((format!("mean of T {x}"), t.mean, number(&expected["mean"])));
    }
    pairs
}

#[test]
fn exact_methods_meet_the_reference() {
    let (mut worst, mut compared_values) = (0f64, 0);
    for case in cases() {
        let found = posterior(&case.protocol, &case.prior, &case.tallies, &Options::default()).unwrap();
        let evidence = found.log_evidence.unwrap();
        let mut pairs = compared(&case, &found);
        pairs.push(("log evidence".into(), evidence.value, number(&case.expected["log_evidence"])));
        for (name, value, expected) in pairs {
            let off = (value - expected).abs() / expected.abs().max(1.0);
            assert!(off < 1e-8, "{} {name}: {value} instead of {expected} ({:?})", case.id, found.method);
            worst = worst.max(off);
            compared_values += 1;
        }
    }
    println!("{compared_values} values, the worst off by {worst:.1e}");
    assert!(compared_values > 250 && worst < 1e-10, "{compared_values} {worst:.1e}");
}
