//! The reader of specifications meets every kind, and then anything at all.
//!
//! Mutations are of the text (bytes cut, doubled, swapped, replaced) and of the structure (wrong types, missing and extra
//! keys, extreme numbers). The reader may accept or refuse; it may not panic, hang or refuse without a word.

use proptest::prelude::*;
use serde_json::{Value, json};
use sottovoce::protocol::Specification;
use sottovoce_job::{Error, NamedProtocol, PriorSpec, ProtocolSpec, read_prior, read_protocol};

/// A valid protocol of every kind, plain, labelled and nested.
fn protocols() -> Vec<Value> {
    let grr = json!({"kind": "grr", "a": 3, "epsilon": 1.5, "labels": ["red", "green", "blue"]});
    vec![
        json!({"kind": "identity", "a": 4}),
        grr.clone(),
        json!({"kind": "ue", "a": 3, "kappa": 0.7, "lambda": 0.2}),
        json!({"kind": "rappor", "a": 5, "epsilon": 0.5}),
        json!({"kind": "oue", "a": 10000, "epsilon": 2.0}),
        json!({"kind": "blh", "a": 6, "epsilon": 1.0}),
        json!({"kind": "lh", "a": 16, "epsilon": 1.0}),
        json!({"kind": "lh", "a": 16, "g": 4, "epsilon": 1.0}),
        json!({"kind": "subset", "a": 6, "epsilon": 1.0}),
        json!({"kind": "subset", "a": 16, "k": 3, "epsilon": 1.0}),
        json!({"kind": "block", "a": 16, "epsilon": 1.0}),
        json!({"kind": "block", "a": 16, "v": 21, "k": 5, "epsilon": 1.0}),
        json!({"kind": "deterministic", "map": [0, 0, 1]}),
        json!({"kind": "erasure", "a": 3, "reveal": 0.25}),
        json!({"kind": "matrix", "rows": [[0.7, 0.3, 0.1], [0.3, 0.7, 0.9]]}),
        json!({"kind": "composition", "steps": [grr, {"kind": "deterministic", "map": [0, 0, 1]}]}),
        json!({"kind": "product", "factors": [grr, {"kind": "erasure", "a": 3, "reveal": 0.5}]}),
        json!({"kind": "mixture", "weights": [0.25, 0.75],
               "parts": [grr, {"kind": "product", "factors": [grr, {"kind": "lh", "a": 3, "epsilon": 1.0}]}]}),
    ]
}

/// A protocol carries a specification that reads as what the user wrote, names aside, and gives the protocol again.
#[test]
fn the_specification_that_a_protocol_carries_is_the_one_that_was_written() {
    for json in protocols() {
        let named = check(&json.to_string()).unwrap();
        let carried = named.protocol.specification();
        let text = serde_json::to_string(&carried).unwrap();
        assert_eq!(serde_json::from_str::<Specification>(&text).unwrap(), carried);
        let written = ProtocolSpec::from(carried);
        assert_eq!(serde_json::to_string(&written).unwrap(), text);
        assert_eq!(check(&text).unwrap().protocol, named.protocol);
        let unlabelled = |spec: &ProtocolSpec| strip_labels(serde_json::to_value(spec).unwrap());
        assert_eq!(unlabelled(&written), unlabelled(&named.spec));
    }
}

fn strip_labels(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(key, _)| key != "labels")
            .map(|(key, value)| (key, strip_labels(value)))
            .collect(),
        Value::Array(items) => items.into_iter().map(strip_labels).collect(),
        other => other,
    }
}

/// A valid prior of every kind, on three values.
fn priors() -> Vec<Value> {
    vec![
        json!({"kind": "jeffreys"}),
        json!({"kind": "symmetric", "alpha": 2.5}),
        json!({"kind": "dirichlet", "alpha": [0.3, 1.2, 2.5]}),
        json!({"kind": "dirichlet_mixture", "weights": [0.5, 0.5], "parts": [[1.0, 2.0, 3.0], [0.5, 0.5, 0.5]]}),
        json!({"kind": "points", "weights": [0.5, 0.5], "points": [[0.2, 0.3, 0.5], [0.5, 0.25, 0.25]]}),
    ]
}

const SHORTHANDS: [&str; 8] = [
    "grr:a=16,eps=1",
    "ue:a=3,kappa=0.7,lambda=0.2",
    "lh:a=100,epsilon=2",
    "subset:a=8,k=3,e=1",
    "deterministic:map=0/0/1",
    "erasure:a=3,reveal=0.5,labels=x/y/z",
    "matrix:rows=0.7/0.3//0.3/0.7",
    "dirichlet:alpha=0.3/1.2/2.5",
];

fn check(argument: &str) -> Result<NamedProtocol, Error> {
    read_protocol(argument)?.check(&PriorSpec::Jeffreys)
}

/// Reads the text as a protocol and as a prior, inline and from a file of the given extension.
fn survives(bytes: &[u8], extension: &str) -> Result<(), TestCaseError> {
    let told = |error: Option<Error>| error.is_none_or(|error| !error.to_string().is_empty());
    if let Ok(text) = std::str::from_utf8(bytes)
        && text.trim() != "-"
    {
        prop_assert!(told(check(text).err()));
        prop_assert!(told(read_prior(text).and_then(|prior| prior.check(3)).err()));
    }
    let file = tempfile::Builder::new().suffix(extension).tempfile().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let path = file.path().to_str().unwrap();
    prop_assert!(told(check(path).err()));
    prop_assert!(told(read_prior(path).and_then(|prior| prior.check(3)).err()));
    Ok(())
}

#[test]
fn every_kind_of_protocol_round_trips_and_is_valid() {
    for json in protocols() {
        let spec: ProtocolSpec = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(&spec).unwrap(), json);
        let text = serde_json::to_string(&spec).unwrap();
        assert!(text.starts_with(r#"{"kind":"#), "{text}");
        assert_eq!(read_protocol(&text).unwrap().spec, spec);
        let resolved = check(&text).unwrap().spec;
        assert_eq!(check(&serde_json::to_string(&resolved).unwrap()).unwrap().spec, resolved);
    }
}

#[test]
fn every_kind_of_prior_round_trips_and_is_valid() {
    for json in priors() {
        let spec: PriorSpec = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(&spec).unwrap(), json);
        assert!(read_prior(&json.to_string()).unwrap().check(3).is_ok());
    }
}

#[test]
fn toml_and_json_files_mean_the_same() {
    for json in protocols() {
        let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
        std::fs::write(file.path(), toml::to_string(&json).unwrap()).unwrap();
        let read = read_protocol(file.path().to_str().unwrap()).unwrap();
        assert_eq!(read.spec, read_protocol(&json.to_string()).unwrap().spec);
    }
}

#[test]
fn every_shorthand_in_this_file_is_valid() {
    for (shorthand, prior) in SHORTHANDS.iter().map(|s| (s, s.starts_with("dirichlet"))) {
        assert!(if prior { read_prior(shorthand).is_ok() } else { check(shorthand).is_ok() }, "{shorthand}");
    }
}

#[test]
fn a_null_size_or_label_means_none() {
    let spec = read_protocol(r#"{"kind":"lh","a":3,"g":null,"epsilon":1,"labels":null}"#).unwrap().spec;
    assert_eq!(spec, read_protocol("lh:a=3,eps=1").unwrap().spec);
}

#[test]
fn thirty_two_levels_are_allowed_and_more_are_not() {
    let nested = |depth: usize| {
        (0..depth).fold(
            json!({"kind": "grr", "a": 2, "epsilon": 1}),
            |part, _| json!({"kind": "product", "factors": [part]}),
        )
    };
    assert!(check(&nested(32).to_string()).is_ok());
    assert!(check(&nested(33).to_string()).is_err());
    assert!(matches!(check(&nested(70).to_string()), Err(Error::TooNested { .. })));
}

/// A change to a text.
#[derive(Clone, Debug)]
enum Edit {
    Cut(usize),
    Replace(usize, u8),
    Insert(usize, Vec<u8>),
    Swap(usize, usize),
    Repeat(usize, usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let fragments = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        "\"",
        ",",
        ":",
        "=",
        "/",
        "//",
        "-",
        "1e999",
        "NaN",
        "inf",
        "null",
        "true",
        "\\u0000",
        "\u{fe0f}",
        "kind",
        "[[parts]]",
        "'''",
        "#",
        "\n",
        "9999999999999999999999",
        "0.1",
        "a",
        "-1",
        "\u{0}",
        "x.y.z=1\n",
    ]);
    prop_oneof![
        any::<usize>().prop_map(Edit::Cut),
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Edit::Replace(at, byte)),
        (any::<usize>(), fragments).prop_map(|(at, text)| Edit::Insert(at, text.as_bytes().to_vec())),
        (any::<usize>(), any::<usize>()).prop_map(|(at, other)| Edit::Swap(at, other)),
        (any::<usize>(), 1..40usize).prop_map(|(at, times)| Edit::Repeat(at, times)),
    ]
}

fn apply(bytes: &mut Vec<u8>, edit: &Edit) {
    let length = bytes.len().max(1);
    match edit {
        _ if bytes.is_empty() => {}
        Edit::Cut(at) => bytes.truncate(at % length),
        Edit::Replace(at, byte) => bytes[at % length] = *byte,
        Edit::Insert(at, text) => {
            bytes.splice(at % length..at % length, text.iter().copied());
        }
        Edit::Swap(at, other) => bytes.swap(at % length, other % length),
        Edit::Repeat(at, times) => {
            let start = at % length;
            let piece = bytes[start..(start + 8).min(bytes.len())].repeat(*times);
            bytes.splice(start..start, piece);
        }
    }
}

/// Any value that could stand where another one should.
fn wrong_value() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        prop::sample::select(vec![
            0.0,
            -0.0,
            -1.0,
            1e-320,
            1e308,
            -1e308,
            0.5,
            1.0,
            2.0,
            1e18,
            1.0 + 1e-10,
            16_777_217.0
        ]),
        any::<f64>(),
        -5.0..20.0,
    ];
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        number.clone().prop_map(Value::from),
        "[a-z_]{0,8}".prop_map(Value::from),
        prop::collection::vec(number, 0..5).prop_map(Value::from),
        prop::sample::select(protocols()),
        prop::sample::select(protocols()).prop_map(|protocol| json!([protocol])),
        Just(json!({})),
        Just(json!([[]])),
    ]
}

/// Changes the `at`-th value of a tree, counted in depth-first order: replaced, removed or joined by another.
fn mutate(json: &mut Value, at: &mut usize, how: u8, wrong: &Value) {
    if *at == 0 {
        match (how % 3, &mut *json) {
            (1, Value::Object(object)) => drop(object.insert("extra".into(), wrong.clone())),
            (1, Value::Array(list)) => list.push(wrong.clone()),
            (2, Value::Object(object)) => drop(object.pop_last()),
            (2, Value::Array(list)) => drop(list.pop()),
            _ => *json = wrong.clone(),
        }
    }
    *at = at.wrapping_sub(1);
    match json {
        Value::Array(list) => list.iter_mut().for_each(|item| mutate(item, at, how, wrong)),
        Value::Object(object) => object.values_mut().for_each(|item| mutate(item, at, how, wrong)),
        _ => {}
    }
}

trait PopLast {
    fn pop_last(&mut self) -> Option<Value>;
}

impl PopLast for serde_json::Map<String, Value> {
    fn pop_last(&mut self) -> Option<Value> {
        let last = self.keys().next_back()?.clone();
        self.remove(&last)
    }
}

fn seeds() -> Vec<(String, &'static str)> {
    let all: Vec<Value> = protocols().into_iter().chain(priors()).collect();
    let json = all.iter().map(|json| (json.to_string(), ".json"));
    let toml = all.iter().map(|json| (toml::to_string(json).unwrap(), ".toml"));
    json.chain(toml).chain(SHORTHANDS.iter().map(|s| ((*s).to_owned(), ".txt"))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_texts_are_accepted_or_refused_with_a_word(
        (text, extension) in prop::sample::select(seeds()),
        edits in prop::collection::vec(edit(), 1..6),
    ) {
        let mut bytes = text.into_bytes();
        edits.iter().for_each(|edit| apply(&mut bytes, edit));
        survives(&bytes, extension)?;
    }

    #[test]
    fn mutated_structures_are_accepted_or_refused_with_a_word(
        mut json in prop::sample::select(protocols().into_iter().chain(priors()).collect::<Vec<_>>()),
        changes in prop::collection::vec((0..25usize, any::<u8>(), wrong_value()), 1..4),
    ) {
        for (at, how, wrong) in changes {
            mutate(&mut json, &mut at.clone(), how, &wrong);
        }
        survives(json.to_string().as_bytes(), ".json")?;
        if let Ok(text) = toml::to_string(&json) {
            survives(text.as_bytes(), ".toml")?;
        }
    }

    #[test]
    fn any_bytes_are_accepted_or_refused_with_a_word(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        survives(&bytes, ".json")?;
    }
}
