//! A file that is not what was written is refused, or counted as what it was: never is a number wrong without a word.

mod desk;

use std::fs;

use desk::{Desk, GRR, values_for, version_1};

fn reports(protocol: &str, format: &str, n: usize) -> (Desk, String) {
    let desk = Desk::new();
    desk.write("v.csv", values_for(protocol, n));
    let name = format!("r.{format}");
    desk.run(&["randomise", "-p", protocol, "v.csv", "-o", &name, "--insecure-test-seed", "5"]);
    (desk, name)
}

/// Wherever a text file is cut, also at the end of a line, it is seen.
#[test]
fn a_cut_file_is_refused() {
    for protocol in [GRR, "oue:a=3,eps=1"] {
        for format in ["csv", "jsonl"] {
            let (desk, name) = reports(protocol, format, 12);
            let whole = desk.read(&name);
            let ends: Vec<usize> = whole.match_indices('\n').map(|(at, _)| at + 1).collect();
            // All ends of lines but the last one, and some places within lines; the last line feed may be missing.
            let cuts = ends.iter().rev().skip(1).copied().chain([whole.len() - 2, whole.len() - 40]);
            for cut in cuts {
                desk.write("cut", &whole[..cut]);
                let output =
                    desk.command(&["tally", "cut", "-p", protocol, "-o", "t.json"]).output().unwrap();
                let message = String::from_utf8(output.stderr).unwrap();
                assert_eq!(output.status.code(), Some(2), "{format} {cut}: {message}");
                assert!(!desk.path("t.json").exists());
            }
            desk.write("cut", whole.trim_end());
            assert_eq!(desk.run(&["tally", "cut", "-o", "t.json"])["n"], 12);
        }
    }
}

#[test]
fn what_is_missing_changed_or_added_is_told() {
    let (desk, name) = reports(GRR, "csv", 40);
    let whole = desk.read(&name);
    let lines: Vec<&str> = whole.lines().collect();
    let refused = |lines: &[&str], words: &str| {
        desk.write("bad.csv", lines.join("\n"));
        desk.refused(&["tally", "bad.csv", "-p", GRR, "-o", "t.json"], &["bad.csv: ", words]);
    };
    let without = |at: usize| [&lines[..at], &lines[at + 1..]].concat();
    refused(&lines[..lines.len() - 1], "the end record is missing, which says how many reports there are");
    refused(&without(7), "it has 39 of 40 reports");
    let mut changed = lines.clone();
    changed[7] = if lines[7] == "0" { "1" } else { "0" };
    refused(&changed, "the digest of its reports does not match its end record");
    changed[7] = "x";
    refused(&changed, "it has 39 of 40 reports");
    let mut swapped = lines.clone();
    let other = (3..lines.len() - 1).find(|at| lines[*at] != lines[2]).unwrap();
    swapped.swap(2, other);
    refused(&swapped, "the digest of its reports");
    refused(&[&lines[..], &["0"]].concat(), "line 44 comes after the end record");
    refused(&[&lines[..], &lines[..]].concat(), "line 44 comes after the end record");
    // An end without the header that it belongs to, and a header that is not its own.
    refused(&lines[1..], "the end record is there, but the header that belongs to it is not");
    let older = lines[0].replace("\"version\":2", "\"version\":1");
    refused(&[&[older.as_str()], &lines[1..]].concat(), "the header that belongs to it is not");
    let other = lines[0].replace("\"insecure_test_seed\":5,", "");
    assert_ne!(other, lines[0]);
    refused(&[&[other.as_str()], &lines[1..]].concat(), "the header that belongs to it is not");
    // Files of version 1 have no end, and stay readable.
    desk.write("older.csv", version_1(&whole));
    assert_eq!(desk.run(&["tally", "older.csv", "-o", "t.json"])["n"], 40);
}

/// Any one character of a file may be wrong: it is refused, or its tallies are those of the whole file with the mark of the test seed.
#[test]
fn one_changed_letter_changes_no_count_and_takes_no_mark_away() {
    for (format, protocol) in [("csv", GRR), ("jsonl", GRR), ("parquet", GRR), ("parquet", "oue:a=3,eps=1")] {
        let (desk, name) = reports(protocol, format, 5);
        let whole = fs::read(desk.path(&name)).unwrap();
        desk.run(&["tally", &name, "-p", protocol, "-o", "t.json"]);
        let expected = desk.json("t.json");
        assert_eq!((&expected["n"], &expected["insecure"]), (&5.into(), &true.into()));
        // A step that meets every kind of place; the fuzzers of `sottovoce-job` look at all of them.
        for at in (0..whole.len()).step_by(5) {
            let mut bad = whole.clone();
            bad[at] ^= 1 << (at % 7);
            desk.write("bad", &bad);
            let _ = fs::remove_file(desk.path("t.json"));
            let output = desk.command(&["tally", "bad", "-p", protocol, "-o", "t.json"]).output().unwrap();
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            match output.status.code() {
                Some(0) => assert_eq!(desk.json("t.json"), expected, "{format}, byte {at}"),
                Some(2) => assert!(message.starts_with("error: bad"), "{message}"),
                code => panic!("{format}, byte {at}: {code:?} {message}"),
            }
        }
    }
}

/// A mark that is misspelt is not overlooked, in files of both versions and in tallies.
#[test]
fn a_misspelt_mark_is_refused() {
    for format in ["csv", "jsonl"] {
        let (desk, name) = reports(GRR, format, 5);
        let whole = desk.read(&name);
        for text in [whole.clone(), version_1(&whole)] {
            for key in ["insecure_test_seer", "insecure-test_seed", "Insecure_test_seed"] {
                desk.write("bad", text.replace("insecure_test_seed", key));
                desk.refused(&["tally", "bad", "-o", "t.json"], &["bad: the first line "]);
                desk.refused(&["tally", "bad", "-p", GRR, "-o", "t.json"], &["bad: the first line "]);
            }
        }
        desk.run(&["tally", &name, "-o", "t.json"]);
        let tallies = desk.read("t.json");
        assert!(tallies.contains(" \"insecure\": true,"));
        for changed in ["\"insecurf\": true", "\"insecure\": trux", "\"insecure\":1"] {
            desk.write("bad.json", tallies.replace("\"insecure\": true", changed));
            desk.refused(&["estimate", "-t", "bad.json"], &["bad.json: "]);
            desk.refused(&["merge", "bad.json", "-o", "m.json"], &["bad.json: "]);
        }
        desk.write("bad.json", tallies.replace(" \"insecure\": true,\n", ""));
        desk.refused(
            &["merge", "bad.json", "-o", "m.json"],
            &["the digest does not match these tallies", "remove the key `digest`"],
        );
        let count = tallies.replacen("\"count\": ", "\"count\": 1", 1);
        desk.write("bad.json", count);
        desk.refused(&["estimate", "-t", "bad.json"], &["the digest does not match these tallies"]);
    }
}

/// A Parquet file whose metadata cannot be found any more, and whose schema has another name, still says that it had a header.
#[test]
fn a_parquet_file_that_lost_its_metadata_is_refused() {
    let (desk, name) = reports(GRR, "parquet", 60);
    let mut bytes = std::fs::read(desk.path(&name)).unwrap();
    let place =
        |bytes: &[u8], wanted: &[u8]| bytes.windows(wanted.len()).position(|part| part == wanted).unwrap();
    let schema = place(&bytes, b"sottovoce_reports");
    bytes[schema + 16] = b'w';
    // The type of the list of keys, in front of its first key: a reader that finds another one passes it over.
    let list = place(&bytes, b"\x19\x2c\x18\x11sottovoce.reports");
    bytes[list] = 0x09;
    desk.write("bad.parquet", &bytes);
    desk.refused(
        &["tally", "bad.parquet", "-p", GRR, "-o", "t.json"],
        &["bad.parquet: the header is missing"],
    );
    // The keys are there, but have other names.
    bytes[list] = 0x19;
    for key in [&b"sottovoce.reports"[..], b"sottovoce.end"] {
        let at = place(&bytes, key);
        bytes[at + 9] = b'/';
    }
    desk.write("bad.parquet", bytes);
    desk.refused(
        &["tally", "bad.parquet", "-p", GRR, "-o", "t.json"],
        &["bad.parquet: the header is missing"],
    );
}
