//! What the commands print: one snapshot for each format, and the ways in and out.

use assert_cmd::Command;

fn sottovoce(arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("sottovoce"));
    command.args(arguments).env_remove("CLICOLOR_FORCE");
    command
}

/// The standard output of a command that succeeds and has nothing to say on standard error.
fn output(arguments: &[&str]) -> String {
    let output = sottovoce(arguments).output().unwrap();
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success() && stderr.is_empty(), "{arguments:?}: {stderr}");
    stdout
}

const MIXTURE: &str = r#"{"kind": "mixture", "weights": [0.25, 0.75], "parts": [{"kind": "identity", "a": 2, "labels": ["no", "yes"]},
    {"kind": "composition", "steps": [{"kind": "grr", "a": 2, "epsilon": 1}, {"kind": "erasure", "a": 2, "reveal": 0.5}]}]}"#;

const STRUCTURE: &str = "ldp,s_wc,rank,classes,faithful,limit_u_distr,limit_u_tally";

#[test]
fn metrics_as_text() {
    insta::assert_snapshot!(output(&["metrics", "-p", "grr:a=16,eps=1", "-m", STRUCTURE]));
}

#[test]
fn metrics_as_json() {
    insta::assert_snapshot!(output(&["metrics", "-p", MIXTURE, "-m", STRUCTURE, "--format", "json"]));
}

#[test]
fn metrics_as_csv() {
    insta::assert_snapshot!(output(&["metrics", "-p", "lh:a=16,eps=1", "-m", STRUCTURE, "--format", "csv"]));
}

#[test]
fn digits_are_also_told_in_decimal() {
    insta::assert_snapshot!(output(&["metrics", "-p", "grr:a=3,eps=2", "--n", "100", "-m", "i_y_p,u_digit"]));
}

const SPLIT: [&str; 5] = ["split", "-p", "grr:a=3,eps=2", "--n", "20"];

#[test]
fn splits_as_text() {
    insta::assert_snapshot!(output(&SPLIT));
    insta::assert_snapshot!(output(&["split", "-p", "grr:a=3,eps=2", "--n", "1"]));
    insta::assert_snapshot!(output(&["split", "-p", "oue:a=8,eps=1", "--n", "1000", "--method", "exact"]));
}

/// The last digits are rounding, and differ between machines.
fn json(arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&output(&[arguments, &["--format", "json"]].concat())).unwrap()
}

#[test]
fn splits_as_json() {
    let split = json(&SPLIT);
    let keys: Vec<&String> = split.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["protocol", "prior", "n", "users", "aggregator", "share", "evaluations"]);
    assert_eq!(split["n"], 20);
    for side in ["users", "aggregator"] {
        let value = |part: &str| split[side][part]["value"].as_f64().unwrap();
        let close = |l: f64, r: f64| assert!((l - r).abs() < 1e-11, "{side}: {l} {r}");
        close(value("nonprivate") + value("group_private"), value("tally"));
        close(value("group_private") + value("individual_private"), value("private"));
        close(value("tally") + value("individual_private"), value("total"));
        for part in ["nonprivate", "group_private", "individual_private", "tally", "private", "total"] {
            assert!(split[side][part]["error"].as_f64().unwrap() < 1e-11);
            assert!(split[side][part]["method"].is_string());
        }
    }
    let absent = json(&["split", "-p", "oue:a=8,eps=1", "--n", "1000", "--method", "exact"]);
    assert!(absent["aggregator"]["tally"]["value"].is_null());
    assert!(absent["aggregator"]["tally"]["reason"].as_str().unwrap().contains("work budget"));
}

#[test]
fn splits_as_csv() {
    let csv = output(&[&SPLIT[..], &["--format", "csv"]].concat());
    assert!(csv.starts_with("side,part,value,error,method,reason,warning\nusers,nonprivate,2.2958182756817"));
    assert_eq!(csv.lines().count(), 1 + 3 * 6);
}

#[test]
fn numbers_of_users_as_text() {
    insta::assert_snapshot!(output(&["users", "-p", "grr:a=3,eps=2", "--digits", "1.5"]));
    insta::assert_snapshot!(output(&["users", "-p", "grr:a=3,eps=2", "--u-distr", "0.55"]));
    insta::assert_snapshot!(output(&["users", "-p", "identity:a=3", "--decimal-digits", "2"]));
    insta::assert_snapshot!(output(&["users", "-p", "deterministic:map=0/0/1", "--u-distr", "0.9"]));
    insta::assert_snapshot!(output(&["users", "-p", "deterministic:map=0/0/1", "--digits", "1"]));
    insta::assert_snapshot!(output(&["users", "-p", "grr:a=2,eps=1", "--digits", "40"]));
}

#[test]
fn numbers_of_users_as_json_and_csv() {
    let found = json(&["users", "-p", "grr:a=3,eps=2", "--digits", "1.5"]);
    let value = |i: usize| found["needed"]["evaluations"][i]["value"].as_f64().unwrap();
    assert_eq!((&found["needed"]["n"], &found["needed"]["low"]), (&37.into(), &37.into()));
    assert_eq!(found["needed"]["evaluations"][1]["n"], 36);
    assert!(value(0) >= 1.5 && value(1) < 1.5);
    assert_eq!(found["truth"]["n"], 12);
    assert!(found["f_mu"]["value"].as_f64().unwrap() > 0.0);
    let none = json(&["users", "-p", "deterministic:map=0/0/1", "--u-distr", "0.9"]);
    assert!(none["needed"]["n"].is_null());
    assert!(none["needed"]["reason"].as_str().unwrap().starts_with("cannot be reached, because"));
    let csv = output(&["users", "-p", "grr:a=3,eps=2", "--digits", "1.5", "--format", "csv"]);
    assert!(csv.contains("\nprotocol,u_digit,1.5,37,37,37,,0.324"), "{csv}");
    assert!(csv.contains("\ntruth,u_digit,1.5,12,12,12,,,"), "{csv}");
}

#[test]
fn a_time_limit_ends_with_a_warning() {
    let found = json(&[
        "metrics",
        "-p",
        "grr:a=16,eps=2",
        "--n",
        "200",
        "-m",
        "i_y_p,u_digit",
        "--tolerance",
        "1e-7",
        "--time-limit",
        "0.5",
    ]);
    for evaluation in found["evaluations"].as_array().unwrap() {
        assert_eq!(evaluation["method"], "monte_carlo");
        let warning = evaluation["warning"].as_str().unwrap();
        assert!(warning.starts_with("I(Y;P) stopped at standard error 0."), "{warning}");
        assert!(warning.ends_with(", wanted 1e-7"), "{warning}");
    }
}

/// A first round of draws takes minutes here; a limit is heard within it.
#[test]
fn time_limits_end_slow_rounds() {
    let start = std::time::Instant::now();
    let found =
        json(&["metrics", "-p", "lh:a=64,g=4,eps=1", "--n", "10000", "-m", "i_y_p", "--time-limit", "1"]);
    let evaluation = &found["evaluations"][0];
    assert!(evaluation["warning"].as_str().unwrap().starts_with("I(Y;P) stopped at standard error"));
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

/// Ctrl-C prints what is known, leaves files alone, and says so to programs.
#[cfg(unix)]
#[test]
fn an_interruption_gives_the_best_results_so_far() {
    use std::process::{Command, Stdio};
    use std::time::Duration;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.txt");
    std::fs::write(&path, "old").unwrap();
    let arguments = "metrics -p grr:a=16,eps=2 --n 300 --metric ldp,i_y_p,u_distr,i_y_t --tolerance 1e-9 -o";
    let child = Command::new(assert_cmd::cargo::cargo_bin!("sottovoce"))
        .args(arguments.split(' '))
        .arg(&path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Long enough to begin, far too short to end.
    std::thread::sleep(Duration::from_secs(2));
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", id.as_str()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(130), "{stdout}{stderr}");
    for words in ["ldp ", "± 0.", "monte carlo", "stopped at standard error", "wanted 1e-9", "stopped before"]
    {
        assert!(stdout.contains(words), "{words} is missing: {stdout}");
    }
    assert!(stderr.starts_with("interrupted: ") && stderr.contains("was not written"), "{stderr}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn a_metric_without_its_users_has_a_reason() {
    let arguments = ["metrics", "-p", "grr:a=4,eps=1", "-m", "u_distr,ldp"];
    insta::assert_snapshot!(output(&arguments));
    insta::assert_snapshot!(output(&[&arguments[..], &["--format", "json"]].concat()));
}

#[test]
fn an_ambiguous_rank_is_shown_with_its_warning() {
    let nearly = "matrix:rows=0.50000000000001/0.49999999999999//0.49999999999999/0.50000000000001";
    insta::assert_snapshot!(output(&["metrics", "-p", nearly, "-m", "rank"]));
    insta::assert_snapshot!(output(&["metrics", "-p", nearly, "-m", "rank", "--format", "json"]));
}

#[test]
fn descriptions_as_text() {
    insta::assert_snapshot!(output(&["describe", "-p", "ue:a=3,kappa=0.7,lambda=0.2,labels=red/green/blue"]));
    insta::assert_snapshot!(output(&["describe", "-p", "oue:a=10000,eps=1"]));
    insta::assert_snapshot!(output(&["describe", "-p", MIXTURE]));
}

#[test]
fn descriptions_as_json_and_csv() {
    insta::assert_snapshot!(output(&["describe", "-p", MIXTURE, "--format", "json"]));
    insta::assert_snapshot!(output(&["describe", "-p", "erasure:a=2,reveal=0.5", "--format", "csv"]));
}

#[test]
fn json_is_json_for_every_command() {
    for arguments in [
        &["metrics", "-p", "grr:a=3,eps=1", "--n", "10,1e3", "--format", "json"][..],
        &["describe", "-p", "identity:a=3", "--format", "json"],
        &["split", "-p", "identity:a=3", "--n", "5", "--format", "json"],
        &["users", "-p", "identity:a=3", "--digits", "2", "--format", "json"],
        &["demo", "--format", "json"],
        &["schema", "protocol"],
        &["schema", "prior"],
    ] {
        let text = output(arguments);
        assert!(serde_json::from_str::<serde_json::Value>(&text).unwrap().is_object(), "{arguments:?}");
    }
}

#[test]
fn every_metric_appears_once_or_once_for_each_number_of_users() {
    let text = output(&["metrics", "-p", "grr:a=3,eps=1", "--n", "10,20", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let count =
        |name: &str| json["evaluations"].as_array().unwrap().iter().filter(|e| e["metric"] == name).count();
    for name in sottovoce_job::metrics::all_names() {
        let expected = if name.parse::<sottovoce_job::Metric>().unwrap().needs_users() { 2 } else { 1 };
        assert_eq!(count(name), expected, "{name}");
    }
}

/// The cells of the table must not touch, whatever the numbers are.
#[test]
fn the_demo_compares_in_columns() {
    let story = output(&["demo"]);
    for protocol in ["grr", "rappor", "oue", "blh", "lh", "subset"] {
        let row = story.lines().find(|line| line.split_whitespace().next() == Some(protocol)).unwrap();
        assert!(row.split_whitespace().count() >= 6, "{row}");
    }
}

#[test]
fn every_line_of_text_fits_eighty_columns() {
    for arguments in [
        &["metrics", "-p", "grr:a=16,eps=1", "--n", "1000"][..],
        &["describe", "-p", "ue:a=4,kappa=0.7,lambda=0.2"],
        &SPLIT,
        &["split", "-p", "grr:a=4,eps=1", "--n", "1e7", "--method", "exact"],
        &["split", "-p", "grr:a=4,eps=1", "--n", "30", "--method", "monte-carlo", "--tolerance", "0.1"],
        &["users", "-p", "grr:a=3,eps=2", "--u-distr", "0.55"],
        &["demo"],
    ] {
        for line in output(arguments).lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

#[test]
fn the_demo_tells_its_whole_story() {
    let story = output(&["demo"]);
    for part in ["UCI \"Adult\"", "grr", "subset", "A simulation (seed 0)", "HS-grad", "Doctorate"] {
        assert!(story.contains(part), "{part} is missing:\n{story}");
    }
    assert_eq!(story, output(&["demo", "--threads", "1"]));
    assert_ne!(story, output(&["demo", "--seed", "1"]));
}

#[test]
fn files_and_standard_input_mean_the_same_as_inline() {
    let directory = tempfile::tempdir().unwrap();
    let toml = directory.path().join("p.toml");
    std::fs::write(&toml, "kind = 'grr'\na = 16\nepsilon = 1").unwrap();
    let expected = output(&["metrics", "-p", "grr:a=16,eps=1"]);
    assert_eq!(output(&["metrics", "-p", toml.to_str().unwrap()]), expected);
    let piped = sottovoce(&["metrics", "-p", "-"]).pipe_stdin(&toml).unwrap().output().unwrap();
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), expected);
}

#[test]
fn a_file_is_written_whole_and_said_unless_quiet() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.csv");
    let arguments = ["demo", "--format", "csv", "-o", path.to_str().unwrap()];
    let said = sottovoce(&arguments).output().unwrap();
    assert!(String::from_utf8(said.stderr).unwrap().starts_with("wrote: "));
    let quiet = sottovoce(&[&arguments[..], &["--quiet"]].concat()).output().unwrap();
    assert!(quiet.status.success() && quiet.stdout.is_empty() && quiet.stderr.is_empty());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), output(&arguments[..3]));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn standard_output_may_be_named() {
    let plain = output(&["demo", "--format", "csv"]);
    assert_eq!(output(&["demo", "--format", "csv", "-o", "-"]), plain);
    assert_eq!(output(&["demo", "--format", "csv", "-o", "/dev/stdout"]), plain);
}

#[test]
fn an_output_that_cannot_be_written_is_exit_code_one() {
    let output = sottovoce(&["demo", "-o", "/no/such/directory/file"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("error: /no/such/directory/file: cannot"));
}

#[test]
fn bad_input_leaves_the_old_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.json");
    std::fs::write(&path, "old").unwrap();
    let output =
        sottovoce(&["metrics", "-p", "grr:a=1,eps=1", "-o", path.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    use std::process::{Command, Stdio};
    for arguments in [&["demo"][..], &["completions", "bash"], &["schema", "protocol"], &["--help"]] {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin!("sottovoce"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}: {output:?}");
    }
}

#[test]
fn colours_are_for_terminals_or_on_demand() {
    assert!(!output(&["metrics", "-p", "grr:a=3,eps=1"]).contains('\u{1b}'));
    let forced = sottovoce(&["metrics", "-p", "grr:a=3,eps=1"]).env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(String::from_utf8(forced.stdout).unwrap().contains("\u{1b}[1m"));
}

#[test]
fn help_teaches_by_example() {
    for command in [
        &["--help"][..],
        &["metrics", "--help"],
        &["split", "--help"],
        &["users", "--help"],
        &["describe", "--help"],
        &["demo", "--help"],
        &["schema", "-h"],
    ] {
        assert!(output(command).contains("Examples:\n  sottovoce "), "{command:?}");
    }
}

#[test]
fn there_are_completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(output(&["completions", shell]).contains("describe"), "{shell}");
    }
}
