//! A running service, and a client that speaks plain HTTP to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// The question of most tests.
pub const DRINKS: [&str; 2] = ["-p", "grr:a=3,eps=1,labels=tea/coffee/water"];

/// A running service.
pub struct Host {
    child: Child,
    pub address: SocketAddr,
    pub token: String,
    /// The reports that it had when it started.
    pub reports: u64,
}

impl Host {
    /// Starts a service on a free port; the arguments say what it serves and where it keeps reports.
    pub fn start(arguments: &[&str]) -> Self {
        Host::under(Command::new(assert_cmd::cargo::cargo_bin!("sottovoce")), arguments)
    }

    /// Starts it by another command, to which arguments are added.
    pub fn under(mut command: Command, arguments: &[&str]) -> Self {
        command.arg("serve").args(arguments).args(["--address", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut line = || lines.next().expect("the service says where it is").unwrap();
        let told = |line: &str, what: &str| line.strip_prefix(what).map(|rest| rest.trim().to_owned());
        let take = told(&line(), "Participants").unwrap();
        told(&line(), "Results").unwrap();
        let third = line();
        let token = told(&third, "Token");
        let reports = if token.is_some() { line() } else { third };
        let reports = told(&reports, "Reports").unwrap().parse().unwrap();
        let address = take.trim_start_matches("http://").trim_end_matches("/take").parse().unwrap();
        Host { child, address, token: token.unwrap_or_default(), reports }
    }

    /// A service on a directory, with the usual question.
    pub fn of_drinks(directory: &Path) -> Self {
        Host::start(&[&DRINKS[..], &["--data", directory.to_str().unwrap()]].concat())
    }

    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Kills it, as a power cut would.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to end, and waits until it has.
    pub fn end(mut self) -> ExitStatus {
        let asked = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(asked.success());
        self.child.wait().unwrap()
    }

    pub fn connect(&self) -> Connection {
        Connection::to(self.address).unwrap()
    }

    /// The answer to a request with the token.
    pub fn ask(&self, method: &str, path: &str) -> Answer {
        let token = format!("Authorization: Bearer {}\r\n", self.token);
        self.connect().request(method, path, &token, b"").unwrap()
    }

    /// The results, when they are those of all reports.
    pub fn results(&self) -> Value {
        for _ in 0..600 {
            let results: Value = self.ask("GET", "/v1/results").json();
            let counts: Vec<&Value> =
                results["collections"].as_array().unwrap().iter().map(|of| &of["reports"]).collect();
            let known = results["analysis"]["reports"].as_array();
            if known.is_some_and(|known| known.iter().collect::<Vec<_>>() == counts) {
                return results;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("there is no analysis after a minute");
    }

    /// The results, as soon as so many reports are in them: a service that shares its store hears of others' reports a little later.
    pub fn results_of(&self, n: u64) -> Value {
        for _ in 0..600 {
            let results = self.results();
            if results["collections"][0]["reports"] == n {
                return results;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("there are no results of {n} reports after a minute");
    }

    /// The fingerprint of a collection's protocol.
    pub fn fingerprint(&self, collection: usize) -> String {
        let study: Value = self.connect().request("GET", "/v1/study", "", b"").unwrap().json();
        study["collections"][collection]["published"]["fingerprint"].as_str().unwrap().to_owned()
    }

    /// Sends reports of the usual question, and gives what became of each.
    pub fn send(&self, reports: &[(String, String)]) -> Vec<String> {
        let body = batch(&self.fingerprint(0), reports);
        let answer = self.connect().post("/v1/collections/answer/reports", &body).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        words(&answer.json())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What became of each report.
pub fn words(answer: &Value) -> Vec<String> {
    answer["results"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

/// The envelope of a batch.
pub fn batch(fingerprint: &str, reports: &[(String, String)]) -> String {
    let entry = |(id, report): &(String, String)| json!({"id": id, "report": report});
    json!({"fingerprint": fingerprint, "reports": reports.iter().map(entry).collect::<Vec<_>>()}).to_string()
}

/// An id that no other number has.
pub fn id(number: u64) -> String {
    let mix = |mut z: u64| {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    format!("{:016x}{:016x}", mix(number.wrapping_add(0x9e37_79b9_7f4a_7c15)), number)
}

/// Reports with ids of their own.
pub fn reports(numbers: std::ops::Range<u64>) -> Vec<(String, String)> {
    numbers.map(|number| (id(number), (number % 3).to_string())).collect()
}

/// A connection that is used for many requests.
pub struct Connection(BufReader<TcpStream>);

/// What came back.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}: {}", self.status, self.text()))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }
}

impl Connection {
    pub fn to(address: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Connection(BufReader::new(stream)))
    }

    pub fn post(&mut self, path: &str, body: &str) -> std::io::Result<Answer> {
        self.request("POST", path, "Content-Type: application/json\r\n", body.as_bytes())
    }

    pub fn request(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: &[u8],
    ) -> std::io::Result<Answer> {
        let length = body.len();
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: poll\r\n{headers}Content-Length: {length}\r\n\r\n");
        self.write(&[head.as_bytes(), body].concat())?;
        self.answer()
    }

    pub fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.get_mut().write_all(bytes)
    }

    /// The next answer; an error if the connection ends before it is complete.
    pub fn answer(&mut self) -> std::io::Result<Answer> {
        let broken = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        let mut head = String::new();
        loop {
            let before = head.len();
            if self.0.read_line(&mut head)? == 0 {
                return Err(broken());
            }
            if head[before..].trim().is_empty() {
                break;
            }
        }
        let status =
            head.split_whitespace().nth(1).and_then(|status| status.parse().ok()).ok_or_else(broken)?;
        let mut answer = Answer { status, head, body: Vec::new() };
        if answer.header("transfer-encoding").is_some() {
            self.chunks(&mut answer.body)?;
        } else {
            let length = answer.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
            answer.body = vec![0; length];
            self.0.read_exact(&mut answer.body)?;
        }
        Ok(answer)
    }

    fn chunks(&mut self, body: &mut Vec<u8>) -> std::io::Result<()> {
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line)?;
            let length = usize::from_str_radix(line.trim(), 16).map_err(std::io::Error::other)?;
            let start = body.len();
            body.resize(start + length + 2, 0);
            self.0.read_exact(&mut body[start..])?;
            body.truncate(start + length);
            if length == 0 {
                return Ok(());
            }
        }
    }
}
