//! Chores of this repository: `cargo xtask test` runs all that must pass, `cargo xtask test --full` the long form; `cargo xtask bench` measures.

use std::env;
use std::process::{Command, ExitCode};
use std::time::Instant;

mod bench;
mod licences;
mod quotes;

const USAGE: &str = "\
usage: cargo xtask test [--full]   formatting, lints, documentation, licences and all tests;
                                   --full adds the long statistical runs and much more fuzzing
       cargo xtask licences        only the licence check
       cargo xtask bench [--full]  runs the benches and writes benches/RESULTS.md and the figures that the documents quote from it;
                                   --full adds the long cases";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let passed = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["test"] => test(false),
        ["test", "--full"] => test(true),
        ["bench"] => bench::run(false),
        ["bench", "--full"] => bench::run(true),
        ["licences"] => licences::check(),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Property tests on the same cases each time: what passes once passes again.
const QUICK: [(&str, &str); 1] = [("PROPTEST_RNG_SEED", "20261115")];

/// Property tests on new and more cases, and the long statistical runs.
const FULL: [(&str, &str); 2] = [("SOTTOVOCE_FULL", "1"), ("PROPTEST_CASES", "4096")];

fn test(full: bool) -> bool {
    step("formatting", &["fmt", "--all", "--check"], &[])
        && step(
            "lints",
            &["clippy", "--workspace", "--all-targets", "--release", "--quiet", "--", "-D", "warnings"],
            &[],
        )
        && step(
            "documentation",
            &["doc", "--workspace", "--no-deps", "--release", "--quiet"],
            &[("RUSTDOCFLAGS", "-D warnings")],
        )
        && licences::check()
        && step("tests", &["test", "--workspace", "--release", "--quiet"], if full { &FULL } else { &QUICK })
}

/// Runs cargo and says how long it took.
fn step(name: &str, arguments: &[&str], variables: &[(&str, &str)]) -> bool {
    println!("== {name}: cargo {}", arguments.join(" "));
    let started = Instant::now();
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let status = Command::new(cargo).args(arguments).envs(variables.iter().copied()).status();
    let passed = status.is_ok_and(|status| status.success());
    println!(
        "== {name}: {} in {:.0} s",
        if passed { "passed" } else { "FAILED" },
        started.elapsed().as_secs_f64()
    );
    passed
}
