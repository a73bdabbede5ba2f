//! Commands for work on this repository. `cargo xtask test` runs everything that must pass, `cargo xtask test --full` also the long tests; `cargo xtask bench` measures.

use std::env;
use std::process::{Command, ExitCode};
use std::time::Instant;

mod advisories;
mod bench;
mod javascript;
mod licences;
mod package;
mod python;
mod quotes;

const USAGE: &str = "\
usage: cargo xtask test [--full]        formatting, lints, documentation, licences, packages and all tests, those of the Python package
                                        and of the JavaScript client too;
                                        --full adds the long statistical tests and much more fuzzing
       cargo xtask licences             checks the licences of all dependencies
       cargo xtask advisories           looks for security advisories about them, with cargo-deny;
                                        exit code 1 if there are any, 3 if it could not check
       cargo xtask package [--verify]   makes the packages to publish; --verify builds them too
       cargo xtask wheel                builds the wheel of the Python package in target/wheels, with maturin
       cargo xtask python               builds it and runs the tests of the Python package alone
       cargo xtask javascript           runs the tests of the JavaScript client alone
       cargo xtask calibrate            computes missing values of crates/core/tests/golden/approximation.csv, to which the error of the
                                        approximation was fitted; delete the file to compute all of them
       cargo xtask bench [--full]       measures: writes benches/RESULTS.md and the figures that documents quote from it;
                                        --full adds the long cases
       cargo xtask bench NAME           the same for one bench, whose part is replaced";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let passed = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["test"] => test(false),
        ["test", "--full"] => test(true),
        ["bench"] => bench::run(false),
        ["bench", "--full"] => bench::run(true),
        ["bench", name] => bench::run_one(name),
        ["calibrate"] => step(
            "calibration",
            &[
                "test",
                "--release",
                "-p",
                "sottovoce",
                "--test",
                "approximation",
                "calibrate",
                "--",
                "--nocapture",
            ],
            &[("SOTTOVOCE_CALIBRATE", "1")],
        ),
        ["licences"] => licences::check(),
        ["advisories"] => return advisories::check(),
        ["wheel"] => python::wheel(),
        ["python"] => python::test(false),
        ["javascript"] => javascript::test(),
        ["package"] => package::check(false),
        ["package", "--verify"] => package::check(true),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Property tests try the same cases each time, so that a test that passed does not fail by chance later.
const QUICK: [(&str, &str); 1] = [("PROPTEST_RNG_SEED", "20261115")];

/// Property tests try new and more cases; the long statistical tests run too.
const FULL: [(&str, &str); 2] = [("SOTTOVOCE_FULL", "1"), ("PROPTEST_CASES", "4096")];

fn test(full: bool) -> bool {
    step("formatting", &["fmt", "--all", "--check"], &[])
        && step(
            "lints",
            &["clippy", "--workspace", "--all-targets", "--release", "--quiet", "--", "-D", "warnings"],
            &[],
        )
        && step(
            "lints of the client alone",
            &["clippy", "-p", "sottovoce-client", "--no-default-features", "--release", "--quiet", "--", "-D", "warnings"],
            &[],
        )
        && step(
            "documentation",
            &["doc", "--workspace", "--no-deps", "--release", "--quiet"],
            &[("RUSTDOCFLAGS", "-D warnings")],
        )
        && licences::check()
        && package::check(false)
        && step("tests", &["test", "--workspace", "--release", "--quiet"], if full { &FULL } else { &QUICK })
        && python::test(full)
        && javascript::test()
}

/// Runs cargo and prints how long it took.
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
