//! The text of the job `plan`.

use sottovoce_chart::{Axis, Chart, Form, Point, Scale, Series};

use super::{WIDTH, answer_text, printable, summary};
use crate::render::document::{Document, Emphasis, Table};
use crate::render::number::{level, rounded, short};
use crate::study::{CollectionPlan, Noise, PlanReport, PlannedStrategy, Strategy, TableError};

/// The report of the job `plan`: the recommendation, the strategies side by side, then what is collected.
pub fn plan(report: &PlanReport) -> Document {
    let mut document = Document::default();
    document.title("A plan for the study");
    document.paragraph(Emphasis::Strong, 0, WIDTH, &report.sentences.join(" "));
    document.line(Emphasis::Plain, "").table(strategies(report));
    if let Some(chart) = errors(report) {
        document.picture(chart);
    }
    for planned in &report.strategies {
        document.heading(format!("{}: {}", planned.strategy.name(), meaning(planned.strategy)));
        document.table(collections(planned)).line(Emphasis::Plain, "").table(tables(planned));
        if !planned.after.is_empty() {
            document.line(Emphasis::Plain, "").table(rounds(planned));
        }
    }
    let mut words = "Errors are typical errors of one share (root of the mean square) of the linear estimate, on average over the prior, in percentage points; a closed \
                     form. Average privacy is that of one round, if answers to different groups of questions are independent.".to_owned();
    if report.noise == Noise::Memoised {
        words += " Noise is memoised: each person draws permanent reports once, and each round draws from these. Errors and protocols are those of one round by itself.";
    }
    document.line(Emphasis::Plain, "").paragraph(Emphasis::Faint, 0, WIDTH, &words);
    document
}

/// The recommendation and its reason.
pub(crate) fn plan_sentences(report: &PlanReport) -> Vec<String> {
    let Some((best, others)) = report.strategies.split_first() else { return Vec::new() };
    let mut sentences =
        vec![format!("Use the strategy {}: {}.", best.strategy.name(), meaning(best.strategy))];
    let worst = tables_of(best).max_by(|l, r| l.error.value.total_cmp(&r.error.value));
    let where_found = worst.map_or_else(String::new, |table| format!(" ({})", table_name(table)));
    sentences.push(format!(
        "With {} people the largest typical error of a share is {} %{where_found}.",
        best.n,
        points(best.largest_error.value)
    ));
    for other in others {
        // Errors at the same number of users.
        let scaled = other.largest_error.value * (other.n as f64 / best.n as f64).sqrt();
        let more = (scaled / best.largest_error.value).powi(2);
        sentences.push(format!(
            "With {} it would be {} %, and {} times as many people would be needed for the same error.",
            other.strategy.name(),
            points(scaled),
            rounded(more, 3)
        ));
    }
    if let (Some(accuracy), Some(needed)) = (report.accuracy, best.needed) {
        let enough = match report.n {
            Some(n) if n >= needed => format!("; {n} are enough"),
            Some(n) => format!("; {n} are not enough"),
            None => String::new(),
        };
        sentences.push(format!(
            "For typical errors of at most {} % in all tables, {needed} people are needed{enough}.",
            points(accuracy)
        ));
    }
    sentences
}

fn meaning(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Sample => {
            "each person answers one group of questions, drawn at random, with the whole epsilon"
        }
        Strategy::Split => "each person answers every question by itself, with a share of epsilon",
        Strategy::Joint => {
            "each person answers every group of questions with one report, with a share of epsilon"
        }
    }
}

fn tables_of(planned: &PlannedStrategy) -> impl Iterator<Item = &TableError> {
    planned.collections.iter().flat_map(|collection| &collection.errors)
}

fn table_name(table: &TableError) -> String {
    let name = printable(&table.name);
    if table.cell { format!("cells of {name}") } else { name }
}

/// A share in percentage points.
fn points(share: f64) -> String {
    rounded(100.0 * share, 3)
}

fn strategies(report: &PlanReport) -> Table {
    let mut table =
        Table::new(["strategy", "LDP", "average privacy", "people", "largest error", "people needed"]);
    for (at, planned) in report.strategies.iter().enumerate() {
        let hidden = answer_text(&planned.average_privacy);
        let cells = [
            planned.strategy.name().to_owned(),
            level(planned.ldp.value),
            hidden.unwrap_or_else(|| "not known".into()),
            planned.n.to_string(),
            format!("{} %", points(planned.largest_error.value)),
            planned.needed.map_or_else(|| "—".into(), |needed| needed.to_string()),
        ];
        table.row(if at == 0 { Emphasis::Strong } else { Emphasis::Plain }, cells);
    }
    table
}

fn collections(planned: &PlannedStrategy) -> Table {
    let share = if planned.strategy == Strategy::Sample { "asked of" } else { "of epsilon" };
    let mut table = Table::new(["collection", share, "epsilon", "protocol", "next best"]).names_within(12);
    for collection in &planned.collections {
        let next = collection
            .others
            .first()
            .map(|other| format!("{}: {} %", other.protocol.name(), points(other.error.value)));
        let cells = [
            printable(&collection.name),
            format!("{} %", rounded(100.0 * collection.share, 3)),
            level(collection.epsilon),
            protocols(collection),
            next.unwrap_or_else(|| "—".into()),
        ];
        table.row(Emphasis::Plain, cells);
    }
    table
}

/// Privacy of all that one person reports, round after round.
fn rounds(planned: &PlannedStrategy) -> Table {
    let mut table = Table::new(["after rounds", "LDP", "average privacy"]);
    for after in &planned.after {
        let known = |answer| answer_text(answer).unwrap_or_else(|| "not known".into());
        let count = after.rounds.map_or_else(|| "limit of many".into(), |rounds| rounds.to_string());
        let ldp = after.ldp.number().map_or_else(|| known(&after.ldp), |found| level(found.value));
        table.row(Emphasis::Plain, [count, ldp, known(&after.average_privacy)]);
    }
    table
}

/// The protocols in few words.
fn protocols(collection: &CollectionPlan) -> String {
    let brief = |protocol| {
        let words = summary(protocol);
        // The numbers of values and the level stand elsewhere.
        let kept = words.split(", ").filter(|part| !part.starts_with("a = ") && !part.starts_with("epsilon"));
        kept.collect::<Vec<_>>().join(", ")
    };
    collection.protocols.iter().map(brief).collect::<Vec<_>>().join(" and ")
}

fn tables(planned: &PlannedStrategy) -> Table {
    let mut table = Table::new(["expected error of", "typical"]).names_within(20);
    for found in tables_of(planned) {
        table.row(Emphasis::Plain, [table_name(found), format!("{} %", points(found.error.value))]);
    }
    table
}

/// The expected errors of all strategies, table by table.
fn errors(report: &PlanReport) -> Option<Chart> {
    let first = report.strategies.first()?;
    let rows = Axis::rows(tables_of(first).map(table_name));
    let same = report.strategies.iter().all(|planned| planned.n == first.n);
    let people = if same { format!("{} people", first.n) } else { "each with the people it needs".into() };
    let axis = Axis::new("typical error of a share, in percentage points", Scale::Linear);
    let mut chart = Chart::new("How far off each table would be", axis, rows).under(people);
    for planned in &report.strategies {
        let point = |(row, table): (usize, &TableError)| Point {
            x: 100.0 * table.error.value,
            y: row as f64,
            label: Some(short((1e4 * table.error.value).round() / 1e2)),
            note: Some(format!(
                "{}, {}: {} %",
                planned.strategy.name(),
                table_name(table),
                points(table.error.value)
            )),
            ..Point::default()
        };
        let places = tables_of(planned).enumerate().map(point).collect();
        chart = chart.with(Series::new(planned.strategy.name(), Form::Marks, places));
    }
    let words = format!(
        "Smaller is better. The strategy {} has the smallest largest error among {} compared.",
        first.strategy.name(),
        report.strategies.len()
    );
    Some(chart.saying(words))
}
