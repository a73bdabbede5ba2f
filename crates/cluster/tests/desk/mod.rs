//! What the tests share: files of reports, what one machine counts of them, and the program.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use datafusion::arrow::array::{ArrayRef, FixedSizeBinaryArray, Int32Array, StringArray};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterProperties;
use sottovoce_collect::Layout;
use sottovoce_collect::files::FileFormat;
use sottovoce_collect::files::report_writer::ReportWriter;
use sottovoce_collect::header::Header;
use sottovoce_job::{FormChoice, Identified, TallyRequest, read_protocol, unobserved};
use tempfile::TempDir;

pub const GRR: &str = "grr:a=64,eps=1";
pub const OUE: &str = "oue:a=128,eps=1";
pub const LH: &str = "lh:a=20,eps=1";

pub fn identified(protocol: &str) -> Identified {
    Identified::written(&read_protocol(protocol).unwrap()).unwrap()
}

/// Reports of a protocol that follow from a number, one after another.
pub fn reports(protocol: &str, rows: usize, seed: u64) -> Vec<u8> {
    let layout = Layout::of(&identified(protocol).named.protocol);
    let (mut all, mut state) =
        (Vec::with_capacity(rows * layout.length()), seed.wrapping_mul(0x9e37_79b9) | 1);
    let mut report = vec![0; layout.length()];
    while all.len() < rows * layout.length() {
        for byte in &mut report {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            *byte = (state >> 24) as u8;
        }
        if let Layout::Number { outputs } = layout {
            report.fill(0);
            report[0] = (state >> 33) as u8 % outputs as u8;
        }
        if let Layout::Hash { buckets } = layout {
            report[8] = (state >> 33) as u8 % buckets as u8;
        }
        all.extend(&report);
    }
    all
}

/// A directory with files of reports.
pub struct Desk {
    pub directory: TempDir,
    environment: Environment,
}

/// What the program finds in its environment.
type Environment = Vec<(String, String)>;

fn environment(of: &[(&str, &str)]) -> Environment {
    of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

impl Desk {
    pub fn new() -> Self {
        Desk::with(&[])
    }

    pub fn with(variables: &[(&str, &str)]) -> Self {
        Desk { directory: tempfile::tempdir().unwrap(), environment: environment(variables) }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A file as `sottovoce randomise` writes it.
    pub fn write(&self, name: &str, protocol: &str, rows: usize, seed: u64) -> PathBuf {
        let (path, identified) = (self.path(name), identified(protocol));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let header = Header::new(&identified.identity, None);
        let layout = Layout::of(&identified.named.protocol);
        let mut writer =
            ReportWriter::new(File::create(&path).unwrap(), FileFormat::Parquet, layout, &header).unwrap();
        writer.write(&reports(protocol, rows, seed)).unwrap();
        writer.finish().unwrap();
        path
    }

    /// As many files of a directory, each with other reports.
    pub fn days(&self, name: &str, protocol: &str, files: u64, rows: usize) -> PathBuf {
        for day in 0..files {
            // Not all of one length.
            let rows = rows + 7 * day as usize;
            self.write(&format!("{name}/{day:03}.parquet"), protocol, rows, 1000 + day);
        }
        self.path(name)
    }

    /// The tallies of one machine.
    pub fn single(&self, protocol: Option<&str>, reports: &Path, form: FormChoice) -> Vec<u8> {
        let output = self.path("single.json");
        let request = TallyRequest {
            protocol: protocol.map(|text| read_protocol(text).unwrap()),
            form,
            ..TallyRequest::of(vec![reports.to_str().unwrap().to_owned()], &output)
        };
        request.check().unwrap().run(&unobserved).unwrap();
        std::fs::read(output).unwrap()
    }

    /// The tallies that the program writes to a file with this name, and what it says.
    pub fn tally(&self, arguments: &[&str], output: &str) -> (Option<Vec<u8>>, Output) {
        let output = self.path(output);
        let _ = std::fs::remove_file(&output);
        let mut command = program(&[&["tally", "-o", output.to_str().unwrap()], arguments].concat());
        let said = command.envs(self.environment.clone()).output().unwrap();
        (std::fs::read(output).ok(), said)
    }

    /// The words of a refusal, after which there is no output.
    pub fn refusal(&self, arguments: &[&str]) -> String {
        let (tallies, said) = self.tally(arguments, "refused.json");
        assert!(tallies.is_none() && !said.status.success(), "{said:?}");
        let left = std::fs::read_dir(self.directory.path()).unwrap();
        let left =
            left.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains("refused"));
        assert_eq!(left.count(), 0);
        String::from_utf8(said.stderr).unwrap()
    }
}

pub fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sottovoce-cluster"));
    command.args(arguments).env("RUST_BACKTRACE", "0");
    command
}

/// A Parquet file of another program: groups of 1000 rows, no header, some rows empty, and columns to group by.
pub fn foreign(path: &Path, rows: usize) {
    let day = |row: usize| ["monday", "tuesday/α"][row / 7 % 2];
    let days: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(day)));
    let versions = Int32Array::from_iter((0..rows).map(|row| (row % 5 > 0).then_some((row % 2) as i32)));
    let report = |row: usize| match row % 13 {
        4 => None,
        9 => Some(77),
        _ => Some((row * row % 64) as i32),
    };
    let reports: ArrayRef = Arc::new((0..rows).map(report).collect::<Int32Array>());
    let columns = [("day", days), ("version", Arc::new(versions) as ArrayRef), ("report", reports)];
    save(path, RecordBatch::try_from_iter(columns).unwrap());
}

/// The same for reports in bytes of one length.
pub fn foreign_bytes(path: &Path, bytes: &[u8], length: usize) {
    let reports = FixedSizeBinaryArray::try_new(length as i32, bytes.to_vec().into(), None).unwrap();
    save(path, RecordBatch::try_from_iter([("report", Arc::new(reports) as ArrayRef)]).unwrap());
}

fn save(path: &Path, batch: RecordBatch) {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(1000)).build();
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A process that ends with the test.
pub struct Server(pub Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    pub fn start(command: &mut Command) -> Self {
        Server(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Ends it as `kill -9` does.
    pub fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A scheduler with executors on this machine.
pub struct Cluster {
    pub scheduler: Server,
    pub executors: Vec<Server>,
    pub address: String,
    work: TempDir,
    environment: Environment,
}

impl Cluster {
    pub fn start(executors: usize) -> Self {
        Cluster::with(executors, &[])
    }

    pub fn with(executors: usize, variables: &[(&str, &str)]) -> Self {
        let port = free_port();
        let arguments = ["scheduler", "--executor-timeout", "3", "--grace", "5", "--port", &port.to_string()];
        let scheduler = Server::start(&mut program(&arguments));
        wait_for(port);
        let address = format!("127.0.0.1:{port}");
        let (work, environment) = (tempfile::tempdir().unwrap(), environment(variables));
        let mut cluster = Cluster { scheduler, executors: Vec::new(), address, work, environment };
        (0..executors).for_each(|_| cluster.add_executor());
        cluster
    }

    pub fn add_executor(&mut self) {
        let (port, commands) = (free_port(), free_port());
        let work = self.work.path().join(port.to_string());
        std::fs::create_dir(&work).unwrap();
        let mut command = program(&[
            "executor",
            "--scheduler",
            &self.address,
            "--port",
            &port.to_string(),
            "--command-port",
            &commands.to_string(),
            "--tasks",
            "1",
            "--work",
            work.to_str().unwrap(),
        ]);
        let executor = Server::start(command.envs(self.environment.clone()));
        wait_for(port);
        self.executors.push(executor);
    }
}

pub fn wait_for(port: u16) {
    let started = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(started.elapsed() < Duration::from_secs(120), "nobody listens");
        sleep(Duration::from_millis(50));
    }
}

pub fn is_full() -> bool {
    std::env::var("SOTTOVOCE_FULL").is_ok_and(|value| value == "1")
}
