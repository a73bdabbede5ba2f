//! The pages in a browser: they are built from what the service says, under its own policy. Without a browser the test is skipped, loudly, unless
//! `SOTTOVOCE_BROWSER_REQUIRED=1` makes it mandatory.

use std::path::PathBuf;
use std::process::Command;

use crate::host::{Host, reports};

/// The browser that `SOTTOVOCE_BROWSER` names, or the first that is installed.
fn browser() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("SOTTOVOCE_BROWSER") {
        return Some(named.into());
    }
    let places = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let mut found =
        names.iter().flat_map(|name| std::env::split_paths(&places).map(move |place| place.join(name)));
    found.find(|path| path.is_file())
}

/// The page as it is after its scripts have run for some seconds.
fn shown(browser: &PathBuf, address: &str) -> String {
    let profile = tempfile::tempdir().unwrap();
    let shown = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(address)
        .output()
        .unwrap();
    String::from_utf8_lossy(&shown.stdout).into_owned()
}

#[test]
fn a_browser_shows_the_question_and_the_results() {
    let Some(browser) = browser() else {
        assert!(std::env::var("SOTTOVOCE_BROWSER_REQUIRED").as_deref() != Ok("1"), "there is no browser");
        eprintln!("SKIPPED: there is no browser (install chromium, or name one in SOTTOVOCE_BROWSER)");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let host = Host::of_drinks(directory.path());
    host.send(&reports(0..600));
    host.results();
    let take = shown(&browser, &format!("http://{}/take", host.address));
    for answer in ["tea", "coffee", "water"] {
        assert!(take.contains(&format!("value=\"{answer}\"")), "{take}");
    }
    assert!(take.contains("<form id=\"form\">"), "the form is there: {take}");
    let results = shown(&browser, &format!("http://{}/results#{}", host.address, host.token));
    assert!(results.contains("600 reports.") && results.contains("95 % interval"), "{results}");
    assert!(
        results.contains("10 of 600 can move an estimated share by at most 4.6 percentage points"),
        "{results}"
    );
    let stranger = shown(&browser, &format!("http://{}/results", host.address));
    assert!(!stranger.contains("600") && stranger.contains("<form id=\"login\">"), "{stranger}");
}
