//! The book in `docs/` is complete, and links between the documents lead somewhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The Markdown files of a directory.
fn documents(directory: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// The text without code: neither blocks nor what stands in backquotes.
fn prose(text: &str) -> String {
    let outside: String = text.split("```").step_by(2).collect();
    outside.split('`').step_by(2).collect()
}

/// The targets of links and pictures, without those of the web.
fn links(text: &str) -> Vec<String> {
    let targets = prose(text);
    let targets = targets.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://")).map(str::to_owned).collect()
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter_map(|line| line.strip_prefix('#'));
    let anchor = |heading: &str| {
        let words = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        words.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
    };
    headings.map(anchor).collect()
}

/// What is wrong with a link from a document, if anything is.
fn problem(document: &Path, link: &str) -> Option<String> {
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let target = if path.is_empty() { document.to_owned() } else { document.parent()?.join(path) };
    if !target.exists() {
        return Some(format!("{}: {link} does not exist", document.display()));
    }
    let missing =
        anchor.is_some_and(|anchor| !anchors(&fs::read_to_string(&target).unwrap()).contains(anchor));
    missing.then(|| format!("{}: {link} names no heading", document.display()))
}

#[test]
fn every_link_leads_somewhere() {
    let all = [root(), root().join("docs"), root().join("benches"), root().join("benches/peers")];
    let documents: Vec<PathBuf> = all.iter().flat_map(|directory| documents(directory)).collect();
    let mut checked = 0;
    let mut problems = Vec::new();
    for document in &documents {
        for link in links(&fs::read_to_string(document).unwrap()) {
            checked += 1;
            problems.extend(problem(document, &link));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(checked >= 50, "only {checked} links were found");
}

#[test]
fn the_summary_lists_every_page_once() {
    let docs = root().join("docs");
    let listed = links(&fs::read_to_string(docs.join("SUMMARY.md")).unwrap());
    let pages: BTreeSet<String> = documents(&docs)
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .filter(|name| name != "SUMMARY.md")
        .collect();
    assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), pages);
    assert_eq!(listed.len(), pages.len(), "a page is listed twice");
}

#[test]
fn every_figure_is_shown() {
    let shown: BTreeSet<PathBuf> = documents(&root().join("docs"))
        .into_iter()
        .chain([root().join("README.md")])
        .flat_map(|page| links(&fs::read_to_string(page).unwrap()))
        .filter_map(|link| Path::new(&link).file_name().map(PathBuf::from))
        .collect();
    for figure in fs::read_dir(root().join("docs/figures")).unwrap() {
        let name = PathBuf::from(figure.unwrap().file_name());
        assert!(shown.contains(&name), "no page shows {}", name.display());
    }
}

#[test]
fn a_wrong_link_is_found() {
    let page = root().join("README.md");
    assert!(problem(&page, "docs/README.md").is_none());
    assert!(problem(&page, "docs/README.md#where-to-find-what").is_none());
    assert!(problem(&page, "docs/nothing.md").is_some());
    assert!(problem(&page, "docs/README.md#nothing").is_some());
    assert_eq!(links("[a](b.md) `[c](d.md)` ![e](f.svg) [g](https://h)"), ["b.md", "f.svg"]);
}
