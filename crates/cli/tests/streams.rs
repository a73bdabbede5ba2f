//! Output to a stream goes to the stream: what was there before stays, what comes later comes behind, and nothing is put in its place.

#![cfg(unix)]

mod desk;

use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::process::{Command, Output};

use desk::{Desk, GRR, values_for};

/// Every command that writes what the user asks for, without its `-o`; on a desk with values, reports and tallies.
const WRITERS: [&[&str]; 7] = [
    &["randomise", "-p", GRR, "v.csv", "--insecure-test-seed", "1"],
    &["tally", "r.csv"],
    &["merge", "t.json"],
    &["estimate", "-t", "t.json"],
    &["describe", "-p", GRR],
    &["metrics", "-p", GRR, "-m", "ldp", "--format", "json"],
    &["design", "--a", "2", "--epsilon", "1"],
];

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("v.csv", values_for(GRR, 30));
    desk.write("other.csv", "");
    desk.run(&["randomise", "-p", GRR, "v.csv", "-o", "r.csv"]);
    desk.run(&["tally", "r.csv", "-o", "t.json"]);
    desk
}

/// Runs a line of shell on a desk, where `$S` is the program with the arguments.
fn shell(desk: &Desk, line: &str, arguments: &[&str]) -> Output {
    let program = assert_cmd::cargo::cargo_bin!("sottovoce");
    let line = line.replace("$S", "\"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &line]).arg(program).args(arguments).current_dir(desk.0.path());
    command.output().unwrap()
}

/// The arguments with a place for the output.
fn written_to<'a>(arguments: &[&'a str], name: &'a str) -> Vec<&'a str> {
    [arguments, &["-o", name, "-q"]].concat()
}

fn printed(desk: &Desk, arguments: &[&str]) -> String {
    let output = desk.command(&[arguments, &["-o", "-"]].concat()).output().unwrap();
    assert!(output.status.success() && !output.stdout.is_empty());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn what_is_before_and_after_stays() {
    let desk = desk();
    symlink("/dev/stdout", desk.path("link.csv")).unwrap();
    for arguments in WRITERS {
        let expected = format!("before\n{}after\n", printed(&desk, arguments));
        for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link.csv"] {
            let arguments = written_to(arguments, name);
            let ran = shell(&desk, "{ echo before; $S; echo after; } > f", &arguments);
            assert!(ran.status.success() && ran.stderr.is_empty(), "{arguments:?}: {ran:?}");
            assert_eq!(desk.read("f"), expected, "{arguments:?}");
            desk.write("log.csv", "before\n");
            let ran = shell(&desk, "{ $S; echo after; } >> log.csv", &arguments);
            assert!(ran.status.success(), "{arguments:?}: {ran:?}");
            assert_eq!(desk.read("log.csv"), expected, "{arguments:?}");
        }
    }
    assert!(fs::symlink_metadata("/dev/stdout").unwrap().is_symlink());
    assert!(fs::symlink_metadata(desk.path("link.csv")).unwrap().is_symlink());
}

#[test]
fn other_streams_are_written_to_and_not_replaced() {
    let desk = desk();
    for arguments in WRITERS {
        let expected = printed(&desk, arguments);
        let at = |name| written_to(arguments, name);
        let ran = shell(&desk, "$S > out", &at("/dev/stderr"));
        assert_eq!(String::from_utf8(ran.stderr).unwrap(), expected, "{arguments:?}");
        let ran = shell(
            &desk,
            "mkfifo pipe.csv; cat pipe.csv > got & $S > out; wait; test -p pipe.csv",
            &at("pipe.csv"),
        );
        assert!(ran.status.success(), "{arguments:?}: {ran:?}");
        assert_eq!(desk.read("got"), expected, "{arguments:?}");
        assert!(fs::metadata(desk.path("pipe.csv")).unwrap().file_type().is_fifo());
        fs::remove_file(desk.path("pipe.csv")).unwrap();
        symlink("/dev/null", desk.path("null.csv")).unwrap();
        assert!(shell(&desk, "$S > out", &at("null.csv")).status.success(), "{arguments:?}");
        assert!(fs::metadata(desk.path("null.csv")).unwrap().file_type().is_char_device());
        fs::remove_file(desk.path("null.csv")).unwrap();
        // A pipe of the shell, as `>(…)` makes it, which has a number only.
        let ran = shell(&desk, "{ $S > out; } 3>&1 | cat > got", &at("/dev/fd/3"));
        assert_eq!((ran.stderr, desk.read("got")), (vec![], expected), "{arguments:?}");
    }
}

/// A command that writes a result and prints a summary writes the result where it is told, and the summary not between.
#[test]
fn what_is_piped_is_the_result() {
    let desk = desk();
    let protocol = printed(&desk, &["design", "--a", "2", "--epsilon", "1"]);
    assert_eq!(protocol, "{\"kind\":\"grr\",\"a\":2,\"epsilon\":1.0}\n");
    let tallies = printed(&desk, &["tally", "r.csv"]);
    assert_eq!(tallies, desk.read("t.json"));
}

/// Appending a result to the file that it was made from would destroy that file.
#[test]
fn standard_output_is_no_input_either() {
    let desk = desk();
    for (arguments, input) in
        [(&["tally", "r.csv", "-o", "-"][..], "r.csv"), (&["merge", "t.json", "-o", "-"], "t.json")]
    {
        let before = desk.read(input);
        let ran = shell(&desk, &format!("$S >> {input}"), arguments);
        assert_eq!(ran.status.code(), Some(2), "{arguments:?}: {ran:?}");
        assert!(
            String::from_utf8_lossy(&ran.stderr).contains("is also an input, and would be overwritten"),
            "{ran:?}"
        );
        assert_eq!(desk.read(input), before);
    }
}

/// Where the result goes to standard output, what was left out is told on standard error.
#[test]
fn what_is_left_out_of_a_stream_is_told() {
    let desk = desk();
    desk.write("bad.csv", "value\nred\nmauve\ngreen\n");
    let skipping = ["randomise", "-p", GRR, "bad.csv", "--on-error", "skip", "-o", "-"];
    let ran = shell(&desk, "$S", &skipping);
    assert!(ran.status.success(), "{ran:?}");
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(told.contains("warning:") && told.contains("No report was made for 1 values"), "{told}");
    assert!(shell(&desk, "$S -q", &skipping).stderr.is_empty());
}

/// A file that somebody has open would be written to from its beginning.
#[test]
fn an_open_file_is_not_written_over() {
    let desk = desk();
    for arguments in [WRITERS[1], WRITERS[3]] {
        let at = |name| written_to(arguments, name);
        let ran = shell(&desk, "exec 3> f; echo before >&3; $S; echo $? >&3", &at("/dev/fd/3"));
        assert_eq!(desk.read("f"), "before\n1\n", "{arguments:?}");
        assert!(String::from_utf8_lossy(&ran.stderr).contains("already open; name the file itself"));
        let ran = shell(&desk, "$S > f", &at("f"));
        assert_eq!(ran.status.code(), Some(1), "{arguments:?}");
        assert!(String::from_utf8_lossy(&ran.stderr).contains("standard output goes to this file too"));
    }
}

#[test]
fn a_dangling_link_is_followed() {
    let desk = desk();
    fs::create_dir(desk.path("far")).unwrap();
    for arguments in WRITERS {
        let expected = printed(&desk, arguments);
        symlink("far/away.csv", desk.path("link.csv")).unwrap();
        for _ in 0..2 {
            let ran = shell(&desk, "$S", &written_to(arguments, "link.csv"));
            assert!(ran.status.success(), "{arguments:?}: {ran:?}");
            assert_eq!(desk.read("far/away.csv"), expected, "{arguments:?}");
            assert!(fs::symlink_metadata(desk.path("link.csv")).unwrap().is_symlink());
        }
        fs::remove_file(desk.path("link.csv")).unwrap();
        fs::remove_file(desk.path("far/away.csv")).unwrap();
    }
}

/// `>&-` closes standard output, `1<file` opens it for reading only; both lose what is written.
#[cfg(target_os = "linux")]
#[test]
fn a_closed_standard_output_is_an_error() {
    let desk = desk();
    for arguments in WRITERS {
        let written = [arguments, &["-o", "-"]].concat();
        for line in ["$S >&-", "$S 1< other.csv", "$S > /dev/full"] {
            let arguments = &written[..];
            let ran = shell(&desk, line, arguments);
            let message = String::from_utf8_lossy(&ran.stderr).into_owned();
            assert_eq!(ran.status.code(), Some(1), "{line} {arguments:?}: {message}");
            assert!(message.starts_with("error: standard output: cannot be written: "), "{message}");
        }
        if ["estimate", "describe", "metrics"].contains(&arguments[0]) {
            assert_eq!(shell(&desk, "$S 1< other.csv", arguments).status.code(), Some(1), "{arguments:?}");
        }
        let ran = shell(&desk, "$S > /dev/null", &written);
        assert!(ran.status.success(), "{arguments:?}: {ran:?}");
    }
}
