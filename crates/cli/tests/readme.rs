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

fn check(text: &str) {
    let examples = examples(text);
    assert!(examples.len() >= 2, "there are examples");
    for (arguments, expected) in examples {
        let run = Command::new(env!("CARGO_BIN_EXE_sottovoce")).args(words(&arguments)).output().unwrap();
        let printed = String::from_utf8(run.stdout).unwrap();
        assert_eq!(printed, expected, "`sottovoce {arguments}` prints something else");
    }
}
