//! HTML pages: they stand alone, everyone can read them, and a browser shows them without complaint.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

fn sottovoce(arguments: &str) -> String {
    let output =
        Command::new(assert_cmd::cargo::cargo_bin!("sottovoce")).args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Pages of every kind, with the number of their charts, made once for all tests.
static PAGES: LazyLock<Vec<(&'static str, String, usize)>> = LazyLock::new(|| {
    [
        ("split", "split -p grr:a=3,eps=2 --n 20", 2),
        ("compare", "compare -p grr:a=3,eps=1 oue:a=3,eps=1 rappor:a=3,eps=1 --match s_mu=0.9", 1),
        ("sweep", "compare -p grr:a=4,eps=1 oue:a=4,eps=1 --sweep epsilon=0.1..8:12", 1),
        ("posterior", "posterior -p grr:a=3,eps=1 --tallies {\"counts\":[{\"y\":0,\"count\":31},{\"y\":1,\"count\":12}]}", 1),
        ("demo", "demo", 2),
        ("design", "design --a 3 --epsilon 1", 1),
        ("frontier", "design --a 3 --frontier --points 3", 1),
        ("choose", "choose --a 3 --n 20 --epsilon 2", 0),
        ("budget", "budget -p grr:a=3,eps=0.5 -p oue:a=3,eps=1 --epsilon 2", 0),
        ("estimate", "estimate -p grr:a=3,eps=1 --tallies {\"counts\":[{\"y\":0,\"count\":31},{\"y\":1,\"count\":12}]}", 0),
        ("metrics", "metrics -p grr:a=3,eps=1", 0),
        ("describe", "describe -p grr:a=2,eps=1,labels=<b>no/yes&no", 0),
    ]
    .map(|(name, arguments, charts)| (name, sottovoce(&format!("{arguments} --format html")), charts))
    .into()
});

/// Elements are closed in the order in which they were opened; gives the names of all elements.
fn elements(html: &str) -> Vec<String> {
    const VOID: [&str; 5] = ["!DOCTYPE", "meta", "link", "input", "br"];
    let (mut open, mut seen): (Vec<String>, Vec<String>) = (vec![], vec![]);
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        let name = tag.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap().to_owned();
        rest = &rest[end + 1..];
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') && !VOID.contains(&name.as_str()) {
            open.push(name.clone());
            seen.push(name.clone());
            // What is within is not markup.
            if name == "script" || name == "style" {
                rest = &rest[rest.find(&format!("</{name}>")).expect("it ends")..];
            }
        } else {
            seen.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
    seen
}

#[test]
fn pages_are_well_formed_and_refer_to_nothing_outside() {
    for (name, page, _) in PAGES.iter() {
        let elements = elements(page);
        for needed in ["html", "title", "main", "h1", "style"] {
            assert!(elements.iter().any(|e| e == needed), "{name}: {needed}");
        }
        for outside in [
            "http://", "https://", "//cdn", " src=", "@import", "url(", "<iframe", "<img", "fetch(",
            "XMLHttp",
        ] {
            assert!(!page.contains(outside), "{name}: {outside}");
        }
        assert!(page.contains("default-src 'none'") && page.contains("<html lang=\"en\">"), "{name}");
        assert!(page.contains("width=device-width"), "{name}");
    }
}

#[test]
fn charts_have_words_and_tables_for_those_who_do_not_see_them() {
    for (name, page, charts) in PAGES.iter() {
        let charts = *charts;
        assert_eq!(page.matches("<figure>").count(), charts, "{name}");
        assert_eq!(page.matches("<figcaption>").count(), charts, "{name}");
        assert_eq!(page.matches("<details>").count(), charts, "{name}");
        let pictures = page.matches("<svg ").count();
        assert!(pictures >= 2 * charts, "{name}");
        assert_eq!(page.matches("role=\"img\" aria-label=\"").count(), pictures, "{name}");
        assert!(!page.contains("aria-label=\"\""), "{name}");
        // Every table says what its rows and columns are.
        for table in page.split("<table").skip(1) {
            let table = table.split("</table>").next().unwrap();
            assert!(table.contains("<th scope=\"col\">") && table.contains("<th scope=\"row\""), "{name}");
        }
    }
}

/// Numbers are in tables, where a reader who hears the page finds their names; preformatted text has none.
#[test]
fn reports_of_numbers_are_tables() {
    for name in ["compare", "posterior", "demo", "design", "frontier", "choose", "budget", "estimate"] {
        let (_, page, _) = PAGES.iter().find(|page| page.0 == name).unwrap();
        assert!(!page.contains("<pre>") && page.contains("<table class=\"cards\">"), "{name}");
    }
}

#[test]
fn what_users_write_stays_text() {
    let (_, page, _) = PAGES.iter().find(|p| p.0 == "describe").unwrap();
    assert!(!page.contains("<b>") && page.contains("&lt;b&gt;no"), "{page}");
}

/// The browser to test with: the one that `SOTTOVOCE_BROWSER` names, or the first that is installed.
fn browser() -> Option<PathBuf> {
    let named = std::env::var_os("SOTTOVOCE_BROWSER").map(PathBuf::from);
    let installed = || {
        let path = std::env::var_os("PATH")?;
        let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
        std::env::split_paths(&path)
            .flat_map(|dir| names.map(|name| dir.join(name)))
            .find(|file| file.is_file())
    };
    named.or_else(installed)
}

/// What the page says about itself in a window: a line for each question.
const PROBE: &str = r#"<script>
(() => {
  const visible = [...document.querySelectorAll("svg.chart")].filter(svg => svg.getBoundingClientRect().width > 0);
  const scale = svg => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
  const sizes = visible.flatMap(svg => [...svg.querySelectorAll("text")].map(t => parseFloat(t.getAttribute("font-size")) * scale(svg)));
  const said = visible.map(svg => {
    const point = svg.querySelector(".point").getBoundingClientRect();
    svg.dispatchEvent(new PointerEvent("pointermove", { clientX: point.left + 1, clientY: point.top + 1 }));
    const told = document.getElementById("told");
    return !told.hidden && told.textContent.length > 0;
  });
  const other = document.querySelector(".switch input:not(:checked)");
  let switched = true;
  if (other) {
    other.click();
    const shown = [...other.closest("figure").querySelectorAll(".variant")].filter(v => !v.hidden);
    switched = shown.length === 1 && shown[0].dataset.scale === other.value;
  }
  const found = {
    width: innerWidth, scroll: document.documentElement.scrollWidth, charts: visible.length,
    smallest: Math.min(99, ...sizes), told: said.every(Boolean), switched,
    requests: performance.getEntriesByType("resource").length,
    dark: getComputedStyle(document.body).backgroundColor,
  };
  document.title = "probe " + JSON.stringify(found);
})();
</script></body>"#;

/// What a browser shows in a window of that width, and what it complained about.
fn shown(browser: &Path, page: &str, width: u32) -> (serde_json::Value, String) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("page.html");
    std::fs::write(&file, page.replace("</body>", PROBE)).unwrap();
    let (out, err) = (directory.path().join("out"), directory.path().join("err"));
    let child = Command::new(browser)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--enable-logging=stderr",
        ])
        .arg(format!("--window-size={width},900"))
        .arg(format!("--user-data-dir={}", directory.path().join("profile").display()))
        .args(["--dump-dom".to_owned(), format!("file://{}", file.display())])
        .stdout(Stdio::from(std::fs::File::create(&out).unwrap()))
        .stderr(Stdio::from(std::fs::File::create(&err).unwrap()))
        .spawn()
        .unwrap();
    wait(child);
    let dom = std::fs::read_to_string(&out).unwrap();
    let said = dom.split("<title>probe ").nth(1).and_then(|rest| rest.split("</title>").next());
    let said =
        said.unwrap_or_else(|| panic!("no answer from the page: {}", std::fs::read_to_string(&err).unwrap()));
    let complaints = std::fs::read_to_string(&err).unwrap();
    let complaints: Vec<&str> = complaints.lines().filter(|line| line.contains("CONSOLE")).collect();
    (serde_json::from_str(&said.replace("&quot;", "\"")).unwrap(), complaints.join("\n"))
}

/// A browser that does not answer within two minutes is ended.
fn wait(mut child: Child) {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(120) {
            let _ = child.kill();
            panic!("the browser did not answer");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Needs a browser. Without one the test says that it is skipped, unless `SOTTOVOCE_BROWSER_REQUIRED=1` makes it mandatory.
#[test]
fn a_browser_shows_the_pages_without_complaint_on_a_phone_and_on_a_desk() {
    let Some(browser) = browser() else {
        assert!(
            std::env::var_os("SOTTOVOCE_BROWSER_REQUIRED").is_none_or(|v| v != "1"),
            "no browser found: install chromium, or name one in SOTTOVOCE_BROWSER"
        );
        eprintln!("SKIPPED: no browser found (install chromium, or name one in SOTTOVOCE_BROWSER)");
        return;
    };
    for (name, page, charts) in PAGES.iter() {
        for width in [390, 1200] {
            let (found, complaints) = shown(&browser, page, width);
            assert!(complaints.is_empty(), "{name} at {width}: {complaints}");
            assert_eq!(found["charts"], *charts, "{name} at {width}: {found}");
            assert_eq!(found["requests"], 0, "{name} at {width}: {found}");
            assert_eq!(found["told"], true, "{name} at {width}: {found}");
            assert_eq!(found["switched"], true, "{name} at {width}: {found}");
            // Nothing reaches beyond the window, and no letter in a chart is smaller than 10 dots.
            assert!(found["scroll"].as_f64() <= found["width"].as_f64(), "{name} at {width}: {found}");
            assert!(found["smallest"].as_f64().unwrap() >= 10.0, "{name} at {width}: {found}");
        }
    }
}
