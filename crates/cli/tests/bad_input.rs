//! Every way of being wrong that a user can reach: exit code 2, a message that names the place and what is allowed, no
//! panic, no backtrace, no hang.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use assert_cmd::Command;

/// Runs a command that must be refused, and gives what it says.
fn refusal(arguments: &[&str]) -> String {
    let start = Instant::now();
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("sottovoce"));
    let output = command.args(arguments).env("RUST_BACKTRACE", "1").output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    assert!(message.starts_with("error: "), "{message}");
    for word in ["panicked", "stack backtrace", "RUST_BACKTRACE", "overflow"] {
        assert!(!message.contains(word), "{message}");
    }
    assert!(message.len() < 700, "{} characters: {message}", message.len());
    assert!(start.elapsed() < Duration::from_secs(20), "{arguments:?} took {:?}", start.elapsed());
    message
}

/// Asserts that the refusal contains all the words.
fn refused(arguments: &[&str], words: &[&str]) {
    let message = refusal(arguments);
    for word in words {
        assert!(message.contains(word), "{arguments:?} should say `{word}`: {message}");
    }
}

/// Protocols with the words that the refusal must contain: the field, the value or what is allowed, the suggestion.
const PROTOCOLS: &[(&str, &[&str])] = &[
    ("grr:a=16,eps=-1", &["epsilon: -1 is not above 0 and at most 100"]),
    ("grr:a=16,eps=0", &["epsilon: 0 is not above 0"]),
    ("grr:a=16,eps=nan", &["epsilon: NaN is not above 0"]),
    ("grr:a=16,eps=inf", &["epsilon: inf is not above 0"]),
    ("grr:a=16,eps=1e300", &["epsilon: 1e300 is not above 0"]),
    ("grr:a=16,eps=101", &["epsilon: 101 is not", "at most 100"]),
    (
        r#"{"kind":"grr","a":16,"epsilon":NaN}"#,
        &["inline JSON", "line 1, column 32", "hint: JSON has no NaN"],
    ),
    (r#"{"kind":"grr","a":16,"epsilon":Infinity}"#, &["inline JSON: not valid JSON"]),
    (r#"{"kind":"grr","a":16,"epsilon":1e999}"#, &["inline JSON", "number out of range"]),
    (r#"{"kind":"grr","a":16,"epsilon":"1"}"#, &["epsilon: the text \"1\" is not a number"]),
    (r#"{"kind":"grr","a":16,"epsilon":null}"#, &["epsilon: null is not a number"]),
    ("grr:a=1,eps=1", &["a: a = 1 is outside 2 to 16777216 inputs"]),
    ("grr:a=0,eps=1", &["a: a = 0 is outside 2 to"]),
    ("grr:a=1e18,eps=1", &["a: a = 1000000000000000000 is outside"]),
    ("grr:a=1e40,eps=1", &["a: 1e40 is not a whole number below 2^64; there are at most 16777216 inputs"]),
    ("grr:a=2.5,eps=1", &["a: 2.5 is not a whole number"]),
    ("grr:a=-3,eps=1", &["a: -3 is not a whole number of 0 or more"]),
    ("grr:a=16777217,eps=1", &["a: a = 16777217 is outside 2 to 16777216 inputs"]),
    ("grr:eps=1", &["the key `a` is missing", "`grr` needs `a`, `epsilon`"]),
    ("grr", &["the key `a` is missing"]),
    ("grr:a=16,epsilom=1", &["unknown key `epsilom`", "hint: did you mean `epsilon`?"]),
    (r#"{"kind":"grr","a":16,"eps":1}"#, &["unknown key `eps`", "hint: did you mean `epsilon`?"]),
    ("grr:a=16,eps=1,g=4", &["unknown key `g`; `grr` takes `a`, `epsilon`, `labels`"]),
    ("grr:a=16,a=17,eps=1", &["the key `a` occurs twice"]),
    (r#"{"kind":"grr","a":16,"a":17,"epsilon":1}"#, &["the key `a` occurs twice"]),
    ("grr:a=16,eps", &["`eps` is not of the form key=value"]),
    (
        "gr:a=16,eps=1",
        &["unknown kind `gr`; kinds of protocol are identity, grr", "hint: did you mean `grr`?"],
    ),
    ("olh:a=16,eps=1", &["kind: unknown kind `olh`", "hint: did you mean `lh`?"]),
    (r#"{"kind":7}"#, &["kind: 7 is not the name of a kind"]),
    ("{}", &["the key `kind` is missing", "identity, grr, ue"]),
    ("[]", &["a list of 0 entries is not a protocol"]),
    ("", &["is empty", r#"{"kind": "grr""#]),
    ("ue:a=3,kappa=0.2,lambda=0.3", &["kappa: kappa = 0.2 is smaller than lambda = 0.3"]),
    ("ue:a=3,kappa=1.2,lambda=0.3", &["kappa: 1.2 is not a probability between 0 and 1"]),
    ("ue:a=3,kappa=0.5,lambda=-0.1", &["lambda: -0.1 is not a probability"]),
    ("lh:a=3,g=0,eps=1", &["g: g = 0 is outside 1 to 16777216"]),
    ("lh:a=3,eps=-1", &["epsilon: -1 is not above 0"]),
    ("subset:a=3,k=4,eps=1", &["k: k = 4 is outside 1 to 3"]),
    ("subset:a=3,k=0,eps=1", &["k: k = 0 is outside 1 to 3"]),
    ("erasure:a=3,reveal=1.5", &["reveal: 1.5 is not a probability between 0 and 1"]),
    ("erasure:a=3,reveal=nan", &["reveal: NaN is not a probability"]),
    ("deterministic:map=0", &["map: a = 1 is outside 2 to"]),
    ("deterministic:map=0/-1", &["map[1]: -1 is not a whole number of 0 or more"]),
    ("deterministic:map=0/1e9", &["map[1]: map = 1000000000 is outside 0 to 16777215"]),
    (r#"{"kind":"deterministic","map":[]}"#, &["map: a = 0 is outside 2 to"]),
    ("matrix:rows=0.5/0.5//0.4/0.5", &["rows: column 0 sums to 0.9, not 1 (tolerance 1e-9)"]),
    ("matrix:rows=0.5/0.5//0.5", &["rows[1]: row 1 has 1 entries; row 0 has 2"]),
    ("matrix:rows=1.5/0.5//-0.5/0.5", &["rows[0][0]: 1.5 is not a probability between 0 and 1"]),
    (r#"{"kind":"matrix","rows":[]}"#, &["rows: rows is empty"]),
    (r#"{"kind":"matrix","rows":[[]]}"#, &["rows[0]: a = 0 is outside 2 to"]),
    (r#"{"kind":"matrix","rows":[[1,"x"]]}"#, &["rows[0][1]: the text \"x\" is not a number"]),
    (r#"{"kind":"matrix","rows":5}"#, &["rows: 5 is not a list of lists of numbers"]),
    (r#"{"kind":"composition","steps":[]}"#, &["steps: steps is empty; at least one entry is needed"]),
    (r#"{"kind":"product","factors":[]}"#, &["factors: factors is empty"]),
    (r#"{"kind":"mixture","weights":[],"parts":[]}"#, &["parts: parts is empty"]),
    (
        r#"{"kind":"composition","steps":[{"kind":"grr","a":3,"epsilon":1},{"kind":"grr","a":4,"epsilon":1}]}"#,
        &["steps[1]: step 1 takes 4 inputs, but 3 are needed there"],
    ),
    (
        r#"{"kind":"product","factors":[{"kind":"identity","a":3},{"kind":"identity","a":4}]}"#,
        &["factors[1]: factor 1 takes 4 inputs"],
    ),
    (
        r#"{"kind":"mixture","weights":[0.5,0.6],"parts":[{"kind":"identity","a":3},{"kind":"identity","a":3}]}"#,
        &["weights: weights sum to 1.1, not 1"],
    ),
    (
        r#"{"kind":"mixture","weights":[1.5,-0.5],"parts":[{"kind":"identity","a":3},{"kind":"identity","a":3}]}"#,
        &["weights[0]: 1.5 is not a probability"],
    ),
    (
        r#"{"kind":"mixture","weights":[1],"parts":[{"kind":"identity","a":3},{"kind":"identity","a":3}]}"#,
        &["weights: weights has 1 entries but parts has 2"],
    ),
    (
        r#"{"kind":"mixture","weights":[0.5,0.5],"parts":[{"kind":"identity","a":3},{"kind":"grr","a":3,"epsilon":-2}]}"#,
        &["parts[1].epsilon: -2 is not above 0 and at most 100"],
    ),
    (
        r#"{"kind":"composition","steps":[{"kind":"oue","a":100,"epsilon":1},{"kind":"identity","a":3}]}"#,
        &["2^100 outputs"],
    ),
    (r#"{"kind":"product","factors":[3]}"#, &["factors[0]: 3 is not a protocol"]),
    (
        "product:factors=grr",
        &["factors: the text \"grr\" is not a list of protocols", "hint: a shorthand cannot combine"],
    ),
    ("grr:a=3,eps=1,labels=x/y", &["labels: there are 2 labels for 3 inputs"]),
    ("grr:a=3,eps=1,labels=x/y/x", &["labels[2]: the label `x` is already the label of input 0"]),
    (r#"{"kind":"grr","a":2,"epsilon":1,"labels":[1,2]}"#, &["labels[0]: 1 is not a text"]),
    (
        r#"{"kind":"grr","a":16,"epsilon":1"#,
        &["inline JSON: not valid JSON: the text ends too early", "line 1, column 32"],
    ),
    (r#"{"kind":"grr","a":16,"epsilon":1} x"#, &["inline JSON: not valid JSON: trailing characters"]),
    ("no/such/file.json", &["no/such/file.json: cannot be read: No such file", "hint: a specification is"]),
    ("-x", &["unknown kind `-x`"]),
];

/// Priors, for a protocol on three inputs.
const PRIORS: &[(&str, &[&str])] = &[
    ("jefreys", &["unknown kind `jefreys`; kinds of prior are jeffreys", "hint: did you mean `jeffreys`?"]),
    ("uniform", &["kind: unknown kind", "hint: did you mean `symmetric`?"]),
    ("symmetric", &["the key `alpha` is missing"]),
    ("symmetric:alpha=-1", &["alpha: -1 is not between 1e-4 and 1e8"]),
    ("symmetric:alpha=0", &["alpha: 0 is not between"]),
    ("symmetric:alpha=nan", &["alpha: NaN is not between"]),
    ("symmetric:alpha=1e9", &["alpha: 1000000000 is not between"]),
    ("symmetric:alpha=1/2/3", &["alpha: a list of 3 entries is not a number"]),
    ("dirichlet:alpha=1", &["alpha: 1 is not a list of numbers"]),
    ("dirichlet:alpha=1/2", &["alpha: the prior is on 2 values, the protocol on 3"]),
    ("dirichlet:alpha=1/-2/3", &["alpha[1]: -2 is not between"]),
    (r#"{"kind":"dirichlet","alpha":[]}"#, &["alpha: a = 0 is outside 2 to"]),
    (r#"{"kind":"dirichlet_mixture","weights":[1],"parts":[[1,1,0]]}"#, &["parts[0][2]: 0 is not between"]),
    (
        r#"{"kind":"dirichlet_mixture","weights":[0.5],"parts":[[1,1,1]]}"#,
        &["weights: weights sum to 0.5, not 1"],
    ),
    (
        r#"{"kind":"dirichlet_mixture","weights":[0.5,0.5],"parts":[[1,1,1],[1,1]]}"#,
        &["parts[1]: part 1 takes 2"],
    ),
    (
        r#"{"kind":"points","weights":[0.5,0.5],"points":[[1,0,0],[0,1,0]]}"#,
        &["points: ", "nothing to keep private"],
    ),
    (
        r#"{"kind":"points","weights":[1],"points":[[0.5,0.5,0]]}"#,
        &["points: ", "at least two different points"],
    ),
    (
        r#"{"kind":"points","weights":[0.5,0.5],"points":[[0.5,0.5,0],[0.5,0.4,0]]}"#,
        &["points[1]: ", "sum to 0.9"],
    ),
    (r#"{"kind":"points","weights":[1],"points":[[0.5,0.5]]}"#, &["points"]),
    ("missing.toml", &["missing.toml: cannot be read"]),
];

#[test]
fn bad_protocols_are_refused() {
    for (protocol, words) in PROTOCOLS {
        for command in ["metrics", "describe"] {
            refused(&[command, "--protocol", protocol], words);
        }
    }
}

#[test]
fn bad_priors_are_refused() {
    for (prior, words) in PRIORS {
        refused(&["metrics", "-p", "grr:a=3,eps=1", "--prior", prior], words);
    }
}

#[test]
fn bad_settings_are_refused() {
    let metrics = |more: &[&'static str]| [&["metrics", "-p", "grr:a=3,eps=1"], more].concat();
    refused(
        &metrics(&["--metric", "s_muu"]),
        &["unknown metric `s_muu`; metrics are ldp", "did you mean `s_mu`?"],
    );
    refused(&metrics(&["--metric", "ldp,"]), &["metric = `` is not a name", "none at its end"]);
    refused(
        &metrics(&["--metric", "u_digit,i_y_p"]),
        &[
            "the number of users n is missing; u_digit, i_y_p cannot be computed without it",
            "give the number of users with --n",
        ],
    );
    refused(&metrics(&["--n", "0"]), &["a whole number of 1 or more"]);
    refused(&metrics(&["--n", "1.5"]), &["a whole number of 1 or more"]);
    refused(&metrics(&["--n=-4"]), &["a whole number of 1 or more"]);
    refused(&metrics(&["--n", "-5"]), &["a whole number of 1 or more"]);
    refused(&metrics(&["--tolerance", "0"]), &["tolerance = 0 is not above 0"]);
    refused(&metrics(&["--tolerance", "-1"]), &["tolerance = -1 is not above 0"]);
    refused(&metrics(&["--tolerance", "nan"]), &["tolerance = NaN is not above 0"]);
    refused(&metrics(&["--threads", "0"]), &["0 is not in 1..=1024"]);
    refused(&metrics(&["--seed", "x"]), &["--seed"]);
    refused(&metrics(&["--format", "xml"]), &["text, json, csv"]);
    refused(&metrics(&["--time-limit", "0"]), &["a number of seconds above 0"]);
    refused(&metrics(&["--time-limit", "-1"]), &["a number of seconds above 0"]);
    refused(&metrics(&["--time-limit", "nan"]), &["a number of seconds above 0"]);
    refused(&metrics(&["--method", "guess"]), &["auto, exact, approximation, monte-carlo, asymptote"]);
    refused(&["metrics"], &["--protocol"]);
    refused(&["metric"], &["metrics"]);
    refused(&["schema", "x"], &["protocol, prior"]);
}

#[test]
fn bad_splits_are_refused() {
    let split = |more: &[&'static str]| [&["split", "-p", "grr:a=3,eps=1"], more].concat();
    refused(&split(&[]), &["--n <N>"]);
    refused(&split(&["--n", "0"]), &["a whole number of 1 or more"]);
    refused(&split(&["--n", "1,2"]), &["a whole number of 1 or more"]);
    refused(&split(&["--n", "nan"]), &["a whole number of 1 or more"]);
    refused(&split(&["--n", "10", "--tolerance", "0"]), &["tolerance = 0 is not above 0"]);
    refused(&split(&["--n", "10", "--prior", "dirichlet:alpha=1/2"]), &["the prior is on 2 values"]);
    refused(&["split", "-p", "grr:a=1,eps=1", "--n", "10"], &["a: a = 1 is outside 2 to"]);
}

#[test]
fn bad_targets_are_refused() {
    let users = |more: &[&'static str]| [&["users", "-p", "grr:a=3,eps=1"], more].concat();
    refused(&users(&[]), &["--digits <D>"]);
    refused(&users(&["--digits", "1", "--u-distr", "0.5"]), &["--digits", "cannot be used with"]);
    refused(&users(&["--digits", "1", "--decimal-digits", "1"]), &["cannot be used with"]);
    refused(&users(&["--digits", "-1"]), &["digits = -1 is not above 0 and finite"]);
    refused(&users(&["--digits", "nan"]), &["digits = NaN is not above 0"]);
    refused(&users(&["--decimal-digits", "inf"]), &["decimal_digits = inf is not above 0 and finite"]);
    refused(&users(&["--u-distr", "0"]), &["u_distr = 0 is not above 0 and at most 1"]);
    refused(&users(&["--u-distr", "1.5"]), &["write 1.5% or 0.015"]);
    refused(&users(&["--u-distr", "150%"]), &["u_distr = 1.5 is not above 0 and at most 1"]);
    refused(&users(&["--u-distr", "half"]), &["--u-distr"]);
    refused(&users(&["--accuracy", "0"]), &["accuracy = 0 is not above 0 and below 1"]);
    refused(
        &users(&["--accuracy", "0.1", "-d", "l3"]),
        &["unknown distance `l3`; allowed are l1, l2, l2sq, rms, max"],
    );
    refused(&users(&["--accuracy", "0.1", "-e", "lineal"]), &["unknown estimator `lineal`"]);
    refused(&users(&["--digits", "1", "-d", "l1"]), &["--distance", "cannot be used with"]);
    refused(&["users", "-p", "grr:a=1,eps=1", "--digits", "1"], &["a: a = 1 is outside 2 to"]);
}

/// Writes a file and asserts that it is refused with its name and the words.
fn refused_file(directory: &Path, name: &str, bytes: &[u8], words: &[&str]) {
    let path = directory.join(name);
    fs::write(&path, bytes).unwrap();
    refused(&["metrics", "-p", path.to_str().unwrap()], &[&[name], words].concat());
}

#[test]
fn bad_files_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let bad = |name: &str, bytes: &[u8], words: &[&str]| refused_file(directory.path(), name, bytes, words);
    bad("empty.json", b"", &["is empty"]);
    bad("blank.toml", b" \n\t\n", &["is empty"]);
    bad("binary.json", &[0x7f, b'E', b'L', b'F', 0, 0xff, 0xfe], &["is not text (byte 5"]);
    bad("zeros.json", &[0; 1000], &["not valid JSON"]);
    bad("zeros.toml", &[0; 1000], &["not valid TOML"]);
    bad("truncated.json", b"{\"kind\": \"grr\",\n \"a\": 16, \"eps", &["the text ends too early", "line 2"]);
    bad("truncated.toml", b"kind = 'grr'\na = ", &["not valid TOML", "line 2"]);
    bad("twice.toml", b"kind = 'grr'\na = 3\na = 4\nepsilon = 1", &["duplicate key", "line 3"]);
    bad("nan.toml", b"kind = 'grr'\na = 3\nepsilon = nan", &["epsilon: NaN is not above 0"]);
    bad("date.toml", b"kind = 'grr'\na = 3\nepsilon = 2020-01-01", &["epsilon: an object is not a number"]);
    bad(
        "range.toml",
        b"kind = 'grr'\na = 3\nepsilon = 1000",
        &["epsilon: 1000 is not above 0 and at most 100"],
    );
    bad(
        "key.toml",
        b"kind = 'ue'\na = 3\nkapa = 0.5\nlambda = 0.2",
        &["unknown key `kapa`", "did you mean `kappa`?"],
    );
    bad("big.toml", &b"#23456789abcdef\n".repeat(1 << 19), &["is larger than 4194304 bytes"]);
}

#[test]
fn deep_nesting_is_refused_in_every_syntax() {
    let directory = tempfile::tempdir().unwrap();
    let bad = |name: &str, text: String, words: &[&str]| {
        refused_file(directory.path(), name, text.as_bytes(), words)
    };
    let depth = 10_000;
    let product = r#"{"kind":"product","factors":["#;
    bad("deep.json", product.repeat(depth) + &"]}".repeat(depth), &["is nested too deeply", "32 levels"]);
    bad("lists.json", "[".repeat(1_000_000), &["is nested too deeply"]);
    bad("lists.toml", format!("x = {}{}", "[".repeat(depth), "]".repeat(depth)), &["is nested too deeply"]);
    bad("open.toml", format!("x = {}", "[".repeat(1_000_000)), &[]);
    bad("tables.toml", "x = {y = ".repeat(depth), &[]);
    let inline = "{kind = 'product', factors = [".repeat(depth) + &"]}".repeat(depth);
    bad("inline.toml", format!("kind = 'product'\nfactors = [{inline}]"), &["is nested too deeply"]);
    bad("dotted.toml", "x.".repeat(depth) + "y = 1", &["is nested too deeply"]);
    bad("headers.toml", format!("[{}y]", "x.".repeat(depth)), &["is nested too deeply"]);
    let grr = r#"{"kind":"grr","a":2,"epsilon":1}"#;
    bad(
        "core.json",
        product.repeat(40) + grr + &"]}".repeat(40),
        &["combinations are nested 33 deep; the limit is 32"],
    );
    refused(&["describe", "-p", &product.repeat(1000)], &["inline JSON: is nested too deeply"]);
}

#[test]
fn a_file_of_two_gigabytes_is_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("huge.json");
    File::create(&path).unwrap().set_len(2 << 30).unwrap();
    refused(&["metrics", "-p", path.to_str().unwrap()], &["huge.json: is larger than 67108864 bytes"]);
}

#[cfg(unix)]
#[test]
fn an_endless_device_is_not_read_to_the_end() {
    refused(&["metrics", "-p", "/dev/zero"], &["/dev/zero: is larger than 67108864 bytes"]);
    refused(&["metrics", "-p", "/dev/null"], &["/dev/null: is empty"]);
}

#[test]
fn a_directory_is_not_a_file() {
    let directory = tempfile::tempdir().unwrap();
    refused(&["describe", "-p", directory.path().to_str().unwrap()], &["is a directory"]);
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let message = refusal(&["metrics", "-p", "{\"kind\":\"\\u001b[31mred\"}"]);
    assert!(!message.contains('\u{1b}') && message.contains("\\u{1b}"), "{message}");
}

/// Tallies with the words that the refusal must contain.
const TALLIES: &[(&str, &str, &[&str])] = &[
    (
        "grr:a=3,eps=1",
        r#"{"counts": [{"y": 3, "count": 1}]}"#,
        &["inline JSON: counts[0]: output 3 does not exist"],
    ),
    (
        "grr:a=3,eps=1",
        r#"{"counts": [{"y": 0, "count": -1}]}"#,
        &["counts[0]: count -1 is not a whole number"],
    ),
    ("grr:a=3,eps=1", r#"{"counts": [{"y": 0, "count": 0.5}]}"#, &["counts[0]: count 0.5 is not"]),
    (
        "grr:a=3,eps=1",
        r#"{"n": 3, "counts": [{"y": 0, "count": 2}]}"#,
        &["the counts add up to 2, but n is 3"],
    ),
    ("grr:a=3,eps=1", r#"{"n": 0, "counts": []}"#, &["there are no reports to estimate from"]),
    (
        "grr:a=3,eps=1",
        r#"{"n": 3, "supports": [1, 1, 2]}"#,
        &["the supports sum to 4", "support 3 inputs in all"],
    ),
    ("oue:a=3,eps=1", r#"{"n": 3, "supports": [1, 4, 2]}"#, &["supports[1] = 4 is more than the 3 reports"]),
    ("oue:a=3,eps=1", r#"{"n": 3, "supports": [1, 2]}"#, &["supports has 2 entries but inputs has 3"]),
    ("matrix:rows=1/0.5//0/0.5", r#"{"n": 3, "supports": [1, 2]}"#, &["do not support single inputs"]),
    (
        "deterministic:map=0/0/1",
        r#"{"counts": [{"y": 0, "count": 2}]}"#,
        &["not faithful (rank 2 < 3 inputs)"],
    ),
    ("grr:a=3,eps=1", r#"{"counts": "#, &["inline JSON: not valid tallies", "line 1"]),
    (
        "grr:a=3,eps=1",
        r#"{"protocol": {"kind": "grr", "a": 3, "epsilon": 2}, "counts": [{"y": 0, "count": 2}]}"#,
        &["the reports were made with another protocol", r#""epsilon": 2"#],
    ),
    (
        "grr:a=2,eps=1,labels=no/yes",
        r#"{"protocol": {"kind": "grr", "a": 2, "epsilon": 1, "labels": ["yes", "no"]}, "counts": [{"y": 0, "count": 2}]}"#,
        &["the reports were made with another protocol"],
    ),
    (
        "grr:a=3,eps=1",
        "[5, 4, 0]",
        &["inline JSON: not valid tallies: a list does not say what it counts", "supports"],
    ),
    (
        "grr:a=3,eps=1",
        r#"{"n": 9, "counts": [5, 4, 0]}"#,
        &["expected an output with its count such as {\"y\": 0, \"count\": 17}", "line 1"],
    ),
    ("grr:a=3,eps=1", "no/such/tallies.json", &["no/such/tallies.json: cannot be read"]),
    ("grr:a=3,eps=1", ".", &["is a directory"]),
];

#[test]
fn tallies_that_do_not_fit_are_refused() {
    for (protocol, tallies, words) in TALLIES {
        refused(&["estimate", "-p", protocol, "--tallies", tallies], words);
        if tallies.contains("\"protocol\"") {
            refused(&["posterior", "-p", protocol, "--tallies", tallies], words);
        }
    }
    let good = ["estimate", "-p", "grr:a=3,eps=1", "--tallies", r#"{"counts": [{"y": 0, "count": 2}]}"#];
    let with = |more: &[&'static str]| [&good[..], more].concat();
    refused(&with(&["--level", "1"]), &["level = 1.0 is not between 0 and 1"]);
    refused(&with(&["--level", "-0.5"]), &["level = -0.5 is not between 0 and 1"]);
    refused(&with(&["--level", "nan"]), &["level = NaN is not between 0 and 1"]);
    refused(&with(&["--tolerance", "0"]), &["tolerance = 0.0 is not a positive number"]);
    refused(
        &with(&["--estimator", "lineal"]),
        &["unknown estimator `lineal`", "norm_sub, base_cut, ml, posterior_mean and all"],
    );
}

#[test]
fn a_design_without_a_requirement_is_refused() {
    for command in [&["design", "--a", "4"][..], &["choose", "--a", "4", "--n", "100"]] {
        refused(command, &["nothing is required", "epsilon", "average privacy"]);
    }
}

/// Without `--protocol`, tallies must name theirs.
#[test]
fn tallies_that_name_no_protocol_need_one() {
    for command in ["estimate", "posterior"] {
        for tallies in [
            r#"{"counts": [{"y": 0, "count": 2}]}"#,
            r#"{"protocol": "p.json", "counts": [{"y": 0, "count": 2}]}"#,
        ] {
            let words = ["inline JSON: does not name its protocol\nhint: give the protocol with --protocol"];
            refused(&[command, "-t", tallies], &words);
        }
        let bad = r#"{"protocol": {"kind": "grr", "a": 1, "epsilon": 1}, "counts": []}"#;
        refused(&[command, "-t", bad], &["inline JSON: a: a = 1 is outside 2 to 16777216 inputs"]);
    }
}

#[test]
fn what_is_matched_or_chosen_is_in_range() {
    let compare = ["compare", "-p", "grr:a=3,eps=1", "oue:a=3,eps=1", "--match"];
    refused(
        &[&compare[..], &["s_mu=2"]].concat(),
        &["2 is above 1 and has no percent sign; write 2% or 0.02"],
    );
    refused(&[&compare[..], &["s_mu=200%"]].concat(), &["s_mu = 2 is not above 0 and below 1"]);
    refused(
        &[&compare[..], &["u_digit=2"]].concat(),
        &["the number of users n is missing; u_digit cannot be computed", "--n"],
    );
    let choose = refusal(&["choose", "--a", "1", "--n", "100", "--epsilon", "1"]);
    assert!(
        choose.contains("a = 1 is outside 2 to 16777216 inputs") && !choose.contains("jeffreys"),
        "{choose}"
    );
    let users = ["users", "-p", "grr:a=3,eps=1"];
    refused(&[&users[..], &["--accuracy=-1%"]].concat(), &["accuracy = -0.01 is not above 0"]);
    refused(
        &[&users[..], &["--accuracy=1%%"]].concat(),
        &["a share is a fraction from 0 to 1 such as 0.01, or a percentage such as 1%"],
    );
}

/// One rule for all shares: a fraction, or a percentage with its sign. Whoever writes 95 is told how to write it.
#[test]
fn shares_are_written_in_one_way() {
    let tallies = ["-p", "grr:a=3,eps=1", "-t", "{\"counts\":[{\"y\":0,\"count\":9}]}"];
    for command in ["posterior", "estimate"] {
        let with = |level: &'static str| [&[command][..], &tallies, &["--level", level]].concat();
        refused(&with("95"), &["95 is above 1 and has no percent sign; write 95% or 0.95"]);
        refused(&with("1"), &["level"]);
    }
    for command in
        [&["design", "--a", "3"][..], &["choose", "--a", "3", "--n", "9"], &["budget", "-p", "grr:a=3,eps=1"]]
    {
        refused(&[command, &["--min-average-privacy", "90"]].concat(), &["write 90% or 0.9"]);
    }
    for command in
        [&["users", "-p", "grr:a=3,eps=1"][..], &["choose", "--a", "3", "--n", "9", "--epsilon", "1"]]
    {
        refused(&[command, &["--u-distr", "50"]].concat(), &["write 50% or 0.5"]);
        refused(&[command, &["--accuracy", "5"]].concat(), &["write 5% or 0.05"]);
        // 1 is a fraction by the rule, and an error of 100 points is nothing to want.
        refused(&[command, &["--accuracy", "1"]].concat(), &["accuracy = 1 is not", "write 0.01 or 1%"]);
    }
    refused(
        &["compare", "-p", "grr:a=3,eps=1", "--n", "9", "--match", "rms=1"],
        &["accuracy_rms = 1 is not above 0 and below 1"],
    );
}

#[test]
fn accuracies_that_do_not_exist_are_refused() {
    let refused_with = |protocol: &str, more: &[&str], words: &[&str]| {
        refused(&[&["accuracy", "-p", protocol][..], more].concat(), words);
    };
    let grr = "grr:a=3,eps=1";
    refused_with("deterministic:map=0/0/1", &["--n", "10"], &["not faithful"]);
    refused_with(grr, &["--n", "0"], &["a number of users is a whole number of 1 or more"]);
    refused_with(
        grr,
        &["--n", "10", "--distance", "l3"],
        &["unknown distance `l3`", "l1, l2, l2sq, rms, max and all"],
    );
    refused_with(
        grr,
        &["--n", "10", "--at", "0.5/0.5"],
        &["at = ", "one frequency for each of the protocol's inputs"],
    );
    refused_with(grr, &["--n", "10", "--at", "0.5/0.5/0.5"], &["frequencies between 0 and 1 that sum to 1"]);
    refused_with(grr, &["--n", "10", "--at", "1/0/0", "--worst"], &["cannot be used with"]);
    refused_with(grr, &["--n", "10", "--tolerance", "nan"], &["tolerance = NaN is not above 0 and finite"]);
}
