//! The commands in the README and in the guide print what these say.

use std::process::Command;

/// The `console` blocks: a line `$ sottovoce …`, then what it prints.
fn examples(text: &str) -> Vec<(String, String)> {
    let blocks = text.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks
        .map(|block| {
            let (command, output) = block.split_once('\n').expect("a command and its output");
            (command.strip_prefix("$ sottovoce ").expect("a sottovoce command").to_owned(), output.to_owned())
        })
        .collect()
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

#[test]
fn the_readme_tells_the_truth() {
    check(include_str!("../../../README.md"));
}

#[test]
fn the_guide_tells_the_truth() {
    check(include_str!("../../../docs/guide.md"));
}

/// What the README shows of the demo, in the demo's order. Numbers may differ in their last digit: Markov chains multiply the rounding of another machine.
#[test]
fn the_readme_shows_the_demo() {
    let readme = include_str!("../../../README.md");
    let excerpt =
        readme.split("$ sottovoce demo\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_sottovoce")).args(["demo", "--no-page"]).output().unwrap();
    let printed = String::from_utf8(run.stdout).unwrap();
    let mut lines = printed.lines();
    for shown in excerpt.lines().filter(|line| *line != "…") {
        assert!(lines.any(|line| nearly_the_same(line, shown)), "the demo does not print: {shown}");
    }
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

/// The files that a text shows: blocks whose language is followed by a name.
fn files(text: &str) -> Vec<(&str, &str)> {
    let blocks = text.split("```csv ").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.filter_map(|block| block.split_once('\n')).collect()
}

/// All commands run one after another in one directory, which has the files that the text shows.
fn check(text: &str) {
    let directory = tempfile::tempdir().unwrap();
    for (name, contents) in files(text) {
        std::fs::write(directory.path().join(name), contents).unwrap();
    }
    let examples = examples(text);
    assert!(examples.len() >= 2, "there are examples");
    for (arguments, expected) in examples {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sottovoce"));
        let run = command.args(words(&arguments)).current_dir(directory.path()).output().unwrap();
        let printed = String::from_utf8(run.stdout).unwrap();
        assert_eq!(printed, expected, "`sottovoce {arguments}` prints something else");
    }
}
