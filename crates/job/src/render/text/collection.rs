//! The text of the jobs of a collection.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use sottovoce_collect::tally::MAX_PATTERNS;

use super::{WIDTH, clipped, printable};
use crate::randomise::RandomiseReport;
use crate::render::document::{Document, Emphasis, Table};
use crate::render::number::level;
use crate::study::{CollectionTallies, RandomiseStudyReport, TallyStudyReport};
use crate::tally::{KeptForm, RejectedReport, TallyReport};

/// A report of a job that writes a file: what was written, in facts, and what the user should know besides.
pub trait FileReport {
    /// Names and values.
    fn facts(&self) -> Vec<(&'static str, String)>;

    /// What the user should know, in sentences.
    fn notes(&self) -> Vec<String>;
}

/// What the job `randomise` wrote.
pub fn randomise(report: &RandomiseReport) -> Document {
    document(report)
}

/// What the jobs `tally` and `merge` wrote.
pub fn tally(report: &TallyReport) -> Document {
    document(report)
}

/// What the job `randomise_study` wrote.
pub fn randomise_study(report: &RandomiseStudyReport) -> Document {
    let mut table = Table::new(["collection", "reports", "realised ldp", "file"]).names_within(14);
    for collection in &report.collections {
        let RandomiseReport { reports, realised_ldp, output, .. } = &collection.written;
        let cells = [reports.to_string(), level(*realised_ldp), file_name(output)];
        table.row(Emphasis::Plain, [printable(&collection.name)].into_iter().chain(cells));
    }
    let mut document = document(report);
    document.line(Emphasis::Plain, "").table(table);
    document
}

/// What the job `tally_study` wrote.
pub fn tally_study(report: &TallyStudyReport) -> Document {
    let mut table = Table::new(["collection", "reports", "rejected", "form", "file"]).names_within(14);
    for collection in &report.collections {
        let TallyReport { n, rejected, form, output, .. } = &collection.tallies;
        let cells = [n.to_string(), rejected.to_string(), named(form), file_name(output)];
        table.row(Emphasis::Plain, [printable(&collection.name)].into_iter().chain(cells));
    }
    let mut document = document(report);
    document.line(Emphasis::Plain, "").table(table);
    document
}

/// The last part of a path.
fn file_name(path: &str) -> String {
    let name = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    printable(&name.unwrap_or_else(|| path.to_owned()))
}

fn document(report: &impl FileReport) -> Document {
    let mut document = Document::default();
    document.title("What the collection holds");
    for (name, value) in report.facts() {
        document.fact(name, clipped(&value, 200));
    }
    for note in report.notes() {
        document.line(Emphasis::Plain, "").paragraph(Emphasis::Warning, 0, WIDTH, &clipped(&note, 2000));
    }
    document
}

/// The warning about reports that were drawn from a test seed.
const INSECURE_REPORTS: &str = "INSECURE: these reports follow from a test seed. Anybody who knows it can undo them; never send them for real values.";

impl FileReport for RandomiseReport {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![("reports", self.reports.to_string()), ("skipped", self.skipped.to_string())];
        if self.skipped > 0 {
            facts.push(("skipped by problem", listed(&self.skipped_by_problem)));
        }
        facts.push(("realised ldp", format!("{:?}", self.realised_ldp)));
        facts.push(("fingerprint", self.fingerprint.clone()));
        facts.push(("output", self.output.clone()));
        facts
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.skipped > 0 {
            let lines: Vec<String> = self.skipped_lines.iter().map(ToString::to_string).collect();
            notes.push(format!(
                "No report was made for {} values outside the protocol's domain; the first are on lines {}.",
                self.skipped,
                lines.join(", ")
            ));
        }
        if self.insecure {
            notes.push(INSECURE_REPORTS.into());
        }
        if !self.realised_ldp.is_finite() {
            notes.push(
                "NOT PRIVATE: this protocol has no LDP level; some reports reveal their value with certainty, or rule others out."
                    .into(),
            );
        }
        notes
    }
}

impl FileReport for RandomiseStudyReport {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![("strategy", self.strategy.name().to_owned())];
        facts.extend(self.round.map(|round| ("round", round.to_string())));
        facts.extend([("people", self.people.to_string()), ("skipped", self.skipped.to_string())]);
        if self.skipped > 0 {
            facts.push(("skipped by problem", listed(&self.skipped_by_problem)));
        }
        if let Some(memo) = &self.memo {
            facts.push(("memo", memo.file.clone()));
            facts.push(("in the memo", format!("{} of these people; {} are new", memo.known, memo.new)));
        }
        let which = if self.memo.is_some() { "realised ldp, all rounds" } else { "realised ldp" };
        facts.push((which, format!("{:?}", self.realised_ldp)));
        facts.push(("output", self.output.clone()));
        facts
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.memo.is_some() {
            notes.push("The memo is secret: it holds the permanent report of each person by name. Keep it on the users' side, and keep it, since permanent reports that are drawn again spend epsilon again.".into());
        }
        if self.skipped > 0 {
            let lines: Vec<String> = self.skipped_lines.iter().map(ToString::to_string).collect();
            notes.push(format!(
                "No report was made for {} people with an answer that is none of its question; the first are on lines {}.",
                self.skipped,
                lines.join(", ")
            ));
        }
        if self.insecure {
            notes.push(INSECURE_REPORTS.into());
        }
        notes
    }
}

impl FileReport for TallyStudyReport {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let counts = [("reports", self.n), ("rejected", self.rejected)];
        let counts = counts.map(|(name, count)| (name, count.to_string()));
        counts.into_iter().chain([("output", self.output.clone())]).collect()
    }

    fn notes(&self) -> Vec<String> {
        let of = |collection: &CollectionTallies| {
            let name = printable(&collection.name);
            // Said once for all of them.
            let tallies = TallyReport { insecure: false, ..collection.tallies.clone() };
            tallies.notes().into_iter().map(move |note| format!("{name}: {note}")).collect::<Vec<_>>()
        };
        let mut notes: Vec<String> = self.collections.iter().flat_map(of).collect();
        if self.collections.iter().any(|collection| collection.tallies.insecure) {
            notes.push(INSECURE_TALLIES.into());
        }
        notes
    }
}

/// The note on tallies of reports that follow from a test seed.
const INSECURE_TALLIES: &str = "INSECURE: some of these reports follow from a test seed, and reveal their values to anybody who knows it.";

impl FileReport for TallyReport {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![("reports", self.n.to_string()), ("rejected", self.rejected.to_string())];
        if self.rejected > 0 {
            facts.push(("rejected by reason", listed(&self.rejected_by_reason)));
        }
        facts.push(("form", named(&self.form)));
        facts.extend(self.different.map(|different| ("different", different.to_string())));
        facts.push(("files", self.files.to_string()));
        facts.push(("fingerprint", self.fingerprint.clone()));
        facts.push(("output", self.output.clone()));
        facts
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let (KeptForm::Supports, Some(bytes)) = (self.form, self.patterns_bytes) {
            notes.push(kept_as_supports(self.n, bytes));
        }
        if self.rejected > 0 {
            let example = |RejectedReport { file, line, reason }: &RejectedReport| {
                format!("{file}, line {line}: {}", reason.words())
            };
            let examples = self.rejected_examples.iter().map(example).collect::<Vec<_>>().join("; ");
            let colon = if examples.is_empty() { "." } else { ": " };
            notes.push(format!("{} reports were rejected and not counted{colon}{examples}", self.rejected));
        }
        if self.insecure {
            notes.push(INSECURE_TALLIES.into());
        }
        notes
    }
}

/// What is lost with patterns, who will miss it, and what it would cost to keep.
fn kept_as_supports(n: u64, bytes: f64) -> String {
    let size = if bytes < 1e6 { "less than 1 MB".into() } else { format!("up to {:.0} MB", bytes / 1e6) };
    format!(
        "Kept as supports: for each input the number of reports that support it, but not which inputs were reported together. Linear estimates need no \
         more; `posterior` and the estimator posterior_mean answer with a normal approximation, and ml needs the form `patterns`, which keeps each different report. By \
         default patterns are kept for up to {MAX_PATTERNS} different reports, and these are more; with the form `patterns` the file of these {n} reports would \
         have {size}."
    )
}

/// Counts by reason as a list.
fn listed<K: Serialize>(counts: &BTreeMap<K, u64>) -> String {
    counts.iter().map(|(reason, count)| format!("{} {count}", named(reason))).collect::<Vec<_>>().join(", ")
}

/// A name for programs as people read it.
fn named(name: &impl Serialize) -> String {
    // Unwrap safety: our enums have text names.
    serde_json::to_value(name).unwrap().as_str().unwrap_or_default().replace('_', " ")
}
