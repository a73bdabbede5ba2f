//! Small files that become large: they are refused in little memory and time.

#![cfg(target_os = "linux")]

mod desk;

use std::io::{Read, Write};
use std::process::Command;
use std::time::{Duration, Instant};

use desk::{Desk, GRR};

/// The address space that a command may have: the program, its threads (each may reserve 64 MiB), and what it reads. What it would hold is more.
const MOST_KIB: usize = 900_000;

/// What would be too much to hold.
const MUCH: u64 = 1 << 30;

/// Runs a command that may take little memory, and gives what it says when it refuses its input.
fn refusal(desk: &Desk, arguments: &[&str]) -> String {
    let start = Instant::now();
    let output = Command::new("sh")
        .args(["-c", &format!("ulimit -v {MOST_KIB}; exec \"$0\" \"$@\"")])
        .arg(assert_cmd::cargo::cargo_bin!("sottovoce"))
        .args(arguments)
        .current_dir(desk.0.path())
        .output()
        .unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(start.elapsed() < Duration::from_secs(60), "{arguments:?}: {:?}", start.elapsed());
    message
}

/// A beginning, and then one byte again and again.
fn endless(start: &str, byte: u8) -> impl Read {
    std::io::Cursor::new(start.as_bytes().to_vec()).chain(std::io::repeat(byte).take(MUCH))
}

fn zstandard(reader: impl Read) -> Vec<u8> {
    let mut packed = Vec::new();
    zstd::stream::copy_encode(reader, &mut packed, 1).unwrap();
    packed
}

fn gzip(mut reader: impl Read) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::copy(&mut reader, &mut encoder).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn lines_that_never_end() {
    let desk = Desk::new();
    let long = [
        "line 2 is longer than ",
        "becomes more than 16384 times larger",
        "line 2: a row or a run of blank lines",
    ];
    for start in ["value\n", "id,value\n", "id,value\n1,\"", "value\n\""] {
        desk.write("v.zst", zstandard(endless(start, b'x')));
        let message = refusal(&desk, &["randomise", "-p", GRR, "v.zst", "-o", "r.csv", "--threads", "2"]);
        assert!(long.iter().any(|words| message.contains(words)), "{start}: {message}");
        desk.write("v.gz", gzip(endless(start, b'x').take(64 << 20)));
        let message = refusal(&desk, &["randomise", "-p", GRR, "v.gz", "-o", "r.csv", "--threads", "2"]);
        assert!(long.iter().any(|words| message.contains(words)), "{start}: {message}");
    }
    desk.write("r.gz", gzip(endless("report\n", b'0').take(64 << 20)));
    let message = refusal(&desk, &["tally", "-p", GRR, "r.gz", "-o", "t.json", "--threads", "2"]);
    assert!(message.contains("line 2 is longer than "), "{message}");
}

#[test]
fn lines_without_anything() {
    let desk = Desk::new();
    for start in ["value\nred\n", "id,value\n1,red\n", "{\"value\":\"red\"}\n"] {
        desk.write("v.zst", zstandard(endless(start, b'\n')));
        let message = refusal(&desk, &["randomise", "-p", GRR, "v.zst", "-o", "r.csv", "--threads", "2"]);
        let words = ["it becomes more than 16384 times larger", "line 3: a row or a run of blank lines"];
        assert!(words.iter().any(|words| message.contains(words)), "{message}");
    }
}

/// Empty lines count only if a value follows: a hundred million of them are remembered as two numbers.
#[test]
fn empty_lines_take_no_memory() {
    let desk = Desk::new();
    let empty = "\n".repeat(100_000_000);
    desk.write("v.csv", format!("value\nred{empty}"));
    let output = Command::new("sh")
        .args(["-c", &format!("ulimit -v {MOST_KIB}; exec \"$0\" \"$@\"")])
        .arg(assert_cmd::cargo::cargo_bin!("sottovoce"))
        .args(["randomise", "-p", GRR, "v.csv", "-o", "r.csv", "--threads", "2", "-q"])
        .current_dir(desk.0.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_parquet_file_that_would_be_held() {
    let desk = Desk::new();
    desk.write("r.gz", gzip(endless("PAR1", 0)));
    for arguments in [["tally", "-p", GRR, "r.gz"], ["randomise", "-p", GRR, "r.gz"]] {
        let message = refusal(&desk, &[&arguments[..], &["-o", "out.csv", "--threads", "2"]].concat());
        assert!(message.contains("is a Parquet file of more than 268435456 bytes"), "{message}");
    }
}

/// A list of tallies has as many entries as the protocol has outputs or inputs; what follows is not held.
#[test]
fn tallies_with_more_entries_than_there_can_be() {
    let desk = Desk::new();
    let mut file = std::fs::File::create(desk.path("t.json")).unwrap();
    file.write_all(b"{\"counts\": [{\"y\": 0, \"count\": 1}").unwrap();
    let entries = ", {\"y\": 0, \"count\": 1}".repeat(1 << 16);
    (0..80).for_each(|_| file.write_all(entries.as_bytes()).unwrap());
    file.write_all(b"]}").unwrap();
    let message = refusal(&desk, &["estimate", "-p", "grr:a=3,eps=1", "-t", "t.json"]);
    assert!(message.contains("counts: there are more than 3 entries"), "{message}");
    desk.write("s.json", format!("{{\"n\": 9, \"supports\": [0{}]}}", ", 0".repeat(40 << 20)));
    let message = refusal(&desk, &["estimate", "-p", "oue:a=3,eps=1", "-t", "s.json"]);
    assert!(message.contains("supports: there are more than 3 entries"), "{message}");
}

/// What was counted is a list too: each batch has a report, and all of them together no more than there are.
#[test]
fn tallies_with_more_batches_than_reports() {
    let desk = Desk::new();
    let write = |batch: &str, times: usize| {
        let mut file = std::fs::File::create(desk.path("t.json")).unwrap();
        file.write_all(format!("{{\"n\": 3, \"batches\": [{batch}").as_bytes()).unwrap();
        let batches = format!(",{batch}").repeat(1 << 10);
        (0..times >> 10).for_each(|_| file.write_all(batches.as_bytes()).unwrap());
        file.write_all(b"], \"counts\": [{\"y\": 0, \"count\": 3}]}").unwrap();
    };
    let digest = "0".repeat(32);
    for (batch, times, words) in [
        ("{\"n\":0,\"digest\":\"\"}".to_owned(), 15 << 20, "a digest has 32 hexadecimal digits"),
        (format!("{{\"n\":0,\"digest\":\"{digest}\"}}"), 6 << 20, "batches[0]: it has no reports"),
        (
            format!("{{\"n\":1,\"digest\":\"{digest}\"}}"),
            6 << 20,
            "the batches have at least 4 reports, but n is 3",
        ),
    ] {
        write(&batch, times);
        for arguments in [["estimate", "-t"], ["merge", "-o=out.json"]] {
            let message = refusal(&desk, &[&arguments[..], &["t.json", "-p", "grr:a=3,eps=1"]].concat());
            assert!(message.contains(words), "{message}");
        }
    }
}
