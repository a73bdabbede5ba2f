//! Several services side by side on a PostgreSQL database, which the tests start themselves. Without PostgreSQL they are skipped, loudly; where `CI` is `true` that
//! is a failure.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::crash::{Crowd, kills};
use crate::host::{DRINKS, Host, id, reports};

/// A database server in a directory of its own.
struct Database {
    directory: tempfile::TempDir,
    programs: PathBuf,
    port: u16,
}

/// Where the programs of PostgreSQL are.
fn programs() -> Option<PathBuf> {
    let places = std::env::var("PATH").unwrap_or_default();
    let newest = (10..30).rev().map(|version| PathBuf::from(format!("/usr/lib/postgresql/{version}/bin")));
    let mut places = newest.chain(std::env::split_paths(&places));
    places.find(|place| place.join("initdb").exists() && place.join("pg_ctl").exists())
}

impl Database {
    /// Starts a server; none if there is no PostgreSQL.
    fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
            assert!(!ci, "there is no PostgreSQL on this machine");
            eprintln!("SKIPPED: there is no PostgreSQL on this machine");
            return None;
        };
        let directory = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let database = Database { directory, programs, port };
        let data = database.data();
        fs::create_dir(&data).unwrap();
        if is_root() {
            // The server refuses to run as root.
            let given =
                Command::new("chown").args(["-R", "65534:65534"]).arg(database.directory.path()).status();
            assert!(given.unwrap().success());
        }
        database.run(
            "initdb",
            &["-D", data.to_str().unwrap(), "-U", "collector", "-A", "trust", "-E", "UTF8", "--no-sync"],
        );
        database.begin();
        Some(database)
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("database")
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let program = self.programs.join(program);
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        let log = fs::File::create(self.directory.path().join("told")).unwrap();
        let run = command
            .args(arguments)
            .current_dir("/")
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .stdin(Stdio::null());
        let told = || fs::read_to_string(self.directory.path().join("told")).unwrap_or_default();
        assert!(run.status().unwrap().success(), "{}", told());
    }

    fn begin(&self) {
        let sockets = self.directory.path().to_str().unwrap();
        let options =
            format!("-p {} -k {sockets} -c listen_addresses=127.0.0.1 -c log_min_messages=fatal", self.port);
        let log = self.directory.path().join("log");
        self.run(
            "pg_ctl",
            &[
                "-D",
                self.data().to_str().unwrap(),
                "-w",
                "-l",
                log.to_str().unwrap(),
                "-o",
                &options,
                "start",
            ],
        );
    }

    fn stop(&self) {
        // As a crash: what was committed must be there nevertheless.
        self.run("pg_ctl", &["-D", self.data().to_str().unwrap(), "-w", "-m", "immediate", "stop"]);
    }

    fn address(&self) -> String {
        format!("postgres://collector@127.0.0.1:{}/postgres", self.port)
    }

    /// What the database answers to a query, a line for each row.
    fn ask(&self, query: &str) -> String {
        let asked =
            Command::new(self.programs.join("psql")).args(["-tA", &self.address(), "-c", query]).output();
        String::from_utf8(asked.unwrap().stdout).unwrap()
    }

    fn host(&self, token: &Path) -> Host {
        let (address, token) = (self.address(), token.to_str().unwrap());
        let mut host = Host::start(&[&DRINKS[..], &["--store", &address, "--token-file", token]].concat());
        host.token = TOKEN.into();
        host
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.stop();
    }
}

fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|line| line.starts_with("Uid:\t0\t"))
}

const TOKEN: &str = "a-token-for-tests-0123456789";

#[test]
fn services_side_by_side_count_each_report_once() {
    let Some(database) = Database::start() else { return };
    let token = database.directory.path().join("token");
    fs::write(&token, TOKEN).unwrap();
    let (one, other) = (database.host(&token), database.host(&token));
    let mut sent = reports(0..300);
    assert_eq!(one.send(&sent), ["counted"; 300]);
    assert_eq!(other.send(&sent), ["repeated"; 300]);
    sent[3].1 = "1".into();
    assert_eq!(other.send(&sent[3..5]), ["conflict", "repeated"]);
    // Both at once.
    let both: Vec<(String, String)> = (1000..1900).map(|number| (id(number), "2".into())).collect();
    let mut reversed = both.clone();
    reversed.reverse();
    let (l, r) = std::thread::scope(|scope| {
        let l = scope.spawn(|| one.send(&both));
        (l.join().unwrap(), other.send(&reversed))
    });
    let counted = l.iter().chain(&r).filter(|word| *word == "counted").count();
    assert_eq!(counted, 900);
    one.results_of(1200);
    assert_eq!(one.ask("POST", "/v1/forget").status, 200);
    assert_eq!(other.send(&both[..2]), ["repeated"; 2]);
    assert_eq!(one.ask("POST", "/v1/close").status, 200);
    let closed = other.connect().post(
        "/v1/collections/answer/reports",
        &crate::host::batch(&other.fingerprint(0), &reports(5000..5001)),
    );
    assert_eq!(closed.unwrap().status, 410);
    assert!(one.end().success() && other.end().success());
    let again = database.host(&token);
    assert_eq!((again.reports, again.results()["closed"].as_bool()), (1200, Some(true)));
}

/// Whoever is there after a kill sorts what was left, even if it takes no report itself.
#[test]
fn the_order_of_arrival_does_not_stay_after_a_kill() {
    let Some(database) = Database::start() else { return };
    let token = database.directory.path().join("token");
    fs::write(&token, TOKEN).unwrap();
    let one = database.host(&token);
    for number in 0..40 {
        assert_eq!(one.send(&reports(number..number + 1)), ["counted"]);
    }
    let keys =
        |order| database.ask(&format!("SELECT encode(key, 'hex') FROM sottovoce_report ORDER BY {order}"));
    assert_ne!(keys("ctid"), keys("key"), "the test needs an order that was left");
    one.kill();
    let other = database.host(&token);
    assert_eq!(other.ask("POST", "/v1/close").status, 200);
    assert_eq!(keys("ctid"), keys("key"));
    assert_eq!(keys("key").lines().count(), 40);
}

/// Results and files have all reports while reports become tallies.
#[test]
fn no_number_falls_while_reports_are_forgotten() {
    let Some(database) = Database::start() else { return };
    let token = database.directory.path().join("token");
    fs::write(&token, TOKEN).unwrap();
    let (one, other) = (database.host(&token), database.host(&token));
    for start in (0..5000).step_by(1000) {
        one.send(&reports(start..start + 1000));
    }
    let forgotten = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..5 {
                assert_eq!(one.ask("POST", "/v1/forget").status, 200);
            }
            forgotten.store(true, Ordering::Relaxed);
        });
        while !forgotten.load(Ordering::Relaxed) {
            let tallies = other.ask("GET", "/v1/collections/answer/tallies");
            assert_eq!((tallies.status, tallies.json()["n"].as_u64()), (200, Some(5000)));
        }
    });
}

#[test]
fn killed_services_and_databases_have_every_acknowledged_report_once() {
    let Some(database) = Database::start() else { return };
    let token = database.directory.path().join("token");
    fs::write(&token, TOKEN).unwrap();
    let crowd = Crowd::new(4);
    let mut fingerprint = String::new();
    for kill in 0..kills() {
        let (one, other) = (database.host(&token), database.host(&token));
        assert!(one.reports >= crowd.acknowledged(), "{} of {}", one.reports, crowd.acknowledged());
        fingerprint = one.fingerprint(0);
        let addresses = [one.address, other.address];
        let pause = Duration::from_millis(5 + 37 * kill % 150);
        match kill % 3 {
            // The database goes, and comes back.
            2 => crowd.send_until(&addresses, &fingerprint, pause, || {
                database.stop();
                database.begin();
                std::thread::sleep(Duration::from_millis(300));
            }),
            _ => crowd.send_until(&addresses, &fingerprint, pause, || {
                one.kill();
                std::thread::sleep(Duration::from_millis(50));
                other.kill();
            }),
        }
    }
    let host = database.host(&token);
    crowd.check(&host, &fingerprint);
    assert!(host.end().success());
}
