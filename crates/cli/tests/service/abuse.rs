//! Clients that do not behave: half-sent bodies, slow ones, and requests that are none.

use std::thread;
use std::time::{Duration, Instant};

use crate::host::{Connection, Host, batch, id, reports};

const PATH: &str = "/v1/collections/answer/reports";

#[test]
fn half_sent_and_slow_requests_neither_count_nor_block() {
    let directory = tempfile::tempdir().unwrap();
    let host = Host::of_drinks(directory.path());
    let fingerprint = host.fingerprint(0);
    let body = batch(&fingerprint, &reports(0..50));
    let head = |length: usize| {
        format!(
            "POST {PATH} HTTP/1.1\r\nHost: poll\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        )
    };
    // Bodies and heads that end too early.
    for cut in [0, 1, 100, body.len() - 1] {
        let mut half = host.connect();
        half.write(&[head(body.len()).as_bytes(), &body.as_bytes()[..cut]].concat()).unwrap();
    }
    host.connect().write(b"POST /v1/coll").unwrap();
    // A hundred that say nothing more, and stay.
    let slow: Vec<Connection> = (0..100)
        .map(|_| {
            let mut slow = host.connect();
            slow.write(&[head(body.len()).as_bytes(), b"{"].concat()).unwrap();
            slow
        })
        .collect();
    let start = Instant::now();
    assert_eq!(host.send(&reports(100..110)), ["counted"; 10]);
    assert!(start.elapsed() < Duration::from_secs(5), "others do not wait for slow clients");
    // They are given up in the end, with an answer.
    let mut waits = slow.into_iter().next().unwrap();
    assert_eq!(waits.answer().unwrap().status, 408);
    assert_eq!(host.results()["collections"][0]["reports"], 10);
    assert!(host.end().success());
}

/// A client that sends the letters of a batch one by one is as good as any other.
#[test]
fn a_slow_batch_counts() {
    let directory = tempfile::tempdir().unwrap();
    let host = Host::of_drinks(directory.path());
    let body = batch(&host.fingerprint(0), &reports(0..2));
    let mut slow = host.connect();
    let head = format!(
        "POST {PATH} HTTP/1.1\r\nHost: poll\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    for part in [head.as_bytes(), body.as_bytes()].concat().chunks(7) {
        slow.write(part).unwrap();
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(slow.answer().unwrap().status, 200);
}

#[test]
fn more_reports_than_the_rate_are_to_come_later() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = [
        "-p",
        "grr:a=3,eps=1,labels=tea/coffee/water",
        "--data",
        directory.path().to_str().unwrap(),
        "--max-rate",
        "50",
    ];
    let host = Host::start(&arguments);
    let fingerprint = host.fingerprint(0);
    let post = |numbers| host.connect().post(PATH, &batch(&fingerprint, &reports(numbers))).unwrap();
    assert_eq!(post(0..40).status, 200);
    let refused = post(40..80);
    assert_eq!((refused.status, refused.text().as_str()), (429, "{\"error\":\"rate\"}"));
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    thread::sleep(Duration::from_secs(wait));
    assert_eq!(post(40..80).status, 200);
}

/// Numbers that look random, the same in each run unless `SOTTOVOCE_FUZZ_SEED` says otherwise.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// A text with a few bytes changed, taken away, doubled or put in.
    fn damaged(&mut self, text: &[u8]) -> Vec<u8> {
        let mut text = text.to_vec();
        for _ in 0..1 + self.below(4) {
            let at = self.below(text.len().max(1)).min(text.len().saturating_sub(1));
            match self.below(5) {
                0 if !text.is_empty() => text[at] = self.below(256) as u8,
                1 if !text.is_empty() => drop(text.remove(at)),
                2 => text.truncate(at),
                3 => {
                    let part = text[at..(at + self.below(40)).min(text.len())].to_vec();
                    text.splice(at..at, part);
                }
                _ => {
                    let word = self.of(&[
                        "\"",
                        "{",
                        "]",
                        "\\u0000",
                        "\u{fffd}",
                        "1e999",
                        "null",
                        ",",
                        "[[[[[[[[",
                        "-1",
                        "99999999999999999999",
                    ]);
                    text.splice(at..at, word.bytes());
                }
            }
        }
        text
    }
}

const METHODS: [&str; 7] = ["GET", "POST", "POST", "POST", "PUT", "OPTIONS", "HEAD"];

const PATHS: [&str; 16] = [
    PATH,
    PATH,
    PATH,
    PATH,
    "/v1/study",
    "/v1/results",
    "/v1/close",
    "/v1/forget",
    "/metrics",
    "/health",
    "/take",
    "/",
    "/v1/collections/answer/tallies",
    "/v1/collections/%00/reports",
    "/v1/collections//reports",
    "/v1/../v1/study?x=%zz",
];

/// No request makes the service panic or fail, and damaged batches count at most what is whole in them.
#[test]
fn requests_that_are_none_do_no_harm() {
    let full = std::env::var_os("SOTTOVOCE_FULL").is_some();
    let requests = if full { 120_000 } else { 6_000 };
    let seed = std::env::var("SOTTOVOCE_FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let directory = tempfile::tempdir().unwrap();
    let host = Host::of_drinks(directory.path());
    let fingerprint = host.fingerprint(0);
    let threads = 4;
    thread::scope(|scope| {
        for number in 0..threads {
            let (host, fingerprint) = (&host, &fingerprint);
            scope.spawn(move || {
                let mut draws = Draws(seed + number);
                let mut connection = host.connect();
                for request in 0..requests / threads {
                    let one = [(id(number << 32 | request), draws.below(5).to_string())];
                    let body = batch(fingerprint, &one).into_bytes();
                    let body = if draws.below(4) > 0 { draws.damaged(&body) } else { body };
                    let kind = draws.of(&[
                        "Content-Type: application/json\r\n",
                        "Content-Type: text/plain\r\n",
                        "",
                        "Authorization: Bearer 0\r\nContent-Type: application/json\r\n",
                    ]);
                    let (method, path) = (draws.of(&METHODS), draws.of(&PATHS));
                    let sent = if draws.below(20) == 0 {
                        let head = format!(
                            "{method} {path} HTTP/1.1\r\nHost: poll\r\n{kind}Content-Length: {}\r\n\r\n",
                            body.len()
                        );
                        let whole = draws.damaged(&[head.as_bytes(), &body].concat());
                        // Half a request, or two in one: whatever comes back, the connection is not used again.
                        let raw = connection.write(&whole).and_then(|()| connection.write(b"\r\n\r\n"));
                        drop(raw);
                        Err(std::io::ErrorKind::Other.into())
                    } else if method == "HEAD" {
                        // The answer says the length of a body that does not come.
                        Err(std::io::ErrorKind::Other.into())
                    } else {
                        connection.request(method, path, kind, &body)
                    };
                    match sent {
                        Ok(answer) => assert!(answer.status < 500, "{method} {path}: {}", answer.status),
                        Err(_) => connection = host.connect(),
                    }
                }
            });
        }
    });
    assert_eq!(host.connect().request("GET", "/health", "", b"").unwrap().status, 200);
    let counted = host.results()["collections"][0]["reports"].as_u64().unwrap();
    assert!(counted > 0 && counted < requests, "{counted}");
    assert!(host.end().success(), "nothing panicked");
}
