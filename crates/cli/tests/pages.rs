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

const TALLIES: &str = "{\"counts\":[{\"y\":0,\"count\":31},{\"y\":1,\"count\":12}]}";

/// Labels longer than any column, without a space, and in a script that our font does not have. (Arguments are split at spaces.)
const LABELLED: &str = "{\"kind\":\"grr\",\"a\":3,\"epsilon\":1,\"labels\":[\"Some\u{a0}long\u{a0}label,\u{a0}of\u{a0}which\u{a0}nothing\u{a0}is\u{a0}cut\",\"Donaudampfschifffahrtsgesellschaftskapitän\",\"日本語のラベル\"]}";

/// The page of every command that makes one, with the number of its charts, made once for all tests.
static PAGES: LazyLock<Vec<(&'static str, String, usize)>> = LazyLock::new(|| {
    let posterior = format!("posterior -p grr:a=3,eps=1 --tallies {TALLIES}");
    let asked = format!("{posterior} --of top(2) --of share(0,1)");
    let trend = format!("trend -p grr:a=3,eps=1 {TALLIES} {TALLIES} --of 0");
    let smooth = format!("{posterior} -r smooth");
    let estimate = format!("estimate -p grr:a=3,eps=1 --tallies {TALLIES} --estimator all");
    let labels = format!("estimate -p {LABELLED} --tallies {TALLIES}");
    let mut pages: Vec<(&str, String, usize)> = [
        ("split", "split -p grr:a=3,eps=2 --n 20", 2),
        ("plan", "plan ../job/tests/requests/files/study.json --n 1000", 1),
        (
            "analyse",
            "analyse ../job/tests/requests/files/study.json ../job/tests/requests/files/study-tallies",
            3,
        ),
        ("compare", "compare -p grr:a=3,eps=1 oue:a=3,eps=1 rappor:a=3,eps=1 --match s_mu=0.9", 1),
        ("sweep", "compare -p grr:a=4,eps=1 oue:a=4,eps=1 --sweep epsilon=0.1..8:12", 1),
        ("posterior", &posterior, 1),
        ("asked", &asked, 1),
        ("trend", &trend, 1),
        ("smooth", &smooth, 2),
        ("demo", "demo", 2),
        ("design", "design --a 3 --epsilon 1", 1),
        ("frontier", "design --a 3 --frontier --points 3", 1),
        ("choose", "choose --a 3 --n 20 --epsilon 2", 1),
        ("budget", "budget -p grr:a=3,eps=0.5 -p oue:a=3,eps=1 --epsilon 2 --min-average-privacy 0.5", 2),
        ("rounds", "budget -p grr:a=3,eps=0.5 --times 10 --epsilon 2", 2),
        ("memoised", "budget -p oue:a=8,eps=1 --then ue:a=8,kappa=0.75,lambda=0.25 --times 30", 2),
        ("estimate", &estimate, 1),
        ("labels", &labels, 1),
        ("metrics", "metrics -p grr:a=3,eps=1 --n 10", 1),
        ("absent", "metrics -p deterministic:map=0/0/1 --n 10 --method exact", 1),
        ("describe", "describe -p grr:a=2,eps=1,labels=<b>no/yes&no", 0),
        (
            "mixture",
            "describe -p {\"kind\":\"mixture\",\"weights\":[0.5,0.5],\"parts\":[{\"kind\":\"identity\",\"a\":2},{\"kind\":\"grr\",\"a\":2,\"epsilon\":1}]}",
            0,
        ),
        ("users", "users -p grr:a=3,eps=2 --digits 1.5", 1),
        ("expected error", "users -p grr:a=3,eps=1 --accuracy 1e-4 -d l2sq", 1),
        ("accuracy", "accuracy -p grr:a=3,eps=1 --n 1000 --tolerance 0.1", 1),
        ("explain", "explain s_mu", 0),
        ("run", "run {\"job\":\"describe\",\"protocol\":\"grr:a=3,eps=1\"}", 0),
        ("accuracies", "accuracy -p oue:a=100,eps=1 --n 1e4,1e5,1e6 -d l2sq -e linear --worst", 1),
    ]
    .map(|(name, arguments, charts)| (name, sottovoce(&format!("{arguments} --format html")), charts))
    .into();
    pages.extend(collection());
    pages
});

/// The pages of a collection, one command after the other.
fn collection() -> [(&'static str, String, usize); 3] {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    std::fs::write(file("values.csv"), "value\n0\n1\n1\n2\n").unwrap();
    [
        (
            "randomise",
            format!(
                "randomise -p grr:a=3,eps=1 {} --insecure-test-seed 1 -o {}",
                file("values.csv"),
                file("r.csv")
            ),
        ),
        ("tally", format!("tally {} -o {}", file("r.csv"), file("t.json"))),
        ("merge", format!("merge {} -o {}", file("t.json"), file("m.json"))),
    ]
    .map(|(name, arguments)| (name, sottovoce(&format!("{arguments} --format html")), 0))
}

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
        let pictures = page.matches("<svg class=\"chart\"").count();
        assert!(pictures >= 2 * charts, "{name}");
        // What is no picture is the sheet of letters that all of them use.
        let sheets = page.matches("<svg class=\"letters\" aria-hidden=\"true\"").count();
        assert_eq!(
            (sheets, page.matches("<svg ").count()),
            (charts.min(1), pictures + charts.min(1)),
            "{name}"
        );
        assert_eq!(page.matches("role=\"img\" aria-label=\"").count(), pictures, "{name}");
        assert!(!page.contains("aria-label=\"\""), "{name}");
        // Every table says what its rows and columns are.
        for table in page.split("<table").skip(1) {
            let table = table.split("</table>").next().unwrap();
            assert!(table.contains("<th scope=\"col\">") && table.contains("<th scope=\"row\""), "{name}");
        }
    }
}

/// Numbers are in tables or lists, where a reader who hears the page finds their names; preformatted text has none.
#[test]
fn reports_of_numbers_are_tables() {
    // An explanation is prose and formulas.
    for (name, page, _) in PAGES.iter().filter(|page| page.0 != "explain") {
        let listed =
            if ["randomise", "tally", "merge"].contains(name) { "<dl>" } else { "<table class=\"cards" };
        assert!(!page.contains("<pre>") && page.contains(listed), "{name}");
        assert!(!page.contains("<h1>sottovoce</h1>"), "{name} has no title");
    }
}

/// A page has room for whole labels, in its tables and in its charts.
#[test]
fn labels_are_not_cut() {
    let (_, page, _) = PAGES.iter().find(|p| p.0 == "labels").unwrap();
    let table = page.split("<table").nth(1).unwrap();
    for label in [
        "of\u{a0}which\u{a0}nothing\u{a0}is\u{a0}cut",
        "Donaudampfschifffahrtsgesellschaftskapitän",
        "日本語のラベル",
    ] {
        assert!(table.contains(label), "{label}");
    }
    assert!(!page.contains('…'), "something is cut");
    // On a phone the long word goes on in another line of the chart.
    assert!(page.contains("data-words=\"Donau") && page.contains("textLength="));
}

/// Every command that has formats has a page here, under its own name.
#[test]
fn no_page_is_left_out() {
    let help = sottovoce("--help");
    let list = help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap();
    let commands = list.lines().filter_map(|line| line.split_whitespace().next());
    let with_formats: Vec<&str> = commands
        .filter(|command| *command != "help" && sottovoce(&format!("{command} --help")).contains("--format"))
        .collect();
    assert!(with_formats.len() >= 15, "{with_formats:?}");
    for command in with_formats {
        assert!(PAGES.iter().any(|page| page.0 == command), "{command}");
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
    // Whoever names a browser wants it to be used: none is as wrong as another.
    let missing = named.as_ref().filter(|file| !file.is_file());
    assert!(missing.is_none(), "SOTTOVOCE_BROWSER names no file: {missing:?}");
    let installed = || {
        let path = std::env::var_os("PATH")?;
        let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
        std::env::split_paths(&path)
            .flat_map(|dir| names.map(|name| dir.join(name)))
            .find(|file| file.is_file())
    };
    named.or_else(installed)
}

/// Asks every page in a frame of its own about itself. Frames have the width and the colours of different windows, so that one browser does for all of them.
const PROBE: &str = r#"<script>
const asked = frame => {
  const page = frame.contentDocument, own = frame.contentWindow;
  const all = selector => [...page.querySelectorAll(selector)];
  const visible = all("svg.chart").filter(svg => svg.getBoundingClientRect().width > 0);
  const scale = svg => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
  // Words are outlines; those that our font does not have are text in the reader's.
  const texts = svg => [...svg.querySelectorAll("text:not(.halo), .words")];
  const bare = visible.flatMap(svg => texts(svg).filter(t => t.tagName === "text" && !t.hasAttribute("textLength")).map(t => t.textContent));
  const drawn = visible.every(svg => svg.querySelectorAll(".words").length > 3 && [...svg.querySelectorAll(".words")].every(t => t.getBoundingClientRect().width > 1));
  const sizes = visible.flatMap(svg => texts(svg).map(t => parseFloat(t.getAttribute("font-size")) * scale(svg)));
  // Words that reach out of their picture, or over other words.
  const crowded = visible.flatMap(svg => {
    const box = svg.getBoundingClientRect(), words = texts(svg).map(t => [t.dataset.words || t.textContent, t.getBoundingClientRect()]);
    const out = words.filter(([, r]) => r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1);
    const over = words.flatMap(([l, a], i) => words.slice(i + 1).filter(([, b]) =>
      Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1).map(([r]) => l + " / " + r));
    return [...out.map(([l]) => l), ...over];
  });
  const said = visible.map(svg => {
    const point = svg.querySelector(".point").getBoundingClientRect();
    svg.dispatchEvent(new own.PointerEvent("pointermove", { clientX: point.left + 1, clientY: point.top + 1 }));
    const told = page.getElementById("note");
    return !told.hidden && told.textContent.length > 0;
  });
  const other = page.querySelector(".switch input:not(:checked)");
  let switched = true;
  if (other) {
    other.click();
    const shown = [...other.closest("figure").querySelectorAll(".variant")].filter(v => !v.hidden);
    switched = shown.length === 1 && shown[0].dataset.scale === other.value;
  }
  // Tables of which a reader does not see the last columns.
  const cut = all("main > .scroll").filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.textContent.slice(0, 40));
  return {
    cut, bare, drawn, name: frame.title, scroll: page.documentElement.scrollWidth - own.innerWidth, charts: visible.length, smallest: Math.min(99, ...sizes), crowded,
    told: said.every(Boolean), switched, requests: own.performance.getEntriesByType("resource").length,
    paper: own.getComputedStyle(page.body).backgroundColor, ink: own.getComputedStyle(page.body).color,
  };
};
addEventListener("load", () => { document.title = "probe " + JSON.stringify([...document.querySelectorAll("iframe")].map(asked)); });
</script></body></html>"#;

/// The windows in which pages are looked at: their widths and colours.
const WINDOWS: [(u32, &str); 4] = [(390, "light"), (1200, "light"), (390, "dark"), (1200, "dark")];

/// All pages in all windows, as frames of one page.
fn frames() -> String {
    let frame = |(name, page, _): &(&str, String, usize)| {
        let page = page.replace('&', "&amp;").replace('"', "&quot;");
        WINDOWS.map(|(width, scheme)| {
            format!(
                "<iframe title=\"{name} {width} {scheme}\" style=\"width:{width}px;height:900px;border:0;color-scheme:{scheme}\" srcdoc=\"{page}\"></iframe>\n"
            )
        })
        .concat()
    };
    let frames: String = PAGES.iter().map(frame).collect();
    format!("<!DOCTYPE html>\n<html><head><title>all pages</title></head><body>\n{frames}{PROBE}")
}

/// What a browser shows of the page, and what it complained about.
fn shown(browser: &Path, page: &str) -> (Vec<serde_json::Value>, String) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("page.html");
    std::fs::write(&file, page).unwrap();
    let (out, err) = (directory.path().join("out"), directory.path().join("err"));
    let start = || {
        Command::new(browser)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--enable-logging=stderr",
            ])
            .arg("--window-size=1300,900")
            .arg(format!("--user-data-dir={}", directory.path().join("profile").display()))
            .args(["--dump-dom".to_owned(), format!("file://{}", file.display())])
            .stdout(Stdio::from(std::fs::File::create(&out).unwrap()))
            .stderr(Stdio::from(std::fs::File::create(&err).unwrap()))
            .spawn()
            .unwrap()
    };
    // On a busy machine a browser may fail to start; it is not asked a third time.
    if !ends(start(), Duration::from_secs(60)) {
        assert!(ends(start(), Duration::from_secs(120)), "the browser did not answer");
    }
    let dom = std::fs::read_to_string(&out).unwrap();
    let said = dom.split("<title>probe ").nth(1).and_then(|rest| rest.split("</title>").next());
    let said =
        said.unwrap_or_else(|| panic!("no answer from the page: {}", std::fs::read_to_string(&err).unwrap()));
    let said = said.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let complaints = std::fs::read_to_string(&err).unwrap();
    let complaints: Vec<&str> = complaints.lines().filter(|line| line.contains("CONSOLE")).collect();
    (serde_json::from_str(&said).unwrap(), complaints.join("\n"))
}

/// Whether the process ends in that time; if not, it is ended.
fn ends(mut child: Child, patience: Duration) -> bool {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > patience {
            let _ = child.kill();
            let _ = child.wait();
            return false;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    true
}

/// The brightness of a colour as the browser names it, `rgb(20, 24, 29)`.
fn brightness(colour: &serde_json::Value) -> u32 {
    let numbers = colour.as_str().unwrap().trim_start_matches("rgb(").trim_end_matches(')').split(", ");
    numbers.map(|number| number.parse::<u32>().unwrap()).sum()
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
    let (found, complaints) = shown(&browser, &frames());
    assert!(complaints.is_empty(), "{complaints}");
    assert_eq!(found.len(), WINDOWS.len() * PAGES.len());
    for (page, charts) in found.iter().zip(PAGES.iter().flat_map(|page| [page.2; WINDOWS.len()])) {
        assert_eq!(page["charts"], charts, "{page}");
        assert_eq!(page["requests"], 0, "{page}");
        assert_eq!(page["told"], true, "{page}");
        assert_eq!(page["switched"], true, "{page}");
        // Nothing reaches beyond the window, words in a chart do not meet, and no letter there is smaller than 10 dots.
        assert!(page["scroll"].as_f64().unwrap() <= 0.0, "{page}");
        assert!(page["crowded"].as_array().unwrap().is_empty(), "{page}");
        // Words are drawn in the font that was measured, or held to the room that was measured.
        assert!(page["drawn"] == true && page["bare"].as_array().unwrap().is_empty(), "{page}");
        assert!(page["cut"].as_array().unwrap().is_empty(), "{page}");
        assert!(page["smallest"].as_f64().unwrap() >= 10.0, "{page}");
        let dark = page["name"].as_str().unwrap().ends_with("dark");
        let (paper, ink) = (brightness(&page["paper"]), brightness(&page["ink"]));
        assert!(if dark { paper < 150 && ink > 600 } else { paper > 700 && ink < 150 }, "{page}");
    }
}
