//! Killed, interrupted or out of disk: every command of a collection leaves the previous file as it was.
//!
//! A command is surely in the middle where its input is a pipe that does not end. Where it only writes, it is stopped as soon as some bytes
//! are on the disk; if it was quicker than that, it is started again.

#![cfg(unix)]

mod desk;

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use desk::{Desk, values};

const WIDE: &str = "oue:a=64,eps=1";
const HASH: &str = "lh:a=3,g=2,eps=1";

/// Starts a command and gives it an input that does not end. When this returns, the command has read all but what a pipe holds.
fn started(desk: &Desk, arguments: &[&str], input: &[u8]) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("sottovoce"));
    command.args(arguments).current_dir(desk.0.path());
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = pipes.spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(input).unwrap();
    child
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// The unfinished files of the directory that hold some bytes.
fn unfinished(desk: &Desk) -> Vec<String> {
    let begun = |name: &String| {
        name.ends_with(".part") && fs::metadata(desk.path(name)).is_ok_and(|metadata| metadata.len() > 0)
    };
    desk.names().into_iter().filter(begun).collect()
}

/// Waits until the command has begun to write; `false` if it was done before that was seen.
fn writes(desk: &Desk, child: &mut Child) -> bool {
    let start = Instant::now();
    while unfinished(desk).is_empty() {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "it does not begin to write");
        std::thread::sleep(Duration::from_micros(200));
    }
    true
}

#[test]
fn killed_while_randomising() {
    for output in ["r.csv", "r.jsonl", "r.parquet"] {
        let desk = Desk::new();
        desk.write("v.csv", values(1000));
        desk.run(&["randomise", "-p", WIDE, "v.csv", "-o", output]);
        let (before, names) = (fs::read(desk.path(output)).unwrap(), desk.names());
        // More than a group of rows of a Parquet file.
        let endless = values(1_200_000);
        let mut child = started(&desk, &["randomise", "-p", WIDE, "-", "-o", output], endless.as_bytes());
        assert!(writes(&desk, &mut child));
        signal(&child, "-KILL");
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        assert_eq!(fs::read(desk.path(output)).unwrap(), before, "{output}");
        let left = unfinished(&desk);
        assert_eq!((left.len(), desk.names().len()), (1, names.len() + 1), "{left:?}");
        // What is left is read by nobody and stops nobody.
        fs::remove_file(desk.path("v.csv")).unwrap();
        assert_eq!(desk.run(&["tally", ".", "-o", "t.json"])["n"], 1000);
        desk.write("v.csv", values(500));
        desk.run(&["randomise", "-p", WIDE, "v.csv", "-o", output]);
        assert_eq!(desk.run(&["tally", output, "-o", "t.json"])["n"], 500);
    }
}

/// A directory with tallies `t.json`, and what makes longer ones in their place: reports by the hundred thousand, and their tallies.
fn aggregator() -> Desk {
    let desk = Desk::new();
    for (name, count) in [("few", 1000), ("many", 150_000)] {
        desk.write("v.csv", values(count));
        desk.run(&["randomise", "-p", HASH, "v.csv", "-o", &format!("{name}.csv")]);
        desk.run(&["tally", &format!("{name}.csv"), "--form", "patterns", "-o", &format!("{name}.json")]);
    }
    fs::copy(desk.path("few.json"), desk.path("t.json")).unwrap();
    desk
}

/// What reads reports or tallies from standard input, and the input.
fn readers(desk: &Desk) -> [(&'static str, String); 2] {
    [("tally", desk.read("many.csv")), ("merge", desk.read("many.json"))]
}

/// Signals that end a command, which then leaves nothing behind: Ctrl-C, a system that shuts down, a terminal that goes away.
const ENDS: [&str; 3] = ["-INT", "-TERM", "-HUP"];

/// What writes `many.json` in the place of `t.json`.
const WRITERS: [[&str; 6]; 2] = [
    ["tally", "many.csv", "--form", "patterns", "-o", "t.json"],
    ["merge", "many.json", "--form", "patterns", "-o", "t.json"],
];

#[test]
fn killed_or_interrupted_while_reading() {
    let desk = aggregator();
    let (before, names) = (desk.read("t.json"), desk.names());
    for (command, input) in readers(&desk) {
        for (name, ends) in
            [("-KILL", (None, Some(9)))].into_iter().chain(ENDS.map(|name| (name, (Some(130), None))))
        {
            let mut child =
                started(&desk, &[command, "-", "--form", "patterns", "-o", "t.json"], input.as_bytes());
            signal(&child, name);
            let status = child.wait().unwrap();
            assert_eq!((status.code(), status.signal()), ends, "{command}");
            assert_eq!(
                (desk.read("t.json"), desk.names()),
                (before.clone(), names.clone()),
                "{command} {name}"
            );
        }
    }
}

/// Starts a command again and again until the signal meets it in the middle of its writing. However it ends, the file is the previous one or
/// the complete new one.
fn stopped_while_writing(desk: &Desk, arguments: &[&str], name: &str, met: fn(&Desk, ExitStatus) -> bool) {
    let (before, complete) = (desk.read("few.json"), desk.read("many.json"));
    for _ in 0..50 {
        desk.write("t.json", &before);
        let mut child = started(desk, arguments, b"");
        if writes(desk, &mut child) {
            // A command that is done before the signal comes is still there until it is waited for.
            signal(&child, name);
        }
        let status = child.wait().unwrap();
        let found = desk.read("t.json");
        assert!(found == before || found == complete, "{arguments:?}: neither the old file nor the new one");
        if met(desk, status) {
            assert_eq!(found, before, "{arguments:?}");
            return;
        }
    }
    panic!("{arguments:?} was always quicker than the signal");
}

#[test]
fn killed_while_writing_tallies() {
    let desk = aggregator();
    for arguments in WRITERS {
        let killed =
            |desk: &Desk, status: ExitStatus| status.signal() == Some(9) && !unfinished(desk).is_empty();
        stopped_while_writing(&desk, &arguments, "-KILL", killed);
        desk.run(&arguments);
        assert_eq!(desk.read("t.json"), desk.read("many.json"));
        unfinished(&desk).iter().for_each(|name| fs::remove_file(desk.path(name)).unwrap());
    }
}

#[test]
fn interrupted_while_writing_nothing_is_left() {
    let desk = aggregator();
    for (arguments, name) in WRITERS.iter().flat_map(|arguments| ENDS.map(|name| (arguments, name))) {
        let names = desk.names();
        stopped_while_writing(&desk, arguments, name, |_, status| status.code() == Some(130));
        assert_eq!(desk.names(), names, "{arguments:?}");
    }
    for (output, name) in ["r.csv", "r.jsonl", "r.parquet"].into_iter().zip(ENDS) {
        desk.run(&["randomise", "-p", WIDE, "v.csv", "-o", output]);
        let (before, names) = (fs::read(desk.path(output)).unwrap(), desk.names());
        let endless = values(1_200_000);
        let mut child = started(&desk, &["randomise", "-p", WIDE, "-", "-o", output], endless.as_bytes());
        assert!(writes(&desk, &mut child));
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{output}");
        assert_eq!((fs::read(desk.path(output)).unwrap(), desk.names()), (before, names), "{output}");
    }
}

/// Runs a command that may write files of 32 KiB (64 in some shells) only, like a disk that is full then. Where the shell does not heed the signal
/// for that, the system ends the command in the middle of a write.
fn limited(desk: &Desk, heed: &str, arguments: &[&str]) -> std::process::Output {
    Command::new("sh")
        .args(["-c", &format!("{heed} ulimit -f 64; exec \"$0\" \"$@\"")])
        .arg(assert_cmd::cargo::cargo_bin!("sottovoce"))
        .args(arguments)
        .current_dir(desk.0.path())
        .output()
        .unwrap()
}

#[test]
fn out_of_disk_the_previous_file_is_whole() {
    let desk = aggregator();
    let mut commands: Vec<Vec<&str>> = WRITERS.iter().map(|writer| writer.to_vec()).collect();
    for output in ["r.csv", "r.jsonl", "r.parquet"] {
        desk.write(output, "previous");
        commands.push(vec!["randomise", "-p", WIDE, "v.csv", "-o", output]);
    }
    for arguments in commands {
        let output = arguments[arguments.len() - 1];
        let (before, names) = (fs::read(desk.path(output)).unwrap(), desk.names());
        let told = limited(&desk, "trap '' XFSZ;", &arguments);
        let message = String::from_utf8(told.stderr).unwrap();
        assert_eq!(told.status.code(), Some(1), "{message}");
        assert!(
            message.starts_with(&format!("error: {output}: cannot be written: File too large")),
            "{message}"
        );
        assert_eq!(
            (fs::read(desk.path(output)).unwrap(), desk.names()),
            (before.clone(), names),
            "{arguments:?}"
        );
        // The same, killed by the system at the byte that is too many.
        let killed = limited(&desk, "", &arguments);
        assert_eq!(killed.status.signal(), Some(25), "{arguments:?}");
        assert_eq!(fs::read(desk.path(output)).unwrap(), before, "{arguments:?}");
        let left = unfinished(&desk);
        assert_eq!(left.len(), 1, "{left:?}");
        fs::remove_file(desk.path(&left[0])).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_told_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let desk = Desk::new();
    desk.write("v.csv", values(1000));
    desk.run(&["randomise", "-p", HASH, "v.csv", "-o", "r.csv"]);
    std::os::unix::fs::symlink("/dev/full", desk.path("full.json")).unwrap();
    let output = desk.command(&["tally", "r.csv", "-o", "full.json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("full.json: cannot be written: No space left"));
    assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());
}
