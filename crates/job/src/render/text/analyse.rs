//! The text of the job `analyse`.

use sottovoce_chart::{Axis, Chart, Form, Point, Scale, Series};

use super::{WIDTH, method_name, printable, prior_text};
use crate::render::document::{Document, Emphasis, Table};
use crate::render::number::{rounded, short};
use crate::study::{AnalyseReport, Believed, CrossRow, CrossTable, Noise, QuestionShares};

/// Columns of a label before a terminal cuts it.
const LABEL: usize = 14;

/// The report of the job `analyse`: each question, then each cross-table.
pub fn analyse(report: &AnalyseReport) -> Document {
    let mut document = Document::default();
    document.title("What the reports of the study say");
    document.fact("Strategy", report.strategy.name());
    if let Some(round) = report.round {
        document.fact("Round", round.to_string());
    }
    for collection in report.collections.iter().filter(|collection| collection.n == 0) {
        let words = format!(
            "There are no reports of {}: its numbers are those of the prior.",
            printable(&collection.name)
        );
        document.line(Emphasis::Plain, "").paragraph(Emphasis::Warning, 0, WIDTH, &words);
    }
    for question in &report.questions {
        document.heading(printable(&question.name));
        document.table(shares(report, question));
        number(&mut document, report, question);
        document.picture(intervals(report, question));
    }
    for table in &report.cross_tables {
        cross_table(&mut document, table);
    }
    document.heading("How these were found").table(methods(report));
    let mut words = format!(
        "Given the reports, each share lies in its interval with probability {} %, and as likely below as above.",
        percent(report.level)
    );
    let error = largest_error(report);
    if error > 0.0 {
        words += &format!(
            " Some numbers come from random draws of the posterior; their standard errors are at most {:.1} percentage points.",
            (1000.0 * error).ceil() / 10.0
        );
    }
    if report.round.is_some() {
        words += " This is one round by itself: nobody knows which reports of other rounds are from the same person, and none of them is used.";
        if report.noise == Noise::Memoised {
            words += " The noise of permanent reports is the same in all rounds: a mean over rounds still has all of it.";
        }
    }
    document.line(Emphasis::Plain, "").paragraph(Emphasis::Faint, 0, WIDTH, &words);
    document
}

/// The largest Monte Carlo standard error of a share, of a difference of shares, or of the end of its interval.
fn largest_error(report: &AnalyseReport) -> f64 {
    let answers =
        report.questions.iter().flat_map(|question| question.answers.iter().map(|answer| &answer.share));
    let cells = report.cross_tables.iter().flat_map(|table| {
        let rows =
            table.rows.iter().flat_map(|row| row.cells.iter().chain(&row.of_row).chain(&row.of_column));
        rows.chain(&table.totals).chain(table.differences.iter().flatten())
    });
    let errors = answers.chain(cells).flat_map(|found| [found.mean.error, found.low.error, found.high.error]);
    errors.fold(0.0, f64::max)
}

fn shares(report: &AnalyseReport, question: &QuestionShares) -> Table {
    let mut table =
        Table::new(["answer".to_owned(), "share".into(), interval_name(report)]).names_within(LABEL);
    for answer in &question.answers {
        let cells = [share(&answer.share), interval(&answer.share)];
        table.row(Emphasis::Plain, [printable(&answer.label)].into_iter().chain(cells));
    }
    table
}

fn number(document: &mut Document, report: &AnalyseReport, question: &QuestionShares) {
    let Some(number) = &question.number else { return };
    let words = |name: &str, found: &Believed| {
        let (low, high) = (rounded(found.low.value, 4), rounded(found.high.value, 4));
        format!("{name} {} ({} %: {low} to {high})", rounded(found.mean.value, 4), percent(report.level))
    };
    let found = [("Mean", &number.mean), ("median", &number.median)];
    let found: Vec<String> =
        found.iter().filter_map(|(name, found)| found.as_ref().map(|found| words(name, found))).collect();
    let mut text = match found.is_empty() {
        true => "A bin has no end, so that the mean and the median of the number are not known.".into(),
        false => format!("{}, if the numbers are spread evenly within each bin.", found.join("; ")),
    };
    if number.mean.is_none() && number.median.is_some() {
        text = format!(
            "A bin has no end, so that the mean is not known. {}",
            text.replacen("median", "Median", 1)
        );
    }
    document.line(Emphasis::Plain, "").paragraph(Emphasis::Plain, 0, WIDTH, &text);
}

fn cross_table(document: &mut Document, table: &CrossTable) {
    let names: Vec<String> = table.questions.iter().map(|name| printable(name)).collect();
    let (last, others) =
        names.split_last().map_or(("", String::new()), |(last, others)| (last, others.join(", ")));
    document.heading(format!("{others} by {last}"));
    document.paragraph(Emphasis::Faint, 0, WIDTH, "Shares of all people").table(cells(
        table,
        &others,
        |row| &row.cells,
        true,
    ));
    let mut of_row = cells(table, &others, |row| &row.of_row, false);
    if let (Some(differences), [first, second]) = (&table.differences, table.rows.as_slice()) {
        let name = format!("{} − {}", printable(&second.label), printable(&first.label));
        of_row.row(Emphasis::Plain, [name].into_iter().chain(differences.iter().map(with_interval)));
    }
    document
        .line(Emphasis::Plain, "")
        .paragraph(Emphasis::Faint, 0, WIDTH, "Shares of each row")
        .table(of_row);
    let of_column = cells(table, &others, |row| &row.of_column, false);
    document
        .line(Emphasis::Plain, "")
        .paragraph(Emphasis::Faint, 0, WIDTH, "Shares of each column")
        .table(of_column);
}

/// A table of cells, whose first column has the given name.
fn cells(table: &CrossTable, name: &str, of: impl Fn(&CrossRow) -> &Vec<Believed>, totals: bool) -> Table {
    let columns = table.columns.iter().map(|column| printable(column));
    let total = totals.then(|| "total".to_owned());
    let mut shown = Table::new([name.to_owned()].into_iter().chain(columns).chain(total)).names_within(LABEL);
    for row in &table.rows {
        let total = totals.then_some(&row.total);
        let cells = of(row).iter().chain(total).map(with_interval);
        shown.row(Emphasis::Plain, [printable(&row.label)].into_iter().chain(cells));
    }
    if totals {
        let whole = Some("100 %".to_owned());
        let cells = table.totals.iter().map(with_interval).chain(whole);
        shown.row(Emphasis::Plain, ["total".to_owned()].into_iter().chain(cells));
    }
    shown
}

fn methods(report: &AnalyseReport) -> Table {
    let mut table = Table::new(["collection", "reports", "prior", "method"]).names_within(LABEL);
    for collection in &report.collections {
        let prior = prior_text(&collection.prior);
        let prior = prior.split(" (").next().unwrap_or_default().to_owned();
        let cells = [collection.n.to_string(), prior, method_name(collection.method)];
        table.row(Emphasis::Plain, [printable(&collection.name)].into_iter().chain(cells));
    }
    table
}

/// The interval of each answer.
fn intervals(report: &AnalyseReport, question: &QuestionShares) -> Chart {
    let level = percent(report.level);
    let place = |(row, answer): (usize, &crate::study::LabelledShare)| {
        let Believed { mean, low, high, .. } = &answer.share;
        Point {
            x: mean.value,
            y: row as f64,
            interval: Some((low.value, high.value)),
            label: Some(rounded(mean.value, 3)),
            note: Some(format!(
                "{}: {}, {level} % {}",
                answer.label,
                share(&answer.share),
                interval(&answer.share)
            )),
        }
    };
    let rows = Axis::rows(question.answers.iter().map(|answer| printable(&answer.label)));
    let axis = Axis::new("share of the population", Scale::Linear);
    Chart::new(format!("How common each answer to {} is", printable(&question.name)), axis, rows)
        .under(format!("posterior mean and {level} % interval, {} reports", question.n))
        .with(Series::new("posterior", Form::Marks, question.answers.iter().enumerate().map(place).collect()))
        .saying(format!(
            "Given the reports, the share of each answer lies in its interval with probability {level} %."
        ))
}

fn interval_name(report: &AnalyseReport) -> String {
    format!("{} % interval", percent(report.level))
}

fn percent(level: f64) -> String {
    short(100.0 * level)
}

fn share(found: &Believed) -> String {
    format!("{} %", tenths(found.mean.value))
}

fn interval(found: &Believed) -> String {
    format!("{} to {} %", tenths(found.low.value), tenths(found.high.value))
}

fn with_interval(found: &Believed) -> String {
    format!("{} ({} to {})", share(found), tenths(found.low.value), tenths(found.high.value))
}

/// A share in percent with one decimal place, and no minus sign before zeros.
fn tenths(share: f64) -> String {
    format!("{:.1}", (1000.0 * share).round() / 10.0 + 0.0)
}
