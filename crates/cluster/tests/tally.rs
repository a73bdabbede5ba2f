//! The program on this machine alone: the tallies of `sottovoce tally`, and its refusals.

mod desk;

use std::collections::BTreeMap;

use desk::{Desk, GRR, LH, OUE, foreign, foreign_bytes, reports};
use sottovoce_job::FormChoice;

#[test]
fn the_tallies_are_those_of_one_machine_to_the_byte() {
    let desk = Desk::new();
    for (name, protocol, rows) in [("grr", GRR, 3000), ("oue", OUE, 700), ("lh", LH, 500)] {
        let days = desk.days(name, protocol, 12, rows);
        for (form, choice) in [("auto", FormChoice::Auto), ("supports", FormChoice::Supports)] {
            let expected = desk.single(None, &days, choice);
            for tasks in ["1", "5", "40"] {
                let arguments = [days.to_str().unwrap(), "--form", form, "--tasks", tasks];
                let (found, said) = desk.tally(&arguments, "tallies.json");
                assert_eq!(found, Some(expected.clone()), "{name} {form} {tasks}: {said:?}");
            }
        }
    }
}

/// Groups of rows of one file on several tasks, rejected reports, and many patterns that become supports.
#[test]
fn files_of_other_programs_are_counted_in_pieces() {
    let desk = Desk::new();
    let (numbers, sets) = (desk.path("numbers.parquet"), desk.path("sets.parquet"));
    foreign(&numbers, 12_345);
    foreign_bytes(&sets, &reports(OUE, 70_000, 3), 16);
    for (path, protocol) in [(&numbers, GRR), (&sets, OUE)] {
        let expected = desk.single(Some(protocol), path, FormChoice::Auto);
        let arguments = [path.to_str().unwrap(), "--protocol", protocol];
        let (found, said) = desk.tally(&arguments, "tallies.json");
        assert_eq!(found, Some(expected), "{said:?}");
    }
    let text = String::from_utf8(desk.single(Some(GRR), &numbers, FormChoice::Auto)).unwrap();
    assert!(text.contains(r#""rejected": {"empty":"#) && text.contains("out_of_range"), "{text}");
}

#[test]
fn what_one_machine_refuses_is_refused() {
    let desk = Desk::new();
    let days = desk.days("days", GRR, 4, 3000);
    let day = |name: &str| desk.path(&format!("days/{name}")).to_str().unwrap().to_owned();
    let refused = |name: &str, words: &str| {
        let said = desk.refusal(&[days.to_str().unwrap()]);
        assert!(said.contains(name) && said.contains(words), "{said}");
    };
    desk.write("days/foreign.parquet", "grr:a=64,eps=2", 50, 1);
    refused("foreign.parquet", "belongs to another protocol");
    std::fs::remove_file(day("foreign.parquet")).unwrap();

    let whole = std::fs::read(day("002.parquet")).unwrap();
    std::fs::write(day("002.parquet"), &whole[..whole.len() / 2]).unwrap();
    refused("002.parquet", "not a valid Parquet file");
    let mut changed = whole.clone();
    changed[900] ^= 4;
    std::fs::write(day("002.parquet"), &changed).unwrap();
    refused("002.parquet", "was changed");
    std::fs::write(day("002.parquet"), &whole).unwrap();

    std::fs::copy(day("001.parquet"), day("copy.parquet")).unwrap();
    refused("copy.parquet", "reports in common");
    let (copies, said) = desk.tally(&[days.to_str().unwrap(), "--allow-copies"], "copies.json");
    assert!(copies.is_some(), "{said:?}");
    std::fs::write(day("notes.csv"), "report\n1\n").unwrap();
    refused("notes.csv", "only Parquet files");
    let (input, whole) = (day("000.parquet"), std::fs::read(day("000.parquet")).unwrap());
    let said = desk::program(&["tally", &input, "-o", &input]).output().unwrap();
    assert!(String::from_utf8_lossy(&said.stderr).contains("is also an input"), "{said:?}");
    assert_eq!(std::fs::read(&input).unwrap(), whole);
    assert!(desk.refusal(&[&day("no such.parquet")]).contains("No such file"));
    assert!(desk.refusal(&["ftp://somewhere/file.parquet"]).contains("is not a URL"));
    foreign(&desk.path("foreign.parquet"), 30);
    let foreign = desk.path("foreign.parquet");
    assert!(desk.refusal(&[foreign.to_str().unwrap()]).contains("does not name its protocol"));
    let said = desk.refusal(&[foreign.to_str().unwrap(), "--protocol", "oue:a=64,eps=1"]);
    assert!(said.contains("none of the 30 reports fits the protocol"), "{said}");
}

/// One tally for each day and version: together they are the tally of all.
#[test]
fn groups_are_tallied_apart() {
    let desk = Desk::new();
    let path = desk.path("numbers.parquet");
    foreign(&path, 5000);
    let (_, said) = desk.tally(&["--by", "day,version", "--protocol", GRR, path.to_str().unwrap()], "groups");
    assert!(said.status.success(), "{said:?}");
    let groups: BTreeMap<String, serde_json::Value> = std::fs::read_dir(desk.path("groups"))
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
        })
        .collect();
    let names: Vec<&str> = groups.keys().map(String::as_str).collect();
    let expected = [
        "day=monday,version=%00.json",
        "day=monday,version=0.json",
        "day=monday,version=1.json",
        "day=tuesday%2F%CE%B1,version=%00.json",
        "day=tuesday%2F%CE%B1,version=0.json",
        "day=tuesday%2F%CE%B1,version=1.json",
    ];
    assert_eq!(names, expected);
    let whole: serde_json::Value =
        serde_json::from_slice(&desk.single(Some(GRR), &path, FormChoice::Auto)).unwrap();
    let sum = |key: &str| groups.values().map(|group| group[key].as_u64().unwrap_or(0)).sum::<u64>();
    assert_eq!(sum("n"), whole["n"].as_u64().unwrap());
    let rejected = |reason: &str| {
        groups.values().map(|group| group["rejected"][reason].as_u64().unwrap_or(0)).sum::<u64>()
    };
    for reason in ["empty", "out_of_range"] {
        assert_eq!(rejected(reason), whole["rejected"][reason].as_u64().unwrap());
    }
    // A row of Monday and version 1 that can be counted by hand.
    let monday = (0..5000usize).filter(|row| row / 7 % 2 == 0 && row % 2 == 1 && row % 5 > 0);
    let counted = monday.filter(|row| ![4, 9].contains(&(row % 13))).count() as u64;
    assert_eq!(groups["day=monday,version=1.json"]["n"].as_u64(), Some(counted));
    // A directory that exists is not touched.
    let (_, again) = desk.tally(&["--by", "day", "--protocol", GRR, path.to_str().unwrap()], "groups");
    assert!(!again.status.success() && desk.path("groups").read_dir().unwrap().count() == 6);
}
