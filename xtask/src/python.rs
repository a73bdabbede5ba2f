//! The Python package: `cargo xtask wheel` builds it, and `cargo xtask test` also tests it in a virtual environment that has nothing else.
//!
//! Where there is no Python, or no way to install what building and testing take, the rest of the tests still says something: this part is skipped, loudly. In CI that is a failure.
//! So are the engines for many machines. Spark takes a Java too, which neither cargo nor pip installs: where there is none, Spark is skipped, loudly, also in CI, unless
//! `SOTTOVOCE_JAVA_REQUIRED=1` says that it must be there.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::quotes::root;

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
    let wheel = built();
    let package = wheel.and_then(|wheel| tested(&wheel, full).map(|()| wheel));
    match told("python", "THE PYTHON PACKAGE WAS NOT TESTED", started, package) {
        Told::Passed(wheel) => {
            let started = Instant::now();
            told(
                "engines",
                "ENGINES FOR MANY MACHINES WERE NOT TESTED",
                started,
                engines_tested(&wheel, full),
            )
            .is_fine()
        }
        other => other.is_fine(),
    }
}

/// What became of some tests.
enum Told<T> {
    Passed(T),
    Failed,
    Skipped,
}

impl<T> Told<T> {
    fn is_fine(&self) -> bool {
        !matches!(self, Told::Failed)
    }
}

/// Prints what became of tests, and if they were skipped says so loudly.
fn told<T>(name: &str, loudly: &str, started: Instant, result: Result<T, Problem>) -> Told<T> {
    let seconds = started.elapsed().as_secs_f64();
    match result {
        Ok(result) => {
            println!("== {name}: passed in {seconds:.0} s");
            Told::Passed(result)
        }
        Err(Problem::Failed(why)) => {
            println!("== {name}: FAILED in {seconds:.0} s: {why}");
            Told::Failed
        }
        Err(Problem::Missing(why)) => {
            let required = is_set("CI", "true");
            println!("==\n== {name}: {} for want of {why}", if required { "FAILED" } else { "SKIPPED" });
            println!("== {name}: {loudly}\n==");
            if required { Told::Failed } else { Told::Skipped }
        }
    }
}

fn is_set(variable: &str, wanted: &str) -> bool {
    env::var(variable).is_ok_and(|value| value == wanted)
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
    found.map(|entry| entry.path()).ok_or_else(|| Problem::Failed("maturin made no wheel".into()))
}

fn tested(wheel: &Path, full: bool) -> Result<(), Problem> {
    let fresh = environment("fresh")?;
    install(&fresh, &format!("{}[test]", wheel.display()))?;
    // The engines have a turn of their own.
    pytest(&fresh, &[root().join("python/tests")], "", full)
}

/// The engines whose tests take a minute or two, and those that take more.
const ENGINES: [&str; 3] = ["dask", "duckdb", "polars"];
const MORE_ENGINES: [&str; 2] = ["ray", "daft"];

/// Runs the tests of the engines, in the environment of the other tests.
fn engines_tested(wheel: &Path, full: bool) -> Result<(), Problem> {
    let fresh = place().join("fresh");
    install(&fresh, &format!("{}[engines]", wheel.display()))?;
    let mut engines = ENGINES.to_vec();
    if full {
        install(&fresh, &format!("{}[more-engines]", wheel.display()))?;
        engines.extend(MORE_ENGINES);
    }
    match java() {
        true => engines.push("spark"),
        false if is_set("SOTTOVOCE_JAVA_REQUIRED", "1") => return Err(Problem::Failed(NO_JAVA.into())),
        false => println!("==\n== engines: {NO_JAVA}\n== engines: SPARK IS NOT TESTED\n=="),
    }
    let tests = ["test_engines.py", "test_spark.py"].map(|name| root().join("python/tests").join(name));
    pytest(&fresh, &tests, &engines.join(","), full)
}

const NO_JAVA: &str = "Spark takes Java 17 or newer, as JAVA_HOME or `java`";

/// Whether there is a Java that Spark can use: its first word on its version is `openjdk 17.0.15` or the like.
fn java() -> bool {
    let named = env::var("JAVA_HOME").map(|home| PathBuf::from(home).join("bin/java"));
    let output = Command::new(named.unwrap_or_else(|_| "java".into())).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let version = text.split_whitespace().nth(1).and_then(|version| version.split('.').next());
    version.and_then(|version| version.parse::<u32>().ok()).is_some_and(|version| version >= 17)
}

/// Runs tests of the package; `engines` are those that must be there.
fn pytest(environment: &Path, tests: &[PathBuf], engines: &str, full: bool) -> Result<(), Problem> {
    let command =
        root().join("target/release").join(if cfg!(windows) { "sottovoce.exe" } else { "sottovoce" });
    let mut pytest = Command::new(program(environment, "pytest"));
    // In another directory than the sources, which lack the compiled part.
    pytest.current_dir(place()).args(["--quiet", "-p", "no:cacheprovider"]);
    pytest.arg("-c").arg(root().join("python/pyproject.toml")).args(tests);
    pytest.env("SOTTOVOCE_COMMAND", command).env("SOTTOVOCE_ENGINES", engines).env_remove("PYTHONPATH");
    if full {
        pytest.env("SOTTOVOCE_FULL", "1");
    }
    run(&mut pytest).map_err(Problem::Failed)
}
