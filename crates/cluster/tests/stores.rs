//! Files of a web server and of an S3-compatible store on this machine.

mod desk;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use desk::{Cluster, Desk, GRR, OUE, Server, free_port, wait_for};
use sottovoce_job::FormChoice;

/// A web server that knows what a store of files needs: HEAD, and GET of a range.
fn serve(directory: PathBuf) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let directory = directory.clone();
            thread::spawn(move || while answer(&connection, &directory).is_some() {});
        }
    });
    port
}

fn answer(mut connection: &TcpStream, directory: &Path) -> Option<()> {
    let mut lines = BufReader::new(connection).lines().map_while(Result::ok);
    let request = lines.next()?;
    let (method, rest) = request.split_once(' ')?;
    let path = directory.join(rest.split_once(' ')?.0.trim_start_matches('/'));
    let headers: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let range = headers.iter().find_map(|line| {
        let range = line.to_ascii_lowercase().strip_prefix("range: bytes=")?.to_owned();
        let (first, last) = range.split_once('-')?;
        Some((first.parse::<u64>().ok()?, last.parse::<u64>().ok()?))
    });
    let Ok(mut file) = File::open(path) else {
        return connection.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").ok();
    };
    let length = file.metadata().ok()?.len();
    let (first, last) = range.unwrap_or((0, length - 1));
    let count = last + 1 - first;
    let status = match range {
        Some(_) => format!("206 Partial Content\r\nContent-Range: bytes {first}-{last}/{length}"),
        None => "200 OK".to_owned(),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {count}\r\nLast-Modified: Wed, 18 Nov 2026 08:00:00 GMT\r\n\r\n"
    );
    connection.write_all(head.as_bytes()).ok()?;
    if method == "GET" {
        file.seek(SeekFrom::Start(first)).ok()?;
        std::io::copy(&mut file.take(count), &mut connection).ok()?;
    }
    Some(())
}

#[test]
fn files_of_a_web_server_are_read_where_they_are() {
    let desk = Desk::new();
    let days = desk.days("days", GRR, 3, 3000);
    let expected = desk.single(None, &days, FormChoice::Auto);
    let port = serve(desk.directory.path().to_owned());
    let url = |name: &str| format!("http://127.0.0.1:{port}/days/{name}");
    let urls = [url("000.parquet"), url("001.parquet"), url("002.parquet")];
    let arguments: Vec<&str> = urls.iter().map(String::as_str).collect();
    let (found, said) = desk.tally(&arguments, "tallies.json");
    assert_eq!(found, Some(expected), "{said:?}");
    let said = desk.refusal(&[&url("009.parquet")]);
    assert!(said.contains("009.parquet: cannot be read: there is no such file"), "{said}");
    assert!(desk.refusal(&[&url("*.parquet")]).contains("gives no list"));
}

/// A store from the registries: `pip install 'moto[server]'`. Without it this is skipped, loudly, unless `SOTTOVOCE_S3_REQUIRED=1`.
fn store() -> Option<(Server, u16)> {
    let found = Command::new("moto_server").arg("--help").output();
    if !found.is_ok_and(|found| found.status.success()) {
        eprintln!("SKIPPED: an S3-compatible store; pip install 'moto[server]' gets one");
        assert!(std::env::var("SOTTOVOCE_S3_REQUIRED").is_err(), "there is no moto_server");
        return None;
    }
    let port = free_port();
    let server = Server::start(Command::new("moto_server").args(["-p", &port.to_string()]));
    wait_for(port);
    Some((server, port))
}

fn put(port: u16, path: &str, bytes: &[u8]) {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = format!(
        "PUT {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: AWS4-HMAC-SHA256 Credential=tester/20261118/us-east-1/s3/aws4_request\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        bytes.len()
    );
    connection.write_all(head.as_bytes()).unwrap();
    connection.write_all(bytes).unwrap();
    let mut answer = String::new();
    let _ = connection.read_to_string(&mut answer);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn a_bucket_gives_the_tallies_of_its_files() {
    let Some((_server, port)) = store() else { return };
    let endpoint = format!("http://127.0.0.1:{port}");
    let environment = [
        ("AWS_ENDPOINT", endpoint.as_str()),
        ("AWS_ACCESS_KEY_ID", "tester"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_REGION", "us-east-1"),
    ];
    let desk = Desk::with(&environment);
    let days = desk.days("days", OUE, 6, 2000);
    let expected = desk.single(None, &days, FormChoice::Auto);
    put(port, "/bucket", b"");
    for entry in days.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        put(port, &format!("/bucket/days/{name}"), &std::fs::read(&path).unwrap());
    }
    put(port, "/bucket/days/more/other.txt", b"no reports");
    let (found, said) = desk.tally(&["s3://bucket/days/*.parquet"], "tallies.json");
    assert_eq!(found.as_ref(), Some(&expected), "{said:?}");
    let cluster = Cluster::with(2, &environment);
    let arguments = ["s3://bucket/days/*.parquet", "--scheduler", &cluster.address];
    let (found, said) = desk.tally(&arguments, "tallies.json");
    assert_eq!(found, Some(expected), "{said:?}");
    let said = desk.refusal(&["s3://bucket/days/gone.parquet"]);
    assert!(said.contains("gone.parquet: cannot be read: there is no such file"), "{said}");
    assert!(desk.refusal(&["s3://bucket/nights/*.parquet"]).contains("no file was found"));
}
