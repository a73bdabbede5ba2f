//! The text of the job `trend`.

use sottovoce::posterior::FunctionalSummary;
use sottovoce_chart::{Axis, Chart, Form, Point, Scale, Series};

use super::functional::{amount, difference, ends, method, probability, range};
use super::{WIDTH, printable, prior_text};
use crate::functional::{Unit, WithinBins};
use crate::render::document::{Document, Emphasis, Table};
use crate::render::number::short;
use crate::trend::{Trend, TrendReport};

/// Columns of a name before a terminal cuts it.
const NAME: usize = 12;

/// The report of the job `trend`: what changed, then for each number a table and a picture.
pub fn trend(report: &TrendReport) -> Document {
    let mut document = Document::default();
    document.title("What changed");
    for trend in &report.trends {
        document.paragraph(Emphasis::Strong, 0, WIDTH, &finding(report, trend));
    }
    document.line(Emphasis::Plain, "");
    document.fact("Prior", prior_text(&report.prior));
    document.fact("Intervals", format!("{} %", short(100.0 * report.level)));
    for trend in &report.trends {
        document.heading(printable(&trend.expression.text));
        document.table(table(report, trend)).line(Emphasis::Plain, "");
        document.chart(chart(report, trend));
    }
    document.line(Emphasis::Plain, "").paragraph(Emphasis::Faint, 0, WIDTH, &how(report));
    document
}

fn finding(report: &TrendReport, trend: &Trend) -> String {
    let (unit, found) = (trend.expression.unit, &trend.overall);
    let name = |at: Option<&(String, crate::gathered::Gathering)>| {
        at.map_or_else(String::new, |(name, _)| printable(name))
    };
    let rise = found.above.map_or(0.5, |(_, p)| p.value);
    let (word, chance) = if rise >= 0.5 { ("risen", rise) } else { ("fallen", 1.0 - rise) };
    format!(
        "{} has {word} from {} to {} with probability {}: a change of {} ({}).",
        printable(&trend.expression.text),
        name(report.points.first()),
        name(report.points.last()),
        probability(chance),
        difference(found, unit),
        range(found, unit, report.level)
    )
}

fn table(report: &TrendReport, trend: &Trend) -> Table {
    let unit = trend.expression.unit;
    let header = ["", "reports", "mean", "interval", "change", "interval", "rise"].map(String::from);
    let mut table = Table::new(header).names_within(NAME);
    let interval = |found: &FunctionalSummary| {
        let ((low, high), text) = (ends(found), |value, width| amount(value, unit, width).replace(" %", ""));
        format!("{} – {}", text(low, high - low), text(high, high - low))
    };
    let change = |found: Option<&FunctionalSummary>| {
        let rise =
            |found: &FunctionalSummary| found.above.map_or_else(String::new, |(_, p)| probability(p.value));
        found.map_or_else(Default::default, |found| [signed_short(found, unit), interval(found), rise(found)])
    };
    for (i, ((name, collection), value)) in report.points.iter().zip(&trend.values).enumerate() {
        let (low, high) = ends(value);
        let own = [
            printable(name),
            collection.n.to_string(),
            amount(value.mean.value, unit, high - low),
            interval(value),
        ];
        let step = change(i.checked_sub(1).and_then(|before| trend.steps.get(before)));
        table.row(Emphasis::Plain, own.into_iter().chain(step));
    }
    if report.points.len() > 2 {
        let own = ["last – first".to_owned(), String::new(), String::new(), String::new()];
        table.row(Emphasis::Plain, own.into_iter().chain(change(Some(&trend.overall))));
    }
    table
}

fn signed_short(found: &FunctionalSummary, unit: Unit) -> String {
    let (low, high) = ends(found);
    let text = amount(found.mean.value, unit, high - low).replace(" %", "");
    if found.mean.value > 0.0 { format!("+{text}") } else { text }
}

/// The number in each collection with its interval, one below the other in order.
fn chart(report: &TrendReport, trend: &Trend) -> Chart {
    let (unit, level) = (trend.expression.unit, short(100.0 * report.level));
    let scale = if unit == Unit::Share { 100.0 } else { 1.0 };
    let name = printable(&trend.expression.text);
    let label = match unit {
        Unit::Share => "percent".to_owned(),
        Unit::Ratio => "ratio".to_owned(),
        _ => "in the unit of the labels".to_owned(),
    };
    let point = |(row, value): (usize, &FunctionalSummary)| {
        let (low, high) = ends(value);
        let text = |at: f64| amount(at, unit, high - low);
        Point {
            x: scale * value.mean.value,
            y: row as f64,
            interval: Some((scale * low, scale * high)),
            label: Some(text(value.mean.value)),
            note: Some(format!(
                "{}: {}, {level} % from {} to {}",
                report.points[row].0,
                text(value.mean.value),
                text(low),
                text(high)
            )),
        }
    };
    let rows = Axis::rows(report.points.iter().map(|(name, _)| printable(name)));
    Chart::new(format!("{name} over the collections"), Axis::new(label, Scale::Linear), rows)
        .under(format!("posterior mean and {level} % interval"))
        .with(Series::new(name, Form::Marks, trend.values.iter().enumerate().map(point).collect()))
        .saying(format!(
            "Given the reports of a collection, the number lies in its interval with probability {level} %. Two intervals that overlap may still differ: \
             the table has the probability that one is above the other."
        ))
}

fn how(report: &TrendReport) -> String {
    let assumes = |wanted| report.trends.iter().any(|trend| trend.expression.within_bins == Some(wanted));
    let mut words = vec![
        "Changes are from the collection before, in percentage points for shares; rise is the probability that the number is larger than there. \
         Each collection has its own posterior under the same prior."
            .to_owned(),
    ];
    if assumes(WithinBins::Midpoint) {
        words.push("Means take each bin for its midpoint.".into());
    }
    if assumes(WithinBins::Uniform) {
        words.push("Quantiles take numbers to be spread evenly within their bins.".into());
    }
    let summaries = report.trends.iter().flat_map(|trend| trend.values.iter().chain(&trend.steps));
    words.push(method(summaries, false));
    words.join(" ")
}
