//! The text of the job `split`.

use sottovoce::Evaluation;
use sottovoce::Metric;
use sottovoce::metric::{Absence, Answer};
use sottovoce_chart::{Axis, Chart, Form, Point, Scale, Series};

use super::{WIDTH, heading, value_cells};
use crate::render::document::{Document, Emphasis, Listing, Shown, Table};
use crate::render::number::rounded;
use crate::split::{PARTS, SplitReport};

/// The report of the job `split`: a table of both sides, how to read it, and the utilities that follow.
pub fn split(report: &SplitReport) -> Document {
    let mut document = Document::default();
    document.title("Who knows what, and who learns it");
    heading(&mut document, &report.protocol, &report.prior);
    let users = if report.n == 1 { "user" } else { "users" };
    document.fact("Users", report.n.to_string()).line(Emphasis::Plain, "");
    document.table(table(report)).picture(parts(report)).picture(obtained(report));
    document.line(Emphasis::Plain, "");
    document.paragraph(
        Emphasis::Faint,
        0,
        WIDTH,
        &format!(
            "In nats. First row: what the true values of {} {users} reveal about the distribution P, about the tallies T of this group \
             beyond P, and about who holds what. Second row: what the reports reveal to the aggregator. Third row: the share \
             obtained. Useful reports have a large share of the nonprivate part, private ones a small share of the private parts.",
            report.n
        ),
    );
    document.line(Emphasis::Plain, "");
    document.listing(utilities(report));
    for (names, remark) in remarks(report) {
        document.paragraph(Emphasis::Warning, 0, WIDTH, &format!("{names}: {remark}"));
    }
    document
}

fn table(report: &SplitReport) -> Table {
    let mut table = Table::new([
        "",
        "nonprivate",
        "group-private",
        "individual",
        "tally",
        "private",
        "total",
    ])
    .meaning(["", "about P", "T beyond P", "who holds what", "first two", "last two", "all three"]);
    entries(&mut table, "users", report.users.entries());
    entries(&mut table, "aggregator", report.aggregator.entries());
    shares(&mut table, report.share.entries());
    table
}

/// The parts of both sides, as bars that are as long as what they tell.
fn parts(report: &SplitReport) -> Chart {
    let sides = [report.users.entries(), report.aggregator.entries()];
    let names = ["about the population", "about this group", "about who holds what"];
    let bar = |part: usize| {
        let point = |(row, side): (usize, &[&Answer; 6])| {
            let e = side[part].number()?;
            Some(Point { x: e.value, y: row as f64, label: Some(rounded(e.value, 4)), ..Point::default() })
        };
        Series::new(names[part], Form::Stacked, sides.iter().enumerate().filter_map(point).collect())
    };
    let rows = Axis::rows(["users know", "reports reveal"]);
    let chart = Chart::new(
        "What the users know, and what the reports reveal",
        Axis::new("nats", Scale::Linear),
        rows,
    );
    (0..3).fold(chart, |chart, part| chart.with(bar(part))).saying(
        "The first part is the purpose of a collection. The other two are private: a short second bar means that they stay private.",
    )
}

/// The share of each part that the reports tell.
fn obtained(report: &SplitReport) -> Chart {
    let shares = report.share.entries();
    let names = ["population", "this group", "who holds what"];
    let point = |(row, share): (usize, &Option<Evaluation>)| {
        let e = (*share)?;
        let interval = Some((100.0 * (e.value - 2.0 * e.error), 100.0 * (e.value + 2.0 * e.error)));
        let label = Some(format!("{} %", rounded(100.0 * e.value, 3)));
        Some(Point { x: 100.0 * e.value, y: row as f64, interval, label, note: None })
    };
    let points = shares[..3].iter().enumerate().filter_map(point).collect();
    Chart::new(
        "Share that the reports reveal",
        Axis::new("% of what the users know", Scale::Linear).between(0.0, 100.0),
        Axis::rows(names),
    )
    .with(Series::new("obtained", Form::Bars, points))
    .saying("A long first bar means useful reports, short bars below it mean private ones. Whiskers are two standard errors where a number comes from random draws.")
}

/// A row of the table.
fn row(name: &str, cells: [String; 6]) -> impl Iterator<Item = String> {
    std::iter::once(name.to_owned()).chain(cells)
}

/// One side, and beneath it the errors that matter.
fn entries(table: &mut Table, name: &str, entries: [&Answer; 6]) {
    let numbers = entries.map(Answer::number);
    table.row(Emphasis::Plain, row(name, numbers.map(|e| e.map_or("—".into(), |e| nats(e.value)))));
    errors(table, numbers.map(|e| e.filter(visible).map(|e| nats_error(e.error))));
}

fn shares(table: &mut Table, shares: [Option<Evaluation>; 6]) {
    let percent = |e: Evaluation| format!("{} %", fixed(100.0 * e.value, 2));
    table.row(Emphasis::Strong, row("obtained", shares.map(|e| e.map_or("—".into(), percent))));
    let error = |e: Evaluation| format!("± {} %", fixed(100.0 * e.error, 2));
    errors(table, shares.map(|e| e.filter(|e| e.error >= 5e-5).map(error)));
}

/// A row of errors, if there is one to tell.
fn errors(table: &mut Table, errors: [Option<String>; 6]) {
    if errors.iter().any(Option::is_some) {
        table.row(Emphasis::Faint, row("", errors.map(Option::unwrap_or_default)));
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
fn utilities(report: &SplitReport) -> Listing {
    let mut listing = Listing::default().column("metric", 10).in_terminal(25);
    listing = listing.on_page("value").on_page("measured in").on_page("error").column("method", 0);
    for evaluation in &report.utilities {
        let metric = evaluation.metric;
        let [value, alone, unit, error, method] = value_cells(metric, &evaluation.answer);
        listing.entry([metric.symbol().into(), value, alone, unit, error, method]);
        listing.note(Shown::Everywhere, Emphasis::Faint, origin(metric));
        listing.note(Shown::Page, Emphasis::Faint, metric.meaning());
    }
    listing
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

/// The reasons and warnings of the answers, each once, with the names of the entries that they concern.
pub(crate) fn remarks(split: &SplitReport) -> Vec<(String, String)> {
    let mut remarks: Vec<(String, String)> = Vec::new();
    for (side, entries) in [("users", split.users.entries()), ("aggregator", split.aggregator.entries())] {
        for (part, answer) in PARTS.iter().zip(entries) {
            let reason = answer.value.as_ref().err().map(Absence::to_string);
            for said in reason.into_iter().chain(answer.warning.clone()) {
                let name = format!("{side} {}", part.replace('_', "-"));
                match remarks.iter_mut().find(|(_, known)| *known == said) {
                    Some((names, _)) => *names = format!("{names}, {name}"),
                    None => remarks.push((name, said)),
                }
            }
        }
    }
    remarks
}
