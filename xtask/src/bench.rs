//! `cargo xtask bench`: runs all benches and writes what they print, with the machine they ran on, to `benches/RESULTS.md`. The documents quote
//! figures from there (see [`crate::quotes`]).

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Instant, SystemTime};
use std::{env, fs, thread};

use crate::quotes::{self, Quotable, RESULTS};

/// What one bench printed: its figures for quotation, and the rest.
struct Measured {
    name: String,
    seconds: f64,
    figures: Vec<Quotable>,
    text: String,
}

/// Runs every bench, in the short or the long form, writes the results and brings them into the documents.
pub fn run(full: bool) -> bool {
    let machine = machine();
    let mut measured = Vec::new();
    for name in names() {
        match bench(&name, full) {
            Some(results) => measured.push(results),
            None => {
                eprintln!("== {name}: FAILED; {RESULTS} stays as it was");
                return false;
            }
        }
    }
    let text = document(&machine, full, &measured);
    let written = fs::write(quotes::root().join(RESULTS), &text).is_ok();
    println!("== {RESULTS} {}", if written { "written" } else { "cannot be written" });
    written && quotes::update(&quotes::figures(&text))
}

/// Runs one bench and replaces its part of the results, with the state of the tree and the day it was measured; brings its figures into the documents.
pub fn run_one(name: &str) -> bool {
    if !names().iter().any(|known| known == name) {
        eprintln!("== there is no bench `{name}`; there are {}", names().join(", "));
        return false;
    }
    let (path, state) = (quotes::root().join(RESULTS), said_by("git", &["describe", "--always", "--dirty"]));
    let (Some(measured), Ok(before)) = (bench(name, false), fs::read_to_string(&path)) else {
        eprintln!("== {name}: FAILED; {RESULTS} stays as it was");
        return false;
    };
    let text = replaced(&before, &measured, &format!("Measured alone at commit {state}, {}.", today()));
    let written = fs::write(&path, &text).is_ok();
    println!("== {RESULTS} {}", if written { "written" } else { "cannot be written" });
    written && quotes::update(&quotes::figures(&text))
}

/// The results with the figures and the section of one bench replaced.
fn replaced(results: &str, measured: &Measured, when: &str) -> String {
    const TABLE: &str = "|---|---|---|\n";
    let is_old = |line: &str| {
        measured.figures.iter().any(|figure| line.starts_with(&format!("| `{}` |", figure.key())))
    };
    let kept: String = results.split_inclusive('\n').filter(|line| !is_old(line)).collect();
    let figures: String = measured.figures.iter().map(|figure| format!("{figure}\n")).collect();
    let kept = kept.replacen(TABLE, &format!("{TABLE}{figures}"), 1);
    let title = format!("\n## {}\n", measured.name);
    let (before, after) = match kept.split_once(&title) {
        Some((before, old)) => {
            (before.to_owned(), old.find("\n## ").map_or("", |end| &old[end..]).to_owned())
        }
        None => (kept.clone(), String::new()),
    };
    format!("{before}{}{after}", section(measured, Some(when)))
}

/// The benches, one for each file of `benches/benches`.
fn names() -> Vec<String> {
    let directory =
        fs::read_dir(quotes::root().join("benches/benches")).expect("the directory of the benches");
    let paths = directory.map(|entry| entry.expect("an entry of a directory").path());
    let mut names: Vec<String> =
        paths.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    names
}

/// Runs one bench and shows its lines as they come.
fn bench(name: &str, full: bool) -> Option<Measured> {
    println!("== {name}");
    let started = Instant::now();
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["bench", "--quiet", "--package", "sottovoce-benches", "--bench", name]);
    if full {
        command.args(["--", "full"]);
    }
    let mut child = command.current_dir(quotes::root()).stdout(Stdio::piped()).spawn().ok()?;
    let (mut figures, mut text) = (Vec::new(), String::new());
    for line in BufReader::new(child.stdout.take()?).lines() {
        let line = line.ok()?;
        println!("{line}");
        match Quotable::printed(&line) {
            Some(figure) => figures.push(figure),
            None => text += &format!("{}\n", line.trim_end()),
        }
    }
    let passed = child.wait().ok()?.success();
    passed.then(|| Measured { name: name.into(), seconds: started.elapsed().as_secs_f64(), figures, text })
}

fn document(machine: &str, full: bool, measured: &[Measured]) -> String {
    let form = if full { "cargo xtask bench --full" } else { "cargo xtask bench" };
    let mut text = format!(
        "# Results of the benches\n\nWritten by `{form}`; do not edit. Times depend on the machine and on what else it does. Compare times of one \
         run with each other, not with those of another machine or day.\n\n{machine}\n## Figures that the documents quote\n\n| key | value | what \
         |\n|---|---|---|\n"
    );
    for figure in measured.iter().flat_map(|bench| &bench.figures) {
        text += &format!("{figure}\n");
    }
    for bench in measured {
        text += &section(bench, None);
    }
    text
}

/// What one bench printed, and when it was measured if not with the others.
fn section(bench: &Measured, when: Option<&str>) -> String {
    let (printed, when) = (bench.text.trim_end(), when.map_or_else(String::new, |when| format!(" {when}")));
    format!(
        "\n## {}\n\nTook {:.0} s, building included.{when}\n\n```text\n{printed}\n```\n",
        bench.name, bench.seconds
    )
}

/// The machine, the compiler, the day and the state of the tree, as a table.
fn machine() -> String {
    let cores = thread::available_parallelism().map_or(0, |cores| cores.get());
    let model = field("/proc/cpuinfo", "model name").unwrap_or_else(|| env::consts::ARCH.into());
    let load = fs::read_to_string("/proc/loadavg").ok();
    let load = load.and_then(|text| Some(text.split_whitespace().next()?.to_owned()));
    format!(
        "| | |\n|---|---|\n| processor | {model}, {cores} cores |\n| load average when it began | {} |\n| system | {} |\n| compiler | {} |\n| \
         commit | {} |\n| date | {} |\n",
        load.unwrap_or_else(|| "unknown".into()),
        env::consts::OS,
        said_by("rustc", &["--version"]),
        said_by("git", &["describe", "--always", "--dirty"]),
        today(),
    )
}

/// The value of a `key : value` line of a file.
fn field(path: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// What a program prints, or "unknown".
fn said_by(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(quotes::root()).output();
    let text = output.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    text.map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
        .unwrap_or_else(|| "unknown".into())
}

/// The date in UTC, as year, month and day.
fn today() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (year, month, day) = civil((since.as_secs() / 86_400) as i64);
    format!("{year}-{month:02}-{day:02}")
}

/// The date of a number of days after 1970-01-01. Years are counted from March, so that the day of a leap year is the last one.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468; // since 0000-03-01
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153; // 0 is March
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let year = year_of_era + era * 400 + i64::from(month >= 10);
    (year, if month < 10 { month + 3 } else { month - 9 }, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bench_replaces_its_own_part() {
        let measured = |name: &str, value: &str| Measured {
            name: name.into(),
            seconds: 1.0,
            figures: vec![Quotable::printed(&format!("@ {name}.x | {value} | what")).unwrap()],
            text: format!("printed {value}\n"),
        };
        let before = document("", false, &[measured("a", "1"), measured("b", "2"), measured("c", "3")]);
        let after = replaced(&before, &measured("b", "9"), "Now.");
        let figures = quotes::figures(&after);
        assert_eq!(["a.x", "b.x", "c.x"].map(|key| figures[key].as_str()), ["1", "9", "3"]);
        assert_eq!(after.matches("## b\n").count(), 1);
        assert!(
            after.contains("included. Now.\n\n```text\nprinted 9\n") && !after.contains("printed 2"),
            "{after}"
        );
        assert!(after.contains("printed 1") && after.ends_with("printed 3\n```\n"), "{after}");
    }

    #[test]
    fn days_have_their_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_513), (2026, 3, 1));
        assert_eq!(civil(-1), (1969, 12, 31));
    }

    #[test]
    fn every_bench_is_named_in_its_package() {
        let manifest = fs::read_to_string(quotes::root().join("benches/Cargo.toml")).unwrap();
        for name in names() {
            assert!(manifest.contains(&format!("[[bench]]\nname = \"{name}\"")), "{name} has no [[bench]]");
        }
    }
}
