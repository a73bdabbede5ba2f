//! What a stolen disk shows: reports, and neither who sent them, nor when, nor in which order, nor an answer.

use std::collections::HashMap;
use std::fs;
use std::process::{Command, Stdio};

use crate::host::{DRINKS, Host, batch, id};

/// A word that stands for whatever a client says of itself.
const MARK: &str = "Mozilla-with-a-mark-that-nothing-else-has";

/// What all ids begin with.
const PREFIX: &str = "5e5e5e5e5e5e5e5e";

/// Each report has other bits, so that it can be found again.
#[test]
fn a_stolen_disk_shows_reports_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let (data, log) = (directory.path().join("data"), directory.path().join("log"));
    let program = assert_cmd::cargo::cargo_bin!("sottovoce");
    let mut command = Command::new(program);
    command.stderr(Stdio::from(fs::File::create(&log).unwrap()));
    let host = Host::under(command, &["-p", "oue:a=64,eps=1", "--data", data.to_str().unwrap()]);
    let (fingerprint, n) = (host.fingerprint(0), 4000u64);
    let mut connection = host.connect();
    // Ids that count upwards, as those of a careless client would; the report of number i is i, mixed so that it is found anywhere.
    let report = |i: u64| format!("{:016x}", (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    for start in (0..n).step_by(40) {
        let sent: Vec<_> = (start..start + 40).map(|i| (format!("{PREFIX}{i:016x}"), report(i))).collect();
        let body = batch(&fingerprint, &sent);
        let headers = format!(
            "Content-Type: application/json\r\nUser-Agent: {MARK}\r\nX-Forwarded-For: 203.0.113.77\r\nCookie: {MARK}\r\n"
        );
        let answer =
            connection.request("POST", "/v1/collections/answer/reports", &headers, body.as_bytes()).unwrap();
        assert_eq!(answer.status, 200);
    }
    let exported = host.ask("GET", "/v1/collections/answer/reports").text();
    let token = host.token.clone();
    assert!(host.end().success());

    let names: Vec<_> = fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(names.len() >= 2, "{names:?}");
    let mut everything = fs::read(&log).unwrap();
    assert!(everything.is_empty(), "nothing is logged: {}", String::from_utf8_lossy(&everything));
    for name in &names {
        everything.extend(fs::read(name).unwrap());
    }
    let has = |needle: &[u8]| everything.windows(needle.len()).any(|window| window == needle);
    for needle in [MARK, "203.0.113", "127.0.0.1", "Forwarded", &token] {
        assert!(!has(needle.as_bytes()) && !exported.contains(needle), "{needle} is there");
    }
    assert!(!has(PREFIX.as_bytes()) && !has(&[0x5e; 8]), "an id is there");

    // The place of each report in the file and in the export, in the order in which they came.
    let number: HashMap<String, u64> = (0..n).map(|i| (report(i), i)).collect();
    let order: Vec<u64> = exported.lines().filter_map(|line| number.get(line).copied()).collect();
    assert_eq!(order.len() as u64, n);
    no_order("export", &order);
    let bytes: HashMap<[u8; 8], u64> =
        (0..n).map(|i| ((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes(), i)).collect();
    let windows =
        everything.windows(8).filter_map(|window| bytes.get(<&[u8; 8]>::try_from(window).unwrap()).copied());
    let found: Vec<u64> = windows.collect();
    assert_eq!(found.len() as u64, n, "each report is on the disk once");
    no_order("file", &found);
    // Within a page, newer rows would stand in front of older ones.
    let neighbours = found.windows(2).filter(|pair| pair[0] < pair[1]).count() as f64;
    let expected = (found.len() - 1) as f64 / 2.0;
    assert!(
        (neighbours - expected).abs() < 5.0 * (found.len() as f64 / 12.0).sqrt(),
        "{neighbours} of {expected}"
    );
}

/// Spearman's correlation of places with arrival; that of a random order has the standard deviation 1/√(n − 1), and five of them are exceeded in 6 of 10^7 cases.
fn no_order(what: &str, arrivals: &[u64]) {
    let n = arrivals.len() as f64;
    let squares: f64 =
        arrivals.iter().enumerate().map(|(place, arrival)| (place as f64 - *arrival as f64).powi(2)).sum();
    let correlation = 1.0 - 6.0 * squares / (n * (n * n - 1.0));
    assert!(correlation.abs() < 5.0 / (n - 1.0).sqrt(), "{what}: {correlation}");
}

/// A service that was killed leaves a log of what came last; the next one cleans up before it listens.
#[test]
fn what_a_killed_service_leaves_is_cleaned_up() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let arguments = [&DRINKS[..], &["--data", data.to_str().unwrap()]].concat();
    let host = Host::start(&arguments);
    host.send(&(0..500).map(|i| (id(i), "1".into())).collect::<Vec<_>>());
    host.kill();
    let log = data.join("reports.sqlite-wal");
    assert!(fs::metadata(&log).unwrap().len() > 0, "the test needs a log that was left");
    let again = Host::start(&arguments);
    assert_eq!(again.reports, 500);
    assert!(fs::metadata(&log).map_or(0, |log| log.len()) == 0);
}
