//! The contract of every job: what its schemas promise about requests and reports holds, as an independent validator sees it.

use std::fs;
use std::path::PathBuf;

use jsonschema::Validator;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use sottovoce_job::render::Render;
use sottovoce_job::{Report, Request, unobserved};

/// The example request of a job.
fn example(job: &str) -> String {
    let path: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "tests", "requests", &format!("{job}.json")].iter().collect();
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn tree(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn validator(schema: Option<schemars::Schema>) -> Validator {
    jsonschema::draft202012::new(schema.unwrap().as_value()).unwrap()
}

fn assert_valid(validator: &Validator, value: &Value, what: &str) {
    let errors: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{what}: {errors:?}");
}

#[test]
fn example_requests_fit_their_schemas_and_are_read() {
    for job in Request::JOBS {
        let text = example(job);
        assert_valid(&validator(Request::schema(job)), &tree(&text), job);
        let request = Request::of_json(&text).unwrap();
        assert_eq!(request.job(), *job);
        request.check().unwrap();
    }
}

#[test]
fn a_request_that_is_written_is_read_again() {
    for job in Request::JOBS {
        let request = Request::of_json(&example(job)).unwrap();
        let written = serde_json::to_string(&request).unwrap();
        assert_valid(&validator(Request::schema(job)), &tree(&written), job);
        let again = Request::of_json(&written).unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), written, "{job}");
    }
}

#[test]
fn reports_fit_their_schemas() {
    for job in Request::JOBS {
        let report = Request::of_json(&example(job)).unwrap().check().unwrap().run(&unobserved).unwrap();
        let printed = tree(&report.json());
        assert_valid(&validator(Report::schema(job)), &printed, job);
        assert_eq!(printed, serde_json::to_value(&report).unwrap(), "{job}");
    }
}

/// A schema that allows anything would pass all of the above.
#[test]
fn schemas_refuse_what_does_not_fit() {
    for job in Request::JOBS {
        let (requests, reports) = (validator(Request::schema(job)), validator(Report::schema(job)));
        assert!(!requests.is_valid(&json!({"job": "no such job"})), "{job}");
        assert!(!reports.is_valid(&json!({})), "{job}");
        let mut request = tree(&example(job));
        request["epsilom"] = json!(1);
        assert!(!requests.is_valid(&request), "{job}");
        let refused = Request::of_json(&request.to_string()).unwrap_err().to_string();
        assert!(refused.contains("unknown field `epsilom`"), "{job}: {refused}");
    }
}

#[test]
fn requests_are_refused_with_the_reason() {
    for (request, reason) in [
        ("", "not valid JSON"),
        ("[]", "a list of 0 entries is not a request"),
        (r#"["explain", "s_mu"]"#, "a list of 2 entries is not a request"),
        ("{}", "missing field `job`"),
        (r#"{"job": "metric"}"#, "unknown variant `metric`"),
        (r#"{"job": "metrics"}"#, "missing field `protocol`"),
        (r#"{"job": "split", "protocol": "grr:a=3,eps=1"}"#, "missing field `n`"),
        (
            r#"{"job": "metrics", "job": "metrics", "protocol": "grr:a=3,eps=1"}"#,
            "the key `job` occurs twice",
        ),
        (
            r#"{"job": "metrics", "protocol": "grr:a=3,epsilom=1"}"#,
            "the request's protocol: unknown key `epsilom`",
        ),
        (r#"{"job": "metrics", "protocol": "grr:a=3,epsilom=1"}"#, "did you mean `epsilon`?"),
        (r#"{"job": "metrics", "protocol": "/etc/passwd"}"#, "the request's protocol: kind: unknown kind"),
        (
            r#"{"job": "metrics", "protocol": "grr:a=3,eps=1", "prior": "-"}"#,
            "the request's prior: kind: unknown kind",
        ),
        (r#"{"job": "metrics", "protocol": "grr:a=3,eps=1", "n": 1.5}"#, "a whole number"),
        (r#"{"job": "metrics", "protocol": "grr:a=3,eps=1", "n": [0]}"#, "n = 0 is not"),
        (r#"{"job": "metrics", "protocol": "grr:a=3,eps=-1"}"#, "the request's protocol: epsilon: -1"),
        (r#"{"job": "metrics", "protocol": "grr:a=3,eps=1", "method": "guess"}"#, "unknown variant `guess`"),
        (
            r#"{"job": "metrics", "protocol": "grr:a=3,eps=1", "metric": "u_distr"}"#,
            "number of users n is missing",
        ),
    ] {
        let refused = Request::of_json(request).and_then(|request| request.check()).unwrap_err().to_string();
        assert!(refused.contains(reason), "{request}: {refused}");
        assert!(!refused.contains(" --"), "a flag of the command line: {refused}");
    }
}

/// Values that no field, or few, should have.
fn odd() -> impl Strategy<Value = Value> {
    let scalars = select(vec![
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(1),
        json!(1.5),
        json!(1e-320),
        json!(1e308),
        json!(-1e308),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(9.007_199_254_740_992e15),
        json!(16_777_216),
        json!(""),
        json!("-"),
        json!("all"),
        json!("inf"),
        json!("/dev/zero"),
        json!("grr:a=16777216,eps=1e-300"),
        json!("lh:a=1000000,eps=700"),
        json!("subset:a=100000,k=50000,eps=1"),
        json!("matrix:rows=0.5/0.5//0.5/0.5"),
        json!("dirichlet:alpha=1e8/1e-4"),
        json!("\u{0}\u{7f}€"),
        json!([]),
        json!({}),
        json!([[[]]]),
        json!({"kind": "points", "weights": [1], "points": [[1, 0]]}),
    ]);
    scalars.prop_recursive(4, 40, 8, |inner| {
        let kinds = select(vec!["composition", "product", "mixture", "grr", "symmetric", "matrix"]);
        let keys = select(vec!["kind", "a", "epsilon", "steps", "parts", "weights", "rows", "alpha"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            (kinds, prop::collection::vec((keys, inner), 0..5)).prop_map(|(kind, entries)| {
                let mut object = json!({"kind": kind});
                for (key, value) in entries {
                    object[key] = value;
                }
                object
            }),
        ]
    })
}

/// How a request is damaged.
#[derive(Clone, Debug)]
enum Damage {
    Drop(Index),
    Replace(Index, Value),
    Duplicate(Index),
    Add(String, Value),
    Nest(Index, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        any::<Index>().prop_map(Damage::Drop),
        (any::<Index>(), odd()).prop_map(|(at, value)| Damage::Replace(at, value)),
        any::<Index>().prop_map(Damage::Duplicate),
        ("[a-z_]{0,8}", odd()).prop_map(|(key, value)| Damage::Add(key, value)),
        (any::<Index>(), 1..300usize).prop_map(|(at, depth)| Damage::Nest(at, depth)),
    ]
}

/// The request after the damage, as its keys and the texts of their values.
fn damaged(request: &Value, damages: &[Damage]) -> String {
    let entries = request.as_object().unwrap().iter();
    let mut entries: Vec<(String, String)> =
        entries.map(|(key, value)| (key.clone(), value.to_string())).collect();
    for damage in damages {
        let count = entries.len();
        match damage {
            Damage::Add(key, value) => entries.push((key.clone(), value.to_string())),
            _ if count == 0 => {}
            Damage::Drop(at) => drop(entries.remove(at.index(count))),
            Damage::Replace(at, value) => entries[at.index(count)].1 = value.to_string(),
            Damage::Duplicate(at) => entries.push(entries[at.index(count)].clone()),
            Damage::Nest(at, depth) => {
                let value = &mut entries[at.index(count)].1;
                *value = "[".repeat(*depth) + value + &"]".repeat(*depth);
            }
        }
    }
    let entries: Vec<String> = entries.iter().map(|(key, value)| format!("{}:{value}", json!(key))).collect();
    format!("{{{}}}", entries.join(","))
}

/// The first combination of the given depth: protocols within protocols.
fn nested(depth: usize) -> String {
    let (open, close) = (r#"{"kind":"product","factors":["#.repeat(depth), "]}".repeat(depth));
    format!(r#"{{"job":"describe","protocol":{open}{{"kind":"grr","a":2,"epsilon":1}}{close}}}"#)
}

#[test]
fn deep_requests_are_refused_and_overflow_no_stack() {
    for depth in [1, 10, 60, 100, 1000, 100_000] {
        let checked = Request::of_json(&nested(depth)).and_then(|request| request.check());
        assert!(checked.is_ok() || depth > 10, "{depth}: {:?}", checked.err());
        assert!(checked.is_err() || depth < 1000, "{depth}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// A request that fits is checked, another one refused with words; nothing panics, and a refusal is short.
    #[test]
    fn damaged_requests_never_panic(job in select(Request::JOBS), damages in prop::collection::vec(damage(), 1..4)) {
        let text = damaged(&tree(&example(job)), &damages);
        if let Err(error) = Request::of_json(&text).and_then(|request| request.check()) {
            let words = error.to_string();
            prop_assert!(words.chars().count() < 2000, "{} characters: {words}", words.len());
        }
    }
}
