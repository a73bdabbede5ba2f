//! The collection: reports a second of processor time against a baseline in floating point, and tallies from files.

use std::fs::File;
use std::hint::black_box;

use rand::{Rng, RngExt, SeedableRng};
use sottovoce::Protocol;
use sottovoce_collect::files::FileFormat;
use sottovoce_collect::files::inputs::Input;
use sottovoce_collect::files::report_reader::ReportFile;
use sottovoce_collect::files::report_writer::ReportWriter;
use sottovoce_collect::header::Header;
use sottovoce_collect::randomise::{Batches, Generator, Randomiser, Randomness, Words};
use sottovoce_collect::{Form, Identity, Tally};
use stopwatch::{busy, once, peak_memory, quotable, ratio, two_digits};

fn main() {
    println!("Randomising, a second of one core, ChaCha12 keyed by the operating system");
    against_floats("grr", "GRR, a = 64", &Protocol::grr(64, 1.0).unwrap(), 1 << 20, 1.0);
    against_floats("oue", "OUE, a = 128", &Protocol::oue(128, 1.0).unwrap(), 1 << 17, 128.0);
    against_floats("oue_1024", "OUE, a = 1024, eps = 5", &Protocol::oue(1024, 5.0).unwrap(), 1 << 14, 1024.0);
    against_floats("lh", "LH, a = 1024, g = 4", &Protocol::lh(1024, 4, 1.0).unwrap(), 1 << 18, 1.0);
    against_floats(
        "subset",
        "subset, a = 1024, k = 276",
        &Protocol::subset(1024, 276, 1.0).unwrap(),
        1 << 13,
        1.0,
    );
    against_floyd(1024, 276, 1.0);
    against_floats("block", "block, a = 1024, v = 1365", &block_of_a_thousand(), 1 << 20, 1.0);
    against_floats("block_100000", "block, a = 10^5, eps = 1", &block_of_many(), 1 << 20, 1.0);
    println!("\nBits of a report, a = 1024, eps = 1");
    for (key, protocol) in [
        ("subset", Protocol::subset(1024, 276, 1.0).unwrap()),
        ("oue", Protocol::oue(1024, 1.0).unwrap()),
        ("lh", Protocol::lh(1024, 4, 1.0).unwrap()),
        ("block", block_of_a_thousand()),
    ] {
        let bits = 8 * Randomiser::new(&protocol).unwrap().layout().length();
        println!("  {key:<26} {bits:>6} bits as stored, {:.1} needed", protocol.report_bits());
        quotable(
            &format!("report_bits.{key}"),
            format!("{bits}"),
            &format!("bits of a report as it is stored: {key}, a = 1024, eps = 1"),
        );
    }
    let directory = std::env::temp_dir().join(format!("sottovoce-bench-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    println!("\nTallying from Parquet, processor time of all threads together");
    tally("10^7 GRR(64) reports", &Protocol::grr(64, 1.0).unwrap(), 10_000_000, Form::Automatic, &directory);
    tally(
        "10^6 OUE(128), supports",
        &Protocol::oue(128, 1.0).unwrap(),
        1_000_000,
        Form::Supports,
        &directory,
    );
    tally(
        "10^6 OUE(128), patterns",
        &Protocol::oue(128, 1.0).unwrap(),
        1_000_000,
        Form::Patterns,
        &directory,
    );
    tally("10^7 block(10^5) reports", &block_of_many(), 10_000_000, Form::Automatic, &directory);
    tally(
        "10^5 LH(1024, 4), supports",
        &Protocol::lh(1024, 4, 1.0).unwrap(),
        100_000,
        Form::Supports,
        &directory,
    );
    let _ = std::fs::remove_dir_all(directory);
}

/// Block designs for 1024 and for 100,000 values at epsilon = 1.
fn block_of_a_thousand() -> Protocol {
    Protocol::block(1024, 1365, 341, 1.0).unwrap()
}

fn block_of_many() -> Protocol {
    Protocol::block(100_000, 349_525, 87_381, 1.0).unwrap()
}

/// Subset selection by Floyd's method, which draws the members one by one: what the sampler did before it began from words of bits.
fn against_floyd(a: usize, k: usize, epsilon: f64) {
    /// The least ratio that is acceptable.
    const LEAST: f64 = 5.0;
    let reports = 1 << 15;
    let randomiser = Randomiser::new(&Protocol::subset(a, k, epsilon).unwrap()).unwrap();
    let mut bytes = vec![0; randomiser.layout().length()];
    let mut generator = Generator::new(Randomness::System, 0).unwrap();
    let words = busy(|| {
        for i in 0..reports {
            randomiser.report_into(i % a, &mut generator, &mut bytes).unwrap();
            black_box(&bytes);
        }
    });
    let inclusion = 1.0 / (1.0 + (a - k) as f64 / k as f64 * (-epsilon).exp());
    let threshold = (inclusion * 2f64.powi(64)) as u64;
    let floyd = busy(|| {
        for i in 0..reports / 8 {
            one_by_one(i % a, a, k, threshold, &mut generator, &mut bytes);
            black_box(&bytes);
        }
    }) * 8;
    let faster = ratio(floyd, words);
    println!("  subset, a = {a}, k = {k}: {faster:.1} times Floyd's method");
    quotable(
        "randomise.subset_against_floyd",
        format!("{faster:.1}"),
        "how many times as many reports of subset selection as by Floyd's method: a = 1024, k = 276",
    );
    assert!(faster >= LEAST, "{faster} times Floyd's method, at least {LEAST} wanted");
}

fn one_by_one(x: usize, a: usize, k: usize, threshold: u64, generator: &mut Generator, bytes: &mut [u8]) {
    let own = generator.word() < threshold;
    let (others, wanted) = (a - 1, k - usize::from(own));
    let other = |y: usize| if y < x { y } else { y + 1 };
    bytes.fill(0);
    for last in others - wanted..others {
        let drawn = other(generator.below(last as u64 + 1) as usize);
        let member = if bytes[drawn / 8] >> (drawn % 8) & 1 == 1 { other(last) } else { drawn };
        bytes[member / 8] |= 1 << (member % 8);
    }
    bytes[x / 8] |= u8::from(own) << (x % 8);
}

/// The exact sampler into bytes, and the sampler for simulations, which compares doubles, from the same kind of generator.
fn against_floats(key: &str, name: &str, protocol: &Protocol, reports: usize, parts: f64) {
    let randomiser = Randomiser::new(protocol).unwrap();
    let mut bytes = vec![0; randomiser.layout().length()];
    let mut generator = Generator::new(Randomness::System, 0).unwrap();
    let a = protocol.inputs();
    let exact = busy(|| {
        for i in 0..reports {
            randomiser.report_into(i % a, &mut generator, &mut bytes).unwrap();
            black_box(&bytes);
        }
    });
    let mut rng = chacha20::ChaCha12Rng::seed_from_u64(1);
    let sample = reports / 16;
    let floats = busy(|| {
        for i in 0..sample {
            black_box(protocol.sample(i % a, &mut rng as &mut dyn Rng).unwrap());
        }
    }) * 16;
    let rate = reports as f64 / exact.as_secs_f64();
    let unit = if parts > 1.0 { format!(", {:.2} G bits/s", rate * parts / 1e9) } else { String::new() };
    println!(
        "  {name:<26} {:>8.2} M reports/s{unit}; {:.1} times the sampler of doubles",
        rate / 1e6,
        ratio(floats, exact)
    );
    quotable(
        &format!("randomise.{key}"),
        format!("{} million", two_digits(rate / 1e6)),
        &format!("reports a second of one core: {name}"),
    );
    quotable(
        &format!("randomise.{key}_against_doubles"),
        format!("{:.1}", ratio(floats, exact)),
        &format!("how many times as many reports as by comparing doubles: {name}"),
    );
    black_box(rng.random::<u64>());
}

fn tally(name: &str, protocol: &Protocol, reports: usize, form: Form, directory: &std::path::Path) {
    let path = directory.join("reports.parquet");
    let identity = Identity::new("{}".into());
    let randomiser = Randomiser::new(protocol).unwrap();
    let (write, ()) = once(|| {
        let header = Header::new(&identity, Some(1));
        let file = File::create(&path).unwrap();
        let mut writer =
            ReportWriter::new(file, FileFormat::Parquet, randomiser.layout().clone(), &header).unwrap();
        let mut batches = Batches::new(&randomiser, Randomness::InsecureTestSeed(1));
        let values: Vec<usize> = (0..1 << 16).map(|i| i % protocol.inputs()).collect();
        for start in (0..reports).step_by(values.len()) {
            writer.write(&batches.reports(&values[..values.len().min(reports - start)]).unwrap()).unwrap();
        }
        writer.finish().unwrap();
    });
    let input = [Input::File(path)];
    let count = || {
        let mut tally = Tally::new(protocol, form);
        tally.add(input.iter().map(ReportFile::open), &identity, &sottovoce::unobserved).unwrap();
        assert_eq!(tally.n, reports as u64);
    };
    let time = busy(count);
    let hashes = match protocol {
        Protocol::LocalHash(_) => {
            let evaluations = reports as f64 * protocol.inputs() as f64 / time.as_secs_f64();
            let millions = format!("{} million", two_digits(evaluations / 1e6));
            quotable("tally.lh_hashes", millions, "hashes a second when reports of local hash are tallied");
            format!(", {:.0} M hashes/s", evaluations / 1e6)
        }
        _ => String::new(),
    };
    if let Protocol::GeneralisedRandomisedResponse(_) = protocol {
        let millions = format!("{} million", two_digits(reports as f64 / time.as_secs_f64() / 1e6));
        quotable(
            "tally.grr",
            millions,
            "reports of GRR(64) a second of processor time, tallied from Parquet",
        );
    }
    let memory =
        peak_memory().map_or_else(String::new, |mb| format!("; peak of the process so far {mb:.0} MB"));
    println!(
        "  {name:<28} {time:>9.1?}, {:.1} M reports/s{hashes} (randomised and written in {write:.1?}){memory}",
        reports as f64 / time.as_secs_f64() / 1e6
    );
}
