//! The Python package: `cargo xtask wheel` builds it, and `cargo xtask test` also tests it in a virtual environment that has nothing else.
//!
//! Where there is no Python, or no way to install what building and testing take, the rest of the tests still says something: this part is skipped, loudly. In CI that is a failure.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::quotes::root;

/// Most bytes of the wheel.
const LARGEST: u64 = 15_000_000;

/// Why the package was not built or tested.
enum Problem {
    /// The machine lacks something.
    Missing(String),
    /// Something that ran has failed.
    Failed(String),
}

/// Builds the wheel.
pub fn wheel() -> bool {
    match built() {
        Ok(wheel) => {
            let bytes = fs::metadata(&wheel).map_or(0, |found| found.len());
            println!("== wheel: {} ({:.1} MB)", wheel.display(), bytes as f64 / 1e6);
            true
        }
        Err(Problem::Missing(what) | Problem::Failed(what)) => {
            eprintln!("== wheel: FAILED: {what}");
            false
        }
    }
}

/// Builds the wheel, installs it into a new virtual environment with what its tests use, and runs the tests there.
pub fn test(full: bool) -> bool {
    let started = Instant::now();
    let tested = built().and_then(|wheel| tested(&wheel, full));
    let seconds = started.elapsed().as_secs_f64();
    match tested {
        Ok(()) => println!("== python: passed in {seconds:.0} s"),
        Err(Problem::Failed(what)) => {
            println!("== python: FAILED in {seconds:.0} s: {what}");
            return false;
        }
        Err(Problem::Missing(what)) => {
            let ci = env::var("CI").is_ok_and(|value| value == "true");
            println!("==\n== python: {} for want of {what}", if ci { "FAILED" } else { "SKIPPED" });
            println!("== python: THE PYTHON PACKAGE WAS NOT TESTED\n==");
            return !ci;
        }
    }
    true
}

/// The directory of everything that is made here.
fn place() -> PathBuf {
    root().join("target/python")
}

/// A Python of version 3.11 or newer that can make virtual environments: `SOTTOVOCE_PYTHON`, or one that is installed.
fn interpreter() -> Result<String, Problem> {
    const CHECK: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";
    let named = env::var("SOTTOVOCE_PYTHON").into_iter();
    let known =
        ["python3", "python3.11", "python3.12", "python3.13", "python3.14", "python"].map(str::to_owned);
    let works = |name: &String| {
        Command::new(name).args(["-c", CHECK]).output().is_ok_and(|output| output.status.success())
    };
    let found = named.chain(known).find(works);
    found
        .ok_or_else(|| Problem::Missing("Python 3.11 or newer with venv (SOTTOVOCE_PYTHON names one)".into()))
}

/// A program of a virtual environment.
fn program(environment: &Path, name: &str) -> PathBuf {
    if cfg!(windows) {
        environment.join("Scripts").join(format!("{name}.exe"))
    } else {
        environment.join("bin").join(name)
    }
}

/// Runs a command, and says what it was if it fails.
fn run(command: &mut Command) -> Result<(), String> {
    println!("== python: {command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}

fn environment(name: &str) -> Result<PathBuf, Problem> {
    let path = place().join(name);
    let make = run(Command::new(interpreter()?).args(["-m", "venv", "--clear"]).arg(&path));
    make.map(|()| path).map_err(Problem::Missing)
}

fn install(environment: &Path, what: &str) -> Result<(), Problem> {
    let mut pip = Command::new(program(environment, "python"));
    let pip = pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", what]);
    run(pip).map_err(Problem::Missing)
}

/// The wheel, built by the maturin of an environment that is kept. It shares the target directory and the profile with the tests, so little is compiled again.
fn built() -> Result<PathBuf, Problem> {
    let tools = place().join("tools");
    if !program(&tools, "maturin").exists() {
        install(&environment("tools")?, "maturin>=1.9.4,<2")?;
    }
    let out = root().join("target/wheels");
    // An old wheel must not be taken for the new one.
    let _ = fs::remove_dir_all(&out);
    let mut maturin = Command::new(program(&tools, "maturin"));
    maturin
        .args(["build", "--release", "--locked", "--quiet", "--interpreter"])
        .arg(program(&tools, "python"));
    run(maturin.arg("--out").arg(&out).current_dir(root().join("python"))).map_err(Problem::Failed)?;
    let found = fs::read_dir(&out).ok().and_then(|mut entries| entries.next()?.ok());
    let wheel =
        found.map(|entry| entry.path()).ok_or_else(|| Problem::Failed("maturin made no wheel".into()))?;
    match fs::metadata(&wheel).map_or(0, |found| found.len()) {
        bytes if bytes > LARGEST => {
            Err(Problem::Failed(format!("the wheel has {:.1} MB", bytes as f64 / 1e6)))
        }
        _ => Ok(wheel),
    }
}

fn tested(wheel: &Path, full: bool) -> Result<(), Problem> {
    let fresh = environment("fresh")?;
    install(&fresh, &format!("{}[test]", wheel.display()))?;
    let command =
        root().join("target/release").join(if cfg!(windows) { "sottovoce.exe" } else { "sottovoce" });
    let tests = root().join("python");
    let mut pytest = Command::new(program(&fresh, "pytest"));
    // In another directory than the sources, which lack the compiled part.
    pytest.current_dir(place()).args(["--quiet", "-p", "no:cacheprovider"]);
    pytest.arg("-c").arg(tests.join("pyproject.toml")).arg(tests.join("tests"));
    pytest.env("SOTTOVOCE_COMMAND", command).env_remove("PYTHONPATH");
    if full {
        pytest.env("SOTTOVOCE_FULL", "1");
    }
    run(&mut pytest).map_err(Problem::Failed)
}
