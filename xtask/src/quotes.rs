//! Figures of `benches/RESULTS.md` in the documents. A document writes `<!-- results:KEY -->` before a figure and `<!-- /results -->` after it; the
//! benches' command puts the measured value between them, and a test compares.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the results are, from the root of the repository.
pub const RESULTS: &str = "benches/RESULTS.md";

const BEGIN: &str = "<!-- results:";
const END: &str = "<!-- /results -->";

/// A figure that documents may quote.
#[derive(Debug, PartialEq)]
pub struct Quotable {
    key: String,
    value: String,
    meaning: String,
}

impl Quotable {
    /// The figure of a line that a bench printed, `@ KEY | VALUE | MEANING`, if it is one.
    pub fn printed(line: &str) -> Option<Self> {
        Self::of_cells(line.strip_prefix("@ ")?)
    }

    /// What it is called.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The figure of a row of the results' table, if it is one.
    fn of_row(line: &str) -> Option<Self> {
        Self::of_cells(line.strip_prefix("| `")?.strip_suffix(" |")?)
            .map(|figure| Self { key: figure.key.trim_end_matches('`').to_owned(), ..figure })
    }

    fn of_cells(cells: &str) -> Option<Self> {
        let mut cells = cells.splitn(3, " | ").map(str::to_owned);
        Some(Self { key: cells.next()?, value: cells.next()?, meaning: cells.next()? })
    }
}

impl fmt::Display for Quotable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "| `{}` | {} | {} |", self.key, self.value, self.meaning)
    }
}

/// The values of a results file by their keys.
pub fn figures(results: &str) -> BTreeMap<String, String> {
    results.lines().filter_map(Quotable::of_row).map(|figure| (figure.key, figure.value)).collect()
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the repository").to_owned()
}

/// Brings the figures into every document that quotes some.
pub fn update(figures: &BTreeMap<String, String>) -> bool {
    let mut complete = true;
    for path in documents() {
        let text = fs::read_to_string(&path).expect("a document");
        match quoted(&text, figures) {
            Ok(updated) if updated != text => fs::write(&path, updated).expect("a document can be written"),
            Ok(_) => {}
            Err(problem) => {
                eprintln!("== {}: {problem}", path.display());
                complete = false;
            }
        }
    }
    complete
}

/// A text with the values of today between its markers.
fn quoted(text: &str, figures: &BTreeMap<String, String>) -> Result<String, String> {
    let mut parts = text.split(BEGIN);
    let mut updated = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (key, rest) = part.split_once(" -->").ok_or("a marker has no end")?;
        let (_, rest) = rest.split_once(END).ok_or_else(|| format!("the quotation of `{key}` has no end"))?;
        let value = figures.get(key).ok_or_else(|| format!("{RESULTS} has no figure `{key}`"))?;
        updated += &format!("{BEGIN}{key} -->{value}{END}{rest}");
    }
    Ok(updated)
}

/// The documents at the root and in `docs`.
fn documents() -> Vec<PathBuf> {
    let files = |directory: PathBuf| {
        fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path())
    };
    let all = files(root()).chain(files(root().join("docs")));
    all.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_quote_the_results() {
        let figures = figures(&fs::read_to_string(root().join(RESULTS)).unwrap());
        let mut quotations = 0;
        for path in documents() {
            let text = fs::read_to_string(&path).unwrap();
            quotations += text.matches(BEGIN).count();
            assert_eq!(
                quoted(&text, &figures).as_ref(),
                Ok(&text),
                "{}: run `cargo xtask bench`",
                path.display()
            );
        }
        assert!(quotations > 0, "some document quotes a figure");
    }

    #[test]
    fn a_quotation_is_brought_up_to_date() {
        let figure = Quotable::printed("@ a.b | 3.4 s | what | it is").unwrap();
        let figures = figures(&format!("| key | value | what |\n|---|---|---|\n{figure}\n"));
        assert_eq!(figures["a.b"], "3.4 s");
        let old = "takes <!-- results:a.b -->9 s<!-- /results --> here";
        assert_eq!(quoted(old, &figures).unwrap(), "takes <!-- results:a.b -->3.4 s<!-- /results --> here");
        assert!(quoted("<!-- results:c -->1<!-- /results -->", &figures).unwrap_err().contains("`c`"));
        assert!(quoted("<!-- results:a.b -->1", &figures).unwrap_err().contains("no end"));
    }
}
