//! Every way in which the files of a collection can be wrong, with what becomes of it.

mod desk;

use std::fs;

use desk::{Desk, GRR, NESTED, gzip, values, values_for, version_1};

/// Values outside the protocol's domain: file content, then the words of the refusal.
const BAD_VALUES: &[(&str, &str, &str)] = &[
    ("v.csv", "value\nred\npurple\n", "line 3: the value is not one of the labels"),
    ("v.csv", "value\nred\nRed\n", "line 3: the value is not one of the labels"),
    ("v.csv", "value\nred\n\"\"\n", "line 3: the value is missing"),
    ("v.csv", "value\nred\n\nblue\n\n", "line 3: the value is missing"),
    ("v.csv", "value\nred\n  \n", "line 3: the value is missing"),
    ("v.csv", "value,id\n,7\n", "line 2: the value is missing"),
    ("v.csv", "id,value\n7,red\n8\n", "line 3: the row does not fit the format"),
    ("v.csv", "id,value\n7,red,1\n", "line 2: the row does not fit the format"),
    ("v.csv", "id,value\n7,\"red\n8,blue\n", "line 2: a quote is opened here and never closed"),
    ("v.csv", "id,value\n7,red\n\n\"8,blue\n9,red\n", "line 4: a quote is opened here and never closed"),
    ("v.csv", "id,note,value\n7,\"two\nlines\",\"red\n8,no,blue", "line 3: a quote is opened here"),
    ("v.csv", "value\nred\n\"blue\ngreen\n", "line 3: a quote is opened here and never closed"),
    ("v.csv", "\"value\nred\n", "line 1: a quote is opened here and never closed"),
    ("v.csv", "id,value\r\n7,red\r\n\r\n8,pink\r\n", "line 4: the value is not one of the labels"),
    ("v.csv", "id,value\n7,red\n\n8,pink", "line 4: the value is not one of the labels"),
    ("v.csv", "value,id\r\nred,7\r\n\"re\nd\",8\r\n", "line 3: the value is not one of the labels"),
    ("v.csv", "value\n3\n", "line 2: the value is a number, but the protocol has labels"),
    ("v.csv", "value\n-1\n", "line 2: the value is a number, but the protocol has labels"),
    ("v.csv", "value\n-0\n", "line 2: the value is a number, but the protocol has labels"),
    ("v.csv", "value\n1.5\n", "line 2: the value is a number, but the protocol has labels"),
    ("v.csv", "value\nNaN\n", "line 2: the value is a number, but the protocol has labels"),
    ("v.csv", "value\ninf\n", "line 2: the value is a number, but the protocol has labels"),
    ("v.csv", "value\n1e0\n", "line 2: the value is a number, but the protocol has labels"),
    ("v.csv", "value\n0x1\n", "line 2: the value is not one of the labels"),
    ("v.csv", "value\n\u{663}\n", "line 2: the value is not one of the labels"),
    ("v.csv", "value\n18446744073709551616\n", "line 2: the value is a number, but the protocol has labels"),
    ("v.csv", "value\nred,blue\n", "line 2: the row does not fit the format"),
    ("v.csv", "value\nred\n\u{1b}[31m\n", "line 3: the value is not one of the labels"),
    ("v.csv", "value\nred\0\n", "line 2: the value is not one of the labels"),
    ("v.csv", "colour\nred\n", "the first line has one column, but no column `value`"),
    ("v.csv", "red\ngreen\n", "the first line has one column, but no column `value`"),
    ("v.csv", "value,value\nred,blue\n", "there are two columns `value`"),
    ("v.csv", "", "v.csv: is empty; the first line must name the columns, one of them `value`"),
    ("v.csv", "\nvalue\nred\n", "v.csv: its first line is blank; the first line must name the columns"),
    ("v.jsonl", "{\"value\":\"red\"}\n{\"value\":\"pink\"}\n", "line 2: the value is not one of the labels"),
    ("v.jsonl", "{\"value\":null}\n", "line 1: the value is missing"),
    ("v.jsonl", "{\"value\":\"\"}\n", "line 1: the value is missing"),
    ("v.jsonl", "{\"colour\":\"red\"}\n", "line 1: the value is missing"),
    ("v.jsonl", "{\"value\":true}\n", "line 1: the row does not fit the format"),
    ("v.jsonl", "{\"value\":\"red\"}\n\n{\"value\":\"re\n", "line 3: the row does not fit the format"),
    ("v.jsonl", "{\"value\":\"red\",\"value\":\"blue\"}\n", "line 1: the row does not fit the format"),
    ("v.jsonl", "{\"value\":\"red\"} {}\n", "line 1: the row does not fit the format"),
    ("v.jsonl", "{\"value\":1.5}\n", "line 1: the value is a number, but the protocol has labels"),
    (
        "v.jsonl",
        "{\"value\":1.00000000000000000001}\n",
        "line 1: the value is a number, but the protocol has labels",
    ),
    ("v.jsonl", "{\"value\":-1}\n", "line 1: the value is a number, but the protocol has labels"),
    ("v.jsonl", "{\"value\":3}\n", "line 1: the value is a number, but the protocol has labels"),
    ("v.jsonl", "{\"value\":[\"red\"]}\n", "line 1: the row does not fit the format"),
    (
        "v.json",
        "[{\"value\":\"red\"},\n{\"value\":\"blue\"}]\n",
        "is a JSON array; JSON Lines has one object on each line",
    ),
    ("v.json", " [\n  {\"value\":\"red\"}]", "is a JSON array; JSON Lines has one object on each line"),
    (
        "v.parquet",
        "PAR1 this is no parquet file",
        "v.parquet: it is not a valid Parquet file; it is incomplete or damaged",
    ),
];

#[test]
fn bad_values_are_refused_with_their_line_and_nothing_is_sent() {
    for (name, text, words) in BAD_VALUES {
        let desk = Desk::new();
        desk.write(name, text);
        desk.refused(
            &["randomise", "-p", GRR, name, "-o", "reports.csv"],
            &[&format!("error: {name}: "), words],
        );
    }
    let desk = Desk::new();
    desk.write("bytes.csv", b"value\n\xff\xfe\n");
    desk.refused(&["randomise", "-p", GRR, "bytes.csv", "-o", "r.csv"], &["line 2", "the row does not fit"]);
    desk.write("cut.csv.gz", &gzip(values_for(GRR, 100_000).as_bytes())[..500]);
    desk.refused(
        &["randomise", "-p", GRR, "cut.csv.gz", "-o", "r.csv"],
        &["cut.csv.gz: its gzip data end too early; the file is incomplete"],
    );
    desk.write("v.csv", values_for(GRR, 3));
    desk.refused(
        &["randomise", "-p", GRR, "none.csv", "-o", "r.csv"],
        &["none.csv: cannot be read: No such file"],
    );
    desk.refused(
        &["randomise", "-p", GRR, "v.csv", "-o", "r.txt"],
        &["r.txt: the name must end in .csv, .jsonl or .parquet"],
    );
    desk.refused(
        &["randomise", "-p", "grr:a=16777216,eps=1e-6", "v.csv", "-o", "r.csv"],
        &["cannot be sampled with 64-bit words"],
    );
    desk.refused(&["randomise", "-p", "grr:a=1,eps=1", "v.csv", "-o", "r.csv"], &["a = 1 is outside 2 to"]);
    // A directory that does not exist is a failure to write, not bad input.
    let code =
        desk.command(&["randomise", "-p", GRR, "v.csv", "-o", "no/r.csv"]).output().unwrap().status.code();
    assert_eq!(code, Some(1));
}

/// A misspelt value is a secret all the same, and so is what stands beside it; messages and summaries end up in logs.
#[test]
fn no_message_repeats_a_value() {
    let secret = "hepatitis-B";
    for (name, text) in [
        ("v.csv", format!("value\nred\n{secret}\n")),
        ("v.csv", format!("{secret}\nred\n")),
        ("v.csv", format!("value\nred,{secret}\n")),
        ("v.csv", format!("name,value\n{secret},purple\n")),
        ("v.csv", format!("name,value\n{secret},red,1\n")),
        ("v.jsonl", format!("{{\"value\":\"{secret}\"}}\n")),
        ("v.jsonl", format!("{{\"value\":null,\"name\":\"{secret}\"}}\n")),
        ("v.jsonl", format!("{{\"value\":\"{secret}\n")),
    ] {
        for on_error in ["stop", "skip"] {
            let desk = Desk::new();
            desk.write(name, &text);
            let arguments = ["randomise", "-p", GRR, name, "-o", "r.csv", "--on-error", on_error];
            let output = desk.command(&arguments).output().unwrap();
            let said = [output.stdout, output.stderr].concat();
            assert!(!said.is_empty() && !String::from_utf8_lossy(&said).contains(secret), "{text}");
            let sent = fs::read_to_string(desk.path("r.csv")).unwrap_or_default();
            assert!(!sent.contains(secret) && !sent.contains("skip"), "{sent}");
        }
    }
}

/// Where there are labels, a bare number is not the number of an input: it may be an age, or a wrong column of identifiers.
#[test]
fn numbers_are_refused_where_there_are_labels() {
    let desk = Desk::new();
    for (labels, label) in [("0-17/18-64/65+", "18-64"), ("red/green/blue", "green")] {
        desk.write("v.csv", format!("value\n{label}\n2\n"));
        let protocol = format!("grr:a=3,eps=1,labels={labels}");
        desk.refused(
            &["randomise", "-p", &protocol, "v.csv", "-o", "r.csv"],
            &["line 3: the value is a number, but the protocol has labels", "--column"],
        );
    }
}

#[test]
fn bad_values_can_be_skipped_and_are_counted() {
    let desk = Desk::new();
    desk.write("v.csv", "value\nred\npurple\n\"\"\nblue\n9\n");
    let summary = desk.run(&["randomise", "-p", GRR, "v.csv", "-o", "r.csv", "--on-error", "skip"]);
    assert_eq!((&summary["reports"], &summary["skipped"]), (&2.into(), &3.into()));
    assert_eq!(
        summary["skipped_by_problem"],
        serde_json::json!({"missing": 1, "unknown_label": 1, "number_for_label": 1})
    );
    assert_eq!(summary["skipped_lines"], serde_json::json!([3, 4, 6]));
    assert_eq!(desk.read("r.csv").lines().count(), 5);
    let arguments = ["randomise", "-p", GRR, "v.csv", "-o", "r.csv", "--on-error", "skip"];
    let text = String::from_utf8(desk.command(&arguments).output().unwrap().stdout).unwrap();
    assert!(text.replace('\n', " ").contains("the first are on lines 3, 4, 6."), "{text}");
    assert!(text.contains("skipped by problem  missing 1, unknown label 1, number for label 1\n"), "{text}");
}

/// Where nothing is left there is nothing to write.
#[test]
fn a_file_of_which_everything_is_skipped_is_refused() {
    let desk = Desk::new();
    for (name, text) in [("v.csv", "value\npink\n9\n"), ("v.jsonl", "{\"value\":\"pink\"}\n{\"colour\":0}\n")]
    {
        desk.write(name, text);
        let arguments = ["randomise", "-p", GRR, name, "-o", "r.csv", "--on-error", "skip"];
        desk.refused(&arguments, &["none of the 2 values is in the protocol's domain"]);
    }
    // A shard without users is none of these.
    desk.write("v.csv", "value\n");
    assert_eq!(
        desk.run(&["randomise", "-p", GRR, "v.csv", "-o", "r.csv", "--on-error", "skip"])["reports"],
        0
    );
    assert_eq!(desk.run(&["tally", "r.csv", "-o", "t.json"])["n"], 0);
}

/// Spaces around a value are not part of it, in every format.
#[test]
fn spaces_around_values_do_not_count() {
    let desk = Desk::new();
    for (name, text) in [
        ("v.csv", "value\n red\ngreen \n\" blue\"\n red\n"),
        ("v.csv", "id, value\n1, red\n2,\tgreen \n3, blue\n4, red\n"),
        (
            "v.jsonl",
            "{\"value\":\" red\"}\n{\"value\":\"green \"}\n{\"value\":\" blue\"}\n{\"value\":\" red\"}\n",
        ),
    ] {
        desk.write(name, text);
        let identity = "identity:a=3,labels=red/green/blue";
        desk.run(&["randomise", "-p", identity, name, "-o", "r.csv"]);
        let reports: Vec<String> = desk.read("r.csv").lines().skip(2).take(4).map(str::to_owned).collect();
        assert_eq!(reports, ["0", "1", "2", "0"], "{text}");
    }
}

/// A text where numbers are needed is not a bad number, and the way out is not to skip all of them.
#[test]
fn texts_without_labels_and_other_first_steps_are_told() {
    let desk = Desk::new();
    desk.write("v.csv", "value\nred\n");
    desk.refused(
        &["randomise", "-p", "grr:a=3,eps=1", "v.csv", "-o", "r.csv"],
        &["line 2: the value is text, but the protocol has no labels", "labels=red/green/blue"],
    );
    for command in ["estimate", "posterior"] {
        let output = desk.command(&[command, "-t", "none.json"]).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(
            message.contains("none.json: cannot be read") && message.contains("hint: tallies are a file"),
            "{message}"
        );
        assert!(!message.contains("shorthand"), "{message}");
    }
    let arrays = [
        "[{\"report\": \"0\"}, {\"report\": \"1\"}]",
        "[\n 0,\n 1]",
        "[\"red\", \"blue\"]",
        "\u{feff}[[0], [1]]",
    ];
    for array in arrays {
        desk.write("r.json", array);
        for command in ["tally", "randomise"] {
            desk.refused(
                &[command, "r.json", "-p", GRR, "-o", "out.csv"],
                &["r.json: is a JSON array; JSON Lines has one object on each line"],
            );
        }
    }
    // A name in brackets, as databases write it, is a column.
    desk.write("v.csv", "[value]\nred\n");
    desk.run(&["randomise", "-p", GRR, "v.csv", "--column", "[value]", "-o", "r.csv"]);
}

/// A file of values that is taken for one of reports tells no value.
#[test]
fn no_message_repeats_a_rejected_report() {
    let secret = "hepatitis-B";
    for (name, text) in [
        ("v.csv", format!("report\n{secret}\n")),
        ("v.csv", format!("report\n0\n{secret}\n")),
        ("v.csv", format!("report\n0\n{secret},{secret}\n")),
        ("v.csv", format!("{secret}\n0\n")),
        ("v.csv", format!("#{secret}\nreport\n0\n")),
        ("v.csv", format!("#{{\"{secret}\":\"{secret}\"}}\nreport\n0\n")),
        ("v.jsonl", format!("{{\"report\":\"{secret}\"}}\n")),
        ("v.jsonl", format!("{{\"report\":\"0\"}}\n{{\"value\":\"{secret}\"}}\n")),
        ("v.jsonl", format!("{{\"value\":\"{secret}\"}}\n{{\"value\":\"{secret}\"}}\n")),
    ] {
        for arguments in [
            &["tally", name, "-p", GRR, "-o", "t.json"][..],
            &["merge", name, "-p", GRR, "-o", "t.json"],
            &["estimate", "-t", name, "-p", GRR],
        ] {
            let desk = Desk::new();
            desk.write(name, &text);
            let output = desk.command(arguments).output().unwrap();
            let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            assert!(!said.is_empty() && !said.contains("hepatitis"), "{text}{said}");
        }
    }
}

/// Half of the reports are not all of them.
#[cfg(unix)]
#[test]
fn nothing_is_left_out_in_silence() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let desk = Desk::new();
    desk.write("v.csv", values_for(GRR, 30));
    for day in ["G/1", "G/2"] {
        fs::create_dir_all(desk.path(day)).unwrap();
        desk.run(&["randomise", "-p", GRR, "v.csv", "-o", &format!("{day}/r.csv")]);
    }
    assert_eq!(desk.run(&["tally", "G/*/*.csv", "-o", "t.json"])["n"], 60);
    assert_eq!(desk.run(&["tally", "G/*", "-o", "t.json"])["n"], 60);
    let tally = |argument: &str, words: &[&str]| desk.refused(&["tally", argument, "-o", "t.json"], words);
    tally("G", &["G/1: is a directory; only the files in G are read", "'days/*/*.csv'"]);
    symlink("nowhere", desk.path("G/1/link.csv")).unwrap();
    tally("G/1", &["G/1/link.csv: cannot be read"]);
    tally("G/1/*.csv", &["G/1/link.csv: cannot be read"]);
    fs::remove_file(desk.path("G/1/link.csv")).unwrap();
    symlink("nowhere", desk.path("G/3")).unwrap();
    tally("G/*/*.csv", &["G/3: cannot be read"]);
    fs::remove_file(desk.path("G/3")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(desk.path("G/1/pipe.csv")).status().unwrap().success());
    tally("G/1", &["G/1/pipe.csv: is a pipe or a device"]);
    fs::remove_file(desk.path("G/1/pipe.csv")).unwrap();
    // Whoever may read everything reads this too.
    fs::set_permissions(desk.path("G/2"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(desk.path("G/2")).is_err() {
        tally("G/*/*.csv", &["G/2: cannot be read"]);
        tally("G/*", &["G/2: cannot be read"]);
    }
    fs::set_permissions(desk.path("G/2"), fs::Permissions::from_mode(0o755)).unwrap();
    // What an interrupted command left is no file of reports.
    desk.write("G/1/.r.csv.0123456789abcdef.part", "garbage");
    assert_eq!(desk.run(&["tally", "G/1/*", "-o", "t.json"])["n"], 30);
}

/// Reports that are none, each in a file with two good ones: the line, and the reason under which it is counted.
const BAD_REPORTS: &[(&str, &str, &str)] = &[
    ("grr:a=300,eps=1", "7", "length"),
    ("grr:a=300,eps=1", "0007", "length"),
    ("grr:a=300,eps=1", "300", "out_of_range"),
    ("grr:a=300,eps=1", "-01", "not_digits"),
    ("grr:a=300,eps=1", "1.5", "not_digits"),
    ("grr:a=300,eps=1", "00\u{663}", "length"),
    ("grr:a=300,eps=1", "\"\"", "empty"),
    ("grr:a=300,eps=1", "001,002", "line"),
    ("oue:a=10,eps=1", "00", "length"),
    ("oue:a=10,eps=1", "00FF", "not_digits"),
    ("oue:a=10,eps=1", "00fc", "padding"),
    ("subset:a=10,k=3,eps=1", "0100", "set_size"),
    ("subset:a=10,k=3,eps=1", "0f00", "set_size"),
    ("lh:a=10,g=3,eps=1", "000000000000000003", "out_of_range"),
    ("lh:a=10,g=3,eps=1", "0000000000000003", "length"),
    (NESTED, "0500000000000000000000", "out_of_range"),
    (NESTED, "0000010000000000000000", "padding"),
];

#[test]
fn bad_reports_are_rejected_with_their_reason_and_not_counted() {
    for (protocol, bad, reason) in BAD_REPORTS {
        let desk = Desk::new();
        desk.write("v.csv", values(2));
        desk.run(&["randomise", "-p", protocol, "v.csv", "-o", "r.csv"]);
        let good = version_1(&desk.read("r.csv"));
        desk.write("r.csv", format!("{good}{bad}\n"));
        let summary = desk.run(&["tally", "r.csv", "-o", "t.json"]);
        assert_eq!((&summary["n"], &summary["rejected"]), (&2.into(), &1.into()), "{bad}");
        assert_eq!(summary["rejected_by_reason"], serde_json::json!({*reason: 1}), "{protocol}: {bad}");
        let example = serde_json::json!({"file": "r.csv", "line": 5, "reason": reason});
        assert_eq!(summary["rejected_examples"], serde_json::json!([example]));
        assert_eq!(desk.json("t.json")["rejected"][reason], 1);
        // The same in JSON Lines, where the header is one line and there is no column name.
        if *reason != "line" && *reason != "empty" {
            let mut lines: Vec<String> =
                good.lines().skip(2).map(|r| format!("{{\"report\":\"{r}\"}}")).collect();
            lines.push(format!("{{\"report\": \"{bad}\"}}"));
            desk.write("r.jsonl", format!("{}\n{}\n", &good.lines().next().unwrap()[1..], lines.join("\n")));
            let summary = desk.run(&["tally", "r.jsonl", "-o", "t.json"]);
            assert_eq!(summary["rejected_by_reason"], serde_json::json!({*reason: 1}), "{protocol}: {bad}");
        }
    }
}

#[test]
fn files_that_cannot_be_tallied_are_refused() {
    let desk = Desk::new();
    desk.write("v.csv", values_for(GRR, 30));
    desk.write("numbers.csv", values(30));
    desk.run(&["randomise", "-p", GRR, "v.csv", "-o", "r.csv"]);
    desk.run(&["randomise", "-p", "grr:a=3,eps=2", "numbers.csv", "-o", "other.csv"]);
    desk.run(&["randomise", "-p", GRR, "v.csv", "-o", "r.parquet"]);
    let good = desk.read("r.csv");
    let tally =
        |files: &[&str], words: &[&str]| desk.refused(&[&["tally", "-o", "t.json"], files].concat(), words);
    tally(
        &["r.csv", "other.csv"],
        &["other.csv: belongs to another protocol, {\"kind\":\"grr\",", "its fingerprint begins with"],
    );
    tally(&["r.csv", "-p", "grr:a=3,eps=1"], &["r.csv: belongs to another protocol"]);
    tally(&["r.csv", "r.csv"], &["r.csv is the same file as r.csv; its reports would be counted twice"]);
    tally(&["r.csv", "./r.csv"], &["is the same file as"]);
    let replaced = "is also an input, and would be overwritten";
    desk.refused(&["randomise", "-p", GRR, "v.csv", "-o", "./v.csv"], &[replaced]);
    desk.refused(&["tally", "r.csv", "-o", "r.csv"], &[replaced]);
    desk.write("copy.csv", &good);
    tally(&["r.csv", "copy.csv"], &["copy.csv and r.csv have 30 reports in common", "--allow-copies"]);
    desk.write("none.csv", "");
    tally(
        &["none.csv", "-p", GRR],
        &["none.csv: is empty; the first line must name the columns, one of them `report`"],
    );
    fs::remove_file(desk.path("none.csv")).unwrap();
    tally(&["-", "-"], &["standard input is the same file as standard input"]);
    tally(&["none*.csv"], &["none*.csv: no file was found"]);
    tally(&["none.csv"], &["none.csv: cannot be read"]);
    desk.write("plain.csv", "report\n0\n");
    let unnamed = "plain.csv: does not name its protocol\nhint: give the protocol with --protocol";
    tally(&["plain.csv"], &[unnamed]);
    tally(&["r.csv", "plain.csv"], &[unnamed]);
    desk.write("two.csv", "report,report\n0,1\n");
    tally(&["two.csv", "-p", GRR], &["two.csv: there are two columns `report`"]);
    // A header may describe a protocol, not name a file that does.
    desk.write("p.json", r#"{"kind":"grr","a":3,"epsilon":1}"#);
    let (start, end) = (good.find("\"protocol\":").unwrap() + 11, good.find("]}}").unwrap() + 2);
    for named in ["\"p.json\"", "7", "[]", "null"] {
        desk.write("named.csv", format!("{}{named}{}", &good[..start], &good[end..]));
        tally(&["named.csv"], &["named.csv: does not name its protocol"]);
    }
    desk.write("wrong.csv", "answer\n0\n");
    tally(
        &["wrong.csv"],
        &["the first line has one column, but no column `report`", "`sottovoce randomise`"],
    );
    desk.write("wrong.csv", "#x\nreport\n0\n");
    tally(&["wrong.csv", "-p", GRR], &["the first line begins with # but is not a header of reports"]);
    desk.write("newer.csv", good.replace("\"version\":2", "\"version\":3"));
    tally(&["newer.csv"], &["is in version 3 of the report format; this program reads versions up to 2"]);
    desk.write("changed.csv", good.replace("\"epsilon\":1.0", "\"epsilon\":9.0"));
    tally(&["changed.csv"], &["the fingerprint does not match the protocol in the same file"]);
    desk.write("empty.csv", "");
    tally(&["empty.csv"], &["empty.csv: is empty; the first line must name the columns"]);
    let header = version_1(&good).lines().next().unwrap().to_owned();
    desk.write("all-bad.csv", format!("{header}\nreport\n7\n8\n"));
    tally(
        &["all-bad.csv"],
        &["none of the 2 reports fits the protocol", "line 3: a number that is too large"],
    );
    let parquet = fs::read(desk.path("r.parquet")).unwrap();
    desk.write("cut.parquet", &parquet[..parquet.len() / 2]);
    tally(&["cut.parquet"], &["cut.parquet: it is not a valid Parquet file"]);
    desk.write("cut.csv.gz", &gzip(good.repeat(100).as_bytes())[..200]);
    tally(&["cut.csv.gz"], &["cut.csv.gz: its gzip data end too early"]);
    // A plain file with its protocol named is counted.
    desk.run(&["tally", "plain.csv", "-p", "grr:a=3,eps=1", "-o", "plain.json"]);
    assert_eq!(desk.json("plain.json")["n"], 1);
}

/// Tallies that name their protocol.
const NAMED: &str = r#"{"n": 1, "counts": [{"y": 0, "count": 1}], "protocol": {"kind":"grr","a":3,"epsilon":1.0},
    "fingerprint": "2d7a77dce9dbebfd682984362d9b5b20dabf5b7ca4e2c581a01f4bee28507403"}"#;

#[test]
fn tallies_that_cannot_be_merged_are_refused() {
    let desk = Desk::new();
    desk.write("plain.json", r#"{"n": 3, "counts": [{"y": 0, "count": 3}]}"#);
    desk.write("two.json", r#"{"n": 4, "counts": [{"y": 2, "count": 4}]}"#);
    desk.write("sum.json", r#"{"n": 4, "counts": [{"y": 0, "count": 3}]}"#);
    desk.write("text.json", "counts");
    desk.write("supports.json", r#"{"n": 4, "supports": [2, 2]}"#);
    let merge =
        |files: &[&str], words: &[&str]| desk.refused(&[&["merge", "-o", "m.json"], files].concat(), words);
    let grr = ["-p", "grr:a=3,eps=1"];
    merge(&["plain.json"], &["plain.json: does not name its protocol"]);
    desk.write("named.json", NAMED);
    merge(&["named.json", "plain.json"], &["plain.json: does not name its protocol"]);
    desk.write("odd.json", NAMED.replace("\"n\"", "\"rejected\": {\"ugly\": 1}, \"n\""));
    merge(&["odd.json"], &["odd.json: not valid tallies: unknown variant `ugly`"]);
    merge(&[&["sum.json"], &grr[..]].concat(), &["sum.json: the counts add up to 3, but n is 4"]);
    merge(&[&["text.json"], &grr[..]].concat(), &["text.json: not valid tallies"]);
    merge(
        &[&["supports.json"], &grr[..]].concat(),
        &["supports.json: supports has 2 entries but inputs has 3"],
    );
    merge(&["supports.json", "-p", "grr:a=2,eps=1"], &["supports.json: these tallies are supports"]);
    merge(&["two.json", "-p", "grr:a=2,eps=1"], &["two.json: counts[0]: output 2 does not exist"]);
    desk.run(&["merge", "plain.json", "two.json", "-p", "grr:a=3,eps=1", "-o", "m.json"]);
    assert_eq!(
        desk.json("m.json")["counts"],
        serde_json::json!([{"y": 0, "count": 3}, {"y": 2, "count": 4}])
    );
    // A file may be merged once.
    merge(&["m.json", "plain.json"], &["m.json is also an input"]);
    let again = ["merge", "m.json", "plain.json", "-p", "grr:a=3,eps=1", "-o", "again.json"];
    desk.refused(&again, &["plain.json and m.json have 3 reports in common"]);
    desk.run(&[&again[..], &["--allow-copies"]].concat());
    assert_eq!(desk.json("again.json")["n"], 10);
}
