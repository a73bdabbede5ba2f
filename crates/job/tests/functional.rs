//! What is asked of posteriors through requests: expressions, comparisons, several collections, trends.

use proptest::prelude::*;
use serde_json::{Value, json};
use sottovoce_job::functional::Expression;
use sottovoce_job::render::Render;
use sottovoce_job::{Error, Request, unobserved};

const LABELS: [&str; 3] = ["tea", "coffee", "water"];

/// Tallies of randomised response that name their protocol.
fn tallies(epsilon: f64, counts: [u64; 3]) -> Value {
    let counts: Vec<Value> = (0..3).map(|y| json!({"y": y, "count": counts[y]})).collect();
    json!({"protocol": {"kind": "grr", "a": 3, "epsilon": epsilon, "labels": LABELS}, "counts": counts})
}

fn checked(request: &Value) -> Result<sottovoce_job::Job, Error> {
    Request::of_json(&request.to_string())?.check()
}

fn report(request: &Value) -> Value {
    let report = checked(request).unwrap().run(&unobserved).unwrap();
    // No format fails.
    assert!(!report.text().to_string().is_empty() && !report.csv().is_empty());
    serde_json::from_str(&report.json()).unwrap()
}

fn number(value: &Value) -> f64 {
    value["value"].as_f64().unwrap()
}

#[test]
fn a_group_is_the_sum_of_its_values() {
    let of = ["share(tea, water)", "tea - water", "coffee"];
    let found = report(&json!({"job": "posterior", "tallies": tallies(1.0, [500, 300, 200]), "of": of}));
    let p: Vec<f64> = (0..3).map(|x| found["p"][x]["mean"].as_f64().unwrap()).collect();
    for (i, expected) in [p[0] + p[2], p[0] - p[2], p[1]].into_iter().enumerate() {
        let mean = &found["of"][i]["posterior"]["mean"];
        assert!((number(mean) - expected).abs() < 1e-9, "{mean}: {expected}");
        assert_eq!(mean["method"], "enumeration");
    }
    // The share of a single value is its marginal.
    let ends = |i: usize| number(&found["of"][2]["posterior"]["quantiles"][i]["at"]);
    assert_eq!(ends(0), found["p"][1]["quantiles"]["0.05"].as_f64().unwrap());
    assert!(found["of"][1]["posterior"]["above"]["probability"]["value"].as_f64().unwrap() > 0.99);
    // Draws that nobody asked for are not given out.
    assert!(found.get("draws").is_none());
}

#[test]
fn collections_are_compared() {
    let request = |other: Value| json!({"job": "posterior", "tallies": tallies(2.0, [500, 300, 200]), "against": other, "of": "tea"});
    let found = report(&request(tallies(1.0, [400, 350, 250])));
    let asked = &found["of"][0];
    let difference = number(&asked["posterior"]["mean"]) - number(&asked["against"]["posterior"]["mean"]);
    assert!((number(&asked["against"]["difference"]["mean"]) - difference).abs() < 1e-9, "{asked}");
    let variance = |summary: &Value| number(&summary["sd"]).powi(2);
    let expected = (variance(&asked["posterior"]) + variance(&asked["against"]["posterior"])).sqrt();
    // 4,000 pairs of draws: the standard error of a standard deviation is 1.1 %, five of them are allowed.
    let sd = number(&asked["against"]["difference"]["sd"]);
    assert!((sd / expected - 1.0).abs() < 0.06, "{sd} {expected}");

    let mut ranks = request(tallies(1.0, [1, 2, 3]));
    ranks["of"] = json!("rank(tea)");
    assert!(matches!(checked(&ranks), Err(Error::Expression { .. })));
    ranks["of"] = json!([]);
    assert!(matches!(checked(&ranks), Err(Error::Needs { .. })));
}

#[test]
fn collections_of_other_values_and_copies_are_refused() {
    let together = |second: Value| json!({"job": "posterior", "tallies": [tallies(1.0, [5, 3, 2]), second]});
    let mut other = tallies(1.0, [1, 2, 3]);
    other["protocol"]["labels"] = json!(["tea", "milk", "water"]);
    let refused = checked(&together(other)).unwrap_err();
    assert!(matches!(refused, Error::OtherValues { .. }), "{refused}");
    assert!(refused.to_string().contains("`milk` instead of `coffee`"), "{refused}");
    let mut fewer = json!({"counts": [{"y": 0, "count": 1}]});
    fewer["protocol"] = json!({"kind": "grr", "a": 2, "epsilon": 1});
    assert!(matches!(checked(&together(fewer)), Err(Error::OtherValues { .. })));
    let refused = checked(&together(tallies(1.0, [5, 3, 2]))).unwrap_err();
    assert!(matches!(refused, Error::SameReports { reports: 10, .. }), "{refused}");
    // Another protocol has other reports.
    assert!(checked(&together(tallies(2.0, [5, 3, 2]))).is_ok());
    assert!(matches!(checked(&json!({"job": "posterior", "tallies": []})), Err(Error::Numbers(_))));
}

/// Both together are narrower than each alone, and the linear estimate is the weighted mean.
#[test]
fn collections_are_combined() {
    let parts = [tallies(1.0, [400, 350, 250]), tallies(2.0, [500, 300, 200])];
    let found = |job: &str, tallies: Value| report(&json!({"job": job, "tallies": tallies}));
    let all = [json!(parts), parts[0].clone(), parts[1].clone()];
    let [both, first, second] = all.clone().map(|tallies| found("posterior", tallies));
    let sd = |report: &Value| report["p"][0]["sd"].as_f64().unwrap();
    assert!(sd(&both) < sd(&first).min(sd(&second)), "{both}");
    assert_eq!(both["n"], 2000);
    assert_eq!(both["collections"].as_array().unwrap().len(), 2);
    let [both, first, second] = all.map(|tallies| found("estimate", tallies));
    let linear = |report: &Value, x: usize| report["p"][x]["linear"]["estimate"].as_f64().unwrap();
    // Inverse variances of all estimates at the uniform distribution, by the textbook formula for randomised response.
    let weight = |epsilon: f64| {
        let (own, other) = (epsilon.exp() / (epsilon.exp() + 2.0), 1.0 / (epsilon.exp() + 2.0));
        (own - other).powi(2) / (1.0 / 3.0 * (2.0 / 3.0))
    };
    let (w, v) = (weight(1.0), weight(2.0));
    for x in 0..3 {
        let expected = (w * linear(&first, x) + v * linear(&second, x)) / (w + v);
        assert!((linear(&both, x) - expected).abs() < 1e-12, "{x}: {expected}");
    }
    let error = |report: &Value| report["p"][0]["linear"]["standard_error"].as_f64().unwrap();
    assert!(error(&both) < error(&first).min(error(&second)));
    let ml: f64 = (0..3).map(|x| both["p"][x]["ml"]["estimate"].as_f64().unwrap()).sum();
    assert!((ml - 1.0).abs() < 1e-9);
}

#[test]
fn trends_have_values_and_changes() {
    let points = [[300, 350, 350], [400, 350, 250], [500, 300, 200]].map(|counts| tallies(1.0, counts));
    let found = report(&json!({"job": "trend", "tallies": points, "of": ["tea", "tea / water"]}));
    let tea = &found["trends"][0];
    let means: Vec<f64> = (0..3).map(|i| number(&tea["values"][i]["mean"])).collect();
    assert!(means[0] < means[1] && means[1] < means[2], "{means:?}");
    for i in 0..2 {
        assert!((number(&tea["steps"][i]["mean"]) - (means[i + 1] - means[i])).abs() < 1e-9);
    }
    assert!((number(&tea["overall"]["mean"]) - (means[2] - means[0])).abs() < 1e-9);
    assert!(number(&tea["overall"]["above"]["probability"]) > 0.99);
    let names: Vec<&str> = (0..3).map(|i| found["points"][i]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["1", "2", "3"]);
    assert_eq!(found["trends"][1]["unit"], "ratio");
    // Without a question, the most common values.
    let usual = report(&json!({"job": "trend", "tallies": points}));
    assert_eq!(usual["trends"][0]["expression"], "tea");
    assert!(checked(&json!({"job": "trend", "tallies": [points[0]]})).is_err());
    assert!(checked(&json!({"job": "trend", "tallies": points, "of": "top(2)"})).is_err());
}

proptest! {
    /// Whatever is written, an expression is read or refused at a place within it, and a label in quotes is that label.
    #[test]
    fn expressions_are_read_or_refused(text in r#"[a-z0-9 "\\(),./\-\[\]é]{0,40}"#, label in ".{1,20}") {
        let labels: Vec<String> = ["tea", "a b", "[0, 10)"].map(String::from).to_vec();
        match Expression::read(&text, &labels) {
            Ok(_) => {}
            Err(Error::Expression { position, .. }) => prop_assert!(position <= text.chars().count() + 1),
            Err(other) => prop_assert!(false, "{other}"),
        }
        let labels = vec![label.clone(), format!("{label}+")];
        let quoted = format!("share(\"{}\")", label.replace('\\', "\\\\").replace('"', "\\\""));
        prop_assert!(Expression::read(&quoted, &labels).is_ok(), "{quoted}");
    }
}
