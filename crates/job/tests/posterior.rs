//! Every posterior of the reference, read as a user would give it: exact methods within `1e-8`, the sampler within four standard errors.

use serde_json::Value as Json;
use sottovoce::posterior::{Posterior, PosteriorOptions, posterior};
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
        let found =
            posterior(&case.protocol, &case.prior, &case.tallies, &PosteriorOptions::default()).unwrap();
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

/// With about 350 values at four standard errors the false-alarm rate is 2 %; the seed is fixed.
#[test]
fn the_sampler_meets_the_reference_within_four_standard_errors() {
    let options = PosteriorOptions {
        choice: sottovoce::information::Choice::MonteCarlo,
        seed: 1,
        ..PosteriorOptions::default()
    };
    for case in cases() {
        let found = posterior(&case.protocol, &case.prior, &case.tallies, &options).unwrap();
        let size = found.diagnostics.as_ref().unwrap();
        assert!(size.converged, "{}: {size:?}", case.id);
        let mut worst = 0f64;
        for (x, (p, t)) in found.p.iter().zip(&found.t).enumerate() {
            let expected = &case.expected["p"][x];
            let mean_t = number(&case.expected["t"][x]["mean"]);
            // A standard error of a quantile is √(q(1−q)/ESS) / density; as a probability it needs no density.
            let z = (p.mean - number(&expected["mean"])) / p.error;
            let z_t = (t.mean - mean_t) / (t.error + 1e-9);
            for z in [z, z_t] {
                assert!(z.abs() < 4.0, "{} {x}: {p:?} {t:?} {expected} {z} {z_t}", case.id);
                worst = worst.max(z.abs());
            }
            let draws = found.draws.p.len() as f64;
            for (q, key) in [(0.05, "0.05"), (0.5, "0.50"), (0.95, "0.95")] {
                let bound = number(&expected["quantiles"][key]);
                let below = found.draws.p.iter().filter(|p| p[x] <= bound).count() as f64 / draws;
                // The first thousand draws are at most as good as independent ones; 0.6 is a typical efficiency.
                let error = (q * (1.0 - q) / (0.6 * draws)).sqrt();
                assert!((below - q).abs() < 4.0 * error, "{} {x} {key}: {below}", case.id);
            }
        }
        if let Ok(evidence) = found.log_evidence {
            let off = evidence.value - number(&case.expected["log_evidence"]);
            assert!(off.abs() < 4.0 * evidence.error + 1e-9, "{}: {evidence:?} off by {off}", case.id);
        }
        println!("{} {:?} {size:?} worst {worst:.2} {:?}", case.id, found.method, found.log_evidence);
    }
}

/// A real survey (Blair, Imai and Zhou 2015): 1604 of 2435 answers were "no" through a channel that lies with probability 1/6.
#[test]
fn the_survey_by_quadrature_and_by_chains() {
    let protocol = read_protocol(
        "matrix:rows=0.8333333333333334/0.16666666666666666//0.16666666666666666/0.8333333333333334",
    );
    let protocol = protocol.unwrap().check(&sottovoce_job::PriorSpec::Jeffreys).unwrap().protocol;
    let tallies = read_tallies(
        r#"{"n": 2435, "counts": [{"y": 0, "count": 1604}, {"y": 1, "count": 831}]}"#,
        &protocol,
    );
    let (prior, tallies) = (Prior::jeffreys(2).unwrap(), tallies.unwrap());
    let options = PosteriorOptions { probabilities: vec![0.025, 0.5, 0.975], ..PosteriorOptions::default() };
    let exact = posterior(&protocol, &prior, &tallies, &options).unwrap();
    let chains = PosteriorOptions { choice: sottovoce::information::Choice::MonteCarlo, ..options };
    let sampled = posterior(&protocol, &prior, &tallies, &chains).unwrap();
    println!("{:?}\n{:?}", exact.p[0], sampled.p[0]);
    assert!((exact.p[0].mean - sampled.p[0].mean).abs() < 4.0 * sampled.p[0].error);
    for (exact, sampled) in exact.p[0].quantiles.iter().zip(&sampled.p[0].quantiles) {
        assert!((exact.1 - sampled.1).abs() < 0.15 * 0.0144, "{exact:?} {sampled:?}");
    }
    // The unbiased estimate is (1604/2435 − 1/6)/(2/3) = 0.7381.
    assert!((exact.p[0].mean - 0.7381).abs() < 5e-4);
}
