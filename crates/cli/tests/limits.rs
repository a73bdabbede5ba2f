//! Time and memory are promises: a run ends when its time is over, hears Ctrl-C within a second, and what would take too much memory is refused before it begins.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sottovoce_job::admission::{
    accuracy_bytes, estimate_bytes, metric_bytes, posterior_bytes, protocol_bytes,
};
use sottovoce_job::{Choice, Metric, PriorSpec, Stop, read_prior, read_protocol};

/// What a run took and said.
struct Taken {
    time: Duration,
    /// The most memory it held, where the system tells it.
    peak: Option<u64>,
    code: Option<i32>,
    output: String,
    errors: String,
}

fn start(arguments: &[&str]) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("sottovoce"));
    let piped = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    piped.spawn().unwrap()
}

/// The most memory that a process has held so far.
fn peak(id: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024)
}

/// Reads all that a run says, so that it never waits for a reader.
fn read(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = String::new();
        from.read_to_string(&mut text).unwrap();
        text
    })
}

/// Waits until a run ends, and kills it after two minutes.
fn wait(mut child: Child) -> Taken {
    let begin = Instant::now();
    let readers = [read(child.stdout.take().unwrap()), read(child.stderr.take().unwrap())];
    let mut most = None;
    let status = loop {
        most = peak(child.id()).max(most);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begin.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let [output, errors] = readers.map(|reader| reader.join().unwrap());
    Taken { time: begin.elapsed(), peak: most, code: status.code(), output, errors }
}

fn run(arguments: &[&str]) -> Taken {
    wait(start(arguments))
}

/// Beside what grows: the program, its threads and the spare room of the allocator.
const PROGRAM: u64 = 40_000_000;

const FEW_REPORTS: &str = r#"{"n":3,"counts":[{"y":0,"count":2},{"y":1,"count":1}]}"#;

/// So many parts of a mixture.
fn mixture(count: usize, part: impl Fn(usize) -> String) -> String {
    let weights = vec![(1.0 / count as f64).to_string(); count].join(",");
    let parts = (0..count).map(part).collect::<Vec<_>>().join(",");
    format!(r#"{{"kind":"mixture","weights":[{weights}],"parts":[{parts}]}}"#)
}

fn composition(a: usize, epsilon: f64) -> String {
    let grr = |epsilon: f64| format!(r#"{{"kind":"grr","a":{a},"epsilon":{epsilon}}}"#);
    format!(r#"{{"kind":"composition","steps":[{},{}]}}"#, grr(epsilon), grr(2.0))
}

/// Requests of less than 2 KB that took 4 to 20 GB, or were never done.
#[test]
fn short_requests_do_not_take_much() {
    let responses =
        mixture(20, |i| format!(r#"{{"kind":"grr","a":16777216,"epsilon":{}}}"#, 1.0 + i as f64 / 10.0));
    let compositions = mixture(8, |i| composition(4096, 1.0 + i as f64 / 10.0));
    let protocols = [
        "subset:a=16777216,k=8000000,eps=1",
        "oue:a=16777216,eps=1",
        "lh:a=16777216,g=3,eps=1",
        "subset:a=16777216,eps=1",
        "lh:a=16777216,eps=1",
        &responses,
        &compositions,
    ];
    let of_protocols = protocols.iter().flat_map(|p| [vec!["metrics", "-p", p], vec!["describe", "-p", p]]);
    let others = [
        vec!["metrics", "-p", "grr:a=3,eps=1", "--n", "1e15"],
        vec![
            "posterior",
            "-p",
            "grr:a=3,eps=1",
            "-t",
            FEW_REPORTS,
            "--grid",
            "1000000000",
            "--format",
            "json",
        ],
        vec!["estimate", "-p", "grr:a=16777216,eps=1", "-t", FEW_REPORTS, "-e", "all"],
        vec!["choose", "--a", "16777216", "--n", "100000", "--epsilon", "1"],
    ];
    for request in of_protocols.chain(others) {
        let limits = ["--max-memory", "2GB", "--time-limit", "20"];
        let taken = run(&[&request[..], &limits].concat());
        let said = format!("{:.60?}: {:?} {:.300}", request, taken.code, taken.errors);
        assert!(taken.time < Duration::from_secs(23), "{said}");
        assert!(taken.peak.is_none_or(|peak| peak < 2_000_000_000), "{:?} {said}", taken.peak);
        match taken.code {
            Some(0) => assert!(!taken.output.is_empty(), "{said}"),
            Some(2) => {
                assert!(taken.errors.contains("would take about"), "{said}");
                assert!(
                    taken.errors.contains("at most 2 GB is allowed") && taken.errors.contains("--max-memory"),
                    "{said}"
                );
            }
            _ => assert!(taken.errors.contains("not finished within the 20 s of --time-limit"), "{said}"),
        }
    }
}

/// One metric is too large, and the others are told.
#[test]
fn a_metric_that_would_take_too_much_is_left_out() {
    let taken = run(&["metrics", "-p", "oue:a=1000000,eps=1", "-m", "s_mu,u_as", "--max-memory", "100MB"]);
    assert_eq!(taken.code, Some(0), "{}", taken.errors);
    assert!(taken.output.contains("at most 100 MB is allowed"), "{}", taken.output);
    let leaked = ["metrics", "-p", "oue:a=10000,eps=1", "--n", "100000", "-m", "i_y_x_given_p"];
    assert_eq!(run(&[&leaked[..], &["--max-memory", "100MB"]].concat()).code, Some(0));
    let refused = run(&["metrics", "-p", "oue:a=1000000,eps=1", "-m", "u_as", "--max-memory", "100MB"]);
    assert_eq!((refused.code, refused.output.as_str()), (Some(2), ""), "{}", refused.errors);
}

/// Computations of a minute or more, each of another kind.
const LONG: &[&[&str]] = &[
    &["users", "-p", "oue:a=16,eps=2", "--digits", "1", "--method", "monte-carlo", "--tolerance", "1e-4"],
    &["metrics", "-p", "oue:a=1024,eps=1", "--n", "1000", "--method", "monte-carlo"],
    &["metrics", "-p", "subset:a=4096,k=1000,eps=1"],
    &[
        "metrics",
        "-p",
        "grr:a=3,eps=1",
        "--n",
        "1e6",
        "-m",
        "i_y_p",
        "--method",
        "monte-carlo",
        "--tolerance",
        "1e-5",
    ],
    &["metrics", "-p", "lh:a=100000,eps=1", "-m", "u_as"],
    &["split", "-p", "oue:a=64,eps=1", "--n", "10000", "--method", "monte-carlo", "--tolerance", "1e-3"],
    &["posterior", "-p", "grr:a=65536,eps=1", "-t", FEW_REPORTS],
    &[
        "posterior",
        "-p",
        "oue:a=2000,eps=1",
        "-t",
        r#"{"n":2,"counts":[{"y":[0,5],"count":1},{"y":[1],"count":1}]}"#,
    ],
    &["estimate", "-p", "grr:a=65536,eps=1", "-t", FEW_REPORTS, "-e", "posterior_mean"],
    &["design", "--a", "6", "-r", "dirichlet:alpha=5/10/20/3/8/2", "--min-average-privacy", "0.95"],
    &[
        "choose",
        "--a",
        "64",
        "--n",
        "100000",
        "--epsilon",
        "1",
        "--decimal-digits",
        "1",
        "--method",
        "monte-carlo",
    ],
    &[
        "compare",
        "-p",
        "oue:a=32,eps=1",
        "subset:a=32,eps=1",
        "--n",
        "1000",
        "--sweep",
        "epsilon=0.1..8:40",
        "-m",
        "u_digit",
        "--method",
        "monte-carlo",
    ],
    &["accuracy", "-p", "oue:a=256,eps=1", "--n", "1000000", "-e", "ml", "--worst"],
];

/// By its own checks: whoever does not look at the flag is ended two seconds later, which is too late here.
#[test]
fn a_run_ends_when_its_time_is_over() {
    for request in LONG {
        let taken = run(&[request, &["--time-limit", "2"][..]].concat());
        let said = format!("{request:?} took {:?}: {:?} {}", taken.time, taken.code, taken.errors);
        assert!(taken.time < Duration::from_millis(3500), "{said}");
        match taken.code {
            Some(0) => assert!(!taken.output.is_empty(), "{said}"),
            Some(1) => {
                assert!(taken.errors.contains("not finished within the 2 s of --time-limit"), "{said}")
            }
            _ => panic!("{said}"),
        }
    }
}

#[test]
fn a_file_is_for_complete_results() {
    let desk = tempfile::tempdir().unwrap();
    let file = desk.path().join("metrics.json");
    let path = file.to_str().unwrap();
    let taken = run(&["metrics", "-p", "subset:a=4096,k=1000,eps=1", "--time-limit", "1", "-o", path]);
    assert_eq!(taken.code, Some(1), "{}", taken.errors);
    assert!(taken.errors.contains("metrics.json was not written"), "{}", taken.errors);
    assert!(taken.output.contains("stopped before it was computed"), "{}", taken.output);
    assert_eq!(std::fs::read_dir(desk.path()).unwrap().count(), 0);
}

/// What reads from a pipe that stays open cannot look at the flag, and is ended nevertheless.
#[test]
fn a_reader_that_waits_is_ended_too() {
    let desk = tempfile::tempdir().unwrap();
    let path = desk.path().join("tallies.json");
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("sottovoce"));
    command.args(["tally", "-p", "grr:a=3,eps=1", "-", "--time-limit", "1", "-o"]).arg(&path);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let _open = child.stdin.take();
    let taken = wait(child);
    assert_eq!(taken.code, Some(1), "{}", taken.errors);
    assert!(taken.time < Duration::from_secs(5), "{:?}", taken.time);
    assert!(taken.errors.contains("not finished within the 1 s of --time-limit"), "{}", taken.errors);
    assert_eq!(std::fs::read_dir(desk.path()).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn ctrl_c_is_heard_within_a_second() {
    for request in LONG {
        let child = start(request);
        std::thread::sleep(Duration::from_millis(1500));
        let pressed = Instant::now();
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let taken = wait(child);
        let said = format!("{request:?}: {:?} {}", taken.code, taken.errors);
        assert_eq!(taken.code, Some(130), "{said}");
        assert!(pressed.elapsed() < Duration::from_millis(1500), "{:?} {said}", pressed.elapsed());
    }
}

/// The bound of a job, on two threads.
fn bound(job: impl Fn() -> f64 + Sync + Send) -> f64 {
    Stop::new().run(Some(2), job).unwrap()
}

fn of_metric(protocol: &str, metric: Metric, users: Option<u64>) -> f64 {
    let named = read_protocol(protocol).unwrap().check(&PriorSpec::Jeffreys).unwrap();
    let prior = read_prior("jeffreys").unwrap().check(named.protocol.inputs()).unwrap();
    bound(|| {
        protocol_bytes(&named.protocol)
            + metric_bytes(&named.protocol, &prior, metric, users, Choice::Automatic)
    })
}

fn of_protocol(protocol: &str, bytes: impl Fn(&sottovoce_job::Protocol) -> f64 + Sync + Send) -> f64 {
    let named = read_protocol(protocol).unwrap().check(&PriorSpec::Jeffreys).unwrap();
    bound(|| protocol_bytes(&named.protocol) + bytes(&named.protocol))
}

/// The bounds are above what is measured, and not so far above that what would do no harm is refused.
#[test]
fn bounds_of_memory_hold() {
    let composed = composition(1024, 1.0);
    let utility = Metric::AsymptoticUtility;
    let cases: Vec<(f64, Vec<&str>)> = vec![
        (
            of_metric("oue:a=131072,eps=1", utility, None),
            vec!["metrics", "-p", "oue:a=131072,eps=1", "-m", "u_as"],
        ),
        (
            of_metric("oue:a=131072,eps=5", utility, None),
            vec!["metrics", "-p", "oue:a=131072,eps=5", "-m", "u_as"],
        ),
        (
            of_metric("subset:a=16384,k=4000,eps=1", utility, None),
            vec!["metrics", "-p", "subset:a=16384,k=4000,eps=1", "-m", "u_as"],
        ),
        (
            of_metric("subset:a=16384,k=10,eps=8", utility, None),
            vec!["metrics", "-p", "subset:a=16384,k=10,eps=8", "-m", "u_as"],
        ),
        // Of all metrics of one report, the tally constant takes most.
        (of_metric(&composed, Metric::TallyConstant, None), vec!["metrics", "-p", &composed]),
        (
            of_metric("oue:a=16,eps=1", Metric::AggregatorTally, Some(100_000)),
            vec!["metrics", "-p", "oue:a=16,eps=1", "--n", "1e5", "-m", "i_y_p,i_y_t"],
        ),
        (
            of_metric("grr:a=3,eps=1", Metric::AggregatorDistribution, Some(10_000_000_000)),
            vec![
                "metrics",
                "-p",
                "grr:a=3,eps=1",
                "--n",
                "1e10",
                "-m",
                "i_y_p",
                "--method",
                "monte-carlo",
                "--tolerance",
                "1e-5",
            ],
        ),
        (
            of_protocol("grr:a=131072,eps=1", |p| estimate_bytes(p, 3)),
            vec!["estimate", "-p", "grr:a=131072,eps=1", "-t", FEW_REPORTS, "-e", "linear,norm_sub,clip"],
        ),
        (
            of_protocol("grr:a=3,eps=1", |p| posterior_bytes(p, 3, 0, 400_000)),
            vec![
                "posterior",
                "-p",
                "grr:a=3,eps=1",
                "-t",
                FEW_REPORTS,
                "--grid",
                "400000",
                "--format",
                "json",
            ],
        ),
        (
            of_protocol("oue:a=256,eps=1", |p| accuracy_bytes(p, 100_000, false)),
            vec!["accuracy", "-p", "oue:a=256,eps=1", "--n", "100000", "-e", "ml"],
        ),
    ];
    for (bound, request) in cases {
        // Estimates are found on one thread, and take no number of them.
        let threads: &[&str] = if request[0] == "estimate" { &[] } else { &["--threads", "2"] };
        let limits = ["--time-limit", "8", "--max-memory", "100GB"];
        let taken = run(&[&request[..], threads, &limits].concat());
        let Some(peak) = taken.peak else {
            println!("skipped: this system does not tell how much memory a process has held");
            return;
        };
        let grown = peak.saturating_sub(PROGRAM) as f64;
        println!("{:>6.0} MB measured, {:>6.0} MB bound, {request:.50?}", peak as f64 / 1e6, bound / 1e6);
        assert!(grown <= bound, "{peak} bytes measured, {bound} foretold: {request:?} {}", taken.errors);
        assert!(
            bound <= 20.0 * peak.max(PROGRAM) as f64,
            "{peak} bytes measured, {bound} foretold: {request:?}"
        );
    }
}
