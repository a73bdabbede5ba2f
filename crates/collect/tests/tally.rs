//! Tallies of files large enough to be read in parallel, against counts made while they were written.

use std::fs::File;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use sottovoce::protocol::bucket;
use sottovoce::{Output, Progress, Protocol};
use sottovoce_collect::files::FileFormat;
use sottovoce_collect::files::inputs::Input;
use sottovoce_collect::files::report_reader::ReportFile;
use sottovoce_collect::files::report_writer::ReportWriter;
use sottovoce_collect::header::Header;
use sottovoce_collect::randomise::{Batches, Randomiser, Randomness};
use sottovoce_collect::tally::Counts;
use sottovoce_collect::{Error, Form, Identity, Tally};

/// Writes reports, and gives them as bytes too.
fn reports(protocol: &Protocol, format: FileFormat, n: usize, path: &std::path::Path) -> Vec<u8> {
    let randomiser = Randomiser::new(protocol).unwrap();
    let values: Vec<usize> = (0..n).map(|i| i % protocol.inputs()).collect();
    let bytes = Batches::new(&randomiser, Randomness::InsecureTestSeed(4)).reports(&values).unwrap();
    let header = Header::new(&Identity::new("{}".into()), Some(4));
    let file = File::create(path).unwrap();
    let mut writer = ReportWriter::new(file, format, randomiser.layout().clone(), &header).unwrap();
    writer.write(&bytes).unwrap();
    writer.finish().unwrap();
    bytes
}

fn tally(protocol: &Protocol, path: &std::path::Path, form: Form) -> Tally {
    let mut tally = Tally::new(protocol, form);
    let input = Input::File(path.to_owned());
    let files = [ReportFile::open(&input)].into_iter();
    tally.add(files, &Identity::new("{}".into()), &sottovoce::unobserved).unwrap();
    assert_eq!(tally.rejections.total(), 0);
    tally
}

/// Four groups of rows at once, several times: threads that shared a place in the file would read each other's bytes.
#[test]
fn groups_of_rows_are_read_at_once() {
    let (protocol, directory) = (Protocol::grr(64, 1.0).unwrap(), tempfile::tempdir().unwrap());
    for (format, name) in [(FileFormat::Parquet, "r.parquet"), (FileFormat::Csv, "r.csv")] {
        let path = directory.path().join(name);
        let bytes = reports(&protocol, format, 4_000_000, &path);
        let mut expected = vec![0u64; 64];
        bytes.iter().for_each(|y| expected[usize::from(*y)] += 1);
        for _ in 0..3 {
            let Counts::Numbers(counts) = tally(&protocol, &path, Form::Automatic).counts else { panic!() };
            assert_eq!(counts, expected);
        }
    }
}

/// An observer hears of the reports, and ends the counting in every format: then nothing is counted.
#[test]
fn an_observer_may_stop_the_counting() {
    let (protocol, directory) = (Protocol::grr(64, 1.0).unwrap(), tempfile::tempdir().unwrap());
    for (format, name) in
        [(FileFormat::Parquet, "r.parquet"), (FileFormat::Csv, "r.csv"), (FileFormat::JsonLines, "r.jsonl")]
    {
        let path = directory.path().join(name);
        reports(&protocol, format, 200_000, &path);
        let (mut tally, heard) = (Tally::new(&protocol, Form::Automatic), AtomicU64::new(0));
        let files = [ReportFile::open(&Input::File(path))].into_iter();
        let stop = |progress: &Progress| {
            let Progress::Counting { reports } = progress else { panic!("{progress:?}") };
            heard.fetch_max(*reports, Ordering::Relaxed);
            ControlFlow::Break(())
        };
        let stopped = tally.add(files, &Identity::new("{}".into()), &stop).unwrap_err();
        assert!(matches!(stopped, Error::Tallies(sottovoce::Error::Stopped)), "{stopped}");
        assert!(heard.into_inner() > 0 && tally.n == 0);
    }
}

#[test]
fn supports_of_local_hash_are_those_of_its_reports() {
    let (protocol, directory) = (Protocol::lh(50, 5, 1.0).unwrap(), tempfile::tempdir().unwrap());
    let path = directory.path().join("r.parquet");
    let bytes = reports(&protocol, FileFormat::Parquet, 20_000, &path);
    let layout = sottovoce_collect::Layout::of(&protocol);
    let mut expected = vec![0u64; 50];
    for report in bytes.chunks_exact(layout.length()) {
        let Output::Hash { seed, z } = layout.output(report) else { panic!() };
        (0..50).filter(|x| bucket(seed, *x, 5) == z).for_each(|x| expected[x] += 1);
    }
    let Counts::Supports(supports) = tally(&protocol, &path, Form::Supports).counts else { panic!() };
    assert_eq!(supports.counts(), expected);
}
