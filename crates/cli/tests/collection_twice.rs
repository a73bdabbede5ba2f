//! Nothing is counted twice, and nothing that was read is written over.

mod desk;

use std::fs;

use desk::{Desk, GRR, NESTED, gzip, values_for};
use serde_json::json;

/// Days of reports `1.csv` … `3.csv`, their tallies `1.json` … `3.json`, and `week.json` of all.
fn week(protocol: &str) -> Desk {
    let desk = Desk::new();
    desk.write("v.csv", values_for(protocol, 300));
    for day in ["1", "2", "3"] {
        desk.run(&["randomise", "-p", protocol, "v.csv", "-o", &format!("{day}.csv")]);
        desk.run(&["tally", &format!("{day}.csv"), "-o", &format!("{day}.json")]);
    }
    desk.run(&["merge", "1.json", "2.json", "3.json", "-o", "week.json"]);
    desk
}

#[test]
fn tallies_say_what_they_counted() {
    let desk = week(GRR);
    let batches = |name: &str| desk.json(name)["batches"].as_array().unwrap().clone();
    let day = batches("1.json");
    assert_eq!((day.len(), &day[0]["n"]), (1, &json!(300)));
    assert_eq!(day[0]["digest"].as_str().unwrap().len(), 32);
    // The digest of the tallies is the one at the end of the reports.
    let end = desk.read("1.csv").lines().last().unwrap().to_owned();
    assert!(end.contains(&format!("\"reports\":300,\"digest\":{}", day[0]["digest"])), "{end}");
    let week = batches("week.json");
    assert!(
        week.len() == 3 && ["1.json", "2.json", "3.json"].iter().all(|day| week.contains(&batches(day)[0]))
    );
}

/// However a file is written, its reports are the same.
#[test]
fn copies_in_any_form_are_refused() {
    for protocol in [GRR, "oue:a=3,eps=1", "lh:a=3,g=2,eps=1", NESTED] {
        let desk = week(protocol);
        let text = desk.read("1.csv");
        let lines: Vec<&str> = text.lines().collect();
        let reports = &lines[2..lines.len() - 1];
        let body: String = reports.iter().map(|report| format!("{{\"report\":\"{report}\"}}\n")).collect();
        fs::create_dir(desk.path("copies")).unwrap();
        desk.write("copies/other.csv", text.replace('\n', "\r\n"));
        desk.write("copies/cut.csv", text.trim_end());
        desk.write("copies/spaced.csv", format!("{text}\n\n"));
        desk.write("copies/packed.bin", gzip(text.as_bytes()));
        desk.write("copies/packed.zst", zstd::encode_all(text.as_bytes(), 3).unwrap());
        desk.write("copies/plain.csv", format!("report\n{}\n", reports.join("\n")));
        desk.write("copies/plain.jsonl", body);
        for copy in
            ["other.csv", "cut.csv", "spaced.csv", "packed.bin", "packed.zst", "plain.csv", "plain.jsonl"]
        {
            let copy = format!("copies/{copy}");
            let words = format!("{copy} and 1.csv have 300 reports in common, which would be counted twice");
            let tally = ["tally", "-p", protocol, "1.csv", "2.csv", &copy, "-o", "t.json"];
            desk.refused(&tally, &[&words, "--allow-copies"]);
            // And in tallies.
            desk.run(&["tally", "-p", protocol, &copy, "-o", "copy.json"]);
            let words = "copy.json and week.json have 300 reports in common";
            desk.refused(&["merge", "week.json", "copy.json", "-o", "m.json"], &[words]);
            fs::remove_file(desk.path("copy.json")).unwrap();
        }
        let summary = desk.run(&["tally", "1.csv", "copies/other.csv", "--allow-copies", "-o", "both.json"]);
        assert_eq!(summary["n"], 600);
        // Such tallies have a batch twice, which is no reason to refuse them by themselves.
        assert_eq!(desk.run(&["merge", "both.json", "2.json", "-o", "three.json"])["n"], 900);
        desk.refused(
            &["merge", "three.json", "1.json", "-o", "four.json"],
            &["1.json and three.json have 300 reports in common"],
        );
    }
}

#[test]
fn a_day_is_not_counted_beside_its_week() {
    let desk = week(GRR);
    desk.refused(
        &["merge", "week.json", "2.json", "-o", "m.json"],
        &["2.json and week.json have 300 reports in common"],
    );
    desk.refused(
        &["merge", "2.json", "week.json", "-o", "m.json"],
        &["week.json and 2.json have 300 reports in common"],
    );
    desk.run(&["merge", "1.json", "2.json", "-o", "a.json"]);
    desk.run(&["merge", "2.json", "3.json", "-o", "b.json"]);
    desk.refused(
        &["merge", "a.json", "b.json", "-o", "m.json"],
        &["b.json and a.json have 300 reports in common"],
    );
    assert_eq!(desk.run(&["merge", "a.json", "b.json", "--allow-copies", "-o", "m.json"])["n"], 1200);
    desk.refused(
        &["merge", "m.json", "3.json", "-o", "n.json"],
        &["3.json and m.json have 300 reports in common"],
    );
}

/// A second try after a failure that was none must not count a day again.
#[test]
fn a_merge_that_is_repeated_changes_nothing() {
    let desk = week(GRR);
    let replaced = "is also an input, and would be overwritten";
    let before = desk.read("week.json");
    desk.refused(&["merge", "week.json", "1.json", "-o", "week.json"], &[replaced]);
    desk.refused(&["merge", "week.json", "-o", "./week.json"], &[replaced]);
    assert_eq!(desk.read("week.json"), before);
    // Tallies that do not say what they counted are known by their counts.
    let plain = |counts: &str| format!(r#"{{"n": 5, "counts": [{counts}]}}"#);
    desk.write("p.json", plain(r#"{"y": 0, "count": 4}, {"y": 2, "count": 1}"#));
    desk.write("q.json", plain(r#"{"y":2,"count":1},  {"y":0,"count":4}"#));
    let grr = ["-p", "grr:a=3,eps=1"];
    desk.refused(
        &[&["merge", "p.json", "q.json", "-o", "m.json"], &grr[..]].concat(),
        &["q.json and p.json have 5 reports in common"],
    );
    desk.run(&[&["merge", "p.json", "-o", "all.json"], &grr[..]].concat());
    desk.refused(
        &[&["merge", "all.json", "q.json", "-o", "m.json"], &grr[..]].concat(),
        &["q.json and all.json have 5 reports in common"],
    );
}

/// No file that a command reads is a file that it writes, whatever option names it.
#[test]
fn no_output_is_an_input() {
    let desk = week(GRR);
    desk.write("p.json", r#"{"kind":"grr","a":3,"epsilon":1.0,"labels":["red","green","blue"]}"#);
    fs::copy(desk.path("p.json"), desk.path("p.jsonl")).unwrap();
    desk.write("prior.json", r#"{"kind":"jeffreys"}"#);
    fs::hard_link(desk.path("1.json"), desk.path("hard.json")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("1.json", desk.path("soft.json")).unwrap();
    let replaced = &["is also an input, and would be overwritten"][..];
    let before: Vec<Vec<u8>> = ["1.json", "p.json", "p.jsonl", "prior.json", "1.csv", "v.csv"]
        .iter()
        .map(|name| fs::read(desk.path(name)).unwrap())
        .collect();
    for command in ["estimate", "posterior"] {
        for output in ["1.json", "./1.json", "hard.json", "soft.json"] {
            desk.refused(&[command, "-t", "1.json", "-o", output], replaced);
        }
        desk.refused(&[command, "-t", "1.json", "-p", "p.json", "-o", "p.json"], replaced);
        desk.refused(&[command, "-t", "1.json", "-r", "prior.json", "-o", "prior.json"], replaced);
    }
    desk.refused(&["posterior", "-t", "1.json", "-q", "--draws-out", "1.json"], replaced);
    fs::copy(desk.path("1.json"), desk.path("t.svg")).unwrap();
    desk.refused(&["estimate", "-t", "t.svg", "--picture", "t.svg"], replaced);
    for arguments in [
        &["metrics", "-p", "p.json", "-m", "ldp", "-o", "p.json"][..],
        &["describe", "-p", "p.json", "-o", "p.json"],
        &["metrics", "-p", GRR, "-r", "prior.json", "-m", "ldp", "-o", "prior.json"],
        &["split", "-p", "p.json", "--n", "9", "-o", "p.json"],
        &["compare", "-p", "p.json", "-o", "p.json"],
        &["users", "-p", "p.json", "--digits", "0.1", "-o", "p.json"],
        &["accuracy", "-p", "p.json", "--n", "9", "-o", "p.json"],
        &["budget", "-p", "p.json", "-o", "p.json"],
        &["choose", "--a", "3", "--n", "9", "--epsilon", "1", "-r", "prior.json", "-o", "prior.json"],
        &["design", "--a", "2", "--epsilon", "1", "-r", "prior.json", "-o", "prior.json"],
        &["randomise", "-p", "p.jsonl", "v.csv", "-o", "p.jsonl"],
        &["randomise", "-p", GRR, "v.csv", "-o", "v.csv"],
        &["tally", "1.csv", "-o", "1.csv"],
        &["tally", "1.csv", "-p", "p.json", "-o", "p.json"],
        &["merge", "1.json", "-p", "p.json", "-o", "p.json"],
    ] {
        let output = desk.command(arguments).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert!(message.contains(replaced[0]), "{arguments:?}: {message}");
    }
    let after: Vec<Vec<u8>> = ["1.json", "p.json", "p.jsonl", "prior.json", "1.csv", "v.csv"]
        .iter()
        .map(|name| fs::read(desk.path(name)).unwrap())
        .collect();
    assert!(before == after);
}

/// Two outputs in one file are one of them, and nobody would miss the other.
#[test]
fn no_output_is_written_over_another() {
    let desk = week(GRR);
    let run = |arguments: &[&str]| {
        let output = desk.command(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let both = ["posterior", "-t", "1.json", "-q", "--draws", "7", "--draws-out", "d.csv", "-o"];
    for name in ["d.csv", "./d.csv"] {
        let (code, message) = run(&[&both[..], &[name]].concat());
        assert!(code == Some(1) && message.contains("something else was just written to it"), "{message}");
        assert_eq!(desk.read("d.csv").lines().count(), 8);
    }
    assert_eq!(run(&[&both[..], &["o.txt"]].concat()), (Some(0), String::new()));
    let (code, message) = run(&["estimate", "-t", "1.json", "--picture", "p.svg", "-o", "p.svg", "-q"]);
    assert!(code == Some(1) && desk.read("p.svg").starts_with("<svg"), "{message}");
    // A stream takes both.
    let both = ["posterior", "-t", "1.json", "-q", "--draws", "7", "--draws-out", "-", "-o", "-"];
    assert_eq!(run(&both), (Some(0), String::new()));
}

/// Standard input may be a file too.
#[cfg(unix)]
#[test]
fn standard_input_that_is_a_file_is_known() {
    let desk = week(GRR);
    let run = |arguments: &[&str], input: &str| {
        let file = fs::File::open(desk.path(input)).unwrap();
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("sottovoce"));
        let output = command.args(arguments).current_dir(desk.0.path()).stdin(file).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, message) = run(&["tally", "1.csv", "-", "-o", "t.json"], "1.csv");
    assert!(code == Some(2) && message.contains("standard input is the same file as 1.csv"), "{message}");
    let (code, message) = run(&["merge", "-", "1.json", "-o", "week.json"], "week.json");
    assert!(code == Some(2) && message.contains("would be overwritten"), "{message}");
    let (code, message) = run(&["estimate", "-t", "-", "-o", "1.json"], "1.json");
    assert!(code == Some(2) && message.contains("would be overwritten"), "{message}");
}
