//! A collection from its beginning to its end.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::host::{Connection, DRINKS, Host, batch, id, reports, words};

fn sottovoce(arguments: &[&str]) -> (String, Option<i32>) {
    let run = Command::new(assert_cmd::cargo::cargo_bin!("sottovoce")).args(arguments).output().unwrap();
    (String::from_utf8(run.stdout).unwrap() + &String::from_utf8(run.stderr).unwrap(), run.status.code())
}

#[test]
fn reports_are_counted_once_and_told_one_by_one() {
    let directory = tempfile::tempdir().unwrap();
    let host = Host::of_drinks(directory.path());
    let mut sent = reports(0..4);
    assert_eq!(host.send(&sent), ["counted"; 4]);
    sent[1].1 = "1".into();
    sent[2].1 = "0".into();
    let bad = [
        (id(9), "3"),
        (id(10), ""),
        (id(11), "11"),
        (id(12), "x"),
        ("short".into(), "0"),
        (id(9), "0"),
        (id(9), "0"),
    ];
    sent.extend(bad.map(|(id, report)| (id, report.to_owned())));
    let told = host.send(&sent);
    let expected = [
        "repeated",
        "repeated",
        "conflict",
        "repeated",
        "out_of_range",
        "empty",
        "length",
        "not_digits",
        "id",
        "counted",
        "repeated",
    ];
    assert_eq!(told, expected);
    let results = host.results();
    assert_eq!(results["collections"][0]["reports"], 5);
    let refused = &results["refused"];
    for reason in ["conflict", "out_of_range", "empty", "length", "not_digits", "id"] {
        assert_eq!(refused[reason], 1, "{reason}");
    }
    assert!(host.end().success());
    let again = Host::of_drinks(directory.path());
    assert_eq!(again.reports, 5);
    assert_eq!(again.results()["refused"], *refused);
}

#[test]
fn what_is_no_batch_of_the_study_is_refused_as_a_whole() {
    let directory = tempfile::tempdir().unwrap();
    let host = Host::of_drinks(directory.path());
    let fingerprint = host.fingerprint(0);
    let good = batch(&fingerprint, &reports(0..1));
    let path = "/v1/collections/answer/reports";
    let json = "Content-Type: application/json\r\n";
    let many = batch(&fingerprint, &reports(0..1001));
    let long = " ".repeat((1 << 20) + 1);
    let cases: [(&str, &str, &str, &str, u16, &str); 12] = [
        (path, json, "", "", 400, "envelope"),
        (path, json, "{}", "", 400, "envelope"),
        (path, json, "secret", "", 400, "envelope"),
        (path, json, &good.replace("\"id\"", "\"secret\""), "", 400, "envelope"),
        (path, json, &good.replace("reports\":[", "reports\":[7,"), "", 400, "envelope"),
        (path, json, &batch(&fingerprint, &[]), "", 400, "envelope"),
        (path, json, &good.replace(&fingerprint, "secret"), "", 409, "fingerprint"),
        ("/v1/collections/secret/reports", json, &good, "", 404, "collection"),
        ("/v1/collections/%ff/reports", json, &good, "", 400, ""),
        (path, "", &good, "", 415, "content_type"),
        (path, json, &many, "", 413, "batch"),
        (path, json, &long, "", 413, "body"),
    ];
    for (path, headers, body, _, status, reason) in cases {
        let answer = host.connect().request("POST", path, headers, body.as_bytes()).unwrap();
        assert_eq!(answer.status, status, "{reason}: {}", answer.text());
        assert!(answer.text().contains(reason) && !answer.text().contains("secret"), "{}", answer.text());
    }
    assert_eq!(host.connect().request("DELETE", path, "", b"").unwrap().status, 405);
    assert_eq!(host.connect().request("GET", "/secret", "", b"").unwrap().status, 404);
    assert_eq!(host.results()["collections"][0]["reports"], 0);
}

#[test]
fn only_who_has_the_token_reads_and_closes() {
    let directory = tempfile::tempdir().unwrap();
    let host = Host::of_drinks(directory.path());
    let paths = [
        ("GET", "/v1/results"),
        ("GET", "/v1/collections/answer/reports"),
        ("GET", "/v1/collections/answer/tallies"),
        ("GET", "/metrics"),
        ("POST", "/v1/close"),
        ("POST", "/v1/forget"),
    ];
    let short = &host.token[..31];
    for (method, path) in paths {
        for given in [
            "",
            "Authorization: Bearer \r\n",
            &format!("Authorization: Bearer {short}\r\n"),
            &format!("Authorization: {}\r\n", host.token),
        ] {
            let answer = host.connect().request(method, path, given, b"").unwrap();
            assert_eq!((answer.status, answer.text().as_str()), (401, "{\"error\":\"token\"}"), "{path}");
            assert!(answer.header("access-control-allow-origin").is_none());
        }
    }
    for (method, path) in paths {
        assert_eq!(host.ask(method, path).status, 200, "{path}");
    }
    let metrics = host.ask("GET", "/metrics").text();
    assert!(metrics.contains("sottovoce_reports{collection=\"answer\"} 0\n"), "{metrics}");
}

#[test]
fn reports_are_exported_for_tally_and_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let host = Host::of_drinks(&directory.path().join("data"));
    host.send(&reports(0..900));
    let file = host.ask("GET", "/v1/collections/answer/reports");
    fs::write(at("reports.csv"), &file.body).unwrap();
    let (told, code) = sottovoce(&["tally", &at("reports.csv"), "-o", &at("tallies.json"), "--quiet"]);
    assert_eq!(code, Some(0), "{told}");
    let tallies = host.ask("GET", "/v1/collections/answer/tallies").json();
    let counted: Value = serde_json::from_str(&fs::read_to_string(at("tallies.json")).unwrap()).unwrap();
    assert_eq!((&tallies["counts"], &tallies["n"]), (&counted["counts"], &counted["n"]));
    let before = host.results();

    assert_eq!(host.ask("POST", "/v1/forget").status, 200);
    assert_eq!(host.send(&reports(0..2)), ["repeated"; 2]);
    assert_eq!(host.send(&reports(900..902)), ["counted"; 2]);
    assert_eq!(host.ask("POST", "/v1/close").status, 200);
    let refused = host
        .connect()
        .post("/v1/collections/answer/reports", &batch(&host.fingerprint(0), &reports(0..1)))
        .unwrap();
    assert_eq!((refused.status, refused.text().as_str()), (410, "{\"error\":\"closed\"}"));
    assert!(host.end().success());

    let export = |data: &str| {
        sottovoce(&[&["serve"], &DRINKS[..], &["--data", data, "--export", &at("files")]].concat())
    };
    let (told, code) = export(&at("data"));
    assert!(code == Some(2) && told.contains("/tallies"), "{told}");
    assert!(
        !fs::exists(at("files/answer.csv")).unwrap(),
        "a file of the reports that are left looks complete"
    );
    let (told, code) = export(&at("nowhere"));
    assert!(code == Some(2) && !fs::exists(at("nowhere")).unwrap(), "{told}");
    let again = Host::of_drinks(&directory.path().join("data"));
    let results = again.results();
    assert_eq!(
        (&results["closed"], &results["collections"][0]["reports"]),
        (&Value::from(true), &Value::from(902))
    );
    assert_eq!(before["collections"][0]["reports"], 900);
}

#[test]
fn another_study_or_another_service_does_not_touch_the_reports() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().to_str().unwrap();
    let host = Host::of_drinks(directory.path());
    let start =
        |protocol: &str| sottovoce(&["serve", "-p", protocol, "--data", data, "--address", "127.0.0.1:0"]);
    let (told, code) = start(DRINKS[1]);
    assert!(
        code == Some(2) && told.contains("in use by another service") && told.contains("hint: "),
        "{told}"
    );
    host.end();
    let (told, code) = start("grr:a=3,eps=1,labels=tea/coffee/milk");
    assert!(code == Some(2) && told.contains("the reports of another study"), "{told}");
}

#[test]
fn a_study_that_cannot_be_served_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let study = |plan: &str| {
        format!(
            r#"{{"version": 1, "question": [{{"name": "sex", "labels": ["Female", "Male"]}}], "plan": {{"epsilon": 1{plan}}}}}"#
        )
    };
    let planned = r#", "strategy": "split", "collection": [{"questions": ["sex"], "protocols": [{"kind": "grr", "a": 2, "epsilon": 0.5}]}]"#;
    let memoised = format!("{planned}, \"noise\": \"memoised\"");
    let rounds = format!("{planned}, \"rounds\": 2");
    for (plan, words) in [("", "sottovoce plan"), (&memoised, "memoised"), (&rounds, "--round")] {
        let (told, code) =
            sottovoce(&["serve", &study(plan), "--data", data.to_str().unwrap(), "--address", "127.0.0.1:0"]);
        assert!(code == Some(2) && told.contains(words), "{words}: {told}");
    }
    let dense = r#"{"kind": "matrix", "rows": [[0.75, 0.25], [0, 0], [0.25, 0.75]]}"#;
    let grr = r#"{"kind": "grr", "a": 60, "epsilon": 1}"#;
    let product = format!(r#"{{"kind": "product", "factors": [{}]}}"#, [grr; 9].join(", "));
    for (protocol, words) in
        [(dense, "reports that no value gives"), (&product, "too many different reports")]
    {
        let (told, code) = sottovoce(&[
            "serve",
            "-p",
            protocol,
            "--data",
            data.to_str().unwrap(),
            "--address",
            "127.0.0.1:0",
        ]);
        assert!(code == Some(2) && told.contains(words), "{words}: {told}");
    }
    assert!(!data.exists(), "what is refused leaves nothing behind");
}

/// A study of three questions in two groups, under each strategy.
#[test]
fn all_collections_of_a_study_are_served() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    fs::write(
        at("study.toml"),
        "version = 1\n[[question]]\nname = \"sex\"\nlabels = [\"F\", \"M\"]\n[[question]]\nname = \"age\"\nbins = [0, 30, 60, \"inf\"]\n\
         [[question]]\nname = \"tea\"\nlabels = [\"no\", \"yes\"]\n[[joint]]\nquestions = [\"sex\", \"tea\"]\n[plan]\nepsilon = 2\n",
    )
    .unwrap();
    for strategy in ["sample", "split", "joint"] {
        let planned = at(&format!("{strategy}.toml"));
        let (told, code) = sottovoce(&[
            "plan",
            &at("study.toml"),
            "--n",
            "1000",
            "--strategy",
            strategy,
            "-o",
            &planned,
            "--quiet",
        ]);
        assert_eq!(code, Some(0), "{told}");
        let host = Host::start(&[&planned, "--data", &at(strategy)]);
        let study: Value = host.connect().request("GET", "/v1/study", "", b"").unwrap().json();
        let collections = study["collections"].as_array().unwrap();
        let words: Vec<u128> =
            collections.iter().filter_map(|of| of["words"].as_str()?.parse().ok()).collect();
        match strategy {
            "sample" => assert_eq!(words.iter().sum::<u128>(), 1 << 64),
            _ => assert!(words.is_empty()),
        }
        let names: Vec<&str> = collections.iter().map(|of| of["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["sex+tea", "age"]);
        assert_eq!(collections[0]["published"]["inputs"], 4);
        let results = host.results();
        assert_eq!(results["analysis"]["report"]["questions"].as_array().unwrap().len(), 3, "{results}");
        assert_eq!(results["analysis"]["report"]["cross_tables"].as_array().unwrap().len(), 1);
        assert!(host.end().success());
    }
}

#[test]
fn a_service_ends_in_order_while_requests_are_under_way() {
    let directory = tempfile::tempdir().unwrap();
    let host = Host::of_drinks(directory.path());
    let body = batch(&host.fingerprint(0), &reports(0..10));
    let head = format!(
        "POST /v1/collections/answer/reports HTTP/1.1\r\nHost: poll\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut half = host.connect();
    half.write(&[head.as_bytes(), &body.as_bytes()[..100]].concat()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    let address = host.address;
    let ended = std::thread::spawn(move || host.end());
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(Connection::to(address).and_then(|mut late| late.request("GET", "/health", "", b"")).is_err());
    half.write(&body.as_bytes()[100..]).unwrap();
    assert_eq!(words(&half.answer().unwrap().json()), ["counted"; 10]);
    assert!(ended.join().unwrap().success());
    assert_eq!(Host::of_drinks(directory.path()).reports, 10);
}

/// Everything that a browser needs comes from the service, and no page may do more than that.
#[test]
fn pages_ask_nobody_else() {
    let directory = tempfile::tempdir().unwrap();
    let host = Host::of_drinks(directory.path());
    let document: Value = host.connect().request("GET", "/openapi.json", "", b"").unwrap().json();
    for path in
        ["/", "/take", "/results", "/take.js", "/results.js", "/sottovoce.js", "/style.css", "/icon.svg"]
    {
        let answer = host.connect().request("GET", path, "", b"").unwrap();
        assert_eq!(answer.status, 200, "{path}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'self';") && !policy.contains("unsafe"), "{policy}");
        let text = answer.text().replace("http://www.w3.org/2000/svg", "");
        assert!(
            !text.contains("http://") && !text.contains("https://") && !text.contains("style="),
            "{path}"
        );
        assert!(document["paths"][path]["get"].is_object(), "{path} is not in the document");
    }
}
