//! The whole path of a collection: values → randomise → tally → merge, every format, every way of being wrong, and interruptions.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use serde_json::Value;

/// A directory with files in it.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        Desk(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("sottovoce"));
        command.args(arguments).current_dir(self.0.path()).env("RUST_BACKTRACE", "1");
        command
    }

    /// The summary of a command that succeeds.
    fn run(&self, arguments: &[&str]) -> Value {
        let output = self.command(&[arguments, &["--format", "json"]].concat()).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && message.is_empty(), "{arguments:?}: {message}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// What a command says that is refused as bad input; it leaves no new file.
    fn refused(&self, arguments: &[&str], words: &[&str]) {
        let before = self.names();
        let output = self.command(arguments).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert!(output.stdout.is_empty() && message.starts_with("error: "), "{message}");
        for word in words {
            assert!(message.contains(word), "{arguments:?} should say `{word}`: {message}");
        }
        assert!(!message.contains("panicked") && message.len() < 900, "{message}");
        assert_eq!(self.names(), before, "{arguments:?}");
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = names.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

const GRR: &str = "grr:a=3,eps=1,labels=red/green/blue";
const NESTED: &str = r#"{"kind":"product","factors":[{"kind":"mixture","weights":[0.3,0.7],"parts":[{"kind":"oue","a":3,"epsilon":1},
    {"kind":"lh","a":3,"g":2,"epsilon":1}]},{"kind":"composition","steps":[{"kind":"subset","a":3,"k":2,"epsilon":2},{"kind":"erasure","a":3,"reveal":0.5}]}]}"#;

/// Values 0, 1, 2, 0, 1, 2, …
fn values(count: usize) -> String {
    let rows: String = (0..count).map(|i| format!("{}\n", i % 3)).collect();
    format!("value\n{rows}")
}

#[test]
fn values_become_reports_and_reports_tallies_in_every_format() {
    let desk = Desk::new();
    desk.write("values.csv", values(3000));
    for protocol in [
        GRR,
        "oue:a=3,eps=1",
        "lh:a=3,g=2,eps=1",
        "subset:a=3,k=2,eps=1",
        "identity:a=3",
        "deterministic:map=0/0/5",
        NESTED,
    ] {
        let mut first: Option<String> = None;
        for format in ["csv", "jsonl", "parquet"] {
            let reports = format!("reports.{format}");
            let seed = ["--insecure-test-seed", "7"];
            let summary =
                desk.run(&[&["randomise", "-p", protocol, "values.csv", "-o", &reports], &seed[..]].concat());
            assert_eq!((&summary["reports"], &summary["skipped"]), (&3000.into(), &0.into()));
            assert!(summary["notes"][0].as_str().unwrap().starts_with("INSECURE"));
            let summary = desk.run(&["tally", &reports, "-o", "tallies.json", "--form", "patterns"]);
            assert_eq!(
                (&summary["n"], &summary["rejected"]),
                (&3000.into(), &0.into()),
                "{protocol} {format}"
            );
            // The same seed and values give the same tallies, whatever the format.
            let tallies = desk.read("tallies.json");
            assert_eq!(*first.get_or_insert(tallies.clone()), tallies, "{protocol} {format}");
        }
    }
}

/// The frequencies come back through `q = (e^ε + a − 1)(y/n − 1/(e^ε + a − 1))/(e^ε − 1)`. With n = 40 000 the standard deviation of an estimate
/// is below 0.007; the system's randomness keeps six of them with a false-alarm rate below 1e-8.
#[test]
fn frequencies_come_back() {
    let desk = Desk::new();
    let colours: String = (0..40_000)
        .map(|i| {
            if i % 10 < 5 {
                "red\n"
            } else if i % 10 < 8 {
                "green\n"
            } else {
                "blue\n"
            }
        })
        .collect();
    desk.write(
        "values.csv",
        format!("id,colour\n{}", colours.lines().map(|c| format!("1,{c}\n")).collect::<String>()),
    );
    desk.run(&["randomise", "-p", GRR, "values.csv", "--column", "colour", "-o", "r.parquet"]);
    let summary = desk.run(&["tally", "r.parquet", "-o", "t.json"]);
    assert_eq!(summary["n"], 40_000);
    let (e, tallies) = (1f64.exp(), desk.json("t.json"));
    assert_eq!(tallies["protocol"]["labels"][2], "blue");
    for (entry, truth) in tallies["counts"].as_array().unwrap().iter().zip([0.5, 0.3, 0.2]) {
        let share = entry["count"].as_f64().unwrap() / 40_000.0;
        let estimate = ((e + 2.0) * share - 1.0) / (e - 1.0);
        assert!((estimate - truth).abs() < 0.042, "{entry}: {estimate}");
    }
}

#[test]
fn randomness_of_the_system_never_repeats() {
    let desk = Desk::new();
    desk.write("values.csv", values(300));
    for name in ["a.csv", "b.csv"] {
        let summary = desk.run(&["randomise", "-p", "oue:a=3,eps=1", "values.csv", "-o", name]);
        assert_eq!(summary["notes"], serde_json::json!([]));
    }
    assert_ne!(desk.read("a.csv"), desk.read("b.csv"));
    assert!(!desk.read("a.csv").contains("seed"));
}

#[test]
fn reports_have_one_length() {
    let desk = Desk::new();
    desk.write("values.csv", values(500));
    for protocol in ["grr:a=1000,eps=1", "oue:a=3,eps=1", NESTED] {
        desk.run(&["randomise", "-p", protocol, "values.csv", "-o", "r.csv"]);
        let reports = desk.read("r.csv");
        let lengths: std::collections::BTreeSet<usize> = reports.lines().skip(2).map(str::len).collect();
        assert_eq!(lengths.len(), 1, "{protocol}: {lengths:?}");
    }
}

#[test]
fn shards_merged_in_any_order_are_one_pass() {
    let desk = Desk::new();
    for protocol in ["grr:a=3,eps=1", "oue:a=3,eps=1", "lh:a=3,g=2,eps=1", NESTED] {
        for form in ["auto", "patterns"] {
            for (shard, seed) in ["1", "2", "3"].iter().zip(["11", "12", "13"]) {
                desk.write("values.csv", values(400 + seed.len()));
                let reports = format!("r{shard}.jsonl");
                desk.run(&[
                    "randomise",
                    "-p",
                    protocol,
                    "values.csv",
                    "-o",
                    &reports,
                    "--insecure-test-seed",
                    seed,
                ]);
                desk.run(&["tally", &reports, "--form", form, "-o", &format!("t{shard}.json")]);
            }
            desk.run(&["tally", "r1.jsonl", "r2.jsonl", "r3.jsonl", "--form", form, "-o", "all.json"]);
            desk.run(
                &["tally", "r3.jsonl", "r?.jsonl", "--threads", "1", "--form", form, "-o", "x.json"]
                    .iter()
                    .copied()
                    .filter(|a| *a != "r3.jsonl")
                    .collect::<Vec<_>>(),
            );
            desk.run(&["merge", "t1.json", "t2.json", "t3.json", "--form", form, "-o", "m123.json"]);
            desk.run(&["merge", "t3.json", "t1.json", "--form", form, "-o", "m31.json"]);
            desk.run(&["merge", "t2.json", "m31.json", "--form", form, "-o", "m2_31.json"]);
            for other in ["x.json", "m123.json", "m2_31.json"] {
                assert_eq!(desk.read("all.json"), desk.read(other), "{protocol} {form} {other}");
            }
        }
    }
}

/// Beyond 65 536 different reports a tally keeps supports, and merged shards agree with one pass there too.
#[test]
fn many_patterns_become_supports_and_the_loss_is_explained() {
    let desk = Desk::new();
    for (shard, seed) in ["1", "2"].iter().zip(["21", "22"]) {
        desk.write("values.csv", values(50_000));
        let reports = format!("r{shard}.parquet");
        desk.run(&[
            "randomise",
            "-p",
            "oue:a=40,eps=1",
            "values.csv",
            "-o",
            &reports,
            "--insecure-test-seed",
            seed,
        ]);
        desk.run(&["tally", &reports, "-o", &format!("t{shard}.json")]);
        assert_eq!(desk.json(&format!("t{shard}.json"))["form"], "patterns");
    }
    let summary = desk.run(&["tally", "r1.parquet", "r2.parquet", "-o", "all.json"]);
    assert!(summary["notes"][0].as_str().unwrap().contains("the exact posterior needs it"));
    desk.run(&["merge", "t2.json", "t1.json", "-o", "merged.json"]);
    assert_eq!(desk.read("all.json"), desk.read("merged.json"));
    let tallies = desk.json("all.json");
    let supports: Vec<u64> =
        tallies["supports"].as_array().unwrap().iter().map(|s| s.as_u64().unwrap()).collect();
    assert_eq!((tallies["n"].as_u64(), supports.len()), (Some(100_000), 40));
    // A third of the users hold each of the first three values; λ = 1/(e+1).
    let lambda = 1.0 / (1f64.exp() + 1.0);
    for (x, support) in supports.iter().enumerate() {
        let expected = if x < 3 { (0.5 + 2.0 * lambda) / 3.0 } else { lambda };
        // The seed is fixed; six standard deviations.
        assert!((*support as f64 / 1e5 - expected).abs() < 6.0 * (0.25f64 / 1e5).sqrt(), "{x}: {support}");
    }
    // Asked for, all patterns are kept; and supports of a hash are those of its patterns.
    let summary = desk.run(&["tally", "r1.parquet", "r2.parquet", "--form", "patterns", "-o", "p.json"]);
    assert!(summary["different"].as_u64().unwrap() > 65_536);
    desk.run(&["merge", "p.json", "--form", "supports", "-o", "s.json"]);
    assert_eq!(desk.read("s.json"), desk.read("all.json"));
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn compressed_files_directories_patterns_and_standard_input() {
    let desk = Desk::new();
    desk.write("values.csv", values(900));
    desk.write("values.csv.gz", gzip(values(900).as_bytes()));
    let seed = ["--insecure-test-seed", "1"];
    desk.run(&[&["randomise", "-p", GRR, "values.csv", "-o", "r.csv"], &seed[..]].concat());
    desk.run(&[&["randomise", "-p", GRR, "values.csv.gz", "-o", "again.csv"], &seed[..]].concat());
    let reports = fs::read(desk.path("r.csv")).unwrap();
    assert_eq!(reports, fs::read(desk.path("again.csv")).unwrap());
    desk.run(&["tally", "r.csv", "-o", "t.json"]);
    fs::create_dir(desk.path("shards")).unwrap();
    desk.write("shards/1.csv.gz", gzip(&reports));
    desk.write("shards/.hidden.part", "garbage");
    desk.run(&["tally", "shards", "-o", "directory.json"]);
    desk.run(&["tally", "shards/*.gz", "-o", "pattern.json"]);
    desk.write("r.csv.zst", zstd::encode_all(&reports[..], 1).unwrap());
    desk.run(&["tally", "r.csv.zst", "-o", "zstd.json"]);
    let mut command = desk.command(&["tally", "-", "-o", "stdin.json"]);
    command.write_stdin(reports).assert().success();
    for other in ["directory.json", "pattern.json", "zstd.json", "stdin.json"] {
        assert_eq!(desk.read("t.json"), desk.read(other), "{other}");
    }
    let shown = desk.command(&["tally", "r.csv", "-o", "-"]).output().unwrap();
    assert_eq!(String::from_utf8(shown.stdout).unwrap(), desk.read("t.json"));
}

/// Values that are none of the inputs: file content, then the words of the refusal.
const BAD_VALUES: &[(&str, &str, &[&str])] = &[
    (
        "v.csv",
        "value\nred\npurple\n",
        &["v.csv: line 3: `purple`: is not one of the labels", "hint: nothing was written"],
    ),
    ("v.csv", "value\nred\nRed\n", &["line 3: `Red`: is not one of the labels"]),
    ("v.csv", "value\nred\n\"\"\n", &["line 3: ``: there is no value"]),
    ("v.csv", "value\nred\n\nblue\n\n", &["line 3: ``: there is no value"]),
    ("v.csv", "value,id\n,7\n", &["line 2: ``: there is no value"]),
    ("v.csv", "value\n3\n", &["line 2: `3`: is larger than the number of the last input"]),
    ("v.csv", "value\n-1\n", &["line 2: `-1`: is not one of the labels"]),
    ("v.csv", "value\n1.5\n", &["line 2: `1.5`: is not one of the labels"]),
    ("v.csv", "value\nNaN\n", &["line 2: `NaN`: is not one of the labels"]),
    ("v.csv", "value\n1e0\n", &["line 2: `1e0`: is not one of the labels"]),
    ("v.csv", "value\n18446744073709551616\n", &["is larger than the number of the last input"]),
    ("v.csv", "value\nred,blue\n", &["line 2: `red`: the row does not fit the format"]),
    ("v.csv", "value\nred\n\u{1b}[31m\n", &["line 3: `[31m`: is not one of the labels"]),
    ("v.csv", "colour\nred\n", &["there is no column `value`; the columns are: colour", "--column"]),
    ("v.csv", "", &["there is no column `value`"]),
    ("v.jsonl", "{\"value\":\"red\"}\n{\"value\":\"pink\"}\n", &["line 2: `pink`: is not one of the labels"]),
    ("v.jsonl", "{\"value\":null}\n", &["line 1: ", "there is no value"]),
    ("v.jsonl", "{\"colour\":\"red\"}\n", &["line 1: ", "there is no value"]),
    ("v.jsonl", "{\"value\":true}\n", &["line 1: ", "the row does not fit the format"]),
    ("v.jsonl", "{\"value\":\"red\"}\n\n{\"value\":\"re\n", &["line 3: ", "the row does not fit the format"]),
    ("v.jsonl", "{\"value\":1.5}\n", &["line 1: `1.5`: is not one of the labels"]),
    ("v.jsonl", "{\"value\":[\"red\"]}\n", &["line 1: ", "the row does not fit the format"]),
    ("v.parquet", "PAR1 this is no parquet file", &["v.parquet: is damaged"]),
];

#[test]
fn bad_values_are_refused_with_their_line_and_nothing_is_sent() {
    for (name, text, words) in BAD_VALUES {
        let desk = Desk::new();
        desk.write(name, text);
        desk.refused(&["randomise", "-p", GRR, name, "-o", "reports.csv"], words);
    }
    let desk = Desk::new();
    desk.write("bytes.csv", b"value\n\xff\xfe\n");
    desk.refused(&["randomise", "-p", GRR, "bytes.csv", "-o", "r.csv"], &["line 2", "the row does not fit"]);
    desk.write("cut.csv.gz", &gzip(values(100_000).as_bytes())[..500]);
    desk.refused(&["randomise", "-p", GRR, "cut.csv.gz", "-o", "r.csv"], &["cut.csv.gz: "]);
    desk.write("v.csv", values(3));
    desk.refused(
        &["randomise", "-p", GRR, "none.csv", "-o", "r.csv"],
        &["none.csv: cannot be read: No such file"],
    );
    desk.refused(
        &["randomise", "-p", GRR, "v.csv", "-o", "r.txt"],
        &["r.txt: its name ends in none of .csv"],
    );
    desk.refused(
        &["randomise", "-p", "grr:a=16777216,eps=1e-6", "v.csv", "-o", "r.csv"],
        &["cannot be sampled with 64-bit words"],
    );
    desk.refused(&["randomise", "-p", "grr:a=1,eps=1", "v.csv", "-o", "r.csv"], &["a = 1 inputs"]);
    // A directory that does not exist is a failure to write, not bad input.
    let code =
        desk.command(&["randomise", "-p", GRR, "v.csv", "-o", "no/r.csv"]).output().unwrap().status.code();
    assert_eq!(code, Some(1));
}

#[test]
fn bad_values_can_be_skipped_and_are_counted() {
    let desk = Desk::new();
    desk.write("v.csv", "value\nred\npurple\n\"\"\nblue\n9\n");
    let summary = desk.run(&["randomise", "-p", GRR, "v.csv", "-o", "r.csv", "--on-error", "skip"]);
    assert_eq!((&summary["reports"], &summary["skipped"]), (&2.into(), &3.into()));
    assert_eq!(
        summary["skipped_by_problem"],
        serde_json::json!({"missing": 1, "unknown_label": 1, "out_of_range": 1})
    );
    assert!(summary["notes"][0].as_str().unwrap().contains("lines 3, 4, 6"));
    assert_eq!(desk.read("r.csv").lines().count(), 4);
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
        let good = desk.read("r.csv");
        desk.write("r.csv", format!("{good}{bad}\n"));
        let summary = desk.run(&["tally", "r.csv", "-o", "t.json"]);
        assert_eq!((&summary["n"], &summary["rejected"]), (&2.into(), &1.into()), "{bad}");
        assert_eq!(summary["rejected_by_reason"], serde_json::json!({*reason: 1}), "{protocol}: {bad}");
        assert!(summary["notes"][0].as_str().unwrap().contains("r.csv, line 5"), "{}", summary["notes"]);
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
    desk.write("v.csv", values(30));
    desk.run(&["randomise", "-p", GRR, "v.csv", "-o", "r.csv"]);
    desk.run(&["randomise", "-p", "grr:a=3,eps=2", "v.csv", "-o", "other.csv"]);
    desk.run(&["randomise", "-p", GRR, "v.csv", "-o", "r.parquet"]);
    let good = desk.read("r.csv");
    let tally =
        |files: &[&str], words: &[&str]| desk.refused(&[&["tally", "-o", "t.json"], files].concat(), words);
    tally(&["r.csv", "other.csv"], &["other.csv: is of another protocol: its fingerprint begins with"]);
    tally(&["r.csv", "-p", "grr:a=3,eps=1"], &["r.csv: is of another protocol"]);
    tally(&["r.csv", "r.csv"], &["r.csv is the same file as r.csv; its reports would be counted twice"]);
    tally(&["r.csv", "./r.csv"], &["is the same file as"]);
    desk.write("copy.csv", &good);
    tally(&["r.csv", "copy.csv"], &["copy.csv has the same content as r.csv"]);
    tally(&["-", "-"], &["is named twice"]);
    tally(&["none*.csv"], &["none*.csv: there is no such file"]);
    tally(&["none.csv"], &["none.csv: cannot be read"]);
    desk.write("plain.csv", "report\n0\n");
    tally(&["plain.csv"], &["plain.csv: does not say which protocol it is of; name it with --protocol"]);
    desk.write("wrong.csv", "#x\nanswer\n0\n");
    tally(&["wrong.csv"], &["there is no column `report`; the columns are: answer"]);
    desk.write("newer.csv", good.replace("\"version\":1", "\"version\":2"));
    tally(&["newer.csv"], &["is in version 2 of the format of reports; this program reads version 1"]);
    desk.write("changed.csv", good.replace("\"epsilon\":1.0", "\"epsilon\":9.0"));
    tally(&["changed.csv"], &["the fingerprint is not that of the protocol in the same file"]);
    desk.write("empty.csv", "");
    tally(&["empty.csv"], &["there is no column `report`"]);
    desk.write("all-bad.csv", format!("{}\nreport\n7\n8\n", good.lines().next().unwrap()));
    tally(
        &["all-bad.csv"],
        &["none of the 2 reports is one of this protocol", "line 3: `7`: a number that is too large"],
    );
    let parquet = fs::read(desk.path("r.parquet")).unwrap();
    desk.write("cut.parquet", &parquet[..parquet.len() / 2]);
    tally(&["cut.parquet"], &["cut.parquet: is damaged"]);
    desk.write("cut.csv.gz", &gzip(good.repeat(100).as_bytes())[..200]);
    tally(&["cut.csv.gz"], &["cut.csv.gz"]);
    // A plain file with its protocol named is counted.
    desk.run(&["tally", "plain.csv", "-p", "grr:a=3,eps=1", "-o", "plain.json"]);
    assert_eq!(desk.json("plain.json")["n"], 1);
}

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
    merge(&["plain.json"], &["plain.json: does not say which protocol it is of"]);
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
    desk.run(&["merge", "m.json", "plain.json", "-o", "m.json"]);
    assert_eq!(desk.json("m.json")["n"], 10);
}

/// Starts a command that takes a while, kills it once its temporary file has grown, and gives what is left.
fn killed(desk: &Desk, arguments: &[&str], output: &str) {
    let binary = assert_cmd::cargo::cargo_bin!("sottovoce");
    let mut child = std::process::Command::new(binary)
        .args(arguments)
        .current_dir(desk.0.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let (start, aside) = (Instant::now(), desk.path(&format!(".{output}.{}.part", child.id())));
    // The input never ends, so the file cannot be complete; every writing command is in the middle while it waits.
    let stdin = child.stdin.as_mut().unwrap();
    stdin.write_all(desk.read("input").as_bytes()).unwrap();
    stdin.flush().unwrap();
    while !aside.exists() && start.elapsed() < Duration::from_secs(10) && !arguments.contains(&"tally") {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(100));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(arguments.contains(&"tally") || aside.exists(), "{arguments:?}: it was not writing");
    let _ = fs::remove_file(aside);
}

#[cfg(unix)]
#[test]
fn killed_in_the_middle_the_previous_file_is_whole() {
    let desk = Desk::new();
    desk.write("v.csv", values(1000));
    for output in ["r.csv", "r.jsonl", "r.parquet"] {
        desk.run(&["randomise", "-p", "oue:a=3,eps=1", "v.csv", "-o", output]);
        let before = fs::read(desk.path(output)).unwrap();
        desk.write("input", values(300_000));
        killed(&desk, &["randomise", "-p", "oue:a=3,eps=1", "-", "-o", output], output);
        assert_eq!(fs::read(desk.path(output)).unwrap(), before, "{output}");
    }
    desk.run(&["tally", "r.csv", "-o", "t.json"]);
    let before = desk.read("t.json");
    desk.write("input", desk.read("r.csv"));
    killed(&desk, &["tally", "-", "-o", "t.json"], "t.json");
    assert_eq!(desk.read("t.json"), before);
    // What is left of an interrupted run does not stop the next one.
    desk.run(&["tally", "r.csv", "-o", "t.json"]);
    assert_eq!(desk.read("t.json"), before);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_and_nothing_is_replaced() {
    let desk = Desk::new();
    desk.write("v.csv", values(1000));
    desk.run(&["randomise", "-p", GRR, "v.csv", "-o", "r.csv"]);
    std::os::unix::fs::symlink("/dev/full", desk.path("full.json")).unwrap();
    let output = desk.command(&["tally", "r.csv", "-o", "full.json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("full.json: cannot be written: No space left"));
    assert!(Path::new("/dev/full").exists());
}
