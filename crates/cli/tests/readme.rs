//! The README and the pages of the book show what the program prints.
//!
//! - A `console` block is a line `$ sottovoce …` and exactly what that command prints. The blocks of a page run one after another in one directory. `SOTTOVOCE_UPDATE_DOCS=1`
//!   writes what is printed today into the pages; read the difference before it is committed.
//! - A `text` block that begins with `$ sottovoce …` is an excerpt: its lines are printed in this order, with others between them.
//! - A block such as `csv values.csv` or `toml study.toml` is a file that the commands of its page can read. `people.csv` is the table of people whose
//!   counts are in `docs/data/adult-study.csv`.
//! - Everywhere else, a command in backquotes or in a `sh` block exists and has the options shown.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

/// The README, and all pages of the book.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let book = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> =
        book.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    pages.push(root.join("README.md"));
    pages
}

fn text(page: &Path) -> String {
    fs::read_to_string(page).unwrap()
}

#[test]
fn commands_print_what_the_pages_show() {
    let update = std::env::var_os("SOTTOVOCE_UPDATE_DOCS").is_some();
    let examples: usize = thread::scope(|scope| {
        let check = |page: PathBuf| scope.spawn(move || check(&page, update));
        let running: Vec<_> = pages().into_iter().map(check).collect();
        running.into_iter().map(|page| page.join().expect("a page shows something else")).sum()
    });
    assert!(examples >= 15, "the pages have only {examples} examples");
}

/// Runs the commands of a page, compares or replaces what it shows, and counts them.
fn check(page: &Path, update: bool) -> usize {
    let text = text(page);
    let directory = tempfile::tempdir().unwrap();
    let files = ["csv ", "toml "].map(|language| blocks(&text, language)).concat();
    for (name, contents) in files.into_iter().filter_map(|block| block.split_once('\n')) {
        fs::write(directory.path().join(name), contents).unwrap();
    }
    if text.contains("people.csv") {
        fs::write(directory.path().join("people.csv"), people()).unwrap();
    }
    let mut parts = text.split("```console\n");
    let mut today = parts.next().unwrap_or_default().to_owned();
    let mut examples = 0;
    for part in parts {
        let (block, rest) = part.split_once("```").expect("a block ends");
        let (command, _) = block.split_once('\n').expect("a command in a line");
        let arguments = command.strip_prefix("$ sottovoce ").expect("a sottovoce command");
        let printed = printed(arguments, directory.path());
        today += &format!("```console\n{command}\n{printed}```{rest}");
        examples += 1;
    }
    if update && today != text {
        fs::write(page, &today).unwrap();
    } else {
        assert_eq!(today, text, "{}: SOTTOVOCE_UPDATE_DOCS=1 writes what is printed today", page.display());
    }
    examples
}

/// The table of people of the study in the book: a line for each of them, with a number in the column `id`.
fn people() -> String {
    let counts = include_str!("../../../docs/data/adult-study.csv");
    let of_line = |line: &'static str| {
        let (person, count) = line.rsplit_once(',').expect("a count");
        std::iter::repeat_n(person, count.parse().unwrap_or(1))
    };
    let numbered = counts.lines().flat_map(of_line).enumerate().map(|(id, person)| match id {
        0 => format!("id,{person}\n"),
        id => format!("{id},{person}\n"),
    });
    numbered.collect()
}

/// What a command prints.
fn printed(arguments: &str, directory: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sottovoce"));
    let run = command.args(words(arguments)).current_dir(directory).output().unwrap();
    let complaint = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "`sottovoce {arguments}` fails: {complaint}");
    String::from_utf8(run.stdout).unwrap()
}

/// The words of a command, as a shell sees them: single quotes keep spaces together.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut quoted) = (vec![String::new()], false);
    for c in command.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            _ => words.last_mut().expect("never empty").push(c),
        }
    }
    words
}

/// The blocks of a language, without their first and last line.
fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let begin = format!("```{language}");
    text.split(begin.as_str()).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// Numbers may differ in their last digit: Markov chains amplify the rounding of another machine.
#[test]
fn excerpts_show_what_is_printed() {
    let mut excerpts = 0;
    for page in pages() {
        let text = text(&page);
        let shown =
            blocks(&text, "text\n").into_iter().filter_map(|block| block.strip_prefix("$ sottovoce "));
        for excerpt in shown {
            let (arguments, lines) = excerpt.split_once('\n').expect("a command in a line");
            let directory = tempfile::tempdir().unwrap();
            let printed = printed(arguments, directory.path());
            let mut printed = printed.lines();
            for line in lines.lines().filter(|line| *line != "…") {
                assert!(
                    printed.any(|other| nearly_the_same(other, line)),
                    "`{arguments}` does not print: {line}"
                );
            }
            excerpts += 1;
        }
    }
    assert!(excerpts >= 1, "the book shows some of the demo");
}

/// The same words, and numbers within two of the last digit shown.
fn nearly_the_same(one: &str, other: &str) -> bool {
    let (one, other): (Vec<&str>, Vec<&str>) =
        (one.split_whitespace().collect(), other.split_whitespace().collect());
    let same = |(one, other): (&&str, &&str)| match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(l), Ok(r)) => (l - r).abs() <= 2.1 * last_digit(other),
        _ => one == other,
    };
    one.len() == other.len() && one.iter().zip(&other).all(same)
}

/// What the last digit of a number counts.
fn last_digit(number: &str) -> f64 {
    10f64.powi(-(number.split_once('.').map_or(0, |(_, digits)| digits.len()) as i32))
}

#[test]
fn every_command_that_is_named_exists() {
    let mut help = BTreeMap::new();
    for page in pages() {
        for command in named_commands(&text(&page)) {
            let mut words = command.split_whitespace();
            let name = words.next().unwrap_or_default().to_owned();
            let help = help.entry(name.clone()).or_insert_with(|| help_of(&name));
            for option in words.filter(|word| word.starts_with("--")) {
                assert!(help.contains(option), "{}: `sottovoce {name}` has no {option}", page.display());
            }
        }
    }
    assert!(help.len() >= 10, "the pages name only {} commands", help.len());
}

#[test]
fn every_command_is_documented() {
    let all: String = pages().iter().map(|page| text(page)).collect();
    let help = printed("--help", Path::new("."));
    let commands = help.split_once("Commands:\n").expect("a list of commands").1;
    let names = commands
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next());
    let names: Vec<&str> = names.filter(|name| *name != "help").collect();
    assert!(names.len() >= 19, "only {} commands", names.len());
    for name in names {
        let shown = all.contains(&format!("`{name}`")) || all.contains(&format!("sottovoce {name}"));
        assert!(shown, "no page tells of `sottovoce {name}`");
    }
}

/// The commands in backquotes and in `sh` blocks, without the word `sottovoce`.
fn named_commands(text: &str) -> Vec<String> {
    let lines: Vec<&str> = blocks(text, "sh\n").into_iter().flat_map(str::lines).collect();
    let inline = text.split("```").step_by(2).flat_map(|prose| prose.split('`').skip(1).step_by(2));
    let commands = lines.into_iter().chain(inline).filter_map(|code| code.strip_prefix("sottovoce "));
    commands.map(|command| command.split(['#', '>']).next().unwrap_or_default().to_owned()).collect()
}

fn help_of(name: &str) -> String {
    let run = Command::new(env!("CARGO_BIN_EXE_sottovoce")).args([name, "--help"]).output().unwrap();
    assert!(run.status.success(), "there is no `sottovoce {name}`");
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn the_readme_is_short() {
    let readme = include_str!("../../../README.md");
    assert!(
        readme.lines().count() <= 150,
        "the README has {} lines: move some to docs/",
        readme.lines().count()
    );
}
