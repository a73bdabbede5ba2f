//! "Run a private poll in five minutes", followed word by word: the commands of `docs/serving.md`, its script in Node, and a thousand more participants.
//!
//! Without Node the test is skipped, loudly; where `CI` is `true` that is a failure.

use std::fs;
use std::process::{Command, Stdio};

use crate::host::Host;

const PAGE: &str = include_str!("../../../../docs/serving.md");

/// The text between two marks.
fn between<'t>(text: &'t str, begin: &str, end: &str) -> &'t str {
    text.split_once(begin).and_then(|(_, rest)| rest.split_once(end)).expect("the page has this part").0
}

/// The words of a command, without `sottovoce`: single quotes keep spaces together.
fn arguments(command: &str) -> Vec<String> {
    let parts = command.trim().trim_start_matches("sottovoce ").split('\'').enumerate();
    parts
        .flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect()
}

/// Each of a thousand participants has a client of their own, as on a thousand devices.
const CROWD: &str = "
const published = await (await fetch(`${base}/study`)).json();
const shares = { tea: 600, coffee: 300, water: 99 };
for (const [drink, count] of Object.entries(shares)) {
  await Promise.all(Array.from({ length: count }, async () => {
    const own = new Study(published);
    await own.send(base, own.answer({ answer: drink }), { attempts: 20 });
  }));
}
";

#[test]
fn the_poll_of_the_book_works_word_by_word() {
    if Command::new("node").arg("--version").stdout(Stdio::null()).status().is_err() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "there is no Node on this machine");
        eprintln!("SKIPPED: there is no Node on this machine");
        return;
    }
    let desk = tempfile::tempdir().unwrap();
    let guide = between(PAGE, "## Run a private poll in five minutes", "\n## ");
    let mut commands = guide.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let serve = arguments(commands.next().unwrap());
    assert_eq!(serve[0], "serve");
    let mut program = Command::new(assert_cmd::cargo::cargo_bin!("sottovoce"));
    program.current_dir(desk.path());
    let host = Host::under(program, &serve[1..].iter().map(String::as_str).collect::<Vec<_>>());

    // Node takes modules from files only.
    let client = host.connect().request("GET", "/sottovoce.js", "", b"").unwrap();
    fs::write(desk.path().join("sottovoce.mjs"), client.body).unwrap();
    let script = between(guide, "<script type=\"module\">", "</script>");
    let script = script.replace("http://127.0.0.1:8000/sottovoce.js", "./sottovoce.mjs");
    let script = script.replace("http://127.0.0.1:8000", &format!("http://{}", host.address));
    fs::write(desk.path().join("take.mjs"), script + CROWD).unwrap();
    let run = Command::new("node").arg("take.mjs").current_dir(desk.path()).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));

    let results = host.results();
    assert_eq!(results["collections"][0]["reports"], 1000);
    // Clients draw with the system's randomness. Five standard deviations are exceeded in one of a million runs.
    for (answer, truth) in results["analysis"]["report"]["questions"][0]["answers"]
        .as_array()
        .unwrap()
        .iter()
        .zip([0.601, 0.3, 0.099])
    {
        let (mean, sd) = (&answer["share"]["mean"]["value"], &answer["share"]["sd"]["value"]);
        let off = (mean.as_f64().unwrap() - truth) / sd.as_f64().unwrap();
        assert!(off.abs() < 5.0, "{answer}");
    }
    assert!(host.end().success());

    let rest: Vec<&str> = commands.next().unwrap().trim().lines().collect();
    assert_eq!(rest.len(), 3);
    for command in rest {
        let run = Command::new(assert_cmd::cargo::cargo_bin!("sottovoce"))
            .args(arguments(command))
            .current_dir(desk.path())
            .output()
            .unwrap();
        assert!(run.status.success(), "{command}: {}", String::from_utf8_lossy(&run.stderr));
    }
}
