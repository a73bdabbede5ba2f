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

const COMPARE: [&str; 5] = ["compare", "-p", "grr:a=3,eps=2", "oue:a=3,eps=2", "rappor:a=3,eps=2"];

fn compared(more: &[&str]) -> Vec<String> {
    COMPARE.iter().chain(more).map(|word| (*word).to_owned()).collect()
}

fn comparison(more: &[&str]) -> String {
    output(&compared(more).iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn comparisons_as_text() {
    insta::assert_snapshot!(comparison(&[]));
    insta::assert_snapshot!(comparison(&["--match", "s_mu=0.4"]));
    insta::assert_snapshot!(comparison(&["--sweep", "a=2..16:15", "--sort", "s_mu", "-m", "s_mu"]));
    insta::assert_snapshot!(comparison(&[
        "--n",
        "6",
        "--tolerance",
        "0.2",
        "-m",
        "s_mu,u_digit",
        "--method",
        "exact"
    ]));
}

#[test]
fn comparisons_as_json() {
    let matched: serde_json::Value =
        serde_json::from_str(&comparison(&["--match", "s_mu=0.4", "--format", "json"])).unwrap();
    let keys: Vec<&String> = matched.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["prior", "n", "match", "sweep", "sort", "estimator", "rounds"]);
    assert_eq!(matched["sort"]["metric"], "f_mu");
    let protocols = matched["rounds"][0]["protocols"].as_array().unwrap();
    let names: Vec<&str> = protocols.iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["rappor", "grr", "oue"]);
    assert_eq!(protocols[0]["best"], true);
    assert!((protocols[0]["evaluations"][1]["value"].as_f64().unwrap() - 0.4).abs() < 1e-9);
    assert!(protocols[2]["reason"].as_str().unwrap().contains("does not reach 0.4"));
    let swept: serde_json::Value =
        serde_json::from_str(&comparison(&["--sweep", "epsilon=1..2:3", "--format", "json"])).unwrap();
    assert_eq!((swept["sweep"].as_str(), swept["rounds"][2]["at"].as_f64()), (Some("epsilon"), Some(2.0)));
}

#[test]
fn comparisons_as_csv() {
    let csv = comparison(&["--sweep", "epsilon=1..2:3", "--format", "csv"]);
    let head = "swept,at,place,protocol,noise,best,bits,client,aggregator,metric,n,value,error,method,reason,warning\n";
    assert!(csv.starts_with(&format!("{head}epsilon,1.0,1,grr,1.0,true,1.584")), "{csv}");
    assert_eq!(csv.lines().count(), 1 + 3 * 3 * 3);
}

#[test]
fn pictures_are_drawn_in_the_format_of_their_name() {
    let directory = tempfile::tempdir().unwrap();
    for (name, start) in [("p.svg", &b"<svg"[..]), ("p.PNG", b"\x89PNG")] {
        let path = directory.path().join(name);
        let run = sottovoce(&COMPARE).args(["--picture", path.to_str().unwrap()]).output().unwrap();
        assert!(run.status.success() && String::from_utf8(run.stderr).unwrap().starts_with("wrote: "));
        assert!(std::fs::read(&path).unwrap().starts_with(start), "{name}");
    }
    let split =
        sottovoce(&SPLIT).arg("-q").arg("--picture").arg(directory.path().join("s.svg")).output().unwrap();
    assert!(split.status.success() && split.stderr.is_empty());
    assert!(directory.path().join("s-2.svg").exists());
    assert_eq!(sottovoce(&COMPARE).args(["--picture", "p.gif"]).output().unwrap().status.code(), Some(2));
}

#[test]
fn figures_are_written_with_their_data_and_a_page() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("figures");
    let said = output(&["figures", "--out", out.to_str().unwrap()]);
    insta::assert_snapshot!(said.replace(out.to_str().unwrap(), "figures"));
    for name in [
        "average-privacy",
        "tradeoff-average-privacy",
        "tradeoff-worst-case-privacy",
        "distribution-utility",
        "approximation",
        "information-split",
        "frontier-average-privacy",
    ] {
        assert!(said.contains(name), "{said}");
        let file = |extension: &str| std::fs::read(out.join(name).with_extension(extension)).unwrap();
        assert!(file("svg").starts_with(b"<svg") && file("png").starts_with(b"\x89PNG"));
        assert!(file("csv").starts_with(b"series,varied,at,x,"));
        // The pictures in the documents say what those of today say; their lines may differ in the last digit on another machine.
        let shown = std::fs::read_to_string(format!("../../docs/figures/{name}.svg")).unwrap();
        assert_eq!(
            words(&shown),
            words(std::str::from_utf8(&file("svg")).unwrap()),
            "{name}: draw the figures anew"
        );
    }
    let page = std::fs::read_to_string(out.join("index.html")).unwrap();
    assert_eq!(page.matches("<figure>").count(), 7);
}

/// The words of a picture.
fn words(svg: &str) -> Vec<&str> {
    svg.split(" data-words=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn a_metric_is_explained_by_command_and_by_flag() {
    insta::assert_snapshot!(output(&["explain", "s_mu"]));
    assert_eq!(output(&["explain", "s_mu"]), output(&["--explain", "s_mu"]));
    // Without a name, all are listed.
    let all = output(&["explain"]);
    assert!(["ldp  LDP", "s_mu  S_mu", "u_digit  U_digit"].iter().all(|name| all.contains(name)), "{all}");
    let unknown = sottovoce(&["--explain", "s_nu"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8(unknown.stderr).unwrap().contains("did you mean `s_mu`?"));
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    assert!(output(&["manual"]).contains(".TH sottovoce 1"));
    let directory = tempfile::tempdir().unwrap();
    output(&["manual", "--out", directory.path().to_str().unwrap()]);
    let page = std::fs::read_to_string(directory.path().join("sottovoce-compare.1")).unwrap();
    assert!(page.contains(".TH sottovoce-compare 1") && page.contains("Examples:"), "{page}");
    assert!(std::fs::read_dir(directory.path()).unwrap().count() >= 12);
}

/// Text in a window of that many columns.
fn in_columns(arguments: &[&str], columns: &str) -> String {
    let output = sottovoce(arguments).env("COLUMNS", columns).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn text_fits_narrow_and_wide_windows() {
    for columns in [40, 60, 100, 160] {
        for arguments in [
            &["metrics", "-p", "grr:a=16,eps=1"][..],
            &SPLIT,
            &COMPARE,
            &["users", "-p", "grr:a=3,eps=2", "--digits", "1.5"],
            &["explain", "f_mu"],
        ] {
            for line in in_columns(arguments, &columns.to_string()).lines() {
                assert!(line.chars().count() <= columns, "{columns}: {line}");
            }
        }
    }
    insta::assert_snapshot!(in_columns(&SPLIT, "40"));
    insta::assert_snapshot!(in_columns(&COMPARE, "44"));
}

#[test]
fn charts_have_dots_where_there_are_colours_and_letters_elsewhere() {
    let sweep = ["compare", "-p", "grr:a=3,eps=1", "oue:a=3,eps=1", "--sweep", "epsilon=0.1..8:9"];
    let run = |variables: &[(&str, &str)]| {
        let mut command = sottovoce(&sweep);
        for name in ["LC_ALL", "LC_CTYPE", "LANG", "NO_COLOR", "COLUMNS"] {
            command.env_remove(name);
        }
        String::from_utf8(command.envs(variables.iter().copied()).output().unwrap().stdout).unwrap()
    };
    let dots = |text: &str| text.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c));
    let piped = run(&[("LANG", "C.UTF-8")]);
    assert!(!dots(&piped) && !piped.contains('\u{1b}') && piped.contains("o grr   x oue"));
    let coloured = run(&[("LANG", "C.UTF-8"), ("CLICOLOR_FORCE", "1")]);
    assert!(dots(&coloured) && coloured.contains("\u{1b}[34m"));
    assert!(!dots(&run(&[("LANG", "C"), ("CLICOLOR_FORCE", "1")])));
    assert!(!dots(&run(&[("LANG", "C.UTF-8"), ("NO_COLOR", "1")])));
}

#[test]
fn numbers_of_users_as_text() {
    insta::assert_snapshot!(output(&["users", "-p", "grr:a=3,eps=2", "--digits", "1.5"]));
    insta::assert_snapshot!(output(&["users", "-p", "grr:a=3,eps=1", "--accuracy", "1e-4", "-d", "l2sq"]));
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
    assert!(none["needed"]["reason"].as_str().unwrap().starts_with("out of reach:"));
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

/// The draws of a round take seconds here; a limit is heard within it.
#[test]
fn time_limits_end_slow_rounds() {
    let start = std::time::Instant::now();
    let request = "metrics -p lh:a=64,g=4,eps=1 --n 10000 -m i_y_p --method monte-carlo --tolerance 1e-6 --time-limit 8";
    let found = json(&request.split(' ').collect::<Vec<_>>());
    let evaluation = &found["evaluations"][0];
    assert!(evaluation["warning"].as_str().unwrap().starts_with("I(Y;P) stopped at standard error"));
    assert!(start.elapsed().as_secs() < 9, "{:?}", start.elapsed());
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

/// The same while collections are simulated: the running error with its own standard error, nothing for those not begun.
#[cfg(unix)]
#[test]
fn an_interrupted_accuracy_gives_the_best_results_so_far() {
    use std::process::{Command, Stdio};
    let arguments =
        "accuracy -p oue:a=64,eps=1 --n 20000 -e ml,norm_sub -d l1,rms --tolerance 1e-6 --time-limit inf";
    let child = Command::new(assert_cmd::cargo::cargo_bin!("sottovoce"))
        .args(arguments.split(' '))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_secs(4));
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", id.as_str()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(130), "{stdout}{stderr}");
    for words in
        ["l1 of 20000 users", "rms of 20000 users", " ± 0.0", "monte carlo", "stopped before it was computed"]
    {
        assert!(stdout.contains(words), "{words} is missing: {stdout}");
    }
    assert!(stderr.starts_with("interrupted: "), "{stderr}");
}

/// A limit ends the simulation with what is known, also where one collection takes chains of its own.
#[test]
fn time_limits_end_simulations() {
    let start = std::time::Instant::now();
    let found = json(&[
        "accuracy",
        "-p",
        "oue:a=8,eps=1",
        "--n",
        "2000",
        "-e",
        "posterior_mean",
        "--tolerance",
        "1e-6",
        "--time-limit",
        "8",
    ]);
    let evaluation = &found["evaluations"][0];
    assert!(evaluation["error"].as_f64().unwrap() > 1e-4, "{found}");
    assert!(evaluation["draws"].as_u64().unwrap() >= 2, "{found}");
    assert!(start.elapsed().as_secs() < 9, "{:?}", start.elapsed());
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
        &["compare", "-p", "grr:a=3,eps=1", "--format", "json"],
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

#[test]
fn every_line_of_text_fits_eighty_columns() {
    for arguments in [
        &["metrics", "-p", "grr:a=16,eps=1", "--n", "1000"][..],
        &["describe", "-p", "ue:a=4,kappa=0.7,lambda=0.2"],
        &SPLIT,
        &["split", "-p", "grr:a=4,eps=1", "--n", "1e7", "--method", "exact"],
        &["split", "-p", "grr:a=4,eps=1", "--n", "30", "--method", "monte-carlo", "--tolerance", "0.1"],
        &["users", "-p", "grr:a=3,eps=2", "--u-distr", "0.55"],
    ] {
        for line in output(arguments).lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

/// The story in every format, and in a narrow window; a thread more or less changes nothing.
#[test]
fn the_demo_tells_its_whole_story() {
    let story = output(&["demo", "--no-page"]);
    for line in story.lines() {
        assert!(line.chars().count() <= 80 && line.trim_end() == line, "{line}");
    }
    assert_eq!(story, output(&["demo", "--no-page", "--threads", "1"]));
    insta::assert_snapshot!("every_report__demo_text", story);
    let json = output(&["demo", "--format", "json"]);
    insta::assert_snapshot!("every_report__demo_json", shortened(&json));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!((json["shares"][8]["truth"].as_f64().unwrap() - 10_501.0 / 32_561.0).abs() < 1e-15);
    for format in ["csv", "html"] {
        insta::assert_snapshot!(format!("every_report__demo_{format}"), told(&["demo"], format));
    }
    insta::assert_snapshot!("every_report__demo_in_40_columns", in_columns(&["demo", "--no-page"], "40"));
}

/// The page appears in the current directory, is replaced by the next, and nothing else ever is.
#[test]
fn the_demo_leaves_a_page_and_replaces_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("sottovoce-demo.html");
    let run = |arguments: &[&str]| sottovoce(arguments).current_dir(directory.path()).output().unwrap();
    std::fs::write(&page, "<!DOCTYPE html>\nmy own page about sottovoce").unwrap();
    let refused = run(&["demo"]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(1), 0), "{said}");
    assert!(
        said.contains("not a page that sottovoce wrote")
            && said.contains("hint: ")
            && said.contains("--no-page"),
        "{said}"
    );
    assert!(std::fs::read_to_string(&page).unwrap().contains("my own page"));
    assert_eq!(run(&["demo", "--page", "."]).status.code(), Some(1));
    assert_eq!(run(&["demo", "--page", "p.html", "--no-page"]).status.code(), Some(2));

    let old = "<!DOCTYPE html>\n<html><head><meta name=\"generator\" content=\"sottovoce 0.0.9\">";
    std::fs::write(&page, old).unwrap();
    let told = run(&["demo"]);
    let said = String::from_utf8(told.stderr).unwrap();
    assert!(told.status.success() && said.starts_with("wrote: "), "{said}");
    assert!(said.contains(page.to_str().unwrap()), "{said}");
    let written = std::fs::read_to_string(&page).unwrap();
    assert!(written.contains("<h2>6. What the collector does not learn</h2>") && !written.contains("0.0.9"));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
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
    let arguments = ["describe", "-p", "grr:a=3,eps=1", "--format", "csv", "-o", path.to_str().unwrap()];
    let said = sottovoce(&arguments).output().unwrap();
    assert!(String::from_utf8(said.stderr).unwrap().starts_with("wrote: "));
    let quiet = sottovoce(&[&arguments[..], &["--quiet"]].concat()).output().unwrap();
    assert!(quiet.status.success() && quiet.stdout.is_empty() && quiet.stderr.is_empty());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), output(&arguments[..5]));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn standard_output_may_be_named() {
    const DESCRIBE: [&str; 3] = ["describe", "-p", "grr:a=3,eps=1"];
    let plain = output(&DESCRIBE);
    assert_eq!(output(&[&DESCRIBE[..], &["-o", "-"]].concat()), plain);
    assert_eq!(output(&[&DESCRIBE[..], &["-o", "/dev/stdout"]].concat()), plain);
}

#[test]
fn an_output_that_cannot_be_written_is_exit_code_one() {
    let output =
        sottovoce(&["describe", "-p", "grr:a=3,eps=1", "-o", "/no/such/directory/file"]).output().unwrap();
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
    for arguments in [
        &["describe", "-p", "grr:a=3,eps=1"][..],
        &["completions", "bash"],
        &["schema", "protocol"],
        &["--help"],
    ] {
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
    assert!(output(&["--help"]).contains("Examples:\n  sottovoce "));
    let commands = commands();
    assert!(commands.iter().any(|command| command == "posterior") && commands.len() >= 19, "{commands:?}");
    for command in &commands {
        assert!(output(&[command, "--help"]).contains("Examples:\n  sottovoce "), "{command}");
    }
}

/// All commands but `help`.
fn commands() -> Vec<String> {
    let help = output(&["--help"]);
    let list = help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap();
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(String::from).collect()
}

#[test]
fn there_are_completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(output(&["completions", shell]).contains("describe"), "{shell}");
    }
}

const REPORTS: &str =
    r#"{"n": 109, "counts": [{"y": 0, "count": 60}, {"y": 1, "count": 40}, {"y": 2, "count": 9}]}"#;

const NAMED: &str = r#"{"kind": "grr", "a": 4, "epsilon": 1, "labels": ["red", "green", "blue", "no colour at all, or two"]}"#;

#[test]
fn estimates_as_text_and_csv() {
    let all = ["estimate", "-p", NAMED, "--tallies", REPORTS, "--estimator", "all"];
    insta::assert_snapshot!(output(&all));
    insta::assert_snapshot!(output(&[
        "estimate",
        "-p",
        NAMED,
        "--tallies",
        REPORTS,
        "-e",
        "clip",
        "--format",
        "csv"
    ]));
    let supports = r#"{"n": 9, "supports": [5, 4, 0]}"#;
    insta::assert_snapshot!(output(&["estimate", "-p", "oue:a=3,eps=1", "--tallies", supports]));
}

#[test]
fn estimates_as_json() {
    let found = json(&["estimate", "-p", NAMED, "--tallies", REPORTS, "--level", "0.95", "--covariance"]);
    let percent = ["estimate", "-p", NAMED, "--tallies", REPORTS, "--level", "95%", "--covariance"];
    assert_eq!(json(&percent), found);
    assert_eq!((&found["n"], &found["level"]), (&109.into(), &0.95.into()));
    assert_eq!(found["p"][3]["label"], "no colour at all, or two");
    assert_eq!(found["estimators"][2]["converged"], true);
    let linear = &found["p"][0]["linear"];
    let (kappa, lambda) = (1f64.exp() / (1f64.exp() + 3.0), 1.0 / (1f64.exp() + 3.0));
    let expected = (60.0 / 109.0 - lambda) / (kappa - lambda);
    assert!((linear["estimate"].as_f64().unwrap() - expected).abs() < 1e-12, "{linear}");
    // More than all reports' worth: the known noise is that of a value which all but half a user hold. The covariance is that of the reports.
    let error = linear["standard_error"].as_f64().unwrap();
    let rate = kappa - (kappa - lambda) * 0.5 / 110.0;
    let noise = |rate: f64| rate * (1.0 - rate) / (109.0 * (kappa - lambda).powi(2));
    assert!((error * error - noise(rate)).abs() < 1e-15, "{linear}");
    let variance = found["covariance"][0][0].as_f64().unwrap();
    assert!((variance - noise(60.0 / 109.0)).abs() < 1e-15, "{variance}");
    let second = found["p"][1]["linear"]["standard_error"].as_f64().unwrap();
    assert!((second * second - found["covariance"][1][1].as_f64().unwrap()).abs() < 1e-15, "{second}");
    let most_likely: f64 = (0..4).map(|x| found["p"][x]["ml"]["estimate"].as_f64().unwrap()).sum();
    assert!((most_likely - 1.0).abs() < 1e-12);
}

#[test]
fn accuracies_in_all_formats() {
    let closed =
        ["accuracy", "-p", "oue:a=100,eps=1", "--n", "1e4,1e6", "-d", "l2sq", "-e", "linear", "--worst"];
    insta::assert_snapshot!(output(&closed));
    insta::assert_snapshot!(output(&[&closed[..], &["--format", "csv"]].concat()));
    let simulated =
        ["accuracy", "-p", "grr:a=3,eps=1", "--n", "1000", "--at", "0.5/0.3/0.2", "--tolerance", "0.05"];
    let found = json(&simulated);
    let first = &found["evaluations"][0];
    assert_eq!((&first["estimator"], &first["distance"]), (&"linear".into(), &"l1".into()));
    assert_eq!(first["method"], "monte_carlo");
    let (value, error) = (first["value"].as_f64().unwrap(), first["error"].as_f64().unwrap());
    // 0.0976 with a standard error of 0.0008, from another seed.
    assert!((value - 0.0976).abs() < 4.5 * error.hypot(0.0008) && error <= 0.05 * value, "{value} {error}");
    assert_eq!(found, json(&[&simulated[..], &["--threads", "1"]].concat()));
}

/// Everything that a report consists of, in the four formats, at the terminal's usual width.
const FORMATS: [&str; 4] = ["text", "json", "csv", "html"];

const TALLIES: &str = r#"{"counts":[{"y":0,"count":60},{"y":1,"count":40},{"y":2,"count":9}]}"#;

/// One quick and exact call of each command that has a report.
const REPORTING: [(&str, &[&str]); 22] = [
    ("metrics", &["metrics", "-p", "grr:a=3,eps=1", "-m", "ldp,s_wc,s_mu,f_mu,u_distr", "--n", "5"]),
    ("absent", &["metrics", "-p", "deterministic:map=0/0/1", "-m", "ldp,u_as,f_mu,u_distr"]),
    ("split", &["split", "-p", "grr:a=3,eps=2", "--n", "6"]),
    ("compare", &["compare", "-p", "grr:a=3,eps=2", "oue:a=3,eps=2", "-m", "s_wc,s_mu"]),
    (
        "sweep",
        &[
            "compare",
            "-p",
            "grr:a=3,eps=2",
            "oue:a=3,eps=2",
            "--sweep",
            "epsilon=1..4:3",
            "-m",
            "s_mu",
            "--sort",
            "s_mu",
        ],
    ),
    ("users", &["users", "-p", "grr:a=3,eps=2", "--digits", "1.2"]),
    ("expected_error", &["users", "-p", "grr:a=3,eps=1", "--accuracy", "1e-4", "-d", "l2sq"]),
    ("users_none", &["users", "-p", "deterministic:map=0/0/1", "--u-distr", "0.9"]),
    ("estimate", &["estimate", "-p", "grr:a=3,eps=1", "--tallies", TALLIES]),
    ("accuracy", &["accuracy", "-p", "grr:a=3,eps=1", "--n", "100", "-d", "l2sq", "-e", "linear"]),
    (
        "accuracies",
        &["accuracy", "-p", "grr:a=3,eps=1", "--n", "100", "--tolerance", "0.1", "-e", "linear,norm_sub,ml"],
    ),
    ("posterior", &["posterior", "-p", "grr:a=3,eps=1,labels=tea/coffee/water", "--tallies", TALLIES]),
    ("describe", &["describe", "-p", "grr:a=3,eps=1"]),
    ("mixture", &["describe", "-p", MIXTURE]),
    ("many", &["describe", "-p", "oue:a=10000,eps=1"]),
    ("design", &["design", "--a", "3", "--epsilon", "1"]),
    ("frontier", &["design", "--a", "3", "--frontier", "--points", "3", "--against", "s_wc"]),
    ("choose", &["choose", "--a", "3", "--n", "20", "--epsilon", "2", "--method", "asymptote"]),
    ("explain", &["explain", "s_mu"]),
    ("budget", &["budget", "-p", "grr:a=3,eps=0.5", "-p", "oue:a=3,eps=1", "--epsilon", "2"]),
    ("rounds", &["budget", "-p", "grr:a=3,eps=0.5", "--times", "10", "--epsilon", "2"]),
    (
        "memoised",
        &[
            "budget",
            "-p",
            "oue:a=8,eps=1",
            "--then",
            "ue:a=8,kappa=0.75,lambda=0.25",
            "--times",
            "30",
            "--min-average-privacy",
            "0.9",
        ],
    ),
];

/// Numbers of programs with eight digits: what is beyond is rounding, and differs between machines.
fn shortened(text: &str) -> String {
    let (mut out, mut number) = (String::new(), String::new());
    let flush = |out: &mut String, number: &mut String| {
        let digits = number.chars().filter(char::is_ascii_digit).count();
        match number.parse::<f64>() {
            // Errors are rounding itself.
            Ok(value) if digits > 10 && value.abs() < 1e-9 => out.push('~'),
            Ok(value) if digits > 10 => *out += &format!("{value:.7e}"),
            _ => *out += number,
        }
        number.clear();
    };
    for c in text.chars() {
        let goes_on = c.is_ascii_digit() || (c == '.' || c == 'e' || c == '-') && !number.is_empty();
        if goes_on {
            number.push(c);
        } else {
            flush(&mut out, &mut number);
            out.push(c);
        }
    }
    flush(&mut out, &mut number);
    out
}

/// A page without what all pages share: its body, and of its pictures only the words.
fn shown(page: &str) -> String {
    let body = page.split("<main>").nth(1).and_then(|rest| rest.split("</main>").next()).unwrap();
    let mut parts = body.split("<svg ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (picture, rest) = part.split_once("</svg>").unwrap();
        out += &format!("<svg: {}>{rest}", words(picture).join(" | "));
    }
    out
}

/// What the command says in that format, without digits that are rounding.
fn told(arguments: &[&str], format: &str) -> String {
    let found = output(&[arguments, &["--format", format]].concat());
    match format {
        "text" => found,
        "html" => shortened(&shown(&found)),
        _ => shortened(&found),
    }
}

#[test]
fn every_report_in_every_format() {
    for (name, arguments) in REPORTING {
        for format in FORMATS {
            insta::assert_snapshot!(format!("every_report__{name}_{format}"), told(arguments, format));
        }
    }
}

/// A command that has `--format` has its reports in [`REPORTING`], or in a test of its own.
#[test]
fn no_command_with_formats_is_left_out() {
    let elsewhere = ["demo", "randomise", "tally", "merge", "run"];
    let reporting = |command: &str| REPORTING.iter().any(|(_, arguments)| arguments[0] == command);
    for command in commands().iter().filter(|command| output(&[command, "--help"]).contains("--format")) {
        assert!(elsewhere.contains(&command.as_str()) || reporting(command), "{command}");
    }
}

/// Narrow and wide windows, where they show something else than 80 columns do, and a terminal with colours.
#[test]
fn every_report_in_other_windows() {
    for (name, arguments) in REPORTING {
        let usual = output(arguments);
        for columns in ["40", "120"] {
            let found = in_columns(arguments, columns);
            if found != usual {
                insta::assert_snapshot!(format!("every_report__{name}_in_{columns}_columns"), found);
            }
        }
        let coloured = |name: &str| {
            let mut command = sottovoce(arguments);
            command.env("LC_ALL", "C.UTF-8").env(name, "1");
            String::from_utf8(command.output().unwrap().stdout).unwrap()
        };
        assert_eq!(coloured("NO_COLOR"), usual, "{name}");
        let visible = coloured("CLICOLOR_FORCE").replace('\u{1b}', "␛");
        insta::assert_snapshot!(format!("every_report__{name}_coloured"), visible);
    }
}

/// In a narrow window nothing is wider than it, in a wide one nothing is lost, and a pipe gets neither colours nor more than the plain characters of charts.
#[test]
fn every_text_fits_its_window_and_a_pipe() {
    for (name, arguments) in REPORTING {
        for columns in [40, 60, 120] {
            let text = in_columns(arguments, &columns.to_string());
            for line in text.lines() {
                // A word that is longer than the window stays whole.
                let fits = line.chars().count() <= columns || line.split_whitespace().count() == 1;
                assert!(fits, "{name} in {columns} columns: {line}");
            }
        }
        let piped = output(arguments);
        assert!(!piped.contains('\u{1b}') && !piped.contains('█') && !piped.contains('●'), "{name}");
        let coloured =
            sottovoce(arguments).env("CLICOLOR_FORCE", "1").env("LC_ALL", "C.UTF-8").output().unwrap();
        assert!(String::from_utf8(coloured.stdout).unwrap().contains('\u{1b}'), "{name}");
    }
}

/// The summaries of a collection, in every format.
#[test]
fn summaries_of_collections() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("values.csv"), "value\n0\n1\n1\n2\n").unwrap();
    let run = |arguments: &[&str]| {
        let run = sottovoce(arguments).current_dir(directory.path()).output().unwrap();
        assert!(run.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
        String::from_utf8(run.stdout).unwrap()
    };
    for format in FORMATS {
        let steps: [(&str, &[&str]); 3] = [
            (
                "randomise",
                &[
                    "randomise",
                    "-p",
                    "grr:a=3,eps=1",
                    "values.csv",
                    "--insecure-test-seed",
                    "1",
                    "-o",
                    "r.csv",
                ],
            ),
            ("tally", &["tally", "r.csv", "-o", "t.json"]),
            ("merge", &["merge", "t.json", "-o", "m.json"]),
        ];
        for (name, arguments) in steps {
            let found = run(&[arguments, &["--format", format]].concat());
            let found = if format == "html" { shown(&found) } else { found };
            insta::assert_snapshot!(format!("every_report__{name}_{format}"), found);
        }
    }
}
