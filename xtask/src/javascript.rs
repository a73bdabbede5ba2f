//! The JavaScript client: `cargo xtask test` runs its tests on the bundle in the repository, and checks with npm that the bundle is what the sources give.
//!
//! Where there is no Node, or npm cannot install what building takes, the rest of the tests still says something: this part is skipped, loudly. In CI that is a failure.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use crate::quotes::root;

/// The oldest version of Node that the client supports.
const NODE: u32 = 20;

/// The largest bundle, compressed with gzip.
const MOST_BYTES: u64 = 10_000;

/// Why the client was not tested.
enum Problem {
    /// The machine lacks something.
    Missing(String),
    /// Something that ran has failed.
    Failed(String),
}

/// Tests the client.
pub fn test() -> bool {
    let started = Instant::now();
    let tested = tested().and_then(|()| up_to_date());
    let seconds = started.elapsed().as_secs_f64();
    match tested {
        Ok(bytes) => {
            println!("== javascript: passed in {seconds:.0} s; the bundle has {bytes} bytes with gzip")
        }
        Err(Problem::Failed(what)) => {
            println!("== javascript: FAILED in {seconds:.0} s: {what}");
            return false;
        }
        Err(Problem::Missing(what)) => {
            let ci = env::var("CI").is_ok_and(|value| value == "true");
            println!("==\n== javascript: {} for want of {what}", if ci { "FAILED" } else { "SKIPPED" });
            println!("== javascript: THE JAVASCRIPT CLIENT WAS NOT COMPLETELY TESTED\n==");
            return !ci;
        }
    }
    true
}

fn place() -> PathBuf {
    root().join("clients/js")
}

/// Runs the tests, which need Node alone.
fn tested() -> Result<(), Problem> {
    let version = Command::new("node").arg("--version").output();
    let version = version.ok().and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    let major = version.trim_start_matches('v').split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_none_or(|major| major < NODE) {
        return Err(Problem::Missing(format!("Node {NODE} or newer")));
    }
    run(Command::new("node").args(["--test", "test/"]).current_dir(place())).map_err(Problem::Failed)
}

/// Builds the bundle again, elsewhere, and compares; gives its size with gzip.
fn up_to_date() -> Result<u64, Problem> {
    // npm is a script on Windows.
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let build = root().join("target/javascript");
    fs::create_dir_all(&build).map_err(|error| Problem::Failed(error.to_string()))?;
    for name in ["package.json", "package-lock.json", "tsconfig.json", "src"] {
        copied(&place().join(name), &build.join(name)).map_err(|error| Problem::Failed(error.to_string()))?;
    }
    let install = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
    run(Command::new(npm).args(install).current_dir(&build)).map_err(Problem::Missing)?;
    run(Command::new(npm).args(["run", "--silent", "build"]).current_dir(&build)).map_err(Problem::Failed)?;
    let bundle = |directory: PathBuf| {
        fs::read(directory.join("dist/sottovoce.js")).map_err(|error| Problem::Failed(error.to_string()))
    };
    let kept = bundle(place())?;
    if bundle(build)? != kept {
        let what =
            "clients/js/dist/sottovoce.js is not what its sources give; `npm run build` there makes it";
        return Err(Problem::Failed(what.into()));
    }
    let size = compressed().map_err(Problem::Failed)?;
    if size > MOST_BYTES {
        return Err(Problem::Failed(format!(
            "the bundle has {size} bytes with gzip, more than {MOST_BYTES}"
        )));
    }
    Ok(size)
}

/// The size of the bundle with gzip, as servers send it.
fn compressed() -> Result<u64, String> {
    const SIZE: &str =
        "console.log(require('zlib').gzipSync(require('fs').readFileSync('dist/sottovoce.js')).length)";
    let output = Command::new("node").args(["-e", SIZE]).current_dir(place()).output();
    let output = output.map_err(|error| error.to_string())?;
    String::from_utf8_lossy(&output.stdout).trim().parse().map_err(|_| "node gives no size".to_owned())
}

/// Copies a file, or a directory of files.
fn copied(from: &std::path::Path, to: &std::path::Path) -> std::io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(|_| ());
    }
    // A source that is gone must not stay.
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copied(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Runs a command, and says what it was if it fails.
fn run(command: &mut Command) -> Result<(), String> {
    println!("== javascript: {command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}
