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
        let run = Command::new(env!("CARGO_BIN_EXE_sottovoce")).args(arguments.split(' ')).output().unwrap();
        let printed = String::from_utf8(run.stdout).unwrap();
        assert_eq!(printed, expected, "`sottovoce {arguments}` prints something else");
    }
}
