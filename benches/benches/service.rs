//! The service: acknowledged reports a second by the size of batches, with the clients on the same machine, and what a large store costs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sottovoce_job::read_protocol;
use sottovoce_server::{Ending, Listening, Place, Served, Settings, Token};
use stopwatch::{busy, full, once, peak_memory, quotable, ratio, two_digits};

/// Clients at once.
const CLIENTS: u64 = 4;

fn main() {
    let directory = std::env::temp_dir().join(format!("sottovoce-bench-{}", std::process::id()));
    println!("Acknowledged reports, {CLIENTS} clients on the same machine, GRR, a = 16, SQLite");
    let mut alone = Duration::ZERO;
    for size in [1, 100, 1000] {
        let place = directory.join(size.to_string());
        let (rate, each) = serving(&place, |address| load(address, size, Duration::from_secs(5)));
        alone = if size == 1 { each } else { alone };
        println!(
            "  batches of {size:<5} {rate:>9.0} a second, {:>7.1} µs of processor each, clients included ({} of batches of 1)",
            1e6 * each.as_secs_f64(),
            two_digits(ratio(each, alone))
        );
        quotable(
            &format!("service.rate.{size}"),
            format!("{rate:.0}"),
            &format!(
                "acknowledged reports a second in batches of {size}, {CLIENTS} clients on the same machine"
            ),
        );
    }
    if full() {
        large(&directory.join("large"));
    }
    println!("\nMemory of service and clients, at most: {:.0} MB", peak_memory().unwrap_or(f64::NAN));
    std::fs::remove_dir_all(&directory).expect("the directory is ours");
}

/// Ten million reports in one study: how fast the last of them come, and how long the service takes to start again.
fn large(place: &std::path::Path) {
    let n = 10_000_000;
    let filled = serving(place, |address| {
        let (mut next, start) = (0, Instant::now());
        let mut last = (0.0, Duration::ZERO);
        while next < n {
            last = load(address, 1000, Duration::from_secs(20));
            next = load_total();
        }
        println!("  {n} reports in {:.0} s; the last {:.0} a second", start.elapsed().as_secs_f64(), last.0);
        last
    });
    let (time, ()) = once(|| serving(place, |_| ()));
    println!(
        "  starting with them, and ending: {:.1} s ({:.0} a second before)",
        time.as_secs_f64(),
        filled.0
    );
}

/// What a service on a directory is good for.
fn serving<T>(place: &std::path::Path, work: impl FnOnce(SocketAddr) -> T) -> T {
    let protocol = read_protocol("grr:a=16,eps=1").expect("a protocol");
    let settings = Settings {
        served: Served::of_protocol(&protocol, None).expect("it can be served"),
        place: Place::Directory(place.to_owned()),
        address: ([127, 0, 0, 1], 0).into(),
        token: Token::random().expect("there is randomness"),
        rate: 1e9,
    };
    let listening = Listening::begin(settings).expect("it listens");
    let (address, ending) = (listening.address().expect("it has an address"), Ending::default());
    let asked = ending.clone();
    let service = thread::spawn(move || listening.run(&asked));
    let done = work(address);
    ending.ask();
    service.join().expect("it does not panic").expect("it ends in order");
    done
}

/// Numbers of reports that were sent so far, so that ids differ.
static NEXT: AtomicU64 = AtomicU64::new(0);

fn load_total() -> u64 {
    NEXT.load(Ordering::Relaxed)
}

/// Reports a second for so long, and the processor time of each.
fn load(address: SocketAddr, size: u64, time: Duration) -> (f64, Duration) {
    let (ended, counted) = (AtomicBool::new(false), AtomicU64::new(0));
    let fingerprint = fingerprint(address);
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            let (ended, counted, fingerprint) = (&ended, &counted, &fingerprint);
            scope.spawn(move || {
                let mut connection = BufReader::new(TcpStream::connect(address).expect("it listens"));
                while !ended.load(Ordering::Relaxed) {
                    send(&mut connection, fingerprint, size);
                    counted.fetch_add(size, Ordering::Relaxed);
                }
            });
        }
        let start = Instant::now();
        let mut before = 0;
        // One call, which `busy` repeats at least five times.
        let each = busy(|| {
            thread::sleep(time / 5);
            before = counted.load(Ordering::Relaxed);
        });
        let calls = (start.elapsed().as_secs_f64() / (time / 5).as_secs_f64()).floor();
        let rate = before as f64 / start.elapsed().as_secs_f64();
        ended.store(true, Ordering::Relaxed);
        (rate, each.mul_f64(calls / before.max(1) as f64))
    })
}

fn fingerprint(address: SocketAddr) -> String {
    let mut connection = BufReader::new(TcpStream::connect(address).expect("it listens"));
    connection.get_mut().write_all(b"GET /v1/study HTTP/1.1\r\nHost: bench\r\n\r\n").expect("it reads");
    let text = answer(&mut connection);
    let (_, rest) = text.split_once("\"fingerprint\":\"").expect("the study has one");
    rest[..64].to_owned()
}

fn send(connection: &mut BufReader<TcpStream>, fingerprint: &str, size: u64) {
    use std::fmt::Write as _;
    let first = NEXT.fetch_add(size, Ordering::Relaxed);
    let mut body = format!("{{\"fingerprint\":\"{fingerprint}\",\"reports\":[");
    for number in first..first + size {
        let comma = if number == first { "" } else { "," };
        let id = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        write!(body, "{comma}{{\"id\":\"{id:016x}{number:016x}\",\"report\":\"{:02}\"}}", number % 16)
            .expect("strings can be written to");
    }
    body += "]}";
    let head = format!(
        "POST /v1/collections/answer/reports HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    connection.get_mut().write_all((head + &body).as_bytes()).expect("it reads");
    let answer = answer(connection);
    assert!(answer.starts_with(&format!("{{\"counted\":{size},")), "{answer}");
}

/// The body of an answer.
fn answer(connection: &mut BufReader<TcpStream>) -> String {
    let mut length = 0;
    loop {
        let mut line = String::new();
        connection.read_line(&mut line).expect("it answers");
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a number");
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body).expect("it answers");
    String::from_utf8(body).expect("JSON is text")
}
