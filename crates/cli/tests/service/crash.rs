//! The service is killed while clients send: every report that was acknowledged is counted exactly once.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::host::{Connection, DRINKS, Host, batch, id, words};

/// How often a service is killed.
pub fn kills() -> u64 {
    if std::env::var_os("SOTTOVOCE_FULL").is_some() { 100 } else { 10 }
}

const PATH: &str = "/v1/collections/answer/reports";

/// A client that keeps a report with its id until it is acknowledged, and sometimes sends again what was.
struct Sender {
    number: u64,
    next: u64,
    state: u64,
    /// Reports without an acknowledgement.
    waiting: Vec<(String, String)>,
    /// Reports with one.
    settled: Vec<(String, String)>,
    /// How many reports were told to be counted now.
    counted: u64,
}

impl Sender {
    fn new(number: u64) -> Self {
        Sender { number, next: 0, state: number + 1, waiting: vec![], settled: vec![], counted: 0 }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % below
    }

    /// Some new reports, all that wait and a few that were settled, in another order.
    fn batch(&mut self) -> Vec<(String, String)> {
        for _ in 0..1 + self.draw(100) {
            let report = (self.draw(3)).to_string();
            self.waiting.push((id(self.number << 40 | self.next), report));
            self.next += 1;
        }
        let mut sent: Vec<_> = self.waiting.iter().take(600).cloned().collect();
        for _ in 0..self.draw(20).min(self.settled.len() as u64) {
            let old = self.draw(self.settled.len() as u64) as usize;
            sent.push(self.settled[old].clone());
        }
        for at in (1..sent.len()).rev() {
            let other = self.draw(at as u64 + 1) as usize;
            sent.swap(at, other);
        }
        sent
    }

    fn settle(&mut self, sent: &[(String, String)], told: &[String]) {
        let mut waiting: HashMap<String, String> = self.waiting.drain(..).collect();
        for ((id, report), word) in sent.iter().zip(told) {
            assert!(word == "counted" || word == "repeated", "{word}");
            self.counted += u64::from(word == "counted");
            if waiting.remove(id).is_some() {
                self.settled.push((id.clone(), report.clone()));
            }
        }
        self.waiting = waiting.into_iter().collect();
    }

    /// Sends until the service is gone or it is enough; whatever has no answer stays.
    fn send(&mut self, address: SocketAddr, fingerprint: &str, enough: &AtomicBool, answered: &AtomicU64) {
        let Ok(mut connection) = Connection::to(address) else { return };
        while !enough.load(Ordering::Relaxed) {
            let sent = self.batch();
            let Ok(answer) = connection.post(PATH, &batch(fingerprint, &sent)) else { return };
            if answer.status == 503 {
                thread::sleep(Duration::from_millis(50));
                continue;
            }
            assert_eq!(answer.status, 200, "{}", answer.text());
            self.settle(&sent, &words(&answer.json()));
            answered.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Clients that send while services come and go.
pub struct Crowd(Vec<Mutex<Sender>>);

impl Crowd {
    pub fn new(clients: u64) -> Self {
        Crowd((0..clients).map(|number| Mutex::new(Sender::new(number))).collect())
    }

    /// Sends to these services until some batches were answered and a little longer, then calls `fault`, and waits for the clients to notice.
    pub fn send_until(
        &self,
        addresses: &[SocketAddr],
        fingerprint: &str,
        pause: Duration,
        fault: impl FnOnce(),
    ) {
        let (enough, answered) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            for (sender, address) in self.0.iter().zip(addresses.iter().cycle()) {
                let (enough, answered) = (&enough, &answered);
                scope.spawn(move || sender.lock().unwrap().send(*address, fingerprint, enough, answered));
            }
            while answered.load(Ordering::Relaxed) < 3 {
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(pause);
            fault();
            enough.store(true, Ordering::Relaxed);
        });
    }

    pub fn acknowledged(&self) -> u64 {
        self.0.iter().map(|sender| sender.lock().unwrap().settled.len() as u64).sum()
    }

    /// Sends what waits, and compares what is counted with what was sent: in number, and answer by answer.
    pub fn check(&self, host: &Host, fingerprint: &str) {
        let mut connection = host.connect();
        let mut expected = [0; 3];
        for sender in &self.0 {
            let mut sender = sender.lock().unwrap();
            while !sender.waiting.is_empty() {
                let sent: Vec<_> = sender.waiting.iter().take(1000).cloned().collect();
                let answer = connection.post(PATH, &batch(fingerprint, &sent)).unwrap();
                sender.settle(&sent, &words(&answer.json()));
            }
            assert_eq!(sender.settled.len() as u64, sender.next);
            sender.settled.iter().for_each(|(_, report)| expected[report.parse::<usize>().unwrap()] += 1);
        }
        let tallies = host.ask("GET", "/v1/collections/answer/tallies").json();
        let mut counted = [0; 3];
        for entry in tallies["counts"].as_array().unwrap() {
            counted[entry["y"].as_u64().unwrap() as usize] = entry["count"].as_u64().unwrap();
        }
        assert_eq!(counted, expected);
        assert_eq!(tallies["n"], Value::from(expected.iter().sum::<u64>()));
    }
}

#[test]
fn a_killed_service_has_every_acknowledged_report_once() {
    let directory = tempfile::tempdir().unwrap();
    let crowd = Crowd::new(4);
    let mut fingerprint = String::new();
    for kill in 0..kills() {
        let host = Host::of_drinks(directory.path());
        assert!(host.reports >= crowd.acknowledged(), "{} of {}", host.reports, crowd.acknowledged());
        fingerprint = host.fingerprint(0);
        let pause = Duration::from_millis(5 + 37 * kill % 150);
        crowd.send_until(&[host.address], &fingerprint, pause, || host.kill());
    }
    assert!(crowd.acknowledged() > 50 * kills());
    let host = Host::of_drinks(directory.path());
    crowd.check(&host, &fingerprint);
    assert!(host.end().success());
}

/// The files may grow to a limit, as on a full disk; then there is room again.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_loses_nothing_and_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().to_str().unwrap();
    let crowd = Crowd::new(2);
    let program = assert_cmd::cargo::cargo_bin!("sottovoce");
    let mut limited = Command::new("sh");
    // What would grow beyond the limit fails as on a full disk, if the signal is ignored.
    limited.args(["-c", "trap '' XFSZ; ulimit -S -f 1000; exec \"$0\" \"$@\""]).arg(program);
    let host = Host::under(limited, &[&DRINKS[..], &["--data", data]].concat());
    let fingerprint = host.fingerprint(0);
    let full = || {
        for _ in 0..600 {
            if host.connect().request("GET", "/health", "", b"").unwrap().status == 503 {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("the disk is not full after half a minute");
    };
    crowd.send_until(&[host.address], &fingerprint, Duration::ZERO, full);
    let before = crowd.acknowledged();
    assert!(before > 100, "{before}");
    // Many reports, since there may be room for a few.
    let many: Vec<_> = (1..1000).map(|number| (id(u64::MAX - number), "0".into())).collect();
    let answer = host.connect().post(PATH, &batch(&fingerprint, &many)).unwrap();
    assert_eq!((answer.status, answer.text().as_str()), (503, "{\"error\":\"store\"}"));
    assert_eq!(answer.header("retry-after"), Some("5"));
    let process = host.process().to_string();
    let room = Command::new("prlimit").args(["--pid", &process, "--fsize=unlimited"]).status().unwrap();
    assert!(room.success());
    // A proxy that asks for the health sends nothing until it is good again.
    let health = || host.connect().request("GET", "/health", "", b"").unwrap().status;
    let recovers = (0..200).any(|_| {
        thread::sleep(Duration::from_millis(50));
        health() == 200
    });
    assert!(recovers, "the service is down although the store works");
    crowd.check(&host, &fingerprint);
    assert_eq!(host.connect().request("GET", "/health", "", b"").unwrap().status, 200);
    assert!(host.end().success());
}
