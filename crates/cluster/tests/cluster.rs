//! A scheduler and executors on this machine: the same tallies, whatever dies.

mod desk;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use desk::{Cluster, Desk, GRR, OUE, is_full, program};
use sottovoce_job::FormChoice;

#[test]
fn two_executors_give_the_tallies_of_one_machine() {
    let (desk, cluster) = (Desk::new(), Cluster::start(2));
    for (name, protocol, rows) in [("grr", GRR, 5000), ("oue", OUE, 2000)] {
        let days = desk.days(name, protocol, 64, rows);
        let expected = desk.single(None, &days, FormChoice::Auto);
        let arguments = [days.to_str().unwrap(), "--scheduler", &cluster.address];
        let (found, said) = desk.tally(&arguments, "tallies.json");
        assert_eq!(found, Some(expected), "{name}: {said:?}");
    }
    // Faults are found by executors too, and told in the same words.
    let days = desk.path("grr");
    let damaged = days.join("007.parquet");
    let mut bytes = std::fs::read(&damaged).unwrap();
    bytes[1500] ^= 1;
    std::fs::write(&damaged, &bytes).unwrap();
    let said = desk.refusal(&[days.to_str().unwrap(), "--scheduler", &cluster.address]);
    assert!(said.contains("007.parquet") && said.contains("was changed") && said.len() < 300, "{said}");
    let (groups, numbers) = (desk.path("groups"), desk.path("numbers.parquet"));
    desk::foreign(&numbers, 5000);
    let by = ["--by", "day", "--protocol", GRR, numbers.to_str().unwrap(), "--scheduler", &cluster.address];
    let (_, said) = desk.tally(&by, "groups");
    assert!(said.status.success() && groups.read_dir().unwrap().count() == 2, "{said:?}");
}

/// Files whose tally takes some seconds in a debug build.
fn long(desk: &Desk) -> PathBuf {
    desk.days("days", OUE, 64, 40_000)
}

/// Starts a tally, lets something happen after a while, and gives what the tally wrote and said.
fn disturbed(
    desk: &Desk,
    cluster: &mut Cluster,
    days: &Path,
    after: Duration,
    disturb: impl FnOnce(&mut Cluster),
) -> (Option<Vec<u8>>, std::process::Output) {
    let output = desk.path("disturbed.json");
    let _ = std::fs::remove_file(&output);
    let (output_text, days) = (output.to_str().unwrap(), days.to_str().unwrap());
    let mut tally = program(&["tally", days, "-o", output_text, "--scheduler", &cluster.address])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    sleep(after);
    // What is over cannot be disturbed, and proves nothing; a refusal at once may be.
    assert!(after.is_zero() || tally.try_wait().unwrap().is_none(), "the tally was over already");
    disturb(cluster);
    let said = tally.wait_with_output().unwrap();
    (std::fs::read(output).ok(), said)
}

/// Ten times with `SOTTOVOCE_FULL=1`, else twice. The kill falls on another moment each time.
#[test]
fn a_killed_executor_changes_nothing() {
    let (desk, mut cluster) = (Desk::new(), Cluster::start(2));
    let days = long(&desk);
    let expected = desk.single(None, &days, FormChoice::Auto);
    for round in 0..if is_full() { 10 } else { 2u64 } {
        let after = Duration::from_millis(800 + 200 * round);
        let (found, said) = disturbed(&desk, &mut cluster, &days, after, |cluster| {
            cluster.executors[0].kill();
        });
        assert_eq!(found.as_ref(), Some(&expected), "round {round}: {said:?}");
        cluster.executors.remove(0);
        cluster.add_executor();
    }
}

#[test]
fn without_scheduler_or_executors_there_is_an_error_and_nothing_else() {
    let (desk, mut cluster) = (Desk::new(), Cluster::start(1));
    let days = long(&desk);
    let refused = |(found, said): (Option<Vec<u8>>, std::process::Output)| {
        let words = String::from_utf8(said.stderr).unwrap();
        assert!(found.is_none() && said.status.code() == Some(1), "{words}");
        assert!(words.starts_with("error: the work was not done: "), "{words}");
        words
    };
    let after = Duration::from_millis(1500);
    let words = refused(disturbed(&desk, &mut cluster, &days, after, |cluster| cluster.executors[0].kill()));
    assert!(words.contains("all executors were lost"), "{words}");
    cluster.executors.clear();
    cluster.add_executor();
    refused(disturbed(&desk, &mut cluster, &days, after, |cluster| cluster.scheduler.kill()));
    // There is none any more.
    let words = refused(disturbed(&desk, &mut cluster, &days, Duration::ZERO, |_| ()));
    assert!(words.contains("the scheduler does not answer"), "{words}");
}

/// Files that are there when the work begins, and gone before it is done.
#[test]
fn a_file_that_disappears_is_told_of() {
    let (desk, mut cluster) = (Desk::new(), Cluster::start(1));
    let days = long(&desk);
    let (found, said) = disturbed(&desk, &mut cluster, &days, Duration::from_millis(1500), |_| {
        std::fs::remove_dir_all(&days).unwrap();
    });
    let words = String::from_utf8(said.stderr).unwrap();
    assert!(found.is_none() && said.status.code() == Some(2), "{words}");
    assert!(words.contains(".parquet: cannot be read: there is no such file"), "{words}");
}
