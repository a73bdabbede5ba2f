//! What the tests of a collection share: a directory to work in, protocols, values.

#![allow(dead_code, reason = "each test uses its own part")]

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use assert_cmd::Command;
use serde_json::Value;

/// A directory with files in it.
pub struct Desk(pub tempfile::TempDir);

impl Desk {
    pub fn new() -> Self {
        Desk(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("sottovoce"));
        command.args(arguments).current_dir(self.0.path()).env("RUST_BACKTRACE", "1");
        command
    }

    /// The summary of a command that succeeds.
    pub fn run(&self, arguments: &[&str]) -> Value {
        let output = self.command(&[arguments, &["--format", "json"]].concat()).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && message.is_empty(), "{arguments:?}: {message}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// What a command says that is refused as bad input; it leaves no new file.
    pub fn refused(&self, arguments: &[&str], words: &[&str]) {
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

    pub fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = names.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

pub const GRR: &str = "grr:a=3,eps=1,labels=red/green/blue";
pub const NESTED: &str = r#"{"kind":"product","factors":[{"kind":"mixture","weights":[0.3,0.7],"parts":[{"kind":"oue","a":3,"epsilon":1},
    {"kind":"lh","a":3,"g":2,"epsilon":1}]},{"kind":"composition","steps":[{"kind":"subset","a":3,"k":2,"epsilon":2},{"kind":"erasure","a":3,"reveal":0.5}]}]}"#;

/// Values 0, 1, 2, 0, 1, 2, …
pub fn values(count: usize) -> String {
    values_for("", count)
}

/// The same values as the protocol names them: red, green, blue if it has labels.
pub fn values_for(protocol: &str, count: usize) -> String {
    let names = if protocol.contains("labels") { ["red", "green", "blue"] } else { ["0", "1", "2"] };
    let rows: String = (0..count).map(|i| format!("{}\n", names[i % 3])).collect();
    format!("value\n{rows}")
}

/// A text file of reports as version 1 of the format has it, without an end.
pub fn version_1(reports: &str) -> String {
    let (body, end) = reports.trim_end().rsplit_once('\n').unwrap();
    assert!(end.contains("\"end\":\"sottovoce reports\""), "{end}");
    format!("{}\n", body.replace("\"version\":2", "\"version\":1"))
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
