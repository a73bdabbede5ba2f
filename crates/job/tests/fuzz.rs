//! Fuzzers: files of reports, values, tallies and specifications that were changed at random.
//!
//! What may come of a changed file: it is refused, or it says what the whole one said. Nothing panics, no number is wrong without a word,
//! and memory stays bounded. The seed is fixed: a run finds the same each time. The quick form takes half a minute to a minute on two
//! processors, that with `SOTTOVOCE_FULL` forty times as long. `SOTTOVOCE_FUZZ_SEED` gives other cases.

use std::fs;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use chacha20::ChaCha12Rng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use sottovoce_job::source::Written;
use sottovoce_job::spec::{PriorSpec, ProtocolSpec};
use sottovoce_job::{
    EstimateRequest, FormChoice, MergeRequest, OnError, RandomiseRequest, TallyRequest, read_prior,
    read_protocol, unobserved,
};

const GRR: &str = "grr:a=3,eps=1,labels=red/green/blue";

/// How many changed files of each kind.
fn rounds(quick: usize) -> usize {
    if std::env::var_os("SOTTOVOCE_FULL").is_some() { 40 * quick } else { quick }
}

fn generator(stream: u64) -> ChaCha12Rng {
    let seed = std::env::var("SOTTOVOCE_FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20);
    let mut generator = ChaCha12Rng::seed_from_u64(seed);
    generator.set_stream(stream);
    generator
}

/// Pieces that mean something to some reader.
const WORDS: [&[u8]; 24] = [
    b"\"",
    b"\n",
    b"\r\n",
    b",",
    b"#",
    b"{",
    b"}",
    b"[",
    b"]",
    b"null",
    b"true",
    b"-1",
    b"1e999",
    b"0",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"PAR1",
    b"\x1f\x8b\x08",
    b"\x28\xb5\x2f\xfd",
    b"report",
    b"99999999999999999999",
    b"\"count\":",
    b"insecure",
];

/// A file with one to four changes.
fn mutated(whole: &[u8], others: &[Vec<u8>], draw: &mut ChaCha12Rng) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for _ in 0..draw.random_range(1..=4) {
        let at = draw.random_range(0..=bytes.len());
        let end = (at + draw.random_range(0..20)).min(bytes.len());
        match draw.random_range(0..10) {
            0..3 if at < bytes.len() => bytes[at] ^= 1 << draw.random_range(0..8),
            3 if at < bytes.len() => bytes[at] = draw.random(),
            4 => drop(bytes.drain(at..end)),
            5 => bytes.truncate(at),
            6 => {
                let copied = bytes[at..end].to_vec();
                bytes.splice(at..at, copied);
            }
            7 => {
                let word = WORDS[draw.random_range(0..WORDS.len())];
                bytes.splice(at..at, word.iter().copied());
            }
            8 => {
                let word = WORDS[draw.random_range(0..WORDS.len())];
                bytes.splice(at..end, word.iter().copied());
            }
            _ => {
                let other = &others[draw.random_range(0..others.len())];
                let from = draw.random_range(0..=other.len());
                let to = (from + draw.random_range(0..200)).min(other.len());
                bytes.splice(at..end, other[from..to].iter().copied());
            }
        }
    }
    bytes
}

/// Runs something that must not panic; what was changed is kept if it does.
fn calmly<T>(bytes: &[u8], run: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        panic!("a panic; the file is kept as {}", keep(bytes).display());
    })
}

/// The most memory that this process has had, in MiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// All tests of this file together: readers hold some MiB, and the largest buffers of the generators of cases some hundred.
const MOST_MEMORY: u64 = 1200;

/// A directory with values, reports in every format, and tallies.
struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        // Files are brought to the disk when they are complete, which takes its time where it is one.
        let memory = std::path::Path::new("/dev/shm");
        let directory = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let bench = Bench { directory: directory.unwrap() };
        let rows: String = (0..60).map(|i| format!("{},{}\n", i, ["red", "green", "blue"][i % 3])).collect();
        fs::write(bench.path("v.csv"), format!("id,value\n{rows}")).unwrap();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn randomise(&self, protocol: &str, values: &str, output: &str, skip: bool) -> sottovoce_job::Result<()> {
        let request = RandomiseRequest {
            on_error: if skip { OnError::Skip } else { OnError::Stop },
            insecure_test_seed: Some(3),
            ..RandomiseRequest::of(read_protocol(protocol)?, &self.name(values), self.path(output))
        };
        request.check()?.run(&unobserved).map(drop)
    }

    fn tally(&self, protocol: Option<&str>, reports: &[&str], output: &str) -> sottovoce_job::Result<Value> {
        let reports = reports.iter().map(|name| self.name(name)).collect();
        let protocol = protocol.map(read_protocol).transpose()?;
        let request = TallyRequest { protocol, ..TallyRequest::of(reports, self.path(output)) };
        request.check()?.run(&unobserved)?;
        Ok(self.json(output))
    }

    fn merge(&self, tallies: &[&str], output: &str) -> sottovoce_job::Result<Value> {
        let tallies = tallies.iter().map(|name| self.name(name)).collect();
        MergeRequest::of(tallies, self.path(output)).check()?.run(&unobserved)?;
        Ok(self.json(output))
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.path(name)).unwrap()).unwrap()
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }
}

/// The protocols whose reports are changed: numbers, sets, hashes, combinations.
const PROTOCOLS: [&str; 5] = [
    GRR,
    "block:a=3,v=7,k=3,eps=1,labels=red/green/blue",
    "oue:a=3,eps=1,labels=red/green/blue",
    "lh:a=3,g=2,eps=1,labels=red/green/blue",
    r#"{"kind":"mixture","weights":[0.5,0.5],"parts":[{"kind":"grr","a":3,"epsilon":1},{"kind":"subset","a":3,"k":2,"epsilon":1}],"labels":["red","green","blue"]}"#,
];

/// Whether the bytes hold a text.
fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

/// What tallies say beside how many lines were no reports, and the digest of it all.
fn counted(tallies: &Value) -> Value {
    let mut counted = tallies.clone();
    let all = counted.as_object_mut().unwrap();
    ["rejected", "digest"].iter().for_each(|key| drop(all.remove(*key)));
    counted
}

/// Keeps a case that should not be.
fn keep(bytes: &[u8]) -> PathBuf {
    let kept = std::env::temp_dir().join("sottovoce-fuzz-case");
    fs::write(&kept, bytes).unwrap();
    kept
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstandard(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

/// How a file of this name is compressed.
fn packed(name: &str) -> fn(&[u8]) -> Vec<u8> {
    match name.rsplit_once('.') {
        Some((_, "gz")) => gzip,
        Some((_, "zst")) => zstandard,
        _ => <[u8]>::to_vec,
    }
}

/// Reports with an end: whatever changes, they are refused or give the same tallies, the mark of the test seed included. Two changes may make a
/// file of version 1 of it, which has no end; and of a file that has lost its header too, so that it is read only because the user names the
/// protocol, some lines are rejected, which is told.
#[test]
fn changed_reports_are_refused_or_counted_right() {
    let (bench, mut draw) = (Bench::new(), generator(1));
    let (mut kept, mut refused) = (0, 0);
    for protocol in PROTOCOLS {
        for format in ["csv", "jsonl", "parquet", "csv.gz", "jsonl.zst", "parquet.gz"] {
            let (packed, name) = (packed(format), format!("r.{}", format.split('.').next().unwrap()));
            bench.randomise(protocol, "v.csv", &name, false).unwrap();
            let expected = bench.tally(Some(protocol), &[&name], "t.json").unwrap();
            assert_eq!((&expected["n"], &expected["insecure"]), (&60.into(), &true.into()));
            let plain = bench.bytes(&name);
            let others = [bench.bytes("v.csv"), bench.bytes("t.json"), plain.clone()];
            for _ in 0..rounds(7500) {
                // What is compressed is changed before or after it is.
                let bytes = match draw.random() {
                    true => packed(&mutated(&plain, &others, &mut draw)),
                    false => mutated(&packed(&plain), &others, &mut draw),
                };
                fs::write(bench.path("bad"), &bytes).unwrap();
                let given = Some(protocol).filter(|_| draw.random());
                let found = calmly(&bytes, || bench.tally(given, &["bad"], "b.json"));
                let Ok(found) = found else {
                    refused += 1;
                    continue;
                };
                kept += 1;
                let same = counted(&found) == counted(&expected);
                let told = given.is_some() && !found["rejected"].is_null();
                let allowed = told || holds(&bytes, "\"version\":1");
                assert!(same || allowed, "{protocol}, {}: {found}", keep(&bytes).display());
            }
        }
    }
    assert!(kept > 50 && refused > kept, "{kept} kept, {refused} refused");
    assert!(peak() < MOST_MEMORY, "{} MiB", peak());
}

/// Values: refused, or as many reports as there are rows, and those can be tallied.
#[test]
fn changed_values_are_refused_or_become_reports() {
    let (bench, mut draw) = (Bench::new(), generator(2));
    let json: String = (0..60).map(|i| format!("{{\"id\": {i}, \"value\": {}}}\n", i % 3)).collect();
    let single = format!("value\n{}", "red\n \"green\"\n2\n".repeat(20));
    let files = [
        bench.bytes("v.csv"),
        json.clone().into_bytes(),
        single.into_bytes(),
        gzip(json.as_bytes()),
        zstandard(&bench.bytes("v.csv")),
        parquet_values(),
    ];
    let (mut kept, mut refused) = (0, 0);
    for whole in &files {
        for _ in 0..rounds(25_000) {
            let bytes = mutated(whole, &files, &mut draw);
            fs::write(bench.path("bad"), &bytes).unwrap();
            let skip = draw.random();
            match calmly(&bytes, || bench.randomise(GRR, "bad", "r.csv", skip)) {
                Ok(()) => {
                    kept += 1;
                    let n = bench.tally(None, &["r.csv"], "t.json").unwrap()["n"].as_u64().unwrap();
                    // Repeated parts and values that an insertion cut in two, at four changes.
                    assert!(n <= 60 + 4 * 40, "{n}: {}", keep(&bytes).display());
                }
                Err(error) => {
                    refused += 1;
                    assert!(!error.to_string().contains("green"), "{error}");
                }
            }
        }
    }
    assert!(kept > 100 && refused > 100, "{kept} kept, {refused} refused");
    assert!(peak() < MOST_MEMORY, "{} MiB", peak());
}

fn parquet_values() -> Vec<u8> {
    let rows: Vec<Vec<f64>> = (0..60).map(|i| vec![f64::from(i % 3)]).collect();
    sottovoce_collect::files::number_table::parquet_table(&["value".to_owned()], &rows).unwrap()
}

/// Tallies: refused, or the same as before. Without their digest, which may be left out, they need only be tallies.
#[test]
fn changed_tallies_are_refused_or_the_same() {
    let (bench, mut draw) = (Bench::new(), generator(3));
    let (mut kept, mut refused) = (0, 0);
    for (protocol, form) in PROTOCOLS.iter().zip([
        FormChoice::Patterns,
        FormChoice::Supports,
        FormChoice::Patterns,
        FormChoice::Patterns,
    ]) {
        bench.randomise(protocol, "v.csv", "r.csv", false).unwrap();
        let request = TallyRequest::of(vec![bench.name("r.csv")], bench.path("t.json"));
        TallyRequest { form, ..request }.check().unwrap().run(&unobserved).unwrap();
        let whole = bench.bytes("t.json");
        let expected = bench.merge(&["t.json"], "m.json").unwrap();
        let others = [bench.bytes("r.csv"), bench.bytes("v.csv"), whole.clone()];
        for _ in 0..rounds(36_000) {
            let bytes = mutated(&whole, &others, &mut draw);
            fs::write(bench.path("bad"), &bytes).unwrap();
            let sealed = holds(&bytes, "\"digest\": \"")
                && expected["digest"].as_str().is_some_and(|seal| holds(&bytes, seal));
            let merged = calmly(&bytes, || bench.merge(&["bad"], "b.json"));
            let estimated = calmly(&bytes, || {
                let request = EstimateRequest::of(read_protocol(GRR).unwrap(), bench.name("bad").as_str());
                EstimateRequest { protocol: None, ..request }.check()?.run(&unobserved)
            });
            match merged {
                Ok(found) => {
                    kept += 1;
                    assert!(!sealed || found == expected, "{protocol}, {}: {found}", keep(&bytes).display());
                    assert!(!sealed || estimated.is_ok_and(|report| report.n == 60));
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(kept > 20 && refused > kept, "{kept} kept, {refused} refused");
    assert!(peak() < MOST_MEMORY, "{} MiB", peak());
}

/// Specifications, as JSON, TOML and shorthand: refused, or a protocol or prior that is written and read again as itself.
#[test]
fn changed_specifications_are_refused_or_read_again() {
    let (bench, mut draw) = (Bench::new(), generator(4));
    let files: Vec<Vec<u8>> = SPECIFICATIONS.iter().map(|text| text.as_bytes().to_vec()).collect();
    let (mut kept, mut refused) = (0, 0);
    for whole in &files {
        for _ in 0..rounds(9000) {
            let bytes = mutated(whole, &files, &mut draw);
            let (text, file) = (
                String::from_utf8_lossy(&bytes).into_owned(),
                ["s.json", "s.toml"][usize::from(draw.random::<bool>())],
            );
            fs::write(bench.path(file), &bytes).unwrap();
            let name = bench.name(file);
            // A word could be the name of a file, or `-`, which waits for standard input.
            let arguments =
                [Some(name.as_str()), Some(text.as_str()).filter(|text| text.contains([':', '{']))];
            for argument in arguments.into_iter().flatten() {
                match calmly(&bytes, || protocol(argument)) {
                    Some(()) => kept += 1,
                    None => refused += 1,
                }
                calmly(&bytes, || {
                    read_prior(argument).map(|prior: Written<PriorSpec>| drop(prior.check(3))).ok()
                });
            }
        }
    }
    assert!(kept > 10 && refused > 100, "{kept} kept, {refused} refused");
    assert!(peak() < MOST_MEMORY, "{} MiB", peak());
}

/// Reads and checks a protocol; what is valid is written and read as itself.
fn protocol(argument: &str) -> Option<()> {
    let written: Written<ProtocolSpec> = read_protocol(argument).ok()?;
    let named = written.check(&PriorSpec::Jeffreys).ok()?;
    let again = serde_json::to_string(&named.spec).unwrap();
    let again = read_protocol(&again).unwrap().check(&PriorSpec::Jeffreys).unwrap();
    assert_eq!(again.spec, named.spec);
    assert!(again.protocol == named.protocol);
    Some(())
}

/// Specifications with all sizes named: what is left out is searched for, which takes its time.
const SPECIFICATIONS: [&str; 13] = [
    GRR,
    "block:a=6,v=7,k=3,eps=1",
    "subset:a=6,k=2,eps=1",
    "lh:a=16,g=4,eps=0.5",
    "matrix:rows=0.7/0.3//0.3/0.7",
    "deterministic:map=0/0/1",
    "dirichlet:alpha=1/2/3",
    r#"{"kind":"ue","a":8,"kappa":0.7,"lambda":0.2}"#,
    r#"{"kind":"product","factors":[{"kind":"erasure","a":3,"reveal":0.5},{"kind":"oue","a":3,"epsilon":1}]}"#,
    r#"{"kind":"composition","steps":[{"kind":"grr","a":3,"epsilon":1.5},{"kind":"matrix","rows":[[0.5,0.25,0.25],[0.5,0.75,0.75]]}]}"#,
    r#"{"kind":"mixture","weights":[0.25,0.75],"parts":[{"kind":"identity","a":2,"labels":["no","yes"]},{"kind":"blh","a":2,"epsilon":2}]}"#,
    "kind = \"rappor\"\na = 4\nepsilon = 1.0\nlabels = [\"a\", \"b\", \"c\", \"d\"]\n",
    r#"{"kind":"points","weights":[0.5,0.5],"points":[[0.2,0.3,0.5],[0.6,0.3,0.1]]}"#,
];
