//! `sottovoce posterior`: every format, and every way in which tallies can be wrong.

use std::process::{Command, Output};

const SURVEY: &str = r#"{"n":2435,"counts":[{"y":0,"count":1604},{"y":1,"count":831}]}"#;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sottovoce")).arg("posterior").args(arguments).output().unwrap()
}

fn printed(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn survey(more: &[&str]) -> String {
    let protocol = "grr:a=2,eps=1.6094379124341003,labels=no/yes";
    printed(&[&["-p", protocol, "--level", "0.95", "--tallies", SURVEY], more].concat())
}

#[test]
fn text_shows_intervals_and_fits_eighty_columns() {
    let text = survey(&[]);
    insta::assert_snapshot!(text);
    let chains = survey(&["--method", "monte-carlo"]);
    assert!(chains.contains("Markov chains") && chains.contains("R-hat"), "{chains}");
    for line in text.lines().chain(chains.lines()) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn json_keeps_the_machine_interface() {
    let json: serde_json::Value =
        serde_json::from_str(&survey(&["--format", "json", "--grid", "5"])).unwrap();
    assert_eq!((json["n"].as_u64(), json["method"].as_str()), (Some(2435), Some("enumeration")));
    let no = &json["p"][0];
    assert_eq!(no["label"], "no");
    assert!((no["mean"].as_f64().unwrap() - 0.738_151_388_6).abs() < 1e-9);
    assert!((no["quantiles"]["0.025"].as_f64().unwrap() - 0.709_718_604).abs() < 1e-8);
    assert!(no["quantiles"]["0.975"].is_number() && no["sd"].is_number());
    assert_eq!(no["density"].as_array().unwrap().len(), 5);
    assert!(json["log_evidence"].as_f64().unwrap() < -1000.0);
    assert!(json["t"][1]["mean"].is_number() && json["t"][1]["sd"].is_number());
}

#[test]
fn csv_and_draws_are_tables() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("draws.csv");
    let csv = survey(&["--format", "csv", "--draws", "7", "--draws-out", file.to_str().unwrap()]);
    assert_eq!(csv.lines().next().unwrap(), "of,label,mean,sd,error,q0.025,q0.5,q0.975");
    assert_eq!(csv.lines().count(), 5);
    let draws = std::fs::read_to_string(&file).unwrap();
    assert_eq!((draws.lines().next().unwrap(), draws.lines().count()), ("no,yes", 8));
}

#[test]
fn wrong_tallies_are_refused_with_the_entry() {
    let cases = [
        (r#"{"counts":[{"y":0,"count":1},{"y":7,"count":1}]}"#, "counts[1]"),
        (r#"{"counts":[{"y":0,"count":-1}]}"#, "count -1 is not a whole number"),
        (r#"{"counts":[{"y":0,"count":1.5}]}"#, "count 1.5 is not a whole number"),
        (r#"{"n":5,"counts":[{"y":0,"count":1}]}"#, "the counts add up to 1, but n is 5"),
        (r#"{"counts":[{"y":0,"count":1},{"y":0,"count":1}]}"#, "listed twice"),
        ("no-such-file.json", "cannot be read"),
        ("{", "not valid tallies"),
    ];
    for (tallies, expected) in cases {
        let output = run(&["-p", "grr:a=3,eps=1", "--tallies", tallies]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{tallies}: {said}");
        assert!(said.contains(expected), "{tallies}: {said}");
    }
    for level in ["0", "1", "1.5", "nan", "-1"] {
        let output = run(&["-p", "grr:a=2,eps=1", "--tallies", SURVEY, "--level", level]);
        assert_eq!(output.status.code(), Some(2), "{level}");
    }
}

/// Chains of eighty values want several seconds. What they know when their share of the time is over is given if it is wanted; a slow machine may know nothing by then.
#[test]
fn chains_without_time_are_refused_unless_wanted() {
    let counts = (0..80).map(|i| {
        let mut set: Vec<u32> = (0..16).map(|j| (i + j) % 80).collect();
        set.sort_unstable();
        format!("{{\"y\":{set:?},\"count\":{}}}", i + 1)
    });
    let counts: Vec<String> = counts.collect();
    let tallies = format!("{{\"counts\":[{}]}}", counts.join(","));
    let arguments =
        ["-p", "oue:a=80,eps=1", "--method", "monte-carlo", "--time-limit", "1", "--tallies", &tallies];
    let late = "not finished within the 1 s of --time-limit";
    let refused = run(&arguments);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    let unconverged = said.contains("have not converged") && said.contains("--allow-unconverged");
    assert!(unconverged || said.contains(late), "{said}");
    let shown = run(&[&arguments[..], &["--allow-unconverged"]].concat());
    let [text, said] = [shown.stdout, shown.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(text.contains("not converged") || said.contains(late), "{text} {said}");
}
