//! The text of the job `split`.

use sottovoce::Evaluation;
use sottovoce::Metric;
use sottovoce::metric::Answer;

use super::{INDENT, WIDTH, heading, method, value_text};
use crate::render::document::{Document, Emphasis};
use crate::render::number::rounded;
use crate::split::{Split, remarks};

/// Columns of the row names, and of the six entries.
const WIDTHS: (usize, [usize; 6]) = (10, [11, 14, 15, 10, 10, 10]);

/// The report of the job `split`: a table of both sides, how to read it, and the utilities that follow.
pub fn split(report: &Split) -> Document {
    let mut document = Document::default();
    heading(&mut document, &report.protocol, &report.prior);
    let users = if report.n == 1 { "user" } else { "users" };
    document.line(Emphasis::Strong, format!("Users     {}", report.n)).line(Emphasis::Plain, "");
    document.line(
        Emphasis::Strong,
        row("", &["nonprivate", "group-private", "individual", "tally", "private", "total"]),
    );
    document.line(
        Emphasis::Faint,
        row("", &["about P", "T beyond P", "who holds what", "first two", "last two", "all three"]),
    );
    entries(&mut document, "users", report.users.entries());
    entries(&mut document, "aggregator", report.aggregator.entries());
    shares(&mut document, report.shares());
    document.line(Emphasis::Plain, "");
    document.paragraph(
        Emphasis::Faint,
        0,
        WIDTH,
        &format!(
            "What the true values of {} {users} tell (in nats) about the distribution P, about the tallies T of this group beyond P, \
             and about who holds what; what the reports tell the aggregator of each; and the share that this is. Useful is a large \
             share of the nonprivate part, private a small share of the private ones.",
            report.n
        ),
    );
    document.line(Emphasis::Plain, "");
    utilities(&mut document, report);
    for (names, remark) in remarks(report) {
        document.paragraph(Emphasis::Warning, 0, WIDTH, &format!("{names}: {remark}"));
    }
    document
}

/// A line of the table.
fn row<T: AsRef<str>>(name: &str, cells: &[T; 6]) -> String {
    let cell = |(text, width): (&T, usize)| format!("{:>width$}", text.as_ref());
    format!("{name:<0$}", WIDTHS.0) + &cells.iter().zip(WIDTHS.1).map(cell).collect::<String>()
}

/// One side, and beneath it the errors that matter.
fn entries(document: &mut Document, name: &str, entries: [&Answer; 6]) {
    let numbers = entries.map(Answer::number);
    document.line(Emphasis::Plain, row(name, &numbers.map(|e| e.map_or("—".into(), |e| nats(e.value)))));
    errors(document, numbers.map(|e| e.filter(visible).map(|e| nats_error(e.error))));
}

fn shares(document: &mut Document, shares: [Option<Evaluation>; 6]) {
    let percent = |e: Evaluation| format!("{} %", fixed(100.0 * e.value, 2));
    document.line(Emphasis::Strong, row("obtained", &shares.map(|e| e.map_or("—".into(), percent))));
    let error = |e: Evaluation| format!("± {} %", fixed(100.0 * e.error, 2));
    errors(document, shares.map(|e| e.filter(|e| e.error >= 5e-5).map(error)));
}

/// A line of errors, if there is one to tell.
fn errors(document: &mut Document, errors: [Option<String>; 6]) {
    if errors.iter().any(Option::is_some) {
        document.line(Emphasis::Faint, row("", &errors.map(Option::unwrap_or_default)));
    }
}

/// Whether the error reaches the digits that are shown.
fn visible(e: &Evaluation) -> bool {
    e.error > 5e-6 * e.value.abs() && e.error >= 5e-7
}

fn nats(value: f64) -> String {
    match value.abs() {
        v if v < 5e-7 => "0".into(),
        v if v >= 1e6 => format!("{value:.4e}"),
        v if v >= 1.0 => fixed(value, (5.0 - v.log10().floor()) as usize),
        _ => fixed(value, 5),
    }
}

fn nats_error(error: f64) -> String {
    if error.is_finite() { format!("± {}", rounded(error, 2)) } else { "± ?".into() }
}

fn fixed(value: f64, places: usize) -> String {
    format!("{value:.places$}")
}

/// The utilities, and where in the table they come from.
fn utilities(document: &mut Document, report: &Split) {
    for evaluation in &report.utilities {
        let metric = evaluation.metric;
        document.push(Emphasis::Strong, format!("{:<10}", metric.symbol()));
        match &evaluation.answer.value {
            Ok(value) => {
                document.line(Emphasis::Plain, format!("{:<25}{}", value_text(value), method(value)))
            }
            Err(_) => document.line(Emphasis::Plain, "no value"),
        };
        document.paragraph(Emphasis::Faint, INDENT, WIDTH, origin(metric));
    }
}

fn origin(metric: Metric) -> &'static str {
    match metric {
        Metric::DistributionUtility => "share obtained of the nonprivate part, I(Y;P) / I(X;P)",
        Metric::TallyUtility => "share obtained of the tally, I(Y;T) / H(T)",
        _ => {
            "share of the private part that is not obtained, 1 - I(Y;X|P) / H(X|P), the same for any number of users"
        }
    }
}
