//! `docs/vectors.json`: what any client can be checked against, in any language. Every line of it follows from this program; `SOTTOVOCE_UPDATE_VECTORS=1` writes it.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use sottovoce::Protocol;
use sottovoce_client::{
    Client, Error, Generator, Published, Randomiser, Randomness, Words, canonical, fingerprint,
};
use sottovoce_collect::{Identity, Layout};
use sottovoce_job::{NamedProtocol, PriorSpec, published, read_protocol};

/// The protocols of the vectors: every kind, and what is special about some.
const PROTOCOLS: [&str; 32] = [
    "identity:a=3",
    "grr:a=3,eps=1",
    "grr:a=2,eps=100,labels=no/yes",
    "grr:a=300,eps=0.00001",
    "ue:a=5,kappa=0.75,lambda=0.25",
    "ue:a=3,kappa=1,lambda=0",
    "rappor:a=9,eps=1.5",
    "oue:a=3,eps=1,labels=red/green/blue",
    "oue:a=70,eps=1",
    "blh:a=10,eps=0.1",
    "lh:a=16,eps=1",
    "lh:a=100,g=300,eps=3",
    "lh:a=3,g=1,eps=1",
    "subset:a=5,k=2,eps=1",
    "subset:a=20,k=3,eps=1",
    "subset:a=100,k=40,eps=0.5",
    "subset:a=6,k=6,eps=1",
    "block:a=5,v=7,k=3,eps=1",
    "block:a=100,v=121,k=40,eps=1",
    "deterministic:map=0/2/2",
    "erasure:a=4,reveal=0.25",
    "erasure:a=300,reveal=0.0000015",
    r#"{"kind":"matrix","rows":[[0.5,0.25,0.1],[0.25,0.5,0.1],[0.25,0.25,0.8]]}"#,
    r#"{"kind":"matrix","rows":[[0.00001,0.00002],[0.99999,0.99998],[0,0]],"labels":["\"a\\b\"\n\u001f\u007f","é\u2028😀"]}"#,
    r#"{"kind":"product","factors":[{"kind":"grr","a":4,"epsilon":1},{"kind":"oue","a":4,"epsilon":0.5,"labels":["a","b","c","d"]}]}"#,
    r#"{"kind":"mixture","weights":[0.25,0.75],"parts":[{"kind":"grr","a":3,"epsilon":1},{"kind":"lh","a":3,"g":2,"epsilon":1}]}"#,
    r#"{"kind":"mixture","weights":[0.5,0,0.5],"parts":[{"kind":"grr","a":3,"epsilon":1},{"kind":"identity","a":3},{"kind":"oue","a":3,"epsilon":1}]}"#,
    r#"{"kind":"composition","steps":[{"kind":"grr","a":4,"epsilon":2},{"kind":"oue","a":4,"epsilon":1}]}"#,
    r#"{"kind":"composition","steps":[{"kind":"lh","a":3,"g":2,"epsilon":1},{"kind":"grr","a":16,"epsilon":2}]}"#,
    r#"{"kind":"composition","steps":[{"kind":"subset","a":4,"k":2,"epsilon":1},{"kind":"erasure","a":6,"reveal":0.5},{"kind":"grr","a":7,"epsilon":2}]}"#,
    r#"{"kind":"composition","steps":[{"kind":"product","factors":[{"kind":"rappor","a":2,"epsilon":2},{"kind":"lh","a":2,"g":2,"epsilon":1}]},{"kind":"grr","a":32,"epsilon":2}]}"#,
    r#"{"kind":"composition","steps":[{"kind":"mixture","weights":[0.5,0.5],"parts":[{"kind":"grr","a":3,"epsilon":1},{"kind":"block","a":3,"v":7,"k":3,"epsilon":1}]},{"kind":"grr","a":10,"epsilon":3}]}"#,
];

/// Doubles, and how the canonical specification writes them.
const NUMBERS: [f64; 22] = [
    0.0,
    -0.0,
    1.0,
    2.5,
    100.0,
    0.1,
    1.0 / 3.0,
    1e-4,
    1e-5,
    0.000_015,
    9.999_999_999_999_999e-6,
    1e-6,
    1.5e-7,
    1.234_567_890_123_456_7e-10,
    5e-324,
    f64::MIN_POSITIVE,
    9_007_199_254_740_992.0,
    9_999_999_999_999_998.0,
    1e16,
    1.5e16,
    1e21,
    f64::MAX,
];

/// The first words, before random ones: those at the ends of ranges are where implementations differ.
const BEGINNINGS: [&[u64]; 6] =
    [&[], &[], &[0, 0, 0], &[u64::MAX, u64::MAX, u64::MAX], &[1 << 63, 0, u64::MAX], &[u64::MAX, 0, 1]];

fn named(specification: &str) -> NamedProtocol {
    read_protocol(specification).unwrap().check(&PriorSpec::Jeffreys).unwrap()
}

/// Remembers the words that were taken.
struct Recorder<'b> {
    beginning: &'b [u64],
    rest: Generator,
    taken: Vec<u64>,
}

impl Words for Recorder<'_> {
    fn word(&mut self) -> u64 {
        let word = self.beginning.get(self.taken.len()).copied().unwrap_or_else(|| self.rest.word());
        self.taken.push(word);
        word
    }
}

/// Gives words again. That there are no more is a difference.
struct Replay(Vec<u64>);

impl Words for Replay {
    fn word(&mut self) -> u64 {
        self.0.remove(0)
    }
}

fn texts(words: &[u64]) -> Vec<String> {
    words.iter().map(u64::to_string).collect()
}

/// Reports of a protocol, with the words that lead to them.
fn reports(client: &Client, seed: u64) -> Vec<Value> {
    let inputs = client.published().inputs;
    let of = |(i, beginning): (usize, &&[u64])| {
        let x = [0, inputs - 1, inputs / 2][i % 3];
        let rest = Generator::new(Randomness::InsecureTestSeed(seed), i as u64).unwrap();
        let mut words = Recorder { beginning, rest, taken: Vec::new() };
        let report = client.report_on(x, &mut words).unwrap();
        json!({"x": x, "words": texts(&words.taken), "report": report})
    };
    BEGINNINGS.iter().enumerate().map(of).collect()
}

/// The exact probability of each report, as doubles, where there are few: for tests of distributions.
fn channel(protocol: &Protocol) -> Option<Value> {
    let matrix = Randomiser::new(protocol).unwrap().matrix().filter(|matrix| matrix.rows.len() <= 64)?;
    let layout = Layout::of(protocol);
    if layout.has_seeds() {
        return None;
    }
    let text = |y: usize| {
        let (mut bytes, mut text) = (vec![0; layout.length()], Vec::new());
        layout.write(&protocol.output(y), &mut bytes).unwrap();
        layout.write_text(&bytes, &mut text);
        String::from_utf8(text).unwrap()
    };
    // Enough digits for any test of a distribution.
    const DIGITS: u32 = 18;
    let rows = matrix.rows.iter().enumerate().map(|(y, row)| {
        let digits = row.iter().map(|words| words * 10u64.pow(DIGITS) / &matrix.denominator);
        let probabilities: Vec<f64> = digits
            .map(|digits| digits.to_string().parse::<f64>().unwrap() / 10f64.powi(DIGITS as i32))
            .collect();
        json!({"report": text(y), "probabilities": probabilities})
    });
    Some(rows.collect())
}

fn protocol(place: usize, specification: &str) -> Value {
    let named = named(specification);
    let published = published(&named).unwrap();
    let client = Client::new(published.clone()).unwrap();
    let outside: Vec<&str> =
        ["", "-1", "+0", "0.0", " 0", "00", "1e0", "999999999", "ä", "Red", "No", "yes "]
            .into_iter()
            .filter(|value| client.input(value).is_err())
            .collect();
    let mut vector = json!({
        "specification": serde_json::from_str::<Value>(&serde_json::to_string(&named.spec).unwrap()).unwrap(),
        "canonical": serde_json::to_string(&named.spec).unwrap(),
        "published": published,
        "outside": outside,
        "reports": reports(&client, place as u64),
    });
    if let Some(channel) = channel(&named.protocol) {
        vector["channel"] = channel;
    }
    vector
}

/// What is wrong, with a protocol, and what to change in its published form.
type Change<'c> = (&'c str, &'c str, &'c [(&'c str, Value)]);

/// Published protocols that a client refuses: one change of one that it takes.
fn refused() -> Vec<Value> {
    let changes: [Change<'_>; 35] = [
        ("another format", "grr:a=3,eps=1", &[("/format", json!("sottovoce protocols"))]),
        ("a newer version", "grr:a=3,eps=1", &[("/version", json!(2))]),
        ("an unknown key", "grr:a=3,eps=1", &[("/more", json!(0))]),
        ("an unknown key of the draw", "grr:a=3,eps=1", &[("/draw/more", json!(0))]),
        ("an unknown kind of draw", "grr:a=3,eps=1", &[("/draw/kind", json!("responses"))]),
        ("another fingerprint", "grr:a=3,eps=1", &[("/protocol/epsilon", json!(1.5))]),
        ("another number of inputs", "grr:a=3,eps=1", &[("/inputs", json!(4))]),
        ("a label too few", "oue:a=3,eps=1,labels=red/green/blue", &[("/labels", json!(["red", "green"]))]),
        (
            "two equal labels",
            "oue:a=3,eps=1,labels=red/green/blue",
            &[("/labels", json!(["red", "green", "red"]))],
        ),
        ("thresholds that do not sum", "grr:a=3,eps=1", &[("/draw/lie", json!("1"))]),
        (
            "a lie of no words",
            "grr:a=3,eps=1",
            &[("/draw/lie", json!("0")), ("/draw/truth", json!("18446744073709551616"))],
        ),
        ("a threshold as a number", "oue:a=3,eps=1", &[("/draw/other", json!(1000))]),
        ("a threshold above all words", "oue:a=3,eps=1", &[("/draw/other", json!("18446744073709551617"))]),
        ("a threshold with a zero in front", "oue:a=3,eps=1", &[("/draw/other", json!("01"))]),
        ("an answer without its thresholds", "lh:a=3,g=2,eps=1", &[("/draw/g", json!(1))]),
        ("a table that is no step", "lh:a=3,g=2,eps=1", &[("/draw/kind", json!("table"))]),
        ("a set larger than all", "subset:a=5,k=2,eps=1", &[("/draw/k", json!(6))]),
        ("a share above 1", "subset:a=5,k=2,eps=1", &[("/draw/start/chance", json!(128))]),
        ("a set that does not ascend", "block:a=5,v=7,k=3,eps=1", &[("/draw/set", json!([1, 0, 3]))]),
        ("a residue that does not exist", "block:a=5,v=7,k=3,eps=1", &[("/draw/set", json!([0, 1, 7]))]),
        (
            "a column that does not sum",
            "matrix:rows=0.5/0.25//0.5/0.75",
            &[("/draw/columns/0/0", json!("0"))],
        ),
        (
            "weights that do not sum",
            r#"{"kind":"mixture","weights":[0.5,0.5],"parts":[{"kind":"grr","a":3,"epsilon":1},{"kind":"identity","a":3}]}"#,
            &[("/draw/weights/0", json!("1"))],
        ),
        (
            "parts with other inputs",
            r#"{"kind":"product","factors":[{"kind":"identity","a":3},{"kind":"identity","a":3}]}"#,
            &[("/draw/factors/1/a", json!(4))],
        ),
        (
            "steps that do not fit",
            r#"{"kind":"composition","steps":[{"kind":"erasure","a":3,"reveal":0.5},{"kind":"identity","a":4}]}"#,
            &[("/draw/steps/1/a", json!(5))],
        ),
        (
            "a draw that tells the truth",
            "grr:a=3,eps=1",
            &[("/draw", json!({"kind": "response", "a": 3, "truth": "18446744073709551614", "lie": "1"}))],
        ),
        (
            "a draw that tells the truth, and says so",
            "grr:a=3,eps=1",
            &[
                ("/draw", json!({"kind": "response", "a": 3, "truth": "18446744073709551614", "lie": "1"})),
                ("/realised_ldp/value", json!(50)),
            ],
        ),
        ("a draw of another kind", "grr:a=3,eps=1", &[("/draw", json!({"kind": "identity", "a": 3}))]),
        (
            "a draw on other inputs",
            "grr:a=3,eps=1",
            &[
                ("/inputs", json!(2)),
                (
                    "/draw",
                    json!({"kind": "response", "a": 2, "truth": "9223372036854775808", "lie": "9223372036854775808"}),
                ),
            ],
        ),
        ("a level below that of the draw", "grr:a=3,eps=1", &[("/realised_ldp/value", json!(0.9))]),
        ("bits with a higher level", "oue:a=3,eps=1", &[("/draw/other", json!("4900000000000000000"))]),
        (
            "a bucket with a higher level",
            "lh:a=3,g=2,eps=1",
            &[("/draw/truth", json!("18446744073709551615")), ("/draw/lie", json!("1"))],
        ),
        (
            "a set with a higher level",
            "subset:a=5,k=2,eps=1",
            &[("/draw/own", json!("18446744073709551616"))],
        ),
        (
            "a block with a higher level",
            "block:a=5,v=7,k=3,eps=1",
            &[("/draw/own", json!("12400000000000000000"))],
        ),
        (
            "swapped labels",
            "oue:a=3,eps=1,labels=red/green/blue",
            &[("/labels", json!(["green", "red", "blue"]))],
        ),
        (
            "a step that tells the truth",
            r#"{"kind":"composition","steps":[{"kind":"grr","a":3,"epsilon":1},{"kind":"grr","a":3,"epsilon":1}]}"#,
            &[
                ("/draw/steps/0", json!({"kind": "identity", "a": 3})),
                ("/draw/steps/1", json!({"kind": "identity", "a": 3})),
            ],
        ),
    ];
    let changed = |(why, specification, changes): (&str, &str, &[(&str, Value)])| {
        let mut json = serde_json::to_value(published(&named(specification)).unwrap()).unwrap();
        for (place, value) in changes {
            let (parent, key) = place.rsplit_once('/').unwrap();
            let parent = json.pointer_mut(parent).unwrap();
            match parent {
                Value::Array(entries) => entries[key.parse::<usize>().unwrap()] = value.clone(),
                object => object[key] = value.clone(),
            }
        }
        json!({"why": why, "published": json})
    };
    changes.into_iter().map(changed).collect()
}

fn vectors() -> Value {
    let numbers: Vec<Value> = NUMBERS
        .iter()
        .map(|x| json!({"bits": format!("{:016x}", x.to_bits()), "text": serde_json::to_string(x).unwrap()}))
        .collect();
    let protocols: Vec<Value> =
        PROTOCOLS.iter().enumerate().map(|(place, specification)| protocol(place, specification)).collect();
    json!({"format": "sottovoce vectors", "version": 1, "numbers": numbers, "protocols": protocols, "refused": refused()})
}

/// A line for each number, protocol, report, output and refusal.
fn in_lines(vectors: &Value) -> String {
    let list = |name: &str| {
        let lines: Vec<String> = vectors[name].as_array().unwrap().iter().map(Value::to_string).collect();
        format!("\"{name}\":[\n{}]", lines.join(",\n"))
    };
    let text = format!(
        "{{\"format\":{},\"version\":{},\n{},\n{},\n{}}}\n",
        vectors["format"],
        vectors["version"],
        list("numbers"),
        list("protocols"),
        list("refused")
    );
    ["\"published\":", "\"reports\":[", "\"channel\":["]
        .iter()
        .fold(text, |text, key| text.replace(&format!(",{key}"), &format!(",\n  {key}")))
        .replace(",{\"x\":", ",\n    {\"x\":")
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/vectors.json")
}

fn written() -> Value {
    serde_json::from_str(&fs::read_to_string(path()).unwrap()).unwrap()
}

#[test]
fn the_file_is_what_this_program_does() {
    let text = in_lines(&vectors());
    if std::env::var_os("SOTTOVOCE_UPDATE_VECTORS").is_some() {
        fs::write(path(), &text).unwrap();
    }
    let found = fs::read_to_string(path()).unwrap();
    assert!(
        found == text,
        "docs/vectors.json is not what this program does; SOTTOVOCE_UPDATE_VECTORS=1 rewrites it"
    );
}

/// The file is enough: from what it says alone, the reports follow.
#[test]
fn a_client_of_the_file_makes_its_reports() {
    let mut checked = 0;
    for vector in written()["protocols"].as_array().unwrap() {
        let text = vector["canonical"].as_str().unwrap();
        assert_eq!(canonical(&vector["specification"]).as_deref(), Some(text));
        assert_eq!(vector["published"]["fingerprint"], fingerprint(text));
        assert_eq!(Identity::new(text.to_owned()).fingerprint, fingerprint(text));
        let client = Client::open(&vector["published"].to_string()).unwrap();
        for report in vector["reports"].as_array().unwrap() {
            let words = report["words"].as_array().unwrap().iter();
            let mut words = Replay(words.map(|word| word.as_str().unwrap().parse().unwrap()).collect());
            let x = report["x"].as_u64().unwrap() as usize;
            assert_eq!(report["report"], client.report_on(x, &mut words).unwrap(), "{text}");
            assert!(words.0.is_empty(), "{text}");
            checked += 1;
        }
        for value in vector["outside"].as_array().unwrap() {
            let refused = client.report(value.as_str().unwrap(), &mut Replay(Vec::new()));
            assert_eq!(refused, Err(Error::NotInDomain), "{text}");
        }
    }
    assert_eq!(checked, BEGINNINGS.len() * PROTOCOLS.len());
}

#[test]
fn what_must_be_refused_is() {
    let all = written();
    let refused = all["refused"].as_array().unwrap();
    assert!(refused.len() > 20);
    for case in refused {
        let result = Client::open(&case["published"].to_string());
        assert!(matches!(result, Err(Error::Published(_))), "{}", case["why"]);
    }
    assert!(Published::read("{").is_err());
}

/// Local hash as JSON reads it back: a table is a table, a seed is a seed, and nothing is lost.
#[test]
fn published_protocols_are_read_as_they_are_written() {
    for vector in written()["protocols"].as_array().unwrap() {
        let published = Published::read(&vector["published"].to_string()).unwrap();
        assert_eq!(serde_json::to_value(&published).unwrap(), vector["published"]);
    }
}
