//! The whole path of a collection: values → randomise → tally → merge → posterior, in every format.

mod desk;

use std::fs;

use desk::{Desk, GRR, NESTED, gzip, values, values_for, version_1};

/// Reports through a pipe; then tallies that name their protocol need no other word about it.
#[test]
fn a_collection_needs_no_files_and_names_its_protocol_once() {
    let desk = Desk::new();
    desk.write("v.csv", values_for(GRR, 300));
    let reports = desk.command(&["randomise", "-p", GRR, "v.csv", "-o", "-"]).output().unwrap();
    assert!(reports.status.success() && reports.stderr.is_empty());
    let text = String::from_utf8(reports.stdout.clone()).unwrap();
    assert!(text.starts_with("#{\"format\":\"sottovoce reports\"") && text.lines().count() == 303, "{text}");
    let tally = desk.command(&["tally", "-", "-o", "t.json"]).write_stdin(reports.stdout).output().unwrap();
    assert!(tally.status.success());
    for (command, key) in [("estimate", "norm_sub"), ("posterior", "mean")] {
        let named = desk.run(&[command, "-t", "t.json"]);
        assert_eq!(named, desk.run(&[command, "-p", GRR, "--tallies", "t.json"]), "{command}");
        assert_eq!(named["p"][0]["label"], "red");
        assert!(!named["p"][0][key].is_null(), "{named}");
    }
    let picture = desk.command(&["estimate", "-t", "t.json", "-q", "--picture", "e.svg"]).output().unwrap();
    assert!(picture.status.success());
    let drawn = desk.read("e.svg");
    assert!(["red", "norm_sub", "share of the population"].iter().all(|words| drawn.contains(words)));
}

#[test]
fn values_become_reports_and_reports_tallies_in_every_format() {
    let desk = Desk::new();
    for protocol in [
        GRR,
        "oue:a=3,eps=1",
        "lh:a=3,g=2,eps=1",
        "subset:a=3,k=2,eps=1",
        "identity:a=3",
        "deterministic:map=0/0/5",
        NESTED,
    ] {
        desk.write("values.csv", values_for(protocol, 3000));
        let mut first: Option<String> = None;
        for format in ["csv", "jsonl", "parquet"] {
            let reports = format!("reports.{format}");
            let seed = ["--insecure-test-seed", "7"];
            let summary =
                desk.run(&[&["randomise", "-p", protocol, "values.csv", "-o", &reports], &seed[..]].concat());
            assert_eq!((&summary["reports"], &summary["skipped"]), (&3000.into(), &0.into()));
            assert_eq!(summary["insecure"], true);
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
        assert_eq!(summary["insecure"], serde_json::Value::Null);
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
        let reports = reports.lines().skip(2).take(500);
        let lengths: std::collections::BTreeSet<usize> = reports.map(str::len).collect();
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
    let said = summary["patterns_bytes"].as_f64().unwrap() / 1e6;
    let merged = desk.run(&["merge", "t2.json", "t1.json", "-o", "merged.json"]);
    assert_eq!(merged["patterns_bytes"], summary["patterns_bytes"]);
    let text = desk.command(&["tally", "r1.parquet", "r2.parquet", "-o", "all.json"]).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap().replace('\n', " ");
    for words in ["Kept as supports", "`posterior`", "the form `patterns`", &format!("up to {said:.0} MB")] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // Where no summary is wanted, there is a warning all the same, but not if supports were asked for.
    let quiet = |more: &[&str]| {
        let arguments = [&["tally", "r1.parquet", "r2.parquet", "-q", "-o", "quiet.json"], more].concat();
        String::from_utf8(desk.command(&arguments).output().unwrap().stderr).unwrap()
    };
    assert!(quiet(&[]).contains("warning: kept as supports"), "{}", quiet(&[]));
    assert_eq!(quiet(&["--form", "supports"]), "");
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
    // What was said to be its size is its size, within a fifth.
    let size = desk.read("p.json").len() as f64 / 1e6;
    assert!((size / said - 1.0).abs() < 0.2, "{said} MB, but {size}");
    desk.run(&["merge", "p.json", "--form", "supports", "-o", "s.json"]);
    assert_eq!(desk.read("s.json"), desk.read("all.json"));
}

#[test]
fn compressed_files_directories_patterns_and_standard_input() {
    let desk = Desk::new();
    desk.write("values.csv", values_for(GRR, 900));
    desk.write("values.csv.gz", gzip(values_for(GRR, 900).as_bytes()));
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

/// Half of the users hold 0, three tenths 1, two tenths 2, from the values to the posterior, in three shards. For each protocol the true
/// tallies and frequencies must be within 4.5 posterior standard deviations (normal: 7e-6 a number, 60 numbers: false alarm below 5e-4), and
/// the 95 % intervals of the first frequency may miss it in at most three of ten protocols (more: below 1e-3). The seeds are fixed.
#[test]
fn posteriors_hold_the_true_frequencies() {
    let desk = Desk::new();
    let truth = [0.5, 0.3, 0.2];
    let shard: String = (0..2000)
        .map(|i| ["0\n", "1\n", "2\n"][usize::from(i % 10 >= 5) + usize::from(i % 10 >= 8)])
        .collect();
    desk.write("values.csv", format!("value\n{shard}"));
    let matrix = r#"{"kind":"matrix","rows":[[0.6,0.2,0.1],[0.3,0.5,0.2],[0.1,0.3,0.7]]}"#;
    let protocols = [
        "grr:a=3,eps=1",
        "ue:a=3,kappa=0.7,lambda=0.2",
        "rappor:a=3,eps=1",
        "oue:a=3,eps=1",
        "blh:a=3,eps=1",
        "lh:a=3,g=2,eps=1",
        "subset:a=3,k=1,eps=1",
        "erasure:a=3,reveal=0.3",
        matrix,
        NESTED,
    ];
    let mut missed = 0;
    for (number, protocol) in protocols.iter().enumerate() {
        for shard in 1..=3 {
            let (reports, seed) = (format!("r{shard}.parquet"), (10 * number + shard).to_string());
            desk.run(&[
                "randomise",
                "-p",
                protocol,
                "values.csv",
                "-o",
                &reports,
                "--insecure-test-seed",
                &seed,
            ]);
            desk.run(&["tally", &reports, "--form", "patterns", "-o", &format!("t{shard}.json")]);
        }
        desk.run(&[
            "tally",
            "r1.parquet",
            "r2.parquet",
            "r3.parquet",
            "--form",
            "patterns",
            "-o",
            "all.json",
        ]);
        for order in ["123", "132", "213", "231", "312", "321"] {
            let files: Vec<String> = order.chars().map(|shard| format!("t{shard}.json")).collect();
            let files: Vec<&str> = files.iter().map(String::as_str).collect();
            desk.run(&[&["merge", "--form", "patterns", "-o", "merged.json"], &files[..]].concat());
            assert_eq!(desk.read("merged.json"), desk.read("all.json"), "{protocol} {order}");
        }
        let posterior =
            desk.run(&["posterior", "-p", protocol, "--tallies", "merged.json", "--level", "0.95"]);
        assert_eq!(posterior["n"], 6000);
        for (x, share) in truth.iter().enumerate() {
            for (of, wanted) in [("p", *share), ("t", 6000.0 * share)] {
                let found = |key: &str| posterior[of][x][key].as_f64().unwrap();
                let deviation = (found("mean") - wanted) / found("sd");
                assert!(deviation.abs() < 4.5, "{protocol}: {of}[{x}] is off by {deviation} deviations");
            }
            // Reports tell enough to be wrong: a prior alone has a standard deviation of 0.3.
            assert!(posterior["p"][x]["sd"].as_f64().unwrap() < 0.03, "{protocol}: {posterior}");
        }
        let interval = |end: &str| posterior["p"][0]["quantiles"][end].as_f64().unwrap();
        missed += usize::from(!(interval("0.025")..=interval("0.975")).contains(&0.5));
    }
    assert!(missed <= 3, "{missed} of {} intervals miss", protocols.len());
}

/// Rejected reports and the mark of a test seed survive merging: shards with bad reports, merged, are one pass over them.
#[test]
fn what_was_rejected_is_merged_too() {
    let desk = Desk::new();
    desk.write("values.csv", values_for(GRR, 30));
    for (shard, bad) in [("1", "7\n\"\"\nx\n"), ("2", "8\n"), ("3", "")] {
        let reports = format!("r{shard}.csv");
        let seed = ["--insecure-test-seed", shard];
        let seed = if shard == "2" { &seed[..] } else { &[] };
        desk.run(&[&["randomise", "-p", GRR, "values.csv", "-o", &reports], seed].concat());
        desk.write(&reports, version_1(&desk.read(&reports)) + bad);
        let summary = desk.run(&["tally", &reports, "-o", &format!("t{shard}.json")]);
        assert_eq!(summary["insecure"] == true, shard == "2", "{summary}");
    }
    desk.run(&["tally", "r1.csv", "r2.csv", "r3.csv", "-o", "all.json"]);
    let summary = desk.run(&["merge", "t3.json", "t1.json", "t2.json", "-o", "merged.json"]);
    assert_eq!(desk.read("merged.json"), desk.read("all.json"));
    let all = desk.json("all.json");
    assert_eq!((&all["n"], &all["insecure"]), (&90.into(), &true.into()));
    assert_eq!(all["rejected"], serde_json::json!({"out_of_range": 2, "empty": 1, "not_digits": 1}));
    assert_eq!((&summary["rejected"], &summary["insecure"]), (&4.into(), &true.into()), "{summary}");
    let text =
        desk.command(&["merge", "t3.json", "t1.json", "t2.json", "-o", "merged.json"]).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("4 reports were rejected") && text.contains("INSECURE"), "{text}");
}

/// Small shards may come out alike by chance; that they are no copies only the user knows.
#[test]
fn tallies_with_the_same_counts_are_added_when_allowed() {
    let desk = Desk::new();
    let tallies = r#"{"n": 1, "counts": [{"y": 0, "count": 1}]}"#;
    desk.write("a.json", tallies);
    desk.write("b.json", tallies);
    let merge = ["merge", "a.json", "b.json", "-p", "grr:a=3,eps=1", "-o", "m.json"];
    desk.refused(&merge, &["b.json and a.json have 1 reports in common", "--allow-copies"]);
    assert_eq!(desk.run(&[&merge[..], &["--allow-copies"]].concat())["n"], 2);
    // The same file under two names is no other collection.
    desk.refused(
        &["merge", "a.json", "./a.json", "--allow-copies", "-p", "grr:a=3,eps=1", "-o", "m.json"],
        &["is the same file as"],
    );
}

/// Who sends what is certain is told so.
#[test]
fn a_protocol_without_a_level_is_called_not_private() {
    let desk = Desk::new();
    desk.write("values.csv", values(3));
    let text = |protocol: &str| {
        let output =
            desk.command(&["randomise", "-p", protocol, "values.csv", "-o", "r.csv"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(text("identity:a=3").contains("NOT PRIVATE"));
    assert!(text("erasure:a=3,reveal=0.1").contains("NOT PRIVATE"));
    assert!(!text("grr:a=3,eps=1").contains("PRIVATE"));
    let summary = desk.run(&["randomise", "-p", "identity:a=3", "values.csv", "-o", "r.csv"]);
    assert_eq!(summary["realised_ldp"], "inf");
}
