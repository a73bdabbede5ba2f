//! The examples print the output shown in their first lines.

#[allow(dead_code)] // Their `main`.
#[path = "../examples/choose_protocol.rs"]
mod choose_protocol;
#[allow(dead_code)]
#[path = "../examples/paper_numbers.rs"]
mod paper_numbers;

/// The output that a source shows in its first `text` block.
fn shown(source: &str) -> String {
    let lines = source.lines().skip_while(|line| *line != "//! ```text").skip(1);
    let lines = lines.take_while(|line| *line != "//! ```");
    lines
        .map(|line| format!("{}\n", line.trim_start_matches("//!").strip_prefix(' ').unwrap_or_default()))
        .collect()
}

#[test]
fn the_protocols_are_compared_as_shown() {
    assert_eq!(choose_protocol::table().unwrap(), shown(include_str!("../examples/choose_protocol.rs")));
}

#[test]
fn the_numbers_of_the_paper_are_as_shown() {
    assert_eq!(paper_numbers::numbers().unwrap(), shown(include_str!("../examples/paper_numbers.rs")));
}
