//! Looks our dependencies up in the RustSec database of security advisories, with `cargo deny` and the settings of `deny.toml`.
//!
//! The check needs two things that not every machine has: the tool, and the database, which the tool downloads. Without them nothing is known, and the exit
//! code says so: a check that did not run must not look like a check that passed.
//!
//! ```text
//! 0  checked, nothing found
//! 1  advisories found
//! 3  not checked
//! ```

use std::fmt;
use std::process::{Command, ExitCode};

use serde_json::Value;

/// What the check showed.
#[derive(Debug, PartialEq)]
enum Outcome {
    /// No advisory applies to our dependencies.
    Clean,
    /// These do.
    Found(Vec<String>),
    /// The check could not run.
    NotChecked(String),
}

/// Runs the check and reports it.
pub fn check() -> ExitCode {
    println!("== advisories: cargo deny check advisories");
    let outcome = outcome();
    match outcome {
        Outcome::Clean => println!("== advisories: {outcome}"),
        _ => eprintln!("== advisories: {outcome}"),
    }
    ExitCode::from(outcome.code())
}

/// With a new copy of the database if it can be downloaded, else with the copy of an earlier run; cargo-deny refuses a copy older than 90 days.
fn outcome() -> Outcome {
    match cargo_deny(&[]) {
        Outcome::NotChecked(online) => match cargo_deny(&["--offline"]) {
            Outcome::NotChecked(_) => Outcome::NotChecked(online),
            checked => {
                eprintln!("advisories: no new database ({online}); checking with an earlier copy");
                checked
            }
        },
        checked => checked,
    }
}

fn cargo_deny(options: &[&str]) -> Outcome {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let arguments = [&["deny", "--format", "json", "--locked"], options, &["check", "advisories"]].concat();
    match Command::new(cargo).args(arguments).output() {
        Ok(output) => {
            let text = [output.stdout, output.stderr].concat();
            read(&String::from_utf8_lossy(&text), output.status.success())
        }
        Err(error) => Outcome::NotChecked(error.to_string()),
    }
}

/// Reads the messages of `cargo deny`, one JSON object a line. A summary ends every check that ran. Without it, the last error says why there was none.
fn read(output: &str, succeeded: bool) -> Outcome {
    let messages: Vec<Value> = output.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let errors = |kind: &str| -> Vec<&Value> {
        messages.iter().filter(|m| m["type"] == kind).map(|m| &m["fields"]).filter(|f| is_error(f)).collect()
    };
    if !messages.iter().any(|message| message["fields"]["advisories"].is_object()) {
        let reason = errors("log").last().and_then(|fields| fields["message"].as_str());
        return Outcome::NotChecked(first_line(reason.unwrap_or(output)).to_owned());
    }
    match errors("diagnostic") {
        found if !found.is_empty() => Outcome::Found(found.into_iter().map(finding).collect()),
        _ if succeeded => Outcome::Clean,
        _ => Outcome::NotChecked("cargo deny failed without saying why".into()),
    }
}

fn is_error(fields: &Value) -> bool {
    fields["severity"] == "error" || fields["level"] == "ERROR"
}

/// `RUSTSEC-2026-0001, maud 0.27.0: what is wrong`.
fn finding(fields: &Value) -> String {
    let code = fields["advisory"]["id"].as_str().or(fields["code"].as_str()).unwrap_or("error");
    let package = &fields["graphs"][0]["Krate"];
    let part = |name: &str| package[name].as_str().unwrap_or("?");
    let message = fields["message"].as_str().unwrap_or("no message");
    format!("{code}, {} {}: {message}", part("name"), part("version"))
}

fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no output")
}

impl Outcome {
    fn code(&self) -> u8 {
        match self {
            Outcome::Clean => 0,
            Outcome::Found(_) => 1,
            Outcome::NotChecked(_) => 3,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Clean => write!(f, "checked, none found"),
            Outcome::Found(found) => write!(f, "FAILED, {} found\n{}", found.len(), found.join("\n")),
            Outcome::NotChecked(reason) => write!(
                f,
                "NOT CHECKED: {reason}\nThis needs `cargo install cargo-deny --locked` and access to the RustSec database (or a copy from an earlier run)."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As cargo-deny 0.20 writes them, shortened.
    const SUMMARY: &str =
        r#"{"fields":{"advisories":{"errors":1,"helps":0,"notes":0,"warnings":0}},"type":"summary"}"#;
    const VULNERABLE: &str = r#"{"fields":{"advisory":{"id":"RUSTSEC-2026-9999","package":"maud"},"code":"vulnerability","graphs":[{"Krate":{"name":"maud","version":"0.27.0"}}],"message":"A made-up advisory","severity":"error"},"type":"diagnostic"}"#;
    const UNREACHABLE: &str =
        r#"{"fields":{"level":"ERROR","message":"failed to fetch advisory database\nmore"},"type":"log"}"#;

    #[test]
    fn findings_are_named_and_fail() {
        let outcome = read(&format!("{VULNERABLE}\n{SUMMARY}\n"), false);
        assert_eq!(
            outcome,
            Outcome::Found(vec!["RUSTSEC-2026-9999, maud 0.27.0: A made-up advisory".into()])
        );
        assert_eq!(outcome.code(), 1);
    }

    #[test]
    fn a_check_that_did_not_run_is_no_success() {
        let missing = "error: no such command: `deny`\n";
        for (output, reason) in
            [(UNREACHABLE, "failed to fetch advisory database"), (missing, missing.trim()), ("", "no output")]
        {
            for succeeded in [false, true] {
                let outcome = read(output, succeeded);
                assert_eq!((outcome.code(), &outcome), (3, &Outcome::NotChecked(reason.into())));
            }
        }
        assert_eq!(read(SUMMARY, false).code(), 3);
        assert_eq!(read(SUMMARY, true), Outcome::Clean);
    }
}
