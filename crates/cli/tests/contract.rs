//! `sottovoce run` and `sottovoce schema`: the same jobs as the commands, asked for by JSON.

use std::fs;
use std::path::PathBuf;

use assert_cmd::Command;
use sottovoce_job::Request;

fn sottovoce(arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("sottovoce"));
    // The files that example requests name are beside them.
    let jobs = concat!(env!("CARGO_MANIFEST_DIR"), "/../job");
    command.args(arguments).env_remove("CLICOLOR_FORCE").current_dir(jobs);
    command
}

/// The standard output of a command that succeeds and has nothing to say on standard error.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && stderr.is_empty(), "{command:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// The words of a command that is refused as bad input.
fn refused(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{command:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// The file of the example request of a job.
fn example(job: &str) -> String {
    let path: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "..", "job", "tests", "requests", &format!("{job}.json")]
            .iter()
            .collect();
    path.to_string_lossy().into_owned()
}

/// The command that asks for the same as the example request of its job.
const COMMANDS: &[(&str, &[&str])] = &[
    ("plan", &["tests/requests/files/study.json", "--n", "1000", "--accuracy", "1%"]),
    (
        "randomise_study",
        &[
            "--study",
            "tests/requests/files/study.json",
            "tests/requests/files/people.csv",
            "--on-error",
            "skip",
            "--insecure-test-seed",
            "7",
            "--file-format",
            "csv",
            "-o",
            "../../target/example-study/reports",
        ],
    ),
    (
        "tally_study",
        &[
            "--study",
            "tests/requests/files/study.json",
            "tests/requests/files/study-reports",
            "--form",
            "patterns",
            "-o",
            "../../target/example-study/tallies",
        ],
    ),
    (
        "analyse",
        &[
            "tests/requests/files/study.json",
            "tests/requests/files/study-tallies",
            "--level",
            "95%",
            "--seed",
            "7",
        ],
    ),
    (
        "metrics",
        &[
            "-p",
            "grr:a=3,eps=1",
            "-r",
            "symmetric:alpha=1",
            "--n",
            "10,1e3",
            "-m",
            "ldp,s_mu,faithful,i_y_p,u_digit",
            "--tolerance",
            "0.1",
            "--seed",
            "7",
        ],
    ),
    (
        "describe",
        &[
            "-p",
            r#"{"kind": "mixture", "weights": [0.25, 0.75], "parts": [{"kind": "identity", "a": 2, "labels": ["no", "yes"]},
                {"kind": "grr", "a": 2, "epsilon": 1}]}"#,
        ],
    ),
    ("split", &["-p", "grr:a=3,eps=2", "-r", "dirichlet:alpha=0.3/1.2/2.5", "--n", "20"]),
    (
        "accuracy",
        &[
            "-p",
            "oue:a=3,eps=1",
            "--n",
            "100,200",
            "-d",
            "all",
            "-e",
            "linear,norm_sub",
            "--at",
            "0.5/0.3/0.2",
            "--tolerance",
            "0.1",
        ],
    ),
    ("explain", &["s_mu"]),
    (
        "posterior",
        &[
            "-p",
            "grr:a=3,eps=1,labels=red/green/blue",
            "-r",
            "symmetric:alpha=1",
            "-t",
            r#"{"n": 9, "counts": [{"y": 0, "count": 5}, {"y": 1, "count": 3}, {"y": 2, "count": 1}]}"#,
            "--of",
            "share(red, green)",
            "--of",
            "red / green",
            "--of",
            "rank(red)",
            "--of",
            "top(2)",
            "--level",
            "0.95",
            "--grid",
            "4",
            "--seed",
            "7",
        ],
    ),
    (
        "estimate",
        &[
            "-p",
            "oue:a=3,eps=1",
            "-t",
            r#"{"n": 9, "supports": [6, 4, 2]}"#,
            "-e",
            "linear,norm_sub,ml",
            "--level",
            "0.95",
            "--covariance",
        ],
    ),
    (
        "randomise",
        &[
            "-p",
            "grr:a=3,eps=1,labels=red/green/blue",
            "tests/requests/files/values.csv",
            "--on-error",
            "skip",
            "--max-ldp",
            "1",
            "--insecure-test-seed",
            "7",
            "-o",
            "/dev/null",
        ],
    ),
    (
        "trend",
        &[
            r#"{"n": 9, "counts": [{"y": 0, "count": 5}, {"y": 1, "count": 3}, {"y": 2, "count": 1}]}"#,
            r#"{"n": 9, "counts": [{"y": 0, "count": 2}, {"y": 1, "count": 3}, {"y": 2, "count": 4}]}"#,
            "-p",
            r#"{"kind": "grr", "a": 3, "epsilon": 1, "labels": ["[0, 10)", "[10, 20)", "[20, 40)"]}"#,
            "-r",
            "symmetric:alpha=1",
            "--of",
            "mean()",
            "--of",
            r#""[0, 10)" - "[20, 40)""#,
            "--level",
            "0.95",
            "--seed",
            "7",
        ],
    ),
    (
        "tally",
        &["tests/requests/files/reports.csv", "-p", "grr:a=3,eps=1", "--form", "patterns", "-o", "/dev/null"],
    ),
    (
        "merge",
        &[
            "tests/requests/files/monday.json",
            "tests/requests/files/tuesday.json",
            "-p",
            "grr:a=3,eps=1",
            "--allow-copies",
            "-o",
            "/dev/null",
        ],
    ),
    ("demo", &["--seed", "7"]),
    (
        "budget",
        &["-p", "grr:a=3,eps=0.5", "-p", "oue:a=3,eps=1", "--epsilon", "1", "--min-average-privacy", "0.5"],
    ),
    ("users", &["-p", "grr:a=3,eps=2", "--accuracy", "1%", "-d", "l2sq", "-e", "linear"]),
    ("design", &["--a", "3", "--epsilon", "1", "--min-average-privacy", "0.8"]),
    ("choose", &["--a", "12", "--n", "30000", "--epsilon", "1", "--accuracy", "1%"]),
    (
        "compare",
        &[
            "-p",
            "grr:a=3,eps=2",
            "oue:a=3,eps=2",
            "identity:a=3",
            "--match",
            "s_mu=0.4",
            "--sweep",
            "n=5..20:2",
            "-m",
            "s_mu,f_mu",
        ],
    ),
];

/// A command that writes pictures to a directory, and has no JSON of its own.
const WITHOUT_JSON: &[&str] = &["figures"];

#[test]
fn a_request_gives_the_same_bytes_as_its_command() {
    for job in Request::JOBS.iter().filter(|job| !WITHOUT_JSON.contains(job)) {
        let (_, arguments) = COMMANDS.iter().find(|(name, _)| name == job).unwrap_or_else(|| panic!("{job}"));
        let json = &["--format", "json"][..];
        // A study is randomised and tallied by the command that does the same with a protocol.
        let command = job.strip_suffix("_study").unwrap_or(job);
        let of_command = output(&mut sottovoce(&[&[command][..], arguments, json].concat()));
        assert_eq!(output(&mut sottovoce(&[&["run", &example(job)], json].concat())), of_command, "{job}");
        let inline = fs::read_to_string(example(job)).unwrap();
        assert_eq!(output(&mut sottovoce(&[&["run", &inline], json].concat())), of_command, "{job}");
        let piped = output(sottovoce(&[&["run", "-"], json].concat()).write_stdin(inline));
        assert_eq!(piped, of_command, "{job}");
    }
}

#[test]
fn a_request_is_rendered_and_written_like_its_command() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("split.html");
    let name = file.to_string_lossy();
    let wrote = sottovoce(&["run", &example("split"), "--format", "html", "-o", &name]).output().unwrap();
    assert!(wrote.status.success(), "{wrote:?}");
    assert!(fs::read_to_string(&file).unwrap().starts_with("<!DOCTYPE html>"));
    let text = output(&mut sottovoce(&["run", &example("split")]));
    assert!(text.contains("aggregator"), "{text}");
}

#[test]
fn requests_are_refused_with_their_place() {
    let directory = tempfile::tempdir().unwrap();
    let protocol = directory.path().join("protocol.json");
    fs::write(&protocol, r#"{"kind": "grr", "a": 3, "epsilon": 1}"#).unwrap();
    let request = serde_json::json!({"job": "metrics", "protocol": protocol.to_string_lossy()}).to_string();
    let words = refused(&mut sottovoce(&["run", &request]));
    assert!(words.contains("the request's protocol: kind: unknown kind"), "{words}");
    let words = refused(&mut sottovoce(&["run", "no-such-file.json"]));
    assert!(words.contains("no-such-file.json: cannot be read"), "{words}");
    let words = refused(&mut sottovoce(&["run", "no-such-file"]));
    assert!(words.contains("no-such-file: cannot be read"), "{words}");
    let request = directory.path().join("request.json");
    fs::write(&request, "{\"job\": \"metrics\",\n \"n\": }").unwrap();
    let words = refused(&mut sottovoce(&["run", &request.to_string_lossy()]));
    assert!(
        words.contains("request.json: not valid JSON") && words.contains("(line 2, column 7)"),
        "{words}"
    );
    let words =
        refused(&mut sottovoce(&["run", r#"{"job": "metrics", "protocol": "grr:a=3,eps=1", "tol": 1}"#]));
    assert!(words.contains("unknown field `tol`, expected one of `protocol`, `prior`"), "{words}");
}

#[test]
fn there_is_a_schema_of_every_job() {
    for job in Request::JOBS {
        let schema: serde_json::Value =
            serde_json::from_str(&output(&mut sottovoce(&["schema", job]))).unwrap();
        assert_eq!(schema["request"]["properties"]["job"]["const"], *job);
        assert_eq!(schema["request"]["additionalProperties"], false, "{job}");
        // The report of a design is that of one protocol or that of a frontier.
        let report = &schema["report"];
        let kinds = report["anyOf"].as_array().cloned().unwrap_or_else(|| vec![report.clone()]);
        assert_eq!(kinds.len(), if *job == "design" { 2 } else { 1 }, "{job}");
        for kind in kinds {
            let name = kind["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
            let of_kind = name.map_or(&kind, |name| &report["$defs"][name]);
            assert_eq!(of_kind["type"], "object", "{job}");
        }
    }
    assert!(refused(&mut sottovoce(&["schema", "metric"])).contains("'metrics'"));
}
