//! `design`, `choose` and `budget` from the outside.

use assert_cmd::Command;
use serde_json::Value as Json;

fn sottovoce(arguments: &[&str]) -> std::process::Output {
    Command::new(assert_cmd::cargo::cargo_bin!("sottovoce")).args(arguments).output().unwrap()
}

fn text(arguments: &[&str]) -> String {
    let output = sottovoce(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(arguments: &[&str]) -> Json {
    serde_json::from_str(&text(&[arguments, &["--format", "json"]].concat())).unwrap()
}

#[test]
fn the_designed_protocol_is_read_by_other_commands() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("best.json");
    let file = file.to_str().unwrap();
    let design = json(&[
        "design",
        "--a",
        "3",
        "--epsilon",
        "2",
        "--min-average-privacy",
        "0.7",
        "-o",
        file,
        "--quiet",
    ]);
    let metrics = json(&["metrics", "-p", file, "-m", "ldp,s_mu,f_mu"]);
    assert_eq!(design["protocol"], metrics["protocol"]);
    let value = |i: usize| metrics["evaluations"][i]["value"].as_f64().unwrap();
    assert!(value(0) <= 2.0 + 1e-12 && value(1) >= 0.7);
    assert_eq!(design["evaluations"][0]["metric"], "f_mu");
    assert!((value(2) - design["evaluations"][0]["value"].as_f64().unwrap()).abs() < 1e-12);
}

#[test]
fn designs_are_told_in_words_and_tables() {
    let words = text(&["design", "--a", "6", "--epsilon", "1"]);
    for said in ["subset, a = 6, k = 2, epsilon = 1", "Certified: no protocol", "best subset", "3.9 bits"] {
        assert!(words.contains(said), "{said} in {words}");
    }
    let csv = text(&["design", "--a", "3", "--frontier", "--points", "3", "--format", "csv"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "s_mu,optimum,gap,kind,grr,rappor,oue,blh");
    assert!(lines.len() == 4 && lines[2].starts_with("0.5,0.5") && lines[2].contains("erasure"), "{csv}");
}

#[test]
fn pages_and_tables_of_designs_go_to_their_file() {
    let desk = tempfile::tempdir().unwrap();
    let page = desk.path().join("design.html");
    let printed =
        text(&["design", "--a", "3", "--epsilon", "1", "--format", "html", "-o", page.to_str().unwrap()]);
    assert_eq!(printed, "");
    assert!(std::fs::read_to_string(page).unwrap().to_lowercase().starts_with("<!doctype html>"));
}

#[test]
fn two_hypotheses_have_a_design_for_one_user() {
    let prior = r#"{"kind":"points","weights":[0.5,0.5],"points":[[0.6,0.3,0.1],[0.2,0.3,0.5]]}"#;
    let design = json(&["design", "--a", "3", "--epsilon", "0.2", "-r", prior]);
    assert_eq!(design["evaluations"][0]["metric"], "i_y_p");
    assert_eq!(design["protocol"]["rows"].as_array().unwrap().len(), 2);
    assert!(design["certificate"]["gap"].as_f64().unwrap() < 1e-12);
}

#[test]
fn choices_are_explained() {
    let words = text(&["choose", "--a", "3", "--n", "100", "--epsilon", "2", "--digits", "1.0"]);
    for said in ["Use grr", "With 100 users", "Runner-up"] {
        assert!(words.contains(said), "{said} in {words}");
    }
}

#[test]
fn budgets_are_added_up() {
    let budget = json(&["budget", "-p", "grr:a=3,eps=0.5", "-p", "oue:a=3,eps=1", "--epsilon", "2"]);
    assert!((budget["ldp"]["bound"]["value"].as_f64().unwrap() - 1.5).abs() < 1e-12);
    assert!((budget["ldp"]["left"]["bound"].as_f64().unwrap() - 0.5).abs() < 1e-12);
    assert!(
        budget["s_mu"]["together"]["value"].as_f64().unwrap()
            > budget["s_mu"]["bound"]["value"].as_f64().unwrap()
    );
}

#[test]
fn bad_requirements_are_refused() {
    for arguments in [
        &["design", "--a", "3"][..],
        &["design", "--a", "1", "--epsilon", "1"],
        &["design", "--a", "3", "--epsilon", "-1"],
        &["design", "--a", "3", "--min-average-privacy", "1.5"],
        &["design", "--a", "11", "--min-average-privacy", "0.5"],
        &["choose", "--a", "3", "--n", "100"],
        &["choose", "--a", "3", "--n", "100", "--epsilon", "1", "--accuracy", "0"],
        &["budget", "-p", "grr:a=3,eps=1", "-p", "grr:a=4,eps=1"],
    ] {
        assert_eq!(sottovoce(arguments).status.code(), Some(2), "{arguments:?}");
    }
}
